"""``convert``: through the facts of the common model, with every field accounted for."""

from __future__ import annotations

from types import NoneType
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.conversion import carrying
from turnwire.conversion.carrying import bad_carry
from turnwire.conversion.context import Context, Names, bad_context
from turnwire.conversion.facts import Mapper, differing, mapper, meaning
from turnwire.conversion.shapes import Facts, Fields, pointed, shown
from turnwire.conversion.tables import GRAVE
from turnwire.errors import ConvertError, DecodeError, Issue, Reason, expect
from turnwire.registry import wire_of

_NOTHING = Context()


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
    found = restored(reader, fields, target, options)
    return written(reader, fields, target, reader.facts(fields), options)[0] if found is None else found


def names_of(context: Context | None) -> Names:
    """The names of a context. Raises ConvertError(bad_context) for what is none."""
    if context is not None and not isinstance(context, Context):
        raise bad_context(f"expected a Context, not {type(context).__name__}")
    return (_NOTHING if context is None else context).names


def reader_of(message: Any, to: str, names: Names) -> Mapper | None:
    """The mapper of the wire of a message, None for a message of ``to``. Raises ConvertError: wrong_type for what is no
    message, no_counterpart where its wire does not say what its fields mean."""
    source = wire_of(message)
    wire = None if source is None else registry.wire(source)
    if wire is None or not isinstance(message, wire.message):
        raise ConvertError(Reason.WRONG_TYPE, f"convert expects a message, not {type(message).__name__}", wire=to)
    wire.text(message)  # raises for a message that cannot be written
    if wire.name == to:
        return None
    if not wire.has("shape"):
        text = f"{source} does not define the meaning of its fields (Wire.shape), so it cannot be converted"
        raise ConvertError(Reason.NO_COUNTERPART, text, wire=to)
    return mapper(wire.name, names)


def written(
    source: Mapper, fields: Fields, target: Mapper, facts: Facts, options: ConvertOptions
) -> tuple[Converted, Facts, list[Issue]]:
    """The message of the target that says the facts of a message, the facts that it says, and its issues."""
    if not target.knows(facts):
        raise _no_counterpart(source, fields, target, facts, None)
    form = target.kinds.get(facts["act"])
    if form is not None and not form.own and not options.nearest:  # before its fields are asked for
        raise _no_counterpart(source, fields, target, facts, form.kind)
    made = target.whole(facts)
    said = target.facts(made)
    near = _near(target, made, facts, said)
    if near is not None and not options.nearest:
        closed = form.kind if form is not None and target.shape.near(made) is not None else None
        raise _no_counterpart(source, fields, target, facts, near, closed)
    dropped: tuple[str, ...] = ()
    if options.carry:
        made = _with_carry(source, fields, target, made, options.key)
    else:
        dropped = source.lost(fields, said, not options.terse)
    message, issues = checked(target, made)
    return Converted(message, dropped, (), near), said, issues


def _near(target: Mapper, made: Fields, facts: Facts, said: Facts) -> str | None:
    """The kind of a message that means something else than the facts say, or None if it means the same. said: the
    facts that the message says."""
    shape = target.shape
    if not target.kinds and shape.begin(facts["act"], facts) == ("", {}):  # it does not state its act, only loses it
        return None if facts["act"] not in GRAVE else shape.kind_name(made)
    near = shape.near(made)
    if near is not None:
        return near
    meant = meaning(facts)
    alike = meaning(said) == meant
    if not alike and "status" not in facts:  # where there is one, the context gave it
        alike = meaning({fact: value for fact, value in said.items() if fact != "status"}) == meant
    return None if alike else shape.kind_name(made)


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


def _with_carry(source: Mapper, fields: Fields, target: Mapper, made: Fields, key: bytes | None) -> Fields:
    """The fields of the target with all that they do not say by themselves in its extension place."""
    to = target.wire
    back = mapper(source.wire, _NOTHING.names).survivors(mapper(to, _NOTHING.names).facts(made))
    rest = differing(fields, back)
    if not rest and list(back) == list(fields):
        return made
    place = target.shape.carry
    if place is None:
        paths = list(map(shown, rest or [path for path in back if path not in fields])) or ["the order"]
        text = f"{to} has no field in which to embed {', '.join(paths)}"
        raise ConvertError(Reason.NO_EXTENSION, text, wire=to, missing=paths)
    given = target.survivors(source.facts(fields))
    filled = [path for path in made if path not in given]
    return {**made, place: carrying.packed(source.wire, fields, rest, to, made, filled, key)}


def restored(source: Mapper, fields: Fields, target: Mapper, options: ConvertOptions) -> Converted | None:
    """The message that was carried, if it is what the message around it says, too; None if none was, or is wanted."""
    to = target.wire
    carried = carrying.opened(fields, source.wire, to) if options.restore else None
    if carried is None:
        return None
    around = {path: value for path, value in fields.items() if path != source.shape.carry}
    if options.key is not None:
        carrying.prove(carried, around, source.wire, to, options.key)
    # As it was carried: no name means another one here.
    said = mapper(source.wire, _NOTHING.names).facts(around)
    made = carrying.restored(carried, mapper(to, _NOTHING.names).survivors(said), to)
    message = carrying.joined(made, to)
    made = target.shape.split(message)
    if options.key is None:
        _check_carried(source, around, target, made, options.nearest)
    lost = source.lost(around, target.facts(made))
    filled = carrying.filled(carried) if options.key is None else lost  # nothing was added since it was signed
    dropped = tuple(path for path in lost if path not in filled)
    return Converted(message, dropped, tuple(path for path in lost if path in filled))


def _check_carried(source: Mapper, around: Fields, target: Mapper, made: Fields, nearest: bool) -> None:
    """Refuses a carried message that would not have been written as the message around it: whoever reads that one
    must not be told something else. Its place in the sequence says nothing of what it does."""
    to, facts, seen = target.wire, target.facts(made), source.facts(around)
    if not source.knows(facts):
        raise bad_carry(to, f"the embedded part is not a {source.shape.kind_name(around)}")
    if "sequence" in facts and "sequence" in seen:
        facts["sequence"] = seen["sequence"]
    forth = source.survivors(facts)
    for path in differing(forth, around):
        text = f"{shown(path)} is {around.get(path, 'not there')!r}, and for what was carried it would be"
        raise bad_carry(to, f"{text} {forth[path]!r}: only the original context or a signature can prove it")
    near = _near(source, forth, facts, source.facts(forth))
    if near is not None and not nearest:
        raise bad_carry(to, f"the embedded part is not a {near}; nearest=True uses it")


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
