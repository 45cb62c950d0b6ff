"""SQLite's check beside the reading of the rows: it finds what it finds alone, in the same state of the file."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from turnwire.ledger import Ledger, verify_file
from turnwire.ledger import pages as module
from turnwire.ledger.connection import Way
from turnwire.ledger.pages import Pages
from turnwire.ledger.rows import Hashed

pytestmark = pytest.mark.once

THREAD = "turnwire-pages"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
real = module._check


def made(path: Path) -> Path:
    with Ledger(path) as ledger:
        ledger.append_many([("kind", b"body" * 10, f"key-{number:05}") for number in range(400)])
        ledger.backup(f"{path}.one")  # without a log, and in journal mode DELETE
    os.replace(f"{path}.one", path)
    return path


def plant(path: Path) -> None:
    """Changes a key in its index alone."""
    data = bytearray(path.read_bytes())
    at = -1
    while (at := data.index(b"kindkey-00123", at + 1)) and data[at + 13 : at + 17] == b"body":
        pass
    data[at + 12] ^= 1
    path.write_bytes(data)


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """The check runs beside the reading of each file. Answers which threads ran it, and over how many entries. In the
    end no thread is left."""
    seen = []

    def check(connection: sqlite3.Connection) -> str:
        (count,) = connection.execute("SELECT count(*) FROM entries").fetchone()
        seen.append((threading.current_thread().name, count))
        return real(connection)

    monkeypatch.setattr(module, "_check", check)
    monkeypatch.setattr(module, "LEAST", 0)
    monkeypatch.setattr(module, "cores", lambda: 2)
    yield seen
    assert not [thread for thread in threading.enumerate() if thread.name == THREAD]


def outcome(path: Path | str) -> object:
    try:
        return verify_file(path, timeout=0)
    except OSError as error:
        return type(error), str(error)


def test_a_damaged_index_is_found_beside(tmp_path: Path, beside: list[tuple[str, int]]) -> None:
    path = made(tmp_path / "a")
    beside.clear()
    assert verify_file(path)
    plant(path)
    verdict = verify_file(path)
    assert verdict.fault == ("pages", None, "row 124 missing from index entries_by_key")
    assert verdict.size == 400 and len(verdict.proved) == 3
    assert beside == [(THREAD, 400)] * 2


@pytest.mark.parametrize("why", ["one core", "small", "no thread", "threads of SQLite"])
def test_it_is_found_alone(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    path = made(tmp_path / "a")
    plant(path)
    beside.clear()
    if why == "one core":
        monkeypatch.setattr(module, "cores", lambda: 1)
    elif why == "small":
        monkeypatch.setattr(module, "LEAST", os.path.getsize(path) + 1)
    elif why == "threads of SQLite":
        monkeypatch.setattr("sqlite3.threadsafety", 0)
    else:

        def none(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr("threading.Thread.start", none)
    assert verify_file(path).fault == ("pages", None, "row 124 missing from index entries_by_key")
    assert beside == [("MainThread", 400)]


def test_any_damage_is_told_as_it_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")
    good = path.read_bytes()
    chance = random.Random(18)
    faults = set()
    for number in range(150):
        data = bytearray(good)
        data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        path.write_bytes(data[: chance.randrange(len(data))] if number % 5 == 4 else data)
        monkeypatch.setattr(module, "cores", lambda: 2)
        found = outcome(path)
        monkeypatch.setattr(module, "cores", lambda: 1)
        assert outcome(path) == found, number
        faults.add(getattr(getattr(found, "fault", None), "where", None))
    assert faults >= {"pages", "rows", "chain", "file"}, faults


def test_a_file_of_the_name_of_memory(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(made(tmp_path / "a").rename(tmp_path / ":memory:"))
    monkeypatch.chdir(tmp_path)
    beside.clear()
    fault = verify_file(Path(":memory:")).fault
    assert fault is not None and fault.where == "pages"
    assert beside == [(THREAD, 400)]


def test_another_file_under_the_same_name_is_not_the_one_that_is_checked(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = made(tmp_path / "a"), made(tmp_path / "b")
    plant(path)
    again = Way.again

    def exchanged(way: Way, least: int) -> sqlite3.Connection | None:
        os.replace(other, path)
        return again(way, least)

    monkeypatch.setattr(Way, "again", exchanged)
    beside.clear()
    fault = verify_file(path).fault
    assert fault is not None and fault.where == "pages"
    assert beside == [("MainThread", 400)]


def test_a_file_that_nobody_can_write(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "a")
    monkeypatch.setattr("os.access", lambda place, mode: mode != os.W_OK)
    beside.clear()
    assert verify_file(path) and os.listdir(tmp_path) == ["a"]
    plant(path)
    assert not verify_file(path)
    assert beside == [(THREAD, 400)] * 2


def at_begin(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Does something just before the second connection begins its transaction, when the first one has."""
    version = Pages._version

    def first(self: Pages, *statements: str) -> int | None:
        if statements:
            do()
        return version(self, *statements)

    monkeypatch.setattr(Pages, "_version", first)


@pytest.mark.parametrize(("times", "thread"), [(1, THREAD), (2, THREAD), (9, "MainThread")])
def test_a_writer_between_the_two_beginnings(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, times: int, thread: str
) -> None:
    """Both begin anew; where somebody writes each time, the check is done alone."""
    path = made(tmp_path / "a")
    with Ledger(path) as writer:
        left = list(range(times))
        at_begin(monkeypatch, lambda: left and writer.append("x", b"%d" % left.pop()))
        beside.clear()
        verdict = verify_file(path)
        assert verdict and verdict.size == 400 + min(times, 2)
        assert beside == [(thread, verdict.size)]


def test_a_writer_after_the_two_beginnings(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "a")
    start = Pages.start
    with Ledger(path) as writer:
        monkeypatch.setattr(Pages, "start", lambda self: (writer.append("x", b"later"), start(self)))
        beside.clear()
        assert verify_file(path).size == 400
        assert beside == [(THREAD, 400)]
        assert len(writer) == 401


def test_a_writer_all_the_time(tmp_path: Path, beside: list[tuple[str, int]]) -> None:
    path = made(tmp_path / "a")
    beside.clear()
    over = threading.Event()
    with Ledger(path, synchronous="NORMAL") as writer:

        def write() -> None:
            while not over.wait(0.001):
                writer.append("kind", b"body", key="key")

        thread = threading.Thread(target=write)
        thread.start()
        try:
            verdicts = [verify_file(path) for _ in range(30)]
        finally:
            over.set()
            thread.join()
    assert all(verdicts)
    assert [verdict.size for verdict in verdicts] == [count for _, count in beside]
    assert verdicts[-1].size > 400 and THREAD in dict(beside)


def test_a_writer_with_a_rollback_journal_that_waits_for_the_first_connection(
    tmp_path: Path, beside: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lets no second one begin: the check is done alone, and nobody waits for the other."""
    path = made(tmp_path / "a")
    writer = sqlite3.connect(path, timeout=0, isolation_level=None)
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def commit() -> None:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("PRAGMA user_version = 1")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            writer.execute("COMMIT")

    at_begin(monkeypatch, commit)
    beside.clear()
    assert verify_file(path, timeout=0).size == 400
    assert beside == [("MainThread", 400)]
    writer.execute("ROLLBACK")
    writer.close()


def endless(running: threading.Event) -> Callable[[sqlite3.Connection], str]:
    def check(connection: sqlite3.Connection) -> str:
        running.set()
        return str(connection.execute(ENDLESS).fetchone())

    return check


def test_a_fault_in_a_row_ends_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")
    path.write_bytes(path.read_bytes().replace(b"kindkey-00123body", b"kindkey-00123bodY"))
    running = threading.Event()
    monkeypatch.setattr(module, "_check", endless(running))
    fault = verify_file(path).fault
    assert fault == ("chain", 124, "the entry is not what the chain says")
    assert running.wait(0)


def test_an_interruption_while_rows_are_read_ends_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")
    running = threading.Event()

    def interrupted(*_: object) -> None:
        assert running.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_check", endless(running))
    monkeypatch.setattr(Hashed, "go_on", interrupted)
    open_before = descriptors()
    with pytest.raises(KeyboardInterrupt):
        verify_file(path)
    assert descriptors() == open_before


@pytest.mark.skipif(os.name != "posix", reason="a signal that is sent to oneself")
def test_an_interruption_while_the_check_is_waited_for_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")
    monkeypatch.setattr(module, "_check", endless(threading.Event()))
    open_before = descriptors()
    found = Pages.found

    def waited(self: Pages) -> str:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            return found(self)
        finally:
            timer.join()

    monkeypatch.setattr(Pages, "found", waited)
    with pytest.raises(KeyboardInterrupt):
        verify_file(path)
    assert descriptors() == open_before


def test_an_interruption_before_the_thread_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("threading.Thread.start", interrupted)
    open_before = descriptors()
    with pytest.raises(KeyboardInterrupt):
        verify_file(path)
    assert descriptors() == open_before


@pytest.mark.parametrize("place", ["start", "found"])
def test_a_signal_that_leaves_a_lock_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """As Python leaves it where a signal comes right behind it. Nothing waits for a thread that waits for that."""
    path = made(tmp_path / "a")
    locked: list[threading.Condition] = []
    started: list[threading.Thread] = []
    enter, start, main = threading.Condition.__enter__, threading.Thread.start, threading.get_ident()

    def interrupted(self: threading.Condition) -> bool:
        entered = enter(self)
        names = {frame.name for frame in traceback.extract_stack()}
        if threading.get_ident() == main and place in names:
            locked.append(self)
            raise KeyboardInterrupt
        return entered

    def begun(self: threading.Thread) -> None:
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", begun)
    monkeypatch.setattr(threading.Condition, "__enter__", interrupted)
    try:
        verdict = verify_file(path)
    except KeyboardInterrupt:
        assert place == "start"
    else:
        assert place == "found"
        assert verdict
    finally:
        for condition in locked:
            condition.release()
    assert [thread.daemon for thread in started] == [True]
    until = time.monotonic() + 30
    while any(thread in threading.enumerate() for thread in started) and time.monotonic() < until:
        time.sleep(0.01)


def descriptors() -> int:
    """How many files the process has open, where the system tells."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/fd"))
    return 0


def failing(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (failing(sqlite3.SQLITE_IOERR_READ), OSError),
        (MemoryError(), MemoryError),
        (RecursionError("deep"), RecursionError),
    ],
)
def test_what_the_check_raises_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, kind: type[Exception]
) -> None:
    path = made(tmp_path / "a")

    def fails(_: sqlite3.Connection) -> str:
        assert threading.current_thread().name == THREAD
        raise raised

    monkeypatch.setattr(module, "_check", fails)
    with pytest.raises(kind) as caught:
        verify_file(path)
    if isinstance(caught.value, OSError):
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(path))


def test_damage_that_sqlite_raises_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a")

    def fails(_: sqlite3.Connection) -> str:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(module, "_check", fails)
    assert verify_file(path).fault == ("file", 401, "database disk image is malformed")
