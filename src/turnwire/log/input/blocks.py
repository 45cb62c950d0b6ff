"""The blocks of one source, from where it was read last; what other files have of it that had its name comes first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from turnwire.errors import Reason
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.gaps import Gap
from turnwire.log.input.reading import Block, Cutter, blocks_of_memory, mapped, opened
from turnwire.log.input.resuming import (
    BANNER,
    Bookmark,
    Identity,
    Place,
    Standing,
    changed,
    holds,
    identity,
    is_copy,
    place_of,
    unwritten,
    whole,
)
from turnwire.log.input.rotated_names import is_like
from turnwire.log.input.rotation import (
    Rotated,
    begins_alone,
    beside,
    copy_of,
    is_beginning,
    is_dated_backup,
    is_part,
    is_rotated,
)
from turnwire.log.input.sources import Job, Reading, Source

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""
_TRIES = 20
_PAUSE = 0.01
"""Seconds between two looks at files that are rotated just now."""
MOVING = 2.0
"""Seconds after which they are looked at once more, and what is not settled then is a gap."""
_MORE = 20
"""Files that come while those beside a log are listed and are still taken: it may be rotated faster than that."""


def blocks(source: Source, job: Job) -> Iterator[tuple[Reading, Block]]:
    """The blocks of one input, in order, from where its bookmark is; the last one is marked as such. Where another
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
    if format_of(bytes(view.cast("B")[:LONGEST_MAGIC])):
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
    with ExitStack() as stack:
        file, before = _begun(reading, job, stack)
        if reading.identity is not None and reading.identity[:2] in job.bookmarks.done:
            return
        if before is not None:
            yield from before.blocks(job)
        for block in _of_whole(reading, file, job):
            yield reading, block


def _begun(reading: Reading, job: Job, stack: ExitStack) -> tuple[Any, Before | None]:
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
        before = what_was(name, standing, who[:2], job)
        settled = before is None or (not before.again and _leads_to(name, file) and is_still(who, file))
        if before is None or settled or not tries:
            if before is not None and before.anew:
                reading.begin_at(Place())
            return file, before
        before.close()
        stack.close()
        job.stop.sleep(_PAUSE)
        tries = tries - 1 if time.monotonic() < until else 0


def is_still(who: Identity | None, file: Any) -> bool:
    """Whether an open file was not cut since it was looked at."""
    now = identity(file)
    return who is None or (now is not None and now.size >= who.size and now.head.startswith(who.head))


def _leads_to(name: str, file: Any) -> bool:
    try:
        there, status = os.stat(name), os.fstat(file.fileno())
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)


def _of_whole(reading: Reading, file: Any, job: Job) -> Iterator[Block]:
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    if memory is None or format_of(memory[:LONGEST_MAGIC].tobytes()):
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
    told = reading.identity is not None and cutter.kind is None and job.bookmarks.waits
    if told and not (is_still(reading.identity, file) and holds(file, *reading.behind)):
        yield Block(b"", 0, start, True, True)  # it was cut just now: the next scan finds what it held
        return
    for block in cutter:
        if block.last:
            reading.fault = cutter.fault
        if told and not unwritten(file) and not holds(file, cutter.end, _bytes_of(block) + cutter.kept):
            yield Block(b"", 0, block.base, True, True)
            return
        yield block


def _bytes_of(block: Block) -> bytes:
    return bytes(memoryview(block.data)[: block.size])


# --- what has another name by now -------------------------------------------------------------------------------------


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


def what_was(name: str, standing: Standing, now: tuple[int, int], job: Job) -> Before | None:
    """What is left of files that had a name, by how the file of that name compares with what was read (now: that file);
    None where nothing is to be looked for. Where files were renamed or compressed meanwhile, the answer says so: it is
    one look, and whoever asks looks again."""
    own = standing.own
    if standing.before is None and own is None:
        return None
    cut = Gap(name, own.offset, None, Reason.FILE_REPLACED) if own is not None and standing.over else None
    if standing.before is None and os.path.basename(name) not in job.bases(os.path.dirname(name)):
        return None if cut is None else Before([], told=cut)
    seen = _sight(name)
    if standing.before is not None and standing.why is not None:
        start = standing.before.offset
        found = _missed(name, standing.before, standing.why, now, job)
    else:
        assert own is not None
        start = own.offset
        found = (_unseen if own.reached <= BANNER else _alike)(name, own, now, job)
        if not found.pieces and cut is not None:
            found = Before([], told=cut)
    later = _sight(name)
    if {file: path for file, (path, _) in seen.items()} != {file: path for file, (path, _) in later.items()}:
        return found._replace(again=True, moved=Gap(name, start, None, standing.why or Reason.FILE_GONE))
    return found._replace(again=seen != later)


def _sight(name: str) -> dict[tuple[int, int], tuple[str, int]]:
    return {one.file: (one.path, one.size) for one in beside(name)}


def _missed(name: str, before: Bookmark, why: Reason, now: tuple[int, int], job: Job) -> Before:
    """What is left of a file that had a name (``before``) until another one took it, or it was cut (``why``), and what
    came between: looked for beside it, oldest first. What cannot be had is told as a gap, and so is each cut: of what
    was written between a copy and the cut nothing is left to see."""
    pieces: list[tuple[Rotated, Any, Place]] = []
    kept = _kept(name, before, why, now, job)
    if kept is not None:
        pieces.append((*kept, place_of(before, None if kept[0].packed else kept[1])))
    pieces += _between(name, before.written or (kept[0].written if kept else time.time_ns()), now, pieces, job)
    gap = Gap(name, before.offset, None, why)
    if why is not Reason.FILE_GONE:
        return Before(pieces, kept is not None, gap)
    whole = kept is not None and _is_of_it(before, *kept, name)
    whole = whole and kept is not None and os.fstat(kept[1].fileno()).st_nlink > 0  # what came after goes after it
    return Before(pieces, kept is not None, None if whole or is_rotated(name) else gap)


def _is_of_it(before: Bookmark, one: Rotated, file: Any, name: str) -> bool:
    """Whether a file that holds what was read of another one is that, or a copy of it, and not of one that only begins
    with the same bytes."""
    who = identity(file)
    if one.file == before.file and who is not None and changed(before, who, file) is None:
        return True
    alone = begins_alone(file, before.reached, name)
    return before.recorded if alone is None else alone


def _unseen(name: str, own: Bookmark, now: tuple[int, int], job: Job) -> Before:
    """What was rotated of a file of which no more was read than what any file of its name may begin with: it may have
    been cut since then. Nor does a copy that holds just what the file begins with, where no record was read: what was
    cut after it may be gone, and so may what came before it."""
    pieces = _between(name, own.written + 1, now, [], job)
    if not pieces and not own.recorded and _is_copied(name, own.written + 1, now, job):
        return Before([], told=Gap(name, 0, None, Reason.FILE_SHRUNK))
    for number, (one, file, place) in enumerate(pieces):
        if not place.offset and is_copy(file, own):  # its copy: the others came after it
            pieces[number] = (one, file, place_of(own, None if one.packed else file))
            break
    return Before(pieces, False, Gap(name, 0, None, Reason.FILE_SHRUNK) if pieces else None)


def _is_copied(name: str, since: int, now: tuple[int, int], job: Job) -> bool:
    """Whether there is a copy of what a log begins with that was written after ``since``, and that was not met yet,
    and may be of a tool that cuts the log then."""
    told = False
    for one in beside(name):
        if one.written < since or one.file == now or one.file in job.bookmarks.present or is_dated_backup(one, name):
            continue
        mark = job.bookmarks.files.get(one.file)
        if (mark is not None and mark.written == one.written) or (file := _opened(one)) is None:
            continue
        with file:
            if is_beginning(file, name):
                told = True
                if unwritten(file):
                    job.bookmarks.add(whole(file, one.path))
    return told


def _alike(name: str, own: Bookmark, now: tuple[int, int], job: Job) -> Before:
    """What was rotated of a file that holds what was read of it. Where a copy beside it holds that, too, and goes on in
    another way, the file was cut since then, and begins again with the same bytes."""
    read = {*job.bookmarks.done, *job.bookmarks.present}
    copy = copy_of(
        own,
        lambda: [one for one in beside(name) if one.file not in (read | {now}) and _may_be(one, own, name, job)],
        cut=name,
        looks=1,
    )
    if copy is None:
        return Before([])
    return _missed(name, own, Reason.FILE_REPLACED, now, job)._replace(anew=True)


def _between(
    name: str, since: int, now: tuple[int, int], found: list[tuple[Rotated, Any, Place]], job: Job
) -> list[tuple[Rotated, Any, Place]]:
    """Files that had a name since then; those that were ``found`` are not among them, nor are the last of
    them where the log is rotated faster than they are looked for."""
    met = {now} | {one.file for one, _, _ in found}
    between: list[tuple[Rotated, Any, Place]] = []
    for _ in range(len(beside(name)) + _MORE):
        if (piece := _next(name, since, met, job)) is None:
            break
        between.append(piece)
        met.add(piece[0].file)
    return between


def _kept(name: str, before: Bookmark, why: Reason, now: tuple[int, int], job: Job) -> tuple[Rotated, Any] | None:
    """The file that holds what was read under a name, and what follows it: renamed, compressed or copied."""
    found = [one for one in beside(name) if one.file != now]
    for one in found if why is Reason.FILE_GONE else ():
        if one.file == before.file and (file := _opened(one)) is not None:
            who = identity(file)
            if who is not None and changed(before, who, file) is None:
                return one, file
            file.close()  # the inode of a file that is gone is used again
    copy = copy_of(
        before,
        lambda: [one for one in beside(name) if one.file != now and _may_be(one, before, name, job)],
        cut=None if why is Reason.FILE_GONE else name,
        looks=1,
    )
    if copy is not None and (file := _opened(copy)) is not None:
        return copy, file
    return None


def _may_be(one: Rotated, before: Bookmark, name: str, job: Job) -> bool:
    """Whether a file may hold what was read of another one: not where more was read of itself, and not where what was
    read is no more than what all begin with, and it is a compressed one of which more was read under an older name."""
    if one.written < before.written:
        return False
    if (file := _opened(one)) is None:
        return True
    with file:
        own, who = job.bookmarks.files.get(one.file), identity(file)
        known = own is not None and who is not None and changed(own, who, file) is None
        if known and own is not None and own.offset > before.offset:
            return False
        if not one.packed:
            return True
        if is_part(file, one, name):
            return False
        read = _read_before(one, file, name, job)
    return read is None or read.offset <= before.offset


def _next(name: str, since: int, met: set[tuple[int, int]], job: Job) -> tuple[Rotated, Any, Place] | None:
    """The oldest file beside a log that was written after ``since``, or has grown, and was neither read nor ``met``
    yet; and where to begin in it."""
    marks = job.bookmarks
    for one in beside(name):
        mark = marks.files.get(one.file)
        if one.file in marks.done or one.file in marks.present or one.file in met:
            continue
        if one.written < since and (mark is None or one.packed or one.size <= mark.offset):
            continue
        if (file := _opened(one)) is None:
            continue
        if not (is_beginning(file, name) or is_part(file, one, name)):
            who = identity(file)
            known = mark is not None and who is not None and changed(mark, who, file) is None
            read = _read_before(one, file, name, job) if one.packed and not known else None
            return one, file, read or marks.stands(one.path, who, file).place
        file.close()  # the log is about to be cut, or it is a backup: what is in it is read there
    return None


def _read_before(one: Rotated, file: Any, name: str, job: Job) -> Place | None:
    """How far a compressed file was read when it was none yet: where a bookmark of a rotated file fits that is there no
    more, the first bytes and the last that were read."""
    folder, base = os.path.split(name)
    there = {other.file: other for other in beside(name)}
    for mark in sorted(
        job.bookmarks.files.values(), key=lambda mark: mark.read, reverse=True
    ):  # several may begin alike
        known = os.path.dirname(mark.name) == folder and is_like(os.path.basename(mark.name), base)
        if not known or mark.written > one.written or not is_copy(file, mark):
            continue
        if mark.file not in there or not _is_read_of(mark, there[mark.file]):
            return place_of(mark)
    return None


def _is_read_of(mark: Bookmark, one: Rotated) -> bool:
    """Whether a file is the one that was read up to a bookmark: the inode of a file that is gone is used again."""
    if (file := _opened(one)) is None:
        return True
    with file:
        who = identity(file)
        return who is not None and changed(mark, who, file) is None


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
    for block in _of_open_file(reading, file, job):
        yield reading, block
