"""The quarantine: every range of the input that looked like a record and was none, with its bytes; and the records and
damaged ranges of a scan as Python objects, one at a time, each with its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from io import BytesIO
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import BulkScanner, Column
from turnwire.errors import DecodeError
from turnwire.json.scanner import plain
from turnwire.log.engine.columns import REASONS, bulk_scanner, chosen, known
from turnwire.log.input.compression import WORDS
from turnwire.log.output.batch import MOST_SHOWN, Columns, file_codes
from turnwire.log.output.texts import cut
from turnwire.showing import counted, visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

IN_MEMORY = 64 << 20
COLUMNS = (
    Column("file", "file", nullable=True),
    Column("offset", "i64"),
    Column("length", "i64"),
    Column("line", "i64"),
    Column("fault", "i64"),
    Column("wire", "name"),
    Column("reason", "name"),
    Column("raw", "binary"),
    Column("inner", "i64", nullable=True),
)
_NUMBERS = ("offset", "length", "line", "fault", "inner")
_KEPT = (*_NUMBERS, "wire", "reason")
_NAMES = np.array([str(reason) for reason in REASONS], object)


class Rejects(Columns):
    """Rejected ranges, in input order, as columns.

    ``rejects["offset"]``, ``["length"]``, ``["line"]`` and ``["fault"]`` (offset of the byte where reading failed) are
    i64 arrays, as is ``["inner"]`` (the offset in the content of the outermost JSON string, -1 outside strings);
    ``["reason"]``, ``["wire"]``, ``["file"]`` and ``["raw"]`` are lists. Polars, DuckDB, pandas and pyarrow read it
    directly. Raw bytes beyond 64 MiB are stored in a temporary file.

    complete: whether the scan has ended. Until then, the truth value raises RuntimeError if there is no reject yet.
    """

    columns = COLUMNS

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete
        self._parts: list[tuple[str | None, dict[str, NDArray[Any]]]] = []
        self._raw: IO[bytes] = BytesIO()
        self._count = 0
        self.bytes = 0
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        if not self._count and not self.complete:
            raise RuntimeError(
                "no reject so far, but this scan has not ended: iterate to the end or call read(), or ask for len()"
            )
        return self._count > 0

    def __repr__(self) -> str:
        return f"<Rejects {counted(self._count, 'range')}, {counted(self.bytes, 'byte')}>"

    def add(
        self,
        found: dict[str, NDArray[Any]],
        count: int,
        buffer: memoryview,
        base: int,
        file: str | None,
        keep: bool,
        stream: str | None = None,
    ) -> None:
        """Adds the first ``count`` rejects of a block; if ``keep`` is false, they are only counted. stream: the
        compression of the file, if the compressed stream is damaged."""
        reasons = _NAMES[found["reason"][:count]]
        self.counts.update(reasons.tolist())
        self.bytes += int(found["own_bytes"][:count].sum())
        self._count += count
        if not keep:
            return
        part = {name: found[name][:count].copy() for name in _NUMBERS}
        part["reason"] = reasons
        wires = registry.codes() if stream is None else (stream,)
        part["wire"] = np.array(wires, object)[found["wire"][:count]]
        self._parts.append((file, part))
        self._raw.seek(0, 2)
        raw = b"".join(cut(buffer, memoryview(b""), found["offset"][:count] - base, found["length"][:count]))
        if isinstance(self._raw, BytesIO) and self._raw.tell() + len(raw) > IN_MEMORY:
            from tempfile import TemporaryFile  # which few scans need, and which imports much

            memory, self._raw = self._raw, TemporaryFile()  # noqa: SIM115  (lives as long as this object)
            self._raw.write(memory.getbuffer())
        self._raw.write(raw)

    def __getitem__(self, name: str) -> Any:
        if name in _NUMBERS:
            return np.concatenate([np.empty(0, np.int64), *(part[name] for _, part in self._parts)])
        if name in ("wire", "reason"):
            return [one for _, part in self._parts for one in part[name].tolist()]
        if name == "file":
            return [file for file, part in self._parts for _ in part["offset"]]
        self.column(name)  # it is "raw", or there is none of that name
        return [row["raw"] for row in self.since(0)]

    @property
    def kept(self) -> int:
        """The number of ranges that are there with their bytes: none if they are only counted."""
        return sum(len(part["offset"]) for _, part in self._parts)

    def validity_of(self, column: Column) -> NDArray[np.bool_] | None:
        """Only a range in a JSON string has ``inner``."""
        inner: NDArray[np.int64] = self["inner"]
        return inner >= 0 if column.name == "inner" else None

    def file_codes(self) -> tuple[list[str], NDArray[np.int32]]:
        """The names of the files, and for each reject the index of its file (i32), or -1."""
        return file_codes((file, len(part["offset"])) for file, part in self._parts)

    def rows(self) -> list[dict[str, Any]]:
        """All rejects as dicts of plain Python values."""
        return list(self.since(0))

    def since(self, start: int) -> Iterator[dict[str, Any]]:
        """Yields the rejects from number ``start`` on, as :meth:`rows` returns them, even during a scan."""
        first = place = 0
        for file, part in self._parts:
            size = int(part["length"].sum())
            if first + len(part["length"]) > start:
                self._raw.seek(place)
                raw = BytesIO(self._raw.read(size))
                for number, row in enumerate(zip(*(part[name].tolist() for name in _KEPT), strict=True), first):
                    reject = {"file": file, **dict(zip(_KEPT, row, strict=True))}
                    reject["raw"] = raw.read(reject["length"])
                    reject["inner"] = None if reject["inner"] < 0 else reject["inner"]
                    if number >= start:
                        yield {name: reject[name] for name in self.names}
            first, place = first + len(part["length"]), place + size

    def forget(self) -> None:
        """Forgets the rejects found so far, except their counts."""
        self._parts.clear()
        self._raw.seek(0)
        self._raw.truncate()

    def _repr_html_(self) -> str:
        from turnwire.showing import table

        reasons = ", ".join(f"{name} {count:,}" for name, count in sorted(self.counts.items()))
        rows = [
            [row[name].decode("utf-8", "backslashreplace") if name == "raw" else row[name] for name in self.names]
            for row in islice(self.since(0), MOST_SHOWN)
        ]
        more = "" if len(rows) == len(self) else f", {len(rows)} of them here"
        return table(f"Rejects: {len(self):,}{more}{f' ({reasons})' if reasons else ''}", self.names, rows)

    def close(self) -> None:
        """Frees the temporary file."""
        self._raw.close()

    def __del__(self) -> None:
        if hasattr(self, "_raw"):  # not where making it was interrupted
            self.close()


def fault_line(reject: dict[str, Any]) -> int:
    """The line of the byte where reading failed, where that is in the range: it may be after the first one."""
    before = max(reject["fault"] - reject["offset"], 0)
    line: int = reject["line"] + reject["raw"].count(b"\n", 0, before)
    return line


def explained(wire: str, reason: str, raw: bytes, inner: int | None, unknown: str = "error") -> tuple[str, str | None]:
    """The fault of a reject, and the JSON pointer to it (or None), as the wire's ``decode`` says it where it
    refuses these bytes for the same reason. In a string of JSON (``inner``) they are as written: the escapes go, once
    for each string around them, until it does."""
    if wire not in registry.codes():
        return f"{WORDS[reason]} (a byte of the stream as stored)", None
    scanner, escaped = bulk_scanner(wire), True
    refusal, decode = scanner.refusal, scanner.decode
    while escaped:
        told = None if refusal is None else refusal(raw)
        if told is not None:
            if told[0] == reason:
                return told[1], told[2]
        else:
            try:
                decode(raw, unknown=unknown)
            except DecodeError as error:
                if str(error.reason) == reason:
                    return error.text, error.path
        said = raw if inner is None else plain(raw)
        raw, escaped = said, said != raw
    # One message alone may hold what a record of a log may not; then the reason has to say it all.
    return reason.replace("_", " "), None


def first_error(found: dict[str, NDArray[Any]], file: str | None, buffer: memoryview, base: int) -> DecodeError:
    """The error that ``errors="raise"`` raises for the first reject of a block, of which ``buffer`` is at offset
    ``base``: ``offset`` and ``line`` are those of the fault in the input."""
    reason = REASONS[found["reason"][0]]
    assert reason is not None, "code 0 is not a reason"
    offset, length, fault = (int(found[name][0]) for name in ("offset", "length", "fault"))
    raw = bytes(buffer[offset - base : offset - base + length])
    text = f"a record of {length} bytes at byte {offset} is damaged: {raw[:80]!r}{'...' if length > 80 else ''}"
    between = bytes(buffer[max(min(offset, fault) - base, 0) : max(offset, fault) - base]).count(b"\n")
    line = int(found["line"][0]) + (between if fault > offset else -between)
    wire = registry.codes()[found["wire"][0]]
    path = file if file is not None else explained(wire, str(reason), raw, None)[1]
    error = DecodeError(reason, text, offset=fault, line=line, wire=wire, path=path)
    error.raw = raw
    return error


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from turnwire.log.output.batch import Batch
    from turnwire.log.output.rejects import Rejects

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")

_PLACES = ("file", "offset", "length", "line", "wire", "inner")


class Message(NamedTuple, Generic[M]):
    """One decoded record of a scan, with its position.

    message: the message object of its wire. file: the name of its file, None for bytes. offset, length: its bytes in
    the (decompressed) input; inside a JSON string, offset is that of the string. line: the number of its line. wire:
    the name of its wire. inner: the byte offset in the content of the outermost JSON string, None outside strings.
    """

    message: M
    file: str | None
    offset: int
    length: int
    line: int
    wire: str
    inner: int | None


class Reject(NamedTuple):
    """One damaged range of a scan.

    file, offset, length, line, wire, inner: as for :class:`Message`; ``wire`` is the wire that the range resembles, or
    "gzip", "bzip2", "xz" or "zstd" for a damaged compressed stream. fault, fault_line: the offset and line of the byte
    where reading failed. reason: the stable reason. raw: the bytes of the range.
    """

    file: str | None
    offset: int
    length: int
    line: int
    fault: int
    fault_line: int
    wire: str
    reason: str
    raw: bytes
    inner: int | None

    @property
    def text(self) -> str:
        """A description of the fault, like that of ``decode``."""
        return explained(self.wire, self.reason, self.raw, self.inner)[0]

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:"
        return visible(f"{place}{self.fault_line}: byte {self.fault}: {self.wire}: {self.reason}: {self.text}")


def places(scanner: BulkScanner) -> tuple[Column, ...]:
    """The columns that say where records are."""
    there = known(scanner)
    return chosen(scanner, [name for name in _PLACES if name in there])


def messages(batches: Generator[Batch]) -> Iterator[Message]:
    """The records of batches with the columns of :func:`places`."""
    for batch in batches:
        yield from _of_batch(batch)
        del batch


def _of_batch(batch: Batch) -> Iterator[Message]:
    inner: list[int | None] = [None] * len(batch)
    if "inner" in batch.names:
        there = batch.valid("inner").tolist()
        inner = [at if inside else None for at, inside in zip(batch["inner"].tolist(), there, strict=True)]
    numbers = (batch[name].tolist() for name in ("offset", "length", "line", "wire"))
    for row, place in enumerate(zip(*numbers, inner, strict=True)):
        yield Message(batch.message(row), batch.file, *place)


def errors(steps: Generator[Any], rejects: Rejects) -> Iterator[Reject]:
    """The damaged ranges of a run, one by one; they are not kept."""
    for _ in chain(steps, (None,)):
        yield from (Reject(fault_line=fault_line(row), **row) for row in rejects.since(0))
        rejects.forget()
