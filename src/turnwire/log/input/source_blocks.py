"""The blocks of a source: of a file from where its bookmark is, behind what is left of those that had its name."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any
from zipfile import is_zipfile

from turnwire.log.input.archives import Member, can_seek, members
from turnwire.log.input.bookmarks import StartPosition, identity
from turnwire.log.input.reading import Input, InputBlock, blocks_of_memory, mapped
from turnwire.log.input.rotation import Begun, Missed, begin, is_being_made
from turnwire.log.input.signatures import FIRST_BYTES, LONGEST_MAGIC, NotALog, format_of, is_archive, refuse_binary
from turnwire.log.input.sources import Reading, ReadOptions, Source
from turnwire.log.input.tailing import Tail

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
    if head[:1] in FIRST_BYTES and is_archive(head) and is_zipfile(packed := io.BytesIO(view.cast("B"))):
        yield from _of_archive(reading, packed, job)
        return
    if head[:1] in FIRST_BYTES and format_of(head):
        yield from Tail(reading, io.BytesIO(view.cast("B")), job).news()
        return
    data = reading.source.data if job.borrow or isinstance(reading.source.data, bytes) else bytes(view)
    reading.memory = memoryview(data).cast("B")
    yield from ((reading, block) for block in blocks_of_memory(reading.memory, job.batch_bytes))


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


def _of_file(reading: Reading, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    source, done = reading.source, job.bookmarks.done
    if not source.mappable:
        with source.open() as file:
            yield from _of_whole(reading, file, job)
        return
    if job.bookmarks.are_empty:
        file, who, place, before = Begun(source.open())
    else:
        file, who, place, before = begin(source, job)
    with file:
        reading.identity = who = who or identity(file)
        reading.begin_at(StartPosition() if before is not None and before.anew else place)
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
            for block in Tail(reading, piece.file, job).blocks():
                yield reading, block
                if piece is missed.kept and gap is not None:
                    gap = gap._replace(start=block.base + block.size)
    finally:
        missed.close()
    if gap is not None:
        job.tell(gap)


def _of_whole(reading: Reading, file: Any, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    raw = Input(file, job.stop)
    head = raw.head()
    is_text = head[:1] not in FIRST_BYTES
    if not is_text:
        refuse_binary(head, plain=isinstance(file, Member))
        if is_archive(head):
            yield from _of_archive(reading, file if can_seek(file) else raw, job)
            return
    if memory is None or not (is_text or format_of(head) is None):
        yield from Tail(reading, file, job, raw=raw).news()
        return
    reading.memory = memory.data
    for block in blocks_of_memory(reading.memory, job.batch_bytes, reading.offset):
        yield reading, block
