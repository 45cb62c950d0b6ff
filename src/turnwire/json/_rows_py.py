"""Rows of the JSON wires in plain Python: where the values of a message are, and what of them goes into columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from turnwire.json._text_py import places, plain
from turnwire.json._wrapper_py import epoch
from turnwire.json.faults import items, skip_space, value_end
from turnwire.json.plan import NO_NUMBER, Fill, Value, WirePlan, keyed_step
from turnwire.json.times import read_time

_TEXT = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_MEMBER = re.compile(
    rb'[ \t\r\n]*+"(%b)"[ \t\r\n]*+:[ \t\r\n]*+(?:"(%b)"|([^\s",{}\[\]]++))?+[ \t\r\n]*+,?+' % (_TEXT, _TEXT), re.DOTALL
)
"""A member and the comma behind it: its key, and its string or its word; without them it is an object or an array."""
_SIGIL = b"\xe2\xab\xbb"  # U+2AFB
_BOM = b"\xef\xbb\xbf"
_GREATEST = (1 << 63) - 1


class ValueSpan(NamedTuple):
    """A value: its first byte decides what it is; start, end: its span, of a string the inside. before: the one before
    it at the same path, where the plan wants all of them."""

    first: int
    start: int
    end: int
    before: ValueSpan | None = None

    def every(self) -> Iterator[ValueSpan]:
        """This value and those before it, the last one first."""
        found: ValueSpan | None = self
        while found is not None:
            yield found
            found = found.before


class MessageSpans:
    """The search for the spans of the values that a plan wants; the same for every message of that plan."""

    def __init__(self, plans: Iterable[WirePlan]) -> None:
        self.values: dict[str, Value] = {}
        for plan in plans:
            for value in plan.values:
                if not self.values.get(value.path, Value("")).form:
                    self.values[value.path] = value
        self.parents = {path[:at] for path in self.values for at, letter in enumerate(path) if letter == "/"}
        self.others = {path.removesuffix("{}") for path in {*self.parents, *self.values} if path.endswith("{}")}
        self.keyed: dict[str, tuple[str, dict[str, str]]] = {}  # member -> the value that goes by it, and its paths
        for path in (*self.values, *self.parents):
            if path.endswith("]") and (step := keyed_step(path)) is not None:
                self.keyed.setdefault(step[0], (step[2], {}))[1][step[1]] = path
        self.by_key = {value for value, _ in self.keyed.values()}

    def spans(self, raw: bytes, start: int) -> dict[str, ValueSpan]:
        """The spans of the values in the good JSON object at ``start``."""
        found: dict[str, ValueSpan] = {}
        self._members(raw, start, "", found)
        return found

    def _members(self, raw: bytes, place: int, prefix: str, found: dict[str, ValueSpan]) -> int:
        place += 1
        keyed = ahead = value = ""  # in an item of an array: the path of the value that goes by another member
        while (member := _MEMBER.match(raw, place)) is not None:
            key, text, word = member.groups()
            path = prefix + (plain(key) if b"\\" in key else key).decode()
            place = member.end()
            if prefix in self.others and path not in self.values and path not in self.parents:
                path = f"{prefix}{{}}"
            if keyed and path == value:
                path = keyed
            if text is not None or word is not None:
                span = ValueSpan(0x22 if word is None else word[0], *member.span(2 if word is None else 3))
            else:
                start = place
                if raw[start] == 0x7B and path in self.parents:
                    place = self._members(raw, start, f"{path}/", found)
                else:
                    place = value_end(raw, start)
                    if raw[start] == 0x5B and f"{path}/*" in self.parents:
                        for item in items(raw, start):
                            if raw[item] == 0x7B:
                                self._members(raw, item, f"{path}/*/", found)
                span = ValueSpan(raw[start], start, place)
                place = skip_space(raw, place)
                place += raw[place] == 0x2C
            if path in self.values or (path in self.parents and span.first == 0x7B):
                every = path in self.values and self.values[path].every
                found[path] = span._replace(before=found.get(path)) if every else span
                ahead = path if path in self.by_key else ahead
            if path in self.keyed:
                value, paths = self.keyed[path]
                text = text_of(raw, span, 128)
                keyed = paths.get("" if text is None else text.decode(), "")
                if keyed and ahead == value:
                    found[keyed] = found[value]
        return skip_space(raw, place) + 1


def text_of(raw: bytes, value_span: ValueSpan, most: int) -> bytes | None:
    """The text of a string; None if it is no string, or written with escapes in more than ``most`` bytes."""
    if value_span.first != 0x22:
        return None
    span = raw[value_span.start : value_span.end]
    if b"\\" not in span:
        return span
    return plain(span) if len(span) <= most else None


def time_of(raw: bytes, value_span: ValueSpan) -> int | None:
    """The time that a string says, if it says one and nothing else."""
    text = text_of(raw, value_span, 64)
    found = read_time(text) if text else None
    return found[0] if found is not None and text is not None and found[1] == len(text) else None


class Cell(NamedTuple):
    """The cell of one column: a value, or a span with whether it holds escapes. absent: the column has no value,
    whatever another source has, and its array holds this one."""

    value: Any = None
    start: int = 0
    end: int = 0
    escaped: bool = False
    absent: bool = False


def filled(fill: Fill, value: Value | None, raw: bytes, value_span: ValueSpan | None) -> Cell | None:
    """The cell that a fill makes of a value, or None for nothing."""
    if fill.how == "constant":
        return Cell(fill.constant)
    if value_span is None:
        return None
    if fill.how == "present":
        return None if value_span.first == 0x6E else Cell(fill.constant)  # null is nothing
    if fill.how == "truth":
        return _truth(fill.constant, raw, *value_span[:3])
    if fill.how == "word":
        result: Any = _word(raw, value_span, value)
    elif fill.how in ("times", "sum"):
        result = _every(fill.how, raw, value_span)
    else:
        if value is not None and value.every:
            value_span = next((one for one in [*value_span.every()][::-1] if one.first == 0x22), value_span)
        result = _FILLS[fill.how](raw, *value_span[:3])
    if fill.numbers and isinstance(result, int):
        number = fill.numbers[result]
        return None if number == NO_NUMBER else Cell(number)
    return result if result is None or isinstance(result, Cell) else Cell(result)


def _word(raw: bytes, value_span: ValueSpan, value: Value | None) -> int | None:
    text = text_of(raw, value_span, 128)
    words = [word.encode() for word in value.words] if value else []
    return words.index(text) if text in words else None


def _every(how: str, raw: bytes, value_span: ValueSpan) -> int | Cell | None:
    """How many values there are, or the sum of the numbers, as :func:`_integer`."""
    every = [*value_span.every()][::-1]
    if how == "times":
        return None if len(every) == 1 and value_span.first == 0x6E else len(every)
    total: int | None = None
    for first, start, end, _ in every:
        number = _integer(raw, first, start, end)
        if isinstance(number, int):
            total = (total or 0) + number
        if isinstance(number, Cell) or abs(total or 0) > _GREATEST:
            return _INVALID
    return total


def between(raw: bytes, start: ValueSpan | None, end: ValueSpan | None) -> Cell | None:
    """The whole milliseconds from one time to another, each a text or a number since 1970."""
    if start is None or end is None:
        return None
    first, last = (epoch(raw[one.start : one.end]) if (at := time_of(raw, one)) is None else at for one in (start, end))
    return None if first is None or last is None or first > last else Cell((last - first) // 1000)


def _text(raw: bytes, first: int, start: int, end: int) -> Cell | None:
    return Cell(None, start, end, b"\\" in raw[start:end]) if first == 0x22 else None


def _item(raw: bytes, first: int, start: int, end: int) -> Cell | None:
    """The string with which an array begins."""
    begin = skip_space(raw, start + 1)
    return _text(raw, 0x22, begin + 1, value_end(raw, begin) - 1) if first == 0x5B and raw[begin] == 0x22 else None


def _milliseconds(raw: bytes, first: int, start: int, end: int) -> int | None:
    """The milliseconds of a number of seconds; None for what is no number or does not fit."""
    number = float(raw[start:end]) * 1000 + 0.5 if first in b"-0123456789" else 9e18
    return int(number) if abs(number) < 9e18 else None


def _whole(text: bytes) -> int | None:
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 19:
        return None
    number = int(text)
    return number if abs(number) <= _GREATEST else None


def _integer(raw: bytes, first: int, start: int, end: int) -> int | Cell | None:
    """The integer that a number says, also as 3.0 or 3e2; an absent cell over -1 if it is none, or does not fit."""
    if first not in b"-0123456789":
        return None
    mantissa, _, power = raw[start:end].lower().partition(b"e")
    whole, _, fraction = mantissa.partition(b".")
    digits = (whole + fraction).lstrip(b"-0")
    written = digits.rstrip(b"0")
    zeros = len(digits) - len(written) - len(fraction)
    zeros += int(power.lstrip(b"+-0")[:18] or b"0") * (-1 if power[:1] == b"-" else 1)
    if written and not (0 <= zeros <= 19 - len(written) and int(written) * 10**zeros <= _GREATEST):
        return _INVALID
    number = int(written) * 10**zeros if written else 0
    return -number if first == 0x2D else number


def _digits(raw: bytes, first: int, start: int, end: int) -> Cell | None:
    number = _whole(raw[start:end])
    return None if number is None else Cell(None, end - len(str(number)), end)


def _numeral(raw: bytes, first: int, start: int, end: int) -> int | Cell | None:
    if first != 0x22 or not raw[start:end].isdigit():
        return None
    number = _whole(raw[start:end])
    return _INVALID if number is None else number


def _truth(most: int, raw: bytes, first: int, start: int, end: int) -> Cell | None:
    """The truth of a boolean; an integer is true unless it begins with a digit up to ``most``."""
    digits = raw[start:end].removeprefix(b"-")
    if first != 0x22 and digits.isdigit():
        return Cell(digits[0] > 0x30 + most)
    return Cell(first == 0x74) if first in b"tf" else None


def _sections(raw: bytes, first: int, start: int, end: int) -> int | None:
    lines = plain(raw[start:end]).removeprefix(_BOM).split(b"\n")
    return sum(line.startswith(_SIGIL) for line in lines) if first == 0x22 else None


def _family(raw: bytes, first: int, start: int, end: int) -> Cell | None:
    """The text between the sigil of a channel and its first slash."""
    text = plain(raw[start:end])
    slash = text.find(b"/")
    if not text.startswith(_SIGIL) or slash < 0:  # what is no string does not begin so
        return None
    written = EscapeMap(raw[start:end])
    return _text(raw, 0x22, start + written.place(len(_SIGIL)), start + written.place(slash))


_INVALID = Cell(-1, absent=True)
_FILLS: dict[str, Callable[[bytes, int, int, int], Any]] = {
    "text": _text,
    "integer": _integer,
    "digits": _digits,
    "number": lambda raw, first, start, end: float(raw[start:end]) if first in b"-0123456789" else None,
    "time": lambda raw, *value_span: time_of(raw, ValueSpan(*value_span)),
    "epoch": lambda raw, first, start, end: epoch(raw[start:end]),
    "numeral": _numeral,
    "item": _item,
    "seconds": _milliseconds,
    "count": lambda raw, first, start, end: sum(1 for _ in items(raw, start)) if first == 0x5B else None,
    "sections": _sections,
    "family": _family,
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
