"""The messages of a log and their tokens, however many there are."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.tokens.prices import Meter
from turnwire.tokens.tokenizer import Tokenizer

KEEP = 10
COLUMNS = ("line", "wire", "conversation")
"""What is read of each message, beside its bytes."""


class Found(NamedTuple):
    """A message in a log: its tokens, and where it is."""

    tokens: int
    file: str | None
    line: int
    conversation: str | None


class Spent:
    """The tokens of a wire's messages with one tokenizer.

    Attributes:
        wire, tokenizer: which. bytes: of the messages as written. meter: their tokens, by conversation.
        largest: the dearest messages, the dearest first. over: how many went over the budget of a message.
    """

    def __init__(self, wire: str, tokenizer: str) -> None:
        self.wire = wire
        self.tokenizer = tokenizer
        self.bytes = 0
        self.meter = Meter()
        self.over = 0
        self._heap: list[tuple[int, int, Found]] = []

    def add(
        self, counts: Sequence[int], known: Sequence[str | None], file: str | None, lines: Any, budget: int | None
    ) -> None:
        """Messages of one file in the order of the log: their tokens, conversations and lines."""
        first = self.meter.messages
        least = self._heap[0][0] if len(self._heap) == KEEP else -1
        for row, (count, conversation) in enumerate(zip(counts, known, strict=True)):
            self.meter.add(conversation, count)
            if budget is not None and count > budget:
                self.over += 1
            if count > least:  # of equals the first are kept
                entry = (count, -(first + row), Found(count, file, int(lines[row]), conversation))
                if len(self._heap) < KEEP:
                    heapq.heappush(self._heap, entry)
                else:
                    heapq.heapreplace(self._heap, entry)
                least = self._heap[0][0] if len(self._heap) == KEEP else -1

    @property
    def largest(self) -> list[Found]:
        """The dearest messages."""
        return [found for _, _, found in sorted(self._heap, reverse=True)]


class Tally(NamedTuple):
    """A log, counted: (wire, tokenizer) -> Spent; wire -> sample of its messages; how many records were damaged; a
    sample of all messages in their order."""

    spent: dict[tuple[str, str], Spent]
    samples: dict[str, Sample]
    damaged: int
    whole: Sample


class Sample:
    """A fair sample of what is offered: every message has the same chance, and every run takes the same.

    Attributes:
        size, seen, messages: how many are wanted, how many were offered, those that were kept. first: the first ones,
        as they follow each other: what a conversation costs is not seen in single messages. texts, first_texts: the
        same as they are written in the log.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0
        self.messages: list[Any] = []
        self.first: list[Any] = []
        self.texts: list[str] = []
        self.first_texts: list[str] = []
        self._random = random.Random(0)

    def wants(self) -> int | None:
        """Where the next message is to be put, or None when it is not wanted. To be asked once for every message."""
        self.seen += 1
        if len(self.messages) < self.size:
            self.messages.append(None)
            self.texts.append("")
            return len(self.messages) - 1
        place = self._random.randrange(self.seen) if self.size else 0
        return place if place < self.size else None

    def put(self, place: int, message: Any, text: str) -> None:
        """Keeps a message, and how it is written, where ``wants`` said."""
        self.messages[place] = message
        self.texts[place] = text
        if len(self.first) < FIRST and place == self.seen - 1:
            self.first.append(message)
            self.first_texts.append(text)


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
) -> Tally:
    """Counts all messages of a log, or those of one wire, in one scan; ``sample`` messages of each wire are kept, and
    as many of all together."""
    import turnwire

    spent: dict[tuple[str, str], Spent] = {}
    names = registry.names()
    samples: dict[str, Sample] = {}
    whole = Sample(sample)
    scan = turnwire.scan(source, wire=wire, columns=COLUMNS, errors="skip")
    for batch in scan:
        codes = batch["wire"]
        for row in range(len(codes)) if sample else ():
            if (place := whole.wants()) is not None:
                whole.put(place, batch.message(row), bytes(batch.raw(row)).decode())
        for code in np.unique(codes).tolist():
            name, rows = names[code], np.flatnonzero(codes == code).tolist()
            kept = samples.setdefault(name, Sample(sample))
            for row in rows:
                if (place := kept.wants()) is not None:
                    kept.put(place, batch.message(row), bytes(batch.raw(row)).decode())
            raws = [bytes(batch.raw(row)) for row in rows]
            texts = [raw.decode() for raw in raws]
            conversations, lines = batch["conversation"], batch["line"]
            known = [conversations[row] for row in rows]
            for counter in tokenizers:
                own = spent.setdefault((name, counter.name), Spent(name, counter.name))
                own.bytes += sum(map(len, raws))
                own.add(counter.count_many(texts, threads), known, batch.file, lines[rows], budget)
    ordered = {key: spent[key] for key in sorted(spent, key=lambda key: names.index(key[0]))}
    samples = {name: samples[name] for name in names if name in samples}
    return Tally(ordered, samples, sum(scan.counts.reasons.values()), whole)
