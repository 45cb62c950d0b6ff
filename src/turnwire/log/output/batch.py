"""Columns of up to one block of input: numbers as NumPy arrays, text as spans of the bytes that were scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.errors import UnknownKey, UnknownName
from turnwire.log.engine.columns import CARRIER, DTYPES, POSITIONS, bulk_scanner, own, text_spans
from turnwire.log.output.texts import Bits, NumberColumn, TextColumn, column_of, cut, rows_of, span_of
from turnwire.showing import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DTYPES", "POSITIONS", "Batch", "Rows"]


MOST_SHOWN = 10
"""Rows of a batch, and of the quarantine, that notebooks show."""
_PLACES = ("place", "size")
"""The arrays that say where the bytes of records are."""


class Rows(NamedTuple):
    """The result of a block: the arrays with ``count`` rows, the bytes they point into, and where both come from.

    ``arrays["arena"]`` (bytes), where it is there, continues where the buffer ends: see ``_native/log/search.pyi``.
    """

    buffer: memoryview
    arrays: dict[str, NDArray[Any]]
    count: int  # type: ignore[assignment] # a tuple has a method of that name
    file: str | None
    base: int
    record: int
    keep: bool


_DTYPES = {kind: np.dtype(name) for kind, name in DTYPES.items()}
"""Comparing these is quicker than comparing names."""


def file_codes(files: Iterable[tuple[str | None, int]]) -> tuple[list[str], NDArray[np.int32]]:
    """The names of files, and for each of so many rows of each the place of its own there (i32), or -1 for none."""
    codes: dict[str | None, int] = {None: -1}
    parts = [np.full(count, codes.setdefault(file, len(codes) - 1), np.int32) for file, count in files]
    return [file for file in codes if file is not None], np.concatenate([np.empty(0, np.int32), *parts])


class Columns:
    """A table of columns: their names, and the methods of the Arrow export."""

    columns: tuple[Column, ...]
    _layout: Layout | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: object) -> Column:
        """The description of a column. Raises UnknownKey, which is a KeyError and an UnknownName, for an unknown
        column."""
        for column in self.columns:
            if column.name == name:
                return column
        text = f"{name!r} is not in this {type(self).__name__}; its columns are {', '.join(self.names)}"
        raise UnknownKey("column", name, self.names, text)

    def values(self: Any, column: Column) -> Any:
        """The values of one of its columns."""
        return self[column.name]

    @property
    def _memory(self) -> tuple[dict[str, NDArray[Any]], memoryview, memoryview]:
        """The arrays of its layout, the bytes that they point to, and those behind their end."""
        return {}, memoryview(b""), memoryview(b"")

    @property
    def kept(self: Any) -> int:
        """The number of rows in the columns."""
        return len(self)

    def valid(self, name: str) -> NDArray[np.bool_]:
        """A bool array: the rows that have a value in this column."""
        return rows_of(self.validity_of(self.column(name)), self.kept)

    def validity_of(self, column: Column) -> Bits | NDArray[np.bool_] | None:
        """The same of one of its columns as stored: as bits, as a bool array, or None if all rows have a value."""
        return None

    def __arrow_c_schema__(self) -> object:
        from turnwire.log.output.arrow import schema_capsule

        return schema_capsule(self.columns)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from turnwire.log.output.arrow import array_capsules

        return array_capsules(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from turnwire.log.output.arrow import stream_capsule

        return stream_capsule(self.columns, iter([self]))


class Origin(NamedTuple):
    """The form in which a column is there ("column" as it is, "number" of which it is the digits, "text" as spans, ""
    not at all), the name of the array, the dtype of the values, and the bit of ``present`` that rows with a value have
    (None: all have one)."""

    how: str
    name: str
    dtype: np.dtype[Any]
    bit: int | None


def _origin(scanner: BulkScanner, column: Column) -> Origin:
    mine = own(scanner)
    how, name = scanner.common.get(column.name, ("", ""))
    if column.name in mine or column in POSITIONS or column is CARRIER:
        how, name = "column", column.name
    if how == "column" and column.kind == "text":
        how = "text"
    bit = scanner.bits.get(name) if name in mine and mine[name].nullable else None
    return Origin(how, name, _DTYPES.get(column.kind, _DTYPES["i64"]), bit)


class Layout:
    """The columns of a scanner's batches, and the origin of each."""

    def __init__(self, scanner: BulkScanner, columns: tuple[Column, ...]) -> None:
        self.scanner, self.columns = scanner, columns
        self.origins = {column.name: _origin(scanner, column) for column in columns}


_layout_of = lru_cache(64)(Layout)


class Batch(Columns):
    """Records of one input, as columns. A batch owns its memory (or keeps it alive) and is immutable.

    ``batch["src"]`` is a NumPy array, ``batch["tag"]`` a :class:`TextColumn`, ``batch["act"]`` an array of enum
    names (None if absent), whose codes :meth:`codes` returns. Polars, DuckDB, pandas and pyarrow read batches
    directly.
    """

    def __init__(self, scanner: BulkScanner, columns: tuple[Column, ...], rows: Rows) -> None:
        self._scanner = scanner
        self._rows = rows
        self.columns = columns
        self._layout: Layout = _layout_of(scanner, columns)

    def __len__(self) -> int:
        return self._rows.count

    def __repr__(self) -> str:
        return f"<Batch {self._scanner.wire} rows={len(self)} columns={list(self.names)}>"

    @property
    def file(self) -> str | None:
        """The file of these records; None for bytes."""
        return self._rows.file

    @property
    def _memory(self) -> tuple[dict[str, NDArray[Any]], memoryview, memoryview]:
        """As :attr:`Columns._memory`."""
        return self._rows.arrays, self._rows.buffer, self._arena

    @property
    def scanned(self) -> int:
        """The number of input bytes in the batch."""
        return len(self._rows.buffer) + len(self._arena)

    def __getitem__(self, name: str) -> Any:
        column = self.column(name)
        if column.kind != "enum":
            return self.values(column)
        names = np.array([*column.names, None], object)
        codes = self.values(column)
        if column.nullable:
            codes = np.where(self.valid(name), codes, len(column.names))
        return names[np.minimum(codes, len(column.names))]

    def codes(self, name: str) -> NDArray[np.uint8]:
        """The codes of an enum column: indexes into ``batch.column(name).names``, meaningful where a record has a
        value. Raises UnknownKey for a column that is not in this batch, TypeError for one that is not an enum."""
        column = self.column(name)
        if column.kind != "enum":
            raise TypeError(f"{name!r} is not an enum and has no codes; it is {column.kind}")
        codes: NDArray[np.uint8] = self.values(column)
        return codes

    def values(self, column: Column) -> Any:
        """The exported values of a column: ``batch[column.name]``, or the codes of an enum."""
        name, rows = column.name, self._rows
        how, source, dtype, bit = self._origin(column)
        if how == "text":
            return self._text(source, bit)
        if how == "column" and source in rows.arrays:
            values = rows.arrays[source][: rows.count]
            if values.dtype.kind == "u" and dtype.kind == "i" and values.dtype.itemsize == dtype.itemsize:
                return values.view(dtype)  # what does not fit has no value: see validity_of
            return values if values.dtype is dtype else values.astype(dtype, copy=False)
        if column.kind == "file":
            files = np.empty(rows.count, object)
            files[:] = rows.file
            return files
        if name == "record" and name not in rows.arrays:  # none is left out
            return np.arange(rows.record, rows.record + rows.count, dtype=np.int64)
        if name == "inner" and name not in rows.arrays:  # no record here is in a string
            return np.zeros(rows.count, np.int64)
        if name == "wire" and how != "column":
            return np.full(rows.count, registry.codes().index(self._scanner.wire), np.uint8)
        if how == "number":
            return self._decimal(source, bit)
        empty = np.zeros(rows.count, dtype)
        if column.kind != "text":
            return empty
        return TextColumn(memoryview(b""), empty, empty, Bits(empty.view(np.uint64), 0), None, None)

    def _origin(self, column: Column) -> Origin:
        return self._layout.origins.get(column.name) or _origin(self._scanner, column)

    def picked(self, rows: Any = None, columns: Iterable[str] | None = None) -> Batch:
        """A batch of some records (a mask, a slice, or their numbers in order; all by default) and some columns.
        Copies no text."""
        found = self._rows
        if rows is not None:
            kept = {"record": self.values(POSITIONS[1])}
            kept |= {name: array[: found.count] for name, array in found.arrays.items() if name != "arena"}
            arena = {name: array for name, array in found.arrays.items() if name == "arena"}
            arrays = {name: np.ascontiguousarray(array[rows]) for name, array in kept.items()}
            found = found._replace(arrays=arrays | arena, count=len(arrays["record"]))
        chosen = self.columns if columns is None else tuple(map(self.column, columns))
        return Batch(self._scanner, chosen, found)

    @cached_property
    def _arena(self) -> memoryview:
        arena: Any = self._rows.arrays.get("arena", b"")
        return memoryview(arena)

    def _text(self, name: str, bit: int | None) -> TextColumn:
        rows, scanner = self._rows, self._scanner
        escaped = scanner.escaped.get(name)
        valid = None if bit is None else Bits(self._masks, bit)
        offsets, lengths = text_spans(scanner, rows.arrays, rows.count, name)
        return TextColumn(
            rows.buffer,
            offsets,
            lengths,
            valid,
            None if escaped is None else Bits(self._masks, escaped),
            scanner.plain,
            self._arena,
            scanner.json,
        )

    def _decimal(self, source: str, bit: int | None) -> TextColumn:
        """A column of whole numbers as text."""
        numbers, valid = self._rows.arrays[source][: self._rows.count], None if bit is None else Bits(self._masks, bit)
        if numbers.dtype == np.uint64:
            return NumberColumn(np.ascontiguousarray(numbers), valid)
        there = rows_of(valid, len(numbers)).tolist()  # of wires that others register
        return column_of([str(one).encode() if some else None for one, some in zip(numbers, there, strict=True)])

    @cached_property
    def _masks(self) -> NDArray[Any]:
        return self._rows.arrays["present"][: self._rows.count]

    def file_codes(self) -> tuple[list[str], NDArray[np.int32]]:
        """The names of the files in this batch, and for each record the index of its file (i32), or -1."""
        return file_codes([(self.file, len(self))])

    def validity_of(self, column: Column) -> Bits | NDArray[np.bool_] | None:
        """As :meth:`Columns.validity_of`."""
        if column.kind == "file":
            return None if self._rows.file is not None else np.zeros(len(self), bool)
        if not column.nullable:
            return None
        how, source, _, bit = self._origin(column)
        if not how:
            return np.zeros(len(self), bool)
        there = None if bit is None else Bits(self._masks, bit)
        if column.kind == "i64" and source != column.name and own(self._scanner)[source].kind == "u64":
            fits = self._rows.arrays[source][: len(self)] <= np.uint64(np.iinfo(np.int64).max)
            return there if fits.all() else rows_of(there, len(self)) & fits
        return there

    def places(self) -> Iterator[tuple[memoryview, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """The scanned bytes, and the contents of JSON strings in them: for each its bytes, the rows of the records in
        it, by position, and their starts and stops (i64 arrays)."""
        rows = self._rows
        starts, sizes = self._spans
        inside = starts >= len(rows.buffer)
        for data, mask, shift in ((rows.buffer, ~inside, 0), (self._arena, inside, len(rows.buffer))):
            numbers = np.flatnonzero(mask)
            numbers = numbers[np.argsort(starts[numbers], kind="stable")]
            if len(numbers):
                yield data, numbers, starts[numbers] - shift, starts[numbers] - shift + sizes[numbers]

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The place where records begin in the buffer, or after its end in the arena, and how many bytes they have."""
        arrays, count = self._rows.arrays, self._rows.count
        if "place" in arrays:
            return arrays["place"][:count], arrays["size"][:count]
        return arrays["offset"][:count] - self._rows.base, arrays["length"][:count]

    def own_bytes(self) -> NDArray[np.int64]:
        """The bytes of each record that are its own: less than its length where lines of others stand in between."""
        arrays = self._rows.arrays
        return arrays.get("own_bytes", arrays["length"])[: len(self)]

    def spans(self) -> TextColumn:
        """The bytes of all records as a column of spans."""
        return TextColumn(self._rows.buffer, *self._spans, None, None, None, self._arena)

    def raw(self, row: int) -> memoryview:
        """The bytes of one record as in the input; inside a JSON string, unescaped."""
        place = range(len(self))[row]
        starts, sizes = self._spans
        return span_of(self._rows.buffer, self._arena, int(starts[place]), int(sizes[place]))

    def raws(self, rows: Any = slice(None)) -> Iterator[bytes]:
        """The bytes of some records (a mask, or their numbers), or of all; faster than ``raw`` for each."""
        return cut(self._rows.buffer, self._arena, *(array[rows] for array in self._spans))

    def decoder(self, wire: str) -> Callable[[bytes | memoryview], Any]:
        """The function that decodes the bytes of a wire's records, as ``message`` does. Raises
        UnknownName for a wire that is not in this batch."""
        scanner = bulk_scanner(wire) if "wire" in own(self._scanner) else self._scanner
        if wire != scanner.wire:
            raise UnknownName("wire", wire, [scanner.wire], f"{wire!r} is not the wire of this batch")
        decode = scanner.decode.function if isinstance(scanner.decode, Deferred) else scanner.decode
        return partial(decode, unknown="keep") if self._rows.keep else decode

    def message(self, row: int) -> Any:
        """One record as a message of its wire."""
        wire = self._scanner.wire
        if "wire" in own(self._scanner):  # several wires
            wire = registry.codes()[self._rows.arrays["wire"][range(len(self))[row]]]
        return self.decoder(wire)(self.raw(row))

    def _repr_html_(self) -> str:
        from turnwire.log.output.json_lines import slices
        from turnwire.showing import table

        rows = [row for part in slices(self, MOST_SHOWN) for row in zip(*part, strict=True)]
        more = "" if len(rows) == len(self) else f", the first {len(rows)}"
        return table(f"Batch of {counted(len(self), 'record')}{more}", self.names, rows)


class JoinedBatches(Batch):
    """The columns of batches of one scan, one after the other: it owns copies and keeps none of them alive. It has no
    more than the columns."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        scanner, found = batches[0]._scanner, [batch._rows for batch in batches]
        parts = [part for batch in batches for part in (batch._rows.buffer, batch._arena)]
        sizes, counts = [batch.scanned for batch in batches], [rows.count for rows in found]
        moved = np.repeat(np.cumsum([0, *sizes[:-1]]), counts)
        names = dict.fromkeys(name for rows in found for name in rows.arrays)
        texts = {column.name for column in scanner.columns if column.kind == "text"}
        arrays: dict[str, Any] = {"record": np.concatenate([batch.values(POSITIONS[1]) for batch in batches])}
        for name in names.keys() - {"arena", "record", *_PLACES}:
            some = next(rows.arrays[name] for rows in found if name in rows.arrays)
            own_rows = (rows.arrays.get(name, np.zeros(rows.count, some.dtype))[: rows.count] for rows in found)
            arrays[name] = np.concatenate([*own_rows])
            if name in texts:
                arrays[name] += moved
        if scanner.packed is not None and scanner.packed.array in arrays:
            scanner.packed.move(arrays[scanner.packed.array], moved)
        rows = found[0]._replace(buffer=memoryview(b"".join(parts)), arrays=arrays, count=sum(counts))
        super().__init__(scanner, batches[0].columns, rows)
        self._files = file_codes((batch.file, len(batch)) for batch in batches)

    def file_codes(self) -> tuple[list[str], NDArray[np.int32]]:
        """As :meth:`Batch.file_codes`."""
        return self._files
