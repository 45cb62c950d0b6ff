"""Writing JSON text: minimal, in order, literal, and nothing that a strict reader would refuse."""

from __future__ import annotations

import json
import random
import struct
from collections import OrderedDict
from enum import IntEnum
from http import HTTPMethod

import pytest
from hypothesis import given

from tests.conftest import BACKENDS, raised
from tests.json_text.test_read import JSON
from turnwire._backend import core_module
from turnwire.contract import LIMITS
from turnwire.errors import EncodeError
from turnwire.json import _write_py as pure

json_text, json_write = (core_module(BACKENDS[0], stem) for stem in ("json.text", "json.write"))


class Number(IntEnum):
    TWO = 2


class Text(str):
    def __str__(self):
        return "lie"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"b": 1, "a": [True, False, None]}, '{"b":1,"a":[true,false,null]}'),
        ("é\u2028😀\x7f", '"é\u2028😀\x7f"'),
        ('\x00\x1f"\\/\b\f\n\r\t', '"\\u0000\\u001f\\"\\\\/\\b\\f\\n\\r\\t"'),
        ([0, -1, 2**63, 2**64, 2**53 + 1], "[0,-1,9223372036854775808,18446744073709551616,9007199254740993]"),
        ([2**63 - 1, -(2**63), -(2**63) - 1], "[9223372036854775807,-9223372036854775808,-9223372036854775809]"),
        ([0.1, -0.0, 1e300, 1.0], "[0.1,-0.0,1e+300,1.0]"),
        ((1, (2,)), "[1,[2]]"),
        (OrderedDict(a=Number.TWO), '{"a":2}'),
        ([HTTPMethod.GET, Text("truth")], '["GET","truth"]'),
    ],
)
def test_written_text(core, value, text):
    assert core("json.write").write(value) == text


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ({"a": [1, float("nan")]}, "not_finite", "/a/1"),
        ({"a": float("-inf")}, "not_finite", "/a"),
        ({"a/b": {"~": "\ud800"}}, "lone_surrogate", "/a~1b/~0"),
        ({"a": {"\udc00": 1}}, "lone_surrogate", "/a"),
        ({"a": {1: "x", "1": "y"}}, "wrong_type", "/a"),
        ({"a": {1, 2}}, "wrong_type", "/a"),
        ({"a": b"x"}, "wrong_type", "/a"),
        ({"a": object()}, "wrong_type", "/a"),
        ({"a": 10**5000}, "number_too_long", "/a"),
        ({"a": float("nan"), "b": {1: 2}}, "not_finite", "/a"),
        ({"a": 1, 2: float("nan")}, "wrong_type", ""),
    ],
)
def test_refused_values(core, value, reason, path):
    caught = raised(EncodeError, core("json.write").write, value, "sap")
    assert (str(caught.reason), caught.path, caught.wire) == (reason, path, "sap")


def test_a_long_way_to_what_is_too_deep_is_cut_off(core):
    value: list = []
    for _ in range(300):
        value = [value]
    for names in (("x" * 940,), ("x" * 990, "y" * 20)):
        held = value
        for name in names:
            held = {name: held}
        caught = raised(EncodeError, core("json.write").write, held)
        assert len(caught.path) == 1024 and caught.path.startswith("/" + names[-1])
    with pytest.raises(TypeError, match="int"):
        core("json.write").compacted(3)


@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
def test_escapes_at_the_end_of_the_room_leave_it_to_what_follows(core, letter):
    """A draft first has 4,096 bytes. What an escape takes beyond them is no room for more."""
    width = {"日": 2, "😀": 4}.get(letter, 1)
    for size in range(4096 // width - 24, 4096 // width + 4):
        for end in ("\n" * 3, "\x01" * 2):
            value = [letter * size + end, *["y"] * 3000]
            assert json.loads(core("json.write").write(value)) == value


def test_circular_and_deep_values(core):
    circle: list = []
    circle.append(circle)
    assert raised(EncodeError, core("json.write").write, circle).reason == "too_deep"
    value: list = []
    for _ in range(127):
        value = [value]
    assert core("json.write").write(value) == "[" * 128 + "]" * 128
    with pytest.raises(EncodeError):
        core("json.write").write([value])
    assert core("json.write").write([value], limits=LIMITS._replace(nesting=600)) == "[" * 129 + "]" * 129


@given(JSON)
def test_twins_write_the_same_and_it_reads_back(value):
    text = json_write.write(value)
    assert text == pure.write(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert repr(json_text.Reader("w").read(f'{{"v":{text}}}')["v"]) == repr(value)


@pytest.mark.parametrize("letters", ["a", "é", "レ", "😀"])
@pytest.mark.parametrize("before", ["", "é", "レ", "😀"])
def test_strings_of_each_width_and_length(core, letters, before):
    """Some characters are copied at once: none is lost at a seam, none that needs an escape is missed."""
    write = core("json.write").write
    for size in (*range(20), 31, 32, 33):
        for odd in ("", '"', "\\", "\x1f", "\x00", "\x7f", "\u2028", "\ue000"):
            for at in range(size + 1) if odd else (0,):
                value = [before, letters * at + odd + letters * (size - at)]
                assert write(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for at in range(20):
        assert raised(EncodeError, write, letters * at + "\ud800" + letters * 20).reason == "lone_surrogate"


def doubles(seed: int, count: int) -> list[float]:
    """Finite doubles: any bits, few digits, and the neighbours of powers of two and ten."""
    numbers = random.Random(seed)
    found = [float(f"{digits}e{power}") for power in range(-324, 309) for digits in ("1", "9.5", "1.7976931348623157")]
    found += [2.0**power for power in range(-1074, 1024)]
    for _ in range(count):
        found += struct.unpack("<d", numbers.randbytes(8))
        found.append(round(numbers.uniform(0, 10 ** numbers.randint(0, 17)), numbers.randint(0, 9)))
    near = [struct.unpack("<d", struct.pack("<Q", bits + step))[0] for bits in map(bits_of, found) for step in (-1, 1)]
    return [sign * one for one in (*found, *near, 0.0) if abs(one) < float("inf") for sign in (1, -1)]


def bits_of(number: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", number))[0]
    return min(max(bits, 1), (1 << 64) - 2)


def test_floats_are_the_shortest_that_read_back(core):
    found = doubles(0, 10_000)
    texts = core("json.write").write(found)[1:-1].split(",")
    assert len(texts) == len(found) > 80_000
    assert [(text, number) for text, number in zip(texts, found, strict=True) if text != repr(number)] == []
