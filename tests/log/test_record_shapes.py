"""nSLIP in every shape that is good, and damaged a little: all engines of the scan give equal and right columns."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.log.engines import LIMIT
from tests.log.test_scan_differential import agree
from tests.nslip.twins import rounds
from turnwire.nslip import base62

DAMAGE = b'|"#\\@\n\r aZ09gktucSdTf\xc3\xa9\x80\xff'
ALPHABETS = ("abc _", 'ab\\"|#@', "aüレ😀b", 'a"\\ü|#é@')
SIZES = (0, 1, 2, 3, 8, 20, 60, 130, 300)
BETWEEN = (b"\n", b"\n", b"\n", b"\r\n", b" ", b"", b"\nx@y\n")


def integer(chance: random.Random) -> str:
    """Of one to eleven digits, too large among them, or with zeros in front."""
    digits = chance.randint(1, 11)
    number = base62.encode(min(chance.randrange(62 ** (digits - 1), 62**digits), 2**64 - 1))
    if chance.random() < 0.1:
        return "0" * chance.randint(1, 9) + number[:2]
    return "z" * 11 if chance.random() < 0.02 else number


def text(chance: random.Random) -> str:
    """Of any size, with escapes and beyond ASCII."""
    value = "".join(chance.choices(chance.choice(ALPHABETS), k=chance.randint(0, chance.choice(SIZES))))
    return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"'))


def record(chance: random.Random) -> bytes:
    """Any slots, in any order, the header's fields among them where it so happens."""
    fields = ["a" + base62.encode(chance.randrange(12)), f"f{chance.randrange(6)}"]
    fields += [name + integer(chance) for name in "cSdT"]
    slots = [
        name + (text(chance) if name in "ut" else integer(chance))
        for name in chance.sample("gkprqsuet", chance.randint(0, 9))
    ]
    if chance.random() < 0.1:
        slots.append(chance.choice("zXA") + chance.choice((integer, text))(chance))
    how = chance.random()
    if how < 0.3:
        rest = fields[1:]
        chance.shuffle(rest)
        fields[1:] = rest
    elif how < 0.5:
        slots += fields[1:]
        fields = fields[:1]
        chance.shuffle(slots)
    return f"@{'|'.join(fields + slots)}#".encode()


def damaged(chance: random.Random, data: bytes) -> bytes:
    """One byte is another one, missing or too many."""
    at, how = chance.randrange(len(data)), chance.random()
    wrong = chance.choice(DAMAGE).to_bytes() if how < 0.7 else b""
    return data[:at] + wrong + data[at + (how < 0.4 or how >= 0.7) :]


def logs(chance: random.Random, one: Callable[[], bytes], count: int) -> bytes:
    """Records with what may stand between them, and room behind them for code that reads ahead."""
    parts = [part for _ in range(count) for part in (one(), chance.choice(BETWEEN))]
    return b"".join([b"something in front of it\n" * chance.randrange(2), *parts, b" " * chance.choice((0, 200))])


def test_any_shape() -> None:
    chance = random.Random(20261123)
    rows = bad = 0
    for _ in range(rounds(120)):

        def one() -> bytes:
            found = record(chance)
            return damaged(chance, found) if chance.random() < 0.2 else found

        data = logs(chance, one, chance.randint(1, 12))
        found = agree(data, chance, limit=chance.choice((LIMIT, LIMIT, 100, 64)), keep=chance.random() < 0.5)
        rows, bad = rows + found.rows, bad + found.bad
    assert rows > 200
    assert bad > 50


def test_runs_of_one_shape() -> None:
    """Where records are unlike the usual ones in turn, the quick code for those is asked less and less often."""
    chance = random.Random(5)
    rows = 0
    for _ in range(rounds(12)):
        shapes = [record(chance) for _ in range(2)]
        data = logs(chance, lambda shapes=shapes: chance.choice(shapes), chance.randint(90, 160))  # type: ignore[misc]
        rows += agree(data, chance, keep=True).rows
    assert rows > 500


def test_strings_across_windows() -> None:
    """An escape, a character of several bytes and the end of a record on either side of each window of 64 bytes."""
    chance = random.Random(7)
    for piece in ('\\"', "\\\\", "é", "レ", "😀", "\\", '\\\\"', "|", "#", '"|gH|u"'):
        lines = [
            f'@a3|f0|{"c1|S0" if order else "S0|c1"}|d1|T1|t"{"x" * size}{piece}{"y" * (size % 5)}"#'.encode()
            for size in range(150)
            for order in range(2)
        ]
        found = agree(b"in front of it all\n" + b"\n".join(lines) + b"\n" + b" " * 200, chance)
        assert found.rows + found.bad >= len(lines)


def test_bytes_that_are_none_in_unusual_records() -> None:
    """At every place of a string, over the edges of windows; and numbers about as large as may be."""
    chance, usual = random.Random(9), b"@a3|f0|c1|S0|d1|T1#"
    for bad in (b"\xc3", b"\xff", b"\xe3\x83", b"\x80", b"\xf0\x9f\x98", b"\xed\xa0\x80"):
        lines = [b'@c1|f0|a3|S0|d1|T1|t"%b%b%b"#' % (b"x" * size, bad, b"y" * (size % 3)) for size in range(135)]
        found = agree(b"\n".join([usual] * 20 + lines + [usual] * 20), chance)
        assert (found.rows, found.bad) == (40, len(lines))
    largest = base62.encode(2**64 - 1)
    good = bad_ones = 0
    lines = []
    for last in "0ABEFGHIYZaz":
        for front in ("", "0"):
            lines.append(f"@c1|f0|a3|S0|d1|T1|k{front}{largest[:-1]}{last}#".encode())
            fits = last <= largest[-1]
            good, bad_ones = good + fits, bad_ones + (not fits)
    found = agree(b"\n".join([usual] * 20 + lines + [usual] * 20), chance)
    assert (found.rows, found.bad) == (40 + good, bad_ones)


def test_a_field_is_missing_beside_one_that_is_kept() -> None:
    chance, usual = random.Random(11), b"@a3|f0|c1|S0|d1|T1#"
    fields, kept = ["a3", "f0", "c1", "S0", "d1", "T1"], ["g1", "x7"]
    lines = []
    for missing in fields:
        rest = [field for field in fields if field != missing]
        for turn in range(len(rest)):
            lines.append(f"@{'|'.join([*rest[turn:], *rest[:turn], *kept])}#".encode())
    found = agree(b"\n".join([usual] * 20 + lines + [usual] * 20), chance, keep=True)
    assert (found.rows, found.bad) == (40, len(lines))
