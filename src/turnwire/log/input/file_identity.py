"""The identity of a file: when it was created, how far it was read, and how it compares with what was read before."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from operator import index
from typing import Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.reading import Stop, opened

_STATX_EMPTY_PATH = 0x1000
_BIRTH = 0x800
_SIZE = 256
_AT_BIRTH = 80
"""``AT_EMPTY_PATH``, ``STATX_BTIME``, the size of ``struct statx`` and where ``stx_btime`` is in it: the same on every
machine that Linux runs on."""


def creation_time(descriptor: int, status: os.stat_result) -> int:
    """When an open file was made (ns), or 0 where the system or the file system does not say. ``status``: its own."""
    return _known(status) or _asked()(descriptor)


def _known(status: Any) -> int:
    """The time that ``os.fstat`` gives: on macOS, BSD and Windows."""
    exact = getattr(status, "st_birthtime_ns", 0)
    return int(exact or getattr(status, "st_birthtime", 0) * 1_000_000_000)


def _unknown(_: int) -> int:
    return 0


@cache
def _asked() -> Callable[[int], int]:
    """Returns a function that asks Linux, by ``statx``; elsewhere, and where the C library has none, the answer is
    0."""
    if sys.platform != "linux":
        return _unknown
    import ctypes

    try:
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return _unknown

    def ask(descriptor: int) -> int:
        found = ctypes.create_string_buffer(_SIZE)
        if statx(descriptor, b"", _STATX_EMPTY_PATH, _BIRTH, found):
            return 0  # an older kernel, or a sandbox
        data = found.raw
        if not int.from_bytes(data[:4], sys.byteorder) & _BIRTH:
            return 0
        seconds = int.from_bytes(data[_AT_BIRTH : _AT_BIRTH + 8], sys.byteorder, signed=True)
        return seconds * 1_000_000_000 + int.from_bytes(data[_AT_BIRTH + 8 : _AT_BIRTH + 12], sys.byteorder)

    return ask


HEAD = 1024
TAIL = 1024
BANNER = 1 << 12
"""Bytes with which every file of a name may begin."""
OPENING = 1 << 16
"""Bytes behind which a file that was cut does not hold what it held before, and have the same size."""
TICK = 100_000_000
"""Nanoseconds within which a second change of a file may leave no trace in its times, at most."""
_SKIP = 1 << 20
_NEWLINE = ord("\n")
_CHANCE = 32
_ENDS = 16
_COPYING = 600 * 10**9  # ns that copying a log takes at most
MOST = 1 << 63


def digest(data: bytes) -> str:
    """The digest of some bytes in a bookmark."""
    from hashlib import sha256  # most scans ask for none

    return sha256(data).hexdigest()


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
    """The state of reading one file: the offset and line to go on at, the file's size then, and who it was; carried:
    what a wire whose records span lines carries there; read, tail_bytes, tail: the digest of the last bytes in front of
    what was read last (of a file that is not compressed); written, born: when it was written last and made (ns); still:
    when it was written last as it had just that size (0 where it grew while it was read); recorded: whether records
    were read of it; ends: of a file that was written lately, where the last lines end that were read, each with the
    digest of those last bytes up to there."""

    name: str
    device: int
    inode: int
    size: int
    head_bytes: int
    head: str
    offset: int
    line: int
    carried: list[int] | None = None
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


def identity(file: Any) -> Identity | None:
    """Who an open file is; None where it is not a regular file."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        return None
    at = file.tell()
    file.seek(0)
    head = file.read(HEAD)
    file.seek(at)
    return Identity(
        found.st_dev, found.st_ino, found.st_size, head, found.st_mtime_ns, creation_time(file.fileno(), found)
    )


def holds(file: Any, stop: int, tail: bytes) -> bool:
    """True if these bytes still are in front of that offset of an open file."""
    return _before(file, stop, len(tail)) == tail


def unwritten(file: Any) -> bool:
    """True if nobody has written to an open file, or cut it, for longer than the clock of files is coarse."""
    return time.time_ns() - os.fstat(file.fileno()).st_mtime_ns > TICK


def _before(file: Any, stop: int, count: int) -> bytes:
    if not count:
        return b""
    at = file.tell()
    file.seek(stop - count)
    found: bytes = file.read(count)
    file.seek(at)
    return found


def bookmark(
    name: str,
    who: Identity,
    place: tuple[int, int],
    size: int,
    carried: list[int] | None,
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
    return [(start + count, _short(tail[:count])) for count in counts[-_ENDS:]]


def _short(data: bytes) -> str:
    return digest(data)[:32]


def whole(file: Any, name: str) -> Bookmark:
    """The bookmark of a regular file, compressed or not, all of which is known."""
    who = identity(file)
    assert who is not None
    file.seek(0)
    _, source = opened(file, Stop(), LIMITS)
    size, line = 0, 1
    while data := take(source, _SKIP):
        size, line = size + len(data), line + data.count(b"\n")
    file.seek(0)
    return bookmark(name, who, (size, line), 0, None)


def all_of(file: Any, name: str) -> Bookmark:
    """The bookmark of all that is in an open file, by which a copy of it is known; none that this copy would go on
    from, as nobody counts the lines. Of a compressed one no copy is known by that."""
    who = identity(file)
    assert who is not None
    behind = who.size, _before(file, who.size, min(who.size, TAIL))
    return bookmark(name, who, (who.size, 1), who.size, None, behind)


def whole_copy(file: Any, name: str) -> Bookmark:
    """The same of a copy, so that what is compressed of it later is known, too."""
    mark = whole(file, name)
    if format_of(file.read(LONGEST_MAGIC)) is not None:
        return mark
    tail = _before(file, mark.offset, min(mark.offset, TAIL))
    return mark._replace(read=mark.offset, tail_bytes=len(tail), tail=digest(tail) if tail else "")


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
    if not isinstance(mark.carried, list | None) or any(not 0 <= index(one) < MOST for one in mark.carried or ()):
        raise ValueError(f"{mark.carried!r} is nothing that a wire carries")
    for end, text in mark.ends or ():
        if not isinstance(text, str) or not mark.read - mark.tail_bytes < index(end) < mark.read:
            raise ValueError(f"no line ends at byte {end}, with {text!r} before it")
    return mark


class StartPosition(NamedTuple):
    """The place where reading of a file begins: offset and line, what is carried there, an offset with the bytes in
    front of it, by which a file that is written anew is told, and whether records were read before it."""

    offset: int = 0
    line: int = 1
    carried: list[int] | None = None
    behind: tuple[int, bytes] = (0, b"")
    recorded: bool = False


class FileComparison(NamedTuple):
    """A comparison of a file with what was read before. before: the bookmark of what had its name, where this is not
    the file that was read, or no longer holds what was read; why: what became of that; own: the bookmark of the file,
    where it still holds what was read: it may have been cut since then, and begin with the same bytes again; over:
    whether that is so, by its size and times."""

    place: StartPosition = StartPosition()
    before: Bookmark | None = None
    why: Reason | None = None
    own: Bookmark | None = None
    over: bool = False


def changed(mark: Bookmark, who: Identity, file: Any) -> Reason | None:
    """The change of a file that has the inode of a bookmark: None where it holds all that was read of it. One that was
    made at another time is another file."""
    if mark.born and who.born and mark.born != who.born:
        return Reason.FILE_GONE
    if who.size < mark.size:
        return Reason.FILE_SHRUNK
    if digest(who.head[: mark.head_bytes]) != mark.head:
        return Reason.FILE_REPLACED
    tail = _before(file, mark.read, mark.tail_bytes)
    return Reason.FILE_REPLACED if mark.tail and digest(tail) != mark.tail else None


def place_of(mark: Bookmark, file: Any = None) -> StartPosition:
    """The place where a file goes on that was read up to a bookmark; ``file``: it, open, where it is not compressed."""
    tail = b"" if file is None else _before(file, mark.read, mark.tail_bytes)
    return StartPosition(mark.offset, mark.line, mark.carried, (mark.read if tail else 0, tail), mark.recorded)


def is_copy(file: Any, mark: Bookmark, exact: bool = False) -> bool:
    """True if an open file, compressed or not, holds what was read of another one that was not compressed, as far as
    the digests of the first and of the last bytes say; ``exact``: and nothing behind it. Of an empty file that is just
    what is empty, too."""
    return bool(copied_in(file, lambda _head: [mark], exact))


def copied_in(file: Any, among: Callable[[bytes], Iterable[Bookmark]], exact: bool = False) -> list[Bookmark]:
    """The same for several bookmarks, in one reading: those that hold. ``among``: gives them for the first bytes."""
    file.seek(0)
    try:
        _, source = opened(file, Stop(), LIMITS)
        window = take(source, HEAD)
        at = len(window)
        heads: dict[int, str] = {}
        ends: dict[int, list[Bookmark]] = {}
        for mark in among(window):
            if mark.head_bytes not in heads:
                heads[mark.head_bytes] = digest(window[: mark.head_bytes])
            fits = heads[mark.head_bytes] == mark.head and mark.head_bytes <= at and mark.read >= mark.tail_bytes
            if fits and (mark.tail or (exact and not mark.size)):  # else nothing was read of it, or it was compressed
                ends.setdefault(mark.read, []).append(mark)
        found: list[Bookmark] = []
        for end in sorted(ends):
            while at < end and (more := take(source, min(end - at, _SKIP))):
                window, at = (window + more)[-TAIL:], at + len(more)
            if at < end:
                break
            place = len(window) - (at - end)
            tails = {count: window[place - count : place] for count in {mark.tail_bytes for mark in ends[end]}}
            digests = {count: digest(tail) if tail else "" for count, tail in tails.items()}
            if exact and at == end and (more := take(source, 1)):
                window, at = window + more, at + 1
            if not exact or at == end:
                found += [mark for mark in ends[end] if digests[mark.tail_bytes] == mark.tail]
        return found
    finally:
        file.seek(0)


def _last(source: Any, head: bytes, mark: Bookmark) -> bytes:
    """The bytes of an input where the last bytes were read of another one; ``head``: what was taken of it already."""
    start = mark.read - mark.tail_bytes
    if start < len(head):
        return head[start : mark.read] + take(source, max(mark.read - len(head), 0))
    left = start - len(head)
    while left and (over := len(take(source, min(left, _SKIP)))):
        left -= over
    return take(source, mark.tail_bytes) if not left else b""


def is_read_copy(file: Any, mark: Bookmark) -> bool:
    """True if an open file, compressed or not, holds what another one held a while before all was read of it that a
    bookmark says: it ends behind one of the last lines, by the digests there, or in the line after that."""
    if not mark.ends:
        return False
    start = mark.read - mark.tail_bytes
    file.seek(0)
    try:
        _, source = opened(file, Stop(), LIMITS)
        head = take(source, mark.head_bytes)
        if start and (len(head) < mark.head_bytes or digest(head) != mark.head):
            return False
        tail = _last(source, head, mark)
    finally:
        file.seek(0)
    if len(tail) == mark.tail_bytes:
        return False  # as long: its last bytes differ
    for end, short in reversed(mark.ends):
        if (count := end - start) <= len(tail):
            return _short(tail[:count]) == short and b"\n" not in tail[count:]
    return False


def is_earlier(file: Any, head: bytes, stop: int, tail: bytes) -> bool:
    """True if an open file, compressed or not, holds what another one held a while before: its first bytes are
    ``head``, and it ends within ``tail``, the bytes in front of ``stop``, in so many of them that this is no chance."""
    start = stop - len(tail)
    file.seek(0)
    try:
        _, source = opened(file, Stop(), LIMITS)
        first = take(source, len(head))
        if not 0 < len(first) <= stop or not head.startswith(first):
            return False
        at, found = len(first), first[start:]
        while at < start and (data := take(source, min(start - at, _SKIP))):
            at += len(data)
        found += take(source, len(tail) + 1 - len(found)) if at >= start else b""
    finally:
        file.seek(0)
    return len(found) >= (_CHANCE if start else 1) and tail.startswith(found)


def take(source: Any, count: int) -> bytes:
    """So many bytes of an input, or all that are left."""
    view, size = memoryview(bytearray(count)), 0
    while size < count and (got := source.into(view[size:])):
        size += got
    return bytes(view[:size])
