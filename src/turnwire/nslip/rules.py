"""The doubts about an nSLIP message, and the message that announces a schema version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.errors import EncodeError, Issue, Reason, expect
from turnwire.nslip._base62_py import checked_integer
from turnwire.nslip.spec import HEADER, MAX_FRAME, MAX_INTEGER, SCHEMA_VERSION, SHORT_STRING, WIRE, Act, FrameType, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnwire.nslip._codec_py import check
    from turnwire.nslip.codec import SlipMessage

__all__ = ["announce", "announced", "check"]

_core: Any = _backend.load("nslip.codec")
if not TYPE_CHECKING:
    check = _core.check  # the core's own function: a wrapper would cost as much again
_GOOD = {name: 0 for _, name in HEADER} | {"act": Act.OBSERVE, "frame": FrameType.TASK}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ANNOUNCEMENT = re.compile(r"schema=([1-9][0-9]{0,19})")


def check_closely(message: SlipMessage) -> list[Issue]:
    """The issues of a message that is not surely clean."""
    expect(message, _core.SlipMessage, "expected a SlipMessage", WIRE)
    try:
        _core.encode(message)
    except EncodeError:
        return [*_refusals(message), *_remarks(message)]
    return list(_remarks(message))


def _refusals(message: SlipMessage) -> Iterator[Issue]:
    """The refusals of ``encode`` for each field in a message whose other fields are good."""
    slots: Any = message.slots
    extra: Any = message.extra
    for _, name in HEADER:
        kept = {"f": extra["f"]} if name == "frame" and isinstance(extra, dict) and "f" in extra else None
        yield from _refusal(kept, **{name: getattr(message, name)})
    for part in _parts(slots):
        yield from _refusal(slots=part)
    for part in _parts(extra):
        if not (isinstance(part, dict) and "f" in part):  # judged with the frame
            yield from _refusal(part)


def _parts(fields: Any) -> list[Any]:
    return [{key: value} for key, value in fields.items()] if isinstance(fields, dict) else [fields]


def _refusal(extra: Any = None, **fields: Any) -> Iterator[Issue]:
    try:
        _core.encode(_core.SlipMessage(**(_GOOD | {"slots": {}} | fields), extra=extra))
    except EncodeError as error:
        yield Issue(error.reason, error.path or "", "warning", error.text)


def _remarks(message: SlipMessage) -> Iterator[Issue]:
    slots: Any = message.slots
    extra: Any = message.extra
    for slot, value in slots.items() if isinstance(slots, dict) else ():
        if isinstance(value, str) and len(value) > SHORT_STRING:
            name = Slot(slot).name if slot in Slot.__members__.values() else slot
            yield _long(value, f"/slots/{name}")
    for prefix, value in extra.items() if isinstance(extra, dict) else ():
        if prefix == "f":
            if isinstance(message.frame, int) and message.frame > MAX_FRAME:
                yield Issue(Reason.UNKNOWN_FRAME, "/frame", "info", f"the unknown frame {value} is kept")
            continue
        where = f"/extra/{prefix}"
        yield Issue(Reason.UNKNOWN_SLOT, where, "info", f"the unknown slot {prefix} is kept as it was read")
        text = _ESCAPE.sub(r"\1", value[1:-1]) if isinstance(value, str) and value[:1] == '"' else ""
        if len(text) > SHORT_STRING:
            yield _long(text, where)


def _long(text: str, where: str) -> Issue:
    return Issue(
        Reason.LONG_STRING,
        where,
        "info",
        f"a string of {len(text)} characters, over {SHORT_STRING}: large artifacts belong in stores, referenced by id",
    )


def announce(conv_id: int, turn: int, src: int, dst: int, *, version: int = SCHEMA_VERSION) -> SlipMessage:
    """Returns the META/CONTROL message that announces to ``dst`` the schema version that ``src`` writes (section 6).

    nSLIP text has no field for a version, so it is sent in a separate message, with the TAG ``schema=1``. Raises
    EncodeError(wrong_type|negative|too_large|unsupported_version) for a version that is not an integer 1 .. 2**64-1;
    the other arguments are validated when the message is encoded.
    """
    if checked_integer(version, "/version") == 0:
        raise EncodeError(Reason.UNSUPPORTED_VERSION, "versions count from 1", wire=WIRE, path="/version")
    message: SlipMessage = _core.SlipMessage(
        conv_id, turn, src, dst, Act.META, FrameType.CONTROL, {Slot.TAG: f"schema={version}"}
    )
    return message


def announced(message: SlipMessage) -> int | None:
    """Returns the schema version that a message announces, or None."""
    expect(message, _core.SlipMessage, "expected a SlipMessage", WIRE)
    if (message.act, message.frame) != (Act.META, FrameType.CONTROL):
        return None
    tag = message.get(Slot.TAG)
    found = _ANNOUNCEMENT.fullmatch(tag) if isinstance(tag, str) else None
    if found is None:
        return None
    version = int(found[1])
    return version if version <= MAX_INTEGER else None
