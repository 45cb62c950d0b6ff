"""nSLIP messages as fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwire.conversion.shapes import Fields, Path, Shape, nested
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.nslip import Act, FrameType, SlipMessage, Slot

_OWN = {kind.partition("/")[0]: act for kind, act in own_acts("nslip").items()}


_NUMBERS: tuple[Path, ...] = (("conv_id",), ("turn",), ("src",), ("dst",))


def split(message: SlipMessage) -> Fields:
    """The numbers of the header, act and frame by name, ``slots.X``; kept fields are one."""
    fields: Fields = {path: getattr(message, path[0]) for path in _NUMBERS}
    fields["act",], fields["frame",] = message.act.name, getattr(message.frame, "name", message.frame)
    slots: Mapping[Any, Any] = message.slots
    fields |= {("slots", getattr(slot, "name", slot)): value for slot, value in slots.items()}
    if message.extra:
        fields["extra",] = message.to_dict()["extra"]
    return fields


def join(fields: Fields) -> SlipMessage:
    """The message of its fields."""
    if not isinstance(fields["frame",], str) or ("extra",) in fields:
        return SlipMessage.from_dict(nested(fields))
    slots: dict[Slot, Any] = {Slot[path[1]]: value for path, value in fields.items() if path[0] == "slots"}
    conv_id, turn, src, dst = (fields[name,] for name in ("conv_id", "turn", "src", "dst"))
    return SlipMessage(conv_id, turn, src, dst, Act[fields["act",]], FrameType[fields["frame",]], slots)


def kind(fields: Fields) -> tuple[str | None, str]:
    """The act tells what the message does; the frame is only as good as the table's."""
    return _OWN[fields["act",]], ""


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """Act and frame."""
    name, _, frame = ACTS[act]["nslip"].kind.partition("/")
    return "", {("act",): name, ("frame",): frame}


SHAPE = Shape(split, join, kind, begin, PLACES["nslip"], tells=(("act",),), counts="conversation")
