"""Verification of a ledger file, row by row, in one read-only pass; nothing in the file is taken on trust."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason, RuleError, expect
from turnwire.ledger import merkle
from turnwire.ledger.connection import LOST_LOG, input_output, ledger_id, lost_its_log, open_to_read, told
from turnwire.ledger.schema import APPLICATION_ID, TABLES, strange_schema
from turnwire.ledger.tree import Fault, HashedRows, ProofFailed

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

    def __init__(self, heads: tuple[Checkpoint, ...], trusted: Trusted) -> None:
        self.heads = heads
        self.trusted = trusted
        self.rows: HashedRows | None = None
        self.proved: list[str] = []

    def run(self, connection: sqlite3.Connection, path: object) -> None:
        connection.execute("BEGIN")
        self._schema(connection)
        identity = ledger_id(connection, path)
        self.rows = rows = HashedRows(identity)
        rows.go_on(connection, {head.size for head in self.heads})
        self.proved.append(f"{rows.size} entries are the ones that were appended, in order, by their hash chain")
        self._nodes(connection, rows)
        self._pages(connection)
        for head in self.heads:
            self._head(head, identity, rows)

    def _schema(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not application and not tables:
                raise ProofFailed(NO_LEDGER, LOST_LOG if lost_its_log(connection) else "it is empty")
            if not tables & TABLES:
                raise ProofFailed(NO_LEDGER, "it is an SQLite database of another application")
            raise ProofFailed("schema", "the file does not say that it is a ledger")
        strange = strange_schema(connection)
        if strange is not None:
            raise ProofFailed("schema", strange)
        self.proved.append("tables and append-only triggers are as they were made")

    def _nodes(self, connection: sqlite3.Connection, rows: HashedRows) -> None:
        for level, position, stored in connection.execute("SELECT level, position, hash FROM nodes"):
            if rows.nodes.pop((level, position), None) != stored:
                raise ProofFailed("tree", f"the node at level {level}, position {position} is wrong")
        if rows.nodes:
            level, position = min(rows.nodes)
            raise ProofFailed("tree", f"the node at level {level}, position {position} is missing")
        self.proved.append(f"the Merkle tree over them is whole; its root is {rows.root()}")

    def _pages(self, connection: sqlite3.Connection) -> None:
        # Not quick_check, for which a record of the index with a field too many before its row number is no fault.
        (cache,) = connection.execute("PRAGMA cache_size").fetchone()
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        try:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        finally:
            connection.execute(f"PRAGMA cache_size = {cache}")
        if found != "ok":
            raise ProofFailed("pages", found)
        (extra,) = connection.execute("SELECT count(*) FROM about WHERE name NOT IN ('format', 'id')").fetchone()
        if extra:
            raise ProofFailed("schema", "about holds a name that does not belong there")
        self.proved.append("pages and indexes of the file are consistent")

    def _head(self, head: Checkpoint, identity: str, rows: HashedRows) -> None:
        if head.ledger != identity:
            raise ProofFailed("head", f"the kept head is of ledger {head.ledger}, this is {identity}")
        self.trusted.require(head)
        if head.size > rows.size:
            raise ProofFailed("head", f"the kept head has {head.size} entries: the tail is cut off", rows.size + 1)
        if head.size < 0 or rows.seen[head.size] != (head.root, head.chain):
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
    connection, lock = open_to_read(path, timeout)
    try:
        with lock:
            return verify_connection(connection, path, *heads, trusted=asked)
    finally:
        connection.close()


def verify_connection(connection: sqlite3.Connection, path: object, *heads: Checkpoint, trusted: Trusted) -> Verdict:
    """Proves the ledger of an open connection, in one transaction. path: its name in errors."""
    run = _Verification(heads, trusted)
    fault = _fault(run, connection, path)
    rows = run.rows
    if rows is None:
        return Verdict(0, merkle.EMPTY_ROOT.hex(), "", tuple(run.proved), fault)
    return Verdict(rows.size, rows.root(), rows.chain.hex(), tuple(run.proved), fault)


def _fault(run: _Verification, connection: sqlite3.Connection, path: object) -> Fault | None:
    """The fault that a run finds. Raises OSError where the file cannot be read."""
    try:
        run.run(connection, path)
    except ProofFailed as failure:
        return failure.fault
    except sqlite3.DatabaseError as error:
        if (failed := input_output(error, path)) is not None:
            raise failed from error
        code = getattr(error, "sqlite_errorcode", None)  # what the module itself raises has none
        if code == sqlite3.SQLITE_NOTADB and run.rows is None:
            return Fault(NO_LEDGER, None, "it is not an SQLite database")
        return Fault("file", 1 if run.rows is None else run.rows.size + 1, str(error))
    except UnicodeDecodeError as error:
        return Fault("file", 1 if run.rows is None else run.rows.size + 1, told(error))
    except RuleError as error:
        return Fault("file", None, error.text)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")  # nothing was written
    return None


def require(verdict: Verdict) -> Verdict:
    """The verdict itself when nothing failed. Raises RuleError(ledger_broken) with the first fault."""
    expect(verdict, Verdict, "the Verdict of a ledger is required")
    if verdict.fault is not None:
        where = "" if verdict.fault.seq is None else f" at entry {verdict.fault.seq}"
        raise RuleError(Reason.LEDGER_BROKEN, f"{verdict.fault.where}{where}: {verdict.fault.text}", rule="ledger")
    return verdict
