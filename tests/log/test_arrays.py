"""What the Arrow export is made of: both cores give what is written down here once more, slowly."""

from __future__ import annotations

import ctypes
import json
import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import BACKENDS
from turnwire._backend import core_module
from turnwire.arrow_structs import ArrowArray

SEEDS = st.integers(0, 2**32)
WIDTHS = {"u2": 16, "u4": 32, "u8": 64}


def modules(name: str, backends: Sequence[str] = BACKENDS) -> list[Any]:
    return [core_module(backend, name) for backend in backends]


COMPILED = tuple(backend for backend in BACKENDS if backend != "pure")
"""Plain Python makes each column from its texts: test_arrow.py reads what both export."""


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
    for views in modules("log.views", COMPILED):
        needed = sum(len(written[row]) for row in rows)
        into, out = np.zeros(max(needed, 1), np.uint8), np.full((count, 16), 0x77, np.uint8)
        found = views.escaped_views(buffer, arena, offsets, lengths, masks, 0b1100, into, 2, out)
        assert into[:found].tobytes() == side
        assert out.tobytes() == b"".join(expected)
        if needed:
            with pytest.raises(ValueError, match="side is too short"):
                views.escaped_views(buffer, arena, offsets, lengths, masks, 0b1100, into[:0], 2, out)


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
    for views in modules("log.views", COMPILED):
        out, bitmap = np.full((count, 16), 0x77, np.uint8), np.full((count + 7) // 8, 0xAA, np.uint8)
        side = np.zeros(20 * count, np.uint8)
        assert views.number_views(numbers, masks, 13, out, bitmap, side) == (there.count(False), len(long))
        assert (out.tobytes(), side[: len(long)].tobytes()) == (expected, long)
        assert bitmap.tolist() == np.packbits(np.array(there, bool), bitorder="little").tolist()


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
