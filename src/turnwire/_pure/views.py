"""Arrow string views in NumPy: the twin of ``_native/views.pyx``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

INLINE = 12
"""Bytes of text that fit into a view itself."""
_PART = 1 << 16


def string_views(
    buffer: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int64], out: NDArray[Any]
) -> None:
    """Fills ``out`` (uint8, one row of 16 bytes each) with the views of spans of ``buffer``, as buffer number 0.

    A view is the length (i32), then either up to 12 bytes of text with zeros behind, or the first four bytes, the
    number of the buffer (i32) and the offset in it (i32).
    """
    last = max(len(buffer) - 1, 0)
    place = np.arange(INLINE)
    for start in range(0, len(offsets), _PART):
        rows = slice(start, start + _PART)
        offset, length = offsets[rows], lengths[rows]
        words = out[rows].view("<i4")
        words[:, 0] = length
        if len(buffer):
            inside = place[None, :] < np.minimum(length, INLINE)[:, None]
            taken = buffer[np.minimum(offset[:, None] + place[None, :], last)]
            out[rows, 4:] = np.where(inside, taken, 0)
        else:
            out[rows, 4:] = 0
        long = length > INLINE
        words[long, 2] = 0
        words[long, 3] = offset[long]
