"""The engines of the scan are one: AVX2, scalar C and pure Python give equal columns for any bytes, however cut."""

from __future__ import annotations

import random

import pytest

from tests.log.engines import (
    DTYPES,
    ENGINES,
    GOOD,
    LIMIT,
    UPSTREAM,
    VECTORS,
    Read,
    damaged_log,
    edge_record,
    engine,
    padded_record,
    read,
    tables,
)
from tests.nslip.twins import core_of, rounds
from turnwire.nslip.spec import REASONS, STRING_SLOTS, FrameType, Slot

pytestmark = pytest.mark.once

LINES = UPSTREAM.read_bytes().split(b"\n")[:500] + VECTORS


def cut_places(chance: random.Random, size: int) -> tuple[int, ...]:
    return tuple(sorted(chance.sample(range(size + 1), min(size, chance.randrange(6)))))


def whole(data: bytes, found: Read, *, keep: bool = False, limit: int = LIMIT) -> None:
    """What holds of every scan: ranges in order and apart, each record what decoding its bytes gives."""
    end = 0
    for offset, length in found.spans():
        assert offset >= end
        assert length > 0
        end = offset + length
    assert end <= len(data)
    for row in range(found.rows):
        record_is_right(data, {name: values[row] for name, values in found.columns.items()}, keep)
        assert found.columns["length"][row] <= limit
    for offset, length, line, fault, code in zip(*found.rejects.values(), strict=True):
        assert data[offset : offset + 1] == b"@"
        assert b"\n" not in data[offset : offset + length]
        assert line == 1 + data.count(b"\n", 0, offset)
        assert offset <= fault <= len(data)
        assert REASONS[code] is not None
    assert found.line == 1 + data.count(b"\n")


def record_is_right(data: bytes, row: dict[str, int], keep: bool) -> None:
    """One row of columns against the message that pure Python decodes from its range."""
    offset, raw = row["offset"], data[row["offset"] : row["offset"] + row["length"]]
    message = core_of("pure").decode(raw, unknown="keep" if keep else "error")
    assert row["line"] == 1 + data.count(b"\n", 0, offset)
    assert (row["conv_id"], row["src"], row["dst"], row["turn"]) == (
        message.conv_id,
        message.src,
        message.dst,
        message.turn,
    )
    known = isinstance(message.frame, FrameType)
    assert (row["act"], row["frame"]) == (message.act, message.frame if known else 255)
    present = 0
    for bit, slot in enumerate(Slot):
        name, value = slot.name.lower(), message.slots.get(slot)
        present |= (value is not None) << bit
        if slot not in STRING_SLOTS:
            assert row[name] == (value or 0)
            continue
        span = data[row[f"{name}.offset"] : row[f"{name}.offset"] + row[f"{name}.length"]].decode()
        assert span.replace("\\\\", "\0").replace('\\"', '"').replace("\0", "\\") == (value or "").replace("\0", "\\")
        present |= ("\\" in span) << (9 if slot is Slot.STATUS else 10)
    assert row["present"] == present | bool(message.extra) << 11 | known << 12


def agree(data: bytes, chance: random.Random, *, limit: int = LIMIT, keep: bool = False) -> Read:
    first = read(ENGINES[0], data, limit=limit, keep=keep)
    whole(data, first, keep=keep, limit=limit)
    for name in ENGINES[1:]:
        assert read(name, data, limit=limit, keep=keep) == first, (name, data, limit, keep)
    for name in ENGINES:
        cuts = cut_places(chance, len(data))
        assert read(name, data, cuts=cuts, limit=limit, keep=keep) == first, (name, data, cuts, limit, keep)
    return first


def test_damaged_logs() -> None:
    chance = random.Random(20260504)
    rows = bad = 0
    for _ in range(rounds(500)):
        data = damaged_log(chance, LINES)
        found = agree(data, chance, limit=chance.choice((LIMIT, LIMIT, 30, 50)), keep=chance.random() < 0.3)
        rows, bad = rows + found.rows, bad + found.bad
    assert rows > 500
    assert bad > 200


PIECES = (b'"', b"\\", b"|", b"#", b"\r", b"\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\n")
GOOD_PIECES = ("é".encode(), "レ".encode(), "😀".encode(), b"a", b"bcdefghi", b'\\"', b"\\\\", b"@a3|")


def test_strings_of_escapes_and_wide_characters() -> None:
    """Both are read by the quick code as long as they are good, and judged by the full parser where they are not."""
    chance = random.Random(9)
    rows = bad = 0
    for _ in range(rounds(150)):
        records = []
        for _ in range(chance.randrange(1, 12)):
            pieces = GOOD_PIECES if chance.random() < 0.7 else GOOD_PIECES + PIECES
            fields = [
                slot + b'"' + b"".join(chance.choices(pieces, k=chance.randrange(12))) + b'"' for slot in (b"t", b"u")
            ]
            records.append(b"@a3|f0|c1|S0|d1|T1|" + b"|".join(chance.sample([*fields, b"gH"], 3)) + b"#")
        found = agree(b"\n".join(records), chance, limit=chance.choice((LIMIT, LIMIT, 64)))
        rows, bad = rows + found.rows, bad + found.bad
    assert rows > 300
    assert bad > 100


@pytest.mark.parametrize("size", range(1, 7))
def test_strings_of_newlines_alone_at_the_end(size: int) -> None:
    """Shorter than what is looked at at once: each of these bytes is looked at by itself."""
    for slot in (b"|gH", b""):
        record = b'@a3|f0|c1|S0|d1|T1|t"' + b"\n" * size + b'"' + slot + b"#"
        found = agree(record, random.Random(size))
        assert found.rows == 0 and found.bad == 1


@pytest.mark.parametrize("make", [edge_record, padded_record])
def test_records_around_the_edges_of_a_window(make: object) -> None:
    """Also near the first 16 and the last 128 bytes, where the windows do not fit."""
    chance = random.Random(7)
    rows = bad = 0
    for _ in range(rounds(500)):
        records = [make(chance) for _ in range(chance.randrange(1, 4))]  # type: ignore[operator]
        front, back = b"-" * chance.choice((0, 0, 1, 15, 16, 17)), b"+" * chance.choice((0, 1, 100, 127, 128, 129, 200))
        glue = chance.choice((b"\n", b"\n", b"", b" ", b"\r\n"))
        found = agree(front + glue.join(records) + back, chance, limit=chance.choice((LIMIT, LIMIT, 64, 65, 128)))
        rows, bad = rows + found.rows, bad + found.bad
    assert rows > 200
    assert bad > 100


@pytest.mark.parametrize("digits", range(1, 15))
def test_integers_of_every_width(digits: int) -> None:
    """Eleven digits may still fit, leading zeros always do."""
    for text in (b"1".rjust(digits, b"0"), b"z" * digits, b"LygHa16AHYF"[:digits].rjust(digits, b"0")):
        for place in range(7):
            values = [text if place == at else b"1" for at in range(7)]
            data = b"." * 16 + b"@a1|f1|c%b|S%b|d%b|T%b|g%b|q%b|e%b#" % tuple(values) + b"." * 128
            found = read(ENGINES[0], data)
            whole(data, found)
            assert all(read(name, data) == found for name in ENGINES[1:])
            assert found.rows == (digits <= 10 or text[:1] == b"0" or text == b"LygHa16AHYF")


def test_every_act_frame_and_slot_byte() -> None:
    """Every byte value where an act, a frame, a prefix or a digit stands."""
    record = bytearray(b'@a1|f1|c12|S1|d1|T1|g1|t"x"|q1#')
    for place in (2, 5, 8, 9, 20, 23, 24, 26, 28, 30):
        for byte in range(256):
            changed = record.copy()
            changed[place] = byte
            data = b"." * 16 + bytes(changed) + b"." * 128
            found = read(ENGINES[0], data)
            whole(data, found)
            assert all(read(name, data) == found for name in ENGINES[1:]), data


def test_every_truncation() -> None:
    data = b"INFO: " + GOOD + b"\r\n" + GOOD[:-4] + b"\n bob@example.com \xff " + GOOD + GOOD + b"\n\0\0@a3|f0"
    for size in range(len(data) + 1):
        agree(data[:size], random.Random(size))


def test_every_single_cut() -> None:
    """The same from two pieces, wherever the first one ends."""
    data = (
        b'a@b.c @a1|t"\r\n'
        + GOOD
        + b"\r\n"
        + GOOD[:-3]
        + b"\r\n@a3|q1\\#@x"
        + GOOD
        + b" @a12345678901|f0 @c123456789012| @a"
    )
    for limit in (LIMIT, len(GOOD), len(GOOD) - 1, 7):
        for name in ENGINES:
            once = read(name, data, limit=limit)
            for cut in range(len(data) + 1):
                assert read(name, data, cuts=(cut,), limit=limit) == once


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\rx", b"x\r\n"])
def test_a_line_that_ends_at_the_limit(name: str, end: bytes) -> None:
    """Whether it is too long or cut off shows only after its last byte, and must not depend on the cut."""
    record = b'@a3|f0|c1|S0|d1|t"aa'
    for limit in (len(record) - 1, len(record), len(record) + 1):
        data = record + end + b"yy"
        once = read(name, data, limit=limit)
        assert once.bad == 1
        for cut in range(len(data)):
            assert read(name, data, cuts=(cut,), limit=limit) == once


@pytest.mark.parametrize("name", ENGINES)
def test_a_full_table_goes_on_where_it_stopped(name: str) -> None:
    data = b"\n".join([GOOD, b"@a3|f0 broken", GOOD, b"x @c1|#"] * 5)
    once = read(name, data)
    for room, reject_room in ((1, 10), (10, 1), (1, 1), (3, 2)):
        position, line, rows, bad = 0, 1, [], []
        with engine(name) as scan_block:
            while position < len(data):
                columns, rejects = tables(room, reject_room)
                count, faults, moved, line = scan_block(
                    data, position, len(data), True, columns, 0, room, rejects, 0, reject_room, line=line
                )
                assert moved > position
                position = moved
                rows += columns["offset"][:count].tolist()
                bad += list(zip(rejects["offset"][:faults].tolist(), rejects["line"][:faults].tolist(), strict=True))
        assert rows == once.columns["offset"]
        assert bad == list(zip(once.rejects["offset"], once.rejects["line"], strict=True))


@pytest.mark.parametrize("name", ENGINES)
def test_columns_that_nobody_wants_are_not_written(name: str) -> None:
    few = [b"@a3|f0|c1|S0|d1|T1#", b'@a3|f0|c1|S0|d1|T1|gH|t"x"#'] * 9  # what a record lacks is nought in its row
    data = b"." * 16 + b"\n".join([*LINES[:50], *few]) + b"." * 128
    once = read(name, data)
    alone = [[column] for column in DTYPES if "." not in column]
    for wanted in ([], *alone, ["tag.offset", "tag.length"], ["goal_id", "offset"], ["act", "present"]):
        found = read(name, data, wanted=wanted)
        assert found.rows == once.rows
        assert found.columns == {column: once.columns[column] for column in DTYPES if column in wanted}
