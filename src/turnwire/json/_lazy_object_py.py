"""The objects of messages: made of their text when somebody first asks, and copied.

The readable twin of ``_native/json/lazy_object.pyx``.
"""

from __future__ import annotations

from _thread import RLock  # threading would cost the import of it
from collections.abc import Callable
from typing import Any

_filling = RLock()


class Maker:
    """Gives the object of a message, which it makes of the text that the message holds.

    Args:
        fields, source: the descriptors of the message's slots for its object (empty as yet) and for its text.
        read: reads a text, which was found good, into an object.

    It gives the same object to whoever asks, on whatever thread. Raises AttributeError for a message that has neither.
    """

    __slots__ = ("fields", "source", "read")

    def __init__(self, fields: Any, source: Any, read: Callable[[Any], dict[str, Any]]) -> None:
        self.fields = fields
        self.source = source
        self.read = read

    def __call__(self, message: Any, /) -> dict[str, Any]:
        try:
            text = self.source.__get__(message)  # first: it goes when the object, once made, is handed out
        except AttributeError:
            text = None
        try:
            return self.fields.__get__(message)  # type: ignore[no-any-return]
        except AttributeError:
            if text is None:
                raise
        fields = self.read(text)
        with _filling:
            try:
                return self.fields.__get__(message)  # type: ignore[no-any-return]
            except AttributeError:
                self.fields.__set__(message, fields)
        return fields


def copied(value: Any, other: Callable[[Any], Any]) -> Any:
    """A copy, through and through, of a JSON value. ``other`` copies what is none: objects of other classes, and a dict
    with a key that is no str."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list:
        return [copied(item, other) for item in value]
    if kind is not dict or any(type(name) is not str for name in value):
        return other(value)
    return {name: copied(item, other) for name, item in value.items()}


_SCALARS = frozenset({str, int, float, bool, type(None)})
