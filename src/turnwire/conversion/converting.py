"""``convert``: through the facts of the common model, with every field accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from turnwire.contract import WIRES, wire_package
from turnwire.conversion import carrying, faults
from turnwire.conversion.context import Context, Names
from turnwire.conversion.forms import FORMS
from turnwire.conversion.paths import ABSENT, Fields, Path, parsed, same, shown
from turnwire.conversion.shapes import SHAPES
from turnwire.conversion.tables import PLACES
from turnwire.errors import ConvertError, Reason
from turnwire.registry import encode, wire_of

_TIMES = frozenset({"sap_time", "iso_time"})
_FRESH = {("kick", ("id",)), ("sap", ("taskId",)), ("sap", ("correlationId",))}
"""Fields that ``Context.new_id`` may fill: the id of an envelope, and the ids of a Task."""


_NOTHING = Context()


class Converted(NamedTuple):
    """What a conversion gives.

    message: the message of the target. dropped: the path of every field of the source that the way back from the
    message alone would not bring back as it was, in the source's order, in the source's own names.
    """

    message: Any
    dropped: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether nothing was dropped."""
        return not self.dropped


def convert(message: Any, to: str, *, context: Context | None = None, carry: bool = False) -> Converted:
    """A message of one wire as a message of another.

    Args:
        message: a message of any wire.
        to: the name of the target wire.
        context: what the target needs and the source lacks, and which names are which numbers; see :class:`Context`.
        carry: put what is left over into the target's own extension place (SSTP: ``header.turnwire``; SAP:
            ``meta.turnwire``; KickLang: a section ``⫻turnwire/carry``), so that the way back gives the message itself.

    A message that carries one of the target wire gives that one back; its dropped fields are those that the carrying
    message had beyond it. Raises ConvertError: missing_field, with every missing field of the target in ``missing``; or
    the reason for which the target refuses a value; no_extension where ``carry`` is asked of nSLIP or CSP and
    something is left over; bad_carry; unknown_wire; wrong_type for what is no message. Raises EncodeError for a message
    that its own wire cannot write.
    """
    source = wire_of(message)
    if to not in WIRES:
        raise ConvertError(Reason.UNKNOWN_WIRE, f"{to!r} is no wire; the wires are {', '.join(WIRES)}")
    if source is None or not isinstance(message, _message_class(source)):
        raise ConvertError(Reason.WRONG_TYPE, f"a message is converted, not {type(message).__name__}", wire=to)
    if context is not None and not isinstance(context, Context):
        raise ConvertError(Reason.BAD_CONTEXT, f"a Context is needed, not {type(context).__name__}")
    encode(message, strict=False)
    if source == to:
        return Converted(message, ())
    names = (_NOTHING if context is None else context).names
    shape = SHAPES[source]
    fields = shape.split(message)
    carried = None if shape.carry is None else carrying.opened(fields.get(shape.carry), to)
    if carried is not None:
        plain = _NOTHING.names.surviving()  # as it was carried: no name means another one here
        made = carrying.restored(carried, survivors(to, facts_of(source, fields, plain), plain), to)
        fields = {path: value for path, value in fields.items() if path != shape.carry}
        return Converted(carrying.joined(made, to), _lost(source, fields, to, made, names))
    made = _drafted(to, facts_of(source, fields, names), names)
    if carry:
        return _with_carry(source, fields, to, made)
    result = _judged(to, made)
    return Converted(result, _lost(source, fields, to, made, names))


def _with_carry(source: str, fields: Fields, to: str, made: Fields) -> Converted:
    plain = _NOTHING.names.surviving()
    back = survivors(source, facts_of(to, made, plain), plain)
    if list(back) == list(fields) and all(same(back[path], value) for path, value in fields.items()):
        return Converted(_judged(to, made), ())
    place = SHAPES[to].carry
    if place is None:
        rest = [shown(path) for path, value in fields.items() if path not in back or not same(back[path], value)]
        raise faults.no_extension(to, rest or [shown(path) for path in back if path not in fields] or ["the order"])
    full = dict(made)
    full[place] = carrying.packed(source, fields, back, to)
    return Converted(_judged(to, full), ())


@cache
def _message_class(wire: str) -> type:
    package = wire_package(wire)
    if wire in ("sap", "sstp"):
        found: type = package.Task.__mro__[1] if wire == "sap" else package.Message
        return found
    names = {"nslip": "SlipMessage", "csp": "CspMessage", "kick": "Envelope"}
    cls: type = getattr(package, names[wire])
    return cls


@cache
def _places(wire: str, kind: str) -> tuple[tuple[Path, Any, str, str, str], ...]:
    return tuple((parsed(one.path), FORMS[one.form], one.fact, one.form, one.need) for one in PLACES[wire][kind])


def facts_of(wire: str, fields: Fields, names: Names) -> dict[str, Any]:
    """What the fields of a message say, in the common model."""
    shape = SHAPES[wire]
    act, kind = shape.kind(fields)
    facts: dict[str, Any] = {} if act is None else {"act": act}
    for path, form, fact, written, _ in _places(wire, kind):
        if fact and fact not in facts and path in fields and written != "content":
            value = fields[path]
            found = ABSENT if value is None else form.read(value, names, wire)
            if found is not ABSENT:
                facts[fact] = found
    return facts | shape.facts(fields, kind, names)


def survivors(wire: str, facts: dict[str, Any], names: Names) -> Fields:
    """The fields that the facts alone give, as far as they reach; nothing is asked of the caller."""
    fields, _ = _filled(wire, facts, names.surviving())
    return fields


def _filled(wire: str, facts: dict[str, Any], names: Names) -> tuple[Fields, list[Path]]:
    """The fields of a message of the wire, and the paths that it lacks."""
    act = facts.get("act")
    if act is None:
        return {}, [("act",)]
    kind, fixed = SHAPES[wire].begin(act, facts)
    fields = dict(fixed)
    needed = []
    for path, form, fact, written, need in _places(wire, kind):
        if need == "read" or path in fields:
            continue
        value = ABSENT
        if fact in facts and written != "content":
            value = form.write(facts[fact], names, wire)
        if value is ABSENT:
            value = _supplied(wire, kind, path, written, fact not in facts, names)
        if value is not ABSENT:
            fields[path] = value
        elif need == "must" and written != "content":
            needed.append(path)
    needed += SHAPES[wire].finish(fields, facts, names)
    return fields, [path for path in needed if path not in fields]


def _supplied(wire: str, kind: str, path: Path, form: str, absent: bool, names: Names) -> Any:
    """What the context has for a field; the time and fresh ids only where the source has none."""
    value = names.default(wire, kind, shown(path)) if names.supply else ABSENT
    if value is ABSENT and absent and form in _TIMES:
        value = names.now()
    fresh = (wire, path) in _FRESH and kind in ("", "Task")
    if value is ABSENT and fresh:
        value = names.new_id()
    return value


def _drafted(wire: str, facts: dict[str, Any], names: Names) -> Fields:
    fields, needed = _filled(wire, facts, names)
    if needed:
        raise faults.missing(wire, [shown(path) for path in needed])
    return fields


def _judged(wire: str, fields: Fields) -> Any:
    """The message of the fields, if strict writing takes it."""
    message = SHAPES[wire].join(fields)
    found = [issue for issue in wire_package(wire).check(message) if issue.severity != "info"]
    if found:
        where = [str(issue.where) for issue in found]
        text = "; ".join(f"{issue.where}: {issue.text}" for issue in found)
        raise ConvertError(found[0].reason, text, wire=wire, path=where[0], missing=where)
    return message


def _lost(source: str, fields: Fields, to: str, made: Fields, names: Names) -> tuple[str, ...]:
    """The fields that the way back does not bring back as they were."""
    back = survivors(source, facts_of(to, made, names), names)
    return tuple(shown(path) for path in _differing(fields, back, SHAPES[source].unseen))


def _differing(fields: Fields, back: Fields, unseen: frozenset[Path]) -> Iterator[Path]:
    for path, value in fields.items():
        if path not in unseen and not (path in back and same(back[path], value)):
            yield path
