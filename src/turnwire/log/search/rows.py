"""Turns what the search found in a block into rows of columns: where each record stands, its bytes and time, and the
columns of its wire or those common to all wires. Rejects have a table of their own."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import WORK, text_span
from turnwire.csp.bulk import texts_of
from turnwire.json._rows_py import INVALID, Message, cell_of
from turnwire.log.engine.columns import REASONS, bulk_scanner
from turnwire.log.search.texts import BOM, CARRIERS, Match, Text
from turnwire.log.search.tokens import FIELDS, RUN, RUN_COLUMNS
from turnwire.nslip.bulk import text_spans
from turnwire.nslip.spec import BASE62_ALPHABET, Slot

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
_UNTOLD = {column.name for column in WORK}
"""Columns that the compiled core alone fills: zeros stand for "the wire must say"."""
_DIGITS = np.zeros(256, "i8")
_DIGITS[list(BASE62_ALPHABET.encode())] = range(62)


class Rows:
    """The rows and rejects of one block.

    size: of the block in bytes; base: its offset in the input; line: the number of its first line; dtypes: those of the
    wanted arrays. Text that does not stand in the block as such (it was unescaped or joined) goes into the arena, whose
    places count on from ``size``. count: of the rows.
    """

    def __init__(self, search: Search, text: Text, size: int, base: int, line: int, dtypes: Mapping[str, Any]) -> None:
        self._finder = search.finder
        self._types = {name: np.dtype(dtype) for name, dtype in {**DTYPES, **dtypes}.items()}
        self._wanted = {*dtypes}
        self.text = text
        self.size = size
        self.base = base
        self.arena: list[bytes] = []
        self.arena_size = self.count = 0
        self.rejects: list[dict[str, Any]] = []
        self._parts: list[tuple[int, dict[str, Any]]] = []  # how many rows were found at once, and their columns
        self._rows: list[dict[str, Any]] = []  # those behind them, one by one
        self._cells: dict[tuple[int, int], list[tuple[Any, ...]]] = {}  # of a plan and a variant
        self._line = line
        self._line_place = 0  # the place whose line is _line

    def line_of(self, place: int) -> int:
        """The line of a place in the block."""
        if place >= self._line_place:
            self._line += self.text.data.count(b"\n", self._line_place, place)
        else:
            self._line -= self.text.data.count(b"\n", place, self._line_place)
        self._line_place = place
        return self._line

    def add(self, found: Match) -> None:
        """Adds a record or a reject, or a run of records."""
        text, start, stop = found.text, found.start, found.stop
        if stop <= start:
            return
        if found.value is RUN:
            self._add_run(start, stop)
            return
        if text.outer is None:
            first, last, quote, inner, own = start, stop, -1, -1, stop - start
        else:
            spans = text.spans(start, stop)
            first, last = spans[0][0], spans[-1][1]
            quote, inner = text.string_place(start)
            own = sum(end - begin for begin, end in spans)
        if found.reason is not None:
            fault = last + found.fault - stop
            if found.fault != stop and found.fault < len(text.data):
                fault = text.place(found.fault)
            row = {
                "offset": self.base + first,
                "length": last - first,
                "line": self.line_of(first),
                "fault": self.base + fault,
                "reason": REASONS.index(found.reason),
                "wire": found.wire,
                "inner": inner if quote >= 0 else -1,
                "row": self.count,
                "own_bytes": own,
            }
            self.rejects.append(row)
            return
        here = quote if quote >= 0 else first
        values: dict[str, Any] = {
            "offset": self.base + here,
            "length": last - first,
            "line": self.line_of(here),
            "wire": found.wire,
            "depth": text.depth,
            "inner": max(inner, 0),
            "own_bytes": own,
            "size": stop - start,
            "inside_unclosed_heredoc": found.unclosed,
        }
        if "carrier" in self._wanted:
            values["carrier"] = self._carrier(found)
        place = start
        if text.outer is not None:
            place = self._in_arena(text.data[start:stop])
            self._in_arena(b"\n")
        values["place"] = place
        time, bits = self._columns(found, values, place - start)
        document = isinstance(found.value, tuple) and found.value[0] == "document"
        if time is None and "time" in self._wanted and not document:
            time = text.line_time(text.line_start(start)) if text.outer is not None else None
            time = found.time if time is None else time
            has_head = (
                text.outer is not None or (start and text.data[start - 1] != 10) or text.data[start] not in b"@{C"
            )
            time = text.time(start) if time is None and has_head else time
        values["time"] = time or 0
        bits |= self._bit_of("inner") if quote >= 0 else 0
        values["present"] = bits | (0 if time is None else self._bit_of("time"))
        self._rows.append(values)
        self.count += 1

    def _add_run(self, start: int, stop: int) -> None:
        """Adds the records of a run. Their fields are cut out, and their numbers read digit by digit, all at once."""
        said = self.text.data[start : stop + 1]
        data = np.frombuffer(said, "u1")
        sizes = np.fromiter(map(len, FIELDS.findall(said)), "i8")
        places = np.cumsum(sizes) - sizes
        prefixes = data[places + 1]
        is_end = prefixes == ord("\n")
        records = np.cumsum(is_end) - is_end
        behind = places[is_end] + 1
        count, first = len(behind), np.append(0, behind[:-1] + 1)
        is_number = (sizes > 2) & (data[np.minimum(places + 2, len(data) - 1)] != ord('"'))
        numbers = np.zeros(len(sizes), "i8")
        for digit in range(2, int(sizes.max(initial=0, where=is_number))):
            more = np.flatnonzero(is_number & (sizes > digit))
            numbers[more] = numbers[more] * 62 + _DIGITS[data[places[more] + digit]]
        columns: dict[str, Any] = {
            "offset": self.base + start + first,
            "length": behind - first,
            "line": self.line_of(start) + np.arange(count),
            "wire": np.full(count, self._finder.nslip),
            "place": start + first,
        }
        columns["size"] = columns["own_bytes"] = columns["length"]
        fields: dict[str, tuple[Any, ...]] = {}  # column -> records that have it, its numbers, the spans of its texts
        for prefix, name in RUN_COLUMNS.items():
            at = np.flatnonzero(prefixes == ord(prefix))
            fields[name] = records[at], numbers[at], start + places[at] + 3, sizes[at] - 4
        self._keep_rows()
        self._parts.append((count, columns | self._run_columns(count, fields)))
        self.count += count

    def _run_columns(self, count: int, fields: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The columns of a run that nSLIP or any wire has."""
        finder, scanner = self._finder, bulk_scanner("nslip")
        is_own = finder.located and finder.code == finder.nslip
        common = scanner.common if finder.code is None else {}
        sources = {name: ("column", name) for name in fields} if is_own else common
        valid = scanner.bits if is_own else finder.valid
        present = np.zeros(count, "u8")
        columns = {"own_present" if is_own else "present": present}
        for name, (how, source) in sources.items():
            records, numbers, places, sizes = fields[source]
            if name in valid:
                present[records] |= np.uint64(1 << valid[name])
            if name not in self._wanted:
                continue
            if how == "number":
                texts = [str(number).encode() for number in numbers.tolist()]
                sizes = np.fromiter(map(len, texts), "i8", count)
                places = self._in_arena(b"".join(texts)) + np.cumsum(sizes) - sizes
            numbers = np.array(finder.kinds["nslip"])[numbers] if name == "kind" else numbers
            is_text = how == "number" or source in ("status", "tag")
            columns[name] = np.zeros(count, "i8")
            columns[name][records] = text_span(places, sizes) if is_text else numbers
        return columns

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
        finder, data, start, said = self._finder, found.text.data, found.start, found.value
        if type(said[-1]) is Message:
            return self._json_columns(found, values, shift)
        wire, mine = registry.codes()[found.wire], found.wire == finder.code
        scanner = bulk_scanner(wire)
        if scanner.values is not None and finder.located and mine:
            values |= scanner.values(data, start, found.stop, said, shift)
            return None, 0
        if found.wire == finder.nslip:
            own = {**dict(zip(_NSLIP_FIELDS, said, strict=False)), "act": int(said[4])}
            tag = text_spans(data, start, found.stop).get(Slot.TAG)
            own |= {} if tag is None else {"tag": tag}
        elif found.wire == finder.csp:
            own = {"intent": said[3] & 0xFF, **texts_of(data, said)}
        else:
            wanted = {source for name, (_, source) in scanner.common.items() if name in self._wanted}
            own = said[1] if scanner.read is None else scanner.read(said[1], self._wanted if mine else wanted)
        if mine:
            valid, present = (scanner.bits, "own_present") if finder.located else (finder.valid, "present")
            bits = sum(self._put(values, name, value, shift, valid) for name, value in own.items())
            values[present] = bits
            return values.get("time"), 0 if finder.located else bits
        if finder.code is not None:
            return None, 0
        bits = self._bit_of("wire") if wire == "csp" else 0  # as the search in C writes it
        for name, (how, source) in scanner.common.items():
            if (value := own.get(source)) is None:
                continue
            value = finder.kinds[wire][value] if name == "kind" else value
            value = str(int(value)).encode() if how == "number" else value
            if isinstance(value, bytes | tuple) or value <= GREATEST:
                bits |= self._put(values, name, value, shift, finder.valid)
        return values.get("time"), bits

    def _put(self, values: dict[str, Any], column: str, value: Any, shift: int, valid: Mapping[str, int]) -> int:
        """Adds the value of a column: a number, bytes, or a span of the text and whether that has escapes. Returns the
        column's bits."""
        if column not in valid:
            return 0
        bits = 1 << valid[column]
        if isinstance(value, bytes):
            values[column] = text_span(self._in_arena(value), len(value))
        elif isinstance(value, tuple):
            values[column] = text_span(value[0] + shift, value[1])
            bits |= 1 << self._finder.escaped[column] if value[2:] == (True,) else 0
        else:
            values[column] = value
        return bits

    def _json_columns(self, found: Match, values: dict[str, Any], shift: int) -> tuple[int | None, int]:
        """Adds the columns that the plan of a JSON wire fills. Returns the time and the bits."""
        wire, message = found.value
        variant = self._finder.reading.variant_of(wire, message.values) or 0
        if (wire, variant) not in self._cells:
            self._cells[wire, variant] = self._cells_of(wire, variant)
        start, time, bits = found.start + shift, None, 0
        for column, bit, escaped, is_sum, cell in self._cells[wire, variant]:
            said = cell(message)
            if said is None:
                continue
            if type(said) is tuple:
                values[column] = text_span(said[0] + start, said[1])
                bits |= bit | escaped if said[2] else bit
            elif column == "time":
                time = said
            elif said is INVALID:
                values[column] = -1
                bits &= ~bit
            else:
                values[column] = said + values.get(column, 0) if is_sum else said
                bits |= bit
        return time, bits

    def _cells_of(self, wire: int, variant: int) -> list[tuple[Any, ...]]:
        """For each of the wanted columns of a variant: the column, its bit and that of escapes, whether it adds to what
        is there, the function."""
        valid, escaped, known = self._finder.valid, self._finder.escaped, self._finder.reading.values
        return [
            (
                *(name, 1 << valid.get(name, 0), 1 << escaped[name] if name in escaped else 0, fill.how == "times"),
                cell_of(fill, known.get(fill.path), known.get(fill.other)),
            )
            for fill in self._finder.plans[wire].variants[variant].fills
            if (name := fill.column) == "time" or (name in self._wanted and name in valid and name not in _UNTOLD)
        ]

    def _keep_rows(self) -> None:
        """Makes columns of the rows that were added one by one."""
        rows, self._rows = self._rows, []
        if rows:
            columns = {}
            for name, dtype in self._types.items():
                absent: Any = 0 if dtype.kind != "V" else bytes(dtype.itemsize)
                columns[name] = np.array([*map(methodcaller("get", name, absent), rows)], dtype)
            self._parts.append((len(rows), columns))

    def tables(
        self, memory: Callable[..., dict[str, Any]] | None
    ) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]]]:
        """(arrays, number of rows, tables of rejects with the number of rejects in each). memory: (dtypes, rows) ->
        arrays with room for these rows."""
        self._keep_rows()
        count = self.count
        if memory is None:
            arrays: dict[str, Any] = {name: np.empty(count, dtype) for name, dtype in self._types.items()}
        else:
            arrays = dict(memory(self._types, count))
        for name, dtype in self._types.items():
            place = 0
            for size, columns in self._parts:
                arrays[name][place : place + size] = columns[name] if name in columns else np.zeros(size, dtype)
                place += size
        if self.arena:
            arrays["arena"] = b"".join(self.arena)
        if not self.rejects:
            return arrays, count, []
        table = {name: np.array([row[name] for row in self.rejects], dtype) for name, dtype in REJECT_DTYPES.items()}
        return arrays, count, [(table, len(self.rejects))]
