"""When damage was written: at the time of the record before it, in one file or several, in blocks of any size."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import turnwire
from turnwire.report.records import COLUMNS, Chunk
from turnwire.report.sample import DamageTimes

pytestmark = pytest.mark.once

BASE = 1_767_571_200
BAD = "@a1|f2|c$|S1#"


def found(paths: list[Path], batch_bytes: int) -> list[tuple[int, int]]:
    """(seconds, number) of all damage in files, read in blocks of so many bytes."""
    scan, when, told = turnwire.scan(paths, columns=COLUMNS, batch_bytes=batch_bytes), DamageTimes(), 0
    result = []
    for batch in scan:
        result += when.add(Chunk(batch))
        new = list(scan.rejects.since(told))
        told += len(new)
        result += when.of(new)
    result += when.of(scan.rejects.since(told))
    counted: dict[int, int] = {}
    for time, wire, number in result:
        assert wire == "nslip"
        counted[time // 1_000_000 - BASE] = counted.get(time // 1_000_000 - BASE, 0) + number
    return sorted(counted.items())


@pytest.mark.parametrize("batch_bytes", [1 << 10, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_damage_is_as_old_as_the_record_before_it(tmp_path: Path, seed: int, batch_bytes: int) -> None:
    numbers = random.Random(seed)
    wanted: dict[int, int] = {}
    paths = []
    for file in range(2):
        second, waiting, lines = None, 0, []
        for _ in range(120):
            if numbers.random() < 0.2:
                lines.append(BAD)
                if second is None:
                    waiting += 1
                else:
                    wanted[second] = wanted.get(second, 0) + 1
            elif numbers.random() < 0.2:
                lines.append("@a3|f0|c1|S0|d1|T1#")  # without a time
            else:
                first = second is None
                second = (second or file * 3600) + numbers.randrange(1, 9)
                minutes, seconds = divmod(second, 60)
                lines.append(f"2026-01-05T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z @a3|f0|c1|S0|d1|T1#")
                if first and waiting:
                    wanted[second] = wanted.get(second, 0) + waiting
        paths.append(tmp_path / f"{file}.log")
        paths[-1].write_text("\n".join([*lines, ""]))
    assert found(paths, batch_bytes) == sorted(wanted.items())


@pytest.mark.parametrize("batch_bytes", [256, 1 << 20])
def test_damage_that_is_told_behind_the_next_file_is_that_of_its_own(tmp_path: Path, batch_bytes: int) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    lines = [f"2026-01-05T00:{at // 60:02}:{at % 60:02}Z @a3|f0|c1|S0|d1|T1#" for at in range(100)]
    first.write_text("\n".join([*lines, *[BAD] * 100, ""]))
    second.write_text("2026-01-05T09:00:00Z @a3|f0|c1|S0|d1|T1#\n")
    assert found([first, second], batch_bytes) == [(99, 100)]
