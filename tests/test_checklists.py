"""Conformance checklists: what all have (verdicts, the order of places, what a refusal leaves behind, what looks like a
line of a log, of a preamble or of somebody who speaks), and what ``tests/clauses`` does not show of four wires."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests import vectors
from tests.cli.running import turnwire as run
from tests.csp.generate import GOOD_BLOCKS
from tests.kick import traffic
from tests.kick.traffic import Flow
from tests.sstp.examples import example
from turnwire import checklists, csp, kick, nslip, registry, sstp
from turnwire.checklists import (
    Checklist,
    Clause,
    ClauseFault,
    Line,
    RecordChecklist,
    checklist_of,
    log_line,
    log_lines,
    spoken,
    statement,
)
from turnwire.csp.spec import REASONS as CSP_REASONS
from turnwire.errors import Reason
from turnwire.kick.spec import FAULTS, RULES, EventKind
from turnwire.nslip.spec import REASONS as SLIP_REASONS
from turnwire.read.located import conform
from turnwire.sstp.session import RULES as TURN_RULES

pytestmark = pytest.mark.once

WIRES = ("nslip", "csp", "sstp", "kick")
PASS, FAIL, OPEN, MOOT = checklists.PASS, checklists.FAIL, checklists.OPEN, checklists.NOT_APPLICABLE


def module(wire: str) -> Any:
    return import_module(f"{registry.wire(wire).package}.checklist")


def failing(checklist: Checklist) -> list[tuple[str, list[int]]]:
    bad = [line for line in checklist if line.status == FAIL]
    return [(line.clause.id, [fault.line for fault in line.faults]) for line in bad]


def moot(checklist: Checklist) -> set[str]:
    return {line.clause.id for line in checklist if line.status == MOOT}


GOOD = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'


def document(*blocks: str, head: str = "") -> str:
    return head + "".join(f"CSP/1\nFROM MAIN\nTO B\nCTX C0\nINTENT {block.split()[0]}\n\n{block}\n" for block in blocks)


TASK = "TASK T001\nREQ find auth\n"


def test_csp_clauses_that_do_not_apply() -> None:
    checklist = csp.conformance(document(TASK))
    assert moot(checklist) == {"fileop", "state", "rewrite", "laws"}
    assert checklist.line("answers").status == OPEN and checklist.verdict == "is open"
    text = f"zz\n{document(TASK)}{document('TASK T002' + chr(10) + 'REQ please find auth')}"
    told = [
        one for line in conform("csp", text.encode(), file="a.log") for one in (line.faults, line.open, line.doubts)
    ]
    assert [{fault.file for fault in several} for several in told if several] == [{"a.log"}] * 3
    patched = csp.conformance(csp.decode(document("\n".join(GOOD_BLOCKS["PATCH"]))))
    assert patched.line("state").status == FAIL  # it changes names that C0 has not
    assert moot(patched) == {"answers", "fileop", "laws"}


def said(kind: sstp.Kind, actor: str, clock: int, **changes: Any) -> dict[str, Any]:
    value = example(kind)
    value["header"] |= {"actor_id": actor, "logical_clock": clock}
    payload = {"directed_to": "sam"} if kind is sstp.Kind.QUERY else {}
    value["payload"] |= payload
    for path, new in changes.items():
        part, name = path.split("__")
        value[part][name] = new
    return value


INTENT, QUERY, KNOWLEDGE = sstp.Kind.INTENT, sstp.Kind.QUERY, sstp.Kind.KNOWLEDGE
TALK = [said(INTENT, "alex", 1), said(QUERY, "jo", 1), said(KNOWLEDGE, "sam", 1, payload__content="it is 5")]


def test_sstp_in_prose_and_fences() -> None:
    texts = [json.dumps(value, indent=1) for value in TALK]
    transcript = f"Here is it:\n```json\n{texts[0]}\n```\n\n{texts[1]}\nand\n{texts[2]}"
    checklist = conform("sstp", transcript.encode())
    assert checklist.records == 3
    ((clause, lines),) = failing(checklist)
    assert (clause, lines[0], len(lines)) == ("raw", 3, 3)
    inside = json.dumps([{"role": "assistant", "content": text} for text in texts])
    assert conform("sstp", inside.encode())


def test_a_transcript_is_judged_by_its_lines() -> None:
    broken = {**TALK[1], "header": {**TALK[1]["header"], "logical_clock": 7}}
    fenced = f"```json\n{json.dumps(broken)}\n```"
    transcript = f"Alex wrote:\n\n{json.dumps(TALK[0])}\n\nand Blake:\n{fenced}\n"
    for text in (transcript, transcript.encode()):
        found = dict(failing(sstp.conformance(text)))
        assert found["clock"] == [7]
        assert found["raw"] == [3, 7]
    listed = "\n\n".join(json.dumps(message) for message in (*TALK[:1], broken))
    assert dict(failing(sstp.conformance(listed)))["clock"] == [3]
    assert dict(failing(sstp.conformance(*listed.split("\n\n"))))["clock"] == [2], "of several texts, their number"
    for wire in WIRES:  # nothing to check
        for nothing in (b"nothing here", b""):
            checklist = conform(wire, nothing)
            assert moot(checklist) == {clause.id for clause in module(wire).CLAUSES}
            assert (checklist.records, checklist.rejects) == (0, 0)


BREAKS = {
    "channels": ("a type that does not belong on the channel", "an alert that is not a broadcast"),
    "roles": ("a command from an agent", "a report on another agent's task"),
    "ids": ("an envelope delivered twice", "an id used for a second envelope"),
    "correlation": (
        "a report with an unknown correlation_id",
        "a report without correlation_id",
        "an escalation without a violation",
    ),
    "loop": (
        "a task dispatched again while it is open",
        "`Accepted` is missing",
        "an unknown status word",
        "a report after the end",
    ),
    "escalation": ("an agent that works while paused", "an escalation to an agent"),
}


@pytest.mark.parametrize(
    ("make", "clause"),
    [
        (traffic.orderly, None),
        *((traffic.FAULTY[fault][0], clause) for clause, faults in BREAKS.items() for fault in faults),
    ],
)
def test_kick(make: Callable[[Flow], None], clause: str | None) -> None:
    flow = Flow(traffic.random.Random(5), 0.0, 1)
    make(flow)
    envelopes = [envelope for _, envelope in flow.steps]
    found = failing(kick.conformance(*envelopes))
    assert [name for name, _ in found] == ([] if clause is None else [clause])
    lines = "\n\n".join(kick.encode(envelope, strict=False) for envelope in envelopes)
    again = failing(conform("kick", lines.encode()))
    assert again == [(name, [2 * number - 1 for number in numbers]) for name, numbers in found]


def test_kick_judges_the_correlation_of_any_report() -> None:
    """Also of one that need not have any: the policy says so, and refuses its sender."""
    policy = kick.DEFAULT_POLICY.with_rows(kick.Row("report/status", "Info", ("Dima",), ("*",)))
    flow = Flow(traffic.random.Random(5), 0.0, 1)
    flow.dispatch()
    lone = flow.report("Accepted", correlation_id=None, sender="Mallory")
    found = kick.conformance(flow.steps[0][1], policy=policy)
    assert "correlation" in moot(found)
    assert [(one.since, one.file) for one in found.line("loop").open] == [(flow.steps[0][1].timestamp, None)]
    found = kick.conformance(lone, policy=policy)
    assert [name for name, _ in failing(found)] == ["roles"] and "correlation" not in moot(found)


def test_every_fault_has_a_clause() -> None:
    clauses = {wire: {clause.id for clause in module(wire).CLAUSES} for wire in WIRES}
    for wire in WIRES:
        assert len(clauses[wire]) == len(module(wire).CLAUSES)
        assert set(module(wire).REASONS.values()) <= clauses[wire]
    assert {reason for reason in SLIP_REASONS if reason} <= set(module("nslip").REASONS)
    assert set(CSP_REASONS) <= set(module("csp").REASONS)
    assert set(TURN_RULES) <= set(module("sstp").REASONS)
    assert {*RULES} - {Reason.UNKNOWN_KEY, Reason.UNKNOWN_ROLE} <= set(module("kick").REASONS)  # these are "info"
    assert set(module("kick").EVENTS) == FAULTS - {EventKind.INVALID, EventKind.OVERDUE}


def test_every_lint_of_csp_has_a_clause() -> None:
    """Whatever lenient reading, check and the lints say of damaged documents."""
    from tests.csp.generate import document as random_document

    for seed in range(300):
        conform("csp", random_document(seed, damage=0.4))


def test_messages_and_texts_are_judged_alike() -> None:
    assert nslip.conformance(nslip.decode(GOOD))
    assert nslip.conformance(GOOD, GOOD.encode())
    bad = nslip.SlipMessage(-1, 0, 0, 0, nslip.Act.ASK, nslip.FrameType.TASK, {})
    assert failing(nslip.conformance(GOOD, bad)) == [("integers", [2])]
    assert failing(nslip.conformance("@a3#")) == [("header", [1])]


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "good.log").write_text(GOOD)
    (tmp_path / "bad.log").write_text(f"{GOOD}\n@aB|f0|c3|S0|d1|T1#\x1b[31m")
    good, bad = str(tmp_path / "good.log"), str(tmp_path / "bad.log")
    assert run("conform", "nslip", good).code == 0
    done = run("conform", "nslip", good, bad)
    assert done.code == 1
    assert f"{good}: conforms\n" in done.out.decode()
    assert "  [ ] Acts are in the closed set (2): line 2: unknown_act:" in done.out.decode()
    assert "\x1b" not in done.out.decode()
    done = run("conform", "nslip", bad, "--json")
    (record,) = done.records
    assert (record["file"], record["conforms"], record["records"], record["rejects"]) == (bad, False, 1, 1)
    (line,) = [line for line in record["clauses"] if line["status"] == "fail"]
    assert (line["id"], line["clause"], [place["line"] for place in line["places"]]) == ("acts", "2", [2])
    assert run("conform", "nslip", str(tmp_path / "none")).code == 3
    assert run("conform", "morse", good).code == 2


def test_a_clause_that_is_none() -> None:
    with pytest.raises(KeyError, match="there is no clause 'nonsense'; the clauses are "):
        kick.conformance("{}").line("nonsense")


@pytest.mark.parametrize("sessions", [64, 65, 130])
def test_questions_stay_open_however_many_there_are(sessions: int) -> None:
    """Answered questions are forgotten now and then, which must not take what has just been asked."""
    asked = next(message for message in TALK if message["header"]["kind"] == "query")
    head = {"logical_clock": 1}
    texts = [json.dumps({**asked, "header": asked["header"] | head | {"session_id": f"s{n}"}}) for n in range(sessions)]
    assert sum(len(line.open) for line in sstp.conformance(*texts)) == sessions


@pytest.mark.parametrize(("count", "more"), [(1, ""), (5, ""), (6, "and 1 more"), (7, "and 2 more")])
def test_the_first_five_faults_of_a_clause_are_told(count: int, more: str) -> None:
    faults = tuple(ClauseFault("x", at, "wrong") for at in range(1, count + 1))
    told = [f"line {at}: wrong" for at in range(1, min(count, 5) + 1)] + [more] * bool(more)
    assert Line(Clause("x", "1", "y"), FAIL, faults).reason == "; ".join(told)


# --- what all of them share ---

ONE, OTHER = Clause("one", "1", "One thing"), Clause("other", "2", "Another thing")


def test_the_verdict() -> None:
    for statuses in itertools.product((PASS, FAIL, OPEN, MOOT), repeat=2):
        for records, rejects in itertools.product((0, 1, 5), repeat=2):
            found = Checklist("x", records, tuple(map(Line, (ONE, OTHER), statuses)), rejects)
            if FAIL in statuses:
                wanted = "does not conform"
            elif records + rejects == 0:
                wanted = "nothing found"
            else:
                wanted = "is open" if OPEN in statuses else "conforms"
            values = found.to_dict()
            assert (found.verdict, bool(found)) == (wanted, wanted == "conforms")
            assert (values["verdict"], values["conforms"]) == (wanted, wanted == "conforms")
            assert (values["records"], values["rejects"]) == (records, rejects)


@pytest.mark.parametrize("what", ["faults", "open", "doubts"])
def test_places_stand_in_the_order_of_lines(what: str) -> None:
    """Those of one line as they were found, each beside its own clause."""
    numbers = [5, 1, 3, 1, 2**40, 0, 3]
    found = [ClauseFault("one" if place % 2 else "other", line, str(place)) for place, line in enumerate(numbers)]
    checker = RecordChecklist()
    checker.records, checker.rejects, checker.applied = 9, 4, {"other"}
    setattr(checker, what, found)
    made = checklist_of("x", (ONE, OTHER), checker)
    assert (made.wire, made.records, made.rejects) == ("x", 9, 4)
    for line in made:
        own = [fault for fault in found if fault.clause == line.clause.id]
        assert getattr(line, what) == tuple(sorted(own, key=lambda fault: fault.line))
        kept = PASS if line.clause is OTHER else MOOT
        assert line.status == {"faults": FAIL, "open": OPEN, "doubts": kept}[what]


def test_a_place_says_all_that_is_known_of_it() -> None:
    """Also where that is 0 or empty."""
    assert ClauseFault("one", 0, "", 0, "", "").to_dict() == {
        "file": "",
        "line": 0,
        "offset": 0,
        "since": "",
        "text": "",
    }
    assert ClauseFault("one", 0, "x").to_dict() == {"line": 0, "text": "x"}
    assert ClauseFault("one", 3, "x", 7, "a.log", "12:00").to_dict() == {
        "file": "a.log", "line": 3, "offset": 7, "since": "12:00", "text": "x",
    }  # fmt: skip


class Picky(RecordChecklist):
    """Doubts and applies on its way to a fault."""

    foresees = True

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.applied.add(f"one {message}")
        self.doubt("one", line, "doubtful")
        if message == "bad":
            self.fault("other", line, "first", offset)
            self.fault("other", line, "second", offset)
        self.records += 1


def test_a_message_that_is_not_admitted_leaves_nothing_behind() -> None:
    checker = Picky()
    for line, message in enumerate(("good", "bad", "fine", "bad", "bad", "good"), 1):
        before = set(checker.applied), list(checker.doubts), list(checker.faults), list(checker.open), checker.records
        fault = checker.admits(message, line)
        after = checker.applied, checker.doubts, checker.faults, checker.open, checker.records
        if message == "bad":
            assert fault == ClauseFault("other", line, "first") and after == before
        else:
            assert fault is None and not checker.doubts  # whoever asks wants to know of faults alone
    assert checker.applied == {"one good", "one fine"} and checker.records == 3
    checker.message("bad", 9)  # who is not asked keeps what is wrong
    assert [fault.text for fault in checker.faults] == ["first", "second"]


def told(kind: str) -> list[tuple[str, bool]]:
    """Lines, and whether each is one of a kind."""
    return [(case["text"], case["is_one"]) for case in vectors.load("lines") if case["kind"] == kind]


@pytest.mark.parametrize("before", ["", " ", "\t \t"])
def test_lines_of_logs(before: str) -> None:
    for text, is_one in told("log line"):
        line = f"{before}{text}".encode()
        assert log_line(line) is is_one, line
        for several in (b"x\n" + line, line + b"\nx", line + b"\n"):
            assert log_lines(several) == any(map(log_line, several.split(b"\n")))


def test_statements_of_a_preamble() -> None:
    """Sections 3 and 7 of CSP/1: definitions, the heading of the laws, and laws."""
    for text, is_one in told("statement"):
        assert bool(statement(text.encode())) is is_one, text


def test_who_speaks() -> None:
    """In any case, at the beginning of a line or behind the mark of a list, a quotation or a name."""
    for text, is_one in told("speech"):
        upper = text[:1].upper() + text[1:]
        lines = (text, upper, f"> {upper}", f"user: {upper}", f"* {upper}", f"- {upper}\r\n")
        for line in lines if is_one else (text,):
            assert bool(spoken(line.encode())) is is_one, line
