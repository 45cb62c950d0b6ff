"""Many texts in ``where=``: found as a search for each would find them, in one pass whatever their number."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

import turnwire
from tests.counting import called
from turnwire.log.engine import needles
from turnwire.log.engine.needles import Needles

pytestmark = pytest.mark.once
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 70, 130)


@pytest.mark.parametrize(("block", "second"), [(1 << 16, 64), (64, 0), (50, 0)])
def test_texts_are_found_where_they_are(block: int, second: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles, "_BLOCK", block)
    monkeypatch.setattr(needles, "_SECOND", second)
    chance = random.Random(block)
    met = 0
    for _ in range(60):
        letters = chance.choice((b"ab", b"abc", b"abcdefgh\0\xff"))
        data = bytes(chance.choices(letters, k=chance.randint(1, 300)))
        texts = [bytes(chance.choices(letters, k=chance.choice(LENGTHS[chance.randint(0, 9) :]))) for _ in range(12)]
        for _ in range(chance.randint(0, 3)):
            start = chance.randrange(len(data))
            texts.append(data[start : start + chance.choice(LENGTHS)])
        edges = sorted(chance.sample(range(len(data) + 1), min(len(data) + 1, chance.randint(2, 9))))
        parts = [part for part in pairwise(edges) if chance.random() < 0.8] or [(0, 1)]
        starts, stops = (np.array(ends) for ends in zip(*parts, strict=True))
        expected = [any(text in data[start:stop] for text in texts) for start, stop in parts]
        assert Needles(texts).rows(data, starts, stops).tolist() == expected, (data, texts, parts)
        met += sum(expected)
    assert met > 50


def test_texts_are_found_at_the_ends_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles, "_BLOCK", 50)
    monkeypatch.setattr(needles, "_SECOND", 0)
    for size in (3, 7, 15, 31):
        text = bytes(range(1, size + 1))
        for start in range(50 - size, 52):
            data = bytes(start) + text + bytes(3)
            for stop in (0, 1):
                found = Needles([text]).rows(data, np.array([1]), np.array([start + size - stop]))
                assert found.tolist() == [not stop]


def test_a_text_is_found_where_one_that_begins_with_it_is_not() -> None:
    found = Needles([b"abcd", b"abcda", b"abcdab"]).rows(
        b"abcdb abcdab abc", np.array([0, 6, 13]), np.array([5, 12, 16])
    )
    assert found.tolist() == [True, True, False]


@pytest.mark.parametrize("size", [8, 400])
def test_few_places_are_looked_at_whatever_the_texts_have_in_common(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = called(monkeypatch, needles, "_look", lambda _data, _own, places, *_: len(places))
    data = b'@a3|f0|c1|S0|d1|T1|t"%s"#\n' % (b"a" * 300) * 200
    texts = ["a" * size + f"{number}" for number in range(1000)]
    where = {"text": [*texts, "#" * 9]}
    assert sum(map(len, turnwire.scan(data, wire="nslip", where=where))) == 0
    assert len(looked) <= 6 and sum(looked) < len(data) / 50
    where["text"].append("T1|t")
    looked.clear()
    assert sum(map(len, turnwire.scan(data, wire="nslip", where=where))) == 200
    assert sum(looked) < len(data) / 50


def test_a_text_without_a_letter_is_in_all_records() -> None:
    data = b"@a3|f0|c1|S0|d1|T1#\n" * 5
    for texts in ([""], ["", *(f"x{number}" for number in range(20))], [*(f"{number}x" for number in range(20)), ""]):
        assert sum(map(len, turnwire.scan(data, where={"text": texts}))) == 5
    assert sum(map(len, turnwire.scan(data, where={"text": []}))) == 0
