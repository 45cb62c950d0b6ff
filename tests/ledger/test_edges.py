"""Numbers of entries and bytes of names, each just below, at and above; and which of several faults is told."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnwire.errors import RuleError
from turnwire.ledger import Ledger, verify_file
from turnwire.ledger.connection import damage, input_output

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


def test_many_entries_are_fetched_page_by_page() -> None:
    """Neither each by a search of its own, nor all at once."""
    with Ledger(":memory:") as ledger:
        ledger.append_many([("k", "v", "x")] * 1100)
        asked: list[str] = []
        ledger._reader.set_trace_callback(asked.append)
        for several, pages in ((ledger.entries(), 3), (ledger.entries(kind="k"), 3), (ledger.find("k", "x"), 7)):
            asked.clear()
            assert next(several) and len(asked) == 1
            assert len(list(several)) == 1099 and len(asked) == pages


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
