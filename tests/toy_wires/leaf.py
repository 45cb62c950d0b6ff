"""A wire with documents beside its messages: a leaf is ``%ada: hello%``, a sheet begins with ``%% title``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnwire.contract import TOKEN, Column, DocumentPlan, TextPlan, Wire, record_bytes
from turnwire.errors import DecodeError, Reason

LEAF = re.compile(r"%([a-z]+): ([^%\n]*)%")
SHEET = re.compile(rb"%% ?[a-z]+")


class Leaf(NamedTuple):
    """One message."""

    sender: str
    text: str


class Sheet(NamedTuple):
    """One document: its title, and its lines."""

    title: str
    lines: tuple[str, ...]


def decode(data: Any, /) -> Leaf | Sheet:
    """A leaf or a sheet. Raises DecodeError."""
    text = (record_bytes(data) or b"").decode("utf-8", "replace")
    if SHEET.match(text.encode()):
        title, *lines = text.splitlines()
        if "torn" in lines:
            raise DecodeError(Reason.BAD_FRAMING, "a sheet is not torn", offset=0, line=1, wire="leaf")
        return Sheet(title[2:].strip(), tuple(lines))
    found = LEAF.fullmatch(text.strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a leaf is %from: text%", offset=0, line=1, wire="leaf")
    return Leaf(*found.groups())


def encode(message: Leaf | Sheet, /, strict: bool = True) -> str:
    """The text of a leaf or a sheet."""
    if isinstance(message, Leaf):
        return f"%{message.sender}: {message.text}%"
    return "".join(f"{line}\n" for line in (f"%% {message.title}", *message.lines))


def values(message: Leaf | Sheet) -> dict[str, Any]:
    """The columns of either."""
    if isinstance(message, Leaf):
        return {"what": "leaf", **message._asdict()}
    return {"what": "sheet", "text": message.title}


DESCRIPTOR = Wire(
    "leaf",
    title="Leaves",
    package=__name__,
    style=TOKEN,
    detect=lambda data: (record_bytes(data) or b"").startswith(b"%"),
    decode=decode,
    encode=encode,
    message=Leaf,
    check=lambda message: [],
    prompt=lambda: "Send %from: text%.\n",
    scanner=TextPlan(
        opening=(b"%",),
        whole=re.compile(rb"%[a-z]+: [^%\n]*%"),
        columns=(
            Column("what", "enum", names=("leaf", "sheet")),
            Column("sender", "text", nullable=True),
            Column("text", "text"),
        ),
        common={"kind": "what", "subject": "text"},
        values=values,
        documents=DocumentPlan("sheet", Sheet, b"%%", SHEET),
    ),
)
