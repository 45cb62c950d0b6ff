"""The ledger against bare SQLite: appends one by one, appends at once, and verification, by turns in one process.

python benchmarks/ledger_ratios.py [bytes of a body]

Bare SQLite has the same columns and the same index, the same durability (WAL, synchronous FULL) and the same commits,
and writes what it is given: no hash, no trigger, no look at what was stored. All figures are medians of rounds, of CPU
time and for verification of the clock too: SQLite's check of the index runs on a second core, if there is one that is
idle. Goals: an append is at least 0.6 of the bare one, verification takes at most 1.5 times reading and hashing.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from measure import by_turns

import turnwire
from turnwire.ledger import Ledger, verify_file

SINGLE, MANY, VERIFIED = 300, 2_000, 100_000
ROUNDS = 15
TABLE = "CREATE TABLE t (at INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, chain BLOB)"
INDEX = "CREATE INDEX t_by_key ON t (kind, key) WHERE key <> ''"
INSERT = "INSERT INTO t (rowid, at, kind, key, body, chain) VALUES (?, ?, ?, ?, ?, ?)"
LINK = bytes(32)
names = count()

Rows = list[tuple[str, bytes, str]]


def bare(folder: Path, write: Callable[[sqlite3.Connection], None]) -> float:
    """CPU seconds of ``write`` on a fresh file."""
    connection = sqlite3.connect(folder / f"bare{next(names)}", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(TABLE)
    connection.execute(INDEX)
    start = process_time()
    write(connection)
    taken = process_time() - start
    connection.close()
    return taken


def ours(folder: Path, write: Callable[[Ledger], None]) -> float:
    """CPU seconds of ``write`` on a fresh ledger."""
    with Ledger(folder / f"ledger{next(names)}") as book:
        start = process_time()
        write(book)
        return process_time() - start


def numbered(rows: Rows) -> Iterator[tuple[int, int, str, str, bytes, bytes]]:
    """The rows as the bare table takes them."""
    for seq, (kind, body, key) in enumerate(rows, 1):
        yield seq, 1, kind, key, body, LINK


def bare_single(connection: sqlite3.Connection, rows: Rows) -> None:
    """One commit a row."""
    for row in numbered(rows):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(INSERT, row)
        connection.execute("COMMIT")


def bare_many(connection: sqlite3.Connection, rows: Rows) -> None:
    """One commit for all."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(INSERT, numbered(rows))
    connection.execute("COMMIT")


def our_single(book: Ledger, rows: Rows) -> None:
    """One append a row."""
    for kind, body, key in rows:
        book.append(kind, body, key=key)


KEYS: dict[str, Callable[[int], str]] = {
    "keys in order": "T-{:06}".format,
    "each key 50 times": lambda number: f"T-{number % (VERIFIED // 50):06}",
    "random keys": lambda number: sha256(b"%d" % number).hexdigest()[:16],
}
"""How a ledger's index is laid: where SQLite looks each row up in it."""


def read_and_hash(path: Path) -> None:
    """Reads all rows with SQLite and hashes each with hashlib."""
    connection = sqlite3.connect(path)
    for row in connection.execute("SELECT rowid, at, kind, key, body, chain FROM entries ORDER BY rowid"):
        sha256(row[4]).digest()
    connection.close()


def verified(path: Path) -> None:
    """Verifies."""
    if not verify_file(path):
        raise AssertionError("the ledger is not good")


def timed(run: Callable[[Path], None], path: Path, by_clock: list[float]) -> Callable[[], float]:
    """Seconds of the CPU of one run; those of the clock are added to a list."""

    def once() -> float:
        start, cpu = perf_counter(), process_time()
        run(path)
        cpu = process_time() - cpu
        by_clock.append(perf_counter() - start)
        return cpu

    return once


def show(title: str, samples: dict[str, list[float]], units: int, goal: float, at_least: bool) -> None:
    """One line: microseconds a row of both, and the median of the ratios of the rounds."""
    base, other = samples
    ratios = [two / one for one, two in zip(samples[base], samples[other], strict=True)]
    ratio = median(1 / one for one in ratios) if at_least else median(ratios)
    kept = ratio >= goal if at_least else ratio <= goal
    each = ", ".join(f"{name} {median(taken) / units * 1e6:.2f} us" for name, taken in samples.items())
    side = "at least" if at_least else "at most"
    print(f"{title}: {each}: {ratio:.2f} (goal: {side} {goal}: {'kept' if kept else 'MISSED'})")


def main() -> None:
    """The three ratios, for each length of bodies."""
    print(f"turnwire {turnwire.__version__} ({turnwire.backend}), SQLite {sqlite3.sqlite_version}")
    for size in map(int, sys.argv[1:] or ["100", "400"]):
        with tempfile.TemporaryDirectory() as name:
            measure(Path(name), size)


def measure(folder: Path, size: int) -> None:
    """The three ratios for bodies of a length."""
    rows: Rows = [("task", os.urandom(size), f"T-{number:06}") for number in range(MANY)]
    few = rows[:SINGLE]
    print(f"bodies of {size} bytes")
    single = {
        "bare": lambda: bare(folder, lambda connection: bare_single(connection, few)),
        "ledger": lambda: ours(folder, lambda book: our_single(book, few)),
    }
    show("  appends, one a commit", by_turns(single, ROUNDS), SINGLE, 0.6, True)
    many = {
        "bare": lambda: bare(folder, lambda connection: bare_many(connection, rows)),
        "ledger": lambda: ours(folder, lambda book: book.append_many(rows) and None),
    }
    show(f"  appends, {MANY} a commit", by_turns(many, ROUNDS), MANY, 0.6, True)
    for layout in KEYS:
        verification(folder, size, layout)


def verification(folder: Path, size: int, layout: str) -> None:
    """The ratio of verification, by the CPU and by the clock."""
    path = folder / f"ledger{next(names)}"
    with Ledger(path) as book:
        for start in range(0, VERIFIED, MANY):
            numbers = range(start, start + MANY)
            book.append_many([("task", os.urandom(size), KEYS[layout](number)) for number in numbers])
    clock: dict[str, list[float]] = {"read and hash": [], "verify": []}
    runs = {
        "read and hash": timed(read_and_hash, path, clock["read and hash"]),
        "verify": timed(verified, path, clock["verify"]),
    }
    show(f"  verification, {layout}, CPU", by_turns(runs, ROUNDS), VERIFIED, 1.5, False)
    warm = {name: seconds[1:] for name, seconds in clock.items()}  # the first round only warms up
    show(f"  verification, {layout}, clock", warm, VERIFIED, 1.5, False)


if __name__ == "__main__":
    main()
