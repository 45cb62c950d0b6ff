"""The core looks for the signs of lines as it reads them: it stops where there is one, and only there."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from tests.log.json_engines import ENGINES, engine, scanner_of, scanner_plans, tables
from tests.log.over_lines import RECORDS
from tests.log.test_mixed import everything
from tests.nslip.twins import rounds
from turnwire import scan
from turnwire._pure.log import line_heads as pure
from turnwire.json import scanner as json_scanner
from turnwire.log.engine.block_pass import Pass

usesbackend = pytest.mark.usefixtures("scan_core")
SAP = RECORDS["sap"][0]
LINES = (
    *(
        SAP,
        SAP,
        SAP,
        SAP + b"\r",
        SAP + b" ",
        b"text",
        b"",
        b" {",
        b"x " + SAP,
        b"[1, ",
        b"{",
        b'{"a": [',
        b'  "b": 1',
        b"}",
    ),
    *(b'{"log": "' + b"a" * 16400 + b'"}', b'{"a": "' + b"b" * 16400 + b'"}', b'{"a": "CSP/1;b"}', b'{"a": "CSP/1"}'),
    *(b"CSP/1", b"x CSP/1", b"x CSP/1\r", b"  ```", b"    ```", b"~~~", b"\xe2\xab\xbb a", b"\xef\xbb\xbf\xe2\xab\xbb"),
    *(b"2026-11-22T07:00:00.5Z stdout P a", b"2026-11-22T07:00:00.5Z stderr F a", b"2026-11-22T07:00:00 stdout P:x b"),
)
"""Most show nothing."""


def log(chance: random.Random) -> bytes:
    lines = [SAP] * chance.choice((0, 3)) + [
        chance.choice(LINES[:14] if chance.random() < 0.9 else LINES) for _ in range(chance.randrange(1, 14))
    ]
    return b"\n".join(lines) + chance.choice((b"", b"\n"))


def shows(core: ModuleType, data: bytes) -> bool:
    """Whether the core stops at a sign; it must come to the end of the data elsewhere."""
    scanner = scanner_of("sap")
    valid, escaped = json_scanner.bits(scanner.columns)
    plan = core.Plan(scanner_plans("sap"), scanner.columns, valid, escaped, json_scanner.REASONS)
    room = data.count(b"{") + 1
    columns, rejects = tables(scanner, room, room)
    state = json_scanner.LineState()
    *_, position, _ = core.scan_block(
        plan, data, 0, len(data), True, columns, 0, room, rejects, 0, room, state=state, signs=True
    )
    assert position in (-1, len(data))
    return bool(position < 0)


@pytest.mark.parametrize("name", ENGINES)
def test_the_core_stops_exactly_where_a_line_shows_a_sign(name: str) -> None:
    chance, seen = random.Random(13), set()
    with engine(name) as core:
        for _ in range(rounds(400)):
            data = log(chance)
            wanted = pure.signs(data, 0, len(data)) != (-1, 0)
            assert shows(core, data) == wanted, data
            seen.add(wanted)
    assert seen == {True, False}


@usesbackend
@pytest.mark.parametrize("wire", [None, "sap"])
def test_what_is_found_is_that_of_the_careful_way(wire: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(31)
    logs = [(log(chance), chance.randrange(300, 5000)) for _ in range(rounds(60))]
    found = [everything(scan(data, wire=wire, batch_bytes=size)) for data, size in logs]
    monkeypatch.setattr(Pass, "_without_signs", lambda *_: None)
    for (data, size), before in zip(logs, found, strict=True):
        assert everything(scan(data, wire=wire, batch_bytes=size))[:2] == before[:2], (data, size)
