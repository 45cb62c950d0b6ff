"""Notes: reading, writing, checking."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from turnwire.contract import LIMITS, Limits, record_bytes
from turnwire.errors import DecodeError, EncodeError, Issue, Reason
from turnwire.json import text as json_text

KINDS = ("ask", "tell")
FIELDS = ("note", "id", "from", "to", "text")


class Note(NamedTuple):
    """One note."""

    kind: str
    id: str
    sender: str
    receiver: str
    text: str


def detect(data: Any, /) -> bool:
    """True if this begins as a note does."""
    return re.match(rb'\s*\{\s*"note"', record_bytes(data) or b"") is not None


def decode(data: Any, /, *, limits: Limits = LIMITS) -> Note:
    """One note. Raises DecodeError."""
    fields = json_text.read_object(data, "note", limits=limits)
    for name in FIELDS:
        if not isinstance(fields.get(name), str):
            raise DecodeError(Reason.MISSING_FIELD, f"a note has a text {name}", offset=0, line=1, wire="note")
    if fields["note"] not in KINDS:
        raise DecodeError(Reason.UNKNOWN_KEY, f"a note is one of {', '.join(KINDS)}", offset=0, line=1, wire="note")
    return Note(*(fields[name] for name in FIELDS))


def encode(message: Note, /, strict: bool = True) -> str:
    """The text of a note. Raises EncodeError for an empty id."""
    if strict and not message.id:
        raise EncodeError(Reason.EMPTY_VALUE, "a note has an id", wire="note")
    return json.dumps(dict(zip(FIELDS, message, strict=True)), ensure_ascii=False, separators=(",", ":"))


def check(message: Note, /) -> list[Issue]:
    """An empty text is doubtful."""
    if message.text:
        return []
    return [Issue(Reason.EMPTY_VALUE, "warning", "/text", "a note without a text")]
