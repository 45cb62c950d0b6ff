"""Messages that are refused, no two alike: what the wires' own reading said of one stands for those that differ in what
it does not look at. The native core reads what the pure one reads, and asks seldom."""

from __future__ import annotations

import json
import random
import string
import uuid
from collections.abc import Callable
from copy import deepcopy
from functools import reduce
from operator import getitem
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
    *(
        ["a", "b, [", 'c"]', None],
        [["a"], "b"],
        ["a", {"b": [1]}, 2],
        [{"kind": 1, "uri": 2}],
        [{"uri": []}, {"digest": {}}],
    ),
    *(
        [{"uri": "a"}, {"uri": 2, "x": 3}, 4],
        [{"name": 1, "type": "a"}, {"type": 1}],
        [{"value": 1}, {"value": 2, "name": 3}],
    ),
    *({"a": 1.5, "b": -2, "c": None}, {"a": {"b": "c"}, "d": "e"}, {"a": 1, "b": [1, "}"], "c": "d"}),
)
TIMES = (
    *("2026-01-15T00:00:60Z", "2026-01-15T23:59:60Z", "2026-06-30T23:59:60.5Z", "2026-01-16T00:29:60+00:30"),
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00"),
    *("0000-01-01T00:00:00Z", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2026-01-15T24:00:00Z"),
    *("2026-01-15t00:00:00z", "2026-01-15_00:00:00Z", "2026-01-15T00:00:00.Z", "2026-01-15T00:00:00,5Z"),
    *("2026-01-15T00:00:00+23:59", "2026-01-15T00:00:00+24:00", "2026-01-15T00:00:00+0100", "2026-01-15T00:00:00 Z"),
    *("2026-01-15T00:00:00.123456789Z", "2026-01-15T00:00:00", "2026-01-15T00:61:00Z", "2026-01-15T00:00:99Z"),
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


def places(fields: Any) -> list[tuple[Any, Any]]:
    """What is in an object, and in the objects and arrays in it."""
    if not isinstance(fields, (dict, list)):
        return []
    found = [(fields, place) for place in (fields if isinstance(fields, dict) else range(len(fields)))]
    return found + [place for part, name in found for place in places(part[name])]


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
        elif odd < 0.9 or isinstance(part, list):
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


@pytest.mark.parametrize("wire", ["sap", "kick"])
@given(seed=SEEDS)
def test_both_cores_know_the_same_times_and_channels(wire: str, seed: int) -> None:
    """One that is bad in one message says nothing of a good one in the next, however alike the two are."""
    chance = random.Random(seed)
    base = next(fields for fields in OBJECTS[wire] if ("issuedAt" if wire == "sap" else "channel") in fields)
    lines = []
    for _ in range(40):
        fields = varied(base, chance)
        if wire == "sap":
            text = list(chance.choice(TIMES))
            if chance.random() < 0.5:
                text[chance.randrange(len(text))] = chance.choice("0123456789TZ:+-. 6")
            fields["issuedAt"] = "".join(text)
        else:
            fields["channel"] = "".join(chance.choices(["\u2afb", "a", "/", " ", "\u00a0", "\u00e9", "\n", "b/c"], k=4))
            if chance.random() < 0.8:
                fields["channel"] = "\u2afb" + fields["channel"]
        lines.append(json.dumps(fields, ensure_ascii=chance.random() < 0.5).encode())
    both(wire, b"\n".join(lines) + b"\n")


FAULTS: dict[str, dict[str, Any]] = {
    "sap": {"issuer": ..., "issuedAt": "the day of ", "taskId": "number ", "protocolVersion": "9."},
    "kick": {"type": ..., "timestamp": 7, "content": 7, "channel": "channel ", "sender": ...},
    "sstp": {"header": ..., "payload": "none, but "},
}
ITEMS: dict[str, Callable[[random.Random], tuple[str, Any]]] = {
    "a principle is a number": lambda chance: (
        "constitutionalContext/principles",
        [*(word(chance) for _ in range(chance.randrange(60))), chance.randrange(1000), word(chance), None],
    ),
    "a pressure is a text": lambda chance: (
        "constitutionalContext/pressure",
        {word(chance): chance.randrange(99) for _ in range(chance.randrange(9))} | {word(chance) * 2: word(chance)},
    ),
    "the kind of an attachment is a number": lambda chance: (
        "attachments",
        [{"uri": word(chance) * 50, word(chance) * 2: [1]}] * chance.randrange(4) + [{"uri": word(chance), "kind": 1}],
    ),
    "a tag is an object": lambda chance: (
        "tags",
        [word(chance)] * chance.randrange(9) + [{word(chance): [word(chance)]}],
    ),
    "a time of no calendar": lambda chance: (
        "issuedAt",
        f"2026-13-{chance.randrange(10, 32)}T00:00:{chance.randrange(10, 60)}Z",
    ),
}


def _asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the wires' own reading is asked about from now on."""
    asked: list[bytes] = []
    whole = Judgement.whole

    def counted(self: Judgement, raw: bytes) -> tuple[int, int, int, int]:
        asked.append(raw)
        return whole(self, raw)

    monkeypatch.setattr(Judgement, "whole", counted)
    return asked


@pytest.mark.skipif(turnwire.backend == "pure", reason="the pure core asks each time")
@pytest.mark.parametrize("spaces", [(",", ":"), (", ", ": "), ("\t,\r", " :\t")])
@pytest.mark.parametrize("name", ITEMS)
def test_one_wrong_item_stands_for_all(name: str, spaces: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands around the first wrong item of an array, or the first wrong member of an object, does not matter."""
    asked = _asked(monkeypatch)
    chance = random.Random(5)
    base = next(fields for fields in OBJECTS["sap"] if "issuer" in fields)
    lines = []
    for _ in range(400):
        fields = varied(base, chance)
        path, value = ITEMS[name](chance)
        *steps, last = path.split("/")
        reduce(getitem, steps, fields)[last] = value
        lines.append(json.dumps(fields, separators=spaces).encode())
    found = turnwire.scan(b"\n".join(lines) + b"\n", wire="sap")
    assert (sum(map(len, found)), len(found.rejects)) == (0, 400)
    assert len(asked) < 20
    expected = [(str(fault.reason), fault.offset) for fault in map(_fault_of, lines)]
    rejects = found.rejects.rows()
    assert [(one["reason"], one["fault"] - one["offset"]) for one in rejects] == expected


def _fault_of(line: bytes) -> turnwire.DecodeError:
    with pytest.raises(turnwire.DecodeError) as caught:
        turnwire.decode(line, wire="sap")
    return caught.value


@pytest.mark.skipif(turnwire.backend == "pure", reason="the pure core asks each time")
def test_a_channel_with_an_escaped_sigil_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python writes the sigil of KickLang as \\u2afb where it is not told otherwise."""
    asked = _asked(monkeypatch)
    base = next(fields for fields in OBJECTS["kick"] if "channel" in fields)
    data = b"".join(json.dumps(base | {"sender": str(number)}).encode() + b"\n" for number in range(50))
    assert b"\\u2afb" in data
    found = [batch["channel"][0] for batch in turnwire.scan(data, wire="kick")]
    assert found == [base["channel"]]
    assert asked == []


@pytest.mark.skipif(turnwire.backend == "pure", reason="the pure core asks each time")
@pytest.mark.parametrize(("wire", "name"), [(wire, name) for wire in FAULTS for name in FAULTS[wire]])
def test_messages_that_differ_are_asked_about_once(wire: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _asked(monkeypatch)
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


@pytest.mark.parametrize("numbers", [(b"-1", b"-0", b"-7", b"-0"), (b"-0", b"-1", b"-0", b"0", b"-0.0", b"-2")])
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_minus_zero_is_not_taken_for_a_number_below_zero(wire: str, numbers: tuple[bytes, ...]) -> None:
    """It is read as a float; what was said of one of them, at any place, does not stand for the other."""
    lines = []
    for fields in OBJECTS[wire][:3]:
        fields = deepcopy(fields)
        for part, name in places(fields):
            value, part[name] = part[name], 987654
            lines += [line_of(fields).replace(b"987654", number) for number in numbers]
            part[name] = value
    both(wire, b"\n".join(lines) + b"\n")
