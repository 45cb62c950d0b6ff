"""Directories as sources: all that is in them, once, and nothing left out without a word."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnwire

pytestmark = pytest.mark.once

LINE = "@a3|f0|c1|S0|d1|T1#\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("tree/a.log", "tree/sub/b.log", "tree/sub/deep/c.log", "elsewhere/e.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINE)
    return tmp_path / "tree"


def names(source: Path) -> list[str]:
    found = (batch.file or "" for batch in turnwire.scan(source, wire="nslip"))
    return [os.path.relpath(name, source) for name in found]


def test_linked_directories_are_entered_once(tree: Path) -> None:
    (tree / "link").symlink_to("../elsewhere")
    (tree / "loop").symlink_to(".")
    (tree / "sub" / "up").symlink_to("..")
    (tree / "again").symlink_to("sub")
    assert names(tree) == ["a.log", "link/e.log", "sub/b.log", "sub/deep/c.log"]


def test_links_that_lead_nowhere_are_no_files(tree: Path) -> None:
    (tree / "broken").symlink_to("nowhere.log")
    (tree / "self").symlink_to("self")
    (tree / "behind").symlink_to("a.log/x")
    assert names(tree) == ["a.log", "sub/b.log", "sub/deep/c.log"]


@pytest.fixture
def closed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that cannot be read, also where the tests are run by root."""
    place = tree / "sub" / "deep"
    place.chmod(0)
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path) == place:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    yield place
    place.chmod(0o755)


def test_a_directory_inside_that_cannot_be_read_is_an_error(tree: Path, closed: Path) -> None:
    with pytest.raises(PermissionError) as caught:
        names(tree)
    assert caught.value.filename == str(closed)


def test_the_command_names_it(tree: Path, closed: Path) -> None:
    from tests.cli.running import turnwire as run

    done = run("scan", tree)
    assert (done.code, done.out) == (3, b"")
    assert done.err == f"turnwire: {tree}: Permission denied: {closed}\n"


def test_names_are_as_short_as_that_of_the_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    for source, front in ((".", ""), ("./", ""), ("sub/", "sub/"), ("./sub", "sub/")):
        found = [batch.file or "" for batch in turnwire.scan(source, wire="nslip")]
        expected = ["a.log", "sub/b.log", "sub/deep/c.log"]
        assert found == [name for name in expected if name.startswith(front)], source


@pytest.mark.parametrize("kind", [FileNotFoundError, NotADirectoryError])
def test_a_directory_that_goes_away_meanwhile_is_no_error(
    kind: type[OSError], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may have its name by then."""
    scandir = os.scandir

    def late(path: str) -> object:
        if path.endswith("deep"):
            raise kind(2, "it went away", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    assert names(tree) == ["a.log", "sub/b.log"]
