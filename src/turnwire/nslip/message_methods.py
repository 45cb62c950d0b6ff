"""The rare methods of SlipMessage, once for both twins: the native and the pure class delegate to these functions."""

from __future__ import annotations

from collections.abc import Mapping

from turnwire.errors import DecodeError, Reason
from turnwire.nslip.spec import WIRE, Act, Extra, FrameType, Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from turnwire.nslip.codec import SlipMessage

    Message = TypeVar("Message", bound=SlipMessage)

FIELDS = ("conv_id", "turn", "src", "dst", "act", "frame", "slots")


def missing_arguments(given: tuple[bool, ...]) -> TypeError:
    """The error that Python raises for a call that lacks required fields, of which the first six are; they are
    named."""
    names = [repr(name) for name, there in zip(FIELDS, given, strict=False) if not there]
    *most, last = names
    text = f"{', '.join(most)}{',' * (len(most) > 1)} and {last}" if most else last
    plural = "s" * (len(names) > 1)
    return TypeError(f"SlipMessage.__init__() missing {len(names)} required positional argument{plural}: {text}")


def undeletable(name: str) -> AttributeError:
    """The error of ``del message.src``: a message has all of its fields, always."""
    return AttributeError(f"a field of a SlipMessage cannot be deleted: {name!r}")


def state(message: SlipMessage) -> tuple[Any, ...]:
    """The seven fields and ``extra``, in the order of the constructor."""
    extra = message.extra
    return (*(getattr(message, name) for name in FIELDS), Extra() if extra is None else extra)


def represent(message: SlipMessage) -> str:
    """The repr of slipcore 0.1.0; ``extra`` is shown only where there is one."""
    act = getattr(message.act, "name", message.act)
    frame = getattr(message.frame, "name", message.frame)
    extra = f" extra={dict(message.extra)}" if message.extra else ""
    return (
        f"<SlipMessage conv={message.conv_id} turn={message.turn} src={message.src} dst={message.dst} "
        f"act={act} frame={frame} slots={message.slots}{extra}>"
    )


def html(message: SlipMessage) -> str:
    """The HTML that a notebook shows of a message."""
    from turnwire.showing import fields

    shown = [(name, getattr(message, name)) for name in FIELDS]
    return fields(type(message).__name__, [*shown, *([("extra", dict(message.extra))] if message.extra else [])])


def equal(left: SlipMessage, right: object) -> bool:
    """True if all fields are equal; slots compare as dicts do, without their order."""
    if type(left) is not type(right):
        return NotImplemented  # type: ignore[no-any-return]
    return state(left) == state(right)


def replace(message: Message, changes: dict[str, Any]) -> Message:
    """A copy with some fields replaced. ``slots`` and ``extra`` are copied, so that the two share nothing."""
    values = {name: getattr(message, name) for name in FIELDS}
    values["slots"] = dict(message.slots)
    values["extra"] = copy_extra(message.extra)
    unknown = changes.keys() - values.keys()
    if unknown:
        raise TypeError(f"SlipMessage has no field {sorted(unknown)[0]!r}")
    return type(message)(**{**values, **changes})


def copy_extra(extra: Any) -> Any:
    """A copy of ``extra`` with its positions."""
    if not isinstance(extra, Extra):
        return dict(extra) if extra else extra
    result = Extra(extra)
    result.before = dict(extra.before)
    return result


def to_dict(message: SlipMessage) -> dict[str, Any]:
    """A plain JSON-able dict: ints, names of act and frame, ``slots`` by name; ``extra`` only where there is one."""
    result: dict[str, Any] = {name: getattr(message, name) for name in FIELDS[:4]}
    result["act"] = getattr(message.act, "name", message.act)
    result["frame"] = getattr(message.frame, "name", message.frame)
    result["slots"] = {getattr(slot, "name", slot): value for slot, value in message.slots.items()}
    if message.extra:
        result["extra"] = [
            {"prefix": prefix, "value": value, "before": getattr(message.extra, "before", {}).get(prefix)}
            for prefix, value in message.extra.items()
        ]
    return result


def from_dict(cls: type[Message], fields: Mapping[str, Any]) -> Message:
    """The message of ``to_dict``; names and codes are both taken for act, frame and slots.

    Raises DecodeError(missing_field|unknown_act|unknown_frame|unknown_slot|wrong_type) with the field in ``path``.
    """
    if not isinstance(fields, Mapping):
        raise _fault(Reason.WRONG_TYPE, "a mapping is needed", "")
    for name in FIELDS[:6]:
        if name not in fields:
            raise _fault(Reason.MISSING_FIELD, f"{name} is required", f"/{name}")
    unknown = fields.keys() - set(FIELDS) - {"extra"}
    if unknown:
        name = min(map(str, unknown))
        raise _fault(Reason.UNKNOWN_SLOT, f"a message has no field {name!r}", f"/{name}")
    slots = fields.get("slots") or {}
    if not isinstance(slots, Mapping):
        raise _fault(Reason.WRONG_TYPE, "slots is a mapping", "/slots")
    extra = _extra_from(fields.get("extra") or ())
    frame: Any = fields["frame"]
    if not ("f" in extra and isinstance(frame, int)):
        frame = _member(FrameType, frame, Reason.UNKNOWN_FRAME, "/frame")
    conv_id, turn, src, dst = (fields[name] for name in FIELDS[:4])
    return cls(
        conv_id,
        turn,
        src,
        dst,
        _member(Act, fields["act"], Reason.UNKNOWN_ACT, "/act"),
        frame,
        {_member(Slot, key, Reason.UNKNOWN_SLOT, f"/slots/{key}"): value for key, value in slots.items()},
        extra=extra or None,
    )


def _extra_from(items: Any) -> Extra:
    """The kept fields of ``to_dict``; what is in them is judged when the message is encoded."""
    if not isinstance(items, (list, tuple)):
        raise _fault(Reason.WRONG_TYPE, "extra is a list", "/extra")
    extra = Extra()
    for index, item in enumerate(items):
        path = f"/extra/{index}"
        if not isinstance(item, Mapping):
            raise _fault(Reason.WRONG_TYPE, "a kept field is a mapping", path)
        prefix, value, before = item.get("prefix"), item.get("value"), item.get("before")
        if prefix is None or value is None:
            raise _fault(Reason.MISSING_FIELD, "a kept field has a prefix and a value", path)
        if not (isinstance(prefix, str) and isinstance(value, str)):
            raise _fault(Reason.WRONG_TYPE, "prefix and value are strings", path)
        if prefix in extra:
            raise _fault(Reason.DUPLICATE, f"the field {prefix} appears twice", path)
        extra[prefix] = value
        if before is not None:
            if not isinstance(before, int) or isinstance(before, bool):
                raise _fault(Reason.WRONG_TYPE, "before is an integer", path)
            extra.before[prefix] = before
    return extra


def _member(enum: Any, value: Any, reason: Reason, path: str) -> Any:
    try:
        if isinstance(value, str):
            return enum[value]
        if isinstance(value, int) and not isinstance(value, bool):
            return enum(value)
    except (KeyError, ValueError):
        pass
    raise _fault(reason, f"{value!r} is none of {', '.join(enum.__members__)}", path)


def _fault(reason: Reason, text: str, path: str) -> DecodeError:
    return DecodeError(reason, text, wire=WIRE, path=path or None)


class DataclassFields:
    """``__dataclass_fields__``, made when first asked for, so that ``dataclasses.replace`` and ``asdict`` work.

    The seven fields are those of slipcore 0.1.0. ``extra`` is an InitVar beside them: ``fields`` and ``asdict`` do not
    see it, and ``replace`` hands it on.

    The import of ``dataclasses`` costs more than all of turnwire; nobody pays it who does not use it.
    """

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        from dataclasses import InitVar, make_dataclass

        template = make_dataclass(
            "SlipMessage",
            [
                *((name, int) for name in FIELDS[:4]),
                ("act", Act),
                ("frame", FrameType),
                ("slots", dict),
                ("extra", InitVar, None),
            ],
        )
        fields: dict[str, Any] = vars(template)["__dataclass_fields__"]
        return fields


def shallow_copy(message: Message) -> Message:
    """The copy that ``copy.copy`` makes of a dataclass: the same slots dict in a second message."""
    *fields, extra = state(message)
    return type(message)(*fields, extra=extra)


def deep_copy(message: Message, memo: dict[int, Any]) -> Message:
    """A copy that shares nothing."""
    from copy import deepcopy

    *fields, extra = deepcopy(state(message), memo)
    return type(message)(*fields, extra=extra)


def reduce(message: SlipMessage, base: type) -> tuple[Any, ...]:
    """For pickle. A plain message names no class, so that native pickles load where turnwire is pure and back."""
    cls = None if type(message) is base else type(message)
    return rebuild, (cls, *state(message))


def rebuild(cls: type[SlipMessage] | None, *fields: Any) -> SlipMessage:
    """The other half of :func:`reduce`."""
    if cls is None:
        from turnwire.nslip.codec import SlipMessage

        cls = SlipMessage
    *values, extra = fields
    return cls(*values, extra=extra)
