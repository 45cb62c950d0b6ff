"""Follows one file: how much it holds by now, whether it is still the file of its name, and how far it was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.bookmarks import (
    OPENING,
    Bookmark,
    Identity,
    StartPosition,
    bookmark,
    holds,
    identity,
    unwritten,
)
from turnwire.log.input.compression import Decompressed
from turnwire.log.input.copies import TAIL
from turnwire.log.input.reading import Cutter, Growing, Input, InputBlock
from turnwire.log.input.signatures import format_of, may_become, refuse_binary
from turnwire.log.input.sources import Reading, ReadOptions, Source

_PAUSE = 0.01
"""Seconds within which a write that changed the time of a file changes its size."""


class Tail:
    """One file that is followed, from a place on. Of a compressed one, what can be decompressed by now is read; a
    member or frame that is half-written waits. Its end is where nobody writes to it any more.

    written: when it was written last, as it was known to have its name (ns); read_at: the same when it was read last:
    what was copied before that holds nothing else; lost: why what was read is not in it any more; idle: looks since it
    had something new.
    """

    def __init__(self, source: Source, file: Any, who: Identity, place: StartPosition, job: ReadOptions) -> None:
        self.source = source
        self.file = file
        self.reading = Reading(source)
        self.reading.identity = self.who = who
        self.written = self.read_at = self._seen = who.written
        self._size = self._last_size = 0
        self.lost: Reason | None = None
        self.idle = 0
        self.reading.begin_at(place)
        self._line, self._tail = place.line, place.behind[1] if place.behind[0] == place.offset else b""
        self._last_bytes = place.offset, self._tail  # the bytes that were read last
        self._job = job
        self._raw = Input(file, job.stop)
        self._growing = Growing(self._raw)
        self._cutter: Cutter | None = None
        self._ended = False  # nothing more comes of this file

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self.source.name or ""

    @property
    def read(self) -> int:
        """The byte (as decompressed) up to which it was read."""
        return self.reading.offset if self._cutter is None else self._cutter.end

    def _cut(self, certain: bool) -> Cutter | None:
        """The cutter of the file into blocks; None as long as its first bytes do not say whether it is compressed.
        ``certain``: nothing follows them."""
        if self._cutter is not None:
            return self._cutter
        head = self._raw.head()
        if may_become(head) and not certain:
            return None
        refuse_binary(head, self.name)
        kind, start = format_of(head), self.reading.offset
        source = self._growing if kind is None else Decompressed(kind, self._growing, self._job.limits)
        job = self._job
        self._cutter = cutter = Cutter(self._raw, source, job.pool, job.batch_bytes, grows=True)
        self.reading.kind = kind
        if start and kind is None:
            self._raw.seek(start)
            cutter.base = start
        elif start and cutter.skip(start) < start:
            self.lost = Reason.FILE_REPLACED
        return cutter

    def news(self, certain: bool = False) -> Iterator[tuple[Reading, InputBlock]]:
        """The lines that are there by now; where nothing can come any more, the end and why."""
        cutter = None if self._ended else self._cut(certain)
        if cutter is None:
            return
        self.idle += 1
        while self.lost is None:
            kept, written = cutter.kept, self._changed_at()
            block = cutter.read()
            if not self._growing.gone and (self.rewritten() or self._mixed(block, len(kept))):
                cutter.take_back(block, kept)  # cut since the last look: some of it belongs to another text
                continue
            self.read_at = max(self.read_at, written)
            if block is None:
                self._last_bytes = cutter.end, (self._tail + cutter.kept)[-TAIL:]
                break
            self._taken(block, cutter)
            yield self.reading, block
        if cutter.fault is not None and self.lost is None:
            yield self._finished(cutter)

    def _taken(self, block: InputBlock, cutter: Cutter) -> None:
        data = bytes(memoryview(block.data)[: block.size])
        self._line += data.count(b"\n")
        self._tail = (self._tail + data)[-TAIL:]
        self._last_bytes = cutter.end, (self._tail + cutter.kept)[-TAIL:]
        self.idle = 0

    def _changed_at(self) -> int:
        return os.fstat(self.file.fileno()).st_mtime_ns

    def renamed(self) -> bool:
        """True if the name leads to another file by now; where it does not, ``written`` is as new as can be."""
        status = os.fstat(self.file.fileno())
        try:
            there = os.stat(self.name)
        except FileNotFoundError:
            return False  # rotation is under way, or the file is gone: it may still be written to
        if (there.st_dev, there.st_ino) != self.who[:2]:
            return True
        self._seen, self._size = status.st_mtime_ns, status.st_size
        return False

    def is_touched(self) -> bool:
        """True if somebody may have written to the file since the last look, or cut it."""
        return self._seen > self.written or not unwritten(self.file)

    def is_written_over(self) -> bool:
        """True if the file was written since the last look and has the size that it had then, see
        :func:`bookmarks.is_written_over`; asked twice, as a write changes the time first."""
        for pause in (_PAUSE, 0.0):
            status = os.fstat(self.file.fileno())
            if not (0 < self.written < status.st_mtime_ns and 0 < self._last_size == status.st_size):
                return False
            self._job.stop.sleep(pause)
        return self.read <= OPENING and (self._cutter is None or self._cutter.kind is None)

    def looked(self) -> None:
        """The look is over, and it was still the file of its name and held what was read."""
        self.written, self._last_size = max(self.written, self._seen), self._size
        self.reading.identity = self.who = self.who._replace(written=self.written)

    def rewritten(self) -> bool:
        """True if the file was cut, or holds other bytes than were read: what is in it was not read yet."""
        cutter = self._cutter
        size = os.fstat(self.file.fileno()).st_size
        compressed = cutter is not None and cutter.kind is not None
        if size < (self._raw.taken if cutter is None or compressed else cutter.end):
            self.lost = Reason.FILE_SHRUNK
        elif cutter is not None and not compressed and not holds(self.file, *self._last_bytes):
            self.lost = Reason.FILE_REPLACED
        else:
            now: Identity | None = identity(self.file)
            if now is not None and not now.head.startswith(self.who.head):
                self.lost = Reason.FILE_REPLACED
            elif now is not None and len(now.head) > len(self.who.head):
                self.reading.identity = self.who = now._replace(
                    written=self.written
                )  # it was shorter when it was opened
        return self.lost is not None

    def _mixed(self, block: InputBlock | None, before: int) -> bool:
        """True if what was just read is not in the file any more: it was cut between two reads of one block, or behind
        them. ``before``: how many bytes of it were read earlier, and were compared already."""
        cutter = self._cutter
        assert cutter is not None
        if cutter.kind is not None or unwritten(self.file):
            return False
        data = b"" if block is None else bytes(memoryview(block.data)[: block.size])
        data = (data + cutter.kept)[before:]
        if not holds(self.file, cutter.end, data):
            self.lost = Reason.FILE_REPLACED
        return self.lost is not None

    def mark(self, written: int) -> Bookmark:
        """The bookmark of what was read, of a file that was written then. A compressed file has no bytes by which a
        copy is told."""
        cutter, who = self._cutter, self.who._replace(written=written)
        if cutter is None or cutter.kind is not None:
            place = self.reading.offset if cutter is None else cutter.base
            return bookmark(self.name, who, (place, self._line), self._raw.taken, None)
        recorded = self.reading.recorded > 0
        return bookmark(self.name, who, (cutter.base, self._line), cutter.end, None, self._last_bytes, recorded)

    def go_on_in(self, file: Any) -> bool:
        """Reads on in an open copy of the file, compressed or not, from where it stopped; False where it holds less
        than what was read."""
        cutter = self._cutter
        assert cutter is not None and cutter.kind is None
        raw = Input(file, self._job.stop)
        growing, kind = Growing(raw), format_of(raw.head())
        source: Any = growing if kind is None else Decompressed(kind, growing, self._job.limits)
        who = identity(file)
        assert who is not None
        if kind is None:
            raw.seek(cutter.end)
            reached = who.size
        else:
            reached = Cutter(raw, source, self._job.pool, self._job.batch_bytes, grows=True).skip(cutter.end)
        if reached < cutter.end:
            return False
        self.file.close()
        self.file, self._raw, self._growing, self.lost = file, raw, growing, None
        self.reading.identity, self.who, self.reading.kind = who, who, kind
        cutter.go_on_in(raw, source)
        return True

    def end(self, gone: bool) -> Iterator[tuple[Reading, InputBlock]]:
        """The rest of a file that is not followed any more, of what was read of it where the rest is ``gone``; what
        is half-written has no end to wait for."""
        self._growing.open, self._growing.gone = False, gone
        yield from self.news(certain=True)
        if not self._ended and self._cutter is not None:
            yield self._finished(self._cutter)

    def _finished(self, cutter: Cutter) -> tuple[Reading, InputBlock]:
        self.reading.fault = None if self.lost is not None else cutter.fault
        self.reading.closed = self._ended = True
        block = cutter.finish()
        self._taken(block, cutter)
        return self.reading, block
