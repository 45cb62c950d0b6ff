"""Errors of nSLIP in words: one explanation for both twins, made only when something fails."""

from __future__ import annotations

from turnwire import contract
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.nslip.spec import CANDIDATE, WIRE

_FIRST_SEEN, _LAST_SEEN = ord("!"), ord("~")
"""Between these no byte is white space, or a part of a letter."""
_AMONG = "; turnwire.scan and turnwire.Decoder read messages among other text"
_TEXT = {
    Reason.BAD_FRAMING: "a message starts with '@' and ends with '#', and {half}",
    Reason.EMPTY_MESSAGE: "there is nothing between '@' and '#'",
    Reason.EMPTY_FIELD: "a field is empty",
    Reason.UNKNOWN_PREFIX: "{byte} is not a field prefix",
    Reason.EMPTY_VALUE: "the field has no value",
    Reason.BAD_DIGIT: "{byte} is not a base62 digit",
    Reason.TOO_LARGE: "the integer is over 2**64-1",
    Reason.WRONG_TYPE: "the fields u and t contain a quoted string, all others a base62 integer",
    Reason.UNTERMINATED_STRING: "the string that begins here is never closed",
    Reason.BAD_ESCAPE: 'the only escapes in a string are \\\\ and \\"',
    Reason.JUNK_AFTER_STRING: "after a string only '|' or '#' may follow, not {byte}",
    Reason.DUPLICATE: "the field {byte} appears twice",
    Reason.MISSING_FIELD: "the header lacks {missing}",
    Reason.UNKNOWN_ACT: "acts are 0 to 10 (A)",
    Reason.UNKNOWN_FRAME: "frames are 0 to 4",
    Reason.TRAILING_JUNK: "nothing may follow the closing '#'" + _AMONG,
    Reason.BAD_UTF8: "the string is not valid UTF-8",
    Reason.NEWLINE_IN_STRING: "a record of a log is one line, and this string contains a newline",
    Reason.MESSAGE_TOO_LARGE: "the message is longer than the limit",
    Reason.LOOK_ALIKE: "this is the form of a draft before v0.1, whose header is a f c s d t; v0.1 has S and T",
}


def explain(data: bytes, reason: Reason, offset: int, missing: str = "") -> str:
    """The words for a fault at ``offset`` of ``data``."""
    byte = repr(data[offset : offset + 1])[1:] if offset < len(data) else "the end"
    half = _missing_half(data, offset) if reason is Reason.BAD_FRAMING else ""
    return _TEXT[reason].format(byte=byte, missing=missing, half=half)


def _missing_half(data: bytes, offset: int) -> str:
    """The half that bad_framing at ``offset`` lacks. A message that began is before the fault, in the same
    line."""
    if data[data.rfind(b"\n", 0, offset) + 1 : offset].strip():
        return "the '#' is missing"
    line, *_ = data[offset:].split(b"\n", 1)
    if not line.strip():
        return "there is nothing here"
    import re  # only here, so that reading what is good never pays for it

    candidate = re.search(CANDIDATE, line)  # as in a log (readings 8)
    return "this starts with something else" + (_AMONG if candidate else "")


def decode_fault(data: bytes, reason: Reason, offset: int, *, missing: str = "") -> DecodeError:
    """A DecodeError at ``offset`` of ``data``."""
    line = 1 + data.count(b"\n", 0, offset)
    return DecodeError(reason, explain(data, reason, offset, missing), offset=offset, line=line, wire=WIRE)


def encode_fault(reason: Reason, text: str, path: str | None = None) -> EncodeError:
    """An EncodeError about one field."""
    return EncodeError(reason, text, wire=WIRE, path=path)


def strip_span(data: bytes) -> tuple[int, int]:
    """(start, end) of ``data`` without the white space around it: what ``str.strip`` drops, the original's rule."""
    if data and _FIRST_SEEN <= data[0] <= _LAST_SEEN and _FIRST_SEEN <= data[-1] <= _LAST_SEEN:
        return 0, len(data)
    text = data.decode("utf-8", "surrogateescape")
    left = len(text) - len(text.lstrip())
    right = len(text.rstrip())
    if right <= left:
        return 0, 0
    start = len(text[:left].encode())
    return start, len(data) - len(text[right:].encode())


def input_bytes(data: object) -> bytes:
    """The UTF-8 form of ``data``; see :func:`turnwire.contract.input_bytes`."""
    return contract.input_bytes(data, WIRE)
