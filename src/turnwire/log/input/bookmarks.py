"""A file of a log: what tells it from others, how far it was read, and what open files hold, compressed or not."""

from __future__ import annotations

import os
import re
import stat
import struct
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from operator import index
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.log.input.compression import LONGEST_MAGIC, Decompressed, format_of
from turnwire.log.input.rotated_names import TICK
from turnwire.log.search.texts import SearchState

HEAD = TAIL = 1024
"""Bytes at the beginning of a file, and in front of where it was read last, by which it is told."""
MOST = (1 << 63) - 1
_PIECE = 1 << 20
_CHANCE = 32
_ENDS = 16
_COPYING = 600 * 10**9  # ns that copying a log takes at most
_STATX_EMPTY_PATH, _STATX_BIRTH, _STATX_SIZE, _STATX_TIMES = 0x1000, 0x800, 256, "=I76xqI"
"""``AT_EMPTY_PATH``, ``STATX_BTIME``, the size of ``struct statx``, and ``stx_mask`` and ``stx_btime`` in it: the same
on every machine that Linux runs on."""


def digest(data: bytes) -> str:
    """The digest of some bytes in a bookmark."""
    from hashlib import sha256  # most scans ask for none

    return sha256(data).hexdigest()


def between(file: Any, start: int, stop: int) -> bytes:
    """Some bytes of an open file, which stays where it is."""
    at = file.tell()
    file.seek(start)
    found: bytes = file.read(stop - start) if stop > start else b""
    file.seek(at)
    return found


class Identity(NamedTuple):
    """The facts that tell a file from another of the same name: device and inode, size, first bytes (1024 at most),
    when it was written last and when it was made (ns; 0 if the system does not say)."""

    device: int
    inode: int
    size: int
    head: bytes
    written: int = 0
    born: int = 0

    @property
    def file(self) -> tuple[int, int]:
        """Device and inode."""
        return self.device, self.inode

    @property
    def packed(self) -> bool:
        """True if the file is compressed, by its first bytes."""
        return format_of(self.head) is not None


def identity(file: Any) -> Identity | None:
    """The identity of an open file; None if it is not a regular one."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        return None
    head, born = between(file, 0, HEAD), creation_time(file.fileno(), found)
    return Identity(found.st_dev, found.st_ino, found.st_size, head, found.st_mtime_ns, born)


def creation_time(descriptor: int, status: Any) -> int:
    """When an open file was made (ns), or 0 if the system or the file system does not say. ``status``: its own,
    which has the time on macOS, BSD and Windows."""
    exact = getattr(status, "st_birthtime_ns", 0) or getattr(status, "st_birthtime", 0) * 1_000_000_000
    if exact or sys.platform != "linux":
        return int(exact)
    statx, room = _statx()
    if statx is None:
        return 0  # the C library has none
    found = room()
    failed = statx(descriptor, b"", _STATX_EMPTY_PATH, _STATX_BIRTH, found)
    mask, seconds, nanoseconds = struct.unpack_from(_STATX_TIMES, found)
    # It fails on an older kernel, and in a sandbox.
    return 0 if failed or not mask & _STATX_BIRTH else seconds * 1_000_000_000 + nanoseconds


@cache
def _statx() -> tuple[Any, Any]:
    import ctypes

    return getattr(ctypes.pythonapi, "statx", None), ctypes.c_char * _STATX_SIZE


def is_touched(file: Any) -> bool:
    """True if somebody may have written to an open file, or cut it, within the time for which the clock of files is
    coarse."""
    return time.time_ns() - os.fstat(file.fileno()).st_mtime_ns <= TICK


# --- how far a file was read ----------------------------------------------------------------------------------------


class Bookmark(NamedTuple):
    """The identity of a file and how far it was read: the offset and line to go on at, and its size then; carried:
    the state of the search there (``SearchState.kept``); read, tail_bytes, tail: the digest of the last bytes
    before what was read last (of a file that is not compressed); written, born: when it was written last and made
    (ns); ends: of a file that was written lately, where the last lines end that were read, each with the digest of
    those last bytes up to there; given: the place of the last record after the offset that was given though more may
    come at the end: its offset, and where it begins in what the outermost string around it says."""

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
    ends: list[tuple[int, str]] | None = None
    given: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        who: Identity,
        place: tuple[int, int],
        size: int = 0,
        carried: dict[str, Any] | None = None,
        behind: tuple[int, bytes] = (0, b""),
        given: tuple[int, int] | None = None,
    ) -> Self:
        """The bookmark of a file of ``size`` bytes or more that was read up to (offset, line) as decompressed.
        ``behind``: an offset, and the bytes before it."""
        stop, tail = behind
        head = who.head[:stop] if tail else who.head  # a copy may lack what is half-written there
        ends = _line_ends(stop, tail) if tail and time.time_ns() - who.written < _COPYING else None
        read, last = (stop, digest(tail)) if tail else (0, "")
        facts = name, who.device, who.inode, max(size, who.size), len(head), digest(head)
        return cls(*facts, *place, carried, read, len(tail), last, who.written, who.born, ends, given)

    @property
    def file(self) -> tuple[int, int]:
        """Device and inode."""
        return self.device, self.inode

    @property
    def reached(self) -> int:
        """The byte up to which it was read, also where what is half-written there is read again."""
        return max(self.read, self.offset)

    def of_copy(self, name: str, who: Identity) -> Bookmark:
        """The bookmark of a copy, compressed or not, of which no more is unread than of this file."""
        own: dict[str, Any] = {"device": who.device, "inode": who.inode, "size": who.size, "written": who.written}
        head = who.head[: self.head_bytes]
        if who.packed:
            head, own = who.head, {**own, "read": 0, "tail_bytes": 0, "tail": ""}
        own |= {"head_bytes": len(head), "head": digest(head), "born": who.born, "ends": None}
        return self._replace(name=name, **own)

    def behind(self, file: Any) -> tuple[int, bytes]:
        """The byte up to which an open file was read that is not compressed, and the bytes before it."""
        tail = between(file, self.read - self.tail_bytes, self.read)
        return self.read if tail else 0, tail

    def change(self, who: Identity, file: Any) -> Reason | None:
        """The change of an open file that has the inode of this one: None if it holds all that was read. One that
        was made at another time is another file."""
        if self.born and who.born and self.born != who.born:
            return Reason.FILE_GONE
        if who.size < self.size:
            return Reason.FILE_SHRUNK
        if digest(who.head[: self.head_bytes]) != self.head:
            return Reason.FILE_REPLACED
        return Reason.FILE_REPLACED if self.tail and digest(self.behind(file)[1]) != self.tail else None

    def is_same(self, other: Bookmark) -> bool:
        """True if two bookmarks of an inode are of one file, as far as is known."""
        return self.born == other.born or not (self.born and other.born)

    def checked(self) -> Bookmark:
        """The bookmark, once each of its parts is checked. Raises TypeError or ValueError."""
        texts: tuple[Any, ...] = (self.name, self.head, self.tail, *(text for _, text in self.ends or ()))
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"a name or a digest of {self.name!r} is not text")
        ranges: dict[str, tuple[float, float]] = dict.fromkeys(("size", "offset", "read"), (0, MOST))
        ranges |= {"line": (1, MOST), "head_bytes": (0, HEAD)} | dict.fromkeys(
            ("device", "inode", "written", "born"), (-inf, inf)
        )
        for name, (least, most) in {**ranges, "tail_bytes": (0, min(self.read, TAIL))}.items():
            if not least <= index(number := getattr(self, name)) <= most:
                raise ValueError(f"{name} must be from {least} to {most}, not {number}")
        if self.tail and self.offset > max(self.size, self.read):
            raise ValueError(f"byte {self.offset} is beyond the end of the file")
        if self.carried is not None:
            SearchState.restored(self.carried)
        if self.given is not None and (len(self.given) != 2 or not all(0 <= index(one) <= MOST for one in self.given)):
            raise ValueError(f"{self.given} is not the place of a record")
        for end, _ in self.ends or ():
            if not self.read - self.tail_bytes < index(end) < self.read:
                raise ValueError(f"no line ends at byte {end}")
        return self


def _line_ends(stop: int, tail: bytes) -> list[tuple[int, str]]:
    """The place where lines end in the bytes before an offset, and what is before each: by that a copy is known that
    somebody made while the file was read."""
    start = stop - len(tail)
    counts = [newline.end() for newline in re.finditer(b"\n", tail[:-1]) if not start or newline.end() >= _CHANCE]
    return [(start + count, digest(tail[:count])[:32]) for count in counts[-_ENDS:]]


class Gap(NamedTuple):
    """A range of a log that is, or may be, lost.

    file: the name of the log; start: its first byte (as decompressed); stop: the byte after its end, None if unknown;
    why: ``file_shrunk`` (it was truncated: data written after the copy, or after the last poll if there is no copy, is
    lost), ``file_replaced`` (it was truncated and has grown again, or was rewritten) or ``file_gone`` (the previous
    file of that name no longer exists, and later data may also be lost).
    """

    file: str
    start: int
    stop: int | None
    why: Reason

    def to_dict(self) -> dict[str, Any]:
        """Returns the gap as a dict for JSON; ``to`` is None if unknown."""
        return {"gap": True, "file": self.file, "from": self.start, "to": self.stop, "why": str(self.why)}

    @property
    def text(self) -> str:
        """A description of the gap, without the file name."""
        end = "an unknown end" if self.stop is None else f"byte {self.stop}"
        return f"gap from byte {self.start} to {end}: {_WORDS[self.why]}"


_WORDS = {
    Reason.FILE_SHRUNK: "the file was truncated; data written just before may be lost",
    Reason.FILE_REPLACED: "the file was rewritten; data written just before may be lost",
    Reason.FILE_GONE: "the file of this name is gone; data written to it or after it may be lost",
}


# --- what open files hold -------------------------------------------------------------------------------------------


class Contents:
    """The contents of a file, decompressed, from its start in a ``with`` block; then the file is where it was."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> Self:
        self._at, kind = self._file.tell(), format_of(between(self._file, 0, LONGEST_MAGIC))
        self._file.seek(0)
        source: Any = SimpleNamespace(into=self._file.readinto)  # the bytes as they are stored
        self._source = source if kind is None else Decompressed(kind, source, LIMITS)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.seek(self._at)

    def take(self, count: int) -> bytes:
        """So many bytes, or all that are left."""
        view, size = memoryview(bytearray(count)), 0
        while size < count and (got := self._source.into(view[size:])):
            size += got
        return bytes(view[:size])

    def last(self, count: int, before: bytes = b"") -> tuple[int, bytes]:
        """Reads so many bytes on: how many there were, and the last of them, after those ``before``."""
        left = count
        while left > 0 and (more := self.take(min(left, _PIECE))):
            before, left = (before + more)[-TAIL:], left - len(more)
        return count - left, before


def continued(file: Any, marks: Sequence[Bookmark], may: Callable[[Bookmark], bool]) -> list[Bookmark]:
    """The bookmarks of files, not compressed themselves, of which an open one, compressed or not, holds what was read,
    by the digests of the first and of the last bytes: in one reading, those of which most was read first. Where nothing
    was read of a file there is nothing to tell that by. ``may``: asked of those that begin alike."""
    with Contents(file) as contents:
        window = contents.take(HEAD)
        at, heads = len(window), {count: digest(window[:count]) for count in {mark.head_bytes for mark in marks}}
        found: list[Bookmark] = []
        begun = [mark for mark in marks if mark.tail and heads[mark.head_bytes] == mark.head and may(mark)]
        for mark in sorted(begun, key=lambda mark: mark.read):
            count, window = contents.last(mark.read - at, window)
            at += count
            if at < mark.read:
                break
            place = len(window) - (at - mark.read)
            if digest(window[place - mark.tail_bytes : place]).startswith(mark.tail):
                found.append(mark)
        return found[::-1]


def is_earlier(file: Any, mark: Bookmark) -> bool:
    """True if an open file, compressed or not, holds what another one held a while before all was read of it that a
    bookmark says: it ends after one of the last lines, by the digests there, or in the line after that."""
    start = mark.read - mark.tail_bytes
    whole = mark if start else mark._replace(head_bytes=0, head=digest(b""))
    ends = [whole._replace(read=end, tail_bytes=end - start, tail=short) for end, short in mark.ends or ()]
    if not (ends and (found := continued(file, ends, lambda end: True))):
        return False
    last = found[0].read
    room = min((one.read for one in ends if one.read > last), default=mark.read) - last
    with Contents(file) as contents:
        contents.last(last)
        rest = contents.take(room)
        return len(rest) < room and b"\n" not in rest


def is_prefix(copy: Any, file: Any, more: bool = False) -> bool:
    """True if one open file, compressed or not, begins with all that another one holds (``copy``); ``more``: and goes
    on. Of files that are not compressed the ends are compared."""
    if not any(format_of(between(one, 0, LONGEST_MAGIC)) for one in (copy, file)):
        size, whole = (os.fstat(one.fileno()).st_size for one in (copy, file))
        return size + more <= whole and all(
            between(copy, place, min(place + TAIL, size)) == between(file, place, min(place + TAIL, size))
            for place in (0, max(size - TAIL, 0))  # it may grow meanwhile
        )
    with Contents(copy) as first, Contents(file) as second:
        while part := first.take(_PIECE):
            if second.take(len(part)) != part:
                return False
        return not more or bool(second.take(1))
