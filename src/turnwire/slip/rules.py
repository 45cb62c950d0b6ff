"""What is doubtful about an nSLIP message, and the message that announces a schema version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.errors import EncodeError, Issue, Reason
from turnwire.slip.spec import HEADER, SCHEMA_VERSION, SHORT_STRING, Act, Extra, FrameType, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnwire.slip.messages import SlipMessage

__all__ = ["announce", "announced", "check"]

_core: Any = _backend.load("nslip")
_BLANK = (0, 0, 0, 0, Act.OBSERVE, FrameType.TASK)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def check(message: SlipMessage) -> list[Issue]:
    """What is doubtful about a message, field by field; an empty list for a good one. ``where`` is a JSON pointer.

    * "warning", with the reason of ``encode``: a field that ``encode`` refuses.
    * "info" ``long_string``: a string over 64 characters; large artifacts live in stores, by id (section 2). It is
      no warning, because writing takes it.
    * "info" ``unknown_slot``, ``unknown_frame``: what ``unknown="keep"`` kept (section 6).
    """
    issues = list(_refusals(message))
    slots = message.slots if isinstance(message.slots, dict) else {}
    for slot, value in slots.items():
        if isinstance(value, str) and len(value) > SHORT_STRING:
            issues.append(_long(value, f"/slots/{_name(slot)}"))
    extra = message.extra if isinstance(message.extra, dict) else {}
    for prefix, value in extra.items():
        if prefix == "f":
            if message.frame not in FrameType.__members__.values():
                issues.append(Issue(Reason.UNKNOWN_FRAME, "/frame", "info", f"frame {value} is kept as it was read"))
            continue
        issues.append(Issue(Reason.UNKNOWN_SLOT, f"/extra/{prefix}", "info", f"slot {prefix} is kept as it was read"))
        text = _ESCAPE.sub(r"\1", value[1:-1]) if isinstance(value, str) and value[:1] == '"' else ""
        if len(text) > SHORT_STRING:
            issues.append(_long(text, f"/extra/{prefix}"))
    return issues


def _refusals(message: SlipMessage) -> Iterator[Issue]:
    """What ``encode`` says of each field when all the others are good."""
    for place, name in enumerate(("conv_id", "turn", "src", "dst", "act", "frame")):
        assert name in dict(HEADER).values()
        extra = message.extra if name == "frame" else None
        yield from _refusal([*_BLANK[:place], getattr(message, name), *_BLANK[place + 1 :], {}], _only_frame(extra))
    if isinstance(message.slots, dict):
        for slot, value in message.slots.items():
            yield from _refusal([*_BLANK, {slot: value}], None)
    else:
        yield from _refusal([*_BLANK, message.slots], None)
    extra: Any = message.extra
    if isinstance(extra, dict):
        for prefix, value in extra.items():
            yield from _refusal([*_BLANK, {}], {prefix: value})
    else:
        yield from _refusal([*_BLANK, {}], extra)


def _refusal(fields: list[Any], extra: Any) -> Iterator[Issue]:
    try:
        _core.encode(_core.SlipMessage(*fields, extra=extra))
    except EncodeError as error:
        yield Issue(error.reason, error.path or "", "warning", error.text)
