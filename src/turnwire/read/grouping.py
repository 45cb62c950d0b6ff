"""Adds up records by a value of theirs: how many, their bytes and tokens, from when to when, how long answers took.

Values are counted as columns, a batch at a time, and in bounded memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.errors import expect_number, expect_one_of
from turnwire.log.output.json_lines import times
from turnwire.log.scanning import Counts, scan
from turnwire.read.coding import ABSENT, Coded, coded, coded_column
from turnwire.read.pairing import OPEN, Latencies, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.output.batch import Batch
    from turnwire.pairs import Message

ROOM = 10_000
"""Different values that are counted apart at least: where there are twice as many, the rarer half is folded."""
BY = ("conversation", "sender", "receiver", "kind", "wire", "model", "day")
COLUMNS = ("length", "wire", "kind", "sender", "receiver", "conversation", "time", "subject")
"""What is read of each record, beside its bytes."""
_ALONE = frozenset(("wire", "model", "day"))
"""Values that mean the same whatever the wire."""
_DAY = 86_400_000_000
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,256})"')
Key = tuple[str | None, str]
"""A wire (None where values are of all wires) and a value."""


class Group:
    """The records of one value: how many, their bytes and tokens, the first and the last time (microseconds, None
    without any), and how long answers took to those of them that asked."""

    __slots__ = ("bytes", "first", "last", "latencies", "records", "tokens")

    def __init__(self) -> None:
        self.records = self.bytes = self.tokens = 0
        self.first: int | None = None
        self.last: int | None = None
        self.latencies: Latencies | None = None


class Groups:
    """Records by (wire, value). Where there are more than twice ``room`` values, the rarer ones are folded into
    ``folded``, a number of records: counts are exact while that is 0 and lower bounds later, since what was folded and
    comes again counts from nothing; what is frequent is never lost."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self.found: dict[Key, Group] = {}
        self.folded = 0

    @property
    def counts(self) -> dict[Key, int]:
        """The number of records of each value."""
        return {key: one.records for key, one in self.found.items()}

    def top(self, most: int | None = None) -> list[tuple[Key, int]]:
        """The most frequent values with their counts; equals in the order of their names."""
        order = sorted(self.counts.items(), key=lambda item: (-item[1], repr(item[0])))
        return order[:most]

    def add(
        self,
        wires: Coded | None,
        values: Coded,
        lengths: NDArray[np.int64],
        moments: NDArray[np.int64],
        timed: NDArray[np.bool_],
        tokens: NDArray[np.int64] | None = None,
    ) -> None:
        """Takes the records of a batch that have a value. wires: None where values are of all wires."""
        rows = np.flatnonzero(values.codes != ABSENT)
        names: Sequence[str | None] = [None] if wires is None else wires.names
        keys = values.codes[rows] * len(names) + (0 if wires is None else wires.codes[rows])
        different, place = np.unique(keys, return_inverse=True)
        count = len(different)
        records = np.bincount(place, minlength=count)
        sizes = _sums(place, lengths[rows], count)
        spent = None if tokens is None else _sums(place, tokens[rows], count)
        known = timed[rows]
        least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
        np.minimum.at(least, place[known], moments[rows][known])
        np.maximum.at(most, place[known], moments[rows][known])
        times_there = np.bincount(place[known], minlength=count)
        for number, key in enumerate(different.tolist()):
            value, wire = divmod(key, len(names))
            name = names[wire], values.names[value]
            group = self.found.get(name)
            if group is None:
                group = self.found[name] = Group()
            group.records += int(records[number])
            group.bytes += int(sizes[number])
            group.tokens += 0 if spent is None else int(spent[number])
            if times_there[number]:
                first, last = int(least[number]), int(most[number])
                group.first = first if group.first is None else min(group.first, first)
                group.last = last if group.last is None else max(group.last, last)
        if len(self.found) > 2 * self._room:
            before = sum(one.records for one in self.found.values())
            self.found = dict(nlargest(self._room, self.found.items(), key=lambda item: item[1].records))
            self.folded += before - sum(one.records for one in self.found.values())


def _sums(place: NDArray[Any], amounts: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, place, amounts)
    return sums


class Grouped(NamedTuple):
    """The result of :func:`group_by`. by: which value. groups: by (wire, value); the wire is None for model and day.
    counts: those of the scan. tokens: whether they were counted."""

    by: str
    groups: Groups
    counts: Counts
    tokens: bool

    def rows(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """The dearest values first, by tokens where these were counted, else by bytes: ``most`` of them, and a row
        without a value for all others. Times are RFC 3339, p50 and p95 of the answers in seconds."""
        measure = "tokens" if self.tokens else "bytes"
        found = self.groups.found.items()
        order = sorted(found, key=lambda item: (-getattr(item[1], measure), repr(item[0])))
        shown, others = order[:most], order[most:] if most is not None else []
        for (wire, value), one in shown:
            first, last = times([one.first, one.last])
            quantiles = [None if one.latencies is None else one.latencies.quantile(share) for share in (0.5, 0.95)]
            yield {
                **self._value(wire, value),
                **self._sums([one]),
                "first": first,
                "last": last,
                "answers": 0 if one.latencies is None else one.latencies.count,
                "p50": None if quantiles[0] is None else quantiles[0] / 1e6,
                "p95": None if quantiles[1] is None else quantiles[1] / 1e6,
            }
        if others or self.groups.folded:
            rest = self._sums([one for _, one in others])
            rest["records"] += self.groups.folded
            yield {**self._value(None, None), **rest, "others": None if self.groups.folded else len(others)}

    def _value(self, wire: str | None, value: str | None) -> dict[str, Any]:
        return {self.by: value} if self.by in _ALONE else {"wire": wire, self.by: value}

    def _sums(self, several: list[Group]) -> dict[str, int]:
        names = ("records", "bytes", "tokens") if self.tokens else ("records", "bytes")
        return {name: sum(getattr(one, name) for one in several) for name in names}


class Grouping:
    """Gathers: ``take`` each batch of a scan with the columns ``COLUMNS``, then ``finish``.

    by: one of ``BY``. tokenizer: an object with ``count_many``, whose tokens are counted, or None.
    """

    def __init__(self, by: str, tokenizer: Any = None, room: int = ROOM, open_requests: int = OPEN) -> None:
        expect_one_of(by, "by", BY)
        self._by = by
        self._tokenizer = tokenizer
        self._groups = Groups(room)
        self._pairs = Pairs(open_requests, self._settled)

    def take(self, batch: Batch) -> None:
        """Adds the records of a batch."""
        wires = coded_column(batch, "wire")
        moments, timed = batch["time"], batch.valid("time")
        raws = list(batch.raws()) if self._tokenizer is not None or self._by == "model" else []
        tokens = None
        if self._tokenizer is not None:
            tokens = np.array(self._tokenizer.count_many([raw.decode() for raw in raws]), np.int64)
        values = self._values(batch, wires, moments, timed, raws)
        self._groups.add(None if self._by in _ALONE else wires, values, batch["length"], moments, timed, tokens)
        self._pairs.take_batch(batch, wires)

    def _values(self, batch: Batch, wires: Coded, moments: Any, timed: Any, raws: list[bytes]) -> Coded:
        if self._by == "wire":
            return wires
        if self._by == "day":
            different, codes = np.unique(moments // _DAY, return_inverse=True)
            return Coded([_day(number) for number in different.tolist()], np.where(timed, codes, ABSENT))
        if self._by == "model":
            found = (_MODEL.search(raw) for raw in raws)
            return coded(None if match is None else match[1].decode() for match in found)
        return coded_column(batch, self._by)

    def _settled(self, wire: str, request: Message, microseconds: int) -> None:
        """An answer came to a request, after so long."""
        value: str | None = None
        if self._by == "wire":
            value = wire
        elif self._by == "day":
            value = None if request.time is None else _day(request.time // _DAY)
        elif self._by != "model":  # of what asked nothing but its columns is known by now
            value = getattr(request, self._by)
        group = self._groups.found.get((None if self._by in _ALONE else wire, value or ""))
        if group is not None:
            group.latencies = group.latencies or Latencies()
            group.latencies.add(microseconds)

    def finish(self, counts: Counts) -> Grouped:
        """All of it, with the counts of the scan that has ended."""
        return Grouped(self._by, self._groups, counts, self._tokenizer is not None)


def _day(number: int) -> str:
    return str(np.datetime64(number, "D"))


def group_by(
    source: Any,
    by: str,
    *,
    wire: str | None = None,
    tokenizer: Any = None,
    room: int = ROOM,
    open_requests: int = OPEN,
    **options: Any,
) -> Grouped:
    """Adds up the records of logs by a value of theirs: which conversations cost most, how quickly each agent answers.

    source, wire: as :func:`turnwire.scan` takes them, as well as options such as ``where`` and ``threads``. by:
    "conversation", "sender", "receiver", "kind", "wire", "model" (what JSON says under that key) or "day" (by UTC);
    records without that value are in no group. tokenizer: what :func:`turnwire.tokens.load` gives; its tokens are
    counted too. room: how many values are counted apart at least (see :class:`Groups`); open_requests: how many
    requests are waited for at once. Raises what a scan raises, and UnknownName for another ``by``.
    """
    expect_number(room, "room", 1)
    expect_number(open_requests, "open_requests", 1)
    gathered = Grouping(by, tokenizer, room, open_requests)
    found = scan(source, wire=wire, columns=COLUMNS, **{"errors": "skip", **options})
    for batch in found:
        gathered.take(batch)
    return gathered.finish(found.counts)
