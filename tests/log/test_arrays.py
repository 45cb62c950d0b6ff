"""The arrays of the Arrow export are let go of once, on both cores."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import BACKENDS
from turnwire._backend import core_module
from turnwire.arrow_structs import ArrowArray


def modules(name: str, backends: Sequence[str] = BACKENDS) -> list[Any]:
    return [core_module(backend, name) for backend in backends]


def struct(arrays: Any, columns: list[Any]) -> ArrowArray:
    made = ArrowArray()
    arrays.export(ctypes.addressof(made), 3, columns)
    return made


def test_an_exported_array_is_what_was_given_and_is_let_go_once() -> None:
    numbers, names, bits = np.arange(3, dtype=np.int64), np.frombuffer(b"abc", np.uint8), np.frombuffer(b"\5", np.uint8)
    places = np.array([0, 1, 3], np.int32)
    for arrays in modules("log.arrays"):
        before = arrays.exported()
        free = sys.getrefcount(bits), sys.getrefcount(numbers)
        made = struct(arrays, [(0, (None, numbers), None), (1, (bits, numbers), (2, (None, places, names)))])
        assert arrays.exported() == before + 4
        assert (made.length, made.null_count, made.offset, made.n_buffers, made.n_children) == (3, 0, 0, 1, 2)
        assert made.buffers[0] is None
        first, second = made.children[0].contents, made.children[1].contents
        assert [(one.length, one.null_count, one.n_buffers) for one in (first, second)] == [(3, 0, 2), (3, 1, 2)]
        assert (first.buffers[0], first.buffers[1]) == (None, numbers.ctypes.data)
        assert second.buffers[0] == bits.ctypes.data
        assert not first.dictionary
        dictionary = second.dictionary.contents
        assert (dictionary.length, dictionary.n_buffers, dictionary.buffers[2]) == (2, 3, names.ctypes.data)
        assert sys.getrefcount(bits) == free[0] + 1
        moved = ArrowArray.from_buffer_copy(second)  # the consumer keeps one column and lets the others go
        second.release = type(second.release)()
        made.release(ctypes.pointer(made))
        assert not made.release
        assert (arrays.exported(), sys.getrefcount(bits)) == (before + 2, free[0] + 1)
        assert moved.dictionary.contents.buffers[2] == names.ctypes.data
        moved.release(ctypes.pointer(moved))
        assert (arrays.exported(), sys.getrefcount(bits), sys.getrefcount(numbers)) == (before, *free)


def test_what_cannot_be_exported_is_let_go() -> None:
    for arrays in modules("log.arrays"):
        before, numbers = arrays.exported(), np.arange(3)
        free = sys.getrefcount(numbers)
        good = (0, (None, numbers), (0, (None, np.arange(1), np.arange(1))))
        for wrong in ((0, (object(),), None), (0, (None,), (1, (object(),)))):
            made = ArrowArray()
            with pytest.raises(TypeError):
                arrays.export(ctypes.addressof(made), 3, [good, wrong])
            assert not made.release
        del good
        assert (arrays.exported(), sys.getrefcount(numbers)) == (before, free)
