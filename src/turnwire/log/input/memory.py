"""Memory for input and columns, reused when no longer referenced: fresh pages cost more than reading a message."""

from __future__ import annotations

import sys
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_ALIGN = 64
_PAGE = 4096
_APART = 5 * _ALIGN


def _idle_count() -> int:
    # The count that getrefcount gives of a block that only a list and a loop variable hold, on this interpreter.
    for block in [np.empty(1, np.uint8)]:
        return sys.getrefcount(block)
    raise AssertionError


_IDLE = _idle_count()


class Pool:
    """Provides blocks of bytes and reuses those that, by their reference count, are no longer used.

    Arrays cut from a block hold it, as do Arrow arrays exported from them; a block in use is never handed out again.
    """

    def __init__(self, keep: int = 3, largest: int | None = None) -> None:
        """``largest``: bytes of the largest block that is worth being kept."""
        self._blocks: list[Bytes] = []
        self._keep = keep
        self._largest = largest
        self._lock = threading.Lock()

    def take(self, size: int) -> Bytes:
        """A block of at least ``size`` bytes; its contents are whatever they were. Any thread may ask."""
        (block,) = self.several(1, size)
        return block

    def several(self, number: int, size: int) -> list[Bytes]:
        """So many blocks."""
        if self._largest is not None and size > self._largest:
            return [np.empty(size, np.uint8) for _ in range(number)]
        with self._lock:
            found: list[Bytes] = []
            for block in self._blocks:
                if len(found) < number and len(block) >= size and sys.getrefcount(block) <= _IDLE:
                    found.append(block)
            if len(found) == number:
                return found
            # Blocks of input end with a line and so differ a little: rounded up, the next one fits into this one's
            # memory.
            fresh = [np.empty(rounded(size), np.uint8) for _ in range(number - len(found))]
            large = [kept for kept in self._blocks if len(kept) >= size]
            self._blocks = (large + fresh)[-max(self._keep, 1) :]
            return found + fresh


def rounded(number: int) -> int:
    """The next number that needs no more than four binary digits before its zeros: an eighth more at most."""
    step = 1 << max(number.bit_length() - 4, 0)
    return -(-number // step) * step


@lru_cache(maxsize=256)
def _places(sizes: tuple[int, ...], rows: int) -> tuple[list[int], int]:
    """The place where arrays of so many values begin in one block, and its size; ``sizes``: bytes of a value of
    each."""
    starts: list[int] = []
    size = 0
    for itemsize in sizes:
        starts.append(size)
        size += (rows * itemsize + _ALIGN - 1) // _ALIGN * _ALIGN
        if size >= _PAGE:
            # A row is written to all columns at once: at the same place of a page each, they would drive one another
            # out of the cache.
            size += (len(starts) * _APART - size) % _PAGE
    return starts, size


def carve(pool: Pool, dtypes: dict[str, np.dtype[Any]], rows: int) -> dict[str, NDArray[Any]]:
    """One array of ``rows`` for each name, all cut from one block of the pool."""
    starts, size = _places(tuple([dtype.itemsize for dtype in dtypes.values()]), rows)
    block = pool.take(max(size, 1))
    return {
        name: np.ndarray(rows, dtype, block, start) for (name, dtype), start in zip(dtypes.items(), starts, strict=True)
    }
