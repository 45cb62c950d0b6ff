"""The records of a log as the report reads them: a thin layer over the bulk scan and its common columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.report.columns import ABSENT, Coded
from turnwire.report.details import named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch, Scan, TextColumn

COLUMNS = (
    *("file", "offset", "length", "line"),
    *("wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"),
)
"""What is read of each record, beside its bytes."""


class Read(NamedTuple):
    """Bytes that were read, and how many of them are records, rejects and other text."""

    bytes: int
    records: int
    rejects: int
    text: int


class Chunk:
    """Some records of one ``file``. times: i64 microseconds, UTC, where ``timed``; offsets, lengths: i64 bytes."""

    def __init__(self, batch: Batch, file: int = 0) -> None:
        self._batch = batch
        self.file = batch.file
        self._file = file
        self._columns: dict[str, Coded] = {}
        self._sequence, self._sequenced = batch["sequence"], batch.valid("sequence")
        self._lines = batch["line"]
        self.offsets: NDArray[np.int64] = batch["offset"]
        self.lengths: NDArray[np.int64] = batch["length"]
        self.times: NDArray[np.int64] = batch["time"]
        self.timed: NDArray[np.bool_] = batch.valid("time")

    def __len__(self) -> int:
        return len(self._batch)

    def coded(self, name: str) -> Coded:
        """The column "wire", "kind", "sender", "receiver", "conversation" or "subject"; long names are cut."""
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> Coded:
        column = self._batch.column(name)
        if column.kind == "text":
            return _of_text(self._batch[name])
        codes = np.where(self._batch.valid(name), self._batch[name].astype(np.int64), ABSENT)
        return Coded(column.names, codes)

    def text(self, name: str, row: int) -> str | None:
        """One value of such a column."""
        column = self.coded(name)
        code = int(column.codes[row])
        return None if code == ABSENT else column.names[code]

    def place(self, row: int) -> tuple[str | None, int, int]:
        """file, line, offset"""
        return self.file, int(self._lines[row]), int(self.offsets[row])

    def number(self, row: int) -> int:
        """A number that grows with the place of a record in the log."""
        return (self._file << 48) + int(self.offsets[row])

    def raw(self, row: int) -> bytes:
        """The bytes of a record."""
        return bytes(self._batch.raw(row))

    def raws(self) -> Iterator[bytes]:
        """The bytes of all records: quicker than ``raw`` for each."""
        return self._batch.raws()

    def message(self, row: int) -> Any:
        """A record as a message of its wire."""
        return self._batch.message(row)

    def sequence(self, row: int) -> str | None:
        """Its number in the conversation, as decimal text: it may be more than a page can hold as a number."""
        return str(int(self._sequence[row])) if self._sequenced[row] else None


def _of_text(column: TextColumn) -> Coded:
    """A text column by its different values; each is decoded once."""
    codes = np.full(len(column), ABSENT, np.int64)
    rows = np.flatnonzero(column.valid)
    whole = b"".join((column.buffer, column.arena))  # spans are cut from bytes many times faster than from memory
    spans = zip(column.offsets[rows].tolist(), column.lengths[rows].tolist(), strict=True)
    values: list[Any] = [whole[start : start + length] for start, length in spans]
    for place in np.flatnonzero(column.escaped[rows]).tolist():
        values[place] = column.bytes(int(rows[place]))
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes[rows] = np.fromiter(map(places.__getitem__, values), np.int64, len(values))
    return Coded([named(value.decode()) for value in places], codes)


class Records:
    """The records of a source, and what was damaged, read once."""

    def __init__(self, source: Any, wire: str | None) -> None:
        import turnwire

        self._scan: Scan = turnwire.scan(source, wire=wire, columns=COLUMNS)
        self._told = 0  # how many rejects were given

    def __iter__(self) -> Iterator[Chunk]:
        files: dict[str | None, int] = {}
        for batch in self._scan:
            yield Chunk(batch, files.setdefault(batch.file, len(files)))

    def rejects(self) -> Iterator[dict[str, Any]]:
        """The damaged ranges met since the last call."""
        for reject in self._scan.rejects.since(self._told):
            self._told += 1
            yield reject

    @property
    def counts(self) -> Read:
        """Bytes of what was met so far."""
        counts = self._scan.counts
        return Read(counts.bytes, counts.records, counts.rejects, counts.text)
