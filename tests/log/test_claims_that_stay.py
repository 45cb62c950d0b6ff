"""Claims of CSP/1 that stay behind lines that reach over others are those that would be made anew there."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.log.claimed_logs import CRI, RESULT, TASK, behind, claimed_log
from tests.log.test_mixed import everything
from tests.nslip.twins import rounds
from turnwire import LIMITS, Decoder, scan
from turnwire.errors import DecodeError
from turnwire.log.engine import block_pass
from turnwire.log.engine.left_to_right import LeftToRight


class Anew(LeftToRight):
    """Claims all that is behind such lines anew, at once: the plain way, which takes quadratic time."""

    def behind(self, line: int) -> int:
        while line >= self._place and self._read < self._stop:
            self._extend()
        return super().behind(line)

    def _stay(self, start: int, stop: int, last: int) -> bool:
        return False

    def _go_on_behind(self, stop: int) -> None:
        self._plain = False
        super()._go_on_behind(stop)
        self._size = 1 << 40


def fed(data: bytes, sizes: list[int], **options: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What a decoder gives for these bytes in pieces of such sizes, and what it refuses."""
    decoder, found, refused, place = Decoder(**options), [], [], 0
    pieces = []
    for size in sizes * len(data):
        pieces.append(data[place : place + size])
        place += size
        if place >= len(data):
            break
    for piece in [*pieces, None]:
        while True:
            try:
                found += map(repr, decoder.close() if piece is None else decoder.feed(piece))
                break
            except DecodeError as error:
                refused.append((error.reason, error.offset, error.line, error.wire))
                piece = piece and b""
    return found, refused


def differs(data: bytes, chance: random.Random, anew: Any, cuts: int = 3, **options: Any) -> object:
    """What is different where claims stay, or are made in windows of other sizes; None where nothing is. anew: makes
    scans claim anew."""
    for wire in (None, "csp"):  # what is inside a heredoc that is never closed is a column of the second
        with anew():
            once = everything(scan(data, wire=wire, threads=1, **options))
        if everything(scan(data, wire=wire, threads=1, **options)) != once:
            return "whole", wire
        for _ in range(cuts):
            size, threads = chance.randrange(1, len(data) + 2), 1 if options else chance.choice((1, 1, 2, 3))
            if options:  # of what is longer than a message may be, a block tells as much as it holds
                with anew():
                    once = everything(scan(data, wire=wire, batch_bytes=size, threads=1, **options))
            source = data if options or chance.random() < 0.5 else io.BytesIO(data)
            if everything(scan(source, wire=wire, batch_bytes=size, threads=threads, **options)) != once:
                return "cut", wire, size, threads
    if cuts < 2:
        return None
    with anew():
        by_steps = fed(data, [max(len(data), 1)], **options)
    sizes = [chance.randrange(1, len(data) + 2), chance.randrange(1, 100)]
    return None if fed(data, sizes, **options) == by_steps else ("by steps", sizes)


def options_of(chance: random.Random) -> dict[str, Any]:
    """Mostly none; at times messages may be so short that heredocs are longer."""
    return {"limits": LIMITS._replace(message=chance.randrange(20, 900))} if chance.random() < 0.2 else {}


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What makes scans claim anew."""

    @contextmanager
    def claiming() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(block_pass, "LeftToRight", Anew)
            yield

    return claiming


@pytest.mark.usefixtures("scan_core")
def test_claims_that_stay_are_those_that_are_made_anew(anew: Any) -> None:
    chance = random.Random(5)
    for _ in range(rounds(40)):
        data = claimed_log(chance, 6)
        assert differs(data, chance, anew, 1, **options_of(chance)) is None, data


INDENTED = behind("  ", TASK, random.Random(2))
HELD = f"x {RESULT}<<<\n{{}}>>>\n"
"""A message behind a prefix, which holds something."""
LONGER = "CSP/1\nFROM B\n<<<<\n"
LOST = f"{RESULT}<<<\nnever closed\n" + "text\n" * 20
TWICE = "CSP/1 x CSP/1\nFROM A\nTO B\n"
PART, LAST = CRI.format("stdout", "P", "a"), CRI.format("stdout", "F", "b")
CASES = {
    "a heredoc in front of the next message": (f"{INDENTED}\n<<<\n{TASK}>>>\n{TASK}", 0, 2),
    "a message is open, but not behind the lines": (f"{TASK}\n{INDENTED}<<<\n{TASK}\n>>>\n", 0, 3),
    "a claim reaches further": (f"{HELD.format(LONGER)}\n{TASK}>>>>\n{TASK}", 0, 2),
    "nothing follows in the block": (f"{HELD.format(f'{TASK}{chr(10)}')}text\n<<<\n{TASK}\n>>>\n", 0, 2),
    "a heredoc is closed behind two of them": (f"{LOST}{INDENTED}\n>>>\n{INDENTED}\n{TASK}", 90, 3),
    "one that is closed in the window": (f"{LOST}{TASK}{INDENTED}\n{TASK}\n>>>\n{TASK}", 90, 4),
    "one is closed, one begins": (f"{LOST}{INDENTED}\n{TASK}\n>>>\n{LOST}{INDENTED}{TASK}", 90, 4),
    "a line that says it twice": (f"{INDENTED}{TASK}{TWICE}{TASK}", 0, 3),
    "the same where nothing is open": (f"{INDENTED}<<<\n>>>\n{TWICE}{TASK}", 0, 2),
    "parts of a line around them": (f"{PART}{INDENTED}{TASK}\n{LAST}{TASK}", 0, 3),
}


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("name", CASES)
def test_the_same_wherever_it_is_cut(name: str, anew: Any) -> None:
    text, limit, records = CASES[name]
    data = text.encode()
    options: Any = {"limits": LIMITS._replace(message=limit)} if limit else {}
    for size in {len(data), *range(20, len(data), 19 if limit else 7)}:
        options |= {"wire": "csp", "batch_bytes": size, "threads": 1}
        with anew():
            once = everything(scan(data, **options))
        assert everything(scan(data, **options)) == once, size
        assert len(once[0]["offset"]) == records
