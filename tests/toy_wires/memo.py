"""A wire of style "lines": ``MEMO ada``, lines of text, and ``END``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tests.toy_wires import shape
from turnwire.contract import LINES, Column, TextPlan, Wire, record_bytes
from turnwire.errors import DecodeError, Reason

MEMO = re.compile(rb"MEMO ([a-z]+)\r?\n((?:(?!END[\r\n]|MEMO ).*\n)*)END(?=[\r\n]|\Z)", re.MULTILINE)


class Memo(NamedTuple):
    """One memo."""

    sender: str
    text: str


def decode(data: Any, /) -> Memo:
    """One memo; a line of it ends with LF, whatever ends it in the text. Raises DecodeError."""
    found = MEMO.fullmatch((record_bytes(data) or b"").strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a memo ends with END", offset=0, line=1, wire="memo")
    sender, text = (part.decode("utf-8", "replace") for part in found.groups())
    return Memo(sender, text.replace("\r\n", "\n"))


def values(message: Memo) -> dict[str, object]:
    """The columns of a memo."""
    lines = message.text.splitlines()
    return {
        "sender": message.sender,
        "lines": len(lines),
        "urgency": "urgent" if message.text.isupper() else "calm",
        "first": lines[0] if lines else None,
    }


DESCRIPTOR = Wire(
    "memo",
    title="Memos",
    package=__name__,
    style=LINES,
    detect=lambda data: (record_bytes(data) or b"").startswith(b"MEMO "),
    decode=decode,
    encode=lambda message, strict=True: f"MEMO {message.sender}\n{message.text}END\n",
    message=Memo,
    check=lambda message: [],
    prompt=lambda: "Send MEMO from, the lines, END.\n",
    scanner=TextPlan(
        opening=(b"MEMO ",),
        whole=MEMO,
        columns=(
            Column("sender", "text"),
            Column("lines", "u64"),
            Column("urgency", "enum", names=("calm", "urgent")),
            Column("first", "text", nullable=True),
        ),
        common={"kind": "urgency", "sequence": "lines", "subject": "first"},
        values=values,
        damaged=lambda first: re.fullmatch(rb"MEMO [a-z]+", first) is not None,
    ),
    shape=shape(Memo, {name: name for name in ("sender", "text")}),
    checklist="tests.toy_wires:CHECKLIST",
)
