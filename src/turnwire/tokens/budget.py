"""The messages of a log and their tokens, however many there are."""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turnwire.contract import WIRES, bulk_scanner
from turnwire.errors import DecodeError
from turnwire.tokens.prices import Meter
from turnwire.tokens.tokenizer import Tokenizer

KEEP = 10
CONVERSATION = {
    "nslip": ("conv_id",),
    "csp": ("ctx",),
    "sstp": ("session_id",),
    "sap": ("correlationId", "correlation_id"),
    "kick": ("correlation_id",),
}
"""Wire -> what its messages call their conversation."""


class Found(NamedTuple):
    """A message in a log: its tokens, and where it stands."""

    tokens: int
    file: str | None
    line: int
    conversation: str | None


class Spent:
    """The tokens of a wire's messages with one tokenizer.

    Attributes:
        wire, tokenizer: which. bytes: of the messages as they stand. meter: their tokens, by conversation.
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
        self, counts: Sequence[int], known: Sequence[str | None], files: Any, lines: Any, budget: int | None
    ) -> None:
        """Messages in the order of the log: their tokens, conversations, files and lines."""
        first = self.meter.messages
        least = self._heap[0][0] if len(self._heap) == KEEP else -1
        for row, (count, conversation) in enumerate(zip(counts, known, strict=True)):
            self.meter.add(conversation, count)
            if budget is not None and count > budget:
                self.over += 1
            if count > least:  # of equals the first are kept
                file = None if files[row] is None else str(files[row])
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
    """A log, counted: (wire, tokenizer) -> Spent; wire -> sample of its messages; how many records were damaged."""

    spent: dict[tuple[str, str], Spent]
    samples: dict[str, Sample]
    damaged: int


class Sample:
    """A fair sample of what is offered: every message has the same chance, and every run takes the same."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0
        self.messages: list[Any] = []
        self._random = random.Random(0)

    def wants(self) -> int | None:
        """Where the next message is to be put, or None when it is not wanted. To be asked once for every message."""
        self.seen += 1
        if len(self.messages) < self.size:
            self.messages.append(None)
            return len(self.messages) - 1
        place = self._random.randrange(self.seen) if self.size else 0
        return place if place < self.size else None


def scannable(wires: Sequence[str] = WIRES) -> list[str]:
    """Those of the wires that can be found in logs."""
    found = []
    for wire in wires:
        try:
            bulk_scanner(wire)
        except DecodeError:
            continue  # this version does not scan it
        found.append(wire)
    return found


def batches(source: Any, wires: Sequence[str], scans: list[Any]) -> Iterator[tuple[str, Any]]:
    """The batches of a log with their wire, one wire after the other; each scan is put into ``scans``.

    What can be read only once (a pipe, a file object) is held in memory when several wires are looked for.
    """
    import turnwire

    if len(wires) > 1:
        source = _held(source)
    for wire in wires:
        common = bulk_scanner(wire).common.get("conversation")
        known = [] if common is None else [common[1], "conversation"]
        scan = turnwire.scan(source, wire=wire, columns=["file", "line", *known], errors="skip")
        scans.append(scan)
        for batch in scan:
            yield wire, batch


def _held(source: Any) -> Any:
    if source == "-":
        return sys.stdin.buffer.read()
    return source.read() if hasattr(source, "read") else source


def conversation_of(message: Any, wire: str) -> str | None:
    """The conversation that a message belongs to, or None."""
    place = message.header if wire == "sstp" else message
    for name in CONVERSATION[wire]:
        value = getattr(place, name, None)
        if value is not None:
            return str(value)
    return None


def _conversations(batch: Any, wire: str) -> list[str | None]:
    """The conversation of each record: a column where the wire has it in bulk, else from the messages."""
    if "conversation" in batch.names:
        return list(batch["conversation"])
    return [conversation_of(batch.message(row), wire) for row in range(len(batch))]


def spend(
    source: Any,
    tokenizers: Sequence[Tokenizer],
    *,
    wires: Sequence[str] | None = None,
    budget: int | None = None,
    sample: int = 0,
    threads: int = 1,
) -> Tally:
    """Counts all messages of a log, those of ``wires`` (all that can be scanned), ``sample`` of each wire kept."""
    spent: dict[tuple[str, str], Spent] = {}
    samples: dict[str, Sample] = {}
    scans: list[Any] = []
    for wire, batch in batches(source, scannable() if wires is None else wires, scans):
        if not len(batch):
            continue
        kept = samples.setdefault(wire, Sample(sample))
        raws = [bytes(batch.raw(row)) for row in range(len(batch))]
        texts = [raw.decode() for raw in raws]
        known = _conversations(batch, wire)
        for row in range(len(batch)):
            if (place := kept.wants()) is not None:
                kept.messages[place] = batch.message(row)
        files, lines = batch["file"], batch["line"]
        for counter in tokenizers:
            own = spent.setdefault((wire, counter.name), Spent(wire, counter.name))
            own.bytes += sum(map(len, raws))
            own.add(counter.count_many(texts, threads), known, files, lines, budget)
    return Tally(spent, samples, sum(sum(scan.counts.reasons.values()) for scan in scans))
