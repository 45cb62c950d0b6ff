"""The search of all wires: one pass over each block finds the records of every wire. The rules are in docs/scan.md.

CSP/1 claims its ranges first, since a message goes over many lines and what it holds is its own. The other wires are
found in what is left, from left to right: JSON messages by their plans, nSLIP by the hooks in the scan of JSON. What a
damaged CSP/1 message covers is looked through for lines that are a whole record of another wire.

A scan of one wire is the same search; only that wire's records and rejects are kept. The columns of a JSON wire are
filled by the search itself, those of the others from the bytes of the records that it located (``fill.py``).
"""

from __future__ import annotations

from array import array
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.contract import COMMON, WIRE_PACKAGES, WIRES, BulkScanner, Column, bulk_scanner
from turnwire.errors import Reason
from turnwire.log.engine.block_pass import Pass, Space
from turnwire.log.engine.claims import TEXTS, Claims
from turnwire.log.engine.columns import table_dtypes
from turnwire.log.engine.fill import LOCATION, filled, only
from turnwire.log.engine.shortcut import Shortcut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Arrays = dict[str, Any]

_JSON_WIRES = ("sstp", "sap", "kick")
_NSLIP, _CSP = WIRES.index("nslip"), WIRES.index("csp")
_REASONS: tuple[Reason | None, ...] = (None, *Reason)
_CODES = {reason: code for code, reason in enumerate(_REASONS)}
_SMALLEST = len("CSP/1;")


class State:
    """What goes from block to block of one input: ``csp``, what its scanner carries; ``lines``, what the scan of lines
    carries; ``within_line``: whether the next block begins in the middle of a line."""

    def __init__(self, csp: Any, lines: Any) -> None:
        self.csp = csp
        self.lines = lines
        self.within_line = False

    def idle(self) -> bool:
        """Whether no CSP/1 message can be open."""
        return not any(self.csp[1:3])

    def copy(self) -> State:
        """The same state, which changes by itself."""
        lines = type(self.lines)()
        lines.at, lines.known, lines.time = self.lines.at, self.lines.known, self.lines.time
        state = State(array("q", self.csp), lines)
        state.within_line = self.within_line
        return state


class LineWire(NamedTuple):
    """A wire whose records are lines, as a part of the search: its scanner, its number, codes of its kinds and reasons
    among those of all wires, the column that its kind comes from. damaged: (bytes, reason) -> whether a reject of the
    scanner is a damaged message; None where each is."""

    scanner: BulkScanner
    code: int
    kinds: NDArray[np.uint8]
    reasons: NDArray[np.uint8]
    kind: str
    damaged: Callable[[bytes, Reason | None], bool] | None = None

    def sources(self, name: str) -> Iterable[Column]:
        """The wire's own column that a common one comes from, if any."""
        way = self.scanner.common.get(name)
        return [column for column in self.scanner.columns if way == ("column", column.name)]


class Finder:
    """The search of all wires, made from what each wire says of itself; ``wire``: whose records are kept (None: all).

    ``scanner`` is what a batch needs to know, ``own`` the wire's own scanner; ``code`` the number of the wire that is
    kept, or None; ``located``: whether its columns are filled in a second pass; ``shortcut``: the fast way, if any.
    """

    def __init__(self, wire: str | None = None) -> None:
        scanners = {name: bulk_scanner(name) for name in WIRES}
        kinds = {name: _kinds(scanner) for name, scanner in scanners.items()}
        json = import_module("turnwire.json.scanner")
        names = tuple(dict.fromkeys(kind for found in kinds.values() for kind in found))
        codes: dict[str, list[int]] = {name: [names.index(kind) for kind in found] for name, found in kinds.items()}
        self.wire = wire
        self.code = None if wire is None else WIRES.index(wire)
        self.located = wire is not None and not scanners[wire].json
        self.own = scanners[wire] if wire is not None else None
        if wire is not None and not self.located:
            self.columns: tuple[Column, ...] = scanners[wire].columns
            plans = tuple(_own_plan(name, wire) for name in _JSON_WIRES)
        else:
            self.columns = (json.INNER, *(_column(column, names) for column in COMMON))
            plans = tuple(_common_plan(name, scanners[name], codes[name]) for name in _JSON_WIRES)
        self.valid, self.escaped = json.bits(self.columns)
        nslip = (_NSLIP, codes["nslip"], [_CODES.get(reason, 0) for reason in scanners["nslip"].reasons])
        self._plan_arguments = (plans, self.columns, self.valid, self.escaped, _REASONS, nslip)
        self._plans: dict[Any, Any] = {}
        csp = scanners["csp"]
        kind = csp.common["kind"][1]
        reasons = np.array([_CODES[reason] for reason in csp.reasons], np.uint8)
        self.csp = LineWire(csp, _CSP, np.array(codes["csp"], np.uint8), reasons, kind)
        self._line_state = scanners["sstp"].state
        self.shortcut = Shortcut(lines=self.own.spans_lines) if self.own is not None and self.located else None
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

    @property
    def wires(self) -> tuple[str, ...]:
        """The wires whose records are kept."""
        return WIRES if self.wire is None else (self.wire,)

    def state(self) -> State:
        """What a new input starts with."""
        assert self.csp.scanner.state is not None and self._line_state is not None
        return State(self.csp.scanner.state(), self._line_state())

    def dtypes(self, columns: tuple[Column, ...]) -> dict[str, str]:
        """The arrays that a scan for these columns fills."""
        dtypes = table_dtypes(self.scanner, columns)
        if self.located:  # the second pass has these from the search
            return {name: dtype for name, dtype in dtypes.items() if name not in ("place", "size", "inner")}
        return dtypes if self.code is None else {**dtypes, "wire": "u1"}

    @property
    def flags(self) -> tuple[str, ...]:
        """The columns of a located wire that only the search can tell, since they depend on what stands around."""
        return tuple(column.name for column in self.own.columns if column.kind == "bool") if self.own else ()

    def location(self, room: int) -> Arrays:
        """Arrays for the places of so many records."""
        flags = {name: np.zeros(room, bool) for name in self.flags}
        return {name: np.empty(room, dtype) for name, dtype in LOCATION.items()} | flags

    def scan(
        self, block: Any, final: bool, space: Space, line: int, state: State, keep: bool, limit: int
    ) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
        """One block, without the second pass: (arrays, rows, tables of rejects with how many there are in each,
        position, line)."""
        rows, rejects, position, line = Pass(self, block, final, space, line, state, keep, limit).run()
        arrays = space.arrays
        if self.code is not None:
            arrays, rows, rejects = only(arrays, rows, rejects, self.code)
        return arrays, rows, rejects, position, line

    def fill(self, block: Any, arrays: Arrays, rows: int, dtypes: dict[str, Any], keep: bool) -> Arrays:
        """The second pass, for a wire that needs one."""
        assert self.own is not None
        view = memoryview(block.data)[: block.size].cast("B")
        inner = self.scanner.bits["inner"]
        whole = filled(self.own, inner, arrays, rows, view, dtypes, keep, self.valid)
        return whole | {name: arrays[name][:rows] for name in self.flags if name in whole}

    def _follows(self, state: State, left: State, block: memoryview) -> bool:
        """As :class:`BulkScanner` says. Blocks that follow begin lines, so only CSP/1 can go on in one."""
        assert self.csp.scanner.follows is not None
        return self.csp.scanner.follows(state.csp, left.csp, block)

    def plan(self, core: Any) -> Any:
        """The plan of the JSON wires with nSLIP among them, compiled for a core."""
        if core not in self._plans:
            self._plans[core] = core.Plan(*self._plan_arguments)
        return self._plans[core]

    def claims(self, text: bytes) -> list[tuple[int, int, int, int, int, int]] | None:
        """What CSP/1 claims of the text of a JSON string: (start, stop, what, wire, reason, fault) of each range."""
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
        spans = found.spans()
        return [(start, stop, what, self.csp.code, reason, fault) for start, stop, what, reason, fault in spans] or None


def finder(wire: str | None = None) -> Finder:
    """The search for a wire, or for all (None): made once, never changed. Raises DecodeError(unknown_wire)."""
    if wire is not None:
        bulk_scanner(wire)
    return _finder(wire)


@cache
def _finder(wire: str | None) -> Finder:
    return Finder(wire)


def _unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("the search of all wires reads whole blocks")


def _decode(raw: Any, *, wire: str, unknown: str = "error") -> Any:
    return bulk_scanner(wire).decode(raw, unknown=unknown)


def _kinds(scanner: BulkScanner) -> tuple[str, ...]:
    source = scanner.common["kind"][1]
    return next(column.names for column in scanner.columns if column.name == source)


def _column(column: Column, names: tuple[str, ...]) -> Column:
    return column._replace(names=names, nullable=False) if column.name == "kind" else column


def _with_inner(scanner: BulkScanner) -> BulkScanner:
    """The same scanner with the column ``inner``: the place in the string of JSON that a record stands in."""
    bit = max([*scanner.bits.values(), *scanner.escaped.values()]) + 1
    if bit >= 8 * np.dtype(scanner.present).itemsize:
        raise ValueError(f"there is no bit left for the column inner of {scanner.wire}")
    columns = (*scanner.columns, Column("inner", "i64", nullable=True))
    return scanner._replace(columns=columns, bits={**scanner.bits, "inner": bit})


def _own_plan(name: str, wire: str) -> Any:
    """The plan of a JSON wire in a scan for one wire: others only find what is theirs."""
    plan = import_module(f"{WIRE_PACKAGES[name]}.bulk").PLAN
    if name == wire:
        return plan
    return plan._replace(variants=tuple(variant._replace(fills=()) for variant in plan.variants))


def _common_plan(name: str, scanner: BulkScanner, codes: list[int]) -> Any:
    """The plan of a JSON wire, its columns by the names that any wire has."""
    plan = import_module(f"{WIRE_PACKAGES[name]}.bulk").PLAN
    assert codes == list(range(codes[0], codes[0] + len(codes))), "the kinds of a JSON wire stand side by side"
    own = {column.name: column for column in scanner.columns}
    sources = {common: scanner.common.get(common, ("", common))[1] for common in (*TEXTS, "sequence", "kind")}
    sources = {common: source for common, source in sources.items() if source in own}
    variants = []
    for variant in plan.variants:
        fills = [fill for fill in variant.fills if fill.column == "time"]
        for common, source in sources.items():
            for fill in variant.fills:
                if fill.column == source:
                    shift = codes[0] if common == "kind" else 0
                    fills.append(fill._replace(column=common, constant=fill.constant + shift))
        variants.append(variant._replace(fills=tuple(fills)))
    return plan._replace(variants=tuple(variants))
