"""Strict JSON in pure Python: the readable twin of ``_native/json/text.pyx``.

The standard library reads what is plainly good; whatever is doubtful goes through :class:`_Text`, which holds every
rule, reads left to right without recursion, and says where a fault is.
"""

from __future__ import annotations

import json
import re
import sys
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS, Limits, checked_limits
from turnwire.errors import DecodeError, Reason
from turnwire.json.faults import broken_utf8, fault, input_bytes, looks_wide, opening, unexpected, utf8_length

if TYPE_CHECKING:
    from typing_extensions import Buffer


_LENIENT_ESCAPE = re.compile(
    rb"\\(?:([\"\\/bfnrt])|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))"
)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _said(match: re.Match[bytes]) -> bytes:
    letter, high, low, code = match.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00).encode()
    return chr(int(code, 16)).encode("utf-8", "surrogatepass")


def plain(span: bytes) -> bytes:
    """Returns the content of a JSON string without its escapes. What is not an escape stays what it is; half of a
    surrogate pair becomes the three bytes that no UTF-8 reader takes."""
    return _LENIENT_ESCAPE.sub(_said, span)


def places(span: bytes) -> list[tuple[int, int, int, int]]:
    """Each escape: where it starts and ends, where what it says starts in ``plain(span)``, and how long that is."""
    result = []
    shift = 0
    for match in _LENIENT_ESCAPE.finditer(span):
        size = len(_said(match))
        result.append((match.start(), match.end(), match.start() - shift, size))
        shift += match.end() - match.start() - size
    return result


class _Undecided(Exception):
    """The quick way cannot vouch for this text."""


def _quick_integer(digits: str) -> int:
    if len(digits) > 18 or digits == "-0":
        raise _Undecided
    return int(digits)


def _quick_float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise _Undecided
    return number


def _quick_constant(name: str) -> Any:
    raise _Undecided(name)


def _decoder(most: float) -> json.JSONDecoder:
    """A decoder that vouches for no key of more than ``most`` characters, and for none that is there twice."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(members)
        if len(result) != len(members) or (most < inf and result and max(map(len, result)) > most):
            raise _Undecided
        return result

    return json.JSONDecoder(
        object_pairs_hook=pairs, parse_int=_quick_integer, parse_float=_quick_float, parse_constant=_quick_constant
    )


_SPACE = b" \t\n\r"
_SHORT = 1024
"""Characters of a key in a text that may hold one beyond the limit."""
_QUICK, _QUICK_LONG = _decoder(inf), _decoder(_SHORT)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _quick(raw: bytes, at: int, limits: Limits) -> tuple[dict[str, Any], int] | None:
    """The object at a place and the offset after it, where the reading of the standard library is beyond doubt."""
    long = len(raw) - at > limits.key  # then a key may be longer than that; six bytes are an escape of one character
    if limits.integer_digits < 18 or (long and limits.key < 6 * _SHORT):
        return None
    try:
        text = raw[at:].decode()
        if not text.startswith("{"):
            return None
        found, size = (_QUICK_LONG if long else _QUICK).raw_decode(text)
    except (ValueError, _Undecided, RecursionError):
        return None
    if text.count("{", 0, size) + text.count("[", 0, size) > limits.nesting or _SURROGATE_ESCAPE.search(text, 0, size):
        return None
    return found, at + (size if text.isascii() else len(text[:size].encode()))


class Reader:
    """Reads one JSON object at a time; see ``turnwire.json.text.read_object`` for what is refused and where.

    Args:
        wire: the name that errors carry.
        keys: keys that are expected often; objects share these strings.
    """

    __slots__ = ("keys", "wire")

    def __init__(self, wire: str, keys: tuple[str, ...] = ()) -> None:
        self.wire = wire
        self.keys = {key: key for key in keys}

    def read(self, data: str | Buffer, limits: Limits = LIMITS) -> dict[str, Any]:
        """The object in ``data``. Raises DecodeError."""
        raw = input_bytes(data, self.wire)
        checked_limits(limits)
        quick = _quick(raw, len(raw) - len(raw.lstrip(_SPACE)), limits)
        if quick is not None and len(raw) <= limits.message and not raw[quick[1] :].strip(_SPACE):
            return quick[0]
        return _Text(raw, self.wire, limits, self.keys).message()

    def read_source(self, data: str | Buffer, limits: Limits = LIMITS) -> tuple[dict[str, Any], str | bytes | None]:
        """The object in ``data``, and ``data`` itself where it is known to be text that writing the object gives again,
        else None: this twin does not look. Raises DecodeError."""
        return self.read(data, limits), None

    def find(self, raw: bytes, place: int, limits: Limits = LIMITS) -> tuple[dict[str, Any] | None, int]:
        """The JSON object that starts at byte ``place`` and the offset after it; if there is none, None and the
        offset of the fault."""
        if not 0 <= place < len(raw) or raw[place] != 0x7B:
            return None, place
        shallow = limits._replace(nesting=min(limits.nesting, 512))
        try:
            return _QuietText(raw[: place + limits.message], self.wire, shallow, self.keys).containers(place)
        except DecodeError as error:
            return None, error.offset or place


_PLAIN = re.compile(rb'[^"\\\x00-\x1f\x80-\xff]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_ESCAPES = {34: '"', 92: "\\", 47: "/", 98: "\b", 102: "\f", 110: "\n", 114: "\r", 116: "\t"}
_WORDS = {ord("t"): (b"true", True), ord("f"): (b"false", False), ord("n"): (b"null", None)}
_SPACES = re.compile(rb"[ \t\n\r]*")
_NOTHING: Any = object()


class _Text:
    """One pass over the bytes of one text; the open containers are on a list of its own, so depth costs no stack."""

    def __init__(self, raw: bytes, wire: str, limits: Limits, keys: dict[str, str]) -> None:
        self.raw = raw
        self.wire = wire
        self.limits = limits
        self.keys = keys

    def fault(self, reason: Reason, offset: int) -> DecodeError:
        return fault(self.raw, reason, offset, self.wire)

    def unexpected(self, place: int) -> DecodeError:
        return self.fault(*unexpected(self.raw, place))

    def skip(self, place: int) -> int:
        return _SPACES.match(self.raw, place).end()  # type: ignore[union-attr]

    def message(self) -> dict[str, Any]:
        """The object that is the whole text."""
        raw = self.raw
        if len(raw) > self.limits.message:
            raise self.fault(Reason.MESSAGE_TOO_LARGE, self.limits.message)
        start = self.skip(0)
        if raw[start : start + 1] != b"{" or looks_wide(raw):
            raise self.fault(*opening(raw))
        result: dict[str, Any]
        result, place = self.containers(start)
        place = self.skip(place)
        if place < len(raw):
            bad = raw[place] >= 0x80 and utf8_length(raw, place) <= 0
            raise self.fault(broken_utf8(raw, place) if bad else Reason.TRAILING_JUNK, place)
        return result

    def containers(self, place: int) -> tuple[Any, int]:
        """The value that starts at ``place`` (or after white space there), and the offset after it."""
        raw = self.raw
        value: Any = _NOTHING
        open_ones: list[Any] = []
        open_keys: list[str] = []
        while True:
            if value is _NOTHING:
                place = self.skip(place)
                byte = raw[place : place + 1]
                if byte in (b"{", b"["):
                    if len(open_ones) >= self.limits.nesting:
                        raise self.fault(Reason.TOO_DEEP, place)
                    open_ones.append({} if byte == b"{" else [])
                    place = self.skip(place + 1)
                    if raw[place : place + 1] == (b"}" if byte == b"{" else b"]"):
                        value = open_ones.pop()
                        place += 1
                    elif byte == b"{":
                        place = self.member(place, open_ones[-1], open_keys)
                        continue
                    else:
                        continue
                else:
                    value, place = self.scalar(place)
            if not open_ones:
                return value, place
            place = self.skip(place)
            byte = raw[place : place + 1]
            inner = open_ones[-1]
            if isinstance(inner, dict):
                inner[open_keys.pop()] = value
                close = b"}"
            else:
                inner.append(value)
                close = b"]"
            value = _NOTHING
            if byte == b",":
                place += 1
                if close == b"}":
                    place = self.member(self.skip(place), inner, open_keys)
            elif byte == close:
                value = open_ones.pop()
                place += 1
            else:
                raise self.unexpected(place)

    def member(self, place: int, owner: dict[str, Any], open_keys: list[str]) -> int:
        """Reads a key and its colon; returns the offset after them."""
        if self.raw[place : place + 1] != b'"':
            raise self.unexpected(place)
        key, behind = self.string(place)
        if behind - place - 2 > self.limits.key:
            raise self.fault(Reason.KEY_TOO_LONG, place)
        if key in owner:
            raise self.fault(Reason.DUP_KEY, place)
        open_keys.append(self.keys.get(key, key))
        place = self.skip(behind)
        if self.raw[place : place + 1] != b":":
            raise self.unexpected(place)
        return place + 1

    def scalar(self, place: int) -> tuple[Any, int]:
        raw = self.raw
        if place >= len(raw):
            raise self.unexpected(place)
        byte = raw[place]
        if byte == 0x22:
            return self.string(place)
        if byte == 0x2D or 0x30 <= byte <= 0x39:
            return self.number(place)
        word = _WORDS.get(byte)
        if word is None:
            raise self.unexpected(place)
        found = raw[place : place + len(word[0])]
        if found == word[0]:
            return word[1], place + len(found)
        if place + len(found) == len(raw) and word[0].startswith(found):
            raise self.fault(Reason.CUT_OFF, len(raw))
        raise self.fault(Reason.BAD_JSON, place)

    def number(self, place: int) -> tuple[Any, int]:
        raw = self.raw
        first = place + (raw[place] == 0x2D)
        behind = self.digits(first, place)
        if raw[first] == 0x30 and behind > first + 1:
            raise self.fault(Reason.BAD_NUMBER, place)
        whole = behind
        if raw[behind : behind + 1] == b".":
            behind = self.digits(behind + 1, place)
        if raw[behind : behind + 1] in (b"e", b"E"):
            signed = raw[behind + 1 : behind + 2] in (b"+", b"-")
            behind = self.digits(behind + 1 + signed, place)
        if behind == whole:
            return self.integer(raw[place:behind], place), behind
        number = float(raw[place:behind])
        if not isfinite(number):
            raise self.fault(Reason.NOT_FINITE, place)
        return number, behind

    def digits(self, first: int, start: int) -> int:
        """The offset after the digits at ``first``, of which there must be one; the number started at ``start``."""
        if first >= len(self.raw):
            raise self.fault(Reason.CUT_OFF, len(self.raw))
        behind = _DIGITS.match(self.raw, first).end()  # type: ignore[union-attr]
        if behind == first:
            infinite = self.raw.startswith(b"-Infinity", start)
            raise self.fault(Reason.NOT_FINITE if infinite else Reason.BAD_NUMBER, start)
        return behind

    def integer(self, digits: bytes, place: int) -> int | float:
        if digits == b"-0":
            return -0.0
        if len(digits) - digits.startswith(b"-") > self.limits.integer_digits:
            raise self.fault(Reason.NUMBER_TOO_LONG, place)
        try:
            return int(digits)
        except ValueError:  # the interpreter's own limit on digits is lower
            raise self.fault(Reason.NUMBER_TOO_LONG, place) from None

    def string(self, start: int) -> tuple[str, int]:
        """The string whose quote is at ``start``, and the offset after its closing quote."""
        raw = self.raw
        parts: list[str] = []
        first = place = start + 1
        while True:
            place = _PLAIN.match(raw, place).end()  # type: ignore[union-attr]
            if place >= len(raw):
                raise self.fault(Reason.UNTERMINATED_STRING, start)
            byte = raw[place]
            if byte == 0x22:
                parts.append(raw[first:place].decode())
                return "".join(parts), place + 1
            if byte == 0x5C:
                parts.append(raw[first:place].decode())
                character, place = self.escape(place, start)
                parts.append(character)
                first = place
            elif byte < 0x20:
                raise self.fault(Reason.CONTROL_CHARACTER, place)
            else:
                size = utf8_length(raw, place)
                if size <= 0:
                    raise self.fault(broken_utf8(raw, place), place)
                place += size

    def escape(self, place: int, start: int) -> tuple[str, int]:
        raw = self.raw
        if place + 1 >= len(raw):
            raise self.fault(Reason.UNTERMINATED_STRING, start)
        letter = raw[place + 1]
        if letter != 0x75:
            if letter not in _ESCAPES:
                raise self.fault(Reason.BAD_ESCAPE, place)
            return _ESCAPES[letter], place + 2
        code = self.hex(place, start)
        if 0xDC00 <= code <= 0xDFFF:
            raise self.fault(Reason.LONE_SURROGATE, place)
        if not 0xD800 <= code <= 0xDBFF:
            return chr(code), place + 6
        behind = raw[place + 6 : place + 8]
        if behind in (b"", b"\\"):
            raise self.fault(Reason.UNTERMINATED_STRING, start)
        low = self.hex(place + 6, start) if behind == b"\\u" else 0
        if not 0xDC00 <= low <= 0xDFFF:
            raise self.fault(Reason.LONE_SURROGATE, place)
        return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00), place + 12

    def hex(self, place: int, start: int) -> int:
        """The four digits of the ``\\u`` at ``place``."""
        match = _HEX.match(self.raw, place + 2)
        if match is not None:
            return int(match.group(), 16)
        rest = self.raw[place + 2 : place + 6]
        if len(rest) < 4 and all(byte in b"0123456789abcdefABCDEF" for byte in rest):
            raise self.fault(Reason.UNTERMINATED_STRING, start)
        raise self.fault(Reason.BAD_ESCAPE, place)


class _QuietText(_Text):
    """A text whose faults are only noticed: their words and lines would cost more than the reading."""

    def fault(self, reason: Reason, offset: int) -> DecodeError:
        return DecodeError(reason, offset=offset)


class LocatedString(str):
    """A string that knows where and how it is written."""

    at: int
    form: bytes


class LocatedFloat(float):
    """A number that knows where and how it is written."""

    at: int
    form: bytes


class LocatedInteger(int):
    """The same for an integer."""

    at: int
    form: bytes


class _LocatedText(_QuietText):
    """A text of which strings and numbers know where and how they are written."""

    def string(self, start: int) -> tuple[LocatedString, int]:
        text, behind = super().string(start)
        said = LocatedString(text)
        said.at, said.form = start + 1, self.raw[start + 1 : behind - 1]
        return said, behind

    def number(self, place: int) -> tuple[Any, int]:
        value, behind = super().number(place)
        number = (LocatedInteger if isinstance(value, int) else LocatedFloat)(value)
        number.at, number.form = place, self.raw[place:behind]
        return number, behind


def exact(raw: bytes) -> dict[str, Any]:
    """The good object that ``raw`` is, with values that know where and how they are written."""
    value: dict[str, Any] = _LocatedText(raw, "json", LIMITS, {}).containers(0)[0]
    return value


# --- objects and other values among other text; see json/values.h -----------------------------------------------------
#
# Strings on a line of their own are looked through each by itself, as those in objects are: what is in one ends with
# it, and its escapes are read. Objects in arrays are what they are anywhere.

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def parse(raw: bytes, at: int, limits: Limits) -> tuple[dict[str, Any], int]:
    """The object at ``at`` and the offset after it. Raises DecodeError with reason and offset."""
    if (found := _quick(raw, at, limits)) is not None:
        return found
    most = sys.get_int_max_str_digits() or limits.integer_digits
    shown = limits._replace(integer_digits=min(limits.integer_digits, most))
    value, behind = _QuietText(raw, "json", shown, {}).containers(at)
    return value, behind


def opened_at(raw: bytes, start: int, fault: int) -> set[int]:
    """The starts of the objects that are open at the fault: all of them meet it."""
    starts: list[int] = []
    place = start
    while (token := _TOKEN.search(raw, place, fault)) is not None:
        if b'"' in raw[place : token.start()]:
            break  # a string that is not closed before the fault
        place = token.end()
        if raw[token.start()] == 0x7B:
            starts.append(token.start())
        elif raw[token.start()] == 0x7D:
            starts.pop()
    return set(starts)


def quote_before(raw: bytes, at: int, floor: int) -> int:
    """The unescaped quote next to ``at`` from ``floor`` on, or -1."""
    while (at := raw.rfind(b'"', floor, at)) >= 0:
        slashes = at - len(raw[floor:at].rstrip(b"\\")) - floor
        if slashes % 2 == 0:
            return at
    return -1


_VALUE_TOKEN = re.compile(
    rb'[ \t\r]*+(?:("(?:[^"\\]|\\.)*+")|([\[{])|([\]}])|([,:])'
    rb"|((?:true|false|null|-?[0-9][0-9.eE+-]*+)(?![\w.])))"
)


WHOLE = 2
"""An array whose brackets all have partners, for :func:`are_values`."""


def are_values(line: bytes) -> int:
    """Not 0 if a line begins with a string or an array and has nothing in it but the tokens of JSON, each value
    followed by a sign or the end. It may be one line of many: brackets need no partner; ``WHOLE`` for an array whose
    brackets all match."""
    place, value, depth = 3 if line.startswith(b"\xef\xbb\xbf") else 0, False, 0
    first = line[place:].lstrip(b" \t")[:1]
    if first not in (b'"', b"["):
        return 0
    whole = first == b"["
    while (token := _VALUE_TOKEN.match(line, place)) is not None:
        string, opens, closes, sign, word = token.groups()
        if (value and (string or opens or word)) or (sign and not value):
            return 0
        depth += bool(opens) - bool(closes)
        whole &= depth >= 0
        value = bool(string or closes or word)
        place = token.end()
    return 0 if line[place:].strip(b" \t\r") else 1 + (whole and not depth)
