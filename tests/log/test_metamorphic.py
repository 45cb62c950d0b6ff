"""One log read in any two ways gives the same: source, cuts, blocks, threads, SIMD, projection, where, resume at once.

The ways are drawn by ``tests/log/ways.py``, a few of them here and many with ``-m soak``. A failure names the seed.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.log.mixed_logs import damaged_log, good_log
from tests.log.ways import Found, any_way, expected, plainest, read, simd, so_far, wires

pytestmark = pytest.mark.usefixtures("scan_core")
FEW, MANY = 16, 4000
"""Logs; each is read in ``WAYS`` ways."""
WAYS = 4


def _log(chance: random.Random) -> bytes:
    data = damaged_log(chance, 6) if chance.random() < 0.7 else good_log(chance, 8)[0]
    return data if chance.random() < 0.2 else data + b"\n"  # the last line may lack its end


def _check(seed: int, folder: Path, backend: str) -> bool:
    """Reads one log in several ways; whether there was anything in it."""
    chance = random.Random(seed)
    data, wire = _log(chance), chance.choice(wires())
    plain, names = plainest(data, wire)
    waiting = so_far(data, wire, folder)
    assert waiting.rows == plain.rows[: len(waiting.rows)], (seed, data)
    assert waiting.rejects == plain.rejects[: len(waiting.rejects)], (seed, data)
    for _ in range(WAYS):
        way = any_way(plain, names, wire, len(data), chance)
        with simd(way.level, backend):
            found = read(data, way, folder, chance)
        hoped = expected(plain if way.stops is None else waiting, way, names)
        if way.stops is not None:
            found, hoped = _timeless(found), _timeless(hoped)
        assert found == hoped, (seed, way, data)
    return bool(plain.rows) and bool(plain.rejects)


def _timeless(found: Found) -> Found:
    """Without what depends on where a scan began, and on how much text at the end waits for more: a scan of CSP/1 by
    name lets an open brace at the end wait only where its block is large enough."""
    counts = {name: number for name, number in found.counts.items() if name not in ("bytes", "text")}
    return found._replace(rows=[{**row, "time": None} for row in found.rows], counts=counts)


def test_every_way_to_read_a_log_gives_the_same(tmp_path: Path, scan_core: str) -> None:
    assert sum(_check(seed, tmp_path, scan_core) for seed in range(FEW))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_every_way_to_read_many_logs(part: int, tmp_path: Path, scan_core: str) -> None:
    assert sum(_check(seed, tmp_path, scan_core) for seed in range(FEW + part, FEW + MANY, 8))


def test_logs_behind_each_other_hold_what_each_holds() -> None:
    """Two good logs as one: the records of both, those of the second further on."""
    for seed in range(FEW):
        chance = random.Random(seed)
        one, two = (good_log(chance, 6)[0] for _ in range(2))
        wire = chance.choice(wires())
        before, after, both = (plainest(data, wire)[0] for data in (one, two, one + two))
        lines, records = one.count(b"\n"), len(before.rows)
        further = [
            {**row, "offset": row["offset"] + len(one), "line": row["line"] + lines, "record": row["record"] + records}
            for row in after.rows
        ]
        assert both.rows == before.rows + further, (seed, wire, one, two)
        assert both.rejects == before.rejects + [
            {**row, "offset": row["offset"] + len(one), "line": row["line"] + lines, "fault": row["fault"] + len(one)}
            for row in after.rejects
        ]
