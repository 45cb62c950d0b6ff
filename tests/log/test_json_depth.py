"""How deep a message of JSON may be: whatever member is the deep one, and whatever it is made of, cores agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import turnwire
from tests.log.json_engines import JSON_WIRES, RECORDS, both
from turnwire import registry
from turnwire.contract import LIMITS
from turnwire.json.scanner import REASONS

pytestmark = pytest.mark.once
TOO_DEEP = list(REASONS).index("too_deep")
MAKERS = {
    "an array in an object": (lambda value: {"a": "", "b": value, "c": 1}, lambda value: [value]),
    "an object in an array": (lambda value: ["", value, 1], lambda value: {"a": value}),
}
"""What each container of a deep value is, from the outermost on and then again."""


def deep(kind: str, depth: int) -> Any:
    """A value of so many containers in each other."""
    makers = MAKERS[kind]
    value: Any = 0
    for level in reversed(range(depth)):
        value = makers[level % len(makers)](value)
    return value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value within a message."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*path, index)
            yield from places(inner, (*path, index))


def placed(text: str, path: tuple[Any, ...], value: Any) -> bytes:
    """The message with another value at a path."""
    whole = json.loads(text)
    inside = whole
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return json.dumps(whole).encode()


@cache
def samples(wire: str) -> dict[tuple[Any, ...], str]:
    """A good message for each path that one of the vectors has."""
    found: dict[tuple[Any, ...], str] = {}
    for text in RECORDS[wire]:
        try:
            registry.wire(wire).decode(text)
        except turnwire.WireError:
            continue
        record = text.decode()
        for path in [*places(json.loads(record)), ("more",)]:
            if not any(isinstance(step, int) and step for step in path):
                found.setdefault(path, record)
    return found


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_each_member_as_deep_as_may_be(wire: str, kind: str) -> None:
    for path, text in samples(wire).items():
        depth = LIMITS.nesting - len(path)
        fits, exceeds = (both(wire, placed(text, path, deep(kind, size)) + b"\n") for size in (depth, depth + 1))
        if not fits.rows and not fits.bad:  # what tells the wire is gone
            assert path[-1] in ("header", "kind", "type", "command_type", "id")
            assert not exceeds.rows and not exceeds.bad
            continue
        assert TOO_DEEP not in fits.rejects["reason"]
        assert exceeds.rejects["reason"] == [TOO_DEEP], path
