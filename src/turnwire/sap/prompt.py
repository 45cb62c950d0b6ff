# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM SAP, made from the tables that its reader and writer use."""

from __future__ import annotations

from typing import Any

from turnwire.sap import spec
from turnwire.sap.messages import Result, Task
from turnwire.showing import as_json, listed

_SAP_VALUES = {
    "protocolVersion": "2.0",
    "issuedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "reportedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "payload": {},
    "output": {},
}


_TASK, _TRACE = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a", "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
_HEAD = {"protocolVersion": "2.0", "taskId": _TASK, "correlationId": _TRACE}
_FROM = {"reportedAt": "2026-01-15T08:00:05Z", "producer": {"agentId": "coder", "agentKind": "agent"}}
_CHECKS = [{"principle": "care", "status": "PASS", "notes": "tests ran"}]
EXAMPLES: dict[str, dict[str, Any]] = {
    "Task": {
        **_HEAD,
        "issuedAt": "2026-01-15T08:00:00Z",
        "issuer": {"agentId": "lead", "agentKind": "agent"},
        "target": {"agentId": "coder", "capability": "code.fix"},
        "constitutionalContext": {"pressureLevel": "instant", "principles": ["care"], "pressure": {"care": 40}},
        "payload": {"text": "fix the parser"},
        "outputContract": {"format": "text"},
        "telemetry": {"priority": "high", "deadline": "2026-01-15T09:00:00Z", "budget": {"tokens": 5000}},
    },
    "Ack": {"messageId": _TASK, "correlationId": _TRACE, "status": "ACK"},
    "Nack": {"messageId": _TASK, "correlationId": _TRACE, "status": "NACK", "reason": "the queue is full"},
    "RUNNING": {**_HEAD, **_FROM, "status": "RUNNING", "constitutionalEvidence": {"alignment": "ESCALATE"}},
    "SUCCEEDED": {
        **_HEAD,
        **_FROM,
        "status": "SUCCEEDED",
        "output": "the parser reads empty files",
        "constitutionalEvidence": {"alignment": "VALID", "policyChecks": _CHECKS},
    },
    "FAILED": {
        **_HEAD,
        **_FROM,
        "status": "FAILED",
        "error": {"code": "NOT_FOUND", "message": "there is no parser"},
        "constitutionalEvidence": {"alignment": "ESCALATE", "policyChecks": _CHECKS},
    },
}
"""A message of each kind, and Results in their states."""


def prompt(short: bool = False) -> str:
    """The text that teaches SAP, made from the tables of ``spec``; unless ``short`` with a message of each kind."""
    shown = "".join(f"{name} {as_json(value)}\n" for name, value in EXAMPLES.items())
    return _rules() if short else f"{_rules()}Examples:\n{shown}"


def _rules() -> str:
    def example(table: Any) -> dict[str, Any]:
        return {field.name: value(field) for field in table.fields if field.need == spec.MUST}

    def value(field: Any) -> Any:
        if field.table is not None:
            return example(field.table)
        if field.values:
            return "|".join(field.values)
        return _SAP_VALUES.get(field.name, f"<{field.kind.told}>")

    def optional(table: Any, inside: str = "") -> Any:
        for field in table.fields:
            if field.need != spec.MUST:
                yield f"{inside}{field.name} ({kind(field)})"
            elif field.table is not None:
                yield from optional(field.table, f"{inside}{field.name}.")

    def kind(field: Any) -> str:
        null = " or null" if field.nullable else ""
        if field.values:
            return "|".join(field.values) + null
        if field.table is None:
            return f"{field.kind.told}{null}"
        parts = listed(f"{one.name}: {kind(one)}" for one in field.table.fields)
        return f"array of {{{parts}}}{null}" if field.kind is spec.Kind.RECORDS else f"{{{parts}}}{null}"

    tables = "\n".join(
        f"- {table.name}: {as_json(example(table))}\n  and where it helps: {listed(optional(table))}."
        for table in (Task.TABLE, Result.TABLE)
    )
    receipt = {**dict.fromkeys(("messageId", "correlationId"), "<UUID>"), "status": "ACK|NACK", "reason": "<string>"}
    return f"""\
You exchange UBOS SAP V{spec.VERSION} objects. Every message is a single JSON object, a Task or a Result (or, where a transport has them, an Ack or Nack): raw JSON only, no \
prose, no code fence. Where a value shows alternatives, choose one; fill in what stands in angle brackets.
{tables}
- Ack, Nack: {as_json(receipt)}, where messageId is the taskId that it answers; an Ack needs no reason.
Rules:
- taskId and correlationId are UUIDs in the form of 36 characters; a Result repeats those of its Task.
- Times are UTC, written YYYY-MM-DDTHH:MM:SSZ. Optional fields stand with the type of their value.
- pressureLevel is {listed(level.value for level in spec.PressureLevel)}; pressure maps principles to integers from 0 to 100.
- Report QUEUED and RUNNING as often as you like, then one of {listed(sorted(word.value for word in spec.TERMINAL))}, and \
nothing after that.
- A Result of these has metrics, nextActions, policyChecks or violations; an ESCALATED or PARTIAL one has nextActions.
- A FAILED Result has error.message and error.code, for example {listed(sorted(spec.ERROR_CODES))}. A SUCCEEDED Result is \
never NON_CONSTITUTIONAL; only what SUCCEEDED or is PARTIAL, without violations and failed checks, is VALID.
- Never put secrets into a payload.
"""
