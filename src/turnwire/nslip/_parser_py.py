"""The nSLIP grammar as one left-to-right parser: every rule and every fault (the twin of _native/nslip/parse.h).

message = "@" field { "|" field } "#"          (section 3)
field   = prefix ( digits | string )
string  = '"' { byte | '\\\\' | '\\"' } '"'
"""

from __future__ import annotations

import re

from turnwire.errors import Reason
from turnwire.nslip._base62_py import ALPHABET, DIGIT
from turnwire.nslip.spec import (
    HEADER,
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

_AT, _HASH, _BAR, _QUOTE, _BACKSLASH, _NEWLINE = b'@#|"\\\n'
_VALUE = {ord(digit): value for digit, value in DIGIT.items()}
_HEADER = {ord(prefix): place for place, (prefix, _) in enumerate(HEADER)}
_SLOTS = {ord(prefix): slot for prefix, slot in PREFIX_SLOT.items()}
_LETTERS = frozenset(ALPHABET[10:].encode())


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
        return _Parser(data, end, keep, log).message(start)
    except ParseFault:
        if _LEGACY.match(data, start, end):
            raise ParseFault(Reason.LOOK_ALIKE, start) from None
        raise


_LEGACY_FIELDS = (b"%c[0-9A-Za-z]{1,%d}" % (prefix, MOST_DIGITS) for prefix in LEGACY_PREFIXES.encode())
_LEGACY = re.compile(rb"@%s(?=[|#\r\n]|\Z)" % rb"\|".join(_LEGACY_FIELDS))
"""The header of the legacy form: a f c s d t in that order, with bare digits."""


class _Parser:
    def __init__(self, data: bytes, end: int, keep: bool, log: bool) -> None:
        self.data = data
        self.end = end
        self.keep = keep
        self.log = log
        self.header: list[int | None] = [None] * 6
        self.frame_kept = False
        self.slots: dict[Slot, Any] = {}
        self.extra = Extra()

    def message(self, start: int) -> tuple[Fields, int]:
        if start >= self.end or self.data[start] != _AT:
            raise ParseFault(Reason.BAD_FRAMING, start if start < self.end else 0)
        place = start + 1
        if place < self.end and self.data[place] == _HASH:
            raise ParseFault(Reason.EMPTY_MESSAGE, place)
        while True:
            place = self.field(place)
            if self.data[place] == _HASH:
                break
            place += 1
        header = [value for value in self.header if value is not None]
        if len(header) < len(HEADER):
            names = ", ".join(name for (_, name), value in zip(HEADER, self.header, strict=True) if value is None)
            raise ParseFault(Reason.MISSING_FIELD, place, names)
        if not self.log and place + 1 < self.end:
            raise ParseFault(Reason.TRAILING_JUNK, place + 1)
        act, frame, conv_id, src, dst, turn = header
        kind: Any = frame if self.frame_kept else FrameType(frame)
        return (conv_id, turn, src, dst, Act(act), kind, self.slots, self.extra), place + 1

    def field(self, place: int) -> int:
        """One field from its prefix on; returns the offset of the ``|`` or ``#`` after it."""
        data = self.data
        if place >= self.end:
            raise ParseFault(Reason.BAD_FRAMING, self.end)
        prefix = data[place]
        if prefix in (_BAR, _HASH):
            raise ParseFault(Reason.EMPTY_FIELD, place)
        header = _HEADER.get(prefix)
        slot = _SLOTS.get(prefix)
        if header is not None:
            seen = self.header[header] is not None
        elif slot is not None:
            seen = slot in self.slots
        elif self.keep and prefix in _LETTERS:
            seen = chr(prefix) in self.extra
        else:
            raise ParseFault(Reason.UNKNOWN_PREFIX, place)
        if seen:
            raise ParseFault(Reason.DUPLICATE, place)
        return self.value(place + 1, prefix, header, slot)

    def value(self, first: int, prefix: int, header: int | None, slot: Any) -> int:
        data = self.data
        if first >= self.end:
            raise ParseFault(Reason.BAD_FRAMING, self.end)
        if data[first] in (_BAR, _HASH):
            raise ParseFault(Reason.EMPTY_VALUE, first)
        quoted = data[first] == _QUOTE
        if header is None and slot is None:
            place = self.string(first)[1] if quoted else self.integer(first)[1]
            letter = chr(prefix)
            self.extra[letter] = data[first:place].decode()
            self.extra.before[letter] = len(self.slots)
            return place
        if quoted != (slot in STRING_SLOTS):
            raise ParseFault(Reason.WRONG_TYPE, first)
        if quoted:
            self.slots[slot], place = self.string(first)
            return place
        number, place = self.integer(first)
        if header is None:
            self.slots[slot] = number
            return place
        if header == 0 and number > MAX_ACT:
            raise ParseFault(Reason.UNKNOWN_ACT, first)
        if header == 1 and number > MAX_FRAME:
            if not self.keep:
                raise ParseFault(Reason.UNKNOWN_FRAME, first)
            self.frame_kept = True
            self.extra["f"] = data[first:place].decode()
        self.header[header] = number
        return place

    def integer(self, first: int) -> tuple[int, int]:
        data = self.data
        number = 0
        for place in range(first, self.end):
            digit = _VALUE.get(data[place])
            if digit is None:
                if data[place] in (_BAR, _HASH):
                    return number, place
                raise ParseFault(Reason.BAD_DIGIT, place)
            number = number * 62 + digit
            if number > MAX_INTEGER:
                raise ParseFault(Reason.TOO_LARGE, first)
        raise ParseFault(Reason.BAD_FRAMING, self.end)

    def string(self, first: int) -> tuple[str, int]:
        data = self.data
        escaped = False
        place = first + 1
        while True:
            if place >= self.end:
                raise self.unclosed(first)
            byte = data[place]
            if byte == _QUOTE:
                break
            if byte == _BACKSLASH:
                if place + 1 >= self.end:
                    raise self.unclosed(first)
                if data[place + 1] not in (_BACKSLASH, _QUOTE):
                    raise ParseFault(Reason.BAD_ESCAPE, place)
                escaped = True
                place += 1
            place += 1
        try:
            text = data[first + 1 : place].decode()
        except UnicodeDecodeError as error:
            raise ParseFault(Reason.BAD_UTF8, first + 1 + error.start) from None
        if escaped:
            text = "\\".join(part.replace('\\"', '"') for part in text.split("\\\\"))
        place += 1
        if place >= self.end:
            raise ParseFault(Reason.BAD_FRAMING, self.end)
        if data[place] not in (_BAR, _HASH):
            raise ParseFault(Reason.JUNK_AFTER_STRING, place)
        return text, place

    def unclosed(self, first: int) -> ParseFault:
        # In a log the range ends with the line, so what follows it is its newline, "\r\n" or the end of the data.
        newline = self.end + (self.data[self.end : self.end + 1] == b"\r")
        if self.log and self.data[newline : newline + 1] == b"\n":
            return ParseFault(Reason.NEWLINE_IN_STRING, newline)
        return ParseFault(Reason.UNTERMINATED_STRING, first)
