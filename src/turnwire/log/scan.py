"""``turnwire.scan``: records out of any amount of log, as columns, with every damaged range accounted for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from turnwire.contract import LIMITS, Column, Limits, checked_limits
from turnwire.errors import expect_number
from turnwire.log.engine.all_wires import Finder, finder
from turnwire.log.engine.columns import chosen
from turnwire.log.engine.run import Run, Tell
from turnwire.log.engine.where import compiled
from turnwire.log.output.batch import Batch
from turnwire.log.output.rejects import Rejects

# Together they keep a block under 2 GiB: the places in Arrow string views are 31 bits wide.
MOST_BATCH = 256 << 20
MOST_MESSAGE = 512 << 20
MOST_THREADS = 64


class Counts(NamedTuple):
    """What a scan has met so far. ``records``, ``rejects`` and ``text`` are bytes and add up to ``bytes``.

    wires, reasons: how many records and rejects; selected: how many of the records ``where`` wanted.
    """

    bytes: int
    records: int
    rejects: int
    text: int
    wires: dict[str, int]
    reasons: dict[str, int]
    selected: int


class Scan:
    """An iterable of :class:`Batch`; made by :func:`scan`. It reads the input once, while it is iterated (also by
    ``async for``); a second reading raises ValueError.

    ``rejects`` is the quarantine and ``counts`` the tally; both are complete when the iteration is. Polars, DuckDB,
    pandas and pyarrow take a scan as it is (``polars.DataFrame(scan)``), through the Arrow C stream interface.
    """

    def __init__(self, source: Any, finder: Finder, columns: tuple[Column, ...], options: dict[str, Any]) -> None:
        self.columns = columns
        self._source = source
        self._wire = finder.wire
        self._run = Run(source, finder, columns, options)
        self._batches: Iterator[Batch] | None = None

    def __repr__(self) -> str:
        wire = "" if self._wire is None else f" {self._wire}"
        return f"<Scan{wire} of {self._source if isinstance(self._source, str) else '...'}>"

    @property
    def rejects(self) -> Rejects:
        """The damaged ranges that were met so far."""
        return self._run.assembly.rejects

    @property
    def counts(self) -> Counts:
        """Bytes and records met so far, per wire and per reason."""
        assembly = self._run.assembly
        text = assembly.bytes - assembly.record_bytes - assembly.rejects.bytes
        wires = dict(assembly.wires)
        reasons = dict(assembly.rejects.counts)
        return Counts(
            assembly.bytes, assembly.record_bytes, assembly.rejects.bytes, text, wires, reasons, assembly.selected
        )

    @property
    def position(self) -> dict[str, Any]:
        """Where the scan stands, behind the batch that was given last: for ``resume=`` of a later scan.

        Plain data that JSON can hold. It knows files by their device and inode and by their first bytes, and never
        stands behind a last line that may be half-written. Bytes, pipes and URLs are not in it.
        """
        return self._run.assembly.position()

    def __iter__(self) -> Iterator[Batch]:
        if self._run.finished:
            raise ValueError("this scan has been read to its end; call turnwire.scan again to read the source again")
        if self._batches is None:
            self._batches = self._run.batches()
        return self._batches

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """The batches, made in a thread of their own while others run; the next one is begun when it is asked for."""
        from turnwire.log.output.asynchronous import in_a_thread

        async for batch in in_a_thread(iter(self), self.close):
            yield batch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the scan, from any thread: an iteration that waits or goes on elsewhere ends behind its batch."""
        self._run.stop.set()
        batches: Any = self._batches
        if batches is not None:
            with suppress(ValueError):  # it runs in another thread, and sees for itself that it is to stop
                batches.close()

    def __arrow_c_schema__(self) -> object:
        from turnwire.log.output.arrow import schema_capsule

        return schema_capsule(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from turnwire.log.output.arrow import stream_capsule

        return stream_capsule(self.columns, iter(self))


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
    limits: Limits = LIMITS,
) -> Scan:
    """Finds the records of a wire, or of all of them, anywhere in logs and gives them as columns, in batches.

    Args:
        source: a path, directory or glob; "-" for standard input; a URL that fsspec knows (the extra ``fsspec``); a
            binary file object; bytes-like data itself; or a list of these. gzip and zstd are told by their first bytes.
        wire: the wire to look for, such as "nslip", with its own columns; None for all of them in one pass, with the
            columns that any wire has.
        columns: the names of the columns to read (all by default); what is not named is not made.
        where: which records are wanted: {column: a value, a set of values, or a half-open range (from, to)}; "text" is
            what the bytes of the record must contain. Records that are not wanted still count in ``counts``.
        errors: "collect" keeps damaged ranges in ``scan.rejects``, "skip" only counts them, "raise" raises DecodeError
            at the first, behind the batch with the records in front of it.
        threads: how many threads scan; what comes out is the same for any number.
        batch_bytes: bytes of input a batch, about; at most 256 MiB are taken.
        resume: ``Scan.position`` of an earlier scan of the same files, to go on behind it; {} for the first one. A last
            line without its end is then left for the next time.
        follow: wait for more at the end of files, also across rotation and truncation, until ``Scan.close()``.
        progress: called as progress(bytes done, bytes in all or None, records, rejects), or True for a bar on a
            terminal.
        borrow: scan a memory map of a path's file (or the buffer) itself. Fastest; a file that shrinks or a buffer that
            changes meanwhile is the caller's risk. What cannot be mapped is read.
        unknown: "keep" takes records with slots and frames that this version does not know.
        limits: ``limits.message`` bounds one record, 512 MiB at most; ``ratio``, ``ratio_from`` and ``zstd_window``
            bound what is decompressed.

    Returns a :class:`Scan`: iterate it for batches, or hand it to Polars, DuckDB, pandas or pyarrow. Nothing is read
    before. Raises ValueError or TypeError for arguments that make no sense, and OSError when a file cannot be read.
    """
    checked_limits(limits)
    _check_types(follow, borrow)
    if errors not in ("collect", "skip", "raise"):
        raise ValueError(f'errors is "collect", "skip" or "raise", not {errors!r}')
    if unknown not in ("error", "keep"):
        raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
    threads = expect_number(threads, "threads", 1, MOST_THREADS)
    batch_bytes = expect_number(batch_bytes, "batch_bytes", 1)
    expect_number(limits.message, "limits.message of a scan", 1, MOST_MESSAGE)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress is a function or True, not {type(progress).__name__}")
    search = finder(wire)
    options = {
        "where": compiled(where, search.scanner),
        "errors": errors,
        "threads": threads,
        "batch_bytes": min(batch_bytes, MOST_BATCH),
        "resume": resume,
        "follow": follow,
        "progress": progress,
        "borrow": borrow,
        "keep": unknown == "keep",
        "limits": limits,
    }
    return Scan(source, search, chosen(search.scanner, columns), options)


def _check_types(follow: object, borrow: object) -> None:
    """Raises TypeError for what would be taken for something else."""
    for name, value in (("follow", follow), ("borrow", borrow)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} is True or False, not {type(value).__name__}")
