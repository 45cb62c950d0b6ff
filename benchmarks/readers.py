"""A file to Arrow: all columns of each wire, against DuckDB and Polars on the same information as JSON lines.

    python benchmarks/readers.py [--size BYTES] [--rounds N]

One thread each. The peers are told the types, which they found out before, and read all fields; turnwire judges each
message by its wire's rules on the way, they do not. Every run must give the number of rows that was written.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is imported

import duckdb
import polars
import pyarrow
from measure import by_turns, once, ratio
from messages import WIRES, as_json
from scans import messages_of

import turnwire


class Row(NamedTuple):
    """A line of the table: MB/s of turnwire, and how many times longer the peers take."""

    wire: str
    speed: float
    duckdb: float
    polars: float


def by_turnwire(path: Path, wire: str) -> int:
    """Rows of the Arrow batches of a scan."""
    return sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(turnwire.scan(path, wire=wire)))


def by_duckdb(path: Path) -> Callable[[], int]:
    """A run of DuckDB on one thread."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    described = connection.sql(f"DESCRIBE SELECT * FROM read_json('{path}', format = 'newline_delimited')").fetchall()
    types = ", ".join(f"'{name}': '{kind}'" for name, kind, *_ in described)
    source = f"read_json('{path}', format = 'newline_delimited', auto_detect = false, columns = {{{types}}})"
    return lambda: sum(batch.num_rows for batch in connection.sql(f"SELECT * FROM {source}").to_arrow_reader())


def by_polars(path: Path) -> Callable[[], int]:
    """A run of Polars on one thread."""
    schema = polars.scan_ndjson(path, infer_schema_length=None).collect_schema()
    return lambda: polars.scan_ndjson(path, schema=schema).collect().to_arrow().num_rows


def measure(rounds: int, size: int, wires: tuple[str, ...] = WIRES) -> Iterator[Row]:
    """A row for each wire."""
    for wire in wires:
        messages = messages_of(wire, size)
        with TemporaryDirectory() as name:
            log, peer = Path(name, "log"), Path(name, "log.jsonl")
            log.write_bytes(b"".join(messages))
            peer.write_bytes(b"\n".join(one.rstrip(b"\n") for one in as_json(wire, messages)) + b"\n")
            count = len(messages)
            runs = {
                "turnwire": once(partial(by_turnwire, log, wire), count),
                "DuckDB": once(by_duckdb(peer), count),
                "Polars": once(by_polars(peer), count),
            }
            samples = by_turns(runs, rounds)
            speed = log.stat().st_size / median(samples["turnwire"]) / 1e6
        yield Row(wire, speed, *(ratio(samples, peer, "turnwire").median for peer in ("DuckDB", "Polars")))


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| file to Arrow | MB/s | DuckDB ÷ turnwire | Polars ÷ turnwire |", "|---|--:|--:|--:|"]
    lines += [f"| {row.wire} | {row.speed:,.0f} | {row.duckdb:.1f} × | {row.polars:.1f} × |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--size", type=int, default=64 << 20, help="bytes of each log")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("wires", nargs="*", default=WIRES)
    options = parser.parse_args()
    print(table(list(measure(options.rounds, options.size, tuple(options.wires)))))


if __name__ == "__main__":
    main()
