"""nSLIP among JSON in plain Python: the readable twin of ``_native/json_others.h``, hooks of the scan of JSON wires.

A candidate is what ``nslip_scan.py`` calls one. It is judged in its line, or in its line of what a string says. A
damaged one ends where the next candidate of either kind begins. Where a backslash stands that nSLIP does not know, the
text may be a string literal, and what that says is looked through.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire._pure.json_region import Region
from turnwire._pure.nslip_parser import Fault, parse
from turnwire.errors import Reason
from turnwire.slip.spec import REASONS

__all__ = ["CUT", "NONE", "REASONS", "RECORD", "REJECT", "STRING", "Other", "find", "look"]

NONE, RECORD, REJECT, STRING, CUT = range(5)
GREATEST = (1 << 63) - 1
_CANDIDATE = re.compile(rb"@[afcSdT][0-9A-Za-z]")
_SRC, _DST, _CONV, _TURN, _ACT, _SLOTS = 2, 3, 0, 1, 4, 6  # places in what the parser gives
_TAG = re.compile(rb'[|@]([ut])"((?:[^"\\]|\\.)*)"(?=[|#])|"(?:[^"\\]|\\.)*"', re.DOTALL)


class Other:
    """What was found: one of ``RECORD``, ``REJECT``, ``STRING``, ``CUT`` or ``NONE``, and where."""

    def __init__(self, what: int, at: int = 0, end: int = 0) -> None:
        self.what = what
        self.at = at
        self.end = end
        self.fields: tuple[Any, ...] = ()
        self.reason = Reason.BAD_FRAMING
        self.fault = 0


def find(region: Region, start: int, to: int, behind: bytes, limit: int, deepest: int, keep: bool) -> Other:
    """The first candidate that starts from ``start`` on and in front of ``to``, judged. ``behind``: the byte behind the
    region, if there is one: a newline there ends a string otherwise than the end of the input does."""
    raw = region.raw
    match = _CANDIDATE.search(raw, start, min(to + 2, region.end))
    if match is None or match.start() >= to:
        return Other(NONE)
    at = match.start()
    newline = raw.find(b"\n", at, region.end) if region.level else -1
    line = region.end if newline < 0 else newline
    if newline >= 0 and raw[line - 1] == 0x0D:
        line -= 1
    end = min(line, at + limit)
    try:
        fields, stop = parse(raw + behind, at, end, keep=keep, log=True)
    except Fault as fault:
        return _damaged(region, at, to, line, end, fault, deepest)
    found = Other(RECORD, at, stop)
    found.fields = fields
    return found


def _damaged(region: Region, at: int, to: int, line: int, end: int, error: Fault, deepest: int) -> Other:
    reason, fault = error.reason, error.offset
    at_end = fault >= end or reason is Reason.UNTERMINATED_STRING
    goes_on = end == region.end and region.cut
    if at_end and goes_on and at > 0:
        return Other(CUT, at, at)
    if at_end and (end < line or goes_on):
        reason, fault = Reason.MESSAGE_TOO_LARGE, end
    escape = fault < region.end and region.raw[fault] == 0x5C and reason is not Reason.BAD_ESCAPE
    if escape and region.level < deepest:
        return Other(STRING, at)
    stop = min(to, end)
    following = _CANDIDATE.search(region.raw, at + 1, min(stop + 2, line))
    found = Other(REJECT, at, following.start() if following and following.start() < stop else stop)
    found.reason, found.fault = reason, fault
    return found


def look(text: bytes) -> bool:
    """Whether a string of good JSON (as written) is worth decoding."""
    return _CANDIDATE.search(text) is not None


def tag_of(raw: bytes, at: int, end: int) -> tuple[int, int, bool] | None:
    """Where the tag of the record from ``at`` to ``end`` stands: offset and length of its inside, whether it holds
    escapes."""
    for match in _TAG.finditer(raw, at, end):
        if match[1] == b"t":
            return match.start(2), len(match[2]), b"\\" in match[2]
    return None


def texts_of(fields: tuple[Any, ...]) -> dict[str, bytes]:
    """sender, receiver and conversation as decimal text."""
    places = {"sender": _SRC, "receiver": _DST, "conversation": _CONV}
    return {name: str(fields[place]).encode() for name, place in places.items()}


def act_of(fields: tuple[Any, ...]) -> int:
    """The number of the act."""
    return int(fields[_ACT])


def turn_of(fields: tuple[Any, ...]) -> int | None:
    """The turn, where it fits into an i64."""
    turn: int = fields[_TURN]
    return turn if turn <= GREATEST else None
