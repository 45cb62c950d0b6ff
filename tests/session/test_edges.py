"""Times and UUIDs of sessions at the edge of what they are: both cores find the same."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.conftest import needs_both
from tests.session.test_cores import UUID, both, judge_the_same, read_by, result
from turnwire._pure.session import times
from turnwire.session.interpreting import inner_value

pytestmark = [pytest.mark.once, needs_both]


@pytest.mark.parametrize("digits", range(12))
@pytest.mark.parametrize("year", ["0000", "0001", "1677", "1969", "1970", "2024", "2262", "2263", "9999"])
def test_times_of_every_year_with_so_many_digits(year: str, digits: int) -> None:
    native, _ = both("state")
    for day in ("01-01T00:00:00", "12-31T23:59:59", "02-29 12:00:00"):
        for fraction in ("0" * digits, "9" * digits, "1234567890123"[:digits]):
            text = f"{year}-{day}{'.' * bool(digits)}{fraction}Z"
            assert native.time_of(text) == times.read(text), text


@pytest.mark.parametrize(
    "sign", ["_", "a", "G", "z", "0", "9", "-", " ", "/", ":", "@", "[", "`", "{", "é", "\u0661", "あ"]
)
def test_a_letter_beside_a_uuid(sign: str) -> None:
    """It makes the UUID a part of something else, in front of it and behind it."""
    for text in (
        UUID + sign,
        sign + UUID,
        sign + UUID + sign,
        f"{UUID}{sign}x",
        f"x{sign}{UUID}",
        f"{UUID}{sign}{UUID}",
    ):
        for one in (text, text.replace("-", "")):
            native, pure = ((core.unhyphened(one), core.hyphened(one)) for core in both("repeats"))
            assert native == pure, one


TIME = "2024-12-31T23:59:59.123456789+01:00"


def test_times_of_which_one_letter_is_another() -> None:
    """Or is left out, or comes twice."""
    native, _ = both("state")
    for text in (TIME, TIME[:19], TIME[:22] + "Z", TIME[:19] + TIME[-6:], TIME[:26].replace("T", " ")):
        for place in range(len(text)):
            for letter in ("0", "9", "5", "x", ":", "+", "-", ".", "Z", "T", " ", "\u0661", "", text[place] * 2):
                changed = text[:place] + letter + text[place + 1 :]
                assert native.time_of(changed) == times.read(changed), changed


def test_what_one_more_is() -> None:
    """Of numbers of any length at the end of a text."""
    native, pure = both("state")
    for front in ("", "a", "-", "a0", "é", "0x", "1."):
        for digit in "0189":
            for size in range(25):
                text = front + digit * size
                assert native.one_more(text) == pure.one_more(text), text


NUMBERS = (
    "0",
    "-0",
    "1",
    "-7",
    "1E5",
    "1e5",
    "1.0",
    "1.50",
    "-0.0",
    "1e-5",
    "1E+5",
    "9" * 17,
    "9" * 18,
    "9" * 19,
    "01",
)


def test_numbers_in_tables_and_definitions() -> None:
    """As they are written, in each place."""
    values, drafts = both("values"), both("drafts")
    for one in NUMBERS:
        for text in (f"{{a {one}}}", f"{{a:{one}}}", f"{{a:{one} b:[{one} {one}]}}", f"{{a?:{one}}}"):
            assert read_by(drafts[0], text) == read_by(drafts[1], text), text
        for other in NUMBERS:
            for table in (f"[[{one},1],[2,{other}]]", f"[[1,{one}],[{other},2]]"):
                node = ("#", 0, ("a", "b"))
                native, pure = (result(core.built, node, [table.encode()], inner_value) for core in values)
                assert repr(native) == repr(pure), table


def test_objects_in_strings_with_a_key_that_comes_again() -> None:
    native, pure = both("values")
    for text in ('{"x":1,"x":2}', '{"x":1,"y":2,"x":3}', '{"":1,"":2}', '{"x":1,"\\\\u0078":2}', '{"x":{"x":1,"x":1}}'):
        for event in ({"a": text}, {"a": [text]}, {"a": {"b": text}}, {"a": text, "x": 1}):
            assert native.flatten(event) == pure.flatten(event), text


def test_letters_that_a_field_shows_or_writes_otherwise() -> None:
    """Each below U+0300, and those about the edges of what is white or stands for nothing."""
    codes = [*range(0x300), *range(0x1FF0, 0x2070), 0x3000, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF]
    told = []
    for core in both("state"):
        found = []
        for code in codes:
            for text in (f"a{chr(code)}b", f"{chr(code)}b", f"a{chr(code)}"):
                for mark, leaf in (("?", "x"), ("", "x"), ("+", "a1")):
                    own = core.expected(mark, "p", leaf)
                    template = SimpleNamespace(order=[0], leaves=[own], key=None, number=1, spots={0: 0}, open=[0])
                    found.append((text, mark, result(core.written, core.State(), template, [text], True)))
        told.append(found)
    assert [pair for pair in zip(*told, strict=True) if pair[0] != pair[1]] == []


def test_letters_of_an_alphabet_in_texts_of_each_width() -> None:
    native, pure = both("repeats")
    alphabets = ("\u00e0\u00ff", "ac", "\u007f\u0080", "\u00ff\u0100", "\u3042\u3093")
    for letter in ("", "a", "e", "\u0080", "\u00e0", "\u00e9", "\u00ff", "\u0100", "\u3042", "\U0001f600"):
        for size in (0, 1, 62, 63, 64, 65, 127, 128, 130):
            for text in ("x" * size + letter, letter + "x" * size, "x" * size + letter + "x" * 70):
                for first, last in alphabets:
                    assert bool(native.holds(text, first, last)) == bool(pure.holds(text, first, last)), (text, first)


@pytest.mark.parametrize(
    "given",
    [
        [{"a": 10**20 + one} for one in (50, 40, 30, 60)],
        [{"a": 10**17 + one} for one in (50, 40, 30, 60)],
        [{"a": one} for one in (50, 40, 30, 60, -1, 0)],
        [{"a": -one, "b": one} for one in (1, 2, 3, 10**18, 10**19)],
        [{"a": "x" * 34 + str(10**29 + one) + "y" * 60} for one in range(4)],
        [{"a": "x" * 10 + str(10**29 + one) + "y" * size} for one, size in enumerate((0, 20, 40, 60))],
        [{"a": f"{one}" * 80, "b": "x" * one} for one in range(1, 5)],
    ],
)
@pytest.mark.parametrize("plain", [False, True])
def test_what_events_of_far_numbers_and_long_texts_cost(given: list[dict[str, object]], plain: bool) -> None:
    judge_the_same(list(given), plain)
    judge_the_same([*given, *given], plain)
