"""SQLite's own check of a ledger's pages and index, beside the reading of its rows where a second core is there."""

from __future__ import annotations

import os
import sqlite3
import threading

from turnwire.ledger.connection import Way

LEAST = 1 << 20
"""Bytes of a file that are worth a second connection and a thread."""

_CACHE = -4000  # KiB, twice SQLite's: each row is looked up in the index, which may be in any order
_TRIES = 3  # to begin where nobody writes
_PAUSE = 0.1  # seconds between two looks at the thread; a signal is told to Python in between


def cores() -> int:
    """How many threads of this process can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pages:
    """The check of what one connection reads: :meth:`begin` its transaction, :meth:`start`, then :meth:`found`.

    The check runs in a thread, on a second connection that reads the same snapshot: SQLite works without the lock of
    the interpreter, so that rows are read and hashed meanwhile. Where there is one core, a small file, no second
    connection or no thread, :meth:`found` runs it on the connection itself. What it finds is the same.
    """

    def __init__(self, connection: sqlite3.Connection, way: Way | None) -> None:
        self._connection = connection
        self._way = way
        self._second: sqlite3.Connection | None = None
        self._thread: threading.Thread | None = None
        self._working = threading.Lock()  # held by the thread as long as it uses the second connection
        self._running = threading.Lock()  # no Event: a signal in its ``wait`` may leave it locked for the thread, too
        self._closed = False
        self._said = ""
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Begins the transaction of the connection and, in the same snapshot, that of a second one where it is worth
        it. Raises sqlite3.Error where the connection cannot be read."""
        if cores() > 1 and sqlite3.threadsafety and self._way is not None:
            self._second = self._way.again(LEAST)
        for left in reversed(range(_TRIES)):
            before = self._version()
            self._connection.execute("BEGIN")
            self._connection.execute("PRAGMA application_id").fetchone()  # the snapshot is that of the first read
            same = self._version("BEGIN") == before
            if not same and not left:
                self._let_go()
            if same or self._second is None:
                return
            for connection in (self._connection, self._second):
                connection.execute("ROLLBACK")  # somebody wrote between the two

    def _version(self, *first: str) -> int | None:
        """Changes with each commit of somebody else that the second connection sees. Equal before and after the other
        connection began: both see the same. None where there is no second one (any more): it cannot be read here, or
        somebody holds a lock that the first one waits for."""
        if self._second is None:
            return None
        try:
            for statement in first:
                self._second.execute(statement)
            (version,) = self._second.execute("PRAGMA data_version").fetchone()
        except (sqlite3.Error, UnicodeDecodeError):  # the latter: SQLite names what is no UTF-8
            self._let_go()
            return None
        return int(version)

    def start(self) -> None:
        """The schema is as it was made: SQLite may read the file by it."""
        if self._second is None:
            return
        self._running.acquire()
        try:
            # A signal in ``start`` may leave a thread that never runs: as a daemon it does not keep Python from ending.
            self._thread = threading.Thread(target=self._run, args=(self._second,), name="turnwire-pages", daemon=True)
            self._thread.start()
        except RuntimeError:  # no thread can be had: the connection itself does it
            self._thread = None
            self._let_go()

    def _run(self, second: sqlite3.Connection) -> None:
        with self._working:
            try:
                if not self._closed:
                    self._said = _check(second)
            except BaseException as error:  # of whatever kind: it is raised where the check is asked for
                self._error = error
        self._running.release()

    def found(self) -> str:
        """What is wrong, "ok" for nothing. Raises what SQLite raised."""
        if self._thread is None:
            return _check(self._connection)
        while not self._running.acquire(timeout=_PAUSE):
            pass
        if self._error is not None:
            raise self._error
        return self._said

    def close(self) -> None:
        """Ends the check where it still runs, its thread and its connection. Not by asking whether the thread is alive:
        once a signal interrupts a wait for it, Python 3.11 takes a thread that runs for one that has ended."""
        self._closed = True
        while self._second is not None:
            self._second.interrupt()  # again and again: it says nothing to a statement that begins later
            if self._working.acquire(timeout=_PAUSE):
                self._let_go()
                self._working.release()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _let_go(self) -> None:
        if self._second is not None:
            self._second.close()
        self._second = None


def _check(connection: sqlite3.Connection) -> str:
    """``quick_check`` and the index read beside it cost as much (.2 and .43 us a row; integrity_check .54 to 1.07),
    and a record of the index that has a field too many before its row number would go unseen."""
    (cache,) = connection.execute("PRAGMA cache_size").fetchone()
    connection.execute(f"PRAGMA cache_size = {_CACHE}")
    try:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    finally:
        connection.execute(f"PRAGMA cache_size = {cache}")
    return str(found)
