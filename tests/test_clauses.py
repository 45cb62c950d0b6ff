"""Each log of tests/clauses, named CLAUSE.VERDICT, has that verdict; each clause of a specification has some logs."""

from __future__ import annotations

import pytest

from tests.clauses import TEXTS
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core as scan_core
from turnwire import registry
from turnwire.checklists import FAIL, OPEN, PASS
from turnwire.read.located import conform, specification

PLACES = {
    "nslip": "acts 2 frames 2 framing 2 header 2 integers 2 shape 2 short 2 slots 2 strings 2 types 2",
    "csp": "agents 1 answers 1 blocks 7 body 7 ctx 14 fileop 9 header 1 ids 15 intent 1 laws 6 magic 1 state 3",
    "sstp": "actor 1 addressee 3 clock 3 contribution 2 header 1 kind 1 object 1 one_speaker 2 payload 1 ranges 1 "
    "raw 2 schema 1 session 1",
    "sap": "cache 2 context 1 correlation 2 deadline 1 errors 2 evidence 2 forms 1 learning 2 output 2 required 1 "
    "secrets 1 status 3 values 1 version 1",
    "kick": "answers 1 channels 1 correlation 2 documents 2 envelope 5 escalation 4 headers 1 ids 5 loop 2 roles 1 "
    "space 1 times 1",
}
"""The line of the first fault in the log that breaks a clause."""
BESIDE = {("sap", "context"): "required", ("sap", "errors"): "required"}
"""The other clause that such a log breaks."""
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
    if kind == "fail":
        assert f" {clause} {line.faults[0].line} " in f" {PLACES[wire]} "
        broken = {one.clause.id for one in checklist if one.status == FAIL}
        assert broken == {clause} | ({BESIDE[wire, clause]} if (wire, clause) in BESIDE else set())
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
