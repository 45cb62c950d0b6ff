"""A text that is searched, and the map of its places: which bytes of the file each stretch of it is.

The file is a text; so is what a JSON string says, what the lines of one service say after their prefix, or the parts
that a container engine cut, joined. A text knows the text around it, so that each of its places has one in the
file, and each record the bytes that are its own there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from turnwire.json._rows_py import EscapeMap
from turnwire.json._wrapper_py import Numbers
from turnwire.json.times import head_time

BOM = b"\xef\xbb\xbf"
CARRIERS = ("file", "prefix", "cri", "docker", "journald", "string", "list of lines", "bytes")
"""Carriers through which a text comes: the names of the column ``carrier``."""
DEEPEST_STRING = 8
"""So deep strings inside strings are searched."""
_TIME_BYTES = 256
"""So many bytes at the start of a line may hold its time."""


class Stretch(NamedTuple):
    """A part of a text that stands in one piece in the text around it.

    start: where it begins in the text; outer: where in the text around it; written: the map of its places where it is
    written with escapes (a JSON string) or as numbers (an array of bytes), None if it is there as such; size: how
    many bytes it says; time: that of its line or of its object, in microseconds since 1970, or None.
    """

    start: int
    outer: int
    size: int
    written: EscapeMap | Numbers | None = None
    time: int | None = None


class Text:
    """Bytes that are searched, and where they stand.

    final: nothing follows that could belong to them; carrier: the name of what they came through; quote: for texts in
    strings, where the quote of the outermost string stands in the file, else -1; inner: for these, the place of a byte
    counts in the outermost string's text; depth: how many strings are around them.
    """

    def __init__(
        self,
        data: bytes,
        outer: Text | None = None,
        stretches: list[Stretch] | None = None,
        *,
        final: bool = True,
        carrier: str = "file",
        in_string: bool = False,
    ) -> None:
        self.data = data
        self.outer = outer
        self.stretches = stretches or [Stretch(0, 0, len(data))]
        self._starts = [one.start for one in self.stretches]
        self.final = final
        self.carrier = carrier
        self.in_string = in_string
        self._line = 0, -1
        self.quoted = True  # of a string: a quote stands in front of it
        self.closings: dict[int, list[int]] | None = None  # of CSP/1's heredocs, once they were listed
        self.depth: int = (0 if outer is None else outer.depth) + in_string

    def outermost(self) -> Text:
        """The text of the file, or the one that was put together from it first."""
        one = self
        while one.outer is not None and one.outer.outer is not None:
            one = one.outer
        return one

    def _stretch(self, at: int) -> Stretch:
        return self.stretches[max(bisect_right(self._starts, at) - 1, 0)]

    def _outside(self, at: int, stretch: Stretch) -> int:
        """The place in the text around this one, of a byte of a stretch."""
        place = at - stretch.start
        return stretch.outer + (place if stretch.written is None else stretch.written.place(place))

    def outside(self, at: int) -> int:
        """The place of a byte in the text around this one."""
        return self._outside(at, self._stretch(at))

    def outside_end(self, start: int, stop: int) -> int:
        """Behind the last byte of ``data[start:stop]`` in the text around this one."""
        return self._outside(stop, self._stretch(max(stop - 1, start)))

    def spans(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The bytes of the file that ``data[start:stop]`` is, as ranges in order that do not touch."""
        if self.outer is None:
            return [(start, stop)]
        found: list[tuple[int, int]] = []
        for number in range(max(bisect_right(self._starts, start) - 1, 0), len(self.stretches)):
            stretch = self.stretches[number]
            if stretch.start >= stop:
                break
            first, last = max(start, stretch.start), min(stop, stretch.start + stretch.size)
            if first >= last:
                continue
            for span in self.outer.spans(self._outside(first, stretch), self._outside(last, stretch)):
                if found and found[-1][1] == span[0]:
                    found[-1] = found[-1][0], span[1]
                else:
                    found.append(span)
        return found

    def place(self, at: int) -> int:
        """The place of a byte in the file."""
        text: Text = self
        while text.outer is not None:
            at = text.outside(at)
            text = text.outer
        return at

    def string_place(self, at: int) -> tuple[int, int]:
        """For a text in strings: where the outermost string's quote stands in the file, and the place of a byte in what
        that string says. (-1, -1) for any other."""
        found = -1, -1
        text: Text = self
        while text.outer is not None:
            stretch = text._stretch(at)
            if text.in_string:
                quote = stretch.outer - text.quoted
                if isinstance(stretch.written, Numbers):
                    quote = text.outer.data.rfind(b"[", 0, stretch.outer)
                found = quote, at - stretch.start
            outside = text._outside(at, stretch)
            if text.in_string and found[0] >= 0:
                found = text.outer.place(found[0]), found[1]
            at, text = outside, text.outer
        return found

    def time(self, at: int) -> int | None:
        """The time of a record at a place that has none of its own: its line's, else its carrier's."""
        text: Text = self
        while True:
            found = text.line_time(text.line_start(at))
            if found is not None or text.outer is None:
                return found
            stretch = text._stretch(at)
            if stretch.time is not None:
                return stretch.time
            at, text = text._outside(at, stretch), text.outer

    def around(self, outer: Text, time: int) -> None:
        """Sets the time of what stands in an object of ``outer``, for all that has none of its own."""
        text: Text = self
        while text.outer is not outer and text.outer is not None:
            text = text.outer
        text.stretches = [one._replace(time=time) for one in text.stretches]

    def line_time(self, line: int) -> int | None:
        """The time at the head of the line that begins there."""
        head = self.data[line : line + _TIME_BYTES]
        newline = head.find(b"\n")
        return head_time((head if newline < 0 else head[:newline]).removeprefix(BOM))

    def _look(self, at: int) -> tuple[int, int]:
        """The start of the line of a place, and its newline or the end of the text; mostly asked for one line again."""
        start, newline = self._line
        if not start <= at <= newline:
            start = self.data.rfind(b"\n", 0, at) + 1
            newline = self.data.find(b"\n", at)
            self._line = start, newline if newline >= 0 else len(self.data)
        return self._line

    def line_end(self, at: int) -> int:
        """The end of the line of a place, without its line end."""
        newline = self._look(at)[1]
        return newline - (at < newline < len(self.data) and self.data[newline - 1] == 13)

    def behind_line(self, at: int) -> int:
        """The start of the next line."""
        return min(self._look(at)[1] + 1, len(self.data))

    def line_start(self, at: int) -> int:
        """The start of the line of a place."""
        return self._look(at)[0]


class Joiner:
    """Joins stretches of a text to another one."""

    def __init__(self, outer: Text, carrier: str) -> None:
        self.outer = outer
        self.carrier = carrier
        self.parts: list[bytes] = []
        self.stretches: list[Stretch] = []
        self.size = 0

    def add(self, text: bytes, outer: int, written: EscapeMap | Numbers | None = None, time: int | None = None) -> None:
        """Adds what stands at ``outer``."""
        self.stretches.append(Stretch(self.size, outer, len(text), written, time))
        self.parts.append(text)
        self.size += len(text)

    def end_line(self) -> None:
        """Adds a line end that stands nowhere."""
        self.parts.append(b"\n")
        self.size += 1

    def text(self, final: bool, in_string: bool = False) -> Text:
        """The text that they are."""
        return Text(
            b"".join(self.parts), self.outer, self.stretches, final=final, carrier=self.carrier, in_string=in_string
        )


def lines_of(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The start of each line from ``start`` on, and of the line after it."""
    while start < len(data):
        behind = data.find(b"\n", start) + 1 or len(data)
        yield start, behind
        start = behind
