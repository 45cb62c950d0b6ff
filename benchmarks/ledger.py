"""The ledger against bare SQLite: appends one by one and at once, verification, and hits of the cache of SAP.

    python benchmarks/ledger.py [--body BYTES] [--rows ROWS]

Bare SQLite has the same columns and index, the same durability (WAL, synchronous FULL) and the same commits, and writes
what it is given: no hash, no trigger, no look at what was stored. A hit of the cache among ROWS is measured against
making its key, an indexed SELECT and decoding the body. Medians of rounds, by turns in one process, in processor time.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
from measure import Run, by_turns, once

import turnwire
from tests.sap.documents import RESULT, TASK
from turnwire import sap
from turnwire.ledger import Ledger, verify_file

SINGLE, MANY, VERIFIED, CHUNK = 300, 2_000, 100_000, 10_000
ROUNDS = 9
TABLE = "CREATE TABLE t (at INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, chain BLOB)"
INDEX = "CREATE INDEX t_by_key ON t (kind, key) WHERE key <> ''"
INSERT = "INSERT INTO t (rowid, at, kind, key, body, chain) VALUES (?, ?, ?, ?, ?, ?)"
names = count()
Rows = list[tuple[str, bytes, str]]


def opened(folder: Path) -> sqlite3.Connection:
    """A bare table in a file of its own."""
    connection = sqlite3.connect(folder / f"bare{next(names)}", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", TABLE, INDEX):
        connection.execute(statement)
    return connection


def numbered(rows: Rows) -> Iterator[tuple[int, int, str, str, bytes, bytes]]:
    """The rows as the bare table takes them."""
    for seq, (kind, body, key) in enumerate(rows, 1):
        yield seq, 1, kind, key, body, bytes(32)


def bare(folder: Path, rows: Rows, a_commit: int) -> float:
    """Processor seconds that a bare table takes for the rows, so many a commit."""
    connection = opened(folder)
    given = list(numbered(rows))

    def write() -> None:
        for start in range(0, len(given), a_commit):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, given[start : start + a_commit])
            connection.execute("COMMIT")

    taken = once(write)()
    connection.close()
    return taken


def ours(folder: Path, rows: Rows, a_commit: int) -> float:
    """Processor seconds that a ledger takes for them."""
    with Ledger(folder / f"ledger{next(names)}") as book:

        def write() -> None:
            for start in range(0, len(rows), a_commit):
                book.append_many(rows[start : start + a_commit])

        return once(write)()


def read_and_hash(path: Path) -> None:
    """Reads all rows with SQLite and hashes each with hashlib."""
    connection = sqlite3.connect(path)
    for row in connection.execute("SELECT rowid, at, kind, key, body, chain FROM entries ORDER BY rowid"):
        sha256(row[4]).digest()
    connection.close()


def show(title: str, runs: dict[str, Run], units: int, goal: float) -> None:
    """One line: microseconds a row of both, and the median of the ratios of the rounds, second by first."""
    samples = by_turns(runs, ROUNDS)
    base, other = samples
    ratio = median(two / one for one, two in zip(samples[base], samples[other], strict=True))
    each = ", ".join(f"{name} {median(taken) / units * 1e6:.2f} us" for name, taken in samples.items())
    print(f"{title}: {each}: {ratio:.2f} (goal: at most {goal}: {'kept' if ratio <= goal else 'MISSED'})", flush=True)


def appends(folder: Path, size: int) -> None:
    """Both ways to append, and verification of a long ledger with random keys."""
    rows: Rows = [("task", os.urandom(size), sha256(b"%d" % number).hexdigest()[:16]) for number in range(MANY)]
    for given, a_commit in ((rows[:SINGLE], 1), (rows, MANY)):
        runs = {"bare": partial(bare, folder, given, a_commit), "ledger": partial(ours, folder, given, a_commit)}
        show(f"bodies of {size} bytes, {a_commit} a commit", runs, len(given), 1.6)
    path = folder / f"ledger{next(names)}"
    with Ledger(path) as book:
        for _ in range(0, VERIFIED, MANY):
            book.append_many([("task", os.urandom(size), os.urandom(8).hex()) for _ in range(MANY)])
    verify: Callable[[], object] = lambda: bool(verify_file(path))  # noqa: E731
    show(
        "verification",
        {"read and hash": once(partial(read_and_hash, path)), "verify": once(verify, True)},
        VERIFIED,
        1.5,
    )


def cache_hits(folder: Path, rows: int) -> None:
    """A hit among so many rows; 500 tasks are asked, spread over all of them."""
    cache = sap.Cache(folder / "cache")
    cache.put(sap.Task.from_dict(TASK), sap.Result.from_dict(RESULT))
    body = cache.ledger[1].body.decode()
    connection = opened(folder)

    def numbered_task(number: int) -> sap.Task:
        return sap.Task.from_dict({**TASK, "payload": {"topic": "x", "number": number}})

    for start in range(0, rows, CHUNK):
        keys = [sap.cache_key(numbered_task(number)) for number in range(start, min(start + CHUNK, rows))]
        cache.ledger.append_many([("sap.cache", body, key) for key in keys])
        given = [("sap.cache", body.encode(), key) for key in keys]
        connection.executemany(INSERT, ((start + seq, *rest) for seq, *rest in numbered(given)))
    asked = [numbered_task(number) for number in range(0, rows, max(1, rows // 500))]
    decode = msgspec.json.Decoder().decode
    select = "SELECT body FROM t WHERE kind = 'sap.cache' AND key = ? AND key <> '' ORDER BY rowid DESC LIMIT 1"

    def parts() -> None:
        for one in asked:
            decode(connection.execute(select, (sap.cache_key(one),)).fetchone()[0])

    runs = {"its parts": once(parts), "cache.get": once(lambda: all(map(cache.get, asked)), True)}
    show(f"a hit among {rows} rows", runs, len(asked), 2)


def main() -> None:
    """Everything, in a folder that is removed again."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--body", type=int, default=400, help="bytes of a body")
    parser.add_argument("--rows", type=int, default=10_000, help="rows in the cache")
    options = parser.parse_args()
    print(f"turnwire {turnwire.__version__} ({turnwire.backend}), SQLite {sqlite3.sqlite_version}")
    with tempfile.TemporaryDirectory() as name:
        appends(Path(name), options.body)
        cache_hits(Path(name), options.rows)


if __name__ == "__main__":
    main()
