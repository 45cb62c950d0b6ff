"""No log that breaks a clause conforms, and none that keeps all fails, on both cores: the logs of
``verdicts.jsonl``, whose names say what is wrong, or what could look wrong and is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.log.conftest import scan_core as scan_core
from turnwire.checklists import CONFORMS
from turnwire.read.located import conform

CASES = [json.loads(line) for line in (Path(__file__).parent / "verdicts.jsonl").read_text("utf-8").splitlines()]
UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@pytest.mark.parametrize("verdict", sorted({case["verdict"] for case in CASES}))
@pytest.mark.parametrize("wire", ["nslip", "csp", "sstp", "sap", "kick"])
@pytest.mark.usefixtures("scan_core")
def test_each_log_has_its_verdict(wire: str, verdict: str) -> None:
    cases = [case for case in CASES if (case["wire"], case["verdict"]) == (wire, verdict)]
    assert len(cases) > 20
    judged = {case["id"]: conform(wire, case["log"].encode()) for case in cases}
    assert [f"{name}: {checklist}" for name, checklist in judged.items() if checklist.verdict != verdict] == []


@pytest.mark.usefixtures("scan_core")
def test_the_upstream_lines_conform() -> None:
    assert conform("nslip", UPSTREAM.read_bytes()).verdict == CONFORMS
