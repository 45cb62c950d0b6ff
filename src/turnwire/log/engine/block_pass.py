"""One block of a scan of all wires: CSP/1 claims its ranges, the rest is searched for the others. See ``all_wires``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.log.engine.columns import table_dtypes, text_spans
from turnwire.log.input.reading import line_end
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.all_wires import Mixed, State

    Arrays = dict[str, Any]

_core = _backend.load("json.lines")
_heads = _backend.load("log.line_heads")
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|```")
_BEGINNING = re.compile(
    rb"\xef|\xef\xbb|(?:\xef\xbb\xbf)?[ \t]*(?:[Cc](?:[Ss](?:[Pp][ \t]*(?:/[ \t]*)?)?)?)?|`{1,2}|<+-?\r?|>+\r?"
)
TEXTS = ("sender", "receiver", "conversation", "subject")
_HELD = 4096
"""Bytes of a line without an end that are held back at least, as long as it may become the first of a CSP/1 message."""
_CLAIMED, _DAMAGED = 1, 2


def is_text(beginning: bytes) -> bool:
    """Whether a line that begins so is text for CSP/1 where no message is open, however it goes on."""
    return _MAGIC.match(beginning) is None and _BEGINNING.fullmatch(beginning) is None


class Pass:
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
        self.ahead: int = block.ahead
        self.base: int = block.base
        self.final = final
        self.ends = final or block.line_end
        self.arrays = arrays
        self.room = room
        self.line = line
        self.state = state
        self.keep = keep
        self.limit = limit
        self.view = memoryview(block.data)[: self.size].cast("B")
        self.rows = 0
        self.rejects: list[tuple[Arrays, int]] = []
        self.table = quarantine.table(quarantine.ROOM, mixed=True)

    def run(self) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """(rows, tables of rejects with how many there are in each, position, line)."""
        start = self._first_line()
        if start >= 0 and (not self.state.idle() or _heads.first_magic(self.view, start, self.size) >= 0):
            position, line = self._with_csp(start)
        else:
            stop = self.size if start < 0 else self._decided(start)
            position, line = self._lines(self.line) if stop == self.size else self._whole_lines(stop)
        if position:
            self.state.within_line = self.view[position - 1] != ord("\n")
        return self.rows, self.rejects, position, line

    # --- where CSP/1 may be ---

    def _first_line(self) -> int:
        """Where the first line begins, or -1 where none does."""
        start = 0
        while self.state.within_line and start < self.size:
            newline = self.view[start : start + (1 << 16)].tobytes().find(b"\n")
            if newline >= 0:
                return start + newline + 1
            start += 1 << 16
        return -1 if self.state.within_line else 0

    def _decided(self, start: int) -> int:
        """Up to where the lines from ``start`` on are surely none of CSP/1: in front of the last one, if that has no
        end and may become the first of a message. What is read of it in pieces cannot be one any more."""
        if self.ends:
            return self.size
        last = max(line_end(self.view, start, self.size), start)
        held = self.size - last <= max(self.limit + 1, _HELD)
        return last if held and not is_text(self.view[last:].tobytes()) else self.size

    # --- lines ---

    def _lines(self, line: int, start: int = 0) -> tuple[int, int]:
        """Finds JSON and nSLIP from ``start`` on, where CSP/1 claims nothing: (position, line)."""
        while start < self.size:
            position, line, on = self._read(start, self.ends, line, None)
            if not on and (not self.ends or not self._more_room()):
                return position, line
            start = position
        return start, line

    def _whole_lines(self, stop: int) -> tuple[int, int]:
        """The same up to ``stop``, where a line begins."""
        line = self.line + self._newlines(stop)
        self._parts(Claims.nothing(stop, line, self.mixed.csp.code))
        return stop, line

    def _newlines(self, stop: int) -> int:
        return int(np.count_nonzero(np.frombuffer(self.view[:stop], np.uint8) == ord("\n")))

    def _parts(self, parts: Arrays) -> None:
        """Finds JSON and nSLIP around the claims of CSP/1, and leaves rows open for these."""
        part, count = 0, len(parts["what"])
        while part < count:
            before = part, int(parts["start"][part])
            part, _, on = self._read(part, True, 1, parts)
            stuck = not on and part < count and (part, int(parts["start"][part])) == before
            if stuck and not self._more_room():
                raise AssertionError("the core must get on")

    def _read(self, start: int, final: bool, line: int, parts: Arrays | None) -> tuple[int, int, bool]:
        """One call of the core: (position, line, whether it got on)."""
        first, room = self.rows, len(self.table["offset"])
        self.rows, bad, position, line = _core.scan_block(
            self.mixed.plan(_core),
            self.data,
            start,
            self.size,
            final,
            self.arrays,
            self.rows,
            self.room,
            self.table,
            0,
            room,
            base=self.base,
            line=line,
            keep=self.keep,
            limit=self.limit,
            state=self.state.lines,
            parts=parts,
        )
        if bad:
            self.rejects.append((self.table, bad))
            # A table that is full ends a look at the whole line: on a line of nothing but damage they must grow.
            more = min(4 * room, quarantine.MOST_ROOM) if 2 * bad > room else quarantine.ROOM
            self.table = quarantine.table(more, mixed=True)
        return position, line, bool(bad or self.rows > first or position != start)

    def _more_room(self) -> bool:
        """Makes room for what has more rejects than the table; false where that does not help."""
        room = len(self.table["offset"])
        self.table = quarantine.table(16 * room, mixed=True)
        return room < quarantine.MOST_ROOM

    # --- CSP/1 ---

    def _with_csp(self, start: int) -> tuple[int, int]:
        found = Claims(self, start, self.line + self._newlines(start))
        position, line = found.position, found.line
        parts = found.parts()
        self._parts(parts)
        self._records(found, parts["row"][1::2][found.what == _CLAIMED])
        rest = self.view[position:].tobytes() if not self.ends and position < self.size else b"\n"
        if b"\n" not in rest and is_text(rest):
            return self._lines(line, position)
        return position, line

    def _records(self, found: Claims, rows: NDArray[np.int64]) -> None:
        """Fills the rows that were left open for the records among the claims."""
        count = len(rows)
        if not count:
            return
        values, arrays, valid = found.records, self.arrays, self.mixed.valid
        into: Any = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] + 1 == count else rows
        present = np.full(count, 1 << valid["wire"] | 1 << valid["kind"], np.uint64)
        scanner = self.mixed.csp.scanner
        for name in TEXTS:
            source = scanner.common[name][1]
            if f"{name}.offset" in arrays:
                offsets, lengths = text_spans(scanner, values, count, source)
                arrays[f"{name}.offset"][into] = offsets
                arrays[f"{name}.length"][into] = lengths
                there = values["present"] >> np.uint32(scanner.bits[source]) & np.uint32(1)
                present |= there.astype(np.uint64) << np.uint64(valid[name])
        plain = {
            "offset": values["offset"],
            "length": values["length"],
            "place": values["offset"] - self.base,
            "size": values["length"],
            "line": values["line"],
            "present": present,
            "wire": self.mixed.csp.code,
            "kind": self.mixed.csp.kinds[values["intent"]],
            **dict.fromkeys(("inner", "sequence", "time"), 0),
        }
        for name, value in plain.items():
            if name in arrays:
                arrays[name][into] = value


class Claims:
    """What CSP/1 claims of a block, in order: ``starts``, ``stops`` (in the block), ``lines``; ``what``: a record or a
    damaged message, and of that ``faults`` and ``reasons``; ``position``, ``line``: where CSP/1 goes on."""

    def __init__(self, within: Pass, start: int, line: int) -> None:
        csp = within.mixed.csp
        self.code = csp.code
        asked = [csp.scanner.common[name] for name in TEXTS if f"{name}.offset" in within.arrays]
        columns_asked = [column for column in csp.scanner.columns if ("column", column.name) in asked]
        dtypes = {**table_dtypes(csp.scanner, columns_asked), "line": "i8", "intent": "u1"}
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
                within.size + within.ahead,
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
            records.append({name: array[:rows] for name, array in columns.items()})
            rejects.append({name: array[:bad] for name, array in table.items()})
            if position == within.size or (position == before and not rows and not bad):
                break
        self.position, self.line = position, line
        self.records = _together(records)
        self._order(_together(rejects), within.base, csp.reasons)

    def _order(self, rejects: Arrays, base: int, reasons: NDArray[np.uint8]) -> None:
        names = ("offset", "length", "line")
        both = _together([{name: found[name] for name in names} for found in (self.records, rejects)])
        good = len(self.records["offset"])
        order = np.argsort(both["offset"], kind="stable") if len(rejects["offset"]) else slice(None)
        self.starts = both["offset"][order] - base
        self.stops = self.starts + both["length"][order]
        self.lines = both["line"][order]
        self.what = np.full(len(self.starts), _CLAIMED, np.uint8)
        self.faults = np.zeros(len(self.starts), np.int64)
        self.reasons = np.zeros(len(self.starts), np.uint8)
        if len(rejects["offset"]):
            damaged = order >= good  # type: ignore[operator]
            self.what[damaged] = _DAMAGED
            self.faults[damaged] = rejects["fault"]
            self.reasons[damaged] = reasons[rejects["reason"]]

    @staticmethod
    def nothing(stop: int, line: int, code: int) -> Arrays:
        """The parts of a block up to ``stop``, in which nothing is claimed."""
        parts = _parts(1, code)
        parts["stop"][0], parts["line"][1] = stop, line
        return parts

    def parts(self) -> Arrays:
        """The parts of the block for the core: what stands before, between and behind the claims, and these."""
        count = 2 * len(self.starts) + 1
        parts = _parts(count, self.code)
        parts["start"][1:count:2], parts["start"][2:count:2] = self.starts, self.stops
        parts["stop"][:count:2], parts["stop"][1:count:2] = np.append(self.starts, self.position), self.stops
        parts["line"][1::2] = np.append(self.lines, self.line)
        parts["fault"][1:count:2] = self.faults
        parts["what"][1::2], parts["reason"][1::2] = self.what, self.reasons
        return parts


def _parts(count: int, code: int) -> Arrays:
    parts: Arrays = {name: np.zeros(count, np.int64) for name in ("start", "stop", "fault", "row")}
    parts |= {name: np.zeros(count, np.uint8) for name in ("what", "reason")}
    return parts | {"line": np.zeros(count + 1, np.int64), "wire": code}


def _together(found: list[Arrays]) -> Arrays:
    return found[0] if len(found) == 1 else {name: np.concatenate([part[name] for part in found]) for name in found[0]}
