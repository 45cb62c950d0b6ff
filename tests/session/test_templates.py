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
from turnwire.errors import DecodeError
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


@vectors.cases("session_notation", kind="no time")
def test_texts_that_are_no_times(case: dict[str, Any]) -> None:
    assert time_of(case["text"]) is None


def leaf_of(said: Any) -> Leaf | None:
    """A leaf of the vectors: a text, or the JSON text of what is none."""
    return said["json"].encode() if isinstance(said, dict) else said


@vectors.cases("session_notation", kind="next")
def test_one_more(case: dict[str, Any]) -> None:
    assert one_more(leaf_of(case["value"])) == leaf_of(case["following"])


@vectors.cases("session_notation", kind="distance")
def test_a_definition_tells_what_is_later_by_its_distance(case: dict[str, Any]) -> None:
    """And is read so: in quotes where it goes back."""
    first, second, told = case["first"], case["second"], case["told"]
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


@vectors.cases("session_notation", kind="field")
def test_a_leaf_as_a_field(case: dict[str, Any]) -> None:
    mark, field = case["mark"], case["field"]
    first, leaf = leaf_of(case["first"]) or "", leaf_of(case["leaf"]) or ""

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


@vectors.cases("session_notation", kind="session")
def test_sessions_by_hand(case: dict[str, Any]) -> None:
    """Without checks: headers, distances, aliases, fields, tables, definitions that change others."""
    options = {"strict": "unfinished" not in case, "sealed": False}
    if "error" in case:
        caught = raised(DecodeError, session.decode, case["text"], **options)
        assert (caught.reason, caught.line) == (case["error"], case["line"])
    else:
        assert json.dumps(session.decode(case["text"], **options)) == json.dumps(case["events"])


@vectors.cases("session_notation", kind=None)
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
