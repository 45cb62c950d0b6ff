"""Logs that are rotated each time somebody looks at the files beside them: reading ends, and a gap is told."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import record
from tests.log.test_follow import followed
from tests.log.test_rotation_storms import numbers_of
from tests.log.test_scan import scan_nslip
from turnwire.log.input import blocks, earlier, following, rotation

pytestmark = pytest.mark.once

MOST = 300
"""Listings of the folder after which reading is taken not to end."""


class Restless:
    """A log that is rotated and compressed at each ``beside``; ``kept``: how many rotated files there are at most."""

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

    def looked_at(self, beside: Callable[..., Any]) -> Callable[..., Any]:
        """``beside``, and a rotation behind it."""

        def look(*names: str) -> Any:
            found = beside(*names)
            if self.rotations < self.limit:
                self.rotate()
            return found

        return look


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocks, following):
        monkeypatch.setattr(module, "MOVING", 1e9)
        monkeypatch.setattr(module, "_PAUSE", 0.0)


@pytest.mark.parametrize("kept", [3, 12])
def test_going_on_ends_and_tells_a_gap(kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Restless(tmp_path, kept, MOST)
    first = scan_nslip(log.path, resume={})
    seen, position = numbers_of(first), first.position
    for module in (earlier, rotation):
        monkeypatch.setattr(module, "beside", log.looked_at(rotation.beside))
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
    for module in (earlier, rotation):
        monkeypatch.setattr(module, "beside", log.looked_at(rotation.beside))
    found = scan_nslip(log.path, resume=first.position)
    assert numbers_of(found) == list(range(1, log.written))
    assert log.rotations == 30
    assert not found.gaps


@pytest.mark.parametrize("tries", [0, 1])
def test_a_log_that_is_renamed_and_compressed_in_the_last_look_comes_once(
    tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is open, and what is compressed of it is beside the new one."""
    log = Restless(tmp_path, 1000, 300)
    first = scan_nslip(log.path, resume={})
    assert numbers_of(first) == [0]
    log.rotate()
    log.write()
    real, left = blocks.what_was, [None] * (tries + 1)

    def moved(*arguments: Any) -> Any:
        left.pop()
        log.rotate()
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "_TRIES", tries)
        patch.setattr(blocks, "what_was", moved)
        second = scan_nslip(log.path, resume=first.position)
        seen = numbers_of(second)
    assert not left
    third = scan_nslip(log.path, resume=second.position)
    assert seen + numbers_of(third) == list(range(1, log.written))


def test_following_ends_a_list_of_files_that_grows_faster_than_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more file is there at each listing, behind a rename: what was found is read, and a gap is reported."""
    path, written = tmp_path / "app.log", 1
    path.write_bytes(record(0))
    real, grows = following.look_beside, False

    def look_beside(*names: str) -> Any:
        nonlocal written
        if grows and written < MOST:
            (tmp_path / f"app.log.{1000 - written}").write_bytes(record(written))
            written += 1
        return real(*names)

    monkeypatch.setattr(following, "look_beside", look_beside)
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
    assert len(seen) > following.MORE


class Moving:
    """The files of a folder, of which each list lacks some for ``looks`` lists: they are renamed meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = 0.0
        self._real = rotation._listed
        monkeypatch.setattr(rotation, "_listed", self._listed)

    def _listed(self, *arguments: Any) -> Any:
        found, whole = self._real(*arguments)
        if self.looks <= 0:
            return found, whole
        self.looks -= 1
        return [], False


@pytest.mark.parametrize("lists", [1, 25, 1e9])
def test_following_takes_no_list_that_lacks_files_for_a_whole_one(
    lists: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    monkeypatch.setattr(rotation, "_SETTLING", 0.05 if lists == 1e9 else 1e9)
    with followed(path) as reader:
        assert [number for number, _ in reader.next()] == [0]
        with reader.between_looks():
            path.rename(tmp_path / "app.log.2")
            (tmp_path / "app.log.1").write_bytes(record(1))
            path.write_bytes(record(2))
            moving = Moving(monkeypatch)
            moving.looks = lists
        if lists == 1e9:
            assert [number for number, _ in reader.next()] == [2]
            assert reader.scan.gaps[0].stop is None, "a file may be missing"
            moving.looks = 0
        else:
            assert [number for number, _ in reader.next(2)] == [1, 2]
            assert not reader.scan.gaps


@pytest.mark.parametrize("lists", [1, 25, 1e9])
def test_going_on_takes_no_list_that_lacks_files_for_a_whole_one(
    lists: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    path.rename(tmp_path / "app.log.2")
    (tmp_path / "app.log.1").write_bytes(record(1))
    path.write_bytes(record(2))
    monkeypatch.setattr(rotation, "_SETTLING", 0.002 if lists == 1e9 else 1e9)
    monkeypatch.setattr(rotation, "_PAUSE", 0.0)
    Moving(monkeypatch).looks = lists
    second = scan_nslip(path, resume=first.position)
    if lists == 1e9:
        assert numbers_of(second) == [2]
        assert second.gaps[0].stop is None, "a file may be missing"
    else:
        assert numbers_of(second) == [1, 2]
        assert not second.gaps
