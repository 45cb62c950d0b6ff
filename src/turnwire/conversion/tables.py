"""The common model as data: acts, status words, priorities, and the fields of each kind of message in each wire.

The common model is a flat record of facts (``FACTS``). A field that is not tied to a fact here is one that no other
wire has; a conversion names it in ``dropped``. docs/convert.md shows these tables and is tested against them.
"""

from __future__ import annotations

from typing import NamedTuple

FACTS: dict[str, str] = {
    "act": "what the message does: one of ACTS",
    "sender": "who speaks",
    "receiver": "who is spoken to",
    "conversation": "what the message belongs to",
    "sequence": "where in the conversation, or in the sender's part of it, the message stands; a number",
    "message": "the id of the message itself",
    "task": "the id of the piece of work it is about",
    "parent": "the id of the task above",
    "goal": "the id of the goal",
    "result": "the id of what was produced",
    "text": "what the message says",
    "status": "how the work stands: one of STATUSES, or another word",
    "priority": "one of PRIORITIES",
    "time": "when it was said",
    "code": "the code of an error",
    "output": "the form that an answer should have",
    "capability": "what the addressee must be able to do",
    "constraints": "rules that hold for the work; a list of texts",
    "references": "what the message rests on; a list of texts",
}


class Counterpart(NamedTuple):
    """One cell of ACTS: the kind of message in a wire.

    own: whether that kind, read, means this act. Where it does not, the kind is only the nearest one, which a
    conversion takes when it is asked to (``nearest=True``); the field that tells the kind (act, INTENT, header.kind
    ...) is then in ``dropped``. status: what a nearest kind says beside, so that a failure stays one.
    """

    kind: str
    own: bool = True
    status: str | None = None


def _row(nslip: str, csp: str, sstp: str, sap: str, kick: str) -> dict[str, Counterpart]:
    """A row of ACTS: kinds by wire; "~" in front: the nearest only, "~FAILED kind" with this status; "" for none."""
    found = {}
    for wire, cell in {"nslip": nslip, "csp": csp, "sstp": sstp, "sap": sap, "kick": kick}.items():
        if cell:
            *status, kind = cell.removeprefix("~").split()
            found[wire] = Counterpart(kind, cell[0] != "~", *status)
    return found


ACTS: dict[str, dict[str, Counterpart]] = {
    "request": _row("REQUEST/TASK", "TASK", "delegation", "Task", "command/dispatch"),
    "ask": _row("ASK/TASK", "QUERY", "query", "~Task", "query/context"),
    "inform": _row("INFORM/TASK", "RESULT", "knowledge", "Result", "report/artifact"),
    "error": _row("ERROR/TASK", "ERROR", "~FAILED evidence_bundle", "FailedResult", "alert/error"),
    "warn": _row("~ERROR/TASK", "~ERROR", "~FAILED evidence_bundle", "~FailedResult", "alert/violation"),
    "observe": _row("OBSERVE/OBSERVATION", "~MEM", "~knowledge", "~Result", "report/observe"),
    "propose": _row("PROPOSE/PLAN", "PLAN", "intent", "~Task", "report/propose"),
    "commit": _row("COMMIT/PLAN", "~PLAN", "commit", "~Result", "report/commit"),
    "accept": _row("ACCEPT/TASK", "~MEM", "~knowledge", "Ack", "report/status"),
    "reject": _row("REJECT/TASK", "~ERROR", "~FAILED evidence_bundle", "Nack", "report/reject"),
    "evaluate": _row("EVAL/EVALUATION", "~MEM", "evidence_bundle", "~Result", "report/evaluate"),
    "learn": _row("~INFORM/OBSERVATION", "MEM", "memory_delta", "~Result", "report/learn"),
    "meta": _row("META/CONTROL", "~MEM", "~knowledge", "~Result", "report/meta"),
    "patch": _row("~COMMIT/PLAN", "PATCH", "~commit", "~Task", "~command/dispatch"),
    "file": _row("~REQUEST/TASK", "FILE", "~delegation", "~Task", "~command/dispatch"),
    "stop": _row("", "", "", "", "command/stop"),
}
"""Act -> wire -> kind. A kind is one act's own at most, so that reading is certain. A wire that is not there has
nothing that comes near: what stops work would become work there, or no more than a remark."""


def own_acts(wire: str) -> dict[str, str]:
    """Kind -> the act that it means, of the kinds of a wire that are an act's own."""
    return {form.kind: act for act, row in ACTS.items() if (form := row.get(wire)) is not None and form.own}


REPORTING = frozenset({"inform", "observe", "evaluate", "learn"})
"""Acts whose meaning is also their status: one that failed, was cancelled or goes on is not one that succeeded."""

ASKING = frozenset({"request", "ask", "propose", "patch", "file"})
"""Acts that want something done: work that has ended is not asked for."""

GRAVE = frozenset({"error", "warn", "reject", "stop"})
"""Acts that a message must tell: a failure, a warning, a refusal or a stop that is not told is a lie."""

STATUSES: dict[str, dict[str, str]] = {
    "QUEUED": {"nslip": "waiting", "sap": "QUEUED", "kick": "Accepted"},
    "RUNNING": {"nslip": "in_progress", "sap": "RUNNING", "kick": "In Progress"},
    "SUCCEEDED": {"nslip": "done", "csp": "OK", "sstp": "pass", "sap": "SUCCEEDED", "kick": "Completed"},
    "PARTIAL": {"nslip": "partial", "csp": "PARTIAL", "sap": "PARTIAL"},
    "FAILED": {"nslip": "failed", "csp": "FAIL", "sstp": "fail", "sap": "FAILED", "kick": "Failed"},
    "CANCELLED": {"nslip": "cancelled", "sap": "CANCELLED"},
    "ESCALATED": {"nslip": "escalated", "sap": "ESCALATED"},
}
"""Status -> the word of each wire. Those of nSLIP (STATUS) and SSTP (verdict) are open: others pass between them."""
OPEN_STATUS = frozenset({"nslip", "sstp"})

READ_STATUS = OPEN_STATUS | {"kick"}
"""Wires in which another word is read as a status, too: what is in the first line of a ``⫻report/status`` says how
the work stands. It is not written: KickLang's loop knows four words, and nothing follows from another."""

PRIORITIES: dict[str, dict[str, str | int]] = {
    "urgent": {"nslip": 0, "sap": "urgent"},
    "high": {"nslip": 1, "csp": "P1", "sap": "high"},
    "normal": {"nslip": 2, "csp": "P2", "sap": "normal"},
    "low": {"nslip": 3, "csp": "P3", "sap": "low"},
}
"""Priority -> the value of each wire. nSLIP gives its small numbers no meaning; other numbers have no counterpart."""


class Place(NamedTuple):
    """One field of one kind of message.

    path: where it is, with dots. fact: what it means, or "" for what no other wire has. form: how the fact is
    written there (a name in ``facts.FORMS``). need: "must" (no message without it), "may", or "read" (read only:
    another place is written).
    """

    path: str
    fact: str
    form: str = "text"
    need: str = "may"


def _all(kinds: str, *places: Place) -> dict[str, tuple[Place, ...]]:
    return dict.fromkeys(kinds.split(), places)


_NSLIP = (
    Place("conv_id", "conversation", "conversation_number", "must"),
    Place("turn", "sequence", "number", "must"),
    Place("src", "sender", "agent_number", "must"),
    Place("dst", "receiver", "agent_number", "must"),
    Place("slots.GOAL_ID", "goal", "id_number"),
    Place("slots.TASK_ID", "task", "id_number"),
    Place("slots.PARENT_TASK_ID", "parent", "id_number"),
    Place("slots.RESULT_ID", "result", "id_number"),
    Place("slots.PRIORITY", "priority", "priority"),
    Place("slots.SCORE", ""),
    Place("slots.STATUS", "status", "status"),
    Place("slots.ERROR_CODE", "code", "id_number"),
    Place("slots.TAG", "text", "tag"),
)
_CSP = (
    Place("sender", "sender", "token", "must"),
    Place("receiver", "receiver", "token", "must"),
    Place("ctx", "conversation", "token", "must"),
)
_CSP_GENERIC = (Place("block.id", "task", "token", "must"), Place("block.TEXT", "text"))
_SSTP_TO = (
    Place("payload.directed_to", "receiver", "name", "read"),
    Place("header.directed_to", "receiver", "name", "read"),
)
"""Fields in which any message may name who is to answer. It is written to questions only: it gives away the floor."""
_SSTP = (
    Place("header.actor_id", "sender", "name", "must"),
    Place("header.session_id", "conversation", "name", "must"),
    Place("header.provenance", ""),
    Place("header.policy_labels", ""),
    Place("header.logical_clock", "sequence", "clock", "must"),
    Place("header.risk_score", ""),
)
_RESULT = (
    Place("taskId", "task", "uuid", "must"),
    Place("correlationId", "conversation", "uuid", "must"),
    Place("reportedAt", "time", "sap_time", "must"),
    Place("producer.agentId", "sender", "text", "must"),
    Place("producer.agentKind", "", need="must"),
    Place("status", "status", "status", "must"),
    Place("output", "text", "json"),
    Place("artifacts", ""),
    Place("metrics", ""),
    Place("constitutionalEvidence.alignment", "", need="must"),
    Place("constitutionalEvidence.pressureReadings", ""),
    Place("constitutionalEvidence.policyChecks", ""),
    Place("constitutionalEvidence.violations", ""),
    Place("constitutionalEvidence.citations", "references", "texts"),
    Place("constitutionalEvidence.cache", ""),
    Place("error.code", "code"),
    Place("error.message", ""),
    Place("error.details", ""),
    Place("nextActions", ""),
    Place("meta", ""),
)
_FAILED = {
    "status": Place("status", "", need="must"),
    "output": Place("output", ""),
    "error.message": Place("error.message", "text", need="must"),
}
"""Fields of a Result that says why something failed."""
_RECEIPT = (
    Place("messageId", "task", "receipt", "must"),
    Place("correlationId", "conversation", "uuid", "must"),
    Place("reason", "text"),
)
_KICK = (
    Place("id", "message", "uuid4", "must"),
    Place("timestamp", "time", "iso_time", "must"),
    Place("sender", "sender", "role", "must"),
    Place("receiver", "receiver", "role", "must"),
    Place("content", "text", "content", "must"),
    Place("correlation_id", "conversation", "uuid4"),
)

PLACES: dict[str, dict[str, tuple[Place, ...]]] = {
    "nslip": {"": _NSLIP},
    "csp": {
        "TASK": (
            *_CSP,
            Place("block.id", "task", "task_token", "must"),
            Place("block.REQ", "text", need="must"),
            Place("block.IN", ""),
            Place("block.OUT", "output"),
            Place("block.OWNER", ""),
            Place("block.PRIORITY", "priority", "priority"),
        ),
        "RESULT": (
            *_CSP,
            Place("block.id", "task", "task_token", "must"),
            Place("block.STATUS", "status", "status", "must"),
            Place("block.PRODUCED", "result"),
            Place("block.DATA", "text"),
        ),
        "ERROR": (
            *_CSP,
            Place("block.id", "", "error_token", "must"),
            Place("block.AT", "task", "task_text", "must"),
            Place("block.CAUSE", "text", need="must"),
            Place("block.NEXT", ""),
        ),
        **_all("PLAN QUERY MEM", *_CSP, *_CSP_GENERIC),
        "PATCH": (
            *_CSP,
            Place("block.id", "", need="must"),
            Place("block.base", "", need="must"),
            Place("block.apply", "", need="must"),
        ),
        "FILE": (
            *_CSP,
            Place("block.id", "", need="must"),
            Place("block.op", "", need="must"),
            Place("block.PATH", "", need="must"),
            Place("block.BASE", ""),
            Place("block.CONTENT", "text"),
        ),
    },
    "sstp": {
        "intent": (
            *_SSTP,
            Place("payload.goal", "text", "filled", "must"),
            Place("payload.assumptions", "", need="must"),
            Place("payload.success_criteria", "", need="must"),
            Place("payload.constraints", "constraints", "texts", "must"),
            *_SSTP_TO,
        ),
        "query": (
            *_SSTP,
            Place("payload.question", "text", "filled", "must"),
            Place("payload.required_fields", "", need="must"),
            Place("payload.uncertainty", "", need="must"),
            Place("payload.directed_to", "receiver", "name", "must"),
            _SSTP_TO[1],
        ),
        "knowledge": (
            *_SSTP,
            Place("payload.content", "text", "filled", "must"),
            Place("payload.confidence", "", need="must"),
            Place("payload.evidence_refs", "references", "texts", "must"),
            *_SSTP_TO,
        ),
        "delegation": (
            *_SSTP,
            Place("payload.task", "text", "filled", "must"),
            Place("payload.assigned_to", "receiver", "name", "must"),
            Place("payload.required_capabilities", "capability", "only_one", "must"),
            Place("payload.output_schema_id", "output", "filled", "must"),
            Place("payload.evaluation_criteria", "", need="must"),
        ),
        "commit": (
            *_SSTP,
            Place("payload.decision", "text", "filled", "must"),
            Place("payload.scope", "", need="must"),
            Place("payload.commit_mode", "", need="must"),
            Place("payload.supersedes", "", need="must"),
            *_SSTP_TO,
        ),
        "evidence_bundle": (
            *_SSTP,
            Place("payload.claim", "text", "filled", "must"),
            Place("payload.artifacts", "", need="must"),
            Place("payload.verdict", "status", "status", "must"),
            Place("payload.checks_run", "", need="must"),
            *_SSTP_TO,
        ),
        "memory_delta": (
            *_SSTP,
            Place("payload.memory_type", "", need="must"),
            Place("payload.summary", "text", "filled", "must"),
            Place("payload.derived_rule", "", need="must"),
            Place("payload.propagation", "", need="must"),
            *_SSTP_TO,
        ),
    },
    "sap": {
        "Task": (
            Place("taskId", "task", "uuid", "must"),
            Place("parentTaskId", "parent", "uuid"),
            Place("correlationId", "conversation", "uuid", "must"),
            Place("issuedAt", "time", "sap_time", "must"),
            Place("issuer.agentId", "sender", "text", "must"),
            Place("issuer.agentKind", "", need="must"),
            Place("issuer.name", ""),
            Place("target.agentId", "receiver"),
            Place("target.capability", "capability", "text", "must"),
            Place("target.routingHints", ""),
            Place("constitutionalContext.pressureLevel", "", need="must"),
            Place("constitutionalContext.principles", ""),
            Place("constitutionalContext.pressure", ""),
            Place("constitutionalContext.objectives", ""),
            Place("constitutionalContext.constraints", "constraints", "texts"),
            Place("constitutionalContext.riskTolerance", ""),
            Place("constitutionalContext.territory", ""),
            Place("constitutionalContext.references", "references", "texts"),
            Place("constitutionalContext.cachePolicy", ""),
            Place("payload", "text", "payload", "must"),
            Place("outputContract.schema", ""),
            Place("outputContract.format", "output"),
            Place("telemetry.priority", "priority", "priority"),
            Place("telemetry.deadline", ""),
            Place("telemetry.budget", ""),
            Place("telemetry.trace", ""),
            Place("replyTo", ""),
            Place("attachments", ""),
            Place("tags", ""),
            Place("meta", ""),
        ),
        "Result": _RESULT,
        "FailedResult": tuple(_FAILED.get(place.path, place) for place in _RESULT),
        "Ack": _RECEIPT,
        "Nack": _RECEIPT,
    },
    "kick": {"": _KICK},
}
"""Wire -> kind ("" where all kinds have the same fields) -> its fields, in the order in which they are written."""

FIXED: dict[str, dict[str, dict[str, object]]] = {
    "sap": {
        "Task": {"protocolVersion": "2.0"},
        "Result": {"protocolVersion": "2.0"},
        "FailedResult": {"protocolVersion": "2.0", "status": "FAILED"},
        "Ack": {"status": "ACK"},
        "Nack": {"status": "NACK"},
    }
}
"""Wire -> kind -> what every message of that kind has."""
