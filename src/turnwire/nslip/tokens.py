"""The parts of an nSLIP message's text, for counting tokens; and changes that save tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwire.nslip import base62

PARTS = re.compile(
    r"""
    (?P<framing>\A@|\#\Z)
  | (?P<separators>\|)
  | (?<=[tu])(?P<quotes>")(?P<text>(?:[^"\\]|\\.)*)(?P<quotes_>")
  | (?<=[@|])(?P<prefixes>[A-Za-z])(?P<codes>(?<=[@|][af])[0-9A-Za-z]+)?(?P<ids>(?<=[@|][ckgprSd])[0-9A-Za-z]+)?
  | (?P<numbers>[0-9A-Za-z]+)
""",
    re.VERBOSE | re.DOTALL,
)
"""A named group for each part; a group whose name ends in ``_`` belongs to the part of the name without it."""
_RENUMBERED = "cgkpr"


def short_ids(texts: Sequence[str]) -> list[str]:
    """Numbers conversations as they come, from 0 on; goals, tasks and results likewise within each conversation."""
    known: dict[tuple[str, str], dict[str, str]] = {}
    return [_renumbered(text, known) for text in texts]


def _renumbered(text: str, known: dict[tuple[str, str], dict[str, str]]) -> str:
    fields = ((found["prefixes"], *found.span("ids")) for found in PARTS.finditer(text) if found["ids"] is not None)
    spans = [field for field in fields if field[0] in _RENUMBERED]
    conversation = next((text[start:end] for prefix, start, end in spans if prefix == "c"), "")
    kept, last = [], 0
    for prefix, start, end in spans:
        numbers = known.setdefault((prefix, "" if prefix == "c" else conversation), {})
        kept += [text[last:start], numbers.setdefault(text[start:end], base62.encode(len(numbers)))]
        last = end
    return "".join([*kept, text[last:]])


ADVICE = {"ids": ("ids: count from 0 in each conversation, so that they stay one digit", short_ids)}
"""Name of a change -> how to say it, and the change: texts of messages as they follow each other -> those after it."""
