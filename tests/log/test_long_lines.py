"""Lines that never seem to end, of JSON wires and of all of them: what is on one is read once, damaged or not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import turnwire
from tests.cost.measuring import is_bounded
from tests.counting import called
from turnwire.json import plan as json_plan
from turnwire.log.engine import block_pass

NSLIP = '@a3|f0|c1|S0|d1|T1|t"goal"# '
SSTP = json.dumps(
    {
        "header": {
            "kind": "knowledge",
            "actor_id": "a",
            "schema_id": "ioc.knowledge.v0",
            "session_id": "s",
            "logical_clock": 2,
        },
        "payload": {"content": "c", "confidence": 0.5, "evidence_refs": []},
    }
)
TOLD = '{"time":"2026-11-22T07:00:00Z","log":"{\\"a\\":1}"'
MARKS = '{"header":{"actor_id":1,"schema_id":2},"messages":['
SHAPES = {
    "cut off messages": lambda size: SSTP[:-1] * (size // len(SSTP)),
    "cut off, objects within": lambda size: MARKS + '{"role":"user","content":"hi"},' * (size // 31),
    "cut off, strings within": lambda size: MARKS + '{"function":{"arguments":"{\\"path\\":1}"}},' * (size // 43),
    "cut off wrappers": lambda size: TOLD * (size // len(TOLD)),
    "good nSLIP": lambda size: NSLIP * (size // len(NSLIP)),
    "good nSLIP and braces": lambda size: (NSLIP + "{") * (size // len(NSLIP)),
    "damaged nSLIP": lambda size: "@a1|" * (size // 4),
    "damaged nSLIP and braces": lambda size: "@a1|{" * (size // 5),
    "nSLIP in a string": lambda size: json.dumps({"log": NSLIP * (size // len(NSLIP))}),
    "messages in a string": lambda size: json.dumps({"log": SSTP * (size // len(SSTP))}),
    "messages in a string of a string": lambda size: json.dumps({"x": json.dumps([SSTP] * (size // len(SSTP)))}),
}


def read(data: bytes, **options: Any) -> turnwire.Scan:
    scan = turnwire.scan(data, errors="skip", **options)
    for _ in scan:
        pass
    counts = scan.counts
    assert counts.bytes == counts.records + counts.rejects + counts.text == len(data)
    return scan


@pytest.mark.parametrize("shape", SHAPES)
def test_time_is_linear_on_one_line(shape: str, scan_core: str) -> None:
    """Sixteen times as much may take sixteen times as long, not 256 times."""
    size = 1_500 if scan_core == "pure" else 20_000

    def seconds(times: int) -> float:
        data = SHAPES[shape](size * times).encode()
        start = time.process_time()
        read(data)
        return time.process_time() - start

    assert is_bounded(lambda: seconds(1), lambda: seconds(16), 64, 0.1)


def test_tables_of_rejects_grow_on_a_line_of_damage(scan_core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table that is full costs a look at what is left of the line."""
    calls = called(monkeypatch, block_pass._core, "scan_block")
    scan = read(SHAPES["damaged nSLIP and braces"](90_000).encode())
    assert sum(scan.counts.reasons.values()) > 13_500
    assert 0 < len(calls) < 4


@pytest.mark.parametrize("wire", ["sstp", None])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.startswith("cut off")])
def test_damaged_bytes_are_judged_once(
    shape: str, wire: str | None, scan_core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = 0
    torn = json_plan.Judgement.torn

    def counted(self: Any, raw: bytes, too_large: bool) -> Any:
        nonlocal judged
        judged += len(raw)
        return torn(self, raw, too_large)

    monkeypatch.setattr(json_plan.Judgement, "torn", counted)
    data = SHAPES[shape](7_000).encode()
    read(data, wire=wire)
    assert judged <= len(data)
    read(data + b" " + SSTP.encode() + b" " + data, wire=wire)
    assert judged <= 5 * len(data)


@pytest.mark.parametrize("wire", ["sstp", None])
def test_a_record_ends_what_is_damaged_before_it(wire: str | None, scan_core: str) -> None:
    damaged = SHAPES["cut off, objects within"](200)
    within = f'{{"said":[{SSTP},{SSTP}]}}'
    scan = turnwire.scan(f"{damaged}{within} {damaged}\n".encode(), wire=wire, columns=["offset", "length"])
    places = [place for batch in scan for place in zip(batch["offset"].tolist(), batch["length"].tolist(), strict=True)]
    first = len(damaged) + len('{"said":[')
    assert places == [(first, len(SSTP)), (first + len(SSTP) + 1, len(SSTP))]
    rejects = [(row["offset"], row["length"]) for row in scan.rejects.rows()]
    behind = len(damaged) + len(within)
    assert rejects[0] == (0, len(damaged))
    assert rejects[1][0] in (behind, behind + 1)
    assert sum(rejects[1]) == 2 * len(damaged) + len(within) + 1
