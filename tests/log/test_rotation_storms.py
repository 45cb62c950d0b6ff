"""Logs that are rotated faster than anybody looks: what was written is read, once, or a gap is told."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, KINDS, Log, record
from tests.log.test_follow import ENDLESS, append, followed, soon
from tests.log.test_scan import scan_nslip
from turnwire.log.input import following

pytestmark = pytest.mark.once

RENAMED = ("rename", "late", "compressed")
"""With these nothing is lost however fast it goes; a copy can come and go between two looks."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "INTERVAL", 0.02)
    monkeypatch.setattr(following, "PATIENCE", ENDLESS)


def judge(numbers: list[int], gaps: Any, written: int, kind: str) -> None:
    """Nothing twice; nothing lost without a gap of unknown length, and no gap where nothing can be lost. (The inode of
    a file that was compressed is used again: between two scans that looks like a cut.)"""
    assert max(Counter(numbers).values(), default=1) == 1, "a record came twice"
    missing = set(range(written)) - set(numbers)
    assert not missing or any(gap.stop is None for gap in gaps), f"{len(missing)} are lost without a word"
    if kind == "rename":
        assert not gaps
    if kind not in ("truncate", "mixed with cuts", ""):
        assert not missing, "they are in files beside it"


def follow_a_storm(folder: Path, kind: str, banner: bool, keep: int, rotations: int, chance: random.Random) -> None:
    seen: list[int] = []
    with Log(folder, chance, banner, keep) as log, followed(log.path) as reader:
        log.write(1)
        seen += [number for number, _ in reader.next()]
        for _ in range(rotations):
            log.write(chance.randrange(8))
            if not chance.randrange(4):
                time.sleep(chance.choice((0.001, 0.02, 0.06)))
            log.write(chance.randrange(8))
            log.step(kind)
        log.write(5)

        def through() -> bool:
            seen.extend(number for number, _ in reader.next(reader.rows.qsize()))
            return log.written - 1 in seen

        assert soon(through), "the last record comes"
        while not reader.quiet(2 * following.LISTED):
            through()
    judge(seen, reader.scan.gaps, log.written, kind if keep > rotations and kind in RENAMED else "")


@pytest.mark.parametrize("banner", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_following_through_a_storm(kind: str, banner: bool, tmp_path: Path) -> None:
    follow_a_storm(tmp_path, kind, banner, 100, 12, random.Random(f"{kind} {banner}"))


@pytest.mark.parametrize("kind", RENAMED)
def test_following_where_old_files_are_removed(kind: str, tmp_path: Path) -> None:
    follow_a_storm(tmp_path, kind, False, 2, 12, random.Random(kind))


def resume_through_a_storm(folder: Path, kind: str, banner: bool, keep: int, runs: int, chance: random.Random) -> None:
    """As cron does it: a run, and then any number of rotations until the next."""
    position: Any = {}
    seen: list[int] = []
    gaps: list[Any] = []
    with Log(folder, chance, banner, keep) as log:
        for turn in range(runs):
            for _ in range(chance.choice((0, 1, 1, 1, 3)) if 0 < turn < runs - 1 else 0):
                log.write(chance.randrange(8))
                log.step(kind)
            log.write(chance.randrange(8) if turn < runs - 1 else 5)
            found = scan_nslip(log.path, resume=position)
            seen += [number for batch in found for number in batch["conv_id"].tolist()]
            gaps += found.gaps
            position = json.loads(json.dumps(found.position))
    judge(seen, gaps, log.written, kind if keep > 3 * runs else "")


@pytest.mark.parametrize("banner", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_going_on_after_any_rotation(kind: str, banner: bool, tmp_path: Path) -> None:
    resume_through_a_storm(tmp_path, kind, banner, 100, 15, random.Random(f"{kind} {banner}"))


@pytest.mark.parametrize("kind", KINDS)
def test_going_on_where_old_files_are_removed(kind: str, tmp_path: Path) -> None:
    resume_through_a_storm(tmp_path, kind, False, 2, 15, random.Random(kind))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", KINDS)
def test_long_storms(kind: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for way in (follow_a_storm, resume_through_a_storm):
        folder = tmp_path / way.__name__
        folder.mkdir()
        way(folder, kind, chance.random() < 0.5, chance.choice((1, 3, 1000)), 60, chance)


def test_of_files_that_begin_alike_the_longest_is_gone_on_with(tmp_path: Path) -> None:
    """A file of which only the banner was read, and which is gone, is not a bookmark of another one."""
    position: Any = {}
    seen: list[int] = []
    with Log(tmp_path, random.Random(1), True, 100) as log:
        for count in (0, 3, 2, 1):
            if log.written or position:
                log.rename()
            if log.written == 5:
                log.compress(2)
                (tmp_path / "app.log.3").unlink()
            log.write(count)
            for path in tmp_path.iterdir():
                os.utime(path, (1, 1))  # within one tick of the clock
            found = scan_nslip(log.path, resume=position)
            seen += [number for batch in found for number in batch["conv_id"].tolist()]
            position = found.position
    assert seen == list(range(6))


def test_inodes_that_are_used_again(tmp_path: Path) -> None:
    """Bookmarks of files that are gone are not those of the files that have their inodes now: not of a compressed file,
    of which what was read before it was compressed is not read again, and not of an empty log."""
    with Log(tmp_path, random.Random(1), False, 100) as log:
        log.write(2)
        found = scan_nslip(log.path, resume={})
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [0, 1]
        position = json.loads(json.dumps(found.position))
        log.write(1)
        log.rename()
        log.compress()
        log.write(1)
        packed, (mark,) = tmp_path / "app.log.1.zst", position["files"]
        head = hashlib.sha256(b"").hexdigest()
        blank = {**mark, "head_bytes": 0, "head": head, "size": 0, "offset": 0, "line": 1, "written": 0}
        blank |= {"read": 0, "tail_bytes": 0, "tail": "", "ends": None}
        old = {**blank, "name": str(packed), "inode": packed.stat().st_ino, "size": 999, "offset": 189}
        mark["inode"] = 1
        position["files"] = [old, {**blank, "inode": log.path.stat().st_ino}, mark]
        found = scan_nslip(log.path, resume=position)
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [2, 3]
        assert not found.gaps


@pytest.mark.parametrize("older", ["app.log.1", "app.log"])
def test_an_inode_and_a_banner_hide_no_bookmark(older: str, tmp_path: Path) -> None:
    """A new log that has the inode of a rotated file of which only the banner was read is not that file: what was read
    under the log's name is, and its compressed file is not read from its start."""
    with Log(tmp_path, random.Random(1), True, 1) as log:
        log.write(3)
        found = scan_nslip(log.path, resume={})
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [0, 1, 2]
        position = json.loads(json.dumps(found.position))
        (mark,) = position["files"]
        log.write(1)
        log.rename()
        log.compress()
        log.write(2)
        head = BANNER[-1024:]
        blank = {**mark, "name": str(log.path.with_name(older)), "inode": log.path.stat().st_ino, "size": len(BANNER)}
        blank |= {"offset": len(BANNER), "line": 51, "read": len(BANNER), "ends": None}
        blank["tail"] = hashlib.sha256(head).hexdigest()
        mark["inode"] = 1
        position["files"] = [blank, mark]
        found = scan_nslip(log.path, resume=position)
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [3, 4, 5]


@pytest.mark.parametrize("packed", [True, False])
def test_a_copy_that_was_read_itself_is_not_read_again(packed: bool, tmp_path: Path) -> None:
    """A log is copied, cut and then compressed itself: of what had its name no more than the banner was read, and the
    copy begins with that, too."""
    with Log(tmp_path, random.Random(1), True, 100) as log:
        log.write(3)
        first = scan_nslip(log.path, resume={})
        assert [number for batch in first for number in batch["conv_id"].tolist()] == [0, 1, 2]
        log.write(2)
        log.copytruncate()
        if packed:
            log.compress()
        second = scan_nslip(log.path, resume=first.position)
        assert [number for batch in second for number in batch["conv_id"].tolist()] == [3, 4]
        log.write(1)
        log.rename()
        log.compress()
        log.write(1)
        for path in tmp_path.glob("app.log.*"):
            os.utime(path, (1 << 31, 1 << 31))
        third = scan_nslip(log.path, resume=second.position)
        assert [number for batch in third for number in batch["conv_id"].tolist()] == [5, 6]


def test_a_banner_alone_is_no_proof_of_a_copy(tmp_path: Path) -> None:
    """Where no more than the banner of a log was read, an older file that was read and compressed is not its copy."""
    with Log(tmp_path, random.Random(1), True, 100) as log:
        log.write(3)
        log.rename()
        first = scan_nslip([log.path, tmp_path / "app.log.1"], resume={})
        assert [number for batch in first for number in batch["conv_id"].tolist()] == [0, 1, 2]
        log.rename()
        for number in (1, 2):
            log.compress(number)
        log.write(1)
        for path in tmp_path.glob("app.log.*"):
            os.utime(path, (1 << 31, 1 << 31))
        found = scan_nslip(log.path, resume=first.position)
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [3]


LONG = b"# the same banner of every file\n" * 200
"""A banner longer than what is taken for one where nothing else says so."""


def numbers_of(found: Any) -> list[int]:
    return [number for batch in found for number in batch["conv_id"].tolist()]


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_behind_a_long_banner_is_seen_by_the_copy(packed: bool, tmp_path: Path) -> None:
    """Nothing but the banner was read, and the log begins with it again: the records are in the copy."""
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    data = LONG + b"".join(map(record, range(5)))
    (tmp_path / f"app.log.1{'.gz' * packed}").write_bytes(gzip.compress(data) if packed else data)
    with path.open("r+b") as file:
        file.write(LONG + b"".join(map(record, range(5, 9))))
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == list(range(9))
    assert second.gaps, "other files of the name may have begun with the banner, too"
    third = scan_nslip(path, resume=second.position)
    assert (numbers_of(third), third.gaps) == ([], ())


def test_a_copy_that_was_read_is_a_gap_of_unknown_size(tmp_path: Path) -> None:
    """What was written between the copy and the cut is in neither file, and nothing shows whether there was any."""
    with Log(tmp_path, random.Random(1), False, 100) as log:
        log.write(3)
        first = scan_nslip(log.path, resume={})
        assert numbers_of(first) == [0, 1, 2]
        log.write(2)
        log.copytruncate()
        log.write(1)
        second = scan_nslip(log.path, resume=first.position)
        assert (numbers_of(second), [gap.stop for gap in second.gaps]) == ([3, 4, 5], [None])


def test_a_line_between_copy_and_cut_is_not_lost_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    (tmp_path / "app.log.1").write_bytes(record(0) + record(1))  # then record 2 was written, and the log was cut
    path.write_bytes(record(3))
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), [gap.stop for gap in second.gaps]) == ([1, 3], [None])


@pytest.mark.parametrize("count", [3, 300])
def test_a_compressed_backup_of_a_log_is_not_read(count: int, tmp_path: Path) -> None:
    """The log was not cut: what the backup holds is in it."""
    path = tmp_path / "app.log"
    path.write_bytes(b"".join(map(record, range(count))))
    first = scan_nslip(path, resume={})
    assert len(numbers_of(first)) == count
    append(path, record(count))
    (tmp_path / "app.log-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
    append(path, record(count + 1))
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), second.gaps) == ([count, count + 1], ())


@pytest.mark.parametrize("packed", [False, True])
def test_following_sees_a_cut_behind_a_long_banner_by_the_copy(packed: bool, tmp_path: Path) -> None:
    """Between two looks: the banner is longer than what is taken for one where nothing else says so."""
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    with followed(path) as reader:
        assert soon(lambda: reader.scan.counts.bytes == len(LONG))
        data = LONG + b"".join(map(record, range(5)))
        part = tmp_path / "part"
        part.write_bytes(gzip.compress(data) if packed else data)
        with reader.between_looks():
            path.write_bytes(LONG + b"".join(map(record, range(5, 9))))
            part.rename(tmp_path / f"app.log.1{'.gz' * packed}")
        append(path, record(9))
        numbers = sorted(number for number, _ in reader.next(10))
    assert numbers == list(range(10))
    assert reader.scan.gaps


def test_following_tells_a_log_of_the_same_size_that_was_written_since(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    with followed(path) as reader:
        assert soon(lambda: reader.scan.counts.bytes == len(LONG))
        assert reader.quiet()
        os.utime(path)
        assert soon(lambda: len(reader.scan.gaps) == 1)
        append(path, record(0))
        assert [number for number, _ in reader.next()] == [0]
    assert len(reader.scan.gaps) == 1


def test_a_copy_that_ends_within_a_line_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    (tmp_path / "app.log.1").write_bytes(record(0) + record(1) + record(2)[:5])
    path.write_bytes(record(3))
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == [1, 3]
    assert [gap.stop for gap in second.gaps] == [None]


def test_a_log_of_the_same_size_that_was_written_since_is_a_gap(tmp_path: Path) -> None:
    """Its banner was read, records came, and it was cut: nothing is left of them but the time."""
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    os.utime(path, (1, 1))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    path.write_bytes(LONG)
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), len(second.gaps)) == ([], 1)
    third = scan_nslip(path, resume=second.position)
    assert (numbers_of(third), third.gaps) == ([], ())


def test_an_inode_that_another_file_has_is_no_bookmark(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    (mark,) = first.position["files"]
    if not mark["born"]:
        pytest.skip("this file system does not say when files were made")
    position = {**first.position, "files": [{**mark, "born": mark["born"] - 1}]}
    second = scan_nslip(path, resume=position)
    assert (numbers_of(second), [str(gap.why) for gap in second.gaps]) == ([], ["file_gone"])


def test_a_compressed_file_with_the_inode_of_what_it_was_made_from_goes_on(tmp_path: Path) -> None:
    path, packed = tmp_path / "app.log", tmp_path / "app.log.gz"
    path.write_bytes(record(0) * 30)
    first = scan_nslip(str(tmp_path), resume={})
    assert numbers_of(first) == [0] * 30
    path.unlink()
    packed.write_bytes(gzip.compress(record(0) * 30 + record(7)))
    (mark,) = first.position["files"]
    position = {**first.position, "files": [{**mark, "inode": packed.stat().st_ino}]}
    second = scan_nslip(str(tmp_path), resume=position)
    assert (numbers_of(second), second.gaps) == ([7], ())


@pytest.mark.parametrize("rotated", ["app.log.1", "app.log.1.gz"])
def test_a_backup_of_a_log_that_was_renamed_is_not_read(rotated: str, tmp_path: Path) -> None:
    """What it holds is in the file that was renamed, which may be compressed by now."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    append(path, record(1))
    (tmp_path / "app.log-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
    append(path, record(2))
    data = path.read_bytes()
    path.rename(tmp_path / "app.log.1")
    if rotated.endswith(".gz"):
        (tmp_path / rotated).write_bytes(gzip.compress(data))
        (tmp_path / "app.log.1").unlink()
    path.write_bytes(record(3))
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), second.gaps) == ([1, 2, 3], ())
    third = scan_nslip(path, resume=second.position)
    assert (numbers_of(third), third.gaps) == ([], ())


def test_of_two_backups_the_longer_one_is_read(tmp_path: Path) -> None:
    """The log is not there any more: both hold what was read of it, and go on."""
    path = tmp_path / "app.log"
    path.write_bytes(LONG)
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    for number in range(4):
        append(path, record(number))
        if number in (1, 3):
            (tmp_path / f"app.log-2026010{number}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.rename(tmp_path / "gone")
    path.write_bytes(record(4))
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == [0, 1, 2, 3, 4]


def test_following_a_log_reads_no_backup_of_what_was_renamed(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    with followed(path) as reader:
        assert [number for number, _ in reader.next()] == [0]
        append(path, record(1))
        (tmp_path / "app.log-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
        append(path, record(2))
        path.rename(tmp_path / "app.log.1")
        path.write_bytes(record(3))
        assert [number for number, _ in reader.next(3)] == [1, 2, 3]
        assert reader.quiet()
    assert not reader.scan.gaps


def test_a_rotated_file_that_begins_as_a_later_one_is_read(tmp_path: Path) -> None:
    """It was written before the later one was made, so it is no backup of that."""
    path = tmp_path / "app.log"
    path.write_bytes(b"")
    os.utime(path, (1, 1))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    if not first.position["files"][0]["born"]:
        pytest.skip("this file system does not say when files were made")
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(record(7)))
    os.utime(tmp_path / "app.log.2.gz", (2, 2))
    path.unlink()
    (tmp_path / "app.log.1").write_bytes(record(7) + record(8))
    path.write_bytes(record(9))
    assert numbers_of(scan_nslip(path, resume=first.position)) == [7, 7, 8, 9]


def test_an_inode_that_a_rotated_file_has_hides_no_bookmark(tmp_path: Path) -> None:
    """What was compressed of a file is known by what was read of it, whatever has the inode that it had."""
    with Log(tmp_path, random.Random(1), True, 100) as log:
        log.write(3)
        log.rename()
        first = scan_nslip([log.path, tmp_path / "app.log.1"], resume={})
        assert numbers_of(first) == [0, 1, 2]
        log.rename()
        for number in (1, 2):
            log.compress(number)
        log.write(1)
        for path in tmp_path.glob("app.log.*"):
            os.utime(path, (1 << 31, 1 << 31))
        other = tmp_path / "app.log.9"
        other.write_bytes(b"")
        os.utime(other, (1, 1))
        position = json.loads(json.dumps(first.position))
        next(mark for mark in position["files"] if mark["name"].endswith(".1"))["inode"] = other.stat().st_ino
        assert numbers_of(scan_nslip(log.path, resume=position)) == [3]
