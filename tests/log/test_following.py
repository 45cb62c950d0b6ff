"""``follow=True``: lines as they come, through rotation, truncation and new files, until it is closed."""

from __future__ import annotations

import gzip
import os
import queue
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.log.engines import GOOD
from tests.log.rotating import record
from tests.log.test_scan import scan_nslip, table
from turnwire import Scan
from turnwire.log.input import following, rotation

pytestmark = pytest.mark.once
LONG = 120
"""Seconds to wait for what must come; it comes at once, however slow the machine is."""
ENDLESS = 10**9
"""Seconds for which a renamed file is read on, until a test says that nobody writes to it any more: a test that comes
late, on a slow machine, is not too late."""


class Follower:
    """A scan that follows, read by a thread of its own."""

    def __init__(self, found: Scan) -> None:
        self.scan = found
        self.rows: queue.Queue[tuple[int, int]] = queue.Queue()
        self.error: BaseException | None = None
        self.looks = 0
        self._looking = threading.Lock()
        self._looking.acquire()
        stop = found._run.stop
        pause = stop.sleep

        def sleep(seconds: float) -> None:
            self.looks += 1
            self._looking.release()
            try:
                pause(seconds)
            finally:
                self._looking.acquire()

        stop.sleep = sleep  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        try:
            for batch in self.scan:
                for row in zip(batch["conv_id"].tolist(), batch["line"].tolist(), strict=True):
                    self.rows.put(row)
        except BaseException as error:
            self.error = error

    def next(self, count: int = 1) -> list[tuple[int, int]]:
        """The next rows: (conversation, line)."""
        return [self.rows.get(timeout=LONG) for _ in range(count)]

    @contextmanager
    def between_looks(self) -> Iterator[None]:
        """While this lasts nobody looks at the files: what is done to them in several steps is seen as one."""
        assert self._looking.acquire(timeout=LONG)
        try:
            yield
        finally:
            self._looking.release()

    def quiet(self, looks: int = 3) -> bool:
        """True if nothing comes for so many looks at the files, however long they take. What comes is not taken."""
        until = self.looks + looks
        return soon(lambda: self.looks >= until or not self.rows.empty()) and self.rows.empty()


@contextmanager
def followed(source: Any, **options: Any) -> Iterator[Follower]:
    follower = Follower(scan_nslip(source, follow=True, **options))
    try:
        yield follower
    finally:
        follower.scan.close()
        follower.thread.join(LONG)
    assert not follower.thread.is_alive()
    if follower.error is not None:
        raise follower.error


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "INTERVAL", 0.03)
    monkeypatch.setattr(rotation, "SETTLED", ENDLESS)


def soon(condition: Callable[[], bool]) -> bool:
    """True if something becomes true."""
    for _ in range(LONG * 50):
        if condition():
            return True
        time.sleep(0.02)
    return False


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("threads", [1, 2])
def test_new_lines_come_as_they_are_written(threads: int, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(record(0) + record(1))
    with followed(path, threads=threads) as log:
        assert log.next(2) == [(0, 1), (1, 2)]
        append(path, record(2))
        assert log.next() == [(2, 3)]
        append(path, record(3)[:7])
        assert log.quiet(), "a half-written record waits"
        assert log.scan.counts.bytes == 3 * len(record(0))
        token = log.scan.position
        append(path, record(3)[7:] + record(4))
        assert log.next(2) == [(3, 4), (4, 5)]
        append(path, b"@a3|f0 bad\n" + record(5))
        assert log.next() == [(5, 7)]
        assert [row["line"] for row in log.scan.rejects.rows()] == [6]
    assert table(scan_nslip(path, resume=token))["conv_id"] == [3, 4, 5]
    assert table(scan_nslip(path, resume=log.scan.position))["conv_id"] == []


def test_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(record(0))
    with followed(path) as log:
        assert log.next() == [(0, 1)]
        append(path, record(1) + record(2)[:9])
        assert log.next() == [(1, 2)]
        path.rename(tmp_path / "a.log.1")
        assert log.quiet(), "nobody has written a new file yet"
        append(tmp_path / "a.log.1", record(2)[9:] + record(3) + b"@a3|f0|c1")
        assert log.next(2) == [(2, 3), (3, 4)]
        (tmp_path / "new").write_bytes(record(4))
        os.replace(tmp_path / "new", path)
        assert log.next() == [(4, 1)]
        append(path, record(5))
        assert log.next() == [(5, 2)]
        append(tmp_path / "a.log.1", b"\n" + record(6))
        assert log.next() == [(6, 6)], "the old file's writer had not noticed"
        append(tmp_path / "a.log.1", b"@a3|f0|c2")
        assert log.quiet(), "its writer may go on with it"
        monkeypatch.setattr(rotation, "SETTLED", 0.2)
        assert soon(lambda: len(log.scan.rejects) == 2), "it has no more to wait for"
    assert [row["raw"] for row in log.scan.rejects.rows()] == [b"@a3|f0|c1", b"@a3|f0|c2"]
    assert log.scan.gaps == ()


@pytest.mark.parametrize("packed", [False, True])
def test_rotations_that_nobody_saw(tmp_path: Path, packed: bool) -> None:
    """Several between two looks, only the one name given: the files in between are found beside it."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    (tmp_path / "app.log.7").write_bytes(record(9))
    (tmp_path / "application.log").write_bytes(record(9))
    os.utime(tmp_path / "app.log.7", (1, 1))
    pack, ending = (gzip.compress, ".gz") if packed else (bytes, "")

    def rotate() -> None:
        for number in range(8, 0, -1):
            for end in ("", ending):
                old = tmp_path / f"app.log.{number}{end}"
                if old.exists():
                    old.rename(tmp_path / f"app.log.{number + 1}{end}")
        path.rename(tmp_path / "app.log.1")

    with followed(path) as log:
        assert log.next() == [(0, 1)]
        with log.between_looks():
            append(path, record(1))
            for number in range(2, 6):
                rotate()
                path.write_bytes(record(number) * 2)
                if packed and number > 2:
                    old = tmp_path / "app.log.1"
                    (tmp_path / "app.log.1.gz").write_bytes(pack(old.read_bytes()))
                    shutil.copystat(old, tmp_path / "app.log.1.gz")
                    old.unlink()
        assert log.next(9) == [(1, 2), *((number, line) for number in range(2, 6) for line in (1, 2))]
        assert log.quiet()


def test_truncation(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(record(0) + record(1) + record(2)[:5])
    with followed(path) as log:
        assert log.next(2) == [(0, 1), (1, 2)]
        path.write_bytes(record(7))
        assert log.next() == [(7, 1)]
        append(path, record(8))
        assert log.next() == [(8, 2)]
        path.write_bytes(b"a new beginning\n" + record(9) * 5)
        assert log.next(5) == [(9, line) for line in range(2, 7)], "it is longer than before, but begins otherwise"


def test_a_file_that_is_cut_and_grows_behind_the_same_beginning(tmp_path: Path) -> None:
    """Longer than before when the next look comes, and its first KiB is the same: all of it is new."""
    path, banner = tmp_path / "a.log", b"# the same banner\n" * 100
    path.write_bytes(banner + record(0) + record(1))
    with followed(path) as log:
        assert log.next(2) == [(0, 101), (1, 102)]
        with open(path, "r+b") as file:
            file.write(banner + b"".join(map(record, range(10, 15))))
        assert [line for _, line in log.next(5)] == list(range(101, 106))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_that_is_written_anew_between_two_looks(
    pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the look that found it as it was: what is read then is none of the old text."""
    path = tmp_path / "a.log"
    path.write_bytes(pack(record(0) + record(1)[:5]))
    begin: Any = rotation.begin
    new: list[bytes] = []

    def begun(*arguments: Any) -> Any:
        found = begin(*arguments)
        if new:
            path.write_bytes(new.pop())
        return found

    monkeypatch.setattr(rotation, "begin", begun)
    with followed(path) as log:
        assert log.next() == [(0, 1)]
        new.append(pack(b"a new beginning\n" + record(9) * 50))
        os.utime(path)
        assert log.next(50) == [(9, line) for line in range(2, 52)]
        assert log.quiet()
    reasons = [row["reason"] for row in log.scan.rejects.rows()]
    assert reasons == ["bad_framing"], "the half-written line, as it was"


def test_a_directory_with_new_and_renamed_files(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(record(0))
    with followed(tmp_path) as log:
        assert log.next() == [(0, 1)]
        (tmp_path / "b.log").write_bytes(record(1))
        assert log.next() == [(1, 1)]
        (tmp_path / "a.log").rename(tmp_path / "a.log.1")
        (tmp_path / "a.log").write_bytes(record(2))
        assert log.next() == [(2, 1)]
        append(tmp_path / "b.log", record(3))
        assert log.next() == [(3, 2)]
        assert log.quiet(), "a file that was only renamed is not read again"


def test_it_goes_on_from_a_position(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(record(0) + record(1)[:4])
    first = scan_nslip(path, resume={})
    assert table(first)["conv_id"] == [0]
    append(path, record(1)[4:])
    with followed(path, resume=first.position) as log:
        assert log.next() == [(1, 2)]


def _pipe() -> Any:
    reading, writing = os.pipe()
    os.write(writing, GOOD * 2)
    os.close(writing)
    return os.fdopen(reading, "rb")


def _url() -> Any:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/follow.log", GOOD * 2)
    return "memory://follow.log"


@pytest.mark.parametrize("source", [lambda: [GOOD, GOOD], _pipe, _url], ids=["bytes", "pipe", "url"])
def test_what_cannot_grow_is_read_to_its_end(source: Callable[[], Any]) -> None:
    read = source()
    scan = scan_nslip(read, follow=True)
    late = threading.Timer(60, scan.close)  # so that a fault does not hold the suite
    late.start()
    try:
        assert sum(map(len, scan)) == 2
        assert late.is_alive()
    finally:
        late.cancel()
        if hasattr(read, "close"):
            read.close()


def test_where_and_follow(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(record(0) + record(1))
    with followed(path, where={"conv_id": {1, 3}}) as log:
        assert log.next() == [(1, 2)]
        append(path, record(2) + record(3))
        assert log.next() == [(3, 4)]


# --- compressed files -------------------------------------------------------------------------------------------------


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(data)


PACKERS = [pytest.param(gzip.compress, id="gzip"), pytest.param(zstd, id="zstd")]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("pack", PACKERS)
def test_a_compressed_file_grows_by_members(pack: Any, threads: int, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(pack(record(0) + record(1)))
    with followed(path, threads=threads) as log:
        assert log.next(2) == [(0, 1), (1, 2)]
        append(path, pack(record(2)) + pack(record(3)[:6]))
        assert log.next() == [(2, 3)]
        member = pack(record(3)[6:] + record(4))
        append(path, member[: len(member) // 2])
        assert log.quiet(), "a half-written member waits"
        token = log.scan.position
        append(path, member[len(member) // 2 :])
        assert log.next(2) == [(3, 4), (4, 5)]
        append(path, b"\0" * 40)
        append(path, pack(b"@a3|f0 bad\n" + record(5)))
        assert log.next() == [(5, 7)]
        assert [(row["wire"], row["line"]) for row in log.scan.rejects.rows()] == [("nslip", 6)]
    assert table(scan_nslip(path, resume=token))["conv_id"] == [3, 4, 5]
    with followed(path, resume=token) as log:
        assert log.next(3) == [(3, 4), (4, 5), (5, 7)]
        append(path, pack(record(6)))
        assert log.next() == [(6, 8)]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_writer_that_flushes(kind: str, tmp_path: Path) -> None:
    """One member or frame that never ends: what was flushed can be decompressed."""
    import zstandard

    path = tmp_path / "a.log"
    if kind == "gzip":
        packer: Any = zlib.compressobj(wbits=31)
        flush = zlib.Z_SYNC_FLUSH
    else:
        packer = zstandard.ZstdCompressor(level=1).compressobj()
        flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    path.write_bytes(b"")
    with followed(path) as log:
        assert log.quiet(), "nobody knows yet whether it is compressed"
        for number in range(4):
            data = packer.compress(record(number)) + packer.flush(flush)
            append(path, data[:2])
            append(path, data[2:])
            assert log.next() == [(number, number + 1)]
    assert len(log.scan.rejects) == 0


@pytest.mark.parametrize("pack", PACKERS)
def test_rotation_and_truncation_of_compressed_files(
    pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(pack(record(0)))
    with followed(path) as log:
        assert log.next() == [(0, 1)]
        append(path, pack(record(1) * 50)[:-5])
        path.rename(tmp_path / "a.log.1")
        assert log.next(50) == [(1, line) for line in range(2, 52)] if pack is gzip.compress else log.quiet()
        path.write_bytes(record(2))
        assert log.next() == [(2, 1)], "the new file is not compressed"
        monkeypatch.setattr(rotation, "SETTLED", 0.2)
        assert soon(lambda: len(log.scan.rejects) == 1)
        rejects = log.scan.rejects.rows()
        assert [row["reason"] for row in rejects] == ["cut_off"], "nobody goes on with the old file"
        path.write_bytes(pack(record(3)))
        assert log.next() == [(3, 1)], "it is compressed now"
        append(path, pack(record(4)))
        assert log.next() == [(4, 2)]
        path.write_bytes(b"")
        assert log.quiet()
        append(path, pack(record(5)))
        assert log.next() == [(5, 1)]
    assert len(log.scan.rejects) == 1


@pytest.mark.parametrize("pack", PACKERS)
def test_damage_ends_a_compressed_file_at_once(pack: Any, tmp_path: Path) -> None:
    """It is said when it is met, not silently waited for."""
    path = tmp_path / "a.log"
    path.write_bytes(pack(record(0)) + b"this is not a member")
    with followed(path) as log:
        assert log.next() == [(0, 1)]
        assert log.quiet()
        assert [row["reason"] for row in log.scan.rejects.rows()] == ["trailing_junk"]
        append(path, pack(record(1)))
        assert log.quiet(), "nothing behind it can be trusted"
        path.write_bytes(pack(record(2)))
        assert log.next() == [(2, 1)], "it was written anew"
    assert len(log.scan.rejects) == 1
