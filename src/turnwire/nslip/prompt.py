# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM nSLIP, made from the tables that its reader and writer use."""

from __future__ import annotations

from turnwire.nslip import spec
from turnwire.showing import listed

EXAMPLES = (
    '@a0|f2|c5|S2|d1|T4|k7|t"tests_red"#',
    '@a1|f0|c5|S2|d1|T5|k7|rC|u"done"#',
    '@a2|f0|c5|S1|d2|T6|k7|t"which_branch"#',
    '@a3|f0|c5|S1|d2|T1|g3|k7|p2|q1|t"fix_parser"#',
    '@a4|f1|c5|S2|d1|T2|k7|t"plan_a"#',
    '@a5|f1|c5|S1|d2|T3|k7|t"plan_a"#',
    "@a6|f0|c5|S2|d1|T2|k7#",
    '@a7|f0|c5|S2|d1|T2|k7|e3|t"no_rights"#',
    "@a8|f3|c5|S3|d1|T7|k7|rC|s9#",
    '@a9|f0|c5|S2|d1|T5|k7|e1S|t"disk_full"#',
    '@aA|f4|c5|S2|d1|T8|t"slip_v1"#',
)
"""A message of each act, in the order of their codes."""


def prompt(short: bool = False) -> str:
    """The text that teaches nSLIP, with a message of each act; with one alone if ``short``."""
    if short:
        return _text(f"For example: {EXAMPLES[1]}\n")
    lines = "\n".join(f"{act.name} {text}" for act, text in zip(spec.Act, EXAMPLES, strict=True))
    return f"{_text('')}One of each act:\n{lines}\n"


def _text(example: str) -> str:
    digits = spec.BASE62_ALPHABET
    header = "|".join(f"{prefix}<{name}>" for prefix, name in spec.HEADER)
    slots = listed(
        f"{prefix} {slot.name.lower()}{' (text)' if slot in spec.STRING_SLOTS else ' (number)'}"
        for slot, prefix in spec.SLOT_PREFIX.items()
    )
    return f"""\
Send every message as one nSLIP message on a line of its own, with nothing around it:
{spec.START_MARKER}{header}{spec.SEPARATOR}<slots>{spec.END_MARKER}
{example}Rules:
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
