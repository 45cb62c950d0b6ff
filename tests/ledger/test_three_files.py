"""The file of a ledger and those that SQLite has beside it: copied alone, mixed, or left by a process that died."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from turnwire.cli.outcome import run
from turnwire.errors import RuleError
from turnwire.ledger import Ledger, verify_file

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="files that are open are copied"), pytest.mark.once]


def test_the_file_alone_is_the_same_ledger_and_a_kept_head_shows_what_it_lacks(tmp_path: Path) -> None:
    """From its first row on: what comes later is in the -wal file, the id is not."""
    with Ledger(tmp_path / "a") as ledger:
        for count in (1, 2, 700):
            ledger.append_many([("x", b"body")] * (count - len(ledger)))
            head = ledger.head()
            for name in ("alone", "read"):
                shutil.copy(tmp_path / "a", tmp_path / name)
            with Ledger(tmp_path / "alone") as alone:
                assert alone.id == ledger.id
                assert len(alone) < count
            fault = verify_file(tmp_path / "read", head).fault
            assert fault is not None and "was truncated" in fault.text
            with pytest.raises(RuleError, match="was truncated"):
                Ledger(tmp_path / "alone", after=head)
            assert run(["verify", str(tmp_path / "read")]) == 0, "nothing inside shows it"


def test_a_file_that_lost_all_it_had_is_not_begun_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a ledger that had its tables in the -wal file, too."""
    path = tmp_path / "a"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    before = path.read_bytes()
    assert before
    for read_only in (False, True):
        with pytest.raises(RuleError, match=r"bad_ledger.*-wal file, which is missing"):
            Ledger(path, read_only=read_only)
    assert run(["verify", str(path)]) == 1
    assert "not a ledger: it is empty, but SQLite wrote to it through a -wal file" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_files_of_different_moments_are_a_beginning_of_the_ledger_or_a_fault(tmp_path: Path) -> None:
    """A ledger of one moment with the -wal file of another, as whoever copies them one after the other has it."""
    chance = random.Random(4)
    kept = []
    with Ledger(tmp_path / "a") as ledger:
        for step in range(4):
            for _ in range(chance.randrange(1, 60)):
                ledger.append("x", chance.randbytes(chance.randrange(1, 3000)), key=str(step))
            if step % 2:
                connection = sqlite3.connect(tmp_path / "a")
                connection.execute(f"PRAGMA wal_checkpoint({chance.choice(['PASSIVE', 'FULL', 'TRUNCATE'])})")
                connection.close()
            kept.append(((tmp_path / "a").read_bytes(), (tmp_path / "a-wal").read_bytes(), ledger.head()))
        links = [entry.chain for entry in ledger]
    good = 0
    for (data, _, _), (_, log, _) in product(kept, kept):
        for name in ("b", "b-wal", "b-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "b").write_bytes(data)
        (tmp_path / "b-wal").write_bytes(log)
        if not verify_file(tmp_path / "b"):
            continue
        with Ledger(tmp_path / "b") as mixed:
            found = [entry.chain for entry in mixed]
            assert found == links[: len(found)]
            for _, _, head in kept:
                assert bool(mixed.verify(head)) == (head.size <= len(found))
        good += 1
    assert good >= len(kept)


KILLED = """
import os, signal, sqlite3, sys
from turnwire.ledger import Ledger, connection
left = 0
class Dying(sqlite3.Connection):
    def execute(self, *arguments):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return super().execute(*arguments)
real = sqlite3.connect
connection.sqlite3.connect = lambda *a, **more: real(*a, factory=Dying, **more)
for steps in range(60):
    child = os.fork()
    if not child:
        left = steps
        with Ledger(f"{sys.argv[1]}/{steps}", synchronous="NORMAL") as ledger:
            ledger.append("x", b"body")
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != -signal.SIGKILL:
        break
print(steps, status)
"""


def test_a_kill_at_any_statement_of_making_leaves_a_ledger_or_nothing(tmp_path: Path) -> None:
    """Its file is a ledger or an empty one after each step, alone and with what is beside it."""
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, check=True)
    steps, status = map(int, done.stdout.split())
    assert status == 0 and steps > 20, done.stderr
    ids = set()
    for path in (tmp_path / str(number) for number in range(steps)):
        if path.exists():
            shutil.copy(path, tmp_path / "alone")
            with Ledger(tmp_path / "alone", synchronous="NORMAL") as alone:
                ids.add(alone.id)
            (tmp_path / "alone").unlink()
        with Ledger(path, synchronous="NORMAL") as ledger:
            assert ledger.append("x", b"more") == len(ledger)
        assert verify_file(path)
    assert len(ids) == steps


@pytest.mark.parametrize(
    "use", [verify_file, lambda path: Ledger(path, read_only=True).close(), lambda path: Ledger(path).close()]
)
def test_what_was_never_committed_is_taken_back_by_who_may_write(tmp_path: Path, use: Callable[[Path], object]) -> None:
    """A backup is taken into use, and the process is killed within SQLite's own change of the file."""
    with Ledger(tmp_path / "a") as ledger:
        ledger.append_many([("x", b"body")] * 700)
        ledger.backup(tmp_path / "b")
    whole = (tmp_path / "b").read_bytes()
    connection = sqlite3.connect(tmp_path / "b", isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE other AS SELECT * FROM entries")
    for end in ("", "-journal"):
        shutil.copy(tmp_path / f"b{end}", tmp_path / f"c{end}")
    connection.execute("ROLLBACK")
    connection.close()
    assert (tmp_path / "c").read_bytes() != whole
    use(tmp_path / "c")
    assert verify_file(tmp_path / "c").size == 700
    assert not (tmp_path / "c-journal").exists()
