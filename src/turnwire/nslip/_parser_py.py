"""The nSLIP grammar as one left-to-right parser: every rule and every fault (the twin of _native/nslip/parse.h).

message = "@" field { "|" field } "#"          (section 3)
field   = prefix ( digits | string )
string  = '"' { byte | '\\\\' | '\\"' } '"'
"""

from __future__ import annotations

import re

from turnwire.errors import Reason
from turnwire.nslip._base62_py import DIGIT
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
    STRING_SLOTS,
    Act,
    Extra,
    FrameType,
    Slot,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Fields = tuple[Any, ...]
    """conv_id, turn, src, dst, act, frame, slots, extra: what a message is made of."""

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

    In a log (``log=True``) a newline inside a string is a fault and the record may be followed by text. Returns the
    message and the offset after its ``#``. Raises ParseFault at the first fault met.
    """
    try:
        return _message(data, start, end, keep, log)
    except ParseFault:
        if _LEGACY.match(data, start, end):
            raise ParseFault(Reason.LOOK_ALIKE, start) from None
        raise


_LEGACY_FIELDS = (b"%c[0-9A-Za-z]{1,%d}" % (prefix, MOST_DIGITS) for prefix in LEGACY_PREFIXES.encode())
_LEGACY = re.compile(rb"@%s(?=[|#\r\n]|\Z)" % rb"\|".join(_LEGACY_FIELDS))
"""The header of the legacy form: a f c s d t in that order, with bare digits."""


def _message(data: bytes, start: int, end: int, keep: bool, log: bool) -> tuple[Fields, int]:
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
        value, place = _string(data, first, end, log) if quoted else _integer(data, first, end)
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
    if not log and place + 1 < end:
        raise ParseFault(Reason.TRAILING_JUNK, place + 1)
    act, frame, conv_id, src, dst, turn = (header[prefix] for prefix in HEADER_PREFIXES)
    kind: Any = frame if "f" in extra else FrameType(frame)
    return (conv_id, turn, src, dst, Act(act), kind, slots, extra), place + 1


def _integer(data: bytes, first: int, end: int) -> tuple[int, int]:
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
