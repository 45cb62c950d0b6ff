"""Finds where a file can be split into blocks, by reading it or a few places of it; checks that a block ends there."""

from __future__ import annotations

import errno
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from threading import Lock
from typing import Any

import numpy as np

from turnwire import registry
from turnwire.contract import LINES
from turnwire.fences import BEGINNING
from turnwire.log.engine.all_wires import finder
from turnwire.log.input.reading import InputBlock
from turnwire.log.search.texts import BOM

READ = 1 << 20
SIGIL = b"\xe2\xab\xbb"
_AROUND = 1 << 12
_VALUE = rb'"{\[\-0-9tfn'
_OPEN = re.compile(rb'\{["}]|\[[\]%b]|[,:][%b]|"[:,\]}]|[}\]0-9el][,\]}]' % (_VALUE, _VALUE))
"""Tokens that can follow each other in JSON, white space apart, at the end of a line and at the start of the next."""


def first_line(file: Any) -> int:
    """The place where the first line of a file begins: behind a byte order mark."""
    return len(BOM) if os.pread(file.fileno(), len(BOM), 0) == BOM else 0


def chunks(file: Any, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of a file from ``start`` to ``stop``, or to its end."""
    at = start
    while at < stop:
        chunk = os.pread(file.fileno(), min(READ, stop - at), at)
        if not chunk:
            return  # it shrank: reading the block says so
        at += len(chunk)
        yield chunk


def line_ends(piece: bytes) -> int:
    """The number of line ends: bytes.count takes six times as long where lines are short."""
    return int(np.count_nonzero(np.frombuffer(piece, np.uint8) == ord("\n")))


def cuts_of_lines() -> Callable[..., Iterator[tuple[int, int]]] | None:
    """Returns what tells where the records of wires of lines may be cut; None where one of them does not say it, or
    several do: their cuts would have to be the same. Wires that have a plan are asked otherwise
    (``between_records``)."""
    lines = [wire for wire in map(registry.wire, registry.scanned()) if wire.style == LINES and not wire.has("plan")]
    return lines[0].cuts if len(lines) == 1 else None


def scan_cuts(pieces: Iterator[bytes], every: int, *, limit: int) -> Iterator[tuple[int, int]]:
    """(offset, number) of lines at least ``every`` bytes apart in front of which no record of several lines is open.

    They are the same for each wire, as a scan searches for all of them. limit: bytes of a message. There are none where
    :func:`cuts_of_lines` has nothing to ask.
    """
    cuts = cuts_of_lines()
    return iter(()) if cuts is None else cuts(pieces, every, limit=limit)


def has_header(file: Any) -> bool:
    """True if a line of a file begins as the headers of documents do: what is after it may be one document, if
    nothing is found in front of it."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        if data[: len(BOM) + len(SIGIL)].removeprefix(BOM).startswith(SIGIL) or data.find(b"\n" + SIGIL) >= 0:
            return True
        return any(data.find(one.plan.opening) >= 0 for one in finder().documents[1:])


def between_parts(file: Any, offset: int, limit: int) -> bool:
    """True if nothing goes on from the lines in front of ``offset``, of which the last MiB is searched."""
    return SplitChecker(file, first_line(file), limit).between(offset)


def _memory(dtypes: dict[str, Any], rows: int) -> dict[str, Any]:
    return {name: np.empty(rows, dtype) for name, dtype in dtypes.items()}


class SplitChecker:
    """The same for one place after the other, each behind those before: since ``start``, over which nothing goes on.
    What is settled is not looked at again: ``since`` is where lines begin that may go on behind the last place."""

    def __init__(self, file: Any, start: int, limit: int) -> None:
        self.file = file
        self.since = start
        self.limit = limit

    def between(self, offset: int) -> bool:
        """True if none go on over ``offset``."""
        first = max(offset - READ, self.since)
        data = os.pread(self.file.fileno(), offset - first, first)
        start = data.find(b"\n") + 1 if first > self.since else 0
        state = finder().state()
        state.within()
        block = InputBlock(data[start:], len(data) - start, first + start, True, False)
        *_, position, _ = finder().search(block, False, 1, state, False, self.limit, {}, _memory)
        self.since = first + start + position
        return start + position == len(data) and not state.streams


def between_objects(file: Any, offset: int) -> bool:
    """True if no JSON object can go on from the lines in front of ``offset`` to the line there: the two
    characters around the line end never meet in JSON, white space apart."""
    file_number = file.fileno()
    before = os.pread(file_number, min(_AROUND, offset), max(offset - _AROUND, 0)).rstrip()
    behind = os.pread(file_number, _AROUND, offset).lstrip()
    return bool(before and behind) and _OPEN.fullmatch(before[-1:] + behind[:1]) is None


_MOST_FILES = 256


class LineNumbers:
    """Counted lines of files, by what tells that they are still what they were: (stop, line ends) of ranges that were
    counted, by where they start."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, dict[int, tuple[int, int]]] = OrderedDict()
        self._lock = Lock()

    def learn(self, state: Any, start: int, stop: int, lines: int) -> None:
        """There are so many line ends from ``start`` to ``stop``."""
        with self._lock:
            self._of(state)[start] = stop, lines

    def between(self, state: Any, file: Any, start: int, stop: int) -> int:
        """The number of line ends of an open file from ``start`` to ``stop``: linear in what was not counted before."""
        with self._lock:
            known = dict(self._of(state))
        ahead = sorted(known)
        lines, at = 0, start
        for place in ahead:
            if place < at or known[place][0] > stop:
                continue
            if place > at:
                lines += self._count(state, file, at, place)
            lines += known[place][1]
            at = known[place][0]
        return lines + self._count(state, file, at, stop) if at < stop else lines

    def _count(self, state: Any, file: Any, start: int, stop: int) -> int:
        lines = sum(map(line_ends, chunks(file, start, stop)))
        self.learn(state, start, stop, lines)
        return lines

    def _of(self, state: Any) -> dict[int, tuple[int, int]]:
        found = self._known.setdefault(state, {})
        self._known.move_to_end(state)
        while len(self._known) > _MOST_FILES:
            self._known.popitem(last=False)
        return found


LINE_NUMBERS = LineNumbers()


LEAST_LOOKED_AT = 8 << 20
"""Files that are cut into smaller blocks are read as a whole: what is looked at would be much of them."""
_CHOICE = 256
"""Places to choose from for each cut: not every line may be one."""
_NEAR = 64 << 10
_TRIES = 64
_SIGN = re.compile(
    rb"^(?:[ \t]*(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp]|%b|<{3}|>{3}|%b)" % (BEGINNING.encode(), SIGIL), re.MULTILINE
)
"""Beginnings of lines that may open or close something of many lines: messages of CSP/1, fences, heredocs, Space."""


def cuts_by_reading(file: Any, size: int, every: int, limit: int) -> Iterator[tuple[int, int]]:
    """(offset, number) of the lines with which blocks of about ``every`` bytes begin, but for the first one. Reads all
    of a file of ``size`` bytes, where it can be cut."""
    if size <= every or has_header(file):
        return
    start, mark = 0, first_line(file)
    places = _Places(file, mark, size, limit)
    for cut, line in scan_cuts(chunks(file, mark, size), max(every // _CHOICE, 1), limit=limit):
        if places.fits(start, mark + cut, every):
            start = mark + cut
            yield start, line


def can_be_looked_at(size: int, every: int) -> bool:
    """True if a few places of a file may tell where it can be cut: no wire has records that only reading tells."""
    return (
        size > every >= LEAST_LOOKED_AT
        and cuts_of_lines() is not None
        and not finder().lines
        and len(finder().documents) == 1
    )


def cuts_by_looking(file: Any, size: int, every: int, limit: int) -> Iterator[int] | None:
    """The offsets of the lines with which blocks of about ``every`` bytes begin, but for the first one; None where the
    file has to be read: where it begins like a Space document. Where a place shows signs of something of many lines,
    the block is read up to there."""
    if _headed(file):
        return None
    return _looked(file, size, every, limit)


def _headed(file: Any) -> bool:
    head = os.pread(file.fileno(), _NEAR, 0)
    return re.search(rb"^(?:\xef\xbb\xbf)?%b" % SIGIL, head, re.MULTILINE) is not None


def _looked(file: Any, size: int, every: int, limit: int) -> Iterator[int]:
    start = 0
    while start + every < size:
        stop = _plain_place(file, start + every, size, limit)
        if stop is None:
            stop = _read_place(file, start, size, every, limit)
        if stop is None or stop == size:
            return
        yield stop
        start = stop


def _plain_place(file: Any, place: int, size: int, limit: int) -> int | None:
    """The first line behind ``place`` around which no line shows a sign, and over which nothing goes on, or ``size``
    where the file has no further lines; None where there is none near."""
    at = place
    for _ in range(_TRIES):
        line = _next_line(file, at, size)
        if line == size:
            return size
        first = max(line - _NEAR, 0)
        around = os.pread(file.fileno(), line - first + _NEAR, first)
        skipped = around.find(b"\n") + 1 if first else 0
        if _SIGN.search(around, skipped):
            return None
        if between_objects(file, line) and between_parts(file, line, limit):
            return line
        at = line
    return None


def _next_line(file: Any, place: int, size: int) -> int:
    """The place where the next line begins behind ``place``; ``size`` where none does. Holes of a file are not read."""
    at = place
    while at < size:
        try:
            at = max(at, os.lseek(file.fileno(), at, os.SEEK_DATA)) if hasattr(os, "SEEK_DATA") else at
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole
                return size
        piece = os.pread(file.fileno(), min(READ, size - at), at)
        if not piece:
            return size
        newline = piece.find(b"\n")
        if newline >= 0:
            return at + newline + 1
        at += len(piece)
    return size


def _read_place(file: Any, start: int, size: int, every: int, limit: int) -> int | None:
    """The next cut of a file that may be cut at ``start``, by reading it from there; None where there is none."""
    mark = start or first_line(file)
    places = _Places(file, mark, size, limit)
    for cut, _ in scan_cuts(chunks(file, mark, size), max(every // _CHOICE, 1), limit=limit):
        if places.fits(start, mark + cut, every):
            return mark + cut
    return None


class _Places:
    """Places of a file, one behind the other, of which the next cut is chosen. Behind one over which lines go on, the
    next one is asked for when there is an eighth more of these: each asks for all of them."""

    def __init__(self, file: Any, mark: int, size: int, limit: int) -> None:
        self.file = file
        self.size = size
        self.limit = limit
        self._parts = SplitChecker(file, mark, limit)
        self._least = 0

    def fits(self, start: int, stop: int, every: int) -> bool:
        """True if a block may go from ``start`` to ``stop``."""
        if not max(start + every, self._least) <= stop < self.size or not between_objects(self.file, stop):
            return False
        if not self._parts.between(stop):
            self._least = stop + (stop - self._parts.since) // 8
            return False
        return True


_BEHIND = 64 << 10


class SplitCheck:
    """The pass over one block: ``fault`` says in words why its end is no cut, or is None; ``lines``: how many line ends
    the block has."""

    def __init__(self, file: Any, start: int, stop: int, size: int, limit: int) -> None:
        self.lines = 0
        self._header = False
        self.fault = self._found(file, start, stop, size, limit)

    def _found(self, file: Any, start: int, stop: int, size: int, limit: int) -> str | None:
        mark = start or first_line(file)
        pieces = self._through(file, mark, stop, size)
        if stop == size:
            for _ in pieces:  # what a message is open in ends with the file
                pass
            closed = True
        else:
            cut = next(scan_cuts(pieces, stop - mark, limit=limit), None)
            closed = cut is not None and cut[0] == stop - mark
        if self._header:
            return "a line begins like the header of a Space document"
        if not closed or (stop < size and not (between_objects(file, stop) and between_parts(file, stop, limit))):
            return "a record of several lines may be open where it ends"
        return None

    def _through(self, file: Any, start: int, stop: int, size: int) -> Iterator[bytes]:
        """The bytes of the block, then some of what follows: its first line tells whether a message is open."""
        before = b"\n"
        for piece in chunks(file, start, stop):
            self.lines += line_ends(piece)
            if SIGIL[:1] in piece or SIGIL[:1] in before:
                self._header = self._header or b"\n" + SIGIL in before + piece
            before = piece[-len(SIGIL) :]
            yield piece
        for place in range(stop, size, _BEHIND):
            piece = b"".join(chunks(file, place, min(place + _BEHIND, size)))
            yield piece
            if b"\n" in piece:
                return
