"""The core looks for the signs of lines as it reads them: it stops where there is one, and only there."""

from __future__ import annotations

import random
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import needs_both
from tests.log.json_engines import ENGINES, engine, scanner_of, scanner_plans, tables
from tests.log.over_lines import RECORDS
from tests.log.test_mixed import everything
from tests.nslip.twins import rounds
from turnwire import scan
from turnwire.framing import _line_heads_py as pure
from turnwire.json import scanner as json_scanner
from turnwire.log.engine.block_pass import Pass
from turnwire.log.engine.claims import CLAIMED, DAMAGED, empty_parts
from turnwire.nslip.spec import REASONS

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
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nx CSP/1\n\xe2\xab\xbb a\n>>>\n\n"


def log(chance: random.Random) -> bytes:
    lines = [SAP] * chance.choice((0, 3)) + [
        chance.choice(LINES[:14] if chance.random() < 0.9 else LINES) for _ in range(chance.randrange(1, 14))
    ]
    return b"\n".join(lines) + chance.choice((b"", b"\n"))


def shows(core: ModuleType, data: bytes, parts: dict[str, Any] | None = None, since: int = 0) -> bool:
    """Whether the core stops at a sign; it must come to the end of the data elsewhere."""
    scanner = scanner_of("sap")
    valid, escaped = json_scanner.bits(scanner.columns)
    plan = core.Plan(scanner_plans("sap"), scanner.columns, valid, escaped, json_scanner.REASONS)
    room = data.count(b"{") + 1 + (0 if parts is None else len(parts["what"]))
    columns, rejects = tables(scanner, room, room)
    state = json_scanner.LineState()
    end = len(data) if parts is None else len(parts["what"])
    *_, position, _ = core.scan_block(
        plan, data, 0, len(data), True, columns, 0, room, rejects, 0, room, state=state, signs=since, parts=parts
    )
    assert position in (-1, end)
    return bool(position < 0)


def claimed(data: bytes, chance: random.Random) -> dict[str, Any]:
    """Parts of the data as for the core: claims of whole lines, good and damaged ones, and what lies between."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    cuts = sorted(chance.sample(ends, 2 * chance.randrange(len(ends) // 2 + 1)))
    parts = empty_parts(len(cuts) + 1, 1)
    end = chance.choice((len(data), cuts[-1] if cuts else 0))
    parts["start"][1:], parts["stop"][:-1], parts["stop"][-1] = cuts, cuts, end
    for number in range(1, len(cuts), 2):
        parts["what"][number] = chance.choice((CLAIMED, DAMAGED))
    parts["line"][1::2] = [1 + data[:place].count(b"\n") for place in [*cuts[::2], end]]
    return parts


@pytest.mark.parametrize("name", ENGINES)
def test_the_core_stops_exactly_where_a_line_shows_a_sign(name: str) -> None:
    chance, seen = random.Random(13), set()
    with engine(name) as core:
        for _ in range(rounds(200)):
            data = log(chance)
            wanted = pure.signs(data, 0, len(data)) != (-1, 0)
            assert shows(core, data) == wanted, data
            seen.add(wanted)
    assert seen == {True, False}


@pytest.mark.parametrize("name", ENGINES)
def test_between_claims_too(name: str) -> None:
    chance, seen = random.Random(14), set()
    with engine(name) as core:
        for _ in range(rounds(100)):
            data = log(chance)
            parts = claimed(data, chance)
            good = parts["what"] == CLAIMED
            since = chance.choice((0, 0, data.find(b"\n") + 1))
            stop = int(parts["stop"][-1])
            asked = data, parts["start"][good], parts["stop"][good], since, stop
            wanted = since < stop and pure.signs_between(*asked) != 0
            assert shows(core, data, parts, since) == wanted, (data, parts, since)
            seen.add(wanted)
        for stop in (2, 4, 8):
            parts = empty_parts(1, 1)
            parts["stop"][0] = stop
            assert shows(core, b"a\nb\n```\n", parts) == (stop == 8), "what is behind the last part is not looked at"
    assert seen == {True, False}


@usesbackend
@pytest.mark.parametrize("wire", [None, "sap"])
@pytest.mark.parametrize("way", ["_without_signs", "_around_claims"])
def test_what_is_found_is_that_of_the_careful_way(wire: str | None, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(31)
    logs = [(log(chance), chance.randrange(300, 5000)) for _ in range(rounds(30))]
    if way == "_around_claims":
        logs = [(b"".join(CSP + log(chance) for _ in range(chance.randrange(1, 5))), size) for _, size in logs]
    found = [everything(scan(data, wire=wire, batch_bytes=size)) for data, size in logs]
    monkeypatch.setattr(Pass, way, lambda *_: None)
    for (data, size), before in zip(logs, found, strict=True):
        assert everything(scan(data, wire=wire, batch_bytes=size))[:2] == before[:2], (data, size)


@needs_both
def test_a_plan_with_more_reasons_of_nslip_than_there_are_is_refused() -> None:
    """They would be written behind the room for them."""
    scanner = scanner_of("sap")
    core = import_module("turnwire._native.json.lines")
    valid, escaped = json_scanner.bits(scanner.columns)
    for count in (len(REASONS), len(REASONS) + 1, 5000):
        nslip = (0, [0] * 11, [0] * count)
        plan = core.Plan(scanner_plans("sap"), scanner.columns, valid, escaped, json_scanner.REASONS, nslip)
        columns, rejects = tables(scanner, 1, 1)
        read = partial(core.scan_block, plan, b"{}\n", 0, 3, True, columns, 0, 1, rejects, 0, 1)
        if count == len(REASONS):
            read(state=json_scanner.LineState())
            continue
        with pytest.raises(ValueError, match="reasons"):
            read(state=json_scanner.LineState())
