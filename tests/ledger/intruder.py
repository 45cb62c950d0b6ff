"""Somebody who can write the file of a ledger: takes its guards away, changes it, and puts them back."""

from __future__ import annotations

import sqlite3
from pathlib import Path


class Intruder:
    """Has a connection to the file; hundreds of its changes, of which none has to last, are quick."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")
        self.guards = self.connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()

    def run(self, statement: str, *values: object) -> None:
        for name, _ in self.guards:
            self.connection.execute(f"DROP TRIGGER {name}")
        self.connection.execute(statement, values)
        for _, sql in self.guards:
            self.connection.execute(sql)


def rewrite(path: Path, statement: str, *values: object) -> None:
    """Runs one statement as an intruder."""
    intruder = Intruder(path)
    intruder.run(statement, *values)
    intruder.connection.close()
