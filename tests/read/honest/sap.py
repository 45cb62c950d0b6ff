"""Logs of SAP that break a clause each, and such that keep all; then conversations. A case is (name, log)."""

from __future__ import annotations

import json
from typing import Any

from tests.read.honest.containers import fenced, in_json, lines, prefixed

A, B = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a", "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
C, D = "0c0c32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a", "0d0dd5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"


def changed(value: dict[str, Any], changes: dict[str, Any]) -> str:
    """JSON of a value with some of its values replaced (by path, None to leave one out)."""
    value = json.loads(json.dumps(value))
    for path, new in changes.items():
        *parents, name = path.split("__")
        part = value
        for parent in parents:
            part = part.setdefault(parent, {})
        if new is None:
            part.pop(name, None)
        else:
            part[name] = new
    return json.dumps(value, ensure_ascii=False)


def task(**changes: Any) -> str:
    """A SAP task."""
    context = {"pressureLevel": "consulted", "territory": "EUFM", "principles": ["strategic_pause"]}
    whole = {"protocolVersion": "2.0", "taskId": A, "correlationId": B, "issuedAt": "2025-09-28T10:15:23Z"}
    whole |= {"issuer": {"agentId": "A-prime", "agentKind": "agent"}, "payload": {"topic": "plan"}}
    whole |= {"target": {"agentId": "A-1", "capability": "consult.align"}, "constitutionalContext": context}
    return changed(whole, changes)


def result(**changes: Any) -> str:
    """Its result."""
    evidence = {"alignment": "VALID", "policyChecks": [{"principle": "strategic_pause", "status": "PASS"}]}
    whole = {"protocolVersion": "2.0", "taskId": A, "correlationId": B, "reportedAt": "2025-09-28T10:29:12Z"}
    whole |= {"producer": {"agentId": "A-1", "agentKind": "agent"}, "status": "SUCCEEDED", "output": {"parts": [1]}}
    return changed({**whole, "constitutionalEvidence": evidence}, changes)


def receipt(status: str = "ACK", **changes: Any) -> str:
    """An Ack or a Nack of it."""
    return changed({"messageId": A, "correlationId": B, "status": status}, changes)


CONTEXT, EVIDENCE = "constitutionalContext__", "constitutionalEvidence__"
HIT = {"hit": True, "cacheKey": "sapck1:sha256:ab", "ageSec": 30}


def policy(**values: Any) -> str:
    """A task with a cache policy."""
    return task(**{CONTEXT + "cachePolicy": values})


def cached(**values: Any) -> str:
    """A result out of the cache."""
    return result(**{EVIDENCE + "cache": {**HIT, **values}})


def failed(code: str = "INTERNAL", **changes: Any) -> str:
    """A result that failed."""
    said_so = {"code": code, "message": "the agent stopped"}
    return result(
        **{"status": "FAILED", "output": None, "error": said_so, EVIDENCE + "alignment": "ESCALATE", **changes}
    )


BROKEN: dict[str, str] = {
    "an id that is not a UUID": prefixed(task(taskId="T-7"), result(taskId="T-7")),
    "a time without a zone": in_json(task(issuedAt="2025-09-28T10:15:23"), result()),
    "a time of another zone": lines(task(issuedAt="2025-09-28T12:15:23+02:00"), result()),
    "nobody issues": lines(task(issuer=None), result()),
    "an issuer that is a robot": fenced(task(issuer__agentKind="robot"), result()),
    "no pressure level": prefixed(task(**{CONTEXT + "pressureLevel": None}), result()),
    "a pressure level beyond the table": in_json(task(**{CONTEXT + "pressureLevel": "high"}), result()),
    "a pressure of 140": lines(task(**{CONTEXT + "pressure": {"strategic_pause": 140}}), result()),
    "no evidence": fenced(task(), result(constitutionalEvidence=None)),
    "no alignment": lines(task(), result(**{EVIDENCE + "alignment": None})),
    "an alignment beyond the table": in_json(task(), result(**{EVIDENCE + "alignment": "FINE"})),
    "a status beyond the table": lines(task(), result(status="DONE")),
    "another correlation": prefixed(task(), result(correlationId=D)),
    "a result of no task": lines(task(), result(), result(taskId=C, correlationId=D)),
    "a status after the last": fenced(task(), result(), result(status="RUNNING")),
    "two outcomes": lines(task(), result(), result(output={"parts": [2]})),
    "failed without a message": in_json(task(), failed(error={"code": "INTERNAL"})),
    "computed where only the cache may answer": prefixed(policy(mode="only"), result()),
    "partly computed where only the cache may answer": lines(
        policy(mode="only"), result(status="PARTIAL", nextActions=[{}])
    ),
    "the cache in spite of bypass": lines(policy(mode="bypass"), cached()),
    "a miss that the mode does not allow": in_json(policy(mode="prefer"), failed("CACHE_MISS")),
    "a hit without its key": lines(policy(mode="prefer"), result(**{EVIDENCE + "cache": {"hit": True}})),
    "a hit that is too old": fenced(policy(mode="prefer", maxAgeSec=10), cached()),
    "no result at the deadline": lines(
        task(telemetry={"deadline": "2025-09-28T10:20:00Z"}),
        task(taskId=C, correlationId=D, issuedAt="2025-09-28T11:00:00Z"),
        result(taskId=C, correlationId=D, reportedAt="2025-09-28T11:00:09Z"),
    ),
    "a result behind the deadline": lines(task(telemetry={"deadline": "2025-09-28T10:20:00Z"}), result()),
    "an output of another type": prefixed(task(outputContract={"schema": {"type": "array"}}), result()),
    "an output that lacks a field": lines(
        task(outputContract={"schema": {"type": "object", "required": ["sections"]}}), result()
    ),
    "an id for two tasks": in_json(task(), task(payload={"topic": "another"}), result()),
    "a payload in a string": lines(task(payload="plan"), result()),
    "a negative age": lines(policy(mode="prefer", maxAgeSec=-1), result()),
    "no capability": fenced(task(target__capability=None), result()),
    "an Ack of another correlation, in front": lines(receipt(correlationId=D), task(), result()),
    "an Ack of no task": lines(task(), receipt(messageId=C, correlationId=D), result()),
    "a result in spite of a Nack": lines(task(), receipt("NACK", reason="no such capability"), result()),
    "a Nack without a reason": lines(task(), receipt("NACK")),
    "a producer that is a user": lines(task(), result(producer__agentKind="user")),
    "a key in the payload": lines(task(payload={"api_key": "sk-abcdefghijklmnopqrstuvwx123456"}), result()),
    "broken JSON": lines(task(), result()[:-1]),
}
GOOD: dict[str, str] = {
    "a task and its result": lines(task(), result()),
    "behind a prefix": prefixed(task(), receipt(), result()),
    "in JSON": in_json(task(), result()),
    "in a fence": fenced(task(), result()),
    "over several lines": json.dumps(json.loads(task()), indent=2)
    + "\n"
    + json.dumps(json.loads(result()), indent=2)
    + "\n",
    "queued, running, done": lines(task(), result(status="QUEUED"), result(status="RUNNING"), result()),
    "a hit": lines(policy(mode="only", maxAgeSec=60), cached()),
    "a miss": lines(policy(mode="only"), failed("CACHE_MISS")),
    "ids in capitals": lines(task(), result(taskId=A.upper(), correlationId=B.upper())),
    "a result twice": lines(task(), result(), result()),
    "a refusal": lines(task(), receipt("NACK", reason="no such capability")),
    "a time-out, told late": lines(task(telemetry={"deadline": "2025-09-28T10:20:00Z"}), failed("TIMEOUT")),
    "no parent": lines(task(parentTaskId="x").replace('"x"', "null"), result()),
    "fields of one's own": lines(task(shade="blue", meta={"a": 1}), result(meta={"b": 2})),
    "an escalation": lines(
        task(),
        result(**{"status": "ESCALATED", "nextActions": [{"ask": "a human"}], EVIDENCE + "alignment": "ESCALATE"}),
    ),
    "results alone": lines(result()),
}

LATE = {"deadline": "2025-09-28T10:20:00Z"}
TASK2, RESULT2 = task(taskId=C, correlationId=D), result(taskId=C, correlationId=D)

BROKEN |= {
    "queued behind running": lines(task(), result(status="RUNNING"), result(status="QUEUED"), result()),
    "failed, and then done": prefixed(task(), failed(), result()),
    "the correlation is lost on the way": lines(task(), result(status="RUNNING"), result(correlationId=D)),
    "results exchanged": lines(task(), TASK2, result(correlationId=D), result(taskId=C)),
    "a result in front of its task, of another correlation": in_json(result(correlationId=D), task()),
    "one of two too late": lines(task(), task(taskId=C, correlationId=D, telemetry=LATE), result(), RESULT2),
    "never done, and others go on": lines(
        task(telemetry=LATE), TASK2, result(taskId=C, correlationId=D, reportedAt="2025-09-29T00:00:00Z")
    ),
    "a hit as old as it may be": lines(policy(mode="prefer", maxAgeSec=30), result(**{EVIDENCE + "cache": HIT})),
    "a hit without its age": lines(policy(mode="only"), result(**{EVIDENCE + "cache": {"hit": True, "cacheKey": "k"}})),
    "a hit, and no policy": prefixed(task(), result(**{EVIDENCE + "cache": HIT})),
    "a miss told as success": lines(policy(mode="only"), result(**{EVIDENCE + "cache": {"hit": False}})),
    "a task changed while it runs": lines(task(), result(status="RUNNING"), task(tags=["new"]), result()),
    "a reused id after the end": lines(task(), result(), task(issuedAt="2025-09-29T10:15:23Z"), result()),
    "an Ack, and then nothing until the deadline": in_json(
        task(telemetry=LATE), receipt(), TASK2, result(taskId=C, correlationId=D)
    ),
    "no signal in the second": lines(
        task(), result(), TASK2, result(**{"taskId": C, "correlationId": D, EVIDENCE + "policyChecks": None})
    ),
    "an output of the wrong form": lines(
        task(outputContract={"schema": {"type": "object", "properties": {"parts": {"type": "string"}}}}), result()
    ),
    "a month of 13": lines(task(issuedAt="2025-13-28T10:15:23Z"), result()),
    "a time with a fraction": lines(task(), result(reportedAt="2025-09-28T10:29:12.5Z")),
    "a deadline that is none": lines(task(telemetry={"deadline": "soon"}), result()),
    "a principle with a pressure in words": lines(
        task(**{CONTEXT + "pressure": {"strategic_pause": "high"}}), result()
    ),
    "principles in a string": fenced(task(**{CONTEXT + "principles": "strategic_pause"}), result()),
    "a risk beyond the table": lines(task(**{CONTEXT + "riskTolerance": "none"}), result()),
    "a mode beyond the table": lines(policy(mode="always"), result()),
    "a priority beyond the table": lines(task(telemetry={"priority": "now"}), result()),
    "a version that is a number": lines(task(), result(protocolVersion=2)),
    "a null where there is none": lines(task(payload="x").replace('"payload": "x"', '"payload": null'), result()),
    "a key of a bank": lines(task(payload={"config": {"aws": "AKIAIOSFODNN7EXAMPLE"}}), result()),
}
GOOD |= {
    "many at once": lines(
        *(task(taskId=A[:-2] + f"{n:02}", correlationId=B[:-2] + f"{n:02}") for n in range(20)),
        *(result(taskId=A[:-2] + f"{n:02}", correlationId=B[:-2] + f"{n:02}") for n in range(20)),
    ),
    "refused, sent again, done": lines(
        task(), receipt("NACK", reason="the queue is full"), task(), receipt(), result()
    ),
    "a family of tasks with one correlation": lines(task(), task(taskId=C, parentTaskId=A), result(taskId=C), result()),
    "a receipt with an id of the transport": lines(task(), receipt(messageId=C), result()),
    "in time": lines(task(telemetry={"deadline": "2025-09-28T11:00:00Z"}), result()),
    "a hit that is young": prefixed(policy(mode="prefer", maxAgeSec=31), result(**{EVIDENCE + "cache": HIT})),
    "partly, with what is next": in_json(task(), result(status="PARTIAL", nextActions=[{"topic": "rest"}])),
    "cancelled": lines(task(), receipt(), result(**{"status": "CANCELLED", EVIDENCE + "alignment": "ESCALATE"})),
    "a result in front of its task": lines(result(), task()),
    "a place for a password": lines(task(payload={"password": "vault:db/main", "tokens": 50}), result()),
    "an output as declared": lines(
        task(outputContract={"schema": {"type": "object", "required": ["parts"]}, "format": "json"}), result()
    ),
}

BROKEN |= {
    "a password in a URI": lines(
        task(attachments=[{"uri": "https://bob:hunter2@example.com/x", "kind": "md"}]), result()
    ),
    "a password in the way back": in_json(task(replyTo={"endpoint": "amqps://bob:hunter2@example.com/q"}), result()),
    "a password in an artifact": prefixed(task(), result(artifacts=[{"uri": "ftp://bob:hunter2@example.com/x"}])),
}
GOOD |= {
    "a name in a URI": lines(task(replyTo={"endpoint": "ssh://git@example.com/x"}), result()),
    "a place for the password of a URI": lines(
        task(replyTo={"endpoint": "https://bob:$TOKEN@example.com/x"}), result()
    ),
}

BROKEN |= {
    "a digest of another form": lines(
        task(attachments=[{"uri": "https://a.example/b", "kind": "md", "digest": "md5:12"}]), result()
    )
}
LEVEL = {CONTEXT + "pressureLevel": None}
GOOD |= {
    f"no pressureLevel, as in the specification, {place}": log
    for place, log in {
        "on lines": lines(task(**LEVEL, **{CONTEXT + "pressure": {"strategic_pause": 28}}), result()),
        "in strings": in_json(task(**LEVEL, **{CONTEXT + "pressure": {"strategic_pause": 28}}), result()),
    }.items()
}
