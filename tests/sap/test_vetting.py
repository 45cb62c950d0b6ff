"""Who says that an outcome is constitutional: vetters, the capability itself, or nobody; and clients in one line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.sap.scenario import CHECKS, task
from tests.sap.test_agent import do, offering
from turnwire import sap
from turnwire.errors import BadAnswer, CallError, Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.transports import Caller

pytestmark = pytest.mark.once
PREFER = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}
FAIL = {"principle": "honesty", "status": "FAIL"}
HARM = {"principle": "honesty", "severity": "high", "evidence": "it is not so"}


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
        (VALID, says("NON_CONSTITUTIONAL", violations=[HARM]), "FAILED", "NON_CONSTITUTIONAL", ["honesty", "vet"]),
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
