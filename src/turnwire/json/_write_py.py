"""Writing JSON text in pure Python, plain and canonical (RFC 8785): the readable twin of ``_native/json/write.pyx``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from turnwire.contract import LIMITS, Limits
from turnwire.errors import EncodeError, Reason
from turnwire.json.faults import pointer_step

MOST_PATH = 1024
"""Characters of the path to what is too deep."""
_SAFE = 2**53 - 1  # what an IEEE 754 double holds exactly, and so every reader of JSON
_EXPONENT_FROM = 21  # ECMA-262, Number::toString: from 1e21 on a number is written with an exponent
_SMALLEST_PLAIN = -6


def write(value: Any, wire: str | None = None, limits: Limits = LIMITS) -> str:
    """``value`` as JSON text; see ``turnwire.json.text.write``."""
    check_writable(value, wire, limits.nesting)
    try:
        return _ENCODE(value)
    except RecursionError:
        raise EncodeError(Reason.TOO_DEEP, "the value is nested too deep for the interpreter", wire=wire) from None


def compacted(source: str | bytes) -> str:
    """Returns a valid text in the form in which an unmodified message is written: without white space, with the escapes
    of the writer, and with numbers as they were read."""
    if type(source) is not bytes and type(source) is not str:
        raise TypeError(f"expected text or its bytes, not {type(source).__name__}")
    return _SPACE_OR_STRING.sub(_compact, source if isinstance(source, str) else source.decode())


_SPACE_OR_STRING = re.compile(r'[ \t\n\r]+|"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def _compact(found: re.Match[str]) -> str:
    token = found.group()
    if token[0] != '"':
        return ""
    return _ENCODE(json.loads(token)) if "\\" in token else token


_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode


def canonical(value: Any, /) -> bytes:
    """The canonical JSON of ``value`` (RFC 8785): keys in UTF-16 order, ECMAScript numbers, no white space.

    Args:
        value: None, bool, int within ±(2**53-1), finite float, str without lone surrogates, list or tuple, dict
            with str keys; at most 128 deep.

    Raises EncodeError with ``path`` a JSON pointer: wrong_type, too_large, not_finite, lone_surrogate, too_deep.
    """
    check_writable(value, None, LIMITS.nesting, canonical=True)
    return _canonical(value).encode()


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        members = (f"{encode_basestring(key)}:{_canonical(value[key])}" for key in sorted(value, key=_utf16))
        return f"{{{','.join(members)}}}"
    return f"[{','.join(map(_canonical, value))}]"


def _utf16(key: str) -> bytes:
    """The order of keys, by UTF-16 code units; it differs from that of code points beyond U+FFFF only."""
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """A finite float as ECMAScript writes it (ECMA-262, Number::toString)."""
    if value == 0:
        return "0"
    text = float.__repr__(value)
    sign = ""
    if text[0] == "-":
        sign, text = "-", text[1:]
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)  # the value is 0.digits times ten to this
    return sign + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= _EXPONENT_FROM:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _EXPONENT_FROM:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN < point <= 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def check_writable(value: Any, wire: str | None, nesting: int, canonical: bool = False) -> None:
    """Raises the EncodeError for the first thing in ``value``, in writing order, that JSON cannot carry, or that has no
    canonical form."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        item, path, depth = waiting.pop()
        if item is None or isinstance(item, bool):
            continue
        if isinstance(item, str):
            _check_text(item, path, wire)
        elif isinstance(item, int):
            if canonical and not -_SAFE <= item <= _SAFE:
                text = "integers beyond 2**53-1 have no canonical form"
                raise EncodeError(Reason.TOO_LARGE, text, wire=wire, path=path)
            _check_integer(item, path, wire)
        elif isinstance(item, float):
            if not isfinite(item):
                raise EncodeError(Reason.NOT_FINITE, f"{item} is not a JSON number", wire=wire, path=path)
        elif isinstance(item, (dict, list, tuple)):
            if depth >= nesting:
                raise EncodeError(Reason.TOO_DEEP, f"more than {nesting} levels", wire=wire, path=path[:MOST_PATH])
            waiting.extend(reversed(list(_inner(item, path, depth + 1, canonical))))
        elif isinstance(item, _Key):
            if not isinstance(item.key, str):
                text = f"a key must be a string, not {type(item.key).__name__}"
                raise EncodeError(Reason.WRONG_TYPE, text, wire=wire, path=path)
            _check_text(item.key, path, wire)
        else:
            raise EncodeError(Reason.WRONG_TYPE, f"{type(item).__name__} is not a JSON value", wire=wire, path=path)


class _Key:
    """A key that is no good, kept in line until the values before it have been judged."""

    def __init__(self, key: Any) -> None:
        self.key = key


def _inner(item: Any, path: str, depth: int, canonical: bool) -> Iterator[tuple[Any, str, int]]:
    if not isinstance(item, dict):
        for index, inner in enumerate(item):
            yield inner, f"{path}/{index}", depth
        return
    keys = sorted(item, key=_utf16) if canonical and all(isinstance(key, str) for key in item) else item
    for key in keys:
        if not isinstance(key, str) or _surrogate(key) is not None:
            yield _Key(key), path, depth
        yield item[key], f"{path}/{pointer_step(str(key))}", depth


def _surrogate(text: str) -> int | None:
    """The place of the first half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _check_text(text: str, path: str, wire: str | None) -> None:
    place = _surrogate(text)
    if place is not None:
        raise EncodeError(Reason.LONE_SURROGATE, f"character {place} is half of a surrogate pair", wire=wire, path=path)


def _check_integer(number: int, path: str, wire: str | None) -> None:
    try:
        int.__repr__(number)
    except ValueError:
        text = "the integer has more digits than the interpreter supports"
        raise EncodeError(Reason.NUMBER_TOO_LONG, text, wire=wire, path=path) from None
