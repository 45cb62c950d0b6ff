"""Aliases, one character of an alphabet that occurs nowhere else in a block; and the explanation of a session."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from benchmarks.session_traffic import interleaved_nslip
from tests.conftest import rounds
from tests.session.material import any_options, composed, few_shapes
from turnwire import session, tokens
from turnwire.session import Options, aliases
from turnwire.session.aliases import (
    ALPHABETS,
    LEAST_UUIDS,
    LONGEST,
    Expander,
    Shortener,
    arranged,
    bare,
    joined,
    repeated,
)
from turnwire.session.framing import ALL, explanation, records
from turnwire.session.notation import read
from turnwire.session.shapes import ARRAY
from turnwire.session.writing import guess

pytestmark = pytest.mark.once

WORDS = ("because customers complained", "|", "||", "\n", "あ", "я", "ω", "[1,2]", "x", "  ", "call_hFWCEPyYngFb", "\\")
bodies = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map("".join), min_size=1, max_size=12)


@given(st.lists(bodies, min_size=1, max_size=3))
def test_bodies_come_back(blocks: list[list[str]]) -> None:
    """Block by block, the later ones by what the first one had."""
    shortener = Shortener(guess)
    for given_ in blocks:
        first, found = shortener.shortened(given_)
        assert first or found == given_
        expander = Expander(first)
        assert [expander.expand(body) for body in found] == given_


def test_the_alphabet_is_one_that_occurs_nowhere() -> None:
    text = "no answer because customers complained loudly"
    for taken, first in (("", "あ"), ("ん", "а"), ("ンя", "α"), ("あяω", "")):
        found, written = Shortener(guess).shortened([f"a {text}{taken}"] * 9)
        assert found == first
        assert (len(written[5]) == 1) is (first != "")


def test_long_texts_are_named_whole() -> None:
    text = " ".join(f"word{number}" for number in range(400))
    first, found = Shortener(guess).shortened([f"a {text}|{number}" for number in (1, 2)])
    assert first == "あ" and found[0].count("word399") == 1 and len(found[1]) < 12


@pytest.mark.parametrize(("more", "named"), [(0, True), (1, False)])
def test_texts_of_which_a_reader_might_take_none_have_no_aliases(
    monkeypatch: pytest.MonkeyPatch, more: int, named: bool
) -> None:
    """With its aliases filled in a record has twice the letters at most."""
    bodies = [f"a {' '.join(f'word{number}' for number in range(60))}|{last}" for last in (1, 2)]
    monkeypatch.setattr(aliases, "LONGEST", 2 * (len(bodies[0]) - more))
    first, found = Shortener(guess).shortened(bodies)
    assert bool(first) is named and (found == bodies) is not named


PIECES = st.lists(st.sampled_from(["aa", "bb", "7", "|", " cc", "\n", "é"]), max_size=60).map("".join)


@given(st.lists(PIECES, min_size=1, max_size=5))
def test_what_comes_again_is_found(bodies: list[str]) -> None:
    """Every run of less than 16 pieces that comes more than once in the bodies."""
    found = repeated(bodies, guess)
    assert all(any(text in body for body in bodies) for text in found)
    pieces = [aliases._PIECES(body) for body in bodies]
    runs = [
        "".join(body[at : at + size])
        for body in pieces
        for size in range(1, aliases.MOST_PIECES)
        for at in range(len(body) - size + 1)
    ]
    expected = {
        text for text, times in Counter(runs).items() if times > 1 and len(text) > 1 and aliases._is_whole(text)
    }
    assert expected <= set(found)


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


ONE = "0f8fad5b-d9cb-469F-a165-70867728950e"


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
    for other in ([*events, {"n": "0" * 32}], [{"id": 10**31}, *events]):
        text = session.encode(other)
        assert ids[5] in text and text.startswith("%1 &あ ") and session.decode(text) == other
    assert ids[5] in session.encode(events, plain=True)


@pytest.mark.parametrize("many", range(LEAST_UUIDS + 2))
def test_hyphens_are_left_out_of_so_many_uuids(many: int) -> None:
    ids = uuids(many)
    word, found = bare([f"a {each}" for each in ids])
    assert word == ("-" if many >= LEAST_UUIDS else "")
    assert found == [f"a {each.replace('-', '') if word else each}" for each in ids]


@pytest.mark.parametrize("sign", ["_", "a", "G", "0", "-", " ", "/", ":", "@", "[", "{", "é", "\u0661", "あ", "|"])
def test_a_letter_beside_a_uuid(sign: str) -> None:
    """A letter, a digit or ``_`` makes it a part of something else, in front of it and behind it."""
    beside = sign in "_aG0"
    for text in (ONE + sign, sign + ONE, f"{ONE}{sign}x", f"x{sign}{ONE}"):
        word, found = bare([text, *uuids(LEAST_UUIDS)])
        assert word == "-" and (found[0] == text) is beside
        assert Expander("-").expand(found[0]) == text
        digits = text.replace(ONE, ONE.replace("-", ""))
        assert Expander("-").expand(digits) == (digits if beside else text)
        assert bare([digits, *uuids(LEAST_UUIDS)])[0] == ("-" if beside else "")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "llama3", "qwen3", "gemma3"])
def test_letters_and_pairs_are_one_token(name: str) -> None:
    counter = tokens.load(name).count_many
    for alphabet in ALPHABETS:
        pairs = joined(counter, alphabet)
        assert set("".join(pairs)) <= set(alphabet.used)
        assert set(counter([*alphabet.used, *pairs])) == {1}
    assert "です" in joined(counter, ALPHABETS[0])


@given(st.sampled_from(ALPHABETS), st.data(), st.integers(2, 20))
def test_each_alias_has_a_letter_of_its_own(alphabet: Any, data: st.DataObject, many: int) -> None:
    text = data.draw(st.text(alphabet.used[:many] + " |x", max_size=200))
    pairs = data.draw(st.sets(st.permutations(alphabet.used).map(lambda letters: "".join(letters[:2])), max_size=9))
    found = arranged(text, alphabet, many, pairs)
    assert set(found) == set(alphabet.used[:many])
    assert len(set(found.values())) == many and set(found.values()) <= set(alphabet.used)


def test_neighbours_are_one_token_together() -> None:
    """Those that stand side by side most often."""
    alphabet = ALPHABETS[0]
    one, other, third = alphabet.used[:3]
    found = arranged(f"{one}{other} " * 9 + f"{other}{third}", alphabet, 3, {"です", "する", "から"})
    assert found[one] + found[other] in ("です", "する", "から")


# --- the explanation at the beginning: of all that a session uses, and nothing else, as a test reads it ---------------


HEADER_WORDS = {
    **{"?": "? same", "+": "+ next", "=": "=p last p", "^": "^ last+1", "~": "~ n later", "#": "# table"},
    **{"$": "$ JSON text", "b=a": "b=a{…} changed a", "-": "UUIDs without -.", "checks": "Ends: checks."},
}


def explained(text: str) -> set[str]:
    """The parts that a text explains; of aliases the letter that it does it with."""
    letter = re.search(r"(\S)x\1: \1=x\.", text)
    return {name for name, words in HEADER_WORDS.items() if words in text} | ({letter[1]} if letter else set())


def marks(draft: Any) -> set[str]:
    """The first characters of the marks in a draft."""
    found = set()
    for member in draft:
        found |= {member.mark[:1]}
        if isinstance(member.node, list):
            found |= marks(member.node)
    return found - {"", ARRAY}


def used(text: str, sealed: bool) -> set[str]:
    """The parts that a session has, seen in its records."""
    found, letter, expand = ({"checks"} if sealed else set()), "", Expander("").expand
    begin = text.index("%") if text[:1] == "%" else text.index("\n%") + 1
    for number, record in enumerate(records(text, sealed, begin)):
        body = record.raw.replace("\n ", "\n")
        if not number or body[:1] == "^":
            said = re.match(r"\S+(?: @\S+)*(?: &(\S{1,2})(?= |$))?", body)
            expand = Expander(said[1] or "").expand
            letter = letter or (said[1] or "").rstrip("-")
            found |= {"-"} if (said[1] or "").endswith("-") else set()
            continue
        body = body if body[:1] == "." else expand(body)
        definition = re.fullmatch(r"[A-Za-z]*=([A-Za-z]*)(\{.*\})", body, re.DOTALL)
        if definition is not None:
            found |= marks(read(definition[2])) - {"-"} | ({"b=a"} if definition[1] else set())
    return found | ({letter} if letter else set())


SEEDS = [Random(seed) for seed in range(rounds(40))]
SESSIONS = [(["%1"], Options()), *((few_shapes(rnd), any_options(rnd)) for rnd in SEEDS)]


def test_what_a_session_uses_is_explained_and_nothing_else() -> None:
    for place, (events, chosen) in enumerate(SESSIONS):
        text = composed([*events, *events, {}], ((), ("id",), ("a", "a.b"))[place % 3], chosen)
        wanted = used(text, chosen.checks)
        found = explained(next(records(text, chosen.checks)).raw)
        if chosen.prompt and "\n^" in text:  # aliases are explained by one letter, later blocks may need other ones
            letters = {alphabet.first for alphabet in ALPHABETS}
            assert found >= wanted - letters and bool(found & letters) >= bool(wanted & letters)
        else:
            assert found == (wanted if chosen.prompt else set())


def test_a_writer_explains_what_it_uses() -> None:
    """It does not know what will come: all that its options let it use, and nothing that it never does."""
    written = 0
    for events, chosen in SESSIONS:
        writer = session.Writer(None, "id", **chosen._replace(prompt=True)._asdict())
        text = "".join([*(writer.add(event) for event in events * 3), writer.close()])
        for header in [line for line in text.split("\n") if line.startswith("%1")][:1]:
            written += 1
            assert used(text, chosen.checks) <= explained(header) <= {*HEADER_WORDS} - {"-", "b=a"}
            assert explained(header) & {"+", "=", "~"} == (set() if chosen.plain else {"+", "=", "~"})
    assert written > 15


def test_all_of_the_form() -> None:
    assert session.prompt() == explanation(ALL) + "\n" and explained(session.prompt()) == {*HEADER_WORDS, "あ"}


def test_of_paths_that_do_as_well_the_shortest_session_is_taken() -> None:
    """Conversations that are told apart by several paths: by each of them a session is as long without aliases."""
    events = interleaved_nslip(1, 50)
    paths = ("conv_id", "goal_id", "task_id")
    tokens = [guess([session.encode(events, None, path)])[0] for path in paths]
    text = session.encode(events, None)
    assert guess([text])[0] == min(tokens) < max(tokens)
    assert session.decode(text) == events
