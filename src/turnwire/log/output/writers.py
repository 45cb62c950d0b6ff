"""The formats of files: Parquet, Arrow IPC, CSV and JSON lines, each a writer over an open binary file.

Every format has the same columns in the same order; text, enums and file names are strings there, absent values nulls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwire.contract import Column
from turnwire.errors import UnknownName, expect, expect_one_of, needs

if TYPE_CHECKING:
    from turnwire.log.output.json_lines import JsonLines

FORMATS = {"parquet": ".parquet", "arrow": ".arrow", "csv": ".csv", "ndjson": ".ndjson"}
"""Format -> the ending of its files."""

ENDINGS = {
    **{ending: name for name, ending in FORMATS.items()},
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "ndjson",
}
GROUP_BYTES = 8 << 20
"""About so many bytes of a Parquet or Arrow file wait until they are written as one group of rows."""

PIECE = 1 << 15
"""Rows of a batch that are converted at once."""

FORMULAS = ("guard", "keep")
_UNSEEN = "\\x00-\\x20\u0085\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"  # also full-width, also small
_FORMULA = re.compile(f"'*(?:[\t\r\n]|[{_UNSEEN}]*[{_SIGNS}])")


def format_of(path: str, named: str | None = None) -> str:
    """The format of a file: the one that is named, or the one of its ending. Raises ValueError if neither says."""
    if named is not None:
        if named not in FORMATS:
            raise UnknownName("format", named, FORMATS, f"the formats are {', '.join(FORMATS)}, not {named!r}")
        return named
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        text = f"{path!r} does not determine the format: its extension is not one of {', '.join(ENDINGS)}"
        raise UnknownName("ending", ending, ENDINGS, text)
    return ENDINGS[ending]


def guarded(text: str) -> str:
    """Returns text for a CSV cell that no spreadsheet runs as a formula: adds an apostrophe to text that starts with
    ``= + - @`` (including full-width and small forms, and after white space and invisible characters), a tab, a
    carriage return or a newline, even after other apostrophes."""
    expect(text, str, "the text of a cell is guarded")
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Reverses :func:`guarded`."""
    expect(text, str, "the text of a cell is read")
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


class _Groups:
    """Tables of pyarrow, collected until they are worth a group of rows: many small groups make a file slow to read.

    They have one schema, whatever the batch: plain strings instead of views and dictionaries, which differ from batch
    to batch.
    """

    def __init__(self, file: Any, columns: Sequence[Column], format: str, guard: bool, stream: bool) -> None:
        pyarrow = arrow()
        types = {
            "u64": pyarrow.uint64(),
            "i64": pyarrow.int64(),
            "u8": pyarrow.uint8(),
            "f64": pyarrow.float64(),
            "bool": pyarrow.bool_(),
            "timestamp": pyarrow.timestamp("us", tz="UTC"),
            "binary": pyarrow.large_binary(),
        }
        self._schema = pyarrow.schema(
            pyarrow.field(one.name, types.get(one.kind, pyarrow.string()), one.nullable) for one in columns
        )
        self._sink = _Sink(file)
        self._guard = guard and format == "csv"
        self._waiting: list[Any] = []
        self._bytes = 0
        self._writer = _opened(self._sink, self._schema, format, stream)

    def take(self, batch: Any) -> None:
        """Holds the records of a batch (or rejects) back until there are enough of them. ``PIECE`` rows are converted
        at a time, so that this takes little memory."""
        found = arrow().record_batch(batch)
        for start in range(0, found.num_rows, PIECE):
            part = found.slice(start, PIECE)
            arrays = [part.column(field.name).cast(field.type) for field in self._schema]
            self._waiting.append(arrow().Table.from_arrays(arrays, schema=self._schema))
            self._bytes += self._waiting[-1].nbytes
            if self._bytes >= GROUP_BYTES:
                self._flush()
        if self._bytes >= GROUP_BYTES // 2:  # rows that wait keep the memory of the whole batch
            self._flush()

    def _flush(self) -> None:
        """Writes the rows that wait as one group."""
        if self._waiting:  # a group of none cannot be written
            table = arrow().concat_tables(self._waiting)
            self._waiting, self._bytes = [], 0
            table = _guarded(table) if self._guard else table
            self._writer.write_table(table.combine_chunks(), table.num_rows)

    def finish(self) -> None:
        """Writes the rows that wait and the end of the file. The file itself stays open."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Writes nothing more, whatever still waits: pyarrow would, when it cleans up."""
        self._sink.dead = True


def _opened(sink: Any, schema: Any, format: str, stream: bool) -> Any:
    """pyarrow's writer of a format. stream: Arrow has a format of its own where nobody can seek (standard output)."""
    if format == "parquet":
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(sink, schema, compression="zstd")
    if format == "csv":
        from pyarrow.csv import CSVWriter

        return CSVWriter(sink, schema)
    ipc = arrow().ipc
    options = ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    return (ipc.new_stream if stream else ipc.new_file)(sink, schema, options=options)


def _guarded(table: Any) -> Any:
    """The table with all texts as :func:`guarded` gives them."""
    import pyarrow.compute as compute

    for place, field in enumerate(table.schema):
        if field.type == arrow().string():
            column = table.column(place)
            risky = compute.match_substring_regex(column, f"^{_FORMULA.pattern}")
            if compute.any(risky).as_py():
                safe = compute.binary_join_element_wise("'", column, "")
                table = table.set_column(place, field, compute.if_else(risky, safe, column))
    return table


class _Sink(RawIOBase):
    """A file as pyarrow wants it, which closes its sinks: ours stays open. A ``dead`` one takes everything and writes
    nothing: what failed must not be tried again when pyarrow cleans up."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.dead = False

    def write(self, data: Any) -> int:
        """Writes all of it."""
        if not self.dead:
            try:
                self._file.write(data)
            except BaseException:
                self.dead = True
                raise
        return len(data)

    def writable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Whoever opened the file closes it."""


def arrow() -> Any:
    """pyarrow. Raises MissingDependency."""
    with needs("files", "Parquet, Arrow and CSV need pyarrow"):
        import pyarrow
        import pyarrow.ipc
    return pyarrow


def writer(
    file: Any, columns: Sequence[Column], format: str, *, formulas: str = "guard", stream: bool = False
) -> JsonLines | _Groups:
    """A writer of one format over a binary file: ``take`` writes batches, ``finish`` the rows that wait and the end of
    the file, ``abandon`` nothing more. ``stream``: the file is a pipe.

    Raises UnknownName for an unknown format, MissingDependency where the extra ``files`` is not installed.
    """
    expect_one_of(formulas, "formulas", FORMULAS)
    if format_of("", format) == "ndjson":
        from turnwire.log.output.json_lines import JsonLines

        return JsonLines(columns, file)
    return _Groups(file, columns, format, formulas == "guard", stream)
