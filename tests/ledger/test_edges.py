"""Numbers of entries and bytes of names, each just below, at and above; and which of several faults is told."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.ledger.intruder import rewrite
from tests.sap.documents import RESULT, TASK
from turnwire import csp, sap
from turnwire.errors import Reason, RuleError
from turnwire.ledger import Ledger, connection, store, verify_file
from turnwire.ledger.connection import damage, input_output
from turnwire.sap import Cache, LearningLoop

pytestmark = pytest.mark.once


def test_entries_count_from_1() -> None:
    with Ledger(":memory:") as ledger:
        for number in (1, 2, 3):
            assert ledger.append("k", str(number)) == number
        assert [ledger[number].body for number in (1, 2, 3)] == [b"1", b"2", b"3"]
        for number in (0, -1, -3, 4, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30):
            with pytest.raises(IndexError, match=f"the ledger has no entry {number}"):
                ledger[number]
            for kind in (None, "k"):
                behind, before = (len([*ledger.entries(*asked, kind=kind)]) for asked in ((number,), (1, number)))
                assert (behind, before) == ((3, 0) if number < 1 else (0, 3)), number


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac", "\U0001f600"])
def test_a_key_has_so_many_bytes_at_most(letter: str) -> None:
    most = 65_535 // len(letter.encode())
    with Ledger(":memory:") as ledger:
        for number in (1, most - 1, most):
            ledger.append("k", "v", key=letter * number)
        for number in (most + 1, 2 * most, 4 * most):
            with pytest.raises(ValueError, match="at most 65535 bytes"):
                ledger.append("k", "v", key=letter * number)
        assert len(ledger) == 3


@pytest.mark.parametrize("size", [-2, -1, 2, 3])
def test_a_head_of_no_size_of_the_ledger_is_refused_with_words(size: int) -> None:
    with Ledger(":memory:") as ledger:
        ledger.append("k", "v")
        verdict = ledger.verify(ledger.head()._replace(size=size))
        assert not verdict and verdict.fault is not None and verdict.fault.where == "head"


@pytest.mark.parametrize("number", [0, 1, 2, 3, 511, 512, 513, 514, 1024, 1025, 1026])
def test_all_entries_of_a_key_are_found_however_many_follow_each_other(number: int) -> None:
    with Ledger(":memory:") as ledger:
        ledger.append_many([("k", "x", "other"), ("j", "x", "key")])
        ledger.append_many([("k", str(place), "key") for place in range(number)])
        ledger.append("k", "y", key="other")
        assert [entry.seq for entry in ledger.find("k", "key")] == [*range(number + 2, 2, -1)]
        assert [entry.body for entry in ledger.find("k", "other")] == [b"y", b"x"]


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda body: body.decode()])
def test_a_body_of_any_bytes_is_kept_as_it_is(make: Callable[[bytes], Any]) -> None:
    with Ledger(":memory:") as ledger:
        body = b'{"b": 1,\n "a": 2}'
        ledger.append("k", make(body))
        ledger.append_many([("k", make(body)), ("k", {"b": 1, "a": 2})])
        assert [entry.body for entry in ledger] == [body, body, b'{"a":2,"b":1}']


ERRORS = {
    sqlite3.SQLITE_CANTOPEN: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_CORRUPT: None,
    sqlite3.SQLITE_NOTADB: None,
    sqlite3.SQLITE_CONSTRAINT: None,
    sqlite3.SQLITE_SCHEMA: None,
    sqlite3.SQLITE_ERROR: None,
}
"""SQLite's message -> the number of the OSError that it is; None if it is about the contents of the file."""


@pytest.mark.parametrize("code", ERRORS)
@pytest.mark.parametrize("more", [0, 1 << 8, 5 << 8])
def test_what_the_system_refuses_is_an_error_of_the_system(code: int, more: int) -> None:
    """Also where SQLite says more of it, in the bits above."""
    error = sqlite3.OperationalError("words")
    error.sqlite_errorcode = code | more
    found = input_output(error, Path("a.ledger"))
    assert (found and found.errno) == ERRORS[code]
    assert found is None or (found.filename, found.strerror) == ("a.ledger", "words")
    lost = damage(error)
    assert (lost is not None) is (code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT))
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHORT_READ  # the file ends too early: that is about what it holds
    assert input_output(error, "a") is None and input_output(sqlite3.Error(), "a") is None


@pytest.mark.parametrize(
    ("name", "columns", "harmless"),
    [
        ("sqlite_stat1", "tbl,idx,stat", True),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample", True),
        ("sqlite_stat1", "tbl,idx,stat,more", False),
        ("sqlite_stat4", "tbl,idx,neq", False),
        ("sqlite_stat9", "tbl,idx,stat", False),
    ],
)
def test_the_tables_of_statistics_are_those_that_sqlite_makes(
    name: str, columns: str, harmless: bool, tmp_path: Path
) -> None:
    """Also those of an SQLite that was built with more of them."""
    path = tmp_path / "a.ledger"
    Ledger(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"CREATE TABLE other({columns})")
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(
            "UPDATE sqlite_schema SET name = ?, tbl_name = ?, sql = ? WHERE name = 'other'",
            (name, name, f"CREATE TABLE {name}({columns})"),
        )
    raw.close()
    assert bool(verify_file(path)) is harmless


def test_a_head_of_nothing_is_continued_by_every_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.ledger") as ledger:
        empty = ledger.head()
        for size in range(3):
            assert len(ledger) == size and ledger.verify(empty)
            Ledger(tmp_path / "a.ledger", after=empty).close()
            ledger.append("k", "v")


def test_nothing_is_signed_for_tables_that_were_changed(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.ledger", signer=b"\1" * 32) as ledger:
        assert ledger.head().signature
        with sqlite3.connect(ledger.path) as raw:
            raw.execute("CREATE INDEX more ON entries (at)")
        raw.close()
        with pytest.raises(RuleError, match="more is not part of a ledger"):
            ledger.head()


# --- a writer knows the end of its file, also if others write to it, too ----------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """Two ledgers of one file, as two processes have them; neither waits for the other."""
    with Ledger(tmp_path / "a.ledger", timeout=0) as one, Ledger(tmp_path / "a.ledger", timeout=0) as other:
        yield one, other


def test_nobody_writes_between_a_look_at_the_end_and_what_follows_it(
    two: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    look, refused = one._catch_up, []

    def looked(writer: sqlite3.Connection) -> None:
        look(writer)
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            other.append("k", "between")
        refused.append(caught)

    monkeypatch.setattr(one, "_catch_up", looked)
    assert [one.append("k", str(number)) for number in range(3)] == [1, 2, 3]
    assert len(refused) == 3


def test_two_that_make_a_ledger_at_once_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks whether the file is empty in order to make its tables is the only one."""
    path, look, seen = tmp_path / "a.ledger", connection.identity_of, []

    def looked(opened: sqlite3.Connection) -> str | None:
        found = look(opened)
        if opened.in_transaction:
            other = sqlite3.connect(path, timeout=0, isolation_level=None)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()
            seen.append(found)
        return found

    monkeypatch.setattr(connection, "identity_of", looked)
    with Ledger(path) as ledger:
        assert ledger.append("k", "v") == 1
    assert seen[0] is None and len(seen) == 2


@pytest.mark.parametrize("before", [1, 49, 50, 51, 255, 256, 257])
def test_what_others_wrote_is_in_front_of_what_follows(before: int, two: tuple[Ledger, Ledger]) -> None:
    """However much the file held when this one last wrote."""
    one, other = two
    assert one.append_many([("k", "v")] * before) == range(1, before + 1)
    assert other.append("k", "of another") == before + 1
    assert one.append("k", "v") == before + 2
    assert other.append_many([("k", "v")] * 300) == range(before + 3, before + 303)
    assert one.append("k", "v") == before + 303
    assert one.verify()


def test_what_was_not_written_after_all_is_not_believed(
    two: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the file is looked at again where something went wrong."""
    one, _ = two
    one.append("k", "v")

    insert = store._insert

    def full(writer: sqlite3.Connection, rows: list[Any]) -> None:
        insert(writer, rows)
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_insert", full)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            one.append_many([("k", "lost")] * 300)
    assert one.append_many([("k", "v")] * 300) == range(2, 302)
    assert one.verify()


def test_tables_are_looked_at_where_somebody_changed_them(
    two: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each time that somebody else has written."""
    looked: list[Any] = []
    one, other = two
    judge = store.require_schema
    monkeypatch.setattr(store, "require_schema", lambda opened: looked.append(opened) or judge(opened))
    for _ in range(5):
        one.append("k", "v")
        other.append("k", "v")
    assert len(looked) == 2
    with sqlite3.connect(one.path) as raw:
        raw.execute("CREATE INDEX more ON entries (at)")
    raw.close()
    for ledger in two:
        with pytest.raises(RuleError, match="more is not part of a ledger"):
            ledger.append("k", "v")
    assert len(looked) == 4


def test_what_was_interrupted_before_its_turn_is_not_written(
    two: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two

    def interrupt(writer: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(one, "_catch_up", interrupt)
        raised(KeyboardInterrupt, one.append, "k", "lost")
    assert one.append("k", "kept") == 1
    assert [entry.body for entry in one] == [b"kept"]


def test_a_conflict_costs_nobody_anything(two: tuple[Ledger, Ledger]) -> None:
    one, other = two
    assert other.append("k", "v") == 1
    for wrong in (0, 7):
        with pytest.raises(RuleError, match=f"the last entry is 1, not {wrong}"):
            one.append("k", "v", expect=wrong)
    assert one.append("k", "v", expect=1) == 2
    assert one.verify()


def test_what_an_interruption_left_open_is_taken_back(two: tuple[Ledger, Ledger]) -> None:
    one, other = two
    one.append("k", "v")
    opened: Any = one._writer
    opened.execute("BEGIN IMMEDIATE")
    columns = "at, kind, key, body, chain"
    opened.execute(f"INSERT INTO entries (rowid, {columns}) SELECT 2, {columns} FROM entries")
    assert one.append("k", "v") == 2
    assert other.append("k", "v") == 3
    assert one.verify()


# --- a ledger in memory: all that a ledger is, without a file ---------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, which is to stay empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_a_ledger_without_a_file(folder: Path) -> None:
    with Ledger(":memory:") as ledger, Ledger(":memory:") as other:
        assert ledger.in_memory
        assert ledger.append("task", {"b": 1}, key="k") == 1
        assert ledger.append_many(("x", str(number)) for number in range(600)) == range(2, 602)
        assert ledger.append("y", b"1") == 602
        assert (len(ledger), len(other)) == (602, 0)
        assert ledger.id != other.id
        assert [entry.json() for entry in ledger.find("task", "k")] == [{"b": 1}]
        assert [entry.seq for entry in ledger] == list(range(1, 603))
        head = ledger.head()
        assert ledger.prove(300).holds(head, leaf=ledger[300].leaf)
        assert ledger.consistency(256).holds(None, head)
        assert ledger.verify(head)
        assert not other.verify(head)
        assert ledger.append("z", b"") == 603  # verification left no transaction open
    assert list(folder.iterdir()) == []


def test_a_cache_a_loop_and_a_store_live_in_it(folder: Path) -> None:
    asked, answered = sap.Task.from_dict(TASK), sap.Result.from_dict(RESULT)
    with Cache(":memory:") as cache, LearningLoop(":memory:") as loop, Ledger(":memory:") as ledger:
        assert isinstance(cache.get(asked), sap.Miss)
        assert cache.put(asked, answered) == 1
        assert isinstance(cache.get(asked), sap.Hit)
        loop.observe(asked, answered)
        artifacts = loop.derive()
        assert len(list(loop.signals())) == 1
        assert artifacts, "they are in the ledger, not in a folder"
        store = csp.Store({"STACK": "py"}, journal=ledger)
        store.apply(csp.message("A", "B", "C0", csp.Patch("P1", "C0", [csp.Op("+", "DB", "sqlite")], "C1")))
        assert csp.Store.reopen(ledger).defs == store.defs
    assert list(folder.iterdir()) == []


def test_a_file_of_that_name_is_still_a_file(folder: Path) -> None:
    with Ledger(Path(":memory:")) as ledger:
        ledger.append("x", b"")
        assert not ledger.in_memory
    assert (folder / ":memory:").is_file()
    with Ledger("./:memory:") as ledger:
        assert len(ledger) == 1
    assert verify_file("./:memory:")
    raised(FileNotFoundError, verify_file, ":memory:")


# --- a row is proved when it is read: what was rewritten behind the triggers is an error, and nothing follows it ------


KEY = bytes(range(32))


def filled(path: Path) -> Ledger:
    ledger = Ledger(path, signer=KEY)
    ledger.append_many([("note", f"body {number}", f"k{number % 3}") for number in range(9)])
    return ledger


CHANGES = {
    "body": ("UPDATE entries SET body = ? WHERE rowid = ?", b"forged"),
    "shorter": ("UPDATE entries SET body = ? WHERE rowid = ?", b"body"),
    "time": ("UPDATE entries SET at = ? WHERE rowid = ?", 1),
    "own link": ("UPDATE entries SET chain = ? WHERE rowid = ?", bytes(32)),
}


@pytest.mark.parametrize("open_again", [False, True])
@pytest.mark.parametrize("seq", [1, 5, 9])
@pytest.mark.parametrize("change", CHANGES)
def test_a_rewritten_row_is_not_given(change: str, seq: int, open_again: bool, tmp_path: Path) -> None:
    ledger = filled(tmp_path / "l")
    good = (seq + 3) % 9 + 1
    statement, value = CHANGES[change]
    rewrite(tmp_path / "l", statement, value, seq)
    if open_again:
        ledger.close()
        ledger = Ledger(tmp_path / "l", signer=KEY)
    reads: dict[str, Callable[[], Any]] = {
        "index": lambda: ledger[seq],
        "find": lambda: list(ledger.find("note", f"k{(seq - 1) % 3}")),
        "entries": lambda: list(ledger.entries(seq)),
        "of a kind": lambda: list(ledger.entries(kind="note")),
        "prove": lambda: ledger.prove(seq),
    }
    for name, read in reads.items():
        caught = raised(RuleError, read)
        assert caught.reason is Reason.LEDGER_BROKEN and str(seq) in caught.text, name
    assert ledger[good].body == f"body {good - 1}".encode()
    assert [entry.seq for entry in ledger] == list(range(1, 10)), "who looks into a broken file sees what it holds"
    if open_again:
        raised(RuleError, ledger.head)
    assert not ledger.verify()


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("UPDATE entries SET chain = zeroblob(32) WHERE rowid = 4", RuleError),
        ("DELETE FROM entries WHERE rowid = 4", IndexError),
    ],
)
def test_a_link_that_was_rewritten_or_is_missing_convicts_the_row_behind_it(
    statement: str, error: type[Exception], tmp_path: Path
) -> None:
    ledger = filled(tmp_path / "l")
    rewrite(tmp_path / "l", statement)
    for seq, told in ((4, error), (5, RuleError)):
        with pytest.raises(told):
            ledger[seq]
    assert ledger[3].seq == 3 and ledger[6].seq == 6


@pytest.mark.parametrize("open_again", [False, True])
def test_nothing_is_appended_behind_a_rewritten_row(open_again: bool, tmp_path: Path) -> None:
    ledger = filled(tmp_path / "l")
    rewrite(tmp_path / "l", "UPDATE entries SET body = ? WHERE rowid = 9", b"forged")
    if open_again:
        ledger.close()
        ledger = Ledger(tmp_path / "l")
    for _ in range(2):
        assert raised(RuleError, ledger.append, "note", "more").reason is Reason.LEDGER_BROKEN
    assert len(ledger) == 9


def test_signals_that_were_rewritten_are_not_learned_from(tmp_path: Path) -> None:
    loop = sap.LearningLoop(tmp_path / "s")
    task = sap.Task.from_dict(json.loads(json.dumps(TASK)))
    loop.judge(task, rating=5)
    (body,) = (entry.body for entry in loop.ledger)
    rewrite(tmp_path / "s", "UPDATE entries SET body = ? WHERE rowid = 1", body.replace(b"5", b"1"))
    raised(RuleError, loop.derive)
