"""SSTP messages out of prose, code fences, larger JSON and the strings of JSON: what LLMs and chat logs really send."""

from __future__ import annotations

from typing import NamedTuple

from turnwire.contract import finding
from turnwire.sstp.messages import Message
from turnwire.sstp.spec import WIRE


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
    return [
        Salvaged(one.message, one.start, one.end, one.wrapped) for one in finding("extraction").extract(text, (WIRE,))
    ]
