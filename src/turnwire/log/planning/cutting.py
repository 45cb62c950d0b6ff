"""Where a file is cut into blocks: by reading all of it, or by looking at a few places of it.

The second way takes a cut where the lines around it show nothing that could go over it. That is not a proof: a message
may have begun long before. So each block is read through for one when it is read (``proving.py``), and refuses to be
read where there is none.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from typing import Any

from turnwire.fences import BEGINNING
from turnwire.framing.documents import SIGIL
from turnwire.log.engine.all_wires import finder
from turnwire.log.planning.between import (
    READ,
    Parts,
    between_objects,
    between_parts,
    between_records,
    chunks,
    cuts_of_lines,
    first_line,
    has_header,
    scan_cuts,
)

LEAST_LOOKED_AT = 8 << 20
"""Files that are cut into smaller blocks are read as a whole: what is looked at would be much of them."""
_CHOICE = 256
"""Places to choose from for each cut: not every line may be one."""
_AROUND = 64 << 10
_TRIES = 64
_SIGN = re.compile(
    rb"^(?:[ \t]*(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp]|%b|<{3}|>{3}|%b)" % (BEGINNING.encode(), SIGIL), re.MULTILINE
)
"""What begins lines that may open something of many lines, or close it: messages of CSP/1, fences, heredocs, Space."""


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
    """Whether a few places of a file may tell where it can be cut: no wire has records that only reading tells."""
    return size > every >= LEAST_LOOKED_AT and cuts_of_lines() is not None and not finder().lines and not finder().marks


def cuts_by_looking(file: Any, size: int, every: int, limit: int) -> Iterator[int] | None:
    """The offsets of the lines with which blocks of about ``every`` bytes begin, but for the first one; None where the
    file has to be read: where it begins like a Space document. Where a place shows signs of something of many lines,
    the block is read up to there."""
    if _headed(file):
        return None
    return _looked(file, size, every, limit)


def _headed(file: Any) -> bool:
    head = os.pread(file.fileno(), _AROUND, 0)
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
        first = max(line - _AROUND, 0)
        around = os.pread(file.fileno(), line - first + _AROUND, first)
        skipped = around.find(b"\n") + 1 if first else 0
        if _SIGN.search(around, skipped):
            return None
        if between_objects(file, line) and between_parts(file, line, limit):
            return line
        at = line
    return None


def _next_line(file: Any, place: int, size: int) -> int:
    """Where the next line begins behind ``place``; ``size`` where none does. Holes of a file are not read."""
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
        self._parts = Parts(file, mark, limit)
        self._least = 0

    def fits(self, start: int, stop: int, every: int) -> bool:
        """Whether a block may go from ``start`` to ``stop``."""
        if not max(start + every, self._least) <= stop < self.size or not between_objects(self.file, stop):
            return False
        if not between_records(self.file, start, stop, self.limit):
            self._least = stop + (stop - start) // 8
            return False
        if not self._parts.between(stop):
            self._least = stop + (stop - self._parts.since) // 8
            return False
        return True
