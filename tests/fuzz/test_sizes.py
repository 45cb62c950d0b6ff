"""Both cores say the same of messages in which something is as long as one of the sizes at which code changes its way:
what is looked at together, what fits into a table, what a count can hold. Many more with ``-m soak``."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.conftest import PURE_ONLY
from tests.fuzz.cores import Core
from tests.fuzz.edits import MESSAGES
from tests.fuzz.targets import TARGETS, WIRES, said_of

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]
EDGES = (4, 8, 12, 16, 20, 32, 36, 48, 64, 96, 128, 192, 256, 320, 512, 1024)
SIZES = (1, 2, 3, *(size + more for size in EDGES for more in (-1, 0, 1)))
SIGNS = (
    *(
        "x",
        "0",
        "9",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\u00e9",
        "\u20ac",
        "\U0001f600",
        "\ufeff",
        "\u2afb",
        "/",
        ":",
        "=",
        "\0",
    ),
    *(
        "\\n",
        "\\\\",
        '\\"',
        "\\u00e9",
        "\\ud83d\\ude00",
        "[",
        "]",
        "{",
        "}",
        '{"a":',
        '"',
        ",",
        "1,",
        "-",
        "<",
        ">",
        "`",
        "~",
    ),
    *("|", "@", "g1|", "#", "CSP/1\n", "K v\n", "# ", "true,", '"",'),
)
"""What is repeated."""
LINES = ("K{} v\n", '"k{}":{},', '"\\u00e9{}":[{}],', "+ DEF A{} = {}\n", "\u2afba/b{}\nx\n")
"""What is repeated with another number each time."""
ODD = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\q", b"\\ud800", b"\0", b"\x1f", b"\xe2\xab\xbb", b'"', b"\n", b"x")
"""What is put somewhere else at times, so that it must be seen behind what is long."""
NUMBER = {"decode": 300, "scan": 20, "stream": 15, "csp": 50, "space": 70}


def repeated(chance: random.Random) -> bytes:
    """Something so many times."""
    size = chance.choice(SIZES)
    if chance.random() < 0.2:
        line = chance.choice(LINES)
        return "".join(line.format(number, number) for number in range(min(size, 520))).encode()
    return (chance.choice(SIGNS) * size).encode()


def grown(text: bytes, chance: random.Random) -> bytes:
    """A message with something that is long at one of its places, and at times something odd behind or in front."""
    place = chance.randrange(len(text) + 1)
    if chance.random() < 0.6:  # beside what is between values, where more of it may stand
        places = [at for at, byte in enumerate(text) if byte in b'":,{}[]|#\n ']
        place = chance.choice(places) + chance.randrange(2)
    found = text[:place] + repeated(chance) + text[place:]
    if chance.random() < 0.35:
        place = chance.randrange(len(found) + 1)
        found = found[:place] + chance.choice(ODD) + found[place:]
    return found


def log(texts: list[bytes], chance: random.Random) -> bytes:
    """Some messages, as they are and grown, with something that is long between them at times."""
    parts = []
    for _ in range(chance.randrange(2, 7)):
        text = chance.choice(texts)
        parts.append(grown(text, chance) if chance.random() < 0.5 else text)
        parts.append(
            repeated(chance) if chance.random() < 0.2 else chance.choice((b"\n", b"\n", b"\r\n", b"\n\n", b" "))
        )
    return b"".join(parts)


def inputs(target: str, number: int) -> Iterator[bytes]:
    chance = random.Random(target)
    own = [wire for wire in WIRES if wire in target] or (["kick"] if "space" in target else list(WIRES))
    texts = [text.encode() for wire in own for text in MESSAGES[wire]]
    if "space" in target:
        texts = ["\u2afba/b:c\ntext\n```\n\u2afbx\n```\n\u2afbd\n".encode(), b"## Goal\nwin\n", *texts[:1]]
    for _ in range(number):
        if target.startswith(("scan", "stream")):
            size = chance.choice((255, 255, 255, 60, 199, 3)) if target != "stream" else chance.randrange(6)
            options = bytes((size, chance.randrange(256), chance.choice((0, 1, 201, 230, 255)), chance.randrange(256)))
            yield options + log(texts, chance)
        else:
            yield grown(chance.choice(texts), chance)


TRIED = [name for name in TARGETS if name.startswith(("decode", "scan", "stream", "csp-", "space-"))]


@pytest.mark.parametrize("times", [1, pytest.param(600, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", TRIED)
def test_both_cores_say_the_same(name: str, times: int, cores: tuple[Core, Core]) -> None:
    number = next(number for part, number in NUMBER.items() if name.startswith(part))
    texts = list(inputs(name, number * times))
    native, pure = (said_of(TARGETS[name], texts, core) for core in cores)
    assert [one for one in zip(texts, pure, native, strict=True) if one[1] != one[2]] == []
    assert len({repr(one) for one in pure}) > number // 10
