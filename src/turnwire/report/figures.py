"""Latencies and tokens: how long answers took, and what records cost one by one and as one text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.errors import MissingDependency, WireError
from turnwire.read.grouping import Groups
from turnwire.read.pairing import COUNTS, Pairs
from turnwire.report.findings import Extremes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

ANSWER_COLUMNS = ("wire", "rule", "asks", *COUNTS, "timed", "min", "p50", "p90", "p99", "max", "steps")
"""Columns of the answers to the questions of one rule. timed: answers that tell a latency; min to max: microseconds,
None where there is none; steps: the histogram, as (microseconds at most, answers)."""
SESSION_COLUMNS = ("wire", "records", "written", "json", "session", "why")
"""Columns of the first records of a wire as one text. written, json, session: tokens of the records as they are, of
minified JSON lines, and of a session with its explanation, in which each of them comes back; why: why they were not
compared (then json and session are None)."""
DEFAULT = "o200k_base"
SLICE = 8192
"""Records whose text is in memory at once."""
FIRST = 200
"""Records of each wire that are held as they follow each other."""
MOST_BYTES = 1 << 20
"""Bytes of these."""


class Answers:
    """Takes chunks of records in order, and pairs questions with their answers."""

    def __init__(self) -> None:
        self._pairs = Pairs()
        self._slowest: tuple[int, int] = (-1, 0)
        self._talks = Groups()

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None = None) -> None:
        """Looks at the records of a chunk."""
        measures = chunk.lengths, chunk.times, chunk.timed
        keys = self._talks.add(chunk.texts.batch.codes("wire"), chunk.texts["conversation"], *measures, tokens)
        for settled in self._pairs.take(chunk.texts, keys):
            if len(settled):
                key, longest = settled[settled[:, 1].argmax()].tolist()
                self._slowest = max(self._slowest, (longest, key), key=lambda one: one[0])

    def extremes(self, tokens: bool) -> Extremes:
        """The conversation that cost most, and the one with the slowest answer; tokens: whether they were counted."""
        measure = "tokens" if tokens else "bytes"
        dearest = None
        for (wire, name), group in self._talks.top(1, measure):
            dearest = str(wire), name, int(getattr(group, measure))
        named = self._talks.named(self._slowest[1]) if self._slowest[0] >= 0 else None
        slowest = None if named is None else (str(named[0]), named[1], self._slowest[0])
        return Extremes(dearest, slowest, tokens)

    def rows(self) -> list[list[Any]]:
        """The fate of the questions that were asked: rows of ANSWER_COLUMNS."""
        return [_answers(wire, pairing) for (wire, _), pairing in self._pairs.found.items() if pairing.seen]


def _answers(wire: str, pairing: Any) -> list[Any]:
    times = pairing.latencies
    counts = [pairing.counts[name] for name in COUNTS]
    quantiles = [times.quantile(share) for share in (0.5, 0.9, 0.99)]
    asks = sorted(pairing.rule.requests)
    return [wire, pairing.rule.name, asks, *counts, times.count, times.least, *quantiles, times.most, times.steps()]


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
    raws = chunk.raws()
    for start in range(0, len(chunk), SLICE):
        texts = [raw.decode("utf-8", "replace") for raw in islice(raws, SLICE)]
        result[start : start + len(texts)] = used.measure(texts)
    return result


class _Held:
    """The first records of one wire, until there are enough."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.bytes = self.tokens = 0
        self.full = False


class Sessions:
    """Takes chunks of records, keeps the first ones of each wire, and compares them as one text."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Looks at the records of a chunk in order; without tokens nothing is kept."""
        if tokens is None:
            return
        wires = chunk.coded("wire")
        for code in np.unique(wires.codes).tolist():
            held = self._held.setdefault(wires.names[code], _Held())
            if held.full:
                continue
            for row in np.flatnonzero(wires.codes == code)[: FIRST - len(held.messages)].tolist():
                held.bytes += int(chunk.lengths[row])
                held.full = held.bytes > MOST_BYTES
                if held.full:
                    break
                held.messages.append(chunk.message(row))
                held.tokens += int(tokens[row])
            held.full = held.full or len(held.messages) == FIRST

    def rows(self, used: TokenMeter) -> list[list[Any]]:
        """The tokens of what was kept, in the order in which wires were met: rows of SESSION_COLUMNS."""
        return [_session(wire, held, used.name) for wire, held in self._held.items() if held.messages]


def _session(wire: str, held: _Held, tokenizer: str) -> list[Any]:
    tokens = import_module("turnwire.tokens")
    sizes = wire, len(held.messages), held.tokens
    try:
        found = tokens.compare(held.messages, [wire], [tokenizer], formats=("json", "session"), per="conversation")
    except WireError as error:  # what its own wire cannot write
        return [*sizes, None, None, str(error)]
    totals = {row.format: row.total for row in found.rows if row.round_trip}
    if not {"json", "session"} <= totals.keys():
        return [*sizes, None, None, "; ".join(found.absent.values()) or "they do not come back"]
    return [*sizes, totals["json"], totals["session"], ""]
