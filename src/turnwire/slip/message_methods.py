"""The rare methods of SlipMessage, once for both twins: the native and the pure class delegate to these functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, Reason
from turnwire.slip.spec import WIRE, Act, Extra, FrameType, Slot

if TYPE_CHECKING:
    from turnwire.slip.messages import SlipMessage

FIELDS = ("conv_id", "turn", "src", "dst", "act", "frame", "slots")


def state(message: SlipMessage) -> tuple[Any, ...]:
    """The seven fields and ``extra``, in the order of the constructor."""
    return (*(getattr(message, name) for name in FIELDS), message.extra)


def represent(message: SlipMessage) -> str:
    """The repr of slipcore 0.1.0; ``extra`` is shown only where there is one."""
    act = getattr(message.act, "name", message.act)
    frame = getattr(message.frame, "name", message.frame)
    extra = f" extra={dict(message.extra)}" if message.extra else ""
    return (
        f"<SlipMessage conv={message.conv_id} turn={message.turn} src={message.src} dst={message.dst} "
        f"act={act} frame={frame} slots={message.slots}{extra}>"
    )


def equal(left: SlipMessage, right: object) -> bool:
    """Whether all fields are equal; slots compare as dicts do, without their order."""
    if type(left) is not type(right):
        return NotImplemented
    return state(left) == state(right)  # type: ignore[arg-type]


def replace(message: SlipMessage, changes: dict[str, Any]) -> SlipMessage:
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


def from_dict(cls: type[SlipMessage], fields: Mapping[str, Any]) -> SlipMessage:
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
    extra = Extra()
    for item in fields.get("extra") or ():
        extra[item["prefix"]] = item["value"]
        if item.get("before") is not None:
            extra.before[item["prefix"]] = item["before"]
    frame: Any = fields["frame"]
    if not ("f" in extra and isinstance(frame, int)):
        frame = _member(FrameType, frame, Reason.UNKNOWN_FRAME, "/frame")
    return cls(
        *(fields[name] for name in FIELDS[:4]),
        _member(Act, fields["act"], Reason.UNKNOWN_ACT, "/act"),
        frame,
        {_member(Slot, key, Reason.UNKNOWN_SLOT, f"/slots/{key}"): value for key, value in slots.items()},
        extra=extra or None,
    )


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

    The import of ``dataclasses`` costs more than all of turnwire; nobody pays it who does not use it.
    """

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        from dataclasses import field, make_dataclass

        template = make_dataclass(
            "SlipMessage",
            [
                *((name, int) for name in FIELDS[:4]),
                ("act", Act),
                ("frame", FrameType),
                ("slots", dict, field(default_factory=dict)),
            ],
        )
        fields: dict[str, Any] = template.__dataclass_fields__
        return fields


def shallow_copy(message: SlipMessage) -> SlipMessage:
    """What ``copy.copy`` does to a dataclass: the same slots dict in a second message."""
    *fields, extra = state(message)
    return type(message)(*fields, extra=extra)


def deep_copy(message: SlipMessage, memo: dict[int, Any]) -> SlipMessage:
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
        from turnwire.slip.messages import SlipMessage as cls  # noqa: N813
    *values, extra = fields
    return cls(*values, extra=extra)
