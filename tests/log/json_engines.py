"""What the tests of the JSON scan share: both cores on some bytes, and logs of JSON messages with any damage."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.conftest import BACKENDS
from tests.log.engines import Names, Read, arrays, by_dtype, same_arrays
from tests.vectors import load
from turnwire._backend import core_module
from turnwire.contract import BulkScanner, Column
from turnwire.json import scanner as json_scanner
from turnwire.log.engine.columns import DTYPES
from turnwire.log.wire_scanners import bulk_scanner

JSON_WIRES = ("sstp", "sap", "kick")
LIMIT = 16 << 20
REJECT_DTYPES = {
    "offset": "i8",
    "length": "i8",
    "line": "i8",
    "fault": "i8",
    "reason": "u1",
    "wire": "u1",
    "inner": "i8",
    "row": "i8",
}
_REJECTS = by_dtype(REJECT_DTYPES)


def scanner_of(wire: str) -> BulkScanner:
    return bulk_scanner(wire)


@cache
def names_by_dtype(columns: tuple[Column, ...]) -> Names:
    """The arrays that a core fills for the columns, by their dtype."""
    dtypes = {"offset": "i8", "length": "i8", "place": "i8", "size": "i8", "line": "i8", "present": "u8", "wire": "u1"}
    for column in columns:
        if column.kind == "text":
            dtypes[f"{column.name}.offset"] = dtypes[f"{column.name}.length"] = "i8"
        else:
            dtypes[column.name] = DTYPES[column.kind]
    return by_dtype(dtypes)


def tables(scanner: BulkScanner, room: int, rejects: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and rejects to fill, with rubbish in them."""
    return arrays(names_by_dtype(tuple(scanner.columns)), room), arrays(_REJECTS, rejects)


@contextmanager
def engine(name: str) -> Iterator[ModuleType]:
    """The core module of one of ``ENGINES``, or of a backend."""
    backend, _, level = name.partition("-")
    core = core_module(backend, "json.lines")
    if level:
        core.choose_simd(level)
    try:
        yield core
    finally:
        if level:
            core.choose_simd(core.SIMD)


def _engines() -> list[str]:
    if "native" not in BACKENDS:
        return ["pure"]
    core = import_module("turnwire._native.json.lines")
    levels = [level for level in core.LEVELS if core.choose_simd(level) == level]
    core.choose_simd(core.SIMD)
    return [f"native-{level}" for level in levels] + ["pure"]


ENGINES = _engines()
"""The pure core, and the native one by each kind of code that this processor runs."""


def read(
    backend: str,
    wire: str,
    data: bytes,
    *,
    cuts: tuple[int, ...] = (),
    limit: int = LIMIT,
    rooms: tuple[int, int] | None = None,
) -> Read:
    """All of ``data`` by one core or engine; at each of ``cuts`` it is told that no more has come yet. ``rooms``: so
    many rows and rejects are there at a time, and are read away when they are full."""
    with engine(backend) as core:
        return _read(core, wire, data, cuts, limit, rooms)


_ASKED: dict[int, tuple[Any, Any, Any]] = {}
"""Plans and columns by the identity of the first plan, and what a core asks of them before it reads anything."""


def new_plan(core: ModuleType, plans: tuple[Any, ...], columns: Any) -> Any:
    """A plan that has seen nothing yet. What the native core asks of a plan by number is found once for each plan: it
    takes longer than most of the logs that are read here. The pure core learns nothing from what it reads: it has one
    plan for all of them."""
    known = _ASKED.get(id(plans[0]))
    if known is None or known[0] != plans or known[1] is not columns:
        arguments = (plans, columns, *json_scanner.bits(columns), json_scanner.REASONS)
        known = _ASKED[id(plans[0])] = plans, columns, {"arguments": arguments}
    asked = known[2]
    whole = getattr(core, "flat", None)
    if whole is None:
        if "pure" not in asked:
            asked["pure"] = core.Plan(*asked["arguments"])
        return asked["pure"]
    if "flat" not in asked:
        asked["flat"] = whole(plans, columns)
    core.flat = lambda *_: asked["flat"]
    try:
        return core.Plan(*asked["arguments"])
    finally:
        core.flat = whole


def _read(
    core: ModuleType, wire: str, data: bytes, cuts: tuple[int, ...], limit: int, rooms: tuple[int, int] | None
) -> Read:
    scanner = scanner_of(wire)
    plan = new_plan(core, scanner_plans(wire), scanner.columns)
    room = data.count(b"{") + 1
    names = names_by_dtype(tuple(scanner.columns))
    columns, rejects = same_arrays(names, room), same_arrays(_REJECTS, room)
    rows = bad = position = 0
    line = 1
    state = json_scanner.LineState()
    for size in (*cuts, len(data)):
        final = size == len(data)
        while True:
            most = room if rooms is None else min(room, rows + rooms[0])
            most_bad = room if rooms is None else min(room, bad + rooms[1])
            before = (rows, bad, position)
            rows, bad, position, line = core.scan_block(
                plan, data, position, size, final, columns, rows, most, rejects, bad, most_bad,
                line=line, limit=limit, state=state,
            )  # fmt: skip
            assert position <= size
            if rooms is None or position == size or (rows, bad, position) == before:
                break
    assert position == len(data)
    return Read(columns, rows, rejects, bad, line)


def scanner_plans(wire: str) -> tuple[Any, ...]:
    package = {"sstp": "sstp", "sap": "sap", "kick": "kick"}[wire]
    return (import_module(f"turnwire.{package}.bulk").PLAN,)


def both(wire: str, data: bytes, **options: Any) -> Read:
    """What every engine makes of the bytes, which must be one thing; and everything must add up."""
    found = {name: read(name, wire, data, **options) for name in ENGINES}
    first = found[ENGINES[0]]
    for backend, other in found.items():
        assert other == first, (backend, data)
    adds_up(first, data)
    return first


def adds_up(found: Read, data: bytes) -> None:
    """Rejects stand in order and nothing is counted twice."""
    spans = list(zip(found.rejects["offset"], found.rejects["length"], strict=True))
    bare = [
        (offset, length)
        for offset, length, size in zip(*(found.columns[name] for name in ("offset", "length", "size")), strict=True)
        if data[offset : offset + 1] == b"{" and length == size
    ]
    spans = sorted(spans + bare)
    for (offset, length), (following, _) in pairwise(spans):
        assert length > 0
        assert offset + length <= following
    assert sum(found.columns["length"]) + sum(found.rejects["length"]) <= len(data)


# --- logs -----------------------------------------------------------------------------------------------------------


def vectors(wire: str) -> list[bytes]:
    """The texts of the wire's vectors that are JSON objects, as lines."""
    found = []
    for case in load(wire):
        text = case["text"]
        if isinstance(text, str) and text.lstrip().startswith("{"):
            found.append(text.replace("\n", " ").encode("utf-8", "surrogatepass"))
    assert len(found) > 8
    return found


def real_sstp() -> bytes:
    return (Path(__file__).parents[1] / "data" / "sstp_real.jsonl").read_bytes()


RECORDS = {wire: vectors(wire) for wire in JSON_WIRES}
_ODD = b'{}[]":,\\\n\r \t0-.eEtfnu\xc3\xa9\xff\x00\xed\xa0\x80'
_GLUE = (b"\n", b"\r\n", b'{"header": {"ki', b'{"', b"{", b"\x00" * 9, b"\xff\xfe", b'"', b"\\", b'\\"', b"}{", b"{}")
_BEFORE = (
    b"",
    b"",
    b"2026-05-04T10:00:00Z INFO planner: ",
    b"[2026-05-04 10:00:00,5] ",
    b'say "hi" ',
    b"[",
    b'{"a": ',
    b"{",
)
_AFTER = (b"\n", b"\n", b"\r\n", b" ", b"\n\n", b"", b", ", b"}\n", b"]\n", b' "x"\n')


def quoted(text: bytes) -> bytes:
    """Bytes as a JSON string; what is not UTF-8 stays what it is."""
    inside = json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    return inside.encode("utf-8", "surrogateescape")


def wrapped(record: bytes, chance: random.Random) -> bytes:
    """A record in some other JSON, or in strings of it, or as it is."""
    kind = chance.random()
    if kind < 0.5:
        return record
    if kind < 0.6:
        return b'{"msg": %b, "n": [1, 2.5e3, null]}' % record
    text = chance.choice((b"%b", b"%b\n", b"Sure:\n```json\n%b\n```\n", b"%b and %b")).replace(b"%b", record)
    wrap = chance.choice((b'{"log": %b, "stream": "stdout"}', b'  "userMessage": %b,', b"[%b]", b'{"a": {"b": [%b]}}'))
    result = wrap % quoted(text)
    if kind > 0.85:
        result = b'{"outer": %b}' % quoted(result)
    return result


def one_damage(record: bytearray, chance: random.Random) -> None:
    """A byte changed, put in or taken out, the tail cut off, or something glued in."""
    place = chance.randrange(len(record) + 1)
    kind = chance.random()
    if kind < 0.4 and place < len(record):
        record[place] = chance.choice(_ODD)
    elif kind < 0.6:
        record[place:place] = bytes([chance.choice(_ODD)])
    elif kind < 0.75 and place < len(record):
        del record[place]
    elif kind < 0.85:
        del record[place:]
    else:
        record[place:place] = chance.choice(_GLUE)


def damaged_log(chance: random.Random, records: list[bytes], most: int = 4) -> bytes:
    """Some records with text around them, half of them damaged once or twice."""
    parts = []
    for _ in range(chance.randrange(1, most + 1)):
        record = chance.choice(records)
        broken = bytearray(record)
        if chance.random() < 0.3:
            one_damage(broken, chance)
        line = bytearray(wrapped(bytes(broken), chance))
        if chance.random() < 0.3:
            one_damage(line, chance)
        parts.append(chance.choice(_BEFORE) + bytes(line) + chance.choice(_AFTER))
    return b"".join(parts)
