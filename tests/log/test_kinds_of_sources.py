"""What is known of each kind of source before it is read: its bytes, whether it can be read again, whether it grows."""

from __future__ import annotations

import errno
import io
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.rotating import record
from tests.log.test_follow import followed
from turnwire.log.input import following
from turnwire.log.input.sources import Source, is_within, names_files, read_once, sources

pytestmark = pytest.mark.once

LINE = b"@a3|f0|c1|S0|d1|T1#\n"


class Named(os.PathLike[bytes]):
    """A path as bytes."""

    def __init__(self, path: Any) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


@pytest.fixture
def there(tmp_path: Path) -> dict[str, Any]:
    """A source of each kind, by its name."""
    for name in ("a.log", "folder/b.log", "empty.log"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"" if name == "empty.log" else LINE)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.log")
    (tmp_path / "link to a pipe").symlink_to("pipe")
    found: dict[str, Any] = {name: str(tmp_path / name) for name in ("pipe", "link", "link to a pipe", "gone.log")}
    found |= {name: tmp_path / name for name in ("a.log", "empty.log", "folder")}
    found |= {"glob": f"{tmp_path}/*.log", "device": "/dev/null", "-": "-", "url": "memory://there/a.log"}
    found |= {"all": f"{tmp_path}/*", "a path of bytes": Named(tmp_path / "a.log"), "- in bytes": Named("-")}
    return found | {"bytes": LINE, "view": memoryview(LINE * 4).cast("i"), "file": io.BytesIO(LINE)}


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("a.log", [20]),
        ("empty.log", [0]),
        ("link", [20]),
        ("folder", [20]),
        ("glob", [20, 0]),
        ("all", [20, 0]),
        ("a path of bytes", [20]),
        ("bytes", [20]),
        ("view", [80]),
        ("gone.log", [None]),
        ("pipe", [None]),
        ("link to a pipe", [None]),
        ("device", [None]),
        ("file", [None]),
        ("-", [None]),
    ],
)
def test_how_many_bytes_are_stored(there: dict[str, Any], kind: str, sizes: list[int | None]) -> None:
    """None where only reading tells: a total of 0 would be one."""
    assert [source.bytes() for source in sources(there[kind])] == sizes


def test_how_many_bytes_are_stored_where_no_file_has_the_name() -> None:
    assert Source("memory://there/a.log", open=open, size=7).bytes() == 7
    fsspec: Any = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/kinds/a.log", LINE)
    assert [source.bytes() for source in sources("memory:///kinds/a.log")] == [20]


def test_a_path_of_bytes_that_is_no_text_is_read(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.log"
    Path(os.fsdecode(path)).write_bytes(LINE)
    assert [batch.file for batch in turnwire.scan(Named(path), wire="nslip")] == [os.fsdecode(path)]


@pytest.mark.parametrize(
    ("kind", "once", "grows"),
    [
        ("a.log", None, True),
        ("link", None, True),
        ("folder", None, True),
        ("glob", None, True),
        ("gone.log", None, True),
        ("bytes", None, False),
        ("view", None, False),
        ("url", None, False),
        ("pipe", "a pipe", False),
        ("link to a pipe", "a pipe", False),
        ("device", "a device or socket", False),
        ("file", "a file object", False),
        ("-", "standard input", False),
        ("- in bytes", "standard input", False),
    ],
)
def test_what_is_read_again_and_what_grows(there: dict[str, Any], kind: str, once: str | None, grows: bool) -> None:
    """In a list it is enough that one source grows, or is read only once."""
    source = there[kind]
    assert (read_once(source), names_files(source)) == (once, grows)
    for many in ([source, LINE], [LINE, source], [[LINE], [source]], (source,)):
        assert (read_once(many), names_files(many)) == (once, grows)
    for many in ([source, there["a.log"]], [there["a.log"], source]):
        assert (read_once(many), names_files(many)) == (once, True)
    assert (read_once([]), names_files([])) == (None, False)


def test_what_a_path_leads_to_need_not_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with NUL leads nowhere; a disk can be read again."""
    assert read_once("a\0b") is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda _: os.stat_result((stat.S_IFBLK, *range(9))))
        once = read_once("/dev/disk")
    assert once is None


def test_what_is_within_a_folder_or_fits_a_glob(tmp_path: Path) -> None:
    """A file whose own name has signs of a glob is no glob."""
    path, other = tmp_path / "a1.log", tmp_path / "a[1].log"
    for source in (tmp_path, Named(tmp_path), [LINE, tmp_path], [tmp_path, LINE], str(other), tmp_path / "*.log"):
        assert is_within(source, str(path)), source
    other.write_bytes(LINE)
    for source in (str(other), str(path), LINE, [], tmp_path / "b"):
        assert not is_within(source, str(path)), source


def test_a_socket_is_read_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert (read_once(tmp_path / "s"), names_files(tmp_path / "s")) == ("a device or socket", False)


def test_what_is_in_a_folder_itself_goes_before_what_links_lead_to(tmp_path: Path) -> None:
    """Each of two folders has a link to the other one, so that either is met before the link is followed."""
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.log").write_bytes(LINE)
        (tmp_path / name / "over").symlink_to(f"../{other}")
    names = [batch.file for batch in turnwire.scan(tmp_path, wire="nslip")]
    assert names == [str(tmp_path / name / "x.log") for name in ("a", "b")]


def test_a_glob_that_matches_nothing_for_the_moment_keeps_no_other_source_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "INTERVAL", 0.01)
    folder, first = tmp_path / "folder", tmp_path / "a1.txt"
    folder.mkdir()
    first.write_bytes(record(0))
    with followed([f"{tmp_path}/a*.txt", folder]) as log:
        assert log.next() == [(0, 1)]
        first.unlink()
        assert log.quiet()
        (folder / "b.log").write_bytes(record(1))
        assert log.next() == [(1, 1)]
        (tmp_path / "a2.txt").write_bytes(record(2))
        assert log.next() == [(2, 1)]


ERRORS = [
    (FileNotFoundError("a key"), FileNotFoundError, errno.ENOENT),
    (FileNotFoundError(errno.ENOENT, "no such"), FileNotFoundError, errno.ENOENT),
    (PermissionError("no"), PermissionError, errno.EACCES),
    (PermissionError(errno.EPERM, "no"), PermissionError, errno.EPERM),
    (OSError(errno.ENOSPC, "full"), OSError, errno.ENOSPC),
    (OSError("nobody answers"), OSError, errno.EIO),
    (ValueError("a word"), OSError, errno.EIO),
    (RuntimeError(), OSError, errno.EIO),
]


@pytest.mark.parametrize(("raised", "kind", "number"), ERRORS, ids=lambda one: repr(one))
@pytest.mark.parametrize("when", ["open", "read"])
def test_what_a_storage_raises_names_the_url(
    raised: Exception, kind: type[OSError], number: int, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = _stored(raised, when, monkeypatch)
    with pytest.raises(OSError, match=r".") as caught:
        list(turnwire.scan(url, wire="nslip"))
    assert (type(caught.value), caught.value.errno, caught.value.filename) == (kind, number, url)
    assert caught.value.strerror


@pytest.mark.parametrize("raised", [MemoryError(), KeyboardInterrupt(), turnwire.MissingDependency("x")], ids=repr)
@pytest.mark.parametrize("when", ["open", "read"])
def test_what_is_no_error_of_a_storage_stays_what_it_is(
    raised: BaseException, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(type(raised)) as caught:
        list(turnwire.scan(_stored(raised, when, monkeypatch), wire="nslip"))
    assert caught.value is raised


def _stored(raised: BaseException, when: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a file that raises when it is opened, or read."""
    fsspec: Any = pytest.importorskip("fsspec")
    memory: Any = fsspec.filesystem("memory")
    memory.pipe("/kinds/a.log", LINE)

    def fail(*_: object, **__: object) -> None:
        raise raised

    if when == "open":
        monkeypatch.setattr(type(memory), "open", fail)
    else:
        monkeypatch.setattr(type(memory.open("/kinds/a.log")), "readinto", fail)
    return "memory:///kinds/a.log"


def test_lines_go_on_in_the_copy_of_a_log_that_was_cut_and_begins_again_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "INTERVAL", 0.01)
    path = tmp_path / "app.log"
    path.write_bytes(record(0) + record(1))
    with followed(path) as log:
        assert log.next(2) == [(0, 1), (1, 2)]
        with log.between_looks():
            (tmp_path / "app.log.1").write_bytes(b"".join(map(record, range(4))))
            path.write_bytes(b"".join(map(record, (0, 1, 4))))
        found = log.next(3)
        assert sorted(found) == [(2, 3), (3, 4), (4, 3)]
