"""Counts of records, bytes and tokens per time, wire, kind, sender and receiver, in bounded memory.

The width of a time bucket and the agents that are kept apart give way to the amount: what a log of a million records
leaves behind is a table of some ten thousand cells, whose sums are those of all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.read.coding import ABSENT
from turnwire.report.records import OTHERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.read.coding import Coded
    from turnwire.report.records import Chunk

_SECOND = 1_000_000
WIDTHS = (
    *(1_000, 5_000, 10_000, 50_000, 100_000, 500_000),
    *(_SECOND, 5 * _SECOND, 10 * _SECOND, 30 * _SECOND, 60 * _SECOND, 300 * _SECOND, 600 * _SECOND, 1800 * _SECOND),
    *(3600 * _SECOND * hours for hours in (1, 3, 6, 12, 24, 168, 672, 8736, 87_360, 873_600)),
)
"""Widths of a time bucket in microseconds; each is a multiple of the one before."""
NO_TIME, EARLIER, LATER = -1, -2, -3
"""Codes of a shown bucket for records without a time, and for those so far off that the chart would lose its scale."""
_UNTIMED = -(1 << 62)

MOST_NAMES = 1 << 17
MOST_KINDS = 1 << 10
MOST_FILLED = 360  # time buckets while the log is read
MOST_SHOWN = 120  # time buckets in the page
MOST_CELLS = 200_000  # while the log is read
MOST_CELLS_SHOWN = 40_000  # in the page
MOST_AGENTS = 40  # kept apart in the page
MOST_KINDS_SHOWN = 60
STRAY = 0.005
"""Share of the records at either end of time that may be folded when they stretch the axis fourfold or more."""
BUCKET, WIRE, KIND, SENDER, RECEIVER = range(5)
RECORDS, BYTES, TOKENS = range(5, 8)
"""Columns of the cells: five keys, three sums."""
_AT_ONCE = 1 << 16  # numbers that are sorted in at once, at least


class Cube:
    """Takes chunks of records, remembers only sums: ``_cells`` has a row for each of the keys that were met."""

    def __init__(self) -> None:
        self.wires, self.kinds, self.agents = NameCodes(MOST_KINDS), NameCodes(MOST_KINDS), NameCodes(MOST_NAMES)
        self.records = 0
        self._width = 0
        self._cells: NDArray[np.int64] = np.empty((0, 8), np.int64)
        self._new: list[NDArray[np.int64]] = []  # to sort all cells for each chunk would be quadratic
        self._kept: list[int] | None = None  # agents that are kept apart; None while all are
        self._first: int | None = None
        self._last: int | None = None

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Counts the records of a chunk."""
        if not len(chunk):
            return
        self.records += len(chunk)
        rows = np.zeros((len(chunk), 8), np.int64)
        rows[:, WIRE] = self.wires.translate(chunk.coded("wire"))
        rows[:, KIND] = self.kinds.translate(chunk.coded("kind"))
        rows[:, SENDER] = self.agents.translate(chunk.coded("sender"))
        rows[:, RECEIVER] = self.agents.translate(chunk.coded("receiver"))
        rows[:, RECORDS], rows[:, BYTES] = 1, chunk.lengths
        if tokens is not None:
            rows[:, TOKENS] = tokens
        rows[:, BUCKET] = np.where(chunk.timed, chunk.times // WIDTHS[self._width], _UNTIMED)
        if len(times := chunk.times[chunk.timed]):
            known = [one for one in (self._first, self._last) if one is not None]
            self._first, self._last = min([*known, int(times.min())]), max([*known, int(times.max())])
        self._take(_summed(rows))

    def _take(self, rows: NDArray[np.int64]) -> None:
        if self._kept is not None:
            _fold(rows, self._kept)
        self._new.append(rows)
        if sum(map(len, self._new)) > max(len(self._cells), _AT_ONCE):
            self._merge()

    def _merge(self) -> None:
        """Sums up the cells; makes them fewer where they are too many."""
        self._cells, self._new = _summed(np.concatenate((self._cells, *self._new))), []
        while self._width + 1 < len(WIDTHS) and (
            self._filled() > MOST_FILLED or (len(self._cells) > MOST_CELLS and self._filled() > MOST_SHOWN)
        ):
            timed = self._cells[:, BUCKET] != _UNTIMED
            self._cells[timed, BUCKET] //= WIDTHS[self._width + 1] // WIDTHS[self._width]
            self._width += 1
            self._cells = _summed(self._cells)
        while len(self._cells) > MOST_CELLS and self._kept != []:
            self._kept = self._busiest(MOST_AGENTS * 4 if self._kept is None else len(self._kept) // 2)
            _fold(self._cells, self._kept)
            self._cells = _summed(self._cells)

    def _filled(self) -> int:
        return len(np.unique(self._cells[:, BUCKET]))

    def _busiest(self, count: int) -> list[int]:
        order: list[int] = np.argsort(-self.agents.records, kind="stable")[:count].tolist()
        return [code for code in order if self._kept is None or code in self._kept]

    def shown(self) -> dict[str, Any]:
        """Returns the sums in the page's data."""
        self._merge()
        names, kind_names, wire_names = list(self.agents), list(self.kinds), list(self.wires)
        kept, kinds = self._busiest(MOST_AGENTS), self.kinds.met(MOST_KINDS_SHOWN)
        met = {wire_names[code] for code in self.wires.met(len(wire_names))}
        wires = [name for name in registry.codes() if name in met]
        most = MOST_SHOWN
        while True:
            width, low, high = self._axis(most)
            cells = self._cells.copy()
            cells[:, BUCKET] = _placed(cells[:, BUCKET], WIDTHS[width] // WIDTHS[self._width], low, high)
            cells[:, KIND] = _places(kinds, len(kind_names))[cells[:, KIND]]
            for column in (SENDER, RECEIVER):
                cells[:, column] = _places(kept, len(names))[cells[:, column]]
            cells[:, WIRE] = _places([wire_names.index(name) for name in wires], len(wire_names))[cells[:, WIRE]]
            cells = _summed(cells)
            if len(cells) <= MOST_CELLS_SHOWN or (high - low <= 24 and len(kept) <= 8):
                break
            if high - low > 24 and width + 1 < len(WIDTHS):
                most = (high - low) // 2
            else:
                kept = kept[: len(kept) // 2]
        return {
            "wires": wires,
            "kinds": [kind_names[code] for code in kinds],
            "agents": [names[code] for code in kept],
            "folded_agents": len(names) - len(kept),
            "more_agents": self.agents.unnamed > 0,
            "time": {
                "first": self._first,
                "last": self._last,
                "start": low * WIDTHS[width],
                "width": WIDTHS[width],
                "buckets": high - low + 1 if self._first is not None else 0,
            },
            "cells": cells.T.tolist(),
        }

    def _axis(self, most: int) -> tuple[int, int, int]:
        """The width (its place in WIDTHS) and the first and last bucket of the chart."""
        timed = self._cells[self._cells[:, BUCKET] != _UNTIMED]
        if not len(timed):
            return self._width, 0, 0
        buckets, place = np.unique(timed[:, BUCKET], return_inverse=True)
        low, high = _core(buckets, np.bincount(place, weights=timed[:, RECORDS]))
        width, factor = self._width, 1
        while high // factor - low // factor >= most and width + 1 < len(WIDTHS):
            factor *= WIDTHS[width + 1] // WIDTHS[width]
            width += 1
        return width, low // factor, high // factor


def _summed(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different keys, in their order, with the sums of each."""
    if not len(cells):
        return cells
    low = cells[:, : RECEIVER + 1].min(0)
    spans = (cells[:, : RECEIVER + 1].max(0) - low + 1).tolist()
    if prod(spans) < 1 << 63:  # one number a key sorts faster than five
        cells = cells[np.argsort(np.ravel_multi_index(tuple((cells[:, : RECEIVER + 1] - low).T), spans), kind="stable")]
    else:
        cells = cells[np.lexsort(cells[:, RECEIVER::-1].T)]
    new = np.any(cells[1:, : RECEIVER + 1] != cells[:-1, : RECEIVER + 1], axis=1)
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    return np.hstack((cells[starts, : RECEIVER + 1], np.add.reduceat(cells[:, RECORDS:], starts)))


def _fold(cells: NDArray[np.int64], kept: Sequence[int]) -> None:
    """Agents that are not kept become OTHERS."""
    for column in (SENDER, RECEIVER):
        codes = cells[:, column]
        codes[(codes >= 0) & ~np.isin(codes, kept)] = OTHERS


def _placed(buckets: NDArray[np.int64], factor: int, low: int, high: int) -> NDArray[np.int64]:
    """Buckets, so many times as wide, as the chart has them."""
    places = buckets // factor
    found = np.where(places < low, EARLIER, np.where(places > high, LATER, places - low))
    return np.where(buckets == _UNTIMED, NO_TIME, found)


def _core(buckets: NDArray[np.int64], records: NDArray[Any]) -> tuple[int, int]:
    """The first and last bucket without a few stray records at the ends, where those would squeeze all the others."""
    allowed = records.sum() * STRAY
    first = int(np.searchsorted(np.cumsum(records), allowed, "right"))
    last = len(buckets) - 1 - int(np.searchsorted(np.cumsum(records[:first:-1]), allowed, "right"))
    low, high = int(buckets[first]), int(buckets[last])
    if buckets[-1] - buckets[0] + 1 >= 4 * (high - low + 1):
        return low, high
    return int(buckets[0]), int(buckets[-1])


def _places(codes: Sequence[int], count: int) -> NDArray[np.int64]:
    """Code -> its place in the list; ABSENT (the last) stays, everything else is OTHERS."""
    places = np.full(count + 2, OTHERS, np.int64)
    places[codes] = np.arange(len(codes))
    places[ABSENT] = ABSENT
    return places


# --- names in bounded memory ----------------------------------------------------------------------------


class NameCodes(dict[str, int]):
    """Names in order of appearance, each with a code; those after the first ``most`` are OTHERS.

    ``records`` counts how often each was translated, ``unnamed`` how often one had to be OTHERS.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._counts = np.zeros(most, np.int64)
        self.unnamed = 0

    def __missing__(self, name: str) -> int:
        """The code of a new name, which is taken in where there is room."""
        if len(self) >= self._most:
            return OTHERS
        return self.setdefault(name, len(self))

    @property
    def records(self) -> NDArray[np.int64]:
        """The number of records of each name, in the order of the codes."""
        return self._counts[: len(self)]

    def met(self, most: int) -> list[int]:
        """The codes of the most frequent names, without those of which there is no record: an enum names them, too."""
        count = min(int((self.records > 0).sum()), most)
        codes: list[int] = np.argsort(-self.records, kind="stable")[:count].tolist()
        return codes

    def translate(self, column: Coded) -> NDArray[np.int64]:
        """The column with the codes of these names."""
        table = np.array([*map(self.__getitem__, column.names), ABSENT], np.int64)  # code -1 picks the last
        result: NDArray[np.int64] = table[column.codes]
        counts = np.bincount(result[result >= 0])
        self._counts[: len(counts)] += counts
        self.unnamed += int((result == OTHERS).sum())
        return result
