"""Finds the byte offset of the value that a JSON pointer names. Only used once something failed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

_SPACE = re.compile(rb"[ \t\n\r]*+")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]++")
_KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_SIMPLE = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s,\]}{\["]++)[ \t\n\r]*+(?:,[ \t\n\r]*+)?', re.DOTALL)
"""A value that holds no other, and the comma behind it."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_LETTERS = re.compile(rb"[A-Za-z0-9_]++")
_OPENING = b"{["


def place_of(data: bytes, pointer: str) -> int:
    """Byte offset of the value at ``pointer`` (RFC 6901) in ``data``, which :mod:`turnwire.json.text` has read.

    For a pointer to what is not there (a missing field), the offset of the innermost object or array that is.
    """
    at = skip_space(data, 0)
    for step in pointer.split("/")[1:]:
        found = _child(data, at, step.replace("~1", "/").replace("~0", "~"))
        if found is None:
            break
        at = found
    return at


def skip_space(data: bytes, at: int) -> int:
    """The offset of the next byte that is not white space."""
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _child(data: bytes, at: int, step: str) -> int | None:
    opening = data[at : at + 1]
    if opening == b"[":
        return next(islice(items(data, at), int(step), None), None) if _INDEX.fullmatch(step) else None
    written = step.encode("utf-8", "surrogatepass")
    if opening != b"{" or _is_nowhere(data, written):
        return None
    at = skip_space(data, at + 1)
    while (found := _KEY.match(data, at)) is not None:
        key, at = found[1], found.end()
        if key == written or (b"\\" in key and json.loads(b'"%b"' % key) == step):
            return at
        at = _behind(data, at)
    return None


def _is_nowhere(data: bytes, key: bytes) -> bool:
    """True if no object in ``data`` can have this key: letters can be written as themselves, or with a ``\\u``."""
    return b'"%b"' % key not in data and b"\\u" not in data and _LETTERS.fullmatch(key) is not None


def items(data: bytes, at: int) -> Iterator[int]:
    """The offsets of the items of the good array at ``at``."""
    at = skip_space(data, at + 1)
    while data[at : at + 1] not in (b"]", b""):
        yield at
        at = _behind(data, at)


def _behind(data: bytes, at: int) -> int:
    """The offset of the next member or item, or of the bracket that closes."""
    simple = _SIMPLE.match(data, at)
    if simple is not None:
        return simple.end()
    at = skip_space(data, value_end(data, at))
    return skip_space(data, at + 1) if data[at : at + 1] == b"," else at


def value_end(data: bytes, at: int) -> int:
    """The offset after the good JSON value at ``at``."""
    if data[at] not in b'"{[':
        found = _SCALAR.match(data, at)
        return found.end() if found else len(data)
    depth = 0
    for token in _TOKEN.finditer(data, at):
        byte = data[token.start()]
        if byte != 0x22:
            depth += 1 if byte in _OPENING else -1
        if not depth:
            return token.end()
    return len(data)


def pointer_step(key: str) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
