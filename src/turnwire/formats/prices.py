"""List prices of models in US dollars for a million tokens, as their vendors gave them on a date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

DATE = "2026-11-29"
"""The date of the packaged prices: as the table of LiteLLM 1.110.2 had them, and of models that it no longer listed as
models.dev had them on 2026-06-12."""
FAST = "-fast"
"""Behind the name of a model: it ran in the mode that answers faster and costs more."""


class ModelPrice(NamedTuple):
    """US dollars for a million tokens of each kind. Reasoning is a part of the output.

    cache_write: what is kept for five minutes; cache_write_1h: for an hour, twice the input by default. fast: how many
    times as much the faster mode costs. above_200k: the prices of the tokens of a kind above 200,000 in one response.
    """

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    cache_write_1h: float | None = None
    fast: float = 1.0
    above_200k: ModelPrice | None = None

    def rate(self, kind: str) -> float:
        """The price of one kind of tokens."""
        hour = 2 * self.input if self.cache_write_1h is None else self.cache_write_1h
        return hour if kind == "cache_write_1h" else float(getattr(self, kind))


def _claude(price: float, output: float, read: float | None = None, fast: float = 1.0) -> ModelPrice:
    return ModelPrice(price, output, price / 10 if read is None else read, price * 1.25, fast=fast)


_SONNET = _claude(3, 15)
_PRICED: tuple[tuple[str, ModelPrice], ...] = (
    ("claude-fable-5 claude-mythos-5", _claude(10, 50)),
    ("claude-fable-5-1 claude-mythos-5-1", _claude(10, 50, 0.25)),
    ("claude-opus-5-5", _claude(4, 20, 0.2, fast=2)),
    ("claude-opus-5 claude-opus-4-8", _claude(5, 25, fast=2)),
    ("claude-opus-4-7 claude-opus-4-6", _claude(5, 25, fast=6)),
    ("claude-opus-4-5", _claude(5, 25)),
    ("claude-opus-4-1 claude-opus-4 claude-opus-4-0 claude-3-opus", _claude(15, 75)),
    ("claude-sonnet-5-5", _claude(2, 10, 0.1)),
    ("claude-sonnet-5", _claude(2, 10)),
    ("claude-sonnet-4-6 claude-sonnet-4-5 claude-3-7-sonnet claude-3-5-sonnet", _SONNET),
    ("claude-sonnet-4 claude-sonnet-4-0", _SONNET._replace(above_200k=ModelPrice(6, 22.5, 0.6, 7.5))),
    ("claude-haiku-5-5", _claude(0.1, 0.5)),
    ("claude-haiku-4-5", _claude(1, 5)),
    ("claude-3-5-haiku", _claude(0.8, 4)),
    ("claude-3-haiku", ModelPrice(0.25, 1.25, 0.03, 0.3)),
    ("gpt-6.1-sol", ModelPrice(2, 10, 0.1, 2.5)),
    ("gpt-6.1-terra", ModelPrice(1, 5, 0.05, 1.25)),
    ("gpt-6-astra", ModelPrice(10, 50, 1, 12.5)),
    ("gpt-6-sol", ModelPrice(2, 10, 0.2, 2.5)),
    ("gpt-6-luna", ModelPrice(0.1, 0.5, 0.01, 0.125)),
    ("gpt-5.6 gpt-5.6-sol", ModelPrice(4, 20, 0.4, 5)),
    ("gpt-5.6-terra", ModelPrice(2, 12, 0.2, 2.5)),
    ("gpt-5.6-luna", ModelPrice(0.2, 1.2, 0.02, 0.25)),
    ("gpt-5.5", ModelPrice(5, 30, 0.5, fast=2.5)),
    ("gpt-5.4", ModelPrice(2.5, 15, 0.25, fast=2)),
    ("gpt-5.4-mini", ModelPrice(0.75, 4.5, 0.075)),
    ("gpt-5.4-nano", ModelPrice(0.2, 1.25, 0.02)),
    ("gpt-5.3-codex", ModelPrice(1.75, 14, 0.175, fast=2)),
    ("gpt-5.2 gpt-5.2-codex", ModelPrice(1.75, 14, 0.175)),
    ("gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max gpt-5 gpt-5-codex", ModelPrice(1.25, 10, 0.125)),
    ("gpt-5.1-codex-mini gpt-5-mini", ModelPrice(0.25, 2, 0.025)),
    ("gpt-5-nano", ModelPrice(0.05, 0.4, 0.005)),
    ("gpt-4.1", ModelPrice(2, 8, 0.5)),
    ("gpt-4.1-mini", ModelPrice(0.4, 1.6, 0.1)),
    ("gpt-4.1-nano", ModelPrice(0.1, 0.4, 0.025)),
    ("gpt-4o", ModelPrice(2.5, 10, 1.25)),
    ("gpt-4o-mini", ModelPrice(0.15, 0.6, 0.075)),
    ("o1", ModelPrice(15, 60, 7.5)),
    ("o3", ModelPrice(2, 8, 0.5)),
    ("o3-mini", ModelPrice(1.1, 4.4, 0.55)),
    ("o4-mini", ModelPrice(1.1, 4.4, 0.275)),
    ("codex-mini", ModelPrice(1.5, 6, 0.375)),
)
PRICES: Mapping[str, ModelPrice] = {model: price for models, price in _PRICED for model in models.split()}
_MADE = re.compile(r"(?:@|-)(?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?:-v\d+(?::\d+)?)?$")
_OF = re.compile(r"^(?:.*/|(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.)")


def price_of(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """The price of a model by its name, else by the name without vendor and date, or None; with ``FAST`` behind the
    name that of the faster mode."""

    def named(name: str) -> ModelPrice | None:
        bare = _MADE.sub("", _OF.sub("", name))
        return next((prices[one] for one in (name, bare, bare.replace(".", "-")) if one in prices), None)

    found = named(model)
    if found is not None:
        return found._replace(fast=1.0)
    return named(model.removesuffix(FAST)) if model.endswith(FAST) else None


def priced(table: Mapping[str, Any] | None) -> dict[str, ModelPrice]:
    """The prices of a user, model -> a table of the members of :class:`ModelPrice`, of which ``input`` and ``output``
    must be there, in US dollars per million tokens; the packaged ones for None. Raises ValueError for an invalid
    table."""
    return dict(PRICES) if table is None else {model: _given(model, price) for model, price in table.items()}


def _given(model: str, price: Any) -> ModelPrice:
    if isinstance(price, ModelPrice):
        return price
    known = isinstance(price, Mapping) and {"input", "output"} <= price.keys() <= {*ModelPrice._fields}
    rates: dict[str, Any] = {name: price[name] for name in price if name != "above_200k"} if known else {"": None}
    if not all(type(one) in (int, float) and one >= 0 for one in rates.values()):
        names = ", ".join(ModelPrice._fields)
        raise ValueError(f"the price of {model!r} has to be a table of {names}, dollars for a million tokens")
    above = price.get("above_200k")
    return ModelPrice(**rates, above_200k=None if above is None else _given(model, above))
