"""Writing CSP/1: the text of each record, and the heredoc that fits a content."""

from __future__ import annotations

import re
from typing import Any

from turnwire.csp.faults import encode_fault
from turnwire.csp.messages import AnyBlock, CspMessage, FileOp, Junk, Patch, Preamble, Record, Template
from turnwire.csp.spec import FIELDS, MAGIC, MIN_HEREDOC
from turnwire.errors import Reason
from turnwire.fences import is_fence

_RUN = re.compile(r"(?m)^(>{3,})\r?$")
_KEY = re.compile(r"[A-Z][A-Z0-9_]*")
_ORDER = {word: {key: place for place, key in enumerate(keys)} for word, keys in FIELDS.items()}


def write(record: Record, strict: bool = True) -> str:
    """The text of a record. Raises EncodeError for what no line of the wire can hold; other faults are not looked for.

    Strict writes in the words of the specification: the fields of known blocks in its order, and a last newline behind
    a value of several lines that has none. Otherwise all stays as it is, in the form that only turnwire reads.
    """
    if isinstance(record, CspMessage):
        return _message(record, strict)
    if isinstance(record, Template):
        head = f"{MAGIC}{' MODE' if record.mode else ''};{';'.join(record.flags)}"
        return "".join(f"{_ended(_inline(line, '/lines'))}\n" for line in [head, *record.lines])
    if isinstance(record, Preamble):
        return _preamble(record)
    if isinstance(record, Junk):
        if strict and not is_fence(record.text):
            raise encode_fault(Reason.JUNK, "text that is not a record is written only with strict=False")
        return record.text if record.text.endswith("\n") else f"{record.text}\n"
    raise encode_fault(Reason.WRONG_TYPE, f"{type(record).__name__} is not a record of this wire")


def _inline(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise encode_fault(Reason.WRONG_TYPE, f"text is needed, not {type(value).__name__}", path)
    if "\n" in value:
        raise encode_fault(Reason.NEWLINE_IN_STRING, "this value is written on one line", path)
    return value


def _ended(line: str) -> str:
    """A line for which a line feed may follow: behind a CR of its own it ends with CRLF."""
    return f"{line}\r" if line[-1:] == "\r" else line


def _message(message: CspMessage, strict: bool) -> str:
    lines = [MAGIC]
    for key, name in (("FROM", "sender"), ("TO", "receiver"), ("CTX", "ctx"), ("INTENT", "intent")):
        value = getattr(message, name)
        if value is not None:
            line = f"{key} {str(value) if isinstance(value, str) else _inline(value, f'/{name}')}"
            lines.append(_ended(_inline(line, f"/{name}")))
    lines.append("")
    if message.block is not None:
        bare = not strict and any(issue.reason is Reason.HEREDOC_EXPECTED for issue in message.issues)
        lines += _block(message.block, strict, bare)
    return "\n".join(lines) + "\n"


def _block(block: AnyBlock, strict: bool, bare: bool) -> list[str]:
    """bare: a CONTENT was read that was in no heredoc."""
    if isinstance(block, Patch):
        return _patch(block)
    kind = _inline(block.kind, "/block/kind")
    head = f"{kind} {_inline(block.id, '/block/id')}"
    if isinstance(block, FileOp) and block.op:
        head += f" {_inline(block.op, '/block/op')}"
    lines = [_ended(head)]
    fields = list(block.fields)
    order = _ORDER.get(kind)
    if strict and order is not None:
        fields.sort(key=lambda field: order.get(field[0], len(order)))
    for key, value in fields:
        path = f"/block/fields/{key}"
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise encode_fault(Reason.UNKNOWN_KEY, "a key is capitals, digits and _, a capital first", path)
        lines += _field(key, value, path, content=not bare and kind == "FILEOP" and key == "CONTENT", exact=not strict)
    return lines


def _field(key: str, value: Any, path: str, *, content: bool, exact: bool) -> list[str]:
    if not isinstance(value, str):
        raise encode_fault(Reason.WRONG_TYPE, f"text is needed, not {type(value).__name__}", path)
    if not content and "\n" not in value:
        return [_ended(f"{key} {value}" if value else key)]
    return [key, *heredoc(value, exact)]


def heredoc(content: str, exact: bool = False) -> list[str]:
    """The lines of the heredoc that holds ``content``, which is given a last newline where it has none.

    The run is one longer than the longest line of ``content`` that is only ``>``, so that no line of it closes the
    heredoc. exact: a content without a last newline keeps none; it opens with ``<<<-``, which turnwire alone reads: the
    newline before the closing line is then no part of it.
    """
    run = max([MIN_HEREDOC - 1, *(len(match[1]) for match in _RUN.finditer(content))]) + 1
    body = content.split("\n")
    ended = body[-1] == ""
    if ended:
        body.pop()
    return ["<" * run + ("-" if exact and not ended else ""), *body, ">" * run]


def _patch(patch: Patch) -> list[str]:
    lines = [f"PATCH {_inline(patch.id, '/block/id')}"]
    if patch.base is not None:
        lines.append(f"BASE {_inline(patch.base, '/block/base')}")
    for place, (sign, name, value) in enumerate(patch.ops):
        path = f"/block/ops/{place}"
        line = f"{_inline(sign, path)} DEF {_inline(name, path)}"
        if value is not None:
            line += " :=" if sign == "~" else " ="
            line += f" {_inline(value, path)}" if value else ""
        lines.append(line)
    if patch.apply is not None:
        lines.append(f"APPLY -> {_inline(patch.apply, '/block/apply')}")
    return [_ended(line) for line in lines]


def _preamble(record: Preamble) -> str:
    lines = []
    for name, value in record.defs.items():
        value = _inline(value, f"/defs/{name}")
        lines.append(f"DEF {_inline(name, '/defs')} ={' ' if value else ''}{value}")
    if record.laws:
        lines += ["", "LAWS"] if lines else ["LAWS"]
    for name, text in record.laws.items():
        text = _inline(text, f"/laws/{name}")
        lines.append(f"- {_inline(name, '/laws')}:{' ' if text else ''}{text}")
    return "".join(f"{_ended(line)}\n" for line in lines)
