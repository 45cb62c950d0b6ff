"""UBOS SAP V2.0 as data: objects and their fields (section 4), closed sets, states (5), error codes (8)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

WIRE = "sap"
VERSION = "2.0"


class _Name(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class Status(_Name):
    """The state of a task (section 4.2)."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    ESCALATED = "ESCALATED"
    PARTIAL = "PARTIAL"


class Alignment(_Name):
    """The verdict of constitutional evidence (section 4.2)."""

    VALID = "VALID"
    NON_CONSTITUTIONAL = "NON_CONSTITUTIONAL"
    ESCALATE = "ESCALATE"


class PressureLevel(_Name):
    """Hydraulic decision level (section 4.1)."""

    INSTANT = "instant"
    CONSULTED = "consulted"
    DELIBERATED = "deliberated"


class AgentKind(_Name):
    """What an issuer is; a producer is never a user."""

    USER = "user"
    SYSTEM = "system"
    AGENT = "agent"


class CacheMode(_Name):
    """How a task wants the cache used (section 6)."""

    PREFER = "prefer"
    ONLY = "only"
    BYPASS = "bypass"


class RiskTolerance(_Name):
    """Risk tolerance (section 4.1)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Priority(_Name):
    """Priority of a task (section 4.1, telemetry)."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Receipt(_Name):
    """What a transport answers at once (section 4.3)."""

    ACK = "ACK"
    NACK = "NACK"


class ErrorCode(_Name):
    """The codes that section 8 recommends; the set is open."""

    INVALID_TASK = "INVALID_TASK"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    UNPROCESSABLE = "UNPROCESSABLE"
    TIMEOUT = "TIMEOUT"
    RATE_LIMIT = "RATE_LIMIT"
    INTERNAL = "INTERNAL"
    CACHE_MISS = "CACHE_MISS"
    NON_CONSTITUTIONAL = "NON_CONSTITUTIONAL"


ERROR_CODES = frozenset(code.value for code in ErrorCode)
TERMINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.ESCALATED, Status.CANCELLED, Status.PARTIAL})

TRANSITIONS: dict[Status | None, frozenset[Status]] = {
    None: frozenset(Status),
    Status.QUEUED: frozenset({Status.QUEUED, Status.RUNNING}) | TERMINAL,
    Status.RUNNING: frozenset({Status.RUNNING}) | TERMINAL,
    **dict.fromkeys(sorted(TERMINAL), frozenset()),
}
"""Section 5: from which state (None: a task nobody has reported on) to which. The same state again is progress."""


class Kind(int, Enum):
    """What a field's value is. The numbers are shared with the compiled twin."""

    ANY = 0
    TEXT = 1
    UUID = 2
    TIME = 3
    VERSION = 4
    BOOLEAN = 5
    COUNT = 6  # an integer from 0 on
    OBJECT = 7
    OBJECTS = 8  # an array of objects
    TEXTS = 9
    NUMBERS = 10  # an object whose values are numbers
    PRESSURE = 11  # the same; a value that is not an integer in 0..100 is doubtful
    ENUM = 12
    RECORD = 13
    RECORDS = 14
    DIGEST = 15  # sha256:<64 hex digits>; another text is doubtful
    QUANTITY = 16  # a number from 0 on; anything else is doubtful


MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"


class Field(NamedTuple):
    """One field of an object: name on the wire, kind of value, need, closed set, nested table, null, and a few words.

    ``late``: its absence is a warning on read although it is a MUST (the document's own example lacks it).
    """

    name: str
    kind: Kind
    need: str = MAY
    values: tuple[str, ...] = ()
    table: Table | None = None
    nullable: bool = False
    late: bool = False
    text: str = ""


class Table(NamedTuple):
    """One object: its name, the section that defines it, its fields."""

    name: str
    section: str
    fields: tuple[Field, ...]


def _values(names: type[_Name], *without: _Name) -> tuple[str, ...]:
    return tuple(name.value for name in names if name not in without)


ISSUER = Table(
    "Issuer",
    "4.1",
    (
        Field("agentId", Kind.TEXT, MUST, text="Logical id of the issuing agent or user."),
        Field("agentKind", Kind.ENUM, MUST, _values(AgentKind)),
        Field("name", Kind.TEXT, text="Friendly name."),
    ),
)
PRODUCER = Table(
    "Producer",
    "4.2",
    (
        Field("agentId", Kind.TEXT, MUST),
        Field("agentKind", Kind.ENUM, MUST, _values(AgentKind, AgentKind.USER)),
    ),
)
TARGET = Table(
    "Target",
    "4.1",
    (
        Field("agentId", Kind.TEXT, SHOULD, text="Specific agent id (direct addressing)."),
        Field("capability", Kind.TEXT, MUST, text="Namespaced capability, e.g. consult.align."),
        Field("routingHints", Kind.OBJECT, text="e.g. priority, shard, affinity."),
    ),
)
CACHE_POLICY = Table(
    "CachePolicy",
    "6",
    (
        Field("mode", Kind.ENUM, MAY, _values(CacheMode)),
        Field("maxAgeSec", Kind.COUNT, text="Acceptable staleness in seconds."),
        Field("mustAlign", Kind.BOOLEAN, text="Alignment is checked again on a cache hit."),
    ),
)
CONTEXT = Table(
    "ConstitutionalContext",
    "4.1",
    (
        Field("pressureLevel", Kind.ENUM, MUST, _values(PressureLevel), late=True, text="Hydraulic decision level."),
        Field("principles", Kind.TEXTS, SHOULD),
        Field("pressure", Kind.PRESSURE, SHOULD, text="Principle to PSI, 0 to 100."),
        Field("objectives", Kind.TEXTS, SHOULD),
        Field("constraints", Kind.TEXTS, SHOULD, text="Hard rules."),
        Field("riskTolerance", Kind.ENUM, SHOULD, _values(RiskTolerance)),
        Field("territory", Kind.TEXT, SHOULD, text="Domain or space."),
        Field("references", Kind.TEXTS, text="URIs or ids for grounding."),
        Field("cachePolicy", Kind.RECORD, SHOULD, table=CACHE_POLICY),
    ),
)
OUTPUT_CONTRACT = Table(
    "OutputContract",
    "4.1",
    (
        Field("schema", Kind.OBJECT, text="JSON Schema or contract descriptor."),
        Field("format", Kind.TEXT, text="e.g. json, markdown, text."),
    ),
)
BUDGET = Table("Budget", "4.1", (Field("tokens", Kind.QUANTITY), Field("seconds", Kind.QUANTITY)))
TELEMETRY = Table(
    "Telemetry",
    "4.1",
    (
        Field("priority", Kind.ENUM, MAY, _values(Priority)),
        Field("deadline", Kind.TIME),
        Field("budget", Kind.RECORD, table=BUDGET),
        Field("trace", Kind.BOOLEAN, text="Request deep tracing."),
    ),
)
REPLY_TO = Table(
    "ReplyTo",
    "4.1",
    (Field("endpoint", Kind.TEXT, text="URI or channel key."), Field("expectAck", Kind.BOOLEAN)),
)
ATTACHMENT = Table(
    "Attachment", "4.1", (Field("uri", Kind.TEXT), Field("kind", Kind.TEXT), Field("digest", Kind.DIGEST))
)
ARTIFACT = Table("Artifact", "4.2", ATTACHMENT.fields)
TASK = Table(
    "Task",
    "4.1",
    (
        Field("protocolVersion", Kind.VERSION, MUST),
        Field("taskId", Kind.UUID, MUST),
        Field("parentTaskId", Kind.UUID, nullable=True),
        Field("correlationId", Kind.UUID, MUST, text="For tracing across messages."),
        Field("issuedAt", Kind.TIME, MUST),
        Field("issuer", Kind.RECORD, MUST, table=ISSUER),
        Field("target", Kind.RECORD, MUST, table=TARGET),
        Field("constitutionalContext", Kind.RECORD, MUST, table=CONTEXT),
        Field("payload", Kind.OBJECT, MUST, text="Inputs of the capability."),
        Field("outputContract", Kind.RECORD, SHOULD, table=OUTPUT_CONTRACT),
        Field("telemetry", Kind.RECORD, table=TELEMETRY),
        Field("replyTo", Kind.RECORD, table=REPLY_TO),
        Field("attachments", Kind.RECORDS, table=ATTACHMENT),
        Field("tags", Kind.TEXTS),
        Field("meta", Kind.OBJECT),
    ),
)
POLICY_CHECK = Table(
    "PolicyCheck", "4.2", (Field("principle", Kind.TEXT), Field("status", Kind.TEXT), Field("notes", Kind.TEXT))
)
VIOLATION = Table(
    "Violation", "4.2", (Field("principle", Kind.TEXT), Field("severity", Kind.TEXT), Field("evidence", Kind.TEXT))
)
CACHE_EVIDENCE = Table(
    "CacheEvidence", "6", (Field("hit", Kind.BOOLEAN), Field("cacheKey", Kind.TEXT), Field("ageSec", Kind.COUNT))
)
EVIDENCE = Table(
    "ConstitutionalEvidence",
    "4.2",
    (
        Field("alignment", Kind.ENUM, MUST, _values(Alignment)),
        Field("pressureReadings", Kind.NUMBERS, SHOULD, text="Principle to the number used at decision time."),
        Field("policyChecks", Kind.RECORDS, SHOULD, table=POLICY_CHECK),
        Field("violations", Kind.RECORDS, table=VIOLATION),
        Field("citations", Kind.TEXTS),
        Field("cache", Kind.RECORD, table=CACHE_EVIDENCE),
    ),
)
ERROR = Table("Error", "8", (Field("code", Kind.TEXT), Field("message", Kind.TEXT), Field("details", Kind.OBJECT)))
RESULT = Table(
    "Result",
    "4.2",
    (
        Field("protocolVersion", Kind.VERSION, MUST),
        Field("taskId", Kind.UUID, MUST),
        Field("correlationId", Kind.UUID, MUST),
        Field("reportedAt", Kind.TIME, MUST),
        Field("producer", Kind.RECORD, MUST, table=PRODUCER),
        Field("status", Kind.ENUM, MUST, _values(Status)),
        Field("output", Kind.ANY, SHOULD, nullable=True, text="Data as the output contract says."),
        Field("artifacts", Kind.RECORDS, table=ARTIFACT),
        Field("metrics", Kind.OBJECT, text="Tokens, latency, cost."),
        Field("constitutionalEvidence", Kind.RECORD, MUST, table=EVIDENCE),
        Field("error", Kind.RECORD, table=ERROR),
        Field("nextActions", Kind.OBJECTS, text="Proposed follow-ups."),
        Field("meta", Kind.OBJECT),
    ),
)


def _receipt(name: str, status: Receipt) -> Table:
    return Table(
        name,
        "4.3",
        (
            Field("messageId", Kind.TEXT, MUST, text="The taskId by default."),
            Field("correlationId", Kind.UUID, MUST, nullable=True, text="null where none could be read."),
            Field("status", Kind.ENUM, MUST, (status.value,)),
            Field("reason", Kind.TEXT),
        ),
    )


ACK = _receipt("Ack", Receipt.ACK)
NACK = _receipt("Nack", Receipt.NACK)

MESSAGES = (TASK, RESULT, ACK, NACK)
TASK_MARKS = ("issuedAt", "issuer", "target", "constitutionalContext", "payload")
RESULT_MARKS = ("reportedAt", "producer", "status", "constitutionalEvidence")


def _keys(table: Table) -> set[str]:
    names = {field.name for field in table.fields}
    return names.union(*(_keys(field.table) for field in table.fields if field.table is not None))


KEYS = tuple(sorted(_keys(TASK) | _keys(RESULT) | _keys(ACK)))
"""Every name of a field, for the JSON reader to share."""
