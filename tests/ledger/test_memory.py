"""A ledger in memory: all that a ledger is, without a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import raised
from tests.sap.documents import RESULT, TASK
from turnwire import csp, sap
from turnwire.ledger import Ledger, verify_file
from turnwire.sap import Cache, LearningLoop

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test here runs in an empty folder, and leaves it empty."""
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


def test_a_changed_entry_is_found() -> None:
    with Ledger(":memory:") as ledger:
        ledger.append_many([("x", "one"), ("x", "two")])
        ledger._writer.connection.execute("DROP TRIGGER entries_no_update")
        ledger._writer.connection.execute("UPDATE entries SET body = X'00' WHERE rowid = 2")
        verdict = ledger.verify()
        assert verdict.fault is not None
        assert ledger.append("x", "three") == 3


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
