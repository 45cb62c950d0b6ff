"""The blocks of one source from its last position on; those of rotated files that had its name come first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from io import BytesIO
from typing import Any
from zipfile import is_zipfile

from turnwire.errors import Reason
from turnwire.log.input.archives import HEAD, Member, NotALog, can_seek, is_archive, members, refuse_binary
from turnwire.log.input.bookmarks import Gap
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.file_identity import TAIL, StartPosition, holds, identity, unwritten
from turnwire.log.input.reading import Cutter, Input, InputBlock, blocks_of_memory, mapped, opened
from turnwire.log.input.rotation import Missed, begin, is_being_made, is_still
from turnwire.log.input.sources import Reading, ReadOptions, Source

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


def blocks(source: Source, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of one input, in order, from where its bookmark is; the last one is marked as such. Where another
    file has its name by now, or what was read of it is not in it any more, what is left of that comes first."""
    reading = Reading(source)
    try:
        if source.data is not None:
            yield from _of_data(reading, job)
        else:
            yield from _of_file(reading, job)
    except OSError as failure:
        if failure.filename is None and source.name is not None:  # None would be shown
            failure.filename = source.name
        if not (isinstance(failure, NotALog) and source.listed):
            raise
        job.refuse(failure)


def _of_data(reading: Reading, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    view = memoryview(reading.source.data)
    if not view.contiguous:
        raise TypeError("the bytes to scan must be contiguous")
    head = bytes(view.cast("B")[:LONGEST_MAGIC])
    if is_archive(head) and is_zipfile(packed := BytesIO(view.cast("B"))):
        yield from _of_archive(reading, packed, job)
        return
    if format_of(head):
        with _Memory(view.cast("B")) as file:
            for block in of_open_file(reading, file, job):
                yield reading, block
        return
    data = reading.source.data if job.borrow or isinstance(reading.source.data, bytes) else bytes(view)
    reading.memory = memoryview(data).cast("B")
    for block in blocks_of_memory(reading.memory, job.batch_bytes, 0, job.opens):
        yield reading, block


def _of_archive(reading: Reading, file: Any, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of the files in an archive, each with a reading of its own, and the end of the archive, which a
    bookmark needs: one that was read is not read again until it has another size."""
    name = reading.name
    size = reading.source.bytes() or 0
    if not 0 < reading.offset == size:
        listed = reading.source.listed

        def refuse(error: NotALog) -> None:
            error.filename = error.filename or name
            if not listed:
                raise error
            job.refuse(error)

        with closing(members(file, job.limits, refuse)) as found:
            for inside, member in found:
                path = inside if name is None else f"{name}/{inside}"
                source = Source(path, open=lambda one=member: nullcontext(one), listed=listed)
                for part, block in blocks(source, job):
                    yield part, block._replace(taken=block.taken * member.stored // max(member.size, 1))
    if reading.identity is not None:
        reading.kind, reading.offset = "zip", size
        yield reading, InputBlock(b"", 0, size, True, True)


class _Memory:
    """Bytes in memory, with the few methods of a file that reading needs."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = 0

    def readinto(self, view: memoryview) -> int:
        count = min(len(view), len(self._view) - self._at)
        view[:count] = self._view[self._at : self._at + count]
        self._at += count
        return count

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self._view.release()


def _of_file(reading: Reading, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    source, done = reading.source, job.bookmarks.done
    if not source.mappable:
        with source.open() as file:
            if source.line is None:
                reading.line = file.line
            yield from _of_whole(reading, file, job)
        return
    file, who, comparison, before = begin(source, job)
    with file:
        reading.identity = who
        reading.begin_at(StartPosition() if before is not None and before.anew else comparison.place)
        if before is not None:
            yield from _before(before, job)
        if who is not None and who[:2] in done:
            return
        if (
            before is None
            and _is_new(reading, job)
            and is_being_made(file, reading.name or "", copied=bool(job.bookmarks.files))
        ):
            return  # what is in it is read where it is made from, and the next scan knows it by that
        yield from _of_whole(reading, file, job)
        if who is not None:
            job.bookmarks.end(source.name or "", who[:2])
        if who is not None and job.bookmarks.waits:
            done.add(who[:2])  # it may be renamed to the next name that is read


def _is_new(reading: Reading, job: ReadOptions) -> bool:
    """True if a file that a folder lists is not known, where files are."""
    who = reading.identity
    return job.bookmarks.waits and reading.source.listed and who is not None and who[:2] not in job.bookmarks.files


def _before(missed: Missed, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of files that had a name before; then the gap is told. From now on they are read."""
    gap = missed.gap
    try:
        for piece in missed.pieces:
            reading = Reading(Source(piece.path, mappable=True))
            reading.identity = who = identity(piece.file)
            assert who is not None
            job.bookmarks.done.add(who[:2])
            # A last line without its end waits where somebody may still write it.
            reading.closed = piece.packed or time.time_ns() - who.written > SETTLED * 1e9
            reading.begin_at(piece.place)
            for block in of_open_file(reading, piece.file, job):
                yield reading, block
                if piece is missed.kept and gap is not None:
                    gap = gap._replace(start=block.base + block.size)
    finally:
        missed.close()
    if gap is not None:
        job.tell(gap)


def of_open_file(reading: Reading, file: Any, job: ReadOptions, raw: Input | None = None) -> Iterator[InputBlock]:
    """The blocks of an open file from where its reading begins, compressed or not."""
    start = reading.offset
    raw, source = opened(file, job.stop, job.limits, raw)
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


def _cut_just_now(reading: Reading, place: int, job: ReadOptions) -> InputBlock:
    """The end of what is read of a file: the next scan finds what it held. Where nothing was read of it, no more is
    known of it than before: a copy of it may be older than what was written to it last."""
    who = reading.identity
    before = [] if who is None else job.bookmarks.files.get(who[:2], [])
    if who is not None and before and place == before[-1].read:
        reading.identity = who._replace(written=before[-1].written)
    return InputBlock(b"", 0, place, True, True)


def _bytes_of(block: InputBlock, most: int | None = None) -> bytes:
    """The bytes of a block; ``most``: no more than so many, the last ones."""
    return bytes(memoryview(block.data)[0 if most is None else max(block.size - most, 0) : block.size])


def _of_whole(reading: Reading, file: Any, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    raw = Input(file, job.stop)
    head = raw.head()[:HEAD]
    refuse_binary(head, plain=isinstance(file, Member))
    if is_archive(head):
        yield from _of_archive(reading, file if can_seek(file) else raw, job)
        return
    if memory is None or format_of(head):
        found = of_open_file(reading, file, job, raw)
    else:
        reading.memory = memory.data
        found = blocks_of_memory(reading.memory, job.batch_bytes, reading.offset, job.opens)
    for block in found:
        yield reading, block
