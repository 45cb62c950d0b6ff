"""Mutation that knows what wires are made of: lines, words of the specifications, quotes, numbers."""

from __future__ import annotations

import random

STEPS = (b"\n", b" ", b'"', b"\\", b"{", b"}", b"|", b":", b"#", b"\0", b"\xff", b"9" * 20)


def mutated(pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """An input made of one or two others."""
    data = chance.choice(pool)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        data = _changed(data, pool, words, chance)
    return data


def _changed(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, stop = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    kind = chance.randrange(8)
    if kind == 0:  # less
        return data[:start] + data[min(stop, start + chance.choice((1, 2, 9, 99))) :]
    if kind == 1:  # a word more
        return data[:start] + chance.choice(words) + data[start:]
    if kind == 2:  # a word instead
        return data[:start] + chance.choice(words) + data[min(stop, start + 4) :]
    if kind == 3:  # another byte
        return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
    if kind == 4:  # a part again
        return data[:stop] + data[start:stop] * chance.choice((1, 2, 7)) + data[stop:]
    if kind == 5:  # half of another
        other = chance.choice(pool)
        return data[:start] + other[chance.randrange(len(other) + 1) :]
    if kind == 6:  # lines in another order
        lines = data.split(b"\n")
        chance.shuffle(lines)
        return b"\n".join(lines)
    return data[:start] + chance.choice(STEPS) * chance.choice((1, 1, 3, 70)) + data[start:]
