"""A ``turnwire.Decoder`` between two pieces of a stream: that nothing is lost where they meet, and that what
is held is neither read nor put together with each of them. Counted in bytes, not in seconds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.log.found import in_pieces
from tests.log.json_engines import JSON_WIRES, RECORDS
from turnwire import DecodeError, Decoder, scan

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
@pytest.mark.parametrize(
    "tail", [b'{"a": "', b'{"a": [', b'{"a": [\n1,\n', b'{\n"a": "\n', b'{"a": "\\', b'x {"a": {}}}']
)
def test_what_was_open_at_the_end_is_no_part_of_what_follows(wire: str, tail: bytes) -> None:
    decoder, whole = Decoder(wire), record(wire, b"x")
    for _ in range(2):
        assert decoder.feed(tail) == decoder.close() == []
        assert decoder.feed(whole[:-1]) == []
        assert len(decoder.feed(whole[-1:])) == 1
        assert decoder.close() == []


@pytest.mark.parametrize("tail", [b"x ", b"```\n", NSLIP, b"CSP/1\n", b'{"a": [\n', "\u2afba/b:c\n".encode(), CSP])
def test_after_the_end_a_line_begins(tail: bytes) -> None:
    """Of whatever was open, nothing goes on: what follows is read as if it stood alone."""
    decoder = Decoder()
    alone = [len(decoder.feed(piece)) for piece in (CSP, b"x\n", NSLIP)]
    assert alone == [1, 0, 1] and decoder.close() == []
    while True:
        with suppress(DecodeError):
            decoder.feed(tail)
            decoder.close()
            break
    assert [len(decoder.feed(piece)) for piece in (CSP, b"x\n", NSLIP)] == alone


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


def test_behind_an_object_over_lines_a_message_comes_with_its_last_byte() -> None:
    """A brace of the object is none of the next line."""
    decoder, whole = Decoder("sstp"), record("sstp", b"x")
    lines = whole.replace(b"{", b"{\n", 1)
    cut = lines.index(b"{", 3) + 1
    assert (decoder.feed(lines[:cut]), len(decoder.feed(lines[cut:] + b"\n"))) == ([], 1)
    assert len(decoder.feed(whole)) == 1


@pytest.mark.parametrize("cut", [1, 60, 200, 240])
def test_behind_a_message_in_a_line_of_cri_another_one_goes_on_in_the_next(cut: int) -> None:
    whole, head = record("sstp", b"x"), b"2026-11-22T07:00:07Z stdout F "
    data = head + whole + b" {\n" + head + whole[1:] + b"\n"
    decoder = Decoder()
    assert len(decoder.feed(data[:cut]) + decoder.feed(data[cut:]) + decoder.close()) == 2


def test_an_object_that_never_closes_does_not_keep_the_next_one_waiting() -> None:
    decoder, whole = Decoder("sap"), record("sap", b"x")
    over_lines = json.dumps(json.loads(whole), indent=1).encode()
    assert decoder.feed(b'{"a": [{"x": [\n') == decoder.feed(b"2026-01-01 INFO a line of a log\n") == []
    assert sum(len(decoder.feed(piece)) for piece in in_pieces(over_lines, 40)) == 1
    assert decoder.feed(b'\n{"a": [{"x": [\n') == []
    assert decoder.feed(b"2026-01-01 INFO a line of a log\n" + over_lines[:40]) == []
    assert sum(len(decoder.feed(piece)) for piece in in_pieces(over_lines[40:], 1)) == 1
    assert decoder.feed(b'\n{"a": "never closed\n') == decoder.feed(whole[:-1]) == []
    assert len(decoder.feed(whole[-1:])) == 1
