"""Columns have room for as many rows as probably come; where more do, they get more, and nothing else is different."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.counting import called
from tests.log.test_every_wire import facts, log
from tests.nslip.twins import rounds
from turnwire.log.engine import block_pass
from turnwire.log.engine.shortcut import Shortcut
from turnwire.log.input import memory
from turnwire.log.input.memory import Pool, Room, rounded
from turnwire.log.output import rejects
from turnwire.nslip import bulk
from turnwire.registry import WIRES

SEEDS = range(rounds(10))


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", [*WIRES, None])
def test_a_guess_that_is_too_low_changes_nothing(wire: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = 0
    more = Room.more

    def counted(room: Room, size: int, rows: int, position: int) -> int:
        nonlocal grown
        grown += 1
        return min(room.most(size), rows + 1 + more(room, size, rows, position) % 3)

    for seed in SEEDS:
        chance = random.Random(seed)
        data = b"".join(log(one, chance) for one in (WIRES if wire is None else (wire, wire)))
        batch_bytes = chance.randrange(200, 4000)
        with monkeypatch.context() as patch:
            patch.setattr(Room, "guess", lambda room, size: room.most(size))
            expected = facts(turnwire.scan(data, wire=wire, batch_bytes=batch_bytes))
            patch.setattr(Room, "guess", lambda room, size: min(1, room.most(size)))
            patch.setattr(Room, "more", counted)
            assert facts(turnwire.scan(data, wire=wire, batch_bytes=batch_bytes)) == expected
    assert grown > len(SEEDS) or wire is None


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("guess", [1, 1 << 20])
def test_a_block_is_one_batch_however_low_the_guess(guess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where columns are not made longer, the rest of a block is copied, and read again, for each few records."""
    monkeypatch.setattr(Room, "guess", lambda room, size: min(guess, room.most(size)))
    data = b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ go\n\n" * 20
    assert [len(batch) for batch in turnwire.scan(data, wire="csp", batch_bytes=10 * 57)] == [10, 10]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("alone", [True, False])
def test_tables_of_rejects_grow_in_a_block_of_damage(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table that is full costs a call for what is left of the block, in the wire's own scan and in that of all
    wires."""
    monkeypatch.setattr(rejects, "ROOM", 8)
    monkeypatch.setattr(Shortcut, "due", lambda _: alone)
    own, every = (called(monkeypatch, core, "scan_block") for core in (bulk._core, block_pass._core))
    scan = turnwire.scan(b"@a1|\n" * 1000, wire="nslip")
    assert not sum(map(len, scan)) and len(scan.rejects) == 1000
    used, unused = (own, every) if alone else (every, own)
    assert 1 < len(used) < 8 and not unused


@pytest.mark.parametrize("size", [0, 1, 100, 5000, 1 << 21, 1 << 28])
@pytest.mark.parametrize("smallest", [19, 40])
def test_a_guess_learns_and_has_bounds(size: int, smallest: int) -> None:
    room = Room(smallest)
    for rows in (0, size // 200, room.most(size), size // 64):
        for _ in range(80):
            room.tell(size, rows)
            assert 0 < room.guess(size) <= room.most(size)
            assert rows < room.more(size, rows, max(size // 2, 1)) or rows == room.most(size)
        if size >= 5000:
            assert rows <= room.guess(size) <= min(rows * 5 / 4 + 80, room.most(size))


def test_rounded_numbers_are_few_and_near() -> None:
    for number in [*range(300), 12345, (1 << 40) + 1]:
        assert number <= rounded(number) <= number + number // 8
    assert len({rounded(number) for number in range(1 << 10, 1 << 11)}) == 9


@pytest.mark.usefixtures("scan_core")
def test_columns_of_long_records_lie_close_together() -> None:
    """With room for the shortest records there are, they would take ten times as much memory."""
    data = (b'@a3|f0|c1|S0|d1|T1|t"%b"#\n' % (b"x" * 180)) * 9_000
    batches = list(turnwire.scan(data, wire="nslip", batch_bytes=1 << 15))
    spans: list[Any] = [np.lib.array_utils.byte_bounds(one["offset"].base) for one in batches]
    rows = max(map(len, batches))
    assert len(spans) > 50
    assert max(end - start for start, end in spans[-9:-1]) < rows * 140 * 2 + 16 * 4096


def test_large_columns_begin_at_different_places_of_a_page() -> None:
    dtypes = {str(number): np.dtype("i8") for number in range(40)}
    for rows in (512, 5632, 30_000):
        arrays = memory.carve(Pool(), dtypes, rows)
        starts = [array.ctypes.data for array in arrays.values()]
        assert len({start % 4096 // 64 for start in starts}) == 40
        assert all(later - start >= rows * 8 for start, later in pairwise(starts))


def test_a_pool_does_not_keep_what_is_too_large() -> None:
    pool = Pool(keep=3, largest=1000)
    assert len(pool.take(1000)) >= 1000
    assert len(pool.take(100_000)) == 100_000
    assert sum(len(block) for block in pool._blocks) < 2000


@pytest.mark.once
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_made_for_the_first_blocks_only(threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    made: list[int] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def empty(self, size: int, dtype: Any) -> Any:
            made.append(size)
            return np.empty(size, dtype)

    monkeypatch.setattr(memory, "np", Counting())
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(b'@a3|f0|c%d|S0|d1|T1|t"%b"#\n' % (n % 10, b"x" * (n % 7)) for n in range(60_000)))
    assert sum(map(len, turnwire.scan(path, wire="nslip", batch_bytes=30_000, threads=threads))) == 60_000
    assert len(made) <= 4 * (2 * threads + 3)
