"""nSLIP in plain Python: the readable twin of ``_native/nslip.pyx``, in the order of the grammar.

    message = "@" field { "|" field } "#"          (section 3)
    field   = prefix ( digits | string )
    string  = '"' { byte | '\\\\' | '\\"' } '"'

A regular expression reads the common shape at once; what it does not take goes through :func:`parse`, which knows
every rule and every fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from turnwire._pure.base62 import ALPHABET, DIGIT
from turnwire._pure.base62 import encode as encode_base62
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.slip import message_methods as methods
from turnwire.slip.encoding import written_parts
from turnwire.slip.faults import decode_fault, encode_fault, input_bytes, strip_span
from turnwire.slip.spec import (
    HEADER,
    MAX_INTEGER,
    PREFIX_SLOT,
    SLOT_PREFIX,
    STRING_SLOTS,
    WIRE,
    Act,
    Extra,
    FrameType,
    Slot,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self


class SlipMessage:
    """One nSLIP message (section 2). Mutable; ``slots`` is a dict that keeps its order.

    Args:
        conv_id, turn, src, dst: integers 0 .. 2**64-1.
        act, frame: an :class:`Act` and a :class:`FrameType`.
        slots: Slot -> int (or str for STATUS and TAG).
        extra: unknown fields kept by ``unknown="keep"``: prefix -> value as written.

    Values are judged when the message is encoded, not when they are set.
    """

    __slots__ = ("conv_id", "turn", "src", "dst", "act", "frame", "slots", "extra", "__weakref__")
    __wire__ = WIRE
    __match_args__ = methods.FIELDS
    __dataclass_fields__ = methods.DataclassFields()
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        conv_id: int,
        turn: int,
        src: int,
        dst: int,
        act: Act,
        frame: FrameType,
        slots: dict[Slot, Any] | None = None,
        *,
        extra: dict[str, str] | None = None,
    ) -> None:
        self.conv_id = conv_id
        self.turn = turn
        self.src = src
        self.dst = dst
        self.act = act
        self.frame = frame
        self.slots = {} if slots is None else slots
        self.extra = Extra() if extra is None else extra

    def get(self, slot: int, default: Any = None) -> Any:
        """The value of a slot, or ``default``."""
        return self.slots.get(slot, default)  # type: ignore[call-overload]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields replaced; it shares neither slots nor extra with this message."""
        return methods.replace(self, changes)  # type: ignore[arg-type, return-value]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dict: names for act, frame and slots."""
        return methods.to_dict(self)  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The message of :meth:`to_dict`. Raises DecodeError with the field in ``path``."""
        return methods.from_dict(cls, fields)  # type: ignore[arg-type, return-value]

    def __repr__(self) -> str:
        return methods.represent(self)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return methods.equal(self, other)  # type: ignore[arg-type]

    def __copy__(self) -> Self:
        return methods.shallow_copy(self)  # type: ignore[arg-type, return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return methods.deep_copy(self, memo)  # type: ignore[arg-type, return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return methods.reduce(self, SlipMessage)  # type: ignore[arg-type]


# --- decode ---------------------------------------------------------------------------------------------------------

_INT = "([0-9A-Za-z]{1,10})"  # ten digits always fit into 64 bits
_COMMON = re.compile(
    rf"@a([0-9A])\|f([0-4])\|c{_INT}\|S{_INT}\|d{_INT}\|T{_INT}"
    r'((?:\|(?:[gkprqse][0-9A-Za-z]{1,10}|[ut]"[^"\\]*"))*)#'
)
_SLOT = re.compile(r'\|(.)("[^"]*"|[0-9A-Za-z]+)')
_ACTS = {ALPHABET[act]: act for act in Act}
_FRAMES = {ALPHABET[frame]: frame for frame in FrameType}
_SMALL = {encode_base62(number): number for number in range(62 * 62)}


def _integer(digits: str) -> int:
    number = _SMALL.get(digits)
    if number is None:
        number = 0
        for digit in digits:
            number = number * 62 + DIGIT[digit]
    return number


def decode(data: str | Buffer, *, unknown: str = "error") -> SlipMessage:
    """One message from text or contiguous bytes; white space around it is dropped (section 3).

    ``unknown="keep"`` keeps unknown slots and frames in ``message.extra``. Raises DecodeError with reason, offset
    (bytes of the UTF-8 form, also for str) and line.
    """
    keep = keep_unknown(unknown)
    text: object = data
    if type(data) is bytes:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
    if isinstance(text, str):
        match = _COMMON.fullmatch(text)
        if match is not None:
            message = _from_match(match)
            if message is not None and (text.isascii() or _encodable(text)):
                return message
    raw = input_bytes(data)
    start, end = strip_span(raw)
    try:
        return parse(raw, start, end, keep=keep)[0]
    except Fault as fault:
        raise decode_fault(raw, fault.reason, fault.offset, missing=fault.missing) from None


def keep_unknown(unknown: str) -> bool:
    """Whether ``unknown`` says keep. Raises ValueError for anything but "error" and "keep"."""
    if unknown not in ("error", "keep"):
        raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
    return unknown == "keep"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _from_match(match: re.Match[str]) -> SlipMessage | None:
    act, frame, conv_id, src, dst, turn, rest = match.groups()
    slots: dict[Slot, Any] = {}
    if rest:
        fields = _SLOT.findall(rest)
        for prefix, value in fields:
            slots[PREFIX_SLOT[prefix]] = value[1:-1] if value[0] == '"' else _integer(value)
        if len(slots) != len(fields):
            return None  # a duplicate: parse() says which
    return SlipMessage(
        _integer(conv_id), _integer(turn), _integer(src), _integer(dst), _ACTS[act], _FRAMES[frame], slots
    )


_AT, _HASH, _BAR, _QUOTE, _BACKSLASH, _NEWLINE = b'@#|"\\\n'
_VALUE = {ord(digit): value for digit, value in DIGIT.items()}
_HEADER = {ord(prefix): place for place, (prefix, _) in enumerate(HEADER)}
_SLOTS = {ord(prefix): slot for prefix, slot in PREFIX_SLOT.items()}
_LETTERS = frozenset(ALPHABET[10:].encode())


class Fault(Exception):
    """What the parser raises: a reason and an offset, nothing that costs anything to make.

    ``seen`` is how far it had read when it knew.
    """

    def __init__(self, reason: Reason, offset: int, missing: str = "", seen: int | None = None) -> None:
        self.reason = reason
        self.offset = offset
        self.missing = missing
        self.seen = offset if seen is None else seen


def parse(
    data: bytes, start: int, end: int, *, keep: bool = False, log: bool = False
) -> tuple[SlipMessage, int]:
    """Read one message from ``data[start:end]`` left to right; every rule of the readings is here.

    In a log (``log=True``) a newline inside a string is a fault and the record may be followed by text. Returns the
    message and the offset behind its ``#``. Raises Fault at the first fault met.
    """
    return _Parser(data, end, keep, log).message(start)


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

    def message(self, start: int) -> tuple[SlipMessage, int]:
        if start >= self.end or self.data[start] != _AT:
            raise Fault(Reason.BAD_FRAMING, start if start < self.end else 0)
        place = start + 1
        if place < self.end and self.data[place] == _HASH:
            raise Fault(Reason.EMPTY_MESSAGE, place)
        while True:
            place = self.field(place)
            if self.data[place] == _HASH:
                break
            place += 1
        header = self.header
        if None in header:
            names = ", ".join(name for (_, name), value in zip(HEADER, header, strict=True) if value is None)
            raise Fault(Reason.MISSING_FIELD, place, names)
        if not self.log and place + 1 < self.end:
            raise Fault(Reason.TRAILING_JUNK, place + 1)
        act, frame, conv_id, src, dst, turn = header
        kind: Any = frame if self.frame_kept else FrameType(frame)
        return SlipMessage(conv_id, turn, src, dst, Act(act), kind, self.slots, extra=self.extra), place + 1  # type: ignore[arg-type]

    def field(self, place: int) -> int:
        """One field from its prefix on; returns the offset of the ``|`` or ``#`` behind it."""
        data = self.data
        if place >= self.end:
            raise Fault(Reason.BAD_FRAMING, self.end)
        prefix = data[place]
        if prefix in (_BAR, _HASH):
            raise Fault(Reason.EMPTY_FIELD, place)
        header = _HEADER.get(prefix)
        slot = _SLOTS.get(prefix)
        if header is not None:
            seen = self.header[header] is not None
        elif slot is not None:
            seen = slot in self.slots
        elif self.keep and prefix in _LETTERS:
            seen = chr(prefix) in self.extra
        else:
            raise Fault(Reason.UNKNOWN_PREFIX, place)
        if seen:
            raise Fault(Reason.DUPLICATE, place)
        return self.value(place + 1, prefix, header, slot)

    def value(self, first: int, prefix: int, header: int | None, slot: Slot | None) -> int:
        data = self.data
        if first >= self.end:
            raise Fault(Reason.BAD_FRAMING, self.end)
        if data[first] in (_BAR, _HASH):
            raise Fault(Reason.EMPTY_VALUE, first)
        quoted = data[first] == _QUOTE
        if header is None and slot is None:
            place = self.string(first)[1] if quoted else self.integer(first)[1]
            letter = chr(prefix)
            self.extra[letter] = data[first:place].decode()
            self.extra.before[letter] = len(self.slots)
            return place
        if quoted != (slot in STRING_SLOTS):
            raise Fault(Reason.WRONG_TYPE, first)
        if quoted:
            self.slots[slot], place = self.string(first)  # type: ignore[index]
            return place
        number, place = self.integer(first)
        if header is None:
            self.slots[slot] = number  # type: ignore[index]
            return place
        if header == 0 and number > max(Act):
            raise Fault(Reason.UNKNOWN_ACT, first)
        if header == 1 and number > max(FrameType):
            if not self.keep:
                raise Fault(Reason.UNKNOWN_FRAME, first)
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
                raise Fault(Reason.BAD_DIGIT, place)
            number = number * 62 + digit
            if number > MAX_INTEGER:
                raise Fault(Reason.TOO_LARGE, first)
        raise Fault(Reason.BAD_FRAMING, self.end)

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
                    raise Fault(Reason.BAD_ESCAPE, place)
                escaped = True
                place += 1
            place += 1
        try:
            text = data[first + 1 : place].decode()
        except UnicodeDecodeError as error:
            raise Fault(Reason.BAD_UTF8, first + 1 + error.start, seen=place) from None
        if escaped:
            text = _ESCAPE.sub(r"\1", text)
        place += 1
        if place >= self.end:
            raise Fault(Reason.BAD_FRAMING, self.end)
        if data[place] not in (_BAR, _HASH):
            raise Fault(Reason.JUNK_AFTER_STRING, place)
        return text, place

    def unclosed(self, first: int) -> Fault:
        # In a log the range ends with the line, so what follows it is its newline, "\r\n" or the end of the data.
        newline = self.end + (self.data[self.end : self.end + 1] == b"\r")
        if self.log and self.data[newline : newline + 1] == b"\n":
            return Fault(Reason.NEWLINE_IN_STRING, newline)
        return Fault(Reason.UNTERMINATED_STRING, first, seen=self.end)


_ESCAPE = re.compile(r"\\(.)")


def decode_many(data: list[Any] | tuple[Any, ...] | Buffer | str, *, unknown: str = "error") -> list[SlipMessage]:
    """The messages of a list (one item each) or of bytes or text (one line each; blank lines are skipped).

    Raises DecodeError at the first fault; for lines, offset and line count in the whole input; for a list, ``path``
    is ``/index`` and the offset counts in that item.
    """
    keep = keep_unknown(unknown)
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
            messages.append(_decode_line(raw, start + first, start + last, keep))
        start = stop + 1
    return messages


def _decode_item(item: Any, index: int, unknown: str) -> SlipMessage:
    try:
        return decode(item, unknown=unknown)
    except DecodeError as error:
        error.path = f"/{index}"
        raise error.relocated() from None


def _decode_line(raw: bytes, first: int, last: int, keep: bool) -> SlipMessage:
    try:
        message, place = parse(raw, first, last, keep=keep, log=True)
        if place < last:
            raise Fault(Reason.TRAILING_JUNK, place)
    except Fault as fault:
        raise decode_fault(raw, fault.reason, fault.offset, missing=fault.missing) from None
    return message


def decode_record(
    data: bytes, start: int, final: bool, *, unknown: str = "error", limit: int = 16 << 20
) -> tuple[SlipMessage, int] | None:
    """The record of a stream that starts at ``data[start]`` (an ``@``): (message, offset behind it), or None when more
    data is needed to tell. Raises DecodeError, whose offset and line count from the start of ``data``."""
    keep = keep_unknown(unknown)
    if start >= len(data):
        raise ValueError("start lies behind the data")
    try:
        return _read_record(data, start, final, keep, limit)
    except Fault as fault:
        raise decode_fault(data, fault.reason, fault.offset, missing=fault.missing) from None


def _read_record(data: bytes, start: int, final: bool, keep: bool, limit: int) -> tuple[SlipMessage, int] | None:
    size = len(data)
    most = min(size, start + limit)
    fault = None
    found = None
    try:
        found = parse(data, start, most, keep=keep, log=True)
        seen = found[1]
    except Fault as error:
        fault = error
        seen = error.seen
    # The line may end where the fault is, or with "\r\n" right behind what a message may have.
    newline = data.find(b"\n", start, seen + 2)
    if newline >= 0:
        # A record is one line: what it looked like beyond its end does not count.
        end = newline - (newline > start and data[newline - 1] == ord("\r"))
        if end <= most:
            return parse(data, start, end, keep=keep, log=True)
    if fault is None:
        return found
    at_end = fault.reason is Reason.UNTERMINATED_STRING or fault.offset >= most
    last = most if at_end else fault.offset  # what stands here may be the "\r" of a line that ends
    if not final and ((at_end and most == size) or (last + 1 == size and data[last] == ord("\r"))):
        return None
    if at_end and most < size:
        raise Fault(Reason.MESSAGE_TOO_LARGE, most)
    raise fault


# --- encode ---------------------------------------------------------------------------------------------------------


def encode(message: SlipMessage) -> str:
    """The wire text of a message: header ``a f c S d T``, then the slots in their own order (section 3).

    Raises EncodeError(wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|lone_surrogate) with the
    field in ``path``.
    """
    if not isinstance(message, SlipMessage):
        raise encode_fault(Reason.WRONG_TYPE, f"a SlipMessage is encoded, not {type(message).__name__}")
    return "@" + "|".join(written_parts(message)) + "#"  # type: ignore[arg-type]


def encode_many(messages: Iterable[SlipMessage]) -> bytes:
    """One message a line, UTF-8, each line ended by a newline. Raises EncodeError as encode does, and
    newline_in_string for a text that would break its line; ``path`` starts with the index of the message."""
    lines = []
    for index, message in enumerate(messages):
        try:
            line = encode(message)
            if "\n" in line:
                raise encode_fault(Reason.NEWLINE_IN_STRING, "a line cannot hold a newline")
        except EncodeError as error:
            error.path = f"/{index}{error.path or ''}"
            raise error.relocated() from None
        lines.append(line)
    lines.append("")
    return "\n".join(lines).encode()
