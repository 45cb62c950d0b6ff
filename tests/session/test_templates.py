"""Templates: what a reader expects of a leaf, how rows and definitions tell it, and which templates are chosen."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests import vectors
from tests.conftest import raised
from tests.session.material import composed
from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session import Options
from turnwire.session.notation import cut, key_of, read
from turnwire.session.shapes import ARRAY, Event, Leaf, Shapes, flatten, minified, parsed, unflatten
from turnwire.session.templates import FARTHEST, Planner, one_more, time_of, time_text
from turnwire.session.writing import Composer, read_events

pytestmark = pytest.mark.once


def events_of(given: list[Any]) -> list[Event]:
    return list(read_events(given))


SOON, LATE = "2026-01-07T00:38:41Z", "2026-01-07T00:38:51Z"


def decoded(*records: str) -> list[Any]:
    """The events of records without checks."""
    return session.decode("\n".join(["%1", *records, ""]), strict=False, sealed=False)


@pytest.mark.parametrize("year", ["0001", "1677", "1969", "2024", "9999"])
@pytest.mark.parametrize(
    "rest", ["-01-01T00:00:00Z", "-12-31 23:59:59", "-02-28T12:30:01.5+01:00", "-03-01T00:00:00.123456789Z"]
)
def test_times(year: str, rest: str) -> None:
    found = time_of(year + rest)
    assert time_text(*found) == year + rest
    day = 86_400 * 10 ** found[0][1]
    assert (time_text(found[0], found[1] - day * 366) is None) is (year == "0001")
    assert (time_text(found[0], found[1] + day * 366) is None) is (year == "9999")


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-01-01", "2026-01-01T00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z"),
        "2026-01-01T00:60:00Z",
        *("2026-01-01T00:00:60Z", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567890Z"),
        *("2026-01-01T00:00:00z", "2026-01-01T00:00:00+1:00", "2026-1-01T00:00:00Z", "2026-01-01T00:00:00Z\n"),
        f" {SOON}",
    ],
)
def test_texts_that_are_no_times(text: str) -> None:
    assert time_of(text) is None


@pytest.mark.parametrize(
    ("value", "following"),
    [
        *((b"0", b"1"), (b"9", b"10"), (b"9" * 18, b"1" + b"0" * 18), (b"9" * 19, None), (b"-1", None), (b"1.0", None)),
        *((b"01", None), (b"null", None), ("T-099", "T-100"), ("a9", "a10"), ("9", "10"), ("1.9", "1.10"), ("a", None)),
        *(("", None), ("a9 ", None), ("a9\n", None), ("x" + "9" * 18, "x1" + "0" * 18), ("x" + "9" * 19, None)),
        *(("x٣", None), (None, None)),
    ],
)
def test_one_more(value: Leaf | None, following: Leaf | None) -> None:
    assert one_more(value) == following


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        *((SOON, LATE, "+10"), (LATE, SOON, '"-10"'), (SOON, SOON, "+0"), (SOON, LATE[:-1], None), (SOON, "x", None)),
        *((5, 8, "+3"), (5, 5, "+0"), (8, 5, None), (5, "8", None), (5, 8.0, None), (5, -8, None), (5, 10**18, None)),
        *(("x", "y", None), (None, None, None), ("+1", "+2", None), (SOON, None, None)),
    ],
)
def test_a_definition_tells_what_is_later_by_its_distance(first: Any, second: Any, told: str | None) -> None:
    """And is read so: in quotes where it goes back."""
    composer, shapes = Composer(()), Shapes()
    events = [shapes.event({"t": each}) for each in (first, second)]
    bodies = [composer.defined(name, each, ["~"]) for name, each in zip("ab", events, strict=True)]
    assert (bodies[1] == f"b={{t~:{told}}}") is (told is not None)
    assert decoded(*bodies) == [{"t": first}, {"t": second}]


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_how_far_apart_two_moments_may_be(sign: int, more: int) -> None:
    """18 digits of the smallest part of a second that they are written with, forth and back."""
    begin = "2026-01-01T00:00:00.000000000Z"
    found = time_of(begin)
    there = time_text(found[0], found[1] + sign * (FARTHEST + more))
    composer, shapes = Composer(()), Shapes()
    events = [shapes.event({"t": each}) for each in (begin, there)]
    bodies = [composer.defined("a", events[0], ["~"]), composer.row("a", events[1])]
    assert bodies[1] == f"a {there if more else sign * FARTHEST}"
    assert decoded(*bodies) == [{"t": begin}, {"t": there}]


def test_what_an_empty_field_stands_for() -> None:
    """By what was seen in the conversation first, then anywhere."""
    definition = 'a={k:? b:1 c+:1 d=c:"x" e^:T-1 f=b:1}'.replace("k:?", "k?:one")
    events = [{"k": "one", "b": 1, "c": 1, "d": "x", "e": "T-1", "f": 1}]
    assert decoded(definition) == events
    text = "\n".join(["%1 @k", definition, "a two||y", "a", "a one", "a two|5|||7", "a one", ""])
    found = session.decode(text, strict=False, sealed=False)
    assert [list(each.values()) for each in found[1:]] == [
        ["two", 1, 2, "y", "T-1", 1],
        ["two", 1, 3, 3, "T-2", 1],
        ["one", 1, 2, 2, "T-2", 1],
        ["two", 1, 5, 5, "T-3", 7],
        ["one", 1, 3, 3, "T-3", 1],
    ]


TEXTS: list[tuple[Leaf, str]] = [
    *(("y", "y"), ("", '=""'), ("=a", '="=a"'), ("&a", '="&a"'), ("a|b", r"a\|b"), ("X|", r"X\|"), ("a\\", "a\\\\")),
    *(("|", r"\|"), ("a\\|b", r"a\\\|b"), ("\\a", "\\a"), ("a=&", "a=&"), ("a\u2028", r'="a\u2028"'), ('"', '"')),
    *(("\x01|", r'="\u0001\u007c"'), ("=|", r'="=\u007c"'), ("a\nb", "a\nb"), ("a\tb", "a\tb"), ("\x7f", r'="\u007f"')),
    *(("\xa0", "\xa0"), ("\x9f", r'="\u009f"'), (b"5", "=5"), (b"null", "=null"), (b'["|"]', r'=["\u007c"]')),
]
VALUES: list[tuple[Leaf, str]] = [
    *(("y", '"y"'), ("", '""'), ("=a", '"=a"'), ("a|b", r'"a\u007cb"'), ("\u2028", r'"\u2028"'), (b"5", "5")),
    *((b"-1.5", "-1.5"), (b"true", "true"), (b"null", "null"), (b"{}", "{}"), (b'["|"]', r'["\u007c"]')),
]
MOMENTS: list[tuple[Leaf, str]] = [
    *(("12", '="12"'), ("-3", '="-3"'), ("0", '="0"'), ("01", "01"), (LATE, "10"), (SOON[:-2] + "0Z", "-1")),
    ("x", "x"),
    *((b"5", "=5"), ("1.5", "1.5"), ("=1", '="=1"')),
]
COUNTS: list[tuple[Leaf, str]] = [
    *((b"8", "3"), (b"4", "=4"), (b"-2", "=-2"), (b"1.5", "1.5"), ("7", '"7"'), (b"1" * 19, "=" + "1" * 19))
]


@pytest.mark.parametrize(
    ("mark", "first", "leaf", "field"),
    [
        *(("?", "first", leaf, field) for leaf, field in TEXTS),
        *(("?", b"1", leaf, field) for leaf, field in VALUES),
        *(("~", SOON, leaf, field) for leaf, field in MOMENTS),
        *(("~", b"5", leaf, field) for leaf, field in COUNTS),
    ],
)
def test_a_leaf_as_a_field(mark: str, first: Leaf, leaf: Leaf, field: str) -> None:
    def value(leaf: Leaf) -> Any:
        return leaf if isinstance(leaf, str) else json.loads(leaf)

    shapes, composer = Shapes(), Composer(())
    events = [shapes.event({"m": value(each)}) for each in (first, leaf)]
    bodies = [composer.defined("a", events[0], [mark]), composer.row("a", Event("", events[0].shape, [leaf]))]
    assert bodies[1] == f"a {field}"
    text = session.seal("\n".join(["%1", *[body.replace("\n", "\n ") for body in bodies], ""]))
    assert session.decode(text) == [{"m": value(first)}, {"m": value(leaf)}]


HARD = ("", "x", "=", "=x", "&", "+5", "-5", "5", "a|b", SOON, LATE, None, True, 0, 7, 8, -1, 1767225600, 1767225605)


@pytest.mark.parametrize("mark", ["?", "+", "=k", "^", "~"])
def test_any_value_may_follow_any_other_whatever_a_template_expects(mark: str) -> None:
    """Texts that look like fields, distances and numbers; what is written is read again."""
    shapes = Shapes()
    for first, second in product([shapes.event({"k": 1, "m": value}) for value in HARD], repeat=2):
        composer = Composer(())
        bodies = [composer.defined("a", first, ["", mark]), composer.row("a", second), composer.row("a", first)]
        assert decoded(*bodies) == [json.loads(each.line) for each in (first, second, first)], bodies


@pytest.mark.parametrize(
    "fields", ["\\", "x|\\", "x|y\\|\\\\\\", "x|y|z", "", "&a", "x|&", "x|nul", "x|[1", "x|=1", 'x|"a', "x|1.", "x|01"]
)
def test_fields_that_no_writer_makes_are_refused(fields: str) -> None:
    caught = raised(DecodeError, decoded, "a={a?:x b?:1}", f"a {fields}")
    assert (caught.reason, caught.line) == (Reason.BAD_ENCODING, 3)


@pytest.mark.parametrize(
    ("rows", "mark"),
    [
        ([{"a": 1, "b": "x"}, {"a": None, "b": True}], "#a,b"),
        ([{"a b/c.d:e-f": 1}] * 2, "#a b/c.d:e-f"),
        *(([{"a": 1}, other], "") for other in ({"b": 1}, {"a": 1, "b": 1}, "a", ["a"], 3, {"a": {}}, {"a": []}, {})),
        *((rows, "") for rows in ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], [{}, {}], [{"a": 1}], [{"=": 1}] * 2, [])),
    ],
)
def test_a_table_is_of_objects_with_the_same_keys(rows: list[Any], mark: str) -> None:
    value = parsed(json.dumps({"rows": rows, "end": 1}))
    leaves: list[Leaf] = []
    structure = flatten(value, leaves)
    assert structure[0][1].strip(ARRAY) == mark
    assert minified(unflatten(structure, leaves)) == minified(value)


@pytest.mark.parametrize("rows", ["[[1,2],[3]]", "[[1,2,3]]", "[[],[1,2]]", "[[1,2],3]", '[["x",1],"yz"]'])
def test_a_row_of_another_width_is_refused(rows: str) -> None:
    assert raised(DecodeError, decoded, f'={{"t#a,b":{rows}}}').reason is Reason.BAD_ENCODING
    found = decoded('={"t#a,b":[[1,2],[3,null]] "u#a":[] "v#a":x}')
    assert found == [{"t": [{"a": 1, "b": 2}, {"a": 3, "b": None}], "u": [], "v": "x"}]


@pytest.mark.parametrize(("rows", "mark"), [(3, "=b"), (4, "=b"), (5, "?"), (6, "?")])
def test_a_path_is_a_source_where_it_has_the_value_of_every_fourth_row(rows: int, mark: str) -> None:
    """It has it once, behind the first event; at every path each value is another."""
    told = [{"b": f"{letter}in another place", "a": f"{letter} in one place"} for letter in "tuvwxyz"[: rows + 1]]
    told[1]["b"] = told[1]["a"]
    assert Planner(events_of(told), (), Options().marks()).plan()[0].marks == ["?", mark]


def test_an_empty_key_is_no_source() -> None:
    """``=`` and no path is what a leaf expects of its own path."""
    number = 12345678901
    events = [{"x": 1, "": 2}, {"": number, "a": number}, {"x": number, "": 3}]
    assert session.decode(composed(events)) == events
    assert Planner(events_of(events), (), Options().marks()).plan()[0].marks == ["=a", "+"]


# --- definitions of templates: their notation, and templates derived from others --------------------------------------


def event(*definitions: str) -> Any:
    """The event of the last definition."""
    return session.decode("\n".join(["%1", *definitions, ""]), strict=False, sealed=False)[-1]


@vectors.cases("session_notation")
def test_notation(case: dict[str, Any]) -> None:
    if "error" in case:
        caught = raised(DecodeError, event, f"={case['text']}")
        assert (caught.reason, caught.line) == (case["error"], 2)
    else:
        assert json.dumps(event(f"={case['text']}")) == json.dumps(case["value"])


def test_letters_of_words() -> None:
    """Which ones a word may have, of all that there are up to U+3100."""
    for number in (*range(1, 0x3100), 0xFEFF, 0xFFFD, 0x1F600):
        letter = chr(number)
        may_be = letter in "_.@/?+~^=$#!&*<>;|()%'-" or (letter.isascii() and letter.isalnum())
        may_be |= number >= 0xA1 and number not in (0x2028, 0x2029)
        try:
            found = read(f"{{k:a{letter}b}}")[0].node == f"a{letter}b"
        except ValueError:
            found = False
        assert found is (may_be or letter == ":"), hex(number)


@pytest.mark.parametrize("name", ["a", "", "a?", "a!", "!", "a=b=c", "$1", "a#b", "-", "a.b", "é", "a b", "=", "a!!"])
def test_a_name_and_its_mark_are_told_apart(name: str) -> None:
    for mark in ("", "?", "+", "~", "^", "-", "$", "$4", "=", "=a.b", "#k,v"):
        key = key_of(name, mark)
        assert cut(json.loads(key) if key[0] == '"' else key) == (name, mark)


@pytest.mark.parametrize(
    ("base", "changed", "value"),
    [
        ("{a:1 b:2}", "{b:3}", {"a": 1, "b": 3}),
        ("{a:1 b:2}", "{}", {"a": 1, "b": 2}),
        ("{a:1 b:2 c:3}", "{b- d:4}", {"a": 1, "d": 4, "c": 3}),
        ("{a:1 b:2 c:3}", "{d:4 b- e:5 f:6}", {"a": 1, "e": 5, "f": 6, "c": 3, "d": 4}),
        ("{a:{b:1 c:2} d:3}", "{a:{c- e:4}}", {"a": {"b": 1, "e": 4}, "d": 3}),
        ("{a$:{b:1} c:2}", "{a:{b:5}}", {"a": '{"b":5}', "c": 2}),
        ("{a:[{b:1}] c:2}", "{a:[{d:1}]}", {"a": [{"d": 1}], "c": 2}),
        ("{a+:1 b?:x}", "{c:3}", {"a": 2, "b": "x", "c": 3}),
        ("{a:1}", "{b-}", None),
        ("{a:{b:1}}", "{a:{c-}}", None),
    ],
)
def test_a_definition_that_changes_another(base: str, changed: str, value: Any) -> None:
    if value is None:
        raised(DecodeError, event, f"a={base}", f"=a{changed}")
    else:
        assert json.dumps(event(f"a={base}", f"=a{changed}")) == json.dumps(value)
    raised(DecodeError, event, f"=z{changed}")


def test_a_name_that_is_empty_has_a_path_like_any_other() -> None:
    text = '%1\n{"":{"k":"one"},"k":"two"}\na={"":{k=.k} b=k}\n.2\n'
    assert session.decode(text, sealed=False)[1] == {"": {"k": "one"}, "b": "two"}
