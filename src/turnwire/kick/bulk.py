"""KickLang in logs, as data for the search: what makes an object an envelope, what counts as damage, its columns."""

from __future__ import annotations

from typing import Any

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.json.plan import Ask, Fill, Need, Sign, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.kick.spec import DOCUMENT, FIELDS, REQUIRED_FIELDS, ROLES, SIGIL, TYPES, WIRE

COLUMNS = (
    Column("id", "text", nullable=True),
    Column("sender", "text", nullable=True),
    Column("receiver", "text", nullable=True),
    Column("type", "enum", names=(*TYPES, DOCUMENT)),
    Column("channel", "text", nullable=True),
    Column("family", "text", nullable=True),
    Column("correlation_id", "text", nullable=True),
    Column("timestamp", "text", nullable=True),
    Column("content", "text"),
    Column("sections", "i64"),
    Column("subject", "text"),
)
"""A document has ``type``, ``content`` (all of it), ``sections`` and ``subject`` (its first header line) alone."""

_FORMS = {
    "type": ("word", tuple(TYPES)),
    "channel": ("channel", ()),
}
_TEXTS = ("id", "sender", "receiver", "channel", "correlation_id", "timestamp", "content")
_VARIANT = Variant(
    "envelope",
    tuple(
        Need(name, ("good",) if name in ("type", "channel") else ("string",), name in REQUIRED_FIELDS)
        for name in FIELDS
    ),
    (
        *(Fill(name, "text", name) for name in _TEXTS),
        Fill("type", "word", "type"),
        Fill("subject", "text", "channel"),
        Fill("family", "family", "channel"),
        Fill("sections", "sections", "content"),
        Fill("time", "time", "timestamp"),
    ),
)
_OWN_ROLES = frozenset(ROLES) - {"Human", "Supervisor", "Dima"}
"""Roles that nobody else has."""
_HALF = 4
_REQUIRED = frozenset(REQUIRED_FIELDS)


def claims(fields: dict[str, Any]) -> bool:
    """True if an object that is no envelope is a damaged one: its channel starts with the sigil and it has a further
    field; or its content does and it has four fields; or it has all seven and a type of KickLang, or but one and a role
    of it. A sender, a receiver and a channel are anybody's."""
    known = len(_REQUIRED & fields.keys())
    if _has_sigil(fields.get("channel")) and known > 1:
        return True
    if _has_sigil(fields.get("content")) and known >= _HALF and ("sender" in fields or "receiver" in fields):
        return True
    if known < len(REQUIRED_FIELDS) - 1:
        return False
    if any(isinstance(role := fields.get(name), str) and role in _OWN_ROLES for name in ("sender", "receiver")):
        return True
    kind = fields.get("type")
    return known == len(REQUIRED_FIELDS) and isinstance(kind, str) and kind in TYPES


def _has_sigil(text: Any) -> bool:
    return isinstance(text, str) and text.startswith(SIGIL)


_WRITTEN_SIGIL = (SIGIL, "\\u2afb")
_BOTH = Sign(("sender", "receiver"), 2)
SIGNS = (
    (
        Sign(("channel",), values=_WRITTEN_SIGIL, cased=False),
        Sign(tuple(name for name in REQUIRED_FIELDS if name != "channel")),
    ),
    (
        Sign(("sender",)),
        Sign(("timestamp",)),
        Sign(("sender", "receiver"), values=tuple(f'{role}"' for role in sorted(_OWN_ROLES))),
    ),
    (_BOTH, Sign(("content",), values=_WRITTEN_SIGIL, cased=False)),
    (_BOTH, Sign(("channel",)), Sign(("type",), values=tuple(f'{kind}"' for kind in TYPES))),
)
"""Damaged bytes were an envelope: a channel that starts with the sigil and a further key; or a sender, a role of
KickLang and a timestamp; or sender and receiver with a content that starts with the sigil, or with a channel and a type
of KickLang."""


PLAN = WirePlan(
    wire=WIRE,
    values=tuple(Value(name, *_FORMS.get(name, ())) for name in FIELDS),
    variants=(_VARIANT,),
    choose="only",
    detect=Deferred("turnwire.kick.codec", "detect"),
    decode=Deferred("turnwire.kick.codec", "decode"),
    claims=claims,
    signs=SIGNS,
    variant_of=lambda fields: 0,
    clues=(("channel",), ("sender", "receiver", "content")),
    inside=("channel", "sender"),
    torn=("channel", "sender"),
    asks=(
        *(Ask(name, words=tuple(sorted(_OWN_ROLES))) for name in ("sender", "receiver")),
        *(Ask(name, opening=SIGIL) for name in ("channel", "content")),
    ),
)


SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    decode=Deferred("turnwire.kick.documents", "read_record"),
    fault=Deferred("turnwire.kick.envelope_methods", "field_fault"),
    common={
        "kind": ("column", "type"),
        "conversation": ("column", "correlation_id"),
        "subject": ("column", "subject"),
    },
)
