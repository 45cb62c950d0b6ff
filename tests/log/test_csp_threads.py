"""CSP/1 from any number of threads: blocks end where messages do, and are scanned before what is in front of them."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest

from tests.csp.generate import document
from tests.csp.test_bulk import log
from tests.log.mixed_logs import GOOD_JSON, NSLIP
from tests.nslip.twins import rounds
from turnwire import LIMITS, scan
from turnwire.csp.bulk import SCANNER
from turnwire.log.engine.block_scanner import Engine
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import Cutter, blocks_of_memory

pytestmark = pytest.mark.usefixtures("scan_core")

MESSAGE = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T%d\nSTATUS OK\nDATA\n<<<\n%b>>>\n"
INSIDE = [
    b"x\n",
    b"CSP/1\nFROM A\n",
    b"CSP/1\n",
    MESSAGE.replace(b"<<<", b"<<<<").replace(b">>>", b">>>>") % (9, b"y\n"),
]
TEXT = [
    b"",
    b"",
    b"INFO start",
    b"```",
    b"<<<",
    b">>>",
    b"<<<<\n>>>>",
    b"CSP/1;a",
    b"CSP/1",
    b" CSP/1",
    *NSLIP[:3],
    *GOOD_JSON,
]


def mixed_up(chance: random.Random) -> bytes:
    """Messages whose heredocs are full of messages, with damage, text and other wires around them."""
    parts = []
    for number in range(chance.randrange(1, 16)):
        kind = chance.random()
        if kind < 0.6:
            parts.append(MESSAGE % (number, b"".join(chance.choices(INSIDE, k=chance.randrange(4)))))
        elif kind < 0.7:
            parts.append(document(chance.randrange(10_000), damage=chance.choice((0.0, 0.1, 0.4))) + b"\n")
        elif kind < 0.75:
            parts.append(log(chance.randrange(10_000)))
        elif kind < 0.8:
            parts.append((MESSAGE % (number, b"z\n" * 30))[: chance.randrange(60, 140)] + b"\n")
        else:
            parts.append(b"\n".join(chance.choices(TEXT, k=chance.randrange(4))) + b"\n")
        parts.append(chance.choice((b"", b"\n")))
    data = b"".join(parts)
    return data.replace(b"\n", b"\r\n") if chance.random() < 0.2 else data


def seen(source: Any, **options: Any) -> list[Any]:
    """Every batch with its rows, and what stands in the quarantine and the tally after it."""
    found = scan(source, **options)
    met: list[Any] = []
    for batch in found:
        columns = {name: list(batch[name]) for name in batch.names}
        met.append((columns, len(found.rejects), found.counts, found.position))
    return [*met, found.rejects.rows(), found.counts, found.position]


def together(met: list[Any]) -> list[Any]:
    """The rows of all batches, rejects and counts, however the log was cut."""
    columns: dict[str, list[Any]] = {}
    for batch, *_ in met[:-3]:
        for name, values in batch.items():
            columns.setdefault(name, []).extend(values)
    return [columns, met[-3], met[-2]]


@pytest.mark.parametrize("wire", ["csp", None])
def test_the_same_from_any_number_of_threads(wire: str | None, tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(rounds(3)):
        data = mixed_up(chance)
        options: dict[str, Any] = {"batch_bytes": chance.choice((20, 100, 300, 1000, 4000)), "wire": wire}
        if chance.random() < 0.3:
            options["limits"] = LIMITS._replace(message=chance.choice((5, 6, 7, 30, 150, 400)))
        whole = together(seen(data, **{**options, "batch_bytes": 1 << 20}))
        path = tmp_path / f"{number}.log"
        path.write_bytes(data)
        for source in (data, path, [path, data]):
            once = seen(source, **options)
            if source is data:
                assert together(once) == whole, number
            for threads in (2, 3, 4):
                assert seen(source, threads=threads, **options) == once, (number, threads)


def test_conditions_and_columns_from_threads() -> None:
    chance = random.Random(8)
    for _ in range(rounds(2)):
        data = mixed_up(chance)
        options: dict[str, Any] = {"where": {"id": {"T1", "T2", "T3"}}, "columns": ["line", "data"], "batch_bytes": 500}
        assert seen(data, wire="csp", threads=3, **options) == seen(data, wire="csp", **options)


def scans_twice(data: bytes, patch: pytest.MonkeyPatch, **options: Any) -> tuple[int, int]:
    """How many blocks a thread scanned by themselves, and how many were scanned (again) in their turn."""
    alone: list[int] = []
    in_turn: list[int] = []
    original = Engine.scan

    def counted(self: Engine, block: Any, final: bool, line: int = 1, state: Any = None, head: bytes = b"") -> Any:
        (alone if state is None else in_turn).append(block.base)
        return original(self, block, final, line, state, head)

    with patch.context() as patched:
        patched.setattr(Engine, "scan", counted)
        assert sum(len(batch) for batch in scan(data, threads=2, **options))
    return len(alone), len(in_turn)


@pytest.mark.parametrize("wire", ["csp", None])
@pytest.mark.parametrize("between", [b"", b"\n", b"\nINFO text\n\n"])
def test_blocks_of_whole_messages_are_scanned_once(
    wire: str | None, between: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"".join(MESSAGE % (number, b"x\n" * (number % 9)) + between for number in range(300))
    for log_ in (data, data.replace(b"\n", b"\r\n")):
        alone, in_turn = scans_twice(log_, monkeypatch, wire=wire, batch_bytes=1000)
        assert alone > 20
        assert in_turn == 0


def test_blocks_without_messages_are_scanned_once_behind_some(monkeypatch: pytest.MonkeyPatch) -> None:
    data = MESSAGE % (1, b"x\n") + b"\n" + b"\n".join(NSLIP[:50] + GOOD_JSON) * 5 + b"\n"
    alone, in_turn = scans_twice(data, monkeypatch, batch_bytes=2000)
    assert alone > 5
    assert in_turn <= 1, "the message ends where the next block begins"


def test_blocks_inside_a_heredoc_are_scanned_in_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = INSIDE[3] * 40
    data = MESSAGE % (1, inside) + MESSAGE % (2, b"x\n")
    assert list(next(iter(scan(data, wire="csp", threads=2)))["id"]) == ["T1", "T2"]
    assert scans_twice(data, monkeypatch, wire="csp", batch_bytes=1000)[1] > 1
    assert seen(data, wire="csp", threads=2, batch_bytes=1000)[:-3][0][0]["id"] == ["T1", "T2"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_blocks_end_in_front_of_a_message(end: bytes) -> None:
    data = (b"".join(MESSAGE % (number, b"x\nCSP/1 \nCSP/1x\n") + b"\n" for number in range(50))).replace(b"\n", end)
    cutter = Cutter(Whole(data), Whole(data), Pool(), 1000, opens=b"CSP/1")
    for blocks in (list(blocks_of_memory(memoryview(data), 1000, 0, b"CSP/1")), list(cutter)):
        assert b"".join(bytes(memoryview(block.data)[: block.size]) for block in blocks) == data
        for block in blocks[:-1]:
            assert block.line_end
            assert 500 < block.size < 1400
            ahead = bytes(memoryview(block.data)[block.size : block.size + block.ahead])
            assert ahead == b"CSP/1" + end
        assert blocks[-1].ahead == 0


class Whole:
    """Bytes as an input: see turnwire.log.input.reading.Input."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)
        self.taken = 0

    def into(self, view: memoryview) -> int:
        return self._file.readinto(view)


def test_what_a_state_asks_of_the_block_behind_it() -> None:
    assert SCANNER.follows is not None
    begun, open_message, unclosed = [0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 3, 1]
    for state, block, settled, expected in (
        (begun, b"<<<\n", 0, True),
        (open_message, b"CSP/1\n<<<\n```\n", 1, True),
        (open_message, b"CSP/1\r\n<<<\n", 1, True),
        (open_message, b"text <<< ``\n", 0, True),
        (open_message, b"CSP/1 \n<<<\n", 1, False),
        (open_message, b"<<<\n", 0, False),
        (open_message, b"text\n```\n", 1, False),
        *(
            (open_message, front + sign + b"\n", 0, False)
            for front in (b"", b"text\n")
            for sign in (b"<<<", b"<", b"```", b"~~~", b" ~~~", b"   ```")
        ),
        *((open_message, b"text\nx" + sign + b"\n", 0, True) for sign in (b"<<<", b"```", b"~~~")),
        *((open_message, sign + b"\n", 0, True) for sign in (b"``", b"~~", b"``x")),
        (open_message, b"text", 0, False),
        (unclosed, b"CSP/1\n", 1, False),
    ):
        left = [0, 0, 0, settled]
        assert SCANNER.follows(state, left, memoryview(block)) is expected, block
        assert left[1] == (1 if expected and state is open_message and not settled else 0)
