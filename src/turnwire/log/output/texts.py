"""Text columns of a batch: spans of the bytes that were scanned, or numbers in decimal digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import _backend
from turnwire.contract import Packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_views = _backend.load("log.views")
_NOTHING = memoryview(b"")
_AT_ONCE = 4096
"""Rows whose texts are made at once where somebody goes through all of them."""


class Bits(NamedTuple):
    """Some rows of a batch: those whose mask (unsigned integers, one a row) has this bit."""

    masks: NDArray[Any]
    bit: int


def rows_of(which: Bits | NDArray[np.bool_] | None, count: int) -> NDArray[np.bool_]:
    """Whether each row is one of them; None stands for all."""
    if which is None:
        return np.ones(count, bool)
    if not isinstance(which, Bits):
        return which
    one = which.masks.dtype.type(1 << which.bit)
    there: NDArray[np.bool_] = which.masks & one != 0
    return there


class TextColumn(Sequence["str | None"]):
    """Text of one column, as spans of a buffer: nothing is copied until it is used.

    offsets, lengths: i64 arrays, one entry a row, into ``buffer``, and after its end into ``arena`` (what JSON strings
    said); a row without a value has length 0 and is not ``valid``. A span whose row is ``escaped`` still holds the
    escapes of its wire; ``[i]`` gives it without them. ``validity`` and ``escapes`` say the same in the form in which
    it is there: as bits, as a bool array, or None where all rows are valid, and none is escaped. ``plain``: a span
    with escapes -> without them.
    """

    def __init__(
        self,
        buffer: memoryview,
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        valid: Bits | NDArray[np.bool_] | None,
        escaped: Bits | NDArray[np.bool_] | None,
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
        """Which rows have a text."""
        return rows_of(self.validity, len(self))

    @cached_property
    def escaped(self) -> NDArray[np.bool_]:
        """Which rows hold escapes."""
        return np.zeros(len(self), bool) if self.escapes is None else rows_of(self.escapes, len(self))

    def __len__(self) -> int:
        return len(self.offsets)

    def bytes(self, row: int) -> bytes | None:
        """The UTF-8 bytes of one row without escapes, or None where there is no value."""
        if not self.valid[row]:
            return None
        span = bytes(span_of(self.buffer, self.arena, int(self.offsets[row]), int(self.lengths[row])))
        return self.plain(span) if self.escaped[row] else span

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
        """The texts of several rows: what arrays say of each is asked for once for all."""
        buffer, arena = self.buffer, self.arena
        marks = self.valid[rows].tolist(), self.escaped[rows].tolist()
        texts: list[str | None] = []
        for valid, escaped, start, length in zip(
            *marks, self.offsets[rows].tolist(), self.lengths[rows].tolist(), strict=True
        ):
            if not valid:
                texts.append(None)
                continue
            span = span_of(buffer, arena, start, length)
            texts.append(str(self.plain(bytes(span)) if escaped else span, "utf-8"))
        return texts

    def to_numpy(self) -> NDArray[np.object_]:
        """An object array of str and None."""
        array = np.empty(len(self), object)
        array[:] = list(self)
        return array


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
        """Where the texts begin in ``buffer``, i64; 0 where a row has none."""
        return self._spans[0]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # type: ignore[override]
        """How many bytes they have, i64."""
        return self._spans[1]

    def __len__(self) -> int:
        return len(self.rows)


class NumberColumn(TextColumn):
    """Whole numbers (u64) as decimal texts: ``buffer``, ``offsets`` and ``lengths`` are made when somebody asks for
    them."""

    def __init__(self, numbers: NDArray[np.uint64], valid: Bits | None) -> None:
        self.arena, self.json = _NOTHING, False
        self.escapes = self.plain = None
        self.numbers = numbers
        self.validity: Bits | None = valid

    @cached_property
    def _digits(self) -> tuple[memoryview, NDArray[np.int64]]:
        digits = np.empty((len(self), _views.DECIMAL), np.uint8)
        lengths = np.empty(len(self), np.int64)
        _views.decimals(self.numbers, digits, lengths)
        return digits.reshape(-1).data, lengths

    @cached_property
    def buffer(self) -> memoryview:  # type: ignore[override]
        """The digits, DECIMAL bytes for each row."""
        return self._digits[0]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        """Where the texts begin in ``buffer``, i64."""
        places: NDArray[np.int64] = np.arange(len(self), dtype=np.int64) * _views.DECIMAL
        return places

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # type: ignore[override]
        """How many digits they have, i64."""
        return self._digits[1]

    def __len__(self) -> int:
        return len(self.numbers)


def span_of(buffer: memoryview, arena: memoryview, start: int, length: int) -> memoryview:
    """These bytes of a buffer, or of the arena that goes on where it ends."""
    if start < len(buffer):
        return buffer[start : start + length]
    return arena[start - len(buffer) : start - len(buffer) + length]
