"""``turnwire.scan``: records out of any amount of log, as columns, with every damaged range accounted for."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, Self, TypeVar
from weakref import ref

from turnwire.contract import LIMITS, Column, Limits, checked_limits
from turnwire.errors import expect, expect_number, expect_one_of
from turnwire.log.engine.all_wires import Finder, finder
from turnwire.log.engine.columns import chosen
from turnwire.log.engine.run import Run, Tell
from turnwire.log.engine.where import compiled
from turnwire.log.input.sources import StartGuard, place_in_storage
from turnwire.log.output.batch import Batch
from turnwire.log.output.rejects import Rejects
from turnwire.showing import counted

if TYPE_CHECKING:
    from typing import Literal, TypedDict, Unpack, overload

    from typing_extensions import TypeVar as TypeVarWithDefault

    from turnwire import csp, kick, nslip, sap, sstp
    from turnwire.log.input.bookmarks import Gap
    from turnwire.log.output.rejects import Message, Reject

    M = TypeVarWithDefault("M", default=Any)
else:
    M = TypeVar("M")

Item = TypeVar("Item")

# Together they keep a block under 2 GiB: the places in Arrow string views are 31 bits wide.
MOST_BATCH = 256 << 20
MOST_MESSAGE = 512 << 20
MOST_THREADS = 64


TALLIES = ("records", "rejects", "selected", "record_bytes", "reject_bytes", "text_bytes", "bytes")
"""The sums of a scan: the first fields of its counts, and their names wherever they are shown."""


class Counts(NamedTuple):
    """Counts of a scan so far.

    records, rejects, gaps: their numbers (see :attr:`Scan.gaps`); selected: the number of records that ``where``
    selected. record_bytes, reject_bytes, text_bytes: bytes of records, rejects and other text, which add up to
    ``bytes``. wires, reasons: records by wire, rejects by reason.
    """

    records: int
    rejects: int
    selected: int
    record_bytes: int
    reject_bytes: int
    text_bytes: int
    bytes: int
    wires: dict[str, int]
    reasons: dict[str, int]
    gaps: int = 0


class ScanResult(NamedTuple):
    """The results of a scan: the batches in order, and the rejects."""

    batches: list[Batch]
    rejects: Rejects


class Scan(Generic[M]):
    """The result of :func:`scan`: an iterable of :class:`Batch` that reads nothing until it is iterated.

    Each ``iter()``, ``async for``, Arrow stream, :meth:`messages` and :meth:`errors` starts a separate run, which reads
    the sources from the start (or from ``resume=``); runs may overlap, even in different threads. Sources that can be
    read only once (a pipe, standard input, a file object), and ``follow=True``, allow only one run; a second one raises
    ValueError.

    ``rejects`` and ``counts`` refer to the latest run, and are complete when it ends. :meth:`read` runs to the end and
    returns the batches and the rejects. A scan is pickled and
    copied as a description, if its source and options can be. Polars, DuckDB and pyarrow read a scan directly
    (``polars.DataFrame(scan)``), pandas by ``DataFrame.from_arrow``.
    """

    def __init__(
        self,
        source: Any,
        finder: Finder,
        columns: tuple[Column, ...],
        options: dict[str, Any],
        arguments: dict[str, Any],
    ) -> None:
        self.columns = columns
        self._arguments = arguments
        self._source = source
        self._finder = finder
        self._options = {**options, "resume": deepcopy(options["resume"])}  # each run begins at the same place
        self._lock = Lock()
        self._starts = StartGuard(source, options["follow"])
        self._closed = False
        self._run = self._new(columns)
        self._going: list[tuple[Run, ref[Generator[Any]]]] = []

    def __repr__(self) -> str:
        wire = "" if self._finder.wire is None else f" {self._finder.wire}"
        return f"<Scan{wire} of {self._source if isinstance(self._source, str) else '...'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(scan, **self._arguments), (self._source,)

    def _repr_html_(self) -> str:
        from turnwire.showing import fields

        rows: list[tuple[str, object]] = [
            ("source", _told(self._source)),
            ("wire", self._finder.wire or "all"),
            ("columns", ", ".join(column.name for column in self.columns)),
        ]
        if begun := self._starts.begun:
            counts = self.counts
            rows += [
                ("records", ", ".join(f"{name} {count:,}" for name, count in counts.wires.items() if count) or "0"),
                ("selected", f"{counts.selected:,}"),
                ("rejects", ", ".join(f"{name} {count:,}" for name, count in sorted(counts.reasons.items())) or "0"),
                ("bytes", f"{counts.bytes:,}"),
                (
                    "bytes of",
                    f"records {counts.record_bytes:,}, rejects {counts.reject_bytes:,}, text {counts.text_bytes:,}",
                ),
            ]
        return fields("Scan" if begun else "Scan, not read yet", rows)

    @property
    def rejects(self) -> Rejects:
        """The rejects that the latest run has found so far. Raises RuntimeError until it has read something.

        While it goes on, or if it was left before the end, ``len`` counts those that were found, and their truth value
        raises RuntimeError if there are none: so ``assert not scan.rejects`` never passes on what was not read.
        """
        run = self._run
        if run.latest is None and not run.rejects.complete:
            raise RuntimeError(
                "this scan has read nothing yet: iterate over it or call read() before you look at rejects"
            )
        return run.rejects

    @property
    def counts(self) -> Counts:
        """The numbers of records, rejects and bytes of the latest run so far; 0 before the first run."""
        run = self._run
        rejects = run.rejects
        return Counts(
            run.records,
            len(rejects),
            run.selected,
            run.record_bytes,
            rejects.bytes,
            run.bytes - run.record_bytes - rejects.bytes,
            run.bytes,
            dict(run.wires),
            dict(rejects.counts),
            len(run.gaps),
        )

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of the latest run in logs that were rotated, truncated or removed: see
        :class:`turnwire.log.Gap`. With ``errors="raise"`` the first one is raised as DecodeError."""
        return tuple(self._run.gaps)

    @property
    def refused(self) -> tuple[OSError, ...]:
        """The errors for files in folders, globs and archives that the latest run skipped because they are not
        logs or cannot be read, each with a warning (:class:`turnwire.errors.FileRefused`). The first one is raised with
        ``errors="raise"``, if there was no other file, or for a file named directly."""
        return tuple(self._run.refused)

    @property
    def position(self) -> dict[str, Any]:
        """The position of the latest run after its last batch, for ``resume=`` of a later scan.

        Plain JSON data. It identifies files by device and inode and by their first bytes. Bytes, pipes and URLs
        have no position. Of what records inherit from earlier ones it holds all columns if the scan had ``resume``,
        else those that it read.
        """
        return self._run.position()

    def __iter__(self) -> Iterator[Batch]:
        return self._begin(Run.batches)[1]

    def read(self) -> ScanResult:
        """Runs to the end and returns all batches, which stay in memory, and all rejects. Raises what iterating
        raises."""
        run, batches = self._begin(Run.batches)
        return ScanResult(list(batches), run.rejects)

    def messages(self) -> Iterator[Message[M]]:
        """Yields the records as message objects, each with its place: see :class:`turnwire.log.Message`.

        They come in input order, with one batch at a time in memory. ``where`` applies, ``columns`` does not. Raises
        what iterating the scan raises.
        """
        from turnwire.log.output.rejects import messages, places

        return messages(self._begin(Run.batches, places(self._finder.scanner))[1])

    def errors(self) -> Iterator[Reject]:
        """Yields the rejects as objects with place, bytes and error: see :class:`turnwire.log.Reject`.

        They come in input order, for any ``errors=``, and are not kept: ``rejects`` of this run has only the counts.
        """
        from turnwire.log.output.rejects import errors

        run, steps = self._begin(Run.steps, (), errors="collect")
        return errors(steps, run.rejects)

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """The batches, made in a thread of their own while others run; the next one is begun when it is asked for."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        run, batches = self._begin(Run.batches)
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "turnwire-async") as thread:
            try:
                while True:
                    step = loop.run_in_executor(thread, next, batches, None)
                    try:
                        batch = await asyncio.shield(step)
                    except asyncio.CancelledError:  # who is cancelled waits for the step under way
                        _end(run, batches)
                        await asyncio.wait([step])
                        step.exception()
                        raise
                    if batch is None:
                        return
                    yield batch
                    del batch
            finally:
                _end(run, batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all runs, from any thread; an iteration elsewhere ends after its batch.

        Sources that can be read only once, and ``follow=True``, cannot be read again.
        """
        with self._lock:
            going = [(run, iteration()) for run, iteration in self._going]
            self._going.clear()
            self._closed = self._starts.only_one() is not None
        for run, steps in going:
            _end(run, steps)

    def __arrow_c_schema__(self) -> object:
        from turnwire.log.output.arrow import schema_capsule

        return schema_capsule(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches as an Arrow stream, small ones joined. Its run begins with the first batch: consumers may take a
        stream for its schema alone."""
        from turnwire.log.output.arrow import joined, stream_capsule

        self._starts.check()
        batches = self._when_asked()
        return stream_capsule(self.columns, batches if self._options["follow"] else joined(batches))

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Raises TypeError: NumPy, and pandas.DataFrame, would make one object of each batch."""
        raise TypeError(
            "a scan is a table, not an array: use pandas.DataFrame.from_arrow(scan) (pandas 3.0 or newer), "
            "pyarrow.table(scan).to_pandas() or polars.DataFrame(scan), or batch[name] for a NumPy array"
        )

    def _when_asked(self) -> Iterator[Batch]:
        yield from self._begin(Run.batches)[1]

    def _new(self, columns: tuple[Column, ...], **changes: Any) -> Run:
        return Run(self._source, self._finder, columns, {**self._options, **changes})

    def _begin(
        self, steps_of: Callable[[Run], Generator[Item]], columns: tuple[Column, ...] | None = None, **changes: Any
    ) -> tuple[Run, Generator[Item]]:
        """A run that has begun, and its steps. Only the caller holds these: they end when it drops them."""
        with self._lock:
            first = not self._starts.begun
            self._starts.begin()
            if columns is not None or not first:
                self._run = self._new(self.columns if columns is None else columns, **changes)
            if self._closed:
                self._run.stop.set()
            steps = steps_of(self._run)
            self._going = [(run, going) for run, going in self._going if going() is not None and not run.stop]
            self._going.append((self._run, ref(steps)))
            return self._run, steps


def steps(found: Scan, ends: bool = False) -> Iterator[Batch | None]:
    """The batches of a scan, with a None after each block and, where it follows, at each look that found nothing new:
    then everything up to ``position`` was given. ``ends``: as :meth:`Run.steps` has it."""
    return found._begin(partial(Run.steps, ends=ends))[1]


def _end(run: Run, steps: Generator[Any] | None) -> None:
    """Ends a run, whichever thread it continues in."""
    run.stop.set()
    if steps is not None:
        with suppress(ValueError):  # another thread is in it, and sees for itself that it is to stop
            steps.close()


if TYPE_CHECKING:

    class _Options(TypedDict, total=False):
        columns: Iterable[str] | None
        where: Mapping[str, Any] | None
        errors: str
        threads: int
        batch_bytes: int
        resume: Any
        follow: bool
        progress: Tell | bool | None
        borrow: bool
        unknown: str
        fences: bool
        limits: Limits


if TYPE_CHECKING:

    @overload
    def scan(source: Any, *, wire: Literal["nslip"], **options: Unpack[_Options]) -> Scan[nslip.SlipMessage]: ...
    @overload
    def scan(
        source: Any, *, wire: Literal["csp"], **options: Unpack[_Options]
    ) -> Scan[csp.CspMessage | csp.Template]: ...
    @overload
    def scan(source: Any, *, wire: Literal["sstp"], **options: Unpack[_Options]) -> Scan[sstp.Message]: ...
    @overload
    def scan(
        source: Any, *, wire: Literal["sap"], **options: Unpack[_Options]
    ) -> Scan[sap.Task | sap.Result | sap.Ack | sap.Nack]: ...
    @overload
    def scan(
        source: Any, *, wire: Literal["kick"], **options: Unpack[_Options]
    ) -> Scan[kick.Envelope | kick.Space]: ...
    @overload
    def scan(source: Any, *, wire: str | None = None, **options: Unpack[_Options]) -> Scan[Any]: ...


def scan(
    source: Any,
    *,
    wire: str | None = None,
    columns: Iterable[str] | None = None,
    where: Mapping[str, Any] | None = None,
    errors: str = "collect",
    threads: int = 1,
    batch_bytes: int = 2 << 20,
    resume: Any = None,
    follow: bool = False,
    progress: Tell | bool | None = None,
    borrow: bool = False,
    unknown: str = "error",
    fences: bool = False,
    limits: Limits = LIMITS,
) -> Scan:
    """Finds the records of one or all wires anywhere in logs and returns them as columns, in batches.

    Args:
        source: a path, directory or glob; "-" for standard input; a URL, a UPath or an OpenFile of a storage that
            fsspec supports (the extra ``fsspec``); a binary file object; bytes-like data itself; or a list of these.
            gzip, bzip2, xz and zstd are recognised by their first bytes.
        wire: one wire, such as "nslip", with its own columns; None for all wires in one pass, with the common
            columns.
        columns: the names of the columns to read (all by default).
        where: the records to select: {column: a value, a set of values, or a half-open range (from, to)}; "text"
            matches bytes that the record must contain. Other records still count in ``counts``.
        errors: "collect" keeps damaged ranges in ``scan.rejects``, "skip" only counts them, "raise" raises
            DecodeError at the first, after the batch with the records before it.
        threads: how many threads scan; the result is the same for any number.
        batch_bytes: approximate input bytes of a batch, at most 256 MiB.
        resume: ``Scan.position`` of an earlier scan of the same files, to continue after it; {} for the first scan.
            An unfinished last line is then left for the next scan.
        follow: wait for more at the end of files, across rotation and truncation, until ``Scan.close()``.
        progress: called as progress(bytes done, bytes in all or None, records, rejects), or True for a bar on a
            terminal.
        borrow: scan a memory map of a path's file (or the buffer) itself. Fastest, but the buffer must not change,
            and a file that shrinks kills the process with SIGBUS, even when its batches are used later.
        unknown: "keep" accepts slots and frames that this version does not define.
        fences: treat headers of Space documents inside Markdown code fences as content.
        limits: ``limits.message`` bounds one record, 512 MiB at most; ``ratio``, ``ratio_from`` and ``zstd_window``
            bound what is decompressed.

    Returns a :class:`Scan`: iterate it for batches, or hand it to Polars, DuckDB, pandas or pyarrow. Nothing is
    read before that. Raises UnknownName (a ValueError) for unknown names, ValueError or TypeError for other wrong
    arguments, and OSError if a file cannot be read.
    """
    arguments = {name: value for name, value in locals().items() if name != "source"}
    if limits is not LIMITS:
        checked_limits(limits)
    for name in ("follow", "borrow", "fences"):
        expect(arguments[name], bool, f"{name} is True or False")
    expect_one_of(errors, "errors", ("collect", "skip", "raise"))
    expect_one_of(unknown, "unknown", ("error", "keep"))
    threads = expect_number(threads, "threads", 1, MOST_THREADS)
    batch_bytes = expect_number(batch_bytes, "batch_bytes", 1)
    expect_number(limits.message, "limits.message of a scan", 1, MOST_MESSAGE)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress must be a function or True, not {type(progress).__name__}")
    search = finder(wire)
    read = chosen(search.scanner, columns)
    names = None if columns is None else [column.name for column in read]
    arguments |= {"columns": names, "threads": threads, "batch_bytes": batch_bytes}
    options = {
        **arguments,
        "where": None if where is None else compiled(where, search.scanner),
        "batch_bytes": min(batch_bytes, MOST_BATCH),
        "keep": unknown == "keep",
    }
    return Scan(source, search, read, options, arguments)


_MOST_NAMED = 5
"""Sources that notebooks name."""


def _told(source: Any) -> str:
    """A source in words: names of paths, and what else it is."""
    if isinstance(source, (list, tuple)):
        more = len(source) - _MOST_NAMED
        return ", ".join([*map(_told, source[:_MOST_NAMED]), *([f"{more} more"] if more > 0 else [])]) or "nothing"
    place = place_in_storage(source)
    if place is not None:
        return place[1] if place[0] is None else str(place[0].unstrip_protocol(place[1]))
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return counted(memoryview(source).nbytes, "byte")
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else type(source).__name__
