"""Arrow arrays for others to hold, through ctypes: the twin of ``_native/log/arrays.pyx``."""

from __future__ import annotations

import ctypes
from itertools import count
from typing import Any

import numpy as np

from turnwire import _backend
from turnwire.arrow_structs import ArrayRelease, ArrowArray, release

Dictionary = tuple[int, tuple[Any, ...]]

_owners: dict[int, Any] = {}
"""Arrays in use by consumers, by the number in private_data."""
_keys = count(1)


def exported() -> int:
    """The number of arrays, of columns, dictionaries and batches, somebody holds."""
    return len(_owners)


def _release(address: int) -> None:
    release(ArrowArray.from_address(address), _owners)


# Consumers release whenever it suits them, also while an exception is on its way.
_released = ArrayRelease(_backend.load("log.callbacks").foreign(_release, ArrowArray.release.offset))


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
