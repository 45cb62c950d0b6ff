"""What the lines of a range are, left to right: records of wires of lines, or lines that belong together.

What begins first wins. All claims are made at once; where lines that belong together (a message behind a prefix, whose
heredoc may hold ``CSP/1``) reach over some of them, those are taken back. The claims behind stay where it is certain
that they would be the same (:meth:`LeftToRight._stay`); else they are made anew when they are asked for: up to the next
line that says CSP/1 there are none. So that nothing is read again and again, that happens in windows, each twice as
long as the one before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from turnwire.framing.assembly import Assembly, find
from turnwire.log.engine.claims import DAMAGED, Claims

if TYPE_CHECKING:
    from turnwire.log.engine.block_pass import Pass

_WINDOW = 512
"""Bytes of the first window behind lines that reach over claims."""
_LONGEST_INDENT = 4096
_INDENTED = re.compile(rb"[ \t]+CSP/1(?:\r?\n|;| MODE;)")
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
"""How lines begin that say CSP/1, or nearly."""
_NEXT_MAGIC = re.compile(rb"^" + _MAGIC.pattern, re.MULTILINE)
_OPENING, _CLOSING = b"\n<<<", b"\n>>>"
"""How lines begin that open heredocs, and that close them."""
_TAIL, _RUN, _SETTLED = 1, 2, 3
"""Places in the state of CSP/1: whether a message may be open, the heredoc that is never closed, and whether what was
read depends on nothing in front."""
_SEVERAL = -1
"""The heredoc that is never closed where there are two of different lengths: no line closes both."""


class _Window:
    """Claims of the lines from ``start`` to ``size``.

    before: the state of CSP/1 in front of them; run: the heredoc that is never closed behind them; first: the number of
    the first claim among all.
    """

    def __init__(self, search: Pass, start: int, size: int, before: list[int], first: int, claims: Claims) -> None:
        self._search = search
        self._size = size
        self.start = start
        self.before = before
        self.run = search.state.csp[_RUN]
        self.first = first
        self.claims = claims

    @cached_property
    def steady(self) -> bool:
        """Whether it is certain that the heredoc that is never closed is the same at each place of the window, or that
        there is none."""
        if self.run != self.before[_RUN]:
            return False
        if self.run == _SEVERAL:
            return True
        # One that begins and ends in the window is longer than a message may be, or it would not count as never closed.
        short = self._size + self._search.ahead - self.start <= self._search.limit
        return (short and not self.run) or not begins(self._search, _CLOSING, self.start, self._size)


def begins(search: Pass, sign: bytes, start: int, stop: int) -> bool:
    """Whether a line of the block from ``start`` to ``stop`` begins with ``sign``, which has a newline in front. A line
    begins at ``start``."""
    if start == 0 and search.view[: len(sign) - 1] == sign[1:]:
        return True
    return sign in search.view[max(start - 1, 0) : stop].tobytes()


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
        before = search.state.csp[:]
        self.claims = search.claims(start, stop, final)
        start = min(start, self.claims.position)  # a byte order mark may be in front
        self._place = self.claims.position  # up to here all is claimed that is
        self._read = stop  # up to here the windows were read
        self.assemblies: list[Assembly] = []
        self.position = self._place
        if search.belong_together(self.claims, start, stop):
            self._begin(start, before)
            self.assemblies, position = find(search.data, start, stop, final, search.limit, reach, self)
            while self._read < stop:
                self._extend()
            self.claims.join([window.claims for window in self._windows[1:]])
            self.claims.leave_out(self._out)
            self.claims.position, self.claims.line = self._place, search.line_of(self._place)
            self.position = min(position, self._place)

    def _begin(self, start: int, before: list[int]) -> None:
        self._size = _WINDOW  # of the next window
        self._windows: list[_Window] = []
        self._starts: list[int] = []  # of the claims of all windows
        self._stops: list[int] = []
        self._out: list[tuple[int, int]] = []  # the numbers of those that are none, first and behind the last
        self._since = start  # from here on the windows follow on one another
        self._plain = False  # whether behind ``_place`` nothing is open, and nothing was read
        self._magic = -1  # there, the next line that says CSP/1, or nearly
        self._add(start, self._stop, before, self.claims)

    # --- as find() wants it ---

    def behind(self, line: int) -> int:
        """As ``turnwire.framing.assembly.Claimed`` says."""
        while line >= self._place:
            if self._read == self._stop:
                return self._stop  # a message is open, or there is no more
            sure = self._magic if self._plain else self._place  # nothing in front of that is claimed
            if line < sure or (line == sure and not self._search.openings and self._is_indented(line)):
                return line
            self._extend()
        at = bisect_right(self._starts, line) - 1
        if at < 0 or self._stops[at] <= line or (self._starts[at] == line and self._is_damaged_indented(at)):
            return line
        return self._stops[at]

    def take(self, found: Assembly) -> None:
        """The same: what was claimed of its lines is taken back."""
        spans = found.spans
        start, stop = spans[0][0], spans[-1][1]
        if stop <= self._since:  # between the lines of another one
            return
        if self._plain:
            if stop > self._magic:
                self._go_on_behind(stop)
            return
        first = bisect_left(self._starts, start)
        last = bisect_left(self._starts, stop, first)
        # What begins with a line that says CSP/1 is a claim, or it ends what is open, as the assembly does.
        while first == last and self._place < stop and self._read < self._stop and not self._says_csp(self._place):
            self._extend()
            last = bisect_left(self._starts, stop, first)
        if first == last and stop <= self._place:
            return
        if first < last and len(spans) == 1 and self._stay(start, stop, last):
            self._out.append((first, last))
        else:
            self._claim_anew(start, stop, first)

    # --- what is claimed behind lines that reach over claims ---

    def _stay(self, start: int, stop: int, last: int) -> bool:
        """Whether the claims from number ``last`` on are the same when those in front of them that begin in the lines
        from ``start`` to ``stop`` are none; then the state becomes what it is without these.

        Behind the lines no message is open. Behind the last of these claims one is; but that shows only where a line
        opens a heredoc. The next line that says CSP/1 is read the same in both cases, and then so is all behind it.
        """
        place = self._stops[last - 1]
        if place > stop or stop > self._place or self._search.openings:
            return False
        if not self._is_forgotten(place, last) or not self._is_steady(start):
            return False
        if last == len(self._starts):
            self._search.state.csp[_TAIL], self._search.state.csp[_SETTLED] = 0, 1
        return True

    def _is_forgotten(self, place: int, last: int) -> bool:
        """Whether no line from ``place`` on opens a heredoc up to the claim number ``last`` or, where there is none, up
        to a line that says CSP/1 and is still open, or to the end."""
        while last == len(self._starts):
            there = self._place
            if begins(self._search, _OPENING, place, there):
                return False
            if there == self._stop or self._says_csp(there):
                return True
            if self._read < self._stop:
                self._extend()
            if self._place == there:  # a line opens a heredoc, or has no end yet
                return False
            place = there
        return not begins(self._search, _OPENING, place, self._starts[last])

    def _is_steady(self, start: int) -> bool:
        """Whether the heredoc that is never closed stays the same from the line at ``start`` on."""
        for window in reversed(self._windows):
            if not window.steady:
                return False
            if window.start <= start:
                break
        return True

    def _claim_anew(self, start: int, stop: int, kept: int) -> None:
        """Takes back all claims behind the first ``kept``: those behind the lines from ``start`` to ``stop`` are made
        anew when they are asked for."""
        while len(self._windows) > 1 and self._windows[-1].start > start:
            self._search.state.csp = self._windows.pop().before
        window = self._windows[-1]
        self._end_open(window, start)
        window.claims.cut(kept - window.first)
        del self._starts[kept:], self._stops[kept:]
        # A line that closes a heredoc that was never closed before is to be read.
        self._plain = self._search.state.csp[_RUN] <= 0 and not self._search.openings
        if self._read - stop > stop - self._since:  # more was read in vain than was used
            self._size = _WINDOW
        self._go_on_behind(stop)

    def _end_open(self, window: _Window, place: int) -> None:
        """Makes the state what it is behind an assembly that begins at ``place``: no message is open, whatever was
        read. A heredoc that is never closed stays so."""
        state = self._search.state
        if window.start >= place:
            state.csp = window.before[:]
        elif not window.steady:
            state.csp = window.before[:]
            # Read again for the state alone, which may be another one here than behind the window.
            self._search.claims(window.start, place, False)
        state.csp[_TAIL], state.csp[_SETTLED] = 0, 1

    def _go_on_behind(self, stop: int) -> None:
        """What is claimed from ``stop`` on is asked for from there, and nothing is open."""
        self._place = self._read = self._since = stop
        if self._plain and self._magic < stop:
            found = _NEXT_MAGIC.search(self._search.view, stop, max(stop, self._stop))
            self._magic = self._stop if found is None else found.start()

    # --- windows ---

    def _extend(self) -> None:
        """Claims what the next window holds."""
        size = min(self._place + self._size, self._stop)
        self._size *= 2
        self._plain = False
        before = self._search.state.csp[:]
        claims = self._search.claims(self._place, size, self._final and size == self._stop)
        self._add(self._place, size, before, claims)
        self._place, self._read = claims.position, size

    def _add(self, start: int, size: int, before: list[int], claims: Claims) -> None:
        self._windows.append(_Window(self._search, start, size, before, len(self._starts), claims))
        self._starts += claims.starts.tolist()
        self._stops += claims.stops.tolist()

    # --- lines ---

    def _says_csp(self, line: int) -> bool:
        """Whether a line says CSP/1, or nearly."""
        return _MAGIC.match(self._search.view, line, self._stop) is not None

    def _is_indented(self, line: int) -> bool:
        """Whether a line is the magic but for its indentation: CSP/1 itself takes the first line of an indented message
        for a damaged one, or for text."""
        return _INDENTED.match(self._search.view, line, line + _LONGEST_INDENT) is not None

    def _is_damaged_indented(self, number: int) -> bool:
        """Whether a damaged claim begins so: all of CSP/1 that do are damaged."""
        if not self._is_indented(self._starts[number]):
            return False
        if not self._search.openings:
            return True
        at = bisect_right(self._windows, number, key=lambda window: window.first) - 1
        window = self._windows[at]
        return bool(window.claims.what[number - window.first] == DAMAGED)
