"""No log that breaks a clause conforms, and none that keeps all fails, on both cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.log.conftest import scan_core as scan_core
from tests.read.honest import csp, kick, nslip, sap, sstp
from turnwire.checklists import CONFORMS, FAIL, FAILS
from turnwire.read.judging import conform

TABLES = {"nslip": nslip, "csp": csp, "sstp": sstp, "sap": sap, "kick": kick}
UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@pytest.mark.parametrize("wire", TABLES)
@pytest.mark.usefixtures("scan_core")
def test_what_breaks_a_clause_does_not_conform(wire: str) -> None:
    cases: dict[str, str] = TABLES[wire].BROKEN  # type: ignore[attr-defined]
    verdicts = {name: conform(wire, log.encode()).verdict for name, log in cases.items()}
    assert {name: verdict for name, verdict in verdicts.items() if verdict != FAILS} == {}


@pytest.mark.parametrize("wire", TABLES)
@pytest.mark.usefixtures("scan_core")
def test_what_keeps_all_conforms(wire: str) -> None:
    cases: dict[str, str] = TABLES[wire].GOOD  # type: ignore[attr-defined]
    judged = {name: conform(wire, log.encode()) for name, log in cases.items()}
    wrong = {
        name: [str(line) for line in checklist if line.status == FAIL] or checklist.verdict
        for name, checklist in judged.items()
        if checklist.verdict != CONFORMS
    }
    assert wrong == {}


@pytest.mark.usefixtures("scan_core")
def test_the_upstream_lines_conform() -> None:
    assert conform("nslip", UPSTREAM.read_bytes()).verdict == CONFORMS
