"""Strict JSON text: what is read, what is refused, why and where; pointers into it; both twins alike."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import BACKENDS, SHARED, needs_both, raised
from turnwire._backend import core_module
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, Reason
from turnwire.json import _text_py as pure, faults, faults as pointers

native = core_module(BACKENDS[0], "json.text")

SMALL = LIMITS._replace(message=200, nesting=3, key=8, integer_digits=5)


def refusal(core, data, limits=LIMITS):
    return raised(DecodeError, core.Reader("sstp", ("a", "header")).read, data, limits)


@vectors.cases("json_text", kind=None)
def test_refusals_say_why_and_where(core, case):
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    error = refusal(core("json.text"), data)
    assert (str(error.reason), error.offset) == (case["error"], case["at"])
    assert error.line == data.count(b"\n", 0, error.offset) + 1
    assert error.wire == "sstp"
    assert error.text and "{what}" not in error.text


@vectors.cases("json_text", kind="limits")
def test_limits(core, case):
    limits = LIMITS._replace(**case["limits"])
    if "error" in case:
        error = refusal(core("json.text"), case["text"], limits)
        assert (error.reason, error.offset) == (case["error"], case["at"])
    else:
        assert core("json.text").Reader("w").read(case["text"], limits) == json.loads(case["text"])


@vectors.cases("json_text", kind="good")
def test_reads_what_the_standard_library_reads(core, case):
    text, reader = case["text"], core("json.text").Reader("w", ("header", "a"))
    expected = json.loads(text)
    for data in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        found = reader.read(data)
        assert found == expected
        assert json.dumps(found) == json.dumps(expected)  # same order, same types


@vectors.cases("json_text", kind="find")
def test_find_takes_an_object_out_of_other_text(core, case):
    raw = bytes.fromhex(case["hex"])
    found = core("json.text").Reader("w").find(raw, case["from"])
    assert found == (json.loads(raw[case["from"] : case["end"]]) if case["good"] else None, case["end"])


@vectors.cases("json_text", kind="opening")
def test_what_text_that_is_no_object_begins_with(core, case):
    assert faults.opening(case["text"].encode()) == (case["error"], case["at"])
    caught = refusal(core("json.text"), case["text"].encode())
    assert (caught.reason, caught.offset) == (case["error"], case["at"])


def test_negative_zero_is_kept(core):
    found = core("json.text").Reader("w").read(b'{"a":-0,"b":-0.0,"c":0}')
    assert [math.copysign(1, value) for value in found.values()] == [-1, -1, 1]
    assert type(found["c"]) is int


def test_five_thousand_digits(core):
    read = core("json.text").Reader("w").read
    assert read(b'{"a":' + b"7" * 4300 + b"}") == {"a": int("7" * 4300)}
    assert refusal(core("json.text"), b'{"a":' + b"7" * 5000 + b"}").reason is Reason.NUMBER_TOO_LONG


def test_more_digits_than_the_interpreter_reads(core):
    """If the limits would take them, it says so at the number."""
    error = refusal(core("json.text"), b'{"a":-' + b"7" * 5000 + b"}", LIMITS._replace(integer_digits=9999))
    assert (error.reason, error.offset) == (Reason.NUMBER_TOO_LONG, 5)


HALVES = (0xD7FF, 0xD800, 0xD801, 0xDBFE, 0xDBFF, 0xDC00, 0xDC01, 0xDFFE, 0xDFFF, 0xE000)


@pytest.mark.parametrize("first", HALVES)
def test_escaped_halves_of_pairs(core, first):
    """A high half and a low one are a character; any other half is told with its place."""
    for then in (None, 0x41, *HALVES):
        for form in ("04x", "04X"):
            judge_halves(core, first, then, form)


def judge_halves(core, first, then, form):
    whole = f"\\u{first:{form}}" + ("" if then is None else f"\\u{then:{form}}")
    data = f'{{"k":0,"a":"x{whole}y"}}'
    high, low = 0xD800 <= first <= 0xDBFF, then is not None and 0xDC00 <= then <= 0xDFFF
    text = json.loads(data)["a"]
    place = next((at for at, letter in enumerate(text) if 0xD800 <= ord(letter) <= 0xDFFF), None)
    if place is None:
        assert core("json.text").Reader("w").read(data) == {"k": 0, "a": text}
        return
    error = refusal(core("json.text"), data)
    assert not (high and low)
    assert (error.reason, error.offset) == (Reason.LONE_SURROGATE, data.index("x") + 1 + 6 * (place - 1))


def test_five_million_brackets(core):
    module = core("json.text")
    assert refusal(module, b'{"a":' + b"[" * 5_000_000).offset == 5 + 127
    assert refusal(module, b'{"a":' * 1_000_000).reason is Reason.TOO_DEEP


def test_raised_nesting_limit_costs_no_stack(core):
    deep = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    value = core("json.text").Reader("w").read(deep, LIMITS._replace(nesting=60_000))["a"]
    depth = 0
    while value:
        value = value[0]
        depth += 1
    assert depth == 49_999


def test_nesting_at_the_limit(core):
    for levels, good in ((127, True), (128, False)):
        data = b'{"a":' + b"[" * levels + b"]" * levels + b"}"
        if good:
            assert core("json.text").Reader("w").read(data) == json.loads(data)
        else:
            assert refusal(core("json.text"), data).offset == 5 + 127


@pytest.mark.parametrize("sign", ["k", "\\u00e9", "é", "\U0001f600"])
def test_keys_at_the_limit_in_a_text_that_is_longer(core, sign):
    """A text longer than any key may be is read as fast, and a key in it that is too long is refused."""
    size = len(sign.encode())
    values = b'"x",' * 1000 + b'"%b",' % (b"y" * 75_997)
    for count, good in ((1024, True), (1025, True), (65_536 // size, True), (65_536 // size + 1, False)):
        data = b'{"a":[%b0],"%b":1}' % (values, sign.encode() * count)
        if good:
            assert core("json.text").Reader("w").read(data) == json.loads(data)
        else:
            assert refusal(core("json.text"), data).reason is Reason.KEY_TOO_LONG
            assert refusal(core("json.text"), data).offset == 80_009


def test_str_with_a_lone_surrogate(core):
    error = refusal(core("json.text"), '{"a":"é\ud800"}')
    assert (error.reason, error.offset) == (Reason.LONE_SURROGATE, 8)


@pytest.mark.parametrize("data", [None, 3, ["{}"], memoryview(b"{ }  ")[::2]])
def test_no_text_is_a_wire_error(core, data):
    error = refusal(core("json.text"), data)
    assert (error.reason, error.offset, error.line) == (Reason.WRONG_TYPE, 0, 1)


def outcome(core, data, limits=LIMITS):
    try:
        return repr(core.Reader("sstp", ("header", "kind", "a")).read(data, limits))
    except DecodeError as error:
        return error.reason, error.offset, error.line, error.text


PIECES = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"\\u", b"d83d", b"de00", b"0041", b"a", b"header", b" "),
        *(b"-", b"0", b"1", b"12", b".", b"e", b"+", b"E", b"400", b"true", b"false", b"null", b"NaN", b"Infinity"),
        *(b"\xc3\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x82", b"\x80", b"\xff", b"\0", b"\x1f", b"\x7f"),
        *(b'"a":1', b'"a"', b'{"a":', b'{"b":[', b"1234567", b"```", b"\xef\xbb\xbf", b"/", b"'", b"abcdefgh", b"\n"),
    ]
)


@needs_both
@given(st.one_of(st.lists(PIECES, max_size=24).map(b"".join), st.binary(max_size=60)), st.booleans())
def test_twins_agree_on_anything(data, opened):
    if opened:
        data = b'{"x":' + data
    assert outcome(native, data) == outcome(pure, data)
    assert outcome(native, data, SMALL) == outcome(pure, data, SMALL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=9,
)


@SHARED
@given(st.dictionaries(st.text(max_size=12), JSON, max_size=6), st.booleans())
def test_any_object_is_read_exactly(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    for module in (native, pure):
        found = module.Reader("w", ("a", "")).read(text)
        assert repr(found) == repr(value)
        assert repr(pure._Text(text.encode(), "w", LIMITS, {}).message()) == repr(value)


# --- pointers find values in the text, however it is written ----------------------------------------------------------


NAMES = ("a", "b", "", "a/b", "~", "~1", "é", "日", "😀", 'say "so"', "back\\slash", "\n", "0", "x" * 40)
SPACES = ("", "", " ", "\t", "\n  ", "\r\n")


def value(numbers: random.Random, depth: int) -> Any:
    if depth and numbers.random() < 0.7:
        if numbers.random() < 0.5:
            return [value(numbers, depth - 1) for _ in range(numbers.randrange(13))]
        names = numbers.sample(NAMES, numbers.randrange(6))
        return {name: value(numbers, depth - 1) for name in names}
    return numbers.choice([None, True, False, 0, -1.5, 12345, "", "x", '},"a":', "\\", "é]"])


def string(numbers: random.Random, text: str) -> str:
    """A string with escapes that it need not have."""
    pairs = (json.dumps(letter)[1:-1] if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}" for letter in text)
    kept = (json.dumps(letter, ensure_ascii=False)[1:-1] for letter in text)
    odd = numbers.random() < 0.5
    return '"' + "".join(a if odd and numbers.random() < 0.3 else b for a, b in zip(pairs, kept, strict=True)) + '"'


def written(numbers: random.Random, found: Any) -> str:
    def space() -> str:
        return numbers.choice(SPACES)

    if isinstance(found, dict):
        members = (
            f"{space()}{string(numbers, name)}{space()}:{space()}{written(numbers, inner)}{space()}"
            for name, inner in found.items()
        )
        return "{" + (",".join(members) or space()) + "}"
    if isinstance(found, list):
        return "[" + (",".join(f"{space()}{written(numbers, one)}{space()}" for one in found) or space()) + "]"
    return string(numbers, found) if isinstance(found, str) else json.dumps(found)


def paths(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its pointer, and pointers to what is not there, with what is around that."""
    yield path, found
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, one in inner:
        yield from paths(one, below(path, name))
    absent = [*NAMES, "00"]
    if isinstance(found, list):
        absent = ["-1", "00", "01", "+1", "", "a", str(len(found))]
    for name in absent:
        if not isinstance(found, dict) or name not in found:
            yield below(path, name), found


def below(path: str, name: str | int) -> str:
    return f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"


def test_what_stands_there_is_the_value() -> None:
    numbers = random.Random(7)
    count = 0
    for _ in range(80):
        document = {"first": value(numbers, 3), "": value(numbers, 2)}
        text = numbers.choice(SPACES) + written(numbers, document)
        data = text.encode()
        found = list(paths(document))
        for pointer, expected in numbers.sample(found, min(len(found), 60)):
            place = pointers.place_of(data, pointer)
            assert json.JSONDecoder().raw_decode(data[place:].decode())[0] == expected, (text, pointer)
            count += 1
    assert count > 3000


@vectors.cases("json_text", kind="pointer")
def test_places(case: dict[str, Any]) -> None:
    assert pointers.place_of(case["text"].encode(), case["pointer"]) == case["at"]
