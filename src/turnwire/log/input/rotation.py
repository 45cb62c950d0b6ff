"""The history of files: which are known, which of them had a log's name since it was read last, and what of them is not
read yet; and following them, look by look, until it is stopped.

A log and the files beside it that are called as rotated ones are compared with the bookmarks: first by device and
inode, then, the oldest first, by what they hold. What no bookmark fits came in between, or is a copy that somebody is
just making of the log, or a backup."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, Reason
from turnwire.log.input.bookmarks import (
    MOST,
    Bookmark,
    Contents,
    Gap,
    Identity,
    continued,
    creation_time,
    identity,
    is_earlier,
    is_prefix,
)
from turnwire.log.input.compression import is_archived
from turnwire.log.input.reading import Blocks, Reading, of_whole, refusing, stream_blocks
from turnwire.log.input.rotated_names import (
    COMPRESSED,
    TICK,
    Rotated,
    had_name,
    is_rotated,
    logs_named,
    plain_name,
    rotated_files,
)
from turnwire.log.input.sources import Source, file_source, names_files, sources

if TYPE_CHECKING:
    from turnwire.log.input.sources import ReadOptions

BANNER = 1 << 12
"""Bytes with which every file of a name may begin."""
GONE, REMOVED = 16, 256
"""The most bookmarks that are kept of files that are gone: for each name that another file has; for all other names."""
_VERSION = 1
MOVING = 2.0
"""Seconds after which files that are rotated all the time are looked at once more, and what is not settled then is a
gap."""
MOVES = 20
"""So many looks there are at most."""
PAUSE = 0.01
"""Seconds between two of them."""
SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


class Bookmarks:
    """The files that are known, in the order in which they were read: those of a token, and those of which this run has
    come to the end.

    waits: whether a last record without its end is left for the next time; files: the bookmarks of each device and
    inode, the newest last (one that is used again has several); done: files that this look has read to their ends;
    dismissed: when files were written, and their sizes, of which there is nothing to be read; held: files that are
    followed, as they were read last, open whatever their names are now; passed_over: the names of files that are just
    being made.
    """

    def __init__(self, token: Any = None, waits: bool = False) -> None:
        self.waits = waits
        self.record = 0
        self.files: dict[tuple[int, int], list[Bookmark]] = {}
        self.done: set[tuple[int, int]] = set()
        self.dismissed: dict[tuple[int, int], tuple[int, int]] = {}
        self.held: dict[tuple[int, int], Reading] = {}
        self.passed_over: set[str] = set()
        self._paths: dict[tuple[int, int], str] = {}
        self._named: dict[tuple[int, int], str] = {}  # those that the sources name
        self._listed: dict[str, tuple[int, int, int]] = {}  # device, inode and time of writing, as they were listed
        self._listed_at = 0
        self._names: dict[str, Bookmark] = {}
        self._beside: dict[tuple[str, str], Bookmark] = {}  # those last read of the rotated files of a log, by its name
        if token is not None:
            self._read(token)

    def _read(self, token: Any) -> None:
        try:
            token = json.loads(token) if isinstance(token, str) else token
            if not isinstance(token, Mapping):
                raise TypeError(f"{type(token).__name__} is not a dict")
            if not token:
                return  # the first scan
            if token["turnwire"] != _VERSION:
                raise ValueError(f"version {token['turnwire']}")
            self.record = int(token["record"])
            if not 0 <= self.record <= MOST:
                raise ValueError(f"record {self.record}")
            marks = [Bookmark(**entry).checked() for entry in token["files"]]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
            text = f"it has no {problem}" if isinstance(problem, KeyError) else str(problem)
            text = f"this is not a position of a scan, which is a dict or its JSON: {text}"
            raise DecodeError(Reason.BAD_POSITION, text) from None
        self.add(*marks)

    def token(self, record: int, marks: Mapping[tuple[int, int], Bookmark]) -> dict[str, Any]:
        """The token with these bookmarks in place of the old ones; files that were not looked at keep theirs, and so do
        some that are gone, the last ones of each name, of which a copy may come. Of several with a name or an inode,
        the last one has it."""
        gone: dict[str, list[Bookmark]] = {}
        removed: list[Bookmark] = []  # or on a disk that is not there just now
        kept: list[Bookmark] = []
        for mark in self._all():
            new = marks.get(mark.file)
            if new is None and leads_to(self._paths.get(mark.file, mark.name), mark.file):
                kept.append(mark)
            elif new is None or not mark.is_same(new):
                (gone.setdefault(mark.name, []) if os.path.lexists(mark.name) else removed).append(mark)
        some = [*removed[-REMOVED:], *(mark for ones in gone.values() for mark in ones[-GONE:])]
        files = [mark._asdict() for mark in [*some, *kept, *marks.values()]]
        return {"turnwire": _VERSION, "record": record, "files": files}

    def _all(self) -> list[Bookmark]:
        return [mark for marks in self.files.values() for mark in marks]

    def add(self, *marks: Bookmark) -> None:
        """Takes bookmarks of files, each in place of an older one of it."""
        for mark in marks:
            others = [other for other in self.files.pop(mark.file, ()) if not other.is_same(mark)]
            self.files[mark.file] = [*others, mark]
            self._names[mark.name] = mark
            folder, name = os.path.split(mark.name)
            self._beside |= {(folder, log): mark for log, _ in logs_named(plain_name(name))}

    def expect(self, names: Iterable[str]) -> None:
        """Remembers which files exist, to distinguish a renamed file from a removed one, and a listed file from another
        that takes its name before its turn."""
        self._listed_at = time.time_ns()
        for name in names:
            try:
                found = os.stat(name)
            except OSError:
                continue  # opening it will say why
            self._listed[name] = found.st_dev, found.st_ino, found.st_mtime_ns
            if self.files:
                self.found(name, (found.st_dev, found.st_ino))

    def found(self, name: str, file: tuple[int, int], named: bool = True) -> None:
        """Remembers the file that a name leads to now; ``named``: one that the sources name."""
        self._paths[file] = name
        if named:
            self._named[file] = name

    def end(self, reading: Reading, follows: bool) -> None:
        """Remembers that a file was read to its end under a name: it may have another one by now that is read later.
        It stays open where it is followed."""
        self.done.add(reading.file_id)
        self._listed.pop(reading.path, None)
        if follows and reading.vain and reading.file_id in self.held:
            reading.file.close()
            return
        self.let_go(reading.file_id)
        if follows and not reading.closed:
            self.held[reading.file_id] = reading
        else:
            reading.file.close()

    def open(self, source: Source) -> tuple[Any, bool | None]:
        """The file of a name, open, and True; the one that had it, and None, where that is held and nothing has its
        name."""
        try:
            return source.open(), True
        except FileNotFoundError:
            latest = self._names.get(source.name or "")
            if latest is None or (held := self.held.get(latest.file)) is None:
                raise
            return held.opened_again(), None

    def let_go(self, file: tuple[int, int]) -> None:
        """Closes a file that was held."""
        if (one := self.held.pop(file, None)) is not None:
            one.file.close()

    def beside(self, log: str) -> tuple[list[Rotated], bool]:
        """The files beside a log that are called as rotated ones of it, see :func:`rotated_files`, and before them
        those that are held and may have other names by now."""
        listed, settled = rotated_files(log)
        there = {one.file for one in listed}
        held = [one for one in self.held.values() if one.file_id not in there and had_name(one.path, log)]
        found = [(one, os.fstat(one.file.fileno())) for one in held]
        return [Rotated(one.path, one.file_id, now.st_mtime_ns, now.st_size) for one, now in found] + listed, settled

    def opened(self, one: Rotated) -> Any:
        """A file beside a log, open; None if it has another name by now and is not held."""
        file = open_as(one)
        if file is None and (held := self.held.get(one.file)) is not None:
            file = held.opened_again()
        return file

    def _is_there(self, mark: Bookmark, paths: Mapping[tuple[int, int], str]) -> bool:
        """True if the file of a bookmark is at its path, and not another one that has its name, or its inode."""
        if (path := paths.get(mark.file)) is None:
            return False
        try:
            with open(path, "rb", buffering=0) as file:
                who = identity(file)
                return who is not None and who.file == mark.file and mark.change(who, file) is None
        except FileNotFoundError:
            return False

    def of(self, who: Identity, file: Any) -> Bookmark | None:
        """The bookmark of an open file that still holds what was read of it."""
        marks = reversed(self.files.get(who.file, ()))
        return next((mark for mark in marks if mark.change(who, file) is None), None)

    def copied_in(self, file: Any, *cut: Bookmark) -> list[Bookmark]:
        """The bookmarks of files that are gone, and those of such as were ``cut``, of which an open one, compressed or
        not, holds what was read, see :func:`continued`."""
        marks = [*(mark for mark in self._all() if mark not in cut), *cut]
        return continued(file, marks, lambda mark: mark in cut or not self._is_there(mark, self._paths))

    def stands(self, name: str, who: Identity, file: Any) -> tuple[Bookmark | None, Bookmark | None, Reason | None]:
        """Compares an open file with what was read: the bookmark from which it goes on; that of what was read last
        under its name, or of itself; and what became of that, None where the file holds it: it may have been cut since
        then, and begin with the same bytes again. An unknown file that is compressed, or called as a rotated log, is
        compared with the files that are not there any more, or were cut: it may be made from one of them."""
        mark = self.of(who, file)
        if mark is not None:
            return mark, mark, None
        latest = self._names.get(name) or self._beside.get(os.path.split(name))
        # Nobody writes into a compressed one anew: another file has its inode.
        if self.files and (who.packed or (latest is None and is_rotated(name))):
            for mark in self.copied_in(file):
                return mark, None, None
        if latest is not None and latest.file == who.file:
            return None, latest, latest.change(who, file)
        listed = self._listed.get(name)
        if latest is None and listed is not None and (listed[:2] != who.file or who.born > self._listed_at):
            unread = Bookmark.of(name, Identity(*listed[:2], 0, b"", listed[2]), (0, 1))
            return None, unread, Reason.FILE_GONE
        follows = latest is not None and latest.file in self.held and latest.file not in self.done
        if latest is None or (not follows and self._is_there(latest, self._named)):
            return None, None, None  # new; what had its name has another one, and is read under that
        return None, latest, Reason.FILE_GONE


# --- what had a name before -----------------------------------------------------------------------------------------


def file_blocks(source: Source, job: ReadOptions) -> Blocks:
    """The blocks of a file from where its bookmark is; the last one is marked as such. Where another file has its name
    by now, or what was read of it is not in it any more, what is left of that comes first."""
    return refusing(source, job, _of_file(source, job))


def _of_file(source: Source, job: ReadOptions) -> Blocks:
    marks = job.bookmarks
    reading, before = begin(source, job)
    try:
        if before is not None:
            with closing(before):
                marks.done.update(one.file_id for one in before.tails)
                yield from before.blocks()
        if reading.identity is None:
            yield from of_whole(reading, job)
            return
        if reading.file_id in marks.done:
            return
        held = marks.held.get(reading.file_id)
        if held is not None and reading.mark is None and (before is None or before.kept is None):
            held.closed, held.fault = True, None  # nobody goes on with what was half-written there
            yield held, held.ending()
        is_new = before is None and marks.waits and source.listed and reading.file_id not in marks.files
        if is_new and is_being_made(reading.file, reading.path, copied=bool(marks.files)):
            marks.passed_over.add(reading.path)
            return  # what is in it is read where it is made from, and the next scan knows it by that
        if held is not None and held.broken and reading.mark is not None:
            return  # nothing after the damage can be trusted
        yield from of_whole(reading, job)
        marks.end(reading, job.follows)
    finally:
        if reading.identity is None or marks.held.get(reading.file_id) is not reading:
            reading.file.close()


def begin(source: Source, job: ReadOptions) -> tuple[Reading, RotationCheck | None]:
    """Opens a file to go on in, and finds what had its name before, as both are at one moment: where the file is
    renamed, copied or cut meanwhile, it is looked at again, but not for ever. One that is held is read on while nothing
    has its name. Raises OSError."""
    name, marks, looks, until = source.name or "", job.bookmarks, MOVES, time.monotonic() + MOVING
    while True:
        file, named = marks.open(source)
        try:
            who = identity(file)
            if who is None:
                return Reading(source, job, file), None
            if marks.files:
                marks.found(name, who.file)
            mark, latest, why = marks.stands(name, who, file)
            if latest is None:
                return Reading(source, job, file, who, mark), None
            before = RotationCheck(name, file, latest, why, job)
            looks = looks - 1 if time.monotonic() < until else 0
            moved = before.any and (before.again or leads_to(name, who.file) is not named or _is_cut(file, who))
            if moved and not looks:
                before.leave_out(file)
            if not moved or not looks:
                for through in before.through:
                    marks.let_go(through)
                mark = None if before.anew else mark
                return Reading(source, job, file, who, mark), before if before.any else None
        except BaseException:
            file.close()
            raise
        before.close()
        file.close()
        job.stop.sleep(PAUSE)


def _is_cut(file: Any, who: Identity) -> bool:
    """True if an open file was cut since it was looked at."""
    now = identity(file)
    return now is None or now.size < who.size or not now.head.startswith(who.head)


def leads_to(name: str, file: tuple[int, int]) -> bool | None:
    """True if a name leads to the file of this device and inode just now; None if it leads nowhere."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) == file


class RotationCheck:
    """One look at the files beside a log: they are compared with the bookmarks, each of which is the text of one of
    them.

    log: the file that has the name now; latest: the bookmark of what was read under the name; why: what became of that,
    as the log shows. tails: files that had the name of the log, as far as they are not read yet, oldest first; through:
    those that nobody writes to any more, and all of which was read; kept: which of the tails holds what was read under
    the name last, and what follows it; anew: whether the log was cut, and is read from its start; gap: what cannot be
    had, from the place that was read last on; again: whether files were written, renamed, removed or made while they
    were looked at, or after what is open as the log.
    """

    def __init__(self, name: str, log: Any, latest: Bookmark, why: Reason | None, job: ReadOptions) -> None:
        self.tails: list[Reading] = []
        self.kept: Reading | None = None
        self.anew = False
        self._new: list[Reading] = []  # of which nothing was read
        self.through: list[tuple[int, int]] = []
        self._fitted: list[Bookmark] = []
        self._log, self._latest, self._why = log, latest, why
        self._job, self._marks = job, job.bookmarks
        self._since = latest.written + (why is None)
        self._certain = is_rotated(name)  # that nothing that came after what was read last is missing
        listed, settled = self._marks.beside(name)
        # Between two renames nothing has the name, so what is open may be older than files that were renamed since.
        self._renamed = {one.file: one.path for one in listed}.get(_file_of(log), name) != name
        settled = self._compare(listed) and settled
        later, still = self._marks.beside(name)
        moved = not (settled and still) or {one.file for one in listed} != {one.file for one in later}
        before, after = ({(one.file, one.size) for one in ones} for ones in (listed, later))
        self.again = moved or before != after or bool(self._renamed and self._new)
        why = self._missing(why) or (why or Reason.FILE_GONE if moved else None)
        self.gap = None if why is None else Gap(name, self._latest.offset, None, why)

    @property
    def any(self) -> bool:
        """True if there is something to be read, to be told or to be looked at again."""
        return bool(self.tails) or self.gap is not None or self.again

    def close(self) -> None:
        """Closes the files, unread."""
        for tail in self.tails:
            tail.file.close()

    def blocks(self) -> Blocks:
        """The blocks of these files; then the gap is told."""
        for tail in list(self.tails):
            yield from tail.news()
            self.tails.remove(tail)
            self._marks.end(tail, self._job.follows)
        if self.gap is not None:
            start = self.gap.start if self.kept is None else self.kept.read
            self._job.tell(self.gap._replace(start=start))

    def leave_out(self, log: Any) -> None:
        """Leaves out what is compressed of an open file that was renamed since it was opened: it is read itself."""
        for tail in [one for one in self.tails if one is not self.kept and one.path.endswith(COMPRESSED)]:
            if is_prefix(tail.file, log):
                tail.file.close()
                self.tails.remove(tail)

    def _compare(self, listed: list[Rotated]) -> bool:
        """Compares them all, but those that are read already, first by device and inode; False if one of them has
        another name by now."""
        unknown: list[tuple[Rotated, Any, Identity]] = []
        there, marks, log = True, self._marks, _file_of(self._log)
        for one in listed:
            marks.found(one.path, one.file, named=False)
            known = one.file in marks.files or one.written >= self._since
            read = one.file in marks.done or one.file == log
            if not known or read or marks.dismissed.get(one.file) == (one.written, one.size):
                continue
            if (file := marks.opened(one)) is None:
                there = False
                continue
            who = identity(file)
            assert who is not None
            if not self._is_known(one, file, who):
                unknown.append((one, file, who))
        for one, file, who in unknown:
            if not self._is_unread(one, file, who, listed):
                file.close()
        order = {one.file: place for place, one in enumerate(listed)}
        self.tails.sort(key=lambda tail: order[tail.file_id])
        return there

    def _is_known(self, one: Rotated, file: Any, who: Identity) -> bool:
        """True if a file has a bookmark of its own; it is read from there, or closed."""
        latest = self._latest
        mark = self._marks.of(who, file)
        if mark is None and one.file == latest.file and self._why is Reason.FILE_GONE:
            change = latest.change(who, file)
            mark = latest if change is None else None
            self._why = change if latest.born == who.born > 0 and change else self._why  # it was cut, and renamed then
        if mark is None:
            return False
        self._fitted.append(mark)
        self._certain = self._certain or (mark is latest and os.fstat(file.fileno()).st_nlink > 0)
        held, settled = self._marks.held.get(one.file), self._is_settled(one)
        waits = held is not None and held.fault is not None and not held.broken and settled
        if waits or who.size > (mark.size if who.packed else mark.offset):
            self._take(one, file, who, mark)
            return True
        file.close()
        self.through += [one.file] if settled else []
        return True

    def _is_unread(self, one: Rotated, file: Any, who: Identity, listed: list[Rotated]) -> bool:
        """True if a file that has no bookmark of its own is read, from where that ends of which it is a copy."""
        latest, marks = self._latest, self._marks
        if _is_made_of(one, file, self._log):
            return False  # the log is about to be cut: what is in it is read there
        held = [key for key, other in marks.held.items() if one.packed and _is_made_of(one, file, other.file)]
        self._certain = self._certain or latest.file in held
        if held or (one.packed and _is_backup(one, file, listed)):
            marks.dismissed[one.file] = one.written, one.size
            return False
        fitting = [mark for mark in marks.copied_in(file, latest) if mark not in self._fitted]
        mark = max(fitting, key=lambda mark: (mark.read, mark is latest), default=None)
        if mark is not None:
            self._certain = self._certain or mark.file == latest.file
            with Contents(file) as contents:
                unread = bool(contents.last(mark.offset + 1)[0] > mark.offset)
        elif latest not in self._fitted and is_earlier(file, latest):
            mark, unread = latest, False
        else:
            unread = one.written >= self._since
        if unread:
            self._take(one, file, who, mark)
        elif mark is not None:
            marks.add(mark.of_copy(one.path, who))
        self._fitted += [] if mark is None else [mark]
        return unread

    def _take(self, one: Rotated, file: Any, who: Identity, mark: Bookmark | None) -> None:
        tail = Reading(file_source(one.path, listed=True), self._job, file, who, mark)
        # A last line without its end waits where somebody may still write it.
        tail.closed = one.packed or self._is_settled(one)
        self.tails.append(tail)
        if mark is self._latest:
            self.kept = tail
        elif mark is None:
            self._new.append(tail)

    def _is_settled(self, one: Rotated) -> bool:
        return time.time_ns() - one.written > SETTLED * 1e9

    def _missing(self, why: Reason | None) -> Reason | None:
        """The reason why something is missing: each cut is a gap, as of what was written between a copy and the cut
        nothing is left to see; and a file that is gone, or of which others may begin alike. ``why``: what became of
        what was read, as the log shows it.

        A log that holds what was read was cut where a copy holds that, too, and goes on in another way. Where what was
        read is no more than what all may begin with, files that came show it, and the log is read on."""
        reached = self._latest.reached
        if why is not None:
            return None if self._why is Reason.FILE_GONE and self._certain else self._why
        if self.kept is not None:
            self.anew = reached > BANNER
            return Reason.FILE_REPLACED if self.anew else Reason.FILE_SHRUNK
        if self._new and self._renamed:
            return None  # they came after it
        if self._new and reached <= BANNER:
            return Reason.FILE_SHRUNK
        for tail in self._new:
            tail.file.close()
            self.tails.remove(tail)
        return None


def _file_of(file: Any) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def open_as(one: Rotated) -> Any:
    """A file that was found, open; None if it has another name by now."""
    try:
        file = open(one.path, "rb", buffering=0)  # noqa: SIM115 (who asked closes it)
    except FileNotFoundError:
        return None
    if _file_of(file) == one.file:
        return file
    file.close()
    return None


def _is_backup(one: Rotated, copy: Any, listed: list[Rotated]) -> bool:
    """True if an open compressed file holds what another one of those beside a log begins with, and no more: a backup,
    made while somebody wrote to that."""
    for other in listed:
        if other.file == one.file or (file := open_as(other)) is None:
            continue
        with file:
            made = is_prefix(copy, file, more=other.path >= one.path) if other.packed else _is_made_of(one, copy, file)
        if made:
            return True
    return False


def _is_made_of(one: Rotated, copy: Any, file: Any) -> bool:
    """True if a copy, compressed or not, holds what an open file begins with, and no more; not of a file that was made
    after the copy was written."""
    return creation_time(file.fileno(), os.fstat(file.fileno())) <= one.written and is_prefix(copy, file)


def is_being_made(copy: Any, path: str, copied: bool) -> bool:
    """True if an open file that a folder lists is just being compressed of another one, or ``copied``: it holds what
    the file begins with that is called as it is without the ending, or the log that is beside it."""
    plain, ending = os.path.splitext(path)
    folder, base = os.path.split(path)
    made_from = [plain] if ending in COMPRESSED else []
    made_from += [os.path.join(folder, log) for log, _ in logs_named(plain_name(base))] if copied else []
    for source in made_from:
        try:
            with open(source, "rb", buffering=0) as file:
                if is_prefix(copy, file):
                    return True
        except OSError:
            continue
    return False


# --- logs that grow -------------------------------------------------------------------------------------------------

INTERVAL, LONGEST = 0.2, 2.0
"""Seconds between two looks at files: as many as a look took, but within these."""
LISTED = 5
"""At every so many looks directories and globs are listed again."""
TRIES = 10
"""So many looks a log is waited for that is named itself, and is just being renamed."""


class Follower:
    """The files that sources name, and how each was at the last look."""

    def __init__(self, source: Any, job: ReadOptions) -> None:
        self._source, self._job, self._marks = source, job, job.bookmarks
        self._states: dict[str, Any] = {}

    def looks(self, first: list[Source]) -> Iterator[Blocks | None]:
        """The blocks of these files, then at each look those of the files that changed, or None, until ``job.stop``
        is set. What was read before a look must be in the bookmarks by then."""
        try:
            files = {one.name: one for one in first if one.mappable and one.name is not None}
            for name in files:
                self._is_changed(name)
            yield self._first(first)
            looks = 0
            while names_files(self._source):
                begun = time.monotonic()
                self._marks.done.clear()
                if looks % LISTED == 0:
                    held = [one for one in self._marks.held.values() if one.path in self._states]
                    removed = {one.path: one.source for one in held if not os.fstat(one.file.fileno()).st_nlink}
                    files = removed | named(self._source)
                    for name in self._marks.passed_over:
                        self._states.pop(name, None)
                    self._marks.passed_over.clear()
                # A known log finds the files that had its name. All others may be made from those: they come when what
                # was read by then is in the bookmarks.
                known = {name: name in self._states and not is_rotated(name) for name in files}
                for names in ([name for name in files if known[name]], [name for name in files if not known[name]]):
                    changed = [files[name] for name in names if self._is_changed(name)]
                    yield self._again(changed) if changed else None
                looks += 1
                self._job.stop.sleep(max(INTERVAL, min(time.monotonic() - begun, LONGEST)))
        finally:
            for held in self._marks.held.values():
                held.file.close()

    def _first(self, found: list[Source]) -> Blocks:
        """The blocks of files that are there at the beginning, which are waited for where they are named themselves."""
        for one in found:
            if not one.mappable:
                yield from stream_blocks(one, self._job)
                continue
            for left in reversed(range(TRIES)):
                try:
                    yield from file_blocks(one, self._job)
                    break
                except FileNotFoundError:
                    if one.listed:
                        break  # it was renamed since, and is found under its new name
                    if not left:
                        raise
                self._job.stop.sleep(INTERVAL)

    def _again(self, changed: Iterable[Source]) -> Blocks:
        self._marks.expect([one.name for one in changed if one.name is not None])
        for one in changed:
            try:
                if not is_archived(one.name or ""):  # which does not grow
                    yield from file_blocks(one, self._job)
            except FileNotFoundError:
                continue  # it is gone again, or just being renamed

    def _is_changed(self, name: str) -> bool:
        """True if a file, or one that had its name, may have changed since the last look at it."""
        now, before = time.time_ns(), self._states.get(name)
        try:
            status = os.stat(name)
            if not stat.S_ISREG(status.st_mode):
                return False
        except FileNotFoundError:
            found = []
        else:
            found = [(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, False)]
        for one in self._marks.beside(name)[0]:
            settled = now - one.written > SETTLED * 1e9
            found.append((*one.file, one.written, one.size, settled))
        # Within a tick of the clock of files they can change again without a trace.
        fresh = any(abs(now - written) <= TICK for _, _, written, _, _ in found)
        self._states[name] = None if fresh else found
        return found != before


def named(source: Any) -> dict[str, Source]:
    """The files that the sources name just now."""
    files: dict[str, Source] = {}
    for part in source if isinstance(source, (list, tuple)) else [source]:
        try:
            found = list(sources(part)) if names_files(part) else []
        except FileNotFoundError:
            continue  # nothing matches for the moment
        files |= {one.name: one for one in found if one.name is not None and one.mappable}
    return files
