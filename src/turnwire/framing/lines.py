"""Lines of one block, and what several of them say together (:class:`Assembly`)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnwire.framing._times_py import head_time
from turnwire.json._unescape_py import places

MOST_PREFIX = 1024
"""Bytes of the longest prefix."""
_NEWLINE = re.compile(rb"\n")
_FEW = 512
"""Bytes in which the next lines are looked for first."""
_HEAD = 256
"""So many bytes at the start of a line may hold its time."""


class Block:
    """A view of the bytes that are searched. ``data[start:stop]``: the bytes, a line begins at ``start``; final: the
    input ends at ``stop``; limit: most bytes of what belongs together; reach: most bytes of one of its lines, heads of
    parts and prefixes with it."""

    __slots__ = ("final", "limit", "reach", "start", "stop", "view")

    def __init__(self, data: object, start: int, stop: int, final: bool, limit: int) -> None:
        self.view = memoryview(data).cast("B")  # type: ignore[arg-type]
        if not 0 <= start <= stop <= len(self.view):
            raise ValueError("start and stop must lie in the data")
        self.start = start
        self.stop = stop
        self.final = final
        self.limit = limit
        self.reach = limit + MOST_PREFIX

    def line_end(self, place: int) -> int:
        """Behind the newline of the line at ``place``; ``stop`` where it has none."""
        found = _NEWLINE.search(self.view, place, self.stop)
        return self.stop if found is None else found.end()

    def lines(self, place: int) -> Iterator[tuple[int, bytes]]:
        """The lines from the one at ``place`` on, each with its end, and where they begin. The bytes are taken out in
        pieces, each twice as long as the one before it: few of them where few lines are asked for."""
        size = _FEW
        while place < self.stop:
            piece = self.view[place : min(place + size, self.stop)].tobytes()
            size *= 2
            start = 0
            while behind := piece.find(b"\n", start) + 1:
                yield place + start, piece[start:behind]
                start = behind
            place += start
            if not start:
                behind = self.line_end(place)
                if place < behind:
                    yield place, self.view[place:behind].tobytes()
                place = behind

    def ended(self, behind: int) -> bool:
        """Whether the line that ends there is a whole one: it has a newline, or the input ends with it."""
        return self.final or self.view[behind - 1] == 10

    def text(self, place: int, behind: int) -> bytes:
        """The bytes of a line without its end (LF or CRLF)."""
        line = self.view[place:behind].tobytes()
        return line[: -2 if line.endswith(b"\r\n") else -1] if line.endswith(b"\n") else line

    def time(self, place: int) -> int | None:
        """The time at the head of a line: microseconds since 1970, or None."""
        return head_time(self.view[place : min(place + _HEAD, self.stop)].tobytes())


class Piece(NamedTuple):
    """What one line adds to a text. line, behind: the whole line; place: where the piece begins in the block; text:
    what it says; span: its bytes as written in a JSON string with escapes, None where it is written as it is said."""

    line: int
    behind: int
    place: int
    text: bytes
    span: bytes | None = None


class Assembly:
    """Lines that belong together, and what they say.

    kind: "cri", "docker", "prefix" or "indent". spans: the whole lines that it claims, (start, stop) in the block in
    ascending order; lines between two spans are not its own. text: bytes. time: microseconds since 1970 (UTC) that the
    first line shows, or None.
    """

    __slots__ = ("_escapes", "_pieces", "_said", "kind", "spans", "text", "time")

    def __init__(self, kind: str, pieces: Iterable[Piece], time: int | None) -> None:
        self.kind = kind
        self.time = time
        self._pieces = list(pieces)
        self._said: list[int] = []
        self._escapes: dict[int, list[tuple[int, int, int, int]]] = {}
        spans: list[tuple[int, int]] = []
        size = 0
        for piece in self._pieces:
            self._said.append(size)
            size += len(piece.text)
            if spans and spans[-1][1] == piece.line:
                spans[-1] = spans[-1][0], piece.behind
            else:
                spans.append((piece.line, piece.behind))
        self.spans = tuple(spans)
        self.text = b"".join(piece.text for piece in self._pieces)

    @property
    def pieces(self) -> list[Piece]:
        """What each line adds."""
        return self._pieces

    @property
    def start(self) -> int:
        """Where its first line begins."""
        return self.spans[0][0]

    @property
    def stop(self) -> int:
        """Behind its last line."""
        return self.spans[-1][1]

    def written(self, at: int) -> int:
        """The byte of the block at which byte ``at`` of the text is written; of an escape, its backslash. ``at`` may be
        the length of the text: then it is :meth:`written_end`."""
        if not 0 <= at <= len(self.text):
            raise IndexError("the place is outside the text")
        if at == len(self.text):
            return self.written_end(at)
        number = bisect_right(self._said, at) - 1
        return self.pieces[number].place + self._inside(number, at - self._said[number])[0]

    def written_end(self, at: int) -> int:
        """Behind the byte of the block that is the last one written for ``text[:at]``; for 0, where the text begins."""
        if not 0 <= at <= len(self.text):
            raise IndexError("the place is outside the text")
        if at == 0:
            return self.pieces[0].place
        number = bisect_right(self._said, at - 1) - 1
        return self.pieces[number].place + self._inside(number, at - 1 - self._said[number])[1]

    def piece(self, at: int) -> tuple[Piece, int]:
        """The piece that says byte ``at`` of the text, and where in the text it begins."""
        number = bisect_right(self._said, at) - 1
        return self.pieces[number], self._said[number]

    def _inside(self, number: int, at: int) -> tuple[int, int]:
        """Where byte ``at`` of what a piece says starts and ends in its span."""
        span = self.pieces[number].span
        if span is None:
            return at, at + 1
        if number not in self._escapes:
            self._escapes[number] = places(span)
        escapes = self._escapes[number]
        before = bisect_left(escapes, at + 1, key=lambda escape: escape[2]) - 1
        if before < 0:
            return at, at + 1
        start, end, said, size = escapes[before]
        if at < said + size:
            return start, end
        return end + at - said - size, end + at - said - size + 1

    def __repr__(self) -> str:
        return f"<Assembly {self.kind} {list(self.spans)} {len(self.text)} bytes>"


class Unbroken(Assembly):
    """An assembly as the core found it: its lines follow one another directly and have no escapes. Its pieces are made
    when they are asked for, which is rare.

    span: where the lines begin and end in the block; kind, time, text: as of :class:`Assembly`. table: for each line
    where it begins in the text, then for each where that is in the block, then where the line ends, as 64-bit numbers.
    """

    __slots__ = ("_lines", "_table")

    def __init__(self, kind: str, span: tuple[int, int], time: int | None, text: bytes, table: bytes) -> None:
        self.kind = kind
        self.time = time
        self.spans = (span,)
        self.text = text
        self._table = table

    @property
    def pieces(self) -> list[Piece]:
        """As :class:`Assembly` has them."""
        said, places, ends = self._numbers()
        bounds = zip([self.start, *ends], ends, places, said, [*said[1:], len(self.text)], strict=False)
        return [Piece(line, end, place, self.text[start:stop]) for line, end, place, start, stop in bounds]

    def written(self, at: int) -> int:
        """As :meth:`Assembly.written` says."""
        if at == len(self.text):
            return self.written_end(at)
        return self._place(at)

    def written_end(self, at: int) -> int:
        """As :meth:`Assembly.written_end` says."""
        return self._place(at - 1) + 1 if at else self._numbers()[1][0]

    def piece(self, at: int) -> tuple[Piece, int]:
        """As :meth:`Assembly.piece` says."""
        said = self._numbers()[0]
        number = bisect_right(said, at) - 1
        return self.pieces[number], said[number]

    def _place(self, at: int) -> int:
        if not 0 <= at < len(self.text):
            raise IndexError("the place is outside the text")
        said, places, _ = self._numbers()
        number = bisect_right(said, at) - 1
        return places[number] + at - said[number]

    def _numbers(self) -> tuple[list[int], list[int], list[int]]:
        """The three parts of the table."""
        if self._table:
            numbers = memoryview(self._table).cast("q").tolist()
            count = len(numbers) // 3
            self._lines = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
            self._table = b""
        return self._lines
