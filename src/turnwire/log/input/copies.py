"""Compares what files hold, compressed or not: copies, backups and what is made from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS
from turnwire.log.input.compression import Decompressed
from turnwire.log.input.signatures import LONGEST_MAGIC, format_of

if TYPE_CHECKING:
    from turnwire.log.input.bookmarks import Bookmark

HEAD = TAIL = 1024
"""Bytes at the beginning of a file, and in front of where it was read last, by which it is told."""
_PIECE = 1 << 20


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


def is_compressed(file: Any) -> bool:
    """True if an open file is compressed, by its first bytes."""
    return format_of(between(file, 0, LONGEST_MAGIC)) is not None


@contextmanager
def _text(file: Any) -> Iterator[Callable[[int], bytes]]:
    """The function that reads an open file from its start, as decompressed: so many bytes, or all that are left. Behind
    the block the file is where it was."""
    at = file.tell()
    kind = format_of(between(file, 0, LONGEST_MAGIC))
    file.seek(0)
    source: Any = SimpleNamespace(into=file.readinto)  # the bytes as they are stored
    source = source if kind is None else Decompressed(kind, source, LIMITS)

    def take(count: int) -> bytes:
        view, size = memoryview(bytearray(count)), 0
        while size < count and (got := source.into(view[size:])):
            size += got
        return bytes(view[:size])

    try:
        yield take
    finally:
        file.seek(at)


def continued(file: Any, marks: Sequence[Bookmark], may: Callable[[Bookmark], bool]) -> list[Bookmark]:
    """The bookmarks of files, not compressed themselves, of which an open one, compressed or not, holds what was read,
    by the digests of the first and of the last bytes: in one reading, those of which most was read first. Where nothing
    was read of a file there is nothing to tell that by. ``may``: asked of those that begin alike."""
    with _text(file) as take:
        window = take(HEAD)
        at, heads = len(window), {count: digest(window[:count]) for count in {mark.head_bytes for mark in marks}}
        found: list[Bookmark] = []
        begun = [mark for mark in marks if mark.tail and heads[mark.head_bytes] == mark.head and may(mark)]
        for mark in sorted(begun, key=lambda mark: mark.read):
            while at < mark.read and (more := take(min(mark.read - at, _PIECE))):
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
    with _text(file) as take:
        head = take(mark.head_bytes)
        if start and digest(head) != mark.head:
            return False
        left = start - len(head)
        while left > 0 and (skipped := len(take(min(left, _PIECE)))):
            left -= skipped
        tail = head[start:] + (take(mark.tail_bytes - len(head[start:])) if left <= 0 else b"")
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
            between(copy, place, min(place + TAIL, size)) == between(file, place, min(place + TAIL, size))
            for place in (0, max(size - TAIL, 0))  # it may grow meanwhile
        )
    with _text(copy) as first, _text(file) as second:
        while part := first(_PIECE):
            if second(len(part)) != part:
                return False
        return not more or bool(second(1))


def reaches(file: Any, count: int) -> bool:
    """True if an open file holds more than so many bytes, as decompressed."""
    with _text(file) as take:
        return len(take(count + 1)) > count
