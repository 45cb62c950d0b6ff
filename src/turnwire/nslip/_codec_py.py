"""nSLIP in plain Python: one parser from left to right, and writing field by field, with every rule and every fault.

The readable twin of ``_native/nslip/codec.pyx`` and ``parse.h``; odd messages are written here for both.

message = "@" field { "|" field } "#"          (section 3)
field   = prefix ( digits | string )
string  = '"' { byte | '\\\\' | '\\"' } '"'
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.errors import DecodeError, Reason, expect_one_of
from turnwire.nslip import message_methods as methods
from turnwire.nslip._base62_py import DIGIT, checked_integer, decode as decode_base62, written
from turnwire.nslip.faults import decode_fault, encode_fault, input_bytes, strip_span
from turnwire.nslip.spec import (
    BASE62_ALPHABET,
    HEADER,
    HEADER_PREFIXES,
    LEGACY_PREFIXES,
    MAX_ACT,
    MAX_FRAME,
    MAX_INTEGER,
    MOST_DIGITS,
    PREFIX_SLOT,
    SLOT_PREFIX,
    STRING_SLOTS,
    WIRE,
    Act,
    Extra,
    FrameType,
    Slot,
)

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.errors import Issue

    Fields = tuple[Any, ...]
    """conv_id, turn, src, dst, act, frame, slots, extra: what a message is made of."""


class SlipMessage(methods.SlipMethods):
    """One nSLIP message (section 2). Mutable; ``slots`` is a dict that keeps its order.

    Args:
        conv_id, turn, src, dst: integers 0 .. 2**64-1.
        act, frame: an :class:`Act` and a :class:`FrameType`.
        slots: Slot -> int (or str for STATUS and TAG).
        extra: unknown fields kept by ``unknown="keep"``: prefix -> value as written.

    Values are validated when the message is encoded, not when they are set.
    """

    __slots__ = ("conv_id", "turn", "src", "dst", "act", "frame", "slots", "extra", "__weakref__")
    __wire__ = WIRE
    __annotations__ = methods.ANNOTATIONS
    __match_args__ = ("conv_id", "turn", "src", "dst", "act", "frame", "slots")

    def __delattr__(self, name: str) -> None:
        if name in self.__match_args__ or name == "extra":
            raise methods.undeletable(name)
        super().__delattr__(name)

    def get(self, slot: int, default: Any = None) -> Any:
        """The value of a slot, or ``default``."""
        return self.slots.get(slot, default)  # type: ignore[call-overload]


# --- decode ---------------------------------------------------------------------------------------------------------

_AT, _HASH, _BAR, _QUOTE, _BACKSLASH = b'@#|"\\'
_ENDS = _BAR, _HASH
_VALUE = {ord(digit): value for digit, value in DIGIT.items()}
_TEXTS = frozenset(prefix for prefix, slot in PREFIX_SLOT.items() if slot in STRING_SLOTS)
_LETTERS = frozenset(BASE62_ALPHABET[10:])
_DIGITS = re.compile(rb"[0-9A-Za-z]*")
_INSIDE = re.compile(rb'(?:[^"\\]|\\["\\])*+')


class ParseFault(Exception):
    """Raised by the parser: a reason and an offset, nothing that costs anything to make."""

    def __init__(self, reason: Reason, offset: int, missing: str = "") -> None:
        self.reason = reason
        self.offset = offset
        self.missing = missing


def parse(data: bytes, start: int, end: int, *, keep: bool = False, log: bool = False) -> tuple[Fields, int]:
    """Read one message from ``data[start:end]`` left to right; every rule of the readings is here.

    In a log (``log=True``) a newline inside a string is a fault. Returns the message and the offset after its ``#``.
    Raises ParseFault at the first fault met.
    """
    usual = _USUAL.match(data, start, end)
    if usual is not None and (fields := _usual_fields(usual)) is not None:
        return fields, usual.end()
    try:
        return _fields(data, start, end, keep, log)
    except ParseFault:
        if _LEGACY.match(data, start, end):
            raise ParseFault(Reason.LOOK_ALIKE, start) from None
        raise


_LEGACY_FIELDS = (b"%c[0-9A-Za-z]{1,%d}" % (prefix, MOST_DIGITS) for prefix in LEGACY_PREFIXES.encode())
_LEGACY = re.compile(rb"@%s(?=[|#\r\n]|\Z)" % rb"\|".join(_LEGACY_FIELDS))
"""The header of the legacy form: a f c s d t in that order, with bare digits."""


def _fields(data: bytes, start: int, end: int, keep: bool, log: bool) -> tuple[Fields, int]:
    if start >= end or data[start] != _AT:
        raise ParseFault(Reason.BAD_FRAMING, start if start < end else 0)
    if start + 1 < end and data[start + 1] == _HASH:
        raise ParseFault(Reason.EMPTY_MESSAGE, start + 1)
    header: dict[str, Any] = {}
    slots: dict[Slot, Any] = {}
    extra = Extra()
    place = start
    while place == start or data[place] == _BAR:
        at, first = place + 1, place + 2
        if at >= end:
            raise ParseFault(Reason.BAD_FRAMING, end)
        if data[at] in _ENDS:
            raise ParseFault(Reason.EMPTY_FIELD, at)
        prefix = chr(data[at])
        slot = PREFIX_SLOT.get(prefix)
        known = slot is not None or prefix in HEADER_PREFIXES
        if not known and not (keep and prefix in _LETTERS):
            raise ParseFault(Reason.UNKNOWN_PREFIX, at)
        if prefix in header or slot in slots or prefix in extra:
            raise ParseFault(Reason.DUPLICATE, at)
        if first >= end:
            raise ParseFault(Reason.BAD_FRAMING, end)
        if data[first] in _ENDS:
            raise ParseFault(Reason.EMPTY_VALUE, first)
        quoted = data[first] == _QUOTE
        if known and quoted != (prefix in _TEXTS):
            raise ParseFault(Reason.WRONG_TYPE, first)
        value: Any
        value, place = _string(data, first, end, log) if quoted else _number(data, first, end)
        if slot is not None:
            slots[slot] = value
            continue
        if prefix == "a" and value > MAX_ACT:
            raise ParseFault(Reason.UNKNOWN_ACT, first)
        strange = prefix == "f" and value > MAX_FRAME
        if strange and not keep:
            raise ParseFault(Reason.UNKNOWN_FRAME, first)
        if known:
            header[prefix] = value
        if strange or not known:
            extra[prefix] = data[first:place].decode()
        if not known:
            extra.before[prefix] = len(slots)
    if len(header) < len(HEADER):
        names = ", ".join(name for prefix, name in HEADER if prefix not in header)
        raise ParseFault(Reason.MISSING_FIELD, place, names)
    act, frame, conv_id, src, dst, turn = (header[prefix] for prefix in HEADER_PREFIXES)
    kind: Any = frame if "f" in extra else FrameType(frame)
    return (conv_id, turn, src, dst, Act(act), kind, slots, extra), place + 1


def _number(data: bytes, first: int, end: int) -> tuple[int, int]:
    """The integer whose digits begin at ``first``, and the offset of the ``|`` or ``#`` after it."""
    found = _DIGITS.match(data, first, end)
    assert found is not None  # it may be empty
    digits, place = found[0].lstrip(b"0"), found.end()
    number = 0
    for digit in digits[: MOST_DIGITS + 1]:
        number = number * 62 + _VALUE[digit]
    if number > MAX_INTEGER:
        raise ParseFault(Reason.TOO_LARGE, first)
    if place >= end:
        raise ParseFault(Reason.BAD_FRAMING, end)
    if data[place] not in _ENDS:
        raise ParseFault(Reason.BAD_DIGIT, place)
    return number, place


def _string(data: bytes, first: int, end: int, log: bool) -> tuple[str, int]:
    """The text whose quote is at ``first``, and the offset of the ``|`` or ``#`` after it."""
    found = _INSIDE.match(data, first + 1, end)
    assert found is not None
    place = found.end()
    if place >= end or (data[place] == _BACKSLASH and place + 1 >= end):
        # In a log the range ends with the line, so what follows it is its newline, "\r\n" or the end of the data.
        newline = end + (data[end : end + 1] == b"\r")
        if log and data[newline : newline + 1] == b"\n":
            raise ParseFault(Reason.NEWLINE_IN_STRING, newline)
        raise ParseFault(Reason.UNTERMINATED_STRING, first)
    if data[place] == _BACKSLASH:
        raise ParseFault(Reason.BAD_ESCAPE, place)
    try:
        text = found[0].decode()
    except UnicodeDecodeError as error:
        raise ParseFault(Reason.BAD_UTF8, first + 1 + error.start) from None
    if "\\" in text:
        text = "\\".join(part.replace('\\"', '"') for part in text.split("\\\\"))
    place += 1
    if place >= end:
        raise ParseFault(Reason.BAD_FRAMING, end)
    if data[place] not in _ENDS:
        raise ParseFault(Reason.JUNK_AFTER_STRING, place)
    return text, place


# The usual shape of a message, which this reads at once, in a third of the time. Ten digits always fit into 64 bits.
_INT = rb"([0-9A-Za-z]{1,10})"
_USUAL = re.compile(
    rb"@a([0-9A])\|f([0-4])\|c%b\|S%b\|d%b\|T%b" % ((_INT,) * 4)
    + rb'((?:\|(?:[gkprqse][0-9A-Za-z]{1,10}|[ut]"[^"\\]*"))*)#'
)
_USUAL_SLOTS = re.compile(rb'\|(.)("[^"]*"|[0-9A-Za-z]+)').findall
_SLOT = {prefix.encode(): slot for prefix, slot in PREFIX_SLOT.items()}
_ACTS = {BASE62_ALPHABET[act].encode(): act for act in Act}
_FRAMES = {BASE62_ALPHABET[frame].encode(): frame for frame in FrameType}


def _usual_fields(match: re.Match[bytes]) -> Fields | None:
    """The fields of a message of the usual shape; None if it is for the parser to say what is wrong with it."""
    act, frame, conv_id, src, dst, turn, rest = match.groups()
    slots: dict[Slot, Any] = {}
    if rest:
        fields = _USUAL_SLOTS(rest)
        try:
            for prefix, value in fields:
                slots[_SLOT[prefix]] = value[1:-1].decode() if value[0] == _QUOTE else _integer(value)
        except UnicodeDecodeError:
            return None
        if len(slots) != len(fields):
            return None
    header = _integer(conv_id), _integer(turn), _integer(src), _integer(dst)
    return (*header, _ACTS[act], _FRAMES[frame], slots, Extra())


def _integer(digits: bytes) -> int:
    number = _SMALL.get(digits)
    if number is None:
        number = 0
        for digit in digits:
            number = number * 62 + _VALUE[digit]
    return number


_DIGIT_BYTES = [bytes([digit]) for digit in BASE62_ALPHABET.encode()]
_SMALL = {digit: number for number, digit in enumerate(_DIGIT_BYTES)}
_SMALL |= {high + low: 62 * _SMALL[high] + _SMALL[low] for high in _DIGIT_BYTES for low in _DIGIT_BYTES}


def decode(data: str | Buffer, *, unknown: str = "error") -> SlipMessage:
    """Reads one message from text or contiguous bytes; surrounding white space is ignored (section 3).

    ``unknown="keep"`` keeps unknown slots and frames in ``message.extra``. Raises DecodeError with reason, offset
    (bytes of the UTF-8 form, also for str) and line.
    """
    keep = _keeps(unknown)
    raw = input_bytes(data)
    return _read(raw, *strip_span(raw), keep)


def _read(raw: bytes, start: int, end: int, keep: bool, log: bool = False) -> SlipMessage:
    """The message that ``raw[start:end]`` is."""
    try:
        fields, place = parse(raw, start, end, keep=keep, log=log)
        if place < end:
            raise ParseFault(Reason.TRAILING_JUNK, place)
    except ParseFault as fault:
        raise decode_fault(raw, fault.reason, fault.offset, missing=fault.missing) from None
    return SlipMessage(*fields[:7], extra=fields[7])


def _keeps(unknown: str) -> bool:
    """True if ``unknown`` says keep. Raises UnknownName for anything but "error" and "keep"."""
    expect_one_of(unknown, "unknown", ("error", "keep"))
    return unknown == "keep"


def decode_many(data: list[Any] | tuple[Any, ...] | Buffer | str, *, unknown: str = "error") -> list[SlipMessage]:
    """Reads the messages of a list (one per item) or of bytes or text (one per line; blank lines are skipped).

    Raises DecodeError at the first fault. For lines, offset and line refer to the whole input; for a list, ``path`` is
    ``/index`` and the offset refers to that item.
    """
    keep = _keeps(unknown)
    if isinstance(data, (list, tuple)):
        return [_decode_item(item, index, unknown) for index, item in enumerate(data)]
    raw = input_bytes(data)
    messages = []
    start = 0
    while start < len(raw):
        stop = raw.find(b"\n", start)
        stop = len(raw) if stop < 0 else stop
        first, last = strip_span(raw[start:stop])
        if last > first:
            messages.append(_read(raw, start + first, start + last, keep, log=True))
        start = stop + 1
    return messages


def _decode_item(item: Any, index: int, unknown: str) -> SlipMessage:
    try:
        return decode(item, unknown=unknown)
    except DecodeError as error:
        error.path = f"/{index}"
        raise


# --- encode ---------------------------------------------------------------------------------------------------------


def encode(message: SlipMessage) -> str:
    """Writes a message as text: header ``a f c S d T``, then the slots in their own order (section 3).

    Raises EncodeError(wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|lone_surrogate) with the
    field in ``path``.
    """
    if not isinstance(message, SlipMessage):
        raise encode_fault(Reason.WRONG_TYPE, f"encode takes a SlipMessage, not {type(message).__name__}")
    return "@" + "|".join(written_parts(message)) + "#"


def text(message: SlipMessage, strict: bool = True) -> str:
    """As :func:`encode`, whatever ``strict`` is: there is one way to write. Two arguments make it slower."""
    return encode(message)


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


def check(message: SlipMessage) -> list[Issue]:
    """Lists the issues of a message, field by field; empty for a valid one. ``where`` is a JSON pointer.

    * "warning", with the reason of ``encode``: each field that ``encode`` rejects.
    * "info" ``long_string``: a string over 64 characters; large artifacts belong in stores and are referenced by their
      id (section 2). It is not a "warning", since writing accepts long strings.
    * "info" ``unknown_slot`` and ``unknown_frame``: fields that ``unknown="keep"`` kept (section 6).

    Raises EncodeError(wrong_type) for other objects.
    """
    from turnwire.nslip.rules import check_closely

    return check_closely(message)
