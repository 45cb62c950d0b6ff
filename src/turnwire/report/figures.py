"""Latencies and tokens: how long answers took, and what records cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.errors import MissingDependency
from turnwire.log.engine.all_wires import of_formats
from turnwire.read.pairing import COUNTS, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

ANSWER_COLUMNS = ("wire", "rule", "asks", *COUNTS, "timed", "min", "p50", "p90", "p99", "max")
"""Columns of the answers to the questions of one rule. timed: answers that tell a latency; min to max: microseconds,
None where there is none."""


class Answers:
    """Takes chunks of records in order, and pairs questions with their answers."""

    def __init__(self) -> None:
        self.pairs = Pairs()
        self._longest = -1
        self.slowest: int | None = None
        """The number of the conversation with the slowest answer."""

    def add(self, chunk: Chunk) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Looks at the records of a chunk. Gives the conversations of requests, and of those that were answered."""
        found = list(self.pairs.take(chunk.texts, chunk.keys))
        for _, settled in found:
            if len(settled) and (longest := int(settled[:, 1].max())) > self._longest:
                self._longest, self.slowest = longest, int(settled[settled[:, 1].argmax(), 0]) % (1 << 64)
        return [(asked, settled[:, 0]) for asked, settled in found]

    def rows(self) -> list[list[Any]]:
        """Returns rows of ANSWER_COLUMNS, one for each kind of request."""
        return [_answers(wire, pairing) for (wire, _), pairing in self.pairs.found.items() if pairing.seen]


def _answers(wire: str, pairing: Any) -> list[Any]:
    times = pairing.latencies
    counts = [pairing.counts[name] for name in COUNTS]
    quantiles = [times.quantile(share) for share in (0.5, 0.9, 0.99)]
    asks = sorted(pairing.rule.requests)
    return [wire, pairing.rule.name, asks, *counts, times.count, times.least, *quantiles, times.most]


def meter(tokenizer: str | None, wire: str | None = None) -> tuple[Any, str | None]:
    """A tokenizer by its name, or None and why: "default" takes the usual one where it is installed, and none for
    formats, whose records tell what they used; None measures nothing.

    Raises MissingDependency or ValueError for a tokenizer that was named and is not there.
    """
    if tokenizer is None:
        return None, "tokens were not requested"
    if tokenizer == "default" and of_formats(wire):
        return None, "these records tell their own tokens, which turnwire usage adds up"
    from turnwire.tokens.loading import DEFAULT, load

    try:
        return load(DEFAULT if tokenizer == "default" else tokenizer), None
    except MissingDependency as missing:
        if tokenizer != "default":
            raise MissingDependency("counting tokens needs a tokenizer: pip install 'turnwire[tokens]'") from missing
        return None, "counting tokens needs the extra: pip install 'turnwire[tokens]'"
