"""Text columns of a batch: spans of the bytes that were scanned or decimal numbers, and their Arrow views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwire import _backend
from turnwire.log.input.memory import Pool

_core = _backend.load("log.arrow")
_NOTHING = memoryview(b"")
_VIEW = 16
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

    numbers: NDArray[np.uint64] | None = None

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


class NumberColumn(TextColumn):
    """Whole numbers (u64) as decimal texts: ``buffer``, ``offsets`` and ``lengths`` are made on first use."""

    def __init__(self, numbers: NDArray[np.uint64], valid: Bits | None) -> None:
        self.arena, self.json = _NOTHING, False
        self.escapes = self.plain = None
        self.numbers: NDArray[np.uint64] = numbers
        self.validity: Bits | None = valid

    def __getattr__(self, name: str) -> Any:
        if name not in ("buffer", "offsets", "lengths"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        digits, lengths = np.empty((len(self), _core.DECIMAL), np.uint8), np.empty(len(self), np.int64)
        _core.decimals(self.numbers, digits, lengths)
        self.buffer, self.lengths = digits.reshape(-1).data, lengths
        self.offsets = np.arange(len(self), dtype=np.int64) * _core.DECIMAL
        return getattr(self, name)

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


class Values(NamedTuple):
    """Numbers or codes of a column, which rows have one (None: all), their dictionary, and the highest code where those
    of rows without a value may be any, else -1."""

    values: NDArray[Any]
    valid: Bits | None = None
    dictionary: tuple[int, tuple[Any, ...]] | None = None
    highest: int = -1


_LARGEST_VIEWS = 2 << 20
_memory = Pool(keep=64, largest=_LARGEST_VIEWS)
"""String views, a block for each text column of a batch, and what texts with escapes say: taken again once the consumer
has let go of it, which is when it has the next batch."""
_no_views: NDArray[np.uint8] = np.zeros(_LARGEST_VIEWS, np.uint8)
"""The views of a column without a text; nobody writes to it, so that it costs no memory."""
_no_views.flags.writeable = False


def filled(
    plan: tuple[tuple[Any, ...], ...],
    arrays: dict[str, Any],
    buffer: memoryview,
    arena: memoryview,
    count: int,
    column_at: Callable[[int], TextColumn | Values | Filled],
) -> list[Filled]:
    """The arrays that the core exports of columns of ``count`` rows: see ``_native/log/arrow.pyx``."""

    def plain(place: int, number: int, views: NDArray[np.uint8]) -> list[Any]:
        text: Any = column_at(place)
        return _plain(text, number, views)

    found: list[Filled] = _core.filled(plan, arrays, buffer, arena, count, column_at, _memory.several, zeros, plain)
    return found


def zeros(size: int) -> NDArray[np.uint8]:
    """So many bytes of 0, which nobody writes to."""
    return _no_views[:size] if size <= _LARGEST_VIEWS else np.zeros(size, np.uint8)


def _plain(text: TextColumn, number: int, views: NDArray[np.uint8]) -> list[Any]:
    """Views of the rows whose texts have escapes, into a buffer of this number with what they say; that buffer, if any
    is longer than a view."""
    rows = np.flatnonzero(text.escaped & text.valid)
    plain = column_of([text.bytes(row) for row in rows.tolist()])
    [(_, (_, out, *data, _), _)] = filled(((),), {}, _NOTHING, _NOTHING, len(rows), lambda place: plain)
    own = out[: len(rows) * _VIEW].reshape(-1, _VIEW)
    own.view(np.int32)[plain.lengths > _core.INLINE, 2] = number
    views[: len(text) * _VIEW].reshape(-1, _VIEW)[rows] = own
    return data
