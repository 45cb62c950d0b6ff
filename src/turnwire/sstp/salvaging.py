"""SSTP messages out of prose, code fences, larger JSON and the strings of JSON: what LLMs and chat logs really send."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from turnwire.registry import reading
from turnwire.sstp.messages import Message
from turnwire.sstp.spec import WIRE


class Salvaged(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters. how: "bare" (it is the whole text), "prose", "fence" or "json"
    (inside a larger JSON value); inside a JSON string, "json_string/" is before that, once for each level.
    """

    message: Message
    start: int
    end: int
    how: str

    @property
    def error(self) -> None:
        """Nothing is wrong with it; of a near miss this says what."""
        return None


@overload
def salvage(text: str, *, rejects: Literal[False] = False) -> list[Salvaged]: ...


@overload
def salvage(text: str, *, rejects: bool) -> list[Any]: ...


def salvage(text: str, *, rejects: bool = False) -> list[Any]:
    """Every SSTP message in ``text``, in order, and how each was wrapped ("Output raw JSON only" is seldom followed).

    Each message has passed what ``decode`` asks for; objects that do not are left out, or with ``rejects`` come among
    them as ``turnwire.read.extraction.NearMiss``. Nothing is repaired.
    """
    found = reading("extraction").extract(text, (WIRE,), rejects=rejects)
    return [one if one.error else Salvaged(one.message, one.start, one.end, one.wrapped) for one in found]
