"""Following between its looks, one step at a time: no threads, and no clock."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.log.rotating import BANNER, Log, record, run
from tests.log.test_following import append
from tests.log.test_mixed import HEAD
from tests.log.test_scan import scan_nslip
from turnwire import scan
from turnwire.log.input import following, rotation

pytestmark = pytest.mark.once
ENDED = 8
"""Looks behind which nobody waits for the writers of a file that was renamed."""
LATER = 1 << 31
"""When files were written, in seconds: behind all that is written now."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "SETTLED", 0.0)


def stepped(
    source: Any, *steps: Callable[[], Any], wire: str = "nslip", column: str = "conv_id", **options: Any
) -> tuple[list[list[int]], list[tuple[str, str]]]:
    """The records before the first of the steps, and behind each: the next one is done when ``ENDED`` looks
    found nothing new. And the gaps: (name, why)."""
    found = scan(source, wire=wire, follow=True, **options)
    stop, left, quiet = found._run.stop, list(steps), 0
    seen: list[list[int]] = [[]]

    def sleep(seconds: float) -> None:
        nonlocal quiet
        quiet += seconds >= following.INTERVAL
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


def test_a_log_that_is_cut_and_renamed_is_read_under_its_new_name(tmp_path: Path) -> None:
    """Nothing has its name then."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0) + record(1))

    def cut() -> None:
        path.write_bytes(record(2))
        path.rename(tmp_path / "app.log.1")

    assert stepped(path, cut) == ([[0, 1], [2]], [("app.log", "file_shrunk")])


def test_a_log_that_is_rotated_into_another_folder_is_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    (tmp_path / "old").mkdir()

    def rotate() -> None:
        path.rename(tmp_path / "old" / "app.log.1")
        path.write_bytes(record(1))

    assert stepped(path, rotate) == ([[0], [1]], [])


def test_what_is_written_to_a_file_that_was_removed_from_a_folder_comes(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    with path.open("ab", buffering=0) as file:
        found = stepped(tmp_path, path.unlink, lambda: file.write(record(1)))
    assert found == ([[0], [], [1]], [])


def test_a_cut_that_a_copy_shows_is_one_gap(tmp_path: Path) -> None:
    """The log has the size that it had, and was written since."""
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    os.utime(path, (1, 1))

    def rotate() -> None:
        (tmp_path / "app.log.1").write_bytes(record(0) + record(1))
        path.write_bytes(record(0))

    assert stepped(path, rotate) == ([[0], [1]], [("app.log", "file_shrunk")])


def test_a_message_of_many_lines_comes_with_its_last_one(tmp_path: Path) -> None:
    """However much of it was there before: nobody waits for as much again, as where a file is read to its end."""
    path = tmp_path / "app.log"
    path.write_bytes(f"{HEAD}<<<\n{'more of it' * 99}\n".encode())
    found = stepped(path, lambda: append(path, b">>>\n\n"), wire="csp", column="offset")
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
    assert found == ([[0, 1], [2], [7], [3], [8]], [])


@pytest.mark.parametrize("seed", ["", 2, 3, 15])
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
    real, asked = following.Follower._is_changed, []

    def is_changed(follower: Any, name: str) -> bool:
        found = real(follower, name)
        if asked:
            asked.pop()
            step()
            return True
        return found

    monkeypatch.setattr(following.Follower, "_is_changed", is_changed)
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
    """The file behind the name by then was written after the rotated one."""
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
    path, real = tmp_path / "app.log", following.Follower._is_changed
    written(path, record(0), 1)
    more = record(0) + record(1) + b"#" * 70_000 + b"\n"

    def copy() -> None:
        written(tmp_path / "app.log.1", record(0), 2)
        written(path, more, 3)

    def cut(follower: Any, name: str) -> bool:
        if path.stat().st_size == len(more):
            written(path, record(2), 4)
        return real(follower, name)

    monkeypatch.setattr(following.Follower, "_is_changed", cut)
    found = stepped(path, at_next_read(monkeypatch, copy))
    assert found == ([[0], [1, 2]], [("app.log", "file_shrunk")])


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
    """The copy has the records that were read, too."""
    path, copy = tmp_path / "app.log", tmp_path / "app.log.1"
    path.write_bytes(record(0))
    os.utime(path, (1, 1))

    def rotate() -> None:
        copy.write_bytes(record(0) + record(1))
        path.write_bytes(record(2))

    seen, gaps = stepped(tmp_path, at_next_read(monkeypatch, rotate))
    assert (seen, len(gaps)) == ([[0], [1, 2]], 1)


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
    path, real = tmp_path / "app.log", following.named

    def make() -> None:
        path.write_bytes(record(1))
        (tmp_path / "app.log.1").write_bytes(record(0))

    def named(source: Any) -> Any:
        found = real(source)
        if path.exists() and not (tmp_path / "app.log.2").exists():
            shift(tmp_path)
        return found

    (tmp_path / "other").write_bytes(b"")
    monkeypatch.setattr(following, "named", named)
    seen, gaps = stepped(tmp_path, make)
    assert ([sorted(numbers) for numbers in seen], gaps) == ([[], [0, 1]], [])


def test_a_log_that_is_named_itself_is_waited_for(tmp_path: Path) -> None:
    """It is just being renamed; if nothing comes, that is an error."""
    path, waited = tmp_path / "app.log", 0

    def sleep(seconds: float) -> None:
        nonlocal waited
        waited += 1
        if waited > following.TRIES:
            found.close()

    found = scan(path, wire="nslip", follow=True)
    found._run.stop.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(FileNotFoundError, match=r"app\.log"):
        list(found)
    assert waited == following.TRIES - 1
