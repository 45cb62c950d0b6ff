"""A scan of all wires at once: one pass over each block finds the records of every wire. The rules are in docs/scan.md.

CSP/1 claims its ranges first, since a message goes over many lines and what it holds is its own. The other wires are
found in what is left, from left to right: JSON messages by their plans, nSLIP by the hooks in the scan of JSON. What a
damaged CSP/1 message covers is looked through for lines that are a whole record of another wire.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import COMMON, OBJECT, BulkScanner, Column, Wire
from turnwire.errors import Reason
from turnwire.log.engine.block_pass import TEXTS, Pass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, Any]
    Spans = tuple[NDArray[np.int64], NDArray[np.int64]]

_REASONS: tuple[Reason | None, ...] = (None, *Reason)
_CODES = {reason: code for code, reason in enumerate(_REASONS)}
_SMALLEST = len("CSP/1;")


class State:
    """What goes from block to block: ``csp``, what its scanner carries; ``lines``, what the scan of lines carries;
    ``within_line``: whether the next block begins in the middle of a line."""

    def __init__(self, csp: Any, lines: Any) -> None:
        self.csp = csp
        self.lines = lines
        self.within_line = False

    def idle(self) -> bool:
        """Whether no CSP/1 message can be open."""
        return not any(self.csp[1:3])


class _Csp(NamedTuple):
    """CSP/1 as a part of a mixed scan: its code, its scanner, and codes of its kinds and reasons."""

    code: int
    scanner: BulkScanner
    kinds: NDArray[np.uint8]
    reasons: NDArray[np.uint8]


class Mixed:
    """The parts of a mixed scan, made from what each wire says of itself. ``scanner`` is what a batch needs to know;
    ``scan`` reads one block."""

    def __init__(self) -> None:
        wires = registry.names()
        scanners = {wire: registry.bulk_scanner(wire) for wire in _findable(registry.wires())}
        objects = [wire for wire in scanners if registry.wire(wire).style == OBJECT]
        self.wires = tuple(scanners)
        kinds = {wire: _kinds(scanner) for wire, scanner in scanners.items()}
        self.names = tuple(dict.fromkeys(name for names in kinds.values() for name in names))
        code: dict[str, list[int]] = {wire: [self.names.index(name) for name in names] for wire, names in kinds.items()}
        from turnwire.json import scanner as json

        self.columns = (json.INNER, *(_column(column, self.names, wires) for column in COMMON))
        self.valid, self.escaped = json.bits(self.columns)
        plans = tuple(_plan(wire, scanners[wire], code[wire]) for wire in objects)
        reasons = [_CODES.get(reason, 0) for reason in scanners["nslip"].reasons]
        self._plan_arguments = (plans, self.columns, self.valid, self.escaped, _REASONS)
        self._nslip = (wires.index("nslip"), code["nslip"], reasons)
        self._plans: dict[Any, Any] = {}
        csp = scanners["csp"]
        self._csp = _Csp(
            wires.index("csp"),
            csp,
            np.array(code["csp"], np.uint8),
            np.array([_CODES[reason] for reason in csp.reasons], np.uint8),
        )
        self._line_state = scanners["sstp"].state
        self.scanner = BulkScanner(
            wire="mixed",
            columns=self.columns,
            present="u8",
            bits=self.valid,
            escaped=self.escaped,
            plain=scanners["sstp"].plain,
            smallest=_SMALLEST,
            reasons=_REASONS,
            scan=_unused,
            decode=_decode,
            state=self.state,
            json=True,
            spans_lines=True,
            opens=csp.opens,
            follows=self._follows,
        )

    def state(self) -> State:
        """What a new input starts with."""
        assert self._csp.scanner.state is not None and self._line_state is not None
        return State(self._csp.scanner.state(), self._line_state())

    def scan(
        self, block: Any, final: bool, arrays: Arrays, room: int, line: int, state: State, keep: bool, limit: int
    ) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """One block: (rows, tables of rejects with how many there are in each, position, line)."""
        return Pass(self, block, final, arrays, room, line, state, keep, limit).run()

    def _follows(self, state: State, left: State, block: memoryview) -> bool:
        """As :class:`BulkScanner` says. Blocks that follow begin lines, so only CSP/1 can go on in one."""
        assert self._csp.scanner.follows is not None
        return self._csp.scanner.follows(state.csp, left.csp, block)

    def plan(self, core: Any) -> Any:
        """The plan of the JSON wires with nSLIP among them, compiled for a core."""
        if core not in self._plans:
            self._plans[core] = core.Plan(*self._plan_arguments, self._nslip)
        return self._plans[core]

    @property
    def csp(self) -> _Csp:
        """CSP/1's part."""
        return self._csp


def all_wires() -> Mixed:
    """The mixed scan: made once for the wires that there are, never changed."""
    return _made(registry.names())


@cache
def _made(_: tuple[str, ...]) -> Mixed:
    return Mixed()


def _findable(wires: Mapping[str, Wire]) -> list[str]:
    """The wires that one pass finds. Of any other it is said, once, that its records are text to such a scan."""
    found = []
    for name, wire in wires.items():
        if not wire.has("bulk"):
            lack = "it has no bulk scanner"
        elif wire.style == OBJECT and not wire.has("plan"):
            lack = "it has no plan"
        elif wire.style != OBJECT and name not in ("nslip", "csp"):
            lack = f"of style {wire.style!r} only nslip and csp are found so far; name the wire to scan for it"
        else:
            found.append(name)
            continue
        warnings.warn(f"a scan of all wires takes {name} for text: {lack}", stacklevel=5)
    return found


def _unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("a mixed scan reads whole blocks")


def _decode(raw: Any, *, wire: str, unknown: str = "error") -> Any:
    return registry.bulk_scanner(wire).decode(raw, unknown=unknown)


def _kinds(scanner: BulkScanner) -> tuple[str, ...]:
    source = scanner.common["kind"][1]
    return next(column.names for column in scanner.columns if column.name == source)


def _column(column: Column, kinds: tuple[str, ...], wires: tuple[str, ...]) -> Column:
    if column.name == "wire":
        return column._replace(names=wires)
    return column._replace(names=kinds, nullable=False) if column.name == "kind" else column


def _plan(wire: str, scanner: BulkScanner, codes: list[int]) -> Any:
    """The plan of a JSON wire, its columns by the names that any wire has."""
    plan = registry.wire(wire).plan
    assert codes == list(range(codes[0], codes[0] + len(codes))), "the kinds of a JSON wire stand side by side"
    own = {column.name: column for column in scanner.columns}
    sources = {name: scanner.common.get(name, ("", name))[1] for name in (*TEXTS, "sequence", "kind")}
    sources = {name: source for name, source in sources.items() if source in own}
    variants = []
    for variant in plan.variants:
        fills = [fill for fill in variant.fills if fill.column == "time"]
        for name, source in sources.items():
            for fill in variant.fills:
                if fill.column == source:
                    shift = codes[0] if name == "kind" else 0
                    fills.append(fill._replace(column=name, constant=fill.constant + shift))
        variants.append(variant._replace(fills=tuple(fills)))
    return plan._replace(variants=tuple(variants), code=registry.names().index(wire))
