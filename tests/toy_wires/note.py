"""A wire of style "object": ``{"note":"tell","id":"7","from":"ada","to":"bob","text":"hello"}``."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.toy_wires import shape
from turnwire.contract import LIMITS, OBJECT, Column, Limits, Wire, record_bytes
from turnwire.errors import DecodeError, EncodeError, Issue, Reason
from turnwire.json import text as json_text
from turnwire.json.plan import Fill, Need, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.pairs import BACK, THERE, AnswerPattern, PairRule, Pairs

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
    claims=lambda fields: "note" in fields,
    marked=lambda raw: b'"note"' in raw,
    clues=(("note",),),
    inside=("note",),
    torn=("note",),
)
COMMON = {"kind": "kind_of_note", "sender": "from", "receiver": "to", "conversation": "id", "subject": "text"}
DESCRIPTOR = Wire(
    "note",
    title="Notes",
    package=__name__,
    style=OBJECT,
    detect=detect,
    decode=decode,
    encode=encode,
    message=Note,
    check=lambda message: [] if message.text else [Issue(Reason.EMPTY_VALUE, "/text", "warning", "a note is empty")],
    prompt=lambda: 'Send {"note":"ask" or "tell","id":"...","from":"...","to":"...","text":"..."} on a line.\n',
    scanner=scanner(
        (PLAN,),
        (Column("kind_of_note", "enum", names=KINDS), *(Column(name, "text") for name in FIELDS[1:])),
        decode=decode,
        common={name: ("column", own) for name, own in COMMON.items()},
    ),
    pairs=Pairs((PairRule("ask", frozenset({"ask"}), (AnswerPattern(frozenset({"tell"}), (THERE,), BACK),)),)),
    shape=shape(
        Note,
        {"id": "conversation", "sender": "sender", "receiver": "receiver", "text": "text"},
        lambda fields: "ask" if fields["kind",] == "ask" else "inform",
        lambda act: {("kind",): "ask" if act in ("ask", "request") else "tell"},
    ),
    checklist="tests.toy_wires:CHECKLIST",
)
