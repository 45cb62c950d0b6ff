"""One judgement of an outcome: the whole table, that everybody who decides asks it, and who may say it."""

from __future__ import annotations

import asyncio
import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests import vectors
from tests.conftest import raised
from tests.sap.documents import RESULT, TASK, changed, result
from tests.sap.scenario import CHECKS, task
from tests.sap.test_agent import do, offering
from turnwire import sap
from turnwire.errors import BadAnswer, CallError, EncodeError, Reason, RuleError, Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.judgement import ROWS, Lesson, judge
from turnwire.sap.learning import LearningLoop, thresholds_of
from turnwire.sap.transports import Caller

pytestmark = pytest.mark.once

PASS = [{"principle": "honesty", "status": "PASS"}]
FAILS = [[{"principle": "honesty", "status": word}] for word in ("FAIL", "fail", "Failed", " FAILURE ", "ERROR")]
HARM = [{"principle": "honesty", "severity": "high", "evidence": "it is not so"}]
STATUSES = [status.value for status in sap.Status]
TERMINAL = ("SUCCEEDED", "FAILED", "ESCALATED", "CANCELLED", "PARTIAL")
SUCCESSES = ("SUCCEEDED", "PARTIAL")
FOUND: list[tuple[list[Any], list[Any]]] = [
    ([], []),
    (PASS, []),
    *((fail, []) for fail in FAILS),
    (PASS, HARM),
    ([], HARM),
]


@pytest.mark.parametrize(("status", "alignment"), list(product(STATUSES, ("VALID", "ESCALATE", "NON_CONSTITUTIONAL"))))
def test_the_table_answers_as_the_readings_say(status: str, alignment: str) -> None:
    for checks, violations in FOUND:
        clean = not violations and checks not in FAILS
        made = judge(status, alignment, checks, violations)
        assert made.valid is (alignment == "VALID" and status in SUCCESSES and clean)
        if made.valid:
            assert made.stored is (status == "SUCCEEDED")
        else:
            assert made.stored is (status == "SUCCEEDED" and alignment == "ESCALATE" and clean)
        bad = status in TERMINAL and (alignment == "NON_CONSTITUTIONAL" or bool(violations))
        assert made.lesson is (Lesson.BAD if bad else Lesson.GOOD if made.valid else Lesson.SILENT)
        contradicts = alignment == "VALID" and not clean
        assert bool(made.objection) is (contradicts or (status, alignment) == ("SUCCEEDED", "NON_CONSTITUTIONAL"))
        assert bool(made.doubt) is ((status, alignment) == ("FAILED", "VALID") and clean)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_the_cache_gave_teaches_and_fills_nothing(row: Any) -> None:
    for status, alignment, found in product(*row[:3]):
        checks = FAILS[0] if found == "check" else PASS
        evidence = status, alignment, checks, HARM if found == "violation" else []
        made, fresh = judge(*evidence, cached=True), judge(*evidence)
        assert made == fresh._replace(stored=False, lesson=Lesson.SILENT)


@pytest.mark.parametrize(("status", "alignment"), [("DONE", "VALID"), ("succeeded", "VALID"), ("SUCCEEDED", "valid")])
def test_words_that_are_none_prove_nothing(status: str, alignment: str) -> None:
    assert judge(status, alignment, PASS) == judge("RUNNING", "ESCALATE")


# --- whoever decides about an outcome asks the table ---


@pytest.mark.parametrize("status", [None, *STATUSES])
@pytest.mark.parametrize("found", FOUND, ids=str)
def test_an_outcome_becomes_a_result_that_contradicts_nothing(status: str | None, found: Any) -> None:
    task = sap.Task.from_dict(copy.deepcopy(TASK))
    for alignment in (None, *sap.Alignment):
        outcome = sap.Outcome(1, status=status, alignment=alignment, policy_checks=found[0], violations=found[1])
        made = sap.result_for(task, outcome, "B")
        evidence = made["constitutionalEvidence"]
        checks, violations = evidence["policyChecks"], evidence.get("violations", [])
        answers = judge(made.fields["status"], evidence["alignment"], checks, violations)
        assert not answers.objection and not answers.doubt
        assert answers.valid is (evidence["alignment"] == "VALID")
        assert violations == found[1] and [check for check in checks if check in found[0]] == found[0], "all is kept"
        something = bool(found[1]) or found[0] in FAILS
        assert not (alignment and found[0] and something and sap.NOT_VETTED in checks), "it was vetted"
        sap.encode(made)


PREFER = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}


@pytest.mark.parametrize("unvetted", [False, True])
@pytest.mark.parametrize("found", FOUND[2:], ids=str)
async def test_an_outcome_with_violations_or_failed_checks_is_neither_valid_nor_stored(
    found: Any, unvetted: bool, tmp_path: Path
) -> None:
    outcome = sap.Outcome({"a": 1}, alignment="VALID", policy_checks=found[0], violations=found[1])
    cache = sap.Cache(tmp_path / "c", unvetted=unvetted)

    async with offering(lambda task, context: outcome, cache=cache) as agent:
        for _ in range(2):
            result = await agent.call(do({"a": 1}, **PREFER))
            evidence = result["constitutionalEvidence"]
            assert (evidence["alignment"], evidence.get("violations", [])) == ("ESCALATE", found[1])
            assert "cache" not in evidence or not evidence["cache"]["hit"]
        assert len(cache.ledger) == 0


@pytest.mark.parametrize("found", FOUND[2:], ids=str)
async def test_a_vetter_that_says_valid_and_found_something_has_not_said_valid(found: Any) -> None:
    async with offering(lambda task, context: 1, vet=lambda task, result: sap.Vetting("VALID", *found)) as agent:
        result = await agent.call(do())
        evidence = result["constitutionalEvidence"]
        assert (result.status, evidence["alignment"]) == ("ESCALATED", "ESCALATE")
        assert evidence.get("violations", []) == found[1]


@pytest.mark.parametrize("alignment", ["VALID", "ESCALATE", "NON_CONSTITUTIONAL"])
@pytest.mark.parametrize("found", FOUND, ids=str)
@pytest.mark.parametrize("unvetted", [False, True])
def test_a_cache_keeps_what_the_table_lets_it_keep(alignment: str, found: Any, unvetted: bool) -> None:
    task = sap.Task.from_dict(copy.deepcopy(TASK))
    cache = sap.Cache(":memory:", unvetted=unvetted)
    for status in STATUSES:
        task.payload = {"status": str(status)}
        evidence = {"alignment": alignment, "policyChecks": found[0], "violations": found[1]}
        answers = judge(status, alignment, *found)
        kept = answers.stored and (answers.valid or unvetted)
        for one in (evidence, evidence | {"cache": {"hit": True, "cacheKey": "k", "ageSec": 1}}):
            made = cache.put(task, result(status=status, constitutionalEvidence=one))
            assert (made is not None) is (kept and "cache" not in one)
        hit = cache.get(task)
        assert bool(hit) is kept
        if isinstance(hit, sap.Hit):
            assert hit.result(task, "B")["constitutionalEvidence"]["alignment"] == alignment


def test_a_cache_answers_with_nothing_that_it_would_not_keep(tmp_path: Path) -> None:
    task = sap.Task.from_dict(copy.deepcopy(TASK))
    lax = sap.Cache(tmp_path / "c", unvetted=True)
    lax.put(task, result(constitutionalEvidence__alignment="ESCALATE"))
    strict = sap.Cache(lax.ledger)
    assert lax.get(task)
    miss = strict.get(task)
    assert isinstance(miss, sap.Miss) and miss.reason == "unvetted"
    (entry,) = lax.ledger
    record = entry.json() | {"alignment": "VALID", "policyChecks": FAILS[0]}
    lax.ledger.append(entry.kind, record, key=entry.key)
    assert not strict.get(task), "written by an older version"


# --- learning ---


def derived(loop: LearningLoop) -> dict[str, float]:
    found = [artifact for artifact in loop.derive() if artifact.kind == "thresholds"]
    return dict(thresholds_of(found[0])) if found else {}


def pair(number: int, pressure: int, **changes: Any) -> tuple[sap.Task, sap.Result]:
    task = sap.Task.from_dict(copy.deepcopy(changed(TASK, "/constitutionalContext/pressure", {"p": pressure})))
    task.task_id = f"00000000-0000-4000-8000-{number:012}"
    one = result(constitutionalEvidence__pressureReadings={"p": pressure}, taskId=task.task_id, **changes)
    return task, one


@vectors.cases("sap_forms", kind="learning")
def test_a_task_counts_once_and_only_by_what_it_proves(case: dict[str, Any]) -> None:
    loop = LearningLoop(":memory:")
    for asked, answer in case["pairs"]:
        loop.observe(sap.Task.from_dict(asked), sap.Result.from_dict(answer))
    assert derived(loop) == case["thresholds"]


def test_a_result_that_is_observed_again_behind_the_operators_word_changes_nothing() -> None:
    """Who was blamed by the Result alone stays blamed alone."""
    task, bad = pair(1, 40, status="PARTIAL", constitutionalEvidence__violations=[{"principle": "p"}])
    bad["constitutionalEvidence"]["pressureReadings"]["q"] = 70
    loop = LearningLoop(":memory:")
    loop.observe(task, bad)
    loop.judge(task, approval=False)
    before = derived(loop)
    loop.observe(task, bad)
    assert derived(loop) == before == {"p": 39, "q": 100}


def test_the_operators_word_counts_where_the_cache_answered() -> None:
    loop = LearningLoop(":memory:")
    hit = pair(1, 40, constitutionalEvidence__cache={"hit": True, "cacheKey": "k", "ageSec": 1})
    loop.observe(*hit)
    assert derived(loop) == {}
    for rating, threshold in ((1, 39), (5, 100), (2, 39)):
        loop.judge(hit[0], rating=rating)
        assert derived(loop) == {"p": threshold}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"taskId": TASK["correlationId"]}, Reason.WRONG_TASK),
        ({"correlationId": TASK["taskId"]}, Reason.WRONG_CORRELATION),
    ],
)
def test_a_result_of_another_task_is_refused(changes: dict[str, Any], reason: Reason) -> None:
    task = sap.Task.from_dict(copy.deepcopy(TASK))
    loop, cache = LearningLoop(":memory:"), sap.Cache(":memory:")
    for take in (loop.observe, cache.put):
        assert raised(RuleError, take, task, result(**changes)).reason is reason
    assert len(loop.ledger) == len(cache.ledger) == 0
    loop.observe(task, result(taskId=TASK["taskId"].upper(), correlationId=TASK["correlationId"].upper()))
    assert len(loop.ledger) == 1


# --- the checklist ---


def failed(*documents: dict[str, Any]) -> set[str]:
    found = sap.conformance(*(json.dumps(document) for document in documents))
    return {line.clause.id for line in found.lines if line.status == "fail"}


@pytest.mark.parametrize("found", FOUND, ids=str)
def test_the_checklist_objects_where_the_table_does(found: Any) -> None:
    for status, alignment in product(TERMINAL, sap.Alignment):
        evidence = {"alignment": alignment.value, "policyChecks": found[0] or PASS, "violations": found[1]}
        one = changed(RESULT, "/constitutionalEvidence", evidence, "/status", status)
        one = changed(one, "/error", {"code": "INTERNAL", "message": "m"}, "/nextActions", [{"action": "a"}])
        objected = "evidence" in failed(TASK, one)
        assert objected is bool(judge(status, alignment.value, found[0], found[1]).objection), (status, alignment)


@pytest.mark.parametrize("message", ["", " ", "\n\t"])
def test_a_failure_with_an_empty_message_does_not_say_why(message: str) -> None:
    for code in ("CACHE_MISS", "INTERNAL", None):
        error = {"message": message} if code is None else {"code": code, "message": message}
        one = changed(RESULT, "/status", "FAILED", "/error", error)
        one = changed(one, "/constitutionalEvidence/alignment", "ESCALATE")
        assert "errors" in failed(TASK, one)
        for each in (sap.Result.from_dict(one), sap.decode(json.dumps(one))):
            assert [(issue.reason, issue.severity) for issue in sap.check(each) if issue.severity != "info"] == [
                (Reason.EMPTY_VALUE, "warning")
            ]
            refused = raised(EncodeError, sap.encode, each)
            assert (refused.reason, refused.path) == (Reason.EMPTY_VALUE, "/error/message")
            assert json.loads(sap.encode(each, strict=False)) == one
        assert not failed(TASK, changed(one, "/error/message", "m")) & {"errors", "required"}
    made = sap.result_for(sap.Task.from_dict(TASK), sap.Outcome(error=("TIMEOUT", message)), "B")
    assert made.error is not None and made.error.message == "TIMEOUT"


def test_empty_lists_are_no_signal() -> None:
    bare = changed(RESULT, "/metrics", ..., "/constitutionalEvidence", {"alignment": "VALID"})
    for name in ("policyChecks", "violations"):
        assert failed(TASK, changed(bare, f"/constitutionalEvidence/{name}", [])) == {"learning"}
    for name, empty in (("metrics", {}), ("nextActions", [])):
        assert failed(TASK, changed(bare, f"/{name}", empty)) == {"learning"}
    assert not failed(TASK, changed(bare, "/metrics", {"tokens": 1}))


# --- who says that an outcome is constitutional: vetters, the capability itself, or nobody ----------------------------


FAIL = {"principle": "honesty", "status": "FAIL"}


def says(word: Any, *checks: Any, violations: Any = ()) -> Any:
    def vet(_task: sap.Task, _result: sap.Result) -> Any:
        return sap.Vetting(word, checks, violations)

    return vet


def abstains(_task: sap.Task, _result: sap.Result) -> None:
    return None


async def breaks(_task: sap.Task, _result: sap.Result) -> Any:
    raise SystemExit


def edits(one: sap.Task, result: sap.Result) -> str:
    one.payload["edited"] = True
    result.output = "edited"
    result.task_id = "00000000-0000-0000-0000-000000000000"
    return "VALID"


VALID = sap.Outcome("out", alignment="VALID", policy_checks=CHECKS)


@pytest.mark.parametrize(
    ("outcome", "vet", "status", "alignment", "principles"),
    [
        ("out", None, "SUCCEEDED", "ESCALATE", ["constitution"]),
        (VALID, None, "SUCCEEDED", "VALID", ["honesty"]),
        ("out", says("VALID"), "SUCCEEDED", "VALID", ["vet"]),
        ("out", [says("VALID", *CHECKS), edits], "SUCCEEDED", "VALID", ["honesty", "edits"]),
        ("out", [abstains], "SUCCEEDED", "ESCALATE", ["constitution"]),
        (VALID, [abstains], "SUCCEEDED", "ESCALATE", ["honesty", "constitution"]),
        ("out", [says("VALID"), says("ESCALATE")], "ESCALATED", "ESCALATE", ["vet", "vet"]),
        ("out", [says("NON_CONSTITUTIONAL", FAIL), says("VALID")], "FAILED", "NON_CONSTITUTIONAL", ["honesty", "vet"]),
        (VALID, says("NON_CONSTITUTIONAL", violations=HARM), "FAILED", "NON_CONSTITUTIONAL", ["honesty", "vet"]),
        (
            sap.Outcome(1, alignment="ESCALATE", policy_checks=CHECKS),
            says("VALID"),
            "ESCALATED",
            "ESCALATE",
            ["honesty"],
        ),
        ("out", breaks, "ESCALATED", "ESCALATE", ["breaks"]),
        (sap.Outcome(error=("TIMEOUT", "late")), says("VALID"), "FAILED", "ESCALATE", ["constitution"]),
    ],
)
async def test_who_said_what(
    outcome: Any, vet: Any, status: str, alignment: str, principles: list[str], tmp_path: Path
) -> None:
    cache = sap.Cache(tmp_path / "c")

    async with offering(lambda task, context: outcome, vet=vet, cache=cache) as agent:
        result = await agent.call(do({"a": 1}, **PREFER))
        evidence = result.fields["constitutionalEvidence"]
        assert (result.status, evidence["alignment"]) == (status, alignment)
        assert [check["principle"] for check in evidence["policyChecks"]] == principles
        unsaid = "constitution" in principles and getattr(outcome, "alignment", None) != "ESCALATE"
        assert (sap.NOT_VETTED in evidence["policyChecks"]) is unsaid
        assert sap.check(result) == [] or getattr(outcome, "alignment", None) == "ESCALATE", "vetters show a path"
        assert len(cache.ledger) == (alignment == "VALID")
        if status == "SUCCEEDED":
            assert result.output == "out"


async def test_vetters_of_the_agent_come_first_and_take_the_tasks_time() -> None:
    asked: list[str] = []

    def first(_task: sap.Task, _result: sap.Result) -> None:
        asked.append("agent")

    async def second(_task: sap.Task, _result: sap.Result) -> str:
        asked.append("capability")
        await asyncio.sleep(10)
        return "VALID"

    agent = sap.Agent("B", vet=first)
    agent.capability("work.do", vet=second)(lambda task, context: 1)
    async with agent:
        result = await agent.call(do(telemetry={"budget": {"seconds": 0.7}}))
        assert result.error is not None and result.error.code == "TIMEOUT"
    assert asked == ["agent", "capability"]


async def test_what_an_agent_emits_conforms_to_section_12(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "t")
    agent = offering(
        lambda one, context: {"raise": 1 / one.payload["n"], "out": 1}["out"],
        transcript=ledger,
        cache=sap.Cache(tmp_path / "c", unvetted=True),
        schema={"required": ["n"]},
    )

    async with agent as agent:
        only = {"constitutionalContext__cachePolicy": {"mode": "only"}}
        for payload, change in (
            ({"n": 1}, {"telemetry": {"trace": True}, "outputContract": {"schema": {"type": "integer"}}}),
            ({"n": 0}, {}),
            ({}, {}),
            ({"n": 1}, PREFER),
            ({"n": 1}, PREFER),
            ({"n": 7}, only),
            ({"n": 1}, {"telemetry": {"deadline": "2020-01-01T00:00:00Z"}}),
        ):
            await agent.call(do(payload, **change))
    history = [sap.decode(entry.body) for entry in ledger if entry.kind != "sap.started"]
    checklist = sap.conformance(*history)
    assert checklist, str(checklist)
    assert {line.status for line in checklist.lines} == {"pass"}, str(checklist)


async def test_a_client_in_one_line(tmp_path: Path) -> None:
    line = sap.Bus(tmp_path / "t", issuer="A-prime")
    agent = line.register(sap.Agent("B"))

    @agent.capability("consult.align")
    async def align(one: sap.Task, context: sap.Context) -> Any:
        if one.payload.get("fail"):
            raise sap.Refusal("UNPROCESSABLE", "no")
        return {"by": one.issuer.agent_id, "level": one.constitutional_context.pressure_level}

    async with line:
        context = {"pressureLevel": "consulted", "territory": "EUFM"}
        output = await line.call("consult.align", {"plan": 1}, context=context, priority="high", seconds=5)
        assert output == {"by": "A-prime", "level": "consulted"}
        with pytest.raises(sap.Failed, match="UNPROCESSABLE no") as caught:
            await line.call("consult.align", {"fail": True}, context=context)
        assert caught.value.result.status == "FAILED"
        with pytest.raises(sap.Refused) as refused:
            await line.call("consult.nothing", {}, context=context)
        assert refused.value.code == "NOT_FOUND"
        one = line.task("consult.align", {}, context=context, trace=True, cache="bypass", parent=task("x", {}))
        assert sap.check(one) == []
        assert [str(result.status) async for result in line.statuses(one)] == ["QUEUED", "RUNNING", "SUCCEEDED"]
        assert [str(result.status) async for result in line.statuses(one)] == ["SUCCEEDED"]
        with pytest.raises(TypeError, match="has its payload"):
            await line.call(one, {})


async def test_a_call_that_met_a_full_queue_is_tried_again() -> None:
    tries: list[int] = []

    class Busy(sap.Caller):
        async def _asked(self, one: sap.Task, *, receipt: bool = False) -> sap.Result:
            tries.append(len(tries))
            if len(tries) < 3:
                raise sap.Refused(sap.Nack(message_id=one.task_id, correlation_id=None, reason="RATE_LIMIT: full"))
            return sap.result_for(one, sap.Outcome("done"), "B")

    assert await Busy().call("work.do", {}, retries=2) == "done"
    tries.clear()
    with pytest.raises(sap.Refused):
        await Busy().call(do())
    assert len(tries) == 1


@pytest.mark.parametrize("error", [Unreachable, Unanswered, BadAnswer])
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_what_got_no_answer_is_sent_again(
    error: type[CallError], retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.sap.transports.FIRST_PAUSE", 0.0)
    tried: list[str] = []

    class Lost(Caller):
        async def _asked(self, one: sap.Task, *, receipt: bool = False) -> sap.Result:
            tried.append(one.task_id)
            raise error("lost")

    raised(error, asyncio.run, Lost().call(do(), retries=retries))
    assert len(tried) == (1 if error is BadAnswer else 1 + retries) and len(set(tried)) == 1


@pytest.mark.parametrize("of_client", [None, "B", "C"])
@pytest.mark.parametrize("of_task", [None, "B", "C"])
def test_a_result_comes_from_whom_the_task_names_else_from_whom_the_client_names(
    of_client: str | None, of_task: str | None
) -> None:
    one = task("work.do", {}, target={"capability": "work.do"} | ({"agentId": of_task} if of_task else {}))
    result = sap.result_for(one, sap.Outcome(1), "B")
    if (of_task or of_client or "B") == "B":
        assert Caller(producer=of_client).answered(one, result) is result
    else:
        with pytest.raises(BadAnswer, match="C was asked"):
            Caller(producer=of_client).answered(one, result)
