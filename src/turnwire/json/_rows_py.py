"""Rows of the JSON wires in plain Python: the values of a message that a plan names, whether they are what it needs,
and what of them goes into columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, partial
from itertools import count
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from turnwire.json._text_py import LocatedFloat, LocatedInteger, LocatedString, exact, places, plain
from turnwire.json._wrapper_py import epoch
from turnwire.json.plan import NO_NUMBER, Fill, Need, Value, Variant, WirePlan, keyed_step
from turnwire.json.times import read_time

_SCALAR = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|(-?[0-9][0-9.eE+-]*+)', re.DOTALL)
_SIGIL = "\u2afb"
_GREATEST = (1 << 63) - 1
INVALID: Any = object()
"""The cell of a column that has no value, whatever another source has; its array holds -1."""


class Message(NamedTuple):
    """A good object: by path, the values that the plans name; all of those of which the plan wants all; its bytes, and
    how many of them a character with an escape takes at most (1: there is none); what found them."""

    values: dict[str, Any]
    every: dict[str, list[Any]]
    raw: bytes
    most: int
    reading: MessageValues


class MessageValues:
    """Finds the values that plans name in the objects of their wires."""

    def __init__(self, plans: Iterable[WirePlan]) -> None:
        self._plans = tuple(plans)
        self.values: dict[str, Value] = {}
        for plan in self._plans:
            for value in plan.values:
                if not self.values.get(value.path, Value("")).form:
                    self.values[value.path] = value
        self._parents = {path[:at] for path in self.values for at, letter in enumerate(path) if letter == "/"}
        self._known = self._parents | self.values.keys()
        self._keyed: dict[str, tuple[str, dict[str, str]]] = {}  # member -> the value that goes by it, and its paths
        for path in self._known:
            if path.endswith("]") and (step := keyed_step(path)) is not None:
                self._keyed.setdefault(step[0], (step[2], {}))[1][step[1]] = path
        self._by_key = {value for value, _ in self._keyed.values()}
        self._every = {path for path, value in self.values.items() if value.every}
        self._special = self._parents | self._keyed.keys() | self._by_key | self._every
        words = [self.values[plan.word].words if plan.word else () for plan in self._plans]
        self._words = [{word: number for number, word in enumerate(every)} for every in words]
        self._needs = [[_needs(variant, self.values) for variant in plan.variants] for plan in self._plans]

    def read(self, fields: dict[str, Any], raw: bytes) -> Message:
        """The values of an object, which stands in ``raw``."""
        found = Message({}, {}, raw, 1 if b"\\" not in raw else 12 if b"\\u" in raw else 2, self)
        try:
            self._members(fields, "", found)
        except _AmbiguousPlace:
            return _exactly(raw, self)
        return found

    def _members(self, fields: dict[str, Any], prefix: str, found: Message) -> None:
        values, known = found.values, self._known
        keyed = ahead = told = ""  # in an item of an array: the path of the value that goes by another member
        for key, value in fields.items():
            path = prefix + key
            if path not in known and (path := f"{prefix}{{}}") not in known:
                continue
            if keyed and path == told:
                path = keyed
            values[path] = value
            if path not in self._special:
                continue
            if type(value) is dict and path in self._parents:
                self._members(value, f"{path}/", found)
            elif type(value) is list and f"{path}/*" in self._parents:
                for item in value:
                    if type(item) is dict:
                        self._members(item, f"{path}/*/", found)
            if path in self._every:
                found.every.setdefault(path, []).append(value)
            if path in self._by_key:
                ahead = path
            if path in self._keyed:
                told, paths = self._keyed[path]
                keyed = paths.get(_short(value, found, 128) or "", "")
                if keyed and ahead == told:
                    values[keyed] = values[told]

    def variant_of(self, number: int, values: dict[str, Any]) -> int | None:
        """The number of the variant of a message of a plan, as its ``choose`` says; None for none."""
        plan = self._plans[number]
        if plan.choose == "word":
            word = values.get(plan.word)
            return self._words[number].get(word) if isinstance(word, str) else None
        if plan.choose == "only":
            return 0
        if plan.receipt and plan.receipt in values and plan.task not in values:
            return 3 if values.get(plan.status) == plan.nack else 2
        first, second = (sum(map(values.__contains__, paths)) for paths in plan.marks)
        return int(first < second) if first or second else None

    def is_good(self, number: int, found: Message) -> bool:
        """True if a message is surely good, by the needs of the plan of that number: ``decode`` need not be asked."""
        values = found.values
        variant = self.variant_of(number, values)
        doubts = self._plans[number].doubts
        if variant is None or (doubts and any(one in values and other in values for one, other in doubts)):
            return False
        needed, checks, surely = self._needs[number][variant]
        types = dict(zip(values, map(type, values.values()), strict=True))
        for path, kind in types.items() - surely:
            if path in checks and not checks[path].get(kind, _never)(values[path]):
                return False
        for path in needed.keys() - values.keys():
            if not needed[path] or type(values.get(needed[path])) is dict:
                return False
        return True


# --- needs ------------------------------------------------------------------------------------------------------------

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})")
_CHANNEL = re.compile(rf"{_SIGIL}[!-.0-~]+/[!-~]+")


def _never(value: Any) -> bool:
    return False


def _always(value: Any) -> bool:
    return True


def _is_time(text: str) -> bool:
    return _RFC3339.fullmatch(text) is not None and _moment(text) is not None


def _are(kind: type, items: Iterable[Any]) -> bool:
    return all(type(item) is kind for item in items)


def _are_numbers(fields: dict[str, Any]) -> bool:
    return all(type(value) in (int, float) for value in fields.values())


def _are_records(items: list[Any], texts: Collection[str]) -> bool:
    return _are(dict, items) and all(_are(str, (item[key] for key in texts if key in item)) for item in items)


_TYPES = {"object": dict, "array": list, "boolean": bool, "null": type(None), "fraction": float}
_FORMS: dict[str, Callable[[str], Any]] = {"uuid": _UUID.fullmatch, "time": _is_time, "channel": _CHANNEL.fullmatch}


def _needs(
    variant: Variant, values: dict[str, Value]
) -> tuple[dict[str, str], dict[str, dict[type, Any]], set[tuple[str, type]]]:
    """The paths that must be there, each with that of the object around it; the paths, each with a check by type, which
    a value has to pass; paths and types of which every value does."""
    needed = {need.path: need.path.rpartition("/")[0] for need in variant.needs if need.needed}
    checks = {need.path: _checks(need, values[need.path], values) for need in variant.needs}
    surely = {(path, kind) for path, types in checks.items() for kind in types if types[kind] is _always}
    return needed, checks, surely


def _checks(need: Need, value: Value, values: dict[str, Value]) -> dict[type, Callable[[Any], Any]]:
    kinds, checks = frozenset(need.kinds), dict[type, Callable[[Any], Any]]()
    prefix = f"{need.path}/*/"
    texts = [path.removeprefix(prefix) for path, one in values.items() if path.startswith(prefix) and one.text]
    if "string" in kinds:
        checks[str] = need.words.__contains__ if need.words else _always
    elif "good" in kinds:
        words = frozenset(need.words or value.words)
        checks[str] = words.__contains__ if value.form == "word" else _FORMS.get(value.form, _never)
    checks |= {type_: _always for kind, type_ in _TYPES.items() if kind in kinds}
    if kinds & {"count", "negative"}:
        low, high = (0 if "negative" not in kinds else -_GREATEST), (_GREATEST if "count" in kinds else -1)
        checks[int] = lambda number: low <= number <= high
    if "object" not in kinds and "numbers" in kinds:
        checks[dict] = _are_numbers
    elif "object" not in kinds and "empty" in kinds:
        checks[dict] = lambda fields: not fields
    if "array" not in kinds and "texts" in kinds:
        checks[list] = partial(_are, str)
    elif "array" not in kinds and "records" in kinds:
        checks[list] = lambda items: _are_records(items, texts)
    return checks


# --- columns ----------------------------------------------------------------------------------------------------------


class _AmbiguousPlace(Exception):
    """A message may say the same in several places or ways, and only its place tells where and how a value is
    written."""


@lru_cache(2)
def _exactly(raw: bytes, reading: MessageValues) -> Message:
    """The message again, with values that know where and how they are written."""
    return reading.read(exact(raw), raw)


_STRING = re.compile(rb'[ \t\r\n]*:[ \t\r\n]*(?:\[[ \t\r\n]*)?"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_ASCII_ESCAPE = re.compile(rb"\\u00[0-7]")


@lru_cache(2)
def _has_ascii_escapes(raw: bytes) -> bool:
    return _ASCII_ESCAPE.search(raw) is not None


def _is_unescaped(text: str, raw: bytes) -> bool:
    """True if a string of letters and digits is written without escapes."""
    if isinstance(text, LocatedString):
        return b"\\" not in text.form
    if _has_ascii_escapes(raw):
        raise _AmbiguousPlace
    return True


def _span(key: str, text: str, message: Message) -> tuple[int, int, bool]:
    """The inside of a string of a message: its place, its size, and if it has escapes. key: the name of the member that
    it is, or "" where that is not known."""
    if isinstance(text, LocatedString):
        return text.at, len(text.form), b"\\" in text.form
    raw = message.raw
    odd = message.most > 2 and (not text.isascii() or _has_ascii_escapes(raw))
    if not odd and not (message.most > 1 and "/" in text and b"\\/" in raw):  # there is one way to write it
        quoted = encode_basestring(text).encode()
        at = raw.find(quoted)
        if raw.find(quoted, at + 1) < 0:
            return at + 1, len(quoted) - 2, message.most > 1 and b"\\" in quoted
    if (found := _STRING.match(raw, _behind(key, message))) is None:
        raise _AmbiguousPlace
    return found.start(1), len(found[1]), b"\\" in found[1]


def _behind(key: str, message: Message) -> int:
    """The place behind the only key of a name."""
    raw, named = message.raw, f'"{key}"'.encode()
    if not key or (message.most > 2 and _has_ascii_escapes(raw)):
        raise _AmbiguousPlace
    at = raw.find(named)
    if at < 0 or raw.find(named, at + 1) >= 0:
        raise _AmbiguousPlace
    return at + len(named)


def _numeral_of(number: float, raw: bytes) -> bytes:
    """A number as it is written."""
    if isinstance(number, int):
        return str(number).encode()
    form = number.form if isinstance(number, LocatedFloat) else _floats(raw)[number]
    if form is None:
        raise _AmbiguousPlace
    return form


@lru_cache(2)
def _floats(raw: bytes) -> dict[float, bytes | None]:
    """The numbers of a message that are read as floats, as they are written; None: not everywhere alike."""
    forms: dict[float, bytes | None] = {}
    for match in _SCALAR.finditer(raw):
        form = match[2]
        if form is not None and (form == b"-0" or not form.removeprefix(b"-").isdigit()):
            number = float(form)
            forms[number] = form if forms.get(number, form) == form else None
    return forms


def _short(value: Any, message: Message, most: int) -> str | None:
    """A string; None if it is none, or written with escapes in more than ``most`` bytes."""
    if not isinstance(value, str):
        return None
    if isinstance(value, LocatedString):
        return None if len(value.form) > most and b"\\" in value.form else value
    if message.most > 1 and message.most * len(value) > most and value.encode() in _long(message.raw, most):
        raise _AmbiguousPlace
    return value


@lru_cache(2)
def _long(raw: bytes, most: int) -> frozenset[bytes]:
    """The texts of a message that are written with escapes in more than ``most`` bytes: looked for once, not for each
    value."""
    strings = (match[1] for match in _SCALAR.finditer(raw) if match[1] is not None and len(match[1]) > most)
    return frozenset(plain(said) for said in strings if b"\\" in said)


def _time(value: Any, message: Message) -> int | None:
    """The time that a string says, if it says one and nothing else."""
    text = _short(value, message, 64)
    return None if text is None else _moment(text)


@lru_cache(64)
def _moment(text: str) -> int | None:
    said = text.encode()
    found = read_time(said)
    return found[0] if found is not None and found[1] == len(said) else None


@lru_cache(4096)
def cell_of(fill: Fill, first: Value | None, other: Value | None) -> Callable[[Message], Any]:
    """The function that gives the cell of a column: a number, the place of a text in the message with its size and if
    it has escapes, None for nothing, or ``INVALID``. first, other: the values at the paths of the fill."""
    if fill.how == "constant":
        return lambda message: fill.constant
    if fill.how == "between":
        return _by_form(lambda message: _between(message, fill.other, fill.path))
    main, second = _made(fill, first), _made(fill, other)
    path, instead, is_text = fill.path, fill.other, fill.how == "text" and not (first and first.every)
    key = _key(path)

    def cell(message: Message) -> Any:
        values = message.values
        if is_text and type(text := values.get(path)) is str:
            return _span(key, text, message)
        if path in values:
            return main(values[path], message)
        return second(values[instead], message) if instead in values else None

    return _by_form(cell)


def _by_form(cell: Callable[[Message], Any]) -> Callable[[Message], Any]:
    """The same function, for which a message is read again where it is in doubt how a value is written."""

    def exact_cell(message: Message) -> Any:
        try:
            return cell(message)
        except _AmbiguousPlace:
            return cell(_exactly(message.raw, message.reading))

    return exact_cell


def _made(fill: Fill, value: Value | None) -> Callable[[Any, Message], Any]:
    """The function (value, message) -> cell of a fill."""
    if fill.how == "present":
        return lambda one, message: None if one is None else fill.constant
    if fill.how == "truth":
        return lambda one, message: _truth(fill.constant, one, message)
    if fill.how == "word":
        return partial(_word, _numbers(fill, value))
    path = "" if value is None else value.path
    if fill.how in ("times", "sum"):
        made = _times if fill.how == "times" else _sum
        return lambda one, message: made(message.every.get(path, [one]), message)
    how = partial(_PLACED[fill.how], _key(path)) if fill.how in _PLACED else _FILLS[fill.how]
    if value is None or not value.every:
        return how
    return lambda one, message: how(next((text for text in message.every[path] if isinstance(text, str)), one), message)


def _numbers(fill: Fill, value: Value | None) -> dict[str, int]:
    """Word -> its number in a column."""
    words = dict(zip(value.words if value else (), fill.numbers or count(), strict=False))
    return {word: n + fill.constant for word, n in words.items() if not fill.numbers or n != NO_NUMBER}


def _word(numbers: dict[str, int], value: Any, message: Message) -> int | None:
    return numbers.get(value) if isinstance(value, str) and _short(value, message, 128) is not None else None


def _times(every: list[Any], message: Message) -> int | None:
    """How many values there are."""
    return None if every == [None] else len(every)


def _sum(every: list[Any], message: Message) -> Any:
    """The sum of the numbers, as :func:`_integer`."""
    total: int | None = None
    for one in every:
        number = _integer(one, message)
        if number is INVALID:
            return INVALID
        total = total if number is None else (total or 0) + number
        if abs(total or 0) > _GREATEST:
            return INVALID
    return total


def _between(message: Message, start: str, end: str) -> int | None:
    """The whole milliseconds from one time to another, each a text or a number since 1970."""
    times = [message.values.get(path) for path in (start, end)]
    first, last = (_epoch(one, message) if (at := _time(one, message)) is None else at for one in times)
    return None if first is None or last is None or first > last else (last - first) // 1000


def _key(path: str) -> str:
    """The name of the member at a path; "" for what is none."""
    return found[1] if (found := _MEMBER.search(path)) is not None else ""


_MEMBER = re.compile(r"(?:^|/)(\w+)$")
_NUMBER = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*-?[0-9]+")


def _text(key: str, value: Any, message: Message) -> tuple[int, int, bool] | None:
    return _span(key, value, message) if isinstance(value, str) else None


def _item(key: str, value: Any, message: Message) -> tuple[int, int, bool] | None:
    """The string with which an array begins."""
    return _text(key, value[0], message) if type(value) is list and value else None


def _milliseconds(value: Any, message: Message) -> int | None:
    """The milliseconds of a number of seconds; None for what is no number or does not fit."""
    number = _number(value, message)
    return None if number is None or abs(number := number * 1000 + 0.5) >= 9e18 else int(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and type(value) is not bool


def _number(value: Any, message: Message) -> float | None:
    return float(str(value)) if _is_number(value) else None


def _whole(text: bytes) -> int | None:
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 19:
        return None
    number = int(text)
    return number if abs(number) <= _GREATEST else None


def _integer(value: Any, message: Message) -> Any:
    """The integer that a number says, also as 3.0 or 3e2; ``INVALID`` if it is none, or does not fit."""
    if isinstance(value, int) and type(value) is not bool:
        return int(value) if abs(value) <= _GREATEST else INVALID
    if not isinstance(value, float):
        return None
    text = _numeral_of(value, message.raw)
    mantissa, _, power = text.lower().partition(b"e")
    whole, _, fraction = mantissa.partition(b".")
    digits = (whole + fraction).lstrip(b"-0")
    shown = digits.rstrip(b"0")
    zeros = len(digits) - len(shown) - len(fraction)
    zeros += int(power.lstrip(b"+-0")[:18] or b"0") * (-1 if power[:1] == b"-" else 1)
    if shown and not (0 <= zeros <= 19 - len(shown) and int(shown) * 10**zeros <= _GREATEST):
        return INVALID
    number = int(shown) * 10**zeros if shown else 0
    return -number if text.startswith(b"-") else number


def _digits(key: str, value: Any, message: Message) -> tuple[int, int, bool] | None:
    number = _whole(_numeral_of(value, message.raw)) if _is_number(value) else None
    if number is None:
        return None
    if isinstance(value, LocatedInteger | LocatedFloat):
        end = value.at + len(value.form)
    elif (found := _NUMBER.match(message.raw, _behind(key, message))) is not None:
        end = found.end()
    else:
        raise _AmbiguousPlace
    size = len(str(number))
    return end - size, size, False


def _numeral(value: Any, message: Message) -> Any:
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and _is_unescaped(value, message.raw)):
        return None
    number = _whole(value.encode())
    return INVALID if number is None else number


def _epoch(value: Any, message: Message) -> int | None:
    if isinstance(value, str):
        time = epoch(value.encode())
        return time if time is not None and _is_unescaped(value, message.raw) else None
    return epoch(_numeral_of(value, message.raw)) if _is_number(value) else None


def _truth(most: int, value: Any, message: Message) -> bool | None:
    """The truth of a boolean; an integer is true unless it begins with a digit up to ``most``."""
    if _is_number(value) and (digits := _numeral_of(value, message.raw).removeprefix(b"-")).isdigit():
        return digits[0] > 0x30 + most
    return value if type(value) is bool else None


def _sections(value: Any, message: Message) -> int | None:
    if not isinstance(value, str):
        return None
    return sum(line.startswith(_SIGIL) for line in value.removeprefix("\ufeff").split("\n"))


def _family(key: str, value: Any, message: Message) -> tuple[int, int, bool] | None:
    """The text between the sigil of a channel and its first slash."""
    if not isinstance(value, str) or not value.startswith(_SIGIL) or "/" not in value:
        return None
    start, size, escaped = _span(key, value, message)
    places = [len(_SIGIL.encode()), len(value[: value.index("/")].encode())]
    if escaped:
        places = list(map(EscapeMap(message.raw[start : start + size]).place, places))
    first, last = places
    return start + first, last - first, escaped and b"\\" in message.raw[start + first : start + last]


_PLACED: dict[str, Callable[[str, Any, Message], Any]] = {
    "text": _text,
    "digits": _digits,
    "item": _item,
    "family": _family,
}
"""Fills that give a place in the message; each takes the name of the member, too."""
_FILLS: dict[str, Callable[[Any, Message], Any]] = {
    "integer": _integer,
    "number": _number,
    "time": _time,
    "epoch": _epoch,
    "numeral": _numeral,
    "seconds": _milliseconds,
    "count": lambda value, message: len(value) if type(value) is list else None,
    "sections": _sections,
}


class EscapeMap:
    """Places in what a JSON string says -> places in the string as written."""

    def __init__(self, span: bytes) -> None:
        self.escapes = places(span)
        self.starts = [said for _, _, said, _ in self.escapes]

    def place(self, at: int) -> int:
        """The offset of the byte at ``at``; inside a character, the offset at which that starts."""
        index = bisect_left(self.starts, at) - 1
        if index < 0:
            return at
        start, end, said, size = self.escapes[index]
        return end + at - said - size if at >= said + size else start

    def said(self, at: int) -> int:
        """The place in what the string says, of the byte at ``at`` as written; of an escape, where it begins."""
        index = bisect_left(self.escapes, (at,)) - 1
        if index < 0:
            return at
        _, end, said, size = self.escapes[index]
        return said + size + at - end
