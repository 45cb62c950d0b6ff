"""KickLang for the bulk scan: what makes an object an envelope, its columns, and the core function that fills them."""

from __future__ import annotations

import re
from typing import Any

from turnwire.contract import BulkScanner, Column
from turnwire.json.plan import Fill, Need, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.kick.codec import decode, detect
from turnwire.kick.documents import read_record
from turnwire.kick.spec import DOCUMENT, FIELDS, REQUIRED_FIELDS, SIGIL, TYPES, WIRE

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

_FORMS = {"type": ("word", tuple(TYPES)), "channel": ("channel", ())}
_TEXTS = ("id", "sender", "receiver", "channel", "correlation_id", "timestamp", "content")
_VARIANT = Variant(
    "envelope",
    tuple(Need(name, ("good",) if name in _FORMS else ("string",), name in REQUIRED_FIELDS) for name in FIELDS),
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


def claims(fields: dict[str, Any]) -> bool:
    """Whether an object that is no envelope is a damaged one: its channel starts with the sigil, or it has a sender, a
    receiver and a channel."""
    channel = fields.get("channel")
    if isinstance(channel, str) and channel.startswith(SIGIL):
        return True
    return all(name in fields for name in ("sender", "receiver", "channel"))


def marked(raw: bytes) -> bool:
    """Whether damaged bytes were an envelope: a channel that starts with the sigil, or the keys sender and receiver
    with channel or with both id and timestamp."""
    if _SIGIL_CHANNEL.search(raw) is not None:
        return True
    if b'"sender"' not in raw or b'"receiver"' not in raw:
        return False
    return b'"channel"' in raw or (b'"id"' in raw and b'"timestamp"' in raw)


PLAN = WirePlan(
    wire=WIRE,
    values=tuple(Value(name, *_FORMS.get(name, ())) for name in FIELDS),
    variants=(_VARIANT,),
    choose="only",
    detect=detect,
    decode=decode,
    claims=claims,
    marked=marked,
    variant_of=lambda fields: 0,
    clues=(("channel",),),
    inside=("channel",),
    torn=("channel", "sender"),
)

SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    smallest=len('{"id":"","timestamp":"","sender":"","receiver":"",'),
    decode=read_record,
    common={
        "kind": ("column", "type"),
        "conversation": ("column", "correlation_id"),
        "subject": ("column", "subject"),
    },
)
