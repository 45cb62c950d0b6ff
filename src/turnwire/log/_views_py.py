"""Arrow string views in NumPy: the twin of ``_native/log/views.pyx``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwire.json._unescape_py import plain

DECIMAL = 20
"""Digits of the largest u64."""
INLINE = 12
"""Bytes of text that fit into a view itself."""
_PART = 1 << 16


def string_views(
    buffer: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[Any],
    arena: Any = b"",
) -> bool:
    """Fills ``out`` (uint8, one row of 16 bytes each) with the views of spans of ``buffer`` as buffer number 0 and,
    from its end on, of ``arena`` as number 1.

    A view is the length (i32), then either up to 12 bytes of text with zeros behind, or the first four bytes, the
    number of the buffer (i32) and the offset in it (i32). Returns whether any is of the second kind.
    """
    if len(arena):
        number = (offsets >= len(buffer)).astype(np.int32)
        string_views(np.concatenate([buffer, np.frombuffer(arena, np.uint8)]), offsets, lengths, out)
        far = np.flatnonzero((number == 1) & (lengths > INLINE))
        words = out.view("<i4")
        words[far, 2] = 1
        words[far, 3] -= len(buffer)
        return bool((lengths > INLINE).any())
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
    return bool((lengths > INLINE).any())


ColumnFacts = tuple[int, bool, int, int]
"""Of a text column: rows without a text, whether any view points to its text, rows with a text that has escapes, and
the sum of the lengths of these."""


def text_views(buffer: Any, arena: Any, masks: NDArray[Any], columns: tuple[tuple[Any, ...], ...]) -> list[ColumnFacts]:
    """Text columns at once, each (offsets, lengths, valid, escaped, out, bitmap): views as of :func:`string_views` go
    into ``out`` (uint8, 16 bytes a row), zeros where a row has no text, and into ``bitmap`` one bit a row, first row
    lowest, that says whether it has one.

    masks: unsigned integers, one a row; ``valid`` and ``escaped`` are bits there, or -1 where all rows have a text, and
    none has escapes. Returns for each (rows without a text, whether any view points to its text, rows with a text that
    has escapes, the sum of the lengths of these). ``out`` is not written where no row has a text.
    """
    return [_text_column(buffer, arena, masks, *column) for column in columns]


def _text_column(
    buffer: Any, arena: Any, masks: Any, offsets: Any, lengths: Any, valid: int, escaped: int, out: Any, bitmap: Any
) -> ColumnFacts:
    count = len(masks)
    if masks.itemsize not in (2, 4, 8) or not -1 <= min(valid, escaped) <= max(valid, escaped) < 8 * masks.itemsize:
        raise ValueError("masks are 2, 4 or 8 bytes wide, and have so many bits")
    if not count == len(offsets) == len(lengths):
        raise ValueError("offsets, lengths and masks do not match")
    if len(out) < 16 * count:
        raise ValueError("out has 16 bytes for each of the masks")
    if len(bitmap) != (count + 7) // 8:
        raise ValueError("bitmap has a bit for each row")
    there = np.ones(count, bool) if valid < 0 else _has(masks, valid)
    bitmap[:] = np.packbits(there, bitorder="little")
    rows = np.flatnonzero(there)
    if not len(rows):
        return count, False, 0, 0
    views = np.empty((len(rows), 16), np.uint8)
    points = string_views(buffer, offsets[rows], lengths[rows], views, arena)
    room = out[: 16 * count].reshape(count, 16)
    room[:] = 0
    room[rows] = views
    marked = np.flatnonzero(there & _has(masks, escaped)) if escaped >= 0 else rows[:0]
    return count - len(rows), points, len(marked), int(lengths[marked].sum())


def packed_views(
    buffer: Any, rows: NDArray[np.int32], shape: int, masks: NDArray[Any], columns: tuple[tuple[Any, ...], ...]
) -> list[tuple[int, bool]]:
    """As :func:`text_views` (no arena, no escapes) where the spans stand in ``rows``, i32 numbers: each column is
    (places, valid, out, bitmap), and the low four bits of number ``shape`` of a row say which of the 16 ``places`` in
    it has the offset, with the length behind; -1 for none. Returns for each (rows without a text, whether any view
    points to its text)."""
    if not 0 <= shape < rows.shape[1]:
        raise ValueError("a place lies outside of its row")
    if len(masks) != len(rows):
        raise ValueError("rows and masks do not match")
    return [_packed_column(buffer, rows, shape, masks, *column) for column in columns]


def _packed_column(
    buffer: Any, rows: Any, shape: int, masks: Any, places: Any, valid: int, out: Any, bitmap: Any
) -> tuple[int, bool]:
    if len(places) != 16:
        raise ValueError("there are 16 places")
    if places.min() < -1 or places.max() >= rows.shape[1] - 1:
        raise ValueError("a place lies outside of its row")
    at = places[rows[:, shape] & 15]
    number = np.arange(len(rows))
    offsets, lengths = (np.where(at >= 0, rows[number, at + part], 0).astype(np.int64) for part in (0, 1))
    has = lengths > 0
    spans = np.where(has, offsets, 0), np.where(has, lengths, 0)
    nulls, points, _, _ = _text_column(buffer, b"", masks, *spans, valid, -1, out, bitmap)
    return nulls, points


def _has(masks: NDArray[Any], bit: int) -> NDArray[np.bool_]:
    one: NDArray[np.bool_] = masks & masks.dtype.type(1 << bit) != 0
    return one


def escaped_views(
    buffer: Any, arena: Any, offsets: Any, lengths: Any, masks: Any, both: int, side: Any, number: int, out: Any
) -> int:
    """Texts of the rows that :func:`text_views` counts, insides of JSON strings, without their escapes one behind the
    other into ``side``, which has room for the sum of their lengths; and their views, as of buffer ``number``, into
    ``out``. Returns the bytes that were written."""
    if not len(offsets) == len(lengths) == len(masks) <= len(out):
        raise ValueError("offsets, lengths, masks and out do not match")
    rows = _with(masks, both)
    places, sizes = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    written = 0
    for place, row in enumerate(rows.tolist()):
        source, start, length = buffer, int(offsets[row]), int(lengths[row])
        if start >= len(buffer):
            source, start = arena, start - len(buffer)
        if not (0 <= start <= start + length <= len(source) and length <= len(side) - written):
            raise ValueError("a text lies outside, or side is too short")
        text = plain(bytes(source[start : start + length]))
        side[written : written + len(text)] = np.frombuffer(text, np.uint8)
        places[place], sizes[place] = written, len(text)
        written += len(text)
    views = np.empty((len(rows), 16), np.uint8)
    string_views(side, places, sizes, views)
    views.view("<i4")[sizes > INLINE, 2] = number
    out[rows] = views
    return written


def _with(masks: Any, both: int) -> NDArray[np.intp]:
    bits = masks.dtype.type(both)
    return np.flatnonzero((masks & bits) == bits)


def decimals(numbers: Any, out: Any, lengths: Any) -> None:
    """Each number as decimal digits at the start of its row of ``out`` (uint8, DECIMAL bytes a row)."""
    for row, number in enumerate(numbers.tolist()):
        digits = str(number).encode()
        out[row, : len(digits)] = np.frombuffer(digits, np.uint8)
        lengths[row] = len(digits)


def number_views(
    numbers: NDArray[np.uint64], masks: Any, valid: int, out: NDArray[Any], bitmap: NDArray[np.uint8], side: Any
) -> tuple[int, int]:
    """Numbers as decimal texts: views and a bit a row as :func:`text_views` fills them. ``masks`` is None, or as there.

    Digits of numbers that do not fit into a view go one behind the other into ``side``, buffer number 0. It has DECIMAL
    bytes for each row, or none where no number has more than INLINE digits. Returns (rows without a text, how many
    bytes of ``side`` are in use)."""
    count = len(numbers)
    if len(out) < count or out.shape[1] != 16 or len(bitmap) != (count + 7) // 8:
        raise ValueError("numbers, out and bitmap do not match")
    if count and int(numbers.max()) >= 10**INLINE and len(side) < DECIMAL * count:
        raise ValueError("side is too short for these numbers")
    there = np.ones(count, bool)
    if masks is not None:
        width = masks.dtype.itemsize
        if width not in (2, 4, 8) or not 0 <= valid < 8 * width or len(masks) != count:
            raise ValueError("masks are 2, 4 or 8 bytes wide, one a row, and have so many bits")
        there = (masks >> masks.dtype.type(valid) & masks.dtype.type(1)) != 0
    bitmap[:] = np.packbits(there, bitorder="little")
    views, used = bytearray(), 0
    for number, known in zip(numbers.tolist(), there.tolist(), strict=True):
        text = b"%d" % number if known else b""
        if len(text) <= INLINE:
            views += len(text).to_bytes(4, "little") + text.ljust(INLINE, b"\0")
        else:
            side[used : used + len(text)] = np.frombuffer(text, np.uint8)
            views += len(text).to_bytes(4, "little") + text[:4] + bytes(4) + used.to_bytes(4, "little")
            used += len(text)
    out[:count] = np.frombuffer(views, np.uint8).reshape(count, 16)
    return count - int(np.count_nonzero(there)), used
