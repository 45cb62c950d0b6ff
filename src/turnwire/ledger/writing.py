"""Writing a ledger: entries are sealed, inserted and committed for all who wait at the same time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class _Ticket:
    """The entries that one caller wants written, and their outcome."""

    items: list[Item]
    expected: int | None
    first: int = 0
    error: BaseException | None = None


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
    """Appends to a ledger, for several threads at a time.

    Args:
        connection: that writes. identity: the ledger's id. path: of its file.
        lock: to hold while the connection is used; a thread that waits for it may find its entries written.
    """

    def __init__(self, connection: sqlite3.Connection, identity: str, path: str | os.PathLike[str], lock: Any) -> None:
        self.connection = connection
        self.lock = lock
        self._path = path
        self._waiting: deque[_Ticket] = deque()
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
        that the ledger must end with, or RuleError(append_conflict). The first thread to get the lock writes for all
        waiting ones. RuleError(ledger_broken) if the last entry is not what was appended: nothing is sealed after
        it."""
        ticket = _Ticket(items, expected)
        try:
            self._waiting.append(ticket)
            with self.lock:
                if not ticket.first and ticket.error is None:
                    self._commit(ticket)
        except BaseException:
            with suppress(ValueError):  # nobody writes what its caller was told has failed
                self._waiting.remove(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.first

    def _commit(self, own: _Ticket) -> None:
        """Writes the caller's ticket and all that wait. What is taken gets its number or an error, whatever comes
        between; a ticket that an interruption let fall is its own caller's to write."""
        taken = [own]
        firsts: list[int] = []
        try:
            while self._waiting:
                ticket = self._waiting.popleft()
                if ticket is not own:
                    taken.append(ticket)
            if self.connection.in_transaction:  # an interruption came between an error and its end
                self.connection.execute("ROLLBACK")
            with transaction(self.connection, "IMMEDIATE"):
                self._catch_up()
                now = time.time_ns() // 1000
                for ticket in taken:
                    if ticket.expected is not None and ticket.expected != self._last:
                        text = f"the last entry is {self._last}, not {ticket.expected}: another writer has appended"
                        ticket.error = RuleError(Reason.APPEND_CONFLICT, text, rule="expect")
                        firsts.append(0)
                        continue
                    firsts.append(self._last + 1)
                    rows, self._chain = seal(self._last, now, ticket.items, self._chain)
                    self._insert(rows)
                    self._last += len(rows)
            for ticket, first in zip(taken, firsts, strict=True):
                ticket.first = first
        except BaseException as error:
            self._known_version = -1  # what we believe about the end of the file may never have been written
            for ticket in taken:
                if not ticket.first and ticket.error is None:
                    ticket.error = damage(error) or error
            if not isinstance(error, Exception):
                raise

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
