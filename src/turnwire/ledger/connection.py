"""Opening a ledger file with SQLite, and laying down its tables."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from turnwire.errors import Reason, RuleError, expect_one_of
from turnwire.ledger.rows import broken
from turnwire.ledger.schema import APPLICATION_ID, FORMAT, SCHEMA, strange_schema

SYNCHRONOUS = ("NORMAL", "FULL", "EXTRA")
MEMORY = ":memory:"
"""The path of a ledger that is not a file. A file of that name is reached by another path, such as ``./:memory:``."""
_NO_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
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
_ALONE = "&immutable=1"  # nobody writes the file: SQLite needs no locks and no files beside it
_AS_THEY_ARE = "&readonly_shm=1"  # the files beside it are read, and none is made
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)
# (a constraint: the number behind the last entry is taken)
_PAUSE = 0.02  # seconds between two tries to get the write lock while WAL mode is being set
LOST_LOG = "it holds nothing, but SQLite wrote to it by a -wal file, which is not there: what that held is missing"
"""Of a file that is copied without its log. turnwire writes the tables before the file has one (:func:`_create`)."""

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


def input_output(error: sqlite3.Error, path: object) -> OSError | None:
    """The OSError that an error of SQLite is, where it says nothing of what is in the file; else None."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in _INPUT_OUTPUT:
        return None
    return OSError(_INPUT_OUTPUT[code & 0xFF], str(error), os.fspath(path))  # type: ignore[call-overload]


def told(error: Exception) -> str:
    """The message of SQLite. Where it names what is no UTF-8, Python raises UnicodeDecodeError with that message."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode("utf-8", "backslashreplace")
    return str(error)


def damage(error: BaseException | None) -> RuleError | None:
    """The RuleError(ledger_broken) of an error of SQLite that says the file is not as SQLite wrote it; else None."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
        return None
    return broken(f"the file is damaged: {error}")


@contextmanager
def damage_told() -> Iterator[None]:
    """Raises RuleError(ledger_broken) where SQLite finds the file damaged within."""
    try:
        yield
    except sqlite3.Error as error:
        if (found := damage(error)) is not None:
            raise found from error
        raise


def _unchanged(path: str | os.PathLike[str]) -> Check:
    """A function that raises where the file has changed since: a read across a change is no consistent snapshot."""

    def state() -> tuple[int, ...]:
        found = os.stat(path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def check() -> None:
        if state() != before:
            raise OSError(errno.EBUSY, "somebody wrote the ledger while it was read here: read it again", name)

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
    name = os.fspath(path)  # refuses a number: what follows takes it for a file that is open
    for number, is_so in (
        (errno.EISDIR, os.path.isdir(path)),
        (errno.ENOENT, in_memory(path) or not os.path.isfile(path)),
        (
            errno.EACCES,
            not os.access(path, os.R_OK),
        ),  # not by opening it: POSIX drops SQLite's locks on a file when this process closes it
    ):
        if is_so:
            raise OSError(number, os.strerror(number), name)
    place = os.path.realpath(path)
    logs = [f"{place}-wal", f"{place}-journal"]
    ours = os.access(place, os.W_OK) and os.access(os.path.dirname(place), os.W_OK)
    if ours or any(map(os.path.exists, (*logs, f"{place}-shm"))):
        connection = connect(path, timeout, mode="ro", also="" if ours else _AS_THEY_ARE)
        failed, code = None, 0
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except UnicodeDecodeError:
            pass  # whoever reads it reports the fault
        except sqlite3.DatabaseError as error:
            failed, code = input_output(error, path), getattr(error, "sqlite_errorcode", 0)
        if failed is None:
            return connection, lambda: None
        connection.close()
        if ours and code == sqlite3.SQLITE_READONLY_ROLLBACK:
            return _connect_reader(path, timeout), lambda: None
        if code & 0xFF not in _NO_PLACE:
            raise failed
        for log in logs:
            if os.path.exists(log) and os.path.getsize(log):
                text = f"what was written last is in its {log[len(place) :]} file, which cannot be read here: "
                raise OSError(errno.EROFS, f"{text}copy all its files elsewhere", name) from failed
    check = _unchanged(path)
    return connect(path, timeout, mode="ro", also=_ALONE), check


def _connect_reader(path: str | os.PathLike[str], timeout: float) -> sqlite3.Connection:
    """A connection that cannot write, but may take back what was never committed."""
    connection = connect(path, timeout, mode="rw")
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_read_only(path: str | os.PathLike[str], timeout: float) -> tuple[sqlite3.Connection, Check, str]:
    """As :func:`open_to_read`, and the ledger's id. Raises OSError, RuleError(bad_ledger, ledger_broken)."""
    connection, check = open_to_read(path, timeout)
    with _closed_by_errors(connection):
        if not _is_ledger(connection, path):
            raise _bad(path, "it is empty")
        require_schema(connection)
        identity = ledger_id(connection, path)
        check()
    return connection, check, identity


def open_writer(
    path: str | os.PathLike[str], timeout: float, synchronous: str
) -> tuple[sqlite3.Connection, sqlite3.Connection, str]:
    """The connection that appends, the one that reads (the same in memory), and the ledger's id. Creates the file.
    Raises RuleError(bad_ledger, ledger_broken)."""
    expect_one_of(synchronous, "synchronous", SYNCHRONOUS)
    connection = connect(path, timeout)
    with _closed_by_errors(connection):
        if not _is_ledger(connection, path):
            _create(connection, path, timeout)
        elif not in_memory(path) and connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _set_wal(connection, timeout)  # a backup is one file
        connection.execute("PRAGMA trusted_schema = OFF")
        require_schema(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA recursive_triggers = ON")
        identity = ledger_id(connection, path)
        return connection, connection if in_memory(path) else _connect_reader(path, timeout), identity


@contextmanager
def _closed_by_errors(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def require_schema(connection: sqlite3.Connection) -> None:
    """Raises RuleError(ledger_broken) where a table, a trigger or anything else is not as it was made."""
    with damage_told():
        strange = strange_schema(connection)
    if strange is not None:
        raise broken(f"schema: {strange}")


def lost_its_log(connection: sqlite3.Connection) -> bool:
    """True if a file without tables had a ``-wal`` file when something was written to it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return bool(pages) and mode == "wal"


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


def _is_ledger(connection: sqlite3.Connection, path: object) -> bool:
    """True for a ledger, False for an empty file; anything else is refused. Looks at one state of the file, which
    another process may be about to make a ledger."""
    try:
        with transaction(connection):
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            lost = not tables and not application and lost_its_log(connection)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise _bad(path, told(error)) from error
    if application == APPLICATION_ID:
        return bool(tables)
    if tables or application:
        raise _bad(path, "an SQLite file of another application")
    if lost:
        raise _bad(path, LOST_LOG)
    return False


def _create(connection: sqlite3.Connection, path: object, timeout: float) -> None:
    """Lays down the tables, and only then lets SQLite write to a log beside the file: the file alone is always this
    ledger, with its id, whatever is lost of what came later."""
    with transaction(connection, "IMMEDIATE"):
        if not _is_ledger(connection, path):  # another process may have been first
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in SCHEMA.values():
                connection.execute(statement)
            about = [("format", str(FORMAT)), ("id", secrets.token_hex(16))]
            connection.executemany("INSERT INTO about VALUES (?, ?)", about)
    if not in_memory(path):
        _set_wal(connection, timeout)


def _set_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Changing the journal mode does not wait for other connections as everything else does."""
    until = time.monotonic() + timeout
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(_PAUSE)
    if mode != "wal":
        raise OSError(f"SQLite cannot use a write-ahead log here (journal mode {mode})")


def ledger_id(connection: sqlite3.Connection, path: object) -> str:
    """The id under which the ledger's chain starts."""
    try:
        about: dict[str, Any] = dict(connection.execute("SELECT name, value FROM about"))
    except sqlite3.DatabaseError as error:
        raise _bad(path, str(error)) from error
    if about.get("format") != str(FORMAT):
        raise _bad(path, f"format {about.get('format')} is not known to this version")
    if not isinstance(about.get("id"), str):
        raise _bad(path, "it has no id")
    identity: str = about["id"]
    return identity


def _bad(path: object, text: str) -> RuleError:
    return RuleError(Reason.BAD_LEDGER, f"{path} is not a ledger: {text}", rule="ledger")
