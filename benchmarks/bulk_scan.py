"""Millions at a time: bytes in memory to batches of columns, with memchr over the same bytes as the floor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import traffic
from measure import Group, Run, by_turns, once

import turnwire
from turnwire import nslip
from turnwire.log.engine import all_wires

DISTINCT = 100_000
MEMCHR_PASSES = 5
BATCHES = (256 << 10, 512 << 10, 2 << 20, 8 << 20)
PATTERN = re.compile(
    rb"@a([0-9A-Za-z]+)\|f([0-9A-Za-z]+)\|c([0-9A-Za-z]+)\|S([0-9A-Za-z]+)\|d([0-9A-Za-z]+)\|T([0-9A-Za-z]+)"
    rb'((?:\|[gkprqse][0-9A-Za-z]+|\|[ut]"(?:[^"\\\n]|\\["\\])*")*)#'
)


def stream(data: bytes, columns: Iterable[str] | None, **options: Any) -> int:
    """One pass in which every batch is dropped before the next but one is made; the number of records."""
    total = 0
    for batch in turnwire.scan(data, wire="nslip", columns=columns, **options):
        total += len(batch)
    return total


def keep(data: bytes) -> int:
    """One pass in which every batch is kept to the end."""
    return sum(len(batch) for batch in list(turnwire.scan(data, wire="nslip")))


def memchr(data: bytes) -> Run:
    """Looks for a byte that is not there: what it costs to look at every byte once. The mean of some passes."""
    run = once(partial(data.find, b"\0"), -1)
    return lambda: sum(run() for _ in range(MEMCHR_PASSES)) / MEMCHR_PASSES


def distinct(kind: str, size: int) -> list[bytes]:
    """Generated lines, no more than ``size`` bytes need."""
    return [traffic.wire(row) for row in traffic.rows(kind, min(DISTINCT, size // 40))]


KINDS = ("upstream", *traffic.GENERATED, "in a log", "1 % damaged")


def data_of(kind: str, size: int) -> bytes:
    """At least ``size`` bytes of one of the KINDS of traffic."""
    if kind == "upstream":
        return traffic.repeated(traffic.upstream(), size)
    if kind in traffic.GENERATED:
        return traffic.repeated(distinct(kind, size), size)
    lines = distinct("narrow ids", size)
    return traffic.repeated(traffic.in_a_log(lines) if kind == "in a log" else traffic.damaged(lines), size)


def check(data: bytes) -> int:
    """The number of records in these bytes; every byte must be accounted for."""
    scan = turnwire.scan(data, wire="nslip", columns=["offset", "length"], errors="skip")
    total = sum(len(batch) for batch in scan)
    counts = scan.counts
    if counts.bytes != len(data) or counts.record_bytes + counts.reject_bytes + counts.text_bytes != len(data):
        raise AssertionError(f"bytes are missing: {counts}")
    return total


def passes(size: int, rounds: int) -> Iterator[Group]:
    """All columns, four columns and the places of the records, on every kind of traffic."""
    for kind in KINDS:
        data = data_of(kind, size)
        total = check(data)
        runs: dict[str, Run] = {
            "memchr": memchr(data),
            "all columns": once(partial(stream, data, None), total),
            "four columns": once(partial(stream, data, traffic.FOUR_COLUMNS), total),
            "offset and length": once(partial(stream, data, ("offset", "length")), total),
        }
        if hasattr(all_wires._core, "choose_simd"):
            runs["all columns, scalar code"] = once(partial(scalar, data), total)
        if kind.endswith("ids"):
            runs["all columns, all batches kept"] = once(partial(keep, data), total)
        facts = {"bytes": len(data), "records": total}
        yield Group(table="bulk", case=kind, facts=facts, samples=by_turns(runs, rounds))


def batch_sizes(size: int, rounds: int) -> Iterator[Group]:
    """What the size of a batch does, with all columns."""
    data = data_of("narrow ids", size)
    total = check(data)
    runs: dict[str, Run] = {"memchr": memchr(data)}
    for batch in BATCHES:
        name = f"{batch >> 10} KiB"
        runs[name] = once(partial(stream, data, None, batch_bytes=batch), total)
    facts = {"bytes": len(data), "records": total}
    yield Group(table="batch size", case="narrow ids", facts=facts, samples=by_turns(runs, rounds))


def one_by_one(lines: list[bytes]) -> int:
    """A list of messages, decoded one after the other."""
    decode = nslip.decode
    return len([decode(line) for line in lines])


def all_at_once(data: bytes) -> int:
    """A list of messages, decoded by one call."""
    return len(nslip.decode_many(data))


def by_pattern(data: bytes) -> int:
    """Header fields and the rest of each message as bytes; no number is read and no slot is told from another."""
    return len(PATTERN.findall(data))


def scalar(data: bytes) -> int:
    """One pass of the C code that runs on every processor."""
    all_wires._core.choose_simd("scalar")
    try:
        return stream(data, None)
    finally:
        all_wires._core.choose_simd(all_wires._core.SIMD)


def pure_stream(data: bytes) -> int:
    """One pass of the pure-Python twin."""
    native = all_wires._core
    all_wires._core = import_module("turnwire.log._search_py")
    try:
        return stream(data, None)
    finally:
        all_wires._core = native


def in_python(size: int, rounds: int) -> Iterator[Group]:
    """What else Python has: the pure twin, decode for each line, a regular expression that only splits."""
    for kind in ("narrow ids", "wide ids"):
        lines = distinct(kind, size)
        data = traffic.repeated(lines, 1)
        runs: dict[str, Run] = {
            "all columns": once(partial(stream, data, None), len(lines)),
            "decode_many": once(partial(all_at_once, data), len(lines)),
            "decode, line by line": once(partial(one_by_one, lines), len(lines)),
            "re.findall": once(partial(by_pattern, data), len(lines)),
            "all columns, pure Python": once(partial(pure_stream, data), len(lines)),
        }
        facts = {"bytes": len(data), "records": len(lines)}
        yield Group(table="bulk in Python", case=kind, facts=facts, samples=by_turns(runs, rounds))


def measure(rounds: int, size: int) -> list[Group]:
    """All groups of this section, with ``size`` bytes of each kind."""
    return [*passes(size, rounds), *batch_sizes(size, rounds), *in_python(min(size // 32, 1 << 20), rounds)]
