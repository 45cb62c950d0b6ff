"""Columns of up to one block of input: numbers as NumPy arrays, text as spans of the bytes that were scanned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.contract import BulkScanner, Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPES = {"u64": "u8", "i64": "i8", "u8": "u1", "enum": "u1", "bool": "?", "timestamp": "i8"}

POSITIONS = (
    Column("file", "file", nullable=True),
    Column("record", "i64"),
    Column("offset", "i64"),
    Column("length", "i64"),
    Column("line", "i64"),
)
"""The columns that every record has, whatever its wire: where it stands."""


class TextColumn(Sequence["str | None"]):
    """Text of one column, as spans of a buffer: nothing is copied until it is asked for.

    offsets, lengths: i64 arrays, one entry a row, into ``buffer``; a row without a value has length 0 and is not
    ``valid``. A span whose row is ``escaped`` still holds the escapes of its wire; ``[i]`` gives it without them.
    """

    def __init__(
        self,
        buffer: memoryview,
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        valid: NDArray[np.bool_],
        escaped: NDArray[np.bool_],
        plain: Any,
    ) -> None:
        self.buffer = buffer
        self.offsets = offsets
        self.lengths = lengths
        self.valid = valid
        self.escaped = escaped
        self._plain = plain

    def __len__(self) -> int:
        return len(self.offsets)

    def bytes(self, row: int) -> bytes | None:
        """The UTF-8 bytes of one row without escapes, or None where there is no value."""
        if not self.valid[row]:
            return None
        start = int(self.offsets[row])
        span = bytes(self.buffer[start : start + int(self.lengths[row])])
        return self._plain(span) if self.escaped[row] else span

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError("row out of range")
        text = self.bytes(row)
        return None if text is None else text.decode()

    def __iter__(self) -> Iterator[str | None]:
        return (self[row] for row in range(len(self)))

    def to_numpy(self) -> NDArray[np.object_]:
        """An object array of str and None."""
        array = np.empty(len(self), object)
        array[:] = list(self)
        return array


class Rows(NamedTuple):
    """What a block gave: the arrays with ``count`` rows, the bytes they point into, and where both come from."""

    buffer: memoryview
    arrays: dict[str, NDArray[Any]]
    count: int  # type: ignore[assignment] # a tuple has a method of that name
    file: str | None
    base: int
    record: int
    keep: bool


class Batch:
    """Some records of one input, as columns. It owns its memory (or keeps it alive) and never changes.

    ``batch["src"]`` is a NumPy array, ``batch["tag"]`` a :class:`TextColumn`, ``batch["act"]`` the codes of an enum
    (its names are in ``batch.column("act").names``). Polars, DuckDB, pandas and pyarrow take a batch as it is.
    """

    def __init__(self, scanner: BulkScanner, columns: tuple[Column, ...], rows: Rows) -> None:
        self._scanner = scanner
        self._rows = rows
        self.columns = columns

    def __len__(self) -> int:
        return self._rows.count

    def __repr__(self) -> str:
        return f"<Batch {self._scanner.wire} rows={len(self)} columns={list(self.names)}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def file(self) -> str | None:
        """The file that these records come from; None for bytes."""
        return self._rows.file

    def column(self, name: str) -> Column:
        """The description of a column. Raises KeyError for one that is not in this batch."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{name!r} is not in this batch; its columns are {', '.join(self.names)}")

    def __getitem__(self, name: str) -> Any:
        column = self.column(name)
        rows = self._rows
        if column.kind == "file":
            files = np.empty(rows.count, object)
            files[:] = rows.file
            return files
        if name == "record" and "record" in rows.arrays:  # some are left out
            return rows.arrays["record"][: rows.count]
        if name == "record":
            return np.arange(rows.record, rows.record + rows.count, dtype=np.int64)
        if column.kind == "text":
            return self._text(name)
        return rows.arrays[name][: rows.count]

    def _text(self, name: str) -> TextColumn:
        rows = self._rows
        bit = self._scanner.escaped.get(name)
        return TextColumn(
            rows.buffer,
            rows.arrays[f"{name}.offset"][: rows.count],
            rows.arrays[f"{name}.length"][: rows.count],
            self.valid(name),
            np.zeros(rows.count, bool) if bit is None else self._bit(bit),
            self._scanner.plain,
        )

    def _bit(self, bit: int) -> NDArray[np.bool_]:
        present = self._rows.arrays["present"][: self._rows.count]
        valid: NDArray[np.bool_] = (present >> present.dtype.type(bit)) & present.dtype.type(1) != 0
        return valid

    def file_codes(self) -> tuple[list[str], NDArray[np.int32]]:
        """The names of files in here, and for each record the place of its own there (i32), or -1 for none."""
        code = -1 if self.file is None else 0
        return [] if self.file is None else [self.file], np.full(len(self), code, np.int32)

    def valid(self, name: str) -> NDArray[np.bool_]:
        """Which records have a value in this column."""
        column = self.column(name)
        if column.kind == "file":
            return np.full(len(self), self._rows.file is not None)
        if not column.nullable:
            return np.ones(len(self), bool)
        return self._bit(self._scanner.bits[name])

    def places(self) -> tuple[memoryview, NDArray[np.int64], NDArray[np.int64]]:
        """The scanned bytes, and where in them each record starts and stops (i64 arrays)."""
        starts = self._rows.arrays["offset"][: len(self)] - self._rows.base
        return self._rows.buffer, starts, starts + self._rows.arrays["length"][: len(self)]

    def raw(self, row: int) -> memoryview:
        """The bytes of one record, as they stand in the input."""
        place = range(len(self))[row]
        start = int(self._rows.arrays["offset"][place]) - self._rows.base
        return self._rows.buffer[start : start + int(self._rows.arrays["length"][place])]

    def message(self, row: int) -> Any:
        """One record as a message of its wire."""
        return self._scanner.decode(self.raw(row), unknown="keep" if self._rows.keep else "error")

    def __arrow_c_schema__(self) -> object:
        from turnwire.log.arrow import schema_capsule

        return schema_capsule(self.columns)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from turnwire.log.arrow import array_capsules

        return array_capsules(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from turnwire.log.arrow import stream_capsule

        return stream_capsule(self.columns, iter([self]))
