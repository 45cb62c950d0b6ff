"""SSTP messages out of prose, code fences, larger JSON and the strings of JSON: what LLMs and chat logs really send."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import DecodeError
from turnwire.json.embedded import pieces
from turnwire.sstp.codec import from_fields
from turnwire.sstp.messages import Message


class Salvaged(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters. how: "bare" (it is the whole text), "prose", "fence" or "json"
    (inside a larger JSON value); inside a JSON string, "json_string/" stands before that, once for each level.
    """

    message: Message
    start: int
    end: int
    how: str


def salvage(text: str) -> list[Salvaged]:
    """Every SSTP message in ``text``, in order, and how each was wrapped ("Output raw JSON only" is seldom followed).

    Each message has passed what ``decode`` asks for; objects that do not are left out. Nothing is repaired.
    """
    return [Salvaged(*piece) for piece in pieces(text, _message)]


def _message(fields: dict[str, Any], _raw: bytes) -> Message | None:
    if "header" not in fields or "payload" not in fields:
        return None
    try:
        return from_fields(fields)
    except DecodeError:
        return None
