"""The text and the JSON values around the messages of a file, for checklists that report near misses.

Text at the top of a file is :attr:`turnwire.read.located.LocatedRecords.gaps`; here is the same of strings and of
prefixes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.checklists import log_line
from turnwire.log.search.carriers import MOST_PREFIX, EveryLinePrefix
from turnwire.read.wrapping import DEEPEST_STRING, Text

if TYPE_CHECKING:
    from turnwire.read.located import LocatedRecords


_MARKS_OF_QUOTES = re.compile(rb"[ \t]*(?:>[ \t]*)*")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_NEWLINE = 0x0A
_BLANKS = b" \t\r\n"


class TextLine(NamedTuple):
    """A line of text beside messages: its byte in the file (in a JSON string, of its quote), its line (1-based), what
    it says without its prefix, and whether it is in a log, in which other lines are what programs say."""

    offset: int
    line: int
    text: bytes
    in_log: bool


def lines_around(found: LocatedRecords, wire: str) -> Iterator[TextLine]:
    """The lines beside the messages of a wire in the same JSON strings, then those behind the same prefixes."""
    if found.of(wire).any():
        yield from lines_in_strings(found)
        yield from lines_behind_prefixes(found, wire)


def lines_in_strings(found: LocatedRecords) -> Iterator[TextLine]:
    """Those in strings. What is in a string of one line, or of lines of a log, is in a log."""
    line_of = found.line_of()
    for start, said in found.strings():
        lines = [text.strip(_BLANKS) for text in said.split(b"\n") if text.strip(_BLANKS)]
        in_log = b"\n" not in said.strip(b"\r\n") or any(map(log_line, lines))
        yield from (TextLine(start, line_of(start), text, in_log) for text in lines)


def lines_behind_prefixes(found: LocatedRecords, wire: str) -> Iterator[TextLine]:
    """Those that begin as the line of the message in front of them or behind them does, in letters and other marks; of
    a message in a JSON string, as its line does up to that, and what the string says.

    Where all lines beside messages begin so, and that is white space or the mark of a quote, it is not a log.
    """
    lines = list(_with_prefixes(found, wire))
    plain = all(prefix is not None and _MARKS_OF_QUOTES.fullmatch(prefix) for _, prefix, _ in lines)
    line_of = found.line_of()
    for start, prefix, texts in lines:
        if prefix is not None:
            yield from (TextLine(start + len(prefix), line_of(start), text, not plain) for text in texts)


def prefixes(found: LocatedRecords, wire: str) -> Iterator[tuple[int, int, bytes]]:
    """Each text in front of a message of a wire in its line, but for its digits once: (byte, line, text)."""
    offsets, _, _, inside = found.places
    seen: set[bytes] = set()
    line_of = found.line_of()
    for offset in offsets[found.of(wire) & ~inside].tolist():
        prefix = _prefix(found.data, offset)
        form = prefix.translate(_ZEROS)
        if prefix and form not in seen:
            seen.add(form)
            yield offset, line_of(offset), prefix


def _with_prefixes(found: LocatedRecords, wire: str) -> Iterator[tuple[int, bytes | None, list[bytes]]]:
    """Each line that is not blank around all that was found: its byte, its prefix (None where it has none), and what it
    says behind that."""
    offsets, _, _, inside = found.places
    data, mine = found.data, found.of(wire)
    own, quoted = offsets[mine], inside[mine]
    forms: dict[tuple[bytes, bool], EveryLinePrefix] = {}
    for start, text in found.rest():
        stop = start + len(text)
        first = start if not start or data[start - 1] == _NEWLINE else data.find(b"\n", start, stop) + 1
        behind = stop if stop == len(data) else data.rfind(b"\n", start, stop)
        if behind <= first or not (first or not start):
            continue  # there is no whole line
        number = int(own.searchsorted(start))
        near = {(_prefix(data, int(own[at])), bool(quoted[at])) for at in (number - 1, number) if 0 <= at < len(own)}
        if not forms.keys() >= near:
            forms = {(prefix, within): EveryLinePrefix(prefix) for prefix, within in near if prefix}
        for line in data[first:behind].split(b"\n"):
            if line.strip(_BLANKS):
                size, said = _behind(line.removesuffix(b"\r"), forms)
                yield first, line[:size] or None, [one for one in said if one]
            first += len(line) + 1


def _behind(line: bytes, forms: dict[tuple[bytes, bool], EveryLinePrefix]) -> tuple[int, list[bytes]]:
    """The length of the prefix of a line, and what it says behind that; forms: by the prefix, and whether a JSON
    string follows it."""
    for (_, within), form in forms.items():
        size = form.taken(line)
        if size < 0 or (within and line[size : size + 1] != b'"'):
            continue
        said = Text(line).said(size + 1) if within else None
        rest = line[size:] if said is None else said.raw
        return size, [one.strip(_BLANKS) for one in rest.split(b"\n")]
    return 0, [line]


def _prefix(data: bytes, offset: int) -> bytes:
    """The text in front of a byte in its line, where that can be the prefix of other lines."""
    start = max(0, offset - MOST_PREFIX - 1)
    found = data.rfind(b"\n", start, offset) + 1
    prefix = data[found:offset] if found or not start else b""
    return b"" if prefix[-1:].isalnum() else prefix


class StrayJson(NamedTuple):
    """A JSON value that is neither a record nor a reject: its byte, its line (1-based), and what it says."""

    offset: int
    line: int
    value: Any


def objects(found: LocatedRecords, marks: tuple[bytes, ...]) -> Iterator[StrayJson]:
    """The outermost objects of good JSON beside what was found, where one of ``marks`` is with them, in order."""
    line_of = found.line_of()
    for start, stop in found.gaps:
        chunk = found.data[start:stop]
        if any(mark in chunk for mark in marks):
            for first, _, value in Text(chunk).objects():
                yield StrayJson(start + first, line_of(start + first), value)


def elements(found: LocatedRecords) -> list[StrayJson]:
    """The other values in a list of messages, where a file is one: all that is not an object. A file that is anything
    else, or a list with lists of its own, has none."""
    gaps = [(start, found.data[start:stop].strip()) for start, stop in found.gaps]
    if not gaps or not gaps[0][1].startswith(b"["):
        return []
    gaps[0] = gaps[0][0], gaps[0][1].removeprefix(b"[")
    gaps[-1] = gaps[-1][0], gaps[-1][1].removesuffix(b"]")
    several: list[StrayJson] = []
    line_of = found.line_of()
    for start, inside in gaps:
        try:
            values = json.loads(b"[" + inside.strip().strip(b",") + b"]")
        except ValueError:
            return []
        several += [StrayJson(start, line_of(start), value) for value in values if not isinstance(value, dict)]
    return several


def elements_in_strings(found: LocatedRecords) -> Iterator[tuple[int, int, list[Any]]]:
    """The lists in strings that hold messages, {} for each: the string's byte, its line, the list."""
    line_of = found.line_of()
    for start, said in found.strings(b"{}"):
        if said.lstrip()[:1] == b"[":
            with suppress(ValueError):
                yield start, line_of(start), json.loads(said)


def within(value: dict[str, Any], marks: tuple[str, ...], depth: int = DEEPEST_STRING) -> Iterator[dict[str, Any]]:
    """The object itself, and those that its strings say, in which one of ``marks`` is."""
    yield value
    waiting: list[Any] = list(value.values())
    while waiting and depth:
        one = waiting.pop()
        if isinstance(one, (dict, list, tuple)):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, str) and any(mark in one for mark in marks):
            for _, _, inner in Text(one.encode("utf-8", "surrogatepass")).objects():
                yield from within(inner, marks, depth - 1)
