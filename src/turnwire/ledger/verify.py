"""Verification of a ledger file, row by row, in one read-only pass; nothing in the file is taken on trust."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason, RuleError, expect
from turnwire.ledger import merkle
from turnwire.ledger.connection import LOST_LOG, input_output, ledger_id, lost_its_log, open_to_read, told
from turnwire.ledger.rows import Fault, ProofFailed, ProvedRows
from turnwire.ledger.schema import APPLICATION_ID, SCHEMA, strange_schema

if TYPE_CHECKING:
    from turnwire.ledger.checkpoint import Checkpoint


_CACHE = -4000  # KiB, twice that of SQLite: each row is looked up in the index, which may be in any order
NO_LEDGER = "no ledger"
"""The place of a fault in a file that never was a ledger, as far as can be seen."""


class Verdict(NamedTuple):
    """The result of a verification. True when nothing failed.

    size, root, chain: of the entries that were read before the fault, or of all. proved: sentences. fault: or None.
    """

    size: int
    root: str
    chain: str
    proved: tuple[str, ...]
    fault: Fault | None

    def __bool__(self) -> bool:
        return self.fault is None


class _Verification:
    """One run over a file; its attributes are what is known so far."""

    def __init__(self, connection: sqlite3.Connection, heads: tuple[Checkpoint, ...], trusted: Trusted) -> None:
        self.connection = connection
        self.heads = heads
        self.trusted = trusted
        self.rows: ProvedRows | None = None
        self.root = merkle.EMPTY_ROOT
        self.proved: list[str] = []

    def run(self, path: object) -> None:
        self.connection.execute("BEGIN")
        self._schema()
        identity = ledger_id(self.connection, path)
        self.rows = rows = ProvedRows(identity)
        try:
            rows.go_on(self.connection)
        finally:
            self.root = rows.root(self.connection)
        self.proved.append(f"{rows.size} entries are the ones that were appended, in order, by their hash chain")
        self.proved.append(f"the root of the Merkle tree over them is {self.root.hex()}")
        self._pages()
        for head in self.heads:
            self._head(head, identity, rows)

    def _schema(self) -> None:
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            found = self.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            tables = {name for (name,) in found}
            if not application and not tables:
                raise ProofFailed(NO_LEDGER, LOST_LOG if lost_its_log(self.connection) else "it is empty")
            if not tables & SCHEMA.keys():
                raise ProofFailed(NO_LEDGER, "it is an SQLite database of another application")
            raise ProofFailed("schema", "the file does not say that it is a ledger")
        strange = strange_schema(self.connection)
        if strange is not None:
            raise ProofFailed("schema", strange)
        self.proved.append("tables and append-only triggers are as they were made")

    def _pages(self) -> None:
        # Not quick_check, for which a record of the index with a field too many before its row number is no fault.
        (cache,) = self.connection.execute("PRAGMA cache_size").fetchone()
        self.connection.execute(f"PRAGMA cache_size = {_CACHE}")
        try:
            (found,) = self.connection.execute("PRAGMA integrity_check(1)").fetchone()
        finally:
            self.connection.execute(f"PRAGMA cache_size = {cache}")
        if found != "ok":
            raise ProofFailed("pages", found)
        (extra,) = self.connection.execute("SELECT count(*) FROM about WHERE name NOT IN ('format', 'id')").fetchone()
        if extra:
            raise ProofFailed("schema", "about holds a name that does not belong there")
        self.proved.append("pages and indexes of the file are consistent")

    def _head(self, head: Checkpoint, identity: str, rows: ProvedRows) -> None:
        if head.ledger != identity:
            raise ProofFailed("head", f"the kept head is of ledger {head.ledger}, this is {identity}")
        self.trusted.require(head)
        if head.size > rows.size:
            raise ProofFailed("head", f"the kept head has {head.size} entries: the tail is cut off", rows.size + 1)
        if not rows.had(self.connection, head.size, head.root, head.chain):
            raise ProofFailed("head", f"the first {head.size} entries are not those of the kept head")
        self.proved.append(f"it continues the {self.trusted.words}head of {head.time} with {head.size} entries")


class Trusted:
    """Whose signatures a kept head must bear: of one of ``keys``, and of ``threshold`` of ``witnesses``."""

    def __init__(self, keys: Iterable[Any] = (), witnesses: Iterable[Any] = (), threshold: int | None = None) -> None:
        self.keys = tuple(keys)
        self.witnesses = tuple(witnesses)
        self.threshold = len(self.witnesses) if threshold is None else threshold
        if not 0 <= self.threshold <= len(self.witnesses):
            raise ValueError(f"the threshold is a number of witnesses, 0 to {len(self.witnesses)}, not {threshold}")

    @property
    def words(self) -> str:
        """The words for a head that passes."""
        return "signed " * bool(self.keys) + f"and {self.threshold} times witnessed " * bool(self.threshold)

    def require(self, head: Checkpoint) -> None:
        """Raises ProofFailed where a signature is missing."""
        if self.keys and not any(head.signed_by(key) for key in self.keys):
            raise ProofFailed("head", "the kept head is not signed by a trusted key")
        found = head.witnessed_by(self.witnesses)
        if found < self.threshold:
            raise ProofFailed("head", f"the kept head has {found} trusted witnesses, {self.threshold} are wanted")


def verify_file(
    path: str | os.PathLike[str],
    *heads: Checkpoint,
    trusted: Iterable[Any] = (),
    witnesses: Iterable[Any] = (),
    threshold: int | None = None,
    timeout: float = 30.0,
) -> Verdict:
    """Proves a ledger file; see :meth:`Ledger.verify`. Opens it read-only.

    ``trusted``: public keys (Ed25519, raw bytes or hex); with any, every head must be signed by one of them.
    ``witnesses``: keys of others, of whom ``threshold`` (default: all) must have countersigned every head.

    Without a kept head nobody can see a tail that was cut off, or a file forged from the start. Raises
    FileNotFoundError, or OSError for a file that cannot be read.
    """
    asked = Trusted(trusted, witnesses, threshold)
    connection, check = open_to_read(path, timeout)
    with closing(connection):
        try:
            return verify_connection(connection, path, *heads, trusted=asked)
        finally:
            check()


def verify_connection(connection: sqlite3.Connection, path: object, *heads: Checkpoint, trusted: Trusted) -> Verdict:
    """Proves the ledger of an open connection, in one transaction. path: its name in errors. Raises OSError where the
    file cannot be read."""
    run = _Verification(connection, heads, trusted)
    fault = None
    try:
        run.run(path)
    except ProofFailed as failure:
        fault = failure.fault
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.Error) and (failed := input_output(error, path)) is not None:
            raise failed from error
        code = getattr(error, "sqlite_errorcode", None)  # what the module itself raises has none
        if code == sqlite3.SQLITE_NOTADB and run.rows is None:
            fault = Fault(NO_LEDGER, None, "it is not an SQLite database")
        else:
            fault = Fault("file", 1 if run.rows is None else run.rows.size + 1, told(error))
    except RuleError as error:
        fault = Fault("file", None, error.text)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")  # nothing was written
    size, chain = (0, "") if run.rows is None else (run.rows.size, run.rows.chain.hex())
    return Verdict(size, run.root.hex(), chain, tuple(run.proved), fault)


def require(verdict: Verdict) -> Verdict:
    """The verdict itself when nothing failed. Raises RuleError(ledger_broken) with the first fault."""
    expect(verdict, Verdict, "the Verdict of a ledger is required")
    if verdict.fault is not None:
        where = "" if verdict.fault.seq is None else f" at entry {verdict.fault.seq}"
        raise RuleError(Reason.LEDGER_BROKEN, f"{verdict.fault.where}{where}: {verdict.fault.text}", rule="ledger")
    return verdict
