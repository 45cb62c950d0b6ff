"""The blocks of one source, from where it was read last; what other files have of it that had its name comes first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.compression import format_of
from turnwire.log.input.gaps import Gap
from turnwire.log.input.reading import Block, Cutter, blocks_of_memory, mapped, opened
from turnwire.log.input.resuming import Bookmark, Place, changed, identity, is_copy, place_of
from turnwire.log.input.rotation import Rotated, beside, copy_of, is_beginning, is_like, is_rotated
from turnwire.log.input.sources import Job, Reading, Source

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


def blocks(source: Source, job: Job) -> Iterator[tuple[Reading, Block]]:
    """The blocks of one input, in order, from where its bookmark stands; the last one is marked as such. Where another
    file has its name by now, or what was read of it is not in it any more, what is left of that comes first."""
    reading = Reading(source)
    try:
        if source.data is not None:
            for block in _of_data(reading, job):
                yield reading, block
        else:
            yield from _of_file(reading, job)
    except OSError as failure:
        if failure.filename is None and source.name is not None:  # None would be shown
            failure.filename = source.name
        raise


def _of_data(reading: Reading, job: Job) -> Iterator[Block]:
    view = memoryview(reading.source.data)
    if not view.contiguous:
        raise TypeError("the bytes to scan must be contiguous")
    if format_of(bytes(view.cast("B")[:4])):
        with _Memory(view.cast("B")) as file:
            yield from _of_open_file(reading, file, job)
        return
    data = reading.source.data if job.borrow or isinstance(reading.source.data, bytes) else bytes(view)
    reading.memory = memoryview(data).cast("B")
    yield from blocks_of_memory(reading.memory, job.batch_bytes, 0, job.opens)


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


def _of_file(reading: Reading, job: Job) -> Iterator[tuple[Reading, Block]]:
    with reading.source.open() as file:
        if reading.source.line is None:
            reading.line = file.line
        if reading.source.mappable:
            reading.identity = who = identity(file)
            if who is not None and who[:2] in job.bookmarks.done:
                return
            standing = job.bookmarks.stands(reading.name, who, file)
            if standing.before is not None and standing.why is not None and who is not None:
                yield from missed(reading.name or "", standing.before, standing.why, who[:2], job)
            elif standing.since and who is not None:
                yield from unseen(reading.name or "", standing.since, who[:2], job)
            reading.begin_at(standing.place)
        for block in _of_whole(reading, file, job):
            yield reading, block


def _of_whole(reading: Reading, file: Any, job: Job) -> Iterator[Block]:
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    if memory is None or format_of(memory[:4].tobytes()):
        yield from _of_open_file(reading, file, job)
        return
    reading.memory = memory.data
    yield from blocks_of_memory(reading.memory, job.batch_bytes, reading.offset, job.opens)


def _of_open_file(reading: Reading, file: Any, job: Job) -> Iterator[Block]:
    start = reading.offset
    raw, source = opened(file, job.stop, job.limits)
    cutter = Cutter(raw, source, job.pool, job.batch_bytes, opens=job.opens)
    reading.kind = cutter.kind
    if start and cutter.kind is None:
        raw.seek(start)
        cutter.base = start
    elif start and (found := cutter.skip(start)) < start:
        job.tell(Gap(reading.name or "", found, None, Reason.FILE_REPLACED))
    for block in cutter:
        if block.last:
            reading.fault = cutter.fault
        yield block


# --- what has another name by now -------------------------------------------------------------------------------------


def missed(name: str, before: Bookmark, why: Reason, now: tuple[int, int], job: Job) -> Iterator[tuple[Reading, Block]]:
    """What is left of a file that had a name (``before``) until another one took it, or it was cut (``why``), and what
    came between: looked for beside it, oldest first. What cannot be had is told as a gap. now: the file that has the
    name."""
    end, kept = before.offset, None
    try:
        kept = _kept(name, before, why, now)
        if kept is not None:
            for reading, block in _piece(*kept, place_of(before, None if kept[0].packed else kept[1]), job):
                yield reading, block
                end = block.base + block.size
        since = before.written or (kept[0].written if kept else time.time_ns())
        yield from _between(name, since, now, job)
        whole = kept is not None and (kept[0].packed or kept[0].file == before.file)  # a copy is made before a cut
        whole = whole and kept is not None and os.fstat(kept[1].fileno()).st_nlink > 0  # what came after goes after it
    finally:
        if kept is not None:
            kept[1].close()
    if why is not Reason.FILE_GONE or not (whole or is_rotated(name)):
        job.tell(Gap(name, end, None, why))


def unseen(name: str, since: int, now: tuple[int, int], job: Job) -> Iterator[tuple[Reading, Block]]:
    """What was rotated of a file of which no more was read than what any file of its name may begin with: it may have
    been cut since then."""
    met = False
    if os.path.basename(name) not in job.bases(os.path.dirname(name)):
        return
    for item in _between(name, since + 1, now, job):
        met = True
        yield item
    if met:
        job.tell(Gap(name, 0, None, Reason.FILE_SHRUNK))


def _between(name: str, since: int, now: tuple[int, int], job: Job) -> Iterator[tuple[Reading, Block]]:
    while (found := _next(name, since, now, job)) is not None:
        with found[1]:
            yield from _piece(*found, job)


def _kept(name: str, before: Bookmark, why: Reason, now: tuple[int, int]) -> tuple[Rotated, Any] | None:
    """The file that holds what was read under a name, and what follows it: renamed, compressed or copied."""
    for _ in range(3):  # it can be renamed just now
        found = [one for one in beside(name) if one.file != now]
        for one in found if why is Reason.FILE_GONE else ():
            if one.file == before.file and (file := _opened(one)) is not None:
                who = identity(file)
                if who is not None and changed(before, who, file) is None:
                    return one, file
                file.close()  # the inode of a file that is gone is used again
        copy = copy_of(
            before,
            lambda: [one for one in beside(name) if one.file != now and one.written >= before.written],
            cut=None if why is Reason.FILE_GONE else name,
        )
        if copy is not None and (file := _opened(copy)) is not None:
            return copy, file
    return None


def _next(name: str, since: int, now: tuple[int, int], job: Job) -> tuple[Rotated, Any, Place] | None:
    """The oldest file beside a log that was written after ``since``, or has grown, and was not read yet; and where to
    begin in it."""
    marks = job.bookmarks
    for one in beside(name):
        mark = marks.files.get(one.file)
        if one.file in marks.done or one.file in marks.present or one.file == now:
            continue
        if one.written < since and (mark is None or one.packed or one.size <= mark.offset):
            continue
        if (file := _opened(one)) is None:
            continue
        if not is_beginning(file, name):
            read = _read_before(one, file, name, job) if one.packed and mark is None else None
            return one, file, read or marks.stands(one.path, identity(file), file).place
        file.close()  # the log is about to be cut: what is in it is read there
    return None


def _read_before(one: Rotated, file: Any, name: str, job: Job) -> Place | None:
    """How far a compressed file was read when it was none yet: where a bookmark of a rotated file fits that is there no
    more, the first bytes and the last that were read."""
    folder, base = os.path.split(name)
    there = {other.file for other in beside(name)}
    for mark in job.bookmarks.files.values():
        known = os.path.dirname(mark.name) == folder and is_like(os.path.basename(mark.name), base)
        if known and mark.file not in there and mark.written <= one.written and is_copy(file, mark):
            return place_of(mark)
    return None


def _opened(one: Rotated) -> Any:
    """A file that was found, open; None where it has another name by now."""
    try:
        file = open(one.path, "rb", buffering=0)  # noqa: SIM115 (who asked closes it)
    except FileNotFoundError:
        return None
    status = os.fstat(file.fileno())
    if (status.st_dev, status.st_ino) == one.file:
        return file
    file.close()
    return None


def _piece(one: Rotated, file: Any, place: Place, job: Job) -> Iterator[tuple[Reading, Block]]:
    """The blocks of a rotated file. A last line without its end waits where somebody may still write it."""
    file.seek(0)
    reading = Reading(Source(one.path, mappable=True))
    reading.identity = identity(file)
    reading.closed = one.packed or time.time_ns() - one.written > SETTLED * 1e9
    reading.begin_at(place)
    job.bookmarks.done.add(one.file)
    for block in _of_open_file(reading, file, job):
        yield reading, block
