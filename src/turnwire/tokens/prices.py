"""What tokens cost, and what a conversation reads again at every turn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple


class Price(NamedTuple):
    """The price of a million tokens that a model reads.

    input: tokens that it has not read before. cached: tokens of a prefix that it has read before; None: no discount.
    """

    input: float
    cached: float | None = None
    currency: str = "USD"

    def of(self, fresh: float, cached: float = 0) -> float:
        """What so many tokens cost."""
        again = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * again) / 1e6


def priced(prices: Mapping[str, Any] | None) -> dict[str, Price]:
    """Tokenizer -> Price, from prices, numbers, pairs (input, cached) or mappings. Raises ValueError for all else."""
    found = {}
    for name, given in (prices or {}).items():
        try:
            price = (
                given
                if isinstance(given, Price)
                else Price(**given)
                if isinstance(given, Mapping)
                else Price(*given)
                if isinstance(given, (tuple, list))
                else Price(given)
            )
            fair = all(each is None or 0 <= each < float("inf") for each in (price.input, price.cached))
            price = price._replace(
                input=float(price.input), cached=None if price.cached is None else float(price.cached)
            )
        except TypeError:
            raise ValueError(f"the price of {name}: a number, (input, cached) or a Price is needed") from None
        if not fair:
            raise ValueError(f"the price of {name} is not a number from 0 up")
        found[name] = price
    return found


class Meter:
    """Adds up tokens of messages by conversation.

    ``tokens`` is every message read once. ``cached`` is what is read again when each turn of a conversation is sent
    with all turns before it, which is a prefix that a model may hold in its cache. ``largest`` is one conversation's
    tokens; messages without a conversation are priced alone.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.cached = 0
        self.messages = 0
        self._held: dict[Hashable, int] = {}

    def add(self, conversation: Hashable | None, tokens: int) -> None:
        """One more message of a conversation (None: of none)."""
        self.messages += 1
        self.tokens += tokens
        if conversation is not None:
            before = self._held.get(conversation, 0)
            self.cached += before
            self._held[conversation] = before + tokens

    @property
    def conversations(self) -> dict[Hashable, int]:
        """The tokens of each conversation."""
        return self._held
