"""Numbers that the counts of tokens go by, each just below, at and above; and what a sample is made of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from turnwire import tokens
from turnwire.tokens.advice import Advice, Cost
from turnwire.tokens.budget import FIRST, KEEP, Sample, Spent
from turnwire.tokens.positional import shape
from turnwire.tokens.prices import priced
from turnwire.tokens.rewriting import LONG, _once

pytestmark = pytest.mark.once


@pytest.mark.parametrize("price", [(0.0, 0.0), (1.0, 0.0), (0, 1), (1e-9, 1e-9), (5e-324, 1e308)])
def test_a_price_may_be_nothing(price: tuple[float, float]) -> None:
    assert priced({"o200k_base": price})["o200k_base"][:2] == price


@pytest.mark.parametrize("price", [(-1e-9, 0.0), (0.0, -1.0), (float("inf"), 0.0), (0.0, float("nan"))])
def test_a_price_is_a_number_from_0_up(price: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="from 0 up"):
        priced({"o200k_base": price})


@pytest.mark.parametrize("more", [-2, -1, 0, 1, 30])
def test_a_text_that_is_long_enough_is_written_once(more: int) -> None:
    texts = [f'@a0|f0|c1|S2|d3|T{turn}|u"{"y" * (LONG + more)}"#' for turn in range(3)]
    found = _once(texts, "nslip")
    assert found[0] == texts[0]
    assert found[1:] == ([text[:20] + '"s1"#' for text in texts[1:]] if more >= 0 else texts[1:])


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1, 0),
        ([], 0),
        ([1, [2]], 0),
        ({}, []),
        ({"a": 1}, ["a"]),
        ([{}], {"": [[]]}),
        ([1, {}], {"": [0, []]}),
        ([[1], [{"a": 1}]], {"": [0, {"": [["a"]]}]}),
        ({"a": {"b": []}, "c": {}}, [{"a": ["b"]}, "c"]),
    ],
)
def test_shapes_of_values(value: Any, form: Any) -> None:
    assert shape(value) == form


@pytest.mark.parametrize("size", [1, 2, 10, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST])
def test_the_first_messages_of_a_sample_follow_each_other(size: int) -> None:
    sample = Sample(size)
    for number in range(5 * FIRST):
        place = sample.wants()
        if place is not None:
            sample.put(place, number, str(number))
    assert sample.first == list(range(min(size, FIRST))) and sample.first_texts == list(map(str, sample.first))
    assert len(sample.messages) == size and len(set(sample.messages)) == size
    assert [str(one) for one in sample.messages] == sample.texts


@pytest.mark.parametrize("size", [400, 1000])
def test_a_sample_is_of_the_whole_log(size: int) -> None:
    """Each tenth of what is offered has about a tenth of the sample."""
    sample = Sample(size)
    for number in range(10_000):
        place = sample.wants()
        if place is not None:
            sample.put(place, number, "")
    tenths = Counter(number // 1000 for number in sample.messages)
    assert all(size / 20 < tenths[tenth] < 3 * size / 20 for tenth in range(10)), tenths


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_messages_share_is_what_all_begin_with(number: int) -> None:
    texts = [f"@a0|f0|c1|S2|d3|T{turn}#" for turn in range(4, 4 + number)]
    (row,) = tokens.compare(texts, ["nslip"], formats=[]).rows
    assert row.shared == (tokens.count("@a0|f0|c1|S2|d3|T") if number > 1 else 0)


def test_of_wires_that_cost_the_same_the_first_is_the_cheapest() -> None:
    def cost(log: str, wire: str, count: int) -> Cost:
        return Cost(log, wire, "x", 1, count, 0, None, None, None, "", (), True, False)

    for wires in (("nslip", "csp", "kick"), ("kick", "csp", "nslip")):
        for counts in ((10, 10, 10), (10, 9, 9), (9, 10, 9), (10, 11, 10)):
            costs = [cost("nslip", wire, count) for wire, count in zip(wires, counts, strict=True)]
            cheapest = Advice(costs, [], {}, {}).cheapest()["nslip", "x"]
            assert cheapest == costs[counts.index(min(counts))]


@pytest.mark.parametrize("budget", [None, 0, 4, 5, 6, 100])
def test_the_dearest_messages_and_those_over_a_budget(budget: int | None) -> None:
    """Of as many tokens, the first ones are kept; a message of just the budget is not over it."""
    counts = [5] * (KEEP + 3) + [6, 4, 6, 5, 100] + [7] * 2 * KEEP
    for size in (1, 3, len(counts)):
        spent = Spent("nslip", "x")
        for start in range(0, len(counts), size):
            part = counts[start : start + size]
            spent.add(part, [None] * len(part), "a.log", range(start + 1, start + 1 + len(part)), budget)
        assert spent.over == (0 if budget is None else sum(count > budget for count in counts))
        rows = sorted(range(len(counts)), key=lambda row: (-counts[row], row))[:KEEP]
        assert [(found.tokens, found.line) for found in spent.largest] == [(counts[row], row + 1) for row in rows]
