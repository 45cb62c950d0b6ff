"""Statistics of a log: counts, bytes, answers and their latencies, busiest conversations; in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwire.log.output.json_lines import times
from turnwire.log.scanning import Counts, scan
from turnwire.read.grouping import COLUMNS, ROOM, Aggregation, Group, Groups
from turnwire.read.pairing import OPEN, Pairing


class Stats(NamedTuple):
    """The result of :func:`stats`.

    counts: bytes and records as ``scan.counts`` tells them. All the rest is of the records that ``where`` wants, of all
    without it. wires: wire -> bytes of its records. selected: wire -> how many they are. kinds, senders, receivers,
    by_conversation: by (wire, value). pairings: (wire, rule) -> what became of requests. first, last: the
    earliest and the latest time, in microseconds; None where no record has one.
    """

    counts: Counts
    wires: dict[str, int]
    kinds: Groups
    senders: Groups
    receivers: Groups
    by_conversation: Groups
    pairings: dict[tuple[str, str], Pairing]
    first: int | None
    last: int | None
    selected: dict[str, int]

    @property
    def conversations(self) -> dict[tuple[str | None, str], Group]:
        """The conversations that are told apart, by wire and name."""
        return self.by_conversation.found

    @property
    def folded(self) -> int:
        """The number of records of conversations that are no longer told apart."""
        return self.by_conversation.folded

    def busiest(self, most: int) -> list[tuple[tuple[str | None, str], Group]]:
        """The conversations with the most records."""
        return self.by_conversation.top(most, "records", "bytes")

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
        for wire in sorted(counts.wires, key=lambda wire: -self.selected.get(wire, 0)):
            if wire in self.selected:
                yield {"stat": "wire", "wire": wire, "records": self.selected[wire], "bytes": self.wires[wire]}
        for name, tally in (("kind", self.kinds), ("sender", self.senders), ("receiver", self.receivers)):
            yield from _tallied(name, tally, most)
        for reason, times_met in sorted(counts.reasons.items(), key=lambda item: (-item[1], item[0])):
            yield {"stat": "reason", "reason": reason, "rejects": times_met}
        for (wire, rule), pairing in self.pairings.items():
            yield {"stat": "answers", "wire": wire, "rule": rule, **pairing.to_dict()}
        yield from _tallied("conversation", self.by_conversation, most)


def _tallied(name: str, tally: Groups, most: int) -> Iterator[dict[str, Any]]:
    """The groups with the most records, and what all others have; of conversations also their bytes and times."""
    whole = name == "conversation"
    shown = tally.top(most, "records", "bytes") if whole else tally.top(most)
    for (wire, value), one in shown:
        first, last = times([one.first, one.last])
        more = {"bytes": one.bytes, "first": first, "last": last} if whole else {}
        yield {"stat": name, "wire": wire, name: value, "records": one.records, **more}
    rest = tally.total["records"] - sum(one.records for _, one in shown)
    if rest:
        others = None if tally.folded else len(tally) - len(shown)
        yield {"stat": name, "wire": None, name: None, "records": rest, "others": others}


STATISTICS = ("wire", "kind", "sender", "receiver", "conversation")
"""The values by which statistics add up records."""


def statistics(gathered: Aggregation, counts: Counts) -> Stats:
    """The statistics of an aggregation by STATISTICS, with the counts of the scan that has ended."""
    by_wire, kinds, senders, receivers, conversations = (gathered.groups[name] for name in STATISTICS)
    wires = {value: one for (_, value), one in by_wire.found.items()}
    first = min((one.first for one in wires.values() if one.first is not None), default=None)
    last = max((one.last for one in wires.values() if one.last is not None), default=None)
    seen = {key: pairing for key, pairing in gathered.pairs.found.items() if pairing.seen}
    sizes, selected = ({name: getattr(one, what) for name, one in wires.items()} for what in ("bytes", "records"))
    return Stats(counts, sizes, kinds, senders, receivers, conversations, seen, first, last, selected)


def stats(
    source: Any, *, wire: str | None = None, room: int = ROOM, open_requests: int = OPEN, **options: Any
) -> Stats:
    """Statistics of logs: see :class:`Stats`, and each wire's page for what answers what.

    source, wire: as :func:`turnwire.scan` takes them, as well as options such as ``where`` and ``threads``. room: how
    many values are counted apart in each list at least (see :class:`Groups`); open_requests: how many requests
    are waited for at once. Memory is bounded by these, however long the log is. Raises what a scan raises.
    """
    gathered = Aggregation(STATISTICS, None, room, open_requests)
    found = scan(source, wire=wire, columns=COLUMNS, **{"errors": "skip", **options})
    for batch in found:
        gathered.take(batch)
    return statistics(gathered, found.counts)
