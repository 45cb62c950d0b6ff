"""One agent and one list of tasks for every transport."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from tests.sap.documents import TASK, changed
from turnwire import sap
from turnwire.ledger import Ledger

RULES = sap.Access([sap.Rule("A-*", ("work.*", "consult.*")), sap.Rule("Guest", ("work.add",))])
CHECKS = [{"principle": "honesty", "status": "PASS"}]
CONTRACT = {"format": "json", "schema": {"type": "object", "required": ["sum"]}}


def make_agent(folder: Path, **more: Any) -> sap.Agent:
    """An agent with the capabilities of the scenario, a cache, a loop and a transcript in ``folder``."""
    settings: dict[str, Any] = {
        "cache": sap.Cache(folder / "cache"),
        "learning": sap.LearningLoop(folder / "signals"),
        "transcript": Ledger(folder / "transcript"),
        "access": RULES,
    }
    agent = sap.Agent("B", **{**settings, **more})
    calls: dict[str, int] = {}

    @agent.capability("work.add", description="Adds two numbers.", schema={"type": "object", "required": ["a", "b"]})
    async def add(task: sap.Task, context: sap.Context) -> Any:
        calls[task.task_id] = calls.get(task.task_id, 0) + 1
        return sap.Outcome(
            {"sum": task.payload["a"] + task.payload["b"]},
            alignment=sap.Alignment.VALID,
            citations=["ubos://arithmetic"],
            policy_checks=[sap.PolicyCheck(principle="honesty", status="PASS")],
            metrics={"calls": calls[task.task_id], "traced": context.trace},
        )

    @agent.capability("work.sleep")
    async def sleep(task: sap.Task, context: sap.Context) -> Any:
        await asyncio.sleep(task.payload["seconds"])
        return "slept"

    @agent.capability("work.fail")
    def fail(task: sap.Task, context: sap.Context) -> Any:
        kind = task.payload["how"]
        if kind == "refuse":
            raise sap.Refusal("UNPROCESSABLE", "it cannot be done")
        if kind == "crash":
            raise ZeroDivisionError("secret detail")
        return {"not JSON": {1, 2}}

    @agent.capability("consult.align")
    def align(task: sap.Task, context: sap.Context) -> Any:
        return sap.Outcome({"sum": None}, alignment=task.payload["alignment"], policy_checks=CHECKS)

    return agent


def task(capability: str, payload: dict[str, Any], **changes: Any) -> sap.Task:
    """A fresh task; changes are pointers with ``__`` for ``/``."""
    document = changed(TASK, "/payload", payload)
    document["taskId"] = str(uuid.uuid4())
    document["correlationId"] = str(uuid.uuid4())
    document["target"] = {"agentId": "B", "capability": capability}
    document["constitutionalContext"]["cachePolicy"] = {"mode": "bypass"}
    for name in ("telemetry", "replyTo", "outputContract"):
        del document[name]
    for pointer, value in changes.items():
        document = changed(document, "/" + pointer.replace("__", "/"), value)
    return sap.Task.from_dict(document)


def scenario() -> list[sap.Task]:
    """Tasks whose Results must be the same on every transport."""
    again = task("work.add", {"a": 1, "b": 2})
    cached = {"mode": "prefer", "maxAgeSec": 1000}
    policy = "constitutionalContext__cachePolicy"
    return [
        again,
        again,
        task("work.add", {"a": 2**60, "b": 1.5}, outputContract=CONTRACT),
        task("work.add", {"a": "Ä", "b": "\U0001f600"}, **{policy: cached}),
        task("work.add", {"a": "Ä", "b": "\U0001f600"}, **{policy: cached}),
        task("work.add", {"a": 5, "b": 5}, **{policy: {"mode": "only"}}),
        task("work.sleep", {"seconds": 5}, telemetry={"budget": {"seconds": 0.05}}),
        task("work.sleep", {"seconds": 0}, telemetry={"deadline": "2020-01-01T00:00:00Z"}),
        task("work.fail", {"how": "refuse"}),
        task("work.fail", {"how": "crash"}),
        task("work.fail", {"how": "output"}),
        task("consult.align", {"alignment": "NON_CONSTITUTIONAL"}),
        task("consult.align", {"alignment": "ESCALATE"}),
        task("consult.align", {"alignment": "VALID"}, outputContract={"schema": {"required": ["other"]}}),
        task("work.sleep", {"seconds": 0}, issuer={"agentId": "Guest", "agentKind": "user"}),
        task("work.add", {"a": 1, "b": 1}, issuer={"agentId": "nobody", "agentKind": "system"}),
        task("work.unknown", {}),
        task("work.add", {"a": 1, "b": 1}, telemetry={"trace": True, "budget": {"seconds": 30}}),
    ]


FAILED = ("CACHE_MISS", "TIMEOUT", "TIMEOUT", "UNPROCESSABLE", "INTERNAL", "INTERNAL", "NON_CONSTITUTIONAL")
EXPECTED = [
    *[("SUCCEEDED", None)] * 5,
    *(("FAILED", code) for code in FAILED),
    *(("ESCALATED", None), ("SUCCEEDED", None)),
    *(("NACK", code) for code in ("FORBIDDEN", "UNAUTHORIZED", "NOT_FOUND")),
    ("SUCCEEDED", None),
]


async def play(client: Any) -> list[dict[str, Any]]:
    """Results (or Nacks) of the scenario through a client, without what differs from run to run."""
    made = []
    for one in scenario():
        try:
            result = await client.call(one)
        except sap.Refused as refused:
            nack = refused.nack
            made.append({"status": "NACK", "reason": nack.reason, "kept": nack.correlation_id == one.correlation_id})
            continue
        assert (result.task_id, result.correlation_id) == (one.task_id, one.correlation_id)
        assert [issue for issue in sap.check(result) if issue.severity == "warning"] == []
        document = result.to_dict()
        for name in ("taskId", "correlationId", "reportedAt"):
            del document[name]
        document["constitutionalEvidence"].get("cache", {}).pop("ageSec", None)
        for action in document.get("nextActions", ()):
            action.pop("taskId", None)
        made.append(document)
    return made


def summary(made: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """(status, code) of each."""
    return [
        (one["status"], one["reason"].partition(":")[0] if "reason" in one else one.get("error", {}).get("code"))
        for one in made
    ]
