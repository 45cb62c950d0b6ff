"""The rows of a ledger as they are read: each is proved by its own link of the chain and the one before it.

What it costs to prove a row does not depend on the rows behind it. Whoever rewrites a row, its link and all that stands
behind it is found by a head that was kept elsewhere, and by nothing else.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from turnwire.ledger import hashing
from turnwire.ledger.connection import broken
from turnwire.ledger.schema import Entry

SELECT = (
    "SELECT (SELECT chain FROM entries AS before WHERE before.rowid = entries.rowid - 1), "
    "rowid, at, kind, key, body, chain FROM entries"
)
"""The link before an entry, and its values."""


def proved(row: tuple[Any, ...], first_link: bytes) -> Entry:
    """The entry of a row of :data:`SELECT`. Raises RuleError(ledger_broken) where its link is not that of its content
    behind the link before it; first_link: the one before the first entry."""
    before, seq, at, kind, key, body, chain = row
    if seq == 1:
        before = first_link
    if before is None or hashing.link_of(before, seq, at, kind, key, body) != chain:
        raise broken(f"entry {seq} is not what was appended: its link of the chain does not fit")
    return Entry(seq, at, kind, key, body, chain)


def proved_end(connection: sqlite3.Connection, first_link: bytes) -> tuple[int, bytes]:
    """The number of the last entry, which is proved, and its link of the chain; (0, the first link) where there is
    none. Raises RuleError(ledger_broken)."""
    row = connection.execute(f"{SELECT} ORDER BY rowid DESC LIMIT 1").fetchone()
    if row is None:
        return 0, first_link
    last = proved(row, first_link)
    return last.seq, last.chain
