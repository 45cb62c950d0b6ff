"""Messages that repeat one another but for some values: the native JSON scan compares them with the text of one that
was good. Whatever stands in the place of a value, or around it, it reads what the pure core reads."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.json_engines import JSON_WIRES, RECORDS, both

pytestmark = pytest.mark.once

SEEDS = st.integers(0, 1 << 40)
OBJECTS = {
    wire: [fields for text in RECORDS[wire] if isinstance(fields := json.loads(text), dict)] for wire in JSON_WIRES
}
TEXTS = (
    "",
    "a",
    "query",
    "knowledge",
    "partial",
    "planner",
    "x" * 63,
    "x" * 64,
    "x" * 200,
    "\u00e9",
    "\u30ec\u30d3\u30e5\u30fc" * 20,
    'so "on"\n',
    "\\",
    "\U0001f600" * 17,
    "2026-11-22T07:00:00Z",
    "2026-11-22T07:00:59Z",
    "2026-11-22T07:00:60Z",
    "2026-11-22T07:01:00.25Z",
    "3ceaaf30-8142-48ea-91d9-3080f9b439fc",
    "3ceaaf30-8142-48ea-91d9-3080f9b439fg",
    "\u2afbreport/status",
)
NUMBERS = (0, 1, 7, 10, -1, 0.5, -0.25, 86400, 1234567890123456789, 1.5e300)
SESSION = {
    "header": {
        "kind": "knowledge",
        "actor_id": "a",
        "schema_id": "ioc.knowledge.v0",
        "session_id": "s",
        "policy_labels": [],
        "logical_clock": 2,
    },
    "payload": {"content": "c", "confidence": 0.5, "evidence_refs": []},
}


def line_of(fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def changed(value: Any, chance: random.Random, share: float) -> Any:
    """The same with some of its values others, mostly of the same kind, and some members gone."""
    if isinstance(value, dict):
        members = [(name, changed(inner, chance, share)) for name, inner in value.items()]
        return dict(member for member in members if chance.random() > share / 20)
    if isinstance(value, list):
        items = [changed(item, chance, share) for item in value]
        return items * 2 if chance.random() < share / 10 else items
    if chance.random() > share:
        return value
    if chance.random() < 0.1:
        return chance.choice((None, True, "x", 1, {}, [], {"a": 1}))
    if isinstance(value, str):
        return chance.choice((*TEXTS, value + "x", value[:-1] + "y", value.upper()))
    if isinstance(value, bool):
        return not value
    return chance.choice(NUMBERS) if isinstance(value, int | float) else value


def damaged(line: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(line))
    odd = chance.choice((b"", b'"', b"\\", b"\x00", b"\xff", b"{", b"}", b",", b"9", b"\t"))
    return line[:place] + odd + line[place + chance.randrange(3) :]


def log_of(wire: str, chance: random.Random) -> bytes:
    shapes = chance.sample(OBJECTS[wire], k=min(chance.randrange(1, 4), len(OBJECTS[wire])))
    share = chance.choice((0.02, 0.1, 0.3))
    parts = []
    for _ in range(chance.randrange(5, 30)):
        line = line_of(changed(chance.choice(shapes), chance, share))
        if chance.random() < 0.05:
            line = damaged(line, chance)
        if chance.random() < 0.05:
            line = b"2026-11-22T07:00:00Z " + line
        parts.append(line + chance.choice((b"\n",) * 12 + (b"\r\n", b" \n", b"\n\n", b" end\n", b"{}\n", b"\r\r\n")))
    return b"".join(parts)


@pytest.mark.parametrize("wire", JSON_WIRES)
@given(seed=SEEDS)
def test_messages_that_repeat_but_for_some_values(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    data = log_of(wire, chance)
    both(wire, data)
    both(wire, data, rooms=(chance.randrange(1, 6), chance.randrange(1, 4)))
    both(wire, data, cuts=tuple(sorted(chance.randrange(len(data) + 1) for _ in range(3))))
    both(wire, data, limit=chance.randrange(100, 1200))


def judged(*lines: bytes) -> list[bool]:
    """Whether each line, read after the others, is a record, of which the others must be one."""
    found = both("sstp", b"\n".join(lines) + b"\n")
    starts, there = accumulate((len(line) + 1 for line in lines[:-1]), initial=0), set(found.columns["offset"])
    return [start in there for start in starts]


def with_payload(**members: Any) -> bytes:
    return line_of({**SESSION, "payload": {**SESSION["payload"], **members}})


@pytest.mark.parametrize(
    ("before", "behind", "good"),
    [
        (b'"c"', b'"other"', True),
        (b'"c"', b'"\\u00e9\\n"', True),
        (b'"c"', b'"\\ud83d\\ude00"', True),
        (b'"c"', b'"\\ud83d"', False),
        (b'"c"', b'"\xff"', False),
        (b'"c"', b'"\t"', False),
        (b'"c"', b'"\n"', False),
        (b'"c"', b"1", False),
        (b'"c"', b'"c","content":"d"', False),
        (b'"c"', b'"c","x":"d"', True),
        (b"0.5", b"0.25", True),
        (b"0.5", b"1e400", False),
        (b"0.5", b"00.5", False),
        (b"0.5", b"0.5.5", False),
        (b"0.5", b"-", False),
        (b"0.5", b'"0.5"', False),
        (b'"s"', b'""', True),
        (b"}}", b"}", False),
        (b"}}", b"}}}", True),
        (b"}}", b"}} ", True),
    ],
)
def test_other_values_in_a_known_shape(before: bytes, behind: bytes, good: bool) -> None:
    """Once with the value known to change, and once with the value known to be always the same."""
    varied = [with_payload(content="x" * number, confidence=number / 8) for number in range(8)]
    same = [with_payload()] * 8
    for known in (varied, same):
        line = with_payload().replace(before, behind, 1)
        assert judged(*known, line, *known, line)[8::9] == [good, good]


def test_what_one_shape_has_another_lacks() -> None:
    """The first is met up to its end and is not it after all; nothing of it may be left."""
    header = {**SESSION["header"], "parent_ids": ["p"]}
    first = [line_of({**SESSION, "payload": {**SESSION["payload"], "x": f"{n}"}, "y": "z"}) for n in range(6)]
    second = [line_of({**SESSION, "header": header, "payload": {**SESSION["payload"], "x": f"{n}"}}) for n in range(6)]
    query = {"question": "q", "required_fields": [], "uncertainty": 0.5, "directed_to": "b"}
    asked = {**SESSION["header"], "kind": "query", "schema_id": "ioc.query.v0"}
    third = [line_of({"payload": {**query, "directed_to": f"{n}"}, "header": asked, "y": n}) for n in range(6)]
    fourth = [
        line_of({"payload": {"question": "q", "directed_to": f"{n}", "content": "c"} | SESSION["payload"]} | SESSION)
        for n in range(6)
    ]
    lines = [line for lines in zip(first, second, third, fourth, strict=True) for line in lines]
    both("sstp", b"\n".join(lines * 3))


@pytest.mark.parametrize("odd", [True, None, "1", "", {}, [1]])
def test_numbers_that_are_none(odd: Any) -> None:
    """An object of which nobody asks for the keys, but that all of its values are numbers."""
    for fields in OBJECTS["sap"]:
        if not isinstance(fields.get("constitutionalContext"), dict):
            continue
        lines = []
        for number in (1, 2.5, 30, -4, odd, 7, odd):
            context = {**fields["constitutionalContext"], "pressure": {"a": number, "b": 1}}
            lines.append(line_of({**fields, "constitutionalContext": context}))
        both("sap", b"\n".join(lines))


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_keys_that_differ_in_a_letter(wire: str) -> None:
    """A shape that parted from another is not gone on with after the place where it did."""
    for fields in OBJECTS[wire][:4]:
        for name, value in {**fields, "messageId": "m", "reason": "r"}.items():
            if not isinstance(value, str):
                continue
            rest = {key: inner for key, inner in fields.items() if key != name}
            lines = []
            for key, behind in ((name, "zz"), (f"{name[:-1]}~", "yy"), (f"{name[:-1]}~", "zz"), (name, "yy")) * 2:
                # One value alone makes a slot, the next one fits it.
                lines += [line_of({key: value + text, behind: text, **rest}) for text in ("", "1", "22")]
                lines += [line_of({key: value, behind: text, **rest}) for text in ("333", "4444")]
            both(wire, b"\n".join(lines))


def test_what_fits_may_not_go_on_behind_its_line() -> None:
    """What goes on after its line fits no template, and is read all the same: in strings and on lines."""
    texts = [with_payload(content=str(number)).replace(b',"payload"', b',\n"payload"') for number in range(6)]
    wrapped = [line_of({"log": text.decode()}) for text in texts]
    assert both("sstp", b"\n".join(wrapped)).rows == len(texts)
    found = both("sstp", b"\n".join([*wrapped, *texts, *wrapped]) + b"\n")
    assert found.rows == 3 * len(texts)


def test_more_shapes_than_there_are_templates() -> None:
    chance = random.Random(11)
    lines = []
    for number in range(3000):
        values = (1, "x", None, [1], [1, 2])
        members = {f"k{chance.randrange(9)}": chance.choice(values) for _ in range(4)}
        lines.append(with_payload(**(members if number % 1000 < 700 else {"n": number})))
    assert all(judged(*lines))


@pytest.mark.parametrize("count", [40, 47, 48, 49, 60, 191, 192, 193])
def test_many_values_that_change(count: int) -> None:
    """More than a template has room for."""
    lines = [with_payload(**{f"k{place}": number + place for place in range(count)}) for number in range(5)]
    assert judged(*lines, lines[0][:-1], *lines) == [True] * 5 + [False] + [True] * 5


@pytest.mark.parametrize("size", [3000, 3900, 4096, 4097, 9000])
def test_messages_as_long_as_a_template(size: int) -> None:
    line = with_payload()
    lines = [with_payload(content=str(number) + "x" * (size - len(line))) for number in range(5)]
    assert judged(*lines, lines[2].replace(b"xxx", b"x\x00x"), *lines) == [True] * 5 + [False] + [True] * 5


TIMES = (
    "2026-11-22T07:00:00Z",
    "2026-11-22T07:00:59Z",
    "2026-11-22T07:00:60Z",
    "2026-11-22T07:00:61Z",
    "2026-11-22T07:00:5Z",
    "2026-11-22T07:00:05z",
    "2026-11-22T07:00:05",
    "2026-11-22T07:00:05.Z",
    "2026-11-22T07:00:05.1Z",
    "2026-11-22T07:00:05.123456789Z",
    "2026-11-22T07:00:05,5Z",
    "2026-11-22T07:00:05+02:00",
    "2026-11-22T07:00:05.5+02:00",
    "2026-11-22T07:00:05ZZ",
    "2026-11-22T07:00 05Z",
    "2026-11-22T07:00:0\u00e9Z",
    "2026-11-22t07:00:05Z",
    "2026-11-22 07:00:05Z",
    "2026-11-31T07:00:05Z",
    "0001-01-01T00:00:05Z",
    "9999-12-31T23:59:05Z",
    "\x00" * 16 + ":05Z",
    "\x00" * 17 + "05Z",
    "",
)


@pytest.mark.parametrize(("wire", "name"), [("sap", "issuedAt"), ("kick", "timestamp")])
@pytest.mark.parametrize("escaped", [False, True])
def test_times_of_one_minute(wire: str, name: str, escaped: bool) -> None:
    fields = next(found for found in OBJECTS[wire] if name in found)
    lines = []
    for odd in TIMES:
        for text in ("2026-11-22T07:00:01Z", odd, "2026-11-22T07:00:02Z"):
            line = json.dumps({**fields, name: "TIME"}, separators=(",", ":"))
            value = json.dumps(text)
            lines.append(line.replace('"TIME"', value.replace("-", "\\u002d") if escaped and text is odd else value))
    assert both(wire, "\n".join(lines).encode()).rows > len(TIMES)


def test_escapes_over_every_place_of_a_block() -> None:
    for piece in [r"\n", r"\"", r"\\", r"\\\\\n", r"\/", r"\b\f\r\t", r"\u00e9", r"\uD83D\uDE00", r"\u0041\u0042\\"]:
        lines = [with_payload().replace(b'"c"', b'"%s%s"' % (b"x" * size, piece.encode())) for size in range(140)]
        assert judged(*lines) == [True] * len(lines)
    for piece in [r"\x", r"\'", r"\N", r"\u00", r"\uD83D", r"\uDE00", r"\uD83D\u0041", r"\uD83Dx", r"\u00eg"]:
        lines = [with_payload().replace(b'"c"', b'"%s%s\\n"' % (b"x" * size, piece.encode())) for size in range(140)]
        assert judged(*lines) == [False] * len(lines)
