"""A ledger refuses to believe what is wrong in its file, its copies and countersigned heads; proofs without a file."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st

from tests.conftest import raised
from tests.ledger.intruder import rewrite
from turnwire import Reason, RuleError
from turnwire.errors import NotFlushed
from turnwire.ledger import Checkpoint, ConsistencyProof, InclusionProof, Ledger, rows, verify_file
from turnwire.ledger.rows import first_link, leaf_of, link, proved, seal

pytestmark = pytest.mark.once

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def hide_trigger(path: Path, when: str = "BEFORE INSERT", name: str = "sqlite_evil") -> None:
    """A trigger under a name that SQLite keeps for itself: it runs, and lists of names leave it out."""
    connection = sqlite3.connect(path, isolation_level=None)
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    sql = f"CREATE TRIGGER {name} {when} ON entries BEGIN SELECT RAISE(IGNORE); END"
    connection.execute(
        "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('trigger', ?, 'entries', 0, ?)",
        (name, sql),
    )
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.ledger"
    with Ledger(path) as ledger:
        ledger.append_many([("x", b"body %d" % number) for number in range(700)])
    return path


def lead(path: Path, pages: dict[str, str]) -> None:
    """Has tables and indexes begin in the pages of others."""
    connection = sqlite3.connect(path, isolation_level=None)
    roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    for name, other in pages.items():
        connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (roots[other], name))
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.close()


def refused(path: Path) -> None:
    fault = verify_file(path).fault
    assert fault is not None and fault.where == "schema"
    with pytest.raises(RuleError, match="ledger_broken: schema"):
        Ledger(path)


@pytest.mark.parametrize("name", ["entries", "entries_by_key"])
def test_two_tables_in_the_same_pages_are_found_before_anything_is_acknowledged(path: Path, name: str) -> None:
    """The texts of the schema stay what they are."""
    lead(path, {name: "about"})
    refused(path)


@pytest.mark.parametrize("name", ["sqlite_evil", "sqlite_stat1"])
def test_a_hidden_trigger_is_found_and_nothing_acknowledged(path: Path, name: str) -> None:
    with Ledger(path) as ledger:
        hide_trigger(path, name=name)
        verdict = ledger.verify()
        assert verdict.fault is not None and verdict.fault.where == "schema"
        with pytest.raises(RuleError, match="ledger_broken"):
            ledger.append("x", b"lost")
        assert len(ledger) == 700
    with pytest.raises(ValueError, match="ledger_broken"):
        Ledger(path)


def test_a_row_that_is_left_out_is_seen_at_the_insert(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing looks at the schema: the insert says which rows there are."""
    hide_trigger(path, "BEFORE INSERT")
    for module in ("connection", "store"):
        monkeypatch.setattr(f"turnwire.ledger.{module}.require_schema", lambda connection: None)
    with Ledger(path) as ledger:
        for items in ([("x", b"one")], [("x", b"many")] * 300):
            with pytest.raises(RuleError, match="0 of"):
                ledger.append_many(items)
        assert len(ledger) == 700


def test_statistics_are_harmless(path: Path) -> None:
    with Ledger(path) as ledger:
        connection = sqlite3.connect(path)
        connection.execute("ANALYZE")
        connection.close()
        assert ledger.append("x", b"more") == 701
        assert ledger.verify()
    assert verify_file(path)


def test_a_ledger_that_does_not_continue_a_kept_head_is_refused(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    with Ledger(path) as ledger:
        ledger.append_many([("x", b"more")] * 100)
        head = ledger.head()
    with Ledger(path, after=head) as ledger:
        assert ledger.append("x", b"goes on") == 801
    with pytest.raises(ValueError, match="was truncated"):
        Ledger(tmp_path / "old", after=head)
    with Ledger(tmp_path / "old") as old:  # another history under the same id
        old.append_many([("x", b"other")] * 200)
    with pytest.raises(ValueError, match="not those of the saved head"):
        Ledger(tmp_path / "old", after=head)
    with pytest.raises(ValueError, match="of ledger"):
        Ledger(tmp_path / "new", after=head)
    with pytest.raises(TypeError):
        Ledger(path, after="head")  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [5, 690])
def test_nothing_is_signed_that_is_not_proved(path: Path, row: int) -> None:
    key = Ed25519PrivateKey.generate()
    with Ledger(path, signer=key) as ledger:
        first = ledger.head()
        ledger.append("x", b"more")
        assert ledger.head().size == 701
        assert ledger.verify(first, ledger.head(), trusted=[key.public_key()])
    rewrite(path, f"UPDATE entries SET body = x'00' WHERE rowid = {row}")
    with Ledger(path, signer=key) as ledger:
        for _ in range(2):
            with pytest.raises(RuleError, match=f"entry {row}"):
                ledger.head()
    with pytest.raises(ValueError, match=f"entry {row}"):
        Ledger(path, after=first)


def test_what_was_signed_is_kept_in_mind_when_an_entry_is_broken(path: Path) -> None:
    """Whoever breaks an entry first, and then writes another history, gets no signature for that."""
    with Ledger(path, signer=Ed25519PrivateKey.generate()) as ledger:
        signed = ledger.head()
        ledger.append("x", b"more")
        rewrite(path, "UPDATE entries SET body = x'00' WHERE rowid = 701")
        for _ in range(2):
            with pytest.raises(RuleError, match="chain at entry 701"):
                ledger.head()
        rows, chain = seal(0, 1, [("x", b"other", "")] * 701, first_link(ledger.id))
        changed = (f"({row[0]}, {row[1]}, 'x', '', x'{row[4].hex()}', x'{row[5].hex()}')" for row in rows)
        columns = "rowid, at, kind, key, body, chain"
        rewrite(path, "DELETE FROM entries")
        rewrite(path, f"INSERT INTO entries ({columns}) VALUES {', '.join(changed)}")
        assert signed.chain != rows[signed.size - 1][5].hex() and chain == rows[-1][5]
        with pytest.raises(RuleError, match="does not continue the 700 entries"):
            ledger.head()


@pytest.mark.parametrize("kept", [600, 0])
def test_an_end_that_was_taken_away_is_not_built_upon(path: Path, tmp_path: Path, kept: int) -> None:
    """Or the only entry there was."""
    place = path if kept else tmp_path / "one.ledger"
    with Ledger(place) as ledger:
        ledger.append("x", b"1")
        rewrite(place, f"DELETE FROM entries WHERE rowid > {kept}")
        with pytest.raises(RuleError, match="does not continue"):
            ledger.append("x", b"2")


@posix
def test_a_file_that_took_the_name_is_not_written(path: Path, tmp_path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.append("x", b"1")
        shutil.copy(path, tmp_path / "copy")
        os.replace(tmp_path / "copy", path)
        with pytest.raises(RuleError, match="another file"):
            ledger.append("x", b"2")


def test_a_backup_is_one_whole_file(path: Path, tmp_path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.append("x", b"in the -wal file")
        copy = tmp_path / "copy.ledger"
        head = ledger.backup(copy)
        ledger.append("x", b"later")
        assert (head.size, head.ledger) == (701, ledger.id)
        assert os.name != "posix" or stat.S_IMODE(copy.stat().st_mode) == 0o600, "others read nothing"
        assert verify_file(copy, head)
        assert ledger.verify(head)
        raised(FileExistsError, ledger.backup, copy)
    assert sorted(os.listdir(tmp_path)) == ["a.ledger", "copy.ledger"]
    with Ledger(copy, after=head) as again:
        assert again.append("x", b"goes on") == 702
        assert again.verify(head)


@posix
def test_a_backup_that_may_not_outlast_a_loss_of_power_is_told_as_written(
    path: Path, tmp_path: Path, unflushed: Callable[..., None]
) -> None:
    copy = tmp_path / "copy.ledger"
    unflushed(folder=tmp_path)
    with Ledger(path) as ledger, pytest.raises(NotFlushed) as caught:
        ledger.backup(copy)
    assert caught.value.filename == str(copy)
    assert verify_file(copy)


def test_witnesses_see_one_history(path: Path, tmp_path: Path) -> None:
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    public = [key.public_key() for key in keys]
    with Ledger(path, signer=keys[0]) as ledger:
        first = ledger.head().countersigned(keys[1])
        ledger.append("x", b"more")
        proof, second = ledger.consistency(first.size), ledger.head()
        witnessed = second.countersigned(keys[1], after=first, proof=proof).countersigned(keys[2])
        assert Checkpoint.from_json(witnessed.to_json()) == witnessed
        assert witnessed.signed_by(public[0])
        assert [witnessed.witnessed_by(of) for of in (public, public[1:], public[1:2], [])] == [2, 2, 1, 0]
        assert witnessed._replace(root="00" * 32).witnessed_by(public) == 0
        assert ledger.verify(witnessed, trusted=public[:1], witnesses=public[1:])
        assert ledger.verify(first, witnesses=public[1:], threshold=1)
        assert not ledger.verify(first, witnesses=public[1:])
        with pytest.raises(ValueError, match="threshold"):
            ledger.verify(first, witnesses=public[1:], threshold=3)
        forged = second._replace(root="11" * 32)
        for after, shown in [(first, None), (first, proof), (second, proof)]:
            with pytest.raises(RuleError, match="does not continue"):
                forged.countersigned(keys[1], after=after, proof=shown)
    assert ConsistencyProof.from_dict(json.loads(json.dumps(proof.to_dict()))) == proof


def test_a_witness_counts_once_and_only_for_itself(path: Path) -> None:
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    signer, one, two = (key.public_key() for key in keys)
    with Ledger(path, signer=keys[0]) as ledger:
        head = ledger.head().countersigned(keys[1])
        ((name, signature),) = head.witnesses
        other = two.public_bytes_raw().hex()
        assert head.countersigned(keys[1]).witnesses == head.witnesses  # who signs again has signed once
        assert [who for who, _ in head.countersigned(keys[2]).countersigned(keys[1]).witnesses] == [other, name]
        for forged in [
            head,
            head.countersigned(keys[1]),
            head._replace(witnesses=head.witnesses * 3),
            head._replace(witnesses=((name.upper(), signature), (name, signature))),
            head._replace(witnesses=((other, signature), (name, signature))),
        ]:
            assert ledger.verify(forged, trusted=[signer], witnesses=[one, two], threshold=1)
            fault = ledger.verify(forged, trusted=[signer], witnesses=[one, two]).fault
            assert fault is not None and "1 trusted" in fault.text
        assert not ledger.verify(head, witnesses=[one, name, one.public_bytes_raw()])
        own = head._replace(witnesses=((signer.public_bytes_raw().hex(), head.signature),))
        assert not ledger.verify(own, witnesses=[signer])


def test_a_witness_signs_no_second_head_of_a_size(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    with Ledger(path) as ledger:
        head = ledger.head()
        proof = ledger.consistency(head.size)
    assert head.countersigned(key, after=head, proof=proof).witnessed_by([key.public_key()]) == 1
    for changed in ({"root": "00" * 32}, {"chain": "11" * 32}, {"ledger": "f" * 32}, {"size": 200}):
        for shown in (None, proof):
            with pytest.raises(RuleError, match="does not continue"):
                head._replace(**changed).countersigned(key, after=head, proof=shown)


def test_a_backup_to_a_full_disk_leaves_nothing(path: Path, tmp_path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.append_many([("k", "x" * 10_000)] * 100)
    folder = tmp_path / "full"
    folder.mkdir()
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
    code += "from turnwire.ledger import Ledger; Ledger(sys.argv[1]).backup(sys.argv[2])"
    failed = subprocess.run([sys.executable, "-c", code, path, folder / "copy.db"], capture_output=True, text=True)
    assert failed.returncode == 1 and "OSError" in failed.stderr
    assert f"{str(folder / 'copy.db')!r}" in failed.stderr, "what was asked for is named"
    assert ".turnwire-" not in failed.stderr.splitlines()[-1]
    assert list(folder.iterdir()) == []


@posix
def test_a_backup_that_was_killed_goes_with_the_next_one(path: Path, tmp_path: Path) -> None:
    """Also the files that SQLite made beside it."""
    folder = tmp_path / "copies"
    folder.mkdir()
    code = "import os, sys; from turnwire.ledger import Ledger, store\n"
    code += "def killed(path): (path.parent / 'copy-journal').touch(); os.kill(os.getpid(), 9)\n"
    code += "store.verify_file = killed; Ledger(sys.argv[1], read_only=True).backup(sys.argv[2])"
    failed = subprocess.run([sys.executable, "-c", code, path, folder / "first.db"])
    assert failed.returncode == -9 and len(os.listdir(folder)) == 1
    code = "import sys; from turnwire.ledger import Ledger; Ledger(sys.argv[1]).backup(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, path, folder / "second.db"], check=True)
    assert os.listdir(folder) == ["second.db"]


@pytest.mark.parametrize("pair", list(combinations(["about", "entries", "entries_by_key"], 2)), ids="-".join)
def test_whatever_tables_are_exchanged_nothing_is_read_or_acknowledged(path: Path, pair: tuple[str, str]) -> None:
    """SQLite finds some of them only when it reads the pages."""
    one, other = pair
    with Ledger(path) as ledger:
        ledger.append("x", b"with a key", key="k")
    lead(path, {one: other, other: one})
    assert verify_file(path).fault is not None
    for read_only in (False, True):
        with pytest.raises(RuleError, match=r"ledger_broken|bad_ledger"), Ledger(path, read_only=read_only) as ledger:
            _ = [*ledger, *ledger.find("x", "k")]
    with pytest.raises(RuleError, match=r"ledger_broken|bad_ledger"), Ledger(path) as ledger:
        ledger.append("x", b"another", key="k")


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_told_by_turnwires_own_error(path: Path, seed: int) -> None:
    """Never by SQLite's: whoever appends, reads or looks up gets what the file had, or RuleError."""
    chance = random.Random(seed)
    with Ledger(path) as ledger:
        ledger.append_many([("x", b"body %d" % number, "key") for number in range(100)])
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(100, len(data))
        data[at : at + chance.choice([1, 8, 600])] = chance.randbytes(chance.choice([1, 8, 600]))
    path.write_bytes(data)
    uses: list[Callable[[Ledger], object]] = [
        list,
        len,
        lambda ledger: list(ledger.find("x", "key")),
        Ledger.head,
        lambda ledger: ledger.prove(3),
        lambda ledger: ledger.append("x", b"more", key="key"),
    ]
    for use in uses:
        with suppress(RuleError), Ledger(path) as ledger:
            use(ledger)


def test_a_name_in_the_schema_that_is_no_utf8(tmp_path: Path) -> None:
    """SQLite's message names it, and Python cannot read that message."""
    path = tmp_path / "a"
    with Ledger(path) as ledger:
        ledger.append("x", b"body")
    data = path.read_bytes()
    at = data.index(b"tableentriesentries")
    path.write_bytes(data[: at + 6] + b"\xd3" + data[at + 7 : at + 20] + b"\x07" + data[at + 21 :])
    fault = verify_file(path).fault
    assert fault == ("file", 1, r"malformed database schema (e\xd3tries)")
    for read_only in (False, True):
        with pytest.raises(RuleError, match="not a ledger: malformed database schema") as caught:
            Ledger(path, read_only=read_only)
        assert caught.value.reason == "bad_ledger"


# --- hashes, the chain, the tree of RFC 9162, and proofs and checkpoints as objects: without a file, but for costs ----


START = b"s" * 32
NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=9)
ITEMS = st.lists(st.tuples(NAMES, st.binary(max_size=300), NAMES), max_size=9)
VALUES = st.none() | st.integers() | st.floats() | st.binary(max_size=40) | st.text(max_size=5) | st.just("\ud800")


@given(last=st.integers(0, 2**62), at=st.integers(-(2**63), 2**63 - 1), items=ITEMS)
def test_sealed_rows_follow(last: int, at: int, items: list[Any]) -> None:
    rows, chain = seal(last, at, items, START)
    assert [row[0] for row in rows] == list(range(last + 1, last + 1 + len(items)))
    for before, row in zip([START, *(row[5] for row in rows)], rows, strict=False):
        assert proved((before, *row), START) == row and link(before, leaf_of(*row[:5])) == row[5]
    assert chain == [START, *(row[5] for row in rows)][-1]


@given(column=st.integers(0, 6), value=VALUES, item=ITEMS.filter(bool))
def test_a_row_is_proved_by_its_own_link_and_the_one_before(column: int, value: Any, item: list[Any]) -> None:
    rows, _ = seal(7, 1, item[:1], START)
    bent = [START, *rows[0]]
    same = bent[column] == value and type(bent[column]) is type(value)
    bent[column] = value
    if same:
        assert proved(tuple(bent), b"") == rows[0]
    else:
        with pytest.raises(RuleError, match="not the one that was appended"):
            proved(tuple(bent), b"")


def test_hashes_are_those_of_the_documents() -> None:
    """A kind has 65,535 bytes at most: its size stands in two bytes. Equal bytes of other names hash otherwise."""
    assert len(leaf_of(1, 2, "k" * 0xFFFF, "key", b"body")) == 32
    raised(struct.error, leaf_of, 1, 2, "k" * 0x10000, "key", b"body")
    names = (("ab", "c", b"d"), ("a", "bc", b"d"), ("a", "b", b"cd"))
    assert len({leaf_of(1, 2, kind, key, body) for kind, key, body in names}) == 3
    a, b = sha256(b"a").digest(), sha256(b"b").digest()
    assert link(a, b) == sha256(b"\x02" + a + b).digest()
    assert rows.fold([a]) == a and rows.fold([a, b]) == sha256(b"\x01" + a + b).digest()


LEAVES = tuple(sha256(bytes([0, number])).digest() for number in range(70))


@cache
def by_definition(leaves: tuple[bytes, ...]) -> bytes:
    """The recursive definition of the standard."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256(b"").digest()
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + by_definition(leaves[:split]) + by_definition(leaves[split:])).digest()


def node(level: int, index: int) -> bytes:
    return by_definition(LEAVES[index << level : (index + 1) << level])


def test_the_known_roots_of_the_certificate_transparency_test_vectors() -> None:
    leaves = [b"", b"\x00", b"\x10", b"\x20\x21", b"\x30\x31", b"\x40\x41\x42\x43"]
    hashes = tuple(sha256(b"\0" + leaf).digest() for leaf in leaves)
    assert hashes[0].hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert by_definition(hashes[:2]).hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert rows.fold(hashes[:4]) == by_definition(hashes[:4])
    found = rows.root(6, lambda level, at: by_definition(hashes[at << level : at + 1 << level]))
    assert found == by_definition(hashes)


@pytest.mark.parametrize("size", range(71))
def test_roots_and_proofs_of_every_shape(size: int) -> None:
    expected = by_definition(LEAVES[:size])
    assert rows.root(size, node) == expected
    for index in range(size):
        path = rows.inclusion(index, size, node)
        assert rows.root_from_inclusion(LEAVES[index], index, size, path) == expected
    for old in range(size + 1):
        path = rows.consistency(old, size, node)
        before = by_definition(LEAVES[:old])
        found = rows.roots_from_consistency(old, size, before, path)
        assert found == (before, expected) or (old == 0 and found == (before, b""))


def test_heads_and_proofs_hash_each_entry_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ever larger entries, a head after each would else cost many times what is written."""
    of_row = rows.leaf_of
    with Ledger(tmp_path / "a.ledger", synchronous="NORMAL") as ledger:
        hashed: list[int] = []
        for number in (1, 1, 3, 250, 1, 1, 40, 0, 220, 5):  # up to each side of a whole tile, and over one
            ledger.append_many(("x", b"y" * 9) for _ in range(number))
            size = len(ledger)
            hashed.clear()
            with monkeypatch.context() as patch:
                patch.setattr(rows, "leaf_of", lambda *row: hashed.append(row[0]) or of_row(*row))
                head = ledger.head()
            assert hashed == [*range(size - number + 1, size + 1)]
            assert (head.size, head.root) == (size, by_definition(tuple(entry.leaf for entry in ledger)).hex())
        raw: Any = ledger._writer
        raw.execute("DROP TRIGGER entries_no_update")
        raw.execute("UPDATE entries SET body = X'00' WHERE rowid = 300")
        with pytest.raises(RuleError, match="entries up to 512 have changed"):
            ledger.prove(301)
        assert ledger.prove(1).holds(head)


# ---------------------------------------------------------------- checkpoints and proofs


def head(size: int) -> Checkpoint:
    return Checkpoint("ab" * 8, size, rows.root(size, node).hex(), f"{size:064x}", "2026-01-15T00:00:00Z")


BENT_HEADS: tuple[dict[str, Any], ...] = ({"root": "00" * 32}, {"size": 99})
FIELDS: dict[str, Any] = {**json.loads(head(3).to_json()), "key": "aa", "signature": "bb"}


@pytest.mark.parametrize(
    "changes",
    [
        *("", "{", '{"a":1}x', "[]", "3", "null"),
        {"odd": 1},
        *({name: value} for name in ("ledger", "root", "chain", "time") for value in (None, 1, ...)),
        *({"size": value} for value in (None, "3", 3.0, True, ...)),
        *({name: value} for name in ("key", "signature") for value in (None, 1, [])),
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_refused(changes: dict[str, Any] | str) -> None:
    text = (
        changes
        if isinstance(changes, str)
        else json.dumps({name: value for name, value in (FIELDS | changes).items() if value is not ...})
    )
    caught = raised(RuleError, Checkpoint.from_json, text)
    assert (caught.reason, caught.rule) == (Reason.BAD_CHECKPOINT, "checkpoint")
    assert isinstance(changes, str) or next(iter(changes)) in caught.text


def test_a_checkpoint_without_key_or_signature_is_one() -> None:
    for left_out in ((), ("key",), ("signature",), ("key", "signature")):
        fields = {name: value for name, value in FIELDS.items() if name not in left_out}
        made = Checkpoint.from_json(json.dumps(fields))
        assert json.loads(made.to_json()) == fields
        assert (made.key, made.signature) == (fields.get("key"), fields.get("signature"))


@pytest.mark.parametrize(
    ("made", "names"),
    [(InclusionProof, "seq, size, leaf, path, root"), (ConsistencyProof, "old, new, path, old_root, new_root")],
)
def test_a_proof_that_lacks_a_field_names_all(made: Any, names: str) -> None:
    whole = {"seq": 1, "size": 2, "old": 1, "new": 2, "path": ["00"], "leaf": "01", "root": "02", "old_root": "03"}
    whole["new_root"] = "04"
    fields = {name: whole[name] for name in names.split(", ")}
    assert made.from_dict({**fields, "more": 1}).to_dict() == fields
    for name in fields:
        with pytest.raises(ValueError, match=f"^a proof has the fields {names}$"):
            made.from_dict({key: value for key, value in fields.items() if key != name})


@pytest.mark.parametrize("old", range(6))
def test_a_proof_holds_between_its_own_two_heads(old: int) -> None:
    for new in range(old):
        with pytest.raises(IndexError, match=f"^a tree of {new} leaves does not continue one of {old}$"):
            rows.consistency(old, new, node)
    for new in range(old, 6):
        path = tuple(rows.consistency(old, new, node))
        proof = ConsistencyProof(old, new, path, rows.root(old, node), rows.root(new, node))
        before, after = head(old), head(new)
        assert proof.holds() and proof.holds(before) and proof.holds(None, after) and proof.holds(before, after)
        for change in BENT_HEADS:
            assert not proof.holds(before._replace(**change)) and not proof.holds(None, after._replace(**change))
            assert not proof.holds(before, after._replace(**change))
        assert not proof._replace(old_root=b"x").holds()
        assert not old or not proof._replace(new_root=b"x").holds()
        for wrong in ((*path, LEAVES[0]), path[:-1] if path else (LEAVES[0],)):
            assert not proof._replace(path=wrong).holds()


@pytest.mark.parametrize("size", range(1, 12))
def test_a_path_of_another_length_leads_nowhere(size: int) -> None:
    for index in range(size):
        path = rows.inclusion(index, size, node)
        proof = InclusionProof(index + 1, size, LEAVES[index], tuple(path), rows.root(size, node))
        assert proof.holds(head(size), leaf=LEAVES[index])
        assert not proof.holds(head(size), leaf=LEAVES[index + 1])
        for change in BENT_HEADS:
            assert not proof.holds(head(size)._replace(**change))
        assert not proof._replace(root=LEAVES[-1]).holds()
        for wrong in ([*path, LEAVES[0]], path[:-1] if path else [LEAVES[0]], [*path, *path, LEAVES[0]]):
            assert rows.root_from_inclusion(LEAVES[index], index, size, wrong) is None
    for index in (-1, size, size + 1):
        assert rows.root_from_inclusion(LEAVES[0], index, size, []) is None
        with pytest.raises(IndexError, match=f"^leaf {index} is not in a tree of {size}$"):
            rows.inclusion(index, size, node)
    for old in range(1, size):
        path = rows.consistency(old, size, node)
        for wrong in ([*path, LEAVES[0]], path[:-1], [], [*path, *path, LEAVES[0]]):
            assert rows.roots_from_consistency(old, size, rows.root(old, node), wrong) is None
    assert rows.roots_from_consistency(-1, size, b"", []) is None
    assert rows.roots_from_consistency(0, 0, b"x", []) == (b"x", b"x")
