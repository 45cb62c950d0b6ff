"""The structures of the Arrow C data interface, for ctypes."""

from __future__ import annotations

import ctypes
from typing import Any


class ArrowSchema(ctypes.Structure):
    """struct ArrowSchema."""


class ArrowArray(ctypes.Structure):
    """struct ArrowArray."""


class ArrowStream(ctypes.Structure):
    """struct ArrowArrayStream."""


SchemaRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ArrayRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
StreamRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowStream))
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowSchema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowArray))
GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ArrowStream))

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", SchemaRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ArrayRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowStream._fields_ = [
    ("get_schema", GetSchema),
    ("get_next", GetNext),
    ("get_last_error", GetError),
    ("release", StreamRelease),
    ("private_data", ctypes.c_void_p),
]


def release(struct: Any, owners: dict[int, Any]) -> None:
    """Releases a struct ArrowSchema or ArrowArray and what belongs to it: its owner, by the number in private_data."""
    for place in range(struct.n_children):
        child = struct.children[place]
        if child.contents.release:
            child.contents.release(child)
    if struct.dictionary and struct.dictionary.contents.release:
        struct.dictionary.contents.release(struct.dictionary)
    key = struct.private_data
    owner = owners.get(key)  # the memory of the struct itself may be its own
    struct.release = type(struct.release)()
    owners.pop(key, None)
    del owner
