"""Aliases: what comes again in a block is one character, of an alphabet that occurs nowhere else in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire import session
from turnwire.errors import DecodeError
from turnwire.session.metering import Guess
from turnwire.session.repeats import ALPHABETS, LONGEST, Expander, Shortener

pytestmark = pytest.mark.once

WORDS = ("because customers complained", "|", "||", "\n", "あ", "я", "ω", "[1,2]", "x", "  ", "call_hFWCEPyYngFb", "\\")
bodies = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map("".join), min_size=1, max_size=12)


@given(st.lists(bodies, min_size=1, max_size=3))
def test_bodies_come_back(blocks: list[list[str]]) -> None:
    """Block by block, the later ones by what the first one had."""
    shortener = Shortener(Guess())
    for given_ in blocks:
        first, found = shortener.shortened(given_)
        assert first or found == given_
        expander = Expander(first)
        assert [expander.expand(body) for body in found] == given_


def test_the_alphabet_is_one_that_occurs_nowhere() -> None:
    text = "no answer because customers complained loudly"
    for taken, first in (("", "あ"), ("ん", "а"), ("ンя", "α"), ("あяω", "")):
        found, written = Shortener(Guess()).shortened([f"a {text}{taken}"] * 9)
        assert found == first
        assert (written[5] == "あ") is (first == "あ")


def test_long_texts_are_named_whole() -> None:
    text = " ".join(f"word{number}" for number in range(400))
    first, found = Shortener(Guess()).shortened([f"a {text}|{number}" for number in (1, 2)])
    assert first == "あ" and found[0].count("word399") == 1 and len(found[1]) < 12


def test_alphabets_do_not_overlap() -> None:
    for one in ALPHABETS:
        assert one.first == one.used[0] and all(one.first <= each <= one.last for each in one.used)
        assert len(set(one.used)) == len(one.used)
        assert all(other is one or other.last < one.first or one.last < other.first for other in ALPHABETS)


@pytest.mark.parametrize(
    ("found", "bodies"),
    [
        (["a xyz", "a xyz|xyz"], ["a あxyz", "a あ|あ"]),
        (["a xyz1"], ["a あxyzあ1"]),
        (["a xyzxyz"], ["a あxyzああ"]),
        (None, ["a ああ"]),
        (None, ["a あ"]),
        (None, ["a あxいyいzあ"]),
        (None, ["a あxyzい"]),
        (None, ["a あ" + "x" * (LONGEST // 2), "b ああ"]),
    ],
)
def test_what_a_reader_takes_and_refuses(found: list[str] | None, bodies: list[str]) -> None:
    expander = Expander("あ")
    if found is not None:
        assert [expander.expand(body) for body in bodies] == found
    else:
        with pytest.raises(ValueError):
            [expander.expand(body) for body in bodies]


def test_an_unknown_alphabet_is_refused() -> None:
    with pytest.raises(DecodeError) as caught:
        session.decode("%1 &x\n.0\n", sealed=False)
    assert (caught.value.reason, caught.value.line) == ("bad_encoding", 1)


def test_without_the_word_in_the_header_they_are_letters() -> None:
    assert session.decode('%1\na={x?:"あ"}\na あyあ\n.2\n', sealed=False) == [{"x": "あ"}, {"x": "あyあ"}]
    assert session.decode('%1 &あ\na={x?:"b"}\na あyあ\n.2\n', sealed=False) == [{"x": "b"}, {"x": "y"}]
