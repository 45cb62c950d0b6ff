"""Finds files that had the name of a log before, by the bytes that were read of them, and gives their blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwire.errors import Reason
from turnwire.log.input.bookmarks import Gap
from turnwire.log.input.file_identity import (
    BANNER,
    TAIL,
    Bookmark,
    FileComparison,
    Identity,
    StartPosition,
    changed,
    holds,
    identity,
    is_copy,
    is_read_copy,
    place_of,
    unwritten,
    whole,
    whole_copy,
)
from turnwire.log.input.reading import Cutter, Input, InputBlock, opened
from turnwire.log.input.rotated_names import is_like
from turnwire.log.input.rotation import (
    Rotated,
    begins,
    begins_alone,
    beside,
    copy_of,
    is_beginning,
    is_dated_backup,
    is_part,
    is_rotated,
    look_beside,
    open_as,
)
from turnwire.log.input.sources import Reading, ReadOptions, Source

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


def is_still(who: Identity | None, file: Any) -> bool:
    """True if an open file was not cut since it was looked at."""
    now = identity(file)
    return who is None or (now is not None and now.size >= who.size and now.head.startswith(who.head))


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
    before = None if who is None else job.bookmarks.files.get(who[:2])
    if who is not None and before is not None and place == before.read:
        reading.identity = who._replace(written=before.written)
    return InputBlock(b"", 0, place, True, True)


def _bytes_of(block: InputBlock, most: int | None = None) -> bytes:
    """The bytes of a block; ``most``: no more than so many, the last ones."""
    return bytes(memoryview(block.data)[0 if most is None else max(block.size - most, 0) : block.size])


class RotatedFiles(NamedTuple):
    """Files that had a name before, open, oldest first, each with the place to go on at. kept: whether the first of
    them holds what was read under that name last, and what follows it; told: what the gap behind them is told of, with
    its start where nothing is kept, or None where nothing is missing; anew: whether the file that has the name was cut,
    and is read from its start; again: whether files beside it were written, renamed, removed or made while these were
    looked for; moved: the gap to tell of that where nobody looks again, but for what was only written."""

    pieces: list[tuple[Rotated, Any, StartPosition]]
    kept: bool = False
    told: Gap | None = None
    anew: bool = False
    again: bool = False
    moved: Gap | None = None

    def close(self) -> None:
        """Closes the files, unread."""
        for _, file, _ in self.pieces:
            file.close()

    def without(self, file: Any) -> RotatedFiles:
        """The same but what is compressed of an open file, which was renamed since it was opened: it is read itself."""
        first = int(self.kept)
        made = [piece for piece in self.pieces[first:] if piece[0].packed and begins(piece[1], file)]
        for _, copy, _ in made:
            copy.close()
        return self._replace(pieces=[piece for piece in self.pieces if piece not in made])

    def blocks(self, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
        """Yields their blocks; then the gap is told. From now on they are read."""
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


def _piece(one: Rotated, file: Any, place: StartPosition, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of a rotated file. A last line without its end waits where somebody may still write it."""
    file.seek(0)
    reading = Reading(Source(one.path, mappable=True))
    reading.identity = identity(file)
    reading.closed = one.packed or time.time_ns() - one.written > SETTLED * 1e9
    reading.begin_at(place)
    for block in of_open_file(reading, file, job):
        yield reading, block


MORE = 20
"""Files that come while those beside a log are listed and are still taken: it may be rotated faster than that."""


def find_rotated_files(
    name: str, standing: FileComparison, now: tuple[int, int], job: ReadOptions
) -> RotatedFiles | None:
    """Finds the rest of files that had a name, by how the file of that name compares with what was read (now: that
    file); None where nothing is to be looked for. Where files were renamed or compressed meanwhile, the answer says so:
    it is one look, and whoever asks looks again."""
    own = standing.own
    if standing.before is None and own is None:
        return None
    cut = Gap(name, own.offset, None, Reason.FILE_REPLACED) if own is not None and standing.over else None
    if standing.before is None and os.path.basename(name) not in job.bases(os.path.dirname(name)):
        return None if cut is None else RotatedFiles([], told=cut)
    seen, settled = _sight(name)
    if standing.before is not None and standing.why is not None:
        start = standing.before.offset
        found = _missed(name, standing.before, standing.why, now, job)
    else:
        assert own is not None
        start = own.offset
        found = (_unseen if own.reached <= BANNER else _alike)(name, own, now, job)
        if not found.pieces and cut is not None:
            found = RotatedFiles([], told=cut)
    later, still = _sight(name)
    names = {file: path for file, (path, _) in later.items()}
    if not (settled and still) or {file: path for file, (path, _) in seen.items()} != names:
        return found._replace(again=True, moved=Gap(name, start, None, standing.why or Reason.FILE_GONE))
    return found._replace(again=seen != later)


def _sight(name: str) -> tuple[dict[tuple[int, int], tuple[str, int]], bool]:
    """The files beside a log, and whether these are all."""
    found, settled = look_beside(name)
    return {one.file: (one.path, one.size) for one in found}, settled


def _missed(name: str, before: Bookmark, why: Reason, now: tuple[int, int], job: ReadOptions) -> RotatedFiles:
    """The rest of a file that had a name (``before``) until another one took it, or it was cut (``why``), and what
    came between: looked for beside it, oldest first. What cannot be had is told as a gap, and so is each cut: of what
    was written between a copy and the cut nothing is left to see."""
    pieces: list[tuple[Rotated, Any, StartPosition]] = []
    kept, cut = _kept(name, before, why, now, job)
    if kept is not None:
        pieces.append((*kept, place_of(before, None if kept[0].packed else kept[1])))
    copied = before if cut is not None and kept is None else None
    since = before.written or (kept[0].written if kept else time.time_ns())
    pieces += _between(name, since, now, pieces, job, copied)[0]
    gap = Gap(name, before.offset, None, cut or why)
    if cut is not None:
        return RotatedFiles(pieces, kept is not None, gap)
    whole = kept is not None and _is_of_it(before, *kept, name)
    whole = whole and kept is not None and os.fstat(kept[1].fileno()).st_nlink > 0  # what came after goes after it
    return RotatedFiles(pieces, kept is not None, None if whole or is_rotated(name) else gap)


def _is_of_it(before: Bookmark, one: Rotated, file: Any, name: str) -> bool:
    """True if a file that holds what was read of another one is that, or a copy of it, and not of one that only begins
    with the same bytes."""
    who = identity(file)
    if one.file == before.file and who is not None and changed(before, who, file) is None:
        return True
    alone = begins_alone(file, before.reached, name)
    return before.recorded if alone is None else alone


def _unseen(name: str, own: Bookmark, now: tuple[int, int], job: ReadOptions) -> RotatedFiles:
    """The rotated files of one of which no more was read than what any file of its name may begin with: it may have
    been cut since then. What was written to older files that were read shows no cut. Nor does a copy that holds just
    what the file begins with, where no record was read: what was cut after it may be gone, and so may what came before
    it."""
    pieces, copied = _between(name, own.written + 1, now, [], job, own)
    if not pieces and not copied and not own.recorded and _is_copied(name, own.written + 1, now, job):
        return RotatedFiles([], told=Gap(name, 0, None, Reason.FILE_SHRUNK))
    cut = copied or any(not (place.recorded or (place.offset and not one.packed)) for one, _, place in pieces)
    for number, (one, file, place) in enumerate(pieces):
        if not place.offset and is_copy(file, own):  # its copy: the others came after it
            pieces[number] = (one, file, place_of(own, None if one.packed else file))
            break
    return RotatedFiles(pieces, False, Gap(name, 0, None, Reason.FILE_SHRUNK) if cut else None)


def _is_copied(name: str, since: int, now: tuple[int, int], job: ReadOptions) -> bool:
    """True if there is a copy of what a log begins with that was written after ``since``, and that was not met yet,
    and may be of a tool that cuts the log then."""
    told = False
    for one in beside(name):
        if one.written < since or one.file == now or one.file in job.bookmarks.present or is_dated_backup(one, name):
            continue
        mark = job.bookmarks.files.get(one.file)
        if (mark is not None and mark.written == one.written) or (file := open_as(one)) is None:
            continue
        with file:
            if is_beginning(file, name):
                told = True
                if unwritten(file):
                    job.bookmarks.add(whole(file, one.path))
    return told


def _alike(name: str, own: Bookmark, now: tuple[int, int], job: ReadOptions) -> RotatedFiles:
    """The rotated files of one that holds what was read of it. Where a copy beside it holds that, too, and goes on in
    another way, the file was cut since then, and begins again with the same bytes."""
    done, present = job.bookmarks.done, job.bookmarks.present
    copy = copy_of(
        own,
        lambda: [
            one
            for one in beside(name)
            if one.file != now and one.file not in done and one.file not in present and _may_be(one, own, name, job)
        ],
        cut=name,
        looks=1,
    )
    if copy is None:
        return RotatedFiles([])
    return _missed(name, own, Reason.FILE_REPLACED, now, job)._replace(anew=True)


def _between(
    name: str,
    since: int,
    now: tuple[int, int],
    found: list[tuple[Rotated, Any, StartPosition]],
    job: ReadOptions,
    copied: Bookmark | None,
) -> tuple[list[tuple[Rotated, Any, StartPosition]], bool]:
    """Files that had a name since then; those that were ``found`` are not among them, nor are the last of
    them where the log is rotated faster than they are looked for. And whether the first was a copy of a file that was
    cut (``copied``), all of which was read before the cut: it is not among them either."""
    met = {now} | {one.file for one, _, _ in found}
    between: list[tuple[Rotated, Any, StartPosition]] = []
    read = False
    for _ in range(len(beside(name)) + MORE):
        if (piece := _next(name, since, met, job)) is None:
            break
        one, file, _ = piece
        met.add(one.file)
        if copied is not None and not between and not read and is_read_copy(file, copied):
            job.bookmarks.add(whole_copy(file, one.path))
            file.close()
            read = True
        else:
            between.append(piece)
    return between, read


def _kept(
    name: str, before: Bookmark, why: Reason, now: tuple[int, int], job: ReadOptions
) -> tuple[tuple[Rotated, Any] | None, Reason | None]:
    """The file that holds what was read under a name, and what follows it: renamed, compressed or copied. And why that
    is a copy, of one that was cut: also where the file that was cut was renamed then."""
    cut: Reason | None = None if why is Reason.FILE_GONE else why
    found = [one for one in beside(name) if one.file != now]
    for one in found if why is Reason.FILE_GONE else ():
        if one.file == before.file and (file := open_as(one)) is not None:
            who = identity(file)
            if who is not None and (cut := changed(before, who, file)) is None:
                return (one, file), None
            if who is None or not before.born == who.born > 0:
                cut = None  # the inode of a file that is gone is used again
            file.close()
    copy = copy_of(
        before,
        lambda: [one for one in beside(name) if one.file != now and _may_be(one, before, name, job)],
        cut=None if why is Reason.FILE_GONE else name,
        looks=1,
    )
    if copy is not None and (file := open_as(copy)) is not None:
        return (copy, file), cut
    return None, cut


def _may_be(one: Rotated, before: Bookmark, name: str, job: ReadOptions) -> bool:
    """True if a file may hold what was read of another one: not where more was read of itself, and not where what was
    read is no more than what all begin with, and it is a compressed one of which more was read under an older name."""
    if one.written < before.written:
        return False
    if (file := open_as(one)) is None:
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


def _next(
    name: str, since: int, met: set[tuple[int, int]], job: ReadOptions
) -> tuple[Rotated, Any, StartPosition] | None:
    """The oldest file beside a log that was written after ``since``, or has grown, and was neither read nor ``met``
    yet; and where to begin in it."""
    marks = job.bookmarks
    for one in beside(name):
        mark = marks.files.get(one.file)
        if one.file in marks.done or one.file in marks.present or one.file in met:
            continue
        if one.written < since and (mark is None or one.packed or one.size <= mark.offset):
            continue
        if (file := open_as(one)) is None:
            continue
        if not (is_beginning(file, name) or is_part(file, one, name)):
            who = identity(file)
            known = mark is not None and who is not None and changed(mark, who, file) is None
            read = _read_before(one, file, name, job) if one.packed and not known else None
            return one, file, read or marks.stands(one.path, who, file).place
        file.close()  # the log is about to be cut, or it is a backup: what is in it is read there
    return None


def _read_before(one: Rotated, file: Any, name: str, job: ReadOptions) -> StartPosition | None:
    """The place up to which a compressed file was read when it was none yet: where a bookmark of a rotated file fits
    that is there no more, the first bytes and the last that were read."""
    folder, base = os.path.split(name)
    there = {other.file: other for other in beside(name)}
    for mark in job.bookmarks.copied_in(file):
        known = os.path.dirname(mark.name) == folder and is_like(os.path.basename(mark.name), base)
        if not known or mark.written > one.written:
            continue
        if mark.file not in there or not _is_read_of(mark, there[mark.file]):
            return place_of(mark)
    return None


def _is_read_of(mark: Bookmark, one: Rotated) -> bool:
    """True if a file is the one that was read up to a bookmark: the inode of a file that is gone is used again."""
    if (file := open_as(one)) is None:
        return True
    with file:
        who = identity(file)
        return who is not None and changed(mark, who, file) is None
