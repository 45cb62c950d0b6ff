"""Logs of container engines and journals: lines or objects that each say whose text they are a piece of."""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.log.search import carriers
from turnwire.log.search.state import Match, SearchState, Walk
from turnwire.log.search.texts import Text

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

AT_LINE = (
    rb"(?P<cri>(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    rb" std(?:out|err) [PF](?=[: \r\n]|\Z))"
)


class Run(NamedTuple):
    """A run of a carrier's lines: where it begins, -1 for one that goes on; by the keys of its texts the states before
    and behind each, and the text."""

    carrier: str
    first: int
    texts: dict[tuple[str, ...], tuple[SearchState, SearchState, Any]]

    def state_before(self, state: SearchState, key: tuple[str, ...]) -> SearchState:
        """The state in which the text of a key begins."""
        before = state.streams.get((self.carrier, *key)) if self.first < 0 else None
        return SearchState() if before is None else before


class Streams:
    """Searches the texts of a run of such lines, one for each key."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at_cri(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line of CRI."""
        return self.at(walk, at, "cri") or match.end()

    def go_on(self, walk: Walk) -> None:
        """The runs that were open at the cut go on."""
        start = walk.text.behind_line(0) if walk.state.mid else 0
        for carrier, (lines, size) in walk.state.foreign.items():
            self.at(walk, start, carrier, (lines + (start > 0), size + start))

    def at(self, walk: Walk, at: int, carrier: str, foreign: tuple[int, int] | None = None) -> int:
        """The run of a carrier's lines from ``at`` on: after its first line, 0 if there is none. foreign: of one
        that continues, the lines and bytes of others since its last line."""
        text, state = walk.text, walk.state
        joiners, spans, ended = carriers.run_of(text, at, carrier, state.taken, foreign)
        if not spans and foreign is None:
            return 0
        run = Run(carrier, at if foreign is None else -1, {})
        open_at: list[int] = []
        for key, joiner in joiners.items():
            one = joiner.text(ended, in_string=carrier != "cri")
            before = run.state_before(state, key)
            after = before.copy()
            found, place = self._search.run(one, after)
            if place < len(one.data):
                open_at.append(one.outside(place))
            walk.found.extend(_placed(record, one) for record in found)
            state.reaches += [(one.outside(here), one.outside_end(here, behind)) for here, behind in after.reaches]
            run.texts[carrier, *key] = before, after, one
        state.runs_of_lines.append(run)
        state.taken.add(spans)
        if open_at:  # in front of it, what stands between the lines is still to be searched
            state.stop_at(text.line_start(min(open_at)))
        return spans[0][1] if spans else 0

    def open_over(self, state: SearchState, position: int) -> list[int]:
        """Places where lines begin that are in parts before and after a position, also in texts of texts."""
        found: list[int] = []
        for run in state.runs_of_lines:
            for _, after, one in run.texts.values():
                if (place := self.open_line(one, position)) >= 0:
                    found.append(place)
                if after.runs_of_lines:
                    text = self.text_of(one)
                    behind = text.stretches[bisect_left(text.stretches, position, key=attrgetter("outer")) :]
                    cut = behind[0].start if behind else len(text.data)
                    found += map(text.outside, self.open_over(after, cut))
        return found

    @staticmethod
    def text_of(one: Any) -> Text:
        """A text of a run, as the search keeps it."""
        assert isinstance(one, Text), "the native search keeps others"
        return one

    def open_line(self, one: Text, position: int) -> int:
        """The place where the line of a text begins that is in parts before and after a position, or -1."""
        count, left, _ = self.pieces_before(one, position)
        if not count or not left:
            return -1
        behind = one.stretches[count].start
        if not behind or one.data[behind - 1] == 10:
            return -1
        first = one.line_start(behind - 1)
        if behind - first > self._search.longest_line:
            return -1
        number = bisect_left(one.stretches, first, key=attrgetter("start"))  # a piece may say nothing
        return one.stretches[number].outer if one.stretches[number].start == first else one.outside(first)

    @staticmethod
    def pieces_before(one: Text, position: int) -> tuple[int, int, int]:
        """The numbers of pieces of a text before and after a position, and the place of the last one before it."""
        count = bisect_left(one.stretches, position, key=attrgetter("outer"))
        return count, len(one.stretches) - count, one.stretches[count - 1].outer if count else 0

    def commit_state(self, text: Text, state: SearchState, position: int) -> None:
        """Makes the runs that are open, and the states of their texts, what they are where the next block begins."""
        for run in state.runs_of_lines:
            if run.first >= position:
                continue
            state.pieces = True
            streams = {key: one for key, one in state.streams.items() if run.first < 0 or key[0] != run.carrier}
            lines, size = state.foreign.get(run.carrier, (0, 0)) if run.first < 0 else (0, 0)
            since = 0
            for key, (before, after, one) in run.texts.items():
                count, left, place = self.pieces_before(one, position)
                if count:
                    since = max(since, text.behind_line(place))
                    streams[key] = self.state_behind(one, count, before) if left else after
            lines, size = (0, 0) if since else (lines, size)
            lines, size = lines + text.data.count(b"\n", since, position), size + position - since
            state.foreign.pop(run.carrier, None)
            if lines <= carriers.MOST_FOREIGN_LINES and size <= carriers.MOST_FOREIGN:
                state.foreign[run.carrier] = lines, size
            else:
                streams = {key: one for key, one in streams.items() if key[0] != run.carrier}
            state.streams = {key: one for key, one in streams.items() if not one.is_plain()}
        state.begun_with = next((run.carrier for run in state.runs_of_lines if not run.first), None)

    def state_behind(self, one: Text, count: int, before: SearchState) -> SearchState:
        """The state after the first pieces of a text, of which there are more."""
        stretches, size = one.stretches[:count], one.stretches[count].start
        after = before.copy()
        self._search.run(Text(one.data[:size], one.outer, stretches, final=False, in_string=one.in_string), after)
        after.forget()
        return after


def _placed(found: Match, inner: Text) -> Match:
    """A record or reject of a text, by its place in the text around that."""
    first, last = inner.outside(found.here), inner.outside_end(found.here, found.behind)
    return found._replace(here=first, behind=max(last, first))
