"""Reads one source from its last position on and cuts it into blocks that end with a line if there is a line end; those
of rotated files that had its name come first."""

from __future__ import annotations

import io
import os
import select
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import is_zipfile

import numpy as np

from turnwire.contract import Limits
from turnwire.errors import Reason
from turnwire.log.input.archives import Member, can_seek, members
from turnwire.log.input.bookmarks import Gap, StartPosition, holds, identity, is_still, unwritten
from turnwire.log.input.compression import Decompressed, StreamDamage
from turnwire.log.input.copies import TAIL
from turnwire.log.input.memory import Pool
from turnwire.log.input.rotation import Begun, Missed, begin, is_being_made
from turnwire.log.input.signatures import (
    FIRST_BYTES,
    HEAD,
    LONGEST_MAGIC,
    UNDECIDED,
    NotALog,
    format_of,
    is_archive,
    refuse_binary,
)
from turnwire.log.input.sources import Reading, ReadOptions, Source

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
    the first one in the input; line_end: whether it ends where a line does; last: whether the input ends with it;
    taken: how many bytes of the input as it is stored (compressed, perhaps) are read by now; within: whether the
    block before ended within a line, so that what is found in this one by itself does not count.
    """

    data: Any
    size: int
    base: int
    line_end: bool
    last: bool
    taken: int = 0
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
        """The first ``HEAD`` bytes, or as many as come at once but enough to tell the formats; they are read again."""
        if bytes(self._pushed[:HEAD]) in UNDECIDED:
            scratch, size = memoryview(bytearray(_FIRST_READ)), 0
            while bytes(scratch[: min(size, HEAD)]) in UNDECIDED and (count := self.into(scratch[size:])) != 0:
                size += count or 0
            self._pushed = scratch[:size]
        return bytes(self._pushed[:HEAD])


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
    head = raw.head()
    kind = format_of(head) if head[:1] in FIRST_BYTES else None
    return raw, raw if kind is None else Decompressed(kind, raw, limits)


class Cutter:
    """Cuts what an input gives into blocks: iterate it for all of them.

    Of an input that grows, ``read`` gives the next block, or None where there is no complete line for the moment;
    ``ended`` says that it has nothing more now, ``finish`` gives what is left as the last block.
    """

    def __init__(self, raw: Input, source: Any, pool: Pool, batch_bytes: int, grows: bool = False) -> None:
        self._raw = raw
        self._grows = grows
        self._source = source
        self._pool = pool
        self._batch_bytes = batch_bytes
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
        self._carried = bytes(view[stop:size])
        if not stop and not last:
            return None
        self.base += stop
        ends = not stop or view[stop - 1] == _NEWLINE
        within, self._within = self._within, not ends
        if not full and 2 * size < len(view):
            data = data[:size].copy()  # whoever keeps it keeps no more than what was read
        return InputBlock(data, stop, self.base - stop, ends, last, self._raw.taken, within)

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


def blocks_of_memory(data: memoryview, batch_bytes: int, start: int = 0) -> Iterator[InputBlock]:
    """The blocks of bytes that are there at once; each is a view of them."""
    view = data
    size = len(view)
    stop, within = -1, False
    while stop < size:
        stop = min(size, start + batch_bytes)
        end = line_end(view, start, stop) if stop < size else -1
        stop = stop if end < 0 else end
        ends = stop == start or view[stop - 1] == _NEWLINE
        yield InputBlock(view[start:stop], stop - start, start, ends, stop == size, stop, within)
        start, within = stop, not ends


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


# --- the blocks of a source ----------------------------------------------------------------------------------------

SETTLED = 5.0
"""Seconds after which nobody goes on writing to a file that was renamed."""


def blocks(source: Source, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of one input, in order, from where its bookmark is; the last one is marked as such. Where another
    file has its name by now, or what was read of it is not in it any more, what is left of that comes first."""
    reading = Reading(source)
    try:
        if source.data is not None:
            yield from _of_data(reading, job)
        else:
            yield from _of_file(reading, job)
    except OSError as failure:
        if failure.filename is None and source.name is not None:  # None would be shown
            failure.filename = source.name
        if not (isinstance(failure, NotALog) and source.listed):
            raise
        job.refuse(failure)


def _of_data(reading: Reading, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    view = memoryview(reading.source.data)
    if not view.contiguous:
        raise TypeError("the bytes to scan must be contiguous")
    head = bytes(view.cast("B")[:LONGEST_MAGIC])
    if head[:1] in FIRST_BYTES and is_archive(head) and is_zipfile(packed := io.BytesIO(view.cast("B"))):
        yield from _of_archive(reading, packed, job)
        return
    if head[:1] in FIRST_BYTES and format_of(head):
        for block in of_open_file(reading, io.BytesIO(view.cast("B")), job):
            yield reading, block
        return
    data = reading.source.data if job.borrow or isinstance(reading.source.data, bytes) else bytes(view)
    reading.memory = memoryview(data).cast("B")
    for block in blocks_of_memory(reading.memory, job.batch_bytes):
        yield reading, block


def _of_archive(reading: Reading, file: Any, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of the files in an archive, each with a reading of its own, and the end of the archive, which a
    bookmark needs: one that was read is not read again until it has another size."""
    name = reading.name
    size = reading.source.bytes() or 0
    if not 0 < reading.offset == size:
        listed = reading.source.listed

        def refuse(error: NotALog) -> None:
            error.filename = error.filename or name
            if not listed:
                raise error
            job.refuse(error)

        with closing(members(file, job.limits, refuse)) as found:
            for inside, member in found:
                path = inside if name is None else f"{name}/{inside}"
                source = Source(path, open=lambda one=member: nullcontext(one), listed=listed)
                for part, block in blocks(source, job):
                    yield part, block._replace(taken=block.taken * member.stored // max(member.size, 1))
    if reading.identity is not None:
        reading.kind, reading.offset = "zip", size
        yield reading, InputBlock(b"", 0, size, True, True)


def _of_file(reading: Reading, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    source, done = reading.source, job.bookmarks.done
    if not source.mappable:
        with source.open() as file:
            if source.line is None:
                reading.line = file.line
            yield from _of_whole(reading, file, job)
        return
    if job.bookmarks.are_empty:
        file, who, comparison, before = Begun(source.open())
    else:
        file, who, comparison, before = begin(source, job)
    with file:
        reading.identity = who = who or identity(file)
        reading.begin_at(StartPosition() if before is not None and before.anew else comparison.place)
        if before is not None:
            yield from _before(before, job)
        if who is not None and who[:2] in done:
            return
        if (
            before is None
            and _is_new(reading, job)
            and is_being_made(file, reading.name or "", copied=bool(job.bookmarks.files))
        ):
            return  # what is in it is read where it is made from, and the next scan knows it by that
        yield from _of_whole(reading, file, job)
        if who is not None:
            job.bookmarks.end(source.name or "", who[:2])
        if who is not None and job.bookmarks.waits:
            done.add(who[:2])  # it may be renamed to the next name that is read


def _is_new(reading: Reading, job: ReadOptions) -> bool:
    """True if a file that a folder lists is not known, where files are."""
    who = reading.identity
    return job.bookmarks.waits and reading.source.listed and who is not None and who[:2] not in job.bookmarks.files


def _before(missed: Missed, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    """The blocks of files that had a name before; then the gap is told. From now on they are read."""
    gap = missed.gap
    try:
        for piece in missed.pieces:
            reading = Reading(Source(piece.path, mappable=True))
            reading.identity = who = identity(piece.file)
            assert who is not None
            job.bookmarks.done.add(who[:2])
            # A last line without its end waits where somebody may still write it.
            reading.closed = piece.packed or time.time_ns() - who.written > SETTLED * 1e9
            reading.begin_at(piece.place)
            for block in of_open_file(reading, piece.file, job):
                yield reading, block
                if piece is missed.kept and gap is not None:
                    gap = gap._replace(start=block.base + block.size)
    finally:
        missed.close()
    if gap is not None:
        job.tell(gap)


def of_open_file(reading: Reading, file: Any, job: ReadOptions, raw: Input | None = None) -> Iterator[InputBlock]:
    """The blocks of an open file from where its reading begins, compressed or not."""
    start = reading.offset
    raw, source = opened(file, job.stop, job.limits, raw)
    cutter = Cutter(raw, source, job.pool, job.batch_bytes)
    reading.kind = cutter.kind
    if start and cutter.kind is None:
        raw.seek(start)
        cutter.base = start
    elif start and (found := cutter.skip(start)) < start:
        job.tell(Gap(reading.name or "", found, None, Reason.FILE_REPLACED))
    told = reading.identity is not None and cutter.kind is None and job.bookmarks.waits
    behind = reading.behind
    if told and not (is_still(reading.identity, file) and holds(file, *behind)):
        yield _cut_just_now(reading, start, job)
        return
    for block in cutter:
        if block.last:
            reading.fault = cutter.fault
        data = _bytes_of(block) + cutter.kept if told and not unwritten(file) else None
        if data is not None and not (holds(file, *behind) and holds(file, cutter.end, data)):
            yield _cut_just_now(reading, block.base, job)
            return
        if told:
            behind = cutter.end, (_bytes_of(block, TAIL) + cutter.kept[-TAIL:])[-TAIL:]
        yield block


def _cut_just_now(reading: Reading, place: int, job: ReadOptions) -> InputBlock:
    """The end of what is read of a file: the next scan finds what it held. Where nothing was read of it, no more is
    known of it than before: a copy of it may be older than what was written to it last."""
    who = reading.identity
    before = [] if who is None else job.bookmarks.files.get(who[:2], [])
    if who is not None and before and place == before[-1].read:
        reading.identity = who._replace(written=before[-1].written)
    return InputBlock(b"", 0, place, True, True)


def _bytes_of(block: InputBlock, most: int | None = None) -> bytes:
    """The bytes of a block; ``most``: no more than so many, the last ones."""
    return bytes(memoryview(block.data)[0 if most is None else max(block.size - most, 0) : block.size])


def _of_whole(reading: Reading, file: Any, job: ReadOptions) -> Iterator[tuple[Reading, InputBlock]]:
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    raw = Input(file, job.stop)
    head = raw.head()
    is_text = head[:1] not in FIRST_BYTES
    if not is_text:
        refuse_binary(head, plain=isinstance(file, Member))
        if is_archive(head):
            yield from _of_archive(reading, file if can_seek(file) else raw, job)
            return
    if memory is None or not (is_text or format_of(head) is None):
        found = of_open_file(reading, file, job, raw)
    else:
        reading.memory = memory.data
        found = blocks_of_memory(reading.memory, job.batch_bytes, reading.offset)
    for block in found:
        yield reading, block
