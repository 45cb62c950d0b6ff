"""Strings of JSON without their escapes, leniently and with places: the rules of json/strings.h."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    rb"\\(?:([\"\\/bfnrt])|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))"
)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _said(match: re.Match[bytes]) -> bytes:
    letter, high, low, code = match.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00).encode()
    return chr(int(code, 16)).encode("utf-8", "surrogatepass")


def plain(span: bytes) -> bytes:
    """The inside of a JSON string without its escapes. What is not an escape stays what it is; half of a surrogate pair
    becomes the three bytes that no UTF-8 reader takes."""
    return _ESCAPE.sub(_said, span)


def places(span: bytes) -> list[tuple[int, int, int, int]]:
    """Each escape: where it starts and ends, where what it says starts in ``plain(span)``, and how long that is."""
    result = []
    shift = 0
    for match in _ESCAPE.finditer(span):
        size = len(_said(match))
        result.append((match.start(), match.end(), match.start() - shift, size))
        shift += match.end() - match.start() - size
    return result
