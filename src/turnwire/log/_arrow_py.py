"""Arrow, in plain Python: string views, arrays for others to hold, and C functions that they call, through ctypes: the
twin of ``_native/log/arrow.pyx``."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.arrow_structs import ArrayRelease, ArrowArray, release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.output.texts import Bits, Filled, TextColumn, Values

DECIMAL = 20
"""Digits of the largest u64."""
INLINE = 12
"""Bytes of text that fit into a view itself."""
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_keep = ctypes.pythonapi.Py_IncRef
_keep.restype, _keep.argtypes = None, [ctypes.py_object]

Dictionary = tuple[int, tuple[Any, ...]]

_owners: dict[int, Any] = {}
"""Arrays in use by consumers, by the number in private_data."""
_keys = count(1)


# --- texts as views ---------------------------------------------------------------------------------------------------


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


def filled(
    plan: tuple[tuple[Any, ...], ...],
    arrays: Any,
    buffer: Any,
    arena: Any,
    count: int,
    column_at: Callable[[int], Any],
    rooms: Any,
    zeros: Any,
    plain: Any,
) -> list[Filled]:
    """The arrays of columns, as the native twin makes them, each of what ``column_at`` gives; long texts stand one
    after the other in one buffer of their own."""
    columns = [column_at(step[1] if step and step[0] == "like" else place) for place, step in enumerate(plan)]
    return [column if type(column) is tuple else _made(column, count) for column in columns]


def _made(column: Values | TextColumn, count: int) -> Filled:
    return _values(column, count) if isinstance(column, tuple) else _text(column)


def _text(text: TextColumn) -> Filled:
    from turnwire.log.output.texts import column_of  # which loads this module

    plain = column_of(text.plain_texts())
    buffer = np.frombuffer(plain.buffer, np.uint8)
    views = np.empty((len(plain), 16), np.uint8)
    data = [buffer] if string_views(buffer, plain.offsets, plain.lengths, views) else []
    bitmap, nulls = _bitmap(plain.validity)
    return nulls, (bitmap, views, *data, np.array([len(part) for part in data], np.int64)), None


def _values(column: Values, count: int) -> Filled:
    bitmap, nulls = _bitmap(column.valid)
    values = column.values[:count]
    if nulls and column.highest >= 0:
        values = np.minimum(values, column.highest, dtype=np.uint8)
    return nulls, (bitmap, values), column.dictionary


def _bitmap(which: Bits | None) -> tuple[Any, int]:
    """A bit a row, first row lowest, and how many have none; no bitmap where all have one."""
    there = None if which is None else which.masks & which.masks.dtype.type(1 << which.bit) != 0
    return (None, 0) if there is None or there.all() else (np.packbits(there, bitorder="little"), int((~there).sum()))


def decimals(numbers: Any, out: Any, lengths: Any) -> None:
    """Each number as decimal digits at the start of its row of ``out`` (uint8, DECIMAL bytes a row)."""
    for row, number in enumerate(numbers.tolist()):
        digits = str(number).encode()
        out[row, : len(digits)] = np.frombuffer(digits, np.uint8)
        lengths[row] = len(digits)


# --- functions that others call ---------------------------------------------------------------------------------------


def foreign(function: Callable[[int], object], release: int | None = None) -> int:
    """The address of a C function ``void (*)(void *)`` that calls ``function`` with its argument as an integer.

    It may be called from any thread, with or without the GIL, and while the interpreter ends: then it only sets the
    pointer ``release`` bytes into its argument, if any, to NULL. A function that sets such a pointer to NULL is called
    again if it raised before doing so. An exception that is on its way at that moment is lost in ctypes, and the
    interpreter may not survive that; the native twin lets it go on.
    """

    # While the interpreter goes down there is nobody left to give memory back to, and globals are gone; but who calls
    # wants to see it done.
    def enter(
        argument: int,
        function: Callable[[int], object] = function,
        ends: Any = sys.is_finalizing,
        pointer: Any = ctypes.c_void_p.from_address,
    ) -> None:
        if not ends():
            try:
                function(argument)
            except BaseException:
                if release is not None and pointer(argument + release).value:  # a signal came within it
                    try:
                        function(argument)
                    except BaseException:
                        pointer(argument + release).value = None
                        raise
                raise
        elif release is not None:
            pointer(argument + release).value = None

    callback = _Function(enter)
    _keep(callback)  # for good: others may call it later than this module lives
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address


# --- arrays -----------------------------------------------------------------------------------------------------------


def exported() -> int:
    """The number of arrays, of columns, dictionaries and batches, somebody holds."""
    return len(_owners)


def _release(address: int) -> None:
    release(ArrowArray.from_address(address), _owners)


# Consumers release whenever it suits them, also while an exception is on its way, which only the native function keeps.
_released = ArrayRelease(_backend.load("log.arrow").foreign(_release, ArrowArray.release.offset))


def _fill(
    array: Any, length: int, nulls: int, buffers: tuple[Any, ...], dictionary: Dictionary | None, children: list[Any]
) -> Any:
    addresses = [None if buffer is None else _address(buffer) for buffer in buffers]
    places = (ctypes.c_void_p * max(len(buffers), 1))(*addresses)
    pointers = (ctypes.POINTER(ArrowArray) * max(len(children), 1))(*(ctypes.pointer(child) for child in children))
    array.length, array.null_count, array.offset = length, nulls, 0
    array.n_buffers, array.buffers = len(buffers), ctypes.cast(places, ctypes.POINTER(ctypes.c_void_p))
    array.n_children = len(children)
    array.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(ArrowArray)))
    names = None if dictionary is None else _fill(ArrowArray(), dictionary[0], 0, dictionary[1], None, [])
    array.dictionary = None if names is None else ctypes.pointer(names)
    key = next(_keys)
    _owners[key] = (buffers, places, pointers, children, names)
    array.private_data = key
    array.release = _released
    return array


def _address(buffer: Any) -> int:
    """The place where a buffer begins, also of one that is read-only or empty."""
    return int(np.frombuffer(buffer, np.uint8).ctypes.data if len(buffer) else np.asarray(buffer).ctypes.data)


def export(address: int, length: int, columns: list[tuple[int, tuple[Any, ...], Dictionary | None]]) -> None:
    """Makes the struct ArrowArray at ``address`` a struct array of ``length`` rows.

    columns: for each its nulls, its buffers (a tuple of arrays and None) and its dictionary (None, or how many values
    it has, and their buffers). All stay until the consumer has released them, each column by itself.
    """
    children: list[Any] = []
    try:
        for nulls, buffers, dictionary in columns:
            children.append(_fill(ArrowArray(), length, nulls, buffers, dictionary, []))
    except BaseException:
        for child in children:
            child.release(ctypes.pointer(child))
        raise
    _fill(ArrowArray.from_address(address), length, 0, (None,), None, children)
