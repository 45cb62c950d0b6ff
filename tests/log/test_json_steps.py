"""The fast ways of the native JSON scan: keys that are compared with what stood there before, strings by blocks of 64
bytes, numbers and forms by 16. Whatever the processor can do, they read what the pure core reads."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire
from tests.log.json_engines import JSON_WIRES, RECORDS, both

pytestmark = pytest.mark.once

SEEDS = st.integers(0, 1 << 40)
GOOD = (
    '{"header":{"kind":"intent","actor_id":"a","schema_id":"x","session_id":"s","logical_clock":1},'
    '"payload":{"goal":"g"}}'
)
"""A message without any white space."""
OBJECTS = {
    wire: [fields for text in RECORDS[wire] if isinstance(fields := json.loads(text), dict)] for wire in JSON_WIRES
}


def test_the_message_of_these_tests_is_one() -> None:
    found = both("sstp", GOOD.encode())
    assert (found.rows, found.bad) == (1, 0)


def with_extra(text: str) -> bytes:
    """The message with further members."""
    return GOOD.replace('"goal":"g"', f'"goal":"g",{text}').encode()


def judged(*lines: bytes) -> list[bool]:
    """Whether each of these lines, read one after the other in one log, is a record; else it must be a reject."""
    found = both("sstp", b"\n".join(lines) + b"\n")
    assert found.rows + found.bad == len(lines)
    starts, there = accumulate((len(line) + 1 for line in lines[:-1]), initial=0), set(found.columns["offset"])
    return [start in there for start in starts]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ('"a":1,"b":2', True),
        ('"a":1,"b":2,"c":3', True),
        ('"a":1', True),
        ('"b":1,"a":2', True),
        ('"b":1,"a":2,"b":3', False),
        ('"a":1,"b":2,"a":3', False),
        ('"a":1,"b":2,"goal":"h"', False),
        ('"a":1,"b":2,"\\u0061":3', False),
        ('"a":1,"\\u0062":2,"b":3', False),
        ('"a":1,"\\u0062":2', True),
        ('"a":1,"b":2,"\\u0067oal":"h"', False),
        ('"a":1,"bb":2', True),
        ('"a":1,"":2', True),
        ('"a":1,"":2,"":3', False),
        ('"a": 1,"b":2', True),
        ('"a":  1,"b" :2', True),
        ('"a"\t:\r 1 , "b":2', True),
        ('"a"\t:\r 1 , "b":2,\t"a":4', False),
        ('"a":1 ,"b":2', True),
        ('"a":1,"b":', False),
        ('"a":1,"b":,', False),
        ('"a":1,"b"', False),
        ('"a":1,,"b":2', False),
        ('"a":1,"b":{"a":1,"b":2}', True),
        ('"a":1,"b":{"a":1,"b":2,"a":3}', False),
        ('"a":1,"b":{"a":1,"b":2,"b":3}', False),
        ('"a":1,"b":[{"a":1},{"a":1,"b":2},{"b":1,"a":2},{}]', True),
        ('"a":1,"b":[{"a":1},{"a":1,"b":2},{"b":1,"a":2,"b":3}]', False),
        ('"a":{"b":{"c":{"d":[[{"e":1}]]}}},"b":2', True),
        ('"a":{"b":{"c":{"d":[[{"e":1,"e":2}]]}}},"b":2', False),
    ],
)
def test_keys_behind_a_shape_that_is_known(text: str, good: bool) -> None:
    """Before it, the log has the shape "a", "b", met twice; afterwards the same line comes again, now known."""
    known = with_extra('"a":1,"b":2')
    line = with_extra(text)
    assert judged(known, known, line, known, line, line) == [True, True, good, True, good, good]


def test_a_first_key_with_escapes() -> None:
    """Of a key that nobody asks for: the object is what it would be without it."""
    line = GOOD.replace('{"header"', '{"\\u0069d\\n": 1, "header"', 1).encode()
    assert turnwire.sstp.detect(line)
    assert judged(line, GOOD.encode(), line) == [True] * 3


def test_the_same_key_is_asked_for_in_one_object_and_not_in_another() -> None:
    lines = [
        GOOD.replace('"payload":{', '"x":{"header":1,"header2":2},"payload":{'),
        GOOD.replace('"payload":{', '"x":{"header":{"kind":"intent","kind":2}},"payload":{'),
        GOOD.replace('"payload":{', '"x":{"header":1,"header2":2},"payload":{'),
    ]
    assert judged(*(line.encode() for line in lines)) == [True, False, True]


@pytest.mark.parametrize("count", [13, 14, 15, 16, 17, 18, 19, 63, 64, 65, 66, 300])
def test_objects_of_many_keys(count: int) -> None:
    """More than fit into the tree of shapes, the last one perhaps a duplicate of any other."""
    members = [f'"k{number}":{number}' for number in range(count)]
    lines = [with_extra(",".join(members))] * 2
    lines += [with_extra(",".join([*members, f'"k{number}":0'])) for number in (0, count // 2, count - 1)]
    lines += [with_extra(",".join([*members[: count // 2], '"\\u006b0":1', *members[count // 2 :]]))]
    assert judged(*lines, *lines) == [True, True, False, False, False, False] * 2


@pytest.mark.parametrize("count", [*range(1, 36), 63, 64, 65])
def test_a_key_that_comes_again_behind_one_with_escapes(count: int) -> None:
    """The first key leaves the tree of shapes, so that names are compared, and looked up where they are many."""
    members = ['"\\u0061":0', *(f'"k{number}":{number}' for number in range(count - 1))]
    lines = [with_extra(",".join(members))]
    lines += [with_extra(",".join([*members, again])) for again in ('"a":1', members[-1], members[count // 2])]
    assert judged(*lines, *lines) == [True, False, False, False] * 2


@pytest.mark.parametrize("size", [40, 58, 59, 60, 61, 62, 63, 64, 65, 200])
def test_keys_as_long_as_the_glue(size: int) -> None:
    key = "k" * size
    lines = [with_extra(f'"{key}":1'), with_extra(f'"{key}":1,"{key}x":2'), with_extra(f'"{key}":1,"{key}":2')]
    assert judged(*lines, *lines) == [True, True, False] * 2


def test_more_shapes_than_are_remembered() -> None:
    """So many that they are forgotten, several times; and the shapes that were known are known again."""
    chance = random.Random(7)
    lines = []
    for number in range(12_000):
        members = [f'"{chance.randrange(60):x}":{number}' for _ in range(chance.randrange(1, 6))]
        lines.append(with_extra(",".join(members)) if number % 5 else GOOD.encode())
    found = both("sstp", b"\n".join(lines))
    assert 100 < found.bad < found.rows
    assert found.rows + found.bad == len(lines)


def styled(value: Any, chance: random.Random, spaces: tuple[str, ...]) -> str:
    """A value as JSON, in any order of keys and any white space, with a key that appears twice now and then."""
    if isinstance(value, dict):
        members = list(value.items())
        if chance.random() < 0.15:
            members.append((chance.choice(("x", "id", "taskId", "kind")), chance.choice((1, "x", None, {"x": []}))))
        if chance.random() < 0.1:
            chance.shuffle(members)
        if members and chance.random() < 0.02:
            members.append(chance.choice(members))
        parts = []
        for name, inner in members:
            key = json.dumps(name)
            if name and chance.random() < 0.02:
                key = f'"\\u{ord(name[0]):04x}{name[1:]}"'
            parts.append(f"{key}{chance.choice(spaces)}:{chance.choice(spaces)}{styled(inner, chance, spaces)}")
        return "{" + chance.choice(spaces) + f"{chance.choice(spaces)},{chance.choice(spaces)}".join(parts) + "}"
    if isinstance(value, list):
        return "[" + f",{chance.choice(spaces)}".join(styled(inner, chance, spaces) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=chance.random() < 0.5)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_logs_whose_shapes_change(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    lines = []
    while len(lines) < 12:
        spaces = chance.choice((("",), ("", " "), ("", "", "", " ", "  ", "\t")))
        fields = chance.choice(OBJECTS[wire])
        for _ in range(chance.randrange(1, 5)):
            lines.append(styled(fields, chance, spaces).encode("utf-8", "surrogatepass"))
            if chance.random() < 0.1:
                lines[-1] = lines[-1][: chance.randrange(len(lines[-1]))]
    data = b"\n".join(lines)
    both(wire, data)
    cuts = tuple(sorted(chance.randrange(len(data) + 1) for _ in range(3)))
    both(wire, data[: chance.randrange(len(data))])
    both(wire, data, cuts=cuts)


def test_a_log_cut_off_at_every_byte() -> None:
    data = b"\n".join([GOOD.encode(), with_extra('"a":"\u00e9\\n","b":[1.5,null,true,false,-2e-3]')] * 2)
    for size in range(len(data)):
        both("sstp", data[:size])


@pytest.mark.parametrize(
    "piece",
    [
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\ud83d\\u0041",
        "\\ud83d\\n",
        "\\ud83d",
        "\\ude00",
        "\\u00g9",
        "\\x41",
        "\\",
        "\\n",
        "\\u",
    ],
)
def test_an_escape_cut_off_anywhere(piece: str) -> None:
    """What a cut may still become is told from what is wrong already; in a key, a known value and any other."""
    for text in (
        with_extra(f'"{piece}":1'),
        with_extra(f'"a":"x{piece}"'),
        GOOD.replace('"goal":"g', f'"goal":"g{piece}').encode(),
    ):
        start = text.index(piece.encode())
        for size in range(start, min(start + len(piece) + 3, len(text) + 1)):
            both("sstp", GOOD.encode() + b"\n" + text[:size])
            both("sstp", text + b"\n" + text, cuts=(size, len(text) + 1 + size))


PIECES = (
    "",
    "\u00e9",
    "\u30ec\u30d3",
    "\U0001f600",
    "\\n",
    '\\"',
    "\\\\",
    '\\\\\\"',
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\\\" * 40,
    "\u00e9" * 70,
    '\\"\u30ec' * 30,
)
BAD_PIECES = (
    b"\xff",
    b"\xc3",
    b"\xe3\x83",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xc0\xaf",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\x00",
    b"\x1f",
    b"\t",
    b"\\x",
    b"\\u12",
    b"\\ud83d",
    b"\\ude00",
    b"\\ud83d\\u0041",
    b'\\"\xe3\x83\\n',
    b"\xc3\\n",
)


@pytest.mark.parametrize("number", range(len(PIECES)))
def test_good_strings_over_every_place_of_a_block(number: int) -> None:
    piece = PIECES[number]
    lines = [GOOD.replace('"g"', f'"{"x" * before}{piece}{"y" * 3}"').encode() for before in range(132)]
    assert judged(*lines) == [True] * len(lines)
    other = PIECES[number - 1]
    lines = [GOOD.replace('"g"', f'"\u00e9{"x" * before}{piece}{other}"').encode() for before in range(132)]
    assert judged(*lines) == [True] * len(lines)


@pytest.mark.parametrize("piece", BAD_PIECES)
def test_bad_strings_over_every_place_of_a_block(piece: bytes) -> None:
    good = GOOD.encode()
    for filler, tail in ((b"x", b"yyy"), (b"\xc3\xa9", b""), (b"\\n", b"\xc3\xa9")):
        lines = [
            good.replace(b'"g"', b'"' + filler * before + piece + tail + b'"') for before in range(0, 132, len(filler))
        ]
        assert judged(*lines) == [False] * len(lines)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 62, 63, 64, 65, 127, 128, 129, 200])
def test_strings_that_end_near_the_end_of_the_data(size: int) -> None:
    """Fewer than 64 bytes stand after them, and nothing may be read there."""
    for tail in ("", "\n", " " * 30, "\n" + "x" * 63, "\n" + "x" * 64):
        for text in ("x" * size, "\u00e9" * size, "x" * size + "\\n"):
            data = GOOD.replace('"g"', f'"{text}"') + tail
            assert both("sstp", data.encode()).rows == 1


NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "12",
    "1.5",
    "-1.5",
    "0.0",
    "1e5",
    "1E+5",
    "1.25e-3",
    "123456789012345",
    "1234567890123456",
    "12345678901234567890",
    "0.1234567890123",
    "0.12345678901234",
    "0.123456789012345678",
    "1.",
    "1.e5",
    "01",
    "-01",
    "-",
    "--1",
    "+1",
    ".5",
    "1.5.5",
    "1e",
    "1e+",
    "1x",
    "0x10",
    "1-1",
    "1_000",
    "00",
    "1.5e400",
    "1١",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(number: str) -> None:
    try:
        json.loads(number, parse_constant=lambda _: 1 / 0)
        good = number != "1.5e400"
    except ValueError:
        good = False
    for space in ("", " ", "\t "):
        for line in (with_extra(f'"confidence":{number}{space},"b":1'), with_extra(f'"b":[{number}{space}]')):
            assert judged(line) == [good]
    text = GOOD.replace('"logical_clock":1', f'"logical_clock":{number}').encode()
    for behind in (b"", b" " * 40, b"\n" * 40):
        both("sstp", text + behind)
    for size in range(text.index(b'"logical_clock"'), len(text)):
        both("sstp", text[: size + 1])


@given(
    text=st.one_of(
        st.uuids().map(str),
        st.text("0123456789abcdefABCDEF-g/:@`", min_size=34, max_size=38),
        st.builds(
            lambda identifier, place, odd: identifier[:place] + odd + identifier[place + 1 :],
            st.uuids().map(str),
            st.integers(0, 35),
            st.sampled_from("-gG/:@`x\u00e9 0"),
        ),
    )
)
def test_identifiers(text: str) -> None:
    for record in RECORDS["sap"][:1]:
        fields = json.loads(record) | {"correlationId": text}
        both("sap", json.dumps(fields, ensure_ascii=False).encode())
        both("sap", json.dumps({"x": 1} | dict(reversed(fields.items())), ensure_ascii=False).encode())


@given(
    channel=st.text("\u2afb/ab \x7f\u00e9", min_size=1, max_size=40).map(lambda text: f"\u2afb{text}"),
    kind=st.sampled_from(["Info", "Inf", "Info ", "info", "", "x" * 15, "x" * 16, "x" * 17, "\u00e9"]),
)
def test_channels_and_words(channel: str, kind: str) -> None:
    fields = json.loads(RECORDS["kick"][0]) | {"channel": channel, "type": kind}
    both("kick", json.dumps(fields, ensure_ascii=False).encode())
    both("kick", json.dumps({"channel": channel} | fields).encode())
    for record in RECORDS["sstp"][:2]:
        header = json.loads(record)
        header["header"]["kind"] = kind
        both("sstp", json.dumps(header, ensure_ascii=False).encode())
