"""List prices of models in US dollars per million tokens, as published by their vendors on a date."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any

import msgspec

FAST = "-fast"
"""Behind the name of a model: it ran in the mode that answers faster and costs more."""

Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens of each kind. Reasoning is part of the output.

    cache_write: for a five-minute cache; cache_write_1h: for an hour, by default twice the input price. fast: the price
    factor of the faster mode. above_200k: the prices of tokens of a kind above 200,000 in one response.
    """

    input: Dollars
    output: Dollars
    cache_read: Dollars = 0.0
    cache_write: Dollars = 0.0
    cache_write_1h: Dollars | None = None
    fast: Dollars = 1.0
    above_200k: ModelPrice | None = None

    def rate(self, kind: str) -> float:
        """The price of one kind of tokens."""
        hour = 2 * self.input if self.cache_write_1h is None else self.cache_write_1h
        return hour if kind == "cache_write_1h" else float(getattr(self, kind))


_MADE = re.compile(r"(?:@|-)(?:20\d{6}|20\d\d-\d\d-\d\d|latest|0)(?:-v\d+(?::\d+)?)?$")
_OF = re.compile(r"^(?:.*/|(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.)")


def price_of(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """Returns the price of a model by its name, or else by the name without vendor and date, or None; with the suffix
    ``FAST``, that of the faster mode."""

    def named(name: str) -> ModelPrice | None:
        bare = _MADE.sub("", _OF.sub("", name))
        return next((prices[one] for one in (name, bare, bare.replace(".", "-")) if one in prices), None)

    found = named(model)
    if found is not None:
        return msgspec.structs.replace(found, fast=1.0)
    return named(model.removesuffix(FAST)) if model.endswith(FAST) else None


def priced(table: Mapping[str, Any] | None) -> dict[str, ModelPrice]:
    """Reads a user's prices: model, or several with commas and spaces between -> a table with the members of
    :class:`ModelPrice` (``input`` and ``output`` are required) in US dollars per million tokens, and optionally a
    "date". None returns the packaged prices. Raises ValueError for an invalid table."""
    found: dict[str, ModelPrice] = {}
    for model, price in (_PACKAGED if table is None else table).items():
        try:
            names = [] if model == "date" else model.split(", ")
            found |= {name: msgspec.convert(price, ModelPrice) for name in names}
        except msgspec.ValidationError as error:
            raise ValueError(f"the price of {model!r}, in dollars per million tokens: {error}") from error
    return found


_PACKAGED = tomllib.loads((files("turnwire.formats") / "prices.toml").read_text("utf-8"))
DATE: str = _PACKAGED["date"]
"""The date of the packaged prices."""
PRICES: Mapping[str, ModelPrice] = priced(None)
"""The packaged prices (``prices.toml``)."""
