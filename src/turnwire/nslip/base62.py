"""Base62 integers of nSLIP (section 3): single integers and whole NumPy columns.

``encode(number)`` and ``decode(digits)`` accept 0 .. 2**64-1. ``encode_array`` converts an integer column to an ``S11``
column, ``decode_array`` an ``S`` column of any width to a ``uint64`` column; NumPy is imported when they are called.
"""

from __future__ import annotations

from turnwire import _backend

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from turnwire.nslip._base62_py import decode, decode_array, encode, encode_array
else:
    _core = _backend.load("nslip.base62")
    encode = _core.encode
    decode = _core.decode
    encode_array = _core.encode_array
    decode_array = _core.decode_array

__all__ = ["decode", "decode_array", "encode", "encode_array"]
