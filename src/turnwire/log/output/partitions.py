"""A directory with one folder for each wire or day, as Hive named them: ``wire=nslip``, ``day=2026-11-22``."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from turnwire.atomic import AtomicDirectory
from turnwire.contract import Column
from turnwire.errors import expect_one_of
from turnwire.log.output.writers import FORMATS, Tables, format_of, writer

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

PARTITIONS = {"wire": "wire", "day": "time"}
"""What records can be partitioned by -> the column that says where a record belongs."""

NOWHERE = "__HIVE_DEFAULT_PARTITION__"
"""The value of records that have none; readers of such directories take it for null."""

MOST_OPEN = 32
"""Files written at once; beyond that the one that was longest without a record is ended, and goes on as a new part."""


class PartitionedOutput:
    """As :class:`~turnwire.log.output.outputs.FileOutput`, for a directory. ``paths``: its files once they exist."""

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
        # What the name of the folder says is not said again in the file: readers would find two columns of one name.
        self._columns = [column for column in columns if column.name != partition_by]
        self._format = format_of("", format)
        self._formulas = formulas
        self._tables = Tables(columns)
        self._directory = AtomicDirectory(path)
        self._open: OrderedDict[str, _Part] = OrderedDict()
        self._parts: dict[str, int] = {}
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        self._directory.__enter__()
        return self

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

    def _part(self, value: str) -> _Part:
        if value not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].finish()
            number = self._parts.get(value, 0)
            self._parts[value] = number + 1
            place = Path(f"{self._by}={value}", f"part-{number}{FORMATS[self._format]}")
            self.paths.append(str(Path(self._directory.name, place)))
            self._open[value] = _Part(self._directory.path / place, self._columns, self._format, self._formulas)
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


class _Part:
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
