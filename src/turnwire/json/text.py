"""Strict JSON text for the JSON wires: one object in, one object out, nothing guessed (RFC 8259, I-JSON's strictness).

Reading rejects duplicate keys (including keys that are equal only after unescaping), NaN, Infinity and numbers beyond a
double, lone surrogates, invalid UTF-8, a byte order mark, UTF-16, anything before or after the object, and anything
that exceeds the limits. Integers are exact at any size, the order of keys is kept, and ``-0`` stays a negative zero (as
the float ``-0.0``, which is the only number that can hold it).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, checked_limits
from turnwire.errors import DecodeError, Reason
from turnwire.json.faults import input_bytes, place_of as locate

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.json import _text_py as _core, _write_py as _writer
    from turnwire.json._write_py import canonical, compacted
else:
    _core = _backend.load("json.text")
    _writer = _backend.load("json.write")
    canonical = _writer.canonical  # RFC 8785
    compacted = _writer.compacted

__all__ = ["canonical", "compacted", "input_bytes", "locate", "read_object", "reader", "refusal", "write"]


def read_object(data: str | Buffer, wire: str, *, limits: Limits = LIMITS) -> dict[str, Any]:
    """Returns the single JSON object in ``data`` (text or contiguous bytes), ignoring surrounding white space.

    Of the limits, ``message``, ``nesting``, ``key`` (bytes between its quotes) and ``integer_digits`` apply here.
    Raises DecodeError with reason, byte offset, line and ``wire``; the first fault from left to right is reported.
    A duplicate key is reported at the opening quote of its second appearance, a string that never closes at its opening
    quote, a number at its first byte.
    """
    result: dict[str, Any] = reader(wire).read(data, limits)
    return result


@cache
def reader(wire: str, keys: tuple[str, ...] = ()) -> _core.Reader:
    """A reusable reader whose errors name ``wire``; ``keys`` are the keys expected often, which it then shares."""
    return _core.Reader(wire, keys)


def refusal(data: Any, wire: str, reason: Reason, text: str, path: str | None = None) -> DecodeError:
    """The error for the value that a JSON pointer names, in a text that was read as JSON; without a text (None) it has
    no place."""
    if data is None:
        return DecodeError(reason, text, wire=wire, path=path)
    raw = input_bytes(data, wire)
    offset = locate(raw, path or "")
    return DecodeError(reason, text, offset=offset, line=raw.count(b"\n", 0, offset) + 1, wire=wire, path=path)


def write(value: Any, wire: str | None = None, *, limits: Limits = LIMITS) -> str:
    """``value`` as JSON text: no white space, keys in their own order, non-ASCII characters literal.

    dict (with str keys), list, tuple, str, int, float, bool and None are written, their subclasses as what they are
    based on. Raises EncodeError(wrong_type|not_finite|lone_surrogate|too_deep|number_too_long) with ``path``.
    """
    result: str = _writer.write(value, wire, checked_limits(limits))
    return result
