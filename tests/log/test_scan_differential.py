"""The engines of the scan are one: AVX2, scalar C and pure Python give equal columns for any bytes, however cut."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
from turnwire.nslip.spec import MOST_CANDIDATE, REASONS, STRING_SLOTS, FrameType, Slot

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


def test_every_length_of_string_at_every_place_of_the_buffer() -> None:
    """One record whose only string grows through both window edges, in buffers that just hold its windows."""
    for size in range(140):
        record = b'@a3|f0|c1|S0|d1|T1|t"' + b"x" * size + b'"|gH#'
        for front, back in ((16, 128), (15, 128), (16, 127 - len(record)), (16, max(0, 128 - len(record))), (0, 0)):
            data = b"." * front + record + b"." * back
            found = read(ENGINES[0], data)
            assert (found.columns["offset"], found.columns["length"]) == ([front], [len(record)])
            assert (found.columns["tag.length"], found.columns["goal_id"]) == ([size], [17])
            assert all(read(name, data) == found for name in ENGINES[1:])


@pytest.mark.parametrize("last", [b"", b'|t"y"', b"|e0", b'|e0|t"#|"'])
def test_slots_in_the_order_of_the_table(last: bytes) -> None:
    """A string of every length in front of other slots; the fields stand at every place of the windows."""
    for size in range(120):
        record = (
            b'@a3|f0|c1|SzZ9|d12|T12345678|gH|rzzzzzzzzzz|s7|u"' + b"#|" * (size // 2) + b"x" * (size % 2) + b'"' + last
        )
        data = b"." * 16 + record + b"#\n" + b"." * 144
        found = read(ENGINES[0], data)
        whole(data, found)
        assert (found.rows, found.columns["length"], found.columns["status.length"]) == (1, [len(record) + 1], [size])
        assert found.columns["result_id"] == [62**10 - 1]
        assert all(read(name, data) == found for name in ENGINES[1:])


def test_all_nine_slots_of_every_width() -> None:
    for digits in range(1, 9):
        number = b"z" * digits
        head = b"@aA|f4|c%b|S%b|d%b|T%b" % (number[:4], b"0", number[:2], b"1")
        slots = b'|g%b|k1|p2|r3|q4|s%b|u""|e%b|t"ok"#' % (number, number[:3], number[:5])
        data = b"." * 16 + head + slots + b"\n" + b"." * 144
        found = read(ENGINES[0], data)
        whole(data, found)
        assert found.rows == 1
        assert all(read(name, data) == found for name in ENGINES[1:])


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


BEGINNINGS = [b"@a1", b"@a1|", b"@a", b"@"]


@given(st.lists(st.sampled_from([*LINES[:40], *VECTORS, *BEGINNINGS, b"\n", b"\r", b'"', b"\\", b"#", b"x|" * 40])))
@example([b'@a1|t"', GOOD])
@example([GOOD, GOOD, b"#"])
def test_pieces_in_any_order(parts: list[bytes]) -> None:
    data = b"".join(parts)
    agree(data, random.Random(len(data)))


@pytest.mark.parametrize("behind", [b"foo bar, a text\n", b"@", b"\n@\n", GOOD, b" " + GOOD, b"f0|c1|S0|d1|T1|gH#\n"])
@pytest.mark.parametrize("before", [b"", GOOD, b"@a3|f0|c1", b"@a1|q1\\", b'@a1|t"x'])
def test_a_line_that_ends_with_an_at(before: bytes, behind: bytes) -> None:
    for more in (b"", (GOOD + b"\n") * 4):  # with as much behind it as the quick code looks at, and without
        agree(GOOD + b"\n" + before + b"@\n" + behind + b"\n" + more, random.Random(7))


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


@pytest.mark.parametrize("name", ENGINES)
def test_places_count_from_base_and_line(name: str) -> None:
    data = b"text\n" + GOOD + b"\n@a3|f0 broken\n"
    columns, rejects = tables(2, 2)
    with engine(name) as scan_block:
        found = scan_block(data, 0, len(data), True, columns, 0, 2, rejects, 0, 2, base=1000, line=70)
    assert found == (1, 1, len(data), 73)
    assert (columns["offset"][0], columns["line"][0], columns["tag.offset"][0]) == (1005, 71, data.index(b"hello"))
    assert (rejects["offset"][0], rejects["line"][0]) == (1000 + data.index(b"@a3|f0 b"), 72)
    assert rejects["fault"][0] == 1000 + data.index(b" broken")


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_too_long_is_waited_for_as_far_as_a_candidate_before_the_limit_goes(name: str) -> None:
    limit, told = 64, []
    with engine(name) as scan_block:
        for size in range(limit - 1, limit + MOST_CANDIDATE + 2):
            data, (columns, rejects) = (b"@a3|f0|" + b"x" * limit * 2)[:size], tables(2, 2)
            _, bad, position, _ = scan_block(data, 0, size, False, columns, 0, 2, rejects, 0, 2, limit=limit)
            told.append((size, bad, position > 0))
    assert [size for size, bad, moved in told if not bad and not moved] == list(
        range(limit - 1, limit + MOST_CANDIDATE - 1)
    )


@pytest.mark.parametrize("name", ENGINES)
def test_wrong_places_are_refused(name: str) -> None:
    columns, rejects = tables(1, 1)
    with engine(name) as scan_block:
        for start, size in ((-1, 2), (3, 2), (0, 4)):
            with pytest.raises((ValueError, OverflowError)):
                scan_block(b"abc", start, size, True, columns, 0, 1, rejects, 0, 1)


def test_lines_of_records() -> None:
    """Line numbers stay right over long stretches of text, where newlines are counted in blocks."""
    chance = random.Random(3)
    data = b"".join(
        bytes(chance.choices(b"\n.x", k=chance.randrange(400))) + chance.choice((GOOD, b"@a1| ")) for _ in range(60)
    )
    found = agree(data, chance)
    starts = [at for at, byte in enumerate(data) if byte == 10]
    assert found.columns["line"] == [1 + bisect_left(starts, offset) for offset in found.columns["offset"]]


@pytest.mark.soak
def test_long() -> None:
    chance = random.Random(99)
    for _ in range(rounds(60_000)):
        pick = chance.random()
        data = (
            damaged_log(chance, LINES)
            if pick < 0.4
            else b"\n".join((edge_record if pick < 0.8 else padded_record)(chance) for _ in range(4)) + b"." * 128
        )
        agree(data, chance, limit=chance.choice((LIMIT, 30, 64, 100)), keep=chance.random() < 0.3)
