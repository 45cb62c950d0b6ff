"""Text columns of a batch: spans of the bytes that were scanned or decimal numbers, and their Arrow views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwire import _backend
from turnwire.contract import Packed
from turnwire.log.input.memory import Pool

_core = _backend.load("log.arrow")
_NOTHING = memoryview(b"")
_AT_ONCE = 4096
"""Rows whose texts are made at once where somebody goes through all of them."""


class Bits(NamedTuple):
    """Some rows of a batch: those whose mask (unsigned integers, one a row) has this bit."""

    masks: NDArray[Any]
    bit: int

    def has(self, row: int) -> bool:
        """True if a row is one of them."""
        return bool(int(self.masks[row]) >> self.bit & 1)


def rows_of(which: Bits | NDArray[np.bool_] | None, count: int) -> NDArray[np.bool_]:
    """True if each row is one of them; None stands for all."""
    if which is None:
        return np.ones(count, bool)
    if not isinstance(which, Bits):
        return which
    one = which.masks.dtype.type(1 << which.bit)
    there: NDArray[np.bool_] = which.masks & one != 0
    return there


class TextColumn(Sequence["str | None"]):
    """The text of one column as spans of a buffer, copied only when used.

    offsets, lengths: i64 arrays, one entry per row, into ``buffer`` and, after its end, into ``arena`` (the contents of
    JSON strings); a row without a value has length 0 and is not ``valid``. A span whose row is ``escaped`` still
    contains the escapes of its wire; ``[i]`` returns it without them. ``validity`` and ``escapes`` are the same masks
    as bits, or None if all rows are valid or none is escaped. ``plain``: a span with escapes -> the span without them.
    """

    def __init__(
        self,
        buffer: memoryview,
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        valid: Bits | None,
        escaped: Bits | None,
        plain: Any,
        arena: memoryview = _NOTHING,
        json: bool = False,
    ) -> None:
        self.json = json
        self.buffer = buffer
        self.arena = arena
        self.offsets = offsets
        self.lengths = lengths
        self.validity = valid
        self.escapes = escaped
        self.plain = plain

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """The rows that have a text."""
        return rows_of(self.validity, len(self))

    @cached_property
    def escaped(self) -> NDArray[np.bool_]:
        """The rows that contain escapes."""
        return np.zeros(len(self), bool) if self.escapes is None else rows_of(self.escapes, len(self))

    def __len__(self) -> int:
        return len(self.offsets)

    def bytes(self, row: int) -> bytes | None:
        """The UTF-8 bytes of one row without escapes, or None if it has no value."""
        if self.validity is not None and not self.validity.has(row):
            return None
        span = bytes(span_of(self.buffer, self.arena, int(self.offsets[row]), int(self.lengths[row])))
        return self.plain(span) if self.escapes is not None and self.escapes.has(row) else span

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return self._texts(row)
        if not -len(self) <= row < len(self):
            raise IndexError("row out of range")
        text = self.bytes(row)
        return None if text is None else text.decode()

    def __iter__(self) -> Iterator[str | None]:
        for row in range(0, len(self), _AT_ONCE):
            yield from self._texts(slice(row, row + _AT_ONCE))

    def _texts(self, rows: slice) -> list[str | None]:
        return [None if text is None else text.decode() for text in self.plain_texts(rows)]

    def plain_texts(self, rows: slice = slice(None)) -> list[Any]:
        """The UTF-8 bytes of several rows without escapes (None for rows without a value)."""
        valid = self.valid[rows]
        spans = cut(self.buffer, self.arena, self.offsets[rows][valid], self.lengths[rows][valid])
        texts: list[Any] = []
        for there, escaped in zip(valid.tolist(), self.escaped[rows].tolist(), strict=True):
            span = next(spans) if there else None
            texts.append(self.plain(span) if escaped and span is not None else span)
        return texts

    def to_numpy(self) -> NDArray[np.object_]:
        """An object array of str and None."""
        array = np.empty(len(self), object)
        array[:] = list(self)
        return array


def column_of(texts: Sequence[bytes | None]) -> TextColumn:
    """A column of these texts, None if there is no value."""
    lengths = np.array([len(text or b"") for text in texts], np.int64)
    valid = Bits(np.array([text is not None for text in texts], np.uint16), 0)
    buffer = memoryview(b"".join(text or b"" for text in texts))
    return TextColumn(buffer, np.cumsum(lengths) - lengths, lengths, valid, None, None)


class PackedColumn(TextColumn):
    """A text column without escapes and without an arena whose spans stand in rows that it shares with others
    (:class:`Packed`): ``offsets`` and ``lengths`` are made when somebody asks for them."""

    def __init__(
        self, buffer: memoryview, packed: Packed, rows: NDArray[Any], name: str, valid: Bits | None, plain: Any
    ) -> None:
        self.buffer, self.arena, self.json = buffer, _NOTHING, False
        self.validity, self.escapes, self.plain = valid, None, plain
        self.packed, self.rows, self.name = packed, rows, name

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.packed.spans(self.rows, self.name)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The place where the texts begin in ``buffer``, i64; 0 if a row has none."""
        return self._spans[0]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The numbers of their bytes, i64."""
        return self._spans[1]

    @property
    def places(self) -> tuple[Any, None]:
        """The places of its offset in a row, as the core takes them instead of offsets and lengths."""
        return self.packed.places(self.name), None

    def __len__(self) -> int:
        return len(self.rows)


class NumberColumn(TextColumn):
    """Whole numbers (u64) as decimal texts: ``buffer``, ``offsets`` and ``lengths`` are made on first use."""

    def __init__(self, numbers: NDArray[np.uint64], valid: Bits | None) -> None:
        self.arena, self.json = _NOTHING, False
        self.escapes = self.plain = None
        self.numbers = numbers
        self.validity: Bits | None = valid

    @cached_property
    def _digits(self) -> tuple[memoryview, NDArray[np.int64]]:
        digits = np.empty((len(self), _core.DECIMAL), np.uint8)
        lengths = np.empty(len(self), np.int64)
        _core.decimals(self.numbers, digits, lengths)
        return digits.reshape(-1).data, lengths

    @cached_property
    def buffer(self) -> memoryview:  # type: ignore[override]
        """The digits, DECIMAL bytes for each row."""
        return self._digits[0]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The place where the texts begin in ``buffer``, i64."""
        places: NDArray[np.int64] = np.arange(len(self), dtype=np.int64) * _core.DECIMAL
        return places

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The numbers of their digits, i64."""
        return self._digits[1]

    def __len__(self) -> int:
        return len(self.numbers)


def span_of(buffer: memoryview, arena: memoryview, start: int, length: int) -> memoryview:
    """These bytes of a buffer, or of the arena that continues where it ends."""
    if start < len(buffer):
        return buffer[start : start + length]
    return arena[start - len(buffer) : start - len(buffer) + length]


def cut(buffer: memoryview, arena: memoryview, starts: NDArray[Any], lengths: NDArray[Any]) -> Iterator[bytes]:
    """The bytes of several spans of a buffer, and of the arena after it. All around them are copied at once: to cut
    these takes a fraction of the time that cutting memory does."""
    if not len(starts):
        return iter(())
    first, stop, size = int(starts.min()), int((starts + lengths).max()), len(buffer)
    whole = b"".join((buffer[first:stop], arena[max(first - size, 0) : max(stop - size, 0)]))
    places = zip((starts - first).tolist(), lengths.tolist(), strict=True)
    return (whole[start : start + length] for start, length in places)


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


def validity_bitmap(valid: Bits | NDArray[np.bool_] | None, count: int) -> tuple[Any, int]:
    """A bitmap, or None if every row has a value, and how many have none."""
    if valid is None:
        return None, 0
    masks, bit = valid if isinstance(valid, Bits) else (valid.astype(np.uint16), 0)
    bitmap = np.empty((count + 7) // 8, np.uint8)
    nulls = count - _core.bits(masks, bit, bitmap)
    return (bitmap, nulls) if nulls else (None, 0)


def text_arrays(texts: Sequence[TextColumn]) -> list[Filled]:
    """The arrays that the core exports of these text columns, which have the same number of rows."""
    if hasattr(_core, "text_column"):  # plain Python makes each by itself
        return [_core.text_column(text) for text in texts]
    found: list[Any] = [None] * len(texts)
    masks: list[Any] = [
        next((one.masks for one in (text.validity, text.escapes) if one is not None), None) for text in texts
    ]
    every = next((one for one in masks if one is not None), None)  # where all rows have a text, any will do
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, text in enumerate(texts):
        if isinstance(text, NumberColumn):
            found[place] = _numbers(text)
            continue
        every = np.zeros(len(text), np.uint16) if every is None else every
        masks[place] = every if masks[place] is None else masks[place]
        key = id(text.buffer), id(text.arena), id(masks[place]), isinstance(text, PackedColumn)
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        for place, one in zip(places, _spans([texts[place] for place in places], masks[places[0]]), strict=True):
            found[place] = one
    return found


def _rooms(count: int, number: int) -> tuple[list[Any], NDArray[np.uint8]]:
    """Memory for the views of so many columns, and a bitmap for each."""
    return _view_memory.several(number, count * _VIEW), np.empty((number, (count + 7) // 8), np.uint8)


def _bit(which: Any) -> int:
    return -1 if which is None else which.bit


def _spans(texts: Sequence[TextColumn], masks: Any) -> list[Filled]:
    """Columns with offsets and lengths of their own, or all in rows that they share."""
    first, count = texts[0], len(texts[0])
    shared: tuple[Any, ...] = ()
    outs, bitmaps = _rooms(count, len(texts))
    buffer, arena = np.frombuffer(first.buffer, np.uint8), np.frombuffer(first.arena, np.uint8)
    if isinstance(first, PackedColumn):
        shared = first.rows.view(np.int32).reshape(count, -1), first.packed.shape
    places = [text.places if isinstance(text, PackedColumn) else (text.offsets, text.lengths) for text in texts]
    columns = [
        (*place, *map(_bit, (text.validity, text.escapes)), *rooms)
        for text, place, *rooms in zip(texts, places, outs, bitmaps, strict=True)
    ]
    tallies = _core.text_views(buffer, arena, masks, tuple(columns), *shared)
    sizes = np.array([len(buffer), len(arena)], np.int64)
    found = []
    for text, column, (nulls, points, rows, size) in zip(texts, columns, tallies, strict=True):
        # Where all texts are short, nobody has to keep the bytes that were scanned.
        data, out = [buffer, arena][: points * (2 if len(arena) else 1)], column[-2]
        if rows and nulls < count:
            data += _without_escapes(text, size, buffer, arena, masks, len(data), out)
            sizes_here = np.array([len(part) for part in data], np.int64)
            found.append(_filled(count, nulls, column[-1], out, data, sizes_here))
        else:
            found.append(_filled(count, nulls, column[-1], out, data, sizes))
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
    return [side[: _core.escaped_views(buffer, arena, *spans, masks, both, side, number, views)]]


def _filled(count: int, nulls: int, bitmap: Any, views: Any, data: list[Any], sizes: Any) -> Filled:
    """A text column: its views, and the buffers that these point to, of which ``sizes`` begins with the sizes."""
    if nulls == count:
        size = count * _VIEW
        views = _zeros[:size] if size <= _LARGEST_VIEWS else np.zeros(size, np.uint8)
        return count, (bitmap, views, _NO_SIZES), None
    return nulls, (bitmap if nulls else None, views, *data, sizes[: len(data)] if data else _NO_SIZES), None


def _numbers(text: NumberColumn) -> Filled:
    """Whole numbers: most have digits enough for the view alone."""
    count = len(text)
    (out,), (every,) = _rooms(count, 1)
    bitmap, nulls = validity_bitmap(text.validity, count)
    every[:] = 0xFF
    views = out[: count * _VIEW].reshape(count, _VIEW)
    long = count and int(text.numbers.max()) >= 10**_core.INLINE
    side = np.empty(count * _core.DECIMAL if long else 0, np.uint8)
    used = _core.number_views(text.numbers, every if bitmap is None else bitmap, views, side)
    return _filled(count, nulls, bitmap, views, [side[:used]] if used else [], np.array([used], np.int64))


def _plain(text: Any, rows: Any, number: int, views: Any) -> list[Any]:
    """Views of these rows, whose texts have escapes, into a buffer of this number with what they say; that buffer, if
    there are any."""
    if not len(rows):
        return []
    plain = [text.bytes(row) for row in rows.tolist()]
    side, lengths = np.frombuffer(b"".join(plain) or b"\0", np.uint8), np.array([len(one) for one in plain], np.int64)
    (out,), (bitmap,) = _rooms(len(rows), 1)
    column = np.cumsum(lengths) - lengths, lengths, -1, -1, out, bitmap
    _core.text_views(side, np.empty(0, np.uint8), np.zeros(len(rows), np.uint16), (column,))
    own = out[: len(rows) * _VIEW].reshape(-1, _VIEW)
    own.view(np.int32)[lengths > _core.INLINE, 2] = number
    views[rows] = own
    return [side]
