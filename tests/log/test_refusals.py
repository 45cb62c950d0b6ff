"""Messages that are refused, no two alike: what the wires' own reading said of one stands for those that differ in what
it does not look at. The native core reads what the pure one reads, and asks seldom."""

from __future__ import annotations

import random
import string
import uuid
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire
from tests.log.json_engines import JSON_WIRES, both
from tests.log.test_json_templates import OBJECTS, line_of
from turnwire.json.plan import Judgement

pytestmark = pytest.mark.once

SEEDS = st.integers(0, 1 << 40)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 7, -3, 0.5, "", "x", "7", "yesterday", "2026-13-01T00:00:00Z", "2026-01-15 00:00:00"),
    *("ACK", "NACK", "PARTIAL", "query", "Command", "Dima", "Orchestrator", "2.0", "SSTP/0", "l9", "ioc.query.v0"),
    *(
        "\u2afb",
        "\u2afba",
        "\u2afba/b",
        "\u2afba/b c",
        "\u2afb\u00e9/x",
        "command/run",
        "\u2afbtask:T-1\nx",
        "\n\u2afba",
    ),
    *("12345678-1234-4234-8234-1234567890ab", "12345678-1234-4234-8234-1234567890aX", "z" * 200, "\u2afba/" + "n" * 99),
    *([], ["a"], ["a", 1], [{}], [{"type": 1}, {"type": "a"}], [{"a": 1}, 2], {}, {"a": 1}, {"a": "b"}),
    {"a": 1, "b": "c"},
)


def word(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randrange(1, 9)))


def varied(value: Any, chance: random.Random) -> Any:
    """The same with other words, ids, times and numbers."""
    if isinstance(value, dict):
        return {name: varied(inner, chance) for name, inner in value.items()}
    if isinstance(value, list):
        return [varied(item, chance) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return chance.randrange(1, 99)
    if isinstance(value, float):
        return chance.randrange(100) / 100
    if len(value) == 36 and value.count("-") == 4:
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if len(value) == 20 and value[-1] == "Z":
        return f"2026-01-15T00:{chance.randrange(60):02}:{chance.randrange(60):02}Z"
    return f"{word(chance)} {word(chance)}\n" if " " in value else value


def places(fields: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The members of an object and of those in it."""
    inner = [value for value in fields.values() if isinstance(value, dict)]
    return [(fields, name) for name in fields] + [(part, name) for part in inner for name in part]


def spoilt(fields: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """An object with some members gone, some odd, and some more."""
    fields = varied(fields, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        there = places(fields)
        if not there:
            break
        part, name = chance.choice(there)
        odd = chance.random()
        if odd < 0.4:
            del part[name]
        elif odd < 0.9:
            part[name] = deepcopy(chance.choice(ODD))
        else:
            part[word(chance)] = deepcopy(chance.choice(ODD))
    if chance.random() < 0.2:
        fields = dict(chance.sample(list(fields.items()), k=len(fields)))
    if chance.random() < 0.1:
        fields[chance.choice(("protocol", "version", "kind", "origin", "status", "sender"))] = deepcopy(
            chance.choice(ODD)
        )
    return fields


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_both_cores_refuse_alike(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    shapes = chance.sample(OBJECTS[wire], k=min(2, len(OBJECTS[wire])))
    lines = [line_of(spoilt(chance.choice(shapes), chance)) for _ in range(60)]
    lines += [line.replace(b'":', b'" : ', 2) for line in chance.sample(lines, k=10)]
    both(wire, b"\n".join(lines) + b"\n")


FAULTS: dict[str, dict[str, Any]] = {
    "sap": {"issuer": ..., "issuedAt": "the day of ", "taskId": "number ", "protocolVersion": "9."},
    "kick": {"type": ..., "timestamp": 7, "content": 7, "channel": "channel ", "sender": ...},
    "sstp": {"header": ..., "payload": "none, but "},
}


@pytest.mark.skipif(turnwire.backend == "pure", reason="the pure core asks each time")
@pytest.mark.parametrize(("wire", "name"), [(wire, name) for wire in FAULTS for name in FAULTS[wire]])
def test_messages_that_differ_are_asked_about_once(wire: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    whole = Judgement.whole

    def counted(self: Judgement, raw: bytes) -> tuple[int, int, int, int]:
        asked.append(raw)
        return whole(self, raw)

    monkeypatch.setattr(Judgement, "whole", counted)
    chance = random.Random(5)
    base = next(fields for fields in OBJECTS[wire] if name in fields)
    fault = FAULTS[wire][name]
    lines = []
    for _ in range(400):
        fields = varied(base, chance)
        fields |= {word(chance): word(chance)}
        if fault is ...:
            del fields[name]
        else:
            fields[name] = fault + word(chance) if isinstance(fault, str) else fault
        lines.append(line_of(fields))
    found = turnwire.scan(b"\n".join(lines) + b"\n", wire=wire)
    assert sum(map(len, found)) == 0
    assert len(found.rejects) in (0, 400)
    assert len(asked) < 20
