"""SAP in logs, as data for the search: what makes an object a message, what counts as damage, its columns, and which
messages answer each other.

A Task is answered by the Result or the Nack of its taskId. An Ack reports progress, as does a Result whose status is
QUEUED or RUNNING.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.errors import DecodeError
from turnwire.json.fields import Table
from turnwire.json.plan import Fill, Need, Sign, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.pairs import ASKS, FINAL, TOLD, AnswerPattern, Key, PairRule, Pairs, Work
from turnwire.sap import spec
from turnwire.sap.messages import MESSAGES

_DECODE = Deferred("turnwire.sap.codec", "decode")

_STATUSES = (*(status.value for status in spec.Status), *(receipt.value for receipt in spec.Receipt))
_WORDS = {
    "status": _STATUSES,
    "pressure_level": tuple(level.value for level in spec.PressureLevel),
    "alignment": tuple(alignment.value for alignment in spec.Alignment),
}
_FILLS = (
    Fill("task_id", "text", "taskId"),
    Fill("parent_task_id", "text", "parentTaskId"),
    Fill("correlation_id", "text", "correlationId"),
    Fill("message_id", "text", "messageId"),
    Fill("agent", "text", "issuer/agentId", "producer/agentId"),
    Fill("target", "text", "target/agentId"),
    Fill("capability", "text", "target/capability"),
    Fill("status", "word", "status"),
    Fill("pressure_level", "word", "constitutionalContext/pressureLevel"),
    Fill("territory", "text", "constitutionalContext/territory"),
    Fill("principles", "count", "constitutionalContext/principles"),
    Fill("alignment", "word", "constitutionalEvidence/alignment"),
    Fill("issued_at", "time", "issuedAt"),
    Fill("reported_at", "time", "reportedAt"),
    Fill("deadline", "time", "telemetry/deadline"),
    Fill("error_code", "text", "error/code"),
    Fill("error_message", "text", "error/message"),
    Fill("reason", "text", "reason"),
)
"""The columns of SAP and the fields that fill them."""
_TYPES = {"text": "text", "word": "enum", "count": "i64", "time": "timestamp"}
COLUMNS = (
    Column("kind", "enum", names=tuple(table.name for table in MESSAGES)),
    *(Column(fill.column, _TYPES[fill.how], nullable=True, names=_WORDS.get(fill.column, ())) for fill in _FILLS),
)
_TIME = Fill("time", "time", "issuedAt", "reportedAt")
"""Fills the column that all wires have."""
_ENDS = (*(status.value for status in spec.TERMINAL), spec.Receipt.NACK.value)
_WORK = (
    Fill("_task", "lower", "taskId", "messageId"),
    Fill("_work", "constant", constant=TOLD | ASKS),
    Fill("_work", "word", "status", numbers=tuple(TOLD | ASKS | FINAL * (word in _ENDS) for word in _STATUSES)),
)
"""Fills the columns of ``contract.WORK``."""


def _needs(table: Table, path: str = "") -> Iterator[Need]:
    for field in table.fields:
        where = f"{path}{field.name}"
        kinds = field.kind.scanned + (("null",) if field.nullable else ())
        yield Need(where, kinds, field.need == spec.MUST and not field.late, field.values, bad=field.kind.bad)
        if field.kind is spec.Kind.RECORD and field.table is not None:
            yield from _needs(field.table, f"{where}/")


def _values(table: Table, path: str = "") -> Iterator[Value]:
    for field in table.fields:
        where = f"{path}{field.name}"
        words = _STATUSES if where == "status" else field.values
        yield Value(where, field.kind.text, words, text="/*/" in where)
        if field.table is not None:
            yield from _values(field.table, f"{where}/" if field.kind is spec.Kind.RECORD else f"{where}/*/")


_STRONG = ("constitutionalContext", "constitutionalEvidence")
_RECEIPT = (
    Sign(("messageId", "correlationId"), 2),
    Sign(("status",), values=tuple(f'{receipt.value}"' for receipt in spec.Receipt)),
)
_FURTHER = ("taskId", "correlationId", "issuedAt", "reportedAt", "issuer", "producer", "target")
SIGNS = (
    (Sign(_STRONG), Sign((*_FURTHER, "protocolVersion"))),
    (Sign(_STRONG, 2),),
    (Sign(("protocolVersion",)), Sign(("taskId",))),
    (Sign(("protocolVersion",)), Sign(_FURTHER, 3)),
)
"""An object, or damaged bytes, were a Task or a Result: constitutionalContext or constitutionalEvidence and one more,
or protocolVersion with taskId or three others. protocolVersion alone is the key of many protocols."""
_CLAIMED = (
    *SIGNS,
    (*_RECEIPT, Sign(tuple(dict.fromkeys(field.name for table in MESSAGES[2:] for field in table.fields)), others=1)),
)
"""Or an object was a receipt: it has the keys and the status of one and at most one more. Such keys among others are a
message queue's own."""


_CUT_RECEIPT = re.compile(
    rb'_\{_"messageId"_:_"[^"]*"_,_"correlationId"_:_(?:"[0-9a-fA-F-]{36}"|null)_,_"status"_:_"N?ACK"'.replace(
        b"_", rb"[ \t\r\n]*"
    )
)
"""A damaged receipt is recognised only if nothing but its end is missing and it has a UUID. "_": white space."""
PLAN = WirePlan(
    wire=spec.WIRE,
    values=tuple({value.path: value for table in MESSAGES for value in _values(table)}.values()),
    variants=tuple(
        Variant(table.name, tuple(_needs(table)), (Fill("kind", "constant", constant=place), *_FILLS, _TIME, *_WORK))
        for place, table in enumerate(MESSAGES)
    ),
    choose="marks",
    detect=Deferred("turnwire.sap.codec", "detect"),
    decode=_DECODE,
    claimed=_CLAIMED,
    marked=_CUT_RECEIPT.match,
    signs=SIGNS,
    doubt=(_RECEIPT,),
    clues=(*((name,) for name in (*_STRONG, "protocolVersion")), ("messageId", "correlationId")),
    inside=(*_STRONG, "protocolVersion", "messageId"),
    torn=(*_STRONG, "protocolVersion", "messageId"),
    marks=(spec.TASK_MARKS, spec.RESULT_MARKS),
    receipt="messageId",
    task="taskId",
    status="status",
    nack=spec.Receipt.NACK.value,
    schemas=True,
)

SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    decode=_DECODE,
    fault=Deferred("turnwire.sap.codec", "fault"),
    common={
        "kind": ("column", "kind"),
        "sender": ("column", "agent"),
        "conversation": ("column", "correlation_id"),
        "subject": ("column", "capability"),
    },
)


def work(record: bytes) -> Work | None:
    """The task that a message is about, and whether its status ends that; None for what is no message."""
    try:
        fields = _DECODE(record).to_dict()
    except DecodeError:
        return None
    task = fields.get("taskId", fields.get("messageId"))
    return Work(None if task is None else task.lower(), fields.get("status") in _ENDS)


_OF_TASK = Key(("task",), needs=("task",))
PAIRS = Pairs(
    (
        PairRule(
            "task",
            frozenset({"Task"}),
            (AnswerPattern(frozenset({"Result", "Ack", "Nack"}), (_OF_TASK,), _OF_TASK, names=True),),
        ),
    ),
    work,
)
