"""The records of a log as the report reads them: a thin layer over the bulk scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.report.columns import ABSENT, Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch


class Chunk:
    """Some records of one input. times: i64 microseconds, UTC, where ``timed``; lengths: i64 bytes."""

    def __init__(self, batch: Batch, first: int = 0) -> None:
        self._batch = batch
        self._first = first
        self._columns: dict[str, Coded] = {}
        self.lengths: NDArray[np.int64] = batch["length"]
        self.times: NDArray[np.int64] = np.zeros(len(batch), np.int64)
        self.timed: NDArray[np.bool_] = np.zeros(len(batch), bool)

    def __len__(self) -> int:
        return len(self._batch)

    def coded(self, name: str) -> Coded:
        """The column "wire", "kind", "sender", "receiver" or "conversation"."""
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> Coded:
        batch = self._batch
        if name == "wire":
            return Coded(["nslip"], np.zeros(len(batch), np.int64))
        own = {"kind": "act", "sender": "src", "receiver": "dst", "conversation": "conv_id"}[name]
        if name == "kind":
            return Coded(batch.column(own).names, batch[own].astype(np.int64))
        values, codes = np.unique(batch[own], return_inverse=True)
        return Coded([str(value) for value in values.tolist()], codes.astype(np.int64))

    def text(self, name: str, row: int) -> str | None:
        """One value of such a column."""
        column = self.coded(name)
        code = int(column.codes[row])
        return None if code == ABSENT else column.names[code]

    def place(self, row: int) -> tuple[str | None, int, int]:
        """file, line, offset"""
        return self._batch.file, int(self._batch["line"][row]), int(self._batch["offset"][row])

    def number(self, row: int) -> int:
        """The place of a record among all that were read."""
        return self._first + row

    def raw(self, row: int) -> bytes:
        """The bytes of a record."""
        return bytes(self._batch.raw(row))

    def message(self, row: int) -> Any:
        """A record as a message of its wire."""
        return self._batch.message(row)

    def sequence(self, row: int) -> str | None:
        """Its number in the conversation, as decimal text: it may be more than a page can hold as a number."""
        return str(int(self._batch["turn"][row]))

    def subjects(self) -> Iterator[str | None]:
        """What each record is about."""
        return iter(self._batch["tag"])

    def subject(self, row: int) -> str | None:
        """What it is about, in a few words."""
        tag: str | None = self._batch["tag"][row]
        return tag


class Records:
    """The records of a source, and what was damaged, read once."""

    def __init__(self, source: Any, wire: str | None) -> None:
        import turnwire

        self._scan = turnwire.scan(source, wire=wire or "nslip")
        self._rejects = 0

    def __iter__(self) -> Iterator[Chunk]:
        first = 0
        for batch in self._scan:
            yield Chunk(batch, first)
            first += len(batch)

    def rejects(self) -> Iterator[dict[str, Any]]:
        """The damaged ranges met since the last call."""
        for reject in self._scan.rejects.since(self._rejects):
            self._rejects += 1
            yield reject

    @property
    def counts(self) -> Any:
        """``turnwire.log.Counts`` of what was met so far."""
        return self._scan.counts
