"""What an event is, as it comes in: a message of a wire, an object, or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.json import text as json_text
from turnwire.registry import wire_of
from turnwire.session._values_py import parsed

if TYPE_CHECKING:
    from turnwire.session._values_py import built, flatten, minified, text_of
else:
    _core = _backend.load("session.values")
    built, flatten, minified, text_of = _core.built, _core.flatten, _core.minified, _core.text_of

__all__ = ["built", "event_of", "flatten", "minified", "text_of"]


def event_of(given: Any) -> tuple[dict[str, Any] | None, str]:
    """An event as an object and its minified JSON; (None, the text) for text that is not a JSON object.

    given: a message of any wire, a dict, or text; an object in text keeps its numbers as they are written. Raises
    EncodeError for what JSON cannot carry, and for anything else.
    """
    if isinstance(given, str):
        return _event_of_text(given)
    if not isinstance(given, dict):
        if wire_of(given) is None:
            raise EncodeError(Reason.WRONG_TYPE, f"an event is an object or text, not {type(given).__name__}")
        from turnwire.tokens.fields import plain

        given = plain(given)
    return given, json_text.write(given)


def _event_of_text(given: str) -> tuple[dict[str, Any] | None, str]:
    if given.lstrip(" \t\n\r")[:1] == "{":
        try:
            json_text.read_object(given, "session")
        except DecodeError:
            pass  # text that is not an object is kept as text
        else:
            value = parsed(given)
            return value, minified(value)
    json_text.write({"": given})  # raises for what cannot be sent
    return None, given
