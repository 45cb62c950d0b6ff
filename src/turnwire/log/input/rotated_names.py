"""Names of rotated logs, and those present in a folder, which is listed anew only if it has changed."""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_left
from collections.abc import Iterator

from turnwire.log.input.file_identity import TICK

ADDED = re.compile(r"[._-](?:\d[\d._:TZ-]*|old|prev|bak|save)")
"""What is added to a name."""
_COUNT = re.compile(r"[._-]\d{1,4}")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""How the names of compressed files end."""


def plain_name(name: str) -> str:
    """A name without the endings of compressed files."""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def is_like(name: str, base: str) -> bool:
    """True if a file is called as a rotated ``app.log`` is: ``app.log.1``, ``app.log-20260101.gz``, ``app-1.log``."""
    stem, ending = os.path.splitext(base)
    plain = plain_name(name)
    if plain.startswith(base):
        return ADDED.fullmatch(plain, len(base)) is not None
    if not (ending and plain.endswith(ending) and plain.startswith(stem)):
        return False
    return ADDED.fullmatch(plain, len(stem), len(plain) - len(ending)) is not None


def is_counted(path: str, name: str) -> bool:
    """True if a file is called ``app.log.1`` or ``app-1.log``, compressed or not, as tools count what they rotate."""
    plain, base = plain_name(os.path.basename(path)), os.path.basename(name)
    stem, ending = os.path.splitext(base)
    return any(
        plain.startswith(first) and plain.endswith(last) and _COUNT.fullmatch(plain, len(first), len(plain) - len(last))
        for first, last in ((base, ""), (stem, ending))
    )


_MOST = 4
"""Folders whose names are kept."""
_AGE = 1.0
"""Seconds for which they are: a file system that does not tell when a folder changed is believed no longer."""
_Key = tuple[int, int, int, int]
_kept: dict[str, tuple[_Key, float, list[str]]] = {}


def forget() -> None:
    """Gives the memory of the names back."""
    _kept.clear()


def names_in(folder: str, beginning: str) -> Iterator[str]:
    """The names in a folder that begin so, in order, as they are now. Raises FileNotFoundError."""
    names = _names(folder)
    for place in range(bisect_left(names, beginning), len(names)):
        if not names[place].startswith(beginning):
            break
        yield names[place]


def _names(folder: str) -> list[str]:
    """The names in a folder in order: those of the last list, where the folder is as it was before that. Within a tick
    of the clock of files it can change again without a trace, so then the next list is made anew."""
    key = _key(folder)
    kept = _kept.get(folder)
    if kept is not None and kept[0] == key and time.monotonic() < kept[1]:
        return kept[2]
    long_ago = time.time_ns() - max(key[2:]) > TICK
    until = time.monotonic() + _AGE
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    _kept.pop(folder, None)
    if long_ago and _key(folder) == key:
        while len(_kept) >= _MOST:
            _kept.pop(next(iter(_kept), ""), None)
        _kept[folder] = key, until, names
    return names


def _key(folder: str) -> _Key:
    status = os.stat(folder)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
