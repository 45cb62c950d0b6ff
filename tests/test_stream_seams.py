"""What ``turnwire.Decoder`` knows of a stream between two pieces: that nothing is lost where they meet, and that what
is held is neither read nor put together with each of them. Counted in bytes, not in seconds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.counting import bytes_looked_at
from tests.log.json_engines import JSON_WIRES, RECORDS
from turnwire import LIMITS, DecodeError, Decoder, scan
from turnwire.log.engine.streaming import _Lines

pytestmark = pytest.mark.once

NSLIP = b'@a3|f0|c1|S0|d1|T1|t"hello"#'
CSP = b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ x\n\n\n"
LINE = b"x " + b"{} " * 11_000
"""A line in which an object closes with nearly every piece, and no message does."""


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data), size)]


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
        if stream._data is not held:
            held = stream._data
            copied += len(held)
    return copied


@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("text", [rb"\"}", rb"\\", rb"\"}\\\"\\", rb"{\"a\":\"}\"}"])
def test_an_escape_is_one_wherever_it_is_cut(wire: str, text: bytes) -> None:
    """Else the object would not be seen to close, and its message come with the end of the line."""
    whole = record(wire, text)
    opening = whole.index(b":") + len(text) + 8
    decoder = Decoder(wire)
    for place in range(1, opening):
        assert decoder.feed(whole[:place]) == []
        assert len(decoder.feed(whole[place:])) == 1, place
    for piece in (*cut(whole[:opening], 1), whole[opening:-1]):
        assert decoder.feed(piece) == []
    assert len(decoder.feed(whole[-1:])) == 1


@pytest.mark.parametrize("wire", [None, "nslip"])
def test_what_is_in_front_of_an_end_may_be_the_end_of_a_long_piece(wire: str | None) -> None:
    decoder = Decoder(wire)
    assert decoder.feed(b"- " + NSLIP[:-1]) == []
    assert len(decoder.feed(b"#")) == 1
    assert decoder.feed(b"9 " + NSLIP[:-2]) == []
    assert len(decoder.feed(b'"#')) == 1


@pytest.mark.parametrize("end", [b"\n", b"- " + NSLIP])
def test_what_was_held_long_does_not_keep_what_follows_waiting(end: bytes) -> None:
    """A look at a long line is worth it once half as much again has come, at what follows it at once."""
    decoder = Decoder("nslip")
    for piece in cut(LINE[:9002] + end, 3000):
        decoder.feed(piece)
    decoder.feed(b"\n")
    assert decoder.feed(b"- " + NSLIP[:-1]) == []
    assert len(decoder.feed(b"#")) == 1


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return bytes_looked_at(monkeypatch)


def test_a_line_of_many_objects_is_not_read_with_each_of_them(looked: list[int]) -> None:
    decoder = Decoder()
    for piece in cut(LINE, 64):
        decoder.feed(piece)
    assert 0 < sum(looked) < 8 * len(LINE)


def test_what_was_read_once_before_does_not_pay_for_what_is_held_later(looked: list[int]) -> None:
    """Lines that might end a message are looked at sixteen times as much as they are, however long the log before."""
    decoder = Decoder("csp")
    for _ in range(100):
        decoder.feed(b"a line of a log\n" * 256)
    held = b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ x\nIN\n<<<\n" + b"x\n```\n" * 4_000
    looked.clear()
    for piece in cut(held, 64):
        decoder.feed(piece)
    assert sum(looked) < 20 * len(held) + 80_000


@pytest.mark.parametrize("data", [b'{"a": "' + b"x" * 33_000, b'@a3|t"' + b"x" * 33_000, LINE, b"x" * 33_000])
def test_what_is_held_is_not_put_together_with_each_piece(data: bytes) -> None:
    assert put_together(Decoder(), cut(data, 64)) < 8 * len(data)


def test_of_a_long_line_only_its_head_is_looked_at_with_what_follows() -> None:
    lines = _Lines()
    for piece in cut(b"\n" + b"x" * 9_000 + b"\nCSP/1", 64):
        assert not lines.ending
        lines.take(piece)
        assert len(lines._head) <= 16
    assert lines.ending


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


def test_an_object_that_never_closes_does_not_keep_the_next_one_waiting() -> None:
    decoder, whole = Decoder("sap"), record("sap", b"x")
    over_lines = json.dumps(json.loads(whole), indent=1).encode()
    assert decoder.feed(b'{"a": [{"x": [\n') == decoder.feed(b"2026-01-01 INFO a line of a log\n") == []
    assert sum(len(decoder.feed(piece)) for piece in cut(over_lines, 40)) == 1
    assert decoder.feed(b'\n{"a": [{"x": [\n') == []
    assert decoder.feed(b"2026-01-01 INFO a line of a log\n" + over_lines[:40]) == []
    assert sum(len(decoder.feed(piece)) for piece in cut(over_lines[40:], 1)) == 1
    assert decoder.feed(b'\n{"a": "never closed\n') == decoder.feed(whole[:-1]) == []
    assert len(decoder.feed(whole[-1:])) == 1


@pytest.mark.parametrize("broken", [b'"never closed\n', b'], "never closed\n'])
def test_a_long_object_that_a_newline_in_a_string_breaks_is_not_waited_for(broken: bytes) -> None:
    decoder = Decoder("nslip")
    for piece in cut(b'{"a": [\n' + b"1,\n" * 3_000, 500):
        assert decoder.feed(piece) == []
    assert len(decoder.feed(broken) + decoder.feed(NSLIP + b"\n")) == 1


def test_a_place_behind_the_last_message_may_look_like_the_end_of_one() -> None:
    assert len(Decoder("nslip").feed(b"- " + NSLIP + b" see a4# ")) == 1


def test_blank_lines_count_and_are_lines_of_the_input() -> None:
    """A byte order mark behind one begins nothing."""
    decoder = Decoder("nslip")
    assert decoder.feed(b"\n\n \n") == []
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b"@a3|f0 broken\n")
    assert caught.value.line == 4
    document = b"\xef\xbb\xbf" + "\u2afba/b:c\n".encode() + NSLIP + b"\n"
    assert [len(decoder.feed(piece)) + len(decoder.close()) for piece in (b"", document)] == [0, 0]
    assert [len(decoder.feed(piece)) for piece in (b"\n", document)] == [0, 1]


def test_what_was_looked_at_is_looked_at_again_for_what_ends_there(looked: list[int]) -> None:
    """Not with each byte that follows an object in its line."""
    decoder = Decoder()
    data = b"x " + b"a" * 2_000 + b"{} " + b"a" * 1_000
    for piece in cut(data, 8):
        decoder.feed(piece)
    assert sum(looked) < 2 * len(data)


def test_lines_that_are_held_count_where_no_more_can_be() -> None:
    decoder = Decoder("csp", limits=LIMITS._replace(feed_buffer=20_000))
    lines = (CSP[:-2] + b"IN\n<<<\n").splitlines(keepends=True) + [b"0123456789" * 20 + b"\n"] * 90
    for line in lines:
        assert decoder.feed(line) == []
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b"x" * 9_000)
    assert (caught.value.offset, caught.value.line) == (sum(map(len, lines)), len(lines) + 1)
