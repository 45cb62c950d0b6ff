"""Mutation that knows what wires are made of: lines, words of the specifications, quotes, numbers, sizes of blocks."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

STEPS = (b"\n", b" ", b'"', b"\\", b"{", b"}", b"|", b":", b"#", b"\0", b"\xff", b"9" * 20)
EDGES = sorted({size + more for size in (0, 2, 4, 8, 12, 16, 20, 32, 64, 128, 256, 512) for more in (-1, 0, 1)} - {-1})
"""Sizes at which tables, words of the processor and blocks of vectors end."""
NUMBERS = (
    *(str((1 << bits) + more).encode() for bits in (8, 16, 31, 32, 53, 63, 64) for more in (-1, 0, 1)),
    *(b"0", b"00", b"09", b"10", b"12", b"13", b"19", b"23", b"24", b"28", b"29", b"30", b"31", b"32", b"59", b"60"),
    *(b"61", b"366", b"999", b"1000", b"1e5", b"-1", b"-0", b"1.", b"1.0", b"1E400", b"9" * 18, b"9" * 19, b"0" * 19),
)
ESCAPES = (
    *(rb"\u0000", rb"\u001f", rb"\u0020", rb"\u0022", rb"\u005C", rb"\u007f", rb"\u0080", rb"\u07ff", rb"\u0800"),
    *(rb"\uD7FF", rb"\uD800", rb"\udbff", rb"\uDC00", rb"\udfff", rb"\uE000", rb"\uD800\uDC00", rb"\uDBFF\udfff"),
    *(rb"\uD83D\u0041", rb"\u2afb", rb"\u00g0", rb"\n", rb"\/", rb"\"", rb"\x", rb"\\", rb"\t", rb"\u00"),
    *(
        b"\x7f",
        b"\xc2\x80",
        b"\xdf\xbf",
        b"\xe0\xa0\x80",
        b"\xe2\xab\xbb",
        b"\xed\x9f\xbf",
        b"\xef\xbf\xbf",
        b"\xed\xa0\x80",
    ),
    *(b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf"),
)
NUMBER = re.compile(rb"\d+")


def mutated(pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """An input made of one or two others."""
    data = chance.choice(pool)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        data = chance.choice(WAYS)(data, pool, words, chance)
    return data


def _range(data: bytes, chance: random.Random) -> tuple[int, int]:
    start, stop = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return start, stop


def _less(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, stop = _range(data, chance)
    return data[:start] + data[min(stop, start + chance.choice((1, 2, 9, 99))) :]


def _word(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, stop = _range(data, chance)
    behind = chance.choice((start, min(stop, start + 4)))
    return data[:start] + chance.choice(words) + data[behind:]


def _byte(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, _ = _range(data, chance)
    return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]


def _neighbour(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """The byte before or behind in the table of characters, or the letter of the other case: at the edge of a range."""
    if not data:
        return data
    place = chance.randrange(len(data))
    byte = data[place]
    return data[:place] + bytes([chance.choice(((byte + 1) & 255, (byte - 1) & 255, byte ^ 32))]) + data[place + 1 :]


def _again(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, stop = _range(data, chance)
    return data[:stop] + data[start:stop] * chance.choice((1, 2, 7)) + data[stop:]


def _half(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    other = chance.choice(pool)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _lines(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """Lines in another order, or those of another input behind them."""
    lines = data.split(b"\n")
    if chance.random() < 0.5:
        return data + b"\n" + chance.choice(pool)
    chance.shuffle(lines)
    return b"\n".join(lines)


def _step(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, _ = _range(data, chance)
    return data[:start] + chance.choice(STEPS) * chance.choice((1, 1, 3, 70)) + data[start:]


def _longer(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """A byte or two of it again and again, up to the edge of a block or a table."""
    start, _ = _range(data, chance)
    size = chance.choice((1, 1, 1, 2, 6))
    part = data[start : start + size]
    return data[:start] + part * chance.choice(EDGES) + data[start + chance.choice((0, size)) :]


def _further(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """All of it some places further on, by text or empty lines in front of it."""
    front = chance.choice((b"\n", b" ", b"x", b"ok\n", b"a: b\n", b"\xc3\xa9", b"[] "))
    size = chance.randrange(131)
    return data[:4] + (front * size)[:size] + data[4:] if chance.random() < 0.5 else (front * size)[:size] + data


def _number(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """A number at the edge of what a field may hold."""
    found = [one.span() for one in NUMBER.finditer(data)]
    if not found:
        return data
    start, stop = chance.choice(found)
    more = int(data[start:stop][:18]) + chance.choice((-1, 1))
    new = chance.choice(
        (*NUMBERS, b"%0*d" % (stop - start, abs(more)), b"%d" % more, b"%0*d" % (chance.choice(EDGES), 7))
    )
    return data[:start] + new + data[stop:]


def _character(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """An escape or a character at the edge of what there is, whole or cut off."""
    start, _ = _range(data, chance)
    new = chance.choice(ESCAPES)
    new = new[: chance.randrange(1, len(new) + 1)] if chance.random() < 0.2 else new
    return data[:start] + new + data[start + chance.choice((0, 0, 1, len(new))) :]


def _many(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """A line, or all, so often that a table is full."""
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    line = lines[place] if chance.random() < 0.7 else data
    times = min(chance.choice(EDGES), 1 + 12_000 // (len(line) + 1))
    return b"\n".join([*lines[:place], *[line] * times, *lines[place:]])


def _cut(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _wrapped(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """In what logs have around messages: prefixes, strings, fences, lists. The bytes that choose stay in front."""
    front, data = (data[:4], data[4:]) if data[:4].count(0) > 1 else (b"", data)
    text = data.decode("utf-8", "replace")
    kind = chance.randrange(9)
    if kind == 6:
        return front + json.dumps({"__REALTIME_TIMESTAMP": "1767225600000000", "MESSAGE": text, "_PID": "7"}).encode()
    if kind == 7:
        return front + json.dumps({"MESSAGE": list(data), "__REALTIME_TIMESTAMP": "1767225600000000"}).encode()
    if kind == 8:
        return front + alike(data, chance)
    if kind == 0:
        return front + b"\n".join(chance.choice(PREFIXES) + line for line in data.split(b"\n"))
    if kind == 1:
        return front + json.dumps({"log": text, "stream": "stdout", "time": "2026-05-04T10:00:00.123456789Z"}).encode()
    if kind == 2:
        return front + json.dumps({"a": [text, {"b": text}]}, ensure_ascii=False).encode()
    if kind == 3:
        return front + b"```" + chance.choice((b"", b"csp", b"json")) + b"\n" + data + b"\n```\n" + data
    if kind == 4:
        return front + b"[" + data + b", " + chance.choice(pool) + b"]"
    try:
        return front + json.dumps(json.loads(data), indent=chance.choice((0, 1, 2))).encode()
    except (ValueError, RecursionError):
        return front + chance.choice(PREFIXES) + data


def alike(data: bytes, chance: random.Random) -> bytes:
    """Lines that are alike: each again and again with other digits, as of one that counts."""
    found = []
    for line in data.split(b"\n")[:6]:
        places = [one.span() for one in NUMBER.finditer(line)]
        start, stop = chance.choice(places) if places else (len(line), len(line))
        size = stop - start
        for number in range(chance.choice((2, 9, 40))):
            digits = b"%0*d" % (size, (int(line[start:stop][:18] or b"0") + number) % 10**size) if size else b""
            found.append(line[:start] + digits + line[stop:])
    return b"\n".join(found)


def fields(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """Records of nSLIP with their fields in another order, one more, one less."""
    start, stop = data.find(b"@"), data.find(b"#")
    if start < 0 or stop < start:
        return alike(data, chance)
    parts = data[start:stop].split(b"|")
    head, rest = parts[0], parts[1:]
    chance.shuffle(rest)
    kind = chance.randrange(4)
    if kind == 1 and rest:
        rest.pop()
    elif kind == 2:
        rest.insert(
            chance.randrange(len(rest) + 1),
            chance.choice((b"z9", b"Q1", b"H7", b"t3", b'T"x"', b'g"\\"y"', b"f0", b"cZZ", b"d-1")),
        )
    elif kind == 3 and rest:
        rest[0] = rest[0][:1] + chance.choice(
            (b"", b"0", b"00", b"z", b"Zz", b"aZl8N0y58M7", b"aZl8N0y58M8", b"LygHa16AHYF", b"LygHa16AHYG")
        )
    return data[:start] + b"|".join([head, *rest]) + data[stop:]


def other_value(data: bytes, pool: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """JSON that stays JSON: another value, another order, a member more or less, other spaces."""
    place = data.find(b"{")
    try:
        value = json.loads(data[place:])
    except (ValueError, RecursionError):
        return _number(data, pool, words, chance)
    if not value or not isinstance(value, dict | list):
        return data
    inner = [value]
    for one in inner:
        inner += [
            part for part in (one.values() if isinstance(one, dict) else one) if isinstance(part, dict | list) and part
        ]
    chosen = chance.choice(inner)
    if isinstance(chosen, dict):
        key = chance.choice(list(chosen))
        kind = chance.randrange(8)
        if kind == 0:
            del chosen[key]
        elif kind == 1:
            chosen[chance.choice(words).decode("utf-8", "replace")] = chance.choice(VALUES)
        elif kind == 2:
            parts = list(chosen.items())
            chance.shuffle(parts)
            chosen.clear()
            chosen.update(parts)
        else:
            chosen[key] = _other(chosen[key], words, chance)
    else:
        number = chance.randrange(len(chosen))
        chosen[number : number + chance.randrange(2)] = [_other(chosen[number], words, chance)]
    spaces = chance.choice(((",", ":"), (",", ":"), (", ", ": "), (" ,", " :\t")))
    text = json.dumps(
        value, separators=spaces, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, None, None, 1))
    )
    return data[:place] + text.encode("utf-8", "surrogatepass")


def _other(value: Any, words: list[bytes], chance: random.Random) -> Any:
    """A value in the place of another one, mostly one of its own kind."""
    if isinstance(value, str) and chance.random() < 0.8:
        start, stop = sorted(chance.randrange(len(value) + 1) for _ in range(2))
        new = chance.choice(
            ("", "x", "é", '"', "\\", "\n", "\u2afb", "\U0001f600", "\ud800", "\0", "0", "-", ":", "/", " ")
        )
        if chance.random() < 0.3:
            new = chance.choice(words).decode("utf-8", "replace")
        if chance.random() < 0.3:
            new *= chance.choice(EDGES)
        return value[:start] + new + value[chance.choice((start, start + 1, stop)) :]
    if isinstance(value, int | float) and not isinstance(value, bool) and chance.random() < 0.7:
        return chance.choice(
            (value + 1, value - 1, -value, 1 << 31, 1 << 32, (1 << 53) + 1, 1 << 63, 1 << 64, 0.5, 1e300)
        )
    return chance.choice(VALUES)


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, "", "x", "a b", [], {}, [1], {"a": 1}, ["x"], [[]], "2026-01-15T10:00:00Z"),
    *(
        "2024-02-29T23:59:59.999Z",
        "2023-02-29T00:00:00Z",
        "2026-01-15T24:00:00Z",
        "2026-12-31T23:59:60Z",
        "2026-1-5T1:00:00Z",
    ),
    *(
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "0F8FAD5B-D9CB-469F-B165-70867728950E",
        "0f8fad5b-d9cb-569f-c165-70867728950e",
    ),
    *(
        "2026-01-15T10:00:00+14:00",
        "2026-01-15T10:00:00-23:59",
        "2026-01-15T10:00:00.123456789Z",
        "x" * 31,
        "x" * 64,
        "é" * 33,
    ),
)
PREFIXES = (
    *(b"INFO ", b"  ", b"\t", b"2026-01-15T10:00:00Z ", b"2026-05-04T10:00:00.5Z stdout F ", b"[1] "),
    *(b"Jan 15 10:00:00 host app[3]: ", b"2026/01/15 10:00:00.123456 ", b"2026-01-15 10:00:00,250+02:00 DEBUG x: "),
    *(
        b"1700000000 ",
        b"1700000000.5 ",
        b"> ",
        b"- ",
        b"data: ",
        b"[15/Jan/2026:10:00:00 +0000] ",
        b"20260115T100000Z ",
    ),
)
Way = Callable[[bytes, list[bytes], list[bytes], random.Random], bytes]
WAYS: tuple[Way, ...] = (
    *(_less, _word, _word, _byte, _neighbour, _neighbour, _again, _half, _lines, _step),
    *(
        other_value,
        other_value,
        other_value,
        fields,
        _wrapped,
        _wrapped,
        _longer,
        _longer,
        _further,
        _number,
        _number,
        _character,
        _many,
        _cut,
    ),
)
"""What can be done to an input."""
