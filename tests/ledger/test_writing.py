"""A writer knows the end of its file, also if others write to it, too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from turnwire.errors import RuleError
from turnwire.ledger import Ledger, connection, store
from turnwire.ledger.store import Writer

pytestmark = pytest.mark.once


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """Two ledgers of one file, as two processes have them; neither waits for the other."""
    with Ledger(tmp_path / "a.ledger", timeout=0) as one, Ledger(tmp_path / "a.ledger", timeout=0) as other:
        yield one, other


def writer_of(ledger: Ledger) -> Writer:
    assert ledger._writer is not None
    return ledger._writer


def test_nobody_writes_between_a_look_at_the_end_and_what_follows_it(
    two: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    look, refused = writer_of(one)._catch_up, []

    def looked() -> None:
        look()
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            other.append("k", "between")
        refused.append(caught)

    monkeypatch.setattr(writer_of(one), "_catch_up", looked)
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

    insert = writer_of(one)._insert

    def full(rows: list[Any]) -> None:
        insert(rows)
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(writer_of(one), "_insert", full)
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

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writer_of(one), "_catch_up", interrupt)
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
    opened = writer_of(one).connection
    opened.execute("BEGIN IMMEDIATE")
    columns = "at, kind, key, body, chain"
    opened.execute(f"INSERT INTO entries (rowid, {columns}) SELECT 2, {columns} FROM entries")
    assert one.append("k", "v") == 2
    assert other.append("k", "v") == 3
    assert one.verify()
