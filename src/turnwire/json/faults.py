"""Faults of JSON text, once for both twins of ``json.text``: their words, what text that is not JSON looks like, and
the places that JSON pointers name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from turnwire.contract import input_bytes as input_bytes
from turnwire.errors import DecodeError, Reason

SPACE = b" \t\n\r"
"""The only white space of JSON (RFC 8259, section 2)."""

_TEXT = {
    Reason.EMPTY_MESSAGE: "there is not JSON object, only white space or nothing",
    Reason.MESSAGE_TOO_LARGE: "the text is longer than the limit",
    Reason.BOM: "the text starts with a byte order mark, which JSON does not allow",
    Reason.BAD_ENCODING: "this looks like UTF-16 or UTF-32; JSON is UTF-8",
    Reason.NOT_OBJECT: "a message is one JSON object, and this value is not",
    Reason.CODE_FENCE: "the object is wrapped in a code fence; send the object alone, or salvage the text",
    Reason.PROSE: "there is text where the object should start; send the object alone, or salvage the text",
    Reason.TRAILING_JUNK: "nothing may follow the object, but {what} does",
    Reason.CUT_OFF: "the text ends inside the object",
    Reason.UNTERMINATED_STRING: "the string that begins here is never closed",
    Reason.CONTROL_CHARACTER: "the control character {what} must be escaped inside a string",
    Reason.BAD_ESCAPE: 'the escapes of a string are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hex digits',
    Reason.LONE_SURROGATE: "half of a surrogate pair is not a character",
    Reason.BAD_UTF8: "these bytes are not valid UTF-8",
    Reason.BAD_NUMBER: "this is not a JSON number (no '+', no leading zero, digits on both sides of the point)",
    Reason.NOT_FINITE: "NaN, Infinity and numbers beyond the range of a double are not JSON numbers",
    Reason.NUMBER_TOO_LONG: "the integer has more digits than the limit",
    Reason.KEY_TOO_LONG: "the key is longer than the limit",
    Reason.TOO_DEEP: "objects and arrays are nested deeper than the limit",
    Reason.DUP_KEY: "the key {what} appears twice in one object; two readers could disagree about its value",
}
REASONS = (*_TEXT, Reason.BAD_JSON)
"""The reasons of all faults, in the order of ``_native/json/why.h``."""


def fault(data: bytes, reason: Reason, offset: int, wire: str) -> DecodeError:
    """The error for a fault at ``offset`` of ``data``, with the words for it."""
    text = _bad_json(data, offset) if reason is Reason.BAD_JSON else _TEXT[reason].format(what=_shown(data, offset))
    return DecodeError(reason, text, offset=offset, line=data.count(b"\n", 0, offset) + 1, wire=wire)


_KINDS = ((bool, "a boolean"), (str, "a string"), ((int, float), "a number"), (list, "an array"), (dict, "an object"))


def kind_of(value: object) -> str:
    """The kind of a value of JSON, in words; of any other, its type."""
    if value is None:
        return "null"
    return next((word for kind, word in _KINDS if isinstance(value, kind)), type(value).__name__)


def opening(data: bytes) -> tuple[Reason, int]:
    """(reason, offset) for a text that does not start with ``{``: what is there instead."""
    if data.startswith(b"\xef\xbb\xbf"):
        return Reason.BOM, 0
    if looks_wide(data):
        return Reason.BAD_ENCODING, 0
    place = len(data) - len(data.lstrip(SPACE))
    rest = data[place : place + 12]
    if not rest:
        return Reason.EMPTY_MESSAGE, 0
    if rest.startswith((b"```", b"~~~")):
        return Reason.CODE_FENCE, place
    if rest.startswith((b"NaN", b"Infinity", b"-Infinity")):
        return Reason.NOT_FINITE, place
    if rest[:1] in b'["-0123456789' or rest.rstrip(SPACE) in (b"true", b"false", b"null"):
        return Reason.NOT_OBJECT, place
    if rest[0] >= 0x80 and utf8_length(data, place) <= 0:
        return broken_utf8(data, place), place
    return Reason.PROSE, place


def looks_wide(data: bytes) -> bool:
    """True if the first bytes are those of UTF-16 or UTF-32 text."""
    head = data[:4]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    return len(head) >= 2 and (head[:2].count(0) == 1 or (len(head) == 4 and head[:3] == b"\0\0\0" and head[3] != 0))


def unexpected(data: bytes, place: int) -> tuple[Reason, int]:
    """(reason, offset) for a byte that is not allowed where a value or a mark of punctuation is due."""
    if place >= len(data):
        return Reason.CUT_OFF, len(data)
    if data[place] >= 0x80 and utf8_length(data, place) <= 0:
        return broken_utf8(data, place), place
    if data.startswith((b"NaN", b"Infinity"), place):
        return Reason.NOT_FINITE, place
    if data[place] in b"+.":
        return Reason.BAD_NUMBER, place
    return Reason.BAD_JSON, place


def utf8_length(data: bytes, place: int) -> int:
    """Bytes of the character at ``place`` (2 to 4), 0 if they are not UTF-8, -1 for an encoded surrogate."""
    lead = data[place]
    size = 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 0
    rest = data[place + 1 : place + size]
    if not size or len(rest) < size - 1 or any(byte & 0xC0 != 0x80 for byte in rest):
        return 0
    if lead == 0xED and rest[0] >= 0xA0:
        return -1
    low, high = _SECOND.get(lead, (0x80, 0xBF))
    return size if low <= rest[0] <= high else 0


_SECOND = {0xE0: (0xA0, 0xBF), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}  # no overlong forms, nothing over U+10FFFF


def broken_utf8(data: bytes, place: int) -> Reason:
    """The reason for bytes at ``place`` that are not characters."""
    return Reason.LONE_SURROGATE if utf8_length(data, place) < 0 else Reason.BAD_UTF8


def _shown(data: bytes, offset: int) -> str:
    """A few characters from ``offset`` on, safe to print."""
    if offset >= len(data):
        return "the end"
    if data[offset] == ord('"'):
        close = data.find(b'"', offset + 1)
        piece = data[offset : min(close + 1 or len(data), offset + 48)]
    else:
        piece = data[offset : offset + 1] if data[offset] < 0x80 else data[offset : offset + 4]
    return ascii(piece.decode("utf-8", "replace"))


def _bad_json(data: bytes, offset: int) -> str:
    byte = data[offset : offset + 1]
    before = data[:offset].rstrip(SPACE)[-1:]
    if byte in b"}]" and before == b",":
        return "there is a comma before the closing bracket"
    if byte == b"'":
        return "strings and keys need double quotes"
    if byte in b"/#":
        return "JSON has no comments"
    if data.startswith((b"True", b"False", b"None"), offset):
        return "the literals are true, false and null"
    if byte == b"\0":
        return "there is a NUL byte here"
    return f"{_shown(data, offset)} is not allowed here"


# --- JSON pointers (RFC 6901): where the value is that one names; only used once something failed ---------------------

_SPACE = re.compile(rb"[ \t\n\r]*+")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]++")
_KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_SIMPLE = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s,\]}{\["]++)[ \t\n\r]*+(?:,[ \t\n\r]*+)?', re.DOTALL)
"""A value that holds no other, and the comma behind it."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_LETTERS = re.compile(rb"[A-Za-z0-9_]++")
_OPENING = b"{["


def place_of(data: bytes, pointer: str) -> int:
    """Byte offset of the value at ``pointer`` (RFC 6901) in ``data``, which :mod:`turnwire.json.text` has read.

    For a pointer to what is not there (a missing field), the offset of the innermost object or array that is.
    """
    at = skip_space(data, 0)
    for step in pointer.split("/")[1:]:
        found = _child(data, at, step.replace("~1", "/").replace("~0", "~"))
        if found is None:
            break
        at = found
    return at


def skip_space(data: bytes, at: int) -> int:
    """The offset of the next byte that is not white space."""
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _child(data: bytes, at: int, step: str) -> int | None:
    opening = data[at : at + 1]
    if opening == b"[":
        return next(islice(items(data, at), int(step), None), None) if _INDEX.fullmatch(step) else None
    written = step.encode("utf-8", "surrogatepass")
    if opening != b"{" or _is_nowhere(data, written):
        return None
    at = skip_space(data, at + 1)
    while (found := _KEY.match(data, at)) is not None:
        key, at = found[1], found.end()
        if key == written or (b"\\" in key and json.loads(b'"%b"' % key) == step):
            return at
        at = _behind(data, at)
    return None


def _is_nowhere(data: bytes, key: bytes) -> bool:
    """True if no object in ``data`` can have this key: letters can be written as themselves, or with a ``\\u``."""
    return b'"%b"' % key not in data and b"\\u" not in data and _LETTERS.fullmatch(key) is not None


def items(data: bytes, at: int) -> Iterator[int]:
    """The offsets of the items of the good array at ``at``."""
    at = skip_space(data, at + 1)
    while data[at : at + 1] not in (b"]", b""):
        yield at
        at = _behind(data, at)


def _behind(data: bytes, at: int) -> int:
    """The offset of the next member or item, or of the bracket that closes."""
    simple = _SIMPLE.match(data, at)
    if simple is not None:
        return simple.end()
    at = skip_space(data, value_end(data, at))
    return skip_space(data, at + 1) if data[at : at + 1] == b"," else at


def value_end(data: bytes, at: int) -> int:
    """The offset after the good JSON value at ``at``."""
    if data[at] not in b'"{[':
        found = _SCALAR.match(data, at)
        return found.end() if found else len(data)
    depth = 0
    for token in _TOKEN.finditer(data, at):
        byte = data[token.start()]
        if byte != 0x22:
            depth += 1 if byte in _OPENING else -1
        if not depth:
            return token.end()
    return len(data)


def pointer_step(key: str) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
