"""A message as a flat table: path -> value, in the order in which the message has them.

A path is a tuple of names, as ``("slots", "TAG")``; shown, its names are joined by dots: ``slots.TAG``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Path = tuple[str, ...]
Fields = dict[Path, Any]

_UNSAFE = re.compile(r"([\\.])")
_PART = re.compile(r"(?:[^\\.]|\\.)*", re.DOTALL)


class _Absent:
    """What stands for a value that is not there (None is a value: JSON's null)."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Any = _Absent()


@lru_cache(4096)
def shown(path: Path) -> str:
    """The path as text; a dot or a backslash inside a name has a backslash in front."""
    return ".".join(_UNSAFE.sub(r"\\\1", part) for part in path)


def parsed(text: str) -> Path:
    """The path of its text; the other half of :func:`shown`."""
    parts = []
    place = 0
    while True:
        found = _PART.match(text, place)
        assert found is not None  # the pattern matches the empty text
        parts.append(re.sub(r"\\(.)", r"\1", found[0], flags=re.DOTALL))
        place = found.end() + 1
        if place > len(text):
            return tuple(parts)


def pointed(text: str) -> str:
    """The path, as text, of a place that a check names: of a JSON pointer; any other text stands for itself."""
    if not text.startswith("/"):
        return text
    return shown(tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")))


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same in value, type and order of keys: 1 is not 1.0, and not true."""
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = zip(left.items(), right.items(), strict=False)
        return len(left) == len(right) and all(k == name and same(v, value) for (k, v), (name, value) in pairs)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str) and isinstance(right, str):
        return str(left) == str(right)
    return type(left) is type(right) and (left == right) and repr(left) == repr(right)
