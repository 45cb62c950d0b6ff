"""The search: one pass over a text from left to right, what begins first wins. The rules are in docs/scan.md.

All openings of all wires are found in one look. Where one stands its matcher says what begins there: a record, a
reject, nothing, or that more must be there to say so. Carriers join text that comes in pieces (``carriers.py``), which
is searched by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from turnwire.contract import LIMITS
from turnwire.log.search import carriers, csp, objects
from turnwire.log.search.texts import LONGEST_LINE, MOST_OPENING, Incomplete, Match, SearchState, Text, Walk, in_order
from turnwire.log.search.tokens import FENCES, SLIP, at_fence, at_head, at_slip

if TYPE_CHECKING:
    from turnwire.log.engine.all_wires import Finder


class Search:
    """The search for the wires of a finder.

    limit: bytes of one message; longest_line: bytes of a line that are waited for; keep: records of nSLIP with slots
    and frames that this version does not know are taken; alone: it walks through the text itself, so what begins at a
    place may be several messages. runs: the first bytes of lines with which nothing but these begins. handlers: the
    function for an opening, by its kind: (walk, place, match) -> where to go on; in_line: openings that may stand
    anywhere in a line.
    """

    def __init__(self, finder: Finder, limit: int = LIMITS.message, keep: bool = False, alone: bool = False) -> None:
        self.finder = finder
        self.limit = limit
        self.longest_line = max(limit, LONGEST_LINE)
        self.keep = keep
        tokens, lines = finder.tokens, finder.lines
        openings = (*lines.openings, *(wire.scanner.documents.opening for wire in finder.documents))
        self.runs = {b"@", b"{", b"C"}.difference([opening[:1] for opening in openings]) if alone else set()
        self.strings = objects.StringSearch(self, tokens.marks + lines.marks)
        self.csp_lines = csp.CspLines(self)
        keys = [f'"{key}"'.encode() for plan in finder.plans for key in plan.torn]
        torn = _named("torn", sorted(set(keys), key=len, reverse=True))
        self.objects = objects.Objects(self, keys, torn)
        self.streams = carriers.Streams(self)
        self.handlers: dict[str, Callable[[Walk, int, re.Match[bytes]], int]] = {
            "head": partial(at_head, self),
            "lines": lambda walk, at, match: lines.at_lines(walk, at, limit) or match.end(),
            "csp": self.csp_lines.at_csp,
            "heredoc": self.csp_lines.at_heredoc,
            "fence": at_fence,
            "cri": self.streams.at_cri,
            "values": self.objects.at_values,
            "slip": partial(at_slip, self),
            "token": lambda walk, at, match: tokens.at_token(walk, at, limit),
            "object": self.objects.at_object,
            "escaped": lambda walk, at, match: self.strings.around(walk, at),
            "magic": partial(carriers.at_magic, self),
            "torn": self.objects.at_torn,
        }
        heads = _named("head", [wire.scanner.documents.opening for wire in finder.documents])
        at_line = [heads, _named("lines", lines.openings), csp.AT_LINE, FENCES, carriers.AT_LINE]
        at_line.append(objects.AT_LINE)
        in_line = [SLIP, _named("token", tokens.openings), objects.IN_LINE, carriers.IN_LINE]
        self.in_line = re.compile(b"|".join(in_line), re.MULTILINE)
        self._within_line = re.compile(b"|".join([*in_line, torn]), re.MULTILINE)
        self._openings = re.compile(b"|".join([rb"^(?:" + b"|".join(at_line) + rb")", *in_line, torn]), re.MULTILINE)

    def run(self, text: Text, state: SearchState | None = None) -> tuple[list[Match], int]:
        """(what is found, in the order in which it begins; where to go on when more is there)."""
        walk = Walk(text, len(text.data), [], SearchState() if state is None else state)
        place = self._walk(walk)
        if place == walk.end and not text.final and walk.end - (last := text.line_start(walk.end)) <= self.longest_line:
            place = last  # a line that has no end yet may say more
        place = place if place == walk.end else text.line_start(place)
        self.streams.commit_state(text, walk.state, walk.end)
        return sorted((one for one in walk.found if one.here < place), key=in_order), place

    def block(self, text: Text, state: SearchState) -> tuple[list[Match], int]:
        """The same of a block of a file; ``state`` becomes what it is where the next one begins."""
        walk = Walk(text, len(text.data), [], state)
        position = self._walk(walk)
        if position < walk.end:
            # A position is at the start of a line, but where a line is longer than a message may be.
            position = text.line_start(position) or (position if position >= self.longest_line else 0)
        elif not text.final and not text.data.endswith(b"\n"):  # an opening may be cut in two
            position = max(state.reached, position - MOST_OPENING, 0)
        # Lines of several texts are interleaved where a record reaches over the position: it is read again, too.
        reaches = [(one.here, one.behind) for one in walk.found] + state.reaches
        while position < walk.end and (
            late := [here for here, behind in reaches if here < position < behind]
            or self.streams.open_over(state, position)
        ):
            position = text.line_start(min(late))
        kept = sorted((one for one in walk.found if one.here < position), key=in_order)
        state.commit_state(text, position, len(kept))
        self.streams.commit_state(text, state, position)
        state.forget()
        return kept, position

    def opening_at(self, text: Text, at: int, mid: bool) -> re.Match[bytes] | None:
        """The opening at a place; mid: the text begins in the middle of a line."""
        return (self._within_line if mid and not at else self._openings).match(text.data, at)

    def _walk(self, walk: Walk) -> int:
        """Goes through a text: where what is open begins, or its end."""
        text, end, found, state = walk
        self.csp_lines.begin(text, state)
        self.streams.go_on(walk)
        end = end if state.open_from is None else state.open_from
        at, openings, handlers = 0, self._openings, self.handlers
        try:
            while (match := openings.search(text.data, at, end)) is not None:
                start = match.start()
                inside = self.opening_at(text, 0, True) if state.mid and not start else match
                if (behind := state.taken.behind(start)) > start:
                    at = state.reached = behind
                elif inside is None:
                    at = 1
                else:
                    before = len(found)
                    at = state.reached = handlers[str(inside.lastgroup)](walk, start, inside)
                    state.found_behind = at if len(found) > before else state.found_behind
                    end = end if state.open_from is None else state.open_from
                    if at > end:  # it reaches behind what is open
                        state.reaches.append((start, at))
        except Incomplete as more:
            end = min(end, start, more.place)  # what began there is read again as a whole
        state.end(walk.end, text.final)
        return end


def _named(kind: str, texts: list[bytes]) -> bytes:
    """A pattern for these texts, one that never matches if there are none; a byte order mark may come before those
    that begin lines."""
    any_of = b"|".join(map(re.escape, texts)) or rb"(?!)"
    mark = rb"(?:\xef\xbb\xbf)?" if kind in ("head", "lines") else b""
    return rb"(?P<" + kind.encode() + rb">" + mark + rb"(?:" + any_of + rb"))"
