"""SSTP as data: kinds, field tables, schema ids, the turn table. Section names are those of the specification.

Everything else of the package is made from these tables: validation, JSON Schema, the builder, the prompt.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from turnwire.errors import Reason

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


class Type(NamedTuple):
    """A type of values: in Python, in words, as JSON Schema when read and (what it adds) when written strictly, the
    kinds of JSON values that a scan takes for it, how it fills a column, and why a negative one is refused."""

    types: tuple[type, ...]
    words: str
    schema: dict[str, Any]
    strict: dict[str, Any]
    scanned: tuple[str, ...]
    fills: str = ""
    bad: Reason = Reason.WRONG_TYPE


_TEXT: dict[str, Any] = {"type": "string"}
TYPES: dict[str, Type] = {
    "text": Type((str,), "a string", _TEXT, {}, ("string",), "text"),
    "text_or_null": Type((str,), "a string", {"type": ["string", "null"]}, {}, ("string", "null")),
    "clock": Type(
        (int,), "an integer", {"type": "integer", "minimum": 0}, {"minimum": 1}, ("count",), "integer", Reason.NEGATIVE
    ),
    "fraction": Type(
        (int, float),
        "a number",
        {"type": "number"},
        {"minimum": 0, "maximum": 1},
        ("count", "negative", "fraction"),
        "number",
    ),
    "texts": Type((list,), "an array", {"type": "array", "items": _TEXT}, {}, ("texts",)),
    "list": Type((list,), "an array", {"type": "array"}, {}, ("array",)),
    "artifacts": Type((list,), "an array", {"type": "array"}, {}, ("records",), "count"),
    "any": Type((object,), "any value", {}, {}, ()),
}
"""The types of fields by their names: "clock" is an integer, 1 or more; "fraction" a finite number from 0 to 1; "list"
an array of anything; "artifacts" an array of objects with the fields of ARTIFACT."""


class Field(NamedTuple):
    """One field of a header, a payload or an artifact.

    type: its name in TYPES.
    need: "read" (its absence is an error), "write" (a warning on reading, an error on writing), "session" (as SESSION
    says) or "never".
    example: what the specification's template shows (kind and schema_id depend on the kind).
    """

    name: str
    type: str
    need: str
    example: object


HEADER: tuple[Field, ...] = (
    Field("kind", "text", "read", None),
    Field("actor_id", "text", "read", "<your-agent-id>"),
    Field("schema_id", "text", "read", None),
    Field("session_id", "text", "session", "<session>"),
    Field("provenance", "text", "never", "<tool or source used>"),
    Field("policy_labels", "texts", "never", []),
    Field("logical_clock", "clock", "read", 1),
    Field("risk_score", "fraction", "never", 0.3),
)

PAYLOADS: dict[Kind, tuple[Field, ...]] = {
    Kind.INTENT: (
        Field("goal", "text", "read", "<what you are trying to achieve>"),
        Field("assumptions", "texts", "write", []),
        Field("success_criteria", "text", "write", "<measurable outcome>"),
        Field("constraints", "texts", "write", []),
    ),
    Kind.QUERY: (
        Field("question", "text", "read", "<specific question>"),
        Field("required_fields", "texts", "write", []),
        Field("uncertainty", "fraction", "write", 0.5),
        Field("directed_to", "text", "write", "<target-agent-id>"),
    ),
    Kind.KNOWLEDGE: (
        Field("content", "text", "read", "<your finding>"),
        Field("confidence", "fraction", "write", 0.9),
        Field("evidence_refs", "texts", "write", []),
    ),
    Kind.DELEGATION: (
        Field("task", "text", "read", "<what to do>"),
        Field("assigned_to", "text", "read", "<target-agent-id>"),
        Field("required_capabilities", "texts", "write", []),
        Field("output_schema_id", "text", "write", "ioc.result.v0"),
        Field("evaluation_criteria", "text", "write", "<how to judge success>"),
    ),
    Kind.COMMIT: (
        Field("decision", "text", "read", "<what was decided>"),
        Field("scope", "text", "write", "<what it affects>"),
        Field("commit_mode", "text", "write", "unilateral"),
        Field("supersedes", "text_or_null", "write", None),
    ),
    Kind.EVIDENCE_BUNDLE: (
        Field("claim", "text", "read", "<what you are proving>"),
        Field("artifacts", "artifacts", "write", [{"type": "fact", "name": "<name>", "value": "<value>"}]),
        Field("verdict", "text", "write", "pass"),
        Field("checks_run", "list", "write", []),
    ),
    Kind.MEMORY_DELTA: (
        Field("memory_type", "text", "write", "episodic"),
        Field("summary", "text", "read", "<what happened>"),
        Field("derived_rule", "text", "write", "<rule to remember>"),
        Field("propagation", "text", "write", "domain-wide"),
    ),
}

ARTIFACT = (
    Field("type", "text", "write", "fact"),
    Field("name", "text", "write", "<name>"),
    Field("value", "any", "write", "<value>"),
)
"""The fields of an artifact. Its types are an open set."""
ARTIFACT_FIELDS = tuple(field.name for field in ARTIFACT)

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
