"""The documents the tests start from: the examples of the specification and small ones made from them."""

from __future__ import annotations

import copy
from typing import Any

from turnwire import sap

TASK: dict[str, Any] = {
    "protocolVersion": "2.0",
    "taskId": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a",
    "parentTaskId": None,
    "correlationId": "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11",
    "issuedAt": "2025-09-28T10:15:23Z",
    "issuer": {"agentId": "A-prime", "agentKind": "agent", "name": "AI Prime"},
    "target": {"agentId": "A-ml-001", "capability": "consult.align"},
    "constitutionalContext": {
        "pressureLevel": "consulted",
        "principles": ["systems_over_willpower", "blueprint_thinking", "strategic_pause"],
        "pressure": {"systems_over_willpower": 52, "blueprint_thinking": 41, "strategic_pause": 28},
        "objectives": ["Outline SAP V2 spec"],
        "constraints": ["No PII", "Cite constitutional sources"],
        "riskTolerance": "low",
        "territory": "EUFM",
        "references": ["ubos://constitution/books"],
        "cachePolicy": {"mode": "prefer", "maxAgeSec": 86400, "mustAlign": True},
    },
    "payload": {"topic": "UBOS SAP V2", "depth": "detailed"},
    "outputContract": {"format": "json", "schema": {"type": "object"}},
    "telemetry": {"priority": "high", "deadline": "2025-09-28T11:00:00Z", "budget": {"tokens": 8000}},
    "replyTo": {"endpoint": "bus:inproc:prime", "expectAck": True},
    "tags": ["spec", "protocol"],
    "meta": {"clientVersion": "ubos/1.7.0"},
}

RESULT: dict[str, Any] = {
    "protocolVersion": "2.0",
    "taskId": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a",
    "correlationId": "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11",
    "reportedAt": "2025-09-28T10:29:12Z",
    "producer": {"agentId": "A-ml-001", "agentKind": "agent"},
    "status": "SUCCEEDED",
    "output": {"sections": ["Purpose", "Objects", "Learning"]},
    "artifacts": [{"uri": "file://reports/UBOS_SAP_V2.spec.md", "kind": "md"}],
    "metrics": {"latencyMs": 842, "tokensIn": 2100, "tokensOut": 600},
    "constitutionalEvidence": {
        "alignment": "VALID",
        "pressureReadings": {"systems_over_willpower": 52, "blueprint_thinking": 41, "strategic_pause": 28},
        "policyChecks": [
            {"principle": "systems_over_willpower", "status": "PASS", "notes": "Protocolized behavior"},
            {"principle": "blueprint_thinking", "status": "PASS", "notes": "Clear object model and schemas"},
        ],
        "citations": ["ubos://constitution/books", "ubos://sap/v1"],
        "cache": {"hit": False},
    },
    "meta": {"versionHint": "sap/2.0"},
}


def changed(document: dict[str, Any], *changes: Any) -> dict[str, Any]:
    """A copy of ``document`` with values set, given as pointer, value, pointer, value; ``...`` takes one away."""
    made = copy.deepcopy(document)
    for pointer, value in zip(changes[::2], changes[1::2], strict=True):
        *steps, last = pointer.split("/")[1:]
        inner: Any = made
        for step in steps:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        place = int(last) if isinstance(inner, list) else last
        if value is ...:
            del inner[place]
        else:
            inner[place] = copy.deepcopy(value)
    return made


def _made(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return changed(
        document, *(part for name, value in changes.items() for part in ("/" + name.replace("__", "/"), value))
    )


def task(**changes: Any) -> sap.Task:
    """The document's Task with changes: pointers with ``__`` for ``/``."""
    return sap.Task.from_dict(_made(TASK, changes))


def result(**changes: Any) -> sap.Result:
    """The document's Result with changes."""
    return sap.Result.from_dict(_made(RESULT, changes))
