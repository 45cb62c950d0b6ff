"""C functions that other libraries call, through ctypes: the twin of ``_native/log/callbacks.pyx``."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_keep = ctypes.pythonapi.Py_IncRef
_keep.restype, _keep.argtypes = None, [ctypes.py_object]


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
