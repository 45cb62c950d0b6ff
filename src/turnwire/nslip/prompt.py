# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM nSLIP, made from the tables that its reader and writer use."""

from __future__ import annotations

from turnwire.nslip import spec
from turnwire.phrases import listed


def prompt() -> str:
    """The text that teaches nSLIP, made from the tables of ``spec``."""
    digits = spec.BASE62_ALPHABET
    header = "|".join(f"{prefix}<{name}>" for prefix, name in spec.HEADER)
    slots = listed(
        f"{prefix} {slot.name.lower()}{' (text)' if slot in spec.STRING_SLOTS else ''}"
        for slot, prefix in spec.SLOT_PREFIX.items()
    )
    return f"""\
Send every message as one nSLIP message on a line of its own, with nothing around it:
{spec.START_MARKER}{header}{spec.SEPARATOR}<slots>{spec.END_MARKER}
For example: @a3|f0|c5|S1|d2|T1|k7|u"ready"#
Rules:
- Each field is a prefix letter and its value, with {spec.SEPARATOR} between fields. The {len(spec.HEADER)} header fields \
come first, each once.
- Numbers are base62 with the digits {digits}; no sign, no leading zero, at most 2^64-1.
- a is the act: {listed(f"{digits[act]} {act.name}" for act in spec.Act)}.
- f is the frame: {listed(f"{digits[frame]} {frame.name}" for frame in spec.FrameType)}.
- c numbers the conversation, S and d are the ids of sender and receiver, T is the turn.
- Slots follow as needed, each once: {slots}.
- Text stands in double quotes; inside, write \\" for a quote and \\\\ for a backslash, nothing else is escaped. Keep it \
under {spec.SHORT_STRING} characters: large things live in stores and are named by id.
"""
