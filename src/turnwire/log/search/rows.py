"""Columns of what the search found in a block: places, own bytes, times, and the columns that any wire has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.csp._columns_py import texts_of
from turnwire.json._rows_py import Cell, filled
from turnwire.log.search.search import Search
from turnwire.log.search.state import Match
from turnwire.log.search.texts import BOM, CARRIERS, Text
from turnwire.nslip.bulk import text_spans
from turnwire.nslip.spec import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnwire.log.engine.all_wires import Finder
    from turnwire.log.search.plan import Plan

GREATEST = (1 << 63) - 1
DTYPES = {
    **dict.fromkeys(("offset", "length", "place", "size", "own_bytes"), "i8"),
    "present": "u8",
    **dict.fromkeys(("wire", "depth"), "u1"),
}
"""The arrays that describe each record. If all of a block stand in the file, the native one leaves out place and size,
which are offset and length then, and ``inner`` and depth, which are 0."""
REJECT_DTYPES = {
    **dict.fromkeys(("offset", "length", "line", "fault", "inner", "row", "own_bytes"), "i8"),
    "reason": "u1",
    "wire": "u1",
}
_CONV, _TURN, _SRC, _DST, _ACT = range(5)


class Rows:
    """The rows of one block. size: its bytes, behind which the arena begins; base: its place in the input; line: its
    first line."""

    def __init__(
        self, search: Search, plan: Plan, csp: Any, text: Text, size: int, base: int, line: int, finder: Finder
    ) -> None:
        self._values = finder.own.values if finder.located and finder.own is not None else None
        self._code = finder.code
        self.plan = plan
        self.search = search
        self.csp = csp  # (numbers of kinds, own column -> common column)
        self.text = text
        self.size = size
        self.base = base
        self.arena: list[bytes] = []
        self.arena_size = 0
        self.rows: list[dict[str, Any]] = []
        self.rejects: list[dict[str, Any]] = []
        self._line = line
        self._counted = 0

    def line_of(self, place: int) -> int:
        """The line of a place in the block."""
        low, high = sorted((place, self._counted))
        newlines = self.text.data.count(b"\n", low, high)
        self._line += newlines if place >= self._counted else -newlines
        self._counted = place
        return self._line

    def add(self, found: Match) -> None:
        """Adds a record or a reject."""
        if found.stop <= found.start:
            return
        spans = found.text.spans(found.start, found.stop)
        first, last = spans[0][0], spans[-1][1]
        quote, inner = found.text.string_place(found.start)
        own = sum(stop - start for start, stop in spans)
        if found.reason is not None:
            fault = last + found.fault - found.stop
            if found.fault < found.stop:
                fault = found.text.spans(found.fault, found.stop)[0][0]
            elif found.stop < found.fault < len(found.text.data):
                fault = found.text.place(found.fault)
            row = {
                "offset": self.base + first,
                "length": last - first,
                "line": self.line_of(first),
                "fault": self.base + fault,
                "reason": self.plan.reasons.index(found.reason),
                "wire": found.wire,
                "inner": inner if quote >= 0 else -1,
                "row": len(self.rows),
                "own_bytes": own,
            }
            self.rejects.append(row)
            return
        values: dict[str, Any] = {
            "offset": self.base + (quote if quote >= 0 else first),
            "length": last - first,
            "line": self.line_of(quote if quote >= 0 else first),
            "wire": found.wire,
            "depth": found.text.depth,
            "inner": max(inner, 0),
            "own_bytes": own,
            "size": found.stop - found.start,
            "inside_unclosed_heredoc": found.unclosed,
            "carrier": self._carrier(found),
        }
        present = self._bit("inner") if quote >= 0 else 0
        place = found.start
        if found.text.outer is not None:
            place = self.size + self.arena_size
            said = found.text.data[found.start : found.stop]
            self.arena += said, b"\n"
            self.arena_size += len(said) + 1
        values["place"] = place
        shift = place - found.start
        if found.wire == self._code and self._values is not None:
            own_values = self._values(found.text.data, found.start, found.stop, found.value, shift)
            own_values["own_present"] = own_values.pop("present")
            values |= own_values
        if found.wire == self.search.nslip:
            time, bits = self._nslip(found, values, shift)
        elif isinstance(found.value, tuple) and found.value[0] == "further":
            time, bits = None, 0
        elif found.wire == self.search.csp.code:
            time, bits = self._csp(found, values, shift)
        else:
            time, bits = self._json(found, values, shift)
        if time is None and not (isinstance(found.value, tuple) and found.value[0] == "document"):
            time = found.text.line_time(found.text.line_start(found.start)) if found.text.outer is not None else None
            time = found.time if time is None else time
            time = found.text.time(found.start) if time is None else time
        values["time"] = time or 0
        values["present"] = present | bits | (0 if time is None else self._bit("time"))
        self.rows.append(values)

    def _carrier(self, found: Match) -> int:
        """What the record came through: the outermost carrier."""
        text = found.text.outermost()
        alone = text.outer is None and found.wire == self.search.csp.code
        line = text.line_start(found.start)
        if alone and text.data[line : found.start].removeprefix(BOM):  # a prefix on its first line only
            return CARRIERS.index("prefix")
        return CARRIERS.index(text.carrier)

    def _bit(self, column: str) -> int:
        return 1 << self.plan.valid[column] if column in self.plan.valid else 0

    def _text(self, values: dict[str, Any], column: str, start: int, size: int, escaped: bool = False) -> int:
        if column not in self.plan.valid:
            return 0
        values[f"{column}.offset"], values[f"{column}.length"] = start, size
        return self._bit(column) | (1 << self.plan.escaped[column] if escaped else 0)

    def _nslip(self, found: Match, values: dict[str, Any], shift: int) -> tuple[None, int]:
        assert self.plan.nslip is not None
        bits = 0
        for name, number in (("sender", _SRC), ("receiver", _DST), ("conversation", _CONV)):
            said = str(found.value[number]).encode()
            bits |= self._text(values, name, self.size + self.arena_size, len(said))
            if name in self.plan.valid:
                self.arena.append(said)
                self.arena_size += len(said)
        for name, value in (("kind", self.plan.nslip[1][int(found.value[_ACT])]), ("sequence", found.value[_TURN])):
            if name in self.plan.valid and value <= GREATEST:
                values[name] = value
                bits |= self._bit(name)
        tag = text_spans(found.text.data, found.start, found.stop).get(Slot.TAG)
        if tag is not None:
            bits |= self._text(values, "subject", tag[0] + shift, tag[1], tag[2])
        return None, bits

    def _csp(self, found: Match, values: dict[str, Any], shift: int) -> tuple[None, int]:
        kinds, sources = self.csp
        if "kind" not in self.plan.valid or "wire" not in self.plan.valid:
            return None, 0
        bits = self._bit("kind") | self._bit("wire")
        values["kind"] = kinds[found.value[3] & 0xFF]
        texts = texts_of(found.text.data, found.value)
        for own, common in sources:
            if own in texts:
                bits |= self._text(values, common, texts[own][0] + shift, texts[own][1])
        return None, bits

    def _json(self, found: Match, values: dict[str, Any], shift: int) -> tuple[int | None, int]:
        wire, value = found.value
        if wire == "document":
            return None, self._document(value, values, shift + found.start)
        plan = self.plan.plans[wire]
        variant = plan.variants[plan.variant_of(value)]
        raw = found.text.data
        noted = self.plan.reading.noted(raw, found.start)
        time, bits = None, 0
        for fill in variant.fills:
            there = noted.get(fill.path, noted.get(fill.other))
            if fill.column == "time":
                cell = filled(fill, None, raw, there)
                time = time if cell is None else cell.value
                continue
            known = self.plan.reading.values.get(fill.path if fill.path in noted else fill.other)
            cell = filled(fill, known, raw, there)
            if cell is not None:
                bits |= self._cell(values, fill.column, cell, fill.constant if fill.how == "word" else 0, shift)
        return time, bits

    def _document(self, said: dict[str, Any], values: dict[str, Any], place: int) -> int:
        bits = 0
        for name, value in said.items():
            if isinstance(value, tuple):
                bits |= self._text(values, name, place + value[0], value[1])
            elif name in self.plan.valid:
                values[name] = value
                bits |= self._bit(name)
        return bits

    def _cell(self, values: dict[str, Any], column: str, cell: Cell, constant: int, shift: int) -> int:
        if self.plan.kinds.get(column) == "text":
            return self._text(values, column, cell.start + shift, cell.end - cell.start, cell.escaped)
        values[column] = cell.value + constant if constant else cell.value
        return self._bit(column)

    def tables(
        self, dtypes: dict[str, Any], memory: Callable[..., dict[str, Any]] | None
    ) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]]]:
        """(columns of these types, rows, tables of rejects with how many there are in each). memory: (dtypes, rows) ->
        arrays with room for so many."""
        count = len(self.rows)
        types = {name: np.dtype(dtype) for name, dtype in {**DTYPES, **dtypes}.items()}
        arrays: dict[str, Any] = {name: np.empty(count, dtype) for name, dtype in types.items()}
        if memory is not None:
            arrays = dict(memory(types, count))
        for name, dtype in types.items():
            absent: Any = 0 if dtype.kind != "V" else bytes(dtype.itemsize)
            arrays[name][:count] = np.array([row.get(name, absent) for row in self.rows], dtype)
        if self.arena:
            arrays["arena"] = b"".join(self.arena)
        table = {name: np.array([row[name] for row in self.rejects], dtype) for name, dtype in REJECT_DTYPES.items()}
        return arrays, count, [(table, len(self.rejects))] if self.rejects else []
