"""Records into files or partitioned directories that appear whole or not at all, with few batches in memory."""

from __future__ import annotations

import errno
import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from turnwire.atomic import AtomicFile
from turnwire.contract import Column
from turnwire.errors import expect_one_of
from turnwire.log.output.growing import GrowingDirectory
from turnwire.log.output.writers import FORMATS, Tables, format_of, writer

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch


class FileOutput:
    """One file that takes batches inside a ``with`` block and is there when the block ends well.

    path: its name; columns: those of the batches that are written; format, formulas: as :func:`write` takes them.
    """

    def __init__(
        self, path: str | os.PathLike[str], columns: Sequence[Column], format: str, formulas: str = "guard"
    ) -> None:
        self._file = AtomicFile(path)
        self._settings = columns, format, formulas
        self._stack = ExitStack()
        self._writer: Any = None
        self.paths = [os.fspath(path)]

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self._file)
            columns, format, formulas = self._settings
            self._writer = writer(self._file, columns, format, formulas=formulas)
            self._stack = self._stack.pop_all()
        return self

    @property
    def size(self) -> int:
        """Bytes that were written so far; rows that wait for their group are not among them."""
        written: int = self._file.file.tell()
        return written

    def take(self, batch: Any) -> None:
        """Writes a batch (or rejects). Raises OSError with the name of the file."""
        self._writer.take(batch)

    def take_table(self, table: Any) -> None:
        """Writes a table of pyarrow, of the schema that the columns give."""
        self._writer.take_table(table)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack as stack:
            if error is not None:
                self._writer.abandon()
                stack.pop_all().__exit__(kind, error, trace)
                return
            try:
                self._writer.finish()
            except BaseException:
                self._writer.abandon()
                raise


def format_of_file(path: str, named: str | None) -> str:
    """As :func:`format_of`, for one file: a folder is told as such, not by the ending that its name lacks. Raises
    IsADirectoryError, ValueError."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", path)
    return format_of(path, named)


def written(found: Any, output: Any) -> Iterator[Any]:
    """The batches of a scan, each of them written on its way."""
    with output:
        for batch in found:
            output.take(batch)
            yield batch


def write(
    found: Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    partition_by: str | None = None,
    formulas: str = "guard",
) -> list[str]:
    """Writes the records of a scan to a file, or to a directory with one folder for each value of a partition.

    Args:
        found: what :func:`turnwire.scan` gave (or anything else that yields batches and has ``columns``).
        path: the file; with ``partition_by`` a directory: new, empty, or written so before, which takes further files.
        format: "parquet", "arrow" (the file format of Arrow IPC), "csv" or "ndjson"; by default what the name ends
            with, and "parquet" for a directory.
        partition_by: "wire" (``wire=nslip/part-0.parquet``) or "day" (``day=2026-11-22``, by UTC).
        formulas: "guard" makes cells of CSV safe for spreadsheets (see :func:`guarded`), "keep" leaves them alone.

    Returns the names of the files. They are there when everything is written and on the disk, or not at all: nothing
    is left behind when the scan or the disk fails. Raises OSError, ValueError and MissingDependency.
    """
    name = os.fspath(path)
    if not hasattr(found, "columns"):
        raise TypeError(f"write takes what turnwire.scan gives, not {type(found).__name__}")
    if partition_by is None:
        output: Any = FileOutput(name, found.columns, format_of_file(name, format), formulas)
    else:
        output = PartitionedOutput(name, found.columns, format or "parquet", partition_by, formulas)
    for _ in written(found, output):
        pass
    paths: list[str] = output.paths
    return paths


PARTITIONS = {"wire": "wire", "day": "time"}
"""Keys by which records can be partitioned -> the column that says where a record belongs."""
NOWHERE = "__HIVE_DEFAULT_PARTITION__"
"""The value of records that have none; readers of such directories take it for null."""
MOST_OPEN = 32
"""Files written at once; beyond that the one that was longest without a record is ended, and goes on as a new part."""


class PartitionedOutput:
    """As :class:`~turnwire.log.output.outputs.FileOutput`, for a directory, which may hold what earlier runs wrote: the
    parts of this one are numbered on, and are there together.

    ``paths``: the files of this run, once they exist. ``position``: of the scan that is written, where it is to be kept
    with them (:func:`turnwire.log.output.growing.kept_position`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[Column],
        format: str,
        partition_by: str,
        formulas: str = "guard",
    ) -> None:
        expect_one_of(partition_by, "partition_by", PARTITIONS)
        self._key = PARTITIONS[partition_by]
        if self._key not in [column.name for column in columns]:
            raise ValueError(f"partition_by={partition_by} needs the column {self._key!r}")
        self._by = partition_by
        # The file does not repeat what the name of the folder says: readers would find two columns of one name.
        self._columns = [column for column in columns if column.name != partition_by]
        self._format = format_of("", format)
        self._formulas = formulas
        self._tables = Tables(columns)
        part = re.compile(rf"({partition_by}=[^/]+)/part-(\d+){re.escape(FORMATS[self._format])}")
        self._name = part
        self._directory = GrowingDirectory(path, lambda name: part.fullmatch(name) is not None)
        self._open: OrderedDict[str, _PartFile] = OrderedDict()
        self._parts: dict[str, int] = {}
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        self._directory.__enter__()
        for name in self._directory.there:
            match = self._name.fullmatch(name)
            assert match is not None, "or it would not be entered"
            value = match[1].partition("=")[2]
            self._parts[value] = max(self._parts.get(value, 0), int(match[2]) + 1)
        return self

    @property
    def position(self) -> dict[str, Any] | None:
        """The position that is kept with the files."""
        return self._directory.position

    @position.setter
    def position(self, place: dict[str, Any]) -> None:
        self._directory.position = place

    def take(self, batch: Batch) -> None:
        """Writes the records of a batch, each to where it belongs."""
        table = self._tables.table(batch)
        for value, rows in self._split(table):
            self._part(value).take(rows.drop_columns([self._by]) if self._by == self._key else rows)

    def _split(self, table: Any) -> Iterator[tuple[str, Any]]:
        import pyarrow.compute as compute

        keys = table.column(self._key)
        if self._by == "day":
            keys = compute.strftime(keys, "%Y-%m-%d")
        values = keys.unique().to_pylist()
        if len(values) == 1:
            yield values[0] or NOWHERE, table
            return
        for value in values:
            mask = compute.is_null(keys) if value is None else compute.equal(keys, value)
            yield value or NOWHERE, table.filter(mask)

    def _part(self, value: str) -> _PartFile:
        if value not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].finish()
            number = self._parts.get(value, 0)
            self._parts[value] = number + 1
            place = Path(f"{self._by}={value}", f"part-{number}{FORMATS[self._format]}")
            self.paths.append(str(Path(self._directory.name, place)))
            self._open[value] = _PartFile(self._directory.path / place, self._columns, self._format, self._formulas)
        self._open.move_to_end(value)
        return self._open[value]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            stack.push(self._directory)
            for part in self._open.values():
                stack.callback(part.close)
            if error is None:
                for part in self._open.values():
                    part.finish()
            else:
                stack.pop_all().__exit__(kind, error, trace)
            self.paths.sort()


class _PartFile:
    """One file of a directory that is not there yet, and so needs no care of its own but to reach the disk."""

    def __init__(self, path: Path, columns: Sequence[Column], format: str, formulas: str) -> None:
        path.parent.mkdir(exist_ok=True)
        self._file = open(path, "xb")  # noqa: SIM115  (closed by close)
        self._writer: Any = writer(self._file, columns, format, formulas=formulas)

    def take(self, table: Any) -> None:
        """Writes some rows."""
        self._writer.take_table(table)

    def finish(self) -> None:
        """Ends the file."""
        self._writer.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        """Closes it as it is."""
        if not self._file.closed:
            self._writer.abandon()
            with suppress(OSError):  # on a full disk the last flush fails again
                self._file.close()
