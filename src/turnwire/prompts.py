"""Short texts that teach an LLM a wire; each stands with its protocol (``<package>/prompt.py``)."""

from __future__ import annotations

from turnwire import registry


def prompt(wire: str) -> str:
    """A text for a system prompt that teaches ``wire``: the form of its messages, its words and its rules.

    What stands in angle brackets is to be filled in. Raises DecodeError(unknown_wire).
    """
    return registry.wire(wire).prompt()
