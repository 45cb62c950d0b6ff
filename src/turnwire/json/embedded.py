"""Finding what stands inside other text: JSON objects in prose, code fences, larger JSON and the strings of JSON.

Nothing here knows a protocol: callers say which object is theirs, and what else they look for in plain text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from turnwire.json.faults import SPACE
from turnwire.json.text import reader

DEEPEST_STRING = 8
"""JSON inside strings of JSON inside strings … is followed this far."""


class Piece(NamedTuple):
    """One thing that was found.

    value: what the caller made of it. start, end: its span in the text, in characters (inside a JSON string: of its
    escaped form). how: "bare" (it is the whole text), "prose", "fence" or "json" (inside a larger JSON value); inside a
    JSON string, "json_string/" stands before that, once for each level.
    """

    value: Any
    start: int
    end: int
    how: str


Accept = Callable[[dict[str, Any], bytes], Any]
"""(object, its bytes) -> what the caller makes of it, or None when it is not the caller's."""
Search = Callable[[str], Iterable[tuple[Any, int, int]]]
"""text -> (value, start, end) of what stands in it apart from JSON."""

_OPENING = re.compile(rb'\{[ \t\r\n]*["}]')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}]', re.DOTALL)
_ESCAPED_OPENING = re.compile(rb'\{(?:[ \t\r\n]|\\+[nrt])*\\+"')
_ESCAPED_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^u])")
_FENCE = re.compile(rb"`{3,}|~{3,}")


def pieces(text: str, accept: Accept, search: Search | None = None) -> list[Piece]:
    """Everything in ``text`` that the caller takes, in the order of its start. What is inside a taken object is its
    content and is not looked at. Any text is fine; nothing is raised."""
    if not isinstance(text, str):
        raise TypeError(f"text is searched for messages, not {type(text).__name__}")
    return _Text(text, 0).pieces(accept, search)


class _Text:
    """One text: the one that was given, or what a JSON string in it says."""

    def __init__(self, text: str, level: int) -> None:
        self.text = text
        self.level = level
        self.raw = text.encode("utf-8", "surrogatepass")
        self.fences = [match.start() for match in _FENCE.finditer(self.raw)]
        self.regions: list[tuple[int, int]] = []  # outermost JSON objects, in bytes, sorted
        self.strings: list[tuple[int, int]] = []  # the insides of JSON strings that nobody took, in bytes

    def pieces(self, accept: Accept, search: Search | None) -> list[Piece]:
        found = list(self.objects(accept))
        if self.level < DEEPEST_STRING:
            self.strings += self.stray_strings()
            for start, end in self.strings:
                found += self.inside(start, end, accept, search)
        places = self.characters({place for piece in found for place in (piece.start, piece.end)})
        result = [piece._replace(start=places[piece.start], end=places[piece.end]) for piece in found]
        if search is not None:
            result += self.searched(search)
        return sorted(result, key=lambda piece: (piece.start, piece.end))

    def objects(self, accept: Accept) -> Iterator[Piece]:
        """The objects that are taken, with their bytes as span; fills ``regions`` and ``strings``."""
        find = reader("json").find
        hopeless: set[int] = set()
        place = 0
        while (match := _OPENING.search(self.raw, place)) is not None:
            start = match.start()
            place = start + 1
            if start in hopeless:
                continue
            value, end = find(self.raw, start)
            if value is None:
                hopeless = self.unclosed(start, end)
                continue
            place = end
            self.regions.append((start, end))
            taken = accept(value, self.raw[start:end])
            if taken is not None:
                yield Piece(taken, start, end, self.how(start, end))
            else:
                yield from self.members(value, start, end, accept)

    def unclosed(self, start: int, end: int) -> set[int]:
        """Where the objects start that are open at the fault at ``end``: all of them meet that fault."""
        starts: list[int] = []
        place = start
        while (token := _TOKEN.search(self.raw, place, end)) is not None:
            if b'"' in self.raw[place : token.start()]:
                break  # the fault stands in a string: what follows its quote is no brace of JSON
            place = token.end()
            if self.raw[token.start()] == 0x7B:
                starts.append(token.start())
            elif self.raw[token.start()] == 0x7D:
                starts.pop()
        return set(starts)

    def members(self, value: dict[str, Any], start: int, end: int, accept: Accept) -> Iterator[Piece]:
        """The objects inside the object ``value``, which nobody took and which stands from ``start`` to ``end``."""
        ends: dict[int, int] = {}
        starts: list[int] = []
        strings = []
        for token in _TOKEN.finditer(self.raw, start, end):
            first, last = token.span()
            if self.raw[first] == 0x7B:
                starts.append(first)
                ends[first] = 0
            elif self.raw[first] == 0x7D:
                ends[starts.pop()] = last
            else:
                strings.append((first + 1, last - 1))
        taken_spans = []
        behind = start + 1  # what lies before this is an object that was taken
        for inner, (first, last) in zip(_objects(value), ends.items(), strict=True):
            taken = accept(inner, self.raw[first:last]) if first >= behind else None
            if taken is not None:
                behind = last
                taken_spans.append((first, last))
                yield Piece(taken, first, last, "json")
        self.strings += [span for span in strings if not _within(taken_spans, span[0])]

    def stray_strings(self) -> Iterator[tuple[int, int]]:
        """Escaped objects outside all good JSON: in strings of arrays, in JSON that was cut off, in quoted text."""
        place = 0
        while (match := _ESCAPED_OPENING.search(self.raw, place)) is not None:
            start = match.start()
            region = bisect_right(self.regions, (start, len(self.raw))) - 1
            if region >= 0 and self.regions[region][1] > start:
                place = self.regions[region][1]
                continue
            text = _ESCAPED_TEXT.match(self.raw, start)
            place = max(text.end() if text else 0, start + 1)
            yield start, place

    def inside(self, start: int, end: int, accept: Accept, search: Search | None) -> Iterator[Piece]:
        """What stands in the JSON string whose inside is ``start`` to ``end``."""
        escaped = self.raw[start:end]
        if (b"{" not in escaped) if search is None else len(escaped) < 8:
            return
        try:
            inner = json.loads(b'"%b"' % escaped, strict=False)
        except ValueError:
            return
        found = _Text(inner, self.level + 1).pieces(accept, search)
        if not found:
            return
        literal = escaped.decode("utf-8", "surrogatepass")
        places = _outer(literal, sorted({place for piece in found for place in (piece.start, piece.end)}))
        sizes = _byte_offsets(literal, places.values())
        for value, first, last, how in found:
            yield Piece(value, start + sizes[places[first]], start + sizes[places[last]], f"json_string/{how}")

    def searched(self, search: Search) -> Iterator[Piece]:
        found = list(search(self.text))
        sizes = _byte_offsets(self.text, {place for _, start, end in found for place in (start, end)})
        for value, start, end in found:
            first, last = sizes[start], sizes[end]
            before = bisect_left(self.regions, (last, 0)) - 1
            if before < 0 or self.regions[before][1] <= first:
                yield Piece(value, start, end, self.how(first, last))

    def how(self, start: int, end: int) -> str:
        """How the bytes from ``start`` to ``end`` are wrapped."""
        while start > 0 and self.raw[start - 1] in SPACE:
            start -= 1
        while end < len(self.raw) and self.raw[end] in SPACE:
            end += 1
        before, after = self.raw[max(start - 1, 0) : start], self.raw[end : end + 1]
        if not before and not after:
            return "bare"
        if bisect_left(self.fences, start) % 2:
            return "fence"
        return "json" if before in (b"[", b",") and after in (b"]", b",") else "prose"

    def characters(self, places: set[int]) -> dict[int, int]:
        """Byte offset -> character offset, for each of ``places``."""
        if self.raw.isascii():
            return {place: place for place in places}
        result = {}
        byte = character = 0
        for place in sorted(places):
            character += len(self.raw[byte:place].decode("utf-8", "surrogatepass"))
            byte = place
            result[place] = character
        return result


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, in the order in which they open."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _within(spans: list[tuple[int, int]], place: int) -> bool:
    """Whether a place lies in one of the sorted spans."""
    index = bisect_right(spans, (place, place)) - 1
    return index >= 0 and place < spans[index][1]


def _byte_offsets(text: str, places: Iterable[int]) -> dict[int, int]:
    """Character offset -> byte offset in UTF-8, for each of ``places``."""
    if text.isascii():
        return {place: place for place in places}
    result = {}
    byte = character = 0
    for place in sorted(places):
        byte += len(text[character:place].encode("utf-8", "surrogatepass"))
        character = place
        result[place] = byte
    return result


def _outer(literal: str, places: list[int]) -> dict[int, int]:
    """Offset in what the inside of a JSON string says -> offset in that inside as written, for sorted ``places``."""
    result = {}
    shift = 0
    waiting = iter(places)
    place = next(waiting, None)
    for match in _ESCAPE.finditer(literal):
        said = match.start() - shift
        while place is not None and place <= said:
            result[place] = place + shift
            place = next(waiting, None)
        if place is None:
            break
        shift += len(match.group()) - 1
    while place is not None:
        result[place] = place + shift
        place = next(waiting, None)
    return result
