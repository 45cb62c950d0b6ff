"""JSON lines of SSTP, SAP and KickLang, file to Arrow: common columns by turnwire, DuckDB and Polars, one thread each.

The traffic is generated and seeded; no public corpus of SAP objects or KickLang envelopes exists. Every reader selects
the same fields: kind, sender, receiver, conversation, sequence, subject, and the time as it is written (turnwire also
reads it). The peers are told the schema of what they select, so that none has to guess, and are compared row by row
with what was written before anything is timed. turnwire validates every byte of each message and judges it by its
wire's tables on the way; the peers do not.

    python benchmarks/json_lines.py [MEGABYTES] [ROUNDS] [shuffled]

shuffled: the members of each object stand in an order of their own, so that no line is like the one before.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is imported

import duckdb
import polars
import pyarrow
from logs import JSON_WIRES, SEED, json_lines

import turnwire

BATCH = 2 << 20  # bytes of input: what is made of them stays in the cache
NAMES = ("kind", "sender", "receiver", "conversation", "sequence", "time", "subject")
"""What is selected, by turnwire's names. An expression for each peer follows, by wire."""
DUCKDB_TYPES = {
    "sstp": "header: 'STRUCT(kind VARCHAR, actor_id VARCHAR, session_id VARCHAR, logical_clock BIGINT)', "
    "payload: 'STRUCT(question VARCHAR, content VARCHAR, directed_to VARCHAR)'",
    "sap": "issuedAt: 'VARCHAR', correlationId: 'VARCHAR', issuer: 'STRUCT(agentId VARCHAR)', "
    "target: 'STRUCT(capability VARCHAR)'",
    "kick": "type: 'VARCHAR', sender: 'VARCHAR', receiver: 'VARCHAR', correlation_id: 'VARCHAR', timestamp: 'VARCHAR', "
    "channel: 'VARCHAR'",
}
DUCKDB_FIELDS = {
    "sstp": "header.kind AS kind, header.actor_id AS sender, payload.directed_to AS receiver, header.session_id AS "
    "conversation, header.logical_clock AS sequence, coalesce(payload.question, payload.content) AS subject",
    "sap": "issuer.agentId AS sender, correlationId AS conversation, issuedAt AS time, target.capability AS subject",
    "kick": "type AS kind, sender, receiver, correlation_id AS conversation, timestamp AS time, channel AS subject",
}
TEXT = polars.String
POLARS_TYPES: dict[str, dict[str, Any]] = {
    "sstp": {
        "header": polars.Struct({"kind": TEXT, "actor_id": TEXT, "session_id": TEXT, "logical_clock": polars.Int64}),
        "payload": polars.Struct({"question": TEXT, "content": TEXT, "directed_to": TEXT}),
    },
    "sap": {
        "issuedAt": TEXT,
        "correlationId": TEXT,
        "issuer": polars.Struct({"agentId": TEXT}),
        "target": polars.Struct({"capability": TEXT}),
    },
    "kick": dict.fromkeys(("type", "sender", "receiver", "correlation_id", "timestamp", "channel"), TEXT),
}


def inner(part: str, name: str) -> polars.Expr:
    return polars.col(part).struct.field(name)


POLARS_FIELDS: dict[str, dict[str, polars.Expr]] = {
    "sstp": {
        "kind": inner("header", "kind"),
        "sender": inner("header", "actor_id"),
        "receiver": inner("payload", "directed_to"),
        "conversation": inner("header", "session_id"),
        "sequence": inner("header", "logical_clock"),
        "subject": polars.coalesce(inner("payload", "question"), inner("payload", "content")),
    },
    "sap": {
        "sender": inner("issuer", "agentId"),
        "conversation": polars.col("correlationId"),
        "time": polars.col("issuedAt"),
        "subject": inner("target", "capability"),
    },
    "kick": {
        "kind": polars.col("type"),
        "sender": polars.col("sender"),
        "receiver": polars.col("receiver"),
        "conversation": polars.col("correlation_id"),
        "time": polars.col("timestamp"),
        "subject": polars.col("channel"),
    },
}


def by_turnwire(path: Path, wire: str) -> Iterator[Any]:
    scan = turnwire.scan(path, wire=wire, columns=list(POLARS_FIELDS[wire]), batch_bytes=BATCH)
    return iter(pyarrow.RecordBatchReader.from_stream(scan))


def by_duckdb(path: Path, wire: str) -> Iterator[Any]:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    source = (
        f"read_json('{path}', format = 'newline_delimited', auto_detect = false, columns = {{{DUCKDB_TYPES[wire]}}})"
    )
    return iter(connection.sql(f"SELECT {DUCKDB_FIELDS[wire]} FROM {source}").to_arrow_reader())


def by_polars(path: Path, wire: str) -> Iterator[Any]:
    frame = polars.scan_ndjson(path, schema=POLARS_TYPES[wire])
    yield frame.select(**POLARS_FIELDS[wire]).collect().to_arrow()


READERS = {"turnwire": by_turnwire, "DuckDB": by_duckdb, "Polars": by_polars}


def rows_of(found: Iterator[Any], wire: str) -> list[dict[str, Any]]:
    """All rows as dicts, times left out: turnwire has read them, the peers have not."""
    rows = [row for part in found for row in part.to_pylist()]
    return [{name: row[name] for name in POLARS_FIELDS[wire] if name != "time"} for row in rows]


def shuffled(value: Any, numbers: random.Random) -> Any:
    """The same JSON with the members of each object in any order."""
    if isinstance(value, list):
        return [shuffled(one, numbers) for one in value]
    if not isinstance(value, dict):
        return value
    members = list(value.items())
    numbers.shuffle(members)
    return {name: shuffled(one, numbers) for name, one in members}


def in_any_order(line: bytes, numbers: random.Random) -> bytes:
    """A line of JSON likewise."""
    value = shuffled(json.loads(line), numbers)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write(path: Path, wire: str, size: int, order: str) -> int:
    """At least ``size`` bytes of messages, one a line; how many they are."""
    lines, numbers = list(json_lines(wire, size)), random.Random(SEED)
    if order == "shuffled":
        lines = [in_any_order(line, numbers) for line in lines]
    path.write_bytes(b"".join(lines))
    return len(lines)


def measured(path: Path, wire: str, rounds: int) -> dict[str, float]:
    """Median CPU seconds of each reader (a busy machine does not change them), all of them in turn in each round."""
    samples: dict[str, list[float]] = {name: [] for name in READERS}
    for number in range(rounds + 1):
        for name, reader in READERS.items():
            start = process_time()
            total = sum(part.num_rows for part in reader(path, wire))
            taken = process_time() - start
            if not total:
                raise AssertionError(f"{name} read nothing")
            if number:
                samples[name].append(taken)
    return {name: median(times) for name, times in samples.items()}


def main(megabytes: str = "128", rounds: str = "5", order: str = "") -> None:
    """Prints a line for each wire: MB/s of turnwire, and how many times longer the peers take."""
    with TemporaryDirectory() as folder:
        for wire in JSON_WIRES:
            small, path = Path(folder) / "small.jsonl", Path(folder) / f"{wire}.jsonl"
            write(small, wire, 50_000, order)
            expected = rows_of(by_duckdb(small, wire), wire)
            for name, reader in READERS.items():
                if rows_of(reader(small, wire), wire) != expected:
                    raise AssertionError(f"{name} reads other rows")
            count = write(path, wire, int(megabytes) << 20, order)
            times = measured(path, wire, int(rounds))
            speed = path.stat().st_size / times["turnwire"] / 1e6
            ratios = ", ".join(
                f"{name} {times[name] / times['turnwire']:.2f}x" for name in READERS if name != "turnwire"
            )
            kind = f"generated, {order}" if order else "generated"
            print(f"{wire} ({kind}): {count} messages, {speed:.0f} MB/s; slower: {ratios}")


if __name__ == "__main__":
    main(*sys.argv[1:])
