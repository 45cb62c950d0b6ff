"""Records into files or partitioned directories that appear whole or not at all, with few batches in memory.

A run adds files to a directory by writing them to a hidden folder beside it, where no reader looks. It ends by writing
``.NAME.commit`` beside the directory, a list of the files to move there, and from then on the run counts; if the
process dies while it moves them, the next writer continues. The folder of the first run becomes the directory at once.
``.NAME.commit`` also keeps the position of a scan that is to be resumed, so the position always fits the files.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from glob import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from turnwire.atomic import AtomicFile, done_before, locked, sweep, sync_directory
from turnwire.contract import Column
from turnwire.errors import expect_one_of
from turnwire.log.output.writers import FORMATS, format_of, writer

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
    """As :func:`format_of`, for one file: a folder has an error of its own, not that of a missing extension. Raises
    IsADirectoryError, ValueError."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", path)
    return format_of(path, named)


def written(found: Any, output: Any) -> Iterator[Any]:
    """The batches of a scan, each written before it is given."""
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
        found: a scan (or anything else that yields batches and has ``columns``).
        path: the file; with ``partition_by``, a directory that is new, empty, or contains partitions from an earlier
            call.
        format: "parquet", "arrow" (the file format of Arrow IPC), "csv" or "ndjson"; by default that of the file
            extension, and "parquet" for a directory.
        partition_by: "wire" (``wire=nslip/part-0.parquet``) or "day" (``day=2026-11-22``, by UTC).
        formulas: "guard" makes cells of CSV safe for spreadsheets (see :func:`guarded`), "keep" leaves them alone.

    Returns the names of the files. They appear only when everything is on disk; a failure of the scan or the disk
    leaves nothing behind. Raises OSError, ValueError and MissingDependency.
    """
    name = os.fspath(path)
    if not hasattr(found, "columns"):
        raise TypeError(f"write expects a result of turnwire.scan, not {type(found).__name__}")
    if partition_by is None:
        output: Any = FileOutput(name, found.columns, format_of_file(name, format), formulas)
    else:
        output = DirectoryOutput(name, format, partition_by, formulas)
        output.begin(found.columns)
    for _ in written(found, output):
        pass
    paths: list[str] = output.paths
    return paths


PARTITIONS = {"wire": "wire", "day": "time"}
"""Keys by which records can be partitioned -> the column that says where a record belongs."""
_RUN = ".run"
NOWHERE = "__HIVE_DEFAULT_PARTITION__"
"""The value of records that have none; readers of such directories take it for null."""
_DAY = 86_400_000_000
"""Microseconds."""
MOST_OPEN = 32
"""Files written at once; beyond that the one that was longest without a record is ended, and goes on as a new part."""
PART_BYTES = 64 << 20
"""Bytes behind which a part of a scan that follows ends."""
PART_SECONDS = 60.0
"""Seconds after which it ends, also where nothing more comes."""


class DirectoryOutput:
    """As :class:`FileOutput`, for a directory, which may hold what earlier runs wrote: the parts of this one are
    numbered on. Partitioned, they are there together; else each that is committed is, with its position.

    ``paths``: the files of this run. ``position``: of the scan that was written last, which is kept with the files.

    Raises OSError: FileExistsError or NotADirectoryError where there is something else, BlockingIOError if another
    process writes there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        partition_by: str | None = None,
        formulas: str = "guard",
    ) -> None:
        if partition_by is not None:
            expect_one_of(partition_by, "partition_by", PARTITIONS)
        self.name = os.fspath(path)
        self.paths: list[str] = []
        self.position: dict[str, Any] | None = None
        self._by = partition_by
        self._format = format_of(self.name, format or (partition_by and "parquet"))
        self._formulas = formulas
        folder = r"()part-(\d{5,})" if partition_by is None else rf"{partition_by}=([^/]+)/part-(\d+)"
        self._part_name = re.compile(folder + re.escape(FORMATS[self._format]))
        self._place = Path(os.path.realpath(self.name))
        self._commit_file = self._place.with_name(f".{self._place.name}.commit")
        self._open: OrderedDict[str, FileOutput] = OrderedDict()
        self._parts: dict[str, int] = {}
        self._columns: Sequence[Column] = ()
        self._began = 0.0
        self._is_new = False
        self._stack = ExitStack()

    def begin(self, columns: Sequence[Column]) -> None:
        """Sets the columns of what is written. Raises ValueError if that of the partition is not among them."""
        # The file does not repeat what the name of the folder says: readers would find two columns of one name.
        self._columns = [column for column in columns if column.name != self._by]
        if self._by is not None:
            self._key = PARTITIONS[self._by]
            if self._key not in [column.name for column in columns]:
                raise ValueError(f"partition_by={self._by} needs the column {self._key!r}")

    def __enter__(self) -> Self:
        with self._stack:
            self._make()
            self._stack.enter_context(locked(self.name, "another process writes there"))
            self.position = recovered(self._place).get("position")
            for left in self._place.parent.glob(f".{escape(self._place.name)}.*{_RUN}"):
                shutil.rmtree(left)  # nobody else holds the directory
            sweep(self._place)
            for path in self._place.rglob("*"):
                match = self._part_name.fullmatch(path.relative_to(self._place).as_posix())
                if match is not None:
                    self._parts[match[1]] = max(self._parts.get(match[1], 0), int(match[2]) + 1)
                elif not path.is_dir():
                    raise FileExistsError(17, "already exists and contains files that are not parts", self.name)
            self._begin()
            if self._is_new:
                self._stack.enter_context(locked(self._folder))  # it becomes the directory
            self._stack = self._stack.pop_all()
        return self

    def _make(self) -> None:
        """Makes the directory, which goes again where nothing comes into it."""
        try:
            self._place.mkdir()
        except FileExistsError:
            if not self._place.is_dir():
                raise NotADirectoryError(20, "is a file; the output is a folder of parts", self.name) from None
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            error.filename = self.name
            raise
        else:
            self._is_new = True
            self._stack.push(self._unmake)

    def _unmake(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            with suppress(OSError):  # it has files of a run that ended well
                self._place.rmdir()

    def _begin(self) -> None:
        self._folder = self._place.with_name(f".{self._place.name}.{os.urandom(8).hex()}{_RUN}")
        self._folder.mkdir()

    def take(self, batch: Batch) -> None:
        """Writes the records of a batch, each to where it belongs."""
        if self._by is None:
            self._part("").take(batch)
            return
        column = batch.column(self._key)
        codes, there = batch.values(column), batch.valid(self._key)
        codes = codes // _DAY if self._by == "day" else codes
        names = [column.name for column in self._columns]
        for code in np.unique(codes[there]).tolist():
            value = str(np.datetime64(code, "D")) if self._by == "day" else column.names[code]
            self._part(value).take(batch.picked(there & (codes == code), names))
        if not there.all():
            self._part(NOWHERE).take(batch.picked(~there, names))

    def _part(self, value: str) -> FileOutput:
        if value not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].__exit__(None, None, None)
            number = self._parts.setdefault(value, int(self._by is None))
            self._parts[value] += 1
            name = f"part-{number:05}" if self._by is None else f"{self._by}={value}/part-{number}"
            place = Path(f"{name}{FORMATS[self._format]}")
            self.paths.append(str(Path(self.name, place)))
            (self._folder / place).parent.mkdir(exist_ok=True)
            part = FileOutput(self._folder / place, self._columns, self._format, self._formulas)
            self._open[value] = part.__enter__()
            self._began = time.monotonic()
        self._open.move_to_end(value)
        return self._open[value]

    @property
    def due(self) -> bool:
        """True if the part that is open, of what is not partitioned, is long enough, or old enough, to be ended."""
        if self._by is not None or not self._open:
            return False
        return self._open[""].size >= PART_BYTES or time.monotonic() - self._began >= PART_SECONDS

    def commit(self, position: dict[str, Any]) -> None:
        """Ends the open part; ``position`` is that of the scan after it. Partitioned parts end, and come into
        place, when the ``with`` block does."""
        if self._by is not None:
            self.position = position
        elif self._open:
            self._open.popitem()[1].__exit__(None, None, None)
            self.position = position
            self._append({"position": position})
            self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._by is None and self._open and error is None:  # it was not committed: its records are read again
            kind, error = KeyboardInterrupt, KeyboardInterrupt()
        with ExitStack() as stack:
            stack.push(self._end)
            for part in self._open.values():
                stack.push(part)
            if error is not None:
                stack.pop_all().__exit__(kind, error, trace)
        self.paths.sort()

    def _end(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, OSError) and Path(str(error.filename or self._folder)).is_relative_to(self._folder):
            error.filename = self.name  # of a file in it that is open
        with self._stack as stack:
            if error is not None:
                self._drop()
                stack.pop_all().__exit__(kind, error, trace)
                return
            self._append({} if self.position is None else {"position": self.position})

    def _drop(self) -> None:
        """Removes the files of this run, unless it has happened."""
        if _read(self._commit_file).get("folder") != self._folder.name:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _append(self, kept: dict[str, Any]) -> None:
        files = sorted(path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if path.is_file())
        if files:
            for folder in {self._folder, *(path for path in self._folder.iterdir() if path.is_dir())}:
                sync_directory(folder)
            try:
                if kept or not (self._is_new and os.name == "posix"):  # else a rename does it all
                    _write(self._commit_file, {**kept, "folder": self._folder.name, "files": files})
            except BaseException:
                self._drop()
                raise
            _move(self._place, self._folder.name, files, self._is_new)
            self._is_new = False
        else:
            self._folder.rmdir()
        if kept:
            _write(self._commit_file, kept)
        else:
            self._commit_file.unlink(missing_ok=True)


def recovered(place: Path) -> dict[str, Any]:
    """The state that the last run committed. Moves the files that it had not moved yet."""
    file = place.with_name(f".{place.name}.commit")
    kept = _read(file)
    if kept and not place.is_dir():
        file.unlink()
        return {}
    if "folder" in kept:
        _move(place, kept.pop("folder"), kept.pop("files"))
        _write(file, kept)
    return kept


def _move(place: Path, folder: str, files: list[str], whole: bool = False) -> None:
    """Moves files to their places, those that are not there yet; ``whole``: the folder takes the place, if the system
    renames to a directory that is there."""
    if whole:
        with suppress(OSError):
            os.rename(place.parent / folder, place)
    for name in files:
        target = place / name
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # it was moved before
            (place.parent / folder / name).rename(target)
    with done_before(place):  # from here on nothing is lost
        for directory in {place, place.parent, *(place / name for name in map(os.path.dirname, files))}:
            sync_directory(directory)
    shutil.rmtree(place.parent / folder, ignore_errors=True)


def _read(file: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):  # what else is wrong with the name is told by who writes there
        return {}
    return kept


def _write(file: Path, kept: dict[str, Any]) -> None:
    with AtomicFile(file) as out:
        out.write(json.dumps(kept).encode() + b"\n")


def later(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """The position after more records: a kill can come between a run and the file that keeps the position."""
    if not one or not other:
        return one or other
    return one if one.get("record", 0) > other.get("record", 0) else other
