"""The five wires side by side: one message as an object, a log as columns, and how reading grows with size and damage.

``benchmarks/tables.py`` runs it as sections ``wires`` and ``growth``. Each wire is read beside msgspec (messages) and
beside DuckDB and Polars (logs), which get the same information as JSON, in the same rounds and the same process; what
the pure core takes, and peak memory, come from processes of their own. The lines of nSLIP and SSTP are real, the rest
generated.

    python benchmarks/wires.py pure WIRE            seconds of the pure core, as JSON (with TURNWIRE_PURE=1)
    python benchmarks/wires.py peak WIRE FILE       peak anonymous memory of one scan of a file, as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import msgspec
from logs import LOGS
from measure import Group, Run, by_turns, once
from objects import WIRES, members, runs, work_of

import turnwire

TOKENIZERS = ("o200k_base", "cl100k_base")
REFUSED: dict[str, tuple[bytes, bytes]] = {
    "nslip": (b"|f", b"|zz"),
    "csp": (b"\nFROM ", b"\nBY "),
    "sstp": (b'"actor_id"', b'"actor"'),
    "sap": (b'"taskId"', b'"task"'),
    "kick": (b'"sender"', b'"from"'),
}
"""What is written instead of a field that each message must have, so that every one of them is refused."""
DAMAGED = 10
"""Each tenth message is cut in half where a log is to be damaged."""


def messages_of(wire: str, size: int) -> list[bytes]:
    """The messages of a log of at least ``size`` bytes."""
    log = LOGS[wire](size)
    if wire == "csp":
        return [b"CSP/1\n" + part for part in log.split(b"CSP/1\n")[1:]]
    return [line + b"\n" for line in log.splitlines()]


def as_json(wire: str, messages: list[bytes]) -> bytes:
    """The same information, one JSON object a line: for the JSON wires the very same bytes."""
    if wire not in ("nslip", "csp"):
        return b"".join(messages)
    encode = msgspec.json.Encoder().encode
    return b"\n".join([encode(members(wire, turnwire.decode(one, wire))) for one in messages]) + b"\n"


def read_by_turnwire(path: Path, wire: str | None, **options: Any) -> int:
    """Streams a file as batches of all columns; how many records and rejects it has."""
    scan = turnwire.scan(path, wire=wire, **options)
    return sum(len(batch) for batch in scan) + len(scan.rejects)


def arrow_by_turnwire(path: Path, wire: str) -> int:
    """The same as Arrow batches, all columns of the wire."""
    import pyarrow

    reader = pyarrow.RecordBatchReader.from_stream(turnwire.scan(path, wire=wire))
    return sum(batch.num_rows for batch in reader)


def by_duckdb(path: Path) -> Callable[[], int]:
    """DuckDB on one thread, all fields; it is told the types, which it has found out before."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    described = connection.sql(f"DESCRIBE SELECT * FROM read_json('{path}', format = 'newline_delimited')").fetchall()
    types = ", ".join(f"'{name}': '{kind}'" for name, kind, *_ in described)
    source = f"read_json('{path}', format = 'newline_delimited', auto_detect = false, columns = {{{types}}})"

    def read() -> int:
        return sum(batch.num_rows for batch in connection.sql(f"SELECT * FROM {source}").to_arrow_reader())

    return read


def by_polars(path: Path) -> Callable[[], int]:
    """Polars on one thread (POLARS_MAX_THREADS is set by ``tables.py``), all fields, told the types likewise."""
    import polars

    schema = polars.scan_ndjson(path, infer_schema_length=None).collect_schema()
    return lambda: polars.scan_ndjson(path, schema=schema).collect().height


def measure(rounds: int, size: int) -> Iterator[Group]:
    """One group a wire, see ``SAMPLES`` in report.py. size: bytes of the log that is scanned."""
    for wire in WIRES:
        work = work_of(wire)
        samples = by_turns(runs(work, 1), rounds)
        with TemporaryDirectory() as name:
            facts: dict[str, Any] = {"bytes": work.size}
            for tokenizer in TOKENIZERS:
                texts = [text.decode() for text in work.texts]
                facts[tokenizer] = sum(turnwire.tokens.count_many(texts, tokenizer)) / len(texts)
            scans, told = _scans(wire, Path(name), size)
            facts |= told
            samples |= by_turns(scans, max(2, rounds // 4))
            facts["pure"] = _told("pure", wire, TURNWIRE_PURE="1")
            facts["peak"] = _told("peak", wire, str(Path(name) / "log"), TURNWIRE_PURE="0")["added"]
        yield Group(table="wires", case=wire, facts=facts, samples=samples)


def _scans(wire: str, folder: Path, size: int) -> tuple[dict[str, Run], dict[str, Any]]:
    """What reads a log of a wire, and facts about it."""
    messages = messages_of(wire, size)
    log, peer = folder / "log", folder / "log.jsonl"
    log.write_bytes(b"".join(messages))
    peer.write_bytes(as_json(wire, messages))
    count = len(messages)
    duckdb, polars = by_duckdb(peer), by_polars(peer)
    found: dict[str, Run] = {
        "scan": once(partial(read_by_turnwire, log, wire), count),
        "scan of all wires": once(partial(read_by_turnwire, log, None), count),
        "Arrow": once(partial(arrow_by_turnwire, log, wire), count),
        "DuckDB": once(duckdb, count),
        "Polars": once(polars, count),
    }
    return found, {"messages": count, "log bytes": log.stat().st_size, "JSON bytes": peer.stat().st_size}


def growth(rounds: int, sizes: tuple[int, ...]) -> Iterator[Group]:
    """One group a wire: a log of each size on one thread and on two, by the clock, and damaged and refused logs."""
    for wire in WIRES:
        samples: dict[str, list[float]] = {}
        facts: dict[str, Any] = {}
        with TemporaryDirectory() as name:
            for size in sizes:  # each by itself: what large logs leave in memory is not measured with small ones
                scans = _grown(wire, Path(name), size, facts)
                if size == sizes[0]:
                    scans |= _spoilt(wire, Path(name), size, facts)
                samples |= by_turns(scans, rounds)
        yield Group(table="growth", case=wire, facts=facts, samples=samples)


def _grown(wire: str, folder: Path, size: int, facts: dict[str, Any]) -> dict[str, Run]:
    messages = messages_of(wire, size)
    path = folder / f"{size}"
    path.write_bytes(b"".join(messages))
    label = f"{size >> 20} MiB"
    facts[label] = path.stat().st_size
    return {
        f"{label}, {threads}": once(partial(read_by_turnwire, path, wire, threads=threads), len(messages), perf_counter)
        for threads in (1, 2)
    }


def _spoilt(wire: str, folder: Path, size: int, facts: dict[str, Any]) -> dict[str, Run]:
    messages = messages_of(wire, size)
    scans: dict[str, Run] = {}
    for label, spoilt in (("damaged", damaged(messages)), ("refused", refused(wire, messages))):
        path = folder / label
        path.write_bytes(b"".join(spoilt))
        facts[label] = path.stat().st_size
        if label == "refused" and (good := sum(map(len, turnwire.scan(path, wire=wire)))):
            raise AssertionError(f"{good} messages of {wire} are not refused")
        scans[label] = once(partial(read_by_turnwire, path, wire), None, perf_counter)
    return scans


def damaged(messages: list[bytes]) -> list[bytes]:
    """Each tenth message loses its second half."""
    return [
        one if number % DAMAGED else one[: len(one) // 2].rstrip(b"\n") + b"\n" for number, one in enumerate(messages)
    ]


def refused(wire: str, messages: list[bytes]) -> list[bytes]:
    """Whole messages, each without a field that it must have."""
    return [one.replace(*REFUSED[wire], 1) for one in messages]


def pure(wire: str) -> dict[str, float]:
    """Seconds of the core that is in use, for what the table compares with the native one."""
    work = work_of(wire)
    samples = by_turns(runs(work, 1), 3)
    found = {name: min(samples[name]) for name in ("decode", "check", "encode made")}
    log = LOGS[wire](1 << 20)
    run = once(lambda: sum(map(len, turnwire.scan(log, wire=wire))))
    return {**found, "scan, s/byte": min(run() for _ in range(3)) / len(log)}


def peak(wire: str, path: str) -> dict[str, int]:
    """Bytes of anonymous memory that one scan adds at most."""
    from peak_memory import Watch, anonymous

    watch = Watch()
    watch.start()
    rows = read_by_turnwire(Path(path), wire)
    watch.most = max(watch.most, anonymous())
    watch.done.set()
    watch.join()
    return {"rows": rows, "added": watch.most - watch.before}


def _told(*words: str, **environment: str) -> Any:
    """What another process of this script prints."""
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **environment})
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps({"pure": pure, "peak": peak}[sys.argv[1]](*sys.argv[2:])))
