"""Dialogues of every wire, of any length, that their own checklist takes, and a context for their conversion."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.convert.messages import DEFAULTS
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example
from turnwire import Context, csp, kick, nslip, sap, sstp


def made_id(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def in_nslip(tasks: int) -> list[Any]:
    """Request, accept, progress, question, answer, result."""
    turns = itertools.count(1)
    texts = []
    steps = (("3", 0, 1, ""), ("6", 1, 0, ""), ("1", 1, 0, "in_progress"), ("2", 1, 0, ""), ("1", 0, 1, ""),
             ("1", 1, 0, "done"))  # fmt: skip
    for task in range(1, tasks + 1):
        for act, source, target, status in steps:
            turn = next(turns)
            more = f'|u"{status}"' if status else ""
            head = f"@a{act}|f0|c3|S{source}|d{target}|T{nslip.base62.encode(turn)}|k{nslip.base62.encode(task)}"
            texts.append(f'{head}{more}|t"text_{turn}"#')
    return list(map(nslip.decode, texts))


def in_csp(tasks: int) -> list[Any]:
    """Task and result; every third time an error."""
    found: list[Any] = []
    for task in range(1, tasks + 1):
        found.append(csp.message("MAIN", "CODER", "C0", csp.Task(f"T{task}", {"REQ": f"do {task}", "PRIORITY": "P1"})))
        if task % 3:
            answer: Any = csp.Result(f"T{task}", {"STATUS": "OK", "DATA": f"did {task}"})
        else:
            answer = csp.Error(f"E{task}", {"AT": f"T{task}", "CAUSE": f"cannot {task}"})
        found.append(csp.message("CODER", "MAIN", "C0", answer))
    return found


def in_sstp(tasks: int) -> list[Any]:
    """Delegation and finding, question and answer."""
    clocks: Counter[str] = Counter()

    def say(kind: str, actor: str, **payload: str) -> Any:
        clocks[actor] += 1
        value = example(sstp.Kind(kind))
        value["header"] |= {"actor_id": actor, "session_id": "s", "logical_clock": clocks[actor]}
        value["payload"] |= payload
        return sstp.decode(json.dumps(value))

    return [
        one
        for task in range(tasks)
        for one in (
            say("delegation", "alex", assigned_to="bo", task=f"do {task}"),
            say("knowledge", "bo", content=f"did {task}"),
            say("query", "alex", directed_to="bo", question=f"why {task}"),
            say("knowledge", "bo", content=f"because of {task}"),
        )
    ]


def in_sap(tasks: int) -> list[Any]:
    """Task, Ack, RUNNING, result; every third time a failure."""
    found = []
    for task in range(tasks):
        ids = {"taskId": made_id(task + 1), "correlationId": made_id(999)}
        times = [f"2026-01-01T00:{task % 60:02}:{second:02}Z" for second in range(3)]
        aims = {**TASK["constitutionalContext"], "pressureLevel": "instant", "cachePolicy": {"mode": "bypass"}}
        target = {"agentId": "A-ml-001", "capability": "a.b"}
        found.append({**TASK, **ids, "issuedAt": times[0], "constitutionalContext": aims, "target": target,
                      "payload": {"text": f"do {task}"}, "outputContract": {"format": "text"},
                      "telemetry": {"priority": "high"}})  # fmt: skip
        found.append({"messageId": ids["taskId"], "correlationId": made_id(999), "status": "ACK"})
        found.append({**RESULT, **ids, "reportedAt": times[1], "status": "RUNNING", "output": "half"})
        last: dict[str, Any] = {**RESULT, **ids, "reportedAt": times[2], "output": f"did {task}"}
        if task % 3 == 0:
            del last["output"]
            last |= {"status": "FAILED", "error": {"message": f"cannot {task}"}}
        found.append(last)
    return [sap.decode(json.dumps(one)) for one in found]


def in_kick(tasks: int) -> list[Any]:
    """Dispatch, accepted, in progress, artifact, completed; every third time a failure."""
    found = []
    for task in range(tasks):
        steps = [("command/dispatch", "task/dispatch", f"do {task}"), ("report/status", "report/status", "Accepted"),
                 ("report/status", "report/status", "In Progress")]  # fmt: skip
        if task % 3:
            steps += [("report/artifact", "report/artifact", f"a/{task}"), ("report/status",) * 2 + ("Completed",)]
        else:
            steps += [("report/status", "report/status", f"Failed\ncannot {task}")]
        for number, (channel, name, text) in enumerate(steps):
            command = channel.startswith("command")
            ends = ("Orchestrator", "WePlan") if command else ("WePlan", "Orchestrator")
            content = f"⫻{name}:T{task + 1}/001\n{text}\n"
            stamp = f"2026-01-01T00:{task % 60:02}:{number:02}Z"
            kind = "Command" if command else "Info"
            name = made_id(10_000 + 10 * task + number)
            found.append(kick.Envelope(name, stamp, *ends, kind, f"⫻{channel}", content, made_id(5000)))
    return found


DIALOGUES: dict[str, Callable[[int], list[Any]]] = {
    "nslip": in_nslip, "csp": in_csp, "sstp": in_sstp, "sap": in_sap, "kick": in_kick,
}  # fmt: skip
ROLES = {
    "nslip": {"0": "Orchestrator", "1": "WePlan"},
    "csp": {"MAIN": "Orchestrator", "CODER": "WePlan"},
    "sstp": {"alex": "Orchestrator", "bo": "WePlan"},
    "sap": {"A-prime": "Orchestrator", "A-ml-001": "WePlan"},
    "kick": {},
}


def given(source: str) -> Context:
    """A context with what the targets need beyond a dialogue of ``source``; names are given ids."""
    ids = {
        "id",
        "block.id",
        "ERROR:block.id",
        "PATCH:block.id",
        "taskId",
        "correlationId",
        "messageId",
        "correlation_id",
    }
    ids |= {"ctx", "sender", "receiver", "src", "dst", "conv_id", "issuer.agentId", "producer.agentId", "block.AT"}
    defaults: dict[str, dict[str, Any]] = {
        wire: {path: value for path, value in values.items() if path not in ids} for wire, values in DEFAULTS.items()
    }
    defaults["sap"] |= {
        "status": "SUCCEEDED",
        "constitutionalEvidence.policyChecks": [{"principle": "x", "status": "PASS"}],
        "constitutionalContext.cachePolicy": {"mode": "bypass"},
    }
    numbers = itertools.count(1)

    def fresh() -> str:
        return str(uuid.UUID(int=next(numbers), version=4))

    values = {"sap": {"target.capability": {'["one","two"]': "one"}}}  # SAP has room for one
    return Context(defaults=defaults, values=values, roles=ROLES[source], now="2026-01-01T00:00:00Z", new_id=fresh)
