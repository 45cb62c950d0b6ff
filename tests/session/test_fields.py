"""How a leaf is written as a field of a row, and what a record's check is: by examples, on each core."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from zlib import crc32

import pytest

from tests.session.test_cores import NUMBER, events_of, template_of
from turnwire.session._checks_py import PAIRS
from turnwire.session._fields_py import folded, leaf_of, split
from turnwire.session._values_py import Leaf, of_table

Core = Callable[[str], ModuleType]
SOON, LATE = "2026-01-07T00:38:41Z", "2026-01-07T00:38:51Z"
TEXTS = [
    ("y", "y"),
    ("", '=""'),
    ("=a", '="=a"'),
    ("&a", '="&a"'),
    ("a|b", r"a\|b"),
    ("X|", r"X\|"),
    ("a\\", "a\\\\"),
    ("|", r"\|"),
]
TEXTS += [
    ("a\\|b", r"a\\\|b"),
    ("\\a", "\\a"),
    ("a=&", "a=&"),
    ("a\u2028", r'="a\u2028"'),
    ("\x01|", r'="\u0001\u007c"'),
]
TEXTS += [
    ("=|", r'="=\u007c"'),
    ('"', '"'),
    ("a\nb", "a\nb"),
    (b"5", "=5"),
    (b"null", "=null"),
    (b'["|"]', r'=["\u007c"]'),
]
NUMBERS = [("y", '"y"'), ("", '""'), ("=a", '"=a"'), ("a|b", r'"a\u007cb"'), ("\u2028", r'"\u2028"'), (b"5", "5")]
NUMBERS += [(b"-1.5", "-1.5"), (b"true", "true"), (b"null", "null"), (b"{}", "{}"), (b'["|"]', r'["\u007c"]')]
TIMES = [
    ("12", '="12"'),
    ("-3", '="-3"'),
    ("0", '="0"'),
    ("01", "01"),
    (LATE, "10"),
    (SOON[:-2] + "0Z", "-1"),
    ("x", "x"),
]
TIMES += [(b"5", "=5"), ("1.5", "1.5"), ("=1", '="=1"')]
COUNTS = [
    (b"8", "3"),
    (b"4", "=4"),
    (b"-2", "=-2"),
    (b"1.5", "1.5"),
    ("7", '"7"'),
    (b"1" * 19, "=" + "1" * 19),
]


@pytest.mark.parametrize(
    ("mark", "first", "leaf", "field"),
    [
        *(("?", "first", leaf, field) for leaf, field in TEXTS),
        *(("?", b"1", leaf, field) for leaf, field in NUMBERS),
        *(("~", SOON, leaf, field) for leaf, field in TIMES),
        *(("~", b"5", leaf, field) for leaf, field in COUNTS),
    ],
)
def test_a_leaf_as_a_field(core: Core, mark: str, first: Leaf, leaf: Leaf, field: str) -> None:
    module = core("session.state")
    (event,) = events_of([{"m": first if isinstance(first, str) else int(first)}])
    template = template_of(module, 1, event, [mark], ())
    states = module.State(), module.State()
    for state in states:
        state.put("m", first, mark == "~")
        state.close(1, [first])
    told = module.written(states[0], template, [leaf], True)
    assert told == field

    def rare(text: str, own: object) -> Leaf:
        if mark == "~" and NUMBER(text):
            return states[1].moved(template.leaves[0], int(text))
        return leaf_of(text, isinstance(first, str) or (mark == "~" and text[0] == "="))

    assert module.read(states[1], template, split(told), rare) == [leaf]


def test_fields_that_need_not_be_told_are_left_out(core: Core) -> None:
    module = core("session.state")
    state = module.State()
    events = events_of([{"a": "x", "b": 1, "c": "z", "k": "k1"}, {"a": "x", "b": 2, "c": "z", "k": "k2"}])
    template = template_of(module, 7, events[0], ["?", "+", "?", "="], ())
    for path, leaf in zip(template.shape.paths, events[0].leaves, strict=True):
        state.put(path, leaf, False)
    state.close(7, events[0].leaves)
    assert module.written(state, template, events[0].leaves, True) == "|1"
    assert module.written(state, template, events[1].leaves, True) == "|||k2"
    assert module.written(state, template, events[1].leaves, True) == "|2"
    assert module.written(state, template, events[1].leaves, False) == "x|2|z"


@pytest.mark.parametrize("before", ["", "a", '{"é":"\ud800"}\n'])
def test_a_check_is_chained(core: Core, before: str) -> None:
    chain = core("session.checks").Chain(before)
    since = everything = crc32(before.encode("utf-8", "surrogatepass"))
    assert (chain.since, chain.all) == (since, everything)
    for body in ("a", "b \ud800é", "^x", "", ".", "c", "^\udfff", "a"):
        sealed = chain.sealed(body)
        told = f"{body} {(everything >> 7) % 1000:03}" if body[:1] in ("^", ".") else body
        data = f"{told}\n".encode("utf-8", "surrogatepass")
        since, everything = crc32(data, since), crc32(data, everything)
        assert sealed == f"{told}{PAIRS[since & 127]}\n"
        if body[:1] == "^":
            since = crc32(told.encode("utf-8", "surrogatepass"))
        assert (chain.since, chain.all, chain.sum()) == (since, everything, f"{(everything >> 7) % 1000:03}")
        follower = core("session.checks").Chain(before)
        follower.since, follower.all = chain.since, chain.all
        pair = chain.pair("next \ud800")
        assert not follower.follows("next", pair) and not follower.follows("next \ud800", PAIRS[PAIRS.index(pair) - 1])
        assert follower.follows("next \ud800", pair) and (follower.since, follower.all) == (chain.since, chain.all)
        since, everything = chain.since, chain.all


def test_a_row_does_not_end_in_a_lone_backslash() -> None:
    assert split("a\\\\|b\\|c\\\\") == ["a\\", "b|c\\"]
    for body in ("\\", "a|b\\", "a\\|\\\\\\"):
        with pytest.raises(ValueError, match=r"^a row ends in a lone backslash$"):
            split(body)


def test_lines_behind_the_first_begin_with_a_space() -> None:
    """Empty ones inside do not; an empty last one does, or it would be none."""
    assert [folded(body) for body in ("a", "a\nb", "a\n\nb", "a\n", "\n\n", "a\n\n\n b")] == [
        *("a", "a\n b", "a\n\n b", "a\n ", "\n\n ", "a\n\n\n  b"),
    ]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([{"a": 1, "b": "x"}, {"a": None, "b": True}], ("a", "b")),
        ([{"a": 1}, {"b": 1}], None),
        ([{"a": 1}, {"a": 1, "b": 1}], None),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], None),
        ([{"a": 1}, "a"], None),
        ([{"a": 1}, ["a"]], None),
        ([{"a": 1}, 3], None),
        ([{"a": 1}, {"a": {}}], None),
        ([{"a": 1}, {"a": []}], None),
        ([{}, {}], None),
        ([{"a": 1}, {}], None),
        ([{"a": 1}], None),
        ([{"=": 1}, {"=": 2}], None),
    ],
)
def test_a_table_is_of_objects_with_the_same_keys(core: Core, rows: list[object], columns: object) -> None:
    structure, _ = core("session.values").flatten({"rows": rows, "end": 1})
    assert [one for one in structure if isinstance(one, tuple)] == ([] if columns is None else [columns])


def test_a_row_of_another_width_is_refused() -> None:
    assert of_table("[[1,2],[3,null]]", ("a", "b")) == '[{"a":1,"b":2},{"a":3,"b":null}]'
    assert of_table("[]", ("a",)) == "[]" and of_table("null", ("a",)) == "null"
    for rows, many in (("[[1,2],[3]]", 1), ("[[1,2,3]]", 3), ("[[],[1,2]]", 0)):
        with pytest.raises(ValueError, match=rf"^a row of a table has {many} values where there are 2 columns$"):
            of_table(rows, ("a", "b"))
    with pytest.raises(ValueError, match=r"^a row of a table is an array$"):
        of_table("[[1],2]", ("a",))
