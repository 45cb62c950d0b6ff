"""Columns of few different values as codes into a list of names, and the interning that keeps their number bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABSENT, OTHERS = -1, -2
"""Codes of "there is no value" and of "one of the names that are not kept apart"."""

_AT_ONCE = 1 << 16  # numbers that are sorted in at once, at least


class Coded(NamedTuple):
    """A column of text: row i has ``names[codes[i]]``, or nothing where the code is ABSENT (i64)."""

    names: Sequence[str]
    codes: NDArray[np.int64]


def coded(values: Iterable[str | None]) -> Coded:
    """The column of these values."""
    places: dict[str | None, int] = {None: ABSENT}
    codes = [places.setdefault(value, len(places) - 1) for value in values]
    return Coded([name for name in places if name is not None], np.array(codes, np.int64))


class Names:
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
        """How often each name was met, in the order of the codes."""
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
        """How many there are, and whether there may be more."""
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
