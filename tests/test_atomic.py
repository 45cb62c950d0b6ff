"""Files that appear whole or not at all: who may do what with one that replaces another (no more than with that one),
what is left of one that did not, and what is said before and after."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, raised
from turnwire import atomic, csp
from turnwire.atomic import PREFIX, SUFFIX, AtomicFile, keep_access
from turnwire.errors import NotFlushed, Reason, RuleError

pytestmark = [pytest.mark.once, pytest.mark.skipif(not hasattr(os, "fchmod"), reason="no permissions to keep")]


def by_file(path: Path) -> None:
    with AtomicFile(path):
        pass  # a write would drop the bits of itself


def by_operation(path: Path) -> None:
    diff = "@@ -1,1 +0,0 @@\n-old\n"
    csp.FileOp("F1", "PATCH", {"PATH": path.name, "CONTENT": diff}).apply(path.parent)


WRITERS = pytest.mark.parametrize("write", [by_file, by_operation])


@WRITERS
@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6770, 0o600, 0o444, 0o1644])
def test_nothing_runs_as_somebody_else_by_what_was_written(
    tmp_path: Path, mode: int, write: Callable[..., None]
) -> None:
    path = put(tmp_path / "tool", "old\n")
    path.chmod(mode)
    write(path)
    assert (path.read_text(), oct(stat.S_IMODE(path.stat().st_mode))) == ("", oct(mode & 0o777))


@WRITERS
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only a superuser gives files away")
def test_a_superuser_leaves_a_file_to_its_owner(tmp_path: Path, write: Callable[..., None]) -> None:
    path = put(tmp_path / "tool", "old\n")
    os.chown(path, 12345, 54321)
    path.chmod(0o6750)
    write(path)
    status = path.stat()
    assert (status.st_uid, status.st_gid, oct(status.st_mode & 0o7777)) == (12345, 54321, "0o750")


@WRITERS
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o644, 0o666])
def test_what_replaces_a_file_is_never_open_to_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, write: Callable[..., None]
) -> None:
    """Looked at before and after each call of the system that a writer makes, whatever the umask lets through."""
    path = put(tmp_path / "file", "old\n")
    path.chmod(mode)
    seen = set()

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            try:
                return real(*arguments, **more)
            finally:
                seen.update(stat.S_IMODE(one.lstat().st_mode) for one in tmp_path.iterdir())

        return call

    for name in ("open", "fchmod", "fchown", "fsync", "fstat", "replace", "rename", "close"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    before = os.umask(0)
    try:
        write(path)
    finally:
        os.umask(before)
        monkeypatch.undo()
    assert path.read_text() == ""
    assert seen and all(one & ~mode == 0 for one in seen), sorted(map(oct, seen))


@pytest.mark.parametrize(
    ("mode", "kept"), [(0o640, 0o600), (0o664, 0o644), (0o660, 0o600), (0o755, 0o755), (0o666, 0o666)]
)
def test_another_group_may_do_what_everybody_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, kept: int
) -> None:
    """A file of a group that this process is not in: whoever is in its own group could not read that file, either."""

    def denied(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", denied)
    with open(tmp_path / "new", "wb") as file:
        own = list(os.fstat(file.fileno()))
        own[stat.ST_MODE], own[stat.ST_GID] = stat.S_IFREG | mode, own[stat.ST_GID] + 1
        keep_access(file.fileno(), os.stat_result(own))
        assert oct(stat.S_IMODE(os.fstat(file.fileno()).st_mode)) == oct(kept)


def test_a_text_that_is_none_changes_nothing(tmp_path: Path) -> None:
    """FILEOP by hand with half a character: a refusal as any other."""
    (tmp_path / "a").write_text("old\n")
    for word, name in (("CREATE", "b"), ("PATCH", "a")):
        with pytest.raises(RuleError) as caught:
            csp.FileOp("F1", word, {"PATH": name, "CONTENT": "@@ -1 +1 @@\n-old\n+\ud800\n"}).apply(tmp_path)
        assert caught.value.reason is Reason.LONE_SURROGATE
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old\n"}


def test_an_error_keeps_the_name_of_another_file(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, AtomicFile(tmp_path / "new"):
        os.stat("/nowhere/at/all")
    assert caught.value.filename == "/nowhere/at/all"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was written by this process, and nothing of it is begun."""
    monkeypatch.setattr(atomic, "_swept", set())


LEFT = {
    ".turnwire-0123.tmp": True, ".turnwire-.tmp": True, ".turnwire-0123.tmp.gz": False, "turnwire-0123.tmp": False,
    ".turnwire-0123": False, "x.turnwire-1.tmp": False, "other": False,
}  # fmt: skip
"""Names that a killed process may have left, and whether they are those of temporary files."""


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("kind", ["file", "folder", "full folder"])
@pytest.mark.parametrize("held", [False, True])
def test_what_the_dead_left_is_removed(tmp_path: Path, kind: str, held: bool) -> None:
    """Files and folders, by whoever writes there next; not what somebody holds, nor what has another name."""
    for name in LEFT:
        if kind == "file":
            (tmp_path / name).write_text("half")
        else:
            (tmp_path / name).mkdir()
            if kind == "full folder":
                (tmp_path / name / "inside").mkdir()
                (tmp_path / name / "inside" / "file").write_text("half")
    holding = [os.open(tmp_path / name, os.O_RDONLY) for name in LEFT if held]
    try:
        for descriptor in holding:
            assert atomic.hold(descriptor)
        with AtomicFile(tmp_path / "new") as file:
            file.write(b"whole")
        kept = [name for name, temporary in LEFT.items() if held or not temporary]
        assert sorted(os.listdir(tmp_path)) == sorted([*kept, "new"])
    finally:
        for descriptor in holding:
            os.close(descriptor)


@pytest.mark.usefixtures("fresh")
def test_a_directory_that_is_open_is_swept_of_files_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}1{SUFFIX}").write_text("half")
    (tmp_path / f"{PREFIX}2{SUFFIX}").mkdir()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        atomic.sweep(descriptor)
    finally:
        os.close(descriptor)
    assert os.listdir(tmp_path) == [f"{PREFIX}2{SUFFIX}"]
    atomic.sweep(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "refused"),
    [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True), (errno.ENOSPC, True), (errno.EBADF, True)],
)
def test_names_that_a_file_system_cannot_flush(
    tmp_path: Path, unflushed: Callable[..., None], number: int, refused: bool
) -> None:
    """If it never can, nothing is wrong; if it failed now, what is written is there and is said to be."""
    unflushed(number, folder=tmp_path)
    with pytest.raises(NotFlushed) if refused else nullcontext() as caught, AtomicFile(tmp_path / "new"):
        pass
    assert os.listdir(tmp_path) == ["new"]
    if caught is not None:
        assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / "new"))


@pytest.mark.parametrize("there", [True, False])
def test_a_name_that_ends_with_a_slash_is_no_name_of_a_file(tmp_path: Path, there: bool) -> None:
    place = tmp_path / "a.log"
    if there:
        place.write_text("old")
    for slash in ("/", "//"):
        file = AtomicFile(f"{place}{slash}")
        for begin in (file.__enter__, file.expect):
            caught = raised(IsADirectoryError, begin)
            assert caught.filename == f"{place}{slash}"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"] * there


@pytest.mark.parametrize("there", ["nothing", "file", "folder", "nowhere", "pipe"])
def test_whether_a_file_can_be_written_is_said_before(tmp_path: Path, there: str) -> None:
    """Nothing is left or changed by the question, and a pipe is not opened for it."""
    place = tmp_path / ("none/new" if there == "nowhere" else "new")
    if there == "file":
        place.write_text("old")
    elif there == "folder":
        place.mkdir()
    elif there == "pipe":
        os.mkfifo(place)
    before = sorted(os.listdir(tmp_path))
    wrong = {"folder": IsADirectoryError, "nowhere": FileNotFoundError}.get(there)
    with nullcontext() if wrong is None else pytest.raises(wrong):
        AtomicFile(place).expect()
    assert sorted(os.listdir(tmp_path)) == before
    assert there != "file" or place.read_text() == "old"
