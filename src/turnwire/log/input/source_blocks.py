"""The blocks of a source: of a file from where its bookmark is, after what is left of those that had its name."""

from __future__ import annotations

import io
from contextlib import closing, nullcontext
from functools import partial
from typing import Any
from zipfile import is_zipfile

from turnwire.log.input.archives import Member, can_seek, members
from turnwire.log.input.reading import Blocks, InputBlock, Reading, blocks_of_memory, mapped
from turnwire.log.input.rotation import begin, is_being_made
from turnwire.log.input.signatures import FIRST_BYTES, LONGEST_MAGIC, NotALog, format_of, is_archive, refuse_binary
from turnwire.log.input.sources import ReadOptions, Source


def blocks(source: Source, job: ReadOptions) -> Blocks:
    """The blocks of one input, in order, from where its bookmark is; the last one is marked as such. Where another
    file has its name by now, or what was read of it is not in it any more, what is left of that comes first."""
    try:
        yield from _of_file(source, job) if source.data is None else _of_data(source, job)
    except OSError as failure:
        _refuse(source, job, failure)


def _refuse(source: Source, job: ReadOptions, failure: OSError) -> None:
    """Keeps the refusal of what is no log and was found in a folder; raises any other error."""
    if failure.filename is None and source.name is not None:  # None would be shown
        failure.filename = source.name
    if not (isinstance(failure, NotALog) and source.listed):
        raise failure
    job.refuse(failure)


def _of_data(source: Source, job: ReadOptions) -> Blocks:
    view = memoryview(source.data)
    if not view.contiguous:
        raise TypeError("the bytes to scan must be contiguous")
    head = bytes(view.cast("B")[:LONGEST_MAGIC])
    if head[:1] in FIRST_BYTES and (is_archive(head) or format_of(head)):
        file = io.BytesIO(view.cast("B"))
        if not is_archive(head) or is_zipfile(file):
            yield from _of_whole(Reading(source, job, file), job)
            return
    reading = Reading(source, job)
    reading.memory = memoryview(source.data if job.borrow or isinstance(source.data, bytes) else bytes(view)).cast("B")
    yield from ((reading, block) for block in blocks_of_memory(reading.memory, job.batch_bytes))


def _of_archive(reading: Reading, file: Any, job: ReadOptions) -> Blocks:
    """The blocks of the files in an archive, each with a reading of its own, and the end of the archive, which a
    bookmark needs: one that was read is not read again until it has another size."""
    source, name = reading.source, reading.name
    size = source.bytes() or 0
    if not 0 < reading.offset == size:
        with closing(members(file, job.limits, partial(_refuse, source, job))) as found:
            for inside, member in found:
                path = inside if name is None else f"{name}/{inside}"
                one = Source(path, open=partial(nullcontext, member), listed=source.listed)
                for part, block in blocks(one, job):
                    yield part, block._replace(taken=block.taken * member.stored // max(member.size, 1))
    if reading.identity is not None:
        reading.kind, reading.offset = "zip", size
        yield reading, InputBlock(b"", 0, size, True)


def _of_file(source: Source, job: ReadOptions) -> Blocks:
    if not source.mappable:
        with source.open() as file:
            yield from _of_whole(Reading(source, job, file), job)
        return
    marks = job.bookmarks
    reading, before = begin(source, job)
    with reading.file:
        if before is not None:
            with closing(before):
                marks.done.update(one.file_id for one in before.tails)
                yield from before.blocks()
        if reading.identity is None:
            yield from _of_whole(reading, job)
            return
        if reading.file_id in marks.done:
            return
        is_new = before is None and marks.waits and source.listed and reading.file_id not in marks.files
        if is_new and is_being_made(reading.file, reading.path, copied=bool(marks.files)):
            return  # what is in it is read where it is made from, and the next scan knows it by that
        yield from _of_whole(reading, job)
        marks.end(reading.path, reading.file_id)


def _of_whole(reading: Reading, job: ReadOptions) -> Blocks:
    file, raw = reading.file, reading.raw
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    head = raw.head()
    is_text = head[:1] not in FIRST_BYTES
    if not is_text:
        refuse_binary(head, plain=isinstance(file, Member))
        if is_archive(head):
            yield from _of_archive(reading, file if can_seek(file) else raw, job)
            return
    if memory is None or not (is_text or format_of(head) is None):
        yield from reading.news()
        return
    reading.memory = memory.data
    for block in blocks_of_memory(reading.memory, job.batch_bytes, reading.offset):
        yield reading, block
