"""The wrapping of a message in the text that it was found in: prose, a code fence, larger JSON, the strings of JSON."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import opened_at
from turnwire.json.faults import SPACE
from turnwire.json.text import reader

DEEPEST_STRING = 8
"""JSON inside strings of JSON inside strings … is followed this far."""
_OPENING = re.compile(rb'\{[ \t\r\n]*["}]')
_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_LITERAL = re.compile(
    rb'(?:^|[{\[,:])[ \t\r\n]*"([^"\\]*(?:\\.[^"\\]*)*)(?:"(?=[ \t\r\n]*(?:[}\],:]|\Z))|\\?\Z)', re.DOTALL
)
"""A JSON string, by what is around it; or one that the text cuts off."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of a character but its first; a place in a damaged string may be between two."""
_FENCE = re.compile(rb"`{3,}|~{3,}")


class Text:
    """One text in UTF-8: a whole one, or what a JSON string in it says."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._last: tuple[int, Text | None, EscapeMap] | None = None  # the string that was asked for last

    @cached_property
    def _fences(self) -> list[int]:
        return [match.start() for match in _FENCE.finditer(self.raw)]

    def objects(self) -> Iterator[tuple[int, int, Any]]:
        """The outermost objects of good JSON: bytes from and to, and what each says."""
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
                hopeless = opened_at(self.raw, start, end)
                continue
            place = end
            yield start, end, value

    def how(self, start: int, end: int) -> str:
        """The way in which the bytes from ``start`` to ``end`` are wrapped: "bare", "prose", "fence" or "json"."""
        before, after = start, end
        while before > 0 and self.raw[before - 1] in SPACE:
            before -= 1
        while after < len(self.raw) and self.raw[after] in SPACE:
            after += 1
        front, back = self.raw[max(before - 1, 0) : before], self.raw[after : after + 1]
        if not front and not back:
            return "bare"
        if front in (b":", b"[", b",") and back in (b"}", b"]", b","):  # perhaps inside a larger object of good JSON
            index = bisect_right(self._objects, (start, len(self.raw))) - 1
            if index >= 0 and self._objects[index][0] < start and end < self._objects[index][1]:
                return "json"
        if bisect_left(self._fences, start) % 2:
            return "fence"
        return "json" if front in (b"[", b",") and back in (b"]", b",") else "prose"

    @cached_property
    def _objects(self) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in self.objects()]

    def wrapped(self, raw: bytes, place: int, known: int = 0) -> str:
        """The same for the bytes ``raw`` that stand at ``place``, or are what strings of JSON say there, with
        "json_string/" for each level of these. raw may also be as it is written there. known: in so many strings they
        are if the byte is in one, whatever these say."""
        text, depth = self, -1
        for inside, at in self._levels(place):
            if depth >= 0 and not inside.raw.startswith(raw, at):
                raw = unescaped(raw)
                if depth >= known and not inside.raw.startswith(raw, at):
                    break
            text, place, depth = inside, at, depth + 1
        return "json_string/" * depth + text.how(place, place + len(raw))

    def innermost(self, place: int) -> tuple[Text, int]:
        """The text of the innermost JSON string that holds a byte, and where that byte is there; of a byte in none,
        this text."""
        *_, last = self._levels(place)
        return last

    def _levels(self, place: int) -> Iterator[tuple[Text, int]]:
        """This text and the byte, and the same of each JSON string in a string that holds it."""
        text = self
        for _ in range(DEEPEST_STRING + 1):
            yield text, place
            start = text.literal(place)
            inside, escapes = (None, None) if start is None else text._string(start)
            if start is None or inside is None or escapes is None:
                return
            text, place = inside, escapes.said(place - start)

    @cached_property
    def _literals(self) -> list[tuple[int, int]]:
        """The insides of JSON strings, in order; the last one may have no end."""
        return [match.span(1) for match in _LITERAL.finditer(self.raw)]

    def literal(self, place: int) -> int | None:
        """The place where the inside of the JSON string begins that holds a byte, if any."""
        index = bisect_right(self._literals, (place, len(self.raw))) - 1
        return self._literals[index][0] if index >= 0 and place < self._literals[index][1] else None

    def said(self, start: int) -> Text | None:
        """The text of the JSON string whose inside begins there; None if it is damaged."""
        return self._string(start)[0]

    def written(self, start: int, place: int) -> int:
        """The byte at which that JSON string has what is at a place of what it says."""
        return start + self._string(start)[1].place(place)

    def _string(self, start: int) -> tuple[Text | None, EscapeMap]:
        if self._last is None or self._last[0] != start:
            inside = self.raw[start : inside_end(self.raw, start)]
            raw = _decoded(inside)
            self._last = start, None if raw is None else Text(raw), EscapeMap(inside)
        return self._last[1:]

    def characters(self, places: Iterable[int]) -> dict[int, int]:
        """Byte offset -> character offset, for each of ``places``."""
        if self.raw.isascii():
            return {place: place for place in places}
        result = {}
        byte = character = 0
        for place in sorted(set(places)):
            character += len(self.raw[byte:place].translate(None, _CONTINUATION))
            byte = place
            result[place] = character
        return result


def inside_end(raw: bytes, start: int) -> int:
    """The place where the inside of the JSON string ends that begins at ``start``."""
    match = _INSIDE.match(raw, start)
    return match.end() if match else start


def unescaped(inside: bytes, times: int = 1) -> bytes:
    """The text that the inside of a JSON string says, or the part of one; itself if it is none. times: of strings in
    strings, in how many it is."""
    for _ in range(times):
        said = _decoded(inside)
        if said is None:
            break
        inside = said
    return inside


def _decoded(inside: bytes) -> bytes | None:
    """The text of a JSON string, without its quotes; None if it is none."""
    try:
        written = f'{inside.decode("utf-8", "surrogatepass")}"'
        text, end = scanstring(written, 0, False)  # a third of what a decoder of whole values takes
    except ValueError:
        return None
    return text.encode("utf-8", "surrogatepass") if end == len(written) else None
