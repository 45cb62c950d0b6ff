"""A wire of style "token": ``~ada>bob:hello~``."""

from __future__ import annotations

import re
from typing import Any

import turnwire
from tests.toy_wires import shape
from turnwire.contract import TOKEN, Column, TextPlan, Wire, record_bytes
from turnwire.errors import DecodeError, Reason

BEEP = re.compile(r"~([a-z]+)>([a-z]+):([^~\n]*)~")


class Beep(turnwire.Message):
    """One beep: a message made of nothing but the contract. (Those of the other toy wires know nothing of it.)"""

    __wire__ = "beep"
    __match_args__ = _fields = ("speaker", "hearer", "text")

    def __init__(self, speaker: str, hearer: str, text: str) -> None:
        self.speaker, self.hearer, self.text = speaker, hearer, text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beep) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def _asdict(self) -> dict[str, Any]:
        return dict(vars(self))


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
    encode=lambda message, strict=True: f"~{message.speaker}>{message.hearer}:{message.text}~",
    message=Beep,
    check=lambda message: [],
    prompt=lambda: "Send ~from>to:text~.\n",
    scanner=TextPlan(
        opening=(b"~",),
        whole=re.compile(rb"~[a-z]+>[a-z]+:[^~\n]*~"),
        columns=(Column("speaker", "text"), Column("hearer", "text"), Column("text", "text")),
        common={"sender": "speaker", "receiver": "hearer", "subject": "text"},
        damaged=lambda raw: re.match(rb"~[a-z]+>[a-z]+:", raw) is not None,
    ),
    shape=shape(Beep, {"speaker": "sender", "hearer": "receiver", "text": "text"}),
    checklist="tests.toy_wires:CHECKLIST",
)
