"""Ledgers that are read where they cannot be written: read-only media, and files of somebody else."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from errno import EBUSY
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.conftest import raised
from turnwire.csp import Store
from turnwire.ledger import Ledger, verify_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
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
