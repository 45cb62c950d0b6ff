"""Arrow string views in NumPy: the twin of ``_native/log/views.pyx``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwire._pure.json.unescape import plain

DECIMAL = 20
"""Digits of the largest u64."""
INLINE = 12
"""Bytes of text that fit into a view itself."""
_PART = 1 << 16
_LINE_COLUMNS = ("place", "size", "present", "wire", "kind", "inner", "sequence", "time", "depth")


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


def moved_bits(masks: Any, moves: list[tuple[int, int]], out: Any) -> None:
    """Sets bits of ``out`` (u64) where masks (u32) have them: (bit of a mask, bit of ``out``) of each."""
    if len(masks) != len(out):
        raise ValueError("masks and out do not match")
    for bit, there in moves:
        out |= (masks >> np.uint32(bit) & np.uint32(1)).astype(np.uint64) << np.uint64(there)


def line_rows(
    columns: dict[str, NDArray[Any]],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    masks: NDArray[np.uint32],
    codes: NDArray[np.uint8],
    base: int,
    wire: int,
    kinds: NDArray[np.uint8],
    known: int,
    moves: list[tuple[int, int]],
) -> None:
    """Fills common columns of the records of a wire of lines, one row for each of ``offsets``.

    columns: name -> array with at least so many rows: place, size (i64; the former is the offset less ``base``),
    present (u64: ``known`` and the bits of ``masks`` as in :func:`moved_bits`), wire and kind (u8; ``kinds`` has the
    number for each of ``codes``, which may lie where kind does), and inner, sequence, time (i64) and depth (u8), which
    become zero. What is not there is not written.
    """
    count = len(offsets)
    if not count == len(lengths) == len(masks) == len(codes):
        raise ValueError("offsets, lengths, masks and codes do not match")
    if any(len(column) < count for column in columns.values()):
        raise ValueError("a column has fewer rows than that")
    if count and codes.max() >= len(kinds):
        raise ValueError("a code has no kind")
    present = np.full(count, known, np.uint64)
    moved_bits(masks, moves, present)
    values = dict.fromkeys(_LINE_COLUMNS, 0)
    filled = {"place": offsets - base, "size": lengths, "present": present, "wire": wire, "kind": kinds[codes]}
    for name, value in (values | filled).items():
        if name in columns:
            columns[name][:count] = value


def escaped_size(masks: Any, both: int, lengths: Any) -> tuple[int, int]:
    """How many rows have all the bits of ``both`` in their mask (unsigned integers), and the sum of their lengths."""
    if len(masks) != len(lengths):
        raise ValueError("masks and lengths do not match")
    rows = _with(masks, both)
    return len(rows), int(lengths[rows].sum())


def escaped_views(
    buffer: Any, arena: Any, offsets: Any, lengths: Any, masks: Any, both: int, side: Any, number: int, out: Any
) -> int:
    """Texts of the rows that :func:`escaped_size` counts, insides of JSON strings, without their escapes one behind the
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


def gathered(
    buffer: Any, arena: Any, places: NDArray[np.int64], sizes: NDArray[np.int64], moved: NDArray[np.int64]
) -> bytes:
    """The records at these places of ``buffer``, or behind its end of ``arena``, one behind the other, each with the
    end of a line; ``moved`` is filled with how much further on each was."""
    if not len(places) == len(sizes) == len(moved):
        raise ValueError("places, sizes and moved do not match")
    parts: list[bytes] = []
    size, at = len(buffer), 0
    for row, (place, length) in enumerate(zip(places.tolist(), sizes.tolist(), strict=True)):
        source, first = (buffer, place) if place < size else (arena, place - size)
        if first < 0 or length < 0 or first + length > len(source):
            raise ValueError(f"a record lies outside of the {'buffer' if place < size else 'arena'}")
        raw = bytes(source[first : first + length])
        if not raw.endswith(b"\n"):
            raw += b"\n"
        moved[row] = place - at
        parts.append(raw)
        at += len(raw)
    return b"".join(parts)
