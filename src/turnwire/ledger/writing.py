"""Writing a ledger: entries are sealed, inserted and committed, all of a call or none."""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import chain
from typing import Any

from turnwire.errors import Reason, RuleError
from turnwire.json.canonical import canonical
from turnwire.ledger.connection import LedgerErrors, damage, in_memory, require_schema, transaction
from turnwire.ledger.rows import Row, broken, first_link, last_link, require_continued, seal

_GROUP = 64  # rows of one statement, where there are many
_VALUES = "(?, ?, ?, ?, ?, ?)"
_INSERT = "INSERT INTO entries (rowid, at, kind, key, body, chain) VALUES {}"
_INSERT_ONE = f"{_INSERT.format(_VALUES)} RETURNING rowid"
_INSERT_GROUP = _INSERT.format(", ".join([_VALUES] * _GROUP))
_COUNT = "SELECT count(*) FROM entries WHERE rowid BETWEEN ? AND ?"
_NAME_LIMIT = 0xFFFF  # bytes
_SURELY_SHORT = _NAME_LIMIT // 4  # characters

Item = tuple[str, bytes, str]  # kind, body, key


def item(kind: str, body: Any, key: str) -> Item:
    """An entry as it is written; see :meth:`Ledger.append`. Raises ValueError for a name that is too long."""
    for name, text in (("kind", kind), ("key", key)):
        if not isinstance(text, str) or (len(text) > _SURELY_SHORT and len(text.encode()) > _NAME_LIMIT):
            raise ValueError(f"{name} must be a string of at most {_NAME_LIMIT} bytes")
    if isinstance(body, bytes):
        return kind, body, key
    if isinstance(body, (bytearray, memoryview)):
        return kind, bytes(body), key
    return kind, body.encode() if isinstance(body, str) else canonical(body), key


class Writer:
    """Appends to a ledger, for one thread at a time.

    Args:
        connection: that writes. identity: the ledger's id. path: of its file. lock: to hold while the connection is
            used.
    """

    def __init__(self, connection: sqlite3.Connection, identity: str, path: str | os.PathLike[str], lock: Any) -> None:
        self.connection = connection
        self.lock = lock
        self._path = path
        self._known_version = -1  # of the file, as SQLite counts other connections' commits
        self._last, self._chain = 0, first_link(identity)
        self._first_link = self._chain
        self._schema_version = -1  # that was looked at
        self._file = self._file_now()

    def _file_now(self) -> tuple[int, int] | None:
        """Device and inode of the file that has the ledger's name; None in memory, and where files have no inodes."""
        if in_memory(self._path) or os.name != "posix":
            return None
        found = os.stat(self._path)
        return found.st_dev, found.st_ino

    def write(self, items: list[Item], expected: int | None) -> int:
        """Appends all or none and answers the number of the first (section 11 of SAP V2.0). ``expected``: the number
        that the ledger must end with, or RuleError(append_conflict). RuleError(ledger_broken) if the last entry is not
        what was appended: nothing is sealed after it."""
        with self.lock:
            try:
                if self.connection.in_transaction:  # an interruption came between an error and its end
                    self.connection.execute("ROLLBACK")
                with transaction(self.connection, "IMMEDIATE"):
                    self._catch_up()
                    last = self._last
                    if expected is None or expected == last:
                        rows, self._chain = seal(last, time.time_ns() // 1000, items, self._chain)
                        self._insert(rows)
                        self._last += len(rows)
                        return last + 1
            except BaseException as error:
                self._known_version = -1  # what we believe about the end of the file may never have been written
                if (found := damage(error)) is not None:
                    raise found from error
                raise
        text = f"the last entry is {last}, not {expected}: another writer has appended"
        raise RuleError(Reason.APPEND_CONFLICT, text, rule="expect")

    def _catch_up(self) -> None:
        if self._file_now() != self._file:
            raise broken("another file now has the ledger's name: this one can no longer be written")
        (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        if version != self._known_version:
            (schema,) = self.connection.execute("PRAGMA schema_version").fetchone()
            if schema != self._schema_version:
                with LedgerErrors():
                    require_schema(self.connection)
                self._schema_version = schema
            if self._known_version != -1:
                require_continued(self.connection, self._last, self._chain)
            self._last, self._chain = last_link(self.connection, self._first_link)
            self._known_version = version

    def _insert(self, rows: list[Row]) -> None:
        """Inserts rows and sees that each is there: a trigger that is none of ours could leave one out. Many are
        counted where they are, once all are in, which costs a seventh of having each number returned."""
        execute = self.connection.execute
        stored = 0
        whole = len(rows) - len(rows) % _GROUP
        for start in range(0, whole, _GROUP):
            execute(_INSERT_GROUP, list(chain.from_iterable(rows[start : start + _GROUP])))
        if whole:
            (stored,) = execute(_COUNT, (rows[0][0], rows[whole - 1][0])).fetchone()
        for row in rows[whole:]:
            stored += execute(_INSERT_ONE, row).fetchall() == [(row[0],)]
        if stored != len(rows):
            raise broken(f"only {stored} of {len(rows)} entries were stored, so all were rolled back")
