"""Shared by the tests of logs: the engines of the scan, logs with every kind of damage, and what adds up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import PURE_ONLY
from tests.cores import use
from tests.log.found import everything
from tests.vectors import load
from turnwire import LIMITS
from turnwire._backend import core_module
from turnwire.nslip import base62


def _engines() -> list[str]:
    if PURE_ONLY:
        return ["pure"]
    core = import_module("turnwire._native.log.search")
    levels = [level for level in core.LEVELS if core.choose_simd(level) == level]
    core.choose_simd(core.SIMD)
    return [f"native-{level}" for level in reversed(levels)] + ["pure"]


ENGINES = _engines()
"""The pure core, and the native one by each kind of code that this processor runs."""
LIMIT = 16 << 20
GOOD = b'@a3|f0|c1|S0|d1|T1|gH|t"hello"#'
UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Makes ``turnwire.scan`` read by one of ``ENGINES``."""
    backend, _, level = name.partition("-")
    core = core_module(backend, "log.search")
    with pytest.MonkeyPatch.context() as patch:
        use(backend, patch)
        if level:
            core.choose_simd(level)
        try:
            yield
        finally:
            if level:
                core.choose_simd(core.SIMD)


Read = tuple[dict[str, list[Any]], list[dict[str, Any]], Any]
"""Columns with the raw records, rejects, counts."""


def read(
    name: str, data: bytes, *, limit: int = LIMIT, keep: bool = False, wire: str | None = "nslip", **options: Any
) -> Read:
    """The results of a scan of ``data`` by one engine."""
    limits = LIMITS._replace(message=limit)
    with engine(name):
        return everything(turnwire.scan(data, wire=wire, limits=limits, unknown="keep" if keep else "error", **options))


# --- logs -----------------------------------------------------------------------------------------------------------

VECTORS = [case["wire"].encode("utf-8", "surrogatepass") for case in load("nslip") if case["op"] == "decode"]
_ODD = b'@#|"\\\n\r \t0123zAafcSdTgkprqsuetx\xc3\xa9\xff\x00-'
_GLUE = (b"\n", b"\r\n", b"@a3", b"@a3|", b"@", b"\x00" * 9, b"\xff\xfe", b"\r", b'@a1|t"')
_BEFORE = (b"", b"", b"2026-05-04T10:00:00Z INFO planner: ", b" bob@example.com ", b'{"text": "')
_AFTER = (b"\n", b"\n", b"\r\n", b" ", b"\n\n", b"", b"#", b"\r", b'"}\n')


def one_damage(record: bytearray, chance: random.Random, odd: bytes = _ODD, glue: tuple[bytes, ...] = _GLUE) -> None:
    """A byte changed, put in or taken out, the tail cut off, or something glued in. odd: bytes to put in."""
    place = chance.randrange(len(record) + 1)
    kind = chance.random()
    if kind < 0.4 and place < len(record):
        record[place] = chance.choice(odd)
    elif kind < 0.6:
        record[place:place] = bytes([chance.choice(odd)])
    elif kind < 0.75 and place < len(record):
        del record[place]
    elif kind < 0.9:
        del record[place:]
    else:
        record[place:place] = chance.choice(glue)


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
