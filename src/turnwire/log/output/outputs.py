"""Records into files or partitioned directories that appear whole or not at all, with few batches in memory.

The formats are Parquet, Arrow IPC, CSV and JSON lines, each a writer over an open binary file. All have the same
columns in the same order; text, enums and file names are strings there, absent values nulls.

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
from io import RawIOBase
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from turnwire.atomic import AtomicFile, done_before, locked, sweep, sync_directory
from turnwire.contract import Column
from turnwire.errors import UnknownName, expect, expect_one_of, needs

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch
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


class FileOutput:
    """One file that takes batches inside a ``with`` block and is there when the block ends well.

    path: its name, or an open binary stream in its place, such as a pipe; columns: those of the batches that are
    written; format, formulas: as :func:`write` takes them.
    """

    def __init__(self, path: Any, columns: Sequence[Column], format: str, formulas: str = "guard") -> None:
        self._is_stream = hasattr(path, "write")
        self._file = path if self._is_stream else AtomicFile(path)
        self._settings = columns, format, formulas
        self._stack = ExitStack()
        self._writer: Any = None
        self.paths = [] if self._is_stream else [os.fspath(path)]

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self._file)
            columns, format, formulas = self._settings
            self._writer = writer(self._file, columns, format, formulas=formulas, stream=self._is_stream)
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
                if self._is_stream:
                    self._file.flush()
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
