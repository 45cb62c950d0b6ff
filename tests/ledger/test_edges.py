"""Numbers of entries and bytes of names, each just below, at and above; and which of several faults is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from turnwire.ledger import Ledger, verify_file
from turnwire.ledger.verify import Trusted

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


@pytest.mark.parametrize(
    ("signers", "witnesses", "least", "words"),
    [
        ((), (), None, ""),
        (("00" * 32,), (), None, "signed "),
        ((), ("00" * 32,), 1, "and 1 times witnessed "),
        (("00" * 32,), ("11" * 32,), 1, "signed and 1 times witnessed "),
    ],
)
def test_whose_words_are_told(
    signers: tuple[str, ...], witnesses: tuple[str, ...], least: int | None, words: str
) -> None:
    assert Trusted(signers, witnesses, least).words == words


@pytest.mark.parametrize("gone", [{0, 1, 2}, {1, 2}, {2}, {0, 2}])
def test_of_several_nodes_that_are_missing_the_first_is_named(gone: set[int], tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with Ledger(path) as ledger:
        ledger.append_many([("k", "v")] * 256 * 3)
    with sqlite3.connect(path) as raw:
        triggers = raw.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'nodes'"
        ).fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        raw.executemany("DELETE FROM nodes WHERE level = 8 AND position = ?", [(place,) for place in gone])
        for _, text in triggers:
            raw.execute(text)
    raw.close()
    fault = verify_file(path).fault
    assert fault is not None and fault.text == f"the node at level 8, position {min(gone)} is missing"
