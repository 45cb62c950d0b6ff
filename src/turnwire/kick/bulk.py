"""KickLang for the bulk scan: what makes an object an envelope, its columns, and the core function that fills them."""

from __future__ import annotations

import re
from typing import Any

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column, Refusal
from turnwire.json.plan import Ask, Fill, Need, Value, Variant, WirePlan
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
    **dict.fromkeys(("id", "timestamp", "correlation_id"), ("text", ())),
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
_SIGIL_CHANNEL = re.compile(rb'"channel"[ \t\r\n]*:[ \t\r\n]*"(?:\xe2\xab\xbb|\\u2[aA][fF][bB])')


_SIGIL_CONTENT = re.compile(rb'"content"[ \t\r\n]*:[ \t\r\n]*"(?:\xe2\xab\xbb|\\u2[aA][fF][bB])')
_OWN_ROLES = frozenset(ROLES) - {"Human", "Supervisor", "Dima"}
"""Roles that nobody else has."""
_ROLE = re.compile(
    rb'"(?:sender|receiver)"[ \t\r\n]*:[ \t\r\n]*"(?:%s)"' % "|".join(map(re.escape, sorted(_OWN_ROLES))).encode()
)
_TYPE = re.compile(rb'"type"[ \t\r\n]*:[ \t\r\n]*"(?:%s)"' % "|".join(TYPES).encode())
_HALF = 4
_REQUIRED = frozenset(REQUIRED_FIELDS)
_OTHERS = tuple(f'"{name}"'.encode() for name in REQUIRED_FIELDS if name != "channel")


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


def marked(raw: bytes) -> bool:
    """True if damaged bytes were an envelope: a channel that starts with the sigil and a further key; or a sender, a
    role of KickLang and a timestamp; or sender and receiver with a content that starts with the sigil, or with a
    channel and a type of KickLang."""
    if _SIGIL_CHANNEL.search(raw) is not None and any(key in raw for key in _OTHERS):
        return True
    if b'"sender"' not in raw:
        return False
    if b'"timestamp"' in raw and _ROLE.search(raw) is not None:
        return True
    if b'"receiver"' not in raw:
        return False
    if _SIGIL_CONTENT.search(raw) is not None:
        return True
    return b'"channel"' in raw and _TYPE.search(raw) is not None


PLAN = WirePlan(
    wire=WIRE,
    values=tuple(Value(name, *_FORMS.get(name, ())) for name in FIELDS),
    variants=(_VARIANT,),
    choose="only",
    detect=Deferred("turnwire.kick.codec", "detect"),
    decode=Deferred("turnwire.kick.codec", "decode"),
    claims=claims,
    marked=marked,
    variant_of=lambda fields: 0,
    clues=(("channel",), ("sender", "receiver", "content")),
    inside=("channel", "sender"),
    torn=("channel", "sender"),
    asks=(
        *(Ask(name, words=tuple(sorted(_OWN_ROLES))) for name in ("sender", "receiver")),
        *(Ask(name, opening=SIGIL) for name in ("channel", "content")),
    ),
)


def _fault(fields: dict[str, Any]) -> Refusal | None:
    from turnwire.kick.envelope_methods import field_fault

    found = field_fault(fields)
    return None if found is None else (found[0], found[2], f"/{found[1]}")


SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    smallest=len('{"id":"","timestamp":"","sender":"","receiver":"",'),
    decode=Deferred("turnwire.kick.documents", "read_record"),
    fault=_fault,
    common={
        "kind": ("column", "type"),
        "conversation": ("column", "correlation_id"),
        "subject": ("column", "subject"),
    },
)
