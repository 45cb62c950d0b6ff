"""The search of all wires: one pass over each block finds the records of every wire. The rules are in docs/scan.md.

CSP/1 claims its ranges first, since a message goes over many lines and what it holds is its own; then further wires of
lines do (``text_wires.py``). The other wires are found in what is left, from left to right: JSON messages by their
plans, nSLIP by the hooks in the scan of JSON. What a damaged CSP/1 message covers is looked through for lines that are
a whole record of another wire.

A scan of one wire is the same search; only that wire's records and rejects are kept. The columns of a JSON wire are
filled by the search itself, those of the others from the bytes of the records that it located (``fill.py``).
"""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import _backend, registry
from turnwire.contract import COMMON, LIMITS, LINES, OBJECT, TOKEN, BulkScanner, Column, Wire
from turnwire.errors import Reason
from turnwire.framing.documents import Documents
from turnwire.log.engine.block_pass import Pass
from turnwire.log.engine.claims import TEXTS, Claims, LineWire, ShortTexts
from turnwire.log.engine.column_buffers import ColumnBuffers
from turnwire.log.engine.columns import table_dtypes
from turnwire.log.engine.document_rows import DocumentWire
from turnwire.log.engine.fill import LOCATION, filled, only
from turnwire.log.engine.shortcut import Shortcut
from turnwire.log.engine.text_wires import TextWires
from turnwire.log.output import rejects as quarantine
from turnwire.log.wire_scanners import bulk_scanner

if TYPE_CHECKING:
    Arrays = dict[str, Any]

_heads = _backend.load("framing.line_heads")
_REASONS: tuple[Reason | None, ...] = (None, *Reason)
_CODES = {reason: code for code, reason in enumerate(_REASONS)}
_SMALLEST = len("CSP/1;")
_core = _backend.load("json.lines")
_ONE_PASS = not os.environ.get("TURNWIRE_OLD_SEARCH")
"""While ``log.search`` takes the place of this search: whether it does."""
MOST_KINDS = 255
"""The kinds of all wires, equal names counted once: one byte holds their numbers and one that stands for none."""
_MOST_MARKS = 8
"""Marks of wires of lines that the native core looks for in strings; where there are more, the pure one does."""
_MARKS = (b"CSP/1", b"CSP\\/1")
"""How CSP/1 is written in a string of JSON: some writers escape the slash."""


class _Tokens(NamedTuple):
    """What the plan of the pure core knows of further wires whose records are tokens: see its ``Plan``."""

    next: Callable[..., Any]
    marks: tuple[bytes, ...]


@cache
def _pure() -> Any:
    return _backend.core_module("pure", "json.lines")


class State:
    """What goes from block to block of one input.

    csp, lines: what the scans of CSP/1 and of lines carry. within_line: whether the next block begins in the middle of
    a line. csp_at: where CSP/1 goes on, if that is behind the start of the next block (an object is open there), or -1.
    documents: those of the input so far. own: the state of a wire that only its own scan finds. met: whether a record
    or a reject is in the block that was read last; signs: whether lines of it showed a sign (see line_heads);
    between: whether lines behind its first CSP/1 did, outside of good messages. unsure: whether it may have records of
    wires that nobody looked for.
    """

    def __init__(self, csp: Any, lines: Any, documents: Documents) -> None:
        self.csp = csp
        self.lines = lines
        self.documents = documents
        self.within_line = False
        self.csp_at = -1
        self.met = False
        self.signs = self.between = self.unsure = False
        self.own: Any = None

    def idle(self) -> bool:
        """Whether no CSP/1 message can be open."""
        return not any(self.csp[1:3])

    def copy(self) -> State:
        """An independent copy."""
        lines = type(self.lines)()
        lines.at, lines.known, lines.time = self.lines.at, self.lines.known, self.lines.time
        lines.values, lines.held = self.lines.values, self.lines.held
        documents = Documents(self.documents.limit)
        for name in Documents.__slots__:
            setattr(documents, name, getattr(self.documents, name))
        state = State(array("q", self.csp), lines, documents)
        state.within_line, state.csp_at, state.met = self.within_line, self.csp_at, self.met
        state.signs, state.between, state.unsure = self.signs, self.between, self.unsure
        return state

    def become(self, other: State) -> None:
        """Takes the values of another state."""
        self.__dict__.update(other.__dict__)

    def within(self) -> None:
        """The input does not begin here: assumes that something comes before it, and that no fence is open."""
        self.documents.begun = self.documents.touched = True


class Finder:
    """The search of all wires, made from what each wire says of itself; ``wire``: whose records are kept (None: all).

    ``scanner`` is what a batch needs to know, ``own`` the wire's own scanner; ``code`` the number of the wire that is
    kept, or None; ``wires``: whose records these are; ``alone``: whether the search does not know the wire, so that
    only its own scan finds it; ``located``: whether its columns are filled in a second pass; ``shortcut``: the fast
    path, if any.
    """

    def __init__(self, wire: str | None = None) -> None:
        from turnwire.json import scanner as json
        from turnwire.json.agreement import merge_plans

        every = registry.names()
        found = _findable(registry.wires())
        scanners = {name: bulk_scanner(name) for name in found}
        objects = [name for name in found if registry.wire(name).style == OBJECT]
        kinds = {name: _kinds(scanner) for name, scanner in scanners.items()}
        names = tuple(dict.fromkeys(kind for there in kinds.values() for kind in there))
        if len(names) > MOST_KINDS:
            raise ValueError(f"the wires have {len(names)} kinds of records; {MOST_KINDS} at most fit into one column")
        codes: dict[str, list[int]] = {name: [names.index(kind) for kind in there] for name, there in kinds.items()}
        self.wire = wire
        self.tables: Any = None  # of an engine that reads for this search: the last ones
        self.wires = tuple(found) if wire is None else (wire,)
        self.alone = wire is not None and wire not in found
        self.code = None if wire is None else every.index(wire)
        self.own = None if wire is None else bulk_scanner(wire)
        self.located = self.own is not None and not self.own.json
        shared = merge_plans([registry.wire(name).plan._replace(wire=name) for name in objects])
        if self.own is not None and not self.located:
            self.columns: tuple[Column, ...] = self.own.columns
            plans = tuple(_own_plan(plan, str(wire), every) for plan in shared)
        else:
            self.columns = (json.INNER, *(_column(column, names, every) for column in COMMON))
            plans = tuple(_common_plan(plan, scanners[plan.wire], codes[plan.wire], every) for plan in shared)
        self.valid, self.escaped = json.bits(self.columns)
        nslip = (every.index("nslip"), codes["nslip"], [_CODES.get(reason, 0) for reason in scanners["nslip"].reasons])
        self._plan_arguments = (plans, self.columns, self.valid, self.escaped, _REASONS, nslip)
        self._plans: dict[Any, Any] = {}
        csp = scanners["csp"]
        kind = csp.common["kind"][1]
        reasons = np.array([_CODES[reason] for reason in csp.reasons], np.uint8)
        self.kinds = codes
        further = [registry.wire(name) for name in found if scanners[name].read is not None]
        numbers = {name: code for code, name in enumerate(every)}
        self.tokens, self.lines = (
            TextWires([wire for wire in further if wire.style == style], numbers) for style in (TOKEN, LINES)
        )
        self.text_codes = self.tokens.codes + self.lines.codes
        self.csp = LineWire(csp, every.index("csp"), np.array(codes["csp"], np.uint8), reasons, kind, {})
        self._line_state = scanners["sstp"].state
        self.documents = [
            DocumentWire(registry.wire(name), every.index(name), codes[name], scanners[name])
            for name in found
            if registry.wire(name).has("documents")
        ]
        self.marks = tuple(one.mark for one in self.documents[1:])
        fast = self.own is not None and self.located and self.own.read is None
        self.shortcut = Shortcut(lines=self.own.spans_lines) if self.own is not None and fast else None
        own_reasons = () if self.own is None else self.own.reasons
        self.reason_codes = np.array([_CODES.get(reason, 0) for reason in own_reasons], np.uint8)
        self.scanner = self._scanner(scanners["sstp"])

    def _scanner(self, json: BulkScanner) -> BulkScanner:
        """What a batch needs to know."""
        shared: dict[str, Any] = {
            "state": self.state,
            "spans_lines": True,
            "opens": self.csp.scanner.opens,
            "follows": self._follows,
            "smallest": _SMALLEST,
            "reasons": _REASONS,
        }
        if self.own is not None and self.located:
            return _with_inner(self.own)._replace(**shared)
        if self.own is not None:
            return self.own._replace(**shared)
        return BulkScanner(
            wire="mixed",
            columns=self.columns,
            present="u8",
            bits=self.valid,
            escaped=self.escaped,
            plain=json.plain,
            scan=_unused,
            decode=_decode,
            json=True,
            **shared,
        )

    def state(self, limit: int = LIMITS.message, fences: bool = False) -> State:
        """What a new input starts with. limit: bytes of a document; fences: headers inside code fences are content."""
        if _ONE_PASS and not self.alone:
            from turnwire.log.search.state import SearchState

            return SearchState(fences)  # type: ignore[return-value]
        assert self._line_state is not None
        state = State(self.csp_state(), self._line_state(), Documents(limit, fences, self.marks))
        if self.alone and self.own is not None and self.own.state is not None:
            state.own = self.own.state()
        return state

    def csp_state(self) -> Any:
        """What the scan of CSP/1 starts with."""
        assert self.csp.scanner.state is not None
        return self.csp.scanner.state()

    def documents_of(self, number: int | None) -> DocumentWire:
        """The wire of a document, by the number that the document has."""
        return next(one for one in self.documents if number in (None, one.code))

    def headed(self, view: memoryview) -> bool:
        """Whether a header of further documents is in a block."""
        return any(next(one.headers(view, 0, len(view)), -1) >= 0 for one in self.marks)

    def dtypes(self, columns: tuple[Column, ...]) -> dict[str, str]:
        """The arrays that a scan for these columns fills."""
        dtypes = table_dtypes(self.scanner, columns)
        if self.located and _ONE_PASS:
            return {**dtypes, "time": "i8"} if any(column.name == "time" for column in columns) else dtypes
        if self.located:  # the second pass has these from the search
            return {name: dtype for name, dtype in dtypes.items() if name not in ("place", "size", "inner")}
        return dtypes if self.code is None else {**dtypes, "wire": "u1"}

    @property
    def flags(self) -> tuple[str, ...]:
        """The columns of a located wire that only the search can tell, since they depend on what is around."""
        if self.own is None or self.own.read is not None:
            return ()
        return tuple(column.name for column in self.own.columns if column.kind == "bool")

    def location(self, room: int) -> Arrays:
        """Arrays for the places of so many records."""
        flags = {name: np.zeros(room, bool) for name in self.flags}
        return {name: np.empty(room, dtype) for name, dtype in LOCATION.items()} | flags

    def scan(
        self, block: Any, final: bool, space: ColumnBuffers, line: int, state: State, keep: bool, limit: int
    ) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
        """One block, without the second pass: (arrays, rows, tables of rejects with how many there are in each,
        position, line)."""
        rows, rejects, position, line = Pass(self, block, final, space, line, state, keep, limit).run()
        arrays = space.arrays
        if self.code is not None:
            arrays, rows, rejects = only(arrays, rows, rejects, self.code)
        return arrays, rows, rejects, position, line

    def search(
        self, block: Any, final: bool, line: int, state: Any, keep: bool, limit: int, dtypes: Arrays, memory: Any
    ) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
        """One block, by the search in one pass: (arrays, rows, tables of rejects with how many there are in each,
        position, line). memory: (dtypes, rows) -> arrays with room for so many."""
        searched = _backend.load("log.search").searched
        if self.located:
            dtypes = {("own_present" if name == "present" else name): dtype for name, dtype in dtypes.items()}
        arrays, rows, rejects, position, line = searched(self, block, final, line, state, keep, limit, dtypes, memory)
        if self.code is not None:
            arrays, rows, rejects = only(arrays, rows, rejects, self.code)
        if self.located:
            arrays = self._located(arrays, rows)
        return arrays, rows, rejects, position, line

    def _located(self, arrays: Arrays, rows: int) -> Arrays:
        """The arrays of a wire that has its own columns: what the search says of records, in the wire's own form."""
        bits, present = arrays["present"][:rows], arrays["own_present"][:rows]
        some = int(np.bitwise_or.reduce(bits)) if rows else 0
        if some >> self.valid["inner"] & 1:
            inside = bits >> np.uint64(self.valid["inner"]) & np.uint64(1)
            present |= (inside << np.uint64(self.scanner.bits["inner"])).astype(present.dtype)
        del arrays["own_present"]
        arrays["present"] = present
        if "time" in arrays:
            timed = bits >> np.uint64(self.valid["time"]) & np.uint64(1) if some >> self.valid["time"] & 1 else None
            arrays["timed"] = np.zeros(rows, bool) if timed is None else timed.astype(bool)
        return arrays

    def fill(self, block: Any, arrays: Arrays, rows: int, dtypes: dict[str, Any], keep: bool) -> Arrays:
        """The second pass, for a wire that needs one."""
        assert self.own is not None
        view = memoryview(block.data)[: block.size].cast("B")
        inner = self.scanner.bits["inner"]
        whole = filled(self.own, inner, arrays, rows, view, dtypes, keep, self.valid)
        return whole | {name: arrays[name][:rows] for name in self.flags if name in whole}

    def _follows(self, state: State, left: State, block: memoryview) -> bool:
        """As :class:`BulkScanner` says. Blocks that follow begin lines, so only CSP/1 can go on in one."""
        if _ONE_PASS:
            return state.follows(left, bytes(block), [one.plan.opening for one in self.documents])  # type: ignore[attr-defined,no-any-return]
        assert self.csp.scanner.follows is not None
        if state.within_line or not self._same_documents(state, left, block):
            return False
        return self.csp.scanner.follows(state.csp, left.csp, block)

    def _same_documents(self, state: State, left: State, block: memoryview) -> bool:
        """Whether a block has no more documents behind ``state`` than where something comes before it and no fence is
        open, as was thought when it was searched; ``left`` becomes what it leaves."""
        before, behind = state.documents, left.documents
        if before.touched and not before.fence:
            return True
        if left.unsure and not before.touched:
            return False
        headers = _heads.header_lines(block, 0, len(block)) or self.headed(block)
        if headers or (before.fence and _heads.fence_lines(block, 0, len(block))):
            return False
        behind.touched = before.touched or left.met
        if before.fence:
            behind.fence, behind.fence_touched = before.fence, before.fence_touched or left.met
        return True

    def plan(self, core: Any) -> Any:
        """The plan of the JSON wires with nSLIP among them, compiled for a core."""
        if core not in self._plans:
            fit = len(_MARKS + self.lines.marks) <= _MOST_MARKS
            lines = ((self.csp.code, _MARKS + (self.lines.marks if fit else ())),)
            marks = self.tokens.marks + (() if fit else self.lines.marks)
            further = {"tokens": _Tokens(self.tokens.next, marks)} if marks and core is _pure() else {}
            self._plans[core] = core.Plan(*self._plan_arguments, lines=lines, **further)
        return self._plans[core]

    def claims(self, text: bytes, short: ShortTexts) -> list[tuple[int, int, int, int, int, int]] | None:
        """What wires of lines claim of the text of a JSON string: (start, stop, what, wire, reason, fault) of each
        range. CSP/1 comes first. short: what it reads short texts with."""
        if len(text) <= short.LONGEST and not self.lines:
            found = short.spans(text)
            return [(start, stop, what, self.csp.code, reason, fault) for start, stop, what, reason, fault in found]
        return self._claims(text)

    def _claims(self, text: bytes) -> list[tuple[int, int, int, int, int, int]] | None:
        assert self.csp.scanner.state is not None
        found = Claims(
            self.csp,
            text,
            0,
            len(text),
            True,
            ahead=0,
            base=0,
            line=1,
            keep=False,
            limit=max(len(text), 1),
            state=self.csp.scanner.state(),
            columns=(),
        )
        spans = [
            (start, stop, what, self.csp.code, reason, fault) for start, stop, what, reason, fault in found.spans()
        ]
        for first, last in found.gaps(0) if self.lines else ():
            claims = self.lines.claims(text, first, last, True, len(text))
            spans += [(one.start, one.stop, one.what, one.wire, one.reason, one.fault) for one in claims]
        return sorted(spans) or None

    def leaves_open(self, block: Any, start: int, stop: int, limit: int) -> bool:
        """Whether an object that goes on behind ``stop`` may be open among the lines from ``start`` (in the input) on,
        which nobody claims: its next lines belong to it."""
        start = max(start - block.base, 0)
        if b"{" not in memoryview(block.data)[start:stop].tobytes():
            return False
        assert self._line_state is not None
        core, state, room = self.core(_core, block.data, block.size, limit), self._line_state(), quarantine.ROOM
        arrays: dict[str, Any] = {name: np.empty(room, np.int64) for name in ("offset", "length", "place", "size")}
        arrays["present"] = np.empty(room, np.uint64)
        table = quarantine.table(room, mixed=True)
        while start < stop and state.held < 0:
            before = start
            arrays.pop("arena", None)
            *_, start, _ = core.scan_block(
                self.plan(core),
                block.data,
                start,
                stop,
                False,
                arrays,
                0,
                room,
                table,
                0,
                room,
                state=state,
                limit=limit,
            )
            if start == before:  # there is no room for what one string holds
                return True
        return bool(state.held >= 0)

    def core(self, usual: Any, data: Any, size: int, limit: int) -> Any:
        """The core that reads a block: the pure one where a token of a further wire may be in it, which the native
        one does not know; else the usual one."""
        if not self.text_codes:
            return usual
        view = memoryview(data)[:size]
        fit = len(_MARKS + self.lines.marks) <= _MOST_MARKS
        return _pure() if self.tokens.worth(view, limit) or (not fit and self.lines.met(view)) else usual

    def pure_core(self) -> Any:
        return _pure()

    def met(self, data: Any, size: int) -> bool:
        """Whether a record of a further wire may begin in a block: then it is not certain what a wire's own scan of it
        finds."""
        view = memoryview(data)[:size]
        texts = bool(self.text_codes) and (self.tokens.met(view) or self.lines.met(view))
        return texts or self.headed(view)


def finder(wire: str | None = None) -> Finder:
    """The search for a wire, or for all (None): made once. Only how soon its shortcut is tried again changes in it.
    Raises UnknownName."""
    if wire is not None:
        bulk_scanner(wire)
    return _finder(wire, registry.names())


@cache
def _finder(wire: str | None, _: tuple[str, ...]) -> Finder:
    return Finder(wire)


def _findable(wires: Mapping[str, Wire]) -> list[str]:
    """The wires that one pass finds. Warns, once, of each other one: its records are text to such a scan."""
    found = []
    for name, wire in wires.items():
        if not wire.is_scanned:
            lack = "it has no plan and no bulk scanner"
        elif wire.style == OBJECT and not wire.has("plan"):
            lack = "it has no plan"
        elif wire.style != OBJECT and not wire.has("plan") and name not in ("nslip", "csp"):
            lack = "it has no plan; name the wire to scan for it"
        else:
            found.append(name)
            continue
        warnings.warn(f"a scan of all wires takes {name} for text: {lack}", stacklevel=5)
    return found


def _unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("the search of all wires reads whole blocks")


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


def _with_inner(scanner: BulkScanner) -> BulkScanner:
    """The same scanner with the column ``inner``: the place in the string of JSON that a record is in."""
    bit = max([*scanner.bits.values(), *scanner.escaped.values()]) + 1
    if bit >= 8 * np.dtype(scanner.present).itemsize:
        raise ValueError(f"no bit is left for the column inner of {scanner.wire}")
    columns = (*scanner.columns, Column("inner", "i64", nullable=True))
    return scanner._replace(columns=columns, bits={**scanner.bits, "inner": bit})


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
    sources = {common: scanner.common.get(common, ("", common))[1] for common in (*TEXTS, "sequence", "kind")}
    sources = {common: source for common, source in sources.items() if source in own}
    kindless = "kind" not in sources or own[sources["kind"]].kind != "enum"
    if kindless:
        sources.pop("kind", None)
    variants = []
    for variant in plan.variants:
        fills = [fill for fill in variant.fills if fill.column == "time"]
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
    """What fills the kind of a record, by the numbers of all wires: wires may share the name of a kind."""
    from turnwire.json.plan import NO_NUMBER

    if fill.how == "constant":
        return fill._replace(column="kind", constant=codes[fill.constant])
    if not fill.numbers and codes == list(range(codes[0], codes[0] + len(codes))):
        return fill._replace(column="kind", constant=fill.constant + codes[0])
    numbers = fill.numbers or range(fill.constant, len(codes))
    moved = (NO_NUMBER if number == NO_NUMBER else codes[number] for number in numbers)
    return fill._replace(column="kind", constant=0, numbers=tuple(moved))
