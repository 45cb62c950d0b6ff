"""One block of a mixed scan: CSP/1 claims its ranges, lines are searched for the other wires. See ``mixed.py``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.contract import WIRES
from turnwire.log import rejects as quarantine
from turnwire.log.columns import table_dtypes, text_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.mixed import Mixed, State

    Arrays = dict[str, Any]

_core = _backend.load("json_lines")
_CSP = WIRES.index("csp")
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
_SLASH, _NEWLINE, _BRACE, _AT = b"/\n{@"
TEXTS = ("sender", "receiver", "conversation", "subject")
_REJECT_DTYPES = {**quarantine.DTYPES, "wire": "u1"}


def _table(room: int) -> Arrays:
    return {name: np.empty(room, dtype) for name, dtype in _REJECT_DTYPES.items()}


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
        self.bytes = np.frombuffer(memoryview(block.data)[: self.size], np.uint8)
        self.rows = 0
        self.arena: list[bytes] = []
        self.arena_size = 0
        self.rejects: list[tuple[Arrays, int]] = []
        self.table = _table(quarantine.ROOM)

    def run(self) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """(rows, tables of rejects with how many there are in each, position, line)."""
        start = self._first_line()
        if start < 0 or not (self._looks_like_csp(start) or not self.state.idle()):
            position, line = self._lines(0, self.size, self.line, self.ends)
        else:
            line = self.line + self._newlines(0, start)
            position, line = self._with_csp(start, line)
        if self.arena:
            self.arrays["arena"] = b"".join(self.arena)
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
        position = start
        plan = self.mixed.plan(_core)
        while position < stop:
            room = len(self.table["offset"])
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
                self.table,
                0,
                room,
                base=self.base,
                line=line,
                keep=self.keep,
                limit=self.limit,
                state=self.state.lines,
            )
            self._move_arena(before[1], stop)
            if bad:
                self.rejects.append(({name: array[:bad].copy() for name, array in self.table.items()}, bad))
            if position == before[0] and not bad and self.rows == before[1]:
                if not final or room >= quarantine.MOST_ROOM:
                    break
                self.table = _table(16 * room)
        return position, line

    def _move_arena(self, first: int, stop: int) -> None:
        """What a part of the block, up to ``stop``, has behind its end goes behind the block and what is there."""
        arena = self.arrays.pop("arena", b"")
        shift = self.size - stop + self.arena_size
        if arena:
            self.arena.append(arena)
            self.arena_size += len(arena)
        if not arena or not shift or first == self.rows:
            return
        for name in ("place", *(f"{text}.offset" for text in TEXTS)):
            array = self.arrays.get(name)
            if array is not None:
                part = array[first : self.rows]
                part[part >= stop] += shift

    # --- CSP/1 ---

    def _with_csp(self, start: int, line: int) -> tuple[int, int]:
        found = Claims(self, start, line)
        if start:
            self._lines(0, start, self.line, True)
        hits = np.flatnonzero((self.bytes[: found.position] == _BRACE) | (self.bytes[: found.position] == _AT))
        gaps = np.append(start, found.stops), np.append(found.starts, found.position)
        interesting = hits.searchsorted(gaps[0]) < hits.searchsorted(gaps[1])
        for place in np.flatnonzero(np.append(found.reject >= 0, False) | interesting).tolist():
            begin, end = int(gaps[0][place]), int(gaps[1][place])
            if interesting[place]:
                last = place == len(found.starts)
                at = found.line if last else int(found.lines[place])
                self._lines(begin, end, at - self._newlines(begin, end), True)
            if place < len(found.starts) and found.reject[place] >= 0:
                self._carve(found, place, hits)
        self._records(found)
        return found.position, found.line

    def _records(self, found: Claims) -> None:
        """Adds the records among the claims, and puts all rows in order."""
        values = found.records
        count = len(values["offset"])
        if not count:
            return
        arrays, valid = self.arrays, self.mixed.valid
        first = self.rows
        into = slice(first, first + count)
        self.rows += count
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
            "wire": _CSP,
            "kind": self.mixed.csp.kinds[values["intent"]],
            **dict.fromkeys(("inner", "sequence", "time"), 0),
        }
        for name, value in plain.items():
            if name in arrays:
                arrays[name][into] = value
        if first:
            order = np.argsort(arrays["offset"][: self.rows], kind="stable")
            for array in arrays.values():
                array[: self.rows] = array[: self.rows][order]

    def _carve(self, found: Claims, place: int, hits: NDArray[np.int64]) -> None:
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
        table = {name: np.zeros(len(pieces), dtype) for name, dtype in _REJECT_DTYPES.items()}
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


class Claims:
    """What CSP/1 claims of a block, in order: ``starts``, ``stops`` (in the block), ``lines``; ``reject``: the row in
    ``rejects``, or -1 for a record; ``position``, ``line``: where CSP/1 goes on."""

    def __init__(self, within: Pass, start: int, line: int) -> None:
        csp = within.mixed.csp
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
        good = len(self.records["offset"])
        order = np.argsort(both["offset"], kind="stable")
        self.starts = both["offset"][order] - base
        self.stops = self.starts + both["length"][order]
        self.lines = both["line"][order]
        self.reject = np.where(order >= good, order - good, -1)
