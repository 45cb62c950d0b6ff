"""Partitioned directories that take further runs: each is there whole, once, whatever was killed in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.conftest import raised
from tests.log.engines import GOOD
from turnwire.log import write
from turnwire.log.output import outputs
from turnwire.log.output.outputs import DirectoryOutput, recovered

pytestmark = pytest.mark.once


def log(*days: str) -> bytes:
    return b"".join(f"2026-11-{day}T10:00:00Z ".encode() + GOOD + b"\n" for day in days)


def rows(place: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in place.rglob("*.ndjson"))


def names(place: Path) -> list[str]:
    return sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir())


def test_a_further_run_adds_parts(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = write(turnwire.scan(log("01", "02")), lake, partition_by="day", format="ndjson")
    second = write(turnwire.scan(log("02", "03", "03")), lake, partition_by="day", format="ndjson")
    assert [Path(path).relative_to(lake).as_posix() for path in first + second] == [
        "day=2026-11-01/part-0.ndjson",
        "day=2026-11-02/part-0.ndjson",
        "day=2026-11-02/part-1.ndjson",
        "day=2026-11-03/part-0.ndjson",
    ]
    assert sorted(first + second) == sorted(map(str, lake.rglob("*.ndjson"))) and rows(lake) == 5
    assert write(turnwire.scan(b""), lake, partition_by="day", format="ndjson") == []
    assert sorted(os.listdir(tmp_path)) == ["lake"], "nothing is left beside it"


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write(turnwire.scan(log("01")), lake, partition_by="day", format="ndjson")
    before = names(tmp_path)
    for options in ({"format": "csv"}, {"format": "ndjson", "partition_by": "wire"}):
        with pytest.raises(FileExistsError):
            write(turnwire.scan(log("01")), lake, **{"partition_by": "day", **options})
    assert names(tmp_path) == before
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError):
        write(turnwire.scan(log("01")), tmp_path / "file", partition_by="day")
    (lake / "notes.txt").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write(turnwire.scan(log("01")), lake, partition_by="day", format="ndjson")


def test_a_run_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write(turnwire.scan(log("01")), lake, partition_by="day", format="ndjson")
    before = names(tmp_path)
    found = turnwire.scan(log("01", "02") + b"@a3|f0 bad\n", errors="raise")
    raised(turnwire.DecodeError, write, found, lake, partition_by="day", format="ndjson")
    assert names(tmp_path) == before and sorted(os.listdir(lake)) == ["day=2026-11-01"]


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    write(turnwire.scan(log("01")), tmp_path / "lake", partition_by="day")
    with (
        DirectoryOutput(tmp_path / "lake", partition_by="day"),
        pytest.raises(BlockingIOError),
        DirectoryOutput(tmp_path / "lake", partition_by="day"),
    ):
        raise AssertionError("nobody else writes there meanwhile")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine fails here, only processes: nothing need be flushed."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Killed(BaseException):
    """Stands for the end of a process."""


def kept_position(lake: Path) -> Any:
    return recovered(lake).get("position")


def run(lake: Path, data: bytes, position: int, by: str | None = "day") -> None:
    """One run that keeps a position."""
    found = turnwire.scan(data)
    with DirectoryOutput(lake, "ndjson", by) as output:
        output.begin(found.columns)
        for batch in found:
            output.take(batch)
        output.commit({"record": position})


@pytest.mark.parametrize(("by", "first"), [("day", True), ("day", False), (None, False)])
@pytest.mark.parametrize("step", range(8))
def test_a_run_that_is_killed_happened_whole_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str | None, first: bool, step: int
) -> None:
    """Killed at each of its steps on the disk: what is kept says which, and then it is so."""
    lake = tmp_path / "lake"
    if not first:
        run(lake, log("01", "02"), 2, by)
    left = step

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def dies(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return call(*arguments, **options)

        return dies

    for owner, name in ((os, "replace"), (os, "rename"), (Path, "rename"), (outputs, "_write"), (outputs, "_move")):
        monkeypatch.setattr(owner, name, dying(getattr(owner, name)))
    killed = False
    try:
        run(lake, log("02", "03", "03"), 5, by)
    except Killed:
        killed = True
    monkeypatch.undo()
    before = 0 if first else 2
    kept = (kept_position(lake) or {"record": 0})["record"]
    assert kept in (before, 3 if first else 5, 5)
    happened = kept == 5
    assert (rows(lake) if lake.exists() else 0) == (before + 3 if happened else before)
    assert killed or happened
    run(lake, log("04"), kept + 1, by)
    assert rows(lake) == (before + 3 if happened else before) + 1 and kept_position(lake) == {"record": kept + 1}
    assert sorted(os.listdir(tmp_path)) == [".lake.commit", "lake"]


def test_nightly_runs_of_the_command(tmp_path: Path) -> None:
    logs, lake, place = tmp_path / "a.log", tmp_path / "lake", tmp_path / "place"
    arguments = ("scan", logs, "--partition-by", "day", "--resume", place, "-o", lake, "--format", "ndjson", "-q")
    for night, days in enumerate((["01", "02"], ["02", "03"], [], ["03"]), 1):
        with open(logs, "ab") as file:
            file.write(log(*days))
        assert command(*arguments).code == 0
        assert rows(lake) == logs.read_bytes().count(b"\n"), night
    assert command(*arguments).code == 0 and rows(lake) == 5
    assert json.loads(place.read_bytes()) == kept_position(lake)
    place.unlink()  # what was lost with the position is known from the directory
    assert command(*arguments).code == 0 and rows(lake) == 5
    older = {"files": [], "record": 0}
    place.write_text(json.dumps(older))
    assert command(*arguments).code == 0 and rows(lake) == 5
    assert command("scan", logs, "--partition-by", "day", "-o", lake, "--format", "ndjson", "-q").code == 0
    assert rows(lake) == 10, "without --resume all is read again"


@pytest.mark.parametrize("there", ["nothing", "file", "folder", "full folder", "link to nothing", "nowhere"])
def test_a_directory_takes_the_place_of_nothing_but_an_empty_one(tmp_path: Path, there: str) -> None:
    """A refusal comes before anything is written; a folder of somebody keeps its permissions."""
    place = tmp_path / ("none/new" if there == "nowhere" else "new")
    if there == "file":
        place.write_text("old")
    elif "folder" in there:
        place.mkdir(0o700)
        if there == "full folder":
            (place / "inside").write_text("old")
    elif there == "link to nothing":
        place.symlink_to(tmp_path / "aim")
    before = names(tmp_path)
    if there in ("nothing", "folder", "link to nothing"):
        write(turnwire.scan(log("01")), place, partition_by="day", format="ndjson")
        assert rows(place) == 1
        assert there != "folder" or place.stat().st_mode & 0o777 == 0o700
    else:
        with pytest.raises(OSError):
            write(turnwire.scan(log("01")), place, partition_by="day", format="ndjson")
        assert names(tmp_path) == before
