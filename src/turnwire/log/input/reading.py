"""Reads one input and cuts it into blocks that end with a line if there is a line end."""

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
from turnwire.log.input.archives import Member, is_undecided
from turnwire.log.input.compression import Decompressed, StreamDamage, format_of, undecided
from turnwire.log.input.memory import Pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BACK = 1 << 16
_NEWLINE = 10
_NEAR = 1 << 14
"""Bytes in front of a cut in which a line that opens a message is looked for, in every block of every wire."""
_HEAD = 1 << 16
IDLE = 0.2
"""Seconds without a byte after which a pipe's complete lines are handed on."""


class InputBlock(NamedTuple):
    """A piece of one input.

    data: the bytes (a uint8 array that owns its memory, or a view); size: how many of them are input; base: offset of
    the first one in the input; line_end: whether it ends where a line does; last: whether the input ends with it;
    taken: how many bytes of the input as it is stored (compressed, perhaps) are read by now; ahead: how many bytes of
    the next block are after these in ``data``: a line that ends what this block holds, where it was cut there; within:
    whether the block before ended within a line, so that what is found in this one by itself does not count.
    """

    data: Any
    size: int
    base: int
    line_end: bool
    last: bool
    taken: int = 0
    ahead: int = 0
    within: bool = False

    @property
    def final(self) -> bool:
        """True if nothing follows that could change how the last line is read."""
        return self.line_end or self.last


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

    Pipes are waited for without losing the power to stop; other errors are the file's own.
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

    def into(self, view: memoryview, /) -> int | None:
        """The number of bytes read; 0 at the end, None where a pipe had nothing for ``IDLE`` seconds."""
        self._stop.check()
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
        return count

    @property
    def fault(self) -> StreamDamage | None:
        """Why a file in an archive ended before its time."""
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
        """The first bytes, as many as come at once but enough to tell compressed streams; they are read again."""
        head = b""
        scratch = memoryview(bytearray(_HEAD))
        while undecided(head) or is_undecided(head):
            count = self.into(scratch[len(head) :])
            if count == 0:
                break
            scratch_size = len(head) + (count or 0)
            head = bytes(scratch[:scratch_size])
        self._pushed = memoryview(head)
        return head


def _pipe(file: Any) -> int | None:
    """The descriptor of a file that may keep its reader waiting (a pipe, a socket, a terminal); None for others."""
    if not hasattr(select, "poll") or not isinstance(file, io.FileIO):
        return None
    mode = os.fstat(file.fileno()).st_mode
    return file.fileno() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


class Growing:
    """An input that grows, as :class:`compression.Bytes`: it has no end as long as it is ``open``; what was not read
    of it when it is ``gone`` will never be."""

    def __init__(self, raw: Input) -> None:
        self._raw = raw
        self.open = True
        self.gone = False

    def into(self, view: memoryview, /) -> int | None:
        """The number of bytes read; None where there is nothing more for the moment, 0 at the end."""
        return (0 if self.gone else self._raw.into(view)) or (None if self.open else 0)


def opened(file: Any, stop: Stop, limits: Limits, raw: Input | None = None) -> tuple[Input, Any]:
    """The input of an open file (``raw`` if it was made already), and what gives its decompressed bytes: the same thing
    where it is not compressed."""
    raw = raw or Input(file, stop)
    kind = format_of(raw.head())
    return raw, raw if kind is None else Decompressed(kind, raw, limits)


class Cutter:
    """Cuts what an input gives into blocks: iterate it for all of them.

    Of an input that grows, ``read`` gives the next block, or None where there is no complete line for the moment;
    ``ended`` says that it has nothing more now, ``finish`` gives what is left as the last block. opens: a line in front
    of which a full block ends rather than anywhere else.
    """

    def __init__(
        self, raw: Input, source: Any, pool: Pool, batch_bytes: int, grows: bool = False, opens: bytes = b""
    ) -> None:
        self._raw = raw
        self._grows = grows
        self._source = source
        self._pool = pool
        self._batch_bytes = batch_bytes
        self._opens = opens
        self._carried = b""
        self._within = False
        self.base = 0
        self.ended = False

    @property
    def fault(self) -> StreamDamage | None:
        """Why decompressing ended before its time."""
        fault: StreamDamage | None = getattr(self._source, "fault", None)
        return fault

    @property
    def kind(self) -> str | None:
        """ "gzip", "bzip2", "xz", "zstd", "zip" or None."""
        kind: str | None = getattr(self._source, "kind", None)
        return kind

    @property
    def end(self) -> int:
        """The offset up to which the input was read."""
        return self.base + len(self._carried)

    def skip(self, count: int) -> int:
        """Reads over so many bytes; how many there were."""
        scratch = memoryview(bytearray(1 << 20))
        left = count
        while left:
            done = self._source.into(scratch[: min(left, len(scratch))])
            if done == 0 or (done is None and self._grows):
                break
            left -= done or 0
        self.base += count - left
        return count - left

    def read(self) -> InputBlock | None:
        """The next block that ends with a line, or is full; None where there is none yet."""
        # A line is carried over from nearly every block: with room for one, all of them are of one size.
        data = self._pool.take(self._batch_bytes + max(len(self._carried), 1))
        view = memoryview(data.data)[: self._batch_bytes + len(self._carried)]
        size = len(self._carried)
        view[:size] = self._carried
        self.ended = False
        full = True
        while size < len(view):
            count = self._source.into(view[size:])
            if not count:
                full, self.ended = False, count == 0
                break
            size += count
        stop = line_end(view, 0, size)
        last = self.ended and not self._grows
        if stop < 0 or last:
            stop = size if full or last else 0
        stop, ahead = _opening(view, 0, stop, self._opens) if full and not last else (stop, 0)
        self._carried = bytes(view[stop:size])
        if not stop and not last:
            return None
        self.base += stop
        ends = not stop or view[stop - 1] == _NEWLINE
        within, self._within = self._within, not ends
        if not full and 2 * size < len(view):
            data = data[:size].copy()  # whoever keeps it keeps no more than what was read
        return InputBlock(data, stop, self.base - stop, ends, last, self._raw.taken, ahead, within)

    @property
    def kept(self) -> bytes:
        """The bytes read after the last block."""
        return self._carried

    def go_on_in(self, raw: Input, source: Any) -> None:
        """Reads on in another input, which begins where the old one was read up to."""
        self._raw, self._source = raw, source
        self.ended = False

    def take_back(self, block: InputBlock | None, kept: bytes) -> None:
        """Forgets what ``read`` gave last, and what it read; ``kept``: what was kept before."""
        self.base -= 0 if block is None else block.size
        self._carried, self._within = kept, False

    def finish(self) -> InputBlock:
        """The bytes after the last line end, as the last block; it may be empty."""
        data, self._carried = self._carried, b""
        self.base += len(data)
        return InputBlock(data, len(data), self.base - len(data), not len(data), True, self._raw.taken)

    def __iter__(self) -> Iterator[InputBlock]:
        while True:
            block = self.read()
            if block is not None:
                yield block
                if block.last:
                    return


def blocks_of_memory(data: memoryview, batch_bytes: int, start: int = 0, opens: bytes = b"") -> Iterator[InputBlock]:
    """The blocks of bytes that are there at once; each is a view of them. opens: as for :class:`Cutter`."""
    view = data
    size = len(view)
    stop, within = -1, False
    while stop < size:
        stop, ahead = min(size, start + batch_bytes), 0
        if stop < size:
            end = line_end(view, start, stop)
            stop, ahead = _opening(view, start, stop if end < 0 else end, opens)
        ends = stop == start or view[stop - 1] == _NEWLINE
        yield InputBlock(view[start : stop + ahead], stop - start, start, ends, stop == size, stop, ahead, within)
        start, within = stop, not ends


def mapped(file: Any) -> NDArray[np.uint8] | None:
    """A map of a whole file, which lives as long as somebody looks into it; None where only reading helps: pipes,
    devices, and files that are empty or made as they are read."""
    import mmap

    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return None
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _opening(view: memoryview, start: int, stop: int, opens: bytes) -> tuple[int, int]:
    """The place where the last line begins that is ``opens``, and how long it is; ``(stop, 0)`` where there is none
    near the end of ``view[start:stop]``."""
    low = max(start, stop - _NEAR)
    part = bytes(view[low:stop]) if opens else b""
    place = len(part)
    while (place := part.rfind(b"\n" + opens, 0, place)) >= 0:
        behind = place + 1 + len(opens)
        for end in (b"\n", b"\r\n"):
            if part.startswith(end, behind):
                return low + place + 1, len(opens) + len(end)
    return stop, 0


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
