"""Words for values, for messages that people read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def as_json(value: Any) -> str:
    """Returns a value as JSON text, without escapes of non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False)


def listed(words: Iterable[Any]) -> str:
    """Words with commas between them."""
    return ", ".join(str(word) for word in words)


def counted(number: int, noun: str) -> str:
    """A number of things, with separators: "1 record", "2,000 records"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
