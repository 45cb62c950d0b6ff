"""List prices of models in US dollars for a million tokens, as their vendors gave them on a date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

DATE = "2025-11-24"
"""The date of the packaged prices."""


class ModelPrice(NamedTuple):
    """US dollars for a million tokens of each kind. Reasoning is a part of the output."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0


def _claude(per_input: float, per_output: float) -> ModelPrice:
    return ModelPrice(per_input, per_output, per_input / 10, per_input * 1.25)


PRICES: Mapping[str, ModelPrice] = {
    **dict.fromkeys(("claude-opus-4-5",), _claude(5, 25)),
    **dict.fromkeys(("claude-opus-4-1", "claude-opus-4", "claude-3-opus"), _claude(15, 75)),
    **dict.fromkeys(("claude-sonnet-4-5", "claude-sonnet-4", "claude-3-7-sonnet", "claude-3-5-sonnet"), _claude(3, 15)),
    "claude-haiku-4-5": _claude(1, 5),
    "claude-3-5-haiku": _claude(0.8, 4),
    "claude-3-haiku": ModelPrice(0.25, 1.25, 0.03, 0.3),
    **dict.fromkeys(("gpt-5.1", "gpt-5.1-codex", "gpt-5", "gpt-5-codex"), ModelPrice(1.25, 10, 0.125)),
    **dict.fromkeys(("gpt-5-mini", "gpt-5.1-codex-mini"), ModelPrice(0.25, 2, 0.025)),
    "gpt-5-nano": ModelPrice(0.05, 0.4, 0.005),
    "gpt-4.1": ModelPrice(2, 8, 0.5),
    "gpt-4.1-mini": ModelPrice(0.4, 1.6, 0.1),
    "gpt-4.1-nano": ModelPrice(0.1, 0.4, 0.025),
    "gpt-4o": ModelPrice(2.5, 10, 1.25),
    "gpt-4o-mini": ModelPrice(0.15, 0.6, 0.075),
    "o3": ModelPrice(2, 8, 0.5),
    "o4-mini": ModelPrice(1.1, 4.4, 0.275),
    "codex-mini": ModelPrice(1.5, 6, 0.375),
}
_MADE = re.compile(r"(?:@|-)(?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?:-v\d+(?::\d+)?)?$")
_OF = re.compile(r"^(?:.*/|(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.)")


def price_of(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """The price of a model by its name, else by the name without vendor and date, or None."""
    found = prices.get(model)
    return prices.get(_MADE.sub("", _OF.sub("", model))) if found is None else found


def priced(table: Mapping[str, Any] | None) -> dict[str, ModelPrice]:
    """The prices of a user, model -> ``{"input": ..., "output": ..., "cache_read": ..., "cache_write": ...}`` in US
    dollars per million tokens; the packaged ones for None. Raises ValueError for an invalid table."""
    if table is None:
        return dict(PRICES)
    found = {}
    for model, given in table.items():
        if isinstance(given, ModelPrice):
            found[model] = given
            continue
        known = isinstance(given, Mapping) and {"input", "output"} <= given.keys() <= {*ModelPrice._fields}
        if not known or not all(type(one) in (int, float) and one >= 0 for one in given.values()):
            names = ", ".join(ModelPrice._fields)
            raise ValueError(f"the price of {model!r} has to be a table of {names}, dollars for a million tokens")
        found[model] = ModelPrice(**given)
    return found
