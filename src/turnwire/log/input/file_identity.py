"""The identity of a file: device, inode, when it was made, its first KiB, and how far it was read."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import index
from typing import Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.reading import Stop, opened
from turnwire.log.search.state import SearchState

HEAD = 1024
TAIL = 1024
BANNER = 1 << 12
"""Bytes with which every file of a name may begin."""
OPENING = 1 << 16
"""Bytes behind which a file that was cut does not hold what it held before, and have the same size."""
TICK = 100_000_000
"""Nanoseconds within which a second change of a file may leave no trace in its times, at most."""
MOST = 1 << 63
_PIECE = 1 << 20
_NEWLINE = ord("\n")
_CHANCE = 32
_ENDS = 16
_COPYING = 600 * 10**9  # ns that copying a log takes at most
_STATX_EMPTY_PATH, _STATX_BIRTH, _STATX_SIZE, _STATX_AT_BIRTH = 0x1000, 0x800, 256, 80
"""``AT_EMPTY_PATH``, ``STATX_BTIME``, the size of ``struct statx`` and where ``stx_btime`` is in it: the same on every
machine that Linux runs on."""


class Identity(NamedTuple):
    """The facts that tell a file from another of the same name: device and inode, size, first bytes (1024 at most),
    when it was written last and when it was made (ns; 0 where the system does not say)."""

    device: int
    inode: int
    size: int
    head: bytes
    written: int = 0
    born: int = 0


class Bookmark(NamedTuple):
    """The identity of a file and how far it was read: the offset and line to go on at (line 0: nobody goes on there, it
    was only looked at), and its size then; carried: the state of the search there (``SearchState.kept``); read,
    tail_bytes, tail: the digest of the last bytes in front of what was read last (of a file that is not compressed);
    written, born: when it was written last and made (ns); still: when it was written last as it had just that size (0
    where it grew while it was read); recorded: whether records were read of it; ends: of a file that was written
    lately, where the last lines end that were read, each with the digest of those last bytes up to there."""

    name: str
    device: int
    inode: int
    size: int
    head_bytes: int
    head: str
    offset: int
    line: int
    carried: dict[str, Any] | None = None
    read: int = 0
    tail_bytes: int = 0
    tail: str = ""
    written: int = 0
    born: int = 0
    still: int = 0
    recorded: bool = False
    ends: list[tuple[int, str]] | None = None

    @property
    def file(self) -> tuple[int, int]:
        """Device and inode."""
        return self.device, self.inode

    @property
    def reached(self) -> int:
        """The byte up to which it was read, also where what is half-written there is read again."""
        return max(self.read, self.offset)


class StartPosition(NamedTuple):
    """The place where reading of a file begins: offset and line, what is carried there, an offset with the bytes in
    front of it, by which a file that is written anew is told, and whether records were read before it."""

    offset: int = 0
    line: int = 1
    carried: dict[str, Any] | None = None
    behind: tuple[int, bytes] = (0, b"")
    recorded: bool = False


# --- an open file ---------------------------------------------------------------------------------------------------


def identity(file: Any) -> Identity | None:
    """Who an open file is; None where it is not a regular file."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        return None
    head = _between(file, 0, HEAD)
    born = creation_time(file.fileno(), found)
    return Identity(found.st_dev, found.st_ino, found.st_size, head, found.st_mtime_ns, born)


def creation_time(descriptor: int, status: Any) -> int:
    """When an open file was made (ns), or 0 where the system or the file system does not say. ``status``: its own,
    which has the time on macOS, BSD and Windows."""
    exact = getattr(status, "st_birthtime_ns", 0) or getattr(status, "st_birthtime", 0) * 1_000_000_000
    ask = None if exact else _statx()
    if ask is None:
        return int(exact)
    import ctypes

    found = ctypes.create_string_buffer(_STATX_SIZE)
    if ask(descriptor, b"", _STATX_EMPTY_PATH, _STATX_BIRTH, found):
        return 0  # an older kernel, or a sandbox
    mask, seconds, nanoseconds = (
        int.from_bytes(found.raw[place : place + count], sys.byteorder)
        for place, count in ((0, 4), (_STATX_AT_BIRTH, 8), (_STATX_AT_BIRTH + 8, 4))
    )
    return seconds * 1_000_000_000 + nanoseconds if mask & _STATX_BIRTH else 0


@cache
def _statx() -> Any:
    """``statx`` of Linux; None elsewhere, and where the C library has none."""
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        return ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None


def _between(file: Any, start: int, stop: int) -> bytes:
    """Some bytes of an open file, which stays where it is."""
    at = file.tell()
    file.seek(start)
    found: bytes = file.read(stop - start) if stop > start else b""
    file.seek(at)
    return found


def holds(file: Any, stop: int, tail: bytes) -> bool:
    """True if these bytes still are in front of that offset of an open file."""
    return _between(file, stop - len(tail), stop) == tail


def unwritten(file: Any) -> bool:
    """True if nobody has written to an open file, or cut it, for longer than the clock of files is coarse."""
    return time.time_ns() - os.fstat(file.fileno()).st_mtime_ns > TICK


def is_compressed(file: Any) -> bool:
    """True if an open file is compressed, by its first bytes."""
    return format_of(_between(file, 0, LONGEST_MAGIC)) is not None


# --- bookmarks ------------------------------------------------------------------------------------------------------


def digest(data: bytes) -> str:
    """The digest of some bytes in a bookmark."""
    from hashlib import sha256  # most scans ask for none

    return sha256(data).hexdigest()


def bookmark(
    name: str,
    who: Identity,
    place: tuple[int, int],
    size: int,
    carried: dict[str, Any] | None,
    behind: tuple[int, bytes] = (0, b""),
    recorded: bool = False,
) -> Bookmark:
    """The bookmark of a file of ``size`` bytes or more that was read up to (offset, line) as decompressed. ``behind``:
    an offset, and the bytes in front of it; ``recorded``: whether there were records."""
    stop, tail = behind
    head = who.head[:stop] if tail else who.head  # a copy may lack what is half-written there
    mark = Bookmark(name, who.device, who.inode, max(size, who.size), len(head), digest(head), *place, carried)
    still = who.written if size <= who.size else 0
    mark = mark._replace(written=who.written, born=who.born, still=still, recorded=recorded)
    if not tail:
        return mark
    ends = _line_ends(stop, tail) if time.time_ns() - who.written < _COPYING else None
    return mark._replace(read=stop, tail_bytes=len(tail), tail=digest(tail), ends=ends)


def _line_ends(stop: int, tail: bytes) -> list[tuple[int, str]]:
    """The place where lines end in the bytes before an offset, and what is before each: by that a copy is known that
    somebody made while the file was read."""
    start = stop - len(tail)
    counts = [count for count in range(1, len(tail)) if tail[count - 1] == _NEWLINE and (not start or count >= _CHANCE)]
    return [(start + count, digest(tail[:count])[:32]) for count in counts[-_ENDS:]]


def looked_at(file: Any, name: str) -> Bookmark:
    """The bookmark of all that is in an open file, by which a copy of it is known; of a compressed one none is."""
    who = identity(file)
    assert who is not None
    behind = (who.size, _between(file, max(who.size - TAIL, 0), who.size)) if format_of(who.head) is None else (0, b"")
    return bookmark(name, who, (who.size, 0), who.size, None, behind)


def checked(mark: Bookmark) -> Bookmark:
    """The bookmark, once each of its parts is checked. Raises TypeError or ValueError."""
    texts: tuple[Any, ...] = (mark.name, mark.head, mark.tail)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not text")
    numbers = (mark.size, mark.head_bytes, mark.offset, mark.read, mark.tail_bytes)
    for number, least in (*((number, 0) for number in numbers), (mark.line, 1)):
        if not least <= index(number) < MOST:
            raise ValueError(f"{number} is out of range")
    for number in (mark.device, mark.inode, mark.written, mark.born, mark.still, mark.recorded):
        index(number)
    if mark.head_bytes > HEAD:
        raise ValueError(f"{mark.head_bytes} first bytes are more than {HEAD}")
    if mark.tail_bytes > min(mark.read, TAIL):
        raise ValueError(f"{mark.tail_bytes} bytes do not fit before byte {mark.read}")
    if mark.tail and mark.offset > max(mark.size, mark.read):
        raise ValueError(f"byte {mark.offset} is behind the end of the file")
    if mark.carried is not None:
        SearchState.restored(mark.carried)
    for end, text in mark.ends or ():
        if not isinstance(text, str) or not mark.read - mark.tail_bytes < index(end) < mark.read:
            raise ValueError(f"no line ends at byte {end}, with {text!r} before it")
    return mark


def place_of(mark: Bookmark, file: Any = None) -> StartPosition:
    """The place where a file goes on that was read up to a bookmark; ``file``: it, open, where it is not compressed."""
    tail = b"" if file is None else _between(file, mark.read - mark.tail_bytes, mark.read)
    return StartPosition(mark.offset, mark.line or 1, mark.carried, (mark.read if tail else 0, tail), mark.recorded)


def changed(mark: Bookmark, who: Identity, file: Any) -> Reason | None:
    """The change of a file that has the inode of a bookmark: None where it holds all that was read of it. One that was
    made at another time is another file."""
    if mark.born and who.born and mark.born != who.born:
        return Reason.FILE_GONE
    if who.size < mark.size:
        return Reason.FILE_SHRUNK
    if digest(who.head[: mark.head_bytes]) != mark.head:
        return Reason.FILE_REPLACED
    tail = _between(file, mark.read - mark.tail_bytes, mark.read)
    return Reason.FILE_REPLACED if mark.tail and digest(tail) != mark.tail else None


def is_written_over(mark: Bookmark, who: Identity) -> bool:
    """True if a file was written since it was read and has the size that it had: who appends makes it larger. Of a
    larger file than a beginning can be, the last bytes say it."""
    return 0 < mark.still < who.written and who.size == mark.size and mark.reached <= OPENING


# --- what a file holds ----------------------------------------------------------------------------------------------


@contextmanager
def _text(file: Any) -> Iterator[Any]:
    """The bytes of an open file from its start, as decompressed; it is at its start again behind the block."""
    at = file.tell()
    file.seek(0)
    try:
        yield opened(file, Stop(), LIMITS)[1]
    finally:
        file.seek(at)


def _take(source: Any, count: int) -> bytes:
    """So many bytes of an input, or all that are left."""
    view, size = memoryview(bytearray(count)), 0
    while size < count and (got := source.into(view[size:])):
        size += got
    return bytes(view[:size])


def beginning(file: Any) -> bytes:
    """The first KiB of an open file, as decompressed."""
    with _text(file) as source:
        return _take(source, HEAD)


def continued(file: Any, marks: Sequence[Bookmark]) -> list[Bookmark]:
    """The bookmarks of files, not compressed themselves, of which an open one, compressed or not, holds what was read,
    by the digests of the first and of the last bytes: in one reading, those of which most was read first. Where nothing
    was read of a file there is nothing to tell that by."""
    with _text(file) as source:
        window = _take(source, HEAD)
        at, found = len(window), list[Bookmark]()
        begun = [mark for mark in marks if mark.tail and digest(window[: mark.head_bytes]) == mark.head]
        for mark in sorted(begun, key=lambda mark: mark.read):
            while at < mark.read and (more := _take(source, min(mark.read - at, _PIECE))):
                window, at = (window + more)[-TAIL:], at + len(more)
            if at < mark.read:
                break
            place = len(window) - (at - mark.read)
            if digest(window[place - mark.tail_bytes : place]) == mark.tail:
                found.append(mark)
        return found[::-1]


def is_earlier(file: Any, mark: Bookmark) -> bool:
    """True if an open file, compressed or not, holds what another one held a while before all was read of it that a
    bookmark says: it ends behind one of the last lines, by the digests there, or in the line after that."""
    if not mark.ends:
        return False
    start = mark.read - mark.tail_bytes
    with _text(file) as source:
        head = _take(source, mark.head_bytes)
        if start and digest(head) != mark.head:
            return False
        left = start - len(head)
        while left > 0 and (skipped := len(_take(source, min(left, _PIECE)))):
            left -= skipped
        tail = head[start:] + (_take(source, mark.tail_bytes - len(head[start:])) if left <= 0 else b"")
    if len(tail) == mark.tail_bytes:
        return False  # as long: its last bytes differ
    for end, short in reversed(mark.ends):
        if (count := end - start) <= len(tail):
            return digest(tail[:count])[:32] == short and b"\n" not in tail[count:]
    return False


def is_prefix(copy: Any, file: Any, more: bool = False) -> bool:
    """True if one open file, compressed or not, begins with all that another one holds (``copy``); ``more``: and goes
    on. Of files that are not compressed the ends are compared."""
    if not (is_compressed(copy) or is_compressed(file)):
        size, whole = (os.fstat(one.fileno()).st_size for one in (copy, file))
        return size + more <= whole and all(
            _between(copy, place, min(place + TAIL, size)) == _between(file, place, min(place + TAIL, size))
            for place in (0, max(size - TAIL, 0))  # it may grow meanwhile
        )
    with _text(copy) as first, _text(file) as second:
        while part := _take(first, _PIECE):
            if _take(second, len(part)) != part:
                return False
        return not more or bool(_take(second, 1))


def all_read(file: Any, name: str) -> Bookmark:
    """The bookmark of an open file, compressed or not, all of which was read under another name."""
    who, size, lines, tail = identity(file), 0, 0, b""
    assert who is not None
    with _text(file) as source:
        while data := _take(source, _PIECE):
            size, lines, tail = size + len(data), lines + data.count(b"\n"), (tail + data)[-TAIL:]
    behind = (0, b"") if is_compressed(file) else (size, tail)
    return bookmark(name, who, (size, lines + 1), 0, None, behind)


def reaches(file: Any, count: int) -> bool:
    """True if an open file holds more than so many bytes, as decompressed."""
    with _text(file) as source:
        return len(_take(source, count + 1)) > count
