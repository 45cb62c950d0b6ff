"""The tables of a ledger file, the triggers that keep them append-only, and what an entry is."""

from __future__ import annotations

import re
import sqlite3
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from turnwire.ledger import hashing

APPLICATION_ID = 0x7475726E  # "turn", in the header of the SQLite file
FORMAT = 1
TILE = 8  # inner nodes are stored at levels 8, 16, 24 ...: one row for 256 leaves
TILE_SIZE = 1 << TILE


def _append_only(table: str, in_order: str) -> dict[str, str]:
    """Triggers of one table. INSERT OR REPLACE never fires a delete trigger unless recursive_triggers is on, so the
    guard is in front of the insert, where conflict clauses have no say yet."""
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
    "nodes": (
        "CREATE TABLE nodes (level INTEGER NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL, "
        "PRIMARY KEY (level, position)) STRICT, WITHOUT ROWID"
    ),
    **_append_only("entries", "NEW.rowid <> (SELECT coalesce(max(rowid), 0) + 1 FROM entries)"),
    **_append_only("nodes", "EXISTS (SELECT 1 FROM nodes WHERE level = NEW.level AND position = NEW.position)"),
    **_append_only("about", "EXISTS (SELECT 1 FROM about WHERE name = NEW.name)"),
}
"""Name -> SQL of everything in the file; verification wants exactly these."""


# What ANALYZE makes, as SQLite itself writes it: nothing of a ledger's hangs on it.
_STATISTICS = (
    ("table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)

TABLES = frozenset(name for name, sql in SCHEMA.items() if sql.startswith("CREATE TABLE"))
"""The names of a ledger's own tables."""


def _described(name: str, sql: str) -> tuple[str, str, str, str]:
    """The row of ``sqlite_schema`` that a statement makes."""
    kind = sql.split()[1].lower()
    on = re.search(r" ON (\w+)", sql)
    return kind, name, name if kind == "table" or on is None else on[1], sql


_ROWS = frozenset(_described(name, sql) for name, sql in SCHEMA.items())


def strange_schema(connection: sqlite3.Connection) -> str | None:
    """The first object of the file that is not as it was made (also under names that SQLite keeps for itself), or None.

    A trigger under such a name, put there by ``writable_schema``, runs as any other.
    """
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    names = [row[1] for row in found]
    shared = connection.execute(
        "SELECT name FROM sqlite_schema WHERE rootpage > 0 AND rootpage IN "
        "(SELECT rootpage FROM sqlite_schema GROUP BY rootpage HAVING count(*) > 1)"
    ).fetchone()
    if shared is not None:
        return f"{shared[0]} has its rows in the pages of another table"
    for row in sorted(_ROWS):
        if row[1] not in names:
            return f"{row[1]} is missing"
    for row in found:
        if row in _ROWS and names.count(row[1]) == 1:
            continue
        if row not in _STATISTICS:
            return f"{row[1]} was changed" if row[1] in SCHEMA else f"{row[1]} does not belong there"
    kinds = connection.execute("SELECT typeof(level), typeof(position), typeof(hash) FROM nodes LIMIT 1").fetchone()
    if kinds not in (None, ("integer", "integer", "blob")):  # STRICT lets nothing else in: the two were exchanged
        return "nodes has its rows in the pages of another table"
    return None


def first_link(ledger_id: str) -> bytes:
    """The start of a ledger's chain: two ledgers never share a chain."""
    return sha256(f"turnwire ledger {FORMAT}\n{ledger_id}".encode()).digest()


def last_entry(connection: sqlite3.Connection, ledger_id: str) -> tuple[int, bytes]:
    """The number of the last entry and its link of the chain; (0, the first link) where there is none."""
    row = connection.execute("SELECT rowid, chain FROM entries ORDER BY rowid DESC LIMIT 1").fetchone()
    found: tuple[int, bytes] = row or (0, first_link(ledger_id))
    return found


class Entry(NamedTuple):
    """One entry. seq: 1, 2, 3 ...; at: UTC microseconds since 1970; key: what it is found by ("" for none)."""

    seq: int
    at: int
    kind: str
    key: str
    body: bytes
    chain: bytes

    @property
    def leaf(self) -> bytes:
        """The leaf hash of this entry, as its inclusion proof has it."""
        return hashing.leaf_of(self.seq, self.at, self.kind, self.key, self.body)

    def json(self) -> Any:
        """The body read as JSON."""
        return msgspec.json.decode(self.body)
