"""Beeps: reading, writing, checking."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnwire.contract import record_bytes
from turnwire.errors import DecodeError, Issue, Reason

BEEP = re.compile(r"~([a-z]+)>([a-z]+):([^~\n]*)~")


class Beep(NamedTuple):
    """One beep."""

    sender: str
    receiver: str
    text: str


def detect(data: Any, /) -> bool:
    """True if this begins as a beep does."""
    return (record_bytes(data) or b"").startswith(b"~")


def decode(data: Any, /) -> Beep:
    """One beep. Raises DecodeError."""
    found = BEEP.fullmatch((record_bytes(data) or b"").decode("utf-8", "replace").strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a beep is ~from>to:text~", offset=0, line=1, wire="beep")
    return Beep(*found.groups())


def encode(message: Beep, /, strict: bool = True) -> str:
    """The text of a beep."""
    return f"~{message.sender}>{message.receiver}:{message.text}~"


def check(message: Beep, /) -> list[Issue]:
    """Nothing is doubtful about a beep."""
    return []


def damaged(raw: bytes) -> bool:
    """True if text that begins as a beep and is none was meant as one."""
    return re.match(rb"~[a-z]+>[a-z]+:", raw) is not None


def plain(message: Beep) -> dict[str, Any]:
    """A beep as JSON values."""
    return message._asdict()


def prompt() -> str:
    """How to write a beep."""
    return "Send ~from>to:text~.\n"
