"""nSLIP messages as fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwire.conversion.shapes import Fields, Path, Shape, nested
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.nslip import Act, FrameType, SlipMessage, Slot

_OWN = {kind.partition("/")[0]: act for kind, act in own_acts("nslip").items()}


_NUMBERS: tuple[Path, ...] = (("conv_id",), ("turn",), ("src",), ("dst",))
_SLOTS: dict[Any, Path] = {slot: ("slots", slot.name) for slot in Slot}
_SLOT_OF = {path: slot for slot, path in _SLOTS.items()}
_ACTS, _FRAMES = ({one: one.name for one in names} for names in (Act, FrameType))
_ACT, _FRAME, _EXTRA = ("act",), ("frame",), ("extra",)


def split(message: SlipMessage) -> Fields:
    """The numbers of the header, act and frame by name, ``slots.X``; kept fields are one."""
    numbers = message.conv_id, message.turn, message.src, message.dst
    fields: Fields = dict(zip(_NUMBERS, numbers, strict=True))
    frame: Any = message.frame
    fields[_ACT], fields[_FRAME] = _ACTS[message.act], _FRAMES.get(frame, frame)
    slots: Mapping[Any, Any] = message.slots
    for slot, value in slots.items():
        fields[_SLOTS.get(slot) or ("slots", slot)] = value
    if message.extra:
        fields[_EXTRA] = message.to_dict()["extra"]
    return fields


def join(fields: Fields) -> SlipMessage:
    """The message of its fields."""
    if not isinstance(fields[_FRAME], str) or _EXTRA in fields:
        return SlipMessage.from_dict(nested(fields))
    slots: dict[Slot, Any] = {_SLOT_OF[path]: value for path, value in fields.items() if path[0] == "slots"}
    conv_id, turn, src, dst = map(fields.__getitem__, _NUMBERS)
    return SlipMessage(conv_id, turn, src, dst, Act[fields[_ACT]], FrameType[fields[_FRAME]], slots)


def kind(fields: Fields) -> tuple[str | None, str]:
    """The act determines what the message does; the frame is only as good as the table's."""
    return _OWN[fields["act",]], ""


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """Act and frame."""
    name, _, frame = ACTS[act]["nslip"].kind.partition("/")
    return "", {("act",): name, ("frame",): frame}


SHAPE = Shape(split, join, kind, begin, PLACES["nslip"], tells=(("act",),), counts="conversation", finishes=frozenset())
