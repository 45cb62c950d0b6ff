"""A message of any wire as plain JSON values: what the reference formats carry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnwire import registry
from turnwire.errors import EncodeError, Reason
from turnwire.registry import decode, encode, wire_of


def messages_of(given: Any) -> list[Any]:
    """Messages from one message, its text, or an iterable of these. Raises DecodeError, EncodeError(wrong_type)."""
    alone = isinstance(given, (str, bytes, bytearray, memoryview)) or wire_of(given) is not None
    if not alone and not isinstance(given, Iterable):
        raise EncodeError(
            Reason.WRONG_TYPE, f"{type(given).__name__} is not a message of {', '.join(registry.names())}"
        )
    found = [given] if alone else given
    made = [decode(each) if isinstance(each, (str, bytes, bytearray, memoryview)) else each for each in found]
    for each in made:
        if wire_of(each) is None:
            raise EncodeError(
                Reason.WRONG_TYPE, f"{type(each).__name__} is not a message of {', '.join(registry.names())}"
            )
    return made


def text_of(message: Any) -> str:
    """A message in its own wire, as it was read."""
    return encode(message, strict=False)


def plain(message: Any) -> dict[str, Any]:
    """All that a message says, as JSON values with names: an object a reader needs no other document for.

    Each wire says it itself (``Wire.plain``); one that is JSON on the wire does by its own objects
    (:meth:`turnwire.contract.Wire.plain_values`).
    """
    return registry.wire(str(wire_of(message))).plain_values(message)
