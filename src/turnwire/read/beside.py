"""The JSON values that stand beside what was found in a file, outside strings: for checklists that know near misses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.read.wrapping import DEEPEST_STRING, Text

if TYPE_CHECKING:
    from turnwire.read.located import Found


class Beside(NamedTuple):
    """A JSON value that is neither a record nor a reject: its byte, its line (1-based), and what it says."""

    offset: int
    line: int
    value: Any


def objects(found: Found, marks: tuple[bytes, ...]) -> Iterator[Beside]:
    """The outermost objects of good JSON beside what was found, where one of ``marks`` is with them, in order."""
    place = line = 0
    for start, stop in found.gaps:
        chunk = found.data[start:stop]
        if not any(mark in chunk for mark in marks):
            continue
        for first, _, value in Text(chunk).objects():
            line += found.data.count(b"\n", place, start + first)
            place = start + first
            yield Beside(place, line + 1, value)


def elements(found: Found) -> list[Beside]:
    """What else is in a list of messages, where a file is one: all that is not an object. A file that is anything
    else, or a list with lists of its own, has none."""
    gaps = found.gaps
    if not gaps or found.data[slice(*gaps[0])].lstrip()[:1] != b"[":
        return []
    several = []
    place = line = 0
    for number, (start, stop) in enumerate(gaps):
        inside = found.data[start:stop].strip()
        inside = inside.removeprefix(b"[") if number == 0 else inside
        inside = inside.removesuffix(b"]") if number == len(gaps) - 1 else inside
        try:
            values = json.loads(b"[" + inside.strip().strip(b",") + b"]")
        except ValueError:
            return []
        line += found.data.count(b"\n", place, start)
        place = start
        several += [Beside(start, line + 1, value) for value in values if not isinstance(value, dict)]
    return several


def elements_in_strings(found: Found) -> Iterator[tuple[int, int, list[Any]]]:
    """The lists in strings that hold messages, {} for each: the string's byte, its line, the list."""
    place, line = 0, 1
    for start, said in found.strings(b"{}"):
        if said.lstrip()[:1] == b"[":
            try:
                values = json.loads(said)
            except ValueError:
                continue
            line += found.data.count(b"\n", place, start)
            place = start
            yield start, line, values


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
