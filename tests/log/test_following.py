"""``follow=True``: lines as they come, through rotation, truncation and new files, until it is closed."""

from __future__ import annotations

import gzip
import os
import random
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put
from tests.log.engines import GOOD
from tests.log.rotating import (
    BANNER,
    ENDLESS,
    Log,
    append,
    followed,
    in_steps,
    numbers_of,
    packed,
    record,
    run,
    soon,
    stepped,
)
from tests.log.test_scan import scan_nslip
from turnwire import scan
from turnwire.log.input import rotation

pytestmark = pytest.mark.once
LATER = 1 << 31
"""When files were written, in seconds: behind all that is written now."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "SETTLED", 0.0)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "INTERVAL", 0.03)
    monkeypatch.setattr(rotation, "SETTLED", ENDLESS)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("threads", [1, 2])
def test_new_lines_come_as_they_are_written(threads: int, tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", record(0) + record(1))
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
    assert numbers_of(scan_nslip(path, resume=token)) == [3, 4, 5]
    assert numbers_of(scan_nslip(path, resume=log.scan.position)) == []


@pytest.mark.usefixtures("often")
def test_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.log", record(0))
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


def test_truncation(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", record(0) + record(1) + record(2)[:5])
    longer = b"a new beginning\n" + record(9) * 5  # than before, but it begins otherwise
    seen, _ = stepped(
        path, lambda: path.write_bytes(record(7)), lambda: append(path, record(8)), lambda: path.write_bytes(longer)
    )
    assert seen == [[0, 1], [7], [8], [9] * 5]


def test_a_file_that_is_cut_and_grows_behind_the_same_beginning(tmp_path: Path) -> None:
    """Longer than before when the next look comes, and its first KiB is the same: all of it is new."""
    path = put(tmp_path / "a.log", BANNER + record(0) + record(1))
    more = BANNER + b"".join(map(record, range(10, 15)))
    assert stepped(path, lambda: path.write_bytes(more), column="line")[0] == [[51, 52], list(range(51, 56))]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_that_is_written_anew_between_two_looks(
    pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the look that found it as it was: what is read then is none of the old text."""
    path = put(tmp_path / "a.log", pack(record(0) + record(1)[:5]))
    begin: Any = rotation.begin
    new: list[bytes] = []

    def begun(*arguments: Any) -> Any:
        found = begin(*arguments)
        if new:
            path.write_bytes(new.pop())
        return found

    def write() -> None:
        new.append(pack(b"a new beginning\n" + record(9) * 50))
        os.utime(path)

    monkeypatch.setattr(rotation, "begin", begun)
    seen, found = in_steps(path, write, column="line")
    assert seen == [[1], list(range(2, 52))]
    assert found.rejects["reason"] == ["bad_framing"], "the half-written line, as it was"


def test_it_goes_on_from_a_position_and_gives_what_is_wanted(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", record(0) + record(1)[:4])
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    append(path, record(1)[4:])
    assert stepped(path, lambda: append(path, record(2)), resume=first.position) == ([[1], [2]], [])
    found = stepped(path, lambda: append(path, record(3) + record(4)), where={"conv_id": {1, 3}})
    assert found == ([[1], [3]], [])


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


# --- compressed files -------------------------------------------------------------------------------------------------


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(data)


PACKERS = pytest.mark.parametrize("pack", [pytest.param(gzip.compress, id="gzip"), pytest.param(zstd, id="zstd")])


@pytest.mark.parametrize("threads", [1, 2])
@PACKERS
def test_a_compressed_file_grows_by_members(pack: Any, threads: int, tmp_path: Path) -> None:
    path, member = tmp_path / "a.log", pack(record(3)[6:] + record(4))
    half = len(member) // 2
    path.write_bytes(pack(record(0) + record(1)))
    seen, found = in_steps(
        path,
        lambda: append(path, pack(record(2)) + pack(record(3)[:6])),
        lambda: append(path, member[:half]),
        threads=threads,
    )
    assert seen == [[0, 1], [2], []], "a half-written member waits"
    append(path, member[half:])
    assert numbers_of(scan_nslip(path, resume=found.position)) == [3, 4]
    bad = b"\0" * 40 + pack(b"@a3|f0 bad\n" + record(5))
    steps = (lambda: append(path, bad), lambda: append(path, pack(record(6))))
    seen, found = in_steps(path, *steps, resume=found.position, threads=threads)
    assert seen == [[3, 4], [5], [6]]
    assert [(row["wire"], row["line"]) for row in found.rejects.rows()] == [("nslip", 6)]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_writer_that_flushes(kind: str, tmp_path: Path) -> None:
    """One member or frame that never ends: what was flushed can be decompressed."""
    import zstandard

    path = tmp_path / "a.log"
    packer: Any = zlib.compressobj(wbits=31) if kind == "gzip" else zstandard.ZstdCompressor(level=1).compressobj()
    flush = zlib.Z_SYNC_FLUSH if kind == "gzip" else zstandard.COMPRESSOBJ_FLUSH_BLOCK
    path.write_bytes(b"")

    def write(number: int) -> Callable[[], None]:
        data = packer.compress(record(number)) + packer.flush(flush)
        return lambda: (append(path, data[:2]), append(path, data[2:]))[0]

    seen, found = in_steps(path, *map(write, range(4)))
    assert (seen, len(found.rejects)) == ([[], [0], [1], [2], [3]], 0), "at first nobody knows whether it is compressed"


@PACKERS
def test_rotation_and_truncation_of_compressed_files(pack: Any, tmp_path: Path) -> None:
    path, cut = tmp_path / "a.log", pack(record(1) * 50)[:-5]
    path.write_bytes(pack(record(0)))

    def rotate() -> None:
        append(path, cut)
        path.rename(tmp_path / "a.log.1")
        path.write_bytes(record(2))

    seen, found = in_steps(
        path,
        rotate,
        lambda: path.write_bytes(pack(record(3))),
        lambda: append(path, pack(record(4))),
        lambda: path.write_bytes(b""),
        lambda: append(path, pack(record(5))),
    )
    given = [1] * 50 if pack is gzip.compress else []
    assert seen == [[0], [*given, 2], [3], [4], [], [5]], "the new file is not compressed, and then it is"
    assert found.rejects["reason"] == ["cut_off"], "nobody goes on with the old file"


@PACKERS
def test_damage_ends_a_compressed_file_at_once(pack: Any, tmp_path: Path) -> None:
    """It is said when it is met, not silently waited for; nothing behind it can be trusted."""
    path = put(tmp_path / "a.log", pack(record(0)) + b"this is not a member")
    seen, found = in_steps(path, lambda: append(path, pack(record(1))), lambda: path.write_bytes(pack(record(2))))
    assert (seen, found.rejects["reason"]) == ([[0], [], [2]], ["trailing_junk"]), "it was written anew"


# --- what may be gone, copied or renamed between two looks ------------------------------------------------------------


def test_a_file_that_is_compressed_late_is_no_gap(tmp_path: Path) -> None:
    """It was read to its end, and nobody waits for its writers any more; what is compressed of it is newer than the
    log."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0) + record(1))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(2))

    def compress() -> None:
        packed(tmp_path / "app.log.1.gz", old.read_bytes(), LATER)
        old.unlink()

    found = stepped(path, rotate, compress, lambda: append(path, record(3)), lambda: append(path, record(4)))
    assert found == ([[0, 1], [2], [], [3], [4]], [])


def test_a_log_that_is_cut_and_renamed_is_read_under_its_new_name(tmp_path: Path) -> None:
    """Nothing has its name then."""
    path = put(tmp_path / "app.log", record(0) + record(1))

    def cut() -> None:
        path.write_bytes(record(2))
        path.rename(tmp_path / "app.log.1")

    assert stepped(path, cut) == ([[0, 1], [2]], [("app.log", "file_shrunk")])


def test_a_log_that_is_rotated_into_another_folder_is_no_gap(tmp_path: Path) -> None:
    path = put(tmp_path / "app.log", record(0))
    (tmp_path / "old").mkdir()

    def rotate() -> None:
        path.rename(tmp_path / "old" / "app.log.1")
        path.write_bytes(record(1))

    assert stepped(path, rotate) == ([[0], [1]], [])


def test_what_is_written_to_a_file_that_was_removed_from_a_folder_comes(tmp_path: Path) -> None:
    path = put(tmp_path / "app.log", record(0))
    with path.open("ab", buffering=0) as file:
        found = stepped(tmp_path, path.unlink, lambda: file.write(record(1)))
    assert found == ([[0], [], [1]], [])


def test_a_cut_that_a_copy_shows_is_one_gap(tmp_path: Path) -> None:
    """The log has the size that it had, and was written since."""
    path = put(tmp_path / "app.log", record(0))
    os.utime(path, (1, 1))

    def rotate() -> None:
        (tmp_path / "app.log.1").write_bytes(record(0) + record(1))
        path.write_bytes(record(0))

    assert stepped(path, rotate) == ([[0], [1]], [("app.log", "file_shrunk")])


def test_a_message_of_many_lines_comes_with_its_last_one(tmp_path: Path) -> None:
    """However much of it was there before: nobody waits for as much again, as where a file is read to its end."""
    path = tmp_path / "app.log"
    path.write_bytes(
        f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\n{'more of it' * 99}\n".encode()
    )
    found = stepped(path, lambda: append(path, b">>>\n\n"), wire="csp", column="offset")
    assert found == ([[], [0]], [])


# --- directories, in which rotated files have names that are followed, too --------------------------------------------


@pytest.mark.parametrize("seed", ["", 15])
@pytest.mark.parametrize("kind", ["rename", "late", "compressed", "copytruncate", "mixed"])
def test_a_directory_of_logs_that_are_rotated_comes_once(kind: str, seed: Any, tmp_path: Path) -> None:
    """And in order, where it is not copied."""
    chance = random.Random(f"{kind}{seed}")
    with Log(tmp_path, chance, kind == "late", 100) as log:

        def step() -> None:
            for _ in range(chance.choice((1, 1, 2))):
                run(log.write(chance.randrange(1, 4)))
                run(log.step(kind))
            run(log.compress(chance.choice((1, 2, 3))))
            run(log.write(chance.randrange(3)))

        seen, gaps = stepped(tmp_path, *[step] * 4, lambda: run(log.write(1)))
        numbers = [number for part in seen for number in part]
        assert (sorted(numbers) if kind == "mixed" else numbers) == list(range(log.written))
        assert not gaps or kind in ("copytruncate", "mixed")


def test_a_file_that_was_read_as_what_had_a_name_before_is_read_on_from_there(tmp_path: Path) -> None:
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    first = scan_nslip(tmp_path, resume={})
    assert sum(map(len, first)) == 1
    append(path, record(1))
    path.rename(old)
    path.write_bytes(record(2))
    seen, gaps = stepped(tmp_path, lambda: append(old, record(3)), resume=first.position)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[1, 2], [3]], [])


def at_next_read(monkeypatch: pytest.MonkeyPatch, step: Any) -> Any:
    """Has something done between the next look at a name and that at what the file holds."""
    real, asked = rotation.Follower._is_changed, []

    def is_changed(follower: Any, name: str) -> bool:
        found = real(follower, name)
        if asked:
            asked.pop()
            step()
            return True
        return found

    monkeypatch.setattr(rotation.Follower, "_is_changed", is_changed)
    return lambda: asked.append(True)


def written(path: Path, data: bytes, when: int) -> None:
    """A file as it is written then."""
    path.write_bytes(data)
    os.utime(path, (when, when))


def test_a_copy_that_is_older_than_what_was_read_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More came between the copy and the cut than is kept of what was read."""
    path, real = tmp_path / "app.log", rotation.Follower._is_changed
    written(path, record(0), 1)
    more = record(0) + record(1) + b"#" * 70_000 + b"\n"

    def copy() -> None:
        written(tmp_path / "app.log.1", record(0), 2)
        written(path, more, 3)

    def cut(follower: Any, name: str) -> bool:
        if path.stat().st_size == len(more):
            written(path, record(2), 4)
        return real(follower, name)

    monkeypatch.setattr(rotation.Follower, "_is_changed", cut)
    found = stepped(path, at_next_read(monkeypatch, copy))
    assert found == ([[0], [1, 2]], [("app.log", "file_shrunk")])


def test_what_is_compressed_is_read_where_it_holds_what_a_log_held_before_it_was_cut(tmp_path: Path) -> None:
    """The log holds it no more, and was renamed itself."""
    path = put(tmp_path / "app.log", record(0))

    def rotate() -> None:
        packed(tmp_path / "app.log.1.gz", record(0), LATER)
        path.rename(tmp_path / "app.log.2")
        path.write_bytes(record(1))

    found = stepped(path, lambda: path.write_bytes(b""), rotate)
    assert found == ([[0], [], [0, 1]], [("app.log", "file_shrunk")])


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


def test_a_copy_that_was_read_when_following_begins_is_not_read_under_its_name(tmp_path: Path) -> None:
    path, copy = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    first = scan(tmp_path, wire="nslip", resume={})
    assert sum(map(len, first)) == 1
    copy.write_bytes(record(0) + record(1))
    path.write_bytes(record(2))
    found = stepped(tmp_path, lambda: append(path, record(3)), resume=first.position)
    assert found == ([[1, 2], [3]], [("app.log", "file_replaced")])


def shift(folder: Path) -> None:
    """Renames a log and what is beside it, as tools that count do."""
    for number in (1, 0):
        path = folder / ("app.log.1" if number else "app.log")
        if path.exists():
            path.rename(folder / f"app.log.{number + 1}")


def test_new_files_of_a_folder_that_are_renamed_while_it_is_listed_come_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "app.log", rotation.named

    def make() -> None:
        path.write_bytes(record(1))
        (tmp_path / "app.log.1").write_bytes(record(0))

    def named(source: Any) -> Any:
        found = real(source)
        if path.exists() and not (tmp_path / "app.log.2").exists():
            shift(tmp_path)
        return found

    (tmp_path / "other").write_bytes(b"")
    monkeypatch.setattr(rotation, "named", named)
    seen, gaps = stepped(tmp_path, make)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[], [0, 1]], [])


def test_a_log_that_is_named_itself_is_waited_for(tmp_path: Path) -> None:
    """It is just being renamed; if nothing comes, that is an error."""
    path, waited = tmp_path / "app.log", 0

    def sleep(seconds: float) -> None:
        nonlocal waited
        waited += 1
        if waited > rotation.TRIES:
            found.close()

    found = scan(path, wire="nslip", follow=True)
    found._run.stop.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(FileNotFoundError, match=r"app\.log"):
        list(found)
    assert waited == rotation.TRIES - 1
