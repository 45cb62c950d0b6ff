"""A wire of style "token": ``~ada>bob:hello~``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tests.toy_wires import shape
from turnwire.contract import TOKEN, Column, TextPlan, Wire, record_bytes
from turnwire.errors import DecodeError, Reason

BEEP = re.compile(r"~([a-z]+)>([a-z]+):([^~\n]*)~")


class Beep(NamedTuple):
    """One beep."""

    sender: str
    receiver: str
    text: str


def decode(data: Any, /) -> Beep:
    """One beep. Raises DecodeError."""
    found = BEEP.fullmatch((record_bytes(data) or b"").decode("utf-8", "replace").strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a beep is ~from>to:text~", offset=0, line=1, wire="beep")
    return Beep(*found.groups())


DESCRIPTOR = Wire(
    "beep",
    title="Beeps",
    package=__name__,
    style=TOKEN,
    detect=lambda data: (record_bytes(data) or b"").startswith(b"~"),
    decode=decode,
    encode=lambda message, strict=True: f"~{message.sender}>{message.receiver}:{message.text}~",
    message=Beep,
    check=lambda message: [],
    prompt=lambda: "Send ~from>to:text~.\n",
    plan=TextPlan(
        opening=(b"~",),
        whole=re.compile(rb"~[a-z]+>[a-z]+:[^~\n]*~"),
        columns=(Column("sender", "text"), Column("receiver", "text"), Column("text", "text")),
        common={"subject": "text"},
        damaged=lambda raw: re.match(rb"~[a-z]+>[a-z]+:", raw) is not None,
    ),
    plain=Beep._asdict,
    shape=shape(Beep, {name: name for name in ("sender", "receiver", "text")}),
    checklist="tests.toy_wires:CHECKLIST",
)
