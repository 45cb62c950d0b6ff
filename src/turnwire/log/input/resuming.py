"""Where a scan stands, as a token that can be kept, and going on from there: never over a file that is another one."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from operator import index
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason

HEAD = 1024
TAIL = 1024
_VERSION = 1
_MOST = 1 << 63


class Identity(NamedTuple):
    """What tells a file from another of the same name: device and inode, size, and first bytes (1024 at most)."""

    device: int
    inode: int
    size: int
    head: bytes


class Bookmark(NamedTuple):
    """How far one file was read: the offset and line to go on at, the file's size then, and who it was; carried: what
    a wire whose records span lines carries there; read, tail_bytes, tail: the digest of the last bytes in front of what
    was read last (of a file that is not compressed)."""

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


def identity(file: Any) -> Identity | None:
    """Who an open file is; None where it is not a regular file."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        return None
    at = file.tell()
    file.seek(0)
    head = file.read(HEAD)
    file.seek(at)
    return Identity(found.st_dev, found.st_ino, found.st_size, head)


def holds(file: Any, stop: int, tail: bytes) -> bool:
    """Whether these bytes still stand in front of that offset of an open file."""
    return _before(file, stop, len(tail)) == tail


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
) -> Bookmark:
    """The bookmark of a file of ``size`` bytes or more that was read up to (offset, line) as decompressed. ``behind``:
    an offset, and the bytes in front of it."""
    digest = hashlib.sha256(who.head).hexdigest()
    stop, tail = behind
    mark = Bookmark(name, who.device, who.inode, max(size, who.size), len(who.head), digest, *place, carried)
    return mark._replace(read=stop, tail_bytes=len(tail), tail=hashlib.sha256(tail).hexdigest()) if tail else mark


def _checked(mark: Bookmark) -> Bookmark:
    """The bookmark, once each of its parts is checked. Raises TypeError or ValueError."""
    texts: tuple[Any, ...] = (mark.name, mark.head, mark.tail)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
    numbers = (mark.size, mark.head_bytes, mark.offset, mark.read, mark.tail_bytes)
    for number, least in (*((number, 0) for number in numbers), (mark.line, 1)):
        if not least <= index(number) < _MOST:
            raise ValueError(f"{number} is out of range")
    for number in (mark.device, mark.inode):
        index(number)
    if mark.tail_bytes > min(mark.read, TAIL):
        raise ValueError(f"{mark.tail_bytes} bytes do not stand in front of byte {mark.read}")
    return mark


_FRESH: tuple[int, int, None, tuple[int, bytes]] = (0, 1, None, (0, b""))


class Bookmarks:
    """The bookmarks of a token. ``waits``: whether a last record without its end is left for the next time."""

    def __init__(self, token: Any = None) -> None:
        self.waits = token is not None
        self.record = 0
        self.files: dict[tuple[int, int], Bookmark] = {}
        self._names: dict[str, Bookmark] = {}
        self._here: set[tuple[int, int]] = set()
        if token is not None:
            self._read(token)

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
            if not 0 <= self.record < _MOST:
                raise ValueError(f"record {self.record}")
            marks = [_checked(Bookmark(**entry)) for entry in token["files"]]
        except KeyError as missing:
            raise DecodeError(Reason.BAD_POSITION, f"this is no position of a scan: it has no {missing}") from None
        except (TypeError, ValueError, OverflowError, RecursionError) as problem:
            raise DecodeError(Reason.BAD_POSITION, f"this is no position of a scan: {problem}") from None
        self.files = {(mark.device, mark.inode): mark for mark in marks}
        self._names = {mark.name: mark for mark in marks}

    def expect(self, names: list[str]) -> None:
        """Says which files there are, so that one that was renamed is told from one that is gone."""
        for name in names:
            try:
                found = os.stat(name)
            except OSError:
                continue  # opening it will say why
            self._here.add((found.st_dev, found.st_ino))

    def find(
        self, name: str | None, who: Identity | None, file: Any
    ) -> tuple[int, int, list[int] | None, tuple[int, bytes]]:
        """Offset, line, what is carried there, and the bytes in front of what was read (see :class:`Bookmark`), to go
        on with an open file: its start where it is new.

        Raises DecodeError(file_replaced) where another file has taken the name of one that is not there any more, or
        its first bytes or those in front of what was read are others, and DecodeError(file_shrunk) where it is shorter
        than what was read.
        """
        if who is None or not self.files:
            return _FRESH
        mark = self.files.get((who.device, who.inode))
        begins = mark is not None and hashlib.sha256(who.head[: mark.head_bytes]).hexdigest() == mark.head
        if mark is None or (mark.name != name and not begins):  # inodes of deleted files are used again
            mark = self._names.get(name or "")
            if mark is not None and (mark.device, mark.inode) not in self._here:
                raise DecodeError(Reason.FILE_REPLACED, f"{name} is another file than the one that was read", path=name)
            return _FRESH
        if who.size < mark.size:
            text = f"{name} has {who.size} bytes; it had {mark.size} when it was read"
            raise DecodeError(Reason.FILE_SHRUNK, text, path=name)
        if not begins:
            raise DecodeError(Reason.FILE_REPLACED, f"{name} begins with other bytes than when it was read", path=name)
        tail = _before(file, mark.read, mark.tail_bytes)
        if mark.tail and hashlib.sha256(tail).hexdigest() != mark.tail:
            text = f"{name} holds other bytes in front of byte {mark.read} than when it was read: it was written anew"
            raise DecodeError(Reason.FILE_REPLACED, text, path=name)
        return mark.offset, mark.line, mark.carried, (mark.read, tail)

    def reached(self, name: str | None, wanted: int, found: int) -> None:
        """Raises DecodeError(file_shrunk) where a compressed file has less in it than what was read of it."""
        if found < wanted:
            text = f"{name} holds {found} bytes; {wanted} of them were read before"
            raise DecodeError(Reason.FILE_SHRUNK, text, path=name)

    def token(self, record: int, marks: Mapping[tuple[int, int], Bookmark]) -> dict[str, Any]:
        """The token with these bookmarks in place of the old ones; files that were not looked at keep theirs."""
        files = [mark._asdict() for mark in {**self.files, **marks}.values()]
        return {"turnwire": _VERSION, "record": record, "files": files}
