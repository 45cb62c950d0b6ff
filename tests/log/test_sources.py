"""Sources: files, folders, globs, pipes, sockets and open files give the same columns for the same bytes."""

from __future__ import annotations

import array
import errno
import gzip
import io
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.cli.running import needs_posix, unprivileged
from tests.conftest import put, raised
from tests.log.engines import GOOD, UPSTREAM
from tests.log.rotating import record, stepped
from tests.log.test_scan import everything, scan_nslip, table
from turnwire.errors import FileRefused
from turnwire.log import plan, read_block
from turnwire.log.input.sources import names_files, read_once

pytestmark = pytest.mark.once
both_cores = pytest.mark.usefixtures("scan_core")
DATA = b"".join(UPSTREAM.read_bytes().splitlines(keepends=True)[:8]) + b"@a3|f0 bad " + GOOD + b"\r\n" + GOOD[:-2]


class Trickle(io.RawIOBase):
    """A file that gives a few bytes at a time, and has no ``readinto`` where told so."""

    def __init__(self, data: bytes, most: int) -> None:
        self._data = io.BytesIO(data)
        self._most = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(memoryview(buffer)[: self._most])


class OnlyRead:
    """The least that is a file."""

    name = 7

    def __init__(self, data: bytes, most: int) -> None:
        self._data = io.BytesIO(data)
        self._most = most

    def read(self, size: int) -> bytes:
        return self._data.read(min(size, self._most))


def piped(data: bytes) -> Any:
    """The reading end of a pipe into which a thread writes."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    threading.Thread(target=write).start()
    return os.fdopen(reading, "rb")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "str": str,
    "path": lambda path: path,
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "a part of a memoryview": lambda path: memoryview(b"@a1#" + path.read_bytes() + b"@a1#")[4:-4],
    "numpy": lambda path: np.frombuffer(path.read_bytes(), np.uint8),
    "array": lambda path: array.array("b", path.read_bytes()),
    "two dimensions": lambda path: memoryview(path.read_bytes()).cast("B", (1, path.stat().st_size)),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "file": lambda path: path.open("rb"),
    "one byte a read": lambda path: Trickle(path.read_bytes(), 1),
    "64 bytes a read": lambda path: Trickle(path.read_bytes(), 64),
    "read alone": lambda path: OnlyRead(path.read_bytes(), 33),
    "pipe": lambda path: piped(path.read_bytes()),
    "list of one": lambda path: [path.read_bytes()],
    "nested lists": lambda path: [[], ([path.read_bytes()],)],
}

NAMED = ("str", "path", "file")


@cache
def expected_of(core: str) -> tuple[Any, ...]:
    """The results of a scan of the bytes themselves; by the core in use, which has that name."""
    return everything(scan_nslip(DATA))


@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_source(name: str, borrow: bool, tmp_path: Path, scan_core: str) -> None:
    path = put(tmp_path / "a.log", DATA)
    expected = expected_of(scan_core)
    assert len(expected[0]["offset"]) == 9
    for batch_bytes in (8 << 20, 30):
        source = SOURCES[name](path)
        columns, rejects, counts = everything(scan_nslip(source, borrow=borrow, batch_bytes=batch_bytes))
        file = str(path) if name in NAMED else None
        if file:
            assert set(columns["file"]) == {file}
        for row in rejects:
            assert row.pop("file") == file
        columns.pop("file")
        assert ({**columns, "file": expected[0]["file"]}, counts) == (expected[0], expected[2])
        assert rejects == [{key: value for key, value in row.items() if key != "file"} for row in expected[1]]
        if hasattr(source, "close"):
            source.close()


def test_an_open_file_has_a_name_and_a_position(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", b"@a1| " + GOOD)
    for borrow in (False, True):
        with path.open("rb") as file:
            file.seek(5)
            (batch,) = scan_nslip(file, borrow=borrow)
            assert (batch.file, batch["offset"].tolist()) == (str(path), [0])
            assert not file.closed
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert [len(batch) for batch in scan_nslip(mapped)] == [1]


def test_files_of_several_kinds_in_order(tmp_path: Path) -> None:
    for name, src in (("b.log", b"1"), ("a.log", b"2"), ("sub/c.log", b"3")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\n" + GOOD.replace(b"S0", b"S" + src))
    os.mkfifo(tmp_path / "fifo")
    os.symlink(tmp_path, tmp_path / "sub" / "loop")
    os.symlink("nowhere", tmp_path / "dangling")
    (tmp_path / "empty.log").touch()

    def sources(source: Any) -> list[Any]:
        columns = everything(scan_nslip(source))[0]
        assert columns["record"] == list(range(len(columns["src"])))
        assert set(columns["line"]) == {2}
        assert set(columns["offset"]) == {1}
        return columns["src"]

    assert sources(tmp_path) == [2, 1, 3]
    assert sources(str(tmp_path / "*.log")) == [2, 1]
    os.symlink("b.log", tmp_path / "a link to b.log")
    assert sources(str(tmp_path / "**" / "[bc].log")) == [1, 3]
    assert sources([tmp_path / "b.log", tmp_path / "a.log", b"\n" + GOOD]) == [1, 2, 0]
    (tmp_path / "[bc].log").write_bytes(b"\n" + GOOD.replace(b"S0", b"S9"))
    assert sources(str(tmp_path / "[bc].log")) == [9]


def test_a_file_that_is_named_again_is_read_once(tmp_path: Path) -> None:
    path, link = tmp_path / "a.log", tmp_path / "linked"
    path.write_bytes(GOOD)
    link.symlink_to(path)
    for again in (path, str(path), tmp_path, link, str(tmp_path / "*.log"), tmp_path / ".." / tmp_path.name / "a.log"):
        assert table(scan_nslip([path, GOOD, again, GOOD]))["file"] == [str(path), None, None], again


ROTATED = [
    ["app.log.10", "app.log.9", "app.log.2.gz", "app.log.1", "app.log"],
    ["app.log-20251231.gz", "app.log-20260102", "app.log"],
    ["app-2026-01-02.log", "app-2026-01-10.log.gz", "app.log", "other.log.2", "other.log.1", "other.log"],
    ["app.log.2025-12-31.1", "app.log.2026-01-01", "app.log.1", "app.log.old", "app.log"],
    ["app.log.3", "app.log.2.gz"],
    ["app_2.log", "app_1.log", "app.log", "b/app.log.1", "b/app.log"],
    ["agent-1.log", "agent-2.log", "part.1", "part.2", "run-2025.log", "run-2026.log"],
]
"""Files of a folder in the order in which they are read."""


@pytest.mark.parametrize("names", ROTATED, ids=" ".join)
def test_rotated_files_are_read_oldest_first(names: list[str], tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [str(tmp_path / name) for name in names]
    for number, path in reversed(list(enumerate(paths))):  # written in an order that says nothing
        data = record(number) + b"\n"
        Path(path).write_bytes(gzip.compress(data) if path.endswith(".gz") else data)

    def order(source: Any, **options: Any) -> list[str]:
        return list(dict.fromkeys(table(scan_nslip(source, **options))["file"]))

    for source in (tmp_path, str(tmp_path / "**")):
        for options in ({}, {"resume": {}}, {"threads": 2}):
            assert order(source, **options) == paths, (source, options)
    assert list(dict.fromkeys(name for block in plan(tmp_path, block_bytes=1) for name in [block.file])) == paths
    assert stepped(tmp_path)[0] == [list(range(len(paths)))]


def test_a_list_keeps_its_order_but_for_rotated_files_of_one_log(tmp_path: Path) -> None:
    for name in ("b.log", "app.log", "app.log.1", "a.log"):
        (tmp_path / name).write_bytes(GOOD + b"\n")
    given = [GOOD, tmp_path / "b.log", tmp_path / "app.log", GOOD, [tmp_path / "a.log"], tmp_path / "app.log.1"]
    read = [name and Path(name).name for name in table(scan_nslip(given))["file"]]
    assert read == [None, "b.log", "app.log.1", None, "a.log", "app.log"]
    scan = scan_nslip([tmp_path / "app.log", tmp_path / "app.log.1", tmp_path / "no*"])
    steps = iter(scan)
    assert [next(steps).file, next(steps).file] == [str(tmp_path / "app.log.1"), str(tmp_path / "app.log")]
    raised(FileNotFoundError, next, steps)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for source in (tmp_path / "no.log", str(tmp_path / "*.log"), [b"", tmp_path / "no.log"]):
        found = scan_nslip(source)
        caught = raised(FileNotFoundError, list, found)
        assert str(tmp_path) in str(caught)
    (tmp_path / "empty").mkdir()
    assert list(scan_nslip(tmp_path / "empty")) == []


def test_a_file_that_disappears(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(GOOD)
    found = scan_nslip(tmp_path)
    batches = iter(found)
    assert len(next(batches)) == 1
    (tmp_path / "b").unlink()
    with pytest.warns(FileRefused, match="b"):
        assert list(batches) == []
    assert [type(error) for error in found.refused] == [FileNotFoundError]


@pytest.mark.skipif(not hasattr(signal, "SIGBUS"), reason="there is no such signal here")
def test_a_borrowed_file_that_shrinks_ends_the_process(tmp_path: Path) -> None:
    """As the documents say; without borrow= it is read, and what is gone is not missed."""
    path = tmp_path / "a.log"
    code = (
        "import os, turnwire\n"
        f"batches = iter(turnwire.scan({str(path)!r}, wire='nslip', borrow=True, batch_bytes=1 << 16, threads=1))\n"
        f"next(batches); os.truncate({str(path)!r}, 100); list(batches)"
    )
    path.write_bytes((GOOD + b"\n") * 10_000)
    batches = iter(turnwire.scan(path, wire="nslip", batch_bytes=1 << 16, threads=1))
    assert len(next(batches)) > 0
    os.truncate(path, 100)
    list(batches)
    path.write_bytes((GOOD + b"\n") * 10_000)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGBUS, done.stderr


def test_what_is_no_source() -> None:
    for wrong in (5, None, object(), {"a.log"}, [3], io.StringIO("@"), memoryview(DATA)[::2]):
        for borrow in (False, True):
            with pytest.raises(TypeError):
                list(scan_nslip(wrong, borrow=borrow))


def test_a_file_that_is_not_ready_is_an_error() -> None:
    class NotReady:
        def read(self, size: int) -> bytes | None:
            return None

    with pytest.raises(BlockingIOError):
        list(scan_nslip(NotReady()))


@both_cores
def test_borrowed_memory_is_looked_into() -> None:
    data = bytearray(GOOD)
    (batch,) = scan_nslip(data, borrow=True)
    raised(BufferError, data.append, 0)
    data[3 + data.index(b"hello")] = ord("p")
    assert batch["tag"][0] == "helpo"
    (copied,) = scan_nslip(data)
    data[3 + data.index(b"helpo")] = ord("x")
    assert (batch["tag"][0], copied["tag"][0]) == ("helxo", "helpo")


def test_a_mapped_file_stays_while_a_batch_looks_into_it(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", GOOD * 3)
    (batch,) = scan_nslip(path, borrow=True)
    path.unlink()
    assert list(batch["tag"]) == ["hello"] * 3


LINE = b"@a3|f0|c1|S0|d1|T1#\n"


class Named(os.PathLike[bytes]):
    """A path as bytes."""

    def __init__(self, path: Any) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


def test_a_path_of_bytes_that_is_no_text_is_read(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.log"
    Path(os.fsdecode(path)).write_bytes(LINE)
    assert [batch.file for batch in turnwire.scan(Named(path), wire="nslip")] == [os.fsdecode(path)]


def test_what_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for source in (tmp_path / "s", "/dev/null"):
            assert (read_once(source), names_files(source)) == ("a device or socket", False)
    assert (read_once(tmp_path / "fifo"), names_files(tmp_path / "fifo")) == ("a pipe", False)
    assert (read_once(tmp_path), names_files(tmp_path)) == (None, True)


def test_a_glob_that_matches_nothing_for_the_moment_keeps_no_other_source_back(tmp_path: Path) -> None:
    folder, first = tmp_path / "folder", tmp_path / "a1.txt"
    folder.mkdir()
    first.write_bytes(record(0))
    found = stepped(
        [f"{tmp_path}/a*.txt", folder],
        first.unlink,
        lambda: (folder / "b.log").write_bytes(record(1)),
        lambda: (tmp_path / "a2.txt").write_bytes(record(2)),
    )
    assert found[0] == [[0], [], [1], [2]]


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


RECORD = "@a3|f0|c1|S0|d1|T1#\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("tree/a.log", "tree/sub/b.log", "tree/sub/deep/c.log", "elsewhere/e.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RECORD)
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


@needs_posix
@pytest.mark.parametrize("options", [{}, {"threads": 3}, {"resume": {}}])
@pytest.mark.parametrize("closed", ["sub/b.log", "sub/deep", "sub"])
@pytest.mark.parametrize("mode", [0, 0o400])
def test_what_cannot_be_read_in_a_folder_is_named_and_the_rest_is_read(
    mode: int, closed: str, options: dict[str, Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(table(scan_nslip(tree, **options))["line"]) == 3  # imports it all
    monkeypatch.chdir(tree)
    kept = [name for name in names(tree) if not name.startswith(closed)]
    Path(closed).chmod(0 if closed.endswith(".log") else mode)
    with unprivileged():
        found = scan_nslip(".", **options)
        with pytest.warns(FileRefused):
            assert list(table(found)["file"]) == kept
        assert {type(error) for error in found.refused} == {PermissionError}
        assert all(str(error.filename).startswith(closed) for error in found.refused)
        with pytest.raises(PermissionError):
            list(scan_nslip(".", errors="raise", **options))
        with pytest.warns(FileRefused):
            assert sum(len(batch) for block in plan(".", wire="nslip") for batch in read_block(block)) == len(kept)
    Path(closed).chmod(0o755)


@needs_posix
def test_a_folder_in_which_nothing_can_be_read_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    (tree / "sub").chmod(0)
    with unprivileged(), pytest.raises(PermissionError) as caught:
        list(scan_nslip("sub"))
    assert caught.value.filename == "sub"
    (tree / "sub").chmod(0o755)


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


class StoredPath:
    """A path of fsspec as UPath is one: it says where it is, and opens itself."""

    def __init__(self, storage: Any, path: str) -> None:
        self.fs, self.path = storage, path

    def open(self, mode: str = "rb") -> Any:
        raise AssertionError("a scan opens what it reads itself")


def test_paths_and_open_files_of_fsspec_are_taken(tmp_path: Path) -> None:
    fsspec: Any = pytest.importorskip("fsspec")
    memory: Any = fsspec.filesystem("memory")
    memory.pipe("/stored/a.log", DATA)
    memory.pipe("/stored/b.log.gz", gzip.compress(DATA))
    (tmp_path / "a.log").write_bytes(DATA)
    local = fsspec.filesystem("file")
    expected = everything(scan_nslip(DATA))
    for source, file in (
        (fsspec.open("memory:///stored/a.log"), "memory:///stored/a.log"),
        (fsspec.open("memory:///stored/b.log.gz", "rt", compression="gzip"), "memory:///stored/b.log.gz"),
        (StoredPath(memory, "/stored/a.log"), "memory:///stored/a.log"),
        (fsspec.open(str(tmp_path / "a.log")), str(tmp_path / "a.log")),
        (StoredPath(local, str(tmp_path / "a.log")), str(tmp_path / "a.log")),
    ):
        found = scan_nslip(source)
        columns, rejects, counts = everything(found)
        assert set(columns["file"]) == {file} and file in found._repr_html_()
        assert {**columns, "file": expected[0]["file"]} == expected[0] and counts == expected[2]
        assert [{**row, "file": None} for row in rejects] == expected[1]
        assert everything(found)[2] == counts, "it can be read again"
    both = scan_nslip([StoredPath(memory, "/stored"), *fsspec.open_files("memory:///stored/*.log")])
    assert {batch.file for batch in both} == {"memory:///stored/a.log", "memory:///stored/b.log.gz"}
    assert names_files(StoredPath(local, str(tmp_path / "a.log"))) and not names_files(StoredPath(memory, "/stored"))
    with pytest.raises(OSError, match="memory:///stored/none"):
        list(scan_nslip(StoredPath(memory, "/stored/none")))


def test_upath_is_taken(tmp_path: Path) -> None:
    upath: Any = pytest.importorskip("upath")
    target = upath.UPath("memory:///upath/a.log")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(DATA)
    (tmp_path / "a.log").write_bytes(DATA)
    for source in (target, target.parent, upath.UPath(tmp_path / "a.log")):
        assert everything(scan_nslip(source))[2] == everything(scan_nslip(DATA))[2]
