"""Rotation in the middle of a look: renamed, copied and cut, compressed between any two system calls of the reader."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.log.interleaved import Steps, Writer, interleave
from tests.log.rotating import BANNER, record
from tests.log.test_scan import scan_nslip
from turnwire.log.input import following, pieces, reading, tailing
from turnwire.log.input.following import LISTED, PATIENCE
from turnwire.log.input.reading import Stop, Stopped
from turnwire.log.input.rotation import Rotated, open_as

pytestmark = pytest.mark.once

KINDS = (("rename", "late", "pack"), ("copy", "pack"), ("rename", "late", "copy", "pack"))
SEEDS = (*range(5), 102)
"""In the last one old files are renamed and compressed while following begins."""
LOOKS = PATIENCE + 3 * LISTED
"""So many looks behind the last step: files that were renamed are let go of, and the folder is listed a few times."""


def judge(seen: list[int], gaps: list[Any], written: int) -> None:
    """Nothing twice, and nothing after the first record lost without a gap."""
    assert max(Counter(seen).values(), default=1) == 1, "a record came twice"
    missing = set(range(seen[0] if seen else 0, written)) - set(seen)
    assert not missing or any(gap.stop is None for gap in gaps), f"{sorted(missing)} are lost without a word"


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_following(seed: int, kinds: tuple[str, ...], rate: float, tmp_path: Path) -> None:
    chance = random.Random(seed)
    writer = Writer(tmp_path, chance, kinds)
    steps = Steps(writer.steps(), chance, rate)
    quiet = [0]

    def asleep(stop: Stop) -> None:
        if not steps.over:
            steps.take(1, 3, 10, 40)
            return
        quiet[0] += 1
        if quiet[0] > LOOKS:
            stop.set()
            raise Stopped

    seen: list[int] = []
    found = scan_nslip(writer.path, follow=True)
    with pytest.MonkeyPatch.context() as patch:
        interleave(patch, steps, asleep)
        steps.watched = True
        for batch in found:
            seen += batch["conv_id"].tolist()
    writer.close()
    judge(seen, list(found.gaps), writer.written)


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_going_on(seed: int, kinds: tuple[str, ...], rate: float, tmp_path: Path) -> None:
    chance = random.Random(seed)
    writer = Writer(tmp_path, chance, kinds)
    steps = Steps(writer.steps(), chance, rate)
    seen: list[int] = []
    gaps: list[Any] = []
    position: Any = {}
    left = 2  # runs behind the last step
    while left:
        left -= steps.over
        found = scan_nslip(writer.path, resume=position)
        with pytest.MonkeyPatch.context() as patch:
            interleave(patch, steps, lambda stop: steps.take(0, 1, 2, 5))
            steps.watched = True
            try:
                for batch in found:
                    seen += batch["conv_id"].tolist()
            except FileNotFoundError:
                continue  # renamed, and not yet made anew: the next run finds it
            finally:
                steps.watched = False
                gaps += found.gaps
        position = found.position
        steps.take(0, 1, 2, 5, 20, 60)
    writer.close()
    judge(seen, gaps, writer.written)


def looks_until(found: Any, seen: Any, step: Any) -> int:
    """At which look something is ``seen`` in the records that came; the ``step`` is taken at the first. 60 are waited
    for."""
    looks, at = 0, 0
    records: list[int] = []

    def asleep(stop: Stop) -> None:
        nonlocal looks, at
        looks += 1
        if looks == 1:
            step()
        elif at or looks == 60:
            stop.set()
            raise Stopped
        at = at or looks * seen(records)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stop, "sleep", lambda stop, seconds: asleep(stop))
        for batch in found:
            records += batch["conv_id"].tolist()
    return at


def test_a_renamed_file_is_followed_for_25_looks(tmp_path: Path) -> None:
    """Its half-written line is judged then; what it had nothing new at before counts, too."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0) + b"@a3|f0|c1")

    def rotate() -> None:
        path.rename(tmp_path / "app.log.1")
        path.write_bytes(record(1))

    found = scan_nslip(path, follow=True)
    assert looks_until(found, lambda records: bool(found.rejects), rotate) == 24
    assert found.rejects.rows()[0]["raw"] == b"@a3|f0|c1"


def test_a_new_file_in_a_folder_is_found_within_a_second(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(record(0))
    found = scan_nslip(tmp_path, follow=True)
    at = looks_until(found, lambda records: 1 in records, lambda: (tmp_path / "b.log").write_bytes(record(1)))
    assert 1 < at <= 1 / following.INTERVAL


def line(number: int) -> bytes:
    """A record in a line of 32 bytes, so that blocks of 64 KiB end with one."""
    return record(number).rstrip().ljust(31) + b"\n"


@pytest.mark.parametrize("banner", [b"", BANNER], ids=["plain", "banner"])
@pytest.mark.parametrize("batch_bytes", [100, 1 << 16, 1 << 20])
@pytest.mark.parametrize("begun", [0, 5])
@pytest.mark.parametrize("look", [1, 2, 3, 4])
def test_a_log_that_is_cut_between_two_reads_comes_once(
    look: int, begun: int, batch_bytes: int, banner: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it by then is no part of the file that was looked at: a copy holds that."""
    count = 4000 if batch_bytes == 1 << 16 else 8
    path = tmp_path / "app.log"
    path.write_bytes(banner + b"".join(map(line, range(begun))))
    runs = [scan_nslip(path, resume={})] if begun else []
    seen = [number for run in runs for batch in run for number in batch["conv_id"].tolist()]
    with path.open("ab") as log:
        log.write(b"".join(map(line, range(begun, count))))
    looks, into = 0, reading.Input.into

    def cut(source: reading.Input, view: memoryview) -> int | None:
        nonlocal looks
        looks += 1
        if looks == look:
            (tmp_path / "app.log.1").write_bytes(path.read_bytes())
            path.write_bytes(banner + b"".join(map(line, range(count, 3 * count))))
            if look == 1:  # the cut shows before anything is read, however long ago it was
                monkeypatch.setattr(pieces, "unwritten", lambda file: True)
        return into(source, view)

    monkeypatch.setattr(reading.Input, "into", cut)
    for _ in range(3):
        runs.append(scan_nslip(path, resume=runs[-1].position if runs else {}, batch_bytes=batch_bytes))
        seen += [number for batch in runs[-1] for number in batch["conv_id"].tolist()]
    assert looks >= look
    judge(seen, [gap for run in runs for gap in run.gaps], 3 * count)
    assert not any(len(run.rejects) for run in runs)
    whole = scan_nslip(path, resume={}, batch_bytes=batch_bytes)
    assert [number for batch in whole for number in batch["conv_id"].tolist()] == list(range(count, 3 * count))


@pytest.mark.parametrize("later", [1, 3])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("begun", [0, 4])
@pytest.mark.parametrize("moved", [False, True])
def test_what_was_there_is_not_read_when_it_is_compressed(
    moved: bool, begun: int, same: bool, later: int, tmp_path: Path
) -> None:
    """Also where the tool gives it the time of now, or renamed it while following began. What came between and holds
    just the same is read."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    old.write_bytes(record(0) * 5)
    path.write_bytes(b"".join(record(number) for number in range(1, 1 + begun)))
    looks = 0

    def packed(number: int, data: bytes) -> None:
        (tmp_path / f"app.log.{number}.gz").write_bytes(gzip.compress(data))

    def opened(one: Rotated) -> Any:
        nonlocal old
        if moved and old == tmp_path / "app.log.1":
            old = old.rename(tmp_path / "app.log.2")
        return open_as(one)

    def asleep(stop: Stop) -> None:
        nonlocal looks
        looks += 1
        if looks == later:
            packed(3 if same else 2, old.read_bytes())
            old.unlink()
            path.rename(tmp_path / "app.log.1")
            if same:
                packed(2, record(0) * 5)
            path.write_bytes(record(7))
        if looks > later + LOOKS:
            stop.set()
            raise Stopped

    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stop, "sleep", lambda stop, seconds: asleep(stop))
        patch.setattr(following, "open_as", opened)
        found = scan_nslip(path, follow=True)
        for batch in found:
            seen += batch["conv_id"].tolist()
    assert seen == [*range(1, 1 + begun), *([0] * 5 if same else []), 7]


def test_what_was_there_stays_known_where_a_look_is_begun_again(tmp_path: Path) -> None:
    """The log is renamed while it is looked for what was rotated of it."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    old.write_bytes(b"".join(map(record, range(5))))
    path.write_bytes(record(5))
    looks, is_named = 0, tailing.Tail.is_named

    def asleep(stop: Stop) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            with path.open("ab") as log:
                log.write(record(7))
            (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(old.read_bytes()))
            old.write_bytes(record(6))
        if looks > LOOKS:
            stop.set()
            raise Stopped

    def renamed(tail: tailing.Tail) -> bool:
        if tail.name == str(path) and looks == 1 and not (tmp_path / "app.log.0").exists():
            path.rename(tmp_path / "app.log.0")
            path.write_bytes(record(8))
        return is_named(tail)

    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stop, "sleep", lambda stop, seconds: asleep(stop))
        patch.setattr(tailing.Tail, "is_named", renamed)
        for batch in scan_nslip(path, follow=True):
            seen += batch["conv_id"].tolist()
    assert seen == [5, 7, 6, 8] and (tmp_path / "app.log.0").exists()
