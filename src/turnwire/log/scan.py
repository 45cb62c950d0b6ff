"""``turnwire.scan``: records out of any amount of log, as columns, with every damaged range accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS, BulkScanner, Column, Limits, bulk_scanner
from turnwire.errors import DecodeError
from turnwire.log import rejects as quarantine
from turnwire.log.batch import Batch, Rows, line_start
from turnwire.log.columns import chosen, table_dtypes
from turnwire.log.memory import Pool, carve
from turnwire.log.sources import Block, Source, blocks, sources

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Together they keep a block under 2 GiB: the places in Arrow string views are 31 bits wide.
MOST_BATCH = 256 << 20
MOST_MESSAGE = 512 << 20


class Counts(NamedTuple):
    """What a scan has met so far. ``records``, ``rejects`` and ``text`` are bytes and add up to ``bytes``."""

    bytes: int
    records: int
    rejects: int
    text: int
    wires: dict[str, int]
    reasons: dict[str, int]


class Scan:
    """An iterable of :class:`Batch`; made by :func:`scan`. It reads the input once, while it is iterated;
    a second reading raises ValueError.

    ``rejects`` is the quarantine and ``counts`` the tally; both are complete when the iteration is. Polars, DuckDB,
    pandas and pyarrow take a scan as it is (``polars.DataFrame(scan)``), through the Arrow C stream interface.
    """

    def __init__(self, source: Any, scanner: BulkScanner, columns: tuple[Column, ...], options: dict[str, Any]) -> None:
        self._source = source
        self._scanner = scanner
        self._errors: str = options["errors"]
        self._batch_bytes: int = options["batch_bytes"]
        self._borrow: bool = options["borrow"]
        self._keep: bool = options["keep"]
        self._limits: Limits = options["limits"]
        self.columns = columns
        self.rejects = quarantine.Rejects()
        self._inputs = Pool()
        self._tables = Pool()
        self._dtypes = table_dtypes(scanner, columns)
        self._found = quarantine.table(quarantine.ROOM)
        self._bytes = self._record_bytes = self._records = 0
        self._batches: Iterator[Batch] | None = None
        self._before = b""  # how the line begins in the middle of which a block begins
        self._finished = False

    def __repr__(self) -> str:
        return f"<Scan {self._scanner.wire} of {self._source if isinstance(self._source, str) else '...'}>"

    @property
    def counts(self) -> Counts:
        """Bytes and records met so far, per wire and per reason."""
        text = self._bytes - self._record_bytes - self.rejects.bytes
        wires = {self._scanner.wire: self._records}
        return Counts(self._bytes, self._record_bytes, self.rejects.bytes, text, wires, dict(self.rejects.counts))

    def __iter__(self) -> Iterator[Batch]:
        if self._finished:
            raise ValueError("this scan has been read to its end; call turnwire.scan again to read the source again")
        if self._batches is None:
            self._batches = self._all()
        return self._batches

    def __arrow_c_schema__(self) -> object:
        from turnwire.log.arrow import schema_capsule

        return schema_capsule(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from turnwire.log.arrow import stream_capsule

        return stream_capsule(self.columns, iter(self))

    def _all(self) -> Iterator[Batch]:
        for source in sources(self._source):
            yield from self._one(source)
        self._finished = True

    def _one(self, source: Source) -> Iterator[Batch]:
        line, self._before = 1, b""
        state = {} if self._scanner.state is None else {"state": self._scanner.state()}
        found = blocks(source, self._inputs, self._batch_bytes, self._borrow)
        position = None
        while True:
            try:
                block = found.send(position)
            except StopIteration:
                return
            except OSError as failure:
                failure.filename = source.name if failure.filename is None else failure.filename
                raise
            batch, error, position, line = self._block(source, block, line, state)
            self._bytes += position
            self._before = line_start(self._before, memoryview(block.data)[:position])
            if len(batch):
                yield batch
            if error is not None:
                raise error

    def _block(
        self, source: Source, block: Block, line: int, state: dict[str, Any]
    ) -> tuple[Batch, DecodeError | None, int, int]:
        """The records of one block, what errors="raise" has to raise behind them, and where the next one starts."""
        scanner = self._scanner
        room = block.size // scanner.smallest + 1
        arrays = carve(self._tables, self._dtypes, room)
        buffer = memoryview(block.data)[: block.size].toreadonly()
        rows = position = 0
        full, error = True, None
        while full and error is None:
            reject_room = len(self._found["offset"])
            rows, bad, position, line = scanner.scan(
                block.data,
                position,
                block.size,
                block.final,
                arrays,
                rows,
                room,
                self._found,
                0,
                reject_room,
                base=block.base,
                line=line,
                keep=self._keep,
                limit=self._limits.message,
                **state,
            )
            if bad and self._errors == "raise":
                rows, error = self._first_error(source, arrays, rows, buffer, block.base)
                bad, position = 1, int(self._found["offset"][0] + self._found["length"][0]) - block.base
            if bad:
                collect = self._errors != "skip"
                self.rejects.add(self._found, bad, buffer, block.base, source.name, scanner, collect)
            full = bad == reject_room
            if full and reject_room < quarantine.MOST_ROOM:  # each further round costs a look at the whole block
                self._found = quarantine.table(reject_room * 4)
        self._records += rows
        self._record_bytes += int(arrays["length"][:rows].sum())
        result = Batch(
            scanner,
            self.columns,
            Rows(buffer, arrays, rows, source.name, block.base, self._records - rows, self._keep, self._before),
        )
        return result, error, position, line

    def _first_error(
        self, source: Source, arrays: dict[str, NDArray[Any]], rows: int, buffer: memoryview, base: int
    ) -> tuple[int, DecodeError]:
        """How many records stand in front of the first reject, and its error."""
        offset, length = int(self._found["offset"][0]), int(self._found["length"][0])
        raw = bytes(buffer[offset - base : offset - base + length])
        error = quarantine.first_error(self._found, self._scanner, source.name, raw)
        return int(arrays["offset"][:rows].searchsorted(offset)), error


def scan(
    source: Any,
    *,
    wire: str,
    columns: Iterable[str] | None = None,
    errors: str = "collect",
    batch_bytes: int = 8 << 20,
    borrow: bool = False,
    unknown: str = "error",
    limits: Limits = LIMITS,
) -> Scan:
    """Finds the records of a wire anywhere in logs and gives them as columns, in batches.

    Args:
        source: a path, directory or glob; "-" for standard input; a binary file object; bytes-like data itself; or a
            list of these.
        wire: the wire to look for, such as "nslip".
        columns: the names of the columns to read (all by default); what is not named is not made.
        errors: "collect" keeps damaged ranges in ``scan.rejects``, "skip" only counts them, "raise" raises DecodeError
            at the first, behind the batch with the records in front of it.
        batch_bytes: bytes of input a batch, about; at most 256 MiB are taken.
        borrow: scan a memory map of a path's file (or the buffer) itself. Fastest; a file that shrinks or a buffer that
            changes meanwhile is the caller's risk. What cannot be mapped is read.
        unknown: "keep" takes records with slots and frames that this version does not know.
        limits: ``limits.message`` bounds one record, 512 MiB at most.

    Returns a :class:`Scan`: iterate it for batches, or hand it to Polars, DuckDB, pandas or pyarrow. Nothing is read
    before. Raises ValueError or TypeError for arguments that make no sense, and OSError when a file cannot be read.
    """
    if errors not in ("collect", "skip", "raise"):
        raise ValueError(f'errors is "collect", "skip" or "raise", not {errors!r}')
    if unknown not in ("error", "keep"):
        raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
    if index(batch_bytes) < 1:
        raise ValueError("batch_bytes must be positive")
    if not 1 <= limits.message <= MOST_MESSAGE:
        raise ValueError(f"limits.message is 1 to {MOST_MESSAGE} bytes for a scan, not {limits.message}")
    scanner = bulk_scanner(wire)
    options = {
        "errors": errors,
        "batch_bytes": min(batch_bytes, MOST_BATCH),
        "borrow": borrow,
        "keep": unknown == "keep",
        "limits": limits,
    }
    return Scan(source, scanner, chosen(scanner, columns), options)
