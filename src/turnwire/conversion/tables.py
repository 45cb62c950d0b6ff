"""The common model as data: acts, status words, priorities, and the fields of each kind of message in each wire.

The common model is a flat record of facts (``FACTS``). A field without a fact exists in no other wire; a conversion
lists it in ``dropped``. docs/convert.md shows these tables and is tested against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnwire.sap import spec as sap
from turnwire.sap.messages import MESSAGES
from turnwire.sstp import spec as sstp

FACTS: dict[str, str] = {
    "act": "the act: one of ACTS",
    "sender": "who speaks",
    "receiver": "the receiver",
    "conversation": "the conversation",
    "sequence": "the position in the conversation, or in the sender's part of it; a number",
    "message": "the id of the message itself",
    "task": "the id of the task",
    "parent": "the id of the parent task",
    "goal": "the id of the goal",
    "result": "the id of the product",
    "text": "the text of the message",
    "status": "the status of the task: one of STATUSES, or another word",
    "priority": "one of PRIORITIES",
    "time": "the time of the message",
    "code": "the code of an error",
    "output": "the required form of an answer",
    "capability": "the required capability",
    "constraints": "the constraints of the task; a list of texts",
    "references": "the references; a list of texts",
}


class Counterpart(NamedTuple):
    """One cell of ACTS: the kind of message in a wire.

    own: whether this kind, when read, means this act. Otherwise it is only the nearest kind, which a conversion uses
    with ``nearest=True``; the field that determines the kind (act, INTENT, header.kind ...) is then in ``dropped``.
    status: the status that a nearest kind also sets, so that a failure stays a failure.
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
    """Kind -> its act, for the kinds of a wire that have an act of their own."""
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

    path: its path, with dots. fact: its meaning, or "" if no other wire has it. form: how the fact is written (a name
    in ``facts.FORMS``). need: "must" (required), "may" (optional), or "read" (read but never written).
    """

    path: str
    fact: str
    form: str = "text"
    need: str = "may"


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
_OWN = ("", "text")
"""Fact and form of what no other wire has."""
_SSTP_FACTS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(sstp.MAIN_TEXT.values(), ("text", "filled")),
    "actor_id": ("sender", "name"),
    "session_id": ("conversation", "name"),
    "logical_clock": ("sequence", "clock"),
    "directed_to": ("receiver", "name"),
    "assigned_to": ("receiver", "name"),
    "constraints": ("constraints", "texts"),
    "evidence_refs": ("references", "texts"),
    "required_capabilities": ("capability", "only_one"),
    "output_schema_id": ("output", "filled"),
    "verdict": ("status", "status"),
}
"""Field of SSTP -> fact, form. All others are its own."""


def _of_sstp(kind: sstp.Kind) -> tuple[Place, ...]:
    """The fields of the specification; those that the kind fixes are left out."""
    parts = (("header", sstp.HEADER), ("payload", sstp.PAYLOADS[kind]))
    places = [
        Place(f"{part}.{field.name}", *_SSTP_FACTS.get(field.name, _OWN), "may" if field.need == "never" else "must")
        for part, fields in parts
        for field in fields
        if field.name not in ("kind", "schema_id")
    ]
    written = {place.path for place in places}
    if kind is sstp.Kind.DELEGATION:  # who is to answer is who it is assigned to
        return tuple(places)
    return (*places, *(place for place in _SSTP_TO if place.path not in written))


_WHOLE = frozenset({"cachePolicy", "cache", "replyTo", "budget"})
"""Records of SAP that stand as one field: no other wire knows anything of their parts."""
_SAP_FACTS: dict[str, tuple[str, str]] = {
    "taskId": ("task", "uuid"),
    "parentTaskId": ("parent", "uuid"),
    "messageId": ("task", "receipt"),
    "correlationId": ("conversation", "uuid"),
    "issuedAt": ("time", "sap_time"),
    "reportedAt": ("time", "sap_time"),
    "issuer.agentId": ("sender", "text"),
    "producer.agentId": ("sender", "text"),
    "target.agentId": ("receiver", "text"),
    "target.capability": ("capability", "text"),
    "constitutionalContext.constraints": ("constraints", "texts"),
    "constitutionalContext.references": ("references", "texts"),
    "constitutionalEvidence.citations": ("references", "texts"),
    "payload": ("text", "payload"),
    "outputContract.format": ("output", "text"),
    "telemetry.priority": ("priority", "priority"),
    "status": ("status", "status"),
    "output": ("text", "json"),
    "error.code": ("code", "text"),
    "reason": ("text", "text"),
}
"""Field of SAP -> fact, form. All others are its own."""
_FAILED = {
    "status": Place("status", "", need="must"),
    "output": Place("output", ""),
    "error.message": Place("error.message", "text", "not_blank", "must"),
}
"""Fields of a Result that says why something failed."""


def _of_sap(table: sap.Table, must: bool = True, above: str = "") -> Iterator[Place]:
    """The fields of the specification and of the records in them; those that all of the class have are left out."""
    for field in table.fields:
        path, needed = above + field.name, must and field.need == sap.MUST
        if field.kind is sap.Kind.RECORD and field.table is not None and field.name not in _WHOLE:
            yield from _of_sap(field.table, needed, f"{path}.")
        elif path not in FIXED["sap"].get(table.name, ()):
            yield Place(path, *_SAP_FACTS.get(path, _OWN), "must" if needed else "may")


FIXED: dict[str, dict[str, dict[str, object]]] = {
    "sap": {
        "Task": {"protocolVersion": sap.VERSION},
        "Result": {"protocolVersion": sap.VERSION},
        "FailedResult": {"protocolVersion": sap.VERSION, "status": "FAILED"},
        "Ack": {"status": "ACK"},
        "Nack": {"status": "NACK"},
    }
}
"""Wire -> kind -> what every message of that kind has."""

_SAP = {table.name: tuple(_of_sap(table)) for table in MESSAGES}
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
        **dict.fromkeys(("PLAN", "QUERY", "MEM"), (*_CSP, *_CSP_GENERIC)),
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
    "sstp": {kind.value: _of_sstp(kind) for kind in sstp.Kind},
    "sap": {
        "Task": _SAP["Task"],
        "Result": _SAP["Result"],
        "FailedResult": tuple(_FAILED.get(place.path, place) for place in _SAP["Result"]),
        "Ack": _SAP["Ack"],
        "Nack": _SAP["Nack"],
    },
    "kick": {"": _KICK},
}
"""Wire -> kind ("" where all kinds have the same fields) -> its fields, in the order in which they are written."""
