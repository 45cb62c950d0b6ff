"""Copies, cuts and backups of a log that is followed, one step at a time, where little tells what was read already."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, record
from tests.log.test_follow import ENDLESS, append
from tests.log.test_follow_by_steps import LATER, at_once, packed, stepped
from turnwire.log.input import following, resuming
from turnwire.log.input.tailing import Tail

__all__ = ["at_once"]

pytestmark = pytest.mark.once


def at_next_read(monkeypatch: pytest.MonkeyPatch, step: Any) -> Any:
    """Has something done between the next look at a name and that at what the file holds."""
    real, asked = Tail._changed_at, []

    def changed_at(tail: Tail) -> int:
        if asked:
            asked.pop()
            step()
        return real(tail)

    monkeypatch.setattr(Tail, "_changed_at", changed_at)
    return lambda: asked.append(True)


def written(path: Path, data: bytes, when: int) -> None:
    """A file as it is written then."""
    path.write_bytes(data)
    os.utime(path, (when, when))


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("renamed", [True, False])
def test_a_log_that_is_rotated_between_two_questions_goes_on_in_what_was_rotated(
    renamed: bool, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is behind the name by then was written after what was rotated."""
    path, begin = tmp_path / "app.log", BANNER * length
    written(path, begin, 1)

    def rotate() -> None:
        if renamed:
            path.rename(tmp_path / "app.log.2")
            written(tmp_path / "app.log.2", begin + record(1), 3)
        written(tmp_path / "app.log.1", begin + record(0), 2)
        written(path, begin, 3)

    seen, gaps = stepped(path, at_next_read(monkeypatch, rotate), lambda: append(path, record(2)))
    assert ([sorted(numbers) for numbers in seen], len(gaps)) == ([[], [0, 1][: 1 + renamed], [2]], not renamed)


def test_a_copy_that_is_older_than_what_was_read_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More came between the copy and the cut than is kept of what was read."""
    path, renamed = tmp_path / "app.log", Tail.renamed
    written(path, record(0), 1)
    more = record(0) + record(1) + b"#" * 70_000 + b"\n"

    def copy() -> None:
        written(tmp_path / "app.log.1", record(0), 2)
        written(path, more, 3)

    def cut(tail: Tail) -> bool:
        if path.stat().st_size == len(more):
            written(path, record(2), 4)
        return renamed(tail)

    monkeypatch.setattr(Tail, "renamed", cut)
    found = stepped(path, at_next_read(monkeypatch, copy))
    assert found == ([[0], [1, 2]], [("app.log", "file_shrunk")])


@pytest.mark.parametrize("more", [0, 1])
def test_of_a_log_that_holds_no_more_than_a_beginning_any_rotated_file_shows_a_cut(more: int, tmp_path: Path) -> None:
    path, begin = tmp_path / "app.log", b"#" * (resuming.BANNER - 1 + more) + b"\n"
    path.write_bytes(begin)

    def rotate() -> None:
        (tmp_path / "app.log.1").write_bytes(record(0))
        path.write_bytes(begin)

    why = ("file_shrunk", "file_replaced")[more]
    assert stepped(path, rotate) == ([[], [0][more:]], [("app.log", why)])


def test_an_old_file_that_is_written_to_is_read_on_where_it_begins_as_the_log(tmp_path: Path) -> None:
    """All that was read of the log is in it, too: it is no copy."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(BANNER + record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(BANNER)

    def write() -> None:
        append(old, record(1))
        append(path, b"#\n")

    assert stepped(path, rotate, write) == ([[0], [], [1]], [])


def test_what_is_written_to_an_old_file_is_read_though_a_log_that_is_cut_held_it(tmp_path: Path) -> None:
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(0) + record(1) + record(2))

    def write() -> None:
        append(old, record(1))
        path.write_bytes(record(3))

    assert stepped(path, rotate, write) == ([[0], [0, 1, 2], [1, 3]], [("app.log", "file_shrunk")])


def test_what_is_compressed_is_read_where_it_holds_what_a_log_held_before_it_was_cut(tmp_path: Path) -> None:
    """The log holds it no more, and was renamed itself."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))

    def rotate() -> None:
        packed(tmp_path / "app.log.1.gz", record(0), LATER)
        path.rename(tmp_path / "app.log.2")
        path.write_bytes(record(1))

    found = stepped(path, lambda: path.write_bytes(b""), rotate)
    assert found == ([[0], [], [0, 1]], [("app.log", "file_shrunk")])


def test_what_is_compressed_is_read_where_it_begins_as_a_file_that_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is there, so it is made from another one."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(b"")

    def rotate() -> None:
        path.rename(tmp_path / "app.log.2")
        old.write_bytes(record(0))
        path.write_bytes(record(1))

    def write() -> None:
        monkeypatch.setattr(following, "PATIENCE", ENDLESS)
        append(old, record(2))
        append(path, record(3))

    def compress() -> None:
        packed(tmp_path / "app.log.0.gz", record(0) + record(4), LATER)
        append(path, record(5))

    seen, _ = stepped(path, rotate, write, compress)
    assert [sorted(numbers) for numbers in seen] == [[], [0, 1], [2, 3], [0, 4, 5]]


def test_a_backup_of_a_file_that_is_gone_is_read_where_the_file_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is renamed between two questions, and nothing of what was found beside it is read at first."""
    path, old, real = tmp_path / "app.log", tmp_path / "app.log.1", Tail.is_named
    path.write_bytes(BANNER)

    def write() -> None:
        old.write_bytes(BANNER + record(0))
        packed(tmp_path / "app.log-20260101.gz", old.read_bytes(), LATER)
        append(path, b"#\n")

    def is_named(tail: Tail) -> bool:
        if old.exists():
            old.unlink()
            path.rename(tmp_path / "app.log.2")
            path.write_bytes(record(1))
        return real(tail)

    monkeypatch.setattr(Tail, "is_named", is_named)
    assert stepped(path, write) == ([[], [0, 1]], [])
