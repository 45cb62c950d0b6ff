"""Reads one open file from a place on in blocks, to its end or as it grows, and sees whether it still holds what was
read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.bookmarks import Bookmark, Gap, Identity, bookmark, holds, identity, unwritten
from turnwire.log.input.compression import StreamDamage
from turnwire.log.input.copies import TAIL, is_compressed
from turnwire.log.input.reading import Input, InputBlock, decompressed, line_end
from turnwire.log.input.signatures import may_become, refuse_binary
from turnwire.log.input.sources import Reading, ReadOptions, Source

_NEWLINE = ord("\n")
Blocks = Iterator[tuple[Reading, InputBlock]]
"""Blocks, each with the input that it is of."""


class Tail:
    """One open file that is read from a bookmark on, or from its start. A block ends with a line if there is one.

    A file that ``grows`` is followed: what is there by now is read, and a half-written line, member or frame waits; its
    end is where nobody writes to it any more. Where bookmarks are kept, each block is given once the file is seen to
    hold what was read of it.

    written: when it was written last, as it was known to have its name (ns); read_at: the same when it was read last:
    what was copied before that holds nothing else; lost: why what was read is not in it any more; idle: looks since it
    had something new; has_name: whether its name leads to it, as far as is known.
    """

    def __init__(
        self,
        source: Source,
        file: Any,
        job: ReadOptions,
        who: Identity | None = None,
        mark: Bookmark | None = None,
        grows: bool = False,
    ) -> None:
        """``mark``: the bookmark of what was read of the file, or of the one of which it is a copy."""
        self.reading = reading = Reading(source)
        self.source, self.file, self.who = source, file, who
        reading.identity = who
        if mark is not None:
            reading.offset, reading.line, reading.carried = mark.offset, mark.line, mark.carried
            reading.behind = (0, b"") if is_compressed(file) else mark.behind(file)
        self.written = self.read_at = self._seen = 0 if self.who is None else self.who.written
        self.lost: Reason | None = None
        self.idle, self.has_name = 0, True
        self._line = reading.line
        place, tail = reading.behind
        self._last_bytes = reading.offset, tail if place == reading.offset else b""  # those that were read last
        self._job, self._grows = job, grows
        self._watched = self.who is not None and job.bookmarks.waits
        self.raw = Input(file, job.stop)
        self.raw.grows = grows
        self._source: Any = None  # of bytes as decompressed, once its kind is known
        self._base = reading.offset
        self._carried = b""
        self._within = False
        self._ended = False  # nothing more comes of this file

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self.source.name or ""

    @property
    def file_id(self) -> tuple[int, int]:
        """Device and inode."""
        assert self.who is not None
        return self.who[:2]

    @property
    def read(self) -> int:
        """The byte (as decompressed) up to which it was read."""
        return self._base + len(self._carried)

    @property
    def _fault(self) -> StreamDamage | None:
        """The fault that ended decompression early, or None."""
        fault: StreamDamage | None = getattr(self._source, "fault", None)
        return fault

    # --- reading ----------------------------------------------------------------------------------------------------

    def _begin(self, certain: bool) -> bool:
        """Seeks the place to read from; False as long as the first bytes of a file do not say whether it is compressed.
        ``certain``: nothing follows them."""
        if self._source is not None:
            return True
        if self._grows:
            head = self.raw.head()
            if may_become(head) and not certain:
                return False
            refuse_binary(head, self.name)
        self._source = decompressed(self.raw, self._job.limits)
        self.reading.kind = getattr(self._source, "kind", None)
        if not self._base:
            return True
        if self.reading.kind is None:
            self.raw.seek(self._base)
        elif (found := self._skip(self._base)) < self._base:
            self.lost = Reason.FILE_REPLACED if self._grows else None
            if not self._grows:
                self._job.tell(Gap(self.name, found, None, Reason.FILE_REPLACED))
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
                self.reading.fault, self._ended = self._fault, True
            yield self.reading, block
        if not self._grows and not self._ended:
            yield self.reading, self._cut_just_now()
        elif self._grows and self._fault is not None and self.lost is None:
            yield self._finished()

    def _next(self) -> InputBlock | None:
        """The next block that ends with a line, or is full; None where there is none yet."""
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
        who = self.who
        before = [] if who is None else self._job.bookmarks.files.get(who[:2], [])
        if who is not None and before and self._base == before[-1].read:
            self.reading.identity = who._replace(written=before[-1].written)
        return InputBlock(b"", 0, self._base, True)

    def end(self, gone: bool) -> Blocks:
        """The rest of a file that is not followed any more, of what was read of it where the rest is ``gone``; what
        is half-written has no end to wait for."""
        self.raw.grows, self.raw.gone = False, gone
        yield from self.news(certain=True)
        if not self._ended and self._source is not None:
            yield self._finished()

    def _finished(self) -> tuple[Reading, InputBlock]:
        self.reading.fault = None if self.lost is not None else self._fault
        self.reading.closed = self._ended = True
        data, self._carried = self._carried, b""
        self._base += len(data)
        block = InputBlock(data, len(data), self._base - len(data), True, self.raw.taken)
        self._taken(block)
        return self.reading, block

    def go_on_as(self, other: Tail) -> None:
        """Reads on where another one stopped, of whose file this one holds a copy, as the same reading."""
        other.file.close()
        self.reading, self._within = other.reading, other._within
        self.reading.identity = self.who

    def opened_again(self) -> Any:
        """The file, open once more, whatever name it has by now: both are at the same place of it."""
        return os.fdopen(os.dup(self.file.fileno()), "rb", buffering=0)

    # --- the identity of the file -------------------------------------------------------------------------------------

    def _changed_at(self) -> int:
        return os.fstat(self.file.fileno()).st_mtime_ns

    def renamed(self) -> bool:
        """True if the name leads to another file by now; where it does not, ``written`` is as new as can be."""
        status = os.fstat(self.file.fileno())
        try:
            there = os.stat(self.name)
        except FileNotFoundError:
            return False  # rotation is under way, or the file is gone: it may still be written to
        if (there.st_dev, there.st_ino) != self.file_id:
            return True
        self._seen = status.st_mtime_ns
        return False

    def is_touched(self) -> bool:
        """True if somebody may have written to the file since the last look, or cut it."""
        return self._seen > self.written or not unwritten(self.file)

    def looked(self) -> None:
        """The look is over, and it was still the file of its name and held what was read."""
        assert self.who is not None
        self.written = max(self.written, self._seen)
        self.reading.identity = self.who = self.who._replace(written=self.written)

    def rewritten(self) -> bool:
        """True if the file was cut, or holds other bytes than were read: what is in it was not read yet."""
        now, packed = identity(self.file), self.reading.kind is not None
        assert now is not None and self.who is not None
        if now.size < (self.raw.taken if packed or self._source is None else self.read):
            self.lost = Reason.FILE_SHRUNK
        elif not now.head.startswith(self.who.head) or not (packed or holds(self.file, *self._last_bytes)):
            self.lost = Reason.FILE_REPLACED
        elif len(now.head) > len(self.who.head):  # it was shorter when it was opened
            self.reading.identity = self.who = now._replace(written=self.written)
        return self.lost is not None

    def _mixed(self, block: InputBlock | None, before: int) -> bool:
        """True if what was just read is not in the file any more: it was cut between two reads of one block, or behind
        them. ``before``: how many bytes of it were read earlier, and were compared already."""
        if self.reading.kind is not None or unwritten(self.file):
            return False
        data = b"" if block is None else bytes(memoryview(block.data)[: block.size])
        if not holds(self.file, self.read, (data + self._carried)[before:]):
            self.lost = Reason.FILE_REPLACED
        return self.lost is not None

    def mark(self, written: int | None = None) -> Bookmark:
        """The bookmark of what was read, of a file that was ``written`` then (None: when it was known to have its
        name). A compressed file has no bytes by which a copy is told."""
        assert self.who is not None
        who = self.who._replace(written=self.written if written is None else written)
        packed = self._source is None or self.reading.kind is not None
        size, behind = (self.raw.taken, (0, b"")) if packed else (self.read, self._last_bytes)
        return bookmark(self.name, who, (self._base, self._line), size, None, behind)
