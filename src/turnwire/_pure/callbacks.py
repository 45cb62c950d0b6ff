"""C functions that other libraries call, through ctypes: the twin of ``_native/callbacks.pyx``."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_KEPT: list[Any] = []


def foreign(function: Callable[[int], object]) -> int:
    """The address of a C function ``void (*)(void *)`` that calls ``function`` with its argument as an integer.

    It may be called from any thread, with or without the GIL. An exception that is on its way at that moment is lost
    in ctypes, and the interpreter may not survive that; the native twin lets it go on.
    """
    callback = _Function(function)
    _KEPT.append(callback)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address
