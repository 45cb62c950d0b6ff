"""The two cores of the search of logs find the same: records with all columns, rejects, sums, and where to go on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BACKENDS, THINNED, needs_both, rounds
from tests.cores import use
from tests.golden.logs import log
from tests.golden.messages import WIRES as MESSAGES, Chance
from tests.log.carriers import BAD, CARRIERS, GOOD, PRETTY
from tests.log.found import everything
from tests.log.mixed_logs import long_lines
from turnwire import LIMITS, WIRES, scan

pytestmark = [pytest.mark.once, needs_both]


def agreed(source: Any, wire: str | None = None, **options: Any) -> tuple[Any, ...]:
    """Columns, rejects and counts of a scan, and its position: the same on both cores."""
    found = []
    for backend in BACKENDS:
        with pytest.MonkeyPatch.context() as patch:
            use(backend, patch)
            one = scan(source, wire=wire, **options)
            found.append((*everything(one), one.position))
    assert found[0] == found[1], (source, wire, options)
    return found[0]


@pytest.mark.parametrize("first", range(0, 50_000, 2_500))
def test_cores_agree_on_logs(first: int, tmp_path: Path) -> None:
    """In blocks, of a wire alone, and on where a scan goes on that ended anywhere."""
    for number in range(first, first + rounds(5)):
        data, chance, path = log(number).data, random.Random(number), tmp_path / str(number)
        agreed(data, batch_bytes=chance.randrange(1, len(data) + 2))
        agreed(data, ("nslip", "csp", *WIRES)[number % 7], batch_bytes=chance.randrange(1, len(data) + 2))
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        agreed(path, resume={})


@pytest.mark.parametrize("wire", WIRES)
def test_messages_that_follow_one_another_are_what_each_is_by_itself(wire: str) -> None:
    """The pure core takes many at once, up to one that is not written as most are."""
    place = WIRES.index(wire)
    for seed in range(rounds(10)):
        chance = Chance(seed)
        usual = [f'@a3|f0|c{number}|S0|d1|Tzz{number}|g{number}|u"é {number}"|t"@a"#' for number in range(60)]
        others = {**GOOD, "csp": "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ x é\nPRIORITY P1\n"}
        usual = usual if wire == "nslip" else [others[wire]] * 60
        texts = [MESSAGES[place](chance) if chance.often(0.04) else one for one in usual]
        data = "\n".join(texts).encode("utf-8", "replace") + chance.pick(b"", b"\n", b"\r\n")
        agreed(data)
        agreed(data, wire, batch_bytes=1 + chance.below(len(data)))


ORDINARY = [
    *(".", "a line of text {", "```", "```json", "~~~", "<<<", ">>>", '{"stream": true, "n": [1]}'),
    *('{"log": "x", "stream": "stderr"}', "2026-01-02 10:00:00 INFO CSP/1", "  CSP/1", "CSP/1; STRICT"),
    *("FROM A", '["a", "b {x}"]', "\ufeffCSP/1", '"sender": "A"}', "}", "\u2af0 a", "# \u2afb head"),
]

TORN = [
    b'"',
    b"}",
    b"[",
    b",",
    b":",
    b"\\",
    b"\\u12",
    b"\\ud800",
    b"\\udc00x",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"\x01",
    b"NaN",
    b"-Infinity",
    b"-",
    b"01",
    b"1.",
    b"1e",
    b"1e999",
    b"tru",
    b"+",
    b"1" * 5000,
    b'"kind":1,',
    b'"kind":1,"kind":2,',
    b"@",
    b"\xef\xbb\xbf",
    b"CSP/1",
    b"<<<",
    b"\n",
    b"```",
]


def torn(text: bytes, chance: random.Random) -> bytes:
    """A text with something more or less in it, or a part of it."""
    at, behind = sorted(chance.choices(range(len(text) + 1), k=2))
    pieces = (
        text[:at] + chance.choice(TORN) + text[at:],
        text[:at] + text[behind:],
        text[at:],
        text[:at],
        text[:at] + b"\n",
    )
    return chance.choice(pieces)


def carried(chance: random.Random) -> bytes:
    """A log of messages and ordinary lines, in carriers in carriers, some of each damaged or cut, interleaved."""
    texts = [*GOOD.values(), *BAD.values(), *PRETTY.values(), *ORDINARY]
    pieces = []
    for _ in range(chance.randrange(1, 5)):
        text = chance.choice(texts) if chance.random() < 0.8 else chance.choice(ORDINARY)
        while chance.random() < 0.3:
            text = torn(text.encode(), chance).decode(errors="replace") or "."
        text += chance.choice(["", "\n", "\n\n"]) + (chance.choice(ORDINARY) if chance.random() < 0.3 else "")
        for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3])):
            text = CARRIERS[chance.choice(list(CARRIERS))](text or ".").removesuffix("\n" * chance.randrange(2))
            if chance.random() < 0.1:
                text = torn(text.encode(errors="surrogatepass"), chance).decode(errors="replace")
        pieces.append(text)
    if chance.random() < 0.3:  # services whose lines are interleaved
        left = [
            [f"{'ab'[number % 2]}-{number} | {line}" for line in one.split("\n")] for number, one in enumerate(pieces)
        ]
        mixed = []
        while left := [one for one in left if one]:
            mixed.append(chance.choice(left).pop(0))
        pieces = mixed
    return "\n".join(pieces).encode("utf-8", "surrogatepass")[: chance.choice([-1, None])]


@pytest.mark.parametrize("first", range(0, 2_000, 100))
def test_cores_agree_in_carriers(first: int) -> None:
    for number in range(first, first + rounds(6)):
        chance = random.Random(number)
        data = carried(chance)
        agreed(data, batch_bytes=chance.randrange(1, len(data) + 2))


@pytest.mark.parametrize("number", [0, 4, 8, 26])
def test_cores_agree_on_each_cut(number: int) -> None:
    data = log(number).data[:700]
    for size in range(1 + number % 3, len(data), 13 * THINNED):
        agreed(data, batch_bytes=size)


@pytest.mark.parametrize("limit", [64, 200, 1000])
def test_cores_agree_on_what_is_too_large(limit: int) -> None:
    for number in range(rounds(15)):
        agreed(log(number).data, limits=LIMITS._replace(message=limit))


@pytest.mark.parametrize("limit", [40, 300, 4000])
def test_cores_agree_on_long_lines(limit: int) -> None:
    for number in range(rounds(15)):
        agreed(long_lines(random.Random(number)), limits=LIMITS._replace(message=limit))


def test_cores_agree_on_heredocs_that_close_far_away() -> None:
    """Or never, some of each length: where one is not close by, those of all lengths are listed at once."""
    head = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n"
    opened = "".join(f"{head}{'<' * (3 + number % 9)}\n{'words ' * 70}\n\n" for number in range(30))
    closed = "".join(f"{'>' * (3 + number)}\r\n" for number in range(0, 9, 2))
    data = f"{opened}{closed}{head[:-2]}{opened}{closed}{opened}".encode()
    for limit in (1000, 6000, 1 << 20):
        agreed(data, limits=LIMITS._replace(message=limit))


def test_columns_grow_with_the_rows() -> None:
    record = b'@aA|f2|c9|S1|d2|T3|k1|pS|r2|qA|t"tag"#'
    agreed(b"".join(record + ending for ending in (b"\n", b" ", b"\n{}\n", b"{\n") for _ in range(500)))


TEARABLE = [
    b'{"header":{"kind":"query","actor_id":"a","schema_id":"ioc.query.v0","logical_clock":1,"session_id":"s"},'
    b'"payload":{"question":"why\\n\xc3\xa4?","required_fields":["x"],"uncertainty":0.5}}\n',
    b'{"protocolVersion":"2.0","taskId":"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a","constitutionalContext":{"a":[1,null]},'
    b'"issuedAt":"2026-01-01T10:00:00Z","issuer":{"agentId":"A"}}\n',
    b'{"id":"x","timestamp":"2026-11-22T07:00:32Z","sender":"WePlan","type":"Command","receiver":"Orchestrator",'
    b'"channel":"\xe2\xab\xbbcommand/x","content":"\xe2\xab\xbba/b\\ntext"}\n',
    b'{"messageId":"m","correlationId":null,"status":"ACK"}\n',
    b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nmany\n>>>\n\n",
]


@pytest.mark.parametrize("seed", range(20))
def test_cores_agree_on_what_is_torn(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds(10)):
        agreed(b"".join(torn(text, chance) for text in chance.choices(TEARABLE, k=3)))
