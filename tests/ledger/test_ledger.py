"""The ledger as its users and its enemies see it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.conftest import raised
from tests.ledger.intruder import Intruder
from turnwire.errors import EncodeError, RuleError
from turnwire.ledger import Checkpoint, InclusionProof, Ledger, require, verify_file

once = pytest.mark.once
"""Of tests of files, of SQL, and of those who write at once: what is hashed is the same on each core."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "a.ledger")


def raw(ledger: Ledger) -> sqlite3.Connection:
    return sqlite3.connect(ledger.path, isolation_level=None)


def test_what_cannot_be_written_writes_nothing(ledger: Ledger) -> None:
    raised(EncodeError, ledger.append, "x", {"a": float("nan")})
    with pytest.raises(ValueError, match="kind"):
        ledger.append("k" * 70000, b"")
    raised(EncodeError, ledger.append_many, [("x", b"good"), ("x", object())])
    assert len(ledger) == 0
    assert ledger.verify()


def test_batches_and_many(ledger: Ledger) -> None:
    assert ledger.append_many([]) == range(0)
    assert ledger.append_many(("x", f"{number}", "even" if number % 2 == 0 else "") for number in range(600)) == range(
        1, 601
    )
    assert ledger.append_many([("y", b"1", "even"), ("y", b"2")]) == range(601, 603)
    newest_first = [entry.seq for entry in ledger.find("x", "even")]
    assert newest_first == sorted(newest_first, reverse=True)
    assert len(newest_first) == 300
    assert len(list(ledger.entries())) == 602
    assert ledger.verify()


def test_it_is_the_same_after_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    heads = []
    for round_ in range(6):
        with Ledger(path) as ledger:
            ledger.append_many([("x", os.urandom(20))] * (100 + round_))
            heads.append(ledger.head())
            assert ledger.consistency(heads[0].size).holds(heads[0], heads[-1])
    verdict = verify_file(path, *heads)
    assert verdict
    assert verdict.size == heads[-1].size
    assert (verdict.root, verdict.chain) == (heads[-1].root, heads[-1].chain)


@once
def test_proofs_over_tiles(ledger: Ledger) -> None:
    ledger.append_many([("x", f"{number}") for number in range(1_100)])
    head = ledger.head()
    for seq in (1, 255, 256, 257, 512, 1_099, 1_100):
        proof = ledger.prove(seq)
        assert proof.holds(head, leaf=ledger[seq].leaf)
        assert InclusionProof.from_dict(json.loads(json.dumps(proof.to_dict()))) == proof
        assert not proof._replace(seq=seq % 1_100 + 1).holds(head)
    for old in (0, 1, 256, 300, 512, 1_025, 1_100):
        proof_of_growth = ledger.consistency(old)
        assert proof_of_growth.holds(None, head)
        assert ledger.prove(max(old, 1), max(old, 1)).root == (proof_of_growth.old_root if old else ledger[1].leaf)
        assert not proof_of_growth._replace(old_root=b"x" * 32).holds()
    raised(IndexError, ledger.prove, 1_101)
    raised(IndexError, ledger.consistency, 2, 1_101)
    assert ledger.verify(head)


@once
def test_heads_are_signed_and_kept_as_text(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    with Ledger(tmp_path / "a", signer=key) as ledger:
        ledger.append("x", b"1")
        head = Checkpoint.from_json(ledger.head().to_json())
        assert head.signed_by(public)
        assert head.signed_by(public.hex())
        assert head.signed_by(key.public_key())
        assert not head._replace(size=2).signed_by(public)
        assert not head.signed_by(Ed25519PrivateKey.generate().public_key())
        assert not head._replace(signature=None).signed_by(public)
        assert not head._replace(signature="zz").signed_by(public)
        assert ledger.verify(head, trusted=[public])
        verdict = ledger.verify(head._replace(time="2020-01-01T00:00:00Z"), trusted=[public])
        assert verdict.fault.where == "head"


REWRITES = [
    "UPDATE {t} SET {c} = {c}",
    "UPDATE OR REPLACE {t} SET {c} = {c}",
    "DELETE FROM {t}",
    "DELETE FROM {t} WHERE 1",
    "INSERT OR REPLACE INTO {t} ({all}) SELECT {all} FROM {t} LIMIT 1",
    "REPLACE INTO {t} ({all}) SELECT {all} FROM {t} LIMIT 1",
    "INSERT OR IGNORE INTO {t} ({all}) SELECT {all} FROM {t} LIMIT 1",
    "INSERT INTO {t} ({all}) SELECT {all} FROM {t} LIMIT 1",
    "INSERT INTO {t} ({all}) SELECT {all} FROM {t} WHERE true ON CONFLICT DO UPDATE SET {c} = excluded.{c}",
    "INSERT INTO {t} ({all}) SELECT {all} FROM {t} WHERE true ON CONFLICT DO NOTHING",
]
TABLES = [("entries", "body", "rowid, at, kind, key, body, chain"), ("about", "value", "name, value")]


@once
@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("statement", REWRITES)
@pytest.mark.parametrize(("table", "column", "columns"), TABLES)
def test_sql_that_rewrites_is_refused(
    ledger: Ledger, statement: str, table: str, column: str, columns: str, recursive: bool
) -> None:
    ledger.append_many([("x", b"b", "k")] * 300)
    connection = raw(ledger)
    connection.execute(f"PRAGMA recursive_triggers = {recursive}")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement.format(t=table, c=column, all=columns))
    assert ledger.verify()


@once
@pytest.mark.parametrize("rowid", [None, -1, 0, 1, 5, 9])
def test_an_insert_out_of_order_is_refused(ledger: Ledger, rowid: int | None) -> None:
    ledger.append_many([("x", b"b")] * 5)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw(ledger).execute(
            "INSERT INTO entries (rowid, at, kind, key, body, chain) VALUES (?, 1, '', '', x'', x'')", (rowid,)
        )


@once
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO entries (rowid, at, kind, key, body, chain) VALUES (301, 1, 'x', '', x'00', zeroblob(32))",
        "INSERT INTO about VALUES ('more', '1')",
        "DROP TRIGGER entries_no_update",
        "DROP TRIGGER about_in_order",
        "DROP INDEX entries_by_key",
        "DROP TABLE about",
        "CREATE TABLE other (a)",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END",
        "ALTER TABLE entries RENAME COLUMN key TO name",
        "ALTER TABLE entries ADD COLUMN more TEXT",
        "PRAGMA application_id = 7",
    ],
)
def test_sql_that_is_not_refused_is_found(ledger: Ledger, statement: str) -> None:
    ledger.append_many([("x", b"b", "k")] * 300)
    raw(ledger).execute(statement)
    assert ledger.verify().fault is not None


@once
def test_every_flipped_byte_in_every_row_is_found(ledger: Ledger) -> None:
    ledger.append_many([("kind", f"body {number}", "key") for number in range(260)])
    intruder = Intruder(ledger.path)
    tables = {"entries": "at, kind, key, body, chain", "about": "name, value"}
    flips = 0
    for table, columns in tables.items():
        where = "rowid IN (1, 256, 260)" if table == "entries" else "1"
        for row in intruder.connection.execute(f"SELECT {columns} FROM {table} WHERE {where}").fetchall():
            for column, value in zip(columns.split(", "), row, strict=True):
                for changed in flipped(value):
                    flips += 1
                    intruder.run(f"UPDATE {table} SET {column} = ? WHERE {column} IS ? AND {where}", changed, value)
                    verdict = ledger.verify()
                    assert verdict.fault is not None, (table, column, value, changed)
                    intruder.run(f"UPDATE {table} SET {column} = ? WHERE {column} IS ? AND {where}", value, changed)
    assert flips > 100
    assert ledger.verify()


def flipped(value: object) -> list[object]:
    if isinstance(value, int):
        return [value ^ 1 << bit for bit in (0, 7, 40)]
    if isinstance(value, str):
        return [value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :] for at in range(len(value))] + [value + "x"]
    assert isinstance(value, bytes)
    return [value[:at] + bytes([value[at] ^ 128]) + value[at + 1 :] for at in range(len(value))] + [value[:-1]]


@once
def test_every_flipped_byte_of_the_file_between_two_rows_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Ledger(path) as ledger:
        ledger.append_many([("kind", b"B" * 24, "key")] * 5)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    good = path.read_bytes()
    first, last = good.index(b"B" * 24), good.rindex(b"B" * 24)
    assert verify_file(path)
    for at in range(first, last + 24):
        mask = (1, 0x80, 0xFF)[at % 3]  # a row is not a multiple of three bytes: each of its places meets each mask
        path.write_bytes(good[:at] + bytes([good[at] ^ mask]) + good[at + 1 :])
        assert not verify_file(path), (at, mask)


def test_rows_cut_off_are_seen_with_a_kept_head_only(ledger: Ledger) -> None:
    ledger.append_many([("x", b"b")] * 10)
    head = ledger.head()
    Intruder(ledger.path).run("DELETE FROM entries WHERE rowid > 7")
    assert ledger.verify()
    fault = ledger.verify(head).fault
    assert (fault.where, fault.seq) == ("head", 8)
    with pytest.raises(RuleError, match="was truncated"):
        require(ledger.verify(head))


def test_a_row_taken_out_of_the_middle(ledger: Ledger) -> None:
    ledger.append_many([("x", b"b")] * 10)
    Intruder(ledger.path).run("DELETE FROM entries WHERE rowid = 4")
    fault = ledger.verify().fault
    assert (fault.where, fault.seq) == ("rows", 4)


def test_a_ledger_forged_from_the_start_needs_a_kept_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path / "a") as ledger:
        ledger.append("x", b"true")
        head = ledger.head()
    with Ledger(tmp_path / "b") as forged:
        forged.append("x", b"false")
        Intruder(forged.path).run("UPDATE about SET value = ? WHERE name = 'id'", head.ledger)
        assert not forged.verify()
        fault = forged.verify(head).fault
        assert fault is not None
    monkeypatch.setattr("turnwire.ledger.connection.secrets.token_hex", lambda _: head.ledger)
    with Ledger(tmp_path / "c") as forged:  # by who knows this library, under the same id
        forged.append("x", b"false")
        assert forged.id == head.ledger and forged.verify(), "nothing inside the file shows it"
        assert forged.verify(head).fault == ("head", None, "the first 1 entries are not those of the saved head")


@once
@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("entries", "(?, 'soon', 'x', '', x'00', zeroblob(32))"),
        ("entries", "(?, 1.5, 'x', '', x'00', zeroblob(32))"),
        ("entries", "(?, 1, x'78', '', x'00', zeroblob(32))"),
        ("entries", "(?, 1, 'x', NULL, x'00', zeroblob(32))"),
        ("entries", "(?, 1, 'x', '', 'text', zeroblob(32))"),
        ("entries", "(?, 1, 'x', '', 7, zeroblob(32))"),
        ("entries", "(?, 1, 'x', '', x'00', 'text')"),
        ("about", "('more', CAST(? AS BLOB))"),
    ],
)
def test_a_value_of_another_type_is_refused(ledger: Ledger, table: str, values: str) -> None:
    ledger.append_many([("x", b"b", "k")] * 5)
    columns = "(rowid, at, kind, key, body, chain)" if table == "entries" else ""
    with pytest.raises(sqlite3.IntegrityError, match=r"cannot store|NOT NULL"):
        raw(ledger).execute(f"INSERT INTO {table} {columns} VALUES {values}", (6,))
    assert ledger.verify()


@once
def test_what_is_no_ledger_is_refused_and_not_made(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at" * 100)
    (tmp_path / "empty").touch()
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    for name in ("text", "other", "empty"):
        for read_only in (False, True) if name != "empty" else (True,):
            assert raised(RuleError, Ledger, tmp_path / name, read_only=read_only).reason == "bad_ledger"
        assert not verify_file(tmp_path / name)
    for name, error in (("none", FileNotFoundError), (".", IsADirectoryError)):
        for use in (verify_file, lambda path: Ledger(path, read_only=True)):
            raised(error, use, tmp_path / name)
    raised(FileNotFoundError, Ledger, ":memory:", read_only=True)
    with pytest.raises(ValueError, match="synchronous"):
        Ledger(tmp_path / "c", synchronous="OFF")
    assert sorted(os.listdir(tmp_path)) == ["empty", "other", "text"]


@once
def test_a_number_is_no_path_whatever_file_it_is_open_for(tmp_path: Path) -> None:
    said = set()
    with Ledger(tmp_path / "a"), open(tmp_path / "a", "rb") as file, open(tmp_path / "b", "wb") as empty:
        folder = os.open(tmp_path, os.O_RDONLY)
        try:
            for number in (file.fileno(), empty.fileno(), folder, 9999):
                caught = raised(TypeError, verify_file, number)
                said.add(str(caught))
        finally:
            os.close(folder)
    assert said == {"expected str, bytes or os.PathLike object, not int"}


WRITER = """
import os, random, sys
from turnwire.ledger import Ledger
ledger = Ledger(sys.argv[1])
rng = random.Random(int(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
while True:
    if rng.random() < 0.5:
        seqs = [ledger.append("one", b"%d" % rng.getrandbits(64))]
    else:
        seqs = list(ledger.append_many([("many", os.urandom(50))] * rng.randrange(1, 120)))
    print(seqs[-1], flush=True)
"""


@once
@pytest.mark.parametrize("rounds", [int(os.environ.get("TURNWIRE_KILL_ROUNDS", "2"))])
def test_processes_write_one_chain_and_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path, rounds: int) -> None:
    path, heads = tmp_path / "a", list[Checkpoint]()
    for round_ in range(rounds):
        command, both = [sys.executable, "-c", WRITER, path], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        workers = [subprocess.Popen([*command, f"{round_}{seed}"], **both) for seed in range(1 if round_ else 3)]
        assert [worker.stdout.readline() for worker in workers] == [b"ready\n"] * len(workers)
        for worker in workers:
            worker.stdin.write(b"\n")
            worker.stdin.flush()
        wait([worker.stdout for worker in workers])
        time.sleep(0.02)
        acknowledged: list[int] = []
        for worker in reversed(workers):
            worker.kill()
            time.sleep(0.02)  # the others go on
        for worker in workers:
            acknowledged += map(int, worker.communicate()[0].split(b"\n")[:-1])
        verdict = verify_file(path, *heads)
        assert verdict, verdict
        assert verdict.size >= max(acknowledged)
        with Ledger(path) as ledger:
            heads.append(ledger.head())


def test_a_key_that_was_changed_in_its_index_alone_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Ledger(path) as ledger:
        ledger.append_many([("kind", b"body" * 10, f"key-{number:05}") for number in range(400)])
        ledger.backup(f"{path}.one")
    data = bytearray(Path(f"{path}.one").read_bytes())
    at = -1
    while (at := data.index(b"kindkey-00123", at + 1)) and data[at + 13 : at + 17] == b"body":
        pass
    data[at + 12] ^= 1
    Path(f"{path}.two").write_bytes(data)
    assert verify_file(f"{path}.two").fault == ("pages", None, "row 124 missing from index entries_by_key")
