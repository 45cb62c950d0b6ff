"""Counts of records, bytes and tokens per time, wire, kind, sender and receiver, in bounded memory.

The width of a time bucket and the agents that are kept apart give way to the amount: what a log of a million records
leaves behind is a table of some ten thousand cells, whose sums are those of all records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.report.records import ABSENT, OTHERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk, Coded

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
MOST_PAIRS = 1 << 23
"""Pairs of sender and receiver that are told apart when they are counted (eight bytes each)."""
MOST_FILLED = 360  # time buckets while the log is read
MOST_SHOWN = 120  # time buckets in the page
MOST_CELLS = 200_000  # while the log is read
MOST_CELLS_SHOWN = 40_000  # in the page
MOST_AGENTS = 40  # kept apart in the page
MOST_KINDS_SHOWN = 60
STRAY = 0.005
"""Share of the records at either end of time that may be folded when they stretch the axis fourfold or more."""

Key = tuple[int, ...]
"""bucket, wire, kind, sender, receiver"""
_AT_ONCE = 1 << 16  # numbers that are sorted in at once, at least


class Cube:
    """Takes chunks of records, remembers only sums."""

    def __init__(self) -> None:
        self.wires: list[str] = []  # in the order in which they were met
        self.kinds = NameCodes(MOST_KINDS)
        self.agents = NameCodes(MOST_NAMES)
        self.records = 0
        self._pairs = Different(MOST_PAIRS, np.int64)
        self._width = 0
        self._cells: dict[Key, NDArray[np.int64]] = {}
        self._filled: set[int] = set()
        self._damaged: Counter[tuple[int, str]] = Counter()
        self._kept: set[int] | None = None  # agents that are kept apart; None while all are
        self._first: int | None = None
        self._last: int | None = None

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Counts the records of a chunk."""
        if not len(chunk):
            return
        self.records += len(chunk)
        times = self._buckets(chunk)
        sender, receiver = (self.agents.translate(chunk.coded(name)) for name in ("sender", "receiver"))
        self._pairs.add((sender - OTHERS) * (MOST_NAMES - OTHERS) + receiver - OTHERS)
        sender, receiver = self._kept_apart(sender), self._kept_apart(receiver)
        columns = [times, self._wire(chunk), self.kinds.translate(chunk.coded("kind")), sender, receiver]
        keys, group = grouped(columns)
        sums: list[NDArray[Any]] = [np.bincount(group, weights=chunk.lengths)]
        sums.append(np.zeros(len(keys)) if tokens is None else np.bincount(group, weights=tokens))
        for key, row in zip(keys, np.array([np.bincount(group), *sums]).astype(np.int64).T, strict=True):
            here = self._cells.get(key)
            self._cells[key] = row if here is None else here + row
        self._shrink()

    def damaged(self, found: Iterable[tuple[int, str, int]]) -> None:
        """Counts damaged ranges: (time, wire, number), each at the time of a record that was added."""
        for time, wire, number in found:
            self._damaged[time // WIDTHS[self._width], wire] += number

    def _wire(self, chunk: Chunk) -> NDArray[np.int64]:
        column = chunk.coded("wire")
        places = np.full(len(column.names), ABSENT, np.int64)
        for code in np.unique(column.codes).tolist():  # an enum names wires of which a log may hold nothing
            if column.names[code] not in self.wires:
                self.wires.append(column.names[code])
            places[code] = self.wires.index(column.names[code])
        result: NDArray[np.int64] = places[column.codes]
        return result

    @property
    def pairs(self) -> tuple[int, bool]:
        """The number of different pairs of sender and receiver, and whether there may be more."""
        count, more = self._pairs.count()
        return count, more or self.agents.unnamed > 0

    def _kept_apart(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._kept is None:
            return codes
        return np.where((codes >= 0) & ~np.isin(codes, list(self._kept)), OTHERS, codes)

    def _buckets(self, chunk: Chunk) -> NDArray[np.int64]:
        times = chunk.times[chunk.timed]
        if len(times):
            first, last = int(times.min()), int(times.max())
            self._first = first if self._first is None else min(self._first, first)
            self._last = last if self._last is None else max(self._last, last)
        buckets = times // WIDTHS[self._width]
        new = set(np.unique(buckets).tolist())
        self._filled |= new
        while len(self._filled) > MOST_FILLED and self._width + 1 < len(WIDTHS):
            self._widen()
        result = np.full(len(chunk), _UNTIMED, np.int64)
        result[chunk.timed] = times // WIDTHS[self._width]
        return result

    def _widen(self) -> None:
        factor = WIDTHS[self._width + 1] // WIDTHS[self._width]
        self._width += 1
        self._filled = {bucket // factor for bucket in self._filled}
        damaged, self._damaged = self._damaged, Counter()
        for (bucket, wire), number in damaged.items():
            self._damaged[bucket // factor, wire] += number
        self._cells = _merged(self._cells, lambda key: (key[0] if key[0] == _UNTIMED else key[0] // factor, *key[1:]))

    def _shrink(self) -> None:
        while len(self._cells) > MOST_CELLS:
            if len(self._filled) > MOST_SHOWN and self._width + 1 < len(WIDTHS):
                self._widen()
                continue
            kept = MOST_AGENTS * 4 if self._kept is None else len(self._kept) // 2
            self._kept = set(self._busiest(kept))
            self._cells = _merged(self._cells, _only(self._kept))
            if kept == 0:
                return

    def _busiest(self, count: int) -> list[int]:
        order = np.argsort(-self.agents.records, kind="stable")[:count]
        return [int(code) for code in order if self._kept is None or int(code) in self._kept]

    def shown(self) -> dict[str, Any]:
        """The part of the page's data that is made of sums. The cube itself stays as it is."""
        kept = self._busiest(MOST_AGENTS)
        met = int((self.kinds.records > 0).sum())  # an enum names kinds of which a log may hold none
        kinds = np.argsort(-self.kinds.records, kind="stable")[: min(met, MOST_KINDS_SHOWN)].tolist()
        cells = _merged(self._cells, _only(set(kept)))
        width, low, high = self._axis(cells, MOST_SHOWN)
        cells = _merged(cells, self._placed(width, low, high))
        while len(cells) > MOST_CELLS_SHOWN and (high - low > 24 or len(kept) > 8):
            if high - low > 24 and width + 1 < len(WIDTHS):
                width, low, high = self._axis(self._cells, (high - low) // 2)
            else:
                kept = kept[: len(kept) // 2]
            cells = _merged(self._cells, _only(set(kept)))
            cells = _merged(cells, self._placed(width, low, high))
        agents, kind_codes = _places(kept), _places(kinds)
        wires = [name for name in registry.codes() if name in self.wires]
        rows = sorted(
            (bucket, wires.index(self.wires[wire]), kind_codes[kind], agents[sender], agents[receiver], *sums.tolist())
            for (bucket, wire, kind, sender, receiver), sums in cells.items()
        )
        names, kind_names = list(self.agents), list(self.kinds)
        placed, damaged = self._placed(width, low, high), Counter[tuple[int, str]]()
        for (bucket, wire), number in self._damaged.items():
            damaged[placed((bucket,))[0], wire] += number
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
            "cells": [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(8)],
            "reject_cells": sorted([bucket, wire, number] for (bucket, wire), number in damaged.items()),
        }

    def _axis(self, cells: dict[Key, NDArray[np.int64]], most: int) -> tuple[int, int, int]:
        """The width (its place in WIDTHS) and the first and last bucket of the chart."""
        if self._first is None or self._last is None:
            return self._width, 0, 0
        records: Counter[int] = Counter()
        for key, sums in cells.items():
            if key[0] != _UNTIMED:
                records[key[0]] += int(sums[0])
        buckets = sorted(records)
        low, high = _core(buckets, records)
        width = self._width
        factor = 1
        while high // factor - low // factor >= most and width + 1 < len(WIDTHS):
            factor *= WIDTHS[width + 1] // WIDTHS[width]
            width += 1
        return width, low // factor, high // factor

    def _placed(self, width: int, low: int, high: int) -> Callable[[Key], Key]:
        factor = WIDTHS[width] // WIDTHS[self._width]

        def renamed(key: Key) -> Key:
            if key[0] == _UNTIMED:
                return (NO_TIME, *key[1:])
            bucket = key[0] // factor
            place = EARLIER if bucket < low else LATER if bucket > high else bucket - low
            return (place, *key[1:])

        return renamed


def _merged(cells: dict[Key, NDArray[np.int64]], renamed: Callable[[Key], Key]) -> dict[Key, NDArray[np.int64]]:
    result: dict[Key, NDArray[np.int64]] = {}
    for key, sums in cells.items():
        new = renamed(key)
        here = result.get(new)
        result[new] = sums if here is None else here + sums
    return result


def _only(kept: set[int]) -> Callable[[Key], Key]:
    """Agents that are not kept become OTHERS."""

    def agent(code: int) -> int:
        return code if code in kept or code == ABSENT else OTHERS

    return lambda key: (*key[:3], agent(key[3]), agent(key[4]))


def _core(buckets: list[int], records: Counter[int]) -> tuple[int, int]:
    """The first and last bucket without a few stray records at the ends, where those would squeeze all the others."""
    allowed = sum(records.values()) * STRAY
    first, last = 0, len(buckets) - 1
    lost = 0
    while lost + records[buckets[first]] <= allowed:
        lost += records[buckets[first]]
        first += 1
    lost = 0
    while last > first and lost + records[buckets[last]] <= allowed:
        lost += records[buckets[last]]
        last -= 1
    low, high = buckets[first], buckets[last]
    if buckets[-1] - buckets[0] + 1 >= 4 * (high - low + 1):
        return low, high
    return buckets[0], buckets[-1]


def _places(codes: list[int]) -> Any:
    """Code -> its place in the list; ABSENT stays, everything else is OTHERS."""
    places: defaultdict[int, int] = defaultdict(lambda: OTHERS, {code: place for place, code in enumerate(codes)})
    places[ABSENT] = ABSENT
    return places


# --- names and numbers in bounded memory ----------------------------------------------------------------------------


class NameCodes:
    """Names in the order in which they were met, each with a code; those met after the first ``most`` are OTHERS.

    ``records`` counts how often each was translated, ``unnamed`` how often one had to be OTHERS.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._codes: dict[str, int] = {}
        self._counts = np.zeros(64, np.int64)
        self.unnamed = 0

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    @property
    def records(self) -> NDArray[np.int64]:
        """The number of records of each name, in the order of the codes."""
        return self._counts[: len(self._codes)]

    def translate(self, column: Coded) -> NDArray[np.int64]:
        """The column with the codes of these names."""
        table = np.empty(len(column.names) + 1, np.int64)
        table[-1] = ABSENT  # what code -1 picks
        for place, name in enumerate(column.names):
            table[place] = self.code(name)
        result: NDArray[np.int64] = table[column.codes]
        counts = np.bincount(result[result >= 0], minlength=len(self._codes))
        if len(counts) > len(self._counts):
            self._counts = np.append(self._counts, np.zeros(max(len(counts), len(self._counts)), np.int64))
        self._counts[: len(counts)] += counts
        self.unnamed += int((result == OTHERS).sum())
        return result

    def code(self, name: str) -> int:
        """The code of a name; a new one is taken in where there is room."""
        found = self._codes.get(name)
        if found is None:
            if len(self._codes) >= self._most:
                return OTHERS
            found = self._codes[name] = len(self._codes)
        return found


class Different:
    """Counts different numbers, eight bytes each: all of them while they are not more than ``most``."""

    def __init__(self, most: int, kind: type[np.int64 | np.uint64]) -> None:
        self._most = most
        self._sorted: NDArray[np.int64 | np.uint64] = np.empty(0, kind)
        self._new: list[NDArray[np.int64 | np.uint64]] = []  # to sort all of them for each chunk would be quadratic
        self._room = _AT_ONCE

    def add(self, numbers: NDArray[np.int64 | np.uint64]) -> None:
        """Takes numbers of the same kind."""
        if len(self._sorted) <= self._most:
            self._new.append(np.unique(numbers))
            self._room -= len(self._new[-1])
            if self._room <= 0:
                self._merge()

    def _merge(self) -> None:
        self._sorted = np.unique(np.concatenate((self._sorted, *self._new)))
        self._new = []
        self._room = max(len(self._sorted), _AT_ONCE)

    def count(self) -> tuple[int, bool]:
        """The number of different ones, and whether there may be more."""
        self._merge()
        return len(self._sorted), len(self._sorted) > self._most


def grouped(columns: Sequence[NDArray[np.int64]]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """The different rows of these columns, and for each row the place of its like among them."""
    group: NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        _, group = np.unique(group * len(values) + codes, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), group
