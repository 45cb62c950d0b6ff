"""The arrays into which a block is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Arrays = dict[str, Any]


class ColumnBuffers:
    """The arrays that a pass fills. make: (rows) -> arrays with room for so many; more: (size, rows) -> the room to go
    on with where so many rows were not enough for a block of this size."""

    def __init__(self, size: int, room: int, make: Callable[[int], Arrays], more: Callable[[int, int], int]) -> None:
        self.arrays = make(room)
        self.room = room
        self._size = size
        self._make = make
        self._more = more

    def grow(self, rows: int) -> None:
        """Makes room for more than the ``rows`` that are filled."""
        self.room = self._more(self._size, rows)
        larger = self._make(self.room)
        for name, array in larger.items():
            array[:rows] = self.arrays[name][:rows]
        self.arrays = {**self.arrays, **larger}

    def small(self, size: int) -> ColumnBuffers:
        """Arrays of the same kind for a text of ``size`` bytes."""
        return ColumnBuffers(size, self._more(size, 1), self._new, self._more)

    def _new(self, room: int) -> Arrays:
        """Arrays that no other block uses."""
        return {
            name: np.zeros(room, array.dtype) for name, array in self.arrays.items() if isinstance(array, np.ndarray)
        }
