"""decode, parse, encode, check and detect of CSP/1: the compiled core handles the usual messages, this module all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, checked_limits, record_bytes
from turnwire.csp.faults import decode_fault, encode_fault, input_bytes, issue
from turnwire.csp.messages import (
    AnyBlock,
    CspMessage,
    Document,
    FileOp,
    Junk,
    Patch,
    Preamble,
    Record,
    Template,
)
from turnwire.csp.records import PreambleReader, StrictReader
from turnwire.csp.spec import FIELDS, FILE_OPS, MAGIC, MIN_HEREDOC, WIRE
from turnwire.errors import DecodeError, EncodeError, Issue, Reason, expect, expect_one_of
from turnwire.fences import BEGINNING, fence_behind, is_fence

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer

__all__ = ["_core", "check", "decode", "detect", "encode", "parse"]

_core: ModuleType
_RUN = re.compile(r"(?m)^(>{3,})\r?$")
_KEY = re.compile(r"[A-Z][A-Z0-9_]*")
_ORDER = {word: {key: place for place, key in enumerate(keys)} for word, keys in FIELDS.items()}
_DETECT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*+\r?\n|" + BEGINNING.encode() + rb"[^\n]*+\n)*+CSP/1(?:\r?\n|\Z|;| MODE;)"
)


def detect(data: str | Buffer) -> bool:
    """True if one record starts like CSP/1: blank lines and code fences, then ``CSP/1`` (or a template).

    Never raises.
    """
    return _DETECT.match(record_bytes(data) or b"") is not None


def parse(text: str | Buffer, *, mode: str = "strict", limits: Limits = LIMITS) -> Document:
    """Reads all records of a text, in order.

    Strict mode (the default) raises DecodeError (reason, byte offset, line) at the first fault. Lenient mode lists the
    accepted faults in ``issues`` and returns unreadable text as :class:`Junk`; it raises only for text that is not
    UTF-8.
    """
    raw = input_bytes(text)
    checked_limits(limits)
    expect_one_of(mode, "mode", ("strict", "lenient"))
    if mode == "lenient":
        from turnwire.csp.lenient import parse_leniently

        return parse_leniently(raw, limits)
    reader = StrictReader(raw, limits, _core)
    reader.read()
    return Document(reader.records)


def preambles(data: bytes, limits: Limits = LIMITS) -> list[tuple[int, int, Preamble | DecodeError]]:
    """The preambles among lines, each with its offset and length, or what is wrong with it and where. Raises ValueError
    for 2 GiB or more."""
    reader = PreambleReader(data, limits, _core)
    reader.read()
    return reader.preambles


def decode(text: str | Buffer, *, mode: str = "strict", limits: Limits = LIMITS) -> CspMessage:
    """Reads the single message of a text; code fences around it are ignored.

    DEF and LAWS may precede it; after it they are reported as restate ("info"), with their line. Raises DecodeError
    like :func:`parse`, and also empty_message if there is no text, no_message for records without a message, and
    trailing_text for a record after it. Lenient reading ignores text around the message (an "info" issue) and returns
    the first message.
    """
    document = parse(text, mode=mode, limits=limits)
    records = [record for record in document.records if not isinstance(record, Junk)]
    place = next((place for place, one in enumerate(records) if isinstance(one, CspMessage)), len(records))
    behind = records[place + 1 :]
    if mode == "strict":
        for record in records[:place]:
            if place == len(records) or not isinstance(record, Preamble):
                words = f"this is a {type(record).__name__.lower()}, not a message; parse() reads it"
                raise _no_message(text, Reason.NO_MESSAGE, words, record.line)
        for record in behind:
            if not isinstance(record, Preamble):
                raise _no_message(text, Reason.TRAILING_TEXT, "another record follows the message", record.line)
    if place < len(records):
        found: CspMessage = records[place]  # type: ignore[assignment]
        told = [one._replace(severity="info") for one in document.issues if one.reason is Reason.BOM]
        texts = [one for one in document.records if isinstance(one, Junk) and not one.reason and not _is_fence(one)]
        told += [issue(Reason.RESTATE, one.line, "info") for one in behind if isinstance(one, Preamble)]
        told += [issue(Reason.JUNK, one.line, "info", "the text around the message was ignored") for one in texts[:1]]
        found.issues = tuple(sorted((*found.issues, *told), key=lambda one: int(one.where)))
        return found
    if document.issues:
        reason, line, _, words = document.issues[0]
        raise _no_message(text, reason, words, int(line))
    reason = Reason.NO_MESSAGE if document.records else Reason.EMPTY_MESSAGE
    raise _no_message(text, reason, "the text contains no message", 1)


def _no_message(text: str | Buffer, reason: Reason, words: str, line: int) -> DecodeError:
    offset = 0
    raw = input_bytes(text)
    for _ in range(line - 1):
        offset = raw.find(b"\n", offset) + 1
    return decode_fault(reason, offset, line, words)


# --- writing --------------------------------------------------------------------------------------------------------


def encode(record: Record | Document, strict: bool = True) -> str:
    """Writes a record, or a document (records separated by blank lines), as canonical text.

    Strict writing raises EncodeError (reason, and ``line`` in the text that would have been written, or ``path``) for
    anything that strict reading rejects, and for a message that lenient reading returned with warnings (``replace()``
    it or clear its ``issues`` once you trust it). ``strict=False`` writes the message as it was read. Both reject
    values that the wire cannot express (a newline in a header, a lone surrogate).
    """
    if isinstance(record, Document):
        return _encode_document(record, strict)
    text = write(record, strict)
    if strict:
        _verify(record, text)
    return text


def _verify(record: Record, text: str) -> None:
    if isinstance(record, CspMessage):
        for found in record.issues:
            if found.severity == "warning":
                raise encode_fault(found.reason, f"the message was read with the warning: {found.text}")
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form") from None
    reader = StrictReader(raw, LIMITS, _core)
    try:
        reader.read()
    except DecodeError as error:
        raise encode_fault(error.reason, error.text, line=error.line) from None
    if reader.places != [(0, len(raw))]:
        raise encode_fault(Reason.MISMATCH, "the text would be read as something else")


def _encode_document(document: Document, strict: bool) -> str:
    parts: list[str] = []
    before: Record | None = None
    fence = ""
    for record in document.records:
        text = encode(record, strict)
        open_before, fence = fence, fence_behind(text, fence) if isinstance(record, Junk) else fence
        if before is not None and not _is_fence(before) and not (open_before and not fence):
            after_junk = isinstance(before, Junk) and (isinstance(record, Junk) or before.reason is None)
            if not after_junk:
                parts.append("\n")
        parts.append(text)
        before = record
    return "".join(parts)


def _is_fence(record: Record) -> bool:
    return isinstance(record, Junk) and is_fence(record.text)


def write(record: Record, strict: bool = True) -> str:
    """The text of a record. Raises EncodeError for what no line of the wire can hold; other faults are not looked for.

    Strict writes in the words of the specification: the fields of known blocks in its order, and a last newline after
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
            raise encode_fault(Reason.JUNK, "text that is not a record can only be written with strict=False")
        return record.text if record.text.endswith("\n") else f"{record.text}\n"
    raise encode_fault(Reason.WRONG_TYPE, f"{type(record).__name__} is not a record of this wire")


def _inline(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise encode_fault(Reason.WRONG_TYPE, f"expected text, not {type(value).__name__}", path)
    if "\n" in value:
        raise encode_fault(Reason.NEWLINE_IN_STRING, "this value must be on one line", path)
    return value


def _ended(line: str) -> str:
    """A line for which a line feed may follow: after a CR of its own it ends with CRLF."""
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
            raise encode_fault(Reason.UNKNOWN_KEY, "a key must match [A-Z][A-Z0-9_]*", path)
        if not isinstance(value, str):
            raise encode_fault(Reason.WRONG_TYPE, f"expected text, not {type(value).__name__}", path)
        if "\n" in value or (not bare and kind == "FILEOP" and key == "CONTENT"):
            lines += [key, *heredoc(value, exact=not strict)]
        else:
            lines.append(_ended(f"{key} {value}" if value else key))
    return lines


def heredoc(content: str, exact: bool = False) -> list[str]:
    """The lines of the heredoc that holds ``content``, which is given a last newline if it has none.

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


# --- checking -------------------------------------------------------------------------------------------------------


def check(message: Record | Document) -> list[Issue]:
    """Lists the issues of a record: problems that strict writing rejects ("warning"), and those that may be fine
    ("info").

    ``where`` is a line of the text that ``encode(message, strict=False)`` returns; for warnings from reading, the line
    where they were found. Raises EncodeError(wrong_type) for other objects.
    """
    expect(message, Record | Document, "check expects a CSP/1 record or a Document", WIRE)
    if isinstance(message, Document):
        return [found for record in message.records for found in check(record)]
    try:
        text = write(message, strict=False)
        found: list[Issue] = []
        try:
            _verify(message, text)
        except EncodeError:  # else lenient reading, which forgives more, has no say
            found = parse(text, mode="lenient").issues
    except (EncodeError, DecodeError) as error:
        return [Issue(error.reason, error.line or 1, "warning", error.text)]
    if isinstance(message, CspMessage):
        reasons = {one.reason for one in found}
        found += [one for one in message.issues if one.reason not in reasons]
        found += doubts(message)
    return found


def doubts(message: CspMessage) -> list[Issue]:
    """Lists notes about a message that strict reading accepts; it may be fine."""
    block = message.block
    found = []
    if isinstance(block, FileOp):
        if block.op not in FILE_OPS:
            found.append(issue(Reason.UNKNOWN_OP, 7, "info", f"{block.op!r} is not one of {', '.join(FILE_OPS)}"))
        elif block.op != "DELETE" and block.get("CONTENT") is None:
            found.append(issue(Reason.HEREDOC_EXPECTED, 7, "info", f"FILEOP {block.op} without CONTENT has no effect"))
    return found


# The compiled core has the usual messages done by itself and leaves all others to these.
decode_closely, encode_closely, check_closely = decode, encode, check
CORE = _core = _backend.load("csp.codec")
"""The functions that those of all wires use directly: ``read``, where it is compiled."""
if not TYPE_CHECKING and _backend.NAME == "native":
    decode, encode, check = _core.decode, _core.encode, _core.check
    for _quick, _closely in ((decode, decode_closely), (encode, encode_closely), (check, check_closely)):
        _quick.__doc__ = _closely.__doc__
