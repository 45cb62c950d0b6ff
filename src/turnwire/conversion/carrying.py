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

from turnwire.conversion.context import NO_CONTEXT
from turnwire.conversion.facts import Mapper, differing, mapper
from turnwire.conversion.shapes import Fields, Shape, parsed, shown
from turnwire.errors import ConvertError, Reason, WireError
from turnwire.json import text as json_text
from turnwire.registry import encode

_SIGNED = "hmac-sha256:"


def _bad_carry(wire: str, text: str) -> ConvertError:
    """The error for a carry that is damaged, or says something else than the message around it."""
    return ConvertError(Reason.BAD_CARRY, text, wire=wire)


def _plain(wire: str) -> Mapper:
    """A wire whose names mean themselves."""
    return mapper(wire, NO_CONTEXT.names)


def with_carry(source: Mapper, fields: Fields, target: Mapper, made: Fields, key: bytes | None) -> Fields:
    """The fields of the target with all that they do not say by themselves in its extension place."""
    back = _plain(source.wire).survivors(_plain(target.wire).facts(made))
    rest = differing(fields, back)
    if not rest and list(back) == list(fields):
        return made
    place = target.shape.carry
    if place is None:
        paths = list(map(shown, rest or [path for path in back if path not in fields])) or ["the order"]
        text = f"{target.wire} has no field in which to embed {', '.join(paths)}"
        raise ConvertError(Reason.NO_EXTENSION, text, wire=target.wire, missing=paths)
    told = {shown(path): fields[path] for path in rest}
    whole: dict[str, Any] = {"wire": source.wire, "fields": [shown(path) for path in fields], "rest": told}
    given = target.survivors(source.facts(fields))
    if filled := [shown(path) for path in made if path not in given]:
        whole["filled"] = filled
    if key is not None:
        whole["signature"] = _signature(whole, made, target.shape, key)
    return {**made, place: json_text.write(whole) if target.shape.carry_text else whole}


def _signature(whole: dict[str, Any], around: Fields, shape: Shape, key: bytes) -> str:
    """Over what is carried and the message around it: neither can be changed, nor put beside another."""
    unsigned = {name: value for name, value in whole.items() if name != "signature"}
    signed = json_text.write([unsigned, encode(shape.join(around), strict=False)])
    return _SIGNED + hmac.new(key, signed.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def restored(
    source: Mapper, fields: Fields, target: Mapper, nearest: bool, key: bytes | None
) -> tuple[Any, tuple[str, ...], tuple[str, ...]] | None:
    """The message that was carried, if it is what the message around it says, too, with the paths of that one that it
    drops, and those that a context had filled; None if none of the target's was carried: a field of that name is like
    any other."""
    to, place = target.wire, source.shape.carry
    whole: Any = None if place is None else fields.get(place)
    if isinstance(whole, str):
        try:
            whole = json_text.read_object(whole, to)
        except WireError:
            return None
    if not isinstance(whole, dict) or whole.get("wire") != to:
        return None
    around = {path: value for path, value in fields.items() if path != place}
    if key is not None:
        given = whole.get("signature")
        if not isinstance(given, str) or not given.startswith(_SIGNED):
            raise _bad_carry(to, "the embedded message is not signed")
        right = _signature(whole, around, source.shape, key)
        if not hmac.compare_digest(given.encode("utf-8", "replace"), right.encode()):
            raise _bad_carry(to, "the embedded message or the message around it does not match the signature")
    # As it was carried: no name means another one here.
    message = _joined(whole, _plain(to).survivors(_plain(source.wire).facts(around)), target)
    made = target.shape.split(message)
    if key is None:
        _check_carried(source, around, target, made, nearest)
    lost, listed = source.lost(around, target.facts(made)), whole.get("filled")
    filled = {path for path in listed if isinstance(path, str)} if isinstance(listed, list) else set()
    if key is not None:  # nothing was added since it was signed
        filled = set(lost)
    dropped = tuple(path for path in lost if path not in filled)
    return message, dropped, tuple(path for path in lost if path in filled)


def _joined(whole: dict[str, Any], made: Fields, target: Mapper) -> Any:
    """The message that was carried; what it did not have to carry is in ``made``."""
    to, listed, rest = target.wire, whole.get("fields"), whole.get("rest", {})
    if not isinstance(listed, list) or not listed or not isinstance(rest, dict):
        raise _bad_carry(to, "the embedded part has neither a list of fields nor values")
    fields: Fields = {}
    for text in listed:
        if not isinstance(text, str):
            raise _bad_carry(to, "the name of a field must be text")
        path = parsed(text)
        if text not in rest and path not in made:
            raise _bad_carry(to, f"{text} is neither embedded nor in the message")
        fields[path] = rest[text] if text in rest else made[path]
    try:
        message = target.shape.join(fields)
        encode(message, strict=False)
    except WireError as error:
        raise _bad_carry(to, f"the embedded message cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _bad_carry(to, f"the embedded message cannot be read: {error!r}") from None
    return message


def _check_carried(source: Mapper, around: Fields, target: Mapper, made: Fields, nearest: bool) -> None:
    """Refuses a carried message that would not have been written as the message around it: whoever reads that one
    must not be told something else. Its place in the sequence says nothing of what it does."""
    to, facts, seen = target.wire, target.facts(made), source.facts(around)
    if facts.get("act") not in source.acts:
        raise _bad_carry(to, f"the embedded part is not a {source.shape.kind_name(around)}")
    if "sequence" in facts and "sequence" in seen:
        facts["sequence"] = seen["sequence"]
    forth = source.survivors(facts)
    for path in differing(forth, around):
        text = f"{shown(path)} is {around.get(path, 'not there')!r}, and for what was carried it would be"
        raise _bad_carry(to, f"{text} {forth[path]!r}: only the original context or a signature can prove it")
    near = source.near(forth, facts, source.facts(forth))
    if near is not None and not nearest:
        raise _bad_carry(to, f"the embedded part is not a {near}; nearest=True uses it")
