"""Inputs: open files, pipes, archives and bytes, the blocks that are cut from them, and how far each is read."""

from __future__ import annotations

import io
import os
import select
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import is_zipfile

import numpy as np

from turnwire.contract import Limits
from turnwire.errors import Reason
from turnwire.log.input.bookmarks import TAIL, Bookmark, Gap, Identity, between, digest, identity, is_touched
from turnwire.log.input.compression import (
    FIRST_BYTES,
    HEAD,
    UNDECIDED,
    Decompressed,
    Member,
    StreamDamage,
    can_seek,
    format_of,
    is_archive,
    members,
    refuse_binary,
)
from turnwire.log.input.sources import ReadOptions, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.search.texts import SearchState

_BACK = 1 << 16
_NEWLINE = 10
_FIRST_READ = 1 << 16
_AHEAD = 1 << 16
"""Bytes in front of a block, at most, for what the block before leaves."""
IDLE = 0.2
"""Seconds without a byte after which a pipe's complete lines are handed on."""


class InputBlock(NamedTuple):
    """A piece of one input.

    data: the bytes (a uint8 array that owns its memory, or a view); size: how many of them are input; base: offset of
    the first one in the input; last: whether the input ends with it; taken: how many bytes of the input as it is
    stored (compressed, perhaps) are read by now; within: whether the block before ended within a line, so that what
    is found in this one by itself does not count; memory: data behind room for what the block before leaves; cut: it
    ends within a line that is not waited for.
    """

    data: Any
    size: int
    base: int
    last: bool
    taken: int = 0
    within: bool = False
    memory: Any = None
    cut: bool = False


def cut_in_long_line(block: InputBlock, most: int, tried: int = 0) -> InputBlock:
    """A block up to the first ``most`` bytes of its first line that is longer, so that such a line has the same parts
    wherever blocks end. tried: up to there was too little; twice as much of the line is taken."""
    line, view = 0, memoryview(block.data)
    while block.size - line > most:
        end = line + most
        newline = bytes(view[line:end]).rfind(b"\n")
        while newline < 0 and end <= tried:
            end += end - line
            newline = bytes(view[line:end]).find(b"\n")
        if newline < 0:
            return block if end >= block.size else block._replace(size=end, last=False, cut=True)
        line += newline + 1
    return block


class Stopped(Exception):
    """Reading was told to stop."""


class Stop(threading.Event):
    """Stops a reader, in every thread, even while it waits for bytes."""

    __bool__ = threading.Event.is_set

    def check(self) -> None:
        """Raises Stopped once reading is to stop."""
        if self:
            raise Stopped

    def sleep(self, seconds: float) -> None:
        """Waits so long, or until reading is to stop: then raises Stopped."""
        if self.wait(seconds):
            raise Stopped


class Input:
    """An open binary file as an input: ``into`` fills a part of a view, as :class:`compression.Bytes` says.

    Pipes are waited for without losing the power to stop; other errors are the file's own.
    """

    def __init__(self, file: Any, stop: Stop, end: int | None = None) -> None:
        """``end``: the offset at which it ends; None for that of the file."""
        self._end = end
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
        """The number of bytes read; 0 at the end, None if a pipe had nothing for ``IDLE`` seconds."""
        self._stop.check()
        if self._end is not None:
            view = view[: max(self._end - self.taken + len(self._pushed), 0)]
        if not len(view):
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
        return count

    @property
    def fault(self) -> StreamDamage | None:
        """The fault that ended a file in an archive early, or None."""
        return self._file.fault if isinstance(self._file, Member) else None

    @property
    def kind(self) -> str | None:
        """ "zip" for a file in an archive, or None."""
        return self._file.kind if isinstance(self._file, Member) else None

    def seek(self, offset: int) -> None:
        """Continues at an offset of a file that can seek."""
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
                raise TypeError(f"scan reads bytes; the file returned {type(chunk).__name__}")
        if count is None:
            raise BlockingIOError("the input has no data yet; scan needs a blocking file")
        if not isinstance(count, int) or not 0 <= count <= len(view):  # a file of the caller's own making
            raise TypeError(f"the file returned {count!r} for a read of up to {len(view)} bytes")
        if chunk is not None:
            view[:count] = chunk
        return count

    def head(self) -> bytes:
        """The first ``HEAD`` bytes, or as many as come at once but enough to tell the formats; they are read again."""
        if bytes(self._pushed[:HEAD]) in UNDECIDED:
            scratch, size = memoryview(bytearray(_FIRST_READ)), 0
            while bytes(scratch[: min(size, HEAD)]) in UNDECIDED and (count := self.into(scratch[size:])) != 0:
                size += count or 0
            said = scratch[:size]
            self._pushed = memoryview(b"".join((said, self._pushed))) if self._pushed else said  # of a file's buffer
        return bytes(self._pushed[:HEAD])


def _pipe(file: Any) -> int | None:
    """The descriptor of a file that may keep its reader waiting (a pipe, a socket, a terminal); None for others."""
    if not hasattr(select, "poll") or not isinstance(file, io.FileIO):
        return None
    mode = os.fstat(file.fileno()).st_mode
    return file.fileno() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


def decompressed(raw: Input, limits: Limits) -> Any:
    """The decompressed bytes of an input: the same thing if it is not compressed."""
    head = raw.head()
    kind = format_of(head) if head[:1] in FIRST_BYTES else None
    return raw if kind is None else Decompressed(kind, raw, limits)


def blocks_of_memory(view: memoryview, batch_bytes: int, start: int = 0) -> Iterator[InputBlock]:
    """The blocks of bytes that are there at once; each is a view of them."""
    size, stop, within = len(view), -1, False
    while stop < size:
        stop = min(size, start + batch_bytes)
        end = line_end(view, start, stop) if stop < size else -1
        stop = stop if end < 0 else end
        yield InputBlock(view[start:stop], stop - start, start, stop == size, stop, within)
        start, within = stop, start < stop and view[stop - 1] != _NEWLINE


def mapped(file: Any) -> NDArray[np.uint8] | None:
    """A map of a whole file, which lives as long as somebody looks into it; None if only reading helps: pipes,
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


# --- one input ------------------------------------------------------------------------------------------------------


class Reading:
    """The state of reading one input, from a bookmark or a place of a plan on, or from its start, to the end that it
    has by then. A block ends with a line if there is one. Where bookmarks are kept, each block is given once the file
    is seen to hold what was read of it.

    The scan moves offset and line, up to where everything is accounted for, and state, what the search knows there, and
    after, that offset and the last bytes before it (1024 at most); waiting: offset, line and state without
    what is open at the end, where something is, and given: what of that was given all the same; left, pending: a record
    that a block cut off, and the blocks after it; taken: bytes read, as stored; broken: the file is damaged, and that
    was told.

    What reads sets the rest. kind: "gzip", "bzip2", "xz", "zstd", "zip" or None; fault: why decompressing ended before
    its time; memory: the whole input, where it is there at once; closed: nobody will write to it any more; carried: the
    state of the search where it begins.
    """

    def __init__(
        self,
        source: Source,
        job: ReadOptions,
        file: Any = None,
        who: Identity | None = None,
        mark: Bookmark | None = None,
    ) -> None:
        """``mark``: the bookmark of what was read of the file, or of the one of which it is a copy."""
        self.source, self.name, self.file, self.identity = source, source.name, file, who
        self.offset, self.line, self.carried = source.start, source.line, source.carried
        self.behind = source.start, b""
        self._cut = False  # since it was compared with the bookmark
        if mark is not None:
            self.offset, self.line, self.carried = mark.offset, mark.line, mark.carried
            self.behind = (0, b"") if who is None or who.packed else mark.behind(file)
            self._cut = bool(mark.tail and who and not who.packed) and digest(self.behind[1]) != mark.tail
        self.state: SearchState | None = None
        self.waiting: tuple[int, int, SearchState | None] | None = None
        self.given = None if mark is None or mark.given is None else (mark.given[0], mark.given[1])
        self.left: InputBlock | None = None
        self.pending: list[InputBlock] = []
        self.pending_bytes = self.taken = 0
        self.kind: str | None = None
        self.fault: Any = None
        self.memory: Any = None
        self.begun = self.closed = self.broken = self.vain = False
        self.mark = mark
        self._job = job
        self._watched = who is not None and job.bookmarks.waits
        self.raw = Input(file, job.stop, source.stop)
        self._base = self.offset  # behind the last block
        place, tail = self.behind
        self._last_bytes = self._base, tail if place == self._base else b""  # those that were read last
        self._carried = b""
        self._within = False

    def kept(self) -> dict[str, Any] | None:
        """The state of the search up to where the input is accounted for, as bookmarks and plans have it."""
        return None if self.state is None else self.state.kept()

    @property
    def path(self) -> str:
        """The name under which it was opened."""
        return self.source.name or ""

    @property
    def file_id(self) -> tuple[int, int]:
        """Device and inode."""
        assert self.identity is not None
        return self.identity.file

    @property
    def read(self) -> int:
        """The byte (as decompressed) up to which it was read."""
        return self._base + len(self._carried)

    # --- blocks -----------------------------------------------------------------------------------------------------

    def news(self) -> Blocks:
        """The blocks that are there, and the end and why."""
        source = decompressed(self.raw, self._job.limits)
        self.kind = getattr(source, "kind", None)
        if self._base:
            self._seek(source)
        last = False
        while not last:
            carried = self._carried
            block = self._next(source)
            if self._watched and (self._is_rewritten() or self._is_mixed(block, len(carried))):
                # It was cut since the last look: some of what was read belongs to another text. The next scan finds
                # what it held. Where nothing was read of it, its old bookmark stays, by which a copy of that is known.
                self._base -= 0 if block is None else block.size
                self._carried, mark = b"", self.mark
                self.vain = mark is not None and mark.file == self.file_id and mark.offset == self._base
                yield self, self.ending()
                return
            self._taken(block)
            if block is not None:  # else a pipe paused
                last = block.last
                self.fault = getattr(source, "fault", None) if last else None
                yield self, block
            del block  # its memory serves the next one

    def _seek(self, source: Any) -> None:
        """Goes to the place to read from."""
        if self.kind is None:
            self.raw.seek(self._base)
            return
        scratch, left = memoryview(bytearray(1 << 20)), self._base
        while left and (done := source.into(scratch[: min(left, len(scratch))])) != 0:
            left -= done or 0
        if left:
            self._base -= left
            self._job.tell(Gap(self.path, self._base, None, Reason.FILE_REPLACED))

    def _next(self, source: Any) -> InputBlock | None:
        """The next block that ends with a line, or is full; None if there is none yet."""
        # A line is carried over from nearly every block: with room for one, all of them are of one size.
        size, most = len(self._carried), self._job.batch_bytes
        ahead = min(_AHEAD, most)
        memory: Any = self._job.pool.take(ahead + most + max(size, 1))
        data = memory[ahead:]
        view = memoryview(data.data)[: most + size]
        view[:size] = self._carried
        last, full = False, True
        while size < len(view):
            count = source.into(view[size:])
            if not count:
                full, last = False, count == 0
                break
            size += count
        stop = line_end(view, 0, size)
        if stop < 0 or last:
            stop = size if full or last else 0
        self._carried = bytes(view[stop:size])
        if not stop and not last:
            return None
        self._base += stop
        within, self._within = self._within, stop > 0 and view[stop - 1] != _NEWLINE
        if not full and 2 * size < len(view):
            data, memory = data[:size].copy(), None  # whoever keeps it keeps no more than what was read
        return InputBlock(data, stop, self._base - stop, last, self.raw.taken, within, memory)

    def _taken(self, block: InputBlock | None) -> None:
        """Keeps the last bytes that were read."""
        if not self._watched:
            return
        data = b"" if block is None else bytes(memoryview(block.data)[max(block.size - TAIL, 0) : block.size])
        start, tail = self._last_bytes
        tail = tail[: max(self._base - (0 if block is None else block.size) - start + len(tail), 0)]
        self._last_bytes = self.read, (tail + data + self._carried)[-TAIL:]

    def ending(self) -> InputBlock:
        """The end of what was read, as a block."""
        return InputBlock(b"", 0, self._base, True, self.taken)

    # --- the file ---------------------------------------------------------------------------------------------------

    def opened_again(self) -> Any:
        """The file, open once more, whatever name it has by now."""
        file = os.fdopen(os.dup(self.file.fileno()), "rb", buffering=0)
        file.seek(0)
        return file

    def _is_rewritten(self) -> bool:
        """True if the file was cut, or holds other bytes than were read: what is in it was not read yet."""
        now, who, packed = identity(self.file), self.identity, self.kind is not None
        assert now is not None and who is not None
        if self._cut or now.size < max(who.size, self.raw.taken if packed else self.read):
            return True  # a bookmark with the size that it had would find it cut once more
        if not now.head.startswith(who.head) or not (packed or self._holds(*self._last_bytes)):
            return True
        if len(now.head) > len(who.head):  # it was shorter when it was opened
            self.identity = now._replace(written=who.written)
        return False

    def _is_mixed(self, block: InputBlock | None, before: int) -> bool:
        """True if what was just read is not in the file any more: it was cut between two reads of one block, or after
        them. ``before``: how many bytes of it were read earlier, and were compared already."""
        if self.kind is not None or not is_touched(self.file):
            return False
        data = b"" if block is None else bytes(memoryview(block.data)[: block.size])
        return not self._holds(self.read, (data + self._carried)[before:])

    def _holds(self, stop: int, tail: bytes) -> bool:
        """True if these bytes still are before that offset of the file."""
        return between(self.file, stop - len(tail), stop) == tail

    def searched(self) -> Bookmark:
        """The bookmark of what was searched, without what is open at the end and waits."""
        assert self.identity is not None
        if self.vain and self.mark is not None:
            return self.mark._replace(name=self.path)
        offset, line, state = self.waiting or (self.offset, self.line, self.state)
        carried = None if state is None else state.kept()
        size, behind = (0, (0, b"")) if self.kind else (self.offset, self.behind)
        given = self.given if self.given is not None and self.given[0] >= offset else None
        return Bookmark.of(self.path, self.identity, (offset, line), size, carried, behind, given)


Blocks = Iterator[tuple[Reading, InputBlock]]
"""Blocks, each with the input that it is of."""


# --- the blocks of an input -----------------------------------------------------------------------------------------


def stream_blocks(source: Source, job: ReadOptions) -> Blocks:
    """The blocks of one input that is no file of its own, in order; the last one is marked as such."""
    return refusing(source, job, _of_data(source, job) if source.data is not None else _of_stream(source, job))


def refusing(source: Source, job: ReadOptions, found: Blocks) -> Blocks:
    """The same blocks. Keeps the error of what cannot be read, or is no log, and was found in a folder; raises that of
    any other input."""
    try:
        yield from found
    except OSError as failure:
        _refuse(source, job, failure)


def _refuse(source: Source, job: ReadOptions, failure: OSError) -> None:
    if failure.filename is None and source.name is not None:  # None would be shown
        failure.filename = source.name
    renamed = job.follows and isinstance(failure, FileNotFoundError)  # it is found under its new name
    if renamed or not source.listed:
        raise failure
    job.refuse(failure)


def _of_stream(source: Source, job: ReadOptions) -> Blocks:
    with source.open() as file:
        yield from of_whole(Reading(source, job, file), job)


def _of_data(source: Source, job: ReadOptions) -> Blocks:
    view = memoryview(source.data)
    if not view.contiguous:
        raise TypeError("the bytes to scan must be contiguous")
    head = bytes(view.cast("B")[:HEAD])
    if head[:1] in FIRST_BYTES and (is_archive(head) or format_of(head)):
        file = io.BytesIO(view.cast("B"))
        if not is_archive(head) or is_zipfile(file):
            yield from of_whole(Reading(source, job, file), job)
            return
    reading = Reading(source, job)
    reading.memory = memoryview(source.data if job.borrow or isinstance(source.data, bytes) else bytes(view)).cast("B")
    for block in blocks_of_memory(reading.memory, job.batch_bytes):
        yield reading, block


def _of_archive(reading: Reading, file: Any, job: ReadOptions) -> Blocks:
    """The blocks of the files in an archive, each with a reading of its own, and the end of the archive, which a
    bookmark needs: one that was read is not read again until it has another size."""
    source, name = reading.source, reading.name
    size = source.bytes() or 0
    if not 0 < reading.offset == size:
        with closing(members(file, job.limits, partial(_refuse, source, job))) as found:
            for inside, member in found:
                path = inside if name is None else f"{name}/{inside}"
                one = Source(path, open=partial(nullcontext, member), listed=source.listed)
                for part, block in stream_blocks(one, job):
                    yield part, block._replace(taken=block.taken * member.stored // max(member.size, 1))
    if reading.identity is not None:
        reading.kind, reading.offset = "zip", size
        yield reading, InputBlock(b"", 0, size, True)


def of_whole(reading: Reading, job: ReadOptions) -> Blocks:
    """The blocks of an open input, whatever it is. Raises NotALog."""
    file, raw = reading.file, reading.raw
    memory = mapped(file) if job.borrow and reading.source.mappable else None
    head = raw.head()
    is_text = head[:1] not in FIRST_BYTES
    if not is_text:
        refuse_binary(head, plain=isinstance(file, Member))
        if is_archive(head):
            yield from _of_archive(reading, file if can_seek(file) else raw, job)
            return
    if memory is None or not (is_text or format_of(head) is None):
        yield from reading.news()
        return
    reading.memory = memory.data
    for block in blocks_of_memory(reading.memory, job.batch_bytes, reading.offset):
        yield reading, block
