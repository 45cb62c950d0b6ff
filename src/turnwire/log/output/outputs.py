"""Records into files that appear whole or not at all, with no more of them in memory than a few batches."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from turnwire.atomic import AtomicFile
from turnwire.contract import Column
from turnwire.log.output.writers import format_of, writer


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
        """Bytes that were written so far; what is held back for a group of rows is not among them."""
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
        path: the file; with ``partition_by`` a directory, new or empty.
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
        from turnwire.log.output.partitions import PartitionedOutput

        output = PartitionedOutput(name, found.columns, format or "parquet", partition_by, formulas)
    for _ in written(found, output):
        pass
    paths: list[str] = output.paths
    return paths
