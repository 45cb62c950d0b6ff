"""The shared part of the binary forms of nSLIP: the content of a message in plain values, and the message of such
values.

Both forms (section 6) carry the Act/Frame/Slot schema with these rules, so that a reader of version 1 survives what
a later minor version writes:

* ``schema_version`` is the writer's version. A reader takes any version, as long as ``oldest_reader`` (1 where it is
  absent) is not above its own: a writer raises that one only for a change that older readers must not misread.
* What a reader does not know is skipped: a key of the map, a field, a third item of an entry.
* A slot is an entry (code, value), and entries keep the slots' order. A slot that is not in version 1 is written under
  its nSLIP prefix letter instead of its code, its value as nSLIP writes it: readers that do not know it keep it in
  ``message.extra``. The same holds for a frame, whose code they keep.
* The set of acts is closed (section 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.nslip import base62
from turnwire.nslip.encoding import is_raw_value
from turnwire.nslip.spec import (
    HEADER_PREFIXES,
    MAX_ACT,
    MAX_FRAME,
    MAX_INTEGER,
    PREFIX_SLOT,
    SCHEMA_VERSION,
    SLOT_PREFIX,
    STRING_SLOTS,
    WIRE,
    Act,
    Extra,
    FrameType,
    Slot,
)

if TYPE_CHECKING:
    from turnwire.nslip.codec import SlipMessage

_core: Any = _backend.load("nslip.codec")

NUMBERS = ("conv_id", "turn", "src", "dst")
_PROBE = "@a0|f0|c0|S0|d0|T0|{prefix}{value}#"


class Entry(NamedTuple):
    """One slot: its code, or its prefix letter with the value as nSLIP writes it; ``offset`` is where it was."""

    key: int | str
    value: int | str
    offset: int | None = None


class Content(NamedTuple):
    """A message in plain values. ``frame`` is the code, or the digits of an unknown frame as they were written."""

    conv_id: int
    turn: int
    src: int
    dst: int
    act: int
    frame: int | str
    slots: list[Entry]


def content(message: SlipMessage) -> Content:
    """The content of a message. Raises EncodeError exactly as :func:`turnwire.nslip.encode` does."""
    settled = _core.decode(_core.encode(message), unknown="keep")
    extra = settled.extra
    entries = [Entry(int(slot), value) for slot, value in settled.slots.items()]
    kept = [(extra.before[prefix], Entry(prefix, value)) for prefix, value in extra.items() if prefix != "f"]
    for before, entry in reversed(kept):
        entries.insert(before, entry)
    return Content(
        settled.conv_id,
        settled.turn,
        settled.src,
        settled.dst,
        int(settled.act),
        extra.get("f", int(settled.frame)),
        entries,
    )


def check_version(values: dict[str, Any], offsets: dict[str, int]) -> None:
    """Raises DecodeError(missing_field|wrong_type|negative|unsupported_version|...) for a message that this reader does
    not understand, as its schema_version and oldest_reader say."""
    path = "/schema_version"
    if "schema_version" not in values:
        raise fault(Reason.MISSING_FIELD, "schema_version is required", None, path)
    offset = offsets["schema_version"]
    version = integer(values["schema_version"], path, offset)
    oldest = integer(values.get("oldest_reader", 1), "/oldest_reader", offsets.get("oldest_reader"))
    if version < 1 or not 1 <= oldest <= version:
        text = f"no writer has schema version {version} and serves readers from {oldest} on"
        raise fault(Reason.UNSUPPORTED_VERSION, text, offset, path)
    if oldest > SCHEMA_VERSION:
        text = f"the message is for readers of schema version {oldest}, this one reads {SCHEMA_VERSION}"
        raise fault(Reason.UNSUPPORTED_VERSION, text, offset, path)


def message(values: dict[str, Any], entries: Iterable[Entry], offsets: dict[str, int]) -> SlipMessage:
    """The message of plain values: ``values`` by field name, ``offsets`` saying where each began.

    Raises DecodeError(missing_field|wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|duplicate|
    too_many_fields) with ``path`` and ``offset``.
    """
    for name in (*NUMBERS, "act", "frame"):
        if name not in values:
            raise fault(Reason.MISSING_FIELD, f"{name} is required", None, f"/{name}")
    numbers = [integer(values[name], f"/{name}", offsets.get(name)) for name in NUMBERS]
    act = integer(values["act"], "/act", offsets.get("act"))
    if act > MAX_ACT:
        raise fault(Reason.UNKNOWN_ACT, f"{act} is not an act", offsets.get("act"), "/act")
    frame, kept = _frame(values["frame"], offsets.get("frame"))
    extra = Extra()
    if kept is not None:
        extra["f"] = kept
    slots: dict[Slot, Any] = {}
    for entry in entries:
        _take(entry, slots, extra)
    result: SlipMessage = _core.SlipMessage(*numbers, Act(act), frame, slots, extra=extra)
    return result


def _frame(value: Any, offset: int | None) -> tuple[Any, str | None]:
    """(member or unknown code, the digits to keep)."""
    if isinstance(value, str):
        digits = value
        code = _digits(value, "/frame", offset)
    else:
        code = integer(value, "/frame", offset)
        digits = base62.encode(code)
    if code <= MAX_FRAME:
        return FrameType(code), None
    return code, digits


def _take(entry: Entry, slots: dict[Slot, Any], extra: Extra) -> None:
    """Puts one entry where it belongs."""
    key, value, offset = entry
    if isinstance(key, str) and key not in PREFIX_SLOT:
        if len(key) != 1 or not (key.isascii() and key.isalpha()) or key in HEADER_PREFIXES:
            raise fault(Reason.UNKNOWN_SLOT, f"{key[:16]!a} is not a prefix of a slot", offset, "/slots")
        path = f"/slots/{key}"
        if key in extra:
            raise fault(Reason.DUPLICATE, f"the slot {key} appears twice", offset, path)
        extra[key] = _raw(value, path, offset)
        extra.before[key] = len(slots)
        return
    slot = PREFIX_SLOT[key] if isinstance(key, str) else _slot(key, offset)
    path = f"/slots/{slot.name}"
    if isinstance(key, str):
        value = _read_raw(slot, _raw(value, path, offset), path, offset)
    if slot in STRING_SLOTS:
        if not isinstance(value, str):
            raise fault(Reason.WRONG_TYPE, f"{slot.name} takes a string", offset, path)
    else:
        value = integer(value, path, offset)
    if slot in slots:
        raise fault(Reason.DUPLICATE, f"{slot.name} appears twice", offset, path)
    slots[slot] = value


def _slot(code: int, offset: int | None) -> Slot:
    try:
        return Slot(code)
    except ValueError:
        raise fault(
            Reason.UNKNOWN_SLOT, f"{code} is not a slot of schema version {SCHEMA_VERSION}", offset, f"/slots/{code}"
        ) from None


def _raw(value: Any, path: str, offset: int | None) -> str:
    """A value as nSLIP writes it, judged: nothing else can hide in it."""
    if not isinstance(value, str) or not is_raw_value(value):
        raise fault(Reason.WRONG_TYPE, "a kept value is base62 digits or a quoted string", offset, path)
    if value[0] != '"':
        _digits(value, path, offset)
    return value


def _digits(text: str, path: str, offset: int | None) -> int:
    try:
        return base62.decode(text)
    except DecodeError as error:
        raise fault(error.reason, error.text, offset, path) from None


def _read_raw(slot: Slot, value: str, path: str, offset: int | None) -> Any:
    """The value of a slot that was written under its prefix: a later reader meets its own slots so."""
    try:
        return _core.decode(_PROBE.format(prefix=SLOT_PREFIX[slot], value=value)).slots[slot]
    except DecodeError as error:
        raise fault(error.reason, error.text, offset, path) from None


def integer(value: Any, path: str, offset: int | None = None) -> int:
    """A plain integer 0 .. 2**64-1. Raises DecodeError(wrong_type|negative|too_large)."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise fault(Reason.WRONG_TYPE, f"an integer is needed, not {type(value).__name__}", offset, path)
    if value < 0:
        raise fault(Reason.NEGATIVE, "integers are non-negative", offset, path)
    if value > MAX_INTEGER:
        raise fault(Reason.TOO_LARGE, "the integer is over 2**64-1", offset, path)
    return value


def input_bytes(data: object) -> bytes:
    """The bytes of any contiguous bytes-like. Raises DecodeError(wrong_type|message_too_large)."""
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        raise fault(Reason.WRONG_TYPE, f"bytes are decoded, not {type(data).__name__}", 0) from None
    if not view.c_contiguous:
        raise fault(Reason.WRONG_TYPE, "the buffer is not contiguous", 0)
    if view.nbytes > LIMITS.message:
        raise fault(Reason.MESSAGE_TOO_LARGE, f"{view.nbytes} bytes are more than {LIMITS.message}", 0)
    return data if type(data) is bytes else view.tobytes()


def fault(reason: Reason, text: str, offset: int | None = None, path: str | None = None) -> DecodeError:
    """A refusal of a binary form; ``offset`` counts its bytes, lines there are none."""
    return DecodeError(reason, text, offset=offset, wire=WIRE, path=path)


def too_large_to_write(size: int) -> EncodeError:
    """The error of writing where reading would refuse the result."""
    return EncodeError(Reason.MESSAGE_TOO_LARGE, f"{size} bytes are more than {LIMITS.message}", wire=WIRE)
