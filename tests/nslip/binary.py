"""What the tests of the two binary forms share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nslip import twins
from turnwire.nslip import schema


def use(monkeypatch: pytest.MonkeyPatch, backend: str) -> Any:
    """Puts one core under the binary forms; gives that core."""
    core = twins.core_of(backend)
    monkeypatch.setattr(schema, "_core", core)
    monkeypatch.setattr(schema, "base62", twins.core_of(backend, "nslip.base62"))
    return core


BAD_MESSAGES: dict[str, tuple[int, Any]] = {
    "negative": (0, -1),
    "too_large": (1, 2**64),
    "wrong_type": (2, 1.5),
    "unknown_act": (4, 11),
    "unknown_frame": (5, 5),
    "unknown_slot": (6, {99: 1}),
    "lone_surrogate": (6, {20: "\ud800"}),
}


def bad_message(core: Any, reason: str) -> Any:
    """A message that encode refuses for this reason."""
    place, value = BAD_MESSAGES[reason]
    values: list[Any] = [3, 1, 0, 1, 3, 0, {}]
    values[place] = value
    return core.SlipMessage(*values)
