"""Where a value stands in JSON text: the byte offset that a JSON pointer leads to. Only used once something failed."""

from __future__ import annotations

import json
import re

_SPACE = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_MARK = re.compile(rb'["{}\[\]]')


def place_of(data: bytes, pointer: str) -> int:
    """Byte offset of the value at ``pointer`` (RFC 6901) in ``data``, which :mod:`turnwire.json.text` has read.

    For a pointer to what is not there (a missing field), the offset of the innermost object or array that is.
    """
    at = _skip_space(data, 0)
    for step in pointer.split("/")[1:]:
        found = _child(data, at, step.replace("~1", "/").replace("~0", "~"))
        if found is None:
            break
        at = found
    return at


def _skip_space(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _child(data: bytes, at: int, step: str) -> int | None:
    opening = data[at : at + 1]
    if opening not in (b"{", b"["):
        return None
    at = _skip_space(data, at + 1)
    index = 0
    while data[at : at + 1] not in (b"}", b"]", b""):
        name = str(index)
        if opening == b"{":
            end = _string_end(data, at)
            name = json.loads(data[at:end])
            at = _skip_space(data, _skip_space(data, end) + 1)
        if name == step:
            return at
        at = _skip_space(data, _value_end(data, at))
        if data[at : at + 1] == b",":
            at = _skip_space(data, at + 1)
        index += 1
    return None


def _string_end(data: bytes, at: int) -> int:
    found = _STRING.match(data, at)
    return found.end() if found else len(data)


def _value_end(data: bytes, at: int) -> int:
    if data[at : at + 1] == b'"':
        return _string_end(data, at)
    if data[at : at + 1] not in (b"{", b"["):
        found = _SCALAR.match(data, at)
        return found.end() if found else len(data)
    depth = 0
    while found := _MARK.search(data, at):
        at = found.end()
        if found[0] == b'"':
            at = _string_end(data, at - 1)
            continue
        depth += 1 if found[0] in b"{[" else -1
        if not depth:
            return at
    return len(data)
