"""What following does between its looks, one step at a time: no threads, and no clock."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cost.histories import csp
from tests.counting import called
from tests.log.rotating import BANNER, Log, record
from tests.log.test_follow import ENDLESS, append
from tests.log.test_left_to_right import HEAD
from tests.log.test_scan import scan_nslip
from turnwire import scan
from turnwire.log.engine.block_scanner import Engine
from turnwire.log.input import following, resuming, rotation
from turnwire.log.input.tailing import Tail

pytestmark = pytest.mark.once

ENDED = 8
"""Looks behind which nobody waits for the writers of a file that was renamed."""
LATER = 1 << 31
"""When files were written, in seconds: behind all that is written now."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PATIENCE", ENDED - 2)


def stepped(
    source: Any, *steps: Callable[[], Any], wire: str = "nslip", column: str = "conv_id", **options: Any
) -> tuple[list[list[int]], list[tuple[str, str]]]:
    """What comes before the first of the steps, and behind each of them: the next one is done when ``ENDED`` looks
    found nothing new. And the gaps: (name, why)."""
    found = scan(source, wire=wire, follow=True, **options)
    stop, left, quiet = found._run.stop, list(steps), 0
    seen: list[list[int]] = [[]]

    def sleep(seconds: float) -> None:
        nonlocal quiet
        quiet += seconds == following.INTERVAL
        if quiet < ENDED:
            return
        quiet = 0
        if not left:
            stop.set()
        else:
            seen.append([])
            left.pop(0)()
        stop.check()

    stop.sleep = sleep  # type: ignore[method-assign]
    for batch in found:
        seen[-1] += batch[column].tolist()
    return seen, [(os.path.basename(gap.file), str(gap.why)) for gap in found.gaps]


def packed(path: Path, data: bytes, when: int = 0) -> None:
    """A compressed file; ``when``: written then."""
    path.write_bytes(gzip.compress(data))
    if when:
        os.utime(path, (when, when))


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


def test_a_backup_of_a_file_that_is_gone_is_not_read(tmp_path: Path) -> None:
    """It is known since the file was there."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0) + record(1))

    def back_up() -> None:
        packed(tmp_path / "app.log-20260101.gz", path.read_bytes(), LATER)
        append(path, record(2))
        path.rename(old)
        path.write_bytes(record(3))

    def rotate() -> None:
        old.unlink()
        path.rename(old)
        path.write_bytes(record(4))

    assert stepped(path, back_up, rotate) == ([[0, 1], [2, 3], [4]], [])


def test_an_empty_log_that_is_rotated_and_compressed_is_no_gap(tmp_path: Path) -> None:
    """Nobody wrote to it: nothing of it can be missing, and what came after it is not removed before it."""
    path = tmp_path / "app.log"
    path.write_bytes(b"")

    def rotate() -> None:
        path.unlink()
        packed(tmp_path / "app.log.1.gz", b"")
        path.write_bytes(record(0))

    assert stepped(path, rotate) == ([[], [0]], [])


def test_a_log_behind_a_long_banner_goes_on_beside_what_was_compressed_of_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That begins with all that was read of the log, and goes on in another way: it was read itself. Neither it nor
    what nobody knows is read again at each look."""
    path, old, banner, read = tmp_path / "app.log", tmp_path / "app.log.1", BANNER * 4, 0
    path.write_bytes(banner + record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(banner)

    def compress() -> None:
        packed(tmp_path / "app.log.1.gz", old.read_bytes(), LATER)
        packed(tmp_path / "app.log.2.gz", b"# another\n", LATER)
        old.unlink()

    def look() -> None:
        nonlocal read
        read = 0
        append(path, record(2))

    def opened(file: Any, *options: Any) -> Any:
        nonlocal read
        read += file.name.endswith(".gz")
        return real(file, *options)

    real = resuming.opened
    monkeypatch.setattr(resuming, "opened", opened)
    found = stepped(path, rotate, compress, lambda: append(path, record(1)), look)
    assert (found, read) == (([[0], [], [], [1], [2]], []), 0)


def begun(path: Path) -> Any:
    """The position behind the first record of a log, to which another one was added since."""
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert sum(map(len, first)) == 1
    append(path, record(1))
    return first.position


def test_what_was_written_behind_the_end_of_a_file_is_read_where_it_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the sources are listed again."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    position = begun(path)
    monkeypatch.setattr(following, "LISTED", 10**9)

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(2))

    def compress() -> None:
        packed(tmp_path / "app.log.1.gz", old.read_bytes() + record(3), LATER)
        old.unlink()
        append(path, record(4))

    seen, _ = stepped(path, rotate, compress, resume=position)
    assert [sorted(numbers) for numbers in seen] == [[1], [2], [3, 4]]


def test_what_is_compressed_while_following_begins_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at what is beside the log and that at what had its name before."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    position = begun(path)
    path.rename(old)
    path.write_bytes(record(2))
    real = following.beside

    def beside(*names: str) -> Any:
        found = real(*names)
        if old.exists():
            packed(tmp_path / "app.log.1.gz", old.read_bytes(), LATER)
            old.unlink()
        return found

    def rotate() -> None:
        path.rename(tmp_path / "app.log.0")
        path.write_bytes(record(3))

    monkeypatch.setattr(following, "beside", beside)
    assert stepped(path, rotate, resume=position) == ([[1, 2], [3]], [])


def test_a_log_that_is_cut_and_renamed_is_read_under_its_new_name(tmp_path: Path) -> None:
    """Nothing has its name then."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0) + record(1))

    def cut() -> None:
        path.write_bytes(record(2))
        path.rename(tmp_path / "app.log.1")

    assert stepped(path, cut) == ([[0, 1], [2]], [("app.log", "file_shrunk")])


def test_what_is_compressed_of_a_file_that_was_there_before_is_not_read(tmp_path: Path) -> None:
    """Its writer had written to it last, behind the log."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    old.write_bytes(record(0))
    path.write_bytes(record(1))
    os.utime(old, (LATER, LATER))

    def compress() -> None:
        packed(tmp_path / "app.log.1.gz", old.read_bytes(), LATER)
        old.unlink()
        append(path, record(2))

    assert stepped(path, compress) == ([[1], [2]], [])


def test_a_log_that_is_rotated_into_another_folder_is_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    (tmp_path / "old").mkdir()

    def rotate() -> None:
        path.rename(tmp_path / "old" / "app.log.1")
        path.write_bytes(record(1))

    assert stepped(path, rotate) == ([[0], [1]], [])


@pytest.mark.parametrize("logs", [1, 2])
def test_of_files_that_were_renamed_so_many_are_read_for_each_name(
    logs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads on in more of them keeps more files open."""
    monkeypatch.setattr(following, "PATIENCE", ENDLESS)
    monkeypatch.setattr(following, "MOST_RENAMED", 2)
    ended, real = 0, Tail.end

    def end(tail: Tail, gone: bool) -> Any:
        nonlocal ended
        ended += 1
        return real(tail, gone)

    monkeypatch.setattr(Tail, "end", end)
    paths = [tmp_path / f"{name}.log" for name in "ab"[:logs]]
    for path in paths:
        path.write_bytes(record(0))

    def rotate() -> None:
        number = len(list(tmp_path.iterdir()))
        paths[0].rename(tmp_path / f"a.log.{number}")
        paths[0].write_bytes(record(number))

    stepped(paths, *[rotate] * 5)
    assert ended == 5 - 2 * logs


def test_a_cut_that_a_copy_shows_is_one_gap(tmp_path: Path) -> None:
    """The log has the size that it had, and was written since."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    os.utime(path, (1, 1))

    def rotate() -> None:
        (tmp_path / "app.log.1").write_bytes(record(0) + record(1))
        path.write_bytes(record(0))

    assert stepped(path, rotate) == ([[0], [1]], [("app.log", "file_shrunk")])


def test_a_log_that_nobody_writes_to_is_not_compared_with_what_is_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = tmp_path / "app.log", 0
    for name in ("app.log", "app.log.1"):
        (tmp_path / name).write_bytes(record(0))
        os.utime(tmp_path / name, (1, 1))
    real = following.look_beside

    def look_beside(*names: str) -> Any:
        nonlocal looks
        looks += 1
        return real(*names)

    monkeypatch.setattr(following, "look_beside", look_beside)
    assert stepped(path, lambda: None) == ([[0], []], [])
    assert looks == 0


def test_a_list_of_files_of_which_one_is_renamed_meanwhile_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone between its name and its size; the next list has it."""
    path, other, lists = tmp_path / "app.log", tmp_path / "other", 0
    (tmp_path / "app.log.1").write_bytes(record(0))
    like, listed = rotation.is_like, rotation._listed

    def is_like(name: str, base: str) -> bool:
        if name == "app.log.1":
            (tmp_path / name).rename(other)
        return like(name, base)

    def lists_again(*arguments: Any) -> Any:
        nonlocal lists
        lists += 1
        if lists == 2:
            other.rename(tmp_path / "app.log.2")
        return listed(*arguments)

    monkeypatch.setattr(rotation, "is_like", is_like)
    monkeypatch.setattr(rotation, "_listed", lists_again)
    found, settled = rotation.look_beside(str(path))
    assert ([os.path.basename(one.path) for one in found], settled) == (["app.log.2"], True)


def test_a_message_of_many_lines_comes_with_its_last_one(tmp_path: Path) -> None:
    """However much of it was there before: nobody waits for as much again, as where a file is read to its end."""
    path = tmp_path / "app.log"
    path.write_bytes(f"{HEAD}<<<\n{'more of it' * 99}\n".encode())
    found = stepped(path, lambda: append(path, b">>>\n```\n"), wire="csp", column="offset")
    assert found == ([[], [0]], [])


# --- directories, in which rotated files have names that are followed, too --------------------------------------------


def test_a_renamed_file_in_a_directory_grows_after_nobody_waits_for_it(tmp_path: Path) -> None:
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))

    def rotate() -> None:
        path.rename(old)
        path.write_bytes(record(1))

    assert stepped(tmp_path, rotate, lambda: append(old, record(2))) == ([[0], [1], [2]], [])


def test_a_log_in_a_directory_that_takes_the_name_of_an_older_one_comes_once(tmp_path: Path) -> None:
    path, older = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(1))
    older.write_bytes(record(0))

    def rotate() -> None:
        number = len(list(tmp_path.iterdir()))
        for old in range(number - 1, 0, -1):
            (tmp_path / f"app.log.{old}").rename(tmp_path / f"app.log.{old + 1}")
        path.rename(older)
        path.write_bytes(record(number))

    found = stepped(tmp_path, rotate, lambda: append(path, record(7)), rotate, lambda: append(older, record(8)))
    assert found == ([[1, 0], [2], [7], [3], [8]], [])


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_compressed_in_a_directory_is_known_when_its_inode_is_used_again(kept: bool, tmp_path: Path) -> None:
    """Compressed, then the log is renamed and made anew, all between two looks. kept: the old file had its name when
    following began."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    (old if kept else path).write_bytes(record(0))
    first: list[Callable[[], Any]] = [] if kept else [lambda: path.rename(old)]

    def rotate() -> None:
        packed(tmp_path / "app.log.2.gz", old.read_bytes(), LATER)
        old.unlink()
        path.rename(old)
        path.write_bytes(record(2))

    steps = [*first, lambda: path.write_bytes(record(1)), rotate, lambda: append(path, record(3)), lambda: None]
    seen, gaps = stepped(tmp_path, *steps)
    assert ([number for numbers in seen for number in numbers], gaps) == ([0, 1, 2, 3], [])


def test_a_rotated_file_in_a_directory_that_begins_as_a_log_without_records_is_read(tmp_path: Path) -> None:
    """All files begin with the banner, and of the log nothing else is there yet."""
    path = tmp_path / "app.log"
    path.write_bytes(BANNER)

    def rotate() -> None:
        path.rename(tmp_path / "app.log.2")
        (tmp_path / "app.log.1").write_bytes(BANNER + record(0))
        path.write_bytes(BANNER)

    assert stepped(tmp_path, rotate, lambda: append(path, record(1))) == ([[], [0], [1]], [])


@pytest.mark.parametrize("kind", ["rename", "late", "compressed", "copytruncate", "mixed"])
def test_a_directory_of_logs_that_are_rotated_comes_once(kind: str, tmp_path: Path) -> None:
    chance = random.Random(kind)
    with Log(tmp_path, chance, kind == "late", 100) as log:

        def step() -> None:
            for _ in range(chance.choice((1, 1, 2))):
                log.write(chance.randrange(1, 4))
                log.step(kind)
            log.compress(chance.choice((1, 2, 3)))
            log.write(chance.randrange(3))

        seen, gaps = stepped(tmp_path, *[step] * 4, lambda: log.write(1))
        assert sorted(number for numbers in seen for number in numbers) == list(range(log.written))
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


@pytest.mark.parametrize("prefixed", [False, True])
def test_what_is_open_is_not_searched_again_at_every_piece(
    prefixed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that CRI cut, and a heredoc behind a prefix: what ends them is told after some looks without news."""
    monkeypatch.setitem(globals(), "ENDED", 1)
    searched = called(monkeypatch, Engine, "scan", lambda _, block, *__: block.size)
    log = tmp_path / "a.log"
    if prefixed:
        lines = csp("TASK", "TASK T1\nREQ\n<<<\n").rstrip().split(b"\n")
        log.write_bytes(b"".join(b"app | " + line + b"\n" for line in lines))
        piece, end = b"app | " + b"x" * 200 + b"\n", b"app | >>>\n" + record(7)
    else:
        log.write_bytes(b"")
        head = b"2024-01-01T00:00:00Z stdout "
        piece, end = head + b"P " + b"x" * 200 + b"\n", head + b"F " + record(7)
    looks = 11  # ten are enough, however large it is
    seen, _ = stepped(
        str(log),
        *[lambda: append(log, piece)] * 300,
        lambda: append(log, end),
        *[lambda: None] * looks,
        lambda: append(log, record(8)),
    )
    assert not any(seen[: -looks - 2]) and seen[-1] == [8]
    assert [number for numbers in seen[:-1] for number in numbers] == [7]
    assert sum(searched) < (300 + looks) * (4096 + 2 * len(piece)) + 4 * log.stat().st_size
    batches = list(scan(str(log), wire="nslip"))
    assert [number for batch in batches for number in batch["conv_id"].tolist()] == [7, 8]
