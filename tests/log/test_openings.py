"""What stands in front of a string of JSON: one wire is read by quicker ways than all, and finds the same in it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.log.test_matrix import BAD, GOOD
from tests.log.test_plan import rows
from tests.nslip.twins import rounds
from turnwire import WIRES, scan

pytestmark = pytest.mark.usefixtures("scan_core")

OPENINGS = (
    *("", "[", "[[", "[7, ", "[[7,", "[true,", "[null, -1.5e3,", "7, ", "[\n", "[\n  ", "[\n 7, ", "[\n 7,\n", "[[1],"),
    *("[1,\n2, ", "[]\n[7,", " [7,", "[main] ", "x ", "\t[ 7 ,\t", "[{}, ", '[{"a": 1}, ', '["", ', '["x", ', "[[], "),
    *('{"a": ', '{"a": [', '{"a": [7, ', '{ "a":1, "b": ', '{\n"a": ', '{"a": {}, "b": ', "{}\n[", '[{\n"a": '),
    *('{"a": "\\\\", "c": ', 'x {"a": ', "x [", "x: [7, ", "> [", "- [", "\ufeff[", '\ufeff{"a":', "null ", '"x" '),
    *('{"a\\"": ', "{'a': ", "INFO {} [", '{"MESSAGE": ', '{"log": ', "2026-01-02T03:04:05Z stdout F [", "T03:04Z P ["),
)
ENDS = ("", "]", "]]", "}", "]}", "\n]", "\n}", ', "z"]', ', "z": [1]}', ", 7", "}}]", "\n]}")
BEHIND = ("\n", "\n", "\r\n", " ", "\n\n", "")


def logs(chance: random.Random, wire: str) -> Iterator[bytes]:
    """Each opening in front of strings of JSON with a message, whole, refused and cut; alone, then several together:
    a quick way is left for all of them where one does not let it."""
    whole, refused = GOOD[wire], BAD[wire]
    alone = []
    for opening in OPENINGS:
        for message in (whole, refused, whole[: chance.randrange(1, len(whole))], refused[: len(refused) // 2]):
            for _ in range(chance.choice((1, 1, 1, 2))):
                message = json.dumps(message, ensure_ascii=chance.random() < 0.2)
            alone.append((opening + message + chance.choice(ENDS) + chance.choice(BEHIND)).encode())
    yield from alone
    for _ in range(rounds(50)):
        yield b"".join(chance.sample(alone, chance.choice((2, 3, 5))))


def found(data: bytes, wire: str, asked: str | None, batch_bytes: int) -> tuple[list[Any], list[Any]]:
    """The records and rejects of a wire."""
    scanned = scan(data, wire=asked, batch_bytes=batch_bytes)
    number = list(WIRES).index(wire)
    names = ("offset", "length", "line", "inner", "sender", "subject", "raw")
    records = [tuple(row[name] for name in names) for row in rows(scanned) if row["wire"] == number]
    return records, [reject for reject in scanned.rejects.rows() if reject["wire"] == wire]


@pytest.mark.parametrize("wire", WIRES)
def test_one_wire_finds_what_all_wires_find(wire: str) -> None:
    chance, records, rejects = random.Random(5), 0, 0
    for data in logs(chance, wire):
        batch_bytes = chance.choice((1 << 20, 300))
        alone = found(data, wire, wire, batch_bytes)
        assert alone == found(data, wire, None, batch_bytes), data
        records, rejects = records + len(alone[0]), rejects + len(alone[1])
    assert records > 60 and rejects > 60
