"""Many texts that are looked for at once: a table of hashes says where one of them may begin."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 1 << 16
"""Bytes that are hashed at a time, so that the hashes stay in a cache."""
_WIDEST = 8
"""First bytes of a text that are hashed, at most: all of them fit into one number."""
_BITS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Needles:
    """Texts, none of them empty, of which those are left out that begin with another one: where that is, it is enough.
    So of those in order only the last one that is no greater than what is at a place can be there."""

    def __init__(self, texts: list[bytes]) -> None:
        several = sorted(set(texts))
        self._texts = several[:1]
        for text in several[1:]:
            if not text.startswith(self._texts[-1]):
                self._texts.append(text)
        self._longest = max(map(len, self._texts))
        self._width = min(_WIDEST, *map(len, self._texts))
        heads = b"".join(text[: self._width] for text in self._texts)
        self._begins = np.zeros(1 << _BITS, bool)
        self._begins[self._hashes(np.frombuffer(heads, np.uint8))[:: self._width]] = True

    def rows(self, data: bytes, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[np.bool_]:
        """A mask of the parts of some bytes, in order: True for those that contain one of the texts."""
        found = np.zeros(len(starts), bool)
        read = np.frombuffer(data, np.uint8)
        for begin in range(0, len(data) - self._width + 1, _BLOCK):
            hashes = self._hashes(read[begin : begin + _BLOCK + self._width - 1])
            places = np.flatnonzero(self._begins[hashes]) + begin
            rows = starts.searchsorted(places, "right") - 1
            within = (rows >= 0) & ~found[rows]
            self._look(data, places[within], rows[within], stops, found)
        return found

    def _look(
        self, data: bytes, places: NDArray[Any], rows: NDArray[Any], stops: NDArray[Any], found: NDArray[np.bool_]
    ) -> None:
        """Compares the texts at the places whose hashes match, each within its part, and sets ``found``."""
        last = -1
        for place, row, stop in zip(places.tolist(), rows.tolist(), stops[rows].tolist(), strict=True):
            if row != last:
                piece = data[place : min(place + self._longest, stop)]
                at = bisect_right(self._texts, piece) - 1
                if at >= 0 and piece.startswith(self._texts[at]):
                    found[row] = True
                    last = row

    def _hashes(self, read: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """The hashes of all windows of so many bytes, by their places."""
        count = len(read) - self._width + 1
        found = np.zeros(count, np.uint64)
        for place in range(self._width):
            found = found << np.uint64(8) | read[place : place + count]
        return found * _MIX >> np.uint64(64 - _BITS)
