"""``turnwire verify`` as a command: what it says, and its exit codes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.ledger.intruder import rewrite
from turnwire.cli.outcome import run as run_program
from turnwire.ledger import Ledger

pytestmark = pytest.mark.once


class Run(NamedTuple):
    exit_code: int
    output: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[[str, list[str]], Run]:
    """Runs a subcommand: its exit code and what it wrote."""

    def call(name: str, arguments: list[str]) -> Run:
        code = run_program([name, *arguments])
        return Run(code, capfd.readouterr().out)

    return call


Command = Callable[[str, list[str]], Run]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.ledger")


def test_verify(path: str, tmp_path: Path, run: Command) -> None:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw().hex()
    with Ledger(path, signer=key) as ledger:
        ledger.append_many([("x", b"b")] * 5)
        (tmp_path / "head").write_text(ledger.head().to_json())
    good = run("verify", [path])
    assert (good.exit_code, "good" in good.output, "--head" in good.output) == (0, True, True)
    kept = ["--head", str(tmp_path / "head")]
    assert "continues the signed head" in run("verify", [path, *kept, "--key", public]).output
    assert run("verify", [path, *kept, "--key", "00" * 32]).exit_code == 1
    (tmp_path / "note").write_text("no checkpoint")
    assert run("verify", [path, "--head", str(tmp_path / "note")]).exit_code == 2
    assert run("verify", [path, "--head", path]).exit_code == 3  # a database is no text
    assert run("verify", [path + "no"]).exit_code == 3
    assert [run("verify", [path, "--threshold", number]).exit_code for number in "12"] == [2] * 2  # of no witness
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TRIGGER entries_no_delete; DELETE FROM entries WHERE rowid = 3")
    connection.close()
    bad = run("verify", [path, "--json"])
    assert bad.exit_code == 1
    assert json.loads(bad.output)["fault"] == {"where": "schema", "seq": None, "text": "entries_no_delete is missing"}


def test_one_broken_file_of_several_is_told(tmp_path: Path, run: Command) -> None:
    """Whichever it is."""
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    with Ledger(good) as ledger:
        ledger.append("x", b"b")
    (tmp_path / "bad").write_bytes(b"no ledger")
    for files in ([good], [bad], [good, bad], [bad, good], [good, bad, good]):
        done = run("verify", [*files, "--json"])
        assert done.exit_code == int(bad in files)
        assert [json.loads(line)["ok"] for line in done.output.splitlines()] == [file == good for file in files]


def test_an_old_head_is_for_proofs_of_continuation(path: str, tmp_path: Path, run: Command) -> None:
    with Ledger(path) as ledger:
        ledger.append("x", b"b")
    head, proof = tmp_path / "head", tmp_path / "proof"
    head.write_text(run("ledger", ["head", path]).output)
    proof.write_text(run("ledger", ["prove", path, "1"]).output)
    check = ["check", str(proof), "--head", str(head)]
    assert run("ledger", check) == (0, "the proof is valid\n")
    assert run("ledger", [*check, "--old", str(head)]) == (2, "")


def test_heads_proofs_and_copies(path: str, tmp_path: Path, run: Command) -> None:
    def call(name: str, *arguments: object) -> tuple[int, str]:
        return run(name, [str(argument) for argument in arguments])

    def kept(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    key = Ed25519PrivateKey.generate()
    with Ledger(path) as ledger:
        ledger.append_many([("x", b"body %d" % number) for number in range(700)])
    secret = kept("key", key.private_bytes_raw().hex())
    first = kept("first", call("ledger", "head", path, "--sign", secret)[1])
    with Ledger(path) as ledger:
        ledger.append("y", b"\xff")
    second = kept("second", call("ledger", "head", path, "--after", first, "--sign", secret)[1])
    proof = kept("proof", call("ledger", "prove", path, "--since", 700)[1])
    assert call("ledger", "check", proof, "--old", first, "--head", second) == (0, "the proof is valid\n")
    witness = Ed25519PrivateKey.generate()
    other = kept("witness", witness.private_bytes_raw().hex())
    code, text = call("ledger", "check", proof, "--old", first, "--head", second, "--sign", other)
    assert code == 0
    both, public = kept("both", text), witness.public_key().public_bytes_raw().hex()
    assert [call("verify", path, "--head", head, "--witness", public)[0] for head in (both, second)] == [0, 1]
    for signer, code in ((key, 0), (Ed25519PrivateKey.generate(), 1)):
        public = signer.public_key().public_bytes_raw().hex()
        assert call("verify", path, "--head", second, "--key", public)[0] == code
    assert call("ledger", "check", proof, "--old", second, "--head", first)[0] == 1
    inside = kept("inside", call("ledger", "prove", path, 701)[1])
    assert call("ledger", "check", inside, "--head", second, "--leaf", "00" * 32)[0] == 1
    assert call("ledger", "check", inside, "--head", second)[0] == 0
    assert call("ledger", "check", inside, "--head", first)[0] == 1
    lines = call("ledger", "export", path)[1].splitlines()
    assert len(lines) == 701
    assert json.loads(lines[0])["body"] == "body 0"
    assert json.loads(lines[700])["body_hex"] == "ff"
    code, text = call("ledger", "backup", path, tmp_path / "copy")
    assert (code, json.loads(text)["size"]) == (0, 701)
    assert call("ledger", "backup", path, tmp_path / "copy")[0] == 3
    assert call("ledger", "head", tmp_path / "none")[0] == 3
    assert call("verify", tmp_path)[0] == 3
    rewrite(Path(path), "UPDATE entries SET body = x'00' WHERE rowid = 3")
    assert call("ledger", "head", path, "--sign", secret)[0] == 1
    assert call("ledger", "head", path, "--after", first)[0] == 1
