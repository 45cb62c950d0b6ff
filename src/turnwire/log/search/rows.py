"""Turns what the search found in a block into rows of columns: where each record stands, its bytes and time, and the
columns of its wire or those common to all wires. Rejects have a table of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.csp.bulk import texts_of
from turnwire.json._rows_py import between, filled
from turnwire.log.engine.columns import REASONS, bulk_scanner
from turnwire.log.search.texts import BOM, CARRIERS, Match, Text
from turnwire.nslip.bulk import text_spans
from turnwire.nslip.spec import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnwire.log.search.search import Search

GREATEST = (1 << 63) - 1
"""The greatest number that fits into an i64 column; a greater one leaves the column empty."""
DTYPES = {
    **dict.fromkeys(("offset", "length", "place", "size", "own_bytes"), "i8"),
    "present": "u8",
    **dict.fromkeys(("wire", "depth"), "u1"),
}
"""The arrays that describe each record. Where all records of a block stand in the file itself, none in a string, the
native search leaves out place and size (then equal to offset and length), and inner and depth (then 0)."""
REJECT_DTYPES = {
    **dict.fromkeys(("offset", "length", "line", "fault", "inner", "row", "own_bytes"), "i8"),
    "reason": "u1",
    "wire": "u1",
}
_NSLIP_FIELDS = ("conv_id", "turn", "src", "dst", "act")
"""The first values that the parser of nSLIP gives, in order."""


class Rows:
    """The rows and rejects of one block.

    size: of the block in bytes; base: its offset in the input; line: the number of its first line; dtypes: those of the
    wanted arrays. Text that does not stand in the block as such (it was unescaped or joined) goes into the arena, whose
    places count on from ``size``.
    """

    def __init__(self, search: Search, text: Text, size: int, base: int, line: int, dtypes: Mapping[str, Any]) -> None:
        self._finder = search.finder
        self._dtypes = dtypes
        self._wanted = {name.partition(".")[0] for name in dtypes}
        self.text = text
        self.size = size
        self.base = base
        self.arena: list[bytes] = []
        self.arena_size = 0
        self.rows: list[dict[str, Any]] = []
        self.rejects: list[dict[str, Any]] = []
        self._line = line
        self._line_place = 0  # the place whose line is _line

    def line_of(self, place: int) -> int:
        """The line of a place in the block."""
        low, high = sorted((place, self._line_place))
        newlines = self.text.data.count(b"\n", low, high)
        self._line += newlines if place >= self._line_place else -newlines
        self._line_place = place
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
            if found.fault != found.stop and found.fault < len(found.text.data):
                fault = found.text.place(found.fault)
            row = {
                "offset": self.base + first,
                "length": last - first,
                "line": self.line_of(first),
                "fault": self.base + fault,
                "reason": REASONS.index(found.reason),
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
        }
        if "carrier" in self._wanted:
            values["carrier"] = self._carrier(found)
        place = found.start
        if found.text.outer is not None:
            place = self._in_arena(found.text.data[found.start : found.stop])
            self._in_arena(b"\n")
        values["place"] = place
        time, bits = self._columns(found, values, place - found.start)
        document = isinstance(found.value, tuple) and found.value[0] == "document"
        if time is None and "time" in self._wanted and not document:
            time = found.text.line_time(found.text.line_start(found.start)) if found.text.outer is not None else None
            time = found.time if time is None else time
            time = found.text.time(found.start) if time is None else time
        values["time"] = time or 0
        bits |= self._bit_of("inner") if quote >= 0 else 0
        values["present"] = bits | (0 if time is None else self._bit_of("time"))
        self.rows.append(values)

    def _in_arena(self, said: bytes) -> int:
        """Puts bytes into the arena. Returns their place."""
        self.arena.append(said)
        self.arena_size += len(said)
        return self.size + self.arena_size - len(said)

    def _carrier(self, found: Match) -> int:
        """The number of the record's outermost carrier in ``CARRIERS``."""
        text = found.text.outermost()
        alone = text.outer is None and found.wire == self._finder.csp
        line = text.line_start(found.start)
        if alone and text.data[line : found.start].removeprefix(BOM):  # only the first line has a prefix
            return CARRIERS.index("prefix")
        return CARRIERS.index(text.carrier)

    def _bit_of(self, column: str) -> int:
        """The mask of the bit that says that a column has a value; 0 if it has none."""
        valid = self._finder.valid
        return 1 << valid[column] if column in valid else 0

    def _columns(self, found: Match, values: dict[str, Any], shift: int) -> tuple[int | None, int]:
        """Adds the columns of a record: its time, and the bits of those that any wire has."""
        finder, wire = self._finder, registry.codes()[found.wire]
        data, start, said = found.text.data, found.start, found.value
        scanner = bulk_scanner(wire)
        mine = found.wire == finder.code
        if scanner.values is not None and finder.located and mine:
            own = scanner.values(data, start, found.stop, said, shift)
            values |= {("own_present" if name == "present" else name): value for name, value in own.items()}
            return None, 0
        if found.wire == finder.nslip:
            own = {**dict(zip(_NSLIP_FIELDS, said, strict=False)), "act": int(said[4])}
            tag = text_spans(data, start, found.stop).get(Slot.TAG)
            own |= {} if tag is None else {"tag": tag}
        elif found.wire == finder.csp:
            own = {"intent": said[3] & 0xFF, **texts_of(data, said)}
        elif isinstance(said[0], int):
            return self._json_columns(found, values, shift)
        else:
            wanted = {source for name, (_, source) in scanner.common.items() if name in self._wanted}
            own = said[1] if scanner.read is None else scanner.read(said[1], self._wanted if mine else wanted)
        if mine:
            valid, present = (scanner.bits, "own_present") if finder.located else (finder.valid, "present")
            bits = sum(self._put(values, name, value, shift, valid, finder.escaped) for name, value in own.items())
            values[present] = bits
            return values.get("time"), 0 if finder.located else bits
        return self._common_columns(wire, own, values, shift) if finder.code is None else (None, 0)

    def _common_columns(
        self, wire: str, own: Mapping[str, Any], values: dict[str, Any], shift: int
    ) -> tuple[int | None, int]:
        """Adds the columns common to all wires, filled from a wire's own. Returns the time and the bits."""
        finder = self._finder
        bits = self._bit_of("wire") if wire == "csp" else 0  # as the search in C writes it
        for name, (how, source) in bulk_scanner(wire).common.items():
            value = own.get(source)
            if value is None:
                continue
            if name == "kind":
                value = finder.kinds[wire][value]
            elif how == "number":
                value = str(int(value)).encode()
            if isinstance(value, bytes | tuple) or value <= GREATEST:
                bits |= self._put(values, name, value, shift, finder.valid, finder.escaped)
        return values.get("time"), bits

    def _put(
        self,
        values: dict[str, Any],
        column: str,
        value: Any,
        shift: int,
        valid: Mapping[str, int],
        escaped: Mapping[str, int],
    ) -> int:
        """Adds the value of a column: a number, bytes, or a span of the text and whether that has escapes. Returns the
        column's bits."""
        if column not in valid:
            return 0
        bits = 1 << valid[column]
        if isinstance(value, bytes):
            values[f"{column}.offset"], values[f"{column}.length"] = self._in_arena(value), len(value)
        elif isinstance(value, tuple):
            values[f"{column}.offset"], values[f"{column}.length"] = value[0] + shift, value[1]
            bits |= 1 << escaped[column] if value[2:] == (True,) else 0
        else:
            values[column] = value
        return bits

    def _json_columns(self, found: Match, values: dict[str, Any], shift: int) -> tuple[int | None, int]:
        """Adds the columns that the plan of a JSON wire fills. Returns the time and the bits."""
        finder, (wire, value) = self._finder, found.value
        plan = finder.plans[wire]
        variant = plan.variants[plan.variant_of(value)]
        raw = found.text.data
        spans = finder.reading.spans(raw, found.start)
        time, bits = None, 0
        for fill in variant.fills:
            there = spans.get(fill.path, spans.get(fill.other))
            known = finder.reading.values.get(fill.path if fill.path in spans else fill.other)
            if fill.how == "between":
                cell = between(raw, spans.get(fill.other), spans.get(fill.path))
            else:
                cell = filled(fill, known, raw, there)
            if cell is None:
                continue
            if cell.absent:
                values[fill.column] = cell.value
                bits &= ~(1 << finder.valid.get(fill.column, 64))
                continue
            if fill.column == "time":
                time = cell.value
                continue
            said: Any = cell.value
            if fill.column in finder.texts:
                said = cell.start, cell.end - cell.start, cell.escaped
            elif fill.how == "word":
                said += fill.constant
            elif fill.how == "times":
                said += values.get(fill.column, 0)
            bits |= self._put(values, fill.column, said, shift, finder.valid, finder.escaped)
        return time, bits

    def tables(
        self, memory: Callable[..., dict[str, Any]] | None
    ) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]]]:
        """(arrays, number of rows, tables of rejects with the number of rejects in each). memory: (dtypes, rows) ->
        arrays with room for these rows."""
        count = len(self.rows)
        types = {name: np.dtype(dtype) for name, dtype in {**DTYPES, **self._dtypes}.items()}
        if memory is None:
            arrays: dict[str, Any] = {name: np.empty(count, dtype) for name, dtype in types.items()}
        else:
            arrays = dict(memory(types, count))
        for name, dtype in types.items():
            absent: Any = 0 if dtype.kind != "V" else bytes(dtype.itemsize)
            arrays[name][:count] = np.array([row.get(name, absent) for row in self.rows], dtype)
        if self.arena:
            arrays["arena"] = b"".join(self.arena)
        if not self.rejects:
            return arrays, count, []
        table = {name: np.array([row[name] for row in self.rejects], dtype) for name, dtype in REJECT_DTYPES.items()}
        return arrays, count, [(table, len(self.rejects))]
