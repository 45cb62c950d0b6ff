"""One block of input to rows and rejects. Any number of threads scan blocks at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import BulkScanner, Column
from turnwire.log.engine.all_wires import Finder
from turnwire.log.engine.where import Filter
from turnwire.log.input.memory import Pool, carve
from turnwire.log.input.reading import InputBlock
from turnwire.log.output.batch import Batch, Rows
from turnwire.log.search.state import SearchState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Read = tuple[Arrays, int, list[tuple[Arrays, int]], int, int]
    """Columns, rows, tables of rejects with how many there are in each, position, line."""


class BlockResult(NamedTuple):
    """The result of one block.

    rows: how many of the arrays' rows are wanted (by ``where``); wires, met_bytes: how many records there are of each
    wire, and their bytes; rejects: tables with how many rows of each are filled; position: where the next block must
    start, in this one; line: the line there, when ``block`` started with line 1 or the one it was scanned with; state:
    what the wire carries to the next block, as the core's arguments; head: how the line begins in whose middle the
    block begins; behind: where in the block the last record ends.
    """

    block: InputBlock
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
        finder: Finder,
        columns: tuple[Column, ...],
        chosen: Filter | None,
        *,
        first_error: bool,
        keep: bool,
        limit: int,
        pools: tuple[Pool, Pool],
        fences: bool = False,
    ) -> None:
        self.scanner = finder.scanner
        self._finder = finder
        self.keep = keep
        self._filter = chosen
        self._first_error = first_error
        self._limit = limit
        self._fences = fences
        self._pools = pools
        extra = () if chosen is None else tuple(column for column in chosen.columns if column not in columns)
        self._columns = columns + extra
        self._tables, self.row_bytes = _tables(finder, self._columns, columns)

    def scan(
        self, block: InputBlock, final: bool, line: int = 1, state: dict[str, Any] | None = None, head: bytes = b""
    ) -> BlockResult:
        """The records of one block. ``final``: nothing follows that could change how its last bytes are read;
        ``head``: that of the line which the block begins in the middle of."""
        if state is None:
            state = {"state": self._finder.state(self._fences)} if not block.base else self.behind_a_cut()
        if block.ahead > self._limit:  # one line can be too long by itself, and what it ends would not end there
            block = block._replace(ahead=0)
        carried = state["state"]
        arrays, rows, rejects, position, line = self._searched(block, final, line, carried)
        if rejects and self._first_error:
            first = rejects[0][0]
            rejects = [(first, 1)]
            rows = int(first["row"][0] if "row" in first else arrays["offset"][:rows].searchsorted(first["offset"][0]))
            position = int(first["offset"][0] + first["length"][0]) - block.base
        buffer = memoryview(block.data)[: block.size].toreadonly()
        lengths = arrays["length"][:rows]
        own = int(arrays.get("own_bytes", lengths)[:rows].sum())
        behind = int(arrays["offset"][rows - 1] + lengths[-1]) - block.base if rows else 0
        wires = self._wires(arrays, rows)
        found = BlockResult(block, buffer, arrays, rows, wires, own, rejects, position, line, state, head, behind)
        return found if self._filter is None or not rows else self._chosen(self._filter, found)

    def behind_a_cut(self) -> dict[str, Any]:
        """The state where an input is not at its beginning, and no more is known."""
        state = self._finder.state(self._fences)
        state.within()
        return {"state": state}

    def follows(self, state: dict[str, Any] | None, found: BlockResult) -> bool:
        """True if what was found in a block with a fresh state is right behind a block that left ``state``. If so,
        ``found.state`` becomes what the block leaves there."""
        return state is None or self._finder.follows(state["state"], found.state["state"], found.buffer)

    def kept(self, state: dict[str, Any] | None) -> dict[str, Any] | None:
        """What a bookmark or a plan keeps of a state, see ``SearchState.kept``."""
        return None if state is None else state["state"].kept()

    def restored(self, carried: dict[str, Any]) -> dict[str, Any]:
        """The state from what was kept of it."""
        return {"state": SearchState.restored(carried, self._fences)}

    @property
    def wires(self) -> tuple[str, ...]:
        """The wires that are looked for."""
        return self._finder.wires

    def _wires(self, arrays: Arrays, rows: int) -> dict[str, int]:
        if self._finder.wire is not None:
            return {self._finder.wire: rows}
        names, codes = registry.names(), arrays["wire"][:rows]
        if rows and (codes == codes[0]).all():  # mostly so, and counting them all would cost more
            return {name: rows if name == names[codes[0]] else 0 for name in self.wires}
        counts = np.bincount(codes, minlength=len(names)).tolist()
        return {name: counts[names.index(name)] for name in self.wires}

    def _memory(self, dtypes: dict[str, Any], rows: int) -> Arrays:
        """Memory for so many rows: what a batch has as columns apart from what is only of the search."""
        values = {name: dtype for name, dtype in dtypes.items() if name in self._tables[0]}
        places = {name: dtype for name, dtype in dtypes.items() if name not in values}
        return carve(self._pools[0], values, rows) | carve(self._pools[1], places, rows)

    def _searched(self, block: InputBlock, final: bool, line: int, state: SearchState) -> Read:
        """The results of the search of all wires in a block, as far as they are asked for."""
        dtypes = {**self._tables[0], **self._tables[1]}
        return self._finder.search(block, final, line, state, self.keep, self._limit, dtypes, self._memory)

    def _chosen(self, chosen: Filter, found: BlockResult) -> BlockResult:
        """Only the rows that ``where`` wants, with their numbers in the column "record" (from 0 in this block)."""
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self.keep, found.head)
        mask = chosen.mask(Batch(self.scanner, self._columns, rows))
        numbers = mask.nonzero()[0]
        arrays = {name: array if name == "arena" else array[: found.rows][mask] for name, array in found.arrays.items()}
        arrays["record"] = numbers
        return found._replace(arrays=arrays, rows=len(numbers))


def _tables(finder: Finder, columns: tuple[Column, ...], asked: tuple[Column, ...]) -> tuple[tuple[Any, Any], int]:
    """The arrays of :func:`_by_use`, and the bytes of one row of all. Those of the last columns are kept: most scans
    ask for all there are."""
    kept = finder.tables
    if kept is None or kept[0] is not columns or kept[1] is not asked:
        tables = _by_use(finder.dtypes(columns), finder.scanner, asked)
        row_bytes = sum(dtype.itemsize for dtypes in tables for dtype in dtypes.values())
        kept = finder.tables = columns, asked, tables, row_bytes
    return kept[2], kept[3]


def _by_use(
    dtypes: dict[str, str], scanner: BulkScanner, columns: tuple[Column, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays that are columns as they are, and those that only say where things are. They lie in different
    memory: an Arrow table that keeps the former lets the latter go."""
    named = {column.name for column in columns}
    named |= {source for name, (way, source) in scanner.common.items() if way == "column" and name in named}
    whole = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    values = {name: dtype for name, dtype in whole.items() if name in named}
    return values, {name: dtype for name, dtype in whole.items() if name not in values}
