"""The file of a ledger and those that SQLite has beside it: copied alone, mixed, or left by a process that died."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from errno import EBUSY
from itertools import product
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.conftest import raised
from turnwire.cli.outcome import run
from turnwire.csp import Store
from turnwire.errors import RuleError
from turnwire.ledger import Ledger, verify_file

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="files and permissions of POSIX"), pytest.mark.once]


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


# --- ledgers that are read where they cannot be written: read-only media, and files of somebody else ------------------


only_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can become nobody")

AS_NOBODY = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from turnwire.cli.outcome import run
commands = json.loads(sys.argv[3])
def done(words, path, copy):
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(error):
        code = run([word.replace("FILE", path).replace("COPY", copy) for word in words])
    return code, error.buffer.getvalue().decode(), sorted(os.listdir("."))
for words in commands:
    done(words, sys.argv[1], sys.argv[1] + ".copy")  # imports it all
os.setgid(65534); os.setuid(65534)
print(json.dumps([done(words, sys.argv[2], "copies/b") for words in commands]))
"""


def as_nobody(warm: Path, path: Path, *commands: str) -> list[tuple[int, str, list[str]]]:
    """Runs commands as a user who owns nothing, who may not read the library either: of each the exit code, what it
    says of errors and what is then in the folder."""
    words = json.dumps([command.split() for command in commands])
    command = [sys.executable, "-c", AS_NOBODY, str(warm), str(path), words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=path.parent, check=True)
    return [tuple(each) for each in json.loads(done.stdout)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that everybody can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def made(path: Path) -> Path:
    with Ledger(path) as ledger:
        Store({"A": "1"}, journal=ledger)
        ledger.append_many([("x", b"body %d" % number) for number in range(700)])
    return path


@pytest.mark.once
@only_root
@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_every_command_reads_what_it_cannot_write(folder: Path, tmp_path: Path, mode: int) -> None:
    """Also where the reader could make files beside it: they would be the reader's, and its owner be locked out."""
    path = made(folder / "a")
    path.chmod(0o644)
    (folder / "copies").mkdir(mode=0o777)
    (folder / "copies").chmod(0o777)
    before = path.read_bytes()
    folder.chmod(mode)
    warm = made(tmp_path / "warm")
    commands = ("verify FILE", "ledger head FILE", "ledger export FILE", "ledger prove FILE 3")
    commands += ("ledger backup FILE COPY", "replay FILE")
    for words, found in zip(commands, as_nobody(warm, path, *commands), strict=True):
        assert found == (0, "", ["a", "copies"]), words
    assert path.read_bytes() == before
    assert len(Ledger(folder / "copies" / "b", read_only=True)) == 701


@only_root
def test_rows_that_cannot_be_reached_are_an_error(folder: Path, tmp_path: Path) -> None:
    """A log without its index, in the place that a link names: no index of another user's is put there."""
    with Ledger(folder / "open") as ledger:
        ledger.append("x", b"1")
        for ending in ("", "-wal"):  # as after a kill
            shutil.copy(folder / f"open{ending}", folder / f"a{ending}")
    (folder / "away").mkdir()
    (folder / "away" / "link").symlink_to(folder / "a")
    folder.chmod(0o777)
    commands = ("verify FILE", "ledger head FILE", "ledger export FILE")
    found = as_nobody(made(tmp_path / "warm"), folder / "away" / "link", *commands)
    for words, (code, error, _) in zip(commands, found, strict=True):
        assert code == 3 and "in its -wal file" in error, words
    assert not (folder / "a-shm").exists()


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = made(tmp_path / "open")
    with Ledger(path) as ledger:
        ledger.backup(tmp_path / "copy")
        ledger.append("x", b"in the log")
        with Ledger(path, read_only=True) as reader:  # beside a writer it sees what is new
            assert len(reader) == 702
            ledger.append("x", b"more")
            assert reader[703].body == b"more"
    before = (tmp_path / "copy").read_bytes()
    key = Ed25519PrivateKey.generate()
    with Ledger(tmp_path / "copy", signer=key, read_only=True) as ledger:
        head = ledger.head()
        assert head.signed_by(key.public_key()) and ledger.verify(head) and ledger.prove(3).holds(head)
        for write in (lambda: ledger.append("x", b"1"), lambda: ledger.append_many([("x", b"1")])):
            raised(io.UnsupportedOperation, write)
    with Ledger(tmp_path / "copy", after=head, read_only=True) as ledger:
        assert next(ledger.find("csp-init", ""), None) is None and Store.reopen(ledger).head == "C0"
    assert (tmp_path / "copy").read_bytes() == before
    assert not list(tmp_path.glob("copy-*")), "a backup stays one file"


def test_a_file_that_is_written_after_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is read as one nobody writes, and is written meanwhile, may be of two moments: neither a verdict
    nor a head is given."""
    path = made(tmp_path / "a")
    monkeypatch.setattr("os.access", lambda place, mode: mode != os.W_OK)
    ledger = Ledger(path, read_only=True)
    assert ledger.head().size == 701 and not list(tmp_path.glob("a-*"))
    with Ledger(path) as writer:
        writer.append("x", b"more")
    for read in (ledger.head, lambda: ledger[1], lambda: list(ledger.find("x", "k")), lambda: list(ledger)):
        assert raised(OSError, read).errno == EBUSY
    ledger.close()

    def written(*_: object, **__: object) -> None:
        with Ledger(path) as writer:
            writer.append("x", b"more")

    monkeypatch.setattr("turnwire.ledger.connection.verify_connection", written)
    assert raised(OSError, verify_file, path).errno == EBUSY
