"""Memos: reading, writing, checking."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnwire.contract import record_bytes
from turnwire.errors import DecodeError, Issue, Reason

MEMO = re.compile(r"^MEMO ([a-z]+)\r?\n((?:(?!END[\r\n]|MEMO ).*\n)*)END(?=[\r\n]|\Z)", re.MULTILINE)


class Memo(NamedTuple):
    """One memo."""

    sender: str
    text: str


def detect(data: Any, /) -> bool:
    """True if this begins as a memo does."""
    return (record_bytes(data) or b"").startswith(b"MEMO ")


def decode(data: Any, /) -> Memo:
    """One memo. Raises DecodeError."""
    found = MEMO.fullmatch((record_bytes(data) or b"").decode("utf-8", "replace").strip())
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a memo ends with END", offset=0, line=1, wire="memo")
    return memo(found)


def memo(found: re.Match[str]) -> Memo:
    """The memo found; a line of it ends with LF, whatever ends it in the text."""
    sender, text = found.groups()
    return Memo(sender, text.replace("\r\n", "\n"))


def encode(message: Memo, /, strict: bool = True) -> str:
    """The text of a memo."""
    return f"MEMO {message.sender}\n{message.text}END\n"


def check(message: Memo, /) -> list[Issue]:
    """Nothing is doubtful about a memo."""
    return []


def damaged(first: bytes) -> bool:
    """True if a line that begins as a memo does is the first of one."""
    return re.fullmatch(rb"MEMO [a-z]+", first) is not None


def plain(message: Memo) -> dict[str, Any]:
    """A memo as JSON values."""
    return message._asdict()


def prompt() -> str:
    """How to write a memo."""
    return "Send MEMO from, the lines, END.\n"
