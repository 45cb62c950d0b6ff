"""The damaged ranges that the page shows: some of each kind, with their bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

MOST = 600
MOST_OF_A_KIND = 100
MOST_BYTES = 256
"""Bytes of one damaged range that are shown."""


class Reject(NamedTuple):
    """A damaged range. fault: the byte of the file at which reading failed. raw: its first bytes, as hex digits."""

    file: str | None
    offset: int
    length: int
    line: int
    fault: int
    wire: str
    reason: str
    raw: str


class Quarantine:
    """Takes rejects, counts all, keeps the first of each wire and reason."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: list[Reject] = []

    def add(self, rejects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Counts them and keeps those that are shown. Gives them all."""
        found = list(rejects)
        for reject in found:
            kind = reject["wire"], reject["reason"]
            self.counts[kind] += 1
            if self.counts[kind] <= MOST_OF_A_KIND and len(self.kept) < MOST:
                raw = bytes(reject["raw"][:MOST_BYTES]).hex()
                self.kept.append(Reject(**{**{name: reject[name] for name in Reject._fields}, "raw": raw}))
        return found


class When:
    """Tells when damage was written: at the time of the last record before it in its file that has one, and where there
    is none, of the first one after it."""

    def __init__(self) -> None:
        self._here: dict[str | None, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self._before: dict[str | None, int] = {}
        self._waiting: dict[str | None, Counter[str]] = {}

    def add(self, chunk: Chunk) -> Iterable[tuple[int, str, int]]:
        """Takes the next records of a log. Gives (time, wire, number) of damage that waited for them."""
        if not chunk.timed.any():
            return []
        file, times = chunk.file, chunk.times[chunk.timed]
        for earlier, (_, known) in self._here.items():  # the last file's, too: its damage may be told later
            self._before[earlier] = int(known[-1])
        self._here = {file: (chunk.offsets[chunk.timed], times)}
        waited = self._waiting.pop(file, Counter())
        self._before.setdefault(file, int(times[0]))
        return [(int(times[0]), wire, number) for wire, number in waited.items()]

    def of(self, rejects: Iterable[dict[str, Any]]) -> Iterable[tuple[int, str, int]]:
        """(time, wire, number) of damage that is in the last records or right behind them."""
        found: Counter[tuple[int, str]] = Counter()
        for reject in rejects:
            file = reject["file"]
            if file not in self._before:
                self._waiting.setdefault(file, Counter())[reject["wire"]] += 1
                continue
            offsets, times = self._here.get(file, (np.empty(0, np.int64), np.empty(0, np.int64)))
            place = int(np.searchsorted(offsets, reject["offset"], "right")) - 1
            found[int(times[place]) if place >= 0 else self._before[file], reject["wire"]] += 1
        return [(time, wire, number) for (time, wire), number in found.items()]
