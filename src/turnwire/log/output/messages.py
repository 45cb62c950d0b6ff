"""The records and the damaged ranges of a scan as Python objects, one at a time, each with its place."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from turnwire.characters import visible
from turnwire.contract import BulkScanner, Column
from turnwire.log.engine.columns import chosen, known
from turnwire.log.output.rejects import explained, fault_line

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
