"""The tokens of the messages of a log, however many there are, and their price."""

from __future__ import annotations

import heapq
import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.tokens.tokenizer import Tokenizer

KEEP = 10
COLUMNS = ("line", "wire", "conversation")
"""The columns that are read of each message, beside its bytes."""


class Price(NamedTuple):
    """The price of a million input tokens.

    input: uncached tokens. cached: tokens of a cached prefix; None: no discount.
    """

    input: float
    cached: float | None = None
    currency: str = "USD"

    def of(self, fresh: float, cached: float = 0) -> float:
        """Returns the cost of a number of tokens."""
        again = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * again) / 1e6


def priced(prices: Mapping[str, Any] | None) -> dict[str, Price]:
    """Tokenizer -> Price, from prices, numbers, pairs (input, cached) or mappings. Raises ValueError for all else."""
    found = {}
    for name, given in (prices or {}).items():
        try:
            if isinstance(given, Mapping):
                given = Price(**given)
            price = Price(*(given if isinstance(given, (tuple, list)) else (given,)))
            is_fair = all(each is None or 0 <= each < float("inf") for each in (price.input, price.cached))
            cached = None if price.cached is None else float(price.cached)
            found[name] = price._replace(input=float(price.input), cached=cached)
        except TypeError:
            raise ValueError(f"the price of {name}: expected a number, (input, cached) or a Price") from None
        if not is_fair:
            raise ValueError(f"the price of {name} is not a number of at least 0")
    return found


class LargeMessage(NamedTuple):
    """A message in a log: its tokens, and where it is."""

    tokens: int
    file: str | None
    line: int
    conversation: str | None


class TokenUse:
    """The tokens of a wire's messages with one tokenizer.

    Attributes:
        wire, tokenizer: which. messages: how many. bytes: of the messages as written. tokens: every message read once.
        cached: what is read again when each turn of a conversation is sent with all turns before it, which is a prefix
        that a model may hold in its cache. conversations: the tokens of each; messages without one are priced alone.
        largest: the messages with the most tokens, in that order. over: how many went over the budget of a message.
    """

    def __init__(self, wire: str, tokenizer: str) -> None:
        self.wire = wire
        self.tokenizer = tokenizer
        self.messages = self.bytes = self.tokens = self.cached = self.over = 0
        self.conversations: dict[Hashable, int] = {}
        self.largest: list[LargeMessage] = []

    def add(
        self, counts: Sequence[int], known: Sequence[str | None], file: str | None, lines: Any, budget: int | None
    ) -> None:
        """Messages of one file in the order of the log: their tokens, conversations (None: of none) and lines."""
        least = self.largest[-1].tokens if len(self.largest) == KEEP else -1
        large = []
        for count, conversation, line in zip(counts, known, lines, strict=True):
            if conversation is not None:
                before = self.conversations.get(conversation, 0)
                self.cached += before
                self.conversations[conversation] = before + count
            if count > least:
                large.append(LargeMessage(count, file, int(line), conversation))
        self.messages += len(counts)
        self.tokens += sum(counts)
        if budget is not None:
            self.over += sum(count > budget for count in counts)
        # Of equals the first are kept.
        self.largest = heapq.nlargest(KEEP, [*self.largest, *large], key=lambda each: each.tokens)


class CountedLog(NamedTuple):
    """A log, counted: (wire, tokenizer) -> TokenUse; wire -> sample of its messages; how many records were damaged; a
    sample of all messages in their order."""

    spent: dict[tuple[str, str], TokenUse]
    samples: dict[str, Sample]
    damaged: int
    whole: Sample


class Sample:
    """A fair sample of what is offered: every message has the same chance, and every run takes the same.

    Attributes:
        size, seen, messages: how many are wanted, how many were offered, those that were kept. first: the first ones,
        as they follow each other: what a conversation costs is not seen in single messages. texts: messages as they are
        written in the log.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0
        self.messages: list[Any] = []
        self.first: list[Any] = []
        self.texts: list[str] = []
        self._random = random.Random(0)

    def wants(self) -> int | None:
        """The place of the next message, or None when it is not wanted. To be asked once for every message."""
        self.seen += 1
        if len(self.messages) < self.size:
            self.messages.append(None)
            self.texts.append("")
            return len(self.messages) - 1
        place = self._random.randrange(self.seen) if self.size else 0
        return place if place < self.size else None

    def offer(self, batch: Any, rows: Iterable[int]) -> None:
        """Keeps of the messages in these rows of a batch those that are wanted, and how they are written."""
        for row in rows:
            if (place := self.wants()) is not None:
                self.messages[place] = message = batch.message(row)
                self.texts[place] = bytes(batch.raw(row)).decode()
                if len(self.first) < FIRST and place == self.seen - 1:
                    self.first.append(message)


FIRST = 200
"""Messages that are kept as they follow each other."""


def spend(
    source: Any,
    tokenizers: Sequence[Tokenizer],
    *,
    wire: str | None = None,
    budget: int | None = None,
    sample: int = 0,
    threads: int = 1,
    progress: Any = None,
) -> CountedLog:
    """Counts all messages of a log, or those of one wire, in one scan; ``sample`` messages of each wire are kept, and
    as many of all together. progress: as ``turnwire.scan`` takes it."""
    import turnwire

    spent: dict[tuple[str, str], TokenUse] = {}
    names = registry.names()
    samples: dict[str, Sample] = {}
    whole = Sample(sample)
    scan = turnwire.scan(source, wire=wire, columns=COLUMNS, errors="skip", progress=progress)
    for batch in scan:
        codes = batch.codes("wire")
        whole.offer(batch, range(len(codes)) if sample else ())
        for code in np.unique(codes).tolist():
            name, rows = names[code], np.flatnonzero(codes == code).tolist()
            samples.setdefault(name, Sample(sample)).offer(batch, rows)
            raws = [bytes(batch.raw(row)) for row in rows]
            texts = [raw.decode() for raw in raws]
            conversations, lines = batch["conversation"], batch["line"]
            known = [conversations[row] for row in rows]
            for counter in tokenizers:
                own = spent.setdefault((name, counter.name), TokenUse(name, counter.name))
                own.bytes += sum(map(len, raws))
                own.add(counter.count_many(texts, threads), known, batch.file, lines[rows], budget)
    ordered = {key: spent[key] for key in sorted(spent, key=lambda key: names.index(key[0]))}
    samples = {name: samples[name] for name in names if name in samples}
    return CountedLog(ordered, samples, scan.counts.rejects, whole)
