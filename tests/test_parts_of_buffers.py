"""A part of a larger buffer is read as a copy of it is: what lies behind its end is not looked at."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import turnwire
from tests.fuzz.edits import MESSAGES
from turnwire import kick
from turnwire.registry import WIRES

ENDS = [
    "1e5", "-1.5E+7", "0.25", "-Infinity", "NaN", "true", "false", "null", '"\\ud83d\\ude00\\n"', '"é🙂"', "[[1,2],{}]",
]  # fmt: skip
"""Values of JSON that go on behind each of their characters."""


def said(call: Callable[[Any], Any], data: Any) -> Any:
    """What a call gives, or why and where it is refused."""
    try:
        return repr(call(data))
    except turnwire.WireError as error:
        return error.reason, error.offset, error.line


def texts_of(wire: str) -> list[bytes]:
    texts = [message if isinstance(message, bytes) else message.encode() for message in MESSAGES[wire][:3]]
    if wire in ("sstp", "sap", "kick"):
        texts += [b'{"payload":' + end.encode() + b',"a":' + end.encode() + b"}\n" for end in ENDS]
    return [text + b"\n" for text in texts]


def rows(data: Any) -> list[list[Any]]:
    """Where the records are, and where and why rejects."""
    found = turnwire.scan(data)
    records = [list(batch[name]) for batch in found for name in ("offset", "length", "line", "wire")]
    return [*records, *(list(found.rejects[name]) for name in ("offset", "length", "line", "reason"))]


@pytest.mark.parametrize("wire", WIRES)
def test_every_part_is_read_as_a_copy_of_it_is(wire: str) -> None:
    package = import_module(f"turnwire.{wire}")
    calls = [package.decode, *([kick.parse_space] if wire == "kick" else [])]
    for text in texts_of(wire):
        whole = memoryview(text)
        for end in range(len(text) + 1):
            for call in calls:
                assert said(call, whole[:end]) == said(call, text[:end]), text[:end]


@pytest.mark.parametrize("wire", WIRES)
def test_every_part_is_scanned_as_a_copy_of_it_is(wire: str) -> None:
    for text in texts_of(wire)[:6]:
        whole = memoryview(text)
        for end in range(0, len(text) + 1, 3):
            assert rows(whole[:end]) == rows(text[:end]), text[:end]
