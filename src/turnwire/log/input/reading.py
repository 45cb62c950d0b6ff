"""Inputs: open files, pipes and bytes, the blocks that are cut from them, and how far each is read."""

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
from turnwire.errors import Reason
from turnwire.log.input.archives import Member
from turnwire.log.input.bookmarks import TAIL, Bookmark, Gap, Identity, between, identity, is_touched
from turnwire.log.input.compression import Decompressed, StreamDamage
from turnwire.log.input.signatures import FIRST_BYTES, HEAD, UNDECIDED, format_of, may_become, refuse_binary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.input.sources import ReadOptions, Source
    from turnwire.log.search.state import SearchState

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
    """Stops a reader, even while it waits for bytes."""

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
    more may come after it; gone: what was not read of it will never be.
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
        self.grows = self.gone = False

    def into(self, view: memoryview, /) -> int | None:
        """The number of bytes read; 0 at the end, None if a pipe had nothing for ``IDLE`` seconds, or where a file
        that grows has no more."""
        self._stop.check()
        if self._end is not None:
            view = view[: max(self._end - self.taken + len(self._pushed), 0)]
        if self.gone or not len(view):
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
    """The decompressed bytes of an input: the same thing if it is not compressed."""
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
    """The state of reading one input, from a bookmark or a place of a plan on, or from its start. A block ends with a
    line if there is one.

    A file that grows is followed: what is there by now is read, and a half-written line, member or frame waits; its
    end is where nobody writes to it any more. Where bookmarks are kept, each block is given once the file is seen to
    hold what was read of it.

    The scan moves offset and line, up to where everything is accounted for, and state, what the search knows there, and
    after, that offset and the last bytes before it (1024 at most); waiting: offset, line and kept state without
    what is open at the end, where something is, and given: what of that was given all the same; left, pending: a record
    that a block cut off, and the blocks after it; taken: bytes read, as stored.

    What reads sets the rest. kind: "gzip", "bzip2", "xz", "zstd", "zip" or None; fault: why decompressing ended before
    its time; memory: the whole input, where it is there at once; closed: nobody will write to it any more; carried: the
    state of the search where it begins; written: when it was written last, as it was known to have its name (ns);
    read_at: the same when it was read last: what was copied before that holds nothing else; lost: why what was read is
    not in it any more; idle: looks since it had something new; has_name: whether its name leads to it, as far as is
    known.
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
        if mark is not None:
            self.offset, self.line, self.carried = mark.offset, mark.line, mark.carried
            self.behind = (0, b"") if who is None or who.packed else mark.behind(file)
        self.state: SearchState | None = None
        self.waiting: tuple[int, int, dict[str, Any] | None] | None = None
        self.given = None if mark is None or mark.given is None else (mark.given[0], mark.given[1])
        self.left: InputBlock | None = None
        self.pending: list[InputBlock] = []
        self.pending_bytes = self.taken = self.idle = 0
        self.kind: str | None = None
        self.fault: Any = None
        self.memory: Any = None
        self.lost: Reason | None = None
        self.begun = self.finished = self.closed = False
        self.has_name = True
        self.written = self.read_at = self._seen = 0 if who is None else who.written
        self._job, self._grows = job, job.grows and who is not None
        self._watched = who is not None and job.bookmarks.waits
        self.raw = Input(file, job.stop, source.stop)
        self.raw.grows = self._grows
        self._source: Any = None  # of bytes as decompressed, once its kind is known
        self._base, self._line = self.offset, self.line  # behind the last block
        place, tail = self.behind
        self._last_bytes = self._base, tail if place == self._base else b""  # those that were read last
        self._carried = b""
        self._within = False
        self._ended = False  # nothing more comes of this file

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

    def _begin(self, certain: bool) -> bool:
        """Seeks the place to read from; False as long as the first bytes of a file do not say whether it is compressed.
        ``certain``: nothing follows them."""
        if self._source is not None:
            return True
        if self._grows:
            head = self.raw.head()
            if may_become(head) and not certain:
                return False
            refuse_binary(head, self.path)
        self._source = decompressed(self.raw, self._job.limits)
        self.kind = getattr(self._source, "kind", None)
        if not self._base:
            return True
        if self.kind is None:
            self.raw.seek(self._base)
        elif (found := self._skip(self._base)) < self._base:
            self.lost = Reason.FILE_REPLACED if self._grows else None
            if not self._grows:
                self._job.tell(Gap(self.path, found, None, Reason.FILE_REPLACED))
                self._base = found
        return True

    def _skip(self, count: int) -> int:
        """Skips so many bytes; returns how many there were."""
        scratch, left = memoryview(bytearray(1 << 20)), count
        while left:
            done = self._source.into(scratch[: min(left, len(scratch))])
            if done == 0 or (done is None and self._grows):
                break
            left -= done or 0
        return count - left

    def news(self, certain: bool = False) -> Blocks:
        """The blocks that are there by now; where nothing can come any more, the end and why."""
        if self._ended or not self._begin(certain):
            return
        self.idle += 1
        while self.lost is None and not self._ended:
            carried, written = self._carried, self._changed_at() if self._watched else 0
            block = self._next()
            if self._watched and not self.raw.gone and (self.rewritten() or self._mixed(block, len(carried))):
                # It was cut since the last look: some of what was read belongs to another text.
                self._base -= 0 if block is None else block.size
                self._carried, self._within = carried, False
                break
            self.read_at = max(self.read_at, written)
            self._taken(block)
            if block is None:
                if self._grows:
                    break
                continue  # a pipe paused
            if block.last:
                self.fault, self._ended = getattr(self._source, "fault", None), True
            yield self, block
        if not self._grows and not self._ended:
            yield self, self._cut_just_now()
        elif self._grows and self.lost is None and getattr(self._source, "fault", None) is not None:
            yield self, self._finished()

    def _next(self) -> InputBlock | None:
        """The next block that ends with a line, or is full; None if there is none yet."""
        # A line is carried over from nearly every block: with room for one, all of them are of one size.
        size, most = len(self._carried), self._job.batch_bytes
        data = self._job.pool.take(most + max(size, 1))
        view = memoryview(data.data)[: most + size]
        view[:size] = self._carried
        ended, full = False, True
        while size < len(view):
            count = self._source.into(view[size:])
            if not count:
                full, ended = False, count == 0
                break
            size += count
        stop = line_end(view, 0, size)
        last = ended and not self._grows
        if stop < 0 or last:
            stop = size if full or last else 0
        self._carried = bytes(view[stop:size])
        if not stop and not last:
            return None
        self._base += stop
        within, self._within = self._within, stop > 0 and view[stop - 1] != _NEWLINE
        if not full and 2 * size < len(view):
            data = data[:size].copy()  # whoever keeps it keeps no more than what was read
        return InputBlock(data, stop, self._base - stop, last, self.raw.taken, within)

    def _taken(self, block: InputBlock | None) -> None:
        """Keeps the last bytes that were read, and counts lines."""
        if not self._watched:
            return
        data = b"" if block is None else bytes(memoryview(block.data)[max(block.size - TAIL, 0) : block.size])
        start, tail = self._last_bytes
        tail = tail[: max(self._base - (0 if block is None else block.size) - start + len(tail), 0)]
        self._last_bytes = self.read, (tail + data + self._carried)[-TAIL:]
        if block is not None:
            self.idle = 0
            self._line += memoryview(block.data)[: block.size].tobytes().count(b"\n") if self._grows else 0

    def _cut_just_now(self) -> InputBlock:
        """The end of what is read of a file: the next scan finds what it held. Where nothing was read of it, no more is
        known of it than before: a copy of it may be older than what was written to it last."""
        who = self.identity
        before = [] if who is None else self._job.bookmarks.files.get(who.file, [])
        if who is not None and before and self._base == before[-1].read:
            self.identity = who._replace(written=before[-1].written)
        return InputBlock(b"", 0, self._base, True)

    def end(self, gone: bool) -> Blocks:
        """The rest of a file that is not followed any more, of what was read of it where the rest is ``gone``; what
        is half-written has no end to wait for."""
        self.raw.grows, self.raw.gone = False, gone
        yield from self.news(certain=True)
        if not self._ended and self._source is not None:
            yield self, self._finished()

    def _finished(self) -> InputBlock:
        self.fault = None if self.lost is not None else getattr(self._source, "fault", None)
        self.closed = self._ended = True
        data, self._carried = self._carried, b""
        self._base += len(data)
        block = InputBlock(data, len(data), self._base - len(data), True, self.raw.taken)
        self._taken(block)
        return block

    def go_on_in(self, copy: Reading) -> None:
        """Reads on in another file, which holds a copy of what was read of this one, from where that was begun."""
        self.file.close()
        self.file, self.identity, self.raw, self._source = copy.file, copy.identity, copy.raw, copy._source
        self._base, self._line, self._carried, self._last_bytes = copy._base, copy._line, b"", copy._last_bytes
        self.written, self.read_at, self._seen, self.lost = copy.written, copy.read_at, copy._seen, None

    # --- the file ---------------------------------------------------------------------------------------------------

    def opened_again(self) -> Any:
        """The file, open once more, whatever name it has by now: both are at the same place of it."""
        return os.fdopen(os.dup(self.file.fileno()), "rb", buffering=0)

    def _changed_at(self) -> int:
        return os.fstat(self.file.fileno()).st_mtime_ns

    def renamed(self) -> bool:
        """True if the name leads to another file by now; if it does not, ``written`` is as new as can be."""
        seen = self._changed_at()
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False  # rotation is under way, or the file is gone: it may still be written to
        if (there.st_dev, there.st_ino) != self.file_id:
            return True
        self._seen = seen
        return False

    def is_touched(self) -> bool:
        """True if somebody may have written to the file since the last look, or cut it."""
        return self._seen > self.written or is_touched(self.file)

    def looked(self) -> None:
        """The look is over, and it was still the file of its name and held what was read."""
        assert self.identity is not None
        self.written = max(self.written, self._seen)
        self.identity = self.identity._replace(written=self.written)

    def rewritten(self) -> bool:
        """True if the file was cut, or holds other bytes than were read: what is in it was not read yet."""
        now, who, packed = identity(self.file), self.identity, self.kind is not None
        assert now is not None and who is not None
        if now.size < (self.raw.taken if packed or self._source is None else self.read):
            self.lost = Reason.FILE_SHRUNK
        elif not now.head.startswith(who.head) or not (packed or self._holds(*self._last_bytes)):
            self.lost = Reason.FILE_REPLACED
        elif len(now.head) > len(who.head):  # it was shorter when it was opened
            self.identity = now._replace(written=self.written)
        return self.lost is not None

    def _mixed(self, block: InputBlock | None, before: int) -> bool:
        """True if what was just read is not in the file any more: it was cut between two reads of one block, or after
        them. ``before``: how many bytes of it were read earlier, and were compared already."""
        if self.kind is not None or not is_touched(self.file):
            return False
        data = b"" if block is None else bytes(memoryview(block.data)[: block.size])
        if not self._holds(self.read, (data + self._carried)[before:]):
            self.lost = Reason.FILE_REPLACED
        return self.lost is not None

    def _holds(self, stop: int, tail: bytes) -> bool:
        """True if these bytes still are before that offset of the file."""
        return between(self.file, stop - len(tail), stop) == tail

    def mark(self, written: int | None = None) -> Bookmark:
        """The bookmark of what was read, of a file that was ``written`` then (None: when it was known to have its
        name). A compressed file has no bytes by which a copy is told."""
        assert self.identity is not None
        who = self.identity._replace(written=self.written if written is None else written)
        packed = self._source is None or self.kind is not None
        size, behind = (self.raw.taken, (0, b"")) if packed else (self.read, self._last_bytes)
        return Bookmark.of(self.path, who, (self._base, self._line), size, None, behind)

    def searched(self) -> Bookmark:
        """The bookmark of what was searched, without what is open at the end and waits."""
        assert self.identity is not None
        offset, line, carried = self.waiting or (self.offset, self.line, self.kept())
        size, behind = (0, (0, b"")) if self.kind else (self.offset, self.behind)
        given = self.given if self.given is not None and self.given[0] >= offset else None
        return Bookmark.of(self.path, self.identity, (offset, line), size, carried, behind)._replace(given=given)


Blocks = Iterator[tuple[Reading, InputBlock]]
"""Blocks, each with the input that it is of."""
