"""Collects the results of scanned blocks in order: batches, rejects and the tally, with every byte accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.contract import Column
from turnwire.errors import DecodeError, Reason, WireError
from turnwire.log.engine.block_scanner import BlockResult, Engine
from turnwire.log.input.bookmarks import Bookmarks
from turnwire.log.input.compression import REASONS
from turnwire.log.input.file_identity import TAIL, bookmark
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import InputBlock, line_end
from turnwire.log.input.sources import Reading
from turnwire.log.output import rejects as quarantine
from turnwire.log.output.batch import Batch, Rows, line_start

if TYPE_CHECKING:
    from turnwire.log.input.file_identity import Bookmark


_MOST_READINGS = 64
"""So many files are kept with all by which they were read."""
_A_LOOK = 1 << 12
"""Bytes of something open that are searched again for each look at a file that is followed: up to so many at every
piece that comes, more of them after as many looks without news, or when as much has come."""
_LOOKS = 10
"""After so many looks without news anything is searched again, however large it is: 2 s, of which that is a part."""


class _Stream(NamedTuple):
    """A compressed stream as the quarantine sees it, in the place of a wire."""

    wire: str
    reasons: tuple[Reason | None, ...] = REASONS


class Collector:
    """Takes blocks in order and keeps the tally: ``bytes``, ``record_bytes``, ``records`` (all that were met),
    ``selected`` (those that ``where`` wanted), ``rejects``, ``done`` (bytes of the inputs as they are stored).

    latest: the input of the block that was searched last, looked_at: the offset up to which that was for it.
    """

    def __init__(
        self,
        engine: Engine,
        columns: tuple[Column, ...],
        errors: str,
        bookmarks: Bookmarks,
        pool: Pool,
        eager: bool,
    ) -> None:
        self._engine = engine
        self._columns = columns
        self._errors = errors
        self._bookmarks = bookmarks
        self._pool = pool
        self._eager = eager
        self._looks = 0  # without news
        self.latest: Reading | None = None
        self.looked_at = 0
        self._postponed: dict[int, Reading] = {}  # of which something came that was not searched yet
        self._readings: list[Reading] = []
        self._marks: dict[tuple[int, int], Bookmark] = {}  # of readings that came before all those
        self.rejects = quarantine.Rejects()
        self.wires: Counter[str] = Counter(dict.fromkeys(engine.wires, 0))
        self.bytes = self.record_bytes = self.records = self.selected = self.done = 0

    def final(self, reading: Reading, block: InputBlock) -> bool:
        """True if the last bytes of a block can be judged by themselves. A record of a wire with state may go over
        many lines; a last line without its end may be half-written, where that is waited for."""
        grows = reading.identity is not None and not reading.closed
        return block.last and reading.source.cut is None and not (grows and self._bookmarks.waits)

    def take(
        self, reading: Reading, block: InputBlock, found: BlockResult | None
    ) -> Iterator[tuple[Batch | None, WireError | None]]:
        """The batches of the next block, each with what is to be raised behind it. ``found``: the block scanned by
        itself, which does not count where the block before left something over, or ended within a line."""
        self._begin(reading)
        self.done += block.taken - reading.taken
        reading.taken = block.taken
        whole = self._joined(reading, block)
        if whole is None:
            return
        if whole is not block or reading.head or found is None or not self._engine.follows(reading.state, found):
            found = None
        yield from self._given(reading, whole, found)

    def again(self) -> Iterator[tuple[Batch | None, WireError | None]]:
        """The same of what was not searched yet, after a look at files that had nothing new."""
        self._looks += 1
        for reading in list(self._postponed.values()):
            if self._is_enough(reading):
                yield from self._given(reading, self._together(reading), None)

    def _given(
        self, reading: Reading, whole: InputBlock | None, found: BlockResult | None
    ) -> Iterator[tuple[Batch | None, WireError | None]]:
        while whole is not None:
            batch, error, whole = self._take(reading, whole, found)
            found = None
            if batch is not None or error is not None:
                yield batch, error

    def _take(
        self, reading: Reading, block: InputBlock, found: BlockResult | None
    ) -> tuple[Batch | None, WireError | None, InputBlock | None]:
        """A batch, an error, and what is left of the last block where its records did not fit into one batch."""
        lines = reading.line - 1
        final = self.final(reading, block)
        if found is None:
            found, lines = self._engine.scan(block, final, reading.line, reading.state, reading.head), 0
        assert found.position or not final or not block.size, "the scanner made no progress"
        found.shift_lines(lines)
        reading.offset, reading.line = block.base + found.position, found.line + lines
        self.latest, self.looked_at = reading, block.base + block.size
        if reading.identity is not None and reading.kind is None and found.position:
            last = bytes(found.buffer[max(0, found.position - TAIL) : found.position])
            reading.behind = reading.offset, (reading.behind[1] + last)[-TAIL:]
        reading.state = found.state
        reading.head = line_start(reading.head, found.buffer[: found.position])
        if reading.identity is not None:
            self._reached(reading, found)
        self.bytes += found.position
        error = self._quarantine(reading, found)
        batch = self._batch(reading, found)
        if error is not None:
            return batch, error, None
        rest = None if found.position == block.size else _tail(found, found.position)
        if not block.last:
            reading.left = rest
        elif rest is None or not final:
            error = self._end(reading, block, found)
        return batch, error, rest if block.last and final else None

    def _reached(self, reading: Reading, found: BlockResult) -> None:
        """Keeps where the last line begins, and what was found last: a block may be a piece of a line."""
        base = found.block.base
        stop = line_end(found.buffer, 0, found.position)
        if stop > 0:
            reading.last_line = base + stop, reading.line
        reading.recorded = max(reading.recorded, base + found.behind if found.behind else 0)
        if found.rejects:
            table, count = found.rejects[-1]
            last = int(table["offset"][count - 1])
            reading.rejected = last, last + int(table["length"][count - 1]), int(table["line"][count - 1])
            reading.cut_off = self._engine.scanner.reasons[table["reason"][count - 1]] is Reason.CUT_OFF

    def _begin(self, reading: Reading) -> None:
        if reading.begun:
            return
        reading.begun = True
        reading.last_line = reading.offset, reading.line
        if reading.carried is not None:
            reading.state = self._engine.restored(reading.carried)
        if reading.identity is not None:
            if not len(self._readings) % _MOST_READINGS:
                self._fold()
            self._readings.append(reading)

    def _fold(self) -> None:
        """Keeps no more than bookmarks of the files that are read to their ends, as far as all before them are: of many
        small files, what was read by would be larger than they are. A file that is followed has no end."""
        if self._eager:
            return
        ended = next((at for at, reading in enumerate(self._readings) if not reading.finished), len(self._readings))
        for reading in self._readings[:ended]:
            self._mark(self._marks, reading)
        del self._readings[:ended]

    def _mark(self, marks: dict[tuple[int, int], Bookmark], reading: Reading) -> None:
        """Adds the bookmark of a file, behind all others. The inode of a file that is gone is used again, and a file
        that was cut is begun again: the last one counts."""
        assert reading.identity is not None
        file = reading.identity[:2]
        place = reading.waiting or (reading.offset, reading.line)
        size = 0 if reading.kind else reading.offset
        carried = self._engine.kept(reading.state) if place[0] == reading.offset else None
        behind = (0, b"") if reading.kind else reading.behind
        marks.pop(file, None)
        recorded = reading.recorded > 0
        marks[file] = bookmark(reading.name or "", reading.identity, place, size, carried, behind, recorded)

    def kept(self, reading: Reading) -> dict[str, Any] | None:
        """The state of the search up to where an input is accounted for."""
        return self._engine.kept(reading.state)

    def _joined(self, reading: Reading, block: InputBlock) -> InputBlock | None:
        """The block behind what the one before left over; None until enough of it has come."""
        if reading.left is None:
            return block
        reading.pending.append(block)
        reading.pending_bytes += block.size
        if block.last or self._is_enough(reading):
            return self._together(reading)
        if self._eager:
            self._postponed[id(reading)] = reading
        return None

    def _is_enough(self, reading: Reading) -> bool:
        """Each search takes at least twice as many bytes as the one before, so a record of any length costs linear
        time. Of a file that is followed, what ends is told soon: there the looks count, too, which cost what a search
        of some bytes does."""
        assert reading.left is not None
        size, looks = reading.left.size, self._looks - reading.looked
        return reading.pending_bytes >= size or (self._eager and (size <= _A_LOOK * (1 + looks) or looks >= _LOOKS))

    def _together(self, reading: Reading) -> InputBlock:
        left, block = reading.left, reading.pending[-1]
        assert left is not None
        self._postponed.pop(id(reading), None)
        reading.looked = self._looks
        size = left.size + reading.pending_bytes
        data: Any
        if reading.memory is not None:
            data = reading.memory[left.base : left.base + size + block.ahead]
        else:
            data = self._pool.take(size + block.ahead)
            at = 0
            for part in (left, *reading.pending):
                data[at : at + part.size] = np.frombuffer(part.data, np.uint8, part.size) if part.size else ()
                at += part.size
            if block.ahead:
                data[size : size + block.ahead] = np.frombuffer(block.data, np.uint8)[block.size :][: block.ahead]
        reading.left, reading.pending, reading.pending_bytes = None, [], 0
        return InputBlock(data, size, left.base, block.line_end, block.last, block.taken, block.ahead)

    def _quarantine(self, reading: Reading, found: BlockResult) -> WireError | None:
        scanner = self._engine.scanner
        for table, count in found.rejects:
            base, keep = found.block.base, self._errors != "skip"
            self.rejects.add(table, count, found.buffer, base, reading.name, scanner, keep)
        if not found.rejects or self._errors != "raise":
            return None
        table = found.rejects[0][0]
        return quarantine.first_error(table, scanner, reading.name, found.buffer, found.block.base)

    def _batch(self, reading: Reading, found: BlockResult) -> Batch | None:
        first = self._bookmarks.record + self.records
        for wire, count in found.wires.items():
            self.records += count
            self.wires[wire] += count
        self.record_bytes += found.met_bytes
        self.selected += found.rows
        if not found.rows:
            return None
        if "record" in found.arrays:
            found.arrays["record"] += first
        base, keep = found.block.base, self._engine.keep
        rows = Rows(found.buffer, found.arrays, found.rows, reading.name, base, first, keep, found.head)
        return Batch(self._engine.scanner, self._columns, rows)

    def _end(self, reading: Reading, block: InputBlock, found: BlockResult) -> WireError | None:
        """The input is at its end. Its bookmark is in front of a last line that may be half-written."""
        reading.finished = True
        if reading.source.cut is not None:
            return reading.source.cut(reading.offset, self._engine.kept(reading.state))
        if reading.identity is not None and not self._bookmarks.waits:
            reading.waiting = self._waiting(found, reading)
        fault = reading.fault
        if fault is None or (self._bookmarks.waits and not reading.closed and fault.reason is Reason.CUT_OFF):
            return None
        values = (reading.offset, 0, reading.line, fault.place, REASONS.index(fault.reason))
        types = quarantine.DTYPES.items()
        table = {name: np.array([value], dtype) for (name, dtype), value in zip(types, values, strict=True)}
        stream = _Stream(reading.kind or "")
        keep = self._errors != "skip"
        self.rejects.add(table, 1, memoryview(b""), reading.offset, reading.name, stream, keep)  # type: ignore[arg-type]
        if self._errors != "raise":
            return None
        text = f"byte {fault.place} as stored, after byte {reading.offset} as decompressed: {fault.text}"
        return DecodeError(
            fault.reason, text, offset=fault.place, line=reading.line, wire=reading.kind, path=reading.name
        )

    @staticmethod
    def _waiting(found: BlockResult, reading: Reading) -> tuple[int, int] | None:
        """Offset and line where a record may have begun whose end is not written yet: in the last line, or where the
        last damaged range begins if it reaches the end, or is an object that the end cuts off; but behind the last
        record. None where the last line has its end and nothing is open. It does not depend on how the input was cut
        into blocks."""
        start, line = reading.last_line
        first, stop, number = reading.rejected
        rest = bytes(found.buffer[max(stop - found.block.base, 0) : found.position])
        cut_off = reading.cut_off and stop > found.block.base and not rest.strip()
        if start == reading.offset and not cut_off:
            return None
        if (stop == reading.offset or cut_off) and first < start:
            start, line = first, number
        return (start, line) if reading.recorded <= start else (reading.recorded, reading.line)

    def position(self) -> dict[str, Any]:
        """The token of how far the scan has got: see :attr:`turnwire.Scan.position`."""
        last: dict[tuple[int, int], Reading] = {}
        for reading in self._readings:
            assert reading.identity is not None
            last.pop(reading.identity[:2], None)
            last[reading.identity[:2]] = reading
        self._readings = list(last.values())
        marks = dict(self._marks)
        for reading in self._readings:
            self._mark(marks, reading)
        return self._bookmarks.token(self._bookmarks.record + self.records, marks)


def _tail(found: BlockResult, position: int) -> InputBlock:
    """The part of a block behind a position."""
    block = found.block
    data = bytes(found.buffer[position:])
    return InputBlock(data, len(data), block.base + position, block.line_end, block.last, block.taken)
