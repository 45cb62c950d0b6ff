"""Each log of tests/clauses, named CLAUSE.VERDICT, has that verdict; each clause of a specification has some logs."""

from __future__ import annotations

import pytest

from tests.clauses import TEXTS
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core as scan_core
from turnwire import registry
from turnwire.checklists import FAIL, OPEN, PASS
from turnwire.read.judging import conform, specification

JUDGED = [name for name in registry.names() if registry.wire(name).checklist is not None]


@pytest.mark.parametrize("wire", JUDGED)
def test_each_clause_has_logs_that_keep_it_and_others(wire: str) -> None:
    verdicts: dict[str, set[str]] = {clause.id: set() for clause in specification(wire).clauses}
    for of, name in TEXTS:
        if of == wire:
            clause, _, verdict = name.partition(".")
            verdicts[clause].add(verdict)
    assert all("pass" in some and len(some) > 1 for some in verdicts.values()), verdicts


@pytest.mark.parametrize(("wire", "name"), list(TEXTS))
@pytest.mark.usefixtures("scan_core")
def test_the_verdict_of_each_log(wire: str, name: str) -> None:
    checklist = conform(wire, TEXTS[wire, name])
    clause, _, kind = name.partition(".")
    line = checklist.line(clause)
    if kind == "pass":
        assert (line.status, line.doubts, checklist.verdict) == (PASS, (), "conforms"), str(checklist)
    elif kind == "doubtful":
        assert line.status == PASS and line.doubts
    else:
        assert line.status == {"fail": FAIL, "open": OPEN}[kind]
        assert checklist.verdict == {"fail": "does not conform", "open": "is open"}[kind]
    for fault in (*line.faults, *line.open, *line.doubts):
        assert fault.line >= 1 and fault.offset is not None and fault.text


@pytest.mark.parametrize("wire", JUDGED)
def test_the_command_prints_the_clauses(wire: str) -> None:
    done = run("conform", wire, "--clauses")
    assert done.code == 0
    for clause in specification(wire).clauses:
        assert f"[x] {clause.id}: {clause.text} ({clause.section})\n" in done.out.decode()
    for one in specification(wire).untested:
        assert f"[-] {one.text} ({one.section}): {one.reason}\n" in done.out.decode()
