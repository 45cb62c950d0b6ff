"""The table of clauses in docs/clauses.md: each log that it names is judged and has the verdict that it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clauses import TEXTS
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core as scan_core
from turnwire import registry
from turnwire.checklists import FAIL, OPEN, PASS
from turnwire.read.judging import conform, specification

PAGE = (Path(__file__).parent.parent / "docs" / "clauses.md").read_text("utf-8")
ROW = re.compile(r"^\| (\w+) \| `(\w+)` \| ([^|]+) \| ((?:[^|\\]|\\.)+) \| ([^|]+) \| (.*) \|$", re.MULTILINE)
ROWS = [match.groups() for match in ROW.finditer(PAGE)]
LOGS = [(wire, clause, name) for wire, clause, *_, logs in ROWS for name in re.findall(r"`(\w+\.\w+)`", logs)]
JUDGED = [name for name in registry.WIRES if registry.wire(name).checklist is not None]


@pytest.mark.parametrize("wire", JUDGED)
def test_the_table_has_every_clause(wire: str) -> None:
    there = [(clause, section, text.replace("\\|", "|")) for name, clause, section, text, *_ in ROWS if name == wire]
    assert there == [tuple(clause) for clause in specification(wire).clauses]
    for one in specification(wire).unjudged:
        assert f"- {one.text} ({one.section}): {one.reason}.\n" in PAGE


def test_each_log_is_in_the_table_and_each_clause_has_some() -> None:
    assert {(wire, name) for wire, _, name in LOGS} == set(TEXTS)
    for wire, clause, *_ in ROWS:
        kinds = {name.partition(".")[2] for found, of, name in LOGS if (found, of) == (wire, clause)}
        assert "pass" in kinds and len(kinds) > 1, (wire, clause)


@pytest.mark.parametrize(("wire", "clause", "name"), LOGS)
@pytest.mark.usefixtures("scan_core")
def test_the_verdict_of_each_log(wire: str, clause: str, name: str) -> None:
    checklist = conform(wire, TEXTS[wire, name])
    line, kind = checklist.line(clause), name.partition(".")[2]
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
    for one in specification(wire).unjudged:
        assert f"[-] {one.text} ({one.section}): {one.reason}\n" in done.out.decode()
