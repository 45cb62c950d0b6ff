"""Going on in a folder in which logs were rotated: files beside a log have names that are read, too."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.counting import called
from tests.log.rotating import record
from tests.log.test_follow import append
from tests.log.test_follow_by_steps import packed
from tests.log.test_scan import scan_nslip
from turnwire.log.input import folders
from turnwire.log.input.bookmarks import Bookmarks
from turnwire.log.input.resuming import identity

pytestmark = pytest.mark.once


def went_on(source: Any, position: Any) -> tuple[list[int], list[tuple[str, str]], Any]:
    """The numbers of the records, the gaps (name, why) and the position."""
    found = scan_nslip(source, resume=position)
    numbers = [number for batch in found for number in batch["conv_id"].tolist()]
    gaps = [(os.path.basename(gap.file), str(gap.why)) for gap in found.gaps]
    return numbers, gaps, json.loads(json.dumps(found.position))


def with_inode(position: Any, name: str, other: Path) -> Any:
    """The position, as it is where the file that was read is gone and another one has its inode."""
    (mark,) = [mark for mark in position["files"] if mark["name"].endswith(name)]
    mark["inode"] = other.stat().st_ino
    return position


@pytest.mark.parametrize("names", [("app-1.log", "app.log"), ("b/app.log.1", "b/app.log", "a.log")])
def test_a_log_is_read_before_the_files_that_had_its_name(names: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever the order of their names: what is in a copy behind what was read is read, and nothing else."""
    paths = [tmp_path / name for name in names]
    paths[0].parent.mkdir(exist_ok=True)
    for number, path in enumerate(paths[1:]):
        path.write_bytes(record(10 * number))
    seen, gaps, position = went_on(paths[1:], {})
    assert (seen, gaps) == ([10 * number for number in range(len(paths) - 1)], [])
    for path in paths[2:]:
        append(path, record(11))
    paths[0].write_bytes(record(0) + record(1))
    paths[1].write_bytes(record(2))
    for source in (paths, sorted(paths), paths[::-1]):
        seen, gaps, _ = went_on(source, position)
        assert sorted(seen) == [1, 2, 11][: len(paths)] and gaps == [(paths[1].name, "file_replaced")]
    seen, gaps, _ = went_on(tmp_path, position)
    assert sorted(seen) == [1, 2, 11][: len(paths)] and gaps == [(paths[1].name, "file_replaced")]


def test_what_is_compressed_is_known_where_a_file_of_the_folder_has_its_inode(tmp_path: Path) -> None:
    path, old, other = (tmp_path / name for name in ("app.log", "app.log.1", "other.log"))
    for number, file in enumerate((path, old, other)):
        file.write_bytes(record(number))
    assert went_on([path, old], {})[0] == [0, 1]
    position = went_on([path, old], {})[2]
    packed(tmp_path / "app.log.1.gz", old.read_bytes())
    old.unlink()
    assert went_on(tmp_path, with_inode(position, ".1", other))[:2] == ([2], [])


def test_a_log_whose_inode_a_rotated_file_has_is_gone(tmp_path: Path) -> None:
    """It was removed, and nothing shows what came between."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    position = went_on(tmp_path, {})[2]
    path.write_bytes(record(3))
    old.write_bytes(record(2))
    seen, gaps, _ = went_on(tmp_path, with_inode(position, "app.log", old))
    assert (sorted(seen), gaps) == ([2, 3], [("app.log", "file_gone")])


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("compressed", [True, False])
def test_what_was_written_to_an_old_file_is_no_cut(compressed: bool, folder: bool, tmp_path: Path) -> None:
    """Of the log nothing was read, so that its bytes do not show whether it was cut."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    source = tmp_path if folder else path
    path.write_bytes(record(0))
    position = went_on(source, {})[2]
    path.rename(old)
    path.write_bytes(b"")
    seen, gaps, position = went_on(source, position)
    assert (seen, gaps) == ([], [])
    append(old, record(1))
    if compressed:
        packed(tmp_path / "app.log.1.gz", old.read_bytes())
        old.unlink()
    append(path, record(2))
    seen, gaps, _ = went_on(source, position)
    assert (sorted(seen), gaps) == ([1, 2], [])


@pytest.mark.parametrize("bytes_less", [0, 1, 30])
def test_what_is_just_being_compressed_in_a_folder_is_not_read(bytes_less: int, tmp_path: Path) -> None:
    path, old, made = (tmp_path / name for name in ("app.log", "app.log.1", "app.log.1.gz"))
    path.write_bytes(record(0))
    old.write_bytes(record(1))
    seen, _, position = went_on(tmp_path, {})
    assert seen == [0, 1]
    whole = gzip.compress(old.read_bytes())
    made.write_bytes(whole[: len(whole) - bytes_less])
    (tmp_path / "a.log").write_bytes(record(2))
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(record(3)))
    seen, gaps, position = went_on(tmp_path, position)
    assert (seen, gaps) == ([2, 3], [])
    made.write_bytes(whole)
    old.unlink()
    assert went_on(tmp_path, position)[:2] == ([], [])


def test_what_is_just_being_copied_in_a_folder_is_read_in_the_log(tmp_path: Path) -> None:
    """Before the first scan both are read: nobody knows why there are two."""
    path, copy = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0) + record(1))
    copy.write_bytes(record(0))
    assert went_on(tmp_path, {})[0] == [0, 1, 0]
    copy.unlink()
    seen, _, position = went_on(tmp_path, {})
    copy.write_bytes(record(0))
    assert went_on(tmp_path, position)[:2] == ([], [])
    copy.write_bytes(path.read_bytes() + record(2))
    path.write_bytes(record(3))
    seen, gaps, position = went_on(tmp_path, position)
    assert (seen, gaps) == ([2, 3], [("app.log", "file_shrunk")])
    assert went_on(tmp_path, position)[:2] == ([], [])


@pytest.mark.parametrize("position", [None, {}])
def test_a_log_that_is_renamed_behind_its_end_comes_once(position: Any, tmp_path: Path) -> None:
    """To the next name of the folder that is read. Where nothing goes on, names are read as they are."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    old.write_bytes(record(1))
    batches = iter(scan_nslip(tmp_path, resume=position, threads=1))
    assert next(batches)["conv_id"].tolist() == [0]
    path.rename(old)
    rest = [number for batch in batches for number in batch["conv_id"].tolist()]
    assert rest == ([] if position is not None else [0])


def test_a_file_is_not_there_any_more_once_its_name_is_gone(tmp_path: Path) -> None:
    old, made = tmp_path / "app.log.1", tmp_path / "app.log.1.gz"
    old.write_bytes(record(1))
    marks = Bookmarks(went_on(old, {})[2])
    packed(made, old.read_bytes())
    marks.expect([str(old)])
    for place in (0, len(record(1))):
        with made.open("rb") as file:
            assert marks.stands(str(made), identity(file), file).place.offset == place
        old.unlink(missing_ok=True)


def test_a_position_keeps_bookmarks_of_files_whose_inodes_others_have(tmp_path: Path) -> None:
    old, made, other = (tmp_path / name for name in ("app.log.1", "app.log.1.gz", "other.log"))
    old.write_bytes(record(1))
    other.write_bytes(record(2))
    position = with_inode(went_on(old, {})[2], ".1", other)
    if not position["files"][0]["born"]:
        pytest.skip("this file system does not say when files were made")
    position["files"][0]["born"] -= 1
    packed(made, old.read_bytes())
    old.unlink()
    for numbers in ([2], []):
        seen, gaps, position = went_on(other, position)
        assert (seen, gaps, [mark["name"] for mark in position["files"]]) == (numbers, [], [str(old), str(other)])
    assert went_on(tmp_path, position)[:2] == ([], [])


def test_a_folder_is_listed_once_for_all_logs_that_are_rotated_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / f"a{number:02}.log" for number in range(12)]
    for number, path in enumerate(logs):
        path.write_bytes(record(number))
    position = went_on(tmp_path, {})[2]
    for number, path in enumerate(logs):
        packed(Path(f"{path}.1.gz"), path.read_bytes() + record(100 + number))
        path.unlink()
        path.write_bytes(record(200 + number))
    monkeypatch.setattr(folders, "TICK", -1)  # as if nothing had changed for a while
    listed = called(monkeypatch, os, "scandir")
    seen, gaps, _ = went_on(tmp_path, position)
    assert sorted(seen) == [*range(100, 112), *range(200, 212)] and gaps == []
    assert len(listed) == 2  # one of them for the logs


def test_names_in_a_folder_are_those_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = called(monkeypatch, os, "scandir")
    with pytest.raises(FileNotFoundError):
        list(folders.names_in(str(tmp_path / "none"), ""))
    for tick, times in ((1 << 62, 2), (-1, 1)):
        monkeypatch.setattr(folders, "TICK", tick)
        (tmp_path / f"a{times}").touch()
        listed.clear()
        for _ in range(2):
            assert list(folders.names_in(str(tmp_path), "a")) == ["a1", "a2"][-3 + times :]
        assert len(listed) == times
    for number in range(9):
        (tmp_path / f"b{number}").touch()
        os.utime(tmp_path, (number, number))  # a file system whose clock stands still is told by the other time
        assert list(folders.names_in(str(tmp_path), f"b{number}")) == [f"b{number}"]
        (tmp_path / f"{number}").mkdir()
        list(folders.names_in(str(tmp_path / f"{number}"), ""))
    listed.clear()
    list(folders.names_in(str(tmp_path / "8"), ""))
    folders.forget()
    list(folders.names_in(str(tmp_path / "8"), ""))
    assert len(listed) == 1
    monkeypatch.setattr(folders, "_AGE", -1.0)
    folders.forget()
    for _ in range(2):
        list(folders.names_in(str(tmp_path), ""))
    assert len(listed) == 3
