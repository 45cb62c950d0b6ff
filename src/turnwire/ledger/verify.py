"""Verification of a ledger file, row by row, in one read-only pass; nothing in the file is trusted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import expect
from turnwire.ledger import merkle
from turnwire.ledger.connection import NO_LEDGER, identity_of, input_output, open_to_read, told
from turnwire.ledger.rows import Fault, ProofFailed, ProvedRows, refused

if TYPE_CHECKING:
    from turnwire.ledger.checkpoint import Checkpoint


_CACHE = -4000  # KiB, twice that of SQLite: each row is looked up in the index, which may be in any order


class Verdict(NamedTuple):
    """The result of a verification; true if nothing failed.

    size, root, chain: those of the entries before the fault, or of all. proved: what was proved, as sentences. fault:
    the first fault, or None.
    """

    size: int
    root: str
    chain: str
    proved: tuple[str, ...]
    fault: Fault | None

    def __bool__(self) -> bool:
        return self.fault is None


class Trusted:
    """Whose signatures a kept head must bear: of one of ``keys``, and of ``threshold`` of ``witnesses``."""

    def __init__(self, keys: Iterable[Any] = (), witnesses: Iterable[Any] = (), threshold: int | None = None) -> None:
        self.keys = tuple(keys)
        self.witnesses = tuple(witnesses)
        self.threshold = len(self.witnesses) if threshold is None else threshold
        if not 0 <= self.threshold <= len(self.witnesses):
            raise ValueError(
                f"the threshold must be 0 to the number of witnesses, {len(self.witnesses)}, not {threshold}"
            )

    @property
    def words(self) -> str:
        """The words for a head that passes."""
        return "signed " * bool(self.keys) + f"and {self.threshold} times witnessed " * bool(self.threshold)

    def require(self, head: Checkpoint) -> None:
        """Raises ProofFailed if a signature is missing."""
        if self.keys and not any(head.signed_by(key) for key in self.keys):
            raise ProofFailed("head", "the saved head is not signed by a trusted key")
        found = head.witnessed_by(self.witnesses)
        if found < self.threshold:
            raise ProofFailed("head", f"the saved head has {found} trusted witnesses; {self.threshold} are required")


def verify_file(
    path: str | os.PathLike[str],
    *heads: Checkpoint,
    trusted: Iterable[Any] = (),
    witnesses: Iterable[Any] = (),
    threshold: int | None = None,
    timeout: float = 30.0,
) -> Verdict:
    """Verifies a ledger file; see :meth:`Ledger.verify`. Opens it read-only.

    ``trusted``: public keys (Ed25519, raw bytes or hex); if any are given, every head must be signed by one of them.
    ``witnesses``: public keys, of which ``threshold`` (default: all) must have countersigned every head.

    Only a saved head reveals a truncated file, or one that was forged from the start. Raises FileNotFoundError, or
    OSError for a file that cannot be read.
    """
    asked = Trusted(trusted, witnesses, threshold)
    connection, check = open_to_read(path, timeout)
    with closing(connection):
        try:
            return verify_connection(connection, path, *heads, trusted=asked)
        finally:
            check()


def verify_connection(connection: sqlite3.Connection, path: object, *heads: Checkpoint, trusted: Trusted) -> Verdict:
    """Proves the ledger of an open connection, in one transaction. path: its name in errors. Raises OSError if the
    file cannot be read."""
    rows, root, fault = None, merkle.EMPTY_ROOT, None
    proved: list[str] = []
    try:
        connection.execute("BEGIN")
        if (identity := identity_of(connection)) is None:
            raise ProofFailed(NO_LEDGER, "it is empty")
        proved.append("tables and append-only triggers are as they were made")
        rows = ProvedRows(identity)
        try:
            rows.go_on(connection)
        finally:
            root = rows.root(connection)
        proved.append(f"{rows.size} entries are the ones that were appended, in order, by their hash chain")
        proved.append(f"the root of the Merkle tree over them is {root.hex()}")
        _prove_pages(connection)
        proved.append("pages and indexes of the file are consistent")
        for head in heads:
            trusted.require(head)
            rows.require_continues(connection, head)
            proved.append(f"it continues the {trusted.words}head of {head.time} with {head.size} entries")
    except ProofFailed as failure:
        fault = failure.fault
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.Error) and (failed := input_output(error, path)) is not None:
            raise failed from error
        code = getattr(error, "sqlite_errorcode", None)  # what the module itself raises has none
        if code == sqlite3.SQLITE_NOTADB and rows is None:
            fault = Fault(NO_LEDGER, None, "it is not an SQLite database")
        else:
            fault = Fault("file", 1 if rows is None else rows.size + 1, told(error))
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")  # nothing was written
    size, chain = (0, "") if rows is None else (rows.size, rows.chain.hex())
    return Verdict(size, root.hex(), chain, tuple(proved), fault)


def _prove_pages(connection: sqlite3.Connection) -> None:
    # Not quick_check, for which a record of the index with a field too many before its row number is no fault.
    connection.execute(f"PRAGMA cache_size = {_CACHE}")
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise ProofFailed("pages", found)


def require(verdict: Verdict) -> Verdict:
    """Returns the verdict if nothing failed. Otherwise raises RuleError(ledger_broken) with the first fault."""
    expect(verdict, Verdict, "the Verdict of a ledger is required")
    if verdict.fault is not None:
        raise refused(verdict.fault)
    return verdict
