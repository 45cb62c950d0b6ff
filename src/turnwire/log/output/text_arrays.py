"""Text columns as the Arrow export wants them: string views, 16 bytes a row, with up to 12 bytes of text inside, the
rest in the bytes that were scanned. All columns of a batch whose rows have one mask are made in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwire import _backend
from turnwire.log.input.memory import Pool
from turnwire.log.output.texts import Bits, NumberColumn, PackedColumn, TextColumn

_arrays = _backend.load("log.arrays")
_views = _backend.load("log.views")

Filled = tuple[int, tuple[Any, ...], "tuple[int, tuple[Any, ...]] | None"]
"""A column as the core exports it: how many nulls, its buffers, and its dictionary."""

_VIEW = 16
_LARGEST_VIEWS = 2 << 20
_view_memory = Pool(keep=64, largest=_LARGEST_VIEWS)
"""String views, a block for each text column of a batch: taken again once the consumer has let go of it, which is when
it has the next batch."""
_plain_memory = Pool(keep=8, largest=_LARGEST_VIEWS)
"""The same for what texts with escapes say."""
_zeros: NDArray[np.uint8] = np.zeros(_LARGEST_VIEWS, np.uint8)
"""The views of a column without a text; nobody writes to it, so that it costs no memory."""
_zeros.flags.writeable = False
_NO_SIZES: NDArray[np.int64] = np.empty(0, np.int64)


def no_values(count: int) -> NDArray[np.uint8]:
    """A bitmap that says of all rows that they have no value."""
    size = (count + 7) // 8
    return _zeros[:size] if size <= _LARGEST_VIEWS else np.zeros(size, np.uint8)


def validity_bitmap(valid: Bits | NDArray[np.bool_] | None, count: int) -> tuple[Any, int]:
    """A bitmap, or None where every row has a value, and how many have none."""
    if valid is None:
        return None, 0
    if isinstance(valid, Bits):
        bitmap = np.empty((count + 7) // 8, np.uint8)
        nulls = _arrays.bitmap(valid.masks, valid.bit, bitmap)
        return (bitmap, nulls) if nulls else (None, 0)
    nulls = count - int(np.count_nonzero(valid))
    return (np.packbits(valid, bitorder="little"), nulls) if nulls else (None, 0)


def text_arrays(texts: Sequence[TextColumn]) -> list[Filled]:
    """What the core exports of these text columns, which have the same number of rows."""
    found: list[Any] = [None] * len(texts)
    masks = [_masks(text) for text in texts]
    any_masks = next((one for one in masks if one is not None), None)  # where all rows have a text, any will do
    together: dict[tuple[Any, ...], list[int]] = {}
    for place, text in enumerate(texts):
        if isinstance(text, NumberColumn):
            found[place] = _numbers(text)
            continue
        own = any_masks if text.validity is None and text.escapes is None else masks[place]
        if own is None:
            found[place] = _slowly(text)
            continue
        masks[place] = own
        key = id(text.buffer), id(text.arena), id(own), isinstance(text, PackedColumn)
        together.setdefault(key, []).append(place)
    for (*_, packed), places in together.items():
        fill, some = _packed if packed else _spans, [texts[place] for place in places]
        for place, one in zip(places, fill(some, masks[places[0]]), strict=True):
            found[place] = one
    return found


def _masks(text: TextColumn) -> Any:
    """The masks, one a row, that say which rows have a text and which texts have escapes; None where something else
    says that."""
    valid, escapes = text.validity, text.escapes
    if isinstance(valid, Bits) and (escapes is None or isinstance(escapes, Bits)):
        return valid.masks
    return escapes.masks if valid is None and isinstance(escapes, Bits) else None


def _rooms(count: int, number: int) -> tuple[list[Any], NDArray[np.uint8]]:
    """Memory for the views of so many columns, and a bitmap for each."""
    return _view_memory.several(number, count * _VIEW), np.empty((number, (count + 7) // 8), np.uint8)


def _bit(which: Any) -> int:
    return -1 if which is None else which.bit


def _packed(texts: Sequence[Any], masks: Any) -> list[Filled]:
    """Columns whose spans stand in rows that they share."""
    first, count = texts[0], len(texts[0])
    packed = first.packed
    outs, bitmaps = _rooms(count, len(texts))
    buffer, numbers = np.frombuffer(first.buffer, np.uint8), first.rows.view(np.int32).reshape(count, -1)
    columns = [
        (packed.places(text.name), _bit(text.validity), out, bitmap)
        for text, out, bitmap in zip(texts, outs, bitmaps, strict=True)
    ]
    tallies = _views.packed_views(buffer, numbers, packed.shape, masks, tuple(columns))
    sizes = np.array([len(buffer)], np.int64)
    return [
        _filled(count, nulls, column[3], column[2], [buffer] if points else [], sizes)
        for column, (nulls, points) in zip(columns, tallies, strict=True)
    ]


def _spans(texts: Sequence[TextColumn], masks: Any) -> list[Filled]:
    """Columns with offsets and lengths of their own."""
    first, count = texts[0], len(texts[0])
    outs, bitmaps = _rooms(count, len(texts))
    buffer, arena = np.frombuffer(first.buffer, np.uint8), np.frombuffer(first.arena, np.uint8)
    columns = [
        (text.offsets, text.lengths, _bit(text.validity), _bit(text.escapes), out, bitmap)
        for text, out, bitmap in zip(texts, outs, bitmaps, strict=True)
    ]
    tallies = _views.text_views(buffer, arena, masks, tuple(columns))
    sizes = np.array([len(buffer), len(arena)], np.int64)
    found = []
    for text, column, (nulls, points, rows, size) in zip(texts, columns, tallies, strict=True):
        data, out = _data(buffer, arena, points), column[4]
        if rows and nulls < count:
            data += _without_escapes(text, size, buffer, arena, masks, len(data), out)
            sizes_here = np.array([len(part) for part in data], np.int64)
            found.append(_filled(count, nulls, column[5], out, data, sizes_here))
        else:
            found.append(_filled(count, nulls, column[5], out, data, sizes))
    return found


def _without_escapes(text: Any, size: int, buffer: Any, arena: Any, masks: Any, number: int, out: Any) -> list[Any]:
    """A buffer of this number with what the texts with escapes say, whose views are written anew."""
    views = out[: len(text) * _VIEW].reshape(-1, _VIEW)
    if not (text.json and size):
        return _plain(text, np.flatnonzero(text.escaped & text.valid), number, views)
    side = _plain_memory.take(size)[:size]
    escaped, valid = _bit(text.escapes), _bit(text.validity)
    both = 1 << escaped | (1 << valid if valid >= 0 else 0)
    spans = text.offsets, text.lengths
    return [side[: _views.escaped_views(buffer, arena, *spans, masks, both, side, number, views)]]


def _filled(count: int, nulls: int, bitmap: Any, views: Any, data: list[Any], sizes: Any) -> Filled:
    """A text column: its views, and the buffers that these point to, of which ``sizes`` begins with the sizes."""
    if nulls == count:
        size = count * _VIEW
        views = _zeros[:size] if size <= _LARGEST_VIEWS else np.zeros(size, np.uint8)
        return count, (bitmap, views, _NO_SIZES), None
    return nulls, (bitmap if nulls else None, views, *data, sizes[: len(data)] if data else _NO_SIZES), None


def _slowly(text: TextColumn) -> Filled:
    """A column that has no masks."""
    count = len(text)
    bitmap, nulls = validity_bitmap(text.validity, count)
    if nulls == count:
        return _filled(count, nulls, bitmap, None, [], _NO_SIZES)
    (out,) = _view_memory.several(1, count * _VIEW)
    views = out[: count * _VIEW].reshape(count, _VIEW)
    buffer, arena = np.frombuffer(text.buffer, np.uint8), np.frombuffer(text.arena, np.uint8)
    data = _data(buffer, arena, _views.string_views(buffer, text.offsets, text.lengths, views, arena))
    if text.escapes is not None:
        data += _plain(text, np.flatnonzero(text.escaped & text.valid), len(data), views)
    return _filled(count, nulls, bitmap, views, data, np.array([len(part) for part in data], np.int64))


def _numbers(text: NumberColumn) -> Filled:
    """Whole numbers: most have digits enough for the view alone."""
    count = len(text)
    (out,), (bitmap,) = _rooms(count, 1)
    views = out[: count * _VIEW].reshape(count, _VIEW)
    long = count and int(text.numbers.max()) >= 10**_views.INLINE
    side = np.empty(count * _views.DECIMAL if long else 0, np.uint8)
    masks, bit = text.validity or (None, -1)
    nulls, used = _views.number_views(text.numbers, masks, bit, views, bitmap, side)
    return _filled(count, nulls, bitmap, views, [side[:used]] if used else [], np.array([used], np.int64))


def _data(buffer: Any, arena: Any, points: bool) -> list[Any]:
    """The buffers that views point to. Where all texts are short, nobody has to keep the bytes that were scanned."""
    if not points:
        return []
    return [buffer, arena] if len(arena) else [buffer]


def _plain(text: Any, rows: Any, number: int, views: Any) -> list[Any]:
    """Views of these rows, whose texts have escapes, into a buffer of this number with what they say; that buffer, if
    there are any."""
    if not len(rows):
        return []
    plain = [text.bytes(row) for row in rows.tolist()]
    side, lengths = np.frombuffer(b"".join(plain) or b"\0", np.uint8), np.array([len(one) for one in plain], np.int64)
    own = np.empty((len(rows), _VIEW), np.uint8)
    _views.string_views(side, np.cumsum(lengths) - lengths, lengths, own)
    own.view(np.int32)[lengths > _views.INLINE, 2] = number
    views[rows] = own
    return [side]
