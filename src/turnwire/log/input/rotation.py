"""Rotated logs: the files that had a log's name before, as tools that rotate logs call them."""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.log.input.bookmarks import Bookmarks
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.file_identity import BANNER, TAIL, TICK, Bookmark, creation_time, is_copy, take
from turnwire.log.input.reading import Stop, opened
from turnwire.log.input.rotated_names import (
    ADDED,
    COMPRESSED,
    is_counted,
    is_like,
    log_of,
    logs_named,
    names_in,
    plain_name,
)
from turnwire.log.input.sources import Source

_NUMBER = re.compile(r"\d+")
_LOOKS = 20
_SETTLING = 0.2
_PAUSE = 0.001
"""Seconds for which files that are renamed all the time are listed again, and between two lists behind the first
``_LOOKS``."""
_STEP = 1 << 16
_ENDLESS = 1 << 62


class Rotated(NamedTuple):
    """A file that may have had a name before: its path, device and inode, when it was written last (ns), its size."""

    path: str
    file: tuple[int, int]
    written: int
    size: int

    @property
    def packed(self) -> bool:
        """True if it is called as compressed files are: nobody goes on writing to it."""
        return self.path.endswith(COMPRESSED)


class Bases:
    """Of which names there are rotated files in folders: a look at many logs in one folder lists it once."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, frozenset[str]]] = {}

    def __call__(self, folder: str) -> frozenset[str]:
        """The names, of now."""
        written = os.stat(folder or os.curdir).st_mtime_ns
        kept = self._found.get(folder)
        if kept is not None and kept[0] == written:
            return kept[1]
        bases: set[str] = set()
        for name in os.listdir(folder or os.curdir):
            bases.update(logs_named(plain_name(name)))
        found = frozenset(bases)
        if time.time_ns() - written > TICK:  # within a tick of the clock more may come without a trace
            self._found[folder] = written, found
        return found


def logs_first(listed: Iterable[Source], marks: Bookmarks) -> list[Source]:
    """The same sources in their order, but unknown ones that are called as rotated files of a log of which a part was
    read behind the others: what came in between is looked for beside that log, and read in front of it."""
    found = list(listed)
    known = {one.name for one in found if one.mappable and marks.knows(one.name or "", named=True)}

    def is_between(one: Source) -> bool:
        name = one.name or ""
        return one.mappable and log_of(name, known) in known and not marks.knows(name, named=False)

    return sorted(found, key=is_between)


def is_rotated(name: str) -> bool:
    """True if a name is that of a file that was rotated already: nobody begins a log under it."""
    base = os.path.basename(name)
    stem, ending = os.path.splitext(plain_name(base))
    return base.endswith(COMPRESSED) or ADDED.fullmatch(ending) is not None or bool(re.search(r"[.-]\d+$", stem))


def beside(name: str, *folders: str) -> list[Rotated]:
    """Files beside a log, or in ``folders``, that are called as rotated ones of it, in the order in which they were
    written last. A compressed one beside the file that it is made from is not finished, and is not there yet."""
    return look_beside(name, *folders)[0]


def look_beside(name: str, *folders: str) -> tuple[list[Rotated], bool]:
    """The same as :func:`beside`, and whether these are all: while files are renamed a list may lack some, so it is
    made until two are alike, but not for ever."""
    home, base = os.path.split(name)
    until = time.monotonic() + _SETTLING
    before: dict[tuple[int, int], str] = {}
    for look in itertools.count(1):
        found: dict[tuple[int, int], Rotated] = {}
        settled = True
        for folder in dict.fromkeys([home or os.curdir, *folders]):
            listed, whole = _listed(folder, base, home if folder == os.curdir else folder)
            found.update({one.file: one for one in listed})
            settled = settled and whole
        names = {file: one.path for file, one in found.items()}
        settled = settled and names == before
        if settled or (look >= _LOOKS and time.monotonic() > until):
            break
        before = names
        if look >= _LOOKS:
            time.sleep(_PAUSE)
    return sorted(found.values(), key=_age), settled


def _age(one: Rotated) -> tuple[int, int, str]:
    number = _NUMBER.search(os.path.basename(one.path))
    older = -int(number[0]) if number is not None and len(number[0]) < 5 else 0
    return one.written, older, one.path


def _listed(folder: str, base: str, shown: str) -> tuple[list[Rotated], bool]:
    """The rotated files in one folder, and False where one of it was renamed meanwhile."""
    found, whole = [], True
    stem, _ = os.path.splitext(base)  # with which all of them begin: a folder may have very many others
    try:
        alike = [other for other in names_in(folder, stem) if other != base and is_like(other, base)]
    except FileNotFoundError:
        return [], True
    there = set(alike)
    for other in alike:
        if other.endswith(COMPRESSED) and os.path.splitext(other)[0] in there:
            continue
        try:
            status = os.stat(os.path.join(folder, other), follow_symlinks=False)
        except FileNotFoundError:
            whole = False  # the next list has it
            continue
        if stat.S_ISREG(status.st_mode):
            place = os.path.join(shown, other)
            found.append(Rotated(place, (status.st_dev, status.st_ino), status.st_mtime_ns, status.st_size))
    return found, whole


def open_as(one: Rotated) -> Any:
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


def is_beginning(copy: Any, name: str) -> bool:
    """True if an open file, compressed or not, holds what the file of that name begins with, or nothing: a copy made
    before the log is cut. What is in it is read from the log."""
    try:
        with open(name, "rb", buffering=0) as log:
            if _kind(copy) is not None and _kind(log) is None:
                return _alike(copy, log, _ENDLESS) == (True, copy)
            size = os.fstat(copy.fileno()).st_size  # it may grow meanwhile
            count = min(TAIL, size)
            return size <= os.fstat(log.fileno()).st_size and all(
                os.pread(copy.fileno(), count, place) == os.pread(log.fileno(), count, place)
                for place in (0, size - count)
            )
    except FileNotFoundError:
        return False


def copy_of(
    mark: Bookmark,
    among: Callable[[], list[Rotated]],
    exact: bool = False,
    cut: str | None = None,
    looks: int = _LOOKS,
) -> Rotated | None:
    """The first of some files that holds what was read of another one, see :func:`is_copy`; ``cut``: the name of a log
    that was cut, which does not begin as that file does. What is renamed meanwhile is looked for again, so many times
    at most."""
    for _ in range(looks):
        moved = False
        for one in among():
            try:
                with open(one.path, "rb", buffering=0) as file:
                    status = os.fstat(file.fileno())
                    if (status.st_dev, status.st_ino) != one.file:
                        moved = True
                    elif not (cut and is_beginning(file, cut)) and is_copy(file, mark, exact):
                        return one
            except FileNotFoundError:
                moved = True
        if not moved:
            break
    return None


def is_part(copy: Any, one: Rotated, name: str, held: Iterable[Any] = ()) -> bool:
    """True if an open compressed file (``one``) holds what another file beside a log, or an open one (``held``), begins
    with, and no more: a backup that was made while somebody wrote to that. A file that was made later than the backup
    was written is not what it is made from; nor is a compressed one that is called alike, as a tool calls all that it
    rotates, where they may begin alike: but tools count or date, so that of names with a date beside some with a count
    none is a tool's."""
    if not one.packed:
        return False
    written = max(one.written, os.fstat(copy.fileno()).st_mtime_ns)
    if any(_made(file) <= written and begins(copy, file) for file in held):
        return True
    met: set[tuple[int, int]] = {one.file}
    for _ in range(_LOOKS):
        others = [other for other in beside(name) if other.file not in met]
        for other in others:
            try:
                with open(other.path, "rb", buffering=0) as file:
                    status = os.fstat(file.fileno())
                    if (status.st_dev, status.st_ino) != other.file:
                        continue  # renamed just now
                    met.add(other.file)
                    if _is_made_from(copy, one, written, file, other, name):
                        return True
            except FileNotFoundError:
                continue
        if not others:
            break
    return False


def _is_made_from(copy: Any, one: Rotated, written: int, file: Any, other: Rotated, name: str) -> bool:
    alike = other.packed and _shape(other.path) == _shape(one.path)
    if not other.packed and _made(file) > written:
        return False
    if not begins(copy, file, (other.packed, other.path) < (one.packed, one.path)):
        return False
    if not alike or is_dated_backup(one, name):
        return True
    _, source = opened(copy, Stop(), LIMITS)
    found = len(take(source, BANNER + 1))
    copy.seek(0)
    return found > BANNER


def is_dated_backup(one: Rotated, name: str) -> bool:
    """True if a compressed file is none that a tool rotated, by its name: it has a date, and others have a count."""
    if not one.packed or is_counted(one.path, name):
        return False
    return any(is_counted(other.path, name) for other in beside(name))


def _made(file: Any) -> int:
    return creation_time(file.fileno(), os.fstat(file.fileno()))


def _shape(path: str) -> str:
    return _NUMBER.sub("0", plain_name(os.path.basename(path)))


def begins(copy: Any, file: Any, equal: bool = True) -> bool:
    """True if one open file holds what another one begins with, or all of it (``equal``: whether that counts)."""
    at = file.tell()
    try:
        file.seek(0)
        if equal:
            return _alike(copy, file, _ENDLESS) == (True, copy)
        copy.seek(0)
        return _alike(file, copy, _ENDLESS) == (True, copy)
    finally:
        file.seek(at)
        copy.seek(0)


def is_being_made(copy: Any, path: str) -> bool:
    """True if an open compressed file holds what the file begins with that is called as it is without the ending: a
    tool is just compressing that, and removes it then."""
    plain, ending = os.path.splitext(path)
    if ending not in COMPRESSED:
        return False
    try:
        with open(plain, "rb", buffering=0) as file:
            return begins(copy, file)
    except OSError:
        return False


def is_being_copied(copy: Any, path: str) -> bool:
    """True if an open file that is called as a rotated one holds what the log begins with that is beside it."""
    folder, base = os.path.split(path)
    return any(is_beginning(copy, os.path.join(folder, log)) for log in logs_named(plain_name(base)))


def begins_alone(copy: Any, count: int, name: str) -> bool | None:
    """True if the first ``count`` bytes (as decompressed) of an open file tell it from others of a name: False where
    another one begins with them, too, so that what was read of a log may be what all its files begin with; None
    where the others are too short to say."""
    differs = False
    status = os.fstat(copy.fileno())
    others = [one for one in beside(name) if one.file != (status.st_dev, status.st_ino)]
    for one in (None, *others):
        try:
            with open(name if one is None else one.path, "rb", buffering=0) as other:
                alike, ended = _alike(copy, other, count)
                if alike and one is not None and is_part(other, one, name):
                    continue  # a backup of it, or of another one that is compared
        except FileNotFoundError:
            continue
        if alike and ended is None:  # count bytes in both
            return False
        differs = differs or not alike
    return differs or None


def _kind(file: Any) -> str | None:
    """The compression of an open file, by its first bytes."""
    return format_of(os.pread(file.fileno(), LONGEST_MAGIC, 0))


def _alike(one: Any, other: Any, count: int) -> tuple[bool, Any]:
    """True if two open files begin with the same bytes (as decompressed), as far as both go, and the one that has fewer
    than ``count``: the shorter one, the first where they are equal; None where neither has."""
    one.seek(0)
    try:
        (_, first), (_, second) = opened(one, Stop(), LIMITS), opened(other, Stop(), LIMITS)
        while count:
            step = min(count, _STEP)
            here, there = take(first, step), take(second, step)
            least = min(len(here), len(there))
            if here[:least] != there[:least]:
                return False, None
            if least < step:
                return True, one if len(here) == least else other
            count -= step
        return True, None
    finally:
        one.seek(0)
