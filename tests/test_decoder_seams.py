"""A ``turnwire.Decoder`` between two pieces of a stream: that nothing is lost where they meet, and that what
is held is neither read nor put together with each of them. Counted in bytes, not in seconds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.log.found import in_pieces
from tests.log.json_engines import JSON_WIRES, RECORDS
from turnwire import Decoder, scan

pytestmark = pytest.mark.once

NSLIP = b'@a3|f0|c1|S0|d1|T1|t"hello"#'
CSP = b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ x\n\n\n"
LINE = b"x " + b"{} " * 11_000
"""A line in which an object closes with nearly every piece, and no message does."""


def record(wire: str, text: bytes) -> bytes:
    """A message of a JSON wire in which a member says this (as it is written in JSON)."""
    whole = next(one for one in RECORDS[wire] if sum(map(len, scan(one, wire=wire))) == 1)
    return b'{"more": "%b", %b' % (text, whole[1:])


def put_together(decoder: Decoder, pieces: Iterable[bytes]) -> int:
    """The bytes that were copied to join pieces with what was held before them."""
    stream: Any = decoder._stream
    held, copied = stream._data, 0
    for piece in pieces:
        decoder.feed(piece)
        copied += len(stream.front.held)
        if stream._data is not held:
            held = stream._data
            copied += len(held)
    return copied


@pytest.mark.parametrize("data", [b'{"a": "' + b"x" * 33_000, b'@a3|t"' + b"x" * 33_000, LINE, b"x" * 33_000])
def test_what_is_held_is_not_put_together_with_each_piece(data: bytes) -> None:
    assert put_together(Decoder(), in_pieces(data, 64)) < 8 * len(data)


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_an_object_over_lines_comes_with_its_last_byte_wherever_it_is_cut(wire: str) -> None:
    """Also where it comes as one piece, where a piece ends a line and closes it, or ends within a string."""
    whole = record(wire, b"x")
    over_lines = json.dumps(json.loads(whole), indent=1).encode()
    decoder = Decoder(wire)
    for place in range(0, len(over_lines), 1 + len(over_lines) // 60):
        assert decoder.feed(over_lines[:place]) == []
        assert len(decoder.feed(over_lines[place:])) == 1, place
        assert decoder.feed(b"\n") == []
    two_lines = whole.replace(b", ", b",\n", 1)
    for place in range(two_lines.index(b"\n") + 1, len(two_lines)):
        pieces = two_lines[:place], two_lines[place:], b"\n"
        assert [len(decoder.feed(piece)) for piece in pieces] == [0, 1, 0], place
