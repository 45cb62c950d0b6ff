"""SSTP messages out of prose, code fences, larger JSON and the strings of JSON: what LLMs and chat logs really send."""

from __future__ import annotations

from typing import NamedTuple

from turnwire.contract import finding
from turnwire.errors import DecodeError
from turnwire.sstp.messages import Message
from turnwire.sstp.spec import WIRE


class Salvaged(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters. how: "bare" (it is the whole text), "prose", "fence" or "json"
    (inside a larger JSON value); inside a JSON string, "json_string/" stands before that, once for each level. error:
    of a near miss, whose message is None, why it is none (``reason``, ``path``, ``offset`` and ``line`` in the text);
    ``turnwire.explain`` says it in words for a model. raw: its bytes.
    """

    message: Message
    start: int
    end: int
    how: str
    error: DecodeError | None = None
    raw: bytes = b""


def salvage(text: str, *, rejects: bool = False) -> list[Salvaged]:
    """Every SSTP message in ``text``, in order, and how each was wrapped ("Output raw JSON only" is seldom followed).

    Each message has passed what ``decode`` asks for; objects that do not are left out, or with ``rejects`` stand among
    them as near misses. Nothing is repaired.
    """
    found = finding("extraction").extract(text, (WIRE,), rejects=rejects)
    return [Salvaged(one.message, one.start, one.end, one.wrapped, one.error, one.raw) for one in found]
