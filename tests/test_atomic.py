"""Who may do what with a file that replaces another: no more than with that one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnwire import csp
from turnwire.atomic import AtomicDirectory, AtomicFile, keep_access
from turnwire.errors import Reason, RuleError

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
    path = tmp_path / "tool"
    path.write_text("old\n")
    path.chmod(mode)
    write(path)
    assert (path.read_text(), oct(stat.S_IMODE(path.stat().st_mode))) == ("", oct(mode & 0o777))


@WRITERS
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only a superuser gives files away")
def test_a_superuser_leaves_a_file_to_its_owner(tmp_path: Path, write: Callable[..., None]) -> None:
    path = tmp_path / "tool"
    path.write_text("old\n")
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
    path = tmp_path / "file"
    path.write_text("old\n")
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
    for make in (AtomicDirectory, AtomicFile):
        with pytest.raises(OSError) as caught, make(tmp_path / "new"):
            os.stat("/nowhere/at/all")
        assert caught.value.filename == "/nowhere/at/all"
    with pytest.raises(OSError) as caught, AtomicDirectory(tmp_path / "new"):
        raise OSError(28, "No space left on device")
    assert str(caught.value.filename).endswith("new")
