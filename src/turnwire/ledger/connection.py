"""The SQLite file of a ledger: its tables, the triggers that keep them append-only, opening it, and verifying it in one
read-only pass that trusts nothing in it."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from turnwire.errors import Reason, RuleError, expect, expect_one_of
from turnwire.ledger.checkpoint import Checkpoint
from turnwire.ledger.rows import EMPTY_ROOT, FORMAT, Fault, ProofFailed, ProvedRows, broken, refused

APPLICATION_ID = 0x7475726E  # "turn", in the header of the SQLite file
SYNCHRONOUS = ("NORMAL", "FULL", "EXTRA")
MEMORY = ":memory:"
"""The path of a ledger that is not a file. A file of that name is reached by another path, such as ``./:memory:``."""


def _append_only(table: str, in_order: str) -> dict[str, str]:
    """Triggers of one table. INSERT OR REPLACE never fires a delete trigger unless recursive_triggers is on, so the
    guard is before the insert, where conflict clauses have no say yet."""
    refuse = f"SELECT RAISE(ABORT, '{table} is append-only'); END"
    return {
        f"{table}_no_update": f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} BEGIN {refuse}",
        f"{table}_no_delete": f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} BEGIN {refuse}",
        f"{table}_in_order": f"CREATE TRIGGER {table}_in_order BEFORE INSERT ON {table} WHEN {in_order} BEGIN {refuse}",
    }


# The rowid of entries is the sequence number. It is not a column: SQLite writes a filler for such a column into every
# row, and a damaged filler would go unseen.
SCHEMA: dict[str, str] = {
    "about": "CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "entries": (
        "CREATE TABLE entries (at INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, "
        "chain BLOB NOT NULL) STRICT"
    ),
    "entries_by_key": "CREATE INDEX entries_by_key ON entries (kind, key) WHERE key <> ''",
    **_append_only("entries", "NEW.rowid <> (SELECT coalesce(max(rowid), 0) + 1 FROM entries)"),
    **_append_only("about", "EXISTS (SELECT 1 FROM about WHERE name = NEW.name)"),
}
"""Name -> SQL of everything in the file; verification wants exactly these."""

# What ANALYZE makes, as SQLite itself writes it: nothing of a ledger's hangs on it.
_STATISTICS = (
    ("table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)


@cache
def _made() -> frozenset[tuple[str, ...]]:
    """The rows of ``sqlite_schema`` that the statements make."""
    with closing(sqlite3.connect(MEMORY)) as connection:
        connection.executescript(";".join(SCHEMA.values()))
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql NOT NULL"))


def require_schema(connection: sqlite3.Connection) -> None:
    """Raises ProofFailed at the first object of the file that is not as it was made, also under names that SQLite keeps
    for itself: a trigger under such a name, put there by ``writable_schema``, runs as any other."""
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    names = [row[1] for row in found]
    shared = connection.execute(
        "SELECT name FROM sqlite_schema WHERE rootpage > 0 AND rootpage IN "
        "(SELECT rootpage FROM sqlite_schema GROUP BY rootpage HAVING count(*) > 1)"
    ).fetchone()
    if shared is not None:
        raise ProofFailed("schema", f"{shared[0]} has its rows in the pages of another table")
    if missing := SCHEMA.keys() - names:
        raise ProofFailed("schema", f"{min(missing)} is missing")
    for row in found:
        if (row not in _made() or names.count(row[1]) > 1) and row not in _STATISTICS:
            what = "was changed" if row[1] in SCHEMA else "is not part of a ledger"
            raise ProofFailed("schema", f"{row[1]} {what}")


NO_LEDGER = "no ledger"
"""The place of a fault in a file that never was a ledger, as far as can be seen."""


def identity_of(connection: sqlite3.Connection) -> str | None:
    """The id under which the ledger's chain starts, None for an empty file. Raises ProofFailed for what is neither.
    Looks at one state of the file, which another process may be about to make a ledger."""
    with transaction(connection):
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            if tables or application:
                raise ProofFailed(NO_LEDGER, "it is an SQLite file of another application")
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if pages and connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                # copied without its log; turnwire writes the tables before the file has one, see _create
                lost = "through a -wal file, which is missing, with its contents"
                raise ProofFailed(NO_LEDGER, f"it is empty, but SQLite wrote to it {lost}")
        if not tables:
            return None
        require_schema(connection)
        about: dict[str, Any] = dict(connection.execute("SELECT name, value FROM about"))
    if about.get("format") != FORMAT:
        raise ProofFailed(NO_LEDGER, f"format {about.get('format')} is not known to this version")
    identity = about.get("id")
    if not isinstance(identity, str) or len(about) > 2:
        raise ProofFailed("schema", "the table about has no id, or an unknown name")
    return identity


# ---------------------------------------------------------------- errors of SQLite

_INPUT_OUTPUT = {
    sqlite3.SQLITE_CANTOPEN: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)
# (a constraint: the number behind the last entry is taken)


def input_output(error: sqlite3.Error, path: object) -> OSError | None:
    """The OSError that an error of SQLite is, where it says nothing of what is in the file; else None."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in _INPUT_OUTPUT:
        return None
    return OSError(_INPUT_OUTPUT[code & 0xFF], str(error), os.fspath(path))  # type: ignore[call-overload]


def told(error: Exception) -> str:
    """The error message of SQLite, which Python raises as UnicodeDecodeError if it is not valid UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode("utf-8", "backslashreplace")
    return str(error)


def damage(error: BaseException | None) -> RuleError | None:
    """The RuleError(ledger_broken) of a proof that failed, or of an error of SQLite that says the file is not as SQLite
    wrote it; else None."""
    if isinstance(error, ProofFailed):
        return refused(error.fault)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
        return broken(f"the file is damaged: {error}")
    return None


# ---------------------------------------------------------------- opening

_CACHE = -4000  # KiB, twice that of SQLite: each row is looked up in the index, which may be in any order
_PAUSE = 0.02  # seconds between two tries to get the write lock while WAL mode is being set

Check = Callable[[], None]
"""Raises OSError where a file that was opened as one that nobody writes has changed since."""


def in_memory(path: object) -> bool:
    """True for the path that is no file: the text ``:memory:``, as everywhere in SQLite. A Path is always a file's."""
    return isinstance(path, str) and path == MEMORY


def connect(path: str | os.PathLike[str], timeout: float, *, mode: str = "rwc", also: str = "") -> sqlite3.Connection:
    """A connection in autocommit mode. ``mode`` is that of SQLite's URI: rwc creates, rw and ro do not. ``also``:
    further settings of the URI."""
    uri = "file::memory:" if in_memory(path) else f"{Path(os.fspath(path)).absolute().as_uri()}?mode={mode}{also}"
    return sqlite3.connect(uri, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False)


def _unchanged(path: str | os.PathLike[str]) -> Check:
    """A function that raises where the file has changed since: a read across a change is no consistent snapshot."""

    def state() -> tuple[int, ...]:
        found = os.stat(path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def check() -> None:
        if state() != before:
            raise OSError(errno.EBUSY, "the ledger was written while it was read: read it again", name)

    before, name = state(), os.fspath(path)
    return check


def open_to_read(path: str | os.PathLike[str], timeout: float) -> tuple[sqlite3.Connection, Check]:
    """A connection for reading alone, also on a medium that cannot be written, and what to call whenever it was read.
    Raises OSError.

    What a process left in a ``-journal`` file, killed while it made the ledger or took a backup into use, was never
    committed: who may write the file takes it back, as SQLite does at each opening.

    SQLite makes files beside a ledger that it reads. Where they cannot be made, or would be those of somebody who
    cannot write the ledger (its owner could not write it any more), the file itself is read: without them it is all
    there is, unless a log of it holds more.
    """
    place = os.path.realpath(name := os.fspath(path))  # refuses a number: what follows takes it for a file that is open
    if in_memory(path) or not os.path.isfile(place):
        number = errno.EISDIR if os.path.isdir(place) else errno.ENOENT
        raise OSError(number, os.strerror(number), name)
    if not os.access(place, os.R_OK):  # not by opening it: POSIX drops SQLite's locks on a file when it is closed here
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), name)
    logs = [f"{place}-wal", f"{place}-journal"]
    ours = os.access(place, os.W_OK) and os.access(os.path.dirname(place), os.W_OK)
    if ours or any(map(os.path.exists, (*logs, f"{place}-shm"))):
        # Of somebody else the files beside it are read, and none is made.
        connection = connect(path, timeout, mode="ro", also="" if ours else "&readonly_shm=1")
        try:
            with suppress(UnicodeDecodeError):  # whoever reads it reports the fault
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return connection, lambda: None
        except sqlite3.DatabaseError as error:
            if (failed := input_output(error, path)) is None:
                return connection, lambda: None  # as above
            connection.close()
            if ours and error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                return _connect_reader(path, timeout), lambda: None
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise failed from None
            for log in logs:
                if os.path.exists(log) and os.path.getsize(log):
                    text = f"the latest rows are in its {log[len(place) :]} file, which cannot be read here: "
                    raise OSError(errno.EROFS, f"{text}copy all its files elsewhere", name) from failed
    check = _unchanged(path)
    return connect(path, timeout, mode="ro", also="&immutable=1"), check  # SQLite needs no locks, no files beside it


def _connect_reader(path: str | os.PathLike[str], timeout: float) -> sqlite3.Connection:
    """A connection that cannot write, but may take back what was never committed."""
    connection = connect(path, timeout, mode="rw")
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_ledger(
    path: str | os.PathLike[str], timeout: float, synchronous: str | None
) -> tuple[sqlite3.Connection | None, sqlite3.Connection, Check, str]:
    """The connection that appends (None without ``synchronous``), the one that reads (in memory the same), what to call
    whenever it was read, and the ledger's id. Creates the file for who writes. Raises OSError, RuleError(bad_ledger,
    ledger_broken)."""
    with ExitStack() as opened:
        check: Check = lambda: None  # noqa: E731
        if synchronous is None:
            connection, check = open_to_read(path, timeout)
        else:
            expect_one_of(synchronous, "synchronous", SYNCHRONOUS)
            connection = connect(path, timeout)
        opened.callback(connection.close)
        try:
            identity = identity_of(connection)
            if identity is None and synchronous is not None:
                identity = _create(connection)
            if identity is None:
                raise ProofFailed(NO_LEDGER, "it is empty")
        except ProofFailed as failed:
            if failed.fault.where == NO_LEDGER:
                raise _bad(path, failed.fault.text) from None
            raise refused(failed.fault) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise _bad(path, told(error)) from error
        writer, reader = None, connection
        if synchronous is not None:
            if not in_memory(path):
                _set_wal(connection, timeout)  # a backup is one file
                reader = _connect_reader(path, timeout)
            for pragma in ("trusted_schema = OFF", f"synchronous = {synchronous}", "recursive_triggers = ON"):
                connection.execute(f"PRAGMA {pragma}")
            writer = connection
        check()
        opened.pop_all()
    return writer, reader, check, identity


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "") -> Iterator[None]:
    """A transaction of this kind, rolled back where it fails; within another, nothing."""
    within = connection.in_transaction
    if within:
        yield
        return
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # the error that came before is told
                connection.execute("ROLLBACK")


def _create(connection: sqlite3.Connection) -> str | None:
    """Lays down the tables. Only then SQLite writes to a log beside the file: the file alone is always this ledger,
    with its id, whatever is lost of what came later."""
    with transaction(connection, "IMMEDIATE"):
        if identity_of(connection) is None:  # another process may have been first
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in SCHEMA.values():
                connection.execute(statement)
            about = [("format", FORMAT), ("id", secrets.token_hex(16))]
            connection.executemany("INSERT INTO about VALUES (?, ?)", about)
        return identity_of(connection)


def _set_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Has SQLite write to a log, if it does not yet: the change waits for no other connections by itself."""
    until = time.monotonic() + timeout
    while (mode := connection.execute("PRAGMA journal_mode").fetchone()[0]) != "wal":
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            if mode != "wal":
                raise OSError(f"SQLite cannot use a write-ahead log here (journal mode {mode})")


def _bad(path: object, text: str) -> RuleError:
    return RuleError(Reason.BAD_LEDGER, f"{path} is not a ledger: {text}", rule="ledger")


# ---------------------------------------------------------------- verification


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


class TrustedKeys:
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
    asked = TrustedKeys(trusted, witnesses, threshold)
    connection, check = open_to_read(path, timeout)
    with closing(connection):
        try:
            return verify_connection(connection, path, *heads, trusted=asked)
        finally:
            check()


def verify_connection(
    connection: sqlite3.Connection, path: object, *heads: Checkpoint, trusted: TrustedKeys
) -> Verdict:
    """Proves the ledger of an open connection, in one transaction. path: its name in errors. Raises OSError if the
    file cannot be read."""
    rows, root, fault = None, EMPTY_ROOT, None
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
            expect(head, Checkpoint, "a head must be a Checkpoint")
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
