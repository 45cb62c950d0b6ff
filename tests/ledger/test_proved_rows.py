"""A row is proved when it is read: what was rewritten behind the triggers is an error, and nothing follows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.ledger.intruder import rewrite
from tests.sap.documents import TASK
from turnwire import sap
from turnwire.errors import Reason, RuleError
from turnwire.ledger import Ledger

pytestmark = pytest.mark.once
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
