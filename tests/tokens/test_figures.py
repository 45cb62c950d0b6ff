"""Figures about tokens: ranks, means, samples, budgets, prices and changes, each at its limits."""

from __future__ import annotations

import base64
import itertools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.tokens.material import REQUEST
from turnwire import tokens
from turnwire.errors import EncodeError, Reason
from turnwire.tokens.advice import FIRST, KEEP, Price, Sample, TokenUse, _least, _mean, priced
from turnwire.tokens.comparison import Format, Row, _ranked, lossless, messages_of
from turnwire.tokens.tokenizer import CHUNK

pytestmark = pytest.mark.once
pytest.importorskip("splintr")


def row(name: str, count: int, legend: int = 0, whole: bool = True, kind: str = "reference") -> Row:
    return Row(name, kind, "x", 2, 9, count, legend, 0, () if whole else ("a",), whole, None, None, "")


@pytest.mark.parametrize("wholes", list(itertools.product((True, False), repeat=4)))
@pytest.mark.parametrize("counts", [(10, 20, 30, 40), (40, 30, 20, 10), (20, 20, 10, 10), (10, 10, 10, 10)])
def test_who_brings_all_back_is_ranked_among_those_that_do(wholes: tuple[bool, ...], counts: tuple[int, ...]) -> None:
    """By tokens and legend; of as many each has the same rank, and the next one as if they stood one by one."""
    legends, names = (0, 5, 0, 0), ("nslip", "json", "toon", "yaml")
    found = _ranked([row(*each) for each in zip(names, counts, legends, wholes, strict=True)])
    totals = [count + legend for count, legend in zip(counts, legends, strict=True)]
    for each, total, whole in zip(found, totals, wholes, strict=True):
        better = sum(other < total for other, good in zip(totals, wholes, strict=True) if good)
        assert (each.rank, each.ratio) == (better + 1 if whole else None, total / totals[1])
    assert [each.ratio for each in _ranked([row("nslip", 5), row("json", 0)])] == [None, None]
    shown = tokens.Comparison(found, {}, {"tokenizers": {"x": ""}, "messages": 2}).sorted("x")
    order = sorted(range(4), key=lambda place: (not wholes[place], totals[place]))
    assert [each.format for each in shown] == [names[place] for place in order]


def means(name: str, together: float | None, alone: float | None) -> dict[str, Any]:
    return {"format": name, "alone": alone, "together": together}


def test_the_cheapest_together_stand_first() -> None:
    """One that was not measured together stands where it is alone, and one that was not measured at all last."""
    rows = [means("a", 5, 1), means("b", None, 3), means("c", None, None), means("d", 2, 9), means("e", 4, None)]
    for order in itertools.permutations(rows):
        assert [each["format"] for each in sorted(order, key=_least)] == ["d", "b", "e", "a", "c"]


@pytest.mark.parametrize("alone", [None, True, False])
@pytest.mark.parametrize("together", [None, True, False])
@pytest.mark.parametrize("kind", ["wire", "reference"])
def test_a_mean_is_of_what_was_measured(alone: bool | None, together: bool | None, kind: str) -> None:
    """A prompt is no part of the messages: of a wire its legend is left out where they are one text."""
    one = None if alone is None else row("x", 10, 4, alone, kind)
    whole = None if together is None else row("x", 6, 2, together, kind)
    found = _mean("x", one, whole, (14.0, 6.0), "why not")
    size, single = (6, 5) if kind == "wire" else (8, 7)
    assert (found["alone"], found["ratio"]) == ((None, None) if one is None else (single, single / 14))
    assert (found["together"], found["ratio_together"]) == ((None, None) if whole is None else (size / 2, size / 12))
    given = [back for back in (alone, together) if back is not None]
    assert found["round_trip"] == (all(given) if given else None)
    assert found["note"] == ("" if given else "why not") and found["bytes"] == (None if one is None else 4.5)
    bare = _mean("x", one, whole, (None, None), "")
    assert (bare["ratio"], bare["ratio_together"], bare["note"]) == (None, None, "")


@pytest.mark.parametrize(
    "kind", [str, str.encode, lambda text: bytearray(text.encode()), lambda text: memoryview(text.encode())]
)
def test_messages_are_given_in_many_ways(kind: Any) -> None:
    """One, alone or in anything that can be gone through."""
    text, message = kind(REQUEST), turnwire.decode(REQUEST)
    for given in (text, message, [text], (message,), iter([text]), {REQUEST: 1}):
        assert messages_of(given) == [message]
    assert messages_of([text, message, text]) == [message] * 3 and messages_of([]) == []
    for wrong in (5, None, [5], [message, None], object()):
        with pytest.raises(EncodeError) as caught:
            messages_of(wrong)
        assert caught.value.reason is Reason.WRONG_TYPE


@pytest.mark.parametrize(
    ("value", "back", "same"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1.0, {"a": [2.0]}], [1, {"a": [2]}], True),
        ({"a": None}, {}, False),
        ((1, 2), [1, 2], True),
    ],
)
def test_values_are_the_same_whatever_the_order_of_members(value: Any, back: Any, same: bool) -> None:
    form = Format("x", None, lambda value: "x", lambda text: back)
    assert lossless(form, [value], False)[1] == ("" if same else "it returns different values")


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A vocabulary of all bytes, and of two letters that are the last token."""
    path = tmp_path / "mine.tiktoken"
    lines = [b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    path.write_bytes(b"".join([*lines, base64.b64encode(b"ab") + b" 256\n"]))
    return path


def test_a_file_of_the_same_size_is_read_again_too(ranks: Path) -> None:
    """It is known by when it was written."""
    os.utime(ranks, ns=(1, 1))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [256, 99, 100]
    ranks.write_bytes(ranks.read_bytes().replace(base64.b64encode(b"ab"), base64.b64encode(b"cd")))
    os.utime(ranks, ns=(1, 2))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [97, 98, 256]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_text_that_is_refused_has_its_number_among_all(threads: int, before: int) -> None:
    """However many chunks are before it."""
    texts: list[Any] = ["x" * (CHUNK // 2)] * (2 * before) + ["fine", "é\ud800"]
    for wrong, reason in ((texts, Reason.LONE_SURROGATE), ([*texts[:-1], 5], Reason.WRONG_TYPE)):
        with pytest.raises(EncodeError) as caught:
            tokens.count_many(iter(wrong), threads=threads)
        assert (caught.value.reason, caught.value.path) == (reason, str(2 * before + 1))
        assert caught.value.offset == (2 if reason is Reason.LONE_SURROGATE else None)


def test_prices() -> None:
    assert Price(2.0).of(1_000_000, 1_000_000) == 4.0
    assert Price(2.0, 0.5).of(1_000_000, 1_000_000) == 2.5
    assert Price(2.0, 0.0).of(0, 1_000_000) == 0.0
    same = {"a": Price(2.0, 1.0), "b": (2, 1), "c": {"input": 2, "cached": 1}, "d": [2, 1]}
    assert set(priced(same).values()) == {Price(2.0, 1.0)}
    assert priced({"a": 3})["a"] == Price(3.0) and priced(None) == {}
    for price in ((0.0, 0.0), (1.0, 0.0), (0, 1), (1e-9, 1e-9), (5e-324, 1e308)):
        assert priced({"a": price})["a"][:2] == price
    infinite, none = float("inf"), float("nan")
    for wrong in (
        -1,
        (1, -1),
        (-1e-9, 0.0),
        "x",
        None,
        (1, 2, 3, 4),
        {"in": 1},
        none,
        infinite,
        (infinite, 0.0),
        (0.0, none),
    ):
        with pytest.raises(ValueError, match="price of a"):
            priced({"a": wrong})


class Rows:
    """A batch whose messages are the numbers of their rows."""

    def message(self, row: int) -> int:
        return row

    def raw(self, row: int) -> bytes:
        return str(row).encode()


@pytest.mark.parametrize("size", [0, 1, 2, 10, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST, 9 * FIRST])
def test_the_first_messages_of_a_sample_follow_each_other(size: int) -> None:
    sample = Sample(size)
    sample.offer(Rows(), range(5 * FIRST))
    assert sample.first == list(range(min(size, FIRST)))
    assert len(sample.messages) == min(size, 5 * FIRST) == len(set(sample.messages)) and sample.seen == 5 * FIRST
    assert [str(one) for one in sample.messages] == sample.texts


@pytest.mark.parametrize("size", [400, 1000])
def test_a_sample_is_of_the_whole_log(size: int) -> None:
    """Each tenth of what is offered has about a tenth of the sample."""
    sample = Sample(size)
    sample.offer(Rows(), range(10_000))
    tenths = Counter(number // 1000 for number in sample.messages)
    assert all(size / 20 < tenths[tenth] < 3 * size / 20 for tenth in range(10)), tenths


@pytest.mark.parametrize("budget", [None, 0, 4, 5, 6, 100])
def test_the_dearest_messages_and_those_over_a_budget(budget: int | None) -> None:
    """Of as many tokens, the first ones are kept; a message of just the budget is not over it."""
    counts = [5] * (KEEP + 3) + [6, 4, 6, 5, 100] + [7] * 2 * KEEP
    for size in (1, 3, len(counts)):
        spent = TokenUse("nslip", "x")
        for start in range(0, len(counts), size):
            part = counts[start : start + size]
            spent.add(part, [None] * len(part), "a.log", range(start + 1, start + 1 + len(part)), budget)
        assert spent.over == (0 if budget is None else sum(count > budget for count in counts))
        rows = sorted(range(len(counts)), key=lambda row: (-counts[row], row))[:KEEP]
        assert [(found.tokens, found.line) for found in spent.largest] == [(counts[row], row + 1) for row in rows]
