"""Whether anything goes on over a place between two lines of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from turnwire import registry
from turnwire.contract import LINES
from turnwire.framing.assembly import find
from turnwire.framing.documents import BOM, SIGIL
from turnwire.log.engine.all_wires import finder

READ = 1 << 20
_AROUND = 1 << 12
_VALUE = rb'"{\[\-0-9tfn'
_OPEN = re.compile(rb'\{["}]|\[[\]%b]|[,:][%b]|"[:,\]}]|[}\]0-9el][,\]}]' % (_VALUE, _VALUE))
"""What can follow each other in JSON, white space apart, at the end of a line and at the start of the next."""


def first_line(file: Any) -> int:
    """Where the first line of a file begins: behind a byte order mark."""
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
    """How many line ends there are: bytes.count takes six times as long where lines are short."""
    return int(np.count_nonzero(np.frombuffer(piece, np.uint8) == ord("\n")))


def cuts_of_lines() -> Callable[..., Iterator[tuple[int, int]]] | None:
    """What tells where the records of wires of lines may be cut; None where one of them does not say it, or several
    do: their cuts would have to be the same. Wires that have a plan are asked otherwise (``between_records``)."""
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
    """Whether a line of a file begins as the headers of documents do: what is after it may be one document, if
    nothing is found in front of it."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        if data[: len(BOM) + len(SIGIL)].removeprefix(BOM).startswith(SIGIL) or data.find(b"\n" + SIGIL) >= 0:
            return True
        return any(one.lines.search(data) for one in finder().marks)


def between_parts(file: Any, offset: int, limit: int) -> bool:
    """Whether no lines that belong together (``framing/assembly.py``) go on from the lines in front of ``offset``, of
    which the last MiB is looked at."""
    return Parts(file, first_line(file), limit).between(offset)


class Parts:
    """The same for one place after the other, each behind those before: since ``start``, over which nothing goes on.
    What is settled is not looked at again: ``since`` is where lines begin that may go on behind the last place."""

    def __init__(self, file: Any, start: int, limit: int) -> None:
        self.file = file
        self.since = start
        self.limit = limit

    def between(self, offset: int) -> bool:
        """Whether none go on over ``offset``."""
        first = max(offset - READ, self.since)
        data = os.pread(self.file.fileno(), offset - first, first)
        start = data.find(b"\n") + 1 if first > self.since else 0
        position = find(data, start, len(data), False, self.limit)[1]
        self.since = first + position
        return position == len(data)


def between_objects(file: Any, offset: int) -> bool:
    """Whether no JSON object can go on from the lines in front of ``offset`` to the line there: the two
    characters around the line end never meet in JSON, white space apart."""
    file_number = file.fileno()
    before = os.pread(file_number, min(_AROUND, offset), max(offset - _AROUND, 0)).rstrip()
    behind = os.pread(file_number, _AROUND, offset).lstrip()
    return bool(before and behind) and _OPEN.fullmatch(before[-1:] + behind[:1]) is None


def between_records(file: Any, start: int, offset: int, limit: int) -> bool:
    """Whether no record of a wire of lines that has a plan goes from what is after ``start``, where none is open,
    over ``offset``. limit: bytes of a message."""
    lines = finder().lines
    if not lines:
        return True
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return not lines.reaches_over(data, start or first_line(file), offset, limit)
