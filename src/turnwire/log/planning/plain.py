"""Blocks as JSON can hold them: options that it has no words for are named by their kind."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from datetime import datetime
from typing import TYPE_CHECKING, Any

from turnwire.contract import Limits

if TYPE_CHECKING:
    from collections.abc import Callable


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((plain(one) for one in value), key=repr)}
    if isinstance(value, Limits):
        return {"limits": dict(value._asdict())}
    if isinstance(value, tuple):
        return {"tuple": [plain(one) for one in value]}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, str) and not _is_utf8(value):
        return {"name": b64encode(os.fsencode(value)).decode()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return {"int": str(value)}  # JSON's numbers are exact up to there only
    if isinstance(value, dict):
        return {"dict": {key: plain(one) for key, one in value.items()}}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "set": lambda values: {restored(one) for one in values},
    "tuple": lambda values: tuple(restored(one) for one in values),
    "limits": lambda fields: Limits(**fields),
    "bytes": b64decode,
    "time": datetime.fromisoformat,
    "name": lambda text: os.fsdecode(b64decode(text)),
    "int": int,
    "dict": lambda fields: {key: restored(one) for key, one in fields.items()},
}


def restored(value: Any) -> Any:
    """The value of :func:`plain`."""
    if isinstance(value, dict):
        ((kind, inside),) = value.items()
        return _READERS[kind](inside)
    return [restored(one) for one in value] if isinstance(value, list) else value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
