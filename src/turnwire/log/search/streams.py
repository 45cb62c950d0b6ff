"""Logs of container engines and journals: lines or objects that each say whose text they are a piece of."""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING

from turnwire.log.search import carriers
from turnwire.log.search.state import Match, SearchState, Walk
from turnwire.log.search.texts import Text

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

AT_LINE = (
    rb"(?P<cri>(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    rb" std(?:out|err) [PF](?=[: \r\n]|\Z))"
)


class Streams:
    """Searches the texts of a run of such lines, one for each key."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at_cri(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line of CRI."""
        return self.at(walk, at, "cri") or match.end()

    def at(self, walk: Walk, at: int, carrier: str) -> int:
        """The run of a carrier's lines from ``at`` on: behind its first line, 0 where there is none."""
        text, state = walk.text, walk.state
        joiners, spans, ended = carriers.run_of(text, at, carrier, state.taken)
        if not spans:
            return 0
        self.go_on(state, carrier, text.data.count(b"\n", 0, at), at)
        open_at: list[int] = []
        for key, joiner in joiners.items():
            one = joiner.text(ended, in_string=carrier != "cri")
            before = state.streams.get((carrier, *key), SearchState())
            after = before.copy()
            found, place = self._search.run(one, after)
            if place < len(one.data):
                open_at.append(one.outside(place))
            walk.found.extend(_placed(record, one) for record in found)
            state.reaches += [(one.outside(here), one.outside_end(here, behind)) for here, behind in after.reaches]
            state.streams[carrier, *key] = after
            state.begun_streams[carrier, *key] = before, one
        state.taken.add(spans)
        if ended:
            state.end_streams(carrier)
        if open_at:  # in front of it, what stands between the lines is still to be searched
            state.stop_at(text.line_start(min(open_at)))
        return spans[0][1]

    @staticmethod
    def go_on(state: SearchState, carrier: str, lines: int, size: int) -> None:
        """The texts of a carrier end where too many lines of others stand in between: so many in this block."""
        before = state.foreign.get(carrier, (0, 0))
        if before[0] + lines > carriers.MOST_FOREIGN_LINES or before[1] + size > carriers.MOST_FOREIGN:
            state.end_streams(carrier)

    def open_over(self, state: SearchState, position: int) -> list[int]:
        """Places where lines begin that are in parts in front of and behind a position."""
        return [place for _, one in state.begun_streams.values() if (place := self.open_line(one, position)) >= 0]

    def open_line(self, one: Text, position: int) -> int:
        """The place where the line of a text begins that is in parts in front of and behind a position, or -1."""
        count, left, _ = self.pieces_before(one, position)
        if not count or not left:
            return -1
        behind = one.stretches[count].start
        if not behind or one.data[behind - 1] == 10:
            return -1
        first = one.line_start(behind - 1)
        if behind - first > self._search.limit:
            return -1
        number = bisect_left(one.stretches, first, key=attrgetter("start"))  # a piece may say nothing
        return one.stretches[number].outer if one.stretches[number].start == first else one.outside(first)

    @staticmethod
    def pieces_before(one: Text, position: int) -> tuple[int, int, int]:
        """The numbers of pieces of a text before and behind a position, and the place of the last one before it."""
        count = bisect_left(one.stretches, position, key=attrgetter("outer"))
        return count, len(one.stretches) - count, one.stretches[count - 1].outer if count else 0

    def commit_state(self, text: Text, state: SearchState, position: int) -> None:
        """Makes the states of the texts of a run what they are where the next block begins."""
        last: dict[str, int] = {}
        for key, (before, one) in state.begun_streams.items():
            count, left, place = self.pieces_before(one, position)
            if count:
                last[key[0]] = max(last.get(key[0], 0), text.behind_line(place))
            if left:
                state.streams[key] = self.state_behind(one, count, before)
        state.streams = {key: one for key, one in state.streams.items() if not one.is_plain()}
        foreign = {}
        for carrier in {key[0] for key in state.streams}:
            since = last.get(carrier, 0)
            lines, size = (0, 0) if carrier in last else state.foreign.get(carrier, (0, 0))
            foreign[carrier] = lines + text.data.count(b"\n", since, position), size + position - since
        state.foreign = foreign

    def state_behind(self, one: Text, count: int, before: SearchState) -> SearchState:
        """The state behind the first pieces of a text, of which there are more."""
        stretches, size = one.stretches[:count], one.stretches[count].start
        after = before.copy()
        self._search.run(Text(one.data[:size], one.outer, stretches, final=False, in_string=one.in_string), after)
        return after


def _placed(found: Match, inner: Text) -> Match:
    """A record or reject of a text, by its place in the text around that."""
    first, last = inner.outside(found.here), inner.outside_end(found.here, found.behind)
    return found._replace(here=first, behind=max(last, first))
