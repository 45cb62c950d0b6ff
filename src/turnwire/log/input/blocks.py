"""The blocks of one source from its last position on; those of rotated files that had its name come first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext
from io import BytesIO
from typing import Any
from zipfile import is_zipfile

from turnwire.log.input.archives import HEAD, Member, NotALog, can_seek, is_archive, members, refuse_binary
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.file_identity import StartPosition, identity
from turnwire.log.input.reading import Input, InputBlock, blocks_of_memory, mapped
from turnwire.log.input.rotated_files import RotatedFiles, find_rotated_files, is_still, of_open_file
from turnwire.log.input.rotation import is_being_copied, is_being_made
from turnwire.log.input.sources import Reading, ReadOptions, Source

_TRIES = 20
_PAUSE = 0.01
"""Seconds between two looks at files that are rotated just now."""
MOVING = 2.0
"""Seconds after which they are looked at once more, and what is not settled then is a gap."""


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
    with ExitStack() as stack:
        file, before = _begun(reading, job, stack)
        if reading.identity is not None and reading.identity[:2] in job.bookmarks.done:
            return
        if before is None and _is_made_just_now(reading, file, job):
            return  # what is in it is read where it is made from, and the next scan knows it by that
        if before is not None:
            yield from before.blocks(job)
        yield from _of_whole(reading, file, job)
        if reading.identity is not None and job.bookmarks.waits:
            job.bookmarks.done.add(reading.identity[:2])  # it may be renamed to the next name that is read


def _is_made_just_now(reading: Reading, file: Any, job: ReadOptions) -> bool:
    """True if a file that a folder lists is just being compressed or copied of another one."""
    marks, who, name = job.bookmarks, reading.identity, reading.name or ""
    if not (marks.waits and reading.source.listed) or who is None or who[:2] in marks.files:
        return False
    return is_being_made(file, name) or (bool(marks.files) and is_being_copied(file, name))


def _begun(reading: Reading, job: ReadOptions, stack: ExitStack) -> tuple[Any, RotatedFiles | None]:
    """A file, open, and what had its name before and is not read yet, as both are at one moment: where the file is
    renamed, copied or cut meanwhile, it is looked at again, but not for ever. ``stack`` closes it."""
    tries, until = _TRIES, time.monotonic() + MOVING
    while True:
        file = stack.enter_context(reading.source.open())
        if reading.source.line is None:
            reading.line = file.line
        if not reading.source.mappable:
            return file, None
        reading.identity = who = identity(file)
        name = reading.name or ""
        if who is not None and job.bookmarks.files:
            job.bookmarks.found(name, who[:2])
        standing = job.bookmarks.stands(name, who, file)
        reading.begin_at(standing.place)
        if who is None or who[:2] in job.bookmarks.done:
            return file, None
        before = find_rotated_files(name, standing, who[:2], job)
        settled = before is None or (not before.again and _leads_to(name, file) and is_still(who, file))
        if before is None or settled or not tries:
            if before is not None and before.anew:
                reading.begin_at(StartPosition())
            return file, before if settled or before is None else before.without(file)
        before.close()
        stack.close()
        job.stop.sleep(_PAUSE)
        tries = tries - 1 if time.monotonic() < until else 0


def _leads_to(name: str, file: Any) -> bool:
    try:
        there, status = os.stat(name), os.fstat(file.fileno())
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)


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
