"""SAP, the ledger and canonical JSON against their yardsticks, by turns in one process.

python benchmarks/sap_and_ledger.py [rows in the cache] [cache]

With the word cache, only the hits in the cache are measured: at a million rows, making them takes most of the time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
import rfc8785
from measure import by_turns

import turnwire
from tests.sap.documents import RESULT, TASK
from turnwire import sap
from turnwire.json.canonical import canonical
from turnwire.ledger import Ledger, verify_file

BODY, BATCH, ROWS = 420, 100, 5_000
CHUNK = 10_000
names = count()


def timed(run: Any, units: int = 1) -> Any:
    """Seconds a unit of one call of ``run``."""

    def once() -> float:
        start = perf_counter()
        run()
        return (perf_counter() - start) / units

    return once


def repeated(run: Any, times: int = 300) -> Any:
    """Seconds of the CPU a call, over many calls: others on the machine do not count."""

    def many() -> float:
        start = process_time()
        for _ in range(times):
            run()
        return (process_time() - start) / times

    return many


def show(title: str, runs: dict[str, Any], base: str, rounds: int = 9, goal: float | None = None) -> None:
    """Medians, and the median of the ratios of the rounds to ``base``; whether all of them are within the goal."""
    samples = by_turns(runs, rounds)
    print(f"\n{title}")
    kept = True
    for name, seconds in samples.items():
        ratio = median(one / other for one, other in zip(seconds, samples[base], strict=True))
        kept = kept and (goal is None or ratio <= goal)
        print(f"  {name:28} {median(seconds) * 1e6:10.2f} us   {ratio:6.2f}")
    if goal is not None:
        print(f"  goal: at most {goal:.2f}: {'kept' if kept else 'MISSED'}")


def messages() -> None:
    """decode and check of a Task, and canonical JSON."""
    text = json.dumps(TASK).encode()
    nested = {name: dict[str, Any] for name, value in TASK.items() if isinstance(value, dict)}
    context = msgspec.defstruct(
        "Context", [(name, type(value)) for name, value in TASK["constitutionalContext"].items()]
    )
    types = [(name, nested.get(name, str | None if value is None else type(value))) for name, value in TASK.items()]
    task = msgspec.defstruct("Task", [(name, context if name.startswith("const") else kind) for name, kind in types])
    typed = msgspec.json.Decoder(task)
    message = sap.decode(text)
    show(
        "one Task",
        {
            "msgspec typed decode": repeated(lambda: typed.decode(text)),
            "decode": repeated(lambda: sap.decode(text)),
            "decode + check": repeated(lambda: sap.check(sap.decode(text))),
            "encode": repeated(lambda: sap.encode(message)),
        },
        "msgspec typed decode",
    )
    runs = {"canonical": repeated(lambda: canonical(TASK)), "rfc8785": repeated(lambda: rfc8785.dumps(TASK))}
    show("canonical JSON", runs, "canonical")


def ledger(folder: Path) -> None:
    """Appends at FULL against bare inserts, verification against reading and hashing."""
    bodies = [os.urandom(BODY) for _ in range(ROWS)]
    made: list[Path] = []

    def bare() -> None:
        connection = sqlite3.connect(folder / f"bare{next(names)}", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE t (seq INTEGER PRIMARY KEY, body BLOB)")
        for start in range(0, ROWS, BATCH):
            connection.execute("BEGIN IMMEDIATE")
            rows = [(body,) for body in bodies[start : start + BATCH]]
            connection.executemany("INSERT INTO t (body) VALUES (?)", rows)
            connection.execute("COMMIT")
        connection.close()

    def ours() -> None:
        made.append(folder / f"ledger{next(names)}")
        with Ledger(made[-1]) as book:
            for start in range(0, ROWS, BATCH):
                book.append_many([("row", body) for body in bodies[start : start + BATCH]])

    show(f"appends in batches of {BATCH}", {"bare": timed(bare, ROWS), "ledger": timed(ours, ROWS)}, "bare")

    def read_and_hash() -> None:
        connection = sqlite3.connect(made[-1])
        for (body,) in connection.execute("SELECT body FROM entries ORDER BY rowid"):
            sha256(body).digest()
        connection.close()

    runs = {"read and hash": timed(read_and_hash, ROWS), "verify": timed(lambda: verify_file(made[-1]), ROWS)}
    show("verification", runs, "read and hash")


def cache_hits(folder: Path, rows: int) -> None:
    """A hit against the key, a bare indexed SELECT and decoding the body: goal at most 2 at a million rows.

    The bare table has the same keys and bodies in a file of its own. 500 tasks are asked, spread over all rows.
    """
    task, result = sap.Task.from_dict(TASK), sap.Result.from_dict(RESULT)
    cache = sap.Cache(folder / "cache")
    cache.put(task, result)
    body = cache.ledger[1].body.decode()
    bare = sqlite3.connect(folder / "bare", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("CREATE TABLE t (seq INTEGER PRIMARY KEY, k TEXT, body BLOB)")
    bare.execute("CREATE INDEX i ON t (k)")

    def numbered(number: int) -> sap.Task:
        return sap.Task.from_dict({**TASK, "payload": {"topic": "x", "number": number}})

    for start in range(0, rows, CHUNK):
        keys = [sap.cache_key(numbered(number)) for number in range(start, min(start + CHUNK, rows))]
        cache.ledger.append_many([("sap.cache", body, key) for key in keys])
        bare.execute("BEGIN")
        bare.executemany("INSERT INTO t (k, body) VALUES (?, ?)", ((key, body.encode()) for key in keys))
        bare.execute("COMMIT")
    asked = [numbered(number) for number in range(0, rows, max(1, rows // 500))]
    decode = msgspec.json.Decoder().decode
    select = "SELECT body FROM t WHERE k = ? ORDER BY seq DESC LIMIT 1"

    def hits() -> None:
        assert all(map(cache.get, asked))

    def parts() -> None:
        for one in asked:
            decode(bare.execute(select, (sap.cache_key(one),)).fetchone()[0])

    runs = {"key + SELECT + decode": timed(parts, len(asked)), "cache.get": timed(hits, len(asked))}
    show(f"a hit among {rows} rows", runs, "key + SELECT + decode", goal=2)


def main() -> None:
    """Everything, in a folder that is removed again."""
    print(f"turnwire {turnwire.__version__} ({turnwire.backend})")
    rows = next((int(word) for word in sys.argv[1:] if word.isdigit()), 10_000)
    with tempfile.TemporaryDirectory() as name:
        if "cache" not in sys.argv[1:]:
            messages()
            ledger(Path(name))
        cache_hits(Path(name), rows)


if __name__ == "__main__":
    main()
