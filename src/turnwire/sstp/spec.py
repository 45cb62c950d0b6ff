"""SSTP as data: kinds, field tables, schema ids, the turn table. Section names are those of the specification.

Everything else of the package is made from these tables: validation, JSON Schema, the builder, the prompt.
"""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import Any

from turnwire.errors import Reason
from turnwire.json.fields import Fault, Field, FieldKind, Table

WIRE = "sstp"


class Kind(StrEnum):
    """The seven kinds of message, a closed set ("Message kinds")."""

    INTENT = "intent"
    QUERY = "query"
    KNOWLEDGE = "knowledge"
    DELEGATION = "delegation"
    COMMIT = "commit"
    EVIDENCE_BUNDLE = "evidence_bundle"
    MEMORY_DELTA = "memory_delta"


def _said(value: Any, field: Field) -> Fault | None:
    """The fault of a text: it is blank where it must not be, or a placeholder of a template."""
    if not isinstance(value, str):
        return None
    bracketed = field.name in NAME_FIELDS and value[:1] == "<" and value[-1:] == ">" and len(value) > 2
    if field.name in _EMPTY and not value.strip(" \t\n\r\v\f"):
        return Reason.EMPTY_VALUE, *_EMPTY[field.name]
    if bracketed or value in PLACEHOLDERS:
        return Reason.PLACEHOLDER, "warning", f"{value} is a placeholder that was never filled in"
    return None


_EMPTY = {"actor_id": ("info", "a name must not be empty"), "session_id": ("warning", "session_id must not be empty")}
"""Header fields that say nothing where they are blank: severity, words."""


def _clock(value: int, field: Field) -> Fault | None:
    if value < 0:
        return Reason.NEGATIVE, "error", f"{field.name} counts from 1 and is never negative"
    return None if value else (Reason.OUT_OF_RANGE, "warning", f"{field.name} counts from 1")


def _fraction(value: float, field: Field) -> Fault | None:
    if isinstance(value, float) and not isfinite(value):
        return Reason.NOT_FINITE, "error", f"{field.name} is a finite number"
    return None if 0 <= value <= 1 else (Reason.OUT_OF_RANGE, "warning", f"{field.name} must be between 0 and 1")


_STRING: dict[str, Any] = {"type": "string"}
_ARRAY, _NUMBER = {"type": "array"}, {"type": "number"}
_FROM_0, _FROM_1 = {"type": "integer", "minimum": 0}, {"minimum": 1}
_NUMBERS = ("count", "negative", "fraction")
_ITEM, _ARTIFACT = FieldKind("", str, (), _STRING), FieldKind("", dict, ())

TEXT = FieldKind("text", str, ("string",), _STRING, fault=_said, fills="text", row="spoken")
TEXT_OR_NULL = TEXT._replace(
    name="text_or_null",
    types=(str, type(None)),
    scanned=("string", "null"),
    schema={"type": ["string", "null"]},
    row="spoken_or_null",
)
CLOCK = FieldKind("clock", int, ("count",), _FROM_0, bad=Reason.NEGATIVE, fault=_clock, strict=_FROM_1, fills="integer")
"""An integer, 1 or more."""
FRACTION = FieldKind(
    "fraction", (int, float), _NUMBERS, _NUMBER, fault=_fraction, strict={"minimum": 0, "maximum": 1}, fills="number"
)
"""A finite number from 0 to 1."""
TEXTS = FieldKind("texts", list, ("texts",), {**_ARRAY, "items": _STRING}, items=_ITEM)
LIST = FieldKind("list", list, ("array",), _ARRAY)
"""An array of anything."""
ARTIFACTS = FieldKind("artifacts", list, ("records",), _ARRAY, items=_ARTIFACT, fills="count", row="records")
ANY = FieldKind("any", object, (), fault=_said, row="said")

ARTIFACT = (
    Field("type", TEXT, "write", "fact"),
    Field("name", TEXT, "write", "<name>"),
    Field("value", ANY, "write", "<value>"),
)
"""The fields of an artifact. Its types are an open set.

The need of a field is "read" (its absence is an error), "write" (a warning on reading, an error on writing), "session"
(as ``SESSION_OPTIONAL`` says) or "never"; the examples are those of the specification's templates (kind and schema_id
depend on the kind).
"""
ARTIFACT_FIELDS = tuple(field.name for field in ARTIFACT)

_ARTIFACTS = Table("artifact", "", ARTIFACT)
HEADER: tuple[Field, ...] = (
    Field("kind", TEXT, "read", None),
    Field("actor_id", TEXT, "read", "<your-agent-id>"),
    Field("schema_id", TEXT, "read", None),
    Field("session_id", TEXT, "session", "<session>"),
    Field("provenance", TEXT, "never", "<tool or source used>"),
    Field("policy_labels", TEXTS, "never", []),
    Field("logical_clock", CLOCK, "read", 1),
    Field("risk_score", FRACTION, "never", 0.3),
)

PAYLOADS: dict[Kind, tuple[Field, ...]] = {
    Kind.INTENT: (
        Field("goal", TEXT, "read", "<what you are trying to achieve>"),
        Field("assumptions", TEXTS, "write", []),
        Field("success_criteria", TEXT, "write", "<measurable outcome>"),
        Field("constraints", TEXTS, "write", []),
    ),
    Kind.QUERY: (
        Field("question", TEXT, "read", "<specific question>"),
        Field("required_fields", TEXTS, "write", []),
        Field("uncertainty", FRACTION, "write", 0.5),
        Field("directed_to", TEXT, "write", "<target-agent-id>"),
    ),
    Kind.KNOWLEDGE: (
        Field("content", TEXT, "read", "<your finding>"),
        Field("confidence", FRACTION, "write", 0.9),
        Field("evidence_refs", TEXTS, "write", []),
    ),
    Kind.DELEGATION: (
        Field("task", TEXT, "read", "<what to do>"),
        Field("assigned_to", TEXT, "read", "<target-agent-id>"),
        Field("required_capabilities", TEXTS, "write", []),
        Field("output_schema_id", TEXT, "write", "ioc.result.v0"),
        Field("evaluation_criteria", TEXT, "write", "<how to judge success>"),
    ),
    Kind.COMMIT: (
        Field("decision", TEXT, "read", "<what was decided>"),
        Field("scope", TEXT, "write", "<what it affects>"),
        Field("commit_mode", TEXT, "write", "unilateral"),
        Field("supersedes", TEXT_OR_NULL, "write", None),
    ),
    Kind.EVIDENCE_BUNDLE: (
        Field("claim", TEXT, "read", "<what you are proving>"),
        Field("artifacts", ARTIFACTS, "write", [{field.name: field.example for field in ARTIFACT}], table=_ARTIFACTS),
        Field("verdict", TEXT, "write", "pass"),
        Field("checks_run", LIST, "write", []),
    ),
    Kind.MEMORY_DELTA: (
        Field("memory_type", TEXT, "write", "episodic"),
        Field("summary", TEXT, "read", "<what happened>"),
        Field("derived_rule", TEXT, "write", "<rule to remember>"),
        Field("propagation", TEXT, "write", "domain-wide"),
    ),
}

MEANING: dict[Kind, str] = {
    Kind.INTENT: "declare a goal or frame the session",
    Kind.QUERY: "ask one agent for information",
    Kind.KNOWLEDGE: "share a finding or answer a query",
    Kind.DELEGATION: "assign a task to another agent",
    Kind.COMMIT: "record a decision",
    Kind.EVIDENCE_BUNDLE: "give verifiable proof for a claim",
    Kind.MEMORY_DELTA: "emit a learning for long-term retention",
}

SCHEMA_IDS: dict[Kind, str] = {
    kind: f"ioc.{'evidence' if kind is Kind.EVIDENCE_BUNDLE else kind.value}.v0" for kind in Kind
}

SESSION_OPTIONAL = frozenset({Kind.KNOWLEDGE, Kind.EVIDENCE_BUNDLE, Kind.MEMORY_DELTA})
"""Kinds whose templates have no session_id: its absence is not an issue on reading. Writing wants it for every kind."""

MAIN_TEXT: dict[Kind, str] = {kind: next(f.name for f in PAYLOADS[kind] if f.need == "read") for kind in Kind}
"""The field that says the text of the message; acknowledgements and echoes are looked for there."""

PLACEHOLDERS = frozenset(
    field.example
    for fields in (HEADER, *PAYLOADS.values(), ARTIFACT)
    for field in fields
    if isinstance(field.example, str) and field.example.startswith("<")
)
"""The placeholders of the specification's templates."""

NAME_FIELDS = frozenset({"actor_id", "session_id", "directed_to", "assigned_to"})
"""Fields that hold a name: anything in angle brackets is a placeholder there."""

ANYONE, OTHERS, ADDRESSEE = "anyone", "others", "addressee"
"""Who may speak next: after a message with an addressee that one alone, after any other all but its speaker."""

PROOFS = frozenset({Kind.EVIDENCE_BUNDLE, Kind.KNOWLEDGE})
"""Kinds that somebody to whom a task was delegated may send without waiting: one evidence bundle after the other, and
then the finding that they prove, which ends that."""
