"""Leaves that are arrays, numbers or what is rare, on both cores."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.session.test_cores import both

pytestmark = [pytest.mark.once, pytest.mark.skipif(len(BACKENDS) < 2, reason="compares the cores")]


class Word(str):
    pass


class Level(IntEnum):
    HIGH = 7


NUMBERS = st.sampled_from(
    (0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, 0.0, -0.0, 1.5, 1e22, 1e-7, True, False, None, Level.HIGH)
)
LETTERS = 'ab"\\/\0\x08\t\n\x0b\x0c\r\x1f\x7f\x9fé\u07ff\u0800\u2028\uffff\U00010000日'
TEXTS = st.text(st.sampled_from(LETTERS), max_size=6)
PLAIN = NUMBERS | TEXTS | st.builds(Word, TEXTS) | st.sampled_from((b"1.0", b"1e5", b"-0"))
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=12,
)
DEEP: Any = "x"
for _ in range(70):
    DEEP = [DEEP]


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
@example({"a": [["x", {"b": [1]}], DEEP]})
@example({"a": [{"b": 1, "c": 'é"'}, {"b": 2.5, "c": None}], "d": [Word("x")], "e": Level.HIGH})
def test_structures_and_leaves(event: dict[str, Any]) -> None:
    native, pure = [core.flatten(event) for core in both("values")]
    assert native == pure
    assert list(map(type, native[1])) == list(map(type, pure[1]))


@pytest.mark.parametrize("value", [["a\ud800"], [["x"], {"\udfff": 1}]])
def test_a_lone_surrogate_in_an_array_is_refused(value: Any) -> None:
    for core in both("values"):
        with pytest.raises(UnicodeEncodeError):
            core.flatten({"a": value})


@given(st.text(st.sampled_from("a|é日あ\u3041\u30f3\u30f4ая\u0450\U0001f600"), max_size=150), st.integers(0, 130))
def test_letters_of_an_alphabet(text: str, before: int) -> None:
    for text_ in (text, "a" * before + text, text + "é" * before):
        for first, last in ("\u3042\u30f3", "\u0430\u044f", "\u03b1\u03c9", "az"):
            expected = any(first <= letter <= last for letter in text_)
            assert [core.holds(text_, first, last) for core in both("repeats")] == [expected] * 2
