"""UBOS SAP V2.0 as data: closed sets (section 4), states (5), error codes (8), ids and times (3), and what a field of
an object is."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from math import inf
from typing import Any

from turnwire.errors import Reason
from turnwire.json.fields import Fault, Field as Field, FieldKind, Table as Table

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


# --- ids and times (section 3): what is written, what is read with an issue, what is refused ------------------------

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""The 36-character form of RFC 4122, and no other (no braces, no urn:, no bare hex)."""

DIGEST = re.compile(r"sha256:[0-9a-fA-F]{64}", re.ASCII)

_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)  # section 5.6
_STRICT_LENGTH = len("2025-09-28T10:15:23Z")


def read_time(text: str) -> tuple[datetime, bool] | None:
    """The moment a timestamp names, and whether it is written as section 3 says; None when it is not an RFC 3339 time.

    A leap second (23:59:60 UTC) reads as the last second before it.
    """
    if _RFC_3339.fullmatch(text) is None:
        return None
    leap = text[17:19] == "60"
    try:
        moment = datetime.fromisoformat(f"{text[:17]}59{text[19:]}".upper() if leap else text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):  # no day of the calendar, or one outside it by its zone
        return None
    if leap and (moment.hour, moment.minute) != (23, 59):
        return None
    return moment, len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and not leap


def moment_of(text: str) -> datetime:
    """The moment a timestamp names, in UTC. Raises ValueError."""
    found = read_time(text)
    if found is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    return found[0]


def write_time(moment: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SSZ`` of an aware datetime; fractions are dropped."""
    return f"{in_utc(moment).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def in_utc(moment: datetime) -> datetime:
    """An aware datetime in UTC. Raises ValueError for one without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone is ambiguous; give an aware datetime")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def uuid_key(uuid: str) -> str:
    """The form under which an id is kept and looked up: UUIDs are compared without regard to case (RFC 4122)."""
    return uuid.lower()


def same_id(one: str | None, other: str | None) -> bool:
    """True if two ids are one by value."""
    if one == other:
        return True
    return isinstance(one, str) and isinstance(other, str) and uuid_key(one) == uuid_key(other)


# --- the kinds of values ---------------------------------------------------------------------------------------------


def _of_form(is_sound: Callable[[str], object], *fault: Any) -> Callable[[str, Field], Fault | None]:
    """The words for a text that is not of a form."""
    return lambda value, field: None if is_sound(value) else fault


def _word(value: str, field: Field) -> Fault | None:
    words = f"{field.name} is one of {', '.join(field.values)}"
    return None if value in field.values else (Reason.UNKNOWN_VALUE, "error", words)


def _time(value: str, field: Field) -> Fault | None:
    found = read_time(value)
    if found is not None and found[1]:
        return None
    words = "SAP writes times as YYYY-MM-DDTHH:MM:SSZ (section 3)"
    return (Reason.BAD_TIMESTAMP, "error", words) if found is None else (Reason.TIMESTAMP_FORM, "warning", words)


def _count(value: int, field: Field) -> Fault | None:
    return (Reason.OUT_OF_RANGE, "error", "this integer must be at least 0") if value < 0 else None


def _number(value: float, field: Field) -> Fault | None:
    return None if -inf < value < inf else (Reason.WRONG_TYPE, "error", "a finite number is expected here")


def _psi(value: float, field: Field) -> Fault | None:
    fault = _number(value, field)
    if fault is None and not (0 <= value <= HIGHEST_PRESSURE and value == int(value)):
        return Reason.OUT_OF_RANGE, "warning", f"pressure must be an integer from 0 to {HIGHEST_PRESSURE} (section 9)"
    return fault


def _quantity(value: Any, field: Field) -> Fault | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if is_number and 0 <= value < inf else (Reason.OUT_OF_RANGE, "warning", "a budget is a number from 0")


HIGHEST_PRESSURE = 100
_TIME_FORM = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"
_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}
_UUID = {**_TEXT, "format": "uuid", "pattern": f"^{UUID.pattern}$"}
_TIME = {**_TEXT, "format": "date-time", "pattern": _TIME_FORM}
_DIGEST = {**_TEXT, "pattern": f"^{DIGEST.pattern}$"}
_COUNT, _QUANTITY = {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}
_PSI = {"type": "integer", "minimum": 0, "maximum": HIGHEST_PRESSURE}
_ANYTHING = ("string", "object", "array", "boolean", "null", "count", "negative", "fraction")
_LIST = (list, tuple)
_is_uuid = _of_form(UUID.fullmatch, Reason.BAD_UUID, "error", "an id is a UUID of 36 characters (RFC 4122, section 3)")
_is_version = _of_form(
    VERSION.__eq__, Reason.UNSUPPORTED_VERSION, "error", f'protocolVersion is "{VERSION}" (section 2)'
)
_is_digest = _of_form(DIGEST.fullmatch, Reason.BAD_DIGEST, "warning", "a digest must be sha256: and 64 hex digits")


def _text(name: str, told: str, schema: dict[str, Any], *form: Any) -> FieldKind:
    """A kind of texts; form: of which a scan knows one, and the reason and the fault of others."""
    return FieldKind(name, str, ("good",) if form else ("string",), schema, told, *form)


def _array(name: str, scanned: str, told: str, items: FieldKind) -> FieldKind:
    return FieldKind(name, _LIST, (scanned,), {"type": "array", "items": items.schema}, told, items=items)


def _numbers(name: str, told: str, schema: dict[str, Any], fault: Callable[[Any, Field], Fault | None]) -> FieldKind:
    items = FieldKind("", (int, float), (), schema, fault=fault)
    return FieldKind(name, dict, ("numbers",), {**_OBJECT, "additionalProperties": schema}, told, items=items)


class Kind:
    """The kinds of values; of a word and of records, a field says the rest."""

    ANY = FieldKind("any", object, _ANYTHING, {}, "any value")
    TEXT = _text("text", "string", _TEXT)
    UUID = _text("uuid", "UUID", _UUID, "uuid", Reason.BAD_UUID, _is_uuid)
    TIME = _text("time", "time", _TIME, "time", Reason.BAD_TIMESTAMP, _time)
    VERSION = _text("version", "string", {"const": VERSION}, "word", Reason.UNSUPPORTED_VERSION, _is_version)
    ENUM = _text("enum", "", {}, "word", Reason.UNKNOWN_VALUE, _word)
    DIGEST = _text("digest", "sha256: and 64 hex digits", _DIGEST)._replace(fault=_is_digest)
    BOOLEAN = FieldKind("boolean", bool, ("boolean",), {"type": "boolean"}, "true or false")
    COUNT = FieldKind("count", int, ("count",), _COUNT, "integer from 0", "", Reason.OUT_OF_RANGE, _count)
    QUANTITY = FieldKind("quantity", object, _ANYTHING, _QUANTITY, "number from 0", fault=_quantity)
    OBJECT = FieldKind("object", dict, ("object",), _OBJECT, "object")
    OBJECTS = _array("objects", "records", "array of objects", OBJECT)
    TEXTS = _array("texts", "texts", "array of strings", TEXT)
    NUMBERS = _numbers("numbers", "object of numbers", {"type": "number"}, _number)
    PRESSURE = _numbers("pressure", "object of integers from 0 to 100", _PSI, _psi)
    RECORD = FieldKind("record", dict, ("object",))
    RECORDS = FieldKind("records", _LIST, ("records",), items=RECORD)


MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"
TASK_MARKS = ("issuedAt", "issuer", "target", "constitutionalContext", "payload")
RESULT_MARKS = ("reportedAt", "producer", "status", "constitutionalEvidence")
