"""Inputs: open files, pipes and bytes, and the blocks that are cut from them."""

from __future__ import annotations

import io
import os
import select
import stat
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.contract import Limits
from turnwire.log.input.archives import Member
from turnwire.log.input.compression import Decompressed, StreamDamage
from turnwire.log.input.signatures import FIRST_BYTES, HEAD, UNDECIDED, format_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BACK = 1 << 16
_NEWLINE = 10
_FIRST_READ = 1 << 16
IDLE = 0.2
"""Seconds without a byte after which a pipe's complete lines are handed on."""


class InputBlock(NamedTuple):
    """A piece of one input.

    data: the bytes (a uint8 array that owns its memory, or a view); size: how many of them are input; base: offset of
    the first one in the input; last: whether the input ends with it; taken: how many bytes of the input as it is
    stored (compressed, perhaps) are read by now; within: whether the block before ended within a line, so that what
    is found in this one by itself does not count.
    """

    data: Any
    size: int
    base: int
    last: bool
    taken: int = 0
    within: bool = False


class Stopped(Exception):
    """Reading was told to stop."""


class Stop:
    """Tells whoever reads to stop, also while it waits for bytes."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """From now on reading ends, in every thread."""
        self._event.set()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises Stopped once reading is to stop."""
        if self._event.is_set():
            raise Stopped

    def sleep(self, seconds: float) -> None:
        """Waits so long, or until reading is to stop: then raises Stopped."""
        if self._event.wait(seconds):
            raise Stopped


class Input:
    """An open binary file as an input: ``into`` fills a part of a view, as :class:`compression.Bytes` says.

    Pipes are waited for without losing the power to stop; other errors are the file's own. grows: it has no end yet,
    more may come behind it; gone: what was not read of it will never be.
    """

    def __init__(self, file: Any, stop: Stop) -> None:
        self._file = file
        self._stop = stop
        self._pushed = memoryview(b"")
        # poll() does not see what waits in a file's buffer: that is taken first, later reads go past the buffer.
        self._buffered: io.BufferedReader | None = None
        if isinstance(file, io.BufferedReader) and _pipe(file.raw) is not None:
            self._buffered, self._file = file, file.raw
        pipe = _pipe(self._file)
        self._poll = None
        if pipe is not None:
            self._poll = select.poll()
            self._poll.register(pipe, select.POLLIN)
        self.taken = 0
        self.grows = self.gone = False

    def into(self, view: memoryview, /) -> int | None:
        """The number of bytes read; 0 at the end, None where a pipe had nothing for ``IDLE`` seconds, or where a file
        that grows has no more."""
        self._stop.check()
        if self.gone:
            return 0
        if self._pushed:
            count = min(len(view), len(self._pushed))
            view[:count] = self._pushed[:count]
            self._pushed = self._pushed[count:]
            return count
        if self._buffered is not None:
            waiting, self._buffered = self._buffered.read1(), None
            self.taken += len(waiting)
            self._pushed = memoryview(waiting)
            return self.into(view) if waiting else 0
        if self._poll is not None and not self._poll.poll(IDLE * 1000):
            self._stop.check()
            return None
        count = self._read(view)
        self.taken += count
        return count or (None if self.grows else 0)

    @property
    def fault(self) -> StreamDamage | None:
        """The fault that ended a file in an archive early, or None."""
        return self._file.fault if isinstance(self._file, Member) else None

    @property
    def kind(self) -> str | None:
        """ "zip" for a file in an archive, or None."""
        return self._file.kind if isinstance(self._file, Member) else None

    def seek(self, offset: int) -> None:
        """Goes on at an offset of a file that can seek."""
        self._file.seek(offset)
        self._pushed = memoryview(b"")
        self.taken = offset

    def _read(self, view: memoryview) -> int:
        chunk: Any = None
        if hasattr(self._file, "readinto"):
            count = self._file.readinto(view)
        else:
            chunk = self._file.read(len(view))
            if isinstance(chunk, str):
                raise TypeError("scan reads bytes: open the file in binary mode")
            count = len(chunk) if isinstance(chunk, (bytes, bytearray, memoryview)) else None
            if count is None and chunk is not None:
                raise TypeError(f"scan reads bytes; the file gave {type(chunk).__name__}")
        if count is None:
            raise BlockingIOError("the input has no data yet; scan needs a blocking file")
        if not isinstance(count, int) or not 0 <= count <= len(view):  # a file of the caller's own making
            raise TypeError(f"the file gave {count!r} for a read of up to {len(view)} bytes")
        if chunk is not None:
            view[:count] = chunk
        return count

    def head(self) -> bytes:
        """The first ``HEAD`` bytes, or as many as come at once but enough to tell the formats; they are read again."""
        if bytes(self._pushed[:HEAD]) in UNDECIDED:
            scratch, size = memoryview(bytearray(_FIRST_READ)), 0
            while bytes(scratch[: min(size, HEAD)]) in UNDECIDED and (count := self.into(scratch[size:])) != 0:
                if count is None and self.grows:
                    break
                size += count or 0
            self._pushed = scratch[:size]
        return bytes(self._pushed[:HEAD])


def _pipe(file: Any) -> int | None:
    """The descriptor of a file that may keep its reader waiting (a pipe, a socket, a terminal); None for others."""
    if not hasattr(select, "poll") or not isinstance(file, io.FileIO):
        return None
    mode = os.fstat(file.fileno()).st_mode
    return file.fileno() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


def decompressed(raw: Input, limits: Limits) -> Any:
    """The decompressed bytes of an input: the same thing where it is not compressed."""
    head = raw.head()
    kind = format_of(head) if head[:1] in FIRST_BYTES else None
    return raw if kind is None else Decompressed(kind, raw, limits)


def blocks_of_memory(data: memoryview, batch_bytes: int, start: int = 0) -> Iterator[InputBlock]:
    """The blocks of bytes that are there at once; each is a view of them."""
    view = data
    size = len(view)
    stop, within = -1, False
    while stop < size:
        stop = min(size, start + batch_bytes)
        end = line_end(view, start, stop) if stop < size else -1
        stop = stop if end < 0 else end
        yield InputBlock(view[start:stop], stop - start, start, stop == size, stop, within)
        start, within = stop, start < stop and view[stop - 1] != _NEWLINE


def mapped(file: Any) -> NDArray[np.uint8] | None:
    """A map of a whole file, which lives as long as somebody looks into it; None where only reading helps: pipes,
    devices, and files that are empty or made as they are read."""
    import mmap

    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return None
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def line_end(view: memoryview, start: int, stop: int) -> int:
    """Behind the last newline of ``view[start:stop]``, or -1."""
    high = stop
    while high > start:
        low = max(start, high - _BACK)
        place = bytes(view[low:high]).rfind(b"\n")
        if place >= 0:
            return low + place + 1
        high = low
    return -1
