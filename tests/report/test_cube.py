"""Sums per time, wire, kind and parties: nothing is lost however coarse they have to become."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.report.chunks import Made, Row, chunks, shown as shown_of
from turnwire.report import cube as cubes
from turnwire.report.cube import EARLIER, LATER, NO_TIME, Cube
from turnwire.report.records import OTHERS

pytestmark = pytest.mark.once

HOUR = 3600 * 1_000_000
NOW = 1_767_600_000_000_000


def shown(rows: list[Row], size: int = 100) -> Any:
    cube = Cube()
    for chunk in chunks(rows, size):
        cube.add(chunk, None)
    return shown_of(cube)


def named(result: Any) -> Counter[tuple[str, str | None, str | None, str | None]]:
    """Records per wire, kind, sender and receiver, as names."""
    agents = [*result.agents, "(others)", None]  # codes -2 and -1 count from the end
    kinds = [*result.kinds, "(others)", None]
    counts: Counter[tuple[str, str | None, str | None, str | None]] = Counter()
    for _, wire, kind, sender, receiver, records, *_ in result.cells:
        counts[result.wires[wire], kinds[kind], agents[sender], agents[receiver]] += records
    return counts


rows = st.lists(
    st.builds(
        Row,
        wire=st.sampled_from(["nslip", "csp", "sstp", "sap", "kick"]),
        kind=st.sampled_from(["ASK", "TASK", None]),
        sender=st.sampled_from(["a", "b", "", None]),
        receiver=st.sampled_from(["a", "é", None]),
        time=st.none() | st.integers(NOW, NOW + 10**12) | st.integers(-(1 << 61), 1 << 61),
        length=st.integers(0, 10**6),
        conversation=st.none(),
        raw=st.just(b""),
    ),
    max_size=200,
)


@given(rows, st.integers(1, 50))
def test_sums_are_those_of_the_records(made: list[Row], size: int) -> None:
    result = shown(made, size)
    assert named(result) == Counter((row.wire, row.kind, row.sender, row.receiver) for row in made)
    assert sum(cell[6] for cell in result.cells) == sum(row.length for row in made)
    timed = [row.time for row in made if row.time is not None]
    assert (result.first, result.last) == ((min(timed), max(timed)) if timed else (None, None))
    assert result.buckets <= cubes.MOST_SHOWN or result.width == cubes.WIDTHS[-1]


@given(rows)
def test_each_record_is_in_the_bucket_of_its_time(made: list[Row]) -> None:
    result = shown(made, 7)

    def bucket(time: int | None) -> int:
        if time is None:
            return NO_TIME
        place = (time - result.start) // result.width
        return EARLIER if place < 0 else LATER if place >= result.buckets else place

    found: Counter[int] = Counter()
    for cell in result.cells:
        found[cell[0]] += cell[5]
    assert found == Counter(bucket(row.time) for row in made)


def test_a_stray_time_does_not_squeeze_the_chart() -> None:
    made = [Row(time=NOW + place * 60_000_000) for place in range(2000)] + [Row(time=0), Row(time=4 * NOW)]
    result = shown(made)
    assert result.width <= HOUR
    buckets = Counter(cell[0] for cell in result.cells)
    assert buckets[EARLIER] == buckets[LATER] == 1
    assert (result.first, result.last) == (0, 4 * NOW)


def test_agents_beyond_the_busiest_are_counted_together() -> None:
    made = [Row(sender=f"agent {number}") for number in range(100) for _ in range(100 - number)]
    result = shown(made)
    assert len(result.agents) == cubes.MOST_AGENTS
    assert result.folded_agents == 101 - cubes.MOST_AGENTS  # the receiver "b" is the busiest of all
    assert named(result)["nslip", "INFORM", "agent 0", "b"] == 100
    assert sum(cell[5] for cell in result.cells) == len(made)
    assert OTHERS in {cell[3] for cell in result.cells}


@pytest.mark.parametrize("spread", [10**3, 10**9, 10**14])
def test_cells_stay_few_while_nothing_is_lost(monkeypatch: pytest.MonkeyPatch, spread: int) -> None:
    for name, most in {"MOST_CELLS": 400, "MOST_CELLS_SHOWN": 150, "MOST_FILLED": 50, "MOST_NAMES": 200}.items():
        monkeypatch.setattr(cubes, name, most)
    numbers = random.Random(7)
    cube = Cube()
    made = []
    for first in range(0, 5000, 250):
        some = [
            Row(
                sender=f"s{numbers.randrange(300)}",
                receiver=f"r{numbers.randrange(300)}",
                time=NOW + numbers.randrange(spread),
            )
            for _ in range(250)
        ]
        made += some
        cube.add(Made(some, first), None)
        assert len(cube._cells) <= 400
    result = shown_of(cube)
    assert len(result.cells) <= 150
    assert sum(cell[5] for cell in result.cells) == 5000
    assert result.more_agents
    named_here = set(result.agents)
    for cell, count in Counter((row.sender, row.receiver) for row in made).items():
        if named_here >= set(cell):
            assert named(result)["nslip", "INFORM", *cell] <= count


def test_tokens_are_summed_beside_records() -> None:

    cube = Cube()
    cube.add(Made([Row(wire="csp"), Row(), Row()]), np.array([5, 1, 2]))
    result = shown_of(cube)
    assert [(result.wires[cell[1]], cell[5], cell[7]) for cell in result.cells] == [("nslip", 2, 3), ("csp", 1, 5)]
