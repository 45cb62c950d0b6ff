"""Rows of a batch as plain Python values and as JSON lines, a slice at a time, so that they take little memory."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.showing import escaped_json

if TYPE_CHECKING:
    from turnwire.contract import Column
    from turnwire.log import Batch

SLICE = 4096
"""Rows turned into Python values at once."""


def times(values: Sequence[int | None]) -> list[str | None]:
    """Microseconds since 1970 as RFC 3339 in UTC, None if there are none."""
    filled = np.array([0 if value is None else value for value in values], "M8[us]")
    texts = np.datetime_as_string(filled).tolist()
    return [None if value is None else f"{text}Z" for value, text in zip(values, texts, strict=True)]


def slices(batch: Batch, limit: int | None = None, raw_times: bool = False) -> Iterator[list[list[Any]]]:
    """The first ``limit`` rows of a batch (all by default), a slice at a time: a list for each column, None if a
    value is absent. Times are RFC 3339 text, or with ``raw_times`` microseconds since 1970."""
    columns = [
        (column, None, None)
        if column.kind == "file"
        else (column, batch.values(column), batch.valid(column.name) if column.nullable else None)
        for column in batch.columns
    ]
    count = len(batch) if limit is None else min(limit, len(batch))
    for start in range(0, count, SLICE):
        rows = slice(start, min(start + SLICE, count))
        yield [
            [batch.file] * (rows.stop - start) if values is None else _listed(column, values, valid, rows, raw_times)
            for column, values, valid in columns
        ]


def _listed(column: Column, values: Any, valid: Any, rows: slice, raw_times: bool) -> list[Any]:
    if column.kind == "text":
        return list(values[rows])
    listed: list[Any] = values[rows].tolist()
    if column.kind == "timestamp" and not raw_times:
        listed = times(listed)
    if column.kind == "enum":
        listed = [column.names[code] if code < len(column.names) else None for code in listed]
    if valid is not None:
        listed = [value if there else None for value, there in zip(listed, valid[rows].tolist(), strict=True)]
    return listed


class JsonLines:
    """Writes rows as JSON lines: every line has every column, null where the value is absent.

    Numbers are exact up to 2**64-1, enums are names, and no character is in a string as such that could do
    something to a terminal. A file name that is not UTF-8 is in ``file_base64`` instead of ``file``.
    """

    def __init__(self, columns: Sequence[Column], file: Any = None) -> None:
        self._columns = tuple(columns)
        self._file = file

    def lines(self, values: list[list[Any]]) -> bytes:
        """One line for each row of ``values`` (a list for each column)."""
        import msgspec  # here, since a table needs none

        names = [column.name for column in self._columns]
        for place, column in enumerate(self._columns):
            if column.kind == "file" and values[place]:
                names[place], name = marked(column.name, values[place][0])
                values[place] = [name] * len(values[place])
        return escaped_json(msgspec.json.Encoder().encode_lines(list(map(_row_of(tuple(names)), *values))))

    def take(self, batch: Batch) -> None:
        """Writes the records of a batch into the file."""
        for values in slices(batch):
            self._file.write(self.lines(values))

    def finish(self) -> None:
        """Every line is written already."""

    abandon = finish


@lru_cache(16)
def _row_of(names: tuple[str, ...]) -> Any:
    """A function that makes one row of JSON of the values of columns with these names."""
    import msgspec

    renamed = {f"c{place}": name for place, name in enumerate(names)}
    return msgspec.defstruct("Record", list(renamed), rename=renamed, gc=False)


def marked(key: str, value: bytes | str | None) -> tuple[str, str | None]:
    """(key, text) where the value is UTF-8, otherwise (key with ``_base64`` after it, base64): nothing is lost."""
    if value is None:
        return key, None
    data = os.fsencode(value) if isinstance(value, str) else value
    try:
        return key, data.decode()
    except UnicodeDecodeError:
        return f"{key}_base64", b64encode(data).decode()


def json_line(fields: dict[str, Any]) -> bytes:
    """One dict as a JSON line, safe for terminals; bytes and file names are marked if they are not UTF-8."""
    import msgspec

    clean: dict[str, Any] = {}
    for key, value in fields.items():
        if isinstance(value, bytes) or (key == "file" and value is not None):
            key, value = marked(key, value)
        clean[key] = value
    return escaped_json(msgspec.json.encode(clean) + b"\n")
