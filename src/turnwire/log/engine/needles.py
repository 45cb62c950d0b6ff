"""Many texts that are looked for at once: where one of them may begin is seen by tables of the hashes of windows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint32]
    Table = NDArray[np.bool_]

_WINDOWS = tuple(1 << number for number in range(11))
"""Bytes by which texts are told that have as many, and less than twice as many; the last one for all longer ones."""
_BLOCK = 1 << 16
"""Bytes that are hashed at a time, so that the hashes stay in a cache."""
_LEAST_BITS, _MOST_BITS = 16, 24
_SECOND = 64
"""Places in a block of which the second windows are looked at: that of fewer costs more than looking there."""
_MIX, _SPREAD = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B)


class _Class(NamedTuple):
    """Texts that are told by a window of so many bytes: a table of their first windows, and by how far behind that the
    second window is which ends with the text, or follows on the first one, tables of both."""

    texts: list[bytes]
    longest: int
    first: Table
    second: dict[int, Table]


class Needles:
    """Texts, none of them empty, of which those are left out that begin with another one: where that is, it is enough.
    So of those in order only the last one that is no greater than what is at a place can be there."""

    def __init__(self, texts: list[bytes]) -> None:
        several = sorted(set(texts))
        kept = several[:1]
        for text in several[1:]:
            if not text.startswith(kept[-1]):
                kept.append(text)
        self._classes = [
            _class([text for text in kept if window <= len(text) < behind], number)
            for number, (window, behind) in enumerate(pairwise((*_WINDOWS, 1 << 62)))
        ]
        while not self._classes[-1].texts:
            self._classes.pop()
        self._behind = 2 * _WINDOWS[len(self._classes) - 1]  # bytes that windows reach over the end of a block

    def rows(self, data: bytes, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of the parts of some bytes, in order, have one of the texts in them."""
        found = np.zeros(len(starts), bool)
        read = np.frombuffer(data, np.uint8)
        for begin in range(0, len(data), _BLOCK):
            for own, hashes in zip(self._classes, _hashes(read[begin : begin + _BLOCK + self._behind]), strict=False):
                if own.texts:
                    places = _likely(own, hashes) + begin
                    rows = starts.searchsorted(places, "right") - 1
                    within = (rows >= 0) & ~found[rows]
                    _look(data, own, places[within], rows[within], stops, found)
        return found


def _class(texts: list[bytes], number: int) -> _Class:
    window = _WINDOWS[number]
    first = _table(np.zeros(0, np.uint32))
    second: dict[int, Table] = {}
    if texts:
        parts = [text[: 2 * window] for text in texts]
        hashes = next(islice(_hashes(np.frombuffer(b"".join(parts), np.uint8)), number, None))
        ends = np.cumsum([len(part) for part in parts])
        behinds = np.diff(ends, prepend=0) - window
        places = ends - behinds - window
        first = _table(hashes[places])
        for behind in set(behinds.tolist()):
            one = places[behinds == behind]
            second[behind] = _table(_both(hashes[one], hashes[one + behind]))
    return _Class(texts, max(map(len, texts), default=0), first, second)


def _likely(own: _Class, hashes: Hashes) -> NDArray[Any]:
    """Places in a block where a text of a class may begin."""
    found = np.flatnonzero(own.first[_places(hashes[:_BLOCK], own.first)])
    if len(found) < _SECOND:
        return found
    kept = np.zeros(len(found), bool)
    for behind, table in own.second.items():
        there = int(found.searchsorted(len(hashes) - behind))  # of those behind, the text is not all there
        kept[:there] |= table[_places(_both(hashes[found[:there]], hashes[found[:there] + behind]), table)]
    return found[kept]


def _look(
    data: bytes, own: _Class, places: NDArray[Any], rows: NDArray[Any], stops: NDArray[Any], found: NDArray[np.bool_]
) -> None:
    """Looks at the places where a text may begin, each in its part."""
    last = -1
    for place, row, stop in zip(places.tolist(), rows.tolist(), stops[rows].tolist(), strict=True):
        if row == last:
            continue
        piece = data[place : min(place + own.longest, stop)]
        at = bisect_right(own.texts, piece) - 1
        if at >= 0 and piece.startswith(own.texts[at]):
            found[row] = True
            last = row


def _hashes(read: NDArray[np.uint8]) -> Iterator[Hashes]:
    """For each window the hashes of all windows of so many bytes, by their places."""
    found = read.astype(np.uint32)
    yield found
    for window in _WINDOWS[:-1]:
        found = _both(found[: max(len(found) - window, 0)], found[window:])
        yield found


def _both(one: Hashes, other: Hashes) -> Hashes:
    """The hash of two hashes in order."""
    return one * _MIX + other


def _table(hashes: Hashes) -> Table:
    """A table in which these hashes are, and one of sixteen others at most."""
    bits = min(max(len(hashes).bit_length() + 4, _LEAST_BITS), _MOST_BITS)
    table = np.zeros(1 << bits, bool)
    table[_places(hashes, table)] = True
    return table


def _places(hashes: Hashes, table: Table) -> Hashes:
    """The places of hashes in a table."""
    return (hashes * _SPREAD) >> np.uint32(33 - len(table).bit_length())
