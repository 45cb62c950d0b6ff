"""Rotation in the middle of a look, and at each look: between any two system calls of the reader."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, Log, Steps, followed, interleave, numbers_of, record, rotations
from tests.log.test_scan import scan_nslip
from turnwire.log.input import reading, rotation
from turnwire.log.input.reading import Stop, Stopped
from turnwire.log.input.rotation import LISTED

pytestmark = pytest.mark.once
KINDS = (("rename", "late", "pack"), ("copytruncate", "pack"), ("rename", "late", "copytruncate", "pack"))
SEEDS = (0, 1, 102)
"""In the last one old files are renamed and compressed while following begins."""
LOOKS = 5 * LISTED
"""So many looks behind the last step: the folder is listed a few times."""


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
    writer = Log(tmp_path, chance)
    steps = Steps(rotations(writer, chance, kinds), chance, rate)
    quiet = [0]

    def asleep(stop: Stop) -> None:
        if not steps.over:
            steps.take(1, 3, 10, 40)
            return
        quiet[0] += 1
        if quiet[0] > LOOKS:
            stop.set()
            raise Stopped

    found = scan_nslip(writer.path, follow=True)
    with pytest.MonkeyPatch.context() as patch:
        interleave(patch, steps, asleep)
        steps.watched = True
        seen = numbers_of(found)
    writer.close()
    judge(seen, list(found.gaps), writer.written)


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_going_on(seed: int, kinds: tuple[str, ...], rate: float, tmp_path: Path) -> None:
    chance = random.Random(seed)
    writer = Log(tmp_path, chance)
    steps = Steps(rotations(writer, chance, kinds), chance, rate)
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


def line(number: int) -> bytes:
    """A record in a line of 32 bytes, so that blocks of 64 KiB end with one."""
    return record(number).rstrip().ljust(31) + b"\n"


@pytest.mark.parametrize("banner", [b"", BANNER], ids=["plain", "banner"])
@pytest.mark.parametrize("batch_bytes", [100, 1 << 16, 1 << 20])
@pytest.mark.parametrize(("begun", "look"), [(0, 1), (0, 2), (0, 3), (5, 1), (5, 2), (5, 4)])
def test_a_log_that_is_cut_between_two_reads_comes_once(
    look: int, begun: int, batch_bytes: int, banner: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines in it by then are no part of the file that was looked at: a copy holds that."""
    count = 4000 if batch_bytes == 1 << 16 else 8
    path = tmp_path / "app.log"
    path.write_bytes(banner + b"".join(map(line, range(begun))))
    runs = [scan_nslip(path, resume={})] if begun else []
    seen = [number for run in runs for number in numbers_of(run)]
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
                monkeypatch.setattr(reading, "is_touched", lambda file: False)
        return into(source, view)

    monkeypatch.setattr(reading.Input, "into", cut)
    for _ in range(3):
        runs.append(scan_nslip(path, resume=runs[-1].position if runs else {}, batch_bytes=batch_bytes))
        seen += numbers_of(runs[-1])
    assert looks >= look
    judge(seen, [gap for run in runs for gap in run.gaps], 3 * count)
    assert not any(len(run.rejects) for run in runs)
    whole = scan_nslip(path, resume={}, batch_bytes=batch_bytes)
    assert numbers_of(whole) == list(range(count, 3 * count))


MOST = 300
"""Listings of the folder after which reading is taken not to end."""


class Restless:
    """A log that is rotated and compressed at each ``rotated_files``; ``kept``: most rotated files that there are."""

    def __init__(self, folder: Path, kept: int, limit: int) -> None:
        self.path, self.kept, self.limit = folder / "app.log", kept, limit
        self.written = self.rotations = 0
        self.write()

    def write(self) -> None:
        with self.path.open("ab") as file:
            file.write(record(self.written))
        self.written += 1

    def rotate(self) -> None:
        for number in range(self.kept, 0, -1):
            path = self.path.with_name(f"app.log.{number}.gz")
            if path.exists() and number == self.kept:
                path.unlink()
            elif path.exists():
                path.rename(path.with_name(f"app.log.{number + 1}.gz"))
        plain = self.path.rename(self.path.with_name("app.log.1"))
        self.path.touch()
        self.path.with_name("app.log.1.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        self.write()
        self.rotations += 1

    def looked_at(self, rotated_files: Callable[..., Any]) -> Callable[..., Any]:
        """``rotated_files``, and a rotation behind it."""

        def look(*names: str) -> Any:
            found = rotated_files(*names)
            if self.rotations < self.limit:
                self.rotate()
            return found

        return look


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "MOVING", 1e9)
    monkeypatch.setattr(rotation, "PAUSE", 0.0)


@pytest.mark.parametrize("kept", [3, 12])
def test_going_on_ends_and_tells_a_gap(kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Restless(tmp_path, kept, MOST)
    first = scan_nslip(log.path, resume={})
    seen, position = numbers_of(first), first.position
    monkeypatch.setattr(rotation, "rotated_files", log.looked_at(rotation.rotated_files))
    for _ in range(3):
        log.rotate()
        before, told = log.rotations, len(seen)
        found = scan_nslip(log.path, resume=position)
        seen += numbers_of(found)
        assert log.rotations - before < MOST, "it ends by itself, not because the log rests"
        assert found.gaps, "what it could not settle is told"
        assert len(seen) > told, "what was there at the end is read"
        position = found.position
    assert max(Counter(seen).values()) == 1


def test_going_on_waits_for_a_log_that_comes_to_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Restless(tmp_path, 1000, limit=30)
    first = scan_nslip(log.path, resume={})
    assert numbers_of(first) == [0]
    log.rotate()
    monkeypatch.setattr(rotation, "rotated_files", log.looked_at(rotation.rotated_files))
    found = scan_nslip(log.path, resume=first.position)
    assert numbers_of(found) == list(range(1, log.written))
    assert log.rotations == 30
    assert not found.gaps


def test_following_ends_a_list_of_files_that_grows_faster_than_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more file is there at each listing, behind a rename: what was found is read, and a gap is reported."""
    path, written = tmp_path / "app.log", 1
    path.write_bytes(record(0))
    real, grows = rotation.rotated_files, False

    def rotated_files(*names: str) -> Any:
        nonlocal written
        if grows and written < MOST:
            (tmp_path / f"app.log.{1000 - written}").write_bytes(record(written))
            written += 1
        return real(*names)

    monkeypatch.setattr(rotation, "rotated_files", rotated_files)
    with followed(path) as reader:
        assert [number for number, _ in reader.next()] == [0]
        with reader.between_looks():
            path.rename(tmp_path / "app.log.1000")
            path.write_bytes(record(MOST))
            grows = True
        seen = []
        while not reader.scan.gaps:
            seen += [number for number, _ in reader.next()]
        grows = False
        assert reader.scan.gaps[0].stop is None
        assert written < MOST, "it ends by itself, not because no more files come"
        while MOST not in seen:
            seen += [number for number, _ in reader.next()]
    assert max(Counter(seen).values()) == 1
    assert len(seen) > rotation.MOVES
