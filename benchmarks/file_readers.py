"""Files to batches and to whole tables, against the CSV and NDJSON readers of Polars, DuckDB and pyarrow.

Every reader gets the same rows, as fifteen typed columns: nSLIP for turnwire, CSV with a header and JSON lines for the
others, the schema told to all of them, so that none has to guess. The files are in the page cache.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import duckdb
import polars
import pyarrow
import pyarrow.csv
import pyarrow.json
import traffic
from measure import Group, Run, by_turns, once

import turnwire
from turnwire.nslip import Act, FrameType

DISTINCT = 100_000
CHECKED = 1_000
SMALL = ("act", "frame")
POLARS = {
    name: polars.String if name in traffic.TEXTS else polars.UInt8 if name in SMALL else polars.UInt64
    for name in traffic.COLUMNS
}
POLARS_JSON = {**POLARS, **dict.fromkeys(SMALL, polars.UInt32)}
"""Its NDJSON reader knows no integers of 8 bits."""
DUCKDB = {
    name: "VARCHAR" if name in traffic.TEXTS else "UTINYINT" if name in SMALL else "UBIGINT" for name in traffic.COLUMNS
}
ARROW = pyarrow.schema(
    [
        (name, pyarrow.string() if name in traffic.TEXTS else pyarrow.uint8() if name in SMALL else pyarrow.uint64())
        for name in traffic.COLUMNS
    ]
)
Reader = Callable[[Path, int], Any]
"""Reads one file with so many threads (0: as many as it likes): an iterator of batches, or a table."""


def slip_batches(path: Path, threads: int, **options: Any) -> Any:
    """turnwire, with as many threads as the others; 0 stands for one on each core."""
    workers = threads or os.cpu_count() or 1
    return turnwire.scan(path, wire="nslip", columns=traffic.COLUMNS, threads=workers, **options)


def slip_arrow_batches(path: Path, threads: int) -> Any:
    """The same batches as Arrow record batches, with string views made."""
    return pyarrow.RecordBatchReader.from_stream(slip_batches(path, threads))


def slip_list(path: Path, threads: int) -> Any:
    """Every batch kept."""
    return list(slip_batches(path, threads))


def slip_polars(path: Path, threads: int) -> Any:
    """One DataFrame."""
    return polars.DataFrame(slip_batches(path, threads))


def slip_arrow(path: Path, threads: int) -> Any:
    """One Arrow table."""
    return pyarrow.table(slip_batches(path, threads))


def arrow_csv_options(threads: int) -> dict[str, Any]:
    """A schema, and nulls for empty fields."""
    return {
        "read_options": pyarrow.csv.ReadOptions(use_threads=threads != 1),
        "convert_options": pyarrow.csv.ConvertOptions(column_types=ARROW, strings_can_be_null=True),
    }


def arrow_json_options(threads: int) -> dict[str, Any]:
    """A schema and no other fields."""
    return {
        "read_options": pyarrow.json.ReadOptions(use_threads=threads != 1),
        "parse_options": pyarrow.json.ParseOptions(explicit_schema=ARROW, unexpected_field_behavior="error"),
    }


def arrow_csv_batches(path: Path, threads: int) -> Any:
    return pyarrow.csv.open_csv(path, **arrow_csv_options(threads))


def arrow_csv(path: Path, threads: int) -> Any:
    return pyarrow.csv.read_csv(path, **arrow_csv_options(threads))


def arrow_json_batches(path: Path, threads: int) -> Any:
    return pyarrow.json.open_json(path, **arrow_json_options(threads))


def arrow_json(path: Path, threads: int) -> Any:
    return pyarrow.json.read_json(path, **arrow_json_options(threads))


def polars_csv_batches(path: Path, threads: int) -> Any:
    return polars.scan_csv(path, schema=POLARS).collect_batches(engine="streaming")


def polars_csv(path: Path, threads: int) -> Any:
    return polars.read_csv(path, schema=POLARS)


def polars_json_batches(path: Path, threads: int) -> Any:
    return polars.scan_ndjson(path, schema=POLARS_JSON).collect_batches(engine="streaming")


def polars_json(path: Path, threads: int) -> Any:
    return polars.read_ndjson(path, schema=POLARS_JSON)


def duckdb_source(path: Path, threads: int) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A database of its own for each reading, and the query that reads the file."""
    connection = duckdb.connect()
    if threads:
        connection.execute(f"SET threads = {threads}")
    if path.suffix == ".csv":
        dialect = "header = true, delim = ',', quote = '\"', auto_detect = false"
        source = f"read_csv('{path}', {dialect}, columns = {DUCKDB})"
    else:
        source = f"read_json('{path}', format = 'newline_delimited', auto_detect = false, columns = {DUCKDB})"
    return connection, f"SELECT * FROM {source}"


def duckdb_batches(path: Path, threads: int) -> Any:
    connection, query = duckdb_source(path, threads)
    return connection.sql(query).to_arrow_reader()


def duckdb_table(path: Path, threads: int) -> Any:
    connection, query = duckdb_source(path, threads)
    return connection.sql(query).to_arrow_table()


def duckdb_own_table(path: Path, threads: int) -> Any:
    """A table of DuckDB's own, in memory."""
    connection, query = duckdb_source(path, threads)
    connection.execute(f"CREATE TABLE kept AS {query}")
    return connection.table("kept")


STREAMING: dict[str, tuple[str, Reader]] = {
    "turnwire": ("nslip", slip_batches),
    "turnwire, borrow=True": ("nslip", partial(slip_batches, borrow=True)),
    "turnwire, as Arrow batches": ("nslip", slip_arrow_batches),
    "pyarrow CSV": ("csv", arrow_csv_batches),
    "Polars CSV": ("csv", polars_csv_batches),
    "DuckDB CSV": ("csv", duckdb_batches),
    "pyarrow NDJSON": ("ndjson", arrow_json_batches),
    "Polars NDJSON": ("ndjson", polars_json_batches),
    "DuckDB NDJSON": ("ndjson", duckdb_batches),
}
WHOLE: dict[str, tuple[str, Reader]] = {
    "turnwire": ("nslip", slip_polars),
    "turnwire, as an Arrow table": ("nslip", slip_arrow),
    "turnwire, a list of batches": ("nslip", slip_list),
    "pyarrow CSV": ("csv", arrow_csv),
    "Polars CSV": ("csv", polars_csv),
    "DuckDB CSV": ("csv", duckdb_table),
    "DuckDB CSV, its own table": ("csv", duckdb_own_table),
    "pyarrow NDJSON": ("ndjson", arrow_json),
    "Polars NDJSON": ("ndjson", polars_json),
    "DuckDB NDJSON": ("ndjson", duckdb_table),
}


def count(batches: Any) -> int:
    """The rows of all batches; each is dropped before the next but one."""
    total = 0
    for batch in batches:
        total += len(batch)
    return total


def size_of(table: Any) -> int:
    """The rows of a whole table, whatever holds it."""
    if isinstance(table, list):
        return count(table)
    if isinstance(table, duckdb.DuckDBPyRelation):
        return int(table.shape[0])
    return len(table)


def write(folder: Path, rows: list[traffic.Row], size: int) -> tuple[dict[str, Path], int]:
    """The rows over and over in three forms, at least ``size`` bytes of nSLIP: paths by suffix, and how many rows."""
    block = sum(len(traffic.wire(row)) + 1 for row in rows)
    times = -(-size // block)
    header = ",".join(traffic.COLUMNS).encode() + b"\n"
    forms: dict[str, tuple[bytes, Callable[[traffic.Row], bytes]]] = {
        "nslip": (b"", lambda row: traffic.wire(row) + b"\n"),
        "csv": (header, traffic.csv_line),
        "ndjson": (b"", traffic.json_line),
    }
    paths = {}
    for suffix, (head, line) in forms.items():
        paths[suffix] = folder / f"messages.{suffix}"
        body = b"".join(map(line, rows))
        with paths[suffix].open("wb") as file:
            file.write(head)
            for _ in range(times):
                file.write(body)
    return paths, len(rows) * times


def sizes(paths: dict[str, Path]) -> dict[str, int]:
    """How large each form of the rows is."""
    return {f"{suffix} bytes": path.stat().st_size for suffix, path in paths.items()}


def plain_rows(found: Any) -> list[dict[str, Any]]:
    """Batches or a table of any of the readers as one dict a row, with enums as their codes."""
    parts = [found] if isinstance(found, (pyarrow.Table, polars.DataFrame)) else list(found)
    rows = [row for part in parts for row in pyarrow.table(part).to_pylist()]
    for row in rows:
        if isinstance(row["act"], str):
            row["act"], row["frame"] = int(Act[row["act"]]), int(FrameType[row["frame"]])
    return rows


def check(folder: Path, rows: list[traffic.Row], threads: int) -> None:
    """Every reader must give exactly these rows before any of them is timed."""
    paths, _ = write(folder, rows, 1)
    expected = [{name: row.get(name) for name in traffic.COLUMNS} for row in rows]
    for readers in (STREAMING, WHOLE):
        for name, (suffix, reader) in readers.items():
            found = reader(paths[suffix], threads)
            if isinstance(found, duckdb.DuckDBPyRelation):
                found = found.to_arrow_table()
            if plain_rows(found) != expected:
                raise AssertionError(f"{name} reads other rows than were written")


def timed(work: Callable[[Any], int], reader: Reader, path: Path, threads: int, expected: int) -> Run:
    """A run of one reader over one file, with what it frees at the end."""
    return once(lambda: work(reader(path, threads)), expected, perf_counter)


def groups(kind: str, size: int, rounds: int, threads: int) -> Iterator[Group]:
    """Streaming and whole tables for one kind of traffic."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        check(folder, traffic.rows(kind, CHECKED), threads)
        paths, total = write(folder, traffic.rows(kind, min(DISTINCT, size // 40)), size)
        facts = {"rows": total, "threads": threads, **sizes(paths)}
        for table, work, readers in (("file to batches", count, STREAMING), ("file to one table", size_of, WHOLE)):
            runs = {
                name: timed(work, reader, paths[suffix], threads, total) for name, (suffix, reader) in readers.items()
            }
            yield Group(table=table, case=kind, facts=facts, samples=by_turns(runs, rounds))


def measure(rounds: int, size: int, threads: int) -> list[Group]:
    """All groups of this section: files of ``size`` bytes of nSLIP, the other readers with ``threads`` threads."""
    return [group for kind in ("narrow ids", "wide ids") for group in groups(kind, size, rounds, threads)]


if __name__ == "__main__":  # with all threads, in a process of its own: Polars fixes their number when it is imported
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), threads=0)))
