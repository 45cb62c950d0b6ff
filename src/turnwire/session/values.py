"""JSON whose numbers keep the letters they were written with, and events as such values and as lines."""

from __future__ import annotations

import json
from json import encoder
from typing import Any

from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.json import text as json_text
from turnwire.registry import wire_of

Leaf = str | bytes
"""A JSON string as text, or any other value as JSON text in bytes: so "1" and 1 differ, and 1.0 stays 1.0."""

quoted = encoder.c_encode_basestring or encoder.py_encode_basestring  # type: ignore[attr-defined]
"""A text as a JSON string, characters beyond ASCII as they are."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


parsed = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_constant, object_pairs_hook=_object
).decode
"""JSON text as values, each number as the bytes it was written with. Raises ValueError, RecursionError."""


def minified(value: Any) -> str:
    """A value of ``parsed`` as JSON text without spaces."""
    if type(value) is str:
        return quoted(value)
    if type(value) is bytes:
        return value.decode()
    if type(value) is dict:
        return "{" + ",".join([f"{quoted(key)}:{minified(each)}" for key, each in value.items()]) + "}"
    if type(value) is list:
        return "[" + ",".join(map(minified, value)) + "]"
    return "null" if value is None else "true" if value else "false"


def leaf_of(value: Any) -> Leaf:
    """A value of ``parsed`` as a leaf."""
    return value if type(value) in (str, bytes) else minified(value).encode()


def value_of(line: str) -> Any:
    """The event of a JSON line: a dict, or text. Raises DecodeError for what strict JSON refuses."""
    if line[:1] == '"':
        return json_text.read_object('{"":' + line + "}", "session")[""]
    return json_text.read_object(line, "session")


def line_of(event: Any) -> tuple[dict[str, Any], str]:
    """An event as an object of ``parsed`` and its JSON line; text that is not a JSON object is none of members.

    event: a message of any wire, a dict, or text. Raises EncodeError for what JSON cannot carry, and for anything else.
    """
    if isinstance(event, str):
        if event.lstrip(" \t\n\r")[:1] == "{":
            try:
                json_text.read_object(event, "session")
                value = parsed(event)
                return value, minified(value)
            except DecodeError:
                pass  # text that is not an object is kept as text
        json_text.write({"": event})  # raises for what cannot be sent
        return {}, quoted(event)
    if not isinstance(event, dict):
        if wire_of(event) is None:
            raise EncodeError(Reason.WRONG_TYPE, f"an event is an object or text, not {type(event).__name__}")
        from turnwire.tokens.formats import plain

        event = plain(event)
    line = json_text.write(event)
    return parsed(line), line
