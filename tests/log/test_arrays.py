"""What the Arrow export is made of: both cores give what is written down here once more, slowly."""

from __future__ import annotations

import ctypes
import json
import random
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from turnwire._backend import core_module
from turnwire.arrow_structs import ArrowArray

SEEDS = st.integers(0, 2**32)
WIDTHS = {"u2": 16, "u4": 32, "u8": 64}


def modules(name: str) -> list[Any]:
    return [core_module(backend, name) for backend in BACKENDS]


@pytest.mark.parametrize("dtype", WIDTHS)
@given(seed=SEEDS, place=st.just(63) | st.integers(0, 63), count=st.integers(0, 150))
def test_a_bitmap_is_one_bit_of_each_mask(dtype: str, seed: int, place: int, count: int) -> None:
    bit, chance = place % WIDTHS[dtype], random.Random(seed)
    masks = np.array([chance.getrandbits(WIDTHS[dtype]) for _ in range(count)], dtype)
    there = [int(mask) >> bit & 1 for mask in masks]
    for arrays in modules("log.arrays"):
        out = np.full((count + 7) // 8, 0xAA, np.uint8)
        assert arrays.bitmap(masks, bit, out) == there.count(0)
        assert out.tolist() == np.packbits(np.array(there, bool), bitorder="little").tolist()


def test_a_bitmap_that_does_not_fit() -> None:
    for arrays in modules("log.arrays"):
        for masks, bit, size in ((np.zeros(9, "u2"), 16, 2), (np.zeros(9, "u2"), 1, 1), (np.zeros(9, "u1"), 1, 2)):
            with pytest.raises(ValueError, match=r"masks|out"):
                arrays.bitmap(masks, bit, np.zeros(size, np.uint8))


def view(text: bytes, number: int, place: int) -> bytes:
    """A string view as the Arrow columnar format has it."""
    head = len(text).to_bytes(4, "little")
    if len(text) <= 12:
        return head + text.ljust(12, b"\0")
    return head + text[:4] + number.to_bytes(4, "little") + place.to_bytes(4, "little")


def spans(chance: random.Random, sizes: tuple[int, int], count: int) -> Any:
    """Places of texts in a buffer and an arena after it, short and long ones, many at the very end."""
    found = []
    for _ in range(count):
        number = int(chance.random() < 0.5) if sizes[1] else 0
        length = min(chance.choice((0, 1, 4, 5, 11, 12, 13, 14, 16, 40)), sizes[number])
        start = chance.choice((sizes[number] - length, chance.randint(0, sizes[number] - length)))
        found.append((number, start, length) if length else (0, 0, 0))
    return found


@given(
    seed=SEEDS,
    sizes=st.tuples(st.integers(0, 60), st.sampled_from((0, 0, 1, 15, 16, 50))),
    count=st.integers(0, 80),
)
def test_views_show_their_spans(seed: int, sizes: tuple[int, int], count: int) -> None:
    chance = random.Random(seed)
    parts = [bytes(chance.randrange(1, 256) for _ in range(size)) for size in sizes]
    found = spans(chance, sizes, count)
    expected = b"".join(view(parts[number][start : start + length], number, start) for number, start, length in found)
    offsets = np.array([start + number * sizes[0] for number, start, _ in found], np.int64)
    lengths = np.array([length for _, _, length in found], np.int64)
    buffer, arena = (np.frombuffer(part, np.uint8) for part in parts)
    for views in modules("log.views"):
        out = np.full((count, 16), 0x77, np.uint8)
        points = views.string_views(buffer, offsets, lengths, out, arena)
        assert points == any(length > 12 for _, _, length in found)
        assert out.tobytes() == expected


@pytest.mark.skipif("native" not in BACKENDS, reason="the pure twin trusts its callers")
def test_spans_outside_the_buffer_are_not_followed() -> None:
    (views, *_) = modules("log.views")
    buffer = np.frombuffer(b"x" * 40, np.uint8)
    wrong = [(-1, 5), (41, 0), (40, 1), (30, 11), (0, -1), (0, 41), (5, 1 << 62), (1 << 62, 5), (-(1 << 63), 1)]
    offsets, lengths = (np.array(numbers, np.int64) for numbers in zip(*wrong, strict=True))
    for arena in (b"", b"y" * 40):
        out = np.full((len(wrong), 16), 0x77, np.uint8)
        views.string_views(buffer, offsets[offsets < 40], lengths[offsets < 40], out, np.frombuffer(arena, np.uint8))
        assert not out[: int((offsets < 40).sum())].any()


@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_records_are_gathered(count: int) -> None:
    chance = random.Random(count)
    parts = [bytes(chance.choice(b"ab\n") for _ in range(size)) for size in (400, 90)]
    found = spans(chance, (400, 90), count)
    records = [parts[number][start : start + length] for number, start, length in found]
    expected = [record if record.endswith(b"\n") else record + b"\n" for record in records]
    places = np.array([start + number * 400 for number, start, _ in found], np.int64)
    sizes = np.array([length for _, _, length in found], np.int64)
    for views in modules("log.views"):
        moved = np.full(count, -7, np.int64)
        assert views.gathered(*(memoryview(part) for part in parts), places, sizes, moved) == b"".join(expected)
        starts = np.cumsum([0, *map(len, expected)])[:count]
        assert (places - moved).tolist() == starts.tolist()


def test_no_record_outside_is_gathered() -> None:
    for views in modules("log.views"):
        for place, length in ((-1, 5), (39, 2), (50, 1), (45, 6), (0, -1), (0, 41), (1 << 62, 5), (5, 1 << 62)):
            part = "buffer" if place < 40 else "arena"
            places, sizes, moved = (np.array([number], np.int64) for number in (place, length, 0))
            with pytest.raises(ValueError, match=f"^a record lies outside of the {part}$"):
                views.gathered(b"x" * 40, b"y" * 10, places, sizes, moved)


TEXTS = ("", "plain", 'a "b"', "é\n", "long " * 5, "\\" * 20, 'tab\t"' * 9, "\U0001f600" * 2)


@pytest.mark.parametrize("dtype", WIDTHS)
@given(seed=SEEDS, count=st.integers(0, 40))
def test_views_of_texts_with_escapes(dtype: str, seed: int, count: int) -> None:
    """Those rows that have both bits are unescaped, into one buffer; all others stay as they are."""
    chance = random.Random(seed)
    texts = [chance.choice(TEXTS) for _ in range(count)]
    masks = np.array([chance.choice((0, 0b0100, 0b1000, 0b1100, 0b1111)) for _ in texts], dtype)
    written = [json.dumps(text, ensure_ascii=chance.random() < 0.5)[1:-1].encode() for text in texts]
    whole, cut = b"".join(written), chance.randint(0, count)
    size = sum(map(len, written[:cut]))
    lengths = np.array([len(text) for text in written], np.int64)
    offsets = np.cumsum(lengths) - lengths
    rows = [row for row in range(count) if int(masks[row]) & 0b1100 == 0b1100]
    side = b"".join(texts[row].encode() for row in rows)
    expected = [bytes([0x77] * 16)] * count
    place = 0
    for row in rows:
        text = texts[row].encode()
        expected[row] = view(text, 2, place)
        place += len(text)
    buffer, arena = np.frombuffer(whole[:size], np.uint8), np.frombuffer(whole[size:], np.uint8)
    for views in modules("log.views"):
        needed = sum(len(written[row]) for row in rows)
        into, out = np.zeros(max(needed, 1), np.uint8), np.full((count, 16), 0x77, np.uint8)
        found = views.escaped_views(buffer, arena, offsets, lengths, masks, 0b1100, into, 2, out)
        assert into[:found].tobytes() == side
        assert out.tobytes() == b"".join(expected)
        if needed:
            with pytest.raises(ValueError, match="side is too short"):
                views.escaped_views(buffer, arena, offsets, lengths, masks, 0b1100, into[:0], 2, out)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 200, 300])
def test_a_text_column_with_one_text(count: int) -> None:
    """Wherever it is, all rows in front of it and behind it are zeros, whatever stood in their memory."""
    buffer, nothing = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8), np.zeros(0, np.uint8)
    offsets, lengths = np.zeros(count, np.int64), np.full(count, 3, np.int64)
    for place in {0, 1, count // 2, 62, 63, 64, 65, 127, 128, 129, count - 1} & {*range(count)}:
        masks = np.zeros(count, "u4")
        masks[place] = 1
        expected = np.zeros((count, 16), np.uint8)
        expected[place] = np.frombuffer(view(b"abc", 0, 0), np.uint8)
        for views in modules("log.views"):
            out, bitmap = np.full(16 * count, 0xFF, np.uint8), np.full((count + 7) // 8, 0xFF, np.uint8)
            [tally] = views.text_views(buffer, nothing, masks, ((offsets, lengths, 0, -1, out, bitmap),))
            assert tally[0] == count - 1
            assert (out.reshape(count, 16) == expected).all(), place


@pytest.mark.parametrize("dtype", WIDTHS)
@given(
    seed=SEEDS,
    sizes=st.tuples(st.integers(0, 60), st.sampled_from((0, 0, 1, 15, 16, 50))),
    count=st.integers(0, 200),
    density=st.sampled_from((0.0, 0.02, 0.5, 0.98, 1.0)),
)
def test_a_text_column_at_once(dtype: str, seed: int, sizes: tuple[int, int], count: int, density: float) -> None:
    """What the parts of it say one by one: a bit for each row, views, zeros for rows without a text, a tally. Two
    columns are made in one pass, the second with the rows the other way round."""
    chance = random.Random(seed)
    parts = [bytes(chance.randrange(1, 256) for _ in range(size)) for size in sizes]
    valid, escaped = chance.choice((-1, 2, WIDTHS[dtype] - 1)), chance.choice((-1, 3))
    there = [valid < 0 or chance.random() < density for _ in range(count)]
    odd = [chance.random() < 0.2 for _ in range(count)]
    found = [one if has else (0, 0, 0) for one, has in zip(spans(chance, sizes, count), there, strict=True)]
    bits = [1 | (has << valid if valid >= 0 else 0) | is_odd << 3 for has, is_odd in zip(there, odd, strict=True)]
    expected = b"".join(view(parts[number][start : start + length], number, start) for number, start, length in found)
    marked = [row for row in range(count) if there[row] and odd[row] and escaped >= 0]
    tally = there.count(False), any(one[2] > 12 for one in found), len(marked), sum(found[row][2] for row in marked)
    offsets = np.array([start + number * sizes[0] for number, start, _ in found], np.int64)
    lengths = np.array([length for _, _, length in found], np.int64)
    buffer, arena = (np.frombuffer(part, np.uint8) for part in parts)
    every = b"".join(expected[16 * row : 16 * row + 16] for row in reversed(range(count))) if valid < 0 else expected
    other = (offsets[::-1].copy(), lengths[::-1].copy()) if valid < 0 else (offsets, lengths)
    for views in modules("log.views"):
        outs = np.full((2, 16 * count + 5), 0x77, np.uint8)
        bitmaps = np.full((2, (count + 7) // 8), 0xAA, np.uint8)
        first = offsets, lengths, valid, escaped, outs[0], bitmaps[0]
        second = *other, valid, -1, outs[1], bitmaps[1]
        assert views.text_views(buffer, arena, np.array(bits, dtype), (first, second)) == [tally, (*tally[:2], 0, 0)]
        for out, bitmap, views_of in zip(outs, bitmaps, (expected, every), strict=True):
            assert bitmap.tolist() == np.packbits(np.array(there, bool), bitorder="little").tolist()
            assert out[: 16 * count].tobytes() == (views_of if any(there) else b"\x77" * 16 * count)
            assert out[16 * count :].tobytes() == b"\x77" * 5
        assert views.text_views(buffer, arena, np.array(bits, dtype), ()) == []


@given(seed=SEEDS, count=st.integers(0, 150), density=st.sampled_from((0.0, 0.3, 1.0)))
def test_texts_whose_spans_share_a_row(seed: int, count: int, density: float) -> None:
    """The low four bits of a number of each row say where in it the span is, if it is anywhere."""
    chance = random.Random(seed)
    text = bytes(chance.randrange(1, 256) for _ in range(50))
    places = np.array([chance.choice((-1, 2, 4)) for _ in range(16)], np.int32)
    found = [(start, length) for _, start, length in spans(chance, (50, 0), count)]
    rows = np.array([[chance.getrandbits(20), 7, -5, -1, -5, -1] for _ in found], np.int32).reshape(count, 6)
    masks = np.array([chance.random() < density for _ in found], "u4") << 9
    expected, points, nulls = b"", False, 0
    for row, (start, length), mask in zip(rows, found, masks, strict=True):
        place = int(places[row[0] & 15])
        if place >= 0:
            row[place : place + 2] = (start, length) if chance.random() < 0.9 else (start, -1)
        shown = text[start : start + length] if place >= 0 and row[place + 1] >= 0 and mask else b""
        expected, points, nulls = expected + view(shown, 0, start), points or len(shown) > 12, nulls + (not mask)
    for views in modules("log.views"):
        out, bitmap = np.full(16 * count, 0x77, np.uint8), np.full((count + 7) // 8, 0xAA, np.uint8)
        beside, all_there = np.full(16 * count, 0x77, np.uint8), np.full((count + 7) // 8, 0xAA, np.uint8)
        buffer, nowhere = np.frombuffer(text, np.uint8), np.full(16, -1, np.int32)
        columns = (nowhere, -1, beside, all_there), (places, 9, out, bitmap)
        assert views.packed_views(buffer, rows, 0, masks, columns) == [(0, False), (nulls, points)]
        assert bitmap.tolist() == np.packbits(masks != 0, bitorder="little").tolist()
        assert out.tobytes() == (expected if nulls < count else b"\x77" * 16 * count)
        assert all_there.tolist() == np.packbits(np.ones(count, bool), bitorder="little").tolist()
        assert not beside.any()


@pytest.mark.parametrize("width", [0, 2, 4, 8])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_numbers_as_texts(count: int, width: int) -> None:
    chance = random.Random(f"{count} {width}")
    numbers = np.array([chance.getrandbits(chance.randrange(65)) for _ in range(count)], "u8")
    edges = [10**digits - chance.randrange(2) for digits in range(1, 20)] + [0, (1 << 64) - 1]
    numbers[: min(len(edges), count)] = edges[:count]
    masks = np.array([chance.random() < 0.7 for _ in range(count)], f"u{width}") << 13 if width else None
    there = [True] * count if masks is None else [bool(mask) for mask in masks]
    expected, long = b"", b""
    for number, known in zip(numbers.tolist(), there, strict=True):
        text = str(number).encode() if known else b""
        expected += view(text, 0, len(long))
        long += text if len(text) > 12 else b""
    for views in modules("log.views"):
        out, bitmap = np.full((count, 16), 0x77, np.uint8), np.full((count + 7) // 8, 0xAA, np.uint8)
        side = np.zeros(20 * count, np.uint8)
        assert views.number_views(numbers, masks, 13, out, bitmap, side) == (there.count(False), len(long))
        assert (out.tobytes(), side[: len(long)].tobytes()) == (expected, long)
        assert bitmap.tolist() == np.packbits(np.array(there, bool), bitorder="little").tolist()


WIDE = "masks are 2, 4 or 8 bytes wide, one a row, and have so many bits"


def test_numbers_that_do_not_fit() -> None:
    low, high = np.zeros(9, "u8"), np.full(9, 10**12, "u8")
    for views in modules("log.views"):
        for numbers, masks, bit, rows, size, side, words in (
            (low, None, 0, 8, 2, 0, "numbers, out and bitmap do not match"),
            (low, None, 0, 9, 1, 0, "numbers, out and bitmap do not match"),
            (high, None, 0, 9, 2, 179, "side is too short for these numbers"),
            (low, np.zeros(9, "u1"), 0, 9, 2, 0, WIDE),
            (low, np.zeros(9, "u2"), 16, 9, 2, 0, WIDE),
            (low, np.zeros(9, "u2"), -1, 9, 2, 0, WIDE),
            (low, np.zeros(8, "u2"), 1, 9, 2, 0, WIDE),
        ):
            out, bitmap = np.zeros((rows, 16), np.uint8), np.zeros(size, np.uint8)
            with pytest.raises(ValueError, match=f"^{words}$"):
                views.number_views(numbers, masks, bit, out, bitmap, np.zeros(side, np.uint8))
        out, bitmap = np.zeros((9, 16), np.uint8), np.zeros(2, np.uint8)
        assert views.number_views(high - 1, None, 0, out, bitmap, np.zeros(0, np.uint8)) == (0, 0)


def test_rows_of_texts_that_do_not_fit() -> None:
    for views in modules("log.views"):
        outside = "a place lies outside of its row"
        for shape, place, count, many, words in (
            (6, 0, 3, 3, outside),
            (-1, 0, 3, 3, outside),
            (0, 5, 3, 3, outside),
            (0, -2, 3, 3, outside),
            (0, 0, 2, 3, "rows and masks do not match"),
            (0, 0, 3, 2, "out has 16 bytes for each of the masks"),
        ):
            rows, places, masks = np.zeros((3, 6), np.int32), np.full(16, place, np.int32), np.zeros(count, "u2")
            good = np.zeros(16, np.int32), 1, np.zeros(48, np.uint8), np.zeros(1, np.uint8)
            column = places, 1, np.zeros(16 * many, np.uint8), np.zeros(1, np.uint8)
            with pytest.raises(ValueError, match=f"^{words}$"):
                views.packed_views(np.zeros(4, np.uint8), rows, shape, masks, (good, column))
        rows, masks, room = np.zeros((3, 6), np.int32), np.zeros(3, "u2"), np.zeros(48, np.uint8)
        with pytest.raises(ValueError, match=r"^there are 16 places$"):
            views.packed_views(room, rows, 0, masks, ((np.zeros(15, np.int32), 1, room, room[:1]),))


def test_a_text_column_that_does_not_fit() -> None:
    buffer, numbers = np.frombuffer(b"x" * 40, np.uint8), np.zeros(9, np.int64)
    for views in modules("log.views"):
        wide = "masks are 2, 4 or 8 bytes wide, and have so many bits"
        for masks, valid, escaped, rows, size, words in (
            (np.zeros(9, "u2"), 16, -1, 9, 2, wide),
            (np.zeros(9, "u2"), 1, 16, 9, 2, wide),
            (np.zeros(9, "u2"), -2, 1, 9, 2, wide),
            (np.zeros(9, "u2"), 1, -2, 9, 2, wide),
            (np.zeros(9, "u1"), 1, 1, 9, 2, wide),
            (np.zeros(8, "u2"), 1, 1, 9, 2, "(?:bitmap has a bit for each row|offsets, lengths and masks .*)"),
            (np.zeros(9, "u2"), 1, 1, 8, 2, "out has 16 bytes for each of the masks"),
            (np.zeros(9, "u2"), 1, 1, 9, 1, "bitmap has a bit for each row"),
        ):
            good = numbers, numbers, -1, -1, np.zeros(144, np.uint8), np.zeros(2, np.uint8)
            column = numbers, numbers, valid, escaped, np.zeros(16 * rows, np.uint8), np.zeros(size, np.uint8)
            with pytest.raises(ValueError, match=f"^{words}$"):
                views.text_views(buffer, buffer[:0], masks, (good, column))
        short = numbers, numbers[:8], 1, 1, np.zeros(144, np.uint8), np.zeros(2, np.uint8)
        with pytest.raises(ValueError, match=r"^offsets, lengths and masks do not match$"):
            views.text_views(buffer, buffer[:0], np.zeros(9, "u2"), (short,))


def struct(arrays: Any, columns: list[Any]) -> ArrowArray:
    made = ArrowArray()
    arrays.export(ctypes.addressof(made), 3, columns)
    return made


def test_an_exported_array_is_what_was_given_and_is_let_go_once() -> None:
    numbers, names, bits = np.arange(3, dtype=np.int64), np.frombuffer(b"abc", np.uint8), np.frombuffer(b"\5", np.uint8)
    places = np.array([0, 1, 3], np.int32)
    for arrays in modules("log.arrays"):
        before = arrays.exported()
        free = sys.getrefcount(bits), sys.getrefcount(numbers)
        made = struct(arrays, [(0, (None, numbers), None), (1, (bits, numbers), (2, (None, places, names)))])
        assert arrays.exported() == before + 4
        assert (made.length, made.null_count, made.offset, made.n_buffers, made.n_children) == (3, 0, 0, 1, 2)
        assert made.buffers[0] is None
        first, second = made.children[0].contents, made.children[1].contents
        assert [(one.length, one.null_count, one.n_buffers) for one in (first, second)] == [(3, 0, 2), (3, 1, 2)]
        assert (first.buffers[0], first.buffers[1]) == (None, numbers.ctypes.data)
        assert second.buffers[0] == bits.ctypes.data
        assert not first.dictionary
        dictionary = second.dictionary.contents
        assert (dictionary.length, dictionary.n_buffers, dictionary.buffers[2]) == (2, 3, names.ctypes.data)
        assert sys.getrefcount(bits) == free[0] + 1
        moved = ArrowArray.from_buffer_copy(second)  # the consumer keeps one column and lets the others go
        second.release = type(second.release)()
        made.release(ctypes.pointer(made))
        assert not made.release
        assert (arrays.exported(), sys.getrefcount(bits)) == (before + 2, free[0] + 1)
        assert moved.dictionary.contents.buffers[2] == names.ctypes.data
        moved.release(ctypes.pointer(moved))
        assert (arrays.exported(), sys.getrefcount(bits), sys.getrefcount(numbers)) == (before, *free)


def test_what_cannot_be_exported_is_let_go() -> None:
    for arrays in modules("log.arrays"):
        before, numbers = arrays.exported(), np.arange(3)
        free = sys.getrefcount(numbers)
        good = (0, (None, numbers), (0, (None, np.arange(1), np.arange(1))))
        for wrong in ((0, (object(),), None), (0, (None,), (1, (object(),)))):
            made = ArrowArray()
            with pytest.raises(TypeError):
                arrays.export(ctypes.addressof(made), 3, [good, wrong])
            assert not made.release
        del good
        assert (arrays.exported(), sys.getrefcount(numbers)) == (before, free)


def test_bits_of_masks_move() -> None:
    chance = random.Random(5)
    masks = np.array([chance.getrandbits(32) for _ in range(50)], np.uint32)
    moves = [(0, 63), (31, 0), (7, 7), (8, 7)]
    for views in modules("log.views"):
        out = np.full(50, 1 << 40, np.uint64)
        views.moved_bits(masks, moves, out)
        for mask, found in zip(masks.tolist(), out.tolist(), strict=True):
            there = {to for bit, to in moves if mask >> bit & 1}
            assert found == 1 << 40 | sum(1 << to for to in there)
        with pytest.raises(ValueError, match="do not match"):
            views.moved_bits(masks, moves, out[1:])


@pytest.mark.parametrize("count", [0, 1, 7, 1500])
def test_rows_of_lines_are_filled(count: int) -> None:
    chance = np.random.default_rng(count)
    offsets, lengths = chance.integers(100, 1 << 40, count), chance.integers(0, 1 << 40, count)
    masks, codes = chance.integers(0, 1 << 32, count).astype(np.uint32), chance.integers(0, 3, count).astype(np.uint8)
    kinds, moves = np.array([9, 200, 4], np.uint8), [(31, 0), (2, 40)]
    wide, narrow = ("place", "size", "inner", "sequence", "time"), ("wire", "kind", "depth")
    for views in modules("log.views"):
        columns = {name: np.full(count + 1, 77, np.int64) for name in wide}
        columns |= {name: np.full(count + 1, 77, np.uint8) for name in narrow}
        columns["present"] = np.full(count + 1, 77, np.uint64)
        columns["kind"][:count] = codes
        found = (offsets, lengths, masks, columns["kind"][:count])
        views.line_rows(columns, *found, 100, 3, kinds, 1 << 50, moves)
        assert [int(column[-1]) for column in columns.values()] == [77] * len(columns)
        assert (columns["place"][:count] == offsets - 100).all() and (columns["size"][:count] == lengths).all()
        assert (columns["wire"][:count] == 3).all() and (columns["kind"][:count] == kinds[codes]).all()
        assert not any(columns[name][:count].any() for name in ("inner", "sequence", "time", "depth"))
        for mask, bits in zip(masks.tolist(), columns["present"].tolist(), strict=False):
            assert bits == 1 << 50 | mask >> 31 | (mask >> 2 & 1) << 40
        views.line_rows({}, offsets, lengths, masks, codes, 0, 3, kinds, 0, [])


def test_rows_of_lines_that_do_not_fit_are_refused() -> None:
    numbers, masks, codes, kinds = (
        np.zeros(2, np.int64),
        np.zeros(2, np.uint32),
        np.ones(2, np.uint8),
        np.zeros(2, "u1"),
    )
    for views in modules("log.views"):
        for (columns, offsets, known), words in (
            (({}, numbers[1:], kinds), "offsets, lengths, masks and codes do not match"),
            (({"place": numbers[1:]}, numbers, kinds), "a column has fewer rows than that"),
            (({"kind": codes}, numbers, kinds[1:]), "a code has no kind"),
        ):
            with pytest.raises(ValueError, match=f"^{words}$"):
                views.line_rows(columns, offsets, numbers, masks, codes, 0, 0, known, 0, [])
