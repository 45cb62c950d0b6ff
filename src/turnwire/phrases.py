"""Values as the words of a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def as_json(value: Any) -> str:
    """A value as JSON text, characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def listed(words: Iterable[Any]) -> str:
    """Words with commas between them."""
    return ", ".join(str(word) for word in words)
