"""Notations inside texts: references, names of DEFs, the orders of a template, and parts whose tokens are counted."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError, Reason, expect

_REF = re.compile(r"(.+):([0-9]{1,18})(?:-([0-9]{1,18}))?", re.DOTALL)


def refs(text: str) -> list[tuple[str, int | None, int | None]]:
    """The parts of a DATA value, separated by ``;``: (path, first line, last line).

    ``src/a.ts:7`` is ("src/a.ts", 7, 7); a part that is not a reference is returned as (part, None, None); empty text
    has no parts. Raises DecodeError(bad_range) for a range that ends before it starts.
    """
    expect(text, str, "expected the text of a value")
    found: list[tuple[str, int | None, int | None]] = []
    offset = 0
    for part in text.split(";") if text else ():
        match = _REF.fullmatch(part)
        if match is None:
            found.append((part, None, None))
        else:
            first = int(match[2])
            last = first if match[3] is None else int(match[3])
            if last < first:
                at = len(text[:offset].encode("utf-8", "surrogatepass"))
                raise DecodeError(Reason.BAD_RANGE, f"{part!r} ends before it starts", offset=at, line=1, wire=WIRE)
            found.append((match[1], first, last))
        offset += len(part) + 1
    return found


def expand(text: str, defs: Mapping[str, str]) -> str:
    """Returns ``text`` with each comma-separated token that is the name of a DEF replaced by its value (reading 7).

    White space around a token is kept, and values are not expanded again. The message itself does not change.
    """
    expect(text, str, "the text of a value is expanded")
    expect(defs, Mapping, "DEFs must map names to values")
    return ",".join(_expanded(token, defs) for token in text.split(","))


def _expanded(token: str, defs: Mapping[str, str]) -> str:
    name = token.strip(" \t")
    if name not in defs:
        return token
    before = token[: len(token) - len(token.lstrip(" \t"))]
    return before + defs[name] + token[len(before) + len(name) :]


# --- templates [TASK_TPL] ---------------------------------------------------------------------------------------------
#
#     compact                                 expanded
#     TASK REQ:<req> IN:<scope> OUT:<type>    TASK / REQ <req> / IN <scope> / OUT <type>
#     RESULT{STATUS,DATA[file:line]}          RESULT / STATUS / DATA [file:line]
#
# A line that is neither is kept as it is, and an order is only rewritten where reading it back gives the same.

_WORD = "TASK|RESULT|ERROR|PATCH|FILEOP|PLAN|QUERY|MEM"
_KEY = "[A-Z][A-Z0-9_]*"
_ORDER = re.compile(rf"({_WORD})((?: {_KEY}:.*?)+)")
_PART = re.compile(rf" ({_KEY}):(.*?)(?= {_KEY}:|\Z)")
_SHAPE = re.compile(rf"({_WORD})\{{({_KEY}(?:\[[^\]]*\])?(?:,{_KEY}(?:\[[^\]]*\])?)*)\}}")
_SHAPE_PART = re.compile(rf"({_KEY})(\[[^\]]*\])?,?")
_EXPANDED_KEY = re.compile(rf"(?!(?:{_WORD})\Z)({_KEY})(?: (.*))?")


def expand_orders(lines: list[str]) -> list[str]:
    """Each compact line as its expanded lines."""
    return [expanded for line in lines for expanded in _expand_line(line)]


def _expand_line(line: str) -> list[str]:
    order, shape = _ORDER.fullmatch(line), _SHAPE.fullmatch(line)
    if order is not None:
        return [order[1], *(f"{key} {value}" for key, value in _PART.findall(order[2]))]
    if shape is not None:
        return [shape[1], *(f"{key} {inside}".rstrip(" ") for key, inside in _SHAPE_PART.findall(shape[2]))]
    return [line]


def compact_orders(lines: list[str]) -> list[str]:
    """Each run of expanded lines as its compact line."""
    runs: list[list[str]] = []
    for line in lines:
        goes_on = _EXPANDED_KEY.fullmatch(line) is not None and _expand_line(line) == [line]
        if runs and goes_on and re.fullmatch(_WORD, runs[-1][0]):
            runs[-1].append(line)
        else:
            runs.append([line])
    return [line for run in runs for line in _compact_run(run)]


def _compact_run(run: list[str]) -> list[str]:
    if len(run) == 1:
        return run
    pairs = [line.partition(" ") for line in run[1:]]
    if all(not space or (value.startswith("[") and value.endswith("]")) for _, space, value in pairs):
        line = f"{run[0]}{{{','.join(key + value for key, _, value in pairs)}}}"
    else:
        line = run[0] + "".join(f" {key}:{value}" for key, _, value in pairs)
    return [line] if _expand_line(line) == run else run
