"""Follows logs that grow: new lines as they come, through rotation, truncation and new files, until it is stopped."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.archives import is_archived
from turnwire.log.input.blocks import MOVING, blocks
from turnwire.log.input.bookmarks import ByContent, Gap
from turnwire.log.input.file_identity import BANNER, Bookmark, StartPosition, all_of, copied_in, is_copy, place_of
from turnwire.log.input.reading import InputBlock
from turnwire.log.input.rotated_files import MORE, RotatedFiles, find_rotated_files, is_still
from turnwire.log.input.rotated_names import COMPRESSED, is_like
from turnwire.log.input.rotation import (
    Rotated,
    beside,
    copy_of,
    is_beginning,
    is_being_made,
    is_part,
    is_rotated,
    look_beside,
    open_as,
)
from turnwire.log.input.sources import Idle, Reading, ReadOptions, Source, is_within, names_files, sources
from turnwire.log.input.tailing import Tail

INTERVAL = 0.2
"""Seconds between two looks at files that had nothing new."""
LISTED = 5
"""At every so many looks directories and globs are listed again."""
PATIENCE = 25
"""So many looks without anything new are waited for writers of a file that was renamed."""
MOST_RENAMED = 64
"""Files that were renamed and are still read, for each name; the oldest are ended where there are more."""

_TRIES = 10
_MOVES = 20
_PAUSE = 0.01
"""Seconds between two looks at files that are rotated just now, and how many there are at most."""

_There = list[tuple[Rotated, Bookmark | None]]
"""Files beside a log, and by what those are known that are not compressed."""
_Files = dict[tuple[int, int], tuple[int, int]]
"""Files by device and inode: when each was written (ns), and its size."""


def follow(source: Any, first: Iterable[Source], job: ReadOptions) -> Iterator[tuple[Reading, InputBlock] | Idle]:
    """The blocks of sources that grow, file by file as they have something new, and an :class:`Idle` before each time
    that more is waited for; ends only when ``job.stop`` is set. What could not be had is told as a gap. ``first``: what
    the source names when this begins."""
    return _Follower(source, job).blocks(first)


class _Follower:
    """Files by their names, those that were renamed and may still be written to, and what of the files beside them is
    known: it was there at the beginning, or was read."""

    def __init__(self, source: Any, job: ReadOptions) -> None:
        self._source, self._job = source, job
        self._tails: dict[str, Tail] = {}
        self._renamed: list[Tail] = []
        self._known: _Files = {}
        self._old: set[int] = set()  # when files were written that were there at the beginning
        self._held = ByContent()  # what those held that were not compressed then
        self._packed: list[Bookmark] = []  # those of them that are compressed by now
        self._judged: _Files = {}  # files that show no cut, as they are

    def blocks(self, first: Iterable[Source]) -> Iterator[tuple[Reading, InputBlock] | Idle]:
        """See :func:`follow`."""
        try:
            for source in first:
                try:
                    opened = self._opened(source) if source.mappable and not is_archived(source.name or "") else None
                except FileNotFoundError:
                    if source.listed:
                        continue  # it was renamed since, and is found under its new name
                    raise
                yield from blocks(source, self._job) if opened is None else self._first(*opened)
            looks = 0
            while self._tails or self._renamed or names_files(self._source):
                news = False
                for name in list(self._tails):
                    for item in self._look(name):
                        news = True
                        yield item
                for tail in list(self._renamed):
                    for item in self._look_behind(tail):
                        news = True
                        yield item
                looks += 1
                if looks % LISTED == 0:
                    for found in self._new():
                        news = True
                        yield from found.news()
                if not news:
                    yield Idle()
                    self._job.stop.sleep(INTERVAL)
                self._job.stop.check()
        finally:
            for tail in (*self._tails.values(), *self._renamed):
                tail.file.close()

    def _opened(self, source: Source) -> tuple[Tail, _There, RotatedFiles | None] | None:
        """A file, what was beside it when it was opened or before, and what had its name since the last scan, all of
        one moment: where the file is renamed or cut meanwhile, what comes after it would be taken for what came before.
        None for what is no regular file. What is just being renamed is waited for."""
        waits, moves, name = _TRIES, _MOVES, source.name or ""
        until = time.monotonic() + MOVING
        while True:
            try:
                status = os.stat(name)
                if not stat.S_ISREG(status.st_mode):
                    return None
                if self._job.bookmarks.files:
                    self._job.bookmarks.found(name, (status.st_dev, status.st_ino))
                there = _there(name)  # first: what had the name after the file that is opened is not in it
                tail = Tail(source, self._job)
            except FileNotFoundError:
                waits -= 1
                if not waits or source.listed:
                    raise
                self._job.stop.sleep(INTERVAL)
                continue
            if tail.who[:2] in self._job.bookmarks.done:
                return tail, there, None
            before = find_rotated_files(name, tail.standing, tail.who[:2], self._job)
            moves = moves - 1 if time.monotonic() < until else 0
            same = tail.who[:2] == (status.st_dev, status.st_ino)
            same = same and (before is None or not before.again)
            if before is None or not moves or (same and tail.is_named() and is_still(tail.who, tail.file)):
                return tail, there, before
            before.close()
            tail.file.close()
            self._job.stop.sleep(_PAUSE)

    def _first(self, tail: Tail, there: _There, before: RotatedFiles | None) -> Iterator[tuple[Reading, InputBlock]]:
        """A file that is there at the beginning: what came before it since the last scan, and what it has."""
        if tail.who[:2] in self._job.bookmarks.done or self._is_followed(tail.who[:2]):
            tail.file.close()
            return
        self._tails[tail.name] = tail
        if before is not None:
            yield from before.blocks(self._job)
            self._known.update({one.file: (one.written, one.size) for one, _, _ in before.pieces})
        for one, mark in there:
            if is_within(self._source, one.path):
                continue  # it is read itself
            self._known.setdefault(one.file, (one.written, one.size))
            self._old.add(one.written)
            if mark is not None:
                self._held.add(mark)
        yield from tail.news()

    def _look(self, name: str) -> Iterator[tuple[Reading, InputBlock]]:
        """The new bytes of a file; and those of what has its name, where that is not the file any more."""
        tail = self._tails[name]
        renamed = tail.renamed()
        if not tail.rewritten():
            if not renamed and tail.is_touched():
                yield from self._cut_unseen(tail)
            yield from tail.news()
        if tail.lost is not None:
            yield from self._after_a_cut(tail, tail.lost)
        elif renamed:
            yield from self._after_a_rename(tail)
        else:
            tail.looked()

    def _cut_unseen(self, tail: Tail) -> Iterator[tuple[Reading, InputBlock]]:
        """True if a file was cut that begins again with all that was read of it, by what :mod:`blocks` goes by: a copy
        that goes on in another way, what was rotated where hardly anything was read, or its size and times."""
        folder, base = os.path.split(tail.name)
        told = False
        if base in self._job.bases(folder):
            if tail.read <= BANNER:
                told = yield from self._unseen(tail)
            elif self._shows_a_cut(tail):
                tail.lost = Reason.FILE_REPLACED
        if tail.lost is None and not told and tail.is_written_over():
            self._job.tell(Gap(tail.name, tail.read, None, Reason.FILE_REPLACED))

    def _shows_a_cut(self, tail: Tail) -> bool:
        """True if a file beside one holds what was read of it and goes on in another way. What shows nothing is not
        read again until it changes."""
        mark = tail.mark()
        found = self._copies(tail, self._judged)
        if copy_of(mark, lambda: found, cut=tail.name) is not None:
            return True
        self._judged.update({one.file: (one.written, one.size) for one in found})
        return False

    def _unseen(self, tail: Tail) -> Generator[tuple[Reading, InputBlock], None, bool]:
        """The rotated files of one of which no more was read than what any file of its name may begin with: its bytes
        do not show whether it was cut. Whether there was any."""
        known, packed = dict(self._known), len(self._packed)
        if not (between := self._between(tail, tail.written)):
            return False
        if not tail.is_named() or tail.rewritten():  # just now: that shows by itself
            for other in between:
                other.file.close()
            self._known = known  # what is made from one of them was not read either
            for mark in self._packed[packed:]:
                self._held.add(mark)
            del self._packed[packed:]
            return False
        mark = tail.mark()
        copy = next((other for other in between if not other.reading.offset and is_copy(other.file, mark)), None)
        if copy is not None:  # the others came after it
            copy.begin(place_of(mark))
        yield from self._read_between(between)
        if all(other.standing.own is not None or other.standing.place.recorded for other in between):
            return False  # they were read before, and somebody wrote to them: that shows no cut
        self._job.tell(Gap(tail.name, tail.read, None, Reason.FILE_SHRUNK))
        return True

    def _look_behind(self, tail: Tail) -> Iterator[tuple[Reading, InputBlock]]:
        """The bytes written to a file after it was renamed, until nobody has done so for a while."""
        if not tail.rewritten():
            yield from tail.news()
        if tail.lost is not None or tail.idle > PATIENCE or len(self._renamed) > MOST_RENAMED * len(self._tails or "1"):
            yield from self._ended(tail)
            self._renamed.remove(tail)

    def _ended(self, tail: Tail) -> Iterator[tuple[Reading, InputBlock]]:
        """The end of a file. What it holds is known from now on."""
        yield from tail.end(gone=tail.lost is not None)
        status = os.fstat(tail.file.fileno())
        self._known[tail.who[:2]] = status.st_mtime_ns, status.st_size
        self._job.bookmarks.add(tail.mark())
        self._job.bookmarks.present.discard(tail.who[:2])  # what is compressed of it later is known by its content
        tail.file.close()

    def _after_a_rename(self, tail: Tail) -> Iterator[tuple[Reading, InputBlock]]:
        """The old file is read as long as somebody may write to it; what had the name in between comes before what has
        it now."""
        try:
            new = Tail(tail.source, self._job)
        except FileNotFoundError:
            return  # it is renamed once more: the next look finds out
        self._renamed.append(tail)
        if not self._is_new(new, [*self._tails.values(), *self._renamed]):
            new.file.close()
            del self._tails[tail.name]
            return
        self._tails[tail.name] = new
        yield from self._read_between(self._between(tail, tail.written))
        if not self._is_kept(tail):
            self._job.tell(Gap(tail.name, tail.read, None, Reason.FILE_GONE))
        yield from new.news()

    def _is_kept(self, tail: Tail) -> bool:
        """True if a file that was renamed is still there, perhaps compressed: tools that rotate logs remove the oldest
        files first, so then nothing that came after it is missing."""
        if is_rotated(tail.name):
            return True
        if os.fstat(tail.file.fileno()).st_nlink == 0:
            return copy_of(tail.all(), lambda: [one for one in beside(tail.name) if one.packed], exact=True) is not None
        return any(one.file == tail.who[:2] for one in beside(tail.name, *_folder(tail)))

    def _after_a_cut(self, tail: Tail, why: Reason) -> Iterator[tuple[Reading, InputBlock]]:
        """The bytes of a copy behind what was read; then what the file holds now, from its start."""
        cut, mark = tail.who[:2], tail.mark()
        try:
            new: Tail | None = Tail(tail.source, self._job)  # first: what is copied from now on is in it
        except FileNotFoundError:
            new = None  # the sources are listed again
        for _ in range(_TRIES):
            copy = copy_of(mark, lambda: self._copies(tail), cut=tail.name)
            if copy is None:
                break
            if tail.go_on_in(copy.path, copy.file):
                yield from tail.news()
                break  # else it was renamed or compressed just now
        yield from self._ended(tail)
        self._known.pop(cut, None)  # what is in it now was not read, whatever it begins with
        self._job.bookmarks.forget(cut)
        del self._tails[tail.name]
        if new is not None:
            new.begin(StartPosition())
            self._tails[tail.name] = new
        between = self._between(tail, tail.read_at)
        for other in list(between) if tail.lost is not None else ():
            if is_copy(other.file, mark):
                other.begin(place_of(mark))  # the copy that was renamed or compressed too often to be found above
            elif not other.reading.offset and tail.has_read(other.file):
                between.remove(other)  # lines came between the copy and the cut, and were read
                self._known[other.who[:2]] = other.who.written, other.who.size
                other.file.close()
        yield from self._read_between(between)
        self._job.tell(Gap(tail.name, tail.read, None, why))
        if new is not None:
            yield from new.news()

    def _copies(self, tail: Tail, judged: _Files | None = None) -> list[Rotated]:
        """Files that may be copies of one that was cut: not what is compressed of one that was read itself, nor what
        was ``judged``."""
        found = [one for one in beside(tail.name) if self._is_unknown(one, tail.written)]
        found = [one for one in found if judged is None or judged.get(one.file) != (one.written, one.size)]
        return [one for one in found if not (one.packed and self._is_made_of_read(one, tail.name))]

    def _is_made_of_read(self, one: Rotated, name: str) -> bool:
        """True if a compressed file holds what was read of a file that is renamed or ended, and no more, or is a
        backup of one. That does not change any more."""
        try:
            file = open(one.path, "rb", buffering=0)  # noqa: SIM115 (closed below)
        except FileNotFoundError:
            return False
        with file:
            renamed = [tail.file for tail in self._renamed if tail.lost is None]
            if not self._was_read(file) and not is_part(file, one, name, renamed):
                return False
            status = os.fstat(file.fileno())
        self._known[status.st_dev, status.st_ino] = status.st_mtime_ns, status.st_size
        return True

    def _is_followed(self, file: tuple[int, int]) -> bool:
        """True if a file is just being read, under whatever name."""
        return any(tail.who[:2] == file for tail in (*self._tails.values(), *self._renamed))

    # --- files beside those that are followed ---------------------------------------------------------------------

    def _is_unknown(self, one: Rotated, since: int) -> bool:
        """True if a file beside a log was neither there at the beginning nor read, nor is just being read."""
        if self._is_followed(one.file) or one.written < since or self._known.get(one.file) == (one.written, one.size):
            return False
        return not (one.packed and one.written in self._old)

    def _between(self, tail: Tail, since: int) -> list[Tail]:
        """Files that had the name of one, after it had it: those that the sources name are followed anyway."""
        gone: list[Tail] = []
        listed = False  # what the sources name is asked only where a file is found: many logs are rotated at a time
        later: set[tuple[int, int]] = set()
        for _ in range(len(beside(tail.name)) + MORE):
            met = {other.who[:2] for other in gone} | later
            there, settled = look_beside(tail.name)
            found = [one for one in there if one.file not in met]
            found = [one for one in found if self._is_unknown(one, since)]
            if not found and settled:
                return gone
            if not found:
                break
            if not listed:
                self._listed()
                listed = True
            try:
                other = Tail(Source(found[0].path, mappable=True), self._job)
            except FileNotFoundError:
                continue  # it was renamed once more
            if other.who[:2] != found[0].file:
                other.file.close()
            elif is_beginning(other.file, tail.name):
                later.add(other.who[:2])  # the log is about to be cut: what is in it is read there
                other.file.close()
            elif self._is_read(other, found[0]) or self._is_backup(other.file, found[0], tail.name, gone):
                self._known[found[0].file] = found[0].written, found[0].size  # made from one that was read
                other.file.close()
            else:
                gone.append(other)
        self._job.tell(Gap(tail.name, tail.read, None, Reason.FILE_GONE))  # it is rotated faster than that
        return gone

    def _is_backup(self, file: Any, one: Rotated, name: str, gone: list[Tail]) -> bool:
        """True if a compressed file holds what one begins with that is read, or is beside it."""
        held = [tail.file for tail in (*self._tails.values(), *self._renamed, *gone) if tail.lost is None]
        return is_part(file, one, name, held)

    def _is_read(self, other: Tail, one: Rotated) -> bool:
        """True if all of a file was read, or of what it is made from."""
        return self._was_read(other.file) if one.packed else other.standing.place.offset == one.size > 0

    def _was_read(self, packed: Any) -> bool:
        """True if a compressed file holds all of one that was read, or has no name to be read by any more, or of one
        that was there at the beginning: that once."""
        gone = [tail for tail in self._tails.values() if os.fstat(tail.file.fileno()).st_nlink == 0]
        if self._job.bookmarks.copied_in(packed, exact=True):
            return True
        if copied_in(packed, lambda _head: [tail.all() for tail in (*self._renamed, *gone)], exact=True):
            return True
        held = copied_in(packed, self._held.beginning, exact=True)[:1]
        for mark in held:
            self._held.remove(mark)
            self._packed.append(mark)
        return bool(held)

    def _read_between(self, between: list[Tail]) -> Iterator[tuple[Reading, InputBlock]]:
        for other in between:
            self._renamed.append(other)
        for other in between:
            yield from other.news()

    def _listed(self) -> list[str]:
        """The names that the sources name just now and that are not followed. What is there under one of them, or is
        followed, is what no compressed file is made from."""
        self._job.bookmarks.present = {tail.who[:2] for tail in (*self._tails.values(), *self._renamed)}
        listed = [name for name in _names(self._source) if name not in self._tails]
        self._job.bookmarks.expect(listed)
        return listed

    def _new(self) -> Iterator[Tail]:
        """Files that were not there at the last look; not those that were only renamed, copied or compressed."""
        live = [*self._tails.values(), *self._renamed]
        for name in self._listed():
            if not os.path.isfile(name) or is_archived(name):
                continue
            try:
                tail = Tail(Source(name, mappable=True), self._job)
            except FileNotFoundError:
                continue  # it is gone again
            if self._is_new(tail, live):
                self._tails[name] = tail
                live.append(tail)  # it may be renamed while this goes on
                yield tail
            else:
                tail.file.close()

    def _is_new(self, tail: Tail, live: list[Tail]) -> bool:
        """True if nothing of a file was read yet, under whatever name. What is made from one that was read is known
        from now on: another file may get the inode of that."""
        file, size, base = tail.who[:2], tail.who.size, os.path.basename(tail.name)
        known = self._known.get(file)
        if known == (tail.who.written, size) or any(file == other.who[:2] for other in live):
            return False
        place = tail.standing.place
        if base.endswith(COMPRESSED):
            if self._was_read(tail.file):
                self._known[file] = tail.who.written, size
                return False
            if is_being_made(tail.file, tail.name):
                return False
        elif place.offset and (size <= place.offset or is_rotated(base)) and (known is None or known[1] >= size):
            return False
        for other in live:  # a copy that is made before the log is cut: it counts when that is seen
            if not (base.startswith(_stem(other.name)) and is_like(base, os.path.basename(other.name))):
                continue
            if not is_copy(tail.file, other.mark()):
                continue
            if other.reading.recorded or other.read > BANNER or is_beginning(tail.file, other.name):
                return False
        return True


def _there(name: str) -> _There:
    """The files beside a log just now. What is compressed of it later is known by what it holds: not all tools leave it
    the time at which it was written."""
    for _ in range(_TRIES):
        found: _There = []
        for one in beside(name):
            file = None if one.packed else open_as(one)
            if file is None:
                found.append((one, None))
                continue
            with file:
                found.append((one, all_of(file, one.path)))
        if all(mark is not None or one.packed for one, mark in found):
            break  # else one was renamed meanwhile
    return found


@lru_cache(1 << 12)
def _stem(path: str) -> str:
    """With which all that is called as a rotated log is begins: of many logs that is seen sooner than whether it is."""
    return os.path.splitext(os.path.basename(path))[0]


def _names(source: Any) -> Iterator[str]:
    """The names of the files that the sources name just now."""
    for part in source if isinstance(source, (list, tuple)) else [source]:
        try:
            found = list(sources(part)) if names_files(part) else []
        except FileNotFoundError:
            continue  # nothing matches for the moment
        yield from (one.name for one in found if one.name is not None and one.mappable)


def _folder(tail: Tail) -> tuple[str, ...]:
    """The folder in which an open file is now, where the system says it: logs can be rotated into another one."""
    try:
        return (os.path.dirname(os.readlink(f"/proc/self/fd/{tail.file.fileno()}")),)
    except OSError:
        return ()
