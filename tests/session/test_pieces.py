"""Pieces of bodies, and runs of pieces that come again: what aliases are found by, on both cores."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.session.test_cores import both

pytestmark = [pytest.mark.once, pytest.mark.skipif(len(BACKENDS) < 2, reason="compares the cores")]


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=60), max_size=5), st.lists(st.integers(1, 4), min_size=6, max_size=6)
)
def test_runs_of_pieces(bodies: list[list[int]], weights: list[int]) -> None:
    flat = [piece for number, body in enumerate(bodies) for piece in (*body, -1 - number)]
    for most in (1000, 5, 0):
        found = [core.runs(flat, weights, most) for core in both("repeats")]
        assert found[0] == found[1] == sorted(found[0], reverse=True)


LETTERS = "ab7٣²_|,-. \n\t\u2028é日\U0001f600\0"
BODIES = st.lists(st.builds(str.__mul__, st.sampled_from(LETTERS), st.integers(1, 5)), max_size=20).map("".join)
"""Letters come several times in a row: so do digits, of which a piece has three at most."""


@given(st.lists(BODIES, max_size=5), st.sampled_from((1000, 20, 0)))
@example(["1234567 12 123 ٣٣٣٣||||\n   a \n\n  1", "a__b  c ,,, ,1 _"], 1000)
def test_pieces_of_bodies(bodies: list[str], most: int) -> None:
    """Together they are the bodies, up to where there are enough; and runs of them are texts of these."""
    found = [core.pieces(bodies, most) for core in both("repeats")]
    assert found[0] == found[1]
    texts, flat = found[0]
    looked = sum(number < 0 for number in flat)
    assert "".join([texts[number] for number in flat if number >= 0]) == "".join(bodies[:looked])
    assert looked == len(bodies) or len(flat) > most
    assert len(set(texts)) == len(texts) and "" not in texts
    weights = [len(text) % 3 + 1 for text in texts]
    spelled = [core.spelled(flat, texts, weights, 50) for core in both("repeats")]
    assert spelled[0] == spelled[1] and list(spelled[0]) == list(spelled[1])
    assert all(any(text in body for body in bodies) for text in spelled[0])


def test_many_pieces() -> None:
    """More than the first table has room for, in one body and in many."""
    words = [f"{letter}{other}{third}" for letter in "abcdefghijkl" for other in "mnopqrstuvwx" for third in "yzäöü日"]
    for bodies in (["-".join(words)], words, [*words, *words]):
        found = [core.pieces(bodies, 10_000) for core in both("repeats")]
        assert found[0] == found[1] and found[0][0] == [*words[:1], *(["-"] * (len(bodies) == 1)), *words[1:]]
