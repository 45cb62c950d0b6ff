"""How a leaf is written as a field of a row, and what a record's check is: by examples, on each core."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from zlib import crc32

import pytest

from tests.session.test_cores import NUMBER, events_of, template_of
from turnwire._pure.session.checks import PAIRS
from turnwire._pure.session.fields import leaf_of, split
from turnwire._pure.session.values import Leaf

Core = Callable[[str], ModuleType]
SOON, LATE = "2026-01-07T00:38:41Z", "2026-01-07T00:38:51Z"
TEXTS = [("y", "y"), ("", '=""'), ("=a", '="=a"'), ("&a", '="&a"'), ("a|b", r"a\|b"), ("a\\", "a\\\\"), ("|", r"\|")]
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
