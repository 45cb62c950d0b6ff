"""What wires whose records are lines (CSP/1) claim of a block, and the parts that are left around it."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.log.engine.columns import table_dtypes
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from turnwire.contract import BulkScanner, Column
    from turnwire.log.engine.all_wires import Finder
    from turnwire.log.engine.text_wires import Found

    Arrays = dict[str, Any]

BETWEEN, CLAIMED, DAMAGED, DOCUMENT, REFUSED, TEXT, BAD_TEXT = range(7)
"""What a part of a block is. DOCUMENT, REFUSED: of documents; TEXT, BAD_TEXT: of wires that have a plan. For those the
core leaves a row open, or nothing."""
_ORDERED = ("starts", "stops", "lines", "what", "faults", "reasons", "wires")
TEXTS = ("sender", "receiver", "conversation", "subject")
"""The common columns that are texts."""


class LineWire(NamedTuple):
    """A wire whose records are lines, as a part of the search: its scanner, its number, codes of its kinds and reasons
    among those of all wires, the column that its kind comes from, and what ``claimed`` said of names of columns."""

    scanner: BulkScanner
    code: int
    kinds: NDArray[np.uint8]
    reasons: NDArray[np.uint8]
    kind: str
    known: dict[tuple[str, ...], tuple[dict[str, str], dict[str, str]]]

    def sources(self, name: str) -> Iterable[Column]:
        """The wire's own column that a common one comes from, if any."""
        way = self.scanner.common.get(name)
        return [column for column in self.scanner.columns if way == ("column", column.name)]

    def claimed(self, columns: Arrays) -> tuple[dict[str, str], dict[str, str]]:
        """The arrays that the scanner fills for these common columns, with their dtypes; and which of them become a
        common column as they are, but for the numbers of kinds, with its name. Each block asks for the same ones."""
        names = tuple(columns)
        found = self.known.get(names)
        if found is None:
            found = self.known[names] = self._claimed(columns)
        return found

    def _claimed(self, columns: Arrays) -> tuple[dict[str, str], dict[str, str]]:
        dtypes = {**table_dtypes(self.scanner, []), "line": "i8", self.kind: "u1"}
        same = {"offset": "offset", "length": "length", "line": "line", self.kind: "kind"}
        for name in TEXTS:
            for source in self.sources(name) if f"{name}.offset" in columns else ():
                for part in ("offset", "length"):
                    dtypes[f"{source.name}.{part}"] = "i8"
                    same[f"{source.name}.{part}"] = f"{name}.{part}"
        for column in self.scanner.columns:
            if column.kind == "bool" and column.name in columns:
                dtypes[column.name], same[column.name] = "?", column.name
        return dtypes, {name: there for name, there in same.items() if there in columns}


class Claims:
    """What the scan of a line wire finds in ``data[start:size]``, in order.

    starts, stops (places there), lines; what: a record or a damaged message, and of the latter faults (in the input)
    and reasons (their codes among those of all wires). records: the arrays of the records. position, line: where the
    scan goes on. direct: whether ``records`` are the first rows of ``columns``, as far as these have such columns, and
    there is nothing else here until ``detach``: asked for, and so where there is room and nothing was damaged.
    """

    def __init__(
        self,
        wire: LineWire,
        data: Any,
        start: int,
        size: int,
        final: bool,
        *,
        ahead: int,
        base: int,
        line: int,
        keep: bool,
        limit: int,
        state: Any,
        columns: Any,
        direct: bool = False,
    ) -> None:
        dtypes, same = wire.claimed(columns)
        records: list[Arrays] = []
        rejects: list[Arrays] = []
        position, room, reject_room = start, max((size - start) // 40, 64), quarantine.ROOM
        if direct:
            room = len(columns["offset"])
        while True:
            arrays = {name: np.empty(room, dtype) for name, dtype in dtypes.items() if not (direct and name in same)}
            arrays |= {name: columns[there] for name, there in same.items() if direct}
            table = quarantine.table(reject_room)
            before = position
            rows, bad, position, line = wire.scanner.scan(
                data,
                position,
                size + ahead,
                final,
                arrays,
                0,
                room,
                table,
                0,
                reject_room,
                base=base,
                line=line,
                keep=keep,
                limit=limit,
                state=state,
            )
            records.append({name: array[:rows] for name, array in arrays.items()})
            rejects.append({name: array[:bad] for name, array in table.items()})
            if position == size or (position == before and not rows and not bad):
                break
            direct = False  # what is there already is copied when it is put together with more
            if bad == reject_room:  # each round may cost a look at the whole block, for the end of a heredoc
                reject_room = min(reject_room * 4, quarantine.MOST_ROOM)
        self.position, self.line = position, line
        self.records = together(records)
        refused = together(rejects)
        self.direct = direct and not len(refused["offset"])
        if direct and not self.direct:
            self.records = copied(self.records)
        self._rejects = refused, base, wire.reasons
        if not self.direct:
            self._order(*self._rejects)

    def _order(self, rejects: Arrays, base: int, reasons: NDArray[np.uint8]) -> None:
        names = ("offset", "length", "line")
        both = together([{name: found[name] for name in names} for found in (self.records, rejects)])
        good = len(self.records["offset"])
        order = np.argsort(both["offset"], kind="stable") if len(rejects["offset"]) else slice(None)
        self.starts = both["offset"][order] - base
        self.stops = self.starts + both["length"][order]
        self.lines = both["line"][order]
        self.what = np.full(len(self.starts), CLAIMED, np.uint8)
        self.faults = np.zeros(len(self.starts), np.int64)
        self.reasons = np.zeros(len(self.starts), np.uint8)
        self.wires = np.zeros(len(self.starts), np.uint8)
        if len(rejects["offset"]):
            damaged = order >= good  # type: ignore[operator]
            self.what[damaged] = DAMAGED
            self.faults[damaged] = rejects["fault"]
            self.reasons[damaged] = reasons[rejects["reason"]]

    def detach(self) -> None:
        """Takes the records out of the columns, which may then be filled with others."""
        if self.direct:
            self.direct, self.records = False, copied(self.records)
            self._order(*self._rejects)

    def cut(self, count: int) -> None:
        """Keeps the first ``count`` claims: what the others cover is something else's."""
        records = int(np.count_nonzero(self.what[:count] == CLAIMED))
        self.records = {name: array[:records] for name, array in self.records.items()}
        for name in _ORDERED:
            setattr(self, name, getattr(self, name)[:count])

    def leave_out(self, ranges: list[tuple[int, int]]) -> None:
        """Forgets the claims with these numbers, each the first and the one behind the last: what they cover is
        something else's."""
        if not ranges:
            return
        kept = np.ones(len(self.what), bool)
        for first, last in ranges:
            kept[first:last] = False
        records = kept[self.what == CLAIMED]
        self.records = {name: array[records] for name, array in self.records.items()}
        for name in _ORDERED:
            setattr(self, name, getattr(self, name)[kept])

    def join(self, others: list[Claims]) -> None:
        """Adds what was claimed behind all there is."""
        if others:
            self.records = together([self.records, *(other.records for other in others)])
            for name in _ORDERED:
                setattr(self, name, np.concatenate([getattr(one, name) for one in (self, *others)]))
            self.position, self.line = others[-1].position, others[-1].line

    def add(self, start: int, stop: int, line: int, what: int) -> None:
        """Adds the claim of a document behind all there is."""
        values = {"starts": start, "stops": stop, "lines": line, "what": what}
        values |= dict.fromkeys(("faults", "reasons", "wires"), 0)
        for name in _ORDERED:
            mine = getattr(self, name)
            setattr(self, name, np.append(mine, np.array([values[name]], mine.dtype)))
        self.position = stop

    def insert(self, others: list[Found], line_of: Callable[[int], int], base: int) -> None:
        """Adds what further wires of lines claim between the claims; ``line_of``: the line of a place."""
        if not others:
            return
        new = {
            "starts": [one.start for one in others],
            "stops": [one.stop for one in others],
            "lines": [line_of(one.start) for one in others],
            "what": [TEXT if one.what == CLAIMED else BAD_TEXT for one in others],
            "faults": [base + one.fault for one in others],
            "reasons": [one.reason for one in others],
            "wires": [one.wire for one in others],
        }
        order = np.argsort(np.concatenate([self.starts, new["starts"]]), kind="stable")
        for name in _ORDERED:
            mine = getattr(self, name)
            setattr(self, name, np.concatenate([mine, np.array(new[name], mine.dtype)])[order])

    def gaps(self, start: int) -> list[tuple[int, int]]:
        """What is left between the claims from ``start`` on."""
        return list(zip([start, *self.stops.tolist()], [*self.starts.tolist(), self.position], strict=True))

    def parts(self, wire: int) -> Arrays:
        """The parts of the block for the core: what is before, between and behind the claims, and these."""
        count = 2 * len(self.starts) + 1
        parts = empty_parts(count, wire)
        parts["start"][1:count:2], parts["start"][2:count:2] = self.starts, self.stops
        parts["stop"][:count:2], parts["stop"][1:count:2] = np.append(self.starts, self.position), self.stops
        parts["line"][1::2] = np.append(self.lines, self.line)
        parts["fault"][1:count:2] = self.faults
        parts["what"][1::2], parts["reason"][1::2] = self.what, self.reasons
        return parts

    def spans(self) -> list[tuple[int, int, int, int, int]]:
        """(start, stop, what, reason, fault) of each claim."""
        columns = (self.starts, self.stops, self.what, self.reasons, self.faults)
        return list(zip(*(column.tolist() for column in columns), strict=True))


class ShortTexts:
    """What the scan of a line wire finds in short texts, one after the other: with arrays that are made once, for
    these would cost more than the texts. Of one thread at a time."""

    LONGEST = 2048
    """Bytes of the longest text."""

    def __init__(self, wire: LineWire) -> None:
        self._wire = wire
        dtypes = {**table_dtypes(wire.scanner, []), "line": "i8", wire.kind: "u1"}
        self._room = self.LONGEST // 40 + 14
        self._arrays: Arrays = {name: np.empty(self._room, dtype) for name, dtype in dtypes.items()}
        self._table = quarantine.table(quarantine.ROOM)
        self._places = [self._arrays[name] for name in ("offset", "length")]
        self._faults = [self._table[name] for name in ("offset", "length", "reason", "fault")]
        self._reasons = wire.reasons.tolist()

    def spans(self, text: bytes) -> list[tuple[int, int, int, int, int]]:
        """As :meth:`Claims.spans` of the whole text."""
        scanner = self._wire.scanner
        assert scanner.state is not None
        size, state, position, line = len(text), scanner.state(), 0, 1
        found: list[tuple[int, int, int, int, int]] = []
        damaged = False
        while True:
            before = position
            rows, bad, position, line = scanner.scan(
                text,
                position,
                size,
                True,
                self._arrays,
                0,
                self._room,
                self._table,
                0,
                quarantine.ROOM,
                base=0,
                line=line,
                keep=False,
                limit=max(size, 1),
                state=state,
            )
            if rows:
                for offset, length in zip(*(array[:rows].tolist() for array in self._places), strict=True):
                    found.append((offset, offset + length, CLAIMED, 0, 0))
            if bad:
                damaged = True
                for offset, length, reason, fault in zip(
                    *(array[:bad].tolist() for array in self._faults), strict=True
                ):
                    found.append((offset, offset + length, DAMAGED, self._reasons[reason], fault))
            if position == size or (position == before and not rows and not bad):
                break
        return sorted(found, key=itemgetter(0)) if damaged else found


class StringClaims:
    """What wires of lines claim of strings of JSON: a callback of the core. Of one thread at a time.

    short_texts: what the core asks about strings of up to 64 KiB in place of this, with no call of Python for each; or
    None. About a string with more than 64 claims it calls this all the same.
    """

    LONGEST = 1 << 16
    """Bytes of the longest string that is asked about so."""

    def __init__(self, finder: Finder) -> None:
        wire = finder.csp
        make = None if finder.lines else wire.scanner.short_texts
        self.short_texts = make(wire.code, wire.reasons.tobytes(), self.LONGEST) if make is not None else None
        self._finder = finder
        self._short: ShortTexts | None = None
        self._found = False

    def __call__(self, text: bytes) -> list[tuple[int, int, int, int, int, int]] | None:
        """(start, stop, what, wire, reason, fault) of each range that is claimed, or None where there is none."""
        if self._short is None:
            self._short = ShortTexts(self._finder.csp)
        found = self._finder.claims(text, self._short) or None
        self._found = self._found or found is not None
        return found

    @property
    def found(self) -> bool:
        """Whether anything was claimed until now."""
        return self._found or (self.short_texts is not None and self.short_texts.found > 0)


def nothing(stop: int, line: int, wire: int) -> Arrays:
    """The parts of a block up to ``stop``, in which nothing is claimed."""
    parts = empty_parts(1, wire)
    parts["stop"][0], parts["line"][1] = stop, line
    return parts


def empty_parts(count: int, wire: int) -> Arrays:
    """So many parts, all zero: see the core's ``scan_block``."""
    parts: Arrays = {name: np.zeros(count, np.int64) for name in ("start", "stop", "fault", "row")}
    parts |= {name: np.zeros(count, np.uint8) for name in ("what", "reason")}
    return parts | {"line": np.zeros(count + 1, np.int64), "wire": wire}


def copied(arrays: Arrays) -> Arrays:
    """The same values in memory of their own."""
    return {name: array.copy() for name, array in arrays.items()}


def together(found: list[Arrays]) -> Arrays:
    """Tables of the same columns as one."""
    return found[0] if len(found) == 1 else {name: np.concatenate([part[name] for part in found]) for name in found[0]}
