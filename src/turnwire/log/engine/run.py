"""One reading of a scan's sources: batches, rejects and the tally in order, with every byte accounted for.

It knows nothing of the :class:`Scan` that began it, so that one that is dropped in the middle ends at once: its threads
hold on to this, and nothing here holds on to the iteration.
"""

from __future__ import annotations

import os
import queue
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from turnwire.contract import Column
from turnwire.errors import DecodeError, FileRefused, Reason, WireError
from turnwire.log.engine.all_wires import BlockResult, Engine, Finder, of_formats
from turnwire.log.engine.columns import REASONS
from turnwire.log.engine.inheritance import Inheritance, handed_on
from turnwire.log.input.bookmarks import TAIL, Bookmark, Gap
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import Blocks, InputBlock, Reading, Stop, Stopped, stream_blocks
from turnwire.log.input.rotated_names import forget
from turnwire.log.input.rotation import Bookmarks, Follower, file_blocks
from turnwire.log.input.sources import SOURCE_CODE, ReadOptions, Source, found_sources, sources
from turnwire.log.output import rejects as quarantine
from turnwire.log.output.batch import Batch, Rows
from turnwire.log.search.rows import REJECT_DTYPES
from turnwire.log.search.texts import SearchState

_THREAD = "turnwire-scan"
_PATIENCE = 1.0
"""Seconds that closing waits for the thread that reads: one that waits for a file of the caller's cannot be woken."""
IN_FLIGHT = 128 << 20
"""Bytes of blocks and their columns that threads may work on at the same time, about."""
USUAL_RECORD = 32
Piece = tuple[Reading, InputBlock]
Tell = Callable[[int, "int | None", int, int], Any]


class Run:
    """``batches`` or ``steps`` reads the sources, once.

    gaps: the lost ranges; refused: files that cannot be read; stop: ends the reading, from any thread. The tally
    is ``bytes``, ``record_bytes``, ``records`` (all that were met), ``selected`` (those that ``where`` wanted),
    ``wires``, ``rejects`` and ``done`` (bytes of the inputs as they are stored). latest: the input of the block that
    was searched last.
    """

    def __init__(self, source: Any, finder: Finder, columns: tuple[Column, ...], options: dict[str, Any]) -> None:
        self.stop = Stop()
        self.gaps: list[Gap] = []
        self._columns = columns
        self._errors: str = options["errors"]
        self._process = 0
        self._source = source
        self._threads: int = options["threads"]
        self._follow: bool = options["follow"]
        self._tell: Tell | bool | None = options["progress"]
        self.refused: list[OSError] = []
        self._warned = 0  # of so many of these
        self._ends = False
        self._waits: bool = self._follow or options["resume"] is not None
        is_data = isinstance(source, (bytes, bytearray, memoryview)) and not self._waits
        marks = None if is_data else Bookmarks(options["resume"], self._waits)
        self._bookmarks: Any = marks  # None: no input is a file
        self._first = 0 if marks is None else marks.record
        # As many blocks as are in flight, and those that the consumer has not let go of yet.
        kept = _most_in_flight(self._threads) + 2
        self._pool = Pool(kept)
        wanted = options["where"]
        looked = {column.name for column in (*columns, *(() if wanted is None else wanted.columns))}
        every = self._waits or getattr(source, "cut", None) is not None  # another scan reads on, with other columns
        self._engine = Engine(
            finder,
            columns,
            wanted,
            first_error=self._errors == "raise",
            keep=options["keep"],
            limit=options["limits"].message,
            pools=(Pool(kept), Pool(kept)),
            fences=options["fences"],
            inheritance=Inheritance(finder, looked, every) if of_formats(finder.wire) else None,
        )
        self.latest: Reading | None = None
        self._file: Reading | None = None  # the one that was begun last
        self._marks: dict[tuple[int, int], Bookmark] = {}  # of those before it: what they were read by is larger
        self.wires: Counter[str] = Counter(dict.fromkeys(self._engine.wires, 0))
        self.bytes = self.record_bytes = self.records = self.selected = self.done = 0
        self._job = ReadOptions(
            self._pool,
            options["batch_bytes"],
            options["borrow"] and not self._follow,
            options["limits"],
            self.stop,
            marks,
            self._gap,
            self._refuse,
            self._follow,
        )

    def batches(self) -> Generator[Batch]:
        """The batches of all sources, in order."""
        with closing(self.steps()) as steps:
            for batch in steps:
                if batch is not None:
                    yield batch
                del batch

    def steps(self, ends: bool = False) -> Generator[Batch | None]:
        """The same, with a None after each block, also where it gave no batch: the tally has moved on. A scan that
        follows gives a None as well after each look at its files. ``ends``: one that leaves what is open at the end of
        a file for the next gives what is whole there, once."""
        self._ends = ends
        if self.stop:
            return
        tell, clear = self._progress()
        try:
            for look in self._looks():
                for piece, found in () if look is None else self._scanned(look):
                    taken = self._results(*piece, found)
                    del piece, found
                    for batch, error in taken:
                        tell()
                        if batch is not None:
                            yield batch
                            del batch
                        if error is not None:
                            raise error
                        if self.stop:
                            return
                    tell()
                    self._warn()
                    yield None
                if self._follow:
                    self._mark(self._marks)
                    self._bookmarks.add(*self._marks.values())
                    self._marks.clear()
                    self._file = None
                    yield None
            self._warn()
            if self._warned < len(self.refused):
                raise self.refused[0]  # there was nothing else
            self.rejects.complete = True
        except Stopped:
            return
        finally:
            self.rejects.complete |= self._follow  # it ends when it is told to
            self.stop.set()
            clear()

    def _gap(self, gap: Gap) -> None:
        """Keeps a gap. Raises DecodeError if errors are raised."""
        self.gaps.append(gap)
        if self._errors == "raise":
            raise DecodeError(gap.why, gap.text, offset=gap.start, path=gap.file)

    def _refuse(self, error: OSError) -> None:
        """Keeps the refusal of a file. Raises it if errors are raised."""
        if self._errors == "raise":
            raise error
        self.refused.append(error)

    def _warn(self) -> None:
        """Warns of the files that were refused, once something else was read."""
        if self.bytes or self._waits:
            for error in self.refused[self._warned :]:
                self._warned += 1
                warnings.warn(FileRefused(error), stacklevel=2)

    def _looks(self) -> Iterator[Blocks | None]:
        """The blocks of all sources, in order, from where the bookmarks are; what could not be had is told as a gap. Of
        sources that are followed those of one look after the other, None where there was nothing new."""
        found, failure = found_sources(self._source)
        marks = self._bookmarks
        if marks is not None and (marks.files or len(found) > 1):
            marks.expect([one.name for one in found if one.mappable and one.name is not None])
        try:
            if self._follow:
                yield from Follower(self._source, self._job).looks(found)
            else:
                yield self._blocks(found)
            if failure is not None:
                raise failure
        finally:
            if marks is not None:
                forget()

    def _blocks(self, found: Iterable[Source]) -> Blocks:
        """The blocks of sources; each is kept by whoever has it alone, since its memory serves the next one."""
        for one in found:
            yield from (file_blocks if one.mappable else stream_blocks)(one, self._job)

    def _scanned(self, pieces: Blocks) -> Iterator[tuple[Piece, BlockResult | None]]:
        """Every block, in order, with what was found in it where another thread has scanned it already."""
        self._process = os.getpid()
        if self._threads == 1:
            for piece in pieces:
                yield piece, None
                del piece
                self._check_process()
            return
        # A block with the columns of its records, if they are of the usual length.
        size = self._job.batch_bytes * (1 + self._engine.row_bytes / USUAL_RECORD)
        most = max(2, min(_most_in_flight(self._threads), int(IN_FLIGHT / size)))
        yield from self._side_by_side(pieces, most)

    def _side_by_side(self, pieces: Blocks, most: int) -> Iterator[tuple[Piece, BlockResult | None]]:
        """The same from several threads, of which one reads. At most so many pieces are taken and not yet released by
        the consumer. What reading or the search raises comes out at its place in the order."""
        from concurrent.futures import ThreadPoolExecutor

        room, taken = threading.Semaphore(most), queue.SimpleQueue[Any]()
        pool = ThreadPoolExecutor(self._threads, _THREAD)

        def read() -> None:
            error: BaseException | None = None
            try:
                while room.acquire() and not self.stop and (piece := next(pieces, None)) is not None:
                    taken.put((piece, pool.submit(self._work, piece)))
                    del piece
                pieces.close()  # type: ignore[attr-defined]
            except BaseException as failure:
                error = failure
            taken.put(error)

        reader = threading.Thread(target=read, name=_THREAD, daemon=True)
        reader.start()
        try:
            while type(following := taken.get()) is tuple:
                piece, search = following
                yield piece, search.result()
                del piece, search, following
                room.release()
                self._check_process()
            if following is not None:
                raise following
        except BaseException:
            self.stop.set()
            raise
        finally:
            if os.getpid() == self._process:  # in a fork there is nothing to end, and locks may stay locked
                room.release()
                reader.join(_PATIENCE)
                pool.shutdown(cancel_futures=True)

    def _check_process(self) -> None:
        """A fork has none of the threads, and shares with its parent how far files are read: the one would wait for
        ever, and both would miss what the other reads."""
        if os.getpid() != self._process:
            raise RuntimeError("this scan was begun in another process: begin a new one after a fork")

    def _work(self, piece: Piece) -> BlockResult | None:
        if piece[1].within:
            return None
        return self._engine.scan(piece[1], self._is_final(*piece))

    def _progress(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """The function that reports how far the scan is, and the one that removes the bar."""
        if not self._tell:
            return (lambda: None), (lambda: None)
        from turnwire.progress import Progress

        # Bytes of all inputs as they are stored, or None if that cannot be told.
        sizes = [None] if self._follow else [source.bytes() for source in sources(self._source)]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        bar = Progress(total, self._tell is True)
        told: Any = bar.of_scan if self._tell is True else self._tell
        return lambda: told(self.done, total, self.records, len(self.rejects)), bar.clear

    # --- results in order -------------------------------------------------------------------------------------------

    @cached_property
    def rejects(self) -> quarantine.Rejects:
        """The quarantine."""
        return quarantine.Rejects(complete=False)

    def _is_final(self, reading: Reading, block: InputBlock) -> bool:
        """True if the last bytes of a block can be judged by themselves. A record of a wire with state may go over
        many lines; a last line without its end may be half-written. What is open at the end of a file that may grow is
        left at first, and then waits, or is read by itself."""
        grows = reading.identity is not None and not reading.closed
        return block.last and reading.source.cut is None and not (grows and reading.waiting is None)

    def _results(
        self, reading: Reading, block: InputBlock, found: BlockResult | None
    ) -> Iterator[tuple[Batch | None, WireError | None]]:
        """The batches of the next block, each with what is to be raised after it. ``found``: the block scanned by
        itself, which does not count where the block before left something over, or ended within a line."""
        self._begin(reading)
        self.done += block.taken - reading.taken
        reading.taken = block.taken
        whole = self._joined(reading, block)
        is_new = whole is not block or reading.given or (found is not None and not found.position)  # its state
        if found is not None and (is_new or not self._engine.follows(reading.state, found)):
            found = None
        while whole is not None:
            batch, error, whole = self._take(reading, whole, found)
            found = None
            if batch is not None or error is not None:
                yield batch, error

    def _take(
        self, reading: Reading, block: InputBlock, found: BlockResult | None
    ) -> tuple[Batch | None, WireError | None, InputBlock | None]:
        """A batch, an error, and what is left of the last block where its records did not fit into one batch."""
        lines, final = reading.line - 1, self._is_final(reading, block)
        whole, begun = self._waits and reading.waiting is not None, reading.state and reading.state.copy()
        if found is None:
            found, lines = self._engine.scan(block, final, reading.line, reading.state, reading.given, whole), 0
        final = final and not found.block.cut
        assert found.position or not final or not block.size, "the scanner made no progress"
        found.shift_lines(lines)
        before = self.latest
        if reading.state is None and before is not None and before.state is not None:
            found.state.inherited = handed_on(before.state.inherited, before.name, reading.name)
        line = None if whole else reading.line
        found = self._engine.inherited(found, begun, line, final, reading.given)
        reading.offset, reading.line = block.base + found.position, found.line + lines
        self.latest = reading
        if reading.identity is not None and reading.kind is None and found.position:
            last, (end, behind) = bytes(found.buffer[max(0, found.position - TAIL) : found.position]), reading.behind
            behind = behind[: max(len(behind) - max(end - block.base, 0), 0)]  # what was open is read once more
            reading.behind = reading.offset, (behind + last)[-TAIL:]
        reading.state = found.state
        self.bytes += found.position
        error = self._quarantine(reading, found)
        batch = self._batch(reading, found)
        if error is not None:
            return batch, error, None
        if found.block.cut:
            further, size = block.data[found.position :], block.size - found.position
            return batch, error, InputBlock(further, size, reading.offset, block.last, block.taken)
        data = bytes(found.buffer[found.position :])
        rest = InputBlock(data, len(data), reading.offset, block.last, block.taken) if data else None
        if not block.last:
            reading.left, rest = rest, None
        elif not final and reading.source.cut is None and (self._ends or not self._waits):
            reading.waiting = reading.offset, reading.line, reading.state.copy()
            reading.given = reading.given or (-1, 0)
        elif not final:
            reading.left, rest = rest if self._follow else None, None
        if reading.waiting is not None and found.last is not None:
            reading.given = found.last  # is not given again
        elif reading.waiting is None and reading.given is not None and reading.offset > reading.given[0]:
            reading.given = None
        if block.last and rest is None:
            error = self._end(reading)
        return batch, error, rest

    def _begin(self, reading: Reading) -> None:
        if reading.begun:
            return
        reading.begun = True
        if self._follow and (mark := reading.mark) is not None:  # what it has read before counts no more
            reading.taken = mark.offset if mark.tail else mark.size
        if reading.carried is not None:
            reading.state = SearchState.restored(reading.carried, self._engine.fences)
        if reading.identity is not None:
            self._mark(self._marks)
            self._file = reading

    def _mark(self, marks: dict[tuple[int, int], Bookmark]) -> None:
        """Adds the bookmark of the file that was begun last, after all others. The inode of a file that is gone is used
        again, and a file that was cut is begun again: the last one counts."""
        if (file := self._file) is not None:
            marks.pop(file.file_id, None)
            marks[file.file_id] = file.searched()

    def _joined(self, reading: Reading, block: InputBlock) -> InputBlock | None:
        """The block after what the one before left over; None until as much has come, so that a record of any length
        costs linear time."""
        if reading.left is None:
            return block
        reading.pending.append(block)
        reading.pending_bytes += block.size
        left = reading.left
        if not block.last and reading.pending_bytes < left.size:
            return None
        size = left.size + reading.pending_bytes
        data: Any
        if reading.memory is not None:
            data = reading.memory[left.base : left.base + size]
        elif (
            len(reading.pending) == 1
            and block.memory is not None
            and (room := block.memory.size - block.data.size - left.size) >= 0
        ):
            data = block.memory[room:]
            data[: left.size] = np.frombuffer(left.data, np.uint8)
        else:
            data = self._pool.take(size)
            at = 0
            for part in (left, *reading.pending):
                data[at : at + part.size] = np.frombuffer(part.data, np.uint8, part.size) if part.size else ()
                at += part.size
        reading.left, reading.pending, reading.pending_bytes = None, [], 0
        return InputBlock(data, size, left.base, block.last, block.taken)

    def _quarantine(self, reading: Reading, found: BlockResult) -> WireError | None:
        if reading.source.listed and reading.path.lower().endswith(SOURCE_CODE):
            return None
        base = found.block.base
        for table, count in found.rejects:
            self.rejects.add(table, count, found.buffer, base, reading.name, self._errors != "skip")
        if not found.rejects or self._errors != "raise":
            return None
        return quarantine.first_error(found.rejects[0][0], reading.name, found.buffer, base)

    def _batch(self, reading: Reading, found: BlockResult) -> Batch | None:
        first = self._first + self.records
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
        rows = Rows(found.buffer, found.arrays, found.rows, reading.name, base, first, keep)
        return Batch(self._engine.scanner, self._columns, rows)

    def _end(self, reading: Reading) -> WireError | None:
        """The input is at its end."""
        if reading.source.cut is not None:
            return reading.source.cut(reading.offset, reading.kept())
        fault = reading.fault
        if fault is None or (self._waits and not reading.closed and fault.reason is Reason.CUT_OFF):
            return None
        reading.broken = True
        row = {"offset": reading.offset, "line": reading.line, "fault": fault.place, "inner": -1}
        row["reason"] = REASONS.index(fault.reason)
        table = {name: np.array([row.get(name, 0)], dtype) for name, dtype in REJECT_DTYPES.items()}
        self.rejects.add(table, 1, memoryview(b""), reading.offset, reading.name, self._errors != "skip", reading.kind)
        if self._errors != "raise":
            return None
        text = f"byte {fault.place} as stored, after byte {reading.offset} as decompressed: {fault.text}"
        return DecodeError(
            fault.reason, text, offset=fault.place, line=reading.line, wire=reading.kind, path=reading.name
        )

    def position(self) -> dict[str, Any]:
        """The token of how far the scan has got: see :attr:`turnwire.Scan.position`."""
        self._mark(marks := dict(self._marks))
        return (self._bookmarks or Bookmarks()).token(self._first + self.records, marks)


def _most_in_flight(threads: int) -> int:
    """So many blocks are worked on or wait for the consumer: none of the threads has to wait for it."""
    return 1 if threads == 1 else 2 * threads + 1
