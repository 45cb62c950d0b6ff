"""Notes in a bulk scan."""

from __future__ import annotations

from typing import Any

from turnwire.contract import Column
from turnwire.json.plan import Fill, Need, Value, Variant, WirePlan
from turnwire.json.scanner import scanner

from .codec import FIELDS, KINDS, decode, detect

COLUMNS = (
    Column("kind_of_note", "enum", names=KINDS),
    *(Column(name, "text") for name in ("id", "from", "to", "text")),
)


def claims(fields: dict[str, Any]) -> bool:
    """True if an object that is not a note is a damaged one."""
    return "note" in fields


def marked(raw: bytes) -> bool:
    """True if damaged bytes were a note."""
    return b'"note"' in raw


PLAN = WirePlan(
    wire="note",
    values=(Value("note", "word", KINDS), *(Value(name) for name in FIELDS[1:])),
    variants=(
        Variant(
            "note",
            (Need("note", ("good",), True), *(Need(name, ("string",), True) for name in FIELDS[1:])),
            (Fill("kind_of_note", "word", "note"), *(Fill(name, "text", name) for name in FIELDS[1:])),
        ),
    ),
    choose="only",
    detect=detect,
    decode=decode,
    claims=claims,
    marked=marked,
    clues=(("note",),),
    inside=("note",),
    torn=("note",),
)
SCANNER = scanner(
    (PLAN,),
    COLUMNS,
    decode=decode,
    common={
        "kind": ("column", "kind_of_note"),
        "sender": ("column", "from"),
        "receiver": ("column", "to"),
        "conversation": ("column", "id"),
        "subject": ("column", "text"),
    },
)
