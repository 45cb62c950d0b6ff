"""What the tests of logs share: the engines of the scan, logs with every kind of damage, and what adds up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import turnwire.nslip  # noqa: F401  (the core modules expect the package to be there)
from tests.conftest import PURE_ONLY
from tests.vectors import load
from turnwire._backend import core_module
from turnwire.nslip import base62
from turnwire.nslip.spec import Slot


def _engines() -> list[str]:
    if PURE_ONLY:
        return ["pure"]
    core = import_module("turnwire._native.nslip.scan")
    levels = [level for level in core.LEVELS if core.choose_simd(level) == level]
    core.choose_simd(core.SIMD)
    return [f"native-{level}" for level in reversed(levels)] + ["pure"]


ENGINES = _engines()
"""The pure core, and the native one by each kind of code that this processor runs."""

HEAD = ("conv_id", "src", "dst", "turn")
TEXTS = ("status", "tag")
DTYPES = {
    "offset": "i8",
    "length": "i8",
    "line": "i8",
    "present": "u2",
    "act": "u1",
    "frame": "u1",
    **dict.fromkeys(HEAD, "u8"),
    **{slot.name.lower(): "u8" for slot in Slot if slot.name.lower() not in TEXTS},
    **{f"{text}.{part}": "i8" for text in TEXTS for part in ("offset", "length")},
}
REJECT_DTYPES = {"offset": "i8", "length": "i8", "line": "i8", "fault": "i8", "reason": "u1"}
LIMIT = 16 << 20
RUBBISH = 77
"""What stands in arrays before an engine fills them."""
GOOD = b'@a3|f0|c1|S0|d1|T1|gH|t"hello"#'
UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@contextmanager
def engine(name: str) -> Iterator[Callable[..., tuple[int, int, int, int]]]:
    """``scan_block`` of one of ``ENGINES``."""
    backend, _, level = name.partition("-")
    core = core_module(backend, "nslip.scan")
    if backend == "pure":
        yield core.scan_block
        return
    core.choose_simd(level)
    try:
        yield core.scan_block
    finally:
        core.choose_simd(core.SIMD)


Names = tuple[tuple[str, tuple[str, ...]], ...]


def by_dtype(dtypes: dict[str, str]) -> Names:
    """The names of arrays for each dtype."""
    kinds = dict.fromkeys(dtypes.values())
    return tuple((kind, tuple(name for name, dtype in dtypes.items() if dtype == kind)) for kind in kinds)


def arrays(names: Names, room: int) -> dict[str, Any]:
    """Arrays of so many values with rubbish in them, cut from one for each dtype: made one by one they took longer than
    the reading of most logs here."""
    rows = ((some, np.full((len(some), room), RUBBISH, dtype)) for dtype, some in names)
    return {name: row for some, block in rows for name, row in zip(some, block, strict=True)}


@lru_cache(maxsize=32)
def _reused(names: Names, room: int) -> dict[str, Any]:
    return arrays(names, room)


def same_arrays(names: Names, room: int) -> dict[str, Any]:
    """As :func:`arrays`, but the same ones at each call, with new rubbish: what was read into them must be kept
    elsewhere by then, as :class:`Read` does."""
    columns = _reused(names, room)
    for block in {id(array.base): array.base for array in columns.values()}.values():
        block.fill(RUBBISH)
    return dict(columns)


@cache
def _names(wanted: tuple[str, ...] | None) -> Names:
    return by_dtype({name: dtype for name, dtype in DTYPES.items() if wanted is None or name in wanted})


_REJECTS = by_dtype(REJECT_DTYPES)


def tables(room: int, rejects: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and rejects to fill, with rubbish in them."""
    return arrays(_names(None), room), arrays(_REJECTS, rejects)


class Filled:
    """The first rows of some arrays, which may be filled anew afterwards. As lists where they are asked for: most are
    only compared, as they lie in memory."""

    def __init__(self, arrays: dict[str, Any], rows: int) -> None:
        blocks: dict[int, tuple[Any, list[str]]] = {}
        for name, array in arrays.items():
            block = array[np.newaxis] if array.base is None else array.base
            blocks.setdefault(id(block), (block, []))[1].append(name)
        self._kept = [(names, block.dtype.str, block[:, :rows].tobytes()) for block, names in blocks.values()]
        self._rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filled) and self._rows == other._rows and self._kept == other._kept

    __hash__ = None  # type: ignore[assignment]

    def lists(self) -> dict[str, list[Any]]:
        """The values of each array."""
        blocks = (
            (names, np.frombuffer(kept, dtype).reshape(len(names), self._rows)) for names, dtype, kept in self._kept
        )
        return {name: row for names, block in blocks for name, row in zip(names, block.tolist(), strict=True)}


class Read:
    """What an engine made of some bytes: two runs over the same bytes compare."""

    def __init__(self, columns: dict[str, Any], rows: int, rejects: dict[str, Any], bad: int, line: int) -> None:
        self.arena = columns.pop("arena", b"")
        self._columns = Filled(columns, rows)
        self._rejects = Filled(rejects, bad)
        self.rows = rows
        self.bad = bad
        self.line = line

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each column."""
        return self._columns.lists()

    @cached_property
    def rejects(self) -> dict[str, list[Any]]:
        """The values of each column of the rejects."""
        return self._rejects.lists()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Read) and (self._columns, self._rejects, self.arena, self.line) == (
            other._columns,
            other._rejects,
            other.arena,
            other.line,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Read({self.columns!r}, rejects={self.rejects!r}, line={self.line}, arena={self.arena!r})"

    def spans(self) -> list[tuple[int, int]]:
        """(offset, length) of every record and reject, in order."""
        kinds = (self.columns, self.rejects)
        return sorted(pair for found in kinds for pair in zip(found["offset"], found["length"], strict=True))


def read(
    name: str,
    data: bytes,
    *,
    cuts: tuple[int, ...] = (),
    limit: int = LIMIT,
    keep: bool = False,
    wanted: list[str] | None = None,
) -> Read:
    """All of ``data`` by one engine; at each of ``cuts`` it is told that no more has come yet."""
    room = data.count(b"@") + 1
    names = _names(None if wanted is None else tuple(wanted))
    columns, rejects = same_arrays(names, room), same_arrays(_REJECTS, room)
    rows = bad = position = 0
    line = 1
    with engine(name) as scan_block:
        for size in (*cuts, len(data)):
            final = size == len(data)
            rows, bad, position, line = scan_block(
                data, position, size, final, columns, rows, room, rejects, bad, room, line=line, limit=limit, keep=keep
            )
            assert position <= size
    assert position == len(data)
    return Read(columns, rows, rejects, bad, line)


# --- logs -----------------------------------------------------------------------------------------------------------

VECTORS = [case["wire"].encode("utf-8", "surrogatepass") for case in load("nslip") if case["op"] == "decode"]
_ODD = b'@#|"\\\n\r \t0123zAafcSdTgkprqsuetx\xc3\xa9\xff\x00-'
_GLUE = (b"\n", b"\r\n", b"@a3", b"@a3|", b"@", b"\x00" * 9, b"\xff\xfe", b"\r", b'@a1|t"')
_BEFORE = (b"", b"", b"2026-05-04T10:00:00Z INFO planner: ", b" bob@example.com ", b'{"text": "')
_AFTER = (b"\n", b"\n", b"\r\n", b" ", b"\n\n", b"", b"#", b"\r", b'"}\n')


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
    elif kind < 0.9:
        del record[place:]
    else:
        record[place:place] = chance.choice(_GLUE)


def damaged_log(chance: random.Random, lines: list[bytes], most: int = 7) -> bytes:
    """Some records with text around them, half of them damaged once or twice."""
    parts = []
    for _ in range(chance.randrange(1, most + 1)):
        record = bytearray(chance.choice(lines))
        if chance.random() < 0.5:
            for _ in range(chance.choice((1, 1, 2))):
                one_damage(record, chance)
        parts.append(chance.choice(_BEFORE) + bytes(record) + chance.choice(_AFTER))
    return b"".join(parts) + chance.choice((b"", b"x" * 150, b"\n" + b"z" * 140))


def _number(chance: random.Random) -> bytes:
    """Digits of a number; 8 to 11 of them now and then, leading zeros too."""
    bits = chance.choice((4, 8, 16, 40, 48, 54, 59, 60, 61, 64))
    digits = base62.encode(chance.getrandbits(bits)).encode()
    if chance.random() < 0.05:
        digits = chance.choice((b"0", b"000000", b"zzzzzzzzzz", b"LygHa16AHYF", b"LygHa16AHYG", b"00000000000z"))
    return digits.rjust(chance.choice((1, 1, 1, 8, 9, 10, 11)), b"0") if chance.random() < 0.1 else digits


def _text(chance: random.Random) -> bytes:
    size = chance.choice((0, 1, 2, 5, 12, 13, 20, 30, 40, 50, 60, 64, 70, 90, 110, 130))
    return bytes(chance.choices(b"abcdefghijklmnop |#@ Tt09", k=size))


def edge_record(chance: random.Random) -> bytes:
    """A record whose length lies anywhere around the windows of 64 and 128 bytes; sometimes subtly wrong."""
    act, frame = chance.choice(b"0123456789AA" * 4 + b"Bz"), chance.choice(b"012344" * 6 + b"56")
    parts = [b"a%c" % act, b"f%c" % frame, *(prefix + _number(chance) for prefix in (b"c", b"S", b"d", b"T"))]
    slots = chance.sample(b"gkprqsuet", chance.randrange(10))
    if slots and chance.random() < 0.1:
        slots.append(chance.choice(slots))
    if chance.random() < 0.05:
        slots.append(chance.choice(b"abcxyzST0-"))
    for slot in slots:
        text = (slot in b"ut") != (chance.random() < 0.03)
        parts.append(b'%c"%b"' % (slot, _text(chance)) if text else b"%c%b" % (slot, _number(chance)))
    record = bytearray(b"@" + b"|".join(parts) + b"#")
    if chance.random() < 0.15:
        one_damage(record, chance)
    return bytes(record)


def padded_record(chance: random.Random) -> bytes:
    """A record with a string that closes at, or beside, byte 63, 64, 127 or 128, and something after it."""
    head = b"@a%c|f%c|c%b|S%b|d1|T1" % (chance.choice(b"09A"), chance.choice(b"04"), _number(chance), _number(chance))
    slot, other = chance.sample((b"u", b"t"), 2)
    goal = chance.choice((63, 64, 127, 128)) + chance.randrange(-3, 4)
    text = b"x" * max(0, goal - len(head) - 4)
    behind = chance.choice((b"#", b"|#", b'|%b""#' % other, b'|%b"#|"#' % other, b"|g1#", b"x#", b"@#", b'"#', b"\n"))
    return head + b'|%b"%b"' % (slot, text) + behind
