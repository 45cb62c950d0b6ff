"""What carry=True puts into a message, and how it is read again.

It is one JSON object: ``wire`` (of the message it comes from), ``fields`` (every path of that message, in order) and
``rest`` (path -> value of those that the carrying message does not say by itself). The others are read from the
carrying message, so that what was changed there is changed in what comes back.
"""

from __future__ import annotations

from typing import Any

from turnwire.conversion.faults import not_carried
from turnwire.conversion.paths import Fields, parsed, same, shown
from turnwire.conversion.shapes import SHAPES
from turnwire.errors import WireError
from turnwire.json import text as json_text
from turnwire.registry import encode

_DEEPEST = 100
"""Values nested deeper travel as JSON text, since the carrying message has a limit too (``contract.LIMITS``)."""


def packed(source: str, fields: Fields, back: Fields, to: str) -> Any:
    """What goes into the extension place of ``to``; ``back`` is what the target says without it."""
    rest: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for path, value in fields.items():
        if path in back and same(back[path], value):
            continue
        if _depth(value, _DEEPEST) < 0:
            texts[shown(path)] = json_text.write(value)
        else:
            rest[shown(path)] = value
    whole: dict[str, Any] = {"wire": source, "fields": [shown(path) for path in fields], "rest": rest}
    if texts:
        whole["texts"] = texts
    return json_text.write(whole) if to == "kick" else whole


def _depth(value: Any, left: int) -> int:
    """How many levels are left below ``value``, or less than 0."""
    if left < 0 or not isinstance(value, (dict, list)):
        return left
    inner = value.values() if isinstance(value, dict) else value
    return min((_depth(one, left - 1) for one in inner), default=left)


def opened(place: Any, to: str) -> dict[str, Any] | None:
    """What was carried, if it is a message of ``to``; a field of that name that names no wire is like any other."""
    whole = place
    if isinstance(place, str):
        try:
            whole = json_text.read_object(place, to)
        except WireError:
            return None
    return whole if isinstance(whole, dict) and whole.get("wire") == to else None


def restored(carried: dict[str, Any], made: Fields, to: str) -> Fields:
    """The fields of the message that was carried; what it did not have to carry is in ``made``."""
    listed, rest, texts = (carried.get(name, empty) for name, empty in (("fields", []), ("rest", {}), ("texts", {})))
    if not isinstance(listed, list) or not listed or not isinstance(rest, dict) or not isinstance(texts, dict):
        raise not_carried(to, "what was carried has no list of fields and no values")
    fields: Fields = {}
    for text in listed:
        if not isinstance(text, str):
            raise not_carried(to, "a field is named by a text")
        path = parsed(text)
        if text in rest:
            fields[path] = rest[text]
        elif text in texts:
            fields[path] = _value(texts[text], to)
        elif path in made:
            fields[path] = made[path]
        else:
            raise not_carried(to, f"{text} was neither carried nor does the message say it")
    return fields


def _value(text: Any, to: str) -> Any:
    try:
        return json_text.read_object(f'{{"value":{text}}}', to)["value"]
    except WireError as error:
        raise not_carried(to, f"a carried value is no JSON: {error.text}") from None


def joined(fields: Fields, to: str) -> Any:
    """The message of what was carried. Raises ConvertError(bad_carry) where these are the fields of none."""
    try:
        message = SHAPES[to].join(fields)
        encode(message, strict=False)
    except WireError as error:
        raise not_carried(to, f"what was carried is no message: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise not_carried(to, f"what was carried is no message: {error!r}") from None
    return message
