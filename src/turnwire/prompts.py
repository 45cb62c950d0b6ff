"""Texts that teach an LLM a wire; each is in the package of its protocol (``<package>/prompt.py``)."""

from __future__ import annotations

from inspect import signature

from turnwire import registry
from turnwire.errors import UnknownName

SIZES = ("short", "full")


def prompt(wire: str, size: str = "full") -> str:
    """Returns a text for a system prompt that teaches ``wire``: the form of its messages, its words and its rules,
    and with the size "full" a valid example of each kind, act, intent or channel.

    Replace the placeholders in angle brackets. Some wires have only one size. Raises UnknownName for an unknown
    wire or size.
    """
    if size not in SIZES:
        raise UnknownName("size", size, SIZES, f"the sizes of a prompt are {' and '.join(SIZES)}, not {size!r}")
    found = registry.wire(wire).prompt
    return found(short=True) if size == "short" and "short" in signature(found).parameters else found()
