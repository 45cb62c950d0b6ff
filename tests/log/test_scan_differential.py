"""Scans of nSLIP by AVX2, scalar C and pure Python find the same in any bytes, however they are cut."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tests.conftest import rounds
from tests.log.engines import (
    ENGINES,
    GOOD,
    LIMIT,
    UPSTREAM,
    VECTORS,
    Read,
    damaged_log,
    edge_record,
    padded_record,
    read,
)
from tests.log.found import add_up
from tests.nslip.twins import core_of
from turnwire.nslip.spec import FrameType, Slot

pytestmark = pytest.mark.once
LINES = UPSTREAM.read_bytes().split(b"\n")[:500] + VECTORS
HEAD = ("conv_id", "src", "dst", "turn")


def whole(data: bytes, found: Read, *, keep: bool = False, limit: int = LIMIT) -> None:
    """True of every scan: all bytes are accounted for once, each record is what decoding its bytes gives."""
    add_up(data, found, "nslip")
    columns, rejects, _ = found
    for row in range(len(columns["raw"])):
        record_is_right(data, {name: values[row] for name, values in columns.items()}, keep)
        assert len(columns["raw"][row]) <= limit
    assert not any(b"\n" in one["raw"] for one in rejects)


def record_is_right(data: bytes, row: dict[str, Any], keep: bool) -> None:
    """One row of columns against the message that pure Python decodes from its bytes."""
    message = core_of("pure").decode(row["raw"], unknown="keep" if keep else "error")
    if row["inner"] is None:
        assert row["raw"] == data[row["offset"] : row["offset"] + row["length"]]
    assert row["line"] == 1 + data.count(b"\n", 0, row["offset"])
    assert [row[name] for name in HEAD] == [getattr(message, name) for name in HEAD]
    known = isinstance(message.frame, FrameType)
    assert (row["act"], row["frame"]) == (message.act, message.frame if known else None)
    for slot in Slot:
        assert row[slot.name.lower()] == message.slots.get(slot), slot


def agree(data: bytes, chance: random.Random, *, limit: int = LIMIT, keep: bool = False) -> Read:
    first = read(ENGINES[0], data, limit=limit, keep=keep)
    whole(data, first, keep=keep, limit=limit)
    for name in ENGINES[1:]:
        assert read(name, data, limit=limit, keep=keep) == first, (name, data, limit, keep)
    for name in ENGINES:
        size = chance.randrange(1, len(data) + 2)
        assert read(name, data, batch_bytes=size, limit=limit, keep=keep) == first, (name, data, size, limit, keep)
    return first


def test_damaged_logs() -> None:
    chance = random.Random(20260504)
    rows = bad = 0
    for _ in range(rounds(25)):
        data = damaged_log(chance, LINES)
        found = agree(data, chance, limit=chance.choice((LIMIT, LIMIT, 30, 50)), keep=chance.random() < 0.3)
        rows, bad = rows + len(found[0]["raw"]), bad + len(found[1])
    assert rows > 25
    assert bad > 10


PIECES = (b'"', b"\\", b"|", b"#", b"\r", b"\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\n")
GOOD_PIECES = ("é".encode(), "レ".encode(), "😀".encode(), b"a", b"bcdefghi", b'\\"', b"\\\\", b"@a3|")


def test_strings_of_escapes_and_wide_characters() -> None:
    """Both are read by the quick code as long as they are good, and judged by the full parser where they are not."""
    chance = random.Random(9)
    rows = bad = 0
    for _ in range(rounds(25)):
        records = []
        for _ in range(chance.randrange(1, 12)):
            pieces = GOOD_PIECES if chance.random() < 0.7 else GOOD_PIECES + PIECES
            fields = [
                slot + b'"' + b"".join(chance.choices(pieces, k=chance.randrange(12))) + b'"' for slot in (b"t", b"u")
            ]
            records.append(b"@a3|f0|c1|S0|d1|T1|" + b"|".join(chance.sample([*fields, b"gH"], 3)) + b"#")
        found = agree(b"\n".join(records), chance, limit=chance.choice((LIMIT, LIMIT, 64)))
        rows, bad = rows + len(found[0]["raw"]), bad + len(found[1])
    assert rows > 50
    assert bad > 15


@pytest.mark.parametrize("size", range(1, 7))
def test_strings_of_newlines_alone_at_the_end(size: int) -> None:
    """Shorter than what is looked at at once: each of these bytes is looked at by itself."""
    for slot in (b"|gH", b""):
        record = b'@a3|f0|c1|S0|d1|T1|t"' + b"\n" * size + b'"' + slot + b"#"
        found = agree(record, random.Random(size))
        assert not found[0]["raw"] and len(found[1]) == 1


@pytest.mark.parametrize("make", [edge_record, padded_record])
def test_records_around_the_edges_of_a_window(make: object) -> None:
    """Also near the first 16 and the last 128 bytes, where the windows do not fit."""
    chance = random.Random(7)
    rows = bad = 0
    for _ in range(rounds(25)):
        records = [make(chance) for _ in range(chance.randrange(1, 4))]  # type: ignore[operator]
        front, back = b"-" * chance.choice((0, 0, 1, 15, 16, 17)), b"+" * chance.choice((0, 1, 100, 127, 128, 129, 200))
        glue = chance.choice((b"\n", b"\n", b"", b" ", b"\r\n"))
        found = agree(front + glue.join(records) + back, chance, limit=chance.choice((LIMIT, LIMIT, 64, 65, 128)))
        rows, bad = rows + len(found[0]["raw"]), bad + len(found[1])
    assert rows > 10
    assert bad > 5


def same(data: bytes) -> Read:
    """The results of all engines."""
    found = read(ENGINES[0], data)
    whole(data, found)
    assert all(read(name, data) == found for name in ENGINES[1:]), data
    return found


def test_integers_of_every_width() -> None:
    """Eleven digits may still fit, leading zeros always do."""
    lines, good = [], []
    for digits, place in product(range(1, 15), range(7)):
        for text in (b"1".rjust(digits, b"0"), b"z" * digits, b"LygHa16AHYF"[:digits].rjust(digits, b"0")):
            values = [text if place == at else b"1" for at in range(7)]
            lines.append(b"@a1|f1|c%b|S%b|d%b|T%b|g%b|q%b|e%b#" % tuple(values))
            good += [lines[-1]] * (digits <= 10 or text[:1] == b"0" or text == b"LygHa16AHYF")
    assert same(b"\n".join(b"." * 16 + line + b"." * 128 for line in lines))[0]["raw"] == good


def test_every_act_frame_and_slot_byte() -> None:
    """Every byte value where an act, a frame, a prefix or a digit stands, a line each."""
    record = bytearray(b'@a1|f1|c12|S1|d1|T1|g1|t"x"|q1#')
    for place in (2, 5, 8, 9, 20, 23, 24, 26, 28, 30):
        lines = []
        for byte in range(256):
            changed = record.copy()
            changed[place] = byte
            lines.append(b"." * 16 + bytes(changed) + b"." * 128)
        assert bytes(record) in same(b"\n".join(lines))[0]["raw"]


def test_every_truncation() -> None:
    data = b"INFO: " + GOOD + b"\r\n" + GOOD[:-4] + b"\n b@c \xff " + GOOD + b"\n\0\0@a3|f0"
    for size in range(0, len(data) + 1, 2):
        agree(data[:size], random.Random(size))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\rx", b"x\r\n"])
def test_a_line_that_ends_at_the_limit(name: str, end: bytes) -> None:
    """Too long or cut off: that shows only after its last byte, and must not depend on the cut."""
    record = b'@a3|f0|c1|S0|d1|t"aa'
    for limit in (len(record) - 1, len(record), len(record) + 1):
        data = record + end + b"yy"
        once = read(name, data, limit=limit)
        assert len(once[1]) == 1
        for size in range(1, len(data), 2):
            assert read(name, data, batch_bytes=size, limit=limit) == once


def test_candidates_that_are_longer_than_the_limit_are_rejects() -> None:
    data = b"x @a12345678901|f0 @c1| @d2|\n"
    for limit, name in product((1, 2, 3, 4, 5, 13, 14, 15, 16, 19), ENGINES):
        once = read(name, data, limit=limit)
        assert [one["offset"] for one in once[1]] == [2, 19, 24]
        for size in range(1, len(data), 3):
            assert read(name, data, limit=limit, batch_bytes=size) == once
    damaged = same(b"@a3|f0 bad @a4 @c123456789012| @T9|\n")[1]
    assert [(one["offset"], one["length"]) for one in damaged] == [(0, 31), (31, 4)], (
        "it ends where the next one begins"
    )


@pytest.mark.parametrize("name", ENGINES)
def test_a_number_is_too_large_by_the_digits_within_the_limit_of_a_scan(name: str) -> None:
    """Up to its last digit but one the number of slot g is small enough."""
    big = b"@a3|f0|c1|S0|d1|T1|gzzzzzzzzzzz|k1#\n"
    at = big.index(b"z|")
    whole, cut, free = (read(name, big, limit=limit)[1] for limit in (at + 1, at, LIMIT))
    assert [[one["length"] for one in found] for found in (whole, cut)] == [[at + 1], [at]]
    assert [one["reason"] for one in whole] == [one["reason"] for one in free] != [one["reason"] for one in cut]
