"""The state of a file in a plan (size, times, a digest of its bytes), the check that it is unchanged, and its lines.

The digest is of all bytes of a block where the plan read them all, and of some otherwise: then the time at which the
inode was changed, which nobody can set, tells a file that was written to under the same size and times.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from turnwire.log.input.bookmarks import TICK, identity
from turnwire.log.input.copies import HEAD, digest

_READ = 1 << 20
_NEWLINE = ord("\n")
_MOST_FILES = 256
_SAMPLES, _SAMPLE = 16, 4096
"""So many pieces of so many bytes of each block are digested; all of it, where it is no longer than they are."""


class FileState(NamedTuple):
    """A file as it was when the plan was made.

    name, size, mtime_ns; head: SHA-256 of its first KiB, in hex, as a bookmark has it. inode: its device, inode and
    time of change in ns. digest: SHA-256 of the bytes of the block, in hex, or of some pieces of them where it is
    ``sampled``.
    """

    name: str
    size: int
    mtime_ns: int
    head: str
    inode: tuple[int, int, int] | None = None
    digest: str = ""
    sampled: bool = True


def settled(file: Any) -> os.stat_result:
    """The status of an open file, from now on of another time when somebody writes to it: right behind a write, the
    clock of many file systems has not moved on, and the next one would leave no trace."""
    status = os.fstat(file.fileno())
    if status.st_size > _SAMPLE * _SAMPLES and 0 <= time.time_ns() - status.st_ctime_ns < TICK:  # else all is digested
        time.sleep(TICK / 1e9)
        status = os.fstat(file.fileno())
    return status


def inode_of(status: os.stat_result) -> tuple[int, int, int]:
    """The device, the inode and the time in ns at which the inode was changed."""
    return status.st_dev, status.st_ino, status.st_ctime_ns


def digest_of(file: Any, start: int, stop: int, sampled: bool) -> str:
    """SHA-256 of the bytes of a file from ``start`` to ``stop``, or of pieces of them that are spread evenly."""
    from hashlib import sha256

    whole, room = sha256(), stop - start - _SAMPLE
    places = [start + room * number // (_SAMPLES - 1) for number in range(_SAMPLES)]
    parts = (os.pread(file.fileno(), _SAMPLE, place) for place in places) if sampled else _chunks(file, start, stop)
    for part in parts:
        whole.update(part)
    return whole.hexdigest()


def _chunks(file: Any, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of an open file from ``start`` to ``stop``, or to its end."""
    while start < stop and (chunk := os.pread(file.fileno(), min(_READ, stop - start), start)):
        start += len(chunk)
        yield chunk


def line_ends(file: Any, start: int, stop: int) -> int:
    """The number of line ends of an open file from ``start`` to ``stop``."""
    pieces = (np.frombuffer(chunk, np.uint8) for chunk in _chunks(file, start, stop))
    return sum(int(np.count_nonzero(piece == _NEWLINE)) for piece in pieces)  # bytes.count takes six times as long


class LineNumbers:
    """Line ends in front of places of files that were counted in this process, by what tells that these are still what
    they were: blocks of a file that are read one after the other count each byte once."""

    def __init__(self) -> None:
        self._known: OrderedDict[FileState, dict[int, int]] = OrderedDict()
        self._lock = Lock()

    def before(self, state: FileState, file: Any, place: int) -> int:
        """The number of line ends of an open file in front of ``place``."""
        with self._lock:
            known = self._known.setdefault(state._replace(digest="", sampled=True), {0: 0})
            self._known.move_to_end(state._replace(digest="", sampled=True))
            if len(self._known) > _MOST_FILES:
                self._known.popitem(last=False)
            start = max(at for at in known if at <= place)
            lines = known[start]
        lines += line_ends(file, start, place)
        with self._lock:
            known[place] = lines
        return lines


LINE_NUMBERS = LineNumbers()


def is_sampled(start: int, stop: int, read: bool) -> bool:
    """True if a block is digested in pieces. read: its plan reads all of it."""
    return not read and stop - start > _SAMPLE * _SAMPLES


def changed(state: FileState, file: Any, start: int, stop: int) -> str | None:
    """The difference of an open file from what it was, in words; None where nothing is."""
    who = identity(file)
    if who is None or (who.size, who.written) != (state.size, state.mtime_ns):
        size = "no" if who is None else who.size
        return f"it had {state.size} bytes, now {size}, or it was written to"
    if digest(who.head) != state.head:
        return "it begins with other bytes"
    if state.size > HEAD and state.digest and digest_of(file, start, stop, state.sampled) != state.digest:
        return "it holds other bytes"
    if state.inode is None or not state.sampled:
        return None
    now = inode_of(os.fstat(file.fileno()))
    if now[0] == state.inode[0] and now[1:] != state.inode[1:]:  # elsewhere a file of this name has another inode
        return "its inode was changed, or it is another one; its size and time are what they were"
    return None
