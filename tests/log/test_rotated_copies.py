"""Copies and backups of a log, which hold what was read of it, or what it begins with."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, record
from tests.log.test_follow import append, followed
from tests.log.test_rotation_storms import numbers_of
from tests.log.test_scan import scan_nslip
from turnwire.errors import DecodeError
from turnwire.log.input import following, pieces

pytestmark = pytest.mark.once


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
    assert not any(mark["recorded"] for mark in third.position["files"])
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


def copied(path: Path, name: str, data: bytes, packed: bool = False) -> Path:
    """A copy of a log, made after all that was written to it."""
    copy = path.with_name(name + ".gz" * packed)
    copy.write_bytes(gzip.compress(data) if packed else data)
    return copy


def read_whole(path: Path) -> Any:
    """The position behind all that a log holds."""
    found = scan_nslip(path, resume={})
    assert numbers_of(found)
    return json.loads(json.dumps(found.position))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("half", [0, 5])
@pytest.mark.parametrize("begin", [b"", BANNER])
@pytest.mark.parametrize("held", [3, 10, 39])
def test_a_copy_that_was_made_while_the_log_was_read_is_not_read(
    held: int, begin: bytes, half: int, packed: bool, tmp_path: Path
) -> None:
    """The scan ends between the copy and the cut, and has read more than the copy holds."""
    path = tmp_path / "app.log"
    path.write_bytes(begin + b"".join(map(record, range(40))))
    first = read_whole(path)
    data = begin + b"".join(map(record, range(held))) + record(held)[:half]
    copy = copied(path, "app.log.1", data, packed)
    path.write_bytes(record(40))
    second = scan_nslip(path, resume=first)
    known = held >= 24  # its last line is one of the last 16
    assert numbers_of(second) == ([] if known else list(range(held))) + [40]
    assert [str(gap.why) for gap in second.gaps] == ["file_shrunk"]
    if known and not packed:
        shutil.copystat(copy, copied(path, "app.log.1", copy.read_bytes(), True))
        copy.unlink()
    third = scan_nslip(path, resume=json.loads(json.dumps(second.position)))
    assert numbers_of(third) == []
    assert not third.gaps or (half and not known)  # a half-written line still waits


def test_of_several_copies_only_the_oldest_can_be_one_that_was_read(tmp_path: Path) -> None:
    """A log of lines that are all alike: what came later holds the same bytes, and was not read."""
    path = tmp_path / "app.log"
    path.write_bytes(record(7) * 40)
    first = read_whole(path)
    for name, count in (("app.log.2", 38), ("app.log.1", 37)):
        copied(path, name, record(7) * count)
    path.write_bytes(record(8))
    second = scan_nslip(path, resume=first)
    assert numbers_of(second) == [7] * 37 + [8]
    assert second.gaps


@pytest.mark.parametrize("renamed", [False, True])
def test_a_log_that_was_copied_and_cut_and_then_renamed_has_a_gap(renamed: bool, tmp_path: Path) -> None:
    """What was written between the copy and the cut is lost, whatever came then."""
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(9))))
    first = read_whole(path)
    copied(path, "app.log.2", b"".join(map(record, range(10))))
    path.write_bytes(record(11))
    if renamed:
        path.rename(tmp_path / "app.log.1")
        path.write_bytes(record(12))
    second = scan_nslip(path, resume=first)
    assert sorted(numbers_of(second)) == [9, 11, 12][: 2 + renamed]
    assert [str(gap.why) for gap in second.gaps] == ["file_shrunk"]


def test_a_copy_without_the_half_written_line_that_was_seen_is_known(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    data = b"".join(map(record, range(3)))
    path.write_bytes(data + b"@a3|f")
    first = read_whole(path)
    copied(path, "app.log.1", data)
    path.write_bytes(record(3))
    second = scan_nslip(path, resume=first)
    assert numbers_of(second) == [3]
    assert second.gaps


def test_a_log_that_is_cut_as_it_is_opened_has_its_copy_still_to_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was written to it behind the copy nothing was read: the copy is older than that."""
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(3))))
    first = read_whole(path)
    copy = copied(path, "app.log.1", b"".join(map(record, range(4))))
    append(path, record(3) + record(4))
    os.utime(path, ns=(0, copy.stat().st_mtime_ns + 1))
    real = pieces.is_still

    def cut(*arguments: Any) -> bool:
        path.write_bytes(b"")
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(pieces, "is_still", cut)
        second = scan_nslip(path, resume=first)
        assert numbers_of(second) == []
    append(path, record(5))
    third = scan_nslip(path, resume=second.position)
    assert numbers_of(third) == [3, 5]
    assert third.gaps


def test_a_position_of_before_has_no_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(80))))
    position: Any = read_whole(path)
    (mark,) = position["files"]
    assert len(mark["ends"]) == 16
    bad = [[[1, "x"]], [[mark["read"], "x"]], [[mark["read"] - 1, 5]], [[0.5, "x"]], [3], 7, [["x"]]]
    for ends in bad:
        wrong = {**position, "files": [{**mark, "ends": ends}]}
        with pytest.raises(DecodeError, match="not a position"):
            scan_nslip(path, resume=wrong)
    del mark["ends"]
    append(path, record(80))
    assert numbers_of(scan_nslip(path, resume=position)) == [80]


def test_a_file_that_nobody_has_written_lately_has_none(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(40))))
    os.utime(path, (1, 1))
    position: Any = read_whole(path)
    assert [mark["ends"] for mark in position["files"]] == [None]
