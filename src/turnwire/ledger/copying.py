"""Copies of a ledger: SQLite's online backup, proved before it has its name."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from turnwire.atomic import create, done_before, scratch, sync_directory
from turnwire.ledger.checkpoint import Checkpoint
from turnwire.ledger.connection import connect, input_output
from turnwire.ledger.verify import Verdict, require, verify_file


def copied(source: sqlite3.Connection, identity: str, path: str | os.PathLike[str]) -> Checkpoint:
    """See :meth:`turnwire.ledger.Ledger.backup`."""
    place = Path(os.path.abspath(path))
    if os.path.lexists(place):
        raise FileExistsError(17, "exists already", os.fspath(path))
    try:
        verdict = _placed(source, place)
    except OSError as error:
        error.filename = os.fspath(path)  # and not that of what is written beside it
        del error.filename2  # None would be shown, as "-> None"
        raise
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Checkpoint(identity, verdict.size, verdict.root, verdict.chain, now)


def _placed(source: sqlite3.Connection, place: Path) -> Verdict:
    with scratch(place.parent) as folder:
        beside = folder / "copy"
        descriptor = create(str(beside), 0o600)
        try:
            _copy(source, beside)
            os.fsync(descriptor)
            verdict = require(verify_file(beside))
            os.link(beside, place)  # refuses what has come to that name meanwhile
            with done_before(place):
                sync_directory(place.parent)
            return verdict
        finally:
            os.close(descriptor)


def _copy(source: sqlite3.Connection, path: Path) -> None:
    target = connect(path, 30.0, mode="rw")
    try:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, that read-only media can hold too
    except sqlite3.Error as error:
        raise input_output(error, path) or error from None
    finally:
        target.close()
