"""The matchers of tokens: nSLIP, and further wires that have a ``TextPlan`` (tokens, and records of lines)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnwire.errors import Reason
from turnwire.log.search.state import More, Walk
from turnwire.log.search.texts import BOM, DEEPEST_STRING
from turnwire.nslip._parser_py import ParseFault, parse
from turnwire.nslip.spec import CANDIDATE

if TYPE_CHECKING:
    from turnwire.log.search.search import Search
    from turnwire.log.search.text_wires import TextSpan, TextWires

IN_LINE = rb"(?P<slip>" + CANDIDATE + rb")"
_CANDIDATES = re.compile(CANDIDATE)


class NslipTokens:
    """Finds records of nSLIP."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """Matches what begins with a candidate. Damage ends where anything else begins on its line."""
        text, data, limit = walk.text, walk.text.data, self._search.limit
        line = min(text.line_end(at), walk.end)
        stop = min(line, at + limit)
        try:
            fields, behind = parse(data, at, stop, keep=self._search.keep, log=True)
        except ParseFault as error:
            if stop == len(data):
                walk.needs_line(at)
            reason, fault = error.reason, error.offset
            if stop < line and (fault >= stop or reason is Reason.UNTERMINATED_STRING):
                reason, fault = Reason.MESSAGE_TOO_LARGE, stop
            escaped = fault < line and data[fault] == 0x5C and reason is not Reason.BAD_ESCAPE
            if escaped and text.depth < DEEPEST_STRING:  # it was written in a string
                return self._search.strings.around(walk, at)
            following = self._search.in_line.search(data, at + 1, stop)
            last = stop if following is None else following.start()
            last = min(last, _next_candidate(data, at + 1, stop, line, limit))
            walk.add(at, last, self._search.nslip, reason=reason, fault=fault)
            return max(last, at + 1)
        walk.add(at, behind, self._search.nslip, value=fields)
        return int(behind)


def _next_candidate(data: bytes, start: int, to: int, end: int, limit: int) -> int:
    """The next candidate that starts in ``data[start:to]`` and is in ``data[:end]`` and within ``limit`` bytes, or
    ``to``."""
    while (at := data.find(b"@", start, to)) >= 0:
        if _CANDIDATES.match(data, at, min(end, at + limit)):
            return at
        start = at + 1
    return to


class FurtherWires:
    """Finds records of the wires that have a ``TextPlan``. tokens, lines: those of each style."""

    def __init__(self, search: Search, tokens: TextWires, lines: TextWires) -> None:
        self._search = search
        self._tokens = tokens
        self._lines = lines

    def at_token(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """Matches what begins with the opening of a token."""
        data = walk.text.data
        line = min(walk.text.line_end(at), walk.end)
        one = self._tokens.token(data, at, line, self._search.limit)
        if (line if one is None else one.stop) == len(data):
            walk.needs_line(at)
        return at + 1 if one is None else self._add(walk, one)

    def at_lines(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """Matches what begins with a line that opens a record of several."""
        data = walk.text.data
        edge = walk.state.taken.up_to(at, walk.end)
        final = walk.text.final or edge < len(data)
        one = self._lines.lines(data, at + 3 * data.startswith(BOM, at), edge, final, self._search.limit)
        if one is None:
            return match.end()
        if one.is_open:
            raise More(at)
        return self._add(walk, one)

    def _add(self, walk: Walk, one: TextSpan) -> int:
        walk.add(one.start, one.stop, one.wire, reason=one.reason, fault=one.fault, value=("further", {}))
        return max(one.stop, one.start + 1)
