"""Names of rotated logs, their age, and those present in a folder, which is listed anew only if it has changed."""

from __future__ import annotations

import os
import re
import stat
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

TICK = 100_000_000
"""Nanoseconds within which a second change of a file may leave no trace in its times, at most."""
ADDED = re.compile(r"[._-](?:\d[\d._:TZ-]*|old|prev|bak|save)")
"""Additions to a name."""
_COUNT = re.compile(r"[._-]\d{1,4}")
_YEAR = re.compile(r"[._-](?:19|20)\d\d")
_ENDING = re.compile(r"\.[A-Za-z]\w*")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Endings of the names of compressed files."""


def plain_name(name: str) -> str:
    """A name without the endings of compressed files."""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def logs_named(plain: str) -> Iterator[tuple[str, str]]:
    """The names of logs of which a file may be a rotated one, by its name without the endings of compressed files, each
    with the addition to it (``app.log.1``, ``app.log-20260101``, ``app-1.log``)."""
    stem, ending = os.path.splitext(plain)
    for place, sign in enumerate(plain):
        if place and sign in "._-":
            if ADDED.fullmatch(plain, place):
                yield plain[:place], plain[place:]
            if ending and ADDED.fullmatch(stem, place):
                yield plain[:place] + ending, stem[place:]


def added(path: str, log: str) -> str | None:
    """The addition to the name of a log in that of a rotated file of it; None for any other file."""
    return dict(logs_named(plain_name(os.path.basename(path)))).get(os.path.basename(log))


def had_name(path: str, log: str) -> bool:
    """True if a file is a log, by its name, or a rotated one of it."""
    return path == log or (os.path.dirname(path) == os.path.dirname(log) and added(path, log) is not None)


def log_of(path: str, there: Collection[str | None]) -> str | None:
    """The log of which a file is a rotated one, by its name: one that is there, or one that was (of ``app.log.1``,
    though not of ``app-1.log``, which may be the log of another agent)."""
    folder, name = os.path.split(path)
    plain = plain_name(name.removesuffix(".zip"))
    logs = [os.path.join(folder, base) for base, _ in logs_named(plain)]
    for log in logs:
        if log in there:
            return log
    return next((log for log in logs if path.startswith(log) and _ENDING.fullmatch(os.path.splitext(log)[1])), None)


def oldest_first(paths: Sequence[str | None]) -> list[int]:
    """The places of paths in the order in which they are read: all stay where they are, but those of one log stand
    with the oldest first, by what is added to their names. None: an input that is no file of a log."""
    there = {path for path in paths if path is not None}
    logs: defaultdict[str, list[int]] = defaultdict(list)
    for place, path in enumerate(paths):
        if path is not None:
            logs[log_of(path, there) or path].append(place)
    order = list(range(len(paths)))
    for log, places in logs.items():
        by_age = sorted(places, key=lambda place: _age(paths[place] or "", log))
        for place, other in zip(places, by_age, strict=True):
            order[place] = other
    return order


def _age(path: str, log: str) -> tuple[int, tuple[int, ...], str]:
    """Sorts the files of a log: those with a date by it, then those with a count, of which the highest is the oldest
    (``old`` and the like count as 0), then the log itself."""
    if path == log:
        return 2, (), path
    text = added(path.removesuffix(".zip"), log) or ""
    numbers = tuple(map(int, re.findall(r"\d+", text)))
    if _COUNT.fullmatch(text) and not _YEAR.fullmatch(text):
        return 1, (-numbers[0],), path
    return (0, numbers, path) if numbers else (1, (0,), path)


# --- what is in a folder --------------------------------------------------------------------------------------------


class Rotated(NamedTuple):
    """A file that may have had a name before: its path, device and inode, when it was written last (ns), its size."""

    path: str
    file: tuple[int, int]
    written: int
    size: int

    @property
    def packed(self) -> bool:
        """True if its name is that of a compressed file, to which nothing more is written."""
        return self.path.endswith(COMPRESSED)


def is_rotated(name: str) -> bool:
    """True if a name is that of an already rotated file, with which no log begins."""
    base = os.path.basename(name)
    return base.endswith(COMPRESSED) or any(logs_named(plain_name(base)))


def _beside(name: str) -> set[str]:
    folder, base = os.path.split(name)
    stem, _ = os.path.splitext(base)  # with which all of them begin: a folder may have very many others
    names = _listed(folder or os.curdir)
    alike = takewhile(lambda other: other.startswith(stem), islice(names, bisect_left(names, stem), None))
    return {other for other in alike if other != base and added(other, base) is not None}


def rotated_files(name: str) -> tuple[list[Rotated], bool]:
    """Files beside a log that are called as rotated ones of it, the oldest first by their names, and False if one of
    them was renamed meanwhile: that can happen again in each list. A compressed file next to its original is incomplete
    and not counted."""
    try:
        there = _beside(name)
    except FileNotFoundError:
        return [], True
    found, whole = [], True
    for other in there:
        if other.endswith(COMPRESSED) and os.path.splitext(other)[0] in there:
            continue
        path = os.path.join(os.path.dirname(name), other)
        try:
            status = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            whole = False
            continue
        if stat.S_ISREG(status.st_mode):
            found.append(Rotated(path, (status.st_dev, status.st_ino), status.st_mtime_ns, status.st_size))
    return sorted(found, key=lambda one: _age(one.path, name)), whole


def _listed(folder: str) -> list[str]:
    """A folder as it is now: the last list of it, where it is as it was before that. Within a tick of the clock of
    files it can change again without a trace, so then the list is made anew; so it is after a second, as some file
    systems do not tell when a folder changed. Raises FileNotFoundError."""
    status = os.stat(folder)
    changed = status.st_mtime_ns, status.st_ctime_ns
    if time.time_ns() - max(changed) <= TICK:
        forget()
    return _names(folder, status.st_dev, status.st_ino, *changed, int(time.monotonic()))


@lru_cache(4)
def _names(folder: str, *_: int) -> list[str]:
    return sorted(os.listdir(folder))


forget = _names.cache_clear
"""Gives the memory of the names back."""
