"""When a file was made: an inode that is used again belongs to another file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_EMPTY_PATH = 0x1000
_BIRTH = 0x800
_SIZE = 256
_AT_BIRTH = 80
"""``AT_EMPTY_PATH``, ``STATX_BTIME``, the size of ``struct statx`` and where ``stx_btime`` is in it: the same on every
machine that Linux runs on."""


def born(descriptor: int, status: os.stat_result) -> int:
    """When an open file was made (ns), or 0 where the system or the file system does not say. ``status``: its own."""
    return _known(status) or _asked()(descriptor)


def _known(status: Any) -> int:
    """What ``os.fstat`` says of it: on macOS, BSD and Windows."""
    exact = getattr(status, "st_birthtime_ns", 0)
    return int(exact or getattr(status, "st_birthtime", 0) * 1_000_000_000)


def _unknown(_: int) -> int:
    return 0


@cache
def _asked() -> Callable[[int], int]:
    """What asks Linux, by ``statx``; elsewhere, and where the C library has none, the answer is 0."""
    if sys.platform != "linux":
        return _unknown
    import ctypes

    try:
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return _unknown

    def ask(descriptor: int) -> int:
        found = ctypes.create_string_buffer(_SIZE)
        if statx(descriptor, b"", _EMPTY_PATH, _BIRTH, found):
            return 0  # an older kernel, or a sandbox
        data = found.raw
        if not int.from_bytes(data[:4], sys.byteorder) & _BIRTH:
            return 0
        seconds = int.from_bytes(data[_AT_BIRTH : _AT_BIRTH + 8], sys.byteorder, signed=True)
        return seconds * 1_000_000_000 + int.from_bytes(data[_AT_BIRTH + 8 : _AT_BIRTH + 12], sys.byteorder)

    return ask
