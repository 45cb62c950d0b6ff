"""Objects that go on behind the end of their line, in plain Python: the readable twin of ``tw_over_lines`` in C.

Such an object is a thing of its own: damage that waits ends where it begins. Where it is good, the walk goes on behind
it in its last line. Where it is not, its first line up to the one that holds the fault are read as if they were one
line: what is closed in them is judged, the rest is damaged. A line that begins with the fault, or with a time, is none
of them. An object that does not fit into the limit is read as a line that does not: in pieces.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.framing._times_py import head_time
from turnwire.json._region_py import BROKEN, Region, Tried, WalkState
from turnwire.json.plan import RECORD

HELD, LEFT = object(), object()
"""The walk ends: in front of the object, since more has to be there; behind it."""

_SPACE = b" \t\r\n"
_BEHIND = re.compile(rb"[^ \t\r\n]")
_FIRST_LOOK = 4096
_DOUBTFUL = 16
"""A fault so near to the end of what was looked at may be none."""


def piece_end(data: bytes, start: int, end: int) -> int:
    """The end of a piece of text that begins at ``start``, so that no character is cut."""
    for _ in range(3):
        end -= end > start + 1 and data[end] & 0xC0 == 0x80
    return end


class OverLines:
    """Objects over several lines, for the class that scans lines."""

    data: bytes
    stop: int
    final: bool
    limit: int
    line: int
    several: bool
    counted: int
    counted_line: int
    held: bool
    open_at: int
    stopped: int
    try_object: Any
    settle_before: Any
    take_back: Any
    emit: Any
    look_at: Any
    broken: Any

    def line_of(self, place: int) -> int:
        """The line of a place in the block."""
        if not self.several:
            return self.line
        sign = 1 if place >= self.counted else -1
        low, high = sorted((place, self.counted))
        self.counted_line += sign * self.data.count(b"\n", low, high)
        self.counted = place
        return self.counted_line

    def reach(self, start: int) -> int:
        """Up to where an object of the block may go that begins at ``start``."""
        if self.stop - start <= self.limit:
            return self.stop
        return piece_end(self.data, start, start + self.limit)

    def opens_below(self, region: Region, at: int) -> bool:
        """True if the ``{`` at ``at``, the last byte of its region, opens an object."""
        if region.level or region.cut:
            return False
        start = region.start + at
        behind = _BEHIND.search(self.data, start + 1, self.reach(start))
        return behind[0] in b'"}' if behind is not None else self.is_doubtful(region, at)

    def is_doubtful(self, region: Region, at: int) -> bool:
        """True if the byte at ``at`` is a brace, and only what follows the block can say what it opens."""
        start = region.start + at
        if region.level or region.cut or self.final or at >= region.end or self.reach(start) < self.stop:
            return False
        return _BEHIND.search(self.data, start + 1, self.stop) is None

    def damage_end(self, start: int, fault: int) -> tuple[int, bool] | None:
        """The end of the damage that begins at ``start`` and could be read up to ``fault``, and whether the limit puts
        it into the middle of a line. None if it takes more input to say so."""
        data = self.data
        first = data.rfind(b"\n", start, fault) + 1 or start
        if data[first:fault].strip(_SPACE):
            newline = data.find(b"\n", fault, self.stop)
            if newline < 0 and not self.final and self.stop - start <= self.limit + 1:
                return None
            end = self.stop if newline < 0 else newline
            end -= newline >= 0 and data[end - 1] == 0x0D
            cut = end - start > self.limit
            if cut:
                end = piece_end(data, start, start + self.limit)
            if head_time(data[first:end][:256]) is None:
                return end, cut
        last = start + len(data[start:first].rstrip(_SPACE))
        end = data.index(b"\n", last)
        return end - (data[end - 1] == 0x0D), False

    def read_on(self, start: int, reach: int) -> tuple[Region, Tried]:
        """The object at ``start`` of the block, tried up to ``reach``; its region begins there."""
        size = _FIRST_LOOK
        while True:
            stop = min(reach, start + size)
            region = Region(self.data[start:stop], start)
            tried = self.try_object(region, 0, stop - start)
            doubtful = tried.cut or tried.fault > stop - start - _DOUBTFUL
            if tried.what != BROKEN or stop == reach or not doubtful:
                return region, tried
            size *= 4

    def over_lines(self, region: Region, way: WalkState, place: int, tried: Tried) -> Any:
        """Decide about a broken object at ``place`` that may go on behind the end of its line. Returns None if it does
        not; ``HELD``; ``LEFT``; or the state with which the walk goes on, through damage over several lines."""
        start, behind = region.start + place, region.start + region.end
        if region.level or region.cut or not tried.cut or self.reach(start) <= behind:
            return None
        reach, here = self.reach(start), tried
        below, tried = self.read_on(start, reach)
        broken, cut, end = tried.what == BROKEN, False, reach
        here.opened = {place + at for at in tried.opened}  # what closes in a further line does not meet the fault
        if broken and not tried.cut and start + tried.fault <= behind:
            return None
        opened = broken and tried.cut and reach == self.stop
        first = start if way.bad < 0 else region.start + way.bad
        if opened:
            self.open_at = first
        if broken and tried.cut and not opened:
            cut = True
        elif broken:
            found = self.damage_end(start, reach if opened else start + tried.fault)
            if found is None or (opened and not self.final):
                self.held = region.cut = True
                self.take_back(way)
                self.stopped = self.open_at = first
                return HELD
            end, cut = found
        if broken and end <= behind:
            return None
        self.settle_before(region, way, place)
        if not self.several:
            self.several, self.counted, self.counted_line = True, start, self.line
        way.mark(self)
        self.stopped = start
        self.values = False  # what is left of the last line was not judged with the first one
        if broken:
            return self.damage(below, start, end, cut, tried)
        region.cut = True
        if tried.what == RECORD:
            self.emit(below, 0, tried)
        else:
            self.look_at(below, 0, tried.end, (0, 0), tried)
        self.stopped = start + tried.end
        return LEFT

    def damage(self, below: Region, start: int, end: int, cut: bool, tried: Tried) -> tuple[Region, WalkState, int]:
        """The state with which the walk goes on behind the brace at ``start``, through damage that ends at ``end``."""
        below = Region(self.data[start:end], start)
        below.several, below.cut = True, cut
        way = WalkState(self)
        self.broken(below, way, 0, tried)
        return below, way, 1
