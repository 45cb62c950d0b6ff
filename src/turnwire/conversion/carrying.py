"""The embedded part that carry=True adds to a message, so that converting back is exact.

It is one JSON object: ``wire`` (of the message it comes from), ``fields`` (every path of that message, in order) and
``rest`` (path -> value of those that the carrying message does not say by itself), with ``filled`` (paths of the
carrying message that a context gave) and ``signature``. The others are read from the carrying message, so that what was
changed there is changed in what comes back. It is read only when the caller asks for it (``restore=True``), and refused
where it says something else than the message around it.
"""

from __future__ import annotations

import hmac
from typing import Any

from turnwire.conversion.shapes import Fields, Path, parsed, shape_of, shown
from turnwire.errors import ConvertError, Reason, WireError
from turnwire.json import text as json_text
from turnwire.registry import encode


def bad_carry(wire: str, text: str) -> ConvertError:
    """The error for a carry that is damaged, or says something else than the message around it."""
    return ConvertError(Reason.BAD_CARRY, text, wire=wire)


def packed(
    source: str, fields: Fields, rest: list[Path], to: str, made: Fields, filled: list[Path], key: bytes | None
) -> Any:
    """The content of the extension place of ``to``; ``made`` is the message around it, ``rest`` what that does not
    say, and ``filled`` the paths there that the context filled."""
    told = {shown(path): fields[path] for path in rest}
    whole: dict[str, Any] = {"wire": source, "fields": [shown(path) for path in fields], "rest": told}
    if filled:
        whole["filled"] = [shown(path) for path in filled]
    if key is not None:
        whole["signature"] = _signature(whole, made, to, key)
    return json_text.write(whole) if shape_of(to).carry_text else whole


_SIGNED = "hmac-sha256:"


def _signature(whole: dict[str, Any], around: Fields, wire: str, key: bytes) -> str:
    """Over what is carried and the message around it: neither can be changed, nor put beside another."""
    unsigned = {name: value for name, value in whole.items() if name != "signature"}
    signed = json_text.write([unsigned, encode(shape_of(wire).join(around), strict=False)])
    return _SIGNED + hmac.new(key, signed.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def prove(whole: dict[str, Any], around: Fields, wire: str, to: str, key: bytes) -> None:
    """Raises ConvertError(bad_carry) if this is not signed with the key, together with the message around it."""
    given = whole.get("signature")
    if not isinstance(given, str) or not given.startswith(_SIGNED):
        raise bad_carry(to, "the embedded message is not signed")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), _signature(whole, around, wire, key).encode()):
        raise bad_carry(to, "the embedded message or the message around it does not match the signature")


def filled(whole: dict[str, Any]) -> frozenset[str]:
    """The paths of the carrying message that a context had filled."""
    listed = whole.get("filled", [])
    return frozenset(one for one in listed if isinstance(one, str)) if isinstance(listed, list) else frozenset()


def opened(fields: Fields, source: str, to: str) -> dict[str, Any] | None:
    """The carry, if it is of a message of ``to``; a field of that name that names no wire is like any other."""
    path = shape_of(source).carry
    whole: Any = None if path is None else fields.get(path)
    if isinstance(whole, str):
        try:
            whole = json_text.read_object(whole, to)
        except WireError:
            return None
    return whole if isinstance(whole, dict) and whole.get("wire") == to else None


def restored(carried: dict[str, Any], made: Fields, to: str) -> Fields:
    """The fields of the message that was carried; what it did not have to carry is in ``made``."""
    listed, rest = carried.get("fields"), carried.get("rest", {})
    if not isinstance(listed, list) or not listed or not isinstance(rest, dict):
        raise bad_carry(to, "the embedded part has neither a list of fields nor values")
    fields: Fields = {}
    for text in listed:
        if not isinstance(text, str):
            raise bad_carry(to, "the name of a field must be text")
        path = parsed(text)
        if text in rest:
            fields[path] = rest[text]
        elif path in made:
            fields[path] = made[path]
        else:
            raise bad_carry(to, f"{text} is neither embedded nor in the message")
    return fields


def joined(fields: Fields, to: str) -> Any:
    """The message of what was carried. Raises ConvertError(bad_carry) if these are the fields of none."""
    try:
        message = shape_of(to).join(fields)
        encode(message, strict=False)
    except WireError as error:
        raise bad_carry(to, f"the embedded message cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise bad_carry(to, f"the embedded message cannot be read: {error!r}") from None
    return message
