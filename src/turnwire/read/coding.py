"""Columns by their different values: each is decoded once, and rows are numbers that NumPy counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch, TextColumn

ABSENT = -1
"""The code of "there is no value"."""
MOST_NAME = 256
"""Characters of a value that are kept."""


class Coded(NamedTuple):
    """A column of text: row i has ``names[codes[i]]``, or nothing where the code is ABSENT (i64)."""

    names: Sequence[str]
    codes: NDArray[np.int64]

    def values(self) -> Iterator[str | None]:
        """The value of each row."""
        names = [*self.names, None]  # code -1 picks the last
        return map(names.__getitem__, self.codes.tolist())

    def of(self, rows: NDArray[Any]) -> Coded:
        """The same of some rows."""
        return Coded(self.names, self.codes[rows])


def coded(values: Iterable[str | None]) -> Coded:
    """The column of these values."""
    places: dict[str | None, int] = {None: ABSENT}
    codes = [places.setdefault(value, len(places) - 1) for value in values]
    return Coded([name for name in places if name is not None], np.array(codes, np.int64))


def coded_column(batch: Batch, name: str, rows: NDArray[Any] | None = None, whole: bytes | None = None) -> Coded:
    """A column of text or an enum of a batch; long values are cut (:func:`named`). rows: only of these have texts a
    value. whole: the bytes of which texts are spans (:func:`whole_text`), for who codes several columns."""
    column = batch.column(name)
    if column.kind == "text":
        return _of_text(batch[name], rows, whole)
    codes = batch.codes(name).astype(np.int64)
    return Coded(column.names, np.where(batch.valid(name), codes, ABSENT) if column.nullable else codes)


def whole_text(column: TextColumn) -> bytes:
    """The bytes of which the texts of a column, and of others of its batch, are spans: they are cut from bytes many
    times faster than from memory."""
    return b"".join((column.buffer, column.arena))


def _of_text(column: TextColumn, rows: NDArray[Any] | None, whole: bytes | None) -> Coded:
    codes = np.full(len(column), ABSENT, np.int64)
    rows = np.flatnonzero(column.valid) if rows is None else rows[column.valid[rows]]
    whole = whole_text(column) if whole is None else whole
    spans = zip(column.offsets[rows].tolist(), column.lengths[rows].tolist(), strict=True)
    values: list[Any] = [whole[start : start + length] for start, length in spans]
    for place in np.flatnonzero(column.escaped[rows]).tolist():
        values[place] = column.bytes(int(rows[place]))
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes[rows] = np.fromiter(map(places.__getitem__, values), np.int64, len(values))
    return Coded([named(value.decode()) for value in places], codes)


def named(text: str) -> str:
    """A name that is not too long to be kept: what is cut keeps a mark of its own, so that two never become one."""
    if len(text) <= MOST_NAME:
        return text
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{text[:MOST_NAME]}… ({len(text) - MOST_NAME:,} more characters, {mark})"
