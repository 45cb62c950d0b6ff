"""Logs of container engines and journals: lines or objects that each say whose text they are a piece of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnwire.log.search import carriers
from turnwire.log.search.state import Found, More, SearchState, Walk
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
        lines, size = state.foreign[0] + text.data.count(b"\n", 0, at), state.foreign[1] + at
        if state.run_behind >= 0:
            lines, size = text.data.count(b"\n", state.run_behind, at), at - state.run_behind
        if lines > carriers.MOST_FOREIGN_LINES or size > carriers.MOST_FOREIGN:
            state.streams = {}
        joiners, spans, ended = carriers.run_of(text, at, carrier, state.behind_taken)
        if not spans:
            return 0
        before = {key: state.streams.get((carrier, *key), SearchState()) for key in joiners}
        inner = {key: joiner.text(ended, in_string=carrier != "cri") for key, joiner in joiners.items()}
        open_at: list[int] = []
        for key, one in inner.items():
            after = before[key].copy()
            found, place = self._search.run(one, after)
            if place < len(one.data):
                open_at.append(one.outside(place))
            walk.found.extend(_placed(record, one) for record in found)
            state.streams[carrier, *key] = after
        state.take(spans)
        state.run_behind = spans[-1][1]
        state.begun_streams = before, inner
        if ended:
            state.streams, state.begun_streams, state.run_behind, state.foreign = {}, ({}, {}), -1, (0, 0)
        if open_at:
            raise More(text.line_start(min(open_at)))
        return spans[0][1]

    def settle(self, text: Text, state: SearchState, position: int) -> None:
        """Makes the states of the texts of a run what they are where the next block begins."""
        before, inner = state.begun_streams
        last = 0
        for key, one in inner.items():
            stretches = [stretch for stretch in one.stretches if stretch.outer < position]
            last = max([last, *(text.behind_line(stretch.outer) for stretch in stretches)])
            if len(stretches) == len(one.stretches):
                continue
            size = stretches[-1].start + stretches[-1].size if stretches else 0
            after = before[key].copy()
            self._search.run(Text(one.data[:size], text, stretches, final=False, in_string=one.in_string), after)
            state.streams[one.carrier, *key] = after
        if inner:
            state.foreign = text.data.count(b"\n", last, position), position - last
        elif state.streams:
            state.foreign = state.foreign[0] + text.data.count(b"\n", 0, position), state.foreign[1] + position


def _placed(found: Found, inner: Text) -> Found:
    """What was found in a text, by where it stands in the text around that."""
    first, last = inner.outside(found.here), inner.outside_end(found.here, found.behind)
    return found._replace(here=first, behind=max(last, first))
