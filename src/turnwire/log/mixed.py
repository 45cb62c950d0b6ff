"""A scan of all wires at once: one pass over each block finds the records of every wire. The rules are in docs/scan.md.

CSP/1 claims its ranges first, since a message goes over many lines and what it holds is its own. The other wires are
found in what is left, from left to right: JSON messages by their plans, nSLIP by the hooks in the scan of JSON. What a
damaged CSP/1 message covers is looked through for lines that are a whole record of another wire.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import _backend
from turnwire.contract import COMMON, WIRE_PACKAGES, WIRES, BulkScanner, Column, bulk_scanner
from turnwire.errors import Reason
from turnwire.log import rejects as quarantine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, Any]
    Spans = tuple[NDArray[np.int64], NDArray[np.int64]]

_core = _backend.load("json_lines")
_JSON_WIRES = ("sstp", "sap", "kick")
_NSLIP, _CSP = WIRES.index("nslip"), WIRES.index("csp")
_REASONS: tuple[Reason | None, ...] = (None, *Reason)
_CODES = {reason: code for code, reason in enumerate(_REASONS)}
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
_SLASH, _NEWLINE, _BRACE, _AT = b"/\n{@"
_TEXTS = ("sender", "receiver", "conversation", "subject")
_SMALLEST = len("CSP/1;")
REJECT_DTYPES = {**quarantine.DTYPES, "wire": "u1"}


class State:
    """What goes from block to block: ``csp``, what its scanner carries; ``lines``, what the scan of lines carries;
    ``within_line``: whether the next block begins in the middle of a line."""

    def __init__(self, csp: Any, lines: Any) -> None:
        self.csp = csp
        self.lines = lines
        self.within_line = False

    def idle(self) -> bool:
        """Whether no CSP/1 message can be open: a block that follows may be scanned by itself."""
        return not any(self.csp[1:])


class _Csp(NamedTuple):
    """CSP/1 as a part of a mixed scan: its scanner, the arrays that it fills, and codes of its kinds and reasons."""

    scanner: BulkScanner
    kinds: NDArray[np.uint8]
    reasons: NDArray[np.uint8]


class Mixed:
    """The parts of a mixed scan, made from what each wire says of itself. ``scanner`` is what a batch needs to know;
    ``scan`` reads one block."""

    def __init__(self) -> None:
        scanners = {wire: bulk_scanner(wire) for wire in WIRES}
        kinds = {wire: _kinds(scanner) for wire, scanner in scanners.items()}
        self.names = tuple(dict.fromkeys(name for names in kinds.values() for name in names))
        code: dict[str, list[int]] = {wire: [self.names.index(name) for name in names] for wire, names in kinds.items()}
        json = import_module("turnwire.json_bulk")
        self.columns = (json.INNER, *(_column(column, self.names) for column in COMMON))
        self.valid, self.escaped = json.bits(self.columns)
        plans = tuple(_plan(wire, scanners[wire], code[wire]) for wire in _JSON_WIRES)
        reasons = [_CODES.get(reason, 0) for reason in scanners["nslip"].reasons]
        self._plan_arguments = (plans, self.columns, self.valid, self.escaped, _REASONS)
        self._nslip = (_NSLIP, code["nslip"], reasons)
        self._plans: dict[Any, Any] = {}
        csp = scanners["csp"]
        self._csp = _Csp(
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
        )

    def state(self) -> State:
        """What a new input starts with."""
        assert self._csp.scanner.state is not None and self._line_state is not None
        return State(self._csp.scanner.state(), self._line_state())

    def scan(
        self, block: Any, final: bool, arrays: Arrays, room: int, line: int, state: State, keep: bool, limit: int
    ) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """One block: (rows, tables of rejects with how many there are in each, position, line)."""
        return _Pass(self, block, final, arrays, room, line, state, keep, limit).run()

    def plan(self) -> Any:
        """The compiled plan of the JSON wires with nSLIP among them, for the core in use."""
        if _core not in self._plans:
            self._plans[_core] = _core.Plan(*self._plan_arguments, self._nslip)
        return self._plans[_core]

    @property
    def csp(self) -> _Csp:
        """CSP/1's part."""
        return self._csp


@cache
def all_wires() -> Mixed:
    """The mixed scan: made once, never changed."""
    return Mixed()


def _unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("a mixed scan reads whole blocks")


def _decode(raw: Any, *, wire: str, unknown: str = "error") -> Any:
    return bulk_scanner(wire).decode(raw, unknown=unknown)


def _kinds(scanner: BulkScanner) -> tuple[str, ...]:
    source = scanner.common["kind"][1]
    return next(column.names for column in scanner.columns if column.name == source)


def _column(column: Column, names: tuple[str, ...]) -> Column:
    return column._replace(names=names, nullable=False) if column.name == "kind" else column


def _plan(wire: str, scanner: BulkScanner, codes: list[int]) -> Any:
    """The plan of a JSON wire, its columns by the names that any wire has."""
    plan = import_module(f"{WIRE_PACKAGES[wire]}.bulk").PLAN
    assert codes == list(range(codes[0], codes[0] + len(codes))), "the kinds of a JSON wire stand side by side"
    own = {column.name: column for column in scanner.columns}
    sources = {name: scanner.common.get(name, ("", name))[1] for name in (*_TEXTS, "sequence", "kind")}
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
    return plan._replace(variants=tuple(variants))


class _Pass:
    """One block of a mixed scan."""

    def __init__(
        self,
        mixed: Mixed,
        block: Any,
        final: bool,
        arrays: Arrays,
        room: int,
        line: int,
        state: State,
        keep: bool,
        limit: int,
    ) -> None:
        self.mixed = mixed
        self.data = block.data
        self.size: int = block.size
        self.base: int = block.base
        self.final = final
        self.ends = final or block.line_end
        self.arrays = arrays
        self.room = room
        self.line = line
        self.state = state
        self.keep = keep
        self.limit = limit
        self.bytes = np.frombuffer(memoryview(block.data)[: self.size], np.uint8)
        self.rows = 0
        self.rejects: list[tuple[Arrays, int]] = []

    def run(self) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """(rows, tables of rejects with how many there are in each, position, line)."""
        start = self._first_line()
        if start < 0 or not (self._looks_like_csp(start) or not self.state.idle()):
            position, line = self._lines(0, self.size, self.line, self.ends)
        else:
            line = self.line + self._newlines(0, start)
            position, line = self._with_csp(start, line)
        if position:
            self.state.within_line = int(self.bytes[position - 1]) != _NEWLINE
        return self.rows, self.rejects, position, line

    # --- where CSP/1 may be ---

    def _first_line(self) -> int:
        """Where the first line begins, or -1 where none does."""
        if not self.state.within_line:
            return 0
        newlines = np.flatnonzero(self.bytes == _NEWLINE)
        return int(newlines[0]) + 1 if len(newlines) else -1

    def _looks_like_csp(self, start: int) -> bool:
        """Whether a line from ``start`` on looks like the first of a CSP/1 message: any other line is text for CSP/1
        where no message is open."""
        slashes = np.flatnonzero(self.bytes == _SLASH)
        slashes = slashes[(slashes > start) & (slashes < self.size - 1)]
        before, behind = self.bytes[slashes - 1], self.bytes[slashes + 1]
        space = (before == 32) | (before == 9)
        digit = ((behind >= 48) & (behind <= 57)) | (behind == 32) | (behind == 9)
        for slash in slashes[((before | 32) == ord("p")) & digit | space & digit].tolist():
            head = self.bytes[max(start, slash - 64) : slash + 1].tobytes()
            begin = max(start, slash - 64) + head.rfind(b"\n") + 1
            if _MAGIC.match(self.bytes[begin : slash + 64].tobytes()) and (b"\n" in head or begin == start):
                return True
        return False

    # --- lines ---

    def _newlines(self, start: int, stop: int) -> int:
        return int(np.count_nonzero(self.bytes[start:stop] == _NEWLINE))

    def _lines(self, start: int, stop: int, line: int, final: bool) -> tuple[int, int]:
        """Finds JSON and nSLIP in a part of the block, which begins where CSP/1 leaves off: (position, line)."""
        position, room = start, quarantine.ROOM
        plan = self.mixed.plan()
        while position < stop:
            table = {name: np.empty(room, dtype) for name, dtype in REJECT_DTYPES.items()}
            before = position, self.rows
            self.rows, bad, position, line = _core.scan_block(
                plan,
                self.data,
                position,
                stop,
                final,
                self.arrays,
                self.rows,
                self.room,
                table,
                0,
                room,
                base=self.base,
                line=line,
                keep=self.keep,
                limit=self.limit,
                state=self.state.lines,
            )
            self._move_into_arena(before[1], stop)
            if bad:
                self.rejects.append((table, bad))
            if position == before[0] and not bad and self.rows == before[1]:
                if not final or room >= quarantine.MOST_ROOM:
                    break
                room *= 16
        return position, line

    def _move_into_arena(self, first: int, stop: int) -> None:
        """What lies behind ``stop`` for the scan of a part lies behind the block for the whole."""
        if stop == self.size or "arena" not in self.arrays:
            return
        for name in ("place", *(f"{text}.offset" for text in _TEXTS)):
            array = self.arrays.get(name)
            if array is not None:
                part = array[first : self.rows]
                part[part >= stop] += self.size - stop

    # --- CSP/1 ---

    def _with_csp(self, start: int, line: int) -> tuple[int, int]:
        found = _Claims(self, start, line)
        if start:
            self._lines(0, start, self.line, True)
        hits = np.flatnonzero((self.bytes[: found.position] == _BRACE) | (self.bytes[: found.position] == _AT))
        gaps = np.append(start, found.stops), np.append(found.starts, found.position)
        interesting = hits.searchsorted(gaps[0]) < hits.searchsorted(gaps[1])
        special = interesting[:-1] | (found.reject >= 0)
        done = 0
        for place in np.flatnonzero(special).tolist():
            self._records(found, done, place)
            begin, end, at = int(gaps[0][place]), int(gaps[1][place]), int(found.lines[place])
            if interesting[place]:
                self._lines(begin, end, at - self._newlines(begin, end), True)
            done = place
            if found.reject[place] >= 0:
                self._carve(found, place, hits)
                done += 1
        self._records(found, done, len(found.starts))
        begin, end = int(gaps[0][-1]), found.position
        if interesting[-1]:
            self._lines(begin, end, found.line - self._newlines(begin, end), True)
        return found.position, found.line

    def _records(self, found: _Claims, first: int, last: int) -> None:
        """Copies the records among the claims from ``first`` to ``last``: there is no reject among them."""
        count = last - first
        if not count:
            return
        rows = found.record[first:last]
        arrays, valid = self.arrays, self.mixed.valid
        into = slice(self.rows, self.rows + count)
        self.rows += count
        values = {name: array[rows] for name, array in found.records.items()}
        present = np.full(count, 1 << valid["wire"] | 1 << valid["kind"], np.uint64)
        scanner = self.mixed.csp.scanner
        for name in _TEXTS:
            source = scanner.common[name][1]
            if f"{name}.offset" in arrays:
                arrays[f"{name}.offset"][into] = values[f"{source}.offset"]
                arrays[f"{name}.length"][into] = values[f"{source}.length"]
                there = values["present"] >> np.uint32(scanner.bits[source]) & np.uint32(1)
                present |= there.astype(np.uint64) << np.uint64(valid[name])
        plain = {
            "offset": values["offset"],
            "length": values["length"],
            "place": values["offset"] - self.base,
            "size": values["length"],
            "line": values["line"],
            "present": present,
            "wire": _CSP,
            "kind": self.mixed.csp.kinds[values["intent"]],
            **dict.fromkeys(("inner", "sequence", "time"), 0),
        }
        for name, value in plain.items():
            if name in arrays:
                arrays[name][into] = value

    def _carve(self, found: _Claims, place: int, hits: NDArray[np.int64]) -> None:
        """A damaged message: what is left of it without the lines in it that are a whole record of another wire."""
        start, stop, line = int(found.starts[place]), int(found.stops[place]), int(found.lines[place])
        row = int(found.reject[place])
        first, rejects = self.rows, len(self.rejects)
        spans: list[tuple[int, int]] = []
        if hits.searchsorted(start) < hits.searchsorted(stop):
            self._lines(start, stop, line, True)
            del self.rejects[rejects:]
            spans = self._keep_whole_lines(first)
        fault, reason = int(found.rejects["fault"][row]), int(found.rejects["reason"][row])
        pieces = []
        for begin, end in [*spans, (stop, stop)]:
            if begin > start:
                pieces.append((start, begin, line))
            line += self._newlines(start, end)
            start = end
            if end < stop and self.bytes[end : end + 2].tobytes() == b"\r\n":
                start += 1
            if start < stop and self.bytes[start] == _NEWLINE:
                start, line = start + 1, line + 1
        table = {name: np.zeros(len(pieces), dtype) for name, dtype in REJECT_DTYPES.items()}
        for number, (begin, end, at) in enumerate(pieces):
            inside = begin <= fault - self.base <= end
            values = (self.base + begin, end - begin, at, fault if inside else self.base + begin, reason, _CSP)
            for name, value in zip(table, values, strict=True):
                table[name][number] = value
        if pieces:
            self.rejects.append((table, len(pieces)))

    def _keep_whole_lines(self, first: int) -> list[tuple[int, int]]:
        """Of the rows from ``first`` on only those that fill a line; where they stand."""
        places = self.arrays["place"][first : self.rows].tolist()
        sizes = self.arrays["size"][first : self.rows].tolist()
        kept, spans = [], []
        for row, (begin, size) in enumerate(zip(places, sizes, strict=True)):
            if begin >= self.size:
                continue
            end = begin + size
            before = begin == 0 or self.bytes[begin - 1] == _NEWLINE
            if before and self.bytes[end : end + 2].tobytes()[:2].lstrip(b"\r")[:1] in (b"", b"\n"):
                kept.append(first + row)
                spans.append((begin, end))
        for name, array in self.arrays.items():
            if name != "arena":
                array[first : first + len(kept)] = array[kept]
        self.rows = first + len(kept)
        return spans


class _Claims:
    """What CSP/1 claims of a block, in order: ``starts``, ``stops`` (in the block), ``lines``; ``record``, ``reject``:
    its row in ``records`` or ``rejects``, or -1; ``position``, ``line``: where CSP/1 goes on."""

    def __init__(self, within: _Pass, start: int, line: int) -> None:
        csp = within.mixed.csp
        wanted = ["offset", "length", "line", "present", "intent"]
        wanted += [
            f"{csp.scanner.common[name][1]}.{part}"
            for name in _TEXTS
            for part in ("offset", "length")
            if f"{name}.offset" in within.arrays
        ]
        dtypes = dict.fromkeys(wanted, "i8") | {"present": csp.scanner.present, "intent": "u1"}
        records: list[Arrays] = []
        rejects: list[Arrays] = []
        position, room = start, max((within.size - start) // 40, 64)
        while True:
            columns = {name: np.empty(room, dtype) for name, dtype in dtypes.items()}
            table = quarantine.table(quarantine.ROOM)
            before = position
            rows, bad, position, line = csp.scanner.scan(
                within.data,
                position,
                within.size,
                within.final,
                columns,
                0,
                room,
                table,
                0,
                quarantine.ROOM,
                base=within.base,
                line=line,
                keep=within.keep,
                limit=within.limit,
                state=within.state.csp,
            )
            records.append({name: array[:rows].copy() for name, array in columns.items()})
            rejects.append({name: array[:bad].copy() for name, array in table.items()})
            if position == within.size or (position == before and not rows and not bad):
                break
        self.position, self.line = position, line
        self.records = {name: np.concatenate([part[name] for part in records]) for name in dtypes}
        self.rejects = {name: np.concatenate([part[name] for part in rejects]) for name in quarantine.DTYPES}
        self.rejects["reason"] = csp.reasons[self.rejects["reason"]]
        self._order(within.base)

    def _order(self, base: int) -> None:
        both = {name: np.concatenate([self.records[name], self.rejects[name]]) for name in ("offset", "length", "line")}
        good, bad = len(self.records["offset"]), len(self.rejects["offset"])
        order = np.argsort(both["offset"], kind="stable")
        self.starts = both["offset"][order] - base
        self.stops = self.starts + both["length"][order]
        self.lines = both["line"][order]
        self.record = np.where(order < good, order, -1)
        self.reject = np.where(order >= good, order - good, -1)
        assert len(order) == good + bad
