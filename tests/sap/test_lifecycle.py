"""The status machine: every pair of states, correlation, redelivery; and Results right by construction."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import vectors
from tests.conftest import raised
from tests.sap.documents import TASK, result, task
from turnwire import sap
from turnwire.errors import RuleError
from turnwire.sap.builders import NOBODY, make_task

pytestmark = pytest.mark.once


@vectors.cases("lifecycle")
def test_what_follows_what(case: dict[str, Any]) -> None:
    """Every pair of states, what comes again, correlations: what is said of each message, and where its task stands."""
    lifecycle = sap.Lifecycle() if case["strict"] else sap.Lifecycle(strict=False)
    for step in case["steps"]:
        fields = step["message"]
        message = (sap.Task if "issuer" in fields else sap.Result).from_dict(fields)
        if "error" in step:
            caught = raised(RuleError, lifecycle.feed, message)
            assert [caught.reason, caught.rule] == step["error"]
        else:
            issues = [[issue.reason, issue.where, issue.severity] for issue in lifecycle.feed(message)]
            assert issues == step["issues"]
        known = lifecycle[fields["taskId"].upper()]
        assert [known.status, known.done, known.task is not None] == step["status"]


def test_what_is_known_of_a_task() -> None:
    lifecycle = sap.Lifecycle()
    lifecycle.feed(task())
    lifecycle.feed(result(status="RUNNING"))
    one = lifecycle[TASK["taskId"]]
    assert (one.correlation_id, one.status, one.task, len(one.digests)) == (TASK["correlationId"], "RUNNING", task(), 1)
    assert not one.done
    lifecycle.feed(result())
    assert lifecycle[TASK["taskId"]].done
    lifecycle.forget(TASK["taskId"])
    assert TASK["taskId"] not in lifecycle
    with pytest.raises(TypeError):
        lifecycle.feed(sap.Ack(message_id="x", correlation_id=None))  # type: ignore[arg-type]


CHECKS = [{"principle": "honesty", "status": "PASS"}]


def test_outcomes_become_right_results() -> None:
    outcomes = [
        (sap.Outcome({"a": 1}), "SUCCEEDED", "ESCALATE", None),
        (sap.Outcome({"a": 1}, alignment="VALID"), "SUCCEEDED", "ESCALATE", None),
        (sap.Outcome({"a": 1}, alignment="VALID", policy_checks=CHECKS), "SUCCEEDED", "VALID", None),
        (sap.Outcome(None), "SUCCEEDED", "ESCALATE", None),
        (sap.Outcome(error=("TIMEOUT", "late")), "FAILED", "ESCALATE", "TIMEOUT"),
        (sap.Outcome(error=("TIMEOUT", ""), alignment="VALID", policy_checks=CHECKS), "FAILED", "ESCALATE", "TIMEOUT"),
        (sap.Outcome(1, alignment="NON_CONSTITUTIONAL"), "FAILED", "NON_CONSTITUTIONAL", "NON_CONSTITUTIONAL"),
        (
            sap.Outcome(1, alignment=sap.Alignment.NON_CONSTITUTIONAL),
            "FAILED",
            "NON_CONSTITUTIONAL",
            "NON_CONSTITUTIONAL",
        ),
        (sap.Outcome(error=("NON_CONSTITUTIONAL", "no")), "FAILED", "NON_CONSTITUTIONAL", "NON_CONSTITUTIONAL"),
        (sap.Outcome(alignment=sap.Alignment.ESCALATE), "ESCALATED", "ESCALATE", None),
        (sap.Outcome(status=sap.Status.ESCALATED), "ESCALATED", "ESCALATE", None),
        (sap.Outcome(status="FAILED"), "FAILED", "ESCALATE", "INTERNAL"),
        (sap.Outcome(status=sap.Status.PARTIAL, next_actions=[{"capability": "x.y"}]), "PARTIAL", "ESCALATE", None),
        (sap.Outcome(error=sap.AgentError(code="MINE")), "FAILED", "ESCALATE", "MINE"),
    ]
    for outcome, status, alignment, code in outcomes:
        made = sap.result_for(task(), outcome, "B", now=datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
        assert (made.status, made.constitutional_evidence.alignment) == (status, alignment)
        assert (made.error.code if made.error else None) == code
        checks = made.fields["constitutionalEvidence"]["policyChecks"]
        unsaid = outcome.alignment is None and code != "NON_CONSTITUTIONAL"
        assert (sap.NOT_VETTED in checks) is (unsaid or (outcome.alignment == "VALID" != alignment))
        assert made.reported_at == "2025-01-02T03:04:05Z"
        assert sap.decode(sap.encode(made)) == made
        sap.Lifecycle().feed(made)
        assert sap.check(made) == [] or code == "MINE"
    assert "output" in sap.result_for(task(), sap.Outcome(None), "B")
    assert "output" not in sap.result_for(task(), sap.Outcome(), "B")
    with pytest.raises(ValueError, match="zone"):
        sap.result_for(task(), sap.Outcome(), "B", now=datetime(2025, 1, 1))
    with pytest.raises(TypeError, match="expected an Outcome, not dict"):
        sap.result_for(task(), {"answer": 42}, "B")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, "00000000-0000-4000-8000-000000000001"])
def test_a_task_below_another_has_its_correlation(given: str | None) -> None:
    parent = sap.make_task("c", {})
    made = sap.make_task("c", {}, parent=parent, correlation_id=given)
    assert (made.parent_task_id, made.correlation_id) == (parent.task_id, given or parent.correlation_id)
    named = sap.make_task("c", {}, parent=parent.task_id, correlation_id=given)
    assert named.parent_task_id == parent.task_id and (named.correlation_id == given or given is None)
    assert named.correlation_id != parent.correlation_id and "parentTaskId" not in parent


def test_a_task_that_was_made_shares_nothing_with_what_it_was_made_of() -> None:
    issuer = sap.Issuer(agent_id="a", agent_kind="agent")
    context = {"pressureLevel": "instant", "principles": ["p"], "x": {"y": [1]}}
    policy = sap.CachePolicy(mode="prefer")
    given = {"hints": {"shard": [1]}, "meta": {"x": [1]}, "schema": {"required": ["a"]}, "payload": {"x": [1]}}
    before = copy.deepcopy([issuer.fields, context, policy.fields, given, NOBODY.fields])
    for more in (
        {"issuer": issuer, "context": context, "cache": policy},
        {"context": sap.ConstitutionalContext.from_dict(context)},
    ):
        made = make_task(
            "c",
            given["payload"],
            routing_hints=given["hints"],
            meta=given["meta"],
            output_schema=given["schema"],
            **more,  # type: ignore[arg-type]
        )
        spoiled(made.fields)
    assert [issuer.fields, context, policy.fields, given, NOBODY.fields] == before


def spoiled(value: Any) -> None:
    """Changes all that can be changed."""
    for inner in [*(value.values() if isinstance(value, dict) else value)]:
        if isinstance(inner, (dict, list)):
            spoiled(inner)
    value.append("spoiled") if isinstance(value, list) else value.update(spoiled=True)
