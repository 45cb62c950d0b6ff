"""Arrow string views in plain Python: the twin of ``_native/log/views.pyx``, which makes a column from its texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.output.texts import Filled, TextColumn

DECIMAL = 20
"""Digits of the largest u64."""
INLINE = 12
"""Bytes of text that fit into a view itself."""


def string_views(buffer: Any, offsets: Any, lengths: Any, out: NDArray[Any], arena: Any = b"") -> bool:
    """Fills ``out`` (uint8, one row of 16 bytes each) with the views of spans of ``buffer`` as buffer number 0 and,
    from its end on, of ``arena`` as number 1.

    A view is the length (i32), then either up to 12 bytes of text with zeros after, or the first four bytes, the
    number of the buffer (i32) and the offset in it (i32). Returns whether any is of the second kind.
    """
    whole, size, views = b"".join((buffer, arena)), len(buffer), bytearray()
    for start, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
        views += length.to_bytes(4, "little")
        if length <= INLINE:
            views += whole[start : start + length].ljust(INLINE, b"\0")
        else:
            number = int(start >= size)
            views += whole[start : start + 4] + number.to_bytes(4, "little")
            views += (start - number * size).to_bytes(4, "little")
    out[:] = np.frombuffer(views, np.uint8).reshape(-1, 16)
    return bool((lengths > INLINE).any())


def text_column(text: TextColumn) -> Filled:
    """A text column as the core exports it; its long texts stand one after the other in one buffer."""
    from turnwire.log.output.texts import column_of, validity_bitmap  # which load this module

    plain = column_of(text.plain_texts())
    buffer = np.frombuffer(plain.buffer, np.uint8)
    views = np.empty((len(plain), 16), np.uint8)
    data = [buffer] if string_views(buffer, plain.offsets, plain.lengths, views) else []
    bitmap, nulls = validity_bitmap(plain.validity, len(plain))
    return nulls, (bitmap, views, *data, np.array([len(part) for part in data], np.int64)), None


def bits(masks: Any, bit: int, out: Any) -> int:
    """Fills ``out`` with one bit a row, first row lowest: whether its mask has this bit. Returns how many have."""
    there = masks & masks.dtype.type(1 << bit) != 0
    out[:] = np.packbits(there, bitorder="little")
    return int(there.sum())


def decimals(numbers: Any, out: Any, lengths: Any) -> None:
    """Each number as decimal digits at the start of its row of ``out`` (uint8, DECIMAL bytes a row)."""
    for row, number in enumerate(numbers.tolist()):
        digits = str(number).encode()
        out[row, : len(digits)] = np.frombuffer(digits, np.uint8)
        lengths[row] = len(digits)
