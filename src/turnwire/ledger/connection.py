"""Opening a ledger file with SQLite, and laying down its tables."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any

from turnwire.errors import Reason, RuleError, expect_one_of
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
# (a constraint: the number behind the last entry is taken, or there is a node of the tree that cannot be there yet)
_PAUSE = 0.02  # seconds between two tries to get the write lock while WAL mode is being set


def in_memory(path: object) -> bool:
    """True for the path that is no file: the text ``:memory:``, as everywhere in SQLite. A Path is always a file's."""
    return isinstance(path, str) and path == MEMORY


def connect(path: str | os.PathLike[str], timeout: float, *, mode: str = "rwc", also: str = "") -> sqlite3.Connection:
    """A connection in autocommit mode. ``mode`` is that of SQLite's URI: rwc creates, rw and ro do not. ``also``:
    further settings of the URI."""
    query = f"mode={mode}{also}"
    uri = "file::memory:" if in_memory(path) else f"{Path(os.fspath(path)).absolute().as_uri()}?{query}"
    return sqlite3.connect(uri, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False)


def open_reader(path: str | os.PathLike[str], timeout: float) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = connect(path, timeout, mode="rw")
    connection.execute("PRAGMA query_only = ON")
    return connection


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


def broken(text: str) -> RuleError:
    """The error of a ledger that is not what it was."""
    return RuleError(Reason.LEDGER_BROKEN, text, rule="ledger")


def damage(error: BaseException | None) -> RuleError | None:
    """The RuleError(ledger_broken) of an error of SQLite that says the file is not as SQLite wrote it; else None."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
        return None
    return broken(f"the file is damaged: {error}")


class ReadLock:
    """The lock of who reads a ledger, around another. Raises RuleError(ledger_broken) where SQLite finds the file
    damaged meanwhile."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)
        if error is not None and (broken := damage(error)) is not None:
            raise broken from error


class Untouched:
    """The lock of who reads a file as one that nobody writes (``immutable``). Leaving it raises OSError where the file
    has changed since it was opened: then what was read may be of no moment that there was."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._lock = threading.Lock()
        self._before = self._state()

    def _state(self) -> tuple[int, ...]:
        found = os.stat(self._path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        if self._state() != self._before:
            raise OSError(errno.EBUSY, "somebody wrote the ledger while it was read here: read it again", self._path)


def open_to_read(path: str | os.PathLike[str], timeout: float) -> tuple[sqlite3.Connection, Any]:
    """A connection for reading alone, also on a medium that cannot be written, and the lock to hold while it is read
    (:class:`Untouched` where the file is read as one that nobody writes). Raises OSError.

    What a process left in a ``-journal`` file, killed while it made the ledger or took a backup into use, was never
    committed: who may write the file takes it back, as SQLite does at each opening.

    SQLite makes files beside a ledger that it reads. Where they cannot be made, or would be those of somebody who
    cannot write the ledger (its owner could not write it any more), the file itself is read: without them it is all
    there is, unless a log of it holds more.
    """
    os.fspath(path)  # refuses a number: what follows takes it for a file that is open
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if in_memory(path) or not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, "no such file", os.fspath(path))
    if not os.access(path, os.R_OK):  # asked, not tried: to close a file here would end SQLite's locks on it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    place = os.path.realpath(path)
    logs = [f"{place}-wal", f"{place}-journal"]
    ours = os.access(place, os.W_OK) and os.access(os.path.dirname(place), os.W_OK)
    if ours or any(map(os.path.exists, (*logs, f"{place}-shm"))):
        connection = connect(path, timeout, mode="ro", also="" if ours else _AS_THEY_ARE)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return connection, threading.Lock()
        except UnicodeDecodeError:
            return connection, threading.Lock()  # as below
        except sqlite3.DatabaseError as error:
            failed = input_output(error, path)
            if failed is None:
                return connection, threading.Lock()  # what is wrong with it will be said by who reads it
            connection.close()
            code = getattr(error, "sqlite_errorcode", 0)
            if ours and code == sqlite3.SQLITE_READONLY_ROLLBACK:
                return open_reader(path, timeout), threading.Lock()
            if code & 0xFF not in _NO_PLACE:
                raise failed from error
            for log in logs:
                if os.path.exists(log) and os.path.getsize(log):
                    text = f"what was written last is in its {log[len(place) :]} file, which cannot be read here: "
                    raise OSError(errno.EROFS, f"{text}copy all its files elsewhere", os.fspath(path)) from error
    lock = Untouched(path)
    return connect(path, timeout, mode="ro", also=_ALONE), lock


def open_read_only(path: str | os.PathLike[str], timeout: float) -> tuple[sqlite3.Connection, Any, str]:
    """As :func:`open_to_read`, and the ledger's id. Raises OSError, RuleError(bad_ledger, ledger_broken)."""
    connection, lock = open_to_read(path, timeout)
    try:
        with lock:
            if not _is_ledger(connection, path):
                raise _bad(path, "it is empty")
            require_schema(connection)
            return connection, lock, ledger_id(connection, path)
    except BaseException:
        connection.close()
        raise


def open_writer(path: str | os.PathLike[str], timeout: float, synchronous: str) -> tuple[sqlite3.Connection, str]:
    """The connection that appends, and the ledger's id. Creates the file. Raises RuleError(bad_ledger,
    ledger_broken)."""
    expect_one_of(synchronous, "synchronous", SYNCHRONOUS)
    connection = connect(path, timeout)
    try:
        if not _is_ledger(connection, path):
            _create(connection, path, timeout)
        elif not in_memory(path) and connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _set_wal(connection, timeout)  # a backup is one file
        connection.execute("PRAGMA trusted_schema = OFF")
        require_schema(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA recursive_triggers = ON")
        return connection, ledger_id(connection, path)
    except BaseException:
        connection.close()
        raise


def require_schema(connection: sqlite3.Connection) -> None:
    """Raises RuleError(ledger_broken) where a table, a trigger or anything else is not as it was made."""
    with ReadLock(nullcontext()):
        strange = strange_schema(connection)
    if strange is not None:
        raise broken(f"schema: {strange}")


def require_continued(connection: sqlite3.Connection, size: int, link: bytes) -> None:
    """Raises RuleError(ledger_broken) where entry ``size`` is not there with that link of the chain."""
    if connection.execute("SELECT chain FROM entries WHERE rowid = ?", (size,)).fetchone() != (link,):
        raise broken(f"the file does not continue the {size} entries that it had")


LOST_LOG = "it holds nothing, but SQLite wrote to it by a -wal file, which is not there: what that held is missing"
"""Of a file that is copied without its log. Ours hold their tables before they have one (:func:`_create`)."""


def lost_its_log(connection: sqlite3.Connection) -> bool:
    """True if a file without tables had a ``-wal`` file when something was written to it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return bool(pages) and mode == "wal"


def _is_ledger(connection: sqlite3.Connection, path: object) -> bool:
    """True for a ledger, False for an empty file; anything else is refused. Looks at one state of the file, which
    another process may be about to make a ledger."""
    within = connection.in_transaction
    try:
        if not within:
            connection.execute("BEGIN")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        lost = not tables and not application and lost_its_log(connection)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise _bad(path, told(error)) from error
    finally:
        if not within and connection.in_transaction:
            connection.execute("ROLLBACK")
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
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_ledger(connection, path):  # another process may have been first
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in SCHEMA.values():
                connection.execute(statement)
            about = [("format", str(FORMAT)), ("id", secrets.token_hex(16))]
            connection.executemany("INSERT INTO about VALUES (?, ?)", about)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
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
        about = dict(connection.execute("SELECT name, value FROM about"))
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
