"""nSLIP among JSON in plain Python: the readable twin of ``_native/json/others.h``, hooks of the scan of JSON wires.

A candidate is what ``nslip/_scan_py.py`` calls one. It is judged in its line, or in its line of what a string says. A
damaged one ends where the next candidate of either kind begins. Where nSLIP does not know a backslash, the
text may be a string literal, and what that says is looked through.

Tokens of further wires (``Plan(tokens=)``) are found in the same way, here only: a block that may hold one is read in
plain Python, whatever the core.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.errors import Reason
from turnwire.json._region_py import DEEPEST_STRING, Region
from turnwire.json._rows_py import Cell
from turnwire.nslip._parser_py import ParseFault, parse
from turnwire.nslip._scan_py import CANDIDATES, begins, next_candidate
from turnwire.nslip.spec import REASONS

__all__ = ["NslipHooks", "look"]

NONE, RECORD, REJECT, STRING, CUT = range(5)
_WHAT = {1: RECORD, 2: REJECT, 3: CUT}  # of what the tokens of further wires are
GREATEST = (1 << 63) - 1
_CONV, _TURN, _SRC, _DST, _ACT = range(5)  # places in what the parser gives
_TAG = re.compile(rb'[|@]([ut])"((?:[^"\\]|\\.)*)"(?=[|#])|"(?:[^"\\]|\\.)*"', re.DOTALL)


class Match:
    """A judged candidate: one of ``RECORD``, ``REJECT``, ``STRING``, ``CUT`` or ``NONE``, and its range."""

    def __init__(self, what: int, at: int = 0, end: int = 0) -> None:
        self.what = what
        self.at = at
        self.end = end
        self.fields: tuple[Any, ...] = ()
        self.reason = Reason.BAD_FRAMING
        self.fault = 0
        self.token: Any = None  # of a further wire: what its plan's ``next`` gave


def find(region: Region, start: int, to: int, behind: bytes, limit: int, keep: bool) -> Match:
    """The first candidate that starts from ``start`` on and in front of ``to``, judged. ``behind``: the two bytes
    behind the region, as far as there are: a newline there ends a string otherwise than the end of the input does."""
    raw = region.raw
    at = next_candidate(raw, start, to, region.end, limit, region.cut)
    if region.cut and at == 0 and at < to and begins(raw, at, region.end) is None:
        # What fills the whole piece and is not a candidate yet is longer than the limit: none.
        at = next_candidate(raw, at + 1, to, region.end, limit, region.cut)
    if at >= to:
        return Match(NONE)
    if region.cut and begins(raw, at, region.end) is None:
        return Match(CUT, at, at)
    line = region.line_stop(at)
    end = min(line, at + limit)
    try:
        fields, stop = parse(raw + behind, at, end, keep=keep, log=True)
    except ParseFault as fault:
        return _damaged(region, at, to, line, end, limit, fault)
    found = Match(RECORD, at, stop)
    found.fields = fields
    return found


def _damaged(region: Region, at: int, to: int, line: int, end: int, limit: int, error: ParseFault) -> Match:
    reason, fault = error.reason, error.offset
    at_end = fault >= end or reason is Reason.UNTERMINATED_STRING
    goes_on = end == region.end and region.cut
    if at_end and goes_on and at > 0:
        return Match(CUT, at, at)
    if at_end and (end < line or goes_on):
        reason, fault = Reason.MESSAGE_TOO_LARGE, end
    escape = fault < region.end and region.raw[fault] == 0x5C and reason is not Reason.BAD_ESCAPE
    if escape and region.level < DEEPEST_STRING:
        return Match(STRING, at)
    stop = min(to, end)
    found = Match(REJECT, at, next_candidate(region.raw, at + 1, stop, line, limit, region.cut))
    found.reason, found.fault = reason, fault
    return found


def look(text: bytes) -> bool:
    """True if a string of good JSON (as written) may hold an nSLIP record, so that it has to be decoded."""
    return CANDIDATES.search(text) is not None


def tag_of(raw: bytes, at: int, end: int) -> tuple[int, int, bool] | None:
    """The tag of the record from ``at`` to ``end``: offset and length of its inside, and whether it holds escapes."""
    for match in _TAG.finditer(raw, at, end):
        if match[1] == b"t":
            return match.start(2), len(match[2]), b"\\" in match[2]
    return None


class NslipHooks:
    """The hooks, for the class that scans lines."""

    plan: Any
    data: bytes
    arena: list[bytes]
    arena_size: int
    limit: int
    keep: bool
    stopped: int
    row: Any
    store: Any
    value: Any
    wanted: Any
    reject: Any
    settle_before: Any
    escaped_mark: Any
    look_into_string: Any
    is_doubtful: Any
    held: bool
    open_at: int

    def others(self, region: Region, way: Any, place: int) -> int | None:
        """Take the record of nSLIP or of another token wire in front of the JSON candidate at ``place``, or the literal
        around it. Returns the offset behind it, or None if there is none. Damage is held open if only the next
        block can tell whether a candidate ends it."""
        start = max(way.searched, way.done)
        other = Match(NONE)
        mark = self.escaped_mark(region, start, place)
        token = self.token(region, way, start, mark)
        if start < mark and self.plan.nslip:
            stop = mark if token is None else token.start + 1
            at = next_candidate(region.raw, start, stop, region.end, self.limit, region.cut)
            if at < stop:
                after = region.start + len(region.raw)
                behind = b"" if region.level else self.data[after : after + 2]
                to = mark if token is None or at == token.start else token.start
                other = find(region, start, to, behind, self.limit, self.keep)
        if other.what == NONE and token is not None:
            other = Match(_WHAT[token.what], token.start, token.stop)
            other.token = token
        if other.what == NONE and mark < place:
            other = Match(STRING, mark, mark)
        if other.what == NONE:
            way.searched = place
            return None
        if way.bad < 0:
            way.mark(self)
            if region.level == 0:
                self.stopped = region.start + other.at
        if other.what == CUT:
            region.end = other.at
            way.too_large |= way.bad >= 0
        elif other.what == STRING:
            other.end = self.look_into_string(region, way, other.at)
        elif other.what == REJECT and other.end == place and way.bad < 0 and self.is_doubtful(region, place):
            self.held = region.cut = True
            self.open_at = self.stopped
        elif other.what == RECORD or way.bad < 0:
            self.settle_before(region, way, other.at)
            self.take(region, other)
            way.bad, way.done = -1, other.end
        way.searched = other.end
        return other.end

    def token(self, region: Region, way: Any, start: int, to: int) -> Any:
        """The first token of a further wire from ``start`` on and in front of ``to``, or None. What is known of them is
        not looked for again."""
        if self.plan.tokens is None or start >= to:
            return None
        since, until, end, found = way.tokens
        known = since <= start and end == region.end and (to <= until if found is None else start <= found.start)
        if not known:
            found = self.plan.tokens.next(region.raw, start, to, region.end, region.line_stop, self.limit, region.cut)
            way.tokens = start, to, region.end, found
        return found if found is not None and found.start < to else None

    def take_token(self, region: Region, other: Match) -> None:
        """Stores where a token of a further wire is; what it says is read later."""
        wire, token = other.token.wire, other.token
        if other.what == REJECT:
            self.reject(region, other.at, other.end, token.fault, 0, token.reason, wire)
        else:
            self.store(region, other.at, *self.row(region, other.at, other.end, wire), None)

    def take(self, region: Region, other: Match) -> None:
        """Stores what was found."""
        if other.token is not None:
            return self.take_token(region, other)
        assert self.plan.nslip is not None, "or nobody looks for it"
        wire, kinds, reasons = self.plan.nslip
        if other.what == REJECT:
            code = reasons[REASONS.index(other.reason)]
            self.reject(region, other.at, other.end, other.fault, 0, code, wire)
            return
        values, present = self.row(region, other.at, other.end, wire)
        for name, number in (("sender", _SRC), ("receiver", _DST), ("conversation", _CONV)):
            if self.wanted(name):
                text = str(other.fields[number]).encode()
                values[f"{name}.offset"], values[f"{name}.length"] = len(self.data) + self.arena_size, len(text)
                self.arena.append(text)
                self.arena_size += len(text)
                present |= 1 << self.plan.valid[name]
        for name, value in (("kind", kinds[int(other.fields[_ACT])]), ("sequence", other.fields[_TURN])):
            if self.wanted(name) and value <= GREATEST:
                values[name] = value
                present |= 1 << self.plan.valid[name]
        tag = tag_of(region.raw, other.at, other.end)
        if self.wanted("subject") and tag is not None:
            shift = region.start + (len(self.data) if region.level else 0)
            present |= self.value(values, "subject", Cell(None, tag[0], tag[0] + tag[1], tag[2]), 0, shift)
        self.store(region, other.at, values, present, None)
