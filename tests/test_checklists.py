"""The conformance checklists of nSLIP, CSP/1, SSTP and KickLang: each clause passes, fails at its place, or is moot."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import turnwire as run
from tests.csp.generate import GOOD_BLOCKS
from tests.kick import traffic
from tests.kick.traffic import Flow
from tests.sstp.examples import example
from turnwire import checklists, csp, kick, nslip, registry, sstp
from turnwire.checklists import Checklist
from turnwire.csp.spec import REASONS as CSP_REASONS
from turnwire.errors import Reason
from turnwire.kick.spec import FAULTS, RULES, EventKind
from turnwire.nslip.spec import REASONS as SLIP_REASONS
from turnwire.read.judging import conform
from turnwire.sstp.session import RULES as TURN_RULES

pytestmark = pytest.mark.once

WIRES = ("nslip", "csp", "sstp", "kick")


def module(wire: str) -> Any:
    return import_module(f"{registry.wire(wire).package}.checklist")


def failing(checklist: Checklist) -> list[tuple[str, list[int]]]:
    bad = [line for line in checklist if line.status == checklists.FAIL]
    return [(line.clause.id, [fault.line for fault in line.faults]) for line in bad]


def moot(checklist: Checklist) -> set[str]:
    return {line.clause.id for line in checklist if line.status == checklists.NOT_APPLICABLE}


GOOD = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'


@pytest.mark.parametrize(
    ("log", "faults"),
    [
        (f"{GOOD}\ntext # @ bob@example.com\n{GOOD} {GOOD}\n", []),
        (f"{GOOD}\n@a3|f0|c3|S0|d1|T1\n", [("framing", [2])]),
        (f"{GOOD}\n@a3|f0|c3|S0|d1#\n", [("header", [2])]),
        ("@aB|f0|c3|S0|d1|T1#\n@a3|f9|c3|S0|d1|T1#\n", [("acts", [1]), ("frames", [2])]),
        ("@a3|f0|c3|S0|d1|T1|q1|q2#\n\n@a3|f0|c3|S0|d1|T1|z1#", [("slots", [1, 3])]),
        ('@a3|f0|c3|S0|d1|T1|q"1"#', [("types", [1])]),
        ("@a3|f0|c!|S0|d1|T1#", [("integers", [1])]),
        ('@a3|f0|c3|S0|d1|T1|t"a\\nb"#', [("strings", [1])]),
        (f"@f0|a3|c3|S0|d1|T1#\n{GOOD}\n@a03|f0|c3|S0|d1|T1#\n", [("shape", [1, 3])]),
        (f'@a3|f0|c3|S0|d1|T1|t"{"x" * 65}"#', [("short", [1])]),
    ],
)
def test_nslip(log: str, faults: list[tuple[str, list[int]]]) -> None:
    checklist = conform("nslip", log.encode())
    assert failing(checklist) == faults
    assert bool(checklist) == (not faults)


def document(*blocks: str, head: str = "") -> str:
    return head + "".join(f"CSP/1\nFROM MAIN\nTO B\nCTX C0\nINTENT {block.split()[0]}\n\n{block}\n" for block in blocks)


TASK = "TASK T001\nREQ find auth\n"
CASES = {
    "all of it": (document(TASK, "RESULT T001\nSTATUS OK\n", head="DEF SRC = src/\n\nLAWS\n- L1: x\n\n"), []),
    "no FROM": (document(TASK).replace("FROM MAIN\n", ""), [("agents", [1])]),
    "no CTX": (document(TASK).replace("CTX C0\n", ""), [("ctx", [1])]),
    "no INTENT": (document(TASK).replace("INTENT TASK\n", ""), [("intent", [1])]),
    "no body": (document(TASK).replace(TASK, ""), [("body", [1])]),
    "order": (document(TASK).replace("FROM MAIN\nTO B\n", "TO B\nFROM MAIN\n"), [("header", [1])]),
    "a block without REQ": (document("TASK T001\nIN x\n"), [("blocks", [7])]),
    "a result of nothing": (document("RESULT T001\nSTATUS OK\n"), [("answers", [1])]),
    "a wrong base": (document("PATCH P1\nBASE C7\n+ DEF A = 1\nAPPLY -> C8\n"), [("state", [1])]),
    "politeness": (document("TASK T001\nREQ please find auth\n"), []),
    "noise": (f"zz\n{document(TASK)}", [("magic", [1])]),
}


@pytest.mark.parametrize("name", CASES)
def test_csp(name: str) -> None:
    text, faults = CASES[name]
    assert failing(conform("csp", text.encode())) == faults


def test_csp_clauses_that_do_not_apply() -> None:
    checklist = csp.conformance(document(TASK))
    assert moot(checklist) == {"fileop", "state", "rewrite", "laws"}
    assert checklist.line("answers").status == checklists.OPEN and checklist.verdict == "is open"
    text = f"zz\n{document(TASK)}{document('TASK T002' + chr(10) + 'REQ please find auth')}"
    told = [
        one for line in conform("csp", text.encode(), file="a.log") for one in (line.faults, line.open, line.doubts)
    ]
    assert [{fault.file for fault in several} for several in told if several] == [{"a.log"}] * 3
    patched = csp.conformance(csp.decode(document("\n".join(GOOD_BLOCKS["PATCH"]))))
    assert patched.line("state").status == checklists.FAIL  # it changes names that C0 has not
    assert moot(patched) == {"answers", "fileop", "laws"}


def spoken(kind: sstp.Kind, actor: str, clock: int, **changes: Any) -> dict[str, Any]:
    value = example(kind)
    value["header"] |= {"actor_id": actor, "logical_clock": clock}
    payload = {"directed_to": "sam"} if kind is sstp.Kind.QUERY else {}
    value["payload"] |= payload
    for path, new in changes.items():
        part, name = path.split("__")
        value[part][name] = new
    return value


INTENT, QUERY, KNOWLEDGE = sstp.Kind.INTENT, sstp.Kind.QUERY, sstp.Kind.KNOWLEDGE
TALK = [spoken(INTENT, "alex", 1), spoken(QUERY, "jo", 1), spoken(KNOWLEDGE, "sam", 1, payload__content="it is 5")]


@pytest.mark.parametrize(
    ("values", "faults"),
    [
        (TALK, []),
        ([*TALK, spoken(KNOWLEDGE, "alex", 3)], [("clock", [4])]),
        ([*TALK[:2], spoken(KNOWLEDGE, "alex", 2)], [("addressee", [3])]),
        ([TALK[0], spoken(INTENT, "alex", 2)], [("one_speaker", [2])]),
        ([TALK[0], spoken(KNOWLEDGE, "jo", 1, payload__content="Got it.")], [("contribution", [2])]),
        ([spoken(INTENT, "<your-agent-id>", 1)], [("header", [1])]),
        ([spoken(KNOWLEDGE, "jo", 1, payload__confidence=1.5)], [("ranges", [1])]),
        ([spoken(KNOWLEDGE, "jo", 1, payload__content=5)], [("payload", [1])]),
        ([spoken(KNOWLEDGE, "jo", 1, header__kind="song")], [("kind", [1])]),
        ([spoken(KNOWLEDGE, "jo", 1, header__schema_id="ioc.intent.v0")], [("schema", [1])]),
    ],
)
def test_sstp(values: list[dict[str, Any]], faults: list[tuple[str, list[int]]]) -> None:
    texts = [json.dumps(value) for value in values]
    assert failing(sstp.conformance(*texts)) == faults
    assert failing(conform("sstp", "\n".join(texts).encode())) == faults


def test_sstp_in_prose_and_fences() -> None:
    texts = [json.dumps(value, indent=1) for value in TALK]
    transcript = f"Here is it:\n```json\n{texts[0]}\n```\n\n{texts[1]}\nand\n{texts[2]}"
    checklist = conform("sstp", transcript.encode())
    assert checklist.records == 3
    ((clause, lines),) = failing(checklist)
    assert (clause, lines[0], len(lines)) == ("raw", 3, 3)
    inside = json.dumps([{"role": "assistant", "content": text} for text in texts])
    assert conform("sstp", inside.encode())


def test_sstp_sessions() -> None:
    missing = example(KNOWLEDGE)
    del missing["header"]["session_id"]
    missing["header"]["actor_id"] = "jo"
    checklist = sstp.conformance(json.dumps(TALK[0]), json.dumps(missing))
    assert failing(checklist) == [], "its template has none: it belongs to the only session there is"
    del (query := spoken(QUERY, "jo", 1))["header"]["session_id"]
    assert failing(sstp.conformance(json.dumps(TALK[0]), json.dumps(query))) == [("session", [2])]
    assert sstp.conformance(json.dumps(missing))
    assert failing(sstp.conformance("no json")) == failing(sstp.conformance("")) == [("object", [1])]


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
    for wire in WIRES:  # nothing to judge
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


def test_kick_envelopes_that_are_none() -> None:
    flow = Flow(traffic.random.Random(5), 0.0, 1)
    flow.dispatch()
    good = kick.encode(flow.steps[0][1])
    for text, clause in [
        (good.replace('"sender"', '"from"'), "envelope"),
        (good[:-5], "envelope"),
        (good.replace("⫻command", "command"), "channels"),
        (good.replace("⫻task/dispatch:", "task:"), "space"),
        (good.replace("2026-", "2026/"), "times"),
        (good.encode().replace(b"Build", b"\xff"), "envelope"),
    ]:
        assert [name for name, _ in failing(kick.conformance(text))] == [clause]


def test_kick_places_in_a_document_are_its_lines_where_it_is_alone() -> None:
    document = "\u2afba/b:x/1\none\n\u2afba/b:x/2 \ntwo\n"
    assert failing(kick.conformance(document)) == [("headers", [3])]
    assert failing(kick.conformance(document, document)) == [("headers", [1, 2])]


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
    faults = tuple(checklists.ClauseFault("x", at, "wrong") for at in range(1, count + 1))
    told = [f"line {at}: wrong" for at in range(1, min(count, 5) + 1)] + [more] * bool(more)
    assert checklists.Line(checklists.Clause("x", "1", "y"), checklists.FAIL, faults).reason == "; ".join(told)
