"""Records the state of a file in a plan (size, times, a digest of its bytes), and checks that it is unchanged.

The digest is of all bytes of a block where the plan read them all, and of some otherwise: then the time at which the
inode was changed, which nobody can set, tells a file that was written to under the same size and times.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from turnwire.log.input.bookmarks import TICK, identity
from turnwire.log.input.copies import HEAD, digest

READ = 1 << 20
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

    whole = sha256()
    number = file.fileno()
    if sampled:
        for place in _places(start, stop):
            whole.update(os.pread(number, _SAMPLE, place))
        return whole.hexdigest()
    for place in range(start, stop, READ):
        whole.update(os.pread(number, min(READ, stop - place), place))
    return whole.hexdigest()


def _places(start: int, stop: int) -> list[int]:
    room = stop - start - _SAMPLE
    return [start + room * number // (_SAMPLES - 1) for number in range(_SAMPLES)]


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
