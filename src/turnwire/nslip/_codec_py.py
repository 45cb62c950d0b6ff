"""nSLIP in plain Python: the readable twin of ``_native/nslip/codec.pyx``.

A regular expression reads the common shape at once, in a third of the time; what it does not take goes through
:func:`turnwire.nslip._parser_py.parse`, which knows every rule and every fault.
"""

from __future__ import annotations

from typing import Any

from turnwire.errors import DecodeError, EncodeError, Reason, expect_one_of
from turnwire.nslip import message_methods as methods
from turnwire.nslip._base62_py import DIGIT
from turnwire.nslip._parser_py import ParseFault, parse
from turnwire.nslip.encoding import written_parts
from turnwire.nslip.faults import decode_fault, encode_fault, input_bytes, strip_span
from turnwire.nslip.spec import BASE62_ALPHABET, PREFIX_SLOT, WIRE, Act, Extra, FrameType, Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    from typing_extensions import Buffer

    from turnwire.errors import Issue
    from turnwire.nslip._parser_py import Fields


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

_INT = "([0-9A-Za-z]{1,10})"  # ten digits always fit into 64 bits
_COMMON = (
    rf"@a([0-9A])\|f([0-4])\|c{_INT}\|S{_INT}\|d{_INT}\|T{_INT}"
    r'((?:\|(?:[gkprqse][0-9A-Za-z]{1,10}|[ut]"[^"\\]*"))*)#'
)
_SLOT = r'\|(.)("[^"]*"|[0-9A-Za-z]+)'
_ACTS = {BASE62_ALPHABET[act]: act for act in Act}
_FRAMES = {BASE62_ALPHABET[frame]: frame for frame in FrameType}
_SMALL: dict[str, int] = {}
_slots_of: Callable[[str], list[tuple[str, str]]]
_common: Callable[[str], re.Match[str] | None]


def _prepared(text: str) -> re.Match[str] | None:
    """Stands for ``_common`` until the first message comes: compiling costs more than importing all the rest."""
    import re

    global _common, _slots_of
    _SMALL.update({digit: number for number, digit in enumerate(BASE62_ALPHABET)})
    _SMALL.update({high + low: 62 * DIGIT[high] + DIGIT[low] for high in BASE62_ALPHABET for low in BASE62_ALPHABET})
    _slots_of = re.compile(_SLOT).findall
    _common = re.compile(_COMMON).fullmatch
    return _common(text)


_common = _prepared


def _integer(digits: str) -> int:
    number = _SMALL.get(digits)
    if number is None:
        number = 0
        for digit in digits:
            number = number * 62 + DIGIT[digit]
    return number


def decode(data: str | Buffer, *, unknown: str = "error") -> SlipMessage:
    """Reads one message from text or contiguous bytes; surrounding white space is ignored (section 3).

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
        match = _common(text)
        if match is not None:
            fields = _from_match(match)
            if fields is not None and (text.isascii() or _encodable(text)):
                return _message(fields)
    raw = input_bytes(data)
    start, end = strip_span(raw)
    try:
        return _message(parse(raw, start, end, keep=keep)[0])
    except ParseFault as fault:
        raise decode_fault(raw, fault.reason, fault.offset, missing=fault.missing) from None


def _message(fields: Fields) -> SlipMessage:
    return SlipMessage(*fields[:7], extra=fields[7])


def keep_unknown(unknown: str) -> bool:
    """True if ``unknown`` says keep. Raises UnknownName for anything but "error" and "keep"."""
    expect_one_of(unknown, "unknown", ("error", "keep"))
    return unknown == "keep"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def common(raw: bytes) -> Fields | None:
    """The fields of a message of the common shape, or None."""
    try:
        match = _common(raw.decode())
    except UnicodeDecodeError:
        return None
    return None if match is None else _from_match(match)


def _from_match(match: re.Match[str]) -> Fields | None:
    act, frame, conv_id, src, dst, turn, rest = match.groups()
    slots: dict[Slot, Any] = {}
    if rest:
        fields = _slots_of(rest)
        for prefix, value in fields:
            slots[PREFIX_SLOT[prefix]] = value[1:-1] if value[0] == '"' else _integer(value)
        if len(slots) != len(fields):
            return None  # a duplicate: parse() says which
    header = _integer(conv_id), _integer(turn), _integer(src), _integer(dst)
    return (*header, _ACTS[act], _FRAMES[frame], slots, Extra())


def decode_many(data: list[Any] | tuple[Any, ...] | Buffer | str, *, unknown: str = "error") -> list[SlipMessage]:
    """Reads the messages of a list (one per item) or of bytes or text (one per line; blank lines are skipped).

    Raises DecodeError at the first fault. For lines, offset and line refer to the whole input; for a list, ``path`` is
    ``/index`` and the offset refers to that item.
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
        fields, place = parse(raw, first, last, keep=keep, log=True)
        if place < last:
            raise ParseFault(Reason.TRAILING_JUNK, place)
    except ParseFault as fault:
        raise decode_fault(raw, fault.reason, fault.offset, missing=fault.missing) from None
    return _message(fields)


# --- encode ---------------------------------------------------------------------------------------------------------


def encode(message: SlipMessage) -> str:
    """Writes a message as text: header ``a f c S d T``, then the slots in their own order (section 3).

    Raises EncodeError(wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|lone_surrogate) with the
    field in ``path``.
    """
    if not isinstance(message, SlipMessage):
        raise encode_fault(Reason.WRONG_TYPE, f"encode takes a SlipMessage, not {type(message).__name__}")
    return "@" + "|".join(written_parts(message)) + "#"


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


def encode_many(messages: Iterable[SlipMessage]) -> bytes:
    """Writes one message per line, as UTF-8, each followed by a newline. Raises EncodeError like encode, and
    newline_in_string for text with a newline; ``path`` starts with the index of the message."""
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
