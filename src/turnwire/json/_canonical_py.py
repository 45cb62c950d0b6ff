"""Canonical JSON (RFC 8785) in plain Python: the readable twin of ``_native/json/canonical.pyx``."""

from __future__ import annotations

from json.encoder import encode_basestring
from math import isfinite
from typing import Any, NoReturn

from turnwire.contract import LIMITS
from turnwire.errors import EncodeError, Reason

_SAFE = 2**53 - 1  # what an IEEE 754 double holds exactly, and so every reader of JSON
_EXPONENT_FROM = 21  # ECMA-262, Number::toString: from 1e21 on a number is written with an exponent
_SMALLEST_PLAIN = -6


class _Refused(Exception):
    """Something in the value has no canonical form; :func:`refuse` finds out what and where."""


def canonical(value: Any, /) -> bytes:
    """The canonical JSON of ``value`` (RFC 8785): keys in UTF-16 order, ECMAScript numbers, no white space.

    Args:
        value: None, bool, int within ±(2**53-1), finite float, str without lone surrogates, list or tuple, dict
            with str keys; at most 128 deep.

    Raises EncodeError with ``path`` a JSON pointer: wrong_type, too_large, not_finite, lone_surrogate, too_deep.
    """
    parts: list[str] = []
    try:
        _write(value, parts, 0)
        return "".join(parts).encode()
    except (_Refused, UnicodeEncodeError):
        refuse(value)


def _write(value: Any, parts: list[str], depth: int) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int):
        if not -_SAFE <= value <= _SAFE:
            raise _Refused
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        parts.append(number(value))
    elif depth >= LIMITS.nesting:
        raise _Refused
    elif isinstance(value, dict):
        _write_object(value, parts, depth + 1)
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _write(item, parts, depth + 1)
        parts.append("]")
    else:
        raise _Refused


def _write_object(value: dict[Any, Any], parts: list[str], depth: int) -> None:
    keys = sorted_keys(value)
    separator = "{"
    for key in keys:
        parts.append(f"{separator}{encode_basestring(key)}:")
        _write(value[key], parts, depth)
        separator = ","
    parts.append("}" if keys else "{}")


def sorted_keys(value: dict[Any, Any]) -> list[str]:
    """The keys in the order of their UTF-16 code units, which differs from code point order beyond U+FFFF only."""
    for key in value:
        if not isinstance(key, str):
            raise _Refused
    if all(map(str.isascii, value)):
        return sorted(value)
    return sorted(value, key=_utf16)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def number(value: float) -> str:
    """A finite float as ECMAScript writes it (ECMA-262, Number::toString)."""
    if not isfinite(value):
        raise _Refused
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
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= _EXPONENT_FROM:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _EXPONENT_FROM:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN < point <= 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def refuse(value: Any) -> NoReturn:
    """Raises the EncodeError for the first part of ``value``, in the order of writing, without a canonical form."""
    _search(value, "", 0)
    raise EncodeError(Reason.WRONG_TYPE, f"{type(value).__name__} has no canonical form")


def _search(value: Any, path: str, depth: int) -> None:
    if isinstance(value, str):
        if (fault := _surrogate(value)) is not None:
            raise EncodeError(Reason.LONE_SURROGATE, f"character {fault} is half of a pair", path=path)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        if not -_SAFE <= value <= _SAFE:
            raise EncodeError(Reason.TOO_LARGE, "integers beyond 2**53-1 have no canonical form", path=path)
    elif isinstance(value, float):
        if not isfinite(value):
            raise EncodeError(Reason.NOT_FINITE, f"{value} is not a JSON number", path=path)
    elif not isinstance(value, (dict, list, tuple)):
        raise EncodeError(Reason.WRONG_TYPE, f"{type(value).__name__} is not a JSON value", path=path)
    elif depth >= LIMITS.nesting:
        raise EncodeError(Reason.TOO_DEEP, f"more than {LIMITS.nesting} levels", path=path)
    elif isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise EncodeError(Reason.WRONG_TYPE, f"a key is a string, not {type(key).__name__}", path=path)
        for key in sorted_keys(value):
            _search(key, f"{path}/{pointer_step(key)}", depth)
            _search(value[key], f"{path}/{pointer_step(key)}", depth + 1)
    else:
        for index, item in enumerate(value):
            _search(item, f"{path}/{index}", depth + 1)


def _surrogate(text: str) -> int | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def pointer_step(key: str) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
