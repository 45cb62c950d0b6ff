"""One block of input to rows and rejects. Nothing here changes but a guess how many rows come: any number of threads
scan blocks at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import BulkScanner, Column
from turnwire.log.engine.all_wires import Mixed
from turnwire.log.engine.columns import table_dtypes
from turnwire.log.engine.where import Filter
from turnwire.log.input.memory import Pool, Room, carve
from turnwire.log.input.reading import Block
from turnwire.log.output import rejects as quarantine
from turnwire.log.output.batch import Batch, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]


class Found(NamedTuple):
    """What one block gave.

    rows: how many of the arrays' rows are wanted (by ``where``); wires, met_bytes: how many records there are of each
    wire, and their bytes; rejects: tables with how many rows of each are filled; position: where the next block must
    start, in this one; line: the line there, when ``block`` started with line 1 or the one it was scanned with; state:
    what the wire carries to the next block, as the core's arguments; head: how the line begins in whose middle the
    block begins; behind: where in the block the last record ends.
    """

    block: Block
    buffer: memoryview
    arrays: Arrays
    rows: int
    wires: dict[str, int]
    met_bytes: int
    rejects: list[tuple[Arrays, int]]
    position: int
    line: int
    state: dict[str, Any]
    head: bytes
    behind: int

    def shift_lines(self, lines: int) -> None:
        """The block starts so many lines later than it was scanned with."""
        if lines and "line" in self.arrays:
            self.arrays["line"][: self.rows] += lines
        for table, count in self.rejects if lines else ():
            table["line"][:count] += lines


class Engine:
    """Scans blocks: ``scan`` may be called from any thread, with a state of its own for each input."""

    def __init__(
        self,
        scanner: BulkScanner,
        columns: tuple[Column, ...],
        chosen: Filter | None,
        *,
        first_error: bool,
        keep: bool,
        limit: int,
        pools: tuple[Pool, Pool],
        mixed: Mixed | None = None,
    ) -> None:
        self.scanner = scanner
        self._mixed = mixed
        self.keep = keep
        self._filter = chosen
        self._first_error = first_error
        self._limit = limit
        self._pools = pools
        extra = () if chosen is None else tuple(column for column in chosen.columns if column not in columns)
        self._columns = columns + extra
        self._room = Room(scanner.smallest)
        self._tables = _by_use(table_dtypes(scanner, self._columns), scanner, columns)
        self.row_bytes = sum(dtype.itemsize for dtypes in self._tables for dtype in dtypes.values())

    def scan(
        self, block: Block, final: bool, line: int = 1, state: dict[str, Any] | None = None, head: bytes = b""
    ) -> Found:
        """The records of one block. ``final``: nothing follows that could change how its last bytes are read;
        ``head``: that of the line which the block begins in the middle of."""
        if state is None:
            state = {} if self.scanner.state is None else {"state": self.scanner.state()}
        if block.ahead > self._limit:  # one line can be too long by itself, and what it ends would not end there
            block = block._replace(ahead=0)
        if self._mixed is None:
            arrays, rows, rejects, position, line = self._read(block, final, line, state)
        else:
            room = self._room.most(block.size)
            arrays = self._carved(room)
            rows, rejects, position, line = self._mixed.scan(
                block, final, arrays, room, line, state["state"], self.keep, self._limit
            )
        if rejects and self._first_error:
            first = rejects[0][0]
            rejects = [(first, 1)]
            rows = int(first["row"][0] if "row" in first else arrays["offset"][:rows].searchsorted(first["offset"][0]))
            position = int(first["offset"][0] + first["length"][0]) - block.base
        buffer = memoryview(block.data)[: block.size].toreadonly()
        lengths = arrays["length"][:rows]
        behind = int(arrays["offset"][rows - 1] + lengths[-1]) - block.base if rows else 0
        wires = self._wires(arrays, rows)
        found = Found(
            block, buffer, arrays, rows, wires, int(lengths.sum()), rejects, position, line, state, head, behind
        )
        return found if self._filter is None or not rows else self._chosen(self._filter, found)

    def follows(self, state: dict[str, Any] | None, found: Found) -> bool:
        """Whether a block that was scanned with a fresh state was scanned rightly behind one that left this state. What
        it leaves is made what it leaves there."""
        if state is None or not self.scanner.spans_lines:
            return True
        follows = self.scanner.follows
        return follows is not None and follows(state["state"], found.state["state"], found.buffer)

    def kept(self, state: dict[str, Any] | None) -> list[int] | None:
        """What a bookmark keeps of a state: numbers, or None where nothing matters behind the end of a line."""
        if state is None or not self.scanner.spans_lines:
            return None
        carried = (state["state"] if self._mixed is None else state["state"].csp)[1:3]
        return [0, *carried, 0] if any(carried) else None

    def restored(self, carried: list[int]) -> dict[str, Any] | None:
        """The state of which this was kept."""
        if self.scanner.state is None or not self.scanner.spans_lines:
            return None
        state = self.scanner.state()
        numbers = state if self._mixed is None else state.csp
        for place, number in enumerate(carried[:3]):
            numbers[place] = number
        return {"state": state}

    @property
    def wires(self) -> tuple[str, ...]:
        """The wires that are looked for."""
        return (self.scanner.wire,) if self._mixed is None else self._mixed.wires

    def _wires(self, arrays: Arrays, rows: int) -> dict[str, int]:
        if self._mixed is None:
            return {self.scanner.wire: rows}
        names = registry.names()
        counts = np.bincount(arrays["wire"][:rows], minlength=len(names)).tolist()
        return {name: counts[names.index(name)] for name in self.wires}

    def _read(
        self, block: Block, final: bool, line: int, state: dict[str, Any]
    ) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
        """The core on one block: (columns, rows, tables of rejects with how many there are in each, position, line)."""
        size = block.size
        most = self._room.most(size)
        # Where a piece of a line is all there is, a core that stops may be waiting for the rest of it.
        room = self._room.guess(size) if final or self.scanner.spans_lines else most
        arrays = self._carved(room)
        rejects: list[tuple[Arrays, int]] = []
        rows = position = 0
        reject_room, full = quarantine.ROOM, True
        while full:
            table = quarantine.table(reject_room, json=self.scanner.json)
            rows, bad, position, line = self.scanner.scan(
                block.data,
                position,
                size + block.ahead,
                final,
                arrays,
                rows,
                room,
                table,
                0,
                reject_room,
                base=block.base,
                line=line,
                keep=self.keep,
                limit=self._limit,
                **state,
            )
            if bad:
                rejects.append((table, bad))
            full = bad == reject_room
            if position < size and room < most and not full and (final or rows == room):
                room = self._room.more(size, max(rows, room), position)
                arrays, full = self._grown(arrays, rows, room), True
            elif full:
                reject_room = min(reject_room * 4, quarantine.MOST_ROOM)  # each round costs a look at the whole block
            full = full and not (bad and self._first_error)
        self._room.tell(size, rows)
        return arrays, rows, rejects, position, line

    def _carved(self, room: int) -> Arrays:
        """Columns for so many rows."""
        values, places = (carve(pool, dtypes, room) for pool, dtypes in zip(self._pools, self._tables, strict=True))
        return values | places

    def _grown(self, arrays: Arrays, rows: int, room: int) -> Arrays:
        """The same columns with room for more rows."""
        larger = self._carved(room)
        for name, array in larger.items():
            array[:rows] = arrays[name][:rows]
        return {**arrays, **larger}

    def _chosen(self, chosen: Filter, found: Found) -> Found:
        """Only the rows that ``where`` wants, with their numbers in the column "record" (from 0 in this block)."""
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self.keep, found.head)
        mask = chosen.mask(Batch(self.scanner, self._columns, rows))
        numbers = mask.nonzero()[0]
        arrays = {name: array if name == "arena" else array[: found.rows][mask] for name, array in found.arrays.items()}
        arrays["record"] = numbers
        return found._replace(arrays=arrays, rows=len(numbers))


def _by_use(
    dtypes: dict[str, str], scanner: BulkScanner, columns: tuple[Column, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays that are columns as they are, and those that only say where things stand. They lie in different
    memory: an Arrow table that keeps the former lets the latter go."""
    named = {column.name for column in columns}
    named |= {source for name, (way, source) in scanner.common.items() if way == "column" and name in named}
    whole = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    values = {name: dtype for name, dtype in whole.items() if name in named}
    return values, {name: dtype for name, dtype in whole.items() if name not in values}
