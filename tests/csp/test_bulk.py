"""Scans of CSP/1 by both cores: what the messages say in the columns, and what damage costs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests import vectors
from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import THINNED, rounds
from tests.csp.generate import ODD_LINES, document
from tests.log.engines import ENGINES, LIMIT, Read, read
from turnwire.csp import spec
from turnwire.csp._lines_py import EXACT, NEAR, TEXT, classify_magic_line
from turnwire.csp.bulk import decode
from turnwire.csp.messages import FileOp, Generic, Op, Patch, Template

pytestmark = pytest.mark.once  # each test runs on both cores
CORES = list(dict.fromkeys((ENGINES[0], ENGINES[-1])))
COLUMNS = (*spec.BULK_TEXTS, *spec.BULK_ENUMS)


def agreed(data: bytes, limit: int = LIMIT) -> Read:
    """The results of a scan, the same by both cores."""
    found = read(CORES[0], data, wire="csp", limit=limit)
    for name in CORES[1:]:
        assert read(name, data, wire="csp", limit=limit) == found, data
    return found


def places(found: Read) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Offset and length of the records, and of the rejects."""
    columns, rejects, _ = found
    records = list(zip(columns["offset"], columns["length"], strict=True))
    return records, [(one["offset"], one["length"]) for one in rejects]


def log(seed: int) -> bytes:
    """Damaged documents among lines of a log, some of which look like parts of a message."""
    rng = random.Random(seed)
    lines = ["2026-05-04 INFO x", "INFO start", "", "<<<", ">>>", "@a3|f0#", "bob@example.com", *ODD_LINES]
    parts = []
    for number in range(rng.randrange(1, 4)):
        parts.append("".join(f"{line}\n" for line in rng.choices(lines, k=rng.choice((0, 0, 2, 5)))).encode())
        part = document(50_000 + 10 * seed + number, damage=rng.choice([0.0, 0.05, 0.15, 0.4]))
        parts.append(part if part.endswith(b"\n") or rng.random() < 0.2 else part + b"\n")
    return b"".join(parts)


def begins_message(data: bytes, place: int) -> bool:
    """True if the line at a place, which says CSP/1 or nearly so, begins a message or a look-alike, damaged or not."""
    line = data[place:].partition(b"\n")[0].removesuffix(b"\r")
    return classify_magic_line(data, place, len(data), True, EXACT if line == b"CSP/1" else NEAR) != TEXT


def values(message: Any) -> dict[str, Any]:
    """The values of a message's columns, from the message itself."""
    if isinstance(message, Template):
        return {"flags": ";".join(message.flags)}
    found = {"from": message.sender, "to": message.receiver, "ctx": message.ctx, "id": message.block.id}
    block = message.block
    if isinstance(block, Patch):
        return {**found, "base": block.base, "apply": block.apply}
    if isinstance(block, Generic):
        return found
    found |= {key.lower(): value for key, value in block.fields}
    return {**found, "op": block.op} if isinstance(block, FileOp) else found


@pytest.mark.parametrize("name", CORES)
def test_columns_are_what_decoding_one_by_one_gives(name: str) -> None:
    seen = set()
    for seed in range(rounds(150)):
        data = log(seed)
        columns, _, _ = read(name, data, wire="csp")
        for row, raw in enumerate(columns["raw"]):
            message = decode(raw)
            kind = spec.BULK_KINDS[columns["intent"][row]]
            seen.add(kind)
            texts = {name: columns[name][row] for name in COLUMNS if columns[name][row] is not None}
            texts |= {name: words[texts[name]].value for name, words in spec.BULK_ENUMS.items() if name in texts}
            lines = texts.pop(spec.BULK_LINES.get(kind, ""), None)
            assert texts == values(message), raw
            assert (lines is None) == (kind not in spec.BULK_LINES)
            if isinstance(message, Template):
                assert kind == "TEMPLATE"
                assert [line.removesuffix("\r") for line in lines.split("\n")] == (message.lines or [""])
            else:
                assert kind == message.intent
            if kind == "PATCH":
                ops = [line.removesuffix("\r").rstrip(" ") for line in lines.split("\n")] if lines else []
                assert ops == [written(op) for op in message.block.ops]
            if kind in ("PLAN", "QUERY", "MEM"):
                assert lines.count("\n") + bool(lines) >= len(message.block.fields)
                assert all(key in lines and value in lines for key, value in message.block.fields)
    assert seen == set(spec.BULK_KINDS)


def written(op: Op) -> str:
    """The line of an operation without spaces at its end."""
    sign, name, value = op
    assignment = {"+": f" = {value}", "~": f" := {value}", "-": ""}[sign]
    return f"{sign} DEF {name}{assignment}".rstrip(" ")


GOOD = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x\n"
TASK = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\n"


@vectors.cases("damage", kind="message")
def test_damage_costs_itself_and_no_more(case: dict[str, Any]) -> None:
    """A damaged message is its first lines and what more belongs to it; then there is text, and a good message."""
    parts = (
        (case[part].encode() for part in ("head", "more", "behind"))
        if "head" in case
        else map(bytes.fromhex, case["hex"])
    )
    head, more, text = parts
    data = b"note\n" + GOOD + b"\n" + head + more + text + GOOD
    found = agreed(data)
    start = data.index(head, 5 + len(GOOD))
    records, rejects = places(found)
    blank = len(head) - len(head.lstrip(b" "))  # the range begins with the first byte of its own
    assert rejects == [(start + blank, len(head + more) - blank)]
    assert [offset for offset, _ in records] == [5, start + len(head + more + text)]
    assert found[0]["inside_unclosed_heredoc"] == [False, case["about"] == "a heredoc that never closes"]


def test_every_truncation_and_every_bit() -> None:
    data = GOOD + b"\r\nx\n" + TASK + b"REQ\n<<<\nCSP/1\n>>>\n"
    for size in range(0, len(data) + 1, THINNED):
        agreed(data[:size])
    for place in range(0, len(GOOD) - 1, THINNED):
        for bit in range(place % 4, 8, 4):  # each bit of every fourth byte
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            records, _ = places(agreed(bytes(changed)))
            assert [offset for offset, _ in records[-1:]] == [data.index(TASK)], "the next message is found"
