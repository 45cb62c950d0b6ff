"""The tables of a ledger file, and the triggers that keep them append-only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

APPLICATION_ID = 0x7475726E  # "turn", in the header of the SQLite file
FORMAT = 2


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
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";".join(SCHEMA.values()))
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql NOT NULL"))


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
    for name in sorted(SCHEMA):
        if name not in names:
            return f"{name} is missing"
    for row in found:
        if row in _made() and names.count(row[1]) == 1:
            continue
        if row not in _STATISTICS:
            return f"{row[1]} was changed" if row[1] in SCHEMA else f"{row[1]} does not belong there"
    return None
