"""Copies and backups of a log, which hold what was read of it, or what it begins with."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, record
from tests.log.test_follow import append, followed
from tests.log.test_rotation_storms import numbers_of
from tests.log.test_scan import scan_nslip
from turnwire.log.input import following

pytestmark = pytest.mark.usefixtures("scan_core")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "INTERVAL", 0.02)


@pytest.mark.parametrize("packed", [False, True])
def test_a_copy_of_a_log_without_records_is_a_gap(packed: bool, tmp_path: Path) -> None:
    """It was rotated twice, and only the last copy was kept, which has nothing but what the log begins with now."""
    path = tmp_path / "app.log"
    path.write_bytes(BANNER)
    os.utime(path, (1, 1))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    copy = tmp_path / ("app.log.1.gz" if packed else "app.log.1")
    copy.write_bytes(gzip.compress(BANNER) if packed else BANNER)
    os.utime(copy, (2, 2))
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), [gap.stop for gap in second.gaps]) == ([], [None])
    third = scan_nslip(path, resume=second.position)
    assert (numbers_of(third), third.gaps) == ([], ())
    append(path, record(0))
    assert numbers_of(scan_nslip(path, resume=third.position)) == [0]


@pytest.mark.parametrize("begun", [0, 1])
def test_of_two_short_backups_of_a_log_that_is_gone_the_longer_one_is_read(begun: int, tmp_path: Path) -> None:
    """They are called by a date, and what is rotated by a count."""
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(begun))))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == list(range(begun))
    for number in range(begun, 4):
        append(path, record(number))
        if number in (2, 3):
            (tmp_path / f"app.log-2026010{number}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.rename(tmp_path / "gone")
    (tmp_path / "app.log.1").write_bytes(record(4))
    path.write_bytes(record(5))
    second = scan_nslip(path, resume=first.position)
    assert sorted(numbers_of(second)) == list(range(begun, 6))
    assert numbers_of(scan_nslip(path, resume=second.position)) == []


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("begin", [b"", BANNER])
def test_following_reads_no_copy_that_was_made_before_the_last_line(begin: bytes, packed: bool, tmp_path: Path) -> None:
    """Lines came between the copy and the cut, and were read: all that the copy holds was."""
    path = tmp_path / "app.log"
    path.write_bytes(begin + record(0) + record(1))
    with followed(path) as reader:
        assert [number for number, _ in reader.next(2)] == [0, 1]
        data = path.read_bytes()
        append(path, record(2))
        assert [number for number, _ in reader.next()] == [2]
        making = tmp_path / "making"
        making.write_bytes(gzip.compress(data) if packed else data)
        os.utime(making, (1 << 31, 1 << 31))
        with reader.between_looks():
            making.rename(tmp_path / ("app.log.1.gz" if packed else "app.log.1"))
            path.write_bytes(record(3))
        assert [number for number, _ in reader.next()] == [3]
        assert reader.quiet()
    assert [gap.stop for gap in reader.scan.gaps] == [None]


@pytest.mark.parametrize("moves", [1, 3, 100])
def test_what_is_rotated_while_following_begins_comes_once_and_in_order(
    moves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is renamed between a look at it and one at what had its name before: what came later is not before it."""
    path, written = tmp_path / "app.log", 0
    monkeypatch.setattr(following, "_PAUSE", 0.0)

    def rotate() -> None:
        nonlocal written
        for number in range(len(list(tmp_path.glob("app.log.*"))), 0, -1):
            (tmp_path / f"app.log.{number}").rename(tmp_path / f"app.log.{number + 1}")
        path.rename(tmp_path / "app.log.1")
        written += 1
        path.write_bytes(record(written))

    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    rotate()
    real, left = following.what_was, [None] * moves

    def moved(*arguments: Any) -> Any:
        if left:
            left.pop()
            rotate()
        return real(*arguments)

    monkeypatch.setattr(following, "what_was", moved)
    with followed(path, resume=first.position) as reader:
        told = 1 + min(moves, following._MOVES)
        assert [number for number, _ in reader.next(told)] == list(range(1, told + 1))
        left.clear()
        rotate()
        assert [number for number, _ in reader.next()] == [told + 1]
        assert reader.quiet()
    assert not reader.scan.gaps
