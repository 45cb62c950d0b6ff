"""Times and UUIDs of sessions at the edge of what they are: both cores find the same."""

from __future__ import annotations

import json
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.conftest import needs_both
from tests.session.test_cores import UUID, both, judge_the_same, read_by, read_on, result
from turnwire import session
from turnwire.errors import DecodeError
from turnwire.session import _state_py as state
from turnwire.session import _times_py as times
from turnwire.session import definitions
from turnwire.session.encoding import Options, composed, items
from turnwire.session.interpreting import inner_value
from turnwire.session.metering import Guess, guessed
from turnwire.session.records import record_at

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


def test_a_row_with_a_lone_surrogate_is_none() -> None:
    """And what borders on surrogates is none of them."""
    given = [{"a": letters, "n": 1} for letters in ("some", "other", "words")]
    text = composed(items(given), (), Options(checks=False), Guess())
    for code in (0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000):
        other = text.replace("words", f"wo{chr(code)}ds")
        header = record_at(other, False, at := [0, 1])
        native, pure = (read_on(core, other, list(at), header.raw, False) for core in both("rows"))
        assert native == pure and text != other


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
            texts = (f"a{chr(code)}b", f"{chr(code)}b", f"a{chr(code)}")
            asked: list[tuple[str, Any, Any]] = [
                (mark, leaf, text) for text in texts for mark, leaf in (("?", "x"), ("", "x"), ("+", "a1"))
            ]
            for mark, leaf, text in [*asked, ("?", b"1", json.dumps(texts[:1], ensure_ascii=False).encode())]:
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


# --- rows, leaves and definitions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", ["d800", "D800", "dBFF", "DbFf", "dc00", "Dc00", "DFFF", "d7ff", "E000", "00e9"])
def test_escapes_in_rows_whatever_their_digits_are(digits: str) -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india"]
    given = [{"kind": "event", "id": number, "t": f"={word} \\ x"} for number, word in enumerate(words)]
    text = composed(items(given), (), Options(checks=False), Guess())
    assert "delta" in text
    for escape in (f"\\u{digits}", f"\\u{digits}\\u{digits}", f"\\u{digits}\\uDC00", f"\\u{digits[:3]}"):
        changed = text.replace("delta", f"delta{escape}", 1)
        told = []
        for core in both("rows"):
            at = [0, 1]
            header = record_at(changed, False, at)
            told.append(ascii(read_on(core, changed, at, header.raw, False)))
        assert told[0] == told[1]


class Template(SimpleNamespace):
    """As a state wants it: marks and leaves in order."""


def template(core: ModuleType, marks: list[str], leaves: list[Any], number: int) -> Template:
    made = Template(order=list(range(len(marks))), marks=marks, key=None, number=number)
    paths = [f"{place}" for place in range(len(marks))]
    made.leaves = [core.expected(mark, path, leaf) for mark, path, leaf in zip(marks, paths, leaves, strict=True)]
    made.places = {path: place for place, path in enumerate(paths)}
    made.spots = {place: place for place in range(len(marks))}
    made.open = list(range(len(marks)))
    return made


WRITTEN = [
    "1",
    "-1",
    "1.",
    ".1",
    "1.5",
    "-",
    "-.",
    "1e",
    "1e5",
    "1e+",
    "01",
    "",
    " ",
    "1 ",
    "true",
    "nul",
    '"',
    '"a"',
    "a",
]


@pytest.mark.parametrize("leaf", [b"1", b"[[1]]", b"[1,2]", b'"x"', b'["a"]', b"[]", b"{}"])
def test_what_is_written_for_a_leaf_is_read_alike(leaf: bytes) -> None:
    """Or it is left to who reads it closely, and never taken for JSON where it is none."""

    def rare(text: str, own: Any) -> Any:
        raise ValueError(f"rare: {text}")

    for one in WRITTEN:
        for text in (one, f"[{one}]", f"[[{one}]]", f"[[{one}", f"{one}]]", f"[{one},{one}]", f"[{one},]", f"[,{one}]"):
            for mark in ("?", "", "+", "="):
                native, pure = (
                    result(core.read, core.State(), template(core, [mark], [leaf], 0), [text], rare)
                    for core in both("state")
                )
                assert native == pure or "rare: " in str(pure), (text, mark)
                if isinstance(native, list) and isinstance(native[0], bytes):
                    json.loads(native[0])


def test_what_a_template_tells_beside_others() -> None:
    marks = ("?", "", "+", "=")
    for own, first, second in product(product(marks, repeat=2), repeat=3):
        told = []
        for core in both("state"):
            others = [template(core, list(first), ["x", "y"], 0), template(core, list(second), ["x", "y"], 1)]
            mine = template(core, list(own), ["x", "y"], 2)
            told.append(result(core.tell, core.State(), mine, others, ["x", "y"], False, lambda leaf, mark: leaf))
        assert told[0] == told[1], (own, first, second)


def test_letters_in_definitions() -> None:
    """Which ones a word may have, of all that there are up to U+3100."""
    for number in (*range(1, 0x3100), 0xFEFF, 0xFFFD, 0x1F600):
        text = f"{{k:a{chr(number)}b}}"
        native, pure = (result(read_by, core, text) for core in both("drafts"))
        assert native == pure, hex(number)


@pytest.mark.parametrize("text", ['{a:1 b:x,c:"y z"}', "{a:[1,true] b}", "{a:[[1],[-2.5]]}", "{a:[{b:1 c}]}"])
def test_simple_definitions_are_read_by_the_core_itself(text: str) -> None:
    """What it leaves to the twin says the same, slowly."""
    native, _ = both("drafts")
    assert native.read(text, definitions.cut) == definitions._any(text)


@pytest.mark.parametrize("leaf", ['[["a",1]]', '[["a",1],["b",2]]', "[[]]", "[]", '[["a"]]'])
def test_lists_of_rows_whose_ends_are_others(leaf: str) -> None:
    for at in range(len(leaf) + 1):
        for sign in ("", "}", "]", "[", ",", " ", '"'):
            changed = (leaf[:at] + sign + leaf[at + 1 :]).encode()
            for keys in (("x", "y"), ("x",), ()):
                native, pure = (result(core.built, ("[]", 0, keys), [changed], json.loads) for core in both("values"))
                assert native == pure, changed


@pytest.mark.parametrize("more", [0, 1, 2, 100])
def test_a_piece_has_a_weight(more: int) -> None:
    for numbers in ([0, 1 + more, 0, 1 + more, -1], [1 + more, -1], [0, 0, 1 + more, -1]):
        native, _ = both("repeats")
        with pytest.raises(ValueError, match="a piece has no weight"):
            native.runs(numbers, [1.0], 10)
        assert native.runs([0, 0, -1], [1.0], 10)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_how_far_apart_two_moments_may_be(sign: int, more: int) -> None:
    """18 digits of the smallest part of a second that they are written with, forth and back."""
    late = "2026-01-01T00:00:00.000000000Z"
    found = times.read(late)
    assert found is not None
    form, since = found
    there = times.written(form, since + sign * (state.FARTHEST + more))
    told = []
    for core in both("state"):
        now = core.State()
        mine = template(core, ["~"], [late], 0)
        assert core.written(now, mine, [late], True) is not None
        told.append(core.written(now, mine, [there], True))
    assert told[0] == told[1]
    assert (told[0] == str(sign * (state.FARTHEST + more))) is (more <= 0)


def fed(pieces: list[str]) -> list[Any]:
    reader = session.Reader()
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.close()]


@pytest.mark.parametrize("text", [" and the rest", "\nand a line", "\n\nand\nmore"])
def test_a_reader_names_the_line_of_what_was_changed(text: str) -> None:
    """However many lines the records have, and however the text is cut."""
    events = [{"type": "message", "author": "someone", "number": at, "b": f"x{at % 7} of it{text}"} for at in range(60)]
    lines = session.encode(events).split("\n")
    for at in (20, 40, 41, 42, 43, 44):
        changed = [*lines]
        changed[at] = changed[at][:-1] + ("!" if changed[at][-1:] != "!" else "?")
        whole = "\n".join(changed)
        with pytest.raises(DecodeError) as caught:
            session.decode(whole)
        for size in (1, 7, len(whole)):
            with pytest.raises(DecodeError) as told:
                fed([whole[start : start + size] for start in range(0, len(whole), size)])
            assert (told.value.line, told.value.reason) == (caught.value.line, caught.value.reason), (at, size)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("abcdefg", 1), ("abcdefgh", 2), ("abcdefgh ijklmnop", 4), ("a b c", 3), ("", 0), ("1234", 2), ("a, b", 3)],
)
def test_guesses_of_tokens(text: str, tokens: int) -> None:
    assert guessed(text) == tokens


WIDTHS = [
    0x1F,
    0x20,
    0x7E,
    0x7F,
    0x80,
    0xA0,
    0xFF,
    0x100,
    0x7FF,
    0x800,
    0x801,
    0xD7FF,
    0xE000,
    0xFFFF,
    0x10000,
    0x10FFFF,
]


@pytest.mark.parametrize("letter", WIDTHS)
def test_letters_of_each_width_come_back(letter: int) -> None:
    for text in (chr(letter), f"a{chr(letter)}b", chr(letter) * 40):
        value = {"a": text, text: [text, {"b": text}], "c": json.dumps({"d": text}, ensure_ascii=False)}
        native, pure = (result(core.minified, value) for core in both("values"))
        assert native == pure and json.loads(native) == value
        assert session.decode(session.encode([value] * 9)) == [value] * 9


@pytest.mark.parametrize(
    "value",
    ["false", "true", "null", "1", "-1", "1.5", "nul", "falsey", "False", "01", "+1", "1.", '"a"', "a", "", "[]"],
)
def test_constants_in_arrays_of_definitions(value: str) -> None:
    for text in (
        f"{{k:[{value}]}}",
        f"{{k:[1,{value}]}}",
        f"{{k:[{value},true]}}",
        f"{{k:{value}}}",
        f"{{k:[[{value}]]}}",
    ):
        native, pure = (result(read_by, core, text) for core in both("drafts"))
        assert native == pure, text


@pytest.mark.parametrize(
    "text",
    ['{"a":"b","c":1}', '{"a": "b", "c": 1}', '{"key":true}', '{"a":"","b":null}', '{"":""}', '{"a":"{","b":"{}"}'],
)
def test_objects_in_texts_that_are_cut_or_changed_anywhere(text: str) -> None:
    for at in range(len(text) + 1):
        for changed in (
            text[:at],
            *(text[:at] + sign + text[at + more :] for sign in '"{}[]: ,\\1xé' for more in (0, 1)),
        ):
            native, pure = (result(core.flatten, {"o": changed, "p": 1}) for core in both("values"))
            assert native == pure, changed


@pytest.mark.parametrize("text", ['{"a":"b","c":1}', '{"a": "b", "c": -5}', '{"a":"{}","b":null}', '{"a": true}'])
def test_plain_objects_in_texts_are_read_by_the_core_itself(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    native, pure = both("values")
    monkeypatch.setattr(native, "opened", None)
    assert native.flatten({"o": text}) == pure.flatten({"o": text})


@pytest.mark.parametrize(
    "leaf", [" ~", "\xa0", "\u2027\u202a", b'" ~"', '"\xa0 ~"'.encode(), '["\u2027\u202a"]'.encode(), b"-5"]
)
def test_leaves_that_stand_as_they_are_are_written_by_the_core_itself(
    leaf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, pure = both("state")
    monkeypatch.setattr(native, "pure_field", None)
    own = "x" if isinstance(leaf, str) else b"1"
    told = [core.written(core.State(), template(core, ["?"], [own], 0), [leaf], True) for core in (native, pure)]
    assert told == [leaf if isinstance(leaf, str) else leaf.decode()] * 2


@pytest.mark.parametrize("name", ["a", "z", "A", "Z", "aZ"])
def test_names_of_templates_are_found_by_the_core_itself(name: str) -> None:
    for state_core, core in zip(both("state"), both("rows"), strict=True):
        found: list[Any] = []
        made = template(state_core, ["?"], ["x"], 0)
        made.shape = None
        given = (state_core.State(), None, None, lambda shape, leaves: leaves, None, found)
        core.rows(f"{name} y\n{name} z\n^", [0, 1], None, {name: made}, *given)
        assert found == [["y"], ["z"]]


@pytest.mark.parametrize("lost", ["", "\n"])
def test_an_end_without_its_line_feed_is_an_end(lost: str) -> None:
    events = [{"conversation": "a long name of a conversation", "turn": at, "said": "x"} for at in range(60)]
    text = session.encode(events, None).removesuffix(lost)
    assert text[:2] == "%1"
    found = session.salvage(text)
    assert found.complete and found.events == events and found.faults == []
