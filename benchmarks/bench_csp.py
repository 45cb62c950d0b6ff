"""CSP/1 in bulk against memchr, str.splitlines and ripgrep: one generated log, in turns, the fastest of some rounds.

Run: python benchmarks/bench_csp.py [megabytes] [rounds]      (200 MB, 5 rounds)

The log is in memory for all but ripgrep, which reads the same bytes as a file from the page cache; its time is that of
a whole run of the program. splitlines and partition see the first 16 MB, as text that is decoded already: once with the
parts kept, which is what a reader needs to have the fields of all messages at hand as a batch has them, and once with
each line's parts dropped at once. A scan finds where all fields are; "every column read" makes arrays of all of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from logs import csp_log

from turnwire import _backend, scan
from turnwire.csp.cuts import safe_cuts

READ = [column.name for column in scan(b"", wire="csp").columns if column.name not in ("file", "time")]
"""All columns but the name of the file, an object a row, and the time, which CSP/1 has none of."""
PYTHON_PART = 16 << 20


def fastest(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each work at its fastest; all take turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def columns(data: bytes, names: list[str] | None = None, threads: int = 1) -> int:
    """Messages through ``turnwire.scan``."""
    return sum(len(batch) for batch in scan(data, wire="csp", columns=names, threads=threads))


def every_column(data: bytes) -> int:
    """The same, and each column of each batch is asked for: spans and validity of texts, numbers, codes."""
    return sum(len(batch[name]) for batch in scan(data, wire="csp", columns=READ) for name in batch.names)


def ripgrep(path: str) -> int:
    """What ``rg -c`` counts."""
    done = subprocess.run(["rg", "-c", "^CSP/1", path], capture_output=True, check=True)
    return int(done.stdout)


def partition(text: str) -> None:
    """The least that a reader of lines does in Python, and nothing is left of it."""
    for line in text.splitlines():
        line.partition(" ")


def kept(text: str) -> list[tuple[str, str, str]]:
    """The same with keys and values of all lines in the end."""
    return [line.partition(" ") for line in text.splitlines()]


def main(megabytes: int, rounds: int) -> None:
    """Prints the figures."""
    data = csp_log(min(megabytes, 8) << 20)
    records = data.count(b"\nCSP/1\n") + 1
    times = max(1, (megabytes << 20) // len(data))
    data, records = data * times, records * times
    part = data[:PYTHON_PART].decode()
    works: dict[str, Callable[[], object]] = {
        "memchr": lambda: data.find(b"\xff"),
        "scan, all columns": lambda: columns(data),
        "scan, four columns": lambda: columns(data, ["intent", "id", "from", "to"]),
        "scan, every column read": lambda: every_column(data),
        "scan, all, two threads": lambda: columns(data, threads=2),
        "places to cut": lambda: sum(1 for _ in safe_cuts([data], 8 << 20)),
        "partition, kept": lambda: kept(part),
        "partition, dropped": lambda: partition(part),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "csp.log")
        path.write_bytes(data)
        if shutil.which("rg"):
            works["rg -c ^CSP/1"] = lambda: ripgrep(str(path))
        best = fastest(works, rounds)
    for name in ("partition, kept", "partition, dropped"):
        best[name] *= len(data) / len(part)
    print(f"{_backend.NAME}: {len(data) >> 20} MB, {records:,} messages, {data.count(10):,} lines")
    for name, seconds in best.items():
        speed = f"{len(data) / seconds / 1e9:7.2f} GB/s {seconds / records * 1e9:7.0f} ns a message"
        share = f"{100 * best['memchr'] / seconds:6.1f} % of memchr"
        print(f"{name:24} {speed} {share} {seconds / best['scan, all columns']:7.2f} x the scan of all columns")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*[*arguments, *(200, 5)[len(arguments) :]])
