"""nSLIP messages as fields."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.shapes import Fields, Shape
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.nslip import Act, Extra, FrameType, SlipMessage, Slot

_OWN = {kind.partition("/")[0]: act for kind, act in own_acts("nslip").items()}


def split(message: SlipMessage) -> Fields:
    """Act and frame by name, the numbers of the header, ``slots.X``, ``extra.x``."""
    frame: Any = message.frame
    fields: Fields = {("act",): Act(message.act).name, ("frame",): getattr(frame, "name", frame)}
    for name in ("conv_id", "turn", "src", "dst"):
        fields[name,] = getattr(message, name)
    for slot, value in message.slots.items():
        fields["slots", Slot(slot).name] = value
    before = getattr(message.extra, "before", {})
    for prefix, value in (message.extra or {}).items():
        place = before.get(prefix)
        fields["extra", prefix] = value if place is None else {"value": value, "before": place}
    return fields


def join(fields: Fields) -> SlipMessage:
    """The message of its fields."""
    slots: dict[Slot, Any] = {}
    extra = Extra()
    for path, value in fields.items():
        if path[0] == "slots":
            slots[Slot[path[1]]] = value
        elif path[0] == "extra" and isinstance(value, dict):
            extra[path[1]] = value["value"]
            extra.before[path[1]] = value["before"]
        elif path[0] == "extra":
            extra[path[1]] = value
    frame: Any = fields["frame",]
    conv_id, turn, src, dst = (fields[name,] for name in ("conv_id", "turn", "src", "dst"))
    if isinstance(frame, str):
        frame = FrameType[frame]
    return SlipMessage(conv_id, turn, src, dst, Act[fields["act",]], frame, slots, extra=extra or None)


def kind(fields: Fields) -> tuple[str | None, str]:
    """The act tells what the message does; the frame is only as good as the table's."""
    return _OWN[fields["act",]], ""


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """Act and frame."""
    name, _, frame = ACTS[act]["nslip"].kind.partition("/")
    return "", {("act",): name, ("frame",): frame}


SHAPE = Shape(split, join, kind, begin, PLACES["nslip"], tells=(("act",),), counts="conversation")
