"""What can be done about the tokens of nSLIP messages: each a function on their texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwire.nslip.parts import PARTS

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID = re.compile("[cgkpr]")


def short_ids(texts: Sequence[str]) -> list[str]:
    """Conversations numbered as they come, from 0 on; goals, tasks and results likewise within each conversation."""
    known: dict[tuple[str, str], dict[str, str]] = {}
    return [_renumbered(text, known) for text in texts]


def _renumbered(text: str, known: dict[tuple[str, str], dict[str, str]]) -> str:
    spans = []
    for found in PARTS.finditer(text):
        start, end = found.span("ids")
        if start >= 0 and _ID.fullmatch(found["prefixes"]):
            spans.append((found["prefixes"], start, end))
    conversation = next((text[start:end] for prefix, start, end in spans if prefix == "c"), "")
    kept, last = [], 0
    for prefix, start, end in spans:
        numbers = known.setdefault((prefix, "" if prefix == "c" else conversation), {})
        kept += [text[last:start], numbers.setdefault(text[start:end], _base62(len(numbers)))]
        last = end
    return "".join([*kept, text[last:]])


def _base62(number: int) -> str:
    text = _DIGITS[number % 62]
    while number := number // 62:
        text = _DIGITS[number % 62] + text
    return text


ADVICE = {"ids": ("ids: count from 0 in each conversation, so that they stay one digit", short_ids)}
"""What is changed -> how to say it, and the change: texts of messages as they follow each other -> those after it."""
