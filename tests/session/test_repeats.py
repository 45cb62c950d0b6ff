"""Aliases: what comes again in a block is one character, of an alphabet that occurs nowhere else in it."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire import session, tokens
from turnwire.errors import DecodeError
from turnwire.session.letters import arranged, pairs_of
from turnwire.session.metering import Guess
from turnwire.session.repeats import ALPHABETS, LONGEST, Expander, Shortener, neighbours

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


@pytest.mark.parametrize("said", ["x", "--", "-あ", "x-"])
def test_an_unknown_alphabet_is_refused(said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        session.decode(f"%1 &{said}\n.0\n", sealed=False)
    assert (caught.value.reason, caught.value.line) == ("bad_encoding", 1)


def uuids(many: int) -> list[str]:
    rnd = Random(7)
    return [str(UUID(int=rnd.getrandbits(128), version=4)) for _ in range(many)]


def test_uuids_are_without_hyphens() -> None:
    """Wherever they are, in keys and parts of text, too; not where 32 digits stand in the block already."""
    ids = uuids(20)
    events: list[Any] = [{"id": each, "text": f"see {each}, and x{each}", "turn": 1} for each in ids]
    events += [{ids[0]: "key"}, f"text {ids[1]}", {"n": [ids[2].upper()]}]
    text = session.encode(events)
    assert text.startswith("%1 &あ- ") and "UUIDs without -." in text.split("\n")[0]
    assert "-".join(ids[5].split("-")[:2]) + "-" not in text.replace(f"x{ids[5]}", "")
    assert session.decode(text) == events
    assert "&-" in session.encode([{"id": each} for each in ids], aliases=True).split("\n")[0]
    for other in ([*events, {"n": "0" * 32}], [{"id": 10**31}, *events]):
        text = session.encode(other)
        assert ids[5] in text and text.startswith("%1 &あ ") and session.decode(text) == other
    assert ids[5] in session.encode(events, aliases=False)


def test_uuids_block_by_block() -> None:
    ids = uuids(40)
    events = [{"id": each, "text": "because customers complained", "turn": 1} for each in ids]
    events[15]["text"] = ids[0].replace("-", "")
    text = session.encode(events, every=10)
    assert session.decode(text) == events and session.salvage(text).events == events
    heads = [line for line in text.split("\n") if line[:1] in ("%", "^")]
    assert [line.split(" ")[1][-1] == "-" for line in heads] == [True, False, True, True]


def test_without_the_word_in_the_header_they_are_letters() -> None:
    assert session.decode('%1\na={x?:"あ"}\na あyあ\n.2\n', sealed=False) == [{"x": "あ"}, {"x": "あyあ"}]
    assert session.decode('%1 &あ\na={x?:"b"}\na あyあ\n.2\n', sealed=False) == [{"x": "b"}, {"x": "y"}]


def test_pairs_are_of_letters_that_aliases_get() -> None:
    for alphabet in ALPHABETS:
        pairs = pairs_of(alphabet)
        found = {one + other for one, others in pairs.after.items() for other, _ in others}
        assert found and found == {other + one for one, others in pairs.before.items() for other, _ in others}
        assert set("".join(found)) <= set(alphabet.used)


def test_pairs_are_one_token() -> None:
    counters = [tokens.load(name) for name in ("o200k_base", "cl100k_base", "llama3", "qwen3", "gemma3")]
    for alphabet in ALPHABETS:
        worth = {one + other: times for one, others in pairs_of(alphabet).after.items() for other, times in others}
        sizes = zip(*[counter.count_many(list(worth)) for counter in counters], strict=True)
        assert [each.count(1) for each in sizes] == list(worth.values())


@given(st.text(ALPHABETS[1].used[:9] + " |x", max_size=80), st.integers(9, 31))
def test_each_alias_has_a_letter_of_its_own(text: str, many: int) -> None:
    found = arranged(neighbours(text, "а", "я"), ALPHABETS[1], many)
    assert list(found) == list(ALPHABETS[1].used[:many])
    assert len(set(found.values())) == many and set(found.values()) <= set(ALPHABETS[1].used)


def test_neighbours_are_a_pair() -> None:
    found = arranged({"аб": 2, "вг": 1, "ба": 1}, ALPHABETS[1], 4)
    worth = pairs_of(ALPHABETS[1]).after
    for one, other in ("аб", "вг"):
        assert found[other] in dict(worth[found[one]])


def test_later_blocks_keep_the_letters() -> None:
    """Those that the first block gave, whatever are neighbours later."""
    shortener, expander = Shortener(Guess()), Expander(ALPHABETS[0].first)
    texts = ["because customers complained", "and list what is still open", "with the new limits in mind"]
    _, first = shortener.shortened([f"a {one}|{other}" for one, other in permutations(texts, 2)] * 3)
    for body in first:
        expander.expand(body)
    _, later = shortener.shortened([f"b {text}" for text in reversed(texts) for _ in range(9)])
    assert all(len(body) == 3 for body in later[1::9])
    assert [expander.expand(body) for body in later[1::9]] == [f"b {text}" for text in reversed(texts)]
