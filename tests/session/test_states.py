"""What was seen, and what it lets a reader expect: by examples, on each core."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.session.test_cores import events_of, template_of
from turnwire.session import _times_py as times
from turnwire.session import definitions
from turnwire.session.encoding import Options
from turnwire.session.planning import _tellable
from turnwire.session.state import order_of

Core = Callable[[str], ModuleType]
SOON, LATE = "2026-01-07T00:38:41Z", "2026-01-07T00:38:51Z"
FORM = times.Form("T", 0, "Z")


def parts(own: Any) -> tuple[Any, ...]:
    return own.mark, own.source, own.path, own.first, own.text, own.form


def test_a_distance_counts_from_the_last_number_there_or_the_last_time(core: Core) -> None:
    state = core("session.state").State()
    assert state.later("n") is None
    state.put("n", b"5", False)
    assert parts(state.later("n")) == ("~", "", "n", None, False, None)
    far = [
        state.distance(state.later("n"), leaf) for leaf in (b"8", b"5", b"4", "8", b"8.0", b"-8", b"null", b"1" * 19)
    ]
    assert far == [3, 0, None, None, None, None, None, None]
    assert state.later("t") is None
    state.put("t", SOON, False)
    assert state.later("t") is None
    state.put("t", SOON, True)
    assert parts(state.later("t")) == ("~", "", "t", None, True, FORM)
    own = state.later("other")
    assert parts(own) == ("~", "", "other", None, True, FORM)
    told = [state.distance(own, leaf) for leaf in (LATE, SOON, "2026-01-07T00:38:31Z", LATE[:-1], "x", b"5", b"null")]
    assert told == [10, 0, -10, None, None, None, None]
    assert parts(state.later("n")) == ("~", "", "n", None, False, None), "a number at its own path goes first"
    assert state.moved(own, 10) == LATE and state.moved(state.later("n"), 3) == b"8"


@pytest.mark.parametrize(
    ("mark", "path", "leaf", "found"),
    [
        ("", "a", "x", ("", "", "a", "x", True, None)),
        ("?", "a", b"5", ("?", "", "a", b"5", False, None)),
        ("+", "a", b"null", ("+", "", "a", b"null", True, None)),
        ("=", "a", "x", ("=", "", "a", "x", True, None)),
        ("=b", "a", "x", ("=", "b", "a", "x", True, None)),
        ("^", "a", None, ("^", "", "a", None, False, None)),
        ("#a,b", "a", b"[]", ("?", "", "a", b"[]", False, None)),
        ("~", "a", SOON, ("~", "", "a", SOON, True, FORM)),
        ("~", "a", "no time", ("~", "", "a", "no time", True, None)),
        ("~", "a", b"5", ("~", "", "a", b"5", False, None)),
    ],
)
def test_what_a_mark_says_of_a_leaf(core: Core, mark: str, path: str, leaf: Any, found: tuple[Any, ...]) -> None:
    assert parts(core("session.state").expected(mark, path, leaf)) == found


def test_what_an_empty_field_stands_for(core: Core) -> None:
    """By what was seen in the conversation first, then anywhere."""
    module = core("session.state")
    state = module.State()

    def expects(mark: str, first: Any = "first", path: str = "a") -> Any:
        return state.expect(module.expected(mark, path, first), 0, 7)

    assert [expects(mark) for mark in ("", "?", "+", "=", "=b", "^", "~")] == ["first", *[None] * 4, "first", None]
    state.put("a", "x9", False)
    state.put("b", b"9", False)
    state.close(7, ["x9", b"9"])
    assert [expects(mark) for mark in ("", "?", "+", "=", "=b", "^")] == ["first", "x9", "x10", "x9", b"9", "x10"]
    state.enter("key")
    assert [expects(mark) for mark in ("?", "+", "=", "=b", "^")] == ["x9", "x10", "x9", b"9", "first"]
    state.put("a", "y1", False)
    state.close(7, ["y1", b"2"])
    assert [expects(mark) for mark in ("?", "+", "=", "=b", "^")] == ["y1", "y2", "y1", b"9", "y2"]
    state.enter("other")
    assert [expects(mark) for mark in ("?", "=", "^")] == ["y1", "y1", "first"]
    state.enter("key")
    assert expects("^") == "y2"
    state.enter(None)
    assert [expects(mark) for mark in ("?", "=", "^")] == ["y1", "y1", "y2"]
    assert state.expect(module.expected("?", "a", "first"), 0, 8) is None


def test_a_definition_tells_what_is_later_by_its_distance(core: Core) -> None:
    """And as null what is expected: of a time that goes back the distance is in quotes."""
    module = core("session.state")
    state, found = module.State(), []
    marks = {"t": "~", "n": "~", "s": "=", "u": "^", "x": ""}
    for event in (
        {"t": SOON, "n": 5, "s": "same", "u": "turn 1", "x": "x"},
        {"t": LATE, "n": 8, "s": "same", "u": "turn 2", "x": "x"},
        {"t": SOON, "n": 7, "s": "else", "u": "turn 2", "x": "x"},
        *[{"t": "no time", "n": 7.5, "s": None, "u": 3, "x": "x"}] * 2,
    ):
        (one,) = events_of([event])
        template = template_of(module, len(found) + 1, one, [marks[path] for path in one.shape.paths], ())
        texts, known = module.tell(state, template, [], one.leaves, True, definitions.told)
        assert known == []
        found.append(texts)
    assert found == [
        [SOON, "5", "same", '"turn 1"', "x"],
        ["+10", "+3", "null", "null", "x"],
        ['"-10"', "7", "else", '"turn 2"', "x"],
        *[['"no time"', "7.5", '"&!null"', "3", "x"]] * 2,
    ]


def test_what_bases_know_of_a_definition(core: Core) -> None:
    module = core("session.state")
    state, templates = module.State(), []
    marks = {"a": "?", "b": "", "c": "="}
    given = [{"a": "x", "b": "y", "c": "z"}, {"c": "z", "a": "x"}, {"a": "o", "b": "y"}, {"q": "x"}]
    told = []
    for number, event in enumerate(given, 1):
        (one,) = events_of([event])
        template = template_of(module, number, one, [marks.get(path, "") for path in one.shape.paths], ())
        for before in (False, True):
            again = module.State() if before else state
            told.append(module.tell(again, template, templates, one.leaves, before, lambda leaf, mark: "told")[1])
        told.append([module.likeness(template, base, one.leaves) for base in templates])
        templates.append(template)
    assert told == [
        *([], [], []),
        *([[2, -1]], [[-1, -1]], [17]),
        *([[-1, 1], [-1, -1]], [[-1, 1], [-1, -1]], [8, 7]),
        *([[-1], [-1], [-1]], [[-1], [-1], [-1]], [-3, -2, -2]),
    ]


@pytest.mark.parametrize(("rows", "mark"), [(3, "=b"), (4, "=b"), (5, "?"), (6, "?")])
def test_a_path_is_a_source_where_it_has_the_value_of_every_fourth_row(core: Core, rows: int, mark: str) -> None:
    """It has it once, behind the first event; at every path each value is another."""
    told = [{"b": f"{letter}in another place", "a": f"{letter} in one place"} for letter in "tuvwxyz"[: rows + 1]]
    told[1]["b"] = told[1]["a"]
    events = events_of(told)
    orders = [order_of(event.shape.paths, ()) for event in events]
    judge = core("session.judging").Judge(events, orders, Options().expectations(), _tellable)
    assert judge.judged(list(range(rows + 1)))[1] == ["?", mark]


@pytest.mark.parametrize("text", ["\nx y\n.1", "^0\nx y\n", ".0\nx y\n", "%\nx y\n", "x y"])
def test_an_empty_record_and_a_mark_are_no_events(core: Core, text: str) -> None:
    """Nor is a record behind which none begins. Who reads them says what they are."""

    def asked(*_: Any) -> Any:
        raise AssertionError("no event was read")

    at, found = [0, 1], []
    core("session.rows").rows(text, at, None, {}, core("session.state").State(), None, asked, asked, asked, found)
    assert (at, found) == ([0, 1], [])
