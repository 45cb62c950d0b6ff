"""Rotated logs: the files that had a log's name before, as tools that rotate logs call them."""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

_NUMBER = re.compile(r"\d+")
_SIGNS = ".-_"
COMPRESSED = (".gz", ".zst")


class Rotated(NamedTuple):
    """A file that may have had a name before: device and inode, and its path."""

    path: str
    file: tuple[int, int]


def _is_like(name: str, base: str) -> bool:
    """Whether a file is called as a rotated ``app.log`` is: ``app.log.1``, ``app.log-20260101.gz``, ``app-1.log``."""
    stem, ending = os.path.splitext(base)
    plain = name
    for packed in COMPRESSED:
        plain = plain.removesuffix(packed)
    if name.startswith(base):
        return name[len(base) :][:1] in tuple(_SIGNS)
    return (
        bool(ending) and plain.endswith(ending) and plain.startswith(stem) and plain[len(stem) :][:1] in tuple(_SIGNS)
    )


def rotated(name: str, since: int, until: int) -> list[Rotated]:
    """Files beside a log that are called as rotated ones and were last written from ``since`` to ``until`` (ns), in the
    order in which they were. A compressed one keeps the time of what it was made from: of ``since`` itself, it is the
    copy of the file that is known. Beside the file that it is made from it is not finished, and is not taken."""
    folder, base = os.path.split(name)
    found = []
    with os.scandir(folder or os.curdir) as entries:
        alike = [entry for entry in entries if entry.name != base and _is_like(entry.name, base)]
        there = {entry.name for entry in alike}
        for entry in alike:
            if entry.name.endswith(COMPRESSED) and os.path.splitext(entry.name)[0] in there:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # renamed just now: the next look finds it
            packed = entry.name.endswith(COMPRESSED)
            if stat.S_ISREG(status.st_mode) and since + packed <= status.st_mtime_ns <= until:
                number = _NUMBER.search(entry.name[len(base) :])
                older = -int(number[0]) if number is not None and len(number[0]) < 5 else 0
                file = status.st_dev, status.st_ino
                found.append((status.st_mtime_ns, older, Rotated(os.path.join(folder, entry.name), file)))
    return [one for _, _, one in sorted(found)]
