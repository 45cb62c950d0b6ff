"""The matcher of nSLIP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnwire.errors import Reason
from turnwire.log.search.state import Walk
from turnwire.log.search.texts import DEEPEST_STRING
from turnwire.nslip._parser_py import ParseFault, parse
from turnwire.nslip.spec import CANDIDATE

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

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
            walk.add(at, last, self._search.finder.nslip, reason=reason, fault=fault)
            return max(last, at + 1)
        walk.add(at, behind, self._search.finder.nslip, value=fields)
        return int(behind)


def _next_candidate(data: bytes, start: int, to: int, end: int, limit: int) -> int:
    """The next candidate that starts in ``data[start:to]`` and is in ``data[:end]`` and within ``limit`` bytes, or
    ``to``."""
    while (at := data.find(b"@", start, to)) >= 0:
        if _CANDIDATES.match(data, at, min(end, at + limit)):
            return at
        start = at + 1
    return to
