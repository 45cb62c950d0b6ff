"""Files that had a name before, open, and their blocks: what comes before what has the name now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwire.errors import Reason
from turnwire.log.input.gaps import Gap
from turnwire.log.input.reading import Block, Cutter, opened
from turnwire.log.input.resuming import TAIL, Identity, Place, holds, identity, unwritten
from turnwire.log.input.rotation import Rotated, begins
from turnwire.log.input.sources import Job, Reading, Source

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


def is_still(who: Identity | None, file: Any) -> bool:
    """Whether an open file was not cut since it was looked at."""
    now = identity(file)
    return who is None or (now is not None and now.size >= who.size and now.head.startswith(who.head))


def of_open_file(reading: Reading, file: Any, job: Job) -> Iterator[Block]:
    """The blocks of an open file from where its reading begins, compressed or not."""
    start = reading.offset
    raw, source = opened(file, job.stop, job.limits)
    cutter = Cutter(raw, source, job.pool, job.batch_bytes, opens=job.opens)
    reading.kind = cutter.kind
    if start and cutter.kind is None:
        raw.seek(start)
        cutter.base = start
    elif start and (found := cutter.skip(start)) < start:
        job.tell(Gap(reading.name or "", found, None, Reason.FILE_REPLACED))
    told = reading.identity is not None and cutter.kind is None and job.bookmarks.waits
    behind = reading.behind
    if told and not (is_still(reading.identity, file) and holds(file, *behind)):
        yield _cut_just_now(reading, start, job)
        return
    for block in cutter:
        if block.last:
            reading.fault = cutter.fault
        data = _bytes_of(block) + cutter.kept if told and not unwritten(file) else None
        if data is not None and not (holds(file, *behind) and holds(file, cutter.end, data)):
            yield _cut_just_now(reading, block.base, job)
            return
        if told:
            behind = cutter.end, (_bytes_of(block, TAIL) + cutter.kept[-TAIL:])[-TAIL:]
        yield block


def _cut_just_now(reading: Reading, place: int, job: Job) -> Block:
    """The end of what is read of a file: the next scan finds what it held. Where nothing was read of it, no more is
    known of it than before: a copy of it may be older than what was written to it last."""
    who = reading.identity
    before = None if who is None else job.bookmarks.files.get(who[:2])
    if who is not None and before is not None and place == before.read:
        reading.identity = who._replace(written=before.written)
    return Block(b"", 0, place, True, True)


def _bytes_of(block: Block, most: int | None = None) -> bytes:
    """The bytes of a block; ``most``: no more than so many, the last ones."""
    return bytes(memoryview(block.data)[0 if most is None else max(block.size - most, 0) : block.size])


class Before(NamedTuple):
    """Files that had a name before, open, oldest first, each with the place to go on at. kept: whether the first of
    them holds what was read under that name last, and what follows it; told: what the gap behind them is told of, with
    its start where nothing is kept, or None where nothing is missing; anew: whether the file that has the name was cut,
    and is read from its start; again: whether files beside it were written, renamed, removed or made while these were
    looked for; moved: the gap to tell of that where nobody looks again, but for what was only written."""

    pieces: list[tuple[Rotated, Any, Place]]
    kept: bool = False
    told: Gap | None = None
    anew: bool = False
    again: bool = False
    moved: Gap | None = None

    def close(self) -> None:
        """Closes the files, unread."""
        for _, file, _ in self.pieces:
            file.close()

    def without(self, file: Any) -> Before:
        """The same but what is compressed of an open file, which was renamed since it was opened: it is read itself."""
        first = int(self.kept)
        made = [piece for piece in self.pieces[first:] if piece[0].packed and begins(piece[1], file)]
        for _, copy, _ in made:
            copy.close()
        return self._replace(pieces=[piece for piece in self.pieces if piece not in made])

    def blocks(self, job: Job) -> Iterator[tuple[Reading, Block]]:
        """What they hold; then the gap is told. From now on they are read."""
        told = self.told or self.moved
        end = None if told is None else told.start
        job.bookmarks.done.update(one.file for one, _, _ in self.pieces)
        try:
            for number, piece in enumerate(self.pieces):
                for reading, block in _piece(*piece, job):
                    yield reading, block
                    if self.kept and not number:
                        end = block.base + block.size
        finally:
            self.close()
        if told is not None and end is not None:
            job.tell(told._replace(start=end))


def _piece(one: Rotated, file: Any, place: Place, job: Job) -> Iterator[tuple[Reading, Block]]:
    """The blocks of a rotated file. A last line without its end waits where somebody may still write it."""
    file.seek(0)
    reading = Reading(Source(one.path, mappable=True))
    reading.identity = identity(file)
    reading.closed = one.packed or time.time_ns() - one.written > SETTLED * 1e9
    reading.begin_at(place)
    for block in of_open_file(reading, file, job):
        yield reading, block
