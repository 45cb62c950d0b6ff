"""Damaged logs of many formats: the cores find the same records, values, rejects and places, and bytes add up."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import turnwire
from tests.conftest import needs_both, rounds
from tests.cores import use
from tests.formats import samples
from tests.formats.test_tables import rows
from tests.formats.test_vectors import OBJECTS

BASE = [
    json.dumps(made, separators=(",", ":")).encode()
    for made in (*(made for _, made, _ in OBJECTS), *samples.claude_code(3), *samples.codex(2))
]
WRONG: tuple[Any, ...] = (None, 1, -1.5, True, "x", [], {})


def damaged(line: bytes, made: Random) -> bytes:
    """A line with one kind of damage: cut, glued, overwritten, with NUL bytes, or a member of another type."""
    place = made.randrange(len(line))
    if made.random() < 0.3:
        fields = json.loads(line)
        fields[made.choice(list(fields))] = made.choice(WRONG)
        return json.dumps(fields, indent=made.choice([None, 1])).encode()
    return made.choice(
        [
            line[:place],
            line[place:],
            line[:place] + b"\0" * 3 + line[place:],
            line[:place] + bytes([made.randrange(256)]) + line[place + 1 :],
            line[:place] + made.choice(BASE),
            line + made.choice(BASE),
        ]
    )


def log(seed: int) -> bytes:
    made = Random(seed)
    lines = [made.choice(BASE) for _ in range(made.randrange(1, 7))]
    return b"\n".join(line if made.random() < 0.5 else damaged(line, made) for line in lines) + b"\n"


def found(data: bytes, wire: str, backend: str) -> tuple[Any, ...]:
    with pytest.MonkeyPatch.context() as patch:
        use(backend, patch)
        scan = turnwire.scan(data, wire=wire)
        scan.read()
        counts = scan.counts
        assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes == len(data)
        return rows(data, wire), scan.rejects.rows(), counts


@needs_both
@pytest.mark.once
@pytest.mark.parametrize("wire", ["formats", "claude_code", "otlp"])
def test_the_cores_agree(wire: str) -> None:
    for seed in range(rounds(60)):
        data = log(seed)
        assert found(data, wire, "native") == found(data, wire, "pure"), seed
