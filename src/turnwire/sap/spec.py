"""UBOS SAP V2.0 as data: closed sets (section 4), states (5), error codes (8), and what a field of an object is."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any, NamedTuple

from turnwire.errors import Reason
from turnwire.sap.times import DIGEST, UUID

WIRE = "sap"
VERSION = "2.0"


class Status(StrEnum):
    """The state of a task (section 4.2)."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    ESCALATED = "ESCALATED"
    PARTIAL = "PARTIAL"


class Alignment(StrEnum):
    """The verdict of constitutional evidence (section 4.2)."""

    VALID = "VALID"
    NON_CONSTITUTIONAL = "NON_CONSTITUTIONAL"
    ESCALATE = "ESCALATE"


class PressureLevel(StrEnum):
    """Hydraulic decision level (section 4.1)."""

    INSTANT = "instant"
    CONSULTED = "consulted"
    DELIBERATED = "deliberated"


class AgentKind(StrEnum):
    """The kind of an issuer; a producer is never a user."""

    USER = "user"
    SYSTEM = "system"
    AGENT = "agent"


class CacheMode(StrEnum):
    """The use of the cache that a task requests (section 6)."""

    PREFER = "prefer"
    ONLY = "only"
    BYPASS = "bypass"


class RiskTolerance(StrEnum):
    """Risk tolerance (section 4.1)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Priority(StrEnum):
    """Priority of a task (section 4.1, telemetry)."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Receipt(StrEnum):
    """The receipt that a transport returns at once (section 4.3)."""

    ACK = "ACK"
    NACK = "NACK"


class ErrorCode(StrEnum):
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
SUCCESSES = frozenset({Status.SUCCEEDED, Status.PARTIAL})

TRANSITIONS: dict[Status | None, frozenset[Status]] = {
    None: frozenset(Status),
    Status.QUEUED: frozenset({Status.QUEUED, Status.RUNNING}) | TERMINAL,
    Status.RUNNING: frozenset({Status.RUNNING}) | TERMINAL,
    **dict.fromkeys(sorted(TERMINAL), frozenset()),
}
"""Section 5: from which state (None: a task nobody has reported on) to which. The same state again is progress."""


class Kind(int, Enum):
    """The kind of a field's value. The numbers are shared with the compiled twin."""

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


class Form(NamedTuple):
    """The form of a kind of value: as JSON Schema, in words for a model, as the JSON kinds that reading surely takes,
    the form of its text (of ``turnwire.json.plan``), and why reading refuses a value of the right type."""

    schema: dict[str, Any]
    words: str
    scanned: tuple[str, ...]
    text: str = ""
    bad: Reason = Reason.WRONG_TYPE


_UUID = {"type": "string", "format": "uuid", "pattern": f"^{UUID.pattern}$"}
_TIME = {
    "type": "string",
    "format": "date-time",
    "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$",
}
_OBJECT = {"type": "object"}
_PSI = {"type": "integer", "minimum": 0, "maximum": 100}
_ANYTHING = ("string", "object", "array", "boolean", "null", "count", "negative", "fraction")
FORMS: dict[Kind, Form] = {
    Kind.ANY: Form({}, "any value", _ANYTHING),
    Kind.TEXT: Form({"type": "string"}, "string", ("string",)),
    Kind.UUID: Form(_UUID, "UUID", ("good",), "uuid", Reason.BAD_UUID),
    Kind.TIME: Form(_TIME, "time", ("good",), "time", Reason.BAD_TIMESTAMP),
    Kind.VERSION: Form({"const": VERSION}, "string", ("good",), "word", Reason.UNSUPPORTED_VERSION),
    Kind.BOOLEAN: Form({"type": "boolean"}, "true or false", ("boolean",)),
    Kind.COUNT: Form({"type": "integer", "minimum": 0}, "integer from 0", ("count",), bad=Reason.OUT_OF_RANGE),
    Kind.OBJECT: Form(_OBJECT, "object", ("object",)),
    Kind.OBJECTS: Form({"type": "array", "items": _OBJECT}, "array of objects", ("records",)),
    Kind.TEXTS: Form({"type": "array", "items": {"type": "string"}}, "array of strings", ("texts",)),
    Kind.NUMBERS: Form({**_OBJECT, "additionalProperties": {"type": "number"}}, "object of numbers", ("numbers",)),
    Kind.PRESSURE: Form({**_OBJECT, "additionalProperties": _PSI}, "object of integers from 0 to 100", ("numbers",)),
    Kind.ENUM: Form({}, "", ("good",), "word", Reason.UNKNOWN_VALUE),  # of these three a field says the rest
    Kind.RECORD: Form({}, "", ("object",)),
    Kind.RECORDS: Form({}, "", ("records",)),
    Kind.DIGEST: Form({"type": "string", "pattern": f"^{DIGEST.pattern}$"}, "sha256: and 64 hex digits", ("string",)),
    Kind.QUANTITY: Form({"type": "number", "minimum": 0}, "number from 0", _ANYTHING),
}


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


TASK_MARKS = ("issuedAt", "issuer", "target", "constitutionalContext", "payload")
RESULT_MARKS = ("reportedAt", "producer", "status", "constitutionalEvidence")
