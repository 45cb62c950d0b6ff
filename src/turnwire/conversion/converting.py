"""``convert``: through the facts of the common model, with every field accounted for.

With ``carry=True`` what the target cannot say is embedded in its message, so that converting back is exact. The part is
one JSON object: ``wire`` (of the message it comes from), ``fields`` (every path of that message, in order) and ``rest``
(path -> value of those that the carrying message does not say by itself), with ``filled`` (paths of the carrying
message that a context gave) and ``signature``. The others are read from the carrying message, so that what was changed
there is changed in what comes back. It is read only when the caller asks for it (``restore=True``), and refused where
it says something else than the message around it.
"""

from __future__ import annotations

import hmac
from types import NoneType
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.conversion.context import NO_CONTEXT, Context, Names, bad_context
from turnwire.conversion.facts import Mapper, differing, mapper, meaning
from turnwire.conversion.shapes import Facts, Fields, Shape, parsed, pointed, shown
from turnwire.errors import ConvertError, DecodeError, Issue, Reason, WireError, expect
from turnwire.json import text as json_text
from turnwire.registry import encode, wire_of


class Converted(NamedTuple):
    """The result of a conversion.

    message: the message of the target. dropped: the path of every field of the source that converting back from the
    message alone would not restore, in the source's order and names. surplus: for a restored message, the fields of
    the carrying message that a context had filled in. nearest: the kind that replaced one without a counterpart, or
    None.
    """

    message: Any
    dropped: tuple[str, ...]
    surplus: tuple[str, ...] = ()
    nearest: str | None = None

    @property
    def exact(self) -> bool:
        """True if the message has all that its source had, and nothing else."""
        return not self.dropped and self.nearest is None


class ConvertOptions(NamedTuple):
    """The ways to convert; see :func:`convert`; terse: one dropped field is enough."""

    carry: bool = False
    nearest: bool = False
    restore: bool = False
    key: bytes | None = None
    terse: bool = False


def convert(
    message: Any,
    to: str,
    *,
    context: Context | None = None,
    carry: bool = False,
    nearest: bool = False,
    restore: bool = False,
    key: bytes | None = None,
) -> Converted:
    """Converts a message to another wire.

    Args:
        message: a message of any wire.
        to: the name of the target wire.
        context: values that the target needs and the source lacks, and mappings of names to numbers; see
            :class:`Context`. It never replaces values of the source.
        carry: embed fields that the target cannot express in its extension field (SSTP: ``header.turnwire``; SAP:
            ``meta.turnwire``; KickLang: a section ``⫻turnwire/carry``), so that converting back gives the same message.
        nearest: if the message's act has no counterpart, use the nearest kind, and name it.
        restore: return the embedded message of the target wire; the surplus lists the other fields of the carrying
            message. By default an embedded message is a field like any other.
        key: signs the embedded message and the message around it (HMAC-SHA-256), and verifies them on restoring.

    Raises ConvertError: no_counterpart, with the target's kinds in ``there`` and the nearest in ``nearest``;
    missing_field, with every missing field of the target in ``missing``; the reason why the target rejects a value;
    no_extension if ``carry`` would have to embed something in nSLIP or CSP; bad_carry if the embedded message is
    damaged, contradicts the message around it, or is not signed with ``key``; unknown_wire; wrong_type for an object
    that is not a message. Raises EncodeError for a message that its own wire cannot write.
    """
    expect(key, (bytes, NoneType), "a key must be bytes")
    options = ConvertOptions(carry, nearest, restore, key)
    return converted(message, registry.wire(to).name, names_of(context), options)


def converted(message: Any, to: str, names: Names, options: ConvertOptions) -> Converted:
    """The message as one of ``to`` by itself, by these names."""
    reader = reader_of(message, to, names)
    if reader is None:
        return Converted(message, ())
    fields, target = reader.shape.split(message), mapper(to, names)
    if options.restore and (found := restored(reader, fields, target, options.nearest, options.key)) is not None:
        return Converted(*found)
    return written(reader, fields, target, reader.facts(fields), options)[0]


def names_of(context: Context | None) -> Names:
    """The names of a context. Raises ConvertError(bad_context) for what is none."""
    if context is not None and not isinstance(context, Context):
        raise bad_context(f"expected a Context, not {type(context).__name__}")
    return (NO_CONTEXT if context is None else context).names


def reader_of(message: Any, to: str, names: Names) -> Mapper | None:
    """The mapper of the wire of a message, None for a message of ``to``. Raises ConvertError: wrong_type for what is no
    message, no_counterpart where its wire does not say what its fields mean."""
    found: Mapper | None = names.mappers.get(type(message))
    if found is None or registry.wire(found.wire) is not found.described:
        source = wire_of(message)
        wire = None if source is None else registry.wire(source)
        if wire is None or not isinstance(message, wire.message):
            raise ConvertError(Reason.WRONG_TYPE, f"convert expects a message, not {type(message).__name__}", wire=to)
        if not wire.has("shape"):
            wire.text(message)
            if wire.name == to:
                return None
            text = f"{source} does not define the meaning of its fields (Wire.shape), so it cannot be converted"
            raise ConvertError(Reason.NO_COUNTERPART, text, wire=to)
        found = names.mappers[type(message)] = mapper(wire.name, names)
    found.described.text(message)  # raises for a message that cannot be written
    return None if found.wire == to else found


def written(
    source: Mapper, fields: Fields, target: Mapper, facts: Facts, options: ConvertOptions
) -> tuple[Converted, Facts, list[Issue]]:
    """The message of the target that says the facts of a message, the facts that it says, and its issues."""
    act: Any = facts.get("act")
    form = target.kinds.get(act)
    if act not in target.acts or not (form is None or form.own or options.nearest):  # before its fields are asked for
        raise _no_counterpart(source, fields, target, facts, form and form.kind)
    made = target.whole(facts)
    said = target.facts(made)
    near = target.near(made, facts, said)
    if near is not None and not options.nearest:
        closed = form.kind if form is not None and target.shape.near(made) is not None else None
        raise _no_counterpart(source, fields, target, facts, near, closed)
    dropped: tuple[str, ...] = ()
    if options.carry:
        made = with_carry(source, fields, target, made, options.key)
    else:
        dropped = source.lost(fields, said, not options.terse)
    message, issues = checked(target, made)
    return Converted(message, dropped, (), near), said, issues


def _no_counterpart(
    source: Mapper, fields: Fields, target: Mapper, facts: Facts, nearest: str | None, closed: str | None = None
) -> ConvertError:
    """The error for an act of which the target has no kind, with the nearest; closed: or the kind of the target that
    is not for this sender and receiver."""
    shape, to = source.shape, target.wire
    act, status = meaning(facts)
    named = shape.kind_name(fields) + (f" ({act}{f', {status}' if status else ''})" if act else "")
    there = target.named_kinds
    near = f"the nearest is {nearest}, which nearest=True uses" if nearest else "there is no nearest kind"
    if closed is not None:
        near = f"{closed} is not allowed between this sender and receiver (set their roles in the context); {near}"
    kinds = f"{to} has {', '.join(there)}; " if there else ""
    text = f"{named} has no counterpart in {to}: {kinds}{near}"
    path = shape.kind_path
    return ConvertError(Reason.NO_COUNTERPART, text, wire=to, path=path, missing=[path], there=there, nearest=nearest)


def checked(target: Mapper, fields: Fields) -> tuple[Any, list[Issue]]:
    """Returns the message with these fields, if strict writing accepts it, and its issues."""
    wire = target.wire
    try:
        message = target.shape.join(fields)
    except DecodeError as error:  # what a context gave has another type
        path = pointed(error.path or "")
        raise ConvertError(error.reason, f"{path}: {error.text}", wire=wire, path=path, missing=[path]) from None
    issues = target.described.check(message)
    found = [issue for issue in issues if issue.severity != "info"] if issues else None
    if found:
        where = [pointed(str(issue.where)) for issue in found]
        text = "; ".join(f"{place}: {issue.text}" for place, issue in zip(where, found, strict=True))
        raise ConvertError(found[0].reason, text, wire=wire, path=where[0], missing=where)
    return message, issues


# --- what a message carries of another ---

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
