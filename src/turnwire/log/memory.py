"""Memory for input and columns, reused once nobody holds it: fresh pages cost more than reading a message."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_ALIGN = 64
_STEP = 4 << 20


def _idle_count() -> int:
    # What getrefcount says of a block that only a list and a loop variable hold, on this interpreter.
    for block in [np.empty(1, np.uint8)]:
        return sys.getrefcount(block)
    raise AssertionError


_IDLE = _idle_count()


class Pool:
    """Hands out blocks of bytes and takes back, by their reference count, those that nobody uses any more.

    Arrays cut from a block hold it, as do Arrow arrays exported from them; a block in use is never handed out again.
    """

    def __init__(self, keep: int = 3) -> None:
        self._blocks: list[Bytes] = []
        self._keep = keep
        self._lock = threading.Lock()

    def take(self, size: int) -> Bytes:
        """A block of at least ``size`` bytes; its contents are whatever they were. Any thread may ask."""
        with self._lock:
            for block in self._blocks:
                if len(block) >= size and sys.getrefcount(block) <= _IDLE:
                    return block
            # Blocks of input end with a line and so differ a little: rounded up, the next one fits into this one's
            # memory. What is not written to costs nothing.
            block = np.empty((size + _STEP - 1) // _STEP * _STEP if size > _STEP else size, np.uint8)
            self._blocks = [kept for kept in self._blocks if len(kept) >= size][-(self._keep - 1) :]
            self._blocks.append(block)
            return block


def carve(pool: Pool, dtypes: dict[str, str], rows: int) -> dict[str, NDArray[Any]]:
    """One array of ``rows`` for each name, all cut from one block of the pool."""
    starts = {}
    size = 0
    for name, dtype in dtypes.items():
        starts[name] = size
        size += (rows * np.dtype(dtype).itemsize + _ALIGN - 1) // _ALIGN * _ALIGN
    block = pool.take(max(size, 1))
    return {
        name: block[starts[name] : starts[name] + rows * np.dtype(dtype).itemsize].view(dtype)
        for name, dtype in dtypes.items()
    }
