"""Ways to read one log that must all give the same: a generator of them, and what each is expected to give.

A :class:`Way` is drawn at random in all its dimensions at once: what the bytes come from, how they are cut, into what
blocks, by how many threads and with which SIMD code; which columns are read, which records are wanted, where the scan
stops and another one goes on. What it is to give follows from the rows of the plainest scan by a plain loop.
"""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.log.found import plain_values
from turnwire import WIRES, Scan, scan

Row = dict[str, Any]
UNASKED = ("line", "record", "file", "time", "timestamp", "issuedAt", "issued_at")
"""Columns that ``where`` does not know, and times, which are written in many ways: tests/log/test_where.py."""


class Found(NamedTuple):
    """What a scan gave: rows with their bytes, rejects without the name of the file, and what it counted."""

    rows: list[Row]
    rejects: list[Row]
    counts: dict[str, Any]


class Pieces(io.RawIOBase):
    """Bytes that come in pieces of any size, as from a pipe."""

    def __init__(self, data: bytes, chance: random.Random) -> None:
        self._data, self._place, self._chance = data, 0, chance

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        wanted = min(len(room), self._chance.choice((1, 2, 7, 64, 1 << 20)))
        part = self._data[self._place : self._place + wanted]
        room[: len(part)] = part
        self._place += len(part)
        return len(part)


def _file(data: bytes, folder: Path, name: str = "a.log") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


Source = Callable[[bytes, Path, random.Random], Any]
SOURCES: dict[str, Source] = {
    "bytes": lambda data, folder, chance: data,
    "memory": lambda data, folder, chance: memoryview(bytearray(data)),
    "pieces": lambda data, folder, chance: Pieces(data, chance),
    "a path": lambda data, folder, chance: _file(data, folder),
    "an open file": lambda data, folder, chance: io.BytesIO(data),
    "gzip": lambda data, folder, chance: _file(gzip.compress(data, 1), folder, "a.log.gz"),
    "members of gzip": lambda data, folder, chance: _file(
        b"".join(gzip.compress(part, 1) for part in halves(data, chance)), folder, "b.log.gz"
    ),
}
FILES = ("a path", "gzip", "members of gzip")


def halves(data: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    """The bytes, cut anywhere."""
    place = chance.randrange(len(data) + 1)
    return data[:place], data[place:]


class Way(NamedTuple):
    """One way to read a log; stops: after so many batches the scan ends, and another one goes on."""

    wire: str | None
    source: str
    batch_bytes: int
    threads: int
    borrow: bool
    errors: str
    columns: tuple[str, ...] | None
    where: dict[str, Any]
    stops: int | None
    level: str

    def options(self) -> dict[str, Any]:
        """The arguments of the scan."""
        names = ("wire", "batch_bytes", "threads", "borrow", "errors", "columns", "where")
        return {name: getattr(self, name) for name in names}


def any_way(plain: Found, names: dict[str, tuple[str, ...]], wire: str | None, size: int, chance: random.Random) -> Way:
    """A way to read the log that the plainest scan found this in; ``names``: what the numbers of each enum mean."""
    columns = [name for name in (plain.rows[0] if plain.rows else ()) if name != "raw"]
    source = chance.choice(list(SOURCES))
    chosen = tuple(chance.sample(columns, chance.randrange(1, len(columns) + 1))) if columns else ()
    return Way(
        wire=wire,
        source=source,
        batch_bytes=chance.choice((1, 7, 64, 300, size // 2 + 1, size + 1, 2 << 20)),
        threads=chance.choice((1, 1, 2, 3)),
        borrow=source in ("bytes", "memory", "a path") and chance.random() < 0.5,
        errors=chance.choice(("collect", "collect", "skip")),
        columns=chosen if chosen and chance.random() < 0.5 else None,
        where=wanted(plain, names, chance) if chance.random() < 0.5 else {},
        stops=chance.randrange(4) if source in FILES and chance.random() < 0.6 else None,
        level=chance.choice(("scalar", "avx2", "avx512")),
    )


def wanted(plain: Found, names: dict[str, tuple[str, ...]], chance: random.Random) -> dict[str, Any]:
    """Conditions about one or two columns, mostly such as some of the rows meet."""
    found: dict[str, Any] = {}
    rows = plain.rows
    if not rows:
        return {"length": (1, None)}
    for _ in range(chance.choice((1, 1, 2))):
        row = chance.choice(rows)
        name = chance.choice([name for name, value in row.items() if isinstance(value, str | int | bytes | None)])
        value = row[name]
        if name == "raw":
            start = chance.randrange(len(value))
            part = value[start : start + chance.randrange(1, 6)]
            found["text"] = part
        elif name in names:
            found[name] = None if value is None else names[name][value]
        elif name in UNASKED or name == "text" or isinstance(value, bool):
            continue  # "text" asks for what a record has somewhere in it, also where a wire has a column of that name
        elif isinstance(value, int) and chance.random() < 0.5:
            found[name] = chance.choice(((value, None), (None, value), (value - 1, value + 2)))
        else:
            found[name] = chance.choice((value, {value, row[name]}))
    return found


def meets(row: Row, where: dict[str, Any], names: dict[str, tuple[str, ...]]) -> bool:
    """True if a row is wanted, by a plain loop."""
    for name, condition in where.items():
        if name == "text":
            if condition not in row["raw"]:
                return False
            continue
        value = row[name]
        if name in names and value is not None:
            value = names[name][value]
        if isinstance(condition, tuple):
            low, high = condition
            if value is None or (low is not None and value < low) or (high is not None and value >= high):
                return False
        elif value not in (condition if isinstance(condition, set) else {condition}):
            return False
    return True


def expected(plain: Found, way: Way, names: dict[str, tuple[str, ...]]) -> Found:
    """What the way is to give."""
    rows = [row for row in plain.rows if meets(row, way.where, names)]
    if way.columns is not None:
        rows = [{name: row[name] for name in (*way.columns, "raw")} for row in rows]
    return Found(rows, plain.rejects if way.errors == "collect" else [], plain.counts)


def rows_of(batches: Iterator[Any]) -> list[Row]:
    """The rows of some batches as plain values."""
    rows: list[Row] = []
    for batch in batches:
        names = [column.name for column in batch.columns]
        columns = [plain_values(batch, name) for name in names]
        raws = batch.raws()
        rows += [{**dict(zip(names, values, strict=True)), "raw": next(raws)} for values in zip(*columns, strict=True)]
    return rows


def enums(found: Scan) -> dict[str, tuple[str, ...]]:
    """What the numbers of each enum among the columns mean."""
    return {column.name: tuple(column.names) for column in found.columns if column.names}


def counted(*scans: Scan) -> dict[str, Any]:
    """The counts of scans that followed each other, as one."""
    total: dict[str, Any] = {}
    for found in scans:
        for name in ("bytes", "record_bytes", "reject_bytes", "text_bytes", "records", "rejects"):
            total[name] = total.get(name, 0) + getattr(found.counts, name)
        for name in ("wires", "reasons"):
            for key, number in getattr(found.counts, name).items():
                total[f"{name} {key}"] = total.get(f"{name} {key}", 0) + number
    return {name: number for name, number in total.items() if number}


def _rejects(found: Scan) -> list[Row]:
    return [{**row, "file": None} for row in found.rejects.rows()]


def plainest(data: bytes, wire: str | None) -> tuple[Found, dict[str, tuple[str, ...]]]:
    """What one thread finds in bytes in one block; and what the numbers of enums mean."""
    found = scan(data, wire=wire, batch_bytes=max(1, len(data)))
    rows = rows_of(iter(found))
    return Found(rows, _rejects(found), counted(found)), enums(found)


def so_far(data: bytes, wire: str | None, folder: Path) -> Found:
    """The same of a file that may go on: what is still open at its end waits for the next scan."""
    found = scan(_file(data, folder, "so far.log"), wire=wire, resume={})
    rows = rows_of(iter(found))
    return _without_file(Found(rows, _rejects(found), counted(found)))


@contextmanager
def simd(level: str, backend: str) -> Iterator[None]:
    """The native core runs the code of this level, where the processor has it."""
    if backend == "pure":
        yield
        return
    core = import_module("turnwire._native.log.search")
    try:
        core.choose_simd(level)
        yield
    finally:
        core.choose_simd(core.SIMD)


def read(data: bytes, way: Way, folder: Path, chance: random.Random) -> Found:
    """What the way gives."""
    options = way.options()
    source = SOURCES[way.source](data, folder, chance)
    if way.stops is None:
        found = scan(source, **options)
        rows = rows_of(iter(found))
        return _without_file(Found(rows, _rejects(found), counted(found)))
    first = scan(source, **options, resume={})
    rows = rows_of(batch for _, batch in zip(range(way.stops), first, strict=False))
    first.close()
    then = scan(source, **{**options, "batch_bytes": chance.choice((1, 50, way.batch_bytes))}, resume=first.position)
    more = rows_of(iter(then))
    return _without_file(Found(rows + more, _rejects(first) + _rejects(then), counted(first, then)))


def _without_file(found: Found) -> Found:
    rows = [{name: None if name == "file" else value for name, value in row.items()} for row in found.rows]
    return found._replace(rows=rows)


def wires() -> tuple[str | None, ...]:
    """All wires by name, and all of them at once."""
    return (*WIRES, None, None, None)
