"""Statistics of a log: counts, bytes, answers and their latencies, busiest conversations; in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import expect_number
from turnwire.log.output.json_lines import slices, times
from turnwire.log.scanning import Counts, scan
from turnwire.read.pairing import OPEN, Pairing, Pairs

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

ROOM = 10_000
"""Different values that are counted apart in each list; see :class:`FrequentValues`."""

LONGEST = 256
"""Characters of a name beyond which it is cut: names that differ only after them count as one."""

COLUMNS = ("length", "wire", "kind", "sender", "receiver", "conversation", "time", "subject")
"""What is read of each record."""


NAMES = ("kind", "sender", "receiver", "conversation", "subject")


class FrequentValues:
    """Counts values, ``room`` of them apart at least: when there are twice as many, the rarer half is folded into one
    number. What was folded and comes again counts from nothing, so counts are exact while ``folded`` is 0 and lower
    bounds later; what is frequent is never lost."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self.counts: Counter[Any] = Counter()
        self.folded = 0

    def update(self, values: Iterable[Hashable]) -> None:
        """Counts each of the values."""
        self.counts.update(values)
        if len(self.counts) > 2 * self._room:
            kept = dict(self.counts.most_common(self._room))
            self.folded += self.counts.total() - sum(kept.values())
            self.counts = Counter(kept)

    def top(self, most: int | None = None) -> list[tuple[Any, int]]:
        """The most frequent values with their counts; equals in the order of their names."""
        order = sorted(self.counts.items(), key=lambda item: (-item[1], repr(item[0])))
        return order[:most]


class Conversation:
    """One conversation: how many records and bytes, and the first and last time (microseconds; None without any)."""

    __slots__ = ("bytes", "first", "last", "records")

    def __init__(self) -> None:
        self.records = self.bytes = 0
        self.first: int | None = None
        self.last: int | None = None


class Stats(NamedTuple):
    """The result of :func:`stats`.

    counts: bytes and records as ``scan.counts`` tells them. All the rest is of the records that ``where`` wants, of all
    without it. wires: wire -> bytes of its records. wanted: wire -> how many they are. kinds, senders, receivers:
    tallies of (wire, value). conversations: (wire, conversation) -> :class:`Conversation`; folded: records of
    conversations that are no longer told apart. pairings: (wire, rule) -> what became of requests. first, last: the
    earliest and the latest time, in microseconds; None where no record has one.
    """

    counts: Counts
    wires: dict[str, int]
    kinds: FrequentValues
    senders: FrequentValues
    receivers: FrequentValues
    conversations: dict[tuple[str, str], Conversation]
    folded: int
    pairings: dict[tuple[str, str], Pairing]
    first: int | None
    last: int | None
    wanted: dict[str, int]

    def busiest(self, most: int) -> list[tuple[tuple[str, str], Conversation]]:
        """The conversations with the most records."""
        return nlargest(most, self.conversations.items(), key=lambda item: (item[1].records, item[1].bytes))

    def rows(self, most: int = 20) -> Iterator[dict[str, Any]]:
        """All of it as dicts for JSON lines: "stat" says what one is about. Lists end after ``most`` values; what is
        missing is in a row of its own, without a value. Times are RFC 3339."""
        counts = self.counts
        yield {
            "stat": "total",
            "records": counts.records,
            "rejects": counts.rejects,
            "selected": counts.selected,
            "record_bytes": counts.record_bytes,
            "reject_bytes": counts.reject_bytes,
            "text_bytes": counts.text_bytes,
            "bytes": counts.bytes,
            "selected_bytes": sum(self.wires.values()),
            "first": times([self.first])[0],
            "last": times([self.last])[0],
        }
        for wire in sorted(counts.wires, key=lambda wire: -self.wanted.get(wire, 0)):
            if wire in self.wanted:
                yield {"stat": "wire", "wire": wire, "records": self.wanted[wire], "bytes": self.wires[wire]}
        for name, tally in (("kind", self.kinds), ("sender", self.senders), ("receiver", self.receivers)):
            yield from _tallied(name, tally, most)
        for reason, times_met in sorted(counts.reasons.items(), key=lambda item: (-item[1], item[0])):
            yield {"stat": "reason", "reason": reason, "rejects": times_met}
        for (wire, rule), pairing in self.pairings.items():
            yield {"stat": "answers", "wire": wire, "rule": rule, **pairing.to_dict()}
        yield from self._conversation_rows(most)

    def _conversation_rows(self, most: int) -> Iterator[dict[str, Any]]:
        shown = self.busiest(most)
        for (wire, name), one in shown:
            first, last = times([one.first, one.last])
            fields = {"records": one.records, "bytes": one.bytes, "first": first, "last": last}
            yield {"stat": "conversation", "wire": wire, "conversation": name, **fields}
        rest = sum(one.records for one in self.conversations.values()) - sum(one.records for _, one in shown)
        if rest + self.folded:
            count = None if self.folded else len(self.conversations) - len(shown)
            yield {
                "stat": "conversation",
                "wire": None,
                "conversation": None,
                "records": rest + self.folded,
                "others": count,
            }


def _cut(names: list[str | None]) -> list[str | None]:
    return [name if name is None or len(name) <= LONGEST else f"{name[:LONGEST]}…" for name in names]


def _tallied(name: str, tally: FrequentValues, most: int) -> Iterator[dict[str, Any]]:
    shown = tally.top(most)
    for (wire, value), count in shown:
        yield {"stat": name, "wire": wire, name: value, "records": count}
    rest = tally.counts.total() - sum(count for _, count in shown) + tally.folded
    if rest:
        others = None if tally.folded else len(tally.counts) - len(shown)
        yield {"stat": name, "wire": None, name: None, "records": rest, "others": others}


class Statistics:
    """Gathers: ``take`` each batch of a scan with the columns ``COLUMNS``, then ``finish``."""

    def __init__(self, room: int = ROOM, open_requests: int = OPEN) -> None:
        self._room = room
        self._wires: Counter[str] = Counter()
        self._wanted: Counter[str] = Counter()
        self._tallies = {name: FrequentValues(room) for name in ("kind", "sender", "receiver")}
        self._conversations: dict[tuple[str, str], Conversation] = {}
        self._folded = 0
        self._pairs = Pairs(open_requests)
        self._times: list[int] = []

    def take(self, batch: Batch) -> None:
        """Adds the records of a batch."""
        raws = batch.raws()
        for values in slices(batch, raw_times=True):
            self._slice(dict(zip(batch.names, values, strict=True)), raws)

    def _slice(self, columns: dict[str, list[Any]], raws: Iterator[bytes]) -> None:
        wires, lengths, moments = columns["wire"], columns["length"], columns["time"]
        self._wanted.update(wires)
        columns = {**columns, **{name: _cut(columns[name]) for name in NAMES}}
        for name, tally in self._tallies.items():
            tally.update(pair for pair in zip(wires, columns[name], strict=True) if pair[1] is not None)
        known = [time for time in moments if time is not None]
        if known:
            self._times = [min([*self._times, *known]), max([*self._times, *known])]
        messages = zip(*(columns[name] for name in NAMES), moments, strict=True)
        for wire, length, conversation, message in zip(wires, lengths, columns["conversation"], messages, strict=True):
            raw = next(raws)
            self._wires[wire] += length
            if conversation is not None:
                self._count((wire, conversation), length, message[-1])
            self._pairs.take(wire, raw, message)

    def _count(self, key: tuple[str, str], length: int, time: int | None) -> None:
        found = self._conversations.get(key)
        if found is None:
            found = self._conversations[key] = Conversation()
            if len(self._conversations) > 2 * self._room:
                self._fold(found, key)
        found.records += 1
        found.bytes += length
        if time is not None:
            found.first = time if found.first is None else min(found.first, time)
            found.last = time if found.last is None else max(found.last, time)

    def _fold(self, newest: Conversation, key: tuple[str, str]) -> None:
        kept = nlargest(self._room, self._conversations.items(), key=lambda item: item[1].records)
        before = sum(one.records for one in self._conversations.values())
        self._conversations = {**dict(kept), key: newest}
        self._folded += before - sum(one.records for one in self._conversations.values())

    def finish(self, counts: Counts) -> Stats:
        """All of it, with the counts of the scan that has ended."""
        first, last = self._times or (None, None)
        seen = {key: pairing for key, pairing in self._pairs.found.items() if pairing.seen}
        tallies = self._tallies["kind"], self._tallies["sender"], self._tallies["receiver"]
        wires, wanted, held = dict(self._wires), dict(self._wanted), self._conversations
        return Stats(counts, wires, *tallies, held, self._folded, seen, first, last, wanted)


def stats(
    source: Any, *, wire: str | None = None, room: int = ROOM, open_requests: int = OPEN, **options: Any
) -> Stats:
    """Statistics of logs: see :class:`Stats`, and each wire's page for what answers what.

    source, wire: as :func:`turnwire.scan` takes them, as well as options such as ``where`` and ``threads``. room: how
    many values are counted apart in each list at least (see :class:`FrequentValues`); open_requests: how many requests
    are waited for at once. Memory is bounded by these, however long the log is. Raises what a scan raises.
    """
    expect_number(room, "room", 1)
    expect_number(open_requests, "open_requests", 1)
    found = scan(source, wire=wire, columns=COLUMNS, **{"errors": "skip", **options})
    gathered = Statistics(room, open_requests)
    for batch in found:
        gathered.take(batch)
    return gathered.finish(found.counts)
