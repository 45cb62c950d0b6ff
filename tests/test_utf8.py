"""UTF-8 (RFC 3629), parts of larger buffers and each place of a block, by each kind of code of the compiled core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any

import pytest

import turnwire
from tests.conftest import PURE_HALF, needs_both, raised
from tests.fuzz.messages import MESSAGES
from tests.levels import each_level, levels_of
from tests.log import engines
from tests.test_twins_at_edges import HEAD
from turnwire import WIRES, DecodeError, Reason, kick

FIRST = bytes.fromhex("80 8F BF C0 C1 C2 DF E0 E1 EC ED EE EF F0 F1 F3 F4 F5 F7 F8")
"""First bytes at the edges of what begins a character of two, three or four, or none."""
SECOND = (0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
"""The edges of what may follow the first byte of a character."""
WORDS = {"nslip": "twelve bytes", "csp": "find it", "sstp": '"claim":"c', "sap": '"message":"m', "kick": "task/a"}
"""A text in one of the messages that are edited, behind which characters are put."""


def sequences() -> Iterator[bytes]:
    """Bytes about a character: first bytes, with what may follow it and what may not."""
    for first in (*FIRST, 0xFF):
        yield bytes([first])
        for second in SECOND:
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf"):
                yield bytes([first, second]) + rest
    for begin in (b"\xe0\xa0", b"\xe1\x80", b"\xed\x9f", b"\xef\xbf", b"\xf0\x90", b"\xf1\x80", b"\xf4\x8f"):
        for last in (b"\x7f", b"\xc0", b"\x80\x7f", b"\x80\xc0", b"\x7f\x80", b"\xc0\x80"):
            yield begin + last


def is_good(data: bytes) -> bool:
    """True if Python takes it."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_takes_what_python_takes(wire: str) -> None:
    """Behind each other and in front of more text, one by one and in one log."""
    text = next(text for text in MESSAGES[wire] if WORDS[wire] in text).encode()
    place = text.index(WORDS[wire].encode()) + len(WORDS[wire])
    good, bad, step = [], [], 4 if PURE_HALF else 1  # the pure core asks Python
    for number, sequence in enumerate(islice(sequences(), 0, None, step)):
        data = text[:place] + sequence + b"x" * (number % 2 * 50) + text[place:]
        if is_good(data):
            good.append(data)
            assert turnwire.decode(data, wire=wire), sequence
        else:
            bad.append(data)
            caught = raised(DecodeError, turnwire.decode, data, wire=wire)
            half = sequence[0] == 0xED and sequence[1:] >= b"\xa0\x80" and wire not in ("nslip", "csp")
            assert caught.reason in {Reason.BAD_UTF8} | ({Reason.LONE_SURROGATE} if half else set()), sequence
    assert len(good) > 30 // step and len(bad) > 600 // step
    between = b"\n```\n" if wire == "csp" else b"\n"
    scan = turnwire.scan(between.join([*good, *bad, *good]) + b"\n", wire=wire)
    assert sum(len(batch) for batch in scan) == 2 * len(good)
    assert {reject["reason"] for reject in scan.rejects.rows()} <= {"bad_utf8", "lone_surrogate"}
    assert len(scan.rejects) == len(bad)


CUT = (b"\xff", b"\x80", b"\xc3", b"\xe3\x83", b"\xf0\x9f\x98")


MODULES = {"kick": "kick.format"}
"""Chooses among the code for several processors; the corpora of ``fuzz`` compare that of the others."""


@needs_both
@pytest.mark.parametrize("bad", CUT)
@pytest.mark.parametrize("wire", WIRES)
def test_bytes_that_are_none_at_every_place_of_long_text(wire: str, bad: bytes) -> None:
    """Between bytes that are, of which many are looked at together."""
    text = next(text for text in MESSAGES[wire] if WORDS[wire] in text).encode()
    place = text.index(WORDS[wire].encode()) + len(WORDS[wire])
    module = import_module(f"turnwire._native.{MODULES.get(wire, 'log.search')}")
    behind = b"x" * 300 + text[place:]
    for level in each_level(module):
        for pad in range(0, 300, 1 if bad in CUT[1:3] else 7):
            front = text[:place] + b"y" * pad
            caught = raised(DecodeError, turnwire.decode, front + bad + behind, wire=wire)
            assert (caught.reason, caught.offset) == (Reason.BAD_UTF8, len(front)), (level, pad)


@pytest.mark.parametrize("letters", ["y", "\u00e9", "\u2014", "y\u2014", "\U0001f600"])
def test_half_of_a_surrogate_pair_at_every_place_of_a_text(letters: str) -> None:
    """In a Space document as a str of each width; and none where there is none."""
    front = "\u2afba\n"
    for size in range(0, 160, 7):
        text = front + (letters * size)[:size]
        kick.parse_space(text + "\ud7ff\ue000" + letters * 150)
        for half in ("\ud800", "\udbff", "\udc00", "\udfff"):
            caught = raised(DecodeError, kick.parse_space, text + half + letters * 150)
            assert (caught.reason, caught.offset) == (Reason.LONE_SURROGATE, len(text.encode()))


ENDS = [
    "1e5", "-1.5E+7", "0.25", "-Infinity", "NaN", "true", "false", "null", '"\\ud83d\\ude00\\n"', '"é🙂"', "[[1,2],{}]",
]  # fmt: skip
"""Values of JSON that go on behind each of their characters."""


def said(call: Callable[[Any], Any], data: Any) -> Any:
    """The result of a call, or why and where it is refused."""
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
    """The places of records, and the places and reasons of rejects."""
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
        for end in range(0, len(text) + 1, 8):
            assert rows(whole[:end]) == rows(text[:end]), text[:end]


@pytest.mark.once
@needs_both
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x80"])
def test_a_bad_byte_at_each_place_of_a_block_of_lines(bad: bytes) -> None:
    for before in range(70):
        head = HEAD.format("TASK").encode() + b"TASK T1\nREQ x\nIN "
        for first in (b"y" * before + b"\n", b"\n" * before):
            data = first + head + b"a" * 100 + bad + b"a" * 100 + b"\n\n" + b"z\n" * 70
            wanted = engines.read("pure", data, wire="csp")
            assert all(engines.read(name, data, wire="csp") == wanted for name in engines.ENGINES), before


NAMES = ("log.search", "kick.format")


@pytest.fixture(params=NAMES)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(f"turnwire._native.{request.param}")


@pytest.mark.once
@needs_both
def test_no_level_beyond_the_one_that_is_asked_for(module: ModuleType) -> None:
    try:
        for place, level in enumerate(module.LEVELS):
            assert module.LEVELS.index(module.choose_simd(level)) <= place
    finally:
        module.choose_simd(module.SIMD)


@pytest.mark.once
@needs_both
def test_scalar_code_is_always_there(module: ModuleType) -> None:
    assert levels_of(module)[0] == "scalar"
    assert levels_of(module)[-1] == module.SIMD
    assert list(each_level(module)) == levels_of(module)


@pytest.mark.once
@needs_both
def test_the_environment_keeps_to_the_scalar_code() -> None:
    code = "from importlib import import_module\n" + "".join(
        f"print(import_module('turnwire._native.{name}').SIMD)\n" for name in NAMES
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TURNWIRE_SIMD": "0", "TURNWIRE_PURE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["scalar"] * len(NAMES)
