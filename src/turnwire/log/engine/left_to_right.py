"""What the lines of a range are, left to right: records of wires of lines, or lines that belong together.

What begins first wins. All claims are made at once; where lines that belong together (a message behind a prefix, whose
heredoc may hold ``CSP/1``) reach over some of them, those are taken back and made anew behind these lines. So that
nothing is read again and again, that happens in windows, each twice as long as the one before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from turnwire.finding.assembly import Assembly, find
from turnwire.log.engine.claims import DAMAGED, Claims

if TYPE_CHECKING:
    from turnwire.log.engine.block_pass import Pass

_WINDOW = 512
"""Bytes of the first window behind lines that reach over claims."""
_LONGEST_INDENT = 4096
_INDENTED = re.compile(rb"[ \t]+CSP/1(?:\r?\n|;| MODE;)")
_TAIL, _RUN, _SETTLED = 1, 2, 3
"""Places in the state of CSP/1: whether a message may be open, the heredoc that is never closed, and whether what was
read depends on nothing in front."""


class _Window:
    """Claims, and with what state of CSP/1 they begin and where."""

    def __init__(self, start: int, before: list[int], claims: Claims) -> None:
        self.start = start
        self.before = before
        self.claims = claims

    @cached_property
    def starts(self) -> list[int]:
        """Where they start."""
        starts: list[int] = self.claims.starts.tolist()
        return starts

    @cached_property
    def stops(self) -> list[int]:
        """Where they end."""
        stops: list[int] = self.claims.stops.tolist()
        return stops


class LeftToRight:
    """What is claimed of the lines from ``start`` to ``stop`` of a block. final: nothing follows that could change how
    the last of them are read; reach: up to there the bytes behind ``stop`` are known.

    claims: those of wires of lines; assemblies: the lines that belong together; position: where the next block begins,
    in front of what either may still become.
    """

    def __init__(self, search: Pass, start: int, stop: int, final: bool, reach: int) -> None:
        self._search = search
        self._stop = stop
        self._final = final
        self._size = 0  # of the next window
        before = search.state.csp[:]
        self.claims = search.claims(start, stop, final)
        start = min(start, self.claims.position)  # a byte order mark may be in front
        self._windows = [_Window(start, before, self.claims)]
        self._place = self.claims.position  # up to here all is claimed that is
        self._read = stop  # up to here the windows were read
        self.assemblies: list[Assembly] = []
        self.position = self._place
        if search.belong_together(self.claims, start, stop):
            self.assemblies, position = find(search.data, start, stop, final, search.limit, reach, self)
            while self._read < stop:
                self._extend()
            self.claims.join([window.claims for window in self._windows[1:]])
            self.claims.position, self.claims.line = self._place, search.line_of(self._place)
            self.position = min(position, self._place)

    # --- as find() wants it ---

    def behind(self, line: int) -> int:
        """As ``turnwire.finding.assembly.Claimed`` says."""
        while line >= self._place:
            if self._read == self._stop:
                return self._stop  # a message is open, or there is no more
            self._extend()
        number = bisect_right(self._windows, line, key=lambda window: window.start) - 1
        window = self._windows[max(number, 0)]
        at = bisect_right(window.starts, line) - 1
        if at < 0 or window.stops[at] <= line or (window.starts[at] == line and self._indented(window, at)):
            return line
        return window.stops[at]

    def take(self, found: Assembly) -> None:
        """The same: what was claimed from the first of its lines on is taken back."""
        if self._windows[-1].start >= found.stop:
            return
        while len(self._windows) > 1 and self._windows[-1].start >= found.start:
            self._drop_window()
        window = self._windows[-1]
        kept = bisect_left(window.starts, found.start)
        overlaps = kept < len(window.starts) and window.starts[kept] < found.stop
        if not overlaps and found.stop <= self._place:  # no window was dropped
            return
        self._end_open(window, kept, found.start)
        window.claims.cut(kept)
        del window.starts[kept:]
        self._place = self._read = found.stop
        self._size = _WINDOW

    # --- windows ---

    def _extend(self) -> None:
        """Claims what the next window holds."""
        size = min(self._place + self._size, self._stop)
        self._size *= 2
        before = self._search.state.csp[:]
        claims = self._search.claims(self._place, size, self._final and size == self._stop)
        self._windows.append(_Window(self._place, before, claims))
        self._place, self._read = claims.position, size

    def _drop_window(self) -> None:
        window = self._windows.pop()
        self._search.state.csp = window.before
        self._place = window.start

    def _end_open(self, window: _Window, kept: int, place: int) -> None:
        """Makes the state what it is behind an assembly that begins at ``place``: no message is open. A heredoc that is
        never closed stays so."""
        state = self._search.state
        if window.before[_RUN] or state.csp[_RUN]:
            state.csp = window.before[:]
            self._search.claims(window.start, max(place, window.start), False)
        state.csp[_TAIL] = 0
        if not kept:
            state.csp[_SETTLED] = window.before[_SETTLED]

    def _indented(self, window: _Window, number: int) -> bool:
        """Whether a damaged claim begins with a line that is the magic but for its indentation: CSP/1 itself takes the
        first line of an indented message for a damaged one."""
        if window.claims.what[number] != DAMAGED:
            return False
        first = window.starts[number]
        return _INDENTED.match(self._search.view[first : first + _LONGEST_INDENT].tobytes()) is not None
