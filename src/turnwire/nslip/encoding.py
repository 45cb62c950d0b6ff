"""Writing nSLIP field by field: every rule and every refusal, for the pure twin and for the native one's odd cases."""

from __future__ import annotations

from turnwire.errors import DecodeError, Reason
from turnwire.nslip._base62_py import checked_integer, decode as decode_base62, written
from turnwire.nslip.faults import encode_fault
from turnwire.nslip.spec import (
    HEADER,
    HEADER_PREFIXES,
    MAX_ACT,
    MAX_FRAME,
    MAX_INTEGER,
    PREFIX_SLOT,
    SLOT_PREFIX,
    STRING_SLOTS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from turnwire.nslip.codec import SlipMessage


def written_parts(message: SlipMessage) -> list[str]:
    """The fields of a message as they are between ``@`` and ``#``. Raises EncodeError at the first that cannot."""
    extra = _extra_parts(message)
    parts = []
    for prefix, name in HEADER:
        value = getattr(message, name, None)
        kept = extra["f"][0] if prefix == "f" and "f" in extra else None
        if kept is not None and isinstance(value, int) and value > MAX_FRAME and _kept_code(kept[1:]) == value:
            parts.append(kept)
            continue
        number = checked_integer(value, f"/{name}")
        if prefix == "a" and number > MAX_ACT:
            raise encode_fault(Reason.UNKNOWN_ACT, f"{number} is not an act", "/act")
        if prefix == "f" and number > MAX_FRAME:
            raise encode_fault(Reason.UNKNOWN_FRAME, f"{number} is not a frame", "/frame")
        parts.append(prefix + written(number))
    unknown = [(before, part) for prefix, (part, before) in extra.items() if prefix != "f"]
    slots = message.slots
    if not isinstance(slots, dict):
        raise encode_fault(Reason.WRONG_TYPE, "slots must be a dict", "/slots")
    for place, (slot, value) in enumerate(slots.items()):
        parts.extend(part for before, part in unknown if before == place)
        parts.append(slot_part(slot, value))
    parts.extend(part for before, part in unknown if before >= len(slots))
    return parts


def slot_part(slot: Any, value: Any) -> str:
    """The field of a known slot. Raises EncodeError."""
    known: Any = slot if isinstance(slot, int) and not isinstance(slot, bool) else None
    prefix = SLOT_PREFIX.get(known)
    if prefix is None:
        raise encode_fault(Reason.UNKNOWN_SLOT, f"{slot!r} is not a slot", f"/slots/{slot}")
    name = PREFIX_SLOT[prefix].name
    if slot not in STRING_SLOTS:
        return prefix + written(checked_integer(value, f"/slots/{name}"))
    if not isinstance(value, str):
        raise encode_fault(Reason.WRONG_TYPE, f"{name} must be a string, not {type(value).__name__}", f"/slots/{name}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form", f"/slots/{name}") from None
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{prefix}"{escaped}"'


def _extra_parts(message: SlipMessage) -> dict[str, tuple[str, int]]:
    """Prefix -> (field as written, number of known slots before it), each checked: nothing can be forged here."""
    extra: Any = message.extra
    if not extra:
        return {}
    if not isinstance(extra, dict):
        raise encode_fault(Reason.WRONG_TYPE, "extra must be a dict", "/extra")
    before = getattr(extra, "before", {})
    parts = {}
    for prefix, value in extra.items():
        path = f"/extra/{prefix}"
        letter = isinstance(prefix, str) and len(prefix) == 1 and prefix.isascii() and prefix.isalpha()
        if not letter or prefix in PREFIX_SLOT or (prefix in HEADER_PREFIXES and prefix != "f"):
            raise encode_fault(Reason.UNKNOWN_SLOT, f"{prefix!r} is not a free prefix", path)
        parts[prefix] = (kept_part(prefix, value, path), before.get(prefix, MAX_INTEGER))
    return parts


def kept_part(prefix: str, value: Any, path: str) -> str:
    """The field of an unknown slot, whose value stands as it was read. Raises EncodeError for what is no value."""
    import re  # here, as few messages have any

    if not isinstance(value, str) or not re.fullmatch(r'[0-9A-Za-z]+|"(?:[^"\\]|\\["\\])*"', value):
        raise encode_fault(Reason.WRONG_TYPE, "a kept value must be base62 digits or a quoted string", path)
    _kept_code(value, path)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form", path) from None
    return prefix + value


def _kept_code(digits: str, path: str = "/extra/f") -> int | None:
    if digits[0] == '"':
        return None
    try:
        return decode_base62(digits)
    except DecodeError as error:
        raise encode_fault(error.reason, error.text, path) from None
