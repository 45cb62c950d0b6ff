"""Latencies and tokens: how long answers took, and what records cost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.errors import MissingDependency
from turnwire.read.pairing import COUNTS, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

ANSWER_COLUMNS = ("wire", "rule", "asks", *COUNTS, "timed", "min", "p50", "p90", "p99", "max")
"""Columns of the answers to the questions of one rule. timed: answers that tell a latency; min to max: microseconds,
None where there is none."""
DEFAULT = "o200k_base"
SLICE = 8192
"""Records whose text is in memory at once."""


class Answers:
    """Takes chunks of records in order, and pairs questions with their answers."""

    def __init__(self) -> None:
        self._pairs = Pairs()
        self._longest = -1
        self.slowest: int | None = None
        """The number of the conversation with the slowest answer."""

    def add(self, chunk: Chunk) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Looks at the records of a chunk. Gives the conversations of requests, and of those that were answered."""
        found = list(self._pairs.take(chunk.texts, chunk.keys))
        for _, settled in found:
            if len(settled) and (longest := int(settled[:, 1].max())) > self._longest:
                self._longest, self.slowest = longest, int(settled[settled[:, 1].argmax(), 0]) % (1 << 64)
        return [(asked, settled[:, 0]) for asked, settled in found]

    def rows(self) -> list[list[Any]]:
        """The fate of the questions that were asked: rows of ANSWER_COLUMNS."""
        return [_answers(wire, pairing) for (wire, _), pairing in self._pairs.found.items() if pairing.seen]


def _answers(wire: str, pairing: Any) -> list[Any]:
    times = pairing.latencies
    counts = [pairing.counts[name] for name in COUNTS]
    quantiles = [times.quantile(share) for share in (0.5, 0.9, 0.99)]
    asks = sorted(pairing.rule.requests)
    return [wire, pairing.rule.name, asks, *counts, times.count, times.least, *quantiles, times.most]


class TokenMeter(NamedTuple):
    """Counts tokens, or says why it cannot. name: the tokenizer's; measure: texts -> tokens of each, or None."""

    name: str
    measure: Callable[[list[str]], list[int]] | None
    why_not: str | None = None


def meter(tokenizer: str | None) -> TokenMeter:
    """The meter of a tokenizer; "default" takes the usual one where it is installed, None measures nothing.

    Raises MissingDependency or ValueError for a tokenizer that was named and is not there.
    """
    if tokenizer is None:
        return TokenMeter("", None, "tokens were not requested")
    name = DEFAULT if tokenizer == "default" else tokenizer
    try:
        tokens = import_module("turnwire.tokens")
        tokens.count("", name)  # a tokenizer that is not there says so now, not after the log was read
    except MissingDependency as missing:
        if tokenizer != "default":
            raise MissingDependency("counting tokens needs a tokenizer: pip install 'turnwire[tokens]'") from missing
        return TokenMeter(name, None, "counting tokens needs the extra: pip install 'turnwire[tokens]'")
    return TokenMeter(name, lambda texts: [int(count) for count in tokens.count_many(texts, name)])


def tokens_of(chunk: Chunk, used: TokenMeter) -> NDArray[np.int64] | None:
    """The tokens of each record of a chunk as written, or None where they are not measured."""
    if used.measure is None:
        return None
    result = np.empty(len(chunk), np.int64)
    raws = chunk.batch.raws()
    for start in range(0, len(chunk), SLICE):
        texts = [raw.decode("utf-8", "replace") for raw in islice(raws, SLICE)]
        result[start : start + len(texts)] = used.measure(texts)
    return result
