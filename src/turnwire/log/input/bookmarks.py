"""The progress of reading: the identity of a file, its bookmark, the history of bookmarks in a scan's position; and
gaps, bytes that can no longer be read."""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
import time
from collections.abc import Iterable, Mapping
from math import inf
from operator import index
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.log.input.copies import HEAD, TAIL, between, continued, digest
from turnwire.log.input.rotated_names import TICK, is_rotated
from turnwire.log.input.signatures import format_of
from turnwire.log.search.state import SearchState

BANNER = 1 << 12
"""Bytes with which every file of a name may begin."""
MOST = (1 << 63) - 1
_NEWLINE = ord("\n")
_CHANCE = 32
_ENDS = 16
_COPYING = 600 * 10**9  # ns that copying a log takes at most
_STATX_EMPTY_PATH, _STATX_BIRTH, _STATX_SIZE, _STATX_TIMES = 0x1000, 0x800, 256, "=I76xqI"
"""``AT_EMPTY_PATH``, ``STATX_BTIME``, the size of ``struct statx``, and ``stx_mask`` and ``stx_btime`` in it: the same
on every machine that Linux runs on."""


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
    """The identity of a file and how far it was read: the offset and line to go on at, and its size then; carried:
    the state of the search there (``SearchState.kept``); read, tail_bytes, tail: the digest of the last bytes in
    front of what was read last (of a file that is not compressed); written, born: when it was written last and made
    (ns); ends: of a file that was written lately, where the last lines end that were read, each with the digest of
    those last bytes up to there."""

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
        if format_of(who.head) is not None:
            head, own = who.head, {**own, "read": 0, "tail_bytes": 0, "tail": ""}
        own |= {"head_bytes": len(head), "head": digest(head), "born": who.born, "ends": None}
        return self._replace(name=name, **own)

    def behind(self, file: Any) -> tuple[int, bytes]:
        """The byte up to which an open file was read that is not compressed, and the bytes in front of it."""
        tail = between(file, self.read - self.tail_bytes, self.read)
        return self.read if tail else 0, tail

    def change(self, who: Identity, file: Any) -> Reason | None:
        """The change of an open file that has the inode of this one: None where it holds all that was read. One that
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


# --- an open file ---------------------------------------------------------------------------------------------------


def identity(file: Any) -> Identity | None:
    """Who an open file is; None where it is not a regular file."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        return None
    at = file.tell()
    file.seek(0)
    head: bytes = file.read(HEAD)
    file.seek(at)
    born = creation_time(file.fileno(), found)
    return Identity(found.st_dev, found.st_ino, found.st_size, head, found.st_mtime_ns, born)


def creation_time(descriptor: int, status: Any) -> int:
    """When an open file was made (ns), or 0 where the system or the file system does not say. ``status``: its own,
    which has the time on macOS, BSD and Windows."""
    exact = getattr(status, "st_birthtime_ns", 0) or getattr(status, "st_birthtime", 0) * 1_000_000_000
    if exact or sys.platform != "linux":
        return int(exact)
    import ctypes

    found = ctypes.create_string_buffer(_STATX_SIZE)
    try:
        failed = ctypes.pythonapi.statx(descriptor, b"", _STATX_EMPTY_PATH, _STATX_BIRTH, found)
    except AttributeError:
        return 0  # the C library has none
    mask, seconds, nanoseconds = struct.unpack_from(_STATX_TIMES, found)
    # It fails on an older kernel, and in a sandbox.
    return 0 if failed or not mask & _STATX_BIRTH else seconds * 1_000_000_000 + nanoseconds


def holds(file: Any, stop: int, tail: bytes) -> bool:
    """True if these bytes still are in front of that offset of an open file."""
    return between(file, stop - len(tail), stop) == tail


def is_still(who: Identity | None, file: Any) -> bool:
    """True if an open file was not cut since it was looked at."""
    now = identity(file)
    return who is None or (now is not None and now.size >= who.size and now.head.startswith(who.head))


def unwritten(file: Any) -> bool:
    """True if nobody has written to an open file, or cut it, for longer than the clock of files is coarse."""
    return time.time_ns() - os.fstat(file.fileno()).st_mtime_ns > TICK


# --- bookmarks ------------------------------------------------------------------------------------------------------


def bookmark(
    name: str,
    who: Identity,
    place: tuple[int, int],
    size: int,
    carried: dict[str, Any] | None,
    behind: tuple[int, bytes] = (0, b""),
) -> Bookmark:
    """The bookmark of a file of ``size`` bytes or more that was read up to (offset, line) as decompressed. ``behind``:
    an offset, and the bytes in front of it."""
    stop, tail = behind
    head = who.head[:stop] if tail else who.head  # a copy may lack what is half-written there
    mark = Bookmark(name, who.device, who.inode, max(size, who.size), len(head), digest(head), *place, carried)
    mark = mark._replace(written=who.written, born=who.born)
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


def checked(mark: Bookmark) -> Bookmark:
    """The bookmark, once each of its parts is checked. Raises TypeError or ValueError."""
    texts: tuple[Any, ...] = (mark.name, mark.head, mark.tail, *(text for _, text in mark.ends or ()))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"a name or a digest of {mark.name!r} is not text")
    ranges: dict[str, tuple[float, float]] = {
        "size": (0, MOST),
        "offset": (0, MOST),
        "line": (1, MOST),
        "read": (0, MOST),
        "head_bytes": (0, HEAD),
    }
    ranges |= dict.fromkeys(("device", "inode", "written", "born"), (-inf, inf))
    for name, (least, most) in {**ranges, "tail_bytes": (0, min(mark.read, TAIL))}.items():
        if not least <= index(number := getattr(mark, name)) <= most:
            raise ValueError(f"{name} is {number}, which is not from {least} to {most}")
    if mark.tail and mark.offset > max(mark.size, mark.read):
        raise ValueError(f"byte {mark.offset} is behind the end of the file")
    if mark.carried is not None:
        SearchState.restored(mark.carried)
    for end, _ in mark.ends or ():
        if not mark.read - mark.tail_bytes < index(end) < mark.read:
            raise ValueError(f"no line ends at byte {end}")
    return mark


# --- the history of files --------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """A range of a log that is lost, or may be.

    file: the name of the log; start: its first byte (as decompressed); stop: the byte after its end, None if unknown;
    why: ``file_shrunk`` (it was truncated: data written after the copy, or after the last look if there is no copy, is
    lost), ``file_replaced`` (it was truncated and has grown again, or was rewritten) or ``file_gone`` (the file of that
    name no longer exists, and data between may be lost with it).
    """

    file: str
    start: int
    stop: int | None
    why: Reason

    def to_dict(self) -> dict[str, Any]:
        """The gap as a dict for JSON; ``to`` is None if unknown."""
        return {"gap": True, "file": self.file, "from": self.start, "to": self.stop, "why": str(self.why)}

    @property
    def text(self) -> str:
        """The gap in words, without the name of the file."""
        end = "an unknown end" if self.stop is None else f"byte {self.stop}"
        return f"gap from byte {self.start} to {end}: {_WORDS[self.why]}"


_WORDS = {
    Reason.FILE_SHRUNK: "the file was truncated; data written just before may be lost",
    Reason.FILE_REPLACED: "the file was rewritten; data written just before may be lost",
    Reason.FILE_GONE: "the file of this name is gone; data written to it or after it may be lost",
}


GONE = 16
"""Bookmarks of files whose inodes others have, at most."""
_VERSION = 1


class FileComparison(NamedTuple):
    """A comparison of a file with what was read before. mark: the bookmark from which it goes on; latest: the bookmark
    of what was read last under its name, or of itself; why: what became of that, None where the file holds it: it may
    have been cut since then, and begin with the same bytes again; since: what was written before that time (ns) and is
    not known was read."""

    mark: Bookmark | None = None
    latest: Bookmark | None = None
    why: Reason | None = None
    since: int = 0


class Bookmarks:
    """The files that are known, in the order in which they were read: those of a token, and those of which this run has
    come to the end.

    waits: whether a last record without its end is left for the next time; files: the bookmarks of each device and
    inode, the newest last (one that is used again has several); done: files that this run has read to their ends;
    dismissed: when files were written, and their sizes, of which there is nothing to be read.
    """

    def __init__(self, token: Any = None) -> None:
        self.waits = token is not None
        self.record = 0
        self.files: dict[tuple[int, int], list[Bookmark]] = {}
        self.done: set[tuple[int, int]] = set()
        self.dismissed: dict[tuple[int, int], tuple[int, int]] = {}
        self._paths: dict[tuple[int, int], str] = {}
        self._named: dict[tuple[int, int], str] = {}  # those that the sources name
        self._listed: dict[str, tuple[int, int, int]] = {}  # device, inode and time of writing, as they were listed
        self._listed_at = 0
        if token is not None:
            self._read(token)
        self._names = {mark.name: mark for mark in self._all()}

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
            marks = [checked(Bookmark(**entry)) for entry in token["files"]]
        except KeyError as missing:
            raise DecodeError(Reason.BAD_POSITION, f"this is not a position of a scan: it has no {missing}") from None
        except (TypeError, ValueError, OverflowError, RecursionError) as problem:
            raise DecodeError(Reason.BAD_POSITION, f"this is not a position of a scan: {problem}") from None
        for mark in marks:
            self.add(mark)

    def token(self, record: int, marks: Mapping[tuple[int, int], Bookmark]) -> dict[str, Any]:
        """The token with these bookmarks in place of the old ones; files that were not looked at keep theirs, and so do
        some that are gone and whose inodes others have. Of several with a name or an inode, the last one has it."""
        old = self._all()
        gone = [mark for mark in old if mark.file in marks and not mark.is_same(marks[mark.file])]
        kept = [mark for mark in old if mark.file not in marks]
        files = [mark._asdict() for mark in [*gone[-GONE:], *kept, *marks.values()]]
        return {"turnwire": _VERSION, "record": record, "files": files}

    def _all(self) -> list[Bookmark]:
        return [mark for marks in self.files.values() for mark in marks]

    def add(self, mark: Bookmark) -> None:
        """Takes the bookmark of a file, in place of an older one of it."""
        others = [other for other in self.files.pop(mark.file, ()) if not other.is_same(mark)]
        self.files[mark.file] = [*others, mark]

    def forget(self, file: tuple[int, int]) -> None:
        """Forgets what was read of a file, by device and inode."""
        self.files.pop(file, None)
        self.dismissed.pop(file, None)

    def expect(self, names: Iterable[str]) -> None:
        """Remembers which files there are, so that a renamed file is told from one that is gone, and one that takes a
        name before its turn comes from the one that was listed."""
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

    def end(self, name: str, file: tuple[int, int]) -> None:
        """Remembers that a file was read to its end under a name: it may have another one by now that is read later."""
        self.done.add(file)
        self._listed.pop(name, None)

    def _is_there(self, mark: Bookmark, paths: Mapping[tuple[int, int], str]) -> bool:
        """True if the file of a bookmark is at its path, and not another one that has its name, or its inode."""
        if (path := paths.get(mark.file)) is None:
            return False
        try:
            with open(path, "rb", buffering=0) as file:
                who = identity(file)
                return who is not None and who[:2] == mark.file and mark.change(who, file) is None
        except FileNotFoundError:
            return False

    def of(self, who: Identity, file: Any) -> Bookmark | None:
        """The bookmark of an open file that still holds what was read of it."""
        marks = reversed(self.files.get(who[:2], ()))
        return next((mark for mark in marks if mark.change(who, file) is None), None)

    def copied_in(self, file: Any, *cut: Bookmark) -> list[Bookmark]:
        """The bookmarks of files that are gone, and those of such as were ``cut``, of which an open one, compressed or
        not, holds what was read, see :func:`copies.continued`."""
        marks = [*(mark for mark in self._all() if mark not in cut), *cut]
        return continued(file, marks, lambda mark: mark in cut or not self._is_there(mark, self._paths))

    def stands(self, name: str | None, who: Identity | None, file: Any) -> FileComparison:
        """Compares an open file with what was read. An unknown one that is compressed, or called as a rotated log, is
        compared with the files that are not there any more, or were cut: it may be made from one of them."""
        if who is None:
            return FileComparison()
        mark = self.of(who, file)
        if mark is not None:
            return FileComparison(mark, mark)
        latest = self._names.get(name or "")
        packed = format_of(who.head) is not None  # nobody writes into one anew: another file has its inode
        if self.files and (packed or (latest is None and is_rotated(name or ""))):
            for mark in self.copied_in(file):
                return FileComparison(mark)
        if latest is not None and latest.file == who[:2]:
            return FileComparison(latest=latest, why=latest.change(who, file))
        listed = self._listed.get(name or "")
        if latest is None and listed is not None and (listed[:2] != who[:2] or who.born > self._listed_at):
            unread = bookmark(name or "", Identity(*listed[:2], 0, b"", listed[2]), (0, 1), 0, None)
            return FileComparison(latest=unread, why=Reason.FILE_GONE)
        if latest is None or self._is_there(latest, self._named):
            return FileComparison()  # new; what had its name has another one, and is read under that
        return FileComparison(latest=latest, why=Reason.FILE_GONE)
