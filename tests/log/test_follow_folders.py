"""Following a folder in which logs are rotated: files beside a log have names that are followed, too."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from tests.counting import called
from tests.log.rotating import BANNER, record
from tests.log.test_follow import ENDLESS, append
from tests.log.test_follow_by_steps import LATER, at_once, packed, stepped
from turnwire import scan
from turnwire.log.input import bookmarks, folders, following, resuming

__all__ = ["at_once"]

pytestmark = pytest.mark.once


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_what_had_a_name_between_two_looks_is_read_before_the_folder_is_listed(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old files may be removed until then. Of the log no more was read than the banner."""
    monkeypatch.setattr(following, "LISTED", 10**9)
    path = tmp_path / "app.log"
    path.write_bytes(BANNER)

    def rotate() -> None:
        path.rename(tmp_path / "app.log.2")
        data = BANNER + record(1)
        (tmp_path / f"app.log.1{ending}").write_bytes(gzip.compress(data) if ending else data)
        path.write_bytes(BANNER + record(2))

    assert stepped(tmp_path, rotate) == ([[], [1, 2]], [])


@pytest.mark.parametrize("text", [record(0), b"no record\n"], ids=["record", "text"])
@pytest.mark.parametrize("folder", [True, False])
def test_what_is_written_to_an_old_file_shows_no_cut(folder: bool, text: bytes, tmp_path: Path) -> None:
    """Nobody waits for its writers any more, and it goes on while the log does."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(text)

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))

    def write() -> None:
        append(old, record(2))
        append(path, record(3))

    seen, gaps = stepped(tmp_path if folder else path, rotate, write)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[0][: text == record(0)], [1], [2, 3]], [])


@pytest.mark.parametrize("written", [False, True])
def test_what_is_written_to_an_old_file_of_a_folder_is_read_where_it_is_compressed(
    written: bool, tmp_path: Path
) -> None:
    """Whether or not the log is written meanwhile, too. It is read once."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))
        if not written:
            os.utime(path, (1, 1))

    def compress() -> None:
        packed(tmp_path / "app.log.1.gz", old.read_bytes() + record(2), LATER)
        old.unlink()
        if written:
            append(path, record(3))

    seen, gaps = stepped(tmp_path, rotate, compress, lambda: append(path, record(4)))
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[0], [1], [2, 3][: 1 + written], [4]], [])


def test_a_file_that_is_compressed_is_known_when_a_copy_has_its_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of the copy is remembered by that inode, and what was read before is not forgotten. (The inode is
    used again where a file is overwritten; then it is not by the time at which it was made that files are told.)"""
    monkeypatch.setattr(resuming, "born", lambda *_: 0)
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))

    def copy_and_cut() -> None:
        packed(tmp_path / "app.log.2.gz", old.read_bytes(), 1)
        old.rename(tmp_path / "app.log.1.gz")
        packed(tmp_path / "app.log.1.gz", path.read_bytes() + record(2), LATER)
        path.write_bytes(b"")

    os.utime(path, (1, 1))
    found = stepped(tmp_path, rotate, copy_and_cut, lambda: append(path, record(3)))
    assert found == ([[0], [1], [2], [3]], [("app.log", "file_shrunk")])


def test_what_is_compressed_of_a_file_that_was_given_another_name_comes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its writers are waited for. That name is none of a rotated file."""
    monkeypatch.setattr(following, "PATIENCE", ENDLESS)
    path, old = tmp_path / "app.log", tmp_path / "before.log"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))

    def compress() -> None:
        packed(tmp_path / "before.log.gz", old.read_bytes(), LATER)
        old.unlink()

    assert stepped(tmp_path, rotate, compress) == ([[0], [1], []], [("app.log", "file_gone")])


def test_what_is_compressed_in_a_folder_is_read_where_it_begins_as_an_old_file_that_is_there(tmp_path: Path) -> None:
    """Nobody reads that any more, and another log began alike."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(tmp_path / "app.log.1")
        path.write_bytes(record(1))

    def compress() -> None:
        packed(tmp_path / "other.log.gz", record(0) + record(2))

    assert stepped(tmp_path, rotate, compress) == ([[0], [1], [0, 2]], [])


def test_of_rotated_files_none_is_missing_when_it_is_renamed(tmp_path: Path) -> None:
    """They are named by a glob, and the log is not."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(1))
    old.write_bytes(record(0))

    def rotate() -> None:
        old.rename(tmp_path / "app.log.2")
        path.rename(old)

    assert stepped(str(tmp_path / "app.log.*"), rotate) == ([[0], [1]], [])


@pytest.mark.parametrize("bytes_less", [0, 1, 30])
def test_what_is_just_being_compressed_is_not_read(bytes_less: int, tmp_path: Path) -> None:
    path, old, made = (tmp_path / name for name in ("app.log", "app.log.1", "app.log.1.gz"))
    path.write_bytes(record(0))
    whole = gzip.compress(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))

    def end() -> None:
        made.write_bytes(whole)
        old.unlink()

    steps = (rotate, lambda: made.write_bytes(whole[: len(whole) - bytes_less]), end, lambda: append(path, record(2)))
    assert stepped(tmp_path, *steps) == ([[0], [1], [], [], [2]], [])


def test_a_log_that_is_copied_and_cut_while_the_folder_is_listed_goes_on_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it is in the copy, too."""
    path, copy, real = tmp_path / "app.log", tmp_path / "app.log.1", following._Follower._is_new
    path.write_bytes(record(0))
    os.utime(path, (1, 1))

    def is_new(follower: Any, tail: Any, live: Any) -> bool:
        if path.read_bytes() == record(0):
            path.write_bytes(record(2))
        return real(follower, tail, live)

    monkeypatch.setattr(following._Follower, "_is_new", is_new)
    seen, gaps = stepped(tmp_path, lambda: copy.write_bytes(record(0) + record(1)))
    assert (seen, len(gaps)) == ([[0], [1, 2]], 1)


def test_a_name_that_leads_to_another_file_by_then_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is there is read already."""
    path, real = tmp_path / "app.log", following.look_beside
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(tmp_path / "app.log.2")
        (tmp_path / "app.log.1").write_bytes(record(1))
        path.write_bytes(record(2))

    def look_beside(*names: str) -> Any:
        found = real(*names)
        if (tmp_path / "app.log.2").exists():
            (tmp_path / "app.log.1").rename(tmp_path / "app.log.3")
            (tmp_path / "app.log.2").rename(tmp_path / "app.log.1")
        return found

    monkeypatch.setattr(following, "look_beside", look_beside)
    assert stepped(path, rotate) == ([[0], [1, 2]], [])


def test_a_copy_that_was_read_when_following_begins_is_not_read_under_its_name(tmp_path: Path) -> None:
    path, copy = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    first = scan(tmp_path, wire="nslip", resume={})
    assert sum(map(len, first)) == 1
    copy.write_bytes(record(0) + record(1))
    path.write_bytes(record(2))
    found = stepped(tmp_path, lambda: append(path, record(3)), resume=first.position)
    assert found == ([[1, 2], [3]], [("app.log", "file_replaced")])


def bookmark(inode: int, born: int, data: bytes) -> resuming.Bookmark:
    who = resuming.Identity(1, inode, len(data), data, 1, born)
    return resuming.bookmark("app.log.1", who, (len(data), 2), len(data), None, (len(data), data), True)


@pytest.mark.parametrize(("born", "kept"), [((5, 6), True), ((5, 5), False), ((0, 0), True)])
def test_bookmarks_of_files_whose_inode_others_have_are_kept(born: Any, kept: bool, tmp_path: Path) -> None:
    """The last of them, by which what is compressed of them is known."""
    marks = bookmarks.Bookmarks({})
    for number, when in enumerate(born):
        marks.add(bookmark(7, when, record(number)))
    marks.present.add((1, 7))
    path = tmp_path / "app.log.1.gz"
    packed(path, record(0) + record(9))
    with path.open("rb") as file:
        assert bool(marks.stands(str(path), resuming.identity(file), file).place.offset) == kept
    for number in range(40):
        marks.add(bookmark(8, number + 1, record(number)))
    assert len(marks.gone) == bookmarks.GONE and marks.gone[0].born == 39


def shift(folder: Path) -> None:
    """Renames a log and what is beside it, as tools that count do."""
    for number in (1, 0):
        path = folder / ("app.log.1" if number else "app.log")
        if path.exists():
            path.rename(folder / f"app.log.{number + 1}")


@pytest.mark.parametrize("glob", ["", "*", "app*"])
@pytest.mark.parametrize("look", [1, 2])
def test_a_folder_in_which_files_are_renamed_while_following_begins_comes_once(
    look: int, glob: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list of its names and the time at which each is opened."""
    path, looks, real = tmp_path / "app.log", 0, following._there
    path.write_bytes(record(1))
    (tmp_path / "app.log.1").write_bytes(record(0))

    def there(name: str) -> Any:
        nonlocal looks
        looks += 1
        if looks == look:
            shift(tmp_path)
            path.write_bytes(record(2))
        return real(name)

    monkeypatch.setattr(following, "_there", there)
    seen, gaps = stepped(str(tmp_path / glob), lambda: append(path, record(3)))
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[0, 1, 2], [3]], [])


def test_new_files_of_a_folder_that_are_renamed_while_it_is_listed_come_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "app.log", following._Follower._is_new

    def make() -> None:
        path.write_bytes(record(1))
        (tmp_path / "app.log.1").write_bytes(record(0))

    def is_new(follower: Any, tail: Any, live: Any) -> bool:
        found = real(follower, tail, live)
        if not (tmp_path / "app.log.2").exists():
            shift(tmp_path)
        return found

    (tmp_path / "other").write_bytes(b"")
    monkeypatch.setattr(following._Follower, "_is_new", is_new)
    seen, gaps = stepped(tmp_path, make)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[], [0, 1]], [])


def test_a_file_of_a_folder_that_is_gone_before_it_is_opened_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, gone, real = tmp_path / "app.log", tmp_path / "gone.log", following._there
    path.write_bytes(record(0))
    gone.write_bytes(record(1))

    def there(name: str) -> Any:
        gone.unlink(missing_ok=True)
        return real(name)

    monkeypatch.setattr(following, "_there", there)
    assert stepped(tmp_path, lambda: append(path, record(2))) == ([[0], [2]], [])


def test_a_log_that_is_named_itself_is_waited_for(tmp_path: Path) -> None:
    """It is just being renamed; if nothing comes, that is an error."""
    path, waited = tmp_path / "app.log", 0

    def sleep(seconds: float) -> None:
        nonlocal waited
        waited += 1
        if waited > following._TRIES:
            found.close()

    found = scan(path, wire="nslip", follow=True)
    found._run.stop.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(FileNotFoundError, match=r"app\.log"):
        list(found)
    assert waited == following._TRIES - 1


def test_many_logs_that_are_renamed_at_a_time_are_not_looked_for_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what the source names nor the folder is listed for each."""
    logs = [tmp_path / f"a{number:02}.log" for number in range(20)]
    for number, path in enumerate(logs):
        path.write_bytes(record(number))
    os.utime(tmp_path, (1, 1))
    monkeypatch.setattr(folders, "TICK", -1)  # as if nothing had changed for a while
    listed = called(monkeypatch, following, "_names")
    alike = called(monkeypatch, following, "is_like")
    looked = called(monkeypatch, os, "scandir")

    def rotate() -> None:
        for each in (listed, alike, looked):
            each.clear()
        for number, path in enumerate(logs):
            path.rename(f"{path}.1")
            path.write_bytes(record(100 + number))

    seen, gaps = stepped(tmp_path, rotate)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[*range(20)], [*range(100, 120)]], [])
    assert len(listed) <= 4 and len(looked) <= 8 and len(alike) <= 200
