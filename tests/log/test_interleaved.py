"""Rotation in the middle of a look: renamed, copied and cut, compressed between any two system calls of the reader."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.log.interleaved import Steps, Writer, interleave
from tests.log.rotating import record
from tests.log.test_scan import scan_nslip
from turnwire.log.input import following
from turnwire.log.input.following import LISTED, PATIENCE
from turnwire.log.input.reading import Stop, Stopped

pytestmark = pytest.mark.once

KINDS = (("rename", "late", "pack"), ("copy", "pack"), ("rename", "late", "copy", "pack"))
SEEDS = range(5)
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
