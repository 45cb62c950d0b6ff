"""One judgement of an outcome: the whole table, and that everybody who decides about an outcome asks it."""

from __future__ import annotations

import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.sap.documents import RESULT, TASK, changed, result
from tests.sap.test_agent import do, offering
from turnwire import sap
from turnwire.errors import EncodeError, Reason, RuleError
from turnwire.sap.judgement import ROWS, Lesson, judge
from turnwire.sap.learning import LearningLoop, thresholds_of

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


def judged_loop(*pairs: tuple[sap.Task, sap.Result]) -> dict[str, float]:
    loop = LearningLoop(":memory:")
    for task, one in pairs:
        loop.observe(task, one)
    return derived(loop)


def derived(loop: LearningLoop) -> dict[str, float]:
    found = [artifact for artifact in loop.derive() if artifact.kind == "thresholds"]
    return dict(thresholds_of(found[0])) if found else {}


def pair(number: int, pressure: int, **changes: Any) -> tuple[sap.Task, sap.Result]:
    task = sap.Task.from_dict(copy.deepcopy(changed(TASK, "/constitutionalContext/pressure", {"p": pressure})))
    task.task_id = f"00000000-0000-4000-8000-{number:012}"
    one = result(constitutionalEvidence__pressureReadings={"p": pressure}, taskId=task.task_id, **changes)
    return task, one


BAD = pair(
    0,
    60,
    status="FAILED",
    error={"code": "NON_CONSTITUTIONAL", "message": "no"},
    constitutionalEvidence__alignment="NON_CONSTITUTIONAL",
)
NOISE: dict[str, list[tuple[sap.Task, sap.Result]]] = {
    "one good task, observed three times": [pair(1, 70)] * 3,
    "one good task and two hits": [
        pair(1, 70),
        *(pair(n, 70, constitutionalEvidence__cache={"hit": True, "cacheKey": "k", "ageSec": 1}) for n in (2, 3)),
    ],
    "three that failed and say VALID": [pair(n, 70, status="FAILED", error={"message": "m"}) for n in (1, 2, 3)],
    "three cancelled": [pair(n, 70, status="CANCELLED") for n in (1, 2, 3)],
    "three escalated": [pair(n, 70, status="ESCALATED") for n in (1, 2, 3)],
    "three queued": [pair(n, 70, status="QUEUED") for n in (1, 2, 3)],
    "three running": [pair(n, 70, status="RUNNING") for n in (1, 2, 3)],
    "three with a failed check": [pair(n, 70, constitutionalEvidence__policyChecks=FAILS[0]) for n in (1, 2, 3)],
    "one task in three states": [pair(1, 70, status=status) for status in ("QUEUED", "RUNNING", "SUCCEEDED")],
    "good ones that failed in the end": [
        one for n in (1, 2, 3) for one in (pair(n, 70), pair(n, 70, status="FAILED", error={"message": "m"}))
    ],
}


@pytest.mark.parametrize("noise", NOISE)
def test_a_task_counts_once_and_only_by_what_it_proves(noise: str) -> None:
    assert judged_loop(BAD, *NOISE[noise]) == {"p": 59}
    assert judged_loop(BAD, *(pair(n, 70) for n in (1, 2, 3))) == {"p": 100}


def test_progress_does_not_hide_what_came_before_it() -> None:
    assert judged_loop(BAD, pair(0, 60, status="RUNNING")) == {"p": 59}


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
