"""The JSON scan: native and pure read the same out of anything, in one piece and in many."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.log.json_engines import JSON_WIRES, RECORDS, both, damaged_log, read

pytestmark = pytest.mark.once

SEEDS = st.integers(0, 1 << 40)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_damaged_logs(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    both(wire, damaged_log(chance, RECORDS[wire]))


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_pieces_of_a_log_are_the_log(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire])
    cuts = tuple(sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 6))))
    for backend in BACKENDS:
        whole = read(backend, wire, data)
        pieces = read(backend, wire, data, cuts=cuts)
        assert (pieces.columns["offset"], pieces.columns["inner"]) == (whole.columns["offset"], whole.columns["inner"])
        assert (pieces.columns["time"], pieces.rejects) == (whole.columns["time"], whole.rejects)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_long_lines_are_read_piece_by_piece(wire: str, seed: int) -> None:
    """With a limit smaller than a line, both cores cut it at the same places, whole or in blocks."""
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire])
    limit = chance.randrange(100, 700)
    whole = both(wire, data, limit=limit)
    pieces = both(wire, data, limit=limit, cuts=tuple(sorted(chance.randrange(len(data) + 1) for _ in range(4))))
    assert pieces.rejects == whole.rejects
    assert [pieces.columns[name] for name in ("offset", "inner", "time")] == [
        whole.columns[name] for name in ("offset", "inner", "time")
    ]


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_full_tables_lose_nothing(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    data = damaged_log(chance, RECORDS[wire], most=12)
    whole = both(wire, data)
    parts = both(wire, data, rooms=(chance.randrange(6, 12), chance.randrange(8, 12)))
    assert parts == whole


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_one_line_with_more_than_fits(wire: str) -> None:
    """Of a list of messages in one object, as many as fit are given, then the others."""
    good = RECORDS[wire][0]
    bad = good[:-1] + b', "x": 1, "x": 2}'
    refused = {"sstp": b'{"header": {"kind": "intent"}, "payload": 2}', "sap": b'{"protocolVersion": 1, "taskId": 2}'}
    kick = '{"channel": "\u2afba/b", "id": "1"}'.encode()
    for one, rows in ((good, 40), (bad, 0), (refused.get(wire, kick), 0)):
        data = b'{"all": [%b]}\n' % b", ".join([one] * 40)
        whole = both(wire, data)
        assert whole.rows == rows
        assert whole.bad in ((0,) if rows else (1, 40))
        assert both(wire, data, rooms=(7, 7)) == whole
