"""The search of logs as the wires describe it, one block of input at a time: rows and rejects, and their description.

A scan of one wire is the same search as that of all; only that wire's records and rejects are kept. Any number of
threads scan blocks at the same time. The rules of the search are in docs/scan.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import _backend, registry
from turnwire.contract import (
    COMMON,
    FORMATS,
    LINES,
    MATCHED,
    OBJECT,
    TOKEN,
    WORK,
    BulkScanner,
    Column,
    FormatWire,
    Wire,
)
from turnwire.log.engine.columns import REASONS, bulk_scanner, table_dtypes
from turnwire.log.input.memory import Pool, carve
from turnwire.log.input.reading import InputBlock, cut_in_long_line
from turnwire.log.output.batch import Batch, Rows
from turnwire.log.search.texts import LONGEST_LINE, SearchState
from turnwire.log.search.tokens import TextWires

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.inheritance import Inheritance
    from turnwire.log.engine.where import Filter

    Arrays = dict[str, NDArray[Any]]

_core = _backend.load("log.search")
_INNER = {"inner": np.dtype("i8")}
MOST_KINDS = 255
"""The kinds of all wires, equal names counted once: one byte holds their numbers and one that stands for none."""


class Finder:
    """The search of all wires, made from what each wire says of itself.

    - wire: whose records are kept; None for all. code: its number, or None; wires: the names of the wires kept.
    - scanner: the description of the columns that a batch needs. own: the scanner of the one wire kept.
    - located: whether the one wire kept has columns of its own that no JSON plan fills (nSLIP, CSP/1, further text).
    - nslip, csp: the numbers of these wires. kinds: wire -> the numbers of its kinds.
    - documents: the wires that have documents. plans: of the JSON wires; reading: finds their values in a message.
    """

    def __init__(self, wire: str | None = None) -> None:
        from turnwire.json import scanner as json
        from turnwire.json._rows_py import MessageValues
        from turnwire.json.plan import check_plans, merge_plans

        every, known = registry.names(), registry.wires()
        self.own = None if wire is None or wire == FORMATS else bulk_scanner(wire)
        if of_formats(wire):
            wanted = registry.formats() if wire == FORMATS else {str(wire): registry.wire(str(wire))}
            every, known = registry.codes(), {name: registry.wire(name) for name in MATCHED} | wanted
        found = _findable(known)
        scanners = {name: bulk_scanner(name) for name in found}
        objects = [name for name in found if registry.wire(name).style == OBJECT]
        kinds = {name: _kinds(scanner) for name, scanner in scanners.items()}
        names = tuple(dict.fromkeys(kind for there in kinds.values() for kind in there))
        if len(names) > MOST_KINDS:
            raise ValueError(f"the wires have {len(names)} kinds of records; {MOST_KINDS} at most fit into one column")
        codes: dict[str, list[int]] = {name: [names.index(kind) for kind in there] for name, there in kinds.items()}
        self.wire = wire
        self.wires = tuple(found) if wire is None else tuple(objects) if wire == FORMATS else (wire,)
        self.code = None if wire is None or wire == FORMATS else every.index(wire)
        self.own = bulk_scanner(objects[0]) if wire == FORMATS else self.own
        self._kept = None if wire is None else np.isin(np.arange(256), [every.index(one) for one in self.wires])
        self.located = self.own is not None and not self.own.json
        order = sorted(
            map(registry.wire, objects), key=lambda one: not (isinstance(one, FormatWire) and one.table.embeds)
        )
        shared = merge_plans([plan._replace(wire=one.name) for one in order for plan in scanners[one.name].plans])
        if of_formats(wire):  # all of them have the same columns
            columns = self.own.columns if self.own is not None else ()
            self.columns: tuple[Column, ...] = tuple(_column(column, column.names, every) for column in columns)
            plans = tuple(plan._replace(code=every.index(plan.wire)) for plan in shared)
        elif self.own is not None and not self.located:
            fills = [fill for plan in self.own.plans for one in plan.variants for fill in one.fills]
            more = WORK if {fill.column for fill in fills} & {column.name for column in WORK} else ()
            self.columns = (*self.own.columns, *more)
            plans = tuple(_own_plan(plan, str(wire), every) for plan in shared)
        else:
            self.columns = (json.INNER, *(_column(column, names, every) for column in COMMON), *WORK)
            plans = tuple(_common_plan(plan, scanners[plan.wire], codes[plan.wire], every) for plan in shared)
        self.valid, self.escaped = json.bits(self.columns)
        self.nslip, self.csp = every.index("nslip"), every.index("csp")
        nslip = (self.nslip, codes["nslip"], [REASONS.index(reason) for reason in scanners["nslip"].reasons])
        self._plan_arguments = (plans, self.columns, self.valid, self.escaped, REASONS, nslip)
        check_plans(plans, self.columns)
        self.plans, self.reading = plans, MessageValues(plans)
        self.texts = frozenset(column.name for column in self.columns if column.kind == "text")
        self.kinds = codes
        further = [registry.wire(name) for name in found if scanners[name].read is not None]
        numbers = {name: code for code, name in enumerate(every)}
        self.tokens, self.lines = (
            TextWires([wire for wire in further if wire.style == style], numbers) for style in (TOKEN, LINES)
        )
        self.documents = [wire for wire in map(registry.wire, found) if wire.scanner.documents is not None]
        if self.own is not None and self.located:
            own = _with_places(self.own)
            more = WORK if wire in MATCHED else ()
            self.scanner = own._replace(columns=(*own.columns, *more), reasons=REASONS)
        elif self.own is not None:
            own = self.own._replace(wire=str(self.wire), columns=self.columns, reasons=REASONS)
            self.scanner = own._replace(bits=self.valid, escaped=self.escaped)
        else:
            self.scanner = BulkScanner(
                wire="mixed",
                columns=self.columns,
                present="u8",
                bits=self.valid,
                escaped=self.escaped,
                plain=json.plain,
                decode=_decode,
                json=True,
                reasons=REASONS,
            )

    @cached_property
    def doubting(self) -> Finder:
        """The same search, but any damaged object is a reject, of the first format."""
        from turnwire.json.plan import Sign

        other, first = copy(self), [plan.wire in self.wires for plan in self.plans].index(True)
        every: Any = ((Sign((), 0),),)
        plans = [plan._replace(torn=(), signs=every if n == first else ()) for n, plan in enumerate(self.plans)]
        other.__dict__.pop("_core", None)
        other.plans = tuple(plans)
        other._plan_arguments = (other.plans, *self._plan_arguments[1:])
        return other

    def dtypes(self, columns: tuple[Column, ...]) -> dict[str, str]:
        """The arrays that a scan for these columns fills."""
        dtypes = table_dtypes(self.scanner, columns)
        return dtypes if self._kept is None or self.located else {**dtypes, "wire": "u1"}

    def search(
        self, block: Any, final: bool, line: int, state: Any, keep: bool, limit: int, dtypes: Arrays, memory: Any
    ) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
        """One block: (arrays, rows, tables of rejects with how many there are in each,
        position, line). memory: (dtypes, rows) -> arrays with room for so many."""
        if self.located:
            dtypes = {("own_present" if name == "present" else name): dtype for name, dtype in dtypes.items()}
        arrays, rows, rejects, position, line = _core.searched(
            self, block, final, line, state, keep, limit, dtypes, memory
        )
        if self._kept is not None:
            kept, wires = self._kept, arrays["wire"][:rows]
            if rejects or not (kept[wires] if self.code is None else wires == self.code).all():
                arrays, rows, rejects = _only(arrays, rows, rejects, lambda table: kept[table["wire"]])
        if self.located:
            arrays = self._located(arrays, rows)
        return arrays, rows, rejects, position, line

    def _located(self, arrays: Arrays, rows: int) -> Arrays:
        """The arrays of a wire that has its own columns: what the search says of records, in the wire's own form."""
        bits, present = arrays["present"][:rows], arrays.pop("own_present")[:rows]
        some = int(np.bitwise_or.reduce(bits)) if rows else 0
        for name in ("inner", "time"):
            if name in self.scanner.bits and some >> self.valid[name] & 1:
                there = bits >> np.uint64(self.valid[name]) & np.uint64(1)
                present |= (there << np.uint64(self.scanner.bits[name])).astype(present.dtype)
        arrays["present"] = present
        return arrays


def of_formats(wire: str | None) -> bool:
    """True if a scan for a wire is one for formats of real traffic: for one of them, or ``FORMATS`` for all."""
    return wire is not None and (wire == FORMATS or isinstance(registry.wire(wire), FormatWire))


def finder(wire: str | None = None) -> Finder:
    """The search for a wire, or for all (None): made once. Raises UnknownName."""
    if wire is not None and type(wire) is not str:
        bulk_scanner(wire)
    return _finder(wire, registry.codes())


@cache
def _finder(wire: str | None, _: tuple[str, ...]) -> Finder:
    return Finder(wire)


def _only(
    arrays: Arrays, rows: int, rejects: list[tuple[Arrays, int]], wanted: Callable[[Arrays], NDArray[np.bool_]]
) -> tuple[Arrays, int, list[tuple[Arrays, int]]]:
    """The records and rejects that are ``wanted``."""
    found = {name: array if name == "arena" else array[:rows] for name, array in arrays.items()}
    mask = wanted(found)
    before = np.append(0, np.cumsum(mask))
    if not mask.all():
        arrays = {name: array if name == "arena" else array[mask] for name, array in found.items()}
    kept = []
    for table, count in rejects:
        found = {name: array[:count] for name, array in table.items()}
        mine = wanted(found)
        found = {name: array[mine] for name, array in found.items()}
        found["row"] = before[found["row"]]
        if len(found["row"]):
            kept.append((found, len(found["row"])))
    return arrays, int(before[-1]), kept


def _findable(wires: Mapping[str, Wire]) -> list[str]:
    """The wires that one pass finds. Warns, once, of each other one: its records are text to such a scan."""
    found = []
    for name, wire in wires.items():
        if wire.has("scanner"):
            found.append(name)
        else:
            warnings.warn(f"a scan of all wires treats {name} as text: it has no scanner", stacklevel=5)
    return found


def _decode(raw: Any, *, wire: str, unknown: str = "error") -> Any:
    return bulk_scanner(wire).decode(raw, unknown=unknown)


def _kinds(scanner: BulkScanner) -> tuple[str, ...]:
    """The kinds of a wire's records; of a wire that has none, its name."""
    source = scanner.common.get("kind", ("", "kind"))[1]
    found = (column.names for column in scanner.columns if column.name == source and column.kind == "enum")
    return next(found, (scanner.wire,))


def _column(column: Column, kinds: tuple[str, ...], wires: tuple[str, ...]) -> Column:
    if column.name == "wire":
        return column._replace(names=wires)
    return column._replace(names=kinds, nullable=False) if column.name == "kind" else column


def _with_places(scanner: BulkScanner) -> BulkScanner:
    """The same scanner with the columns that the search fills for any wire: ``inner``, the place in the string of JSON
    that a record is in, and ``time``, if none of its own is that."""
    for column in (Column("inner", "i64", nullable=True), *(one for one in COMMON if one.name == "time")):
        if column.name in scanner.bits or column.name in scanner.common:
            continue
        bit = max([*scanner.bits.values(), *scanner.escaped.values()]) + 1
        if bit >= 8 * np.dtype(scanner.present).itemsize:
            raise ValueError(f"no bit is left for the column {column.name} of {scanner.wire}")
        scanner = scanner._replace(columns=(*scanner.columns, column), bits={**scanner.bits, column.name: bit})
    return scanner


def _own_plan(plan: Any, wire: str, every: tuple[str, ...]) -> Any:
    """The plan of a JSON wire in a scan for one wire: others only find what is theirs."""
    plan = plan._replace(code=every.index(plan.wire))
    if plan.wire == wire:
        return plan
    return plan._replace(variants=tuple(variant._replace(fills=()) for variant in plan.variants))


def _common_plan(plan: Any, scanner: BulkScanner, codes: list[int], every: tuple[str, ...]) -> Any:
    """The plan of a JSON wire, its columns by the names that any wire has. codes: of its kinds, among those of all."""
    from turnwire.json.plan import Fill

    own = {column.name: column for column in scanner.columns}
    sources = {
        common: scanner.common.get(common, ("", common))[1]
        for common in ("sender", "receiver", "conversation", "subject", "sequence", "kind")
    }
    sources = {common: source for common, source in sources.items() if source in own}
    kindless = "kind" not in sources or own[sources["kind"]].kind != "enum"
    if kindless:
        sources.pop("kind", None)
    variants, kept = [], {"time", *(column.name for column in WORK)}
    for variant in plan.variants:
        fills = [fill for fill in variant.fills if fill.column in kept]
        if kindless:
            fills.append(Fill("kind", "constant", constant=codes[0]))
        for common, source in sources.items():
            for fill in variant.fills:
                if fill.column == source and common == "kind":
                    fills.append(_kind_fill(fill, codes))
                elif fill.column == source:
                    number = fill.how == "integer" and scanner.common.get(common) == ("number", source)
                    fills.append(fill._replace(column=common, how="digits" if number else fill.how))
        variants.append(variant._replace(fills=tuple(fills)))
    return plan._replace(variants=tuple(variants), code=every.index(plan.wire))


def _kind_fill(fill: Any, codes: list[int]) -> Any:
    """The filler of the kind of a record, by the numbers of all wires: wires may share the name of a kind."""
    from turnwire.json.plan import NO_NUMBER

    if fill.how == "constant":
        return fill._replace(column="kind", constant=codes[fill.constant])
    if not fill.numbers and codes == list(range(codes[0], codes[0] + len(codes))):
        return fill._replace(column="kind", constant=fill.constant + codes[0])
    numbers = fill.numbers or range(fill.constant, len(codes))
    moved = (NO_NUMBER if number == NO_NUMBER else codes[number] for number in numbers)
    return fill._replace(column="kind", constant=0, numbers=tuple(moved))


# --- one block ------------------------------------------------------------------------------------------------------


class BlockResult(NamedTuple):
    """The result of one block.

    rows: how many of the arrays' rows are wanted (by ``where``); wires: how many records there are of each wire with
    some; met_bytes: their bytes; rejects: tables with how many rows of each are filled; position: where the next block
    must start, in this one; line: the line there, when ``block`` started with line 1 or the one it was scanned with;
    state: that of the search there; last: the place of the last record, see :attr:`bookmarks.Bookmark.given`.
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
    state: SearchState
    last: tuple[int, int] | None

    def shift_lines(self, lines: int) -> None:
        """Corrects the lines of a block that starts this many lines later than assumed."""
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
        wanted: Filter | None,
        *,
        first_error: bool,
        keep: bool,
        limit: int,
        pools: tuple[Pool, Pool],
        fences: bool = False,
        inheritance: Inheritance | None = None,
    ) -> None:
        self.scanner, self.wires = finder.scanner, finder.wires
        self._finder = finder
        self.keep = keep
        self._filter = wanted
        self._first_error = first_error
        self._limit = limit
        self.fences = fences
        self._pools = pools
        self._inheritance = inheritance
        looked = (*(() if wanted is None else wanted.columns), *(() if inheritance is None else inheritance.columns))
        self._columns = tuple(dict.fromkeys((*columns, *looked)))
        self._tables = _by_use(finder, self._columns, columns)
        self._dtypes = {**self._tables[0], **self._tables[1]}
        self._split: tuple[Any, ...] = None, {}, {}
        self.row_bytes = sum(dtype.itemsize for dtype in self._dtypes.values())

    def scan(
        self,
        block: InputBlock,
        final: bool,
        line: int = 1,
        state: SearchState | None = None,
        given: tuple[int, int] | None = None,
        whole: bool = False,
    ) -> BlockResult:
        """The records of one block, or of its part before a cut: see :func:`cut_in_long_line`. ``final``: nothing
        follows that could change how its last bytes are read; ``given``: what begins up to there was given already;
        ``whole``: only what no further byte could change."""
        state = self._begun(block) if state is None else state
        dtypes = self._dtypes if given is None else {**self._dtypes, **_INNER}
        every, most = block, 2 * max(self._limit, LONGEST_LINE)
        block = cut_in_long_line(every, most)
        while True:
            arrays, rows, rejects, position, behind = self._finder.search(
                block, final and not block.cut, line, state, self.keep, self._limit, dtypes, self._memory
            )
            if position or not block.cut:
                break
            block = cut_in_long_line(every, most, block.size)  # something waits for more of the line
        if given is not None:
            arrays, rows, rejects = _only(arrays, rows, rejects, partial(_begin_behind, given))
        if whole:
            rows = min(rows, *(int(table["row"][0]) for table, _ in rejects)) if rejects else rows
            rows, rejects = self._whole(arrays, rows), []
        buffer = memoryview(block.data)[: block.size].toreadonly()
        found = self._summed(BlockResult(block, buffer, arrays, rows, {}, 0, rejects, position, behind, state, None))
        return found if self._inheritance is not None else self._chosen(found)

    def _begun(self, block: InputBlock) -> SearchState:
        """The state at the beginning of a block where no more is known."""
        state = SearchState(self.fences)
        if block.base:  # the input is not at its beginning
            state.within()
        return state

    def _summed(self, found: BlockResult) -> BlockResult:
        """The result with the sums of its records, up to the first reject if no more is asked for."""
        arrays, rows = found.arrays, found.rows
        if found.rejects and self._first_error:
            first = found.rejects[0][0]
            rows = int(first["row"][0])
            place = int(first["offset"][0] + first["length"][0]) - found.block.base
            found = found._replace(rows=rows, rejects=[(first, 1)], position=place)
        own = int(arrays.get("own_bytes", arrays["length"])[:rows].sum())
        inner = int(arrays["inner"][rows - 1]) if rows and "inner" in arrays else 0
        last = (int(arrays["offset"][rows - 1]), inner) if rows else None
        return found._replace(wires=self._wires(arrays, rows), met_bytes=own, last=last)

    def inherited(
        self,
        found: BlockResult,
        before: SearchState | None,
        line: int | None,
        final: bool,
        given: tuple[int, int] | None,
    ) -> BlockResult:
        """The result of a block with all that its records inherit, once those before it are known, and with the damage
        that these tell: call it for each block of an input, in order. before: the state at the beginning of the block;
        line: that there, None if no damage is known yet; final, given: as of :meth:`scan`."""
        if self._inheritance is None:
            return found
        if before is not None:
            found.state.inherited = before.inherited
        if (kept := self._inheritance.belonging(found)) is not None:
            parts = found.arrays, found.rows, found.rejects
            parts = _only(*parts, lambda one: np.full(len(one["wire"]), True) if "reason" in one else kept)
            found = self._summed(found._replace(arrays=parts[0], rows=parts[1], rejects=parts[2]))
        self._inheritance.fill(found)
        if line is None:
            return self._chosen(found)
        damage = self._inheritance.damage(found, before is not None and before.mid, -1 if given is None else given[0])

        def search() -> Any:
            state = self._begun(found.block) if before is None else before.copy()
            options: Any = final, 1, state, self.keep, self._limit, self._finder.dtypes(()), None
            return self._finder.doubting.search(found.block, *options)[2]

        rejects = damage.rejects(line, search)
        return self._chosen(found if rejects is found.rejects else self._summed(found._replace(rejects=rejects)))

    def follows(self, state: SearchState | None, found: BlockResult) -> bool:
        """True if what was found in a block with a fresh state is right after a block that left ``state``. If so,
        ``found.state`` becomes what the block leaves there."""
        openings = [one.scanner.documents.opening for one in self._finder.documents]
        return state is None or state.follows(found.state, bytes(found.buffer), openings)

    def _whole(self, arrays: Arrays, rows: int) -> int:
        """The number of records before the first that may go on: a JSON object and a token end with their last byte,
        lines and documents with what follows them."""
        names = self.wires if self._finder.code is not None else registry.codes()
        goes_on = {wire.name for wire in self._finder.documents}
        ended = [registry.wire(name).style != LINES and name not in goes_on for name in names]
        codes = np.zeros(rows, np.int64) if self._finder.code is not None else arrays["wire"][:rows]
        open_ends = np.flatnonzero(~np.array(ended)[codes])
        return int(open_ends[0]) if len(open_ends) else rows

    def _wires(self, arrays: Arrays, rows: int) -> dict[str, int]:
        if self._finder.wire is not None and self._finder.code is not None:
            return {self._finder.wire: rows}
        counts = np.bincount(arrays["wire"][:rows]).tolist()
        return {registry.codes()[code]: count for code, count in enumerate(counts) if count}

    def _memory(self, dtypes: dict[str, Any], rows: int) -> Arrays:
        """Memory for so many rows: what a batch has as columns apart from what is only of the search."""
        of, values, places = self._split
        if of is not dtypes:  # one dict serves all blocks of a search
            values = {name: dtype for name, dtype in dtypes.items() if name in self._tables[0]}
            places = {name: dtype for name, dtype in dtypes.items() if name not in values}
            self._split = dtypes, values, places
        return carve(self._pools[0], values, rows) | carve(self._pools[1], places, rows)

    def _chosen(self, found: BlockResult) -> BlockResult:
        """Only the rows that ``where`` wants, with their numbers in the column "record" (from 0 in this block)."""
        if self._filter is None or not found.rows:
            return found
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self.keep)
        batch = Batch(self.scanner, self._columns, rows)
        kept = batch.picked(self._filter.mask(batch))._rows
        return found._replace(arrays=kept.arrays, rows=kept.count)


def _begin_behind(given: tuple[int, int], table: Arrays) -> NDArray[np.bool_]:
    """A mask of the rows that begin after a place."""
    offsets, inner = table["offset"], table.get("inner", np.zeros(1, np.int64))
    mask: NDArray[np.bool_] = (offsets > given[0]) | ((offsets == given[0]) & (inner > given[1]))
    return mask


@lru_cache(64)
def _by_use(
    finder: Finder, columns: tuple[Column, ...], asked: tuple[Column, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays that are columns as they are, and those that only say where things are. They lie in different
    memory: an Arrow table that keeps the former lets the latter go."""
    named = {column.name for column in asked}
    named |= {source for name, (how, source) in finder.scanner.common.items() if how == "column" and name in named}
    whole = {name: np.dtype(dtype) for name, dtype in finder.dtypes(columns).items()}
    values = {name: dtype for name, dtype in whole.items() if name in named}
    return values, {name: dtype for name, dtype in whole.items() if name not in values}
