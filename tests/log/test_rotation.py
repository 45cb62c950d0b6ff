"""Rotated logs: what was written is read once, or a gap is told, however they are rotated."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put
from tests.log.rotating import ENDLESS, KINDS, Log, append, in_steps, numbers_of, record, run
from tests.log.test_scan import scan_nslip
from turnwire.log.input import rotation

pytestmark = pytest.mark.once
RENAMED = ("rename", "late", "compressed")
"""With these nothing is lost however fast it goes; a copy can come and go between two looks."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "INTERVAL", 0.02)
    monkeypatch.setattr(rotation, "SETTLED", ENDLESS)


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
    """Some rotations between two looks, or none; races within a look are in test_rotation_races."""
    with Log(folder, chance, banner, keep) as log:

        def step() -> None:
            for _ in range(chance.choice((0, 1, 1, 2, 3))):
                run(log.write(chance.randrange(8)))
                run(log.step(kind))
            run(log.write(chance.randrange(8)))

        run(log.write(1))
        seen, found = in_steps(log.path, *[step] * rotations, lambda: run(log.write(5)))
    numbers = [number for part in seen for number in part]
    judge(numbers, found.gaps, log.written, kind if keep > 3 * rotations and kind in RENAMED else "")


def resume_through_a_storm(folder: Path, kind: str, banner: bool, keep: int, runs: int, chance: random.Random) -> None:
    """As cron does it: a run, and then any number of rotations until the next."""
    position: Any = {}
    seen: list[int] = []
    gaps: list[Any] = []
    with Log(folder, chance, banner, keep) as log:
        for turn in range(runs):
            for _ in range(chance.choice((0, 1, 1, 1, 3)) if 0 < turn < runs - 1 else 0):
                run(log.write(chance.randrange(8)))
                run(log.step(kind))
            run(log.write(chance.randrange(8) if turn < runs - 1 else 5))
            found = scan_nslip(log.path, resume=position)
            seen += numbers_of(found)
            gaps += found.gaps
            position = json.loads(json.dumps(found.position))
    judge(seen, gaps, log.written, kind if keep > 3 * runs else "")


STORMS = [*itertools.product(KINDS, (False, True), (100,)), *((kind, False, 2) for kind in KINDS)]
"""Ways to rotate, whether each file begins with a banner, and how many old files are kept."""


@pytest.mark.parametrize(("kind", "banner", "keep"), [one for one in STORMS if one[2] > 2 or one[0] in RENAMED])
def test_following_through_a_storm(kind: str, banner: bool, keep: int, tmp_path: Path) -> None:
    follow_a_storm(tmp_path, kind, banner, keep, 5, random.Random(f"{kind} {banner}"))


@pytest.mark.parametrize(("kind", "banner", "keep"), STORMS)
def test_going_on_after_any_rotation(kind: str, banner: bool, keep: int, tmp_path: Path) -> None:
    resume_through_a_storm(tmp_path, kind, banner, keep, 10, random.Random(f"{kind} {banner}"))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", KINDS)
def test_long_storms(kind: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for way in (follow_a_storm, resume_through_a_storm):
        folder = tmp_path / way.__name__
        folder.mkdir()
        way(folder, kind, chance.random() < 0.5, chance.choice((1, 3, 1000)), 60, chance)


LONG = b"# the same banner of every file\n" * 200
"""A banner longer than what is taken for one where nothing else says so."""


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_behind_a_long_banner_is_seen_by_the_copy(packed: bool, tmp_path: Path) -> None:
    """Nothing but the banner was read, and the log begins with it again: the records are in the copy."""
    path = put(tmp_path / "app.log", LONG)
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
    """Text written between the copy and the cut is in neither file, and nothing shows whether there was any."""
    with Log(tmp_path, random.Random(1), False, 100) as log:
        run(log.write(3))
        first = scan_nslip(log.path, resume={})
        assert numbers_of(first) == [0, 1, 2]
        run(log.write(2))
        run(log.copytruncate())
        run(log.write(1))
        second = scan_nslip(log.path, resume=first.position)
        assert (numbers_of(second), [gap.stop for gap in second.gaps]) == ([3, 4, 5], [None])


@pytest.mark.parametrize("count", [3, 300])
def test_a_compressed_backup_of_a_log_is_not_read(count: int, tmp_path: Path) -> None:
    """The log was not cut: what the backup holds is in it."""
    path = put(tmp_path / "app.log", b"".join(map(record, range(count))))
    first = scan_nslip(path, resume={})
    assert len(numbers_of(first)) == count
    append(path, record(count))
    (tmp_path / "app.log-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
    append(path, record(count + 1))
    second = scan_nslip(path, resume=first.position)
    assert (numbers_of(second), second.gaps) == ([count, count + 1], ())


def test_an_inode_that_another_file_has_is_no_bookmark(tmp_path: Path) -> None:
    path = put(tmp_path / "app.log", LONG)
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == []
    (mark,) = first.position["files"]
    if not mark["born"]:
        pytest.skip("this file system does not say when files were made")
    position = {**first.position, "files": [{**mark, "born": mark["born"] - 1}]}
    second = scan_nslip(path, resume=position)
    assert (numbers_of(second), [str(gap.why) for gap in second.gaps]) == ([], ["file_gone"])


def test_a_position_that_knows_a_log_only_by_its_rotated_files_goes_on(tmp_path: Path) -> None:
    """So does the last batch of a scan that follows leave it, where the log was renamed before it was read."""
    with Log(tmp_path, random.Random(1)) as log:

        def step() -> None:
            run(log.write(3))
            run(log.rename())

        _, found = in_steps(log.path, step)
        position = {**found.position, "files": [mark for mark in found.position["files"] if mark["read"]]}
        assert [Path(mark["name"]).name for mark in position["files"]] == ["app.log.1"]
        step()
        step()
        assert numbers_of(scan_nslip(log.path, resume=json.dumps(position))) == list(range(3, 9))


def test_a_file_that_was_compressed_after_the_next_was_written_comes_before_it(tmp_path: Path) -> None:
    with Log(tmp_path, random.Random(1)) as log:
        run(log.write(1))
        first = scan_nslip(log.path, resume={})
        assert numbers_of(first) == [0]
        for _ in range(2):
            run(log.write(2))
            run(log.rename())
        run(log.compress(2))
        (packed,) = tmp_path.glob("app.log.2.*")
        packed.touch()
        assert numbers_of(scan_nslip(log.path, resume=first.position)) == [1, 2, 3, 4]


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
    """The renamed file holds the same, and may be compressed by now."""
    path = put(tmp_path / "app.log", record(0))
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


def test_of_several_copies_only_the_oldest_can_be_one_that_was_read(tmp_path: Path) -> None:
    """A log of lines that are all alike: what came later holds the same bytes, and was not read."""
    path = put(tmp_path / "app.log", record(7) * 40)
    first = read_whole(path)
    for name, count in (("app.log.2", 38), ("app.log.1", 37)):
        copied(path, name, record(7) * count)
    path.write_bytes(record(8))
    second = scan_nslip(path, resume=first)
    assert numbers_of(second) == [7] * 37 + [8]
    assert second.gaps


@pytest.mark.parametrize("renamed", [False, True])
def test_a_log_that_was_copied_and_cut_and_then_renamed_has_a_gap(renamed: bool, tmp_path: Path) -> None:
    """Text written between the copy and the cut is lost, whatever came then."""
    path = put(tmp_path / "app.log", b"".join(map(record, range(9))))
    first = read_whole(path)
    copied(path, "app.log.2", b"".join(map(record, range(10))))
    path.write_bytes(record(11))
    if renamed:
        path.rename(tmp_path / "app.log.1")
        path.write_bytes(record(12))
    second = scan_nslip(path, resume=first)
    assert sorted(numbers_of(second)) == [9, 11, 12][: 2 + renamed]
    assert [str(gap.why) for gap in second.gaps] == ["file_shrunk"]


def test_logs_of_lines_that_are_all_alike_are_read_whole(tmp_path: Path) -> None:
    """A file that was renamed is no copy of a log that was made later, whatever both begin with."""
    path = put(tmp_path / "app.log", record(7) * 40)
    first = read_whole(path)
    path.rename(tmp_path / "app.log.2")
    path.write_bytes(record(7) * 37)
    path.rename(tmp_path / "app.log.1")
    time.sleep(0.05)  # the clock of files is coarse
    path.write_bytes(record(7) * 50)
    second = scan_nslip(path, resume=first)
    assert (numbers_of(second), second.gaps) == ([7] * 87, ())


COUNTS = ("1", "07", "9999")
DATES = ("20260101", "2026-01-01", "2026.01.01", "2026-01-01T10:20:30Z", "1_2", "12345")
WORDS = ("old", "prev", "bak", "save")
NEITHER = ("error", "new", "oldest", "bakery", "1x", "x1", "", ".1", "log")


@pytest.mark.parametrize("added", [*COUNTS, *DATES, *WORDS, *NEITHER])
def test_what_is_added_to_a_name(added: str, tmp_path: Path) -> None:
    """Digits, dates and four words, behind the name or in front of its ending; a count has four digits at most."""
    for sign, form in itertools.product("._-", ("app.log{}", "app{}.log", "app.log{}.gz")):
        folder = tmp_path / f"{sign} {form}"
        folder.mkdir()
        path, old = folder / "app.log", folder / form.format(f"{sign}{added}")
        path.write_bytes(record(0))
        first = scan_nslip(path, resume={})
        assert numbers_of(first) == [0]
        data = record(0) + record(1)
        old.write_bytes(gzip.compress(data) if form.endswith(".gz") else data)
        path.unlink()
        path.write_bytes(record(2))
        second = scan_nslip(path, resume=first.position)
        assert numbers_of(second) == ([2] if added in NEITHER else [1, 2]), old


@pytest.mark.parametrize(("packed", "settled"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_last_line_without_its_end_waits_where_somebody_may_still_write_it(
    packed: bool, settled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody does in a compressed file, nor in one that was not written for a while."""
    monkeypatch.setattr(rotation, "SETTLED", 1.0 if settled else 1e10)
    path = put(tmp_path / "app.log", record(0))
    os.utime(path, (1, 1))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    data = record(0) + record(1) + record(2)[:-1]
    older = tmp_path / ("app.log.1.gz" if packed else "app.log.1")
    older.write_bytes(gzip.compress(data) if packed else data)
    os.utime(older, (2, 2))
    (tmp_path / "new").write_bytes(record(3))
    (tmp_path / "new").rename(path)
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == ([1, 2, 3] if packed or settled else [1, 3])
