"""Where Space documents are in an input: from the first header line of a file, or of a code fence, to its end.

A header line begins with the sigil (U+2AFB) in its first column (behind a byte order mark at the start of the input)
and has a name. A document begins there if in its container, the file or the fence, no record and no reject is in
front; prose may. Nothing is searched inside. A fence is what CommonMark takes for one (section 4.5 of version 0.31);
one that lies in a document, a record or a reject is content.

How a pass over blocks uses it (:class:`Documents`, one for each input):

1. Each block is searched as if there were no documents. Then ``claims`` is asked, with what was found; it is cheap
   where no line begins with the sigil.
2. Where it gives documents, the block is searched once more, around them. One that is not ``whole`` ends with the
   bytes at hand: the block ends in front of it, and it is looked at again with more bytes.
3. ``settle`` is told how far the block was read, and what was found in it, the documents among it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turnwire import _backend
from turnwire.fences import FENCE, fence_after

__all__ = ["Document", "Documents", "fences", "first_header"]

_heads = _backend.load("framing.line_heads")

SIGIL = b"\xe2\xab\xbb"
BOM = b"\xef\xbb\xbf"
_LONGEST_RUN = 4096
"""Bytes of the longest run of a fence that a bookmark keeps."""
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\xe2\xab\xbb[ \t]*[^ \t\r\n\v\f/:]")

Spans = Sequence[tuple[int, int]]


class Mark(NamedTuple):
    """How headers of further documents begin: the bytes at the start of a line, and the header from there on. wire:
    the number of the wire."""

    lines: re.Pattern[bytes]
    header: re.Pattern[bytes]
    wire: int

    def headers(self, view: memoryview, start: int, stop: int) -> Iterator[int]:
        """Where the header lines of ``view[start:stop]`` begin; a line begins at ``start``."""
        for found in self.lines.finditer(view[start:stop]):
            if self.header.match(view, start + found.start(), stop):
                yield start + found.start()


def mark(opening: bytes, header: re.Pattern[bytes], wire: int) -> Mark:
    """The mark of a wire's documents."""
    return Mark(re.compile(b"^" + re.escape(opening), re.MULTILINE), header, wire)


class Document(NamedTuple):
    """The bytes of one document, (start, stop) in the block. whole: it ends there; otherwise with the bytes at hand.
    too_large: it is longer than the limit; then it is a reject (message_too_large) up to the last line that fits.
    wire: the number of its wire, None for Space."""

    start: int
    stop: int
    whole: bool
    too_large: bool = False
    wire: int | None = None


class _Line(NamedTuple):
    """A line that matters: a header, or one that begins as those of fences do (with its run, and what follows that)."""

    start: int
    behind: int
    run: bytes = b""
    rest: bytes = b""
    wire: int | None = None


def first_header(data: Any, start: int, stop: int) -> int:
    """Where the first header line of ``data[start:stop]`` begins, a byte order mark at offset 0 among it, or -1. A line
    begins at ``start``."""
    return next((line.start for line in _headers(memoryview(data).cast("B"), start, stop, start == 0)), -1)


def fences(data: Any, start: int, stop: int) -> list[tuple[int, int, bool]]:
    """The code fences of ``data[start:stop]``: where the content of each begins (behind its opening line) and stops (in
    front of its closing line), and whether it is closed. A line begins at ``start``, no fence is open there."""
    result: list[tuple[int, int, bool]] = []
    fence, begin = b"", 0
    for line in _fences(memoryview(data).cast("B"), start, stop):
        after = _after(fence, line)
        if after and not fence:
            begin = line.behind
        elif fence and not after:
            result.append((begin, line.start, True))
        fence = after
    if fence:
        result.append((begin, stop, False))
    return result


class Documents:
    """Which documents an input has, from block to block. inside: headers inside code fences are content, of a document
    around them or of none (``--fences``). limit: bytes of the longest document."""

    __slots__ = ("begun", "fence", "fence_touched", "inside", "limit", "marks", "touched")

    def __init__(self, limit: int, inside: bool = False, marks: tuple[Mark, ...] = ()) -> None:
        self.limit = limit
        self.marks = marks  # of further wires
        self.inside = inside
        self.begun = False  # whether any bytes of the input were read
        self.touched = False  # whether a record or a reject is in what was read
        self.fence = b""  # the run of the fence that is open behind what was read
        self.fence_touched = False  # the same in that fence

    def claims(self, data: Any, start: int, stop: int, final: bool, found: Spans) -> list[Document]:
        """The documents of ``data[start:stop]`` in order, given what was found there without them: records and rejects
        as (start, stop) in the block, in order. A line begins at ``start``; final: the input ends at ``stop``. Changes
        nothing."""
        view = memoryview(data).cast("B")
        headers = _headers(view, start, stop, not self.begun, self.marks)
        if not headers or (self.touched and (self.inside or not (self.fence or _heads.fence_lines(view, start, stop)))):
            return []
        walk = _Walk(self, _Around(found))
        return list(walk.documents(view, start, stop, final, headers))

    def settle(self, data: Any, start: int, stop: int, found: Spans) -> None:
        """The input was read up to ``stop``: ``found`` are the records, rejects and documents in ``data[start:stop]``,
        in order."""
        self.begun = self.begun or stop > start
        fence, since = _heads.fence_behind(data, start, stop, self.fence, list(found))
        touched = self.fence_touched and not since
        self.fence_touched = bool(fence) and (touched or _Around(found).between(since, stop))
        self.fence = fence
        self.touched = self.touched or bool(found)

    def kept(self) -> list[int]:
        """The state as numbers; none where something was found in what was read and no fence is open."""
        if not self.begun or (self.touched and not self.fence):
            return []
        size = min(len(self.fence), _LONGEST_RUN)
        return [int(self.touched), *self.fence[:1].ljust(1, b"\0"), size, int(self.fence_touched)]

    def restore(self, numbers: Sequence[int]) -> None:
        """Takes what was kept of the state behind a part of the input."""
        if len(numbers) >= 4:
            touched, mark, size, fence_touched = numbers[:4]
            self.touched, self.fence_touched = touched > 0, fence_touched > 0
            self.fence = (mark & 0xFF).to_bytes() * min(size, _LONGEST_RUN)


class _Around:
    """What was found in a block, for questions about places."""

    def __init__(self, found: Spans) -> None:
        self.starts = [start for start, _ in found]
        self.stops = [stop for _, stop in found]

    def over(self, place: int) -> bool:
        """Whether the place lies in something that was found."""
        number = bisect_right(self.starts, place) - 1
        return number >= 0 and place < self.stops[number]

    def between(self, start: int, stop: int) -> bool:
        """Whether something begins from ``start`` on and in front of ``stop``."""
        return bisect_left(self.starts, stop) > bisect_left(self.starts, start)


class _Walk:
    """The state of :class:`Documents` within one block."""

    def __init__(self, state: Documents, around: _Around) -> None:
        self.state = state
        self.around = around
        self.fence = state.fence
        self.fence_touched = state.fence_touched
        self.since = 0  # from where on, in the block, what is found is in the fence

    def pass_fence(self, line: _Line) -> None:
        """Takes a line that looks like a fence."""
        if self.around.over(line.start):
            return
        after = _after(self.fence, line)
        if bool(after) != bool(self.fence):
            self.since, self.fence_touched = line.behind, False
        self.fence = after

    def documents(
        self, view: memoryview, start: int, stop: int, final: bool, headers: list[_Line]
    ) -> Iterator[Document]:
        """The documents of a block."""
        lines = _fences(view, start, stop)
        touched = self.state.touched
        number = 0
        for header in headers:
            if header.start < start:  # in a document
                continue
            while number < len(lines) and lines[number].start < header.start:
                if lines[number].start >= start:
                    self.pass_fence(lines[number])
                number += 1
            if self.around.over(header.start) or (self.fence and self.state.inside):
                continue
            if self.fence:
                if self.fence_touched or self.around.between(self.since, header.start):
                    continue
                rest = (lines[place] for place in range(number, len(lines)))
                closing = next((line for line in rest if not _after(self.fence, line)), None)
                whole = final or closing is not None
                end = stop if closing is None else closing.start
            else:
                if touched or self.around.between(0, header.start):
                    continue
                end, whole = stop, final
            found = self.document(view, header.start, end, whole)._replace(wire=header.wire)
            yield found
            touched = self.fence_touched = True
            start = found.stop
            if not found.whole:
                return

    def document(self, view: memoryview, start: int, end: int, whole: bool) -> Document:
        """The document between these places; what is longer than the limit is cut in front of the line that is too
        much, and the search goes on there."""
        if end - start <= self.state.limit:
            return Document(start, end, whole)
        piece = view[start : start + self.state.limit].tobytes()
        return Document(start, start + (piece.rfind(b"\n") + 1 or len(piece)), True, True)


def _headers(view: memoryview, start: int, stop: int, first: bool, marks: tuple[Mark, ...] = ()) -> list[_Line]:
    """The header lines; ``first``: the input begins at ``start``, perhaps with a byte order mark."""
    lines: list[int] = _heads.header_lines(view, start, stop)
    if first and view[start : min(start + 6, stop)] == BOM + SIGIL:
        lines.insert(0, start)
    found = [_Line(place, place) for place in lines if _HEADER.match(view, place, stop)]
    if marks:
        more = (_Line(place, place, wire=one.wire) for one in marks for place in one.headers(view, start, stop))
        found = sorted([*found, *more], key=lambda line: line.start)
    return found


def _fences(view: memoryview, start: int, stop: int) -> list[_Line]:
    """The lines that may open or close a fence."""
    result = []
    for place in _heads.fence_lines(view, start, stop):
        match = FENCE.match(view, place, stop)
        assert match is not None, "or the core would not have named it"
        result.append(_Line(place, match.end(), match[1], match[2]))
    return result


def _after(fence: bytes, line: _Line) -> bytes:
    """The run of the fence that is open behind a line, b"" for none, given the one in front of it."""
    return fence_after(fence, line.run, line.rest)
