"""Groups records by a value (sender, kind, day ...) and adds up their number, bytes, tokens, first and last time, and
answer times.

It works on the columns of one batch after the other, in bounded memory. Statistics, the report and token counts use it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.errors import expect_number, expect_one_of
from turnwire.log.engine.all_wires import of_formats
from turnwire.log.output.json_lines import times
from turnwire.log.scanning import TALLIES, Counts, scan
from turnwire.read.coding import (
    ABSENT,
    CodedColumn,
    TextColumns,
    Texts,
    coded,
    codes_of,
    core,
    days,
    table_of,
    texts_of_codes,
)
from turnwire.read.pairing import Calls, Latencies, Pairing, Pairs, by_key, columns_of as pairing_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.output.batch import Batch

ROOM = 10_000
"""Different values that have a group of their own at least. At twice as many, the rarer half is folded."""
BY = ("conversation", "sender", "receiver", "kind", "wire", "model", "day", "tool")
COLUMNS = ("length", "wire", "kind", "sender", "receiver", "conversation", "time", "subject")
"""The columns that are read."""


def columns_of(wire: str | None) -> tuple[str, ...]:
    """The columns that are read in a scan of a wire (None: of all wires); of formats also those of calls and models."""
    return (*COLUMNS, *pairing_columns(wire), *(["model"] if of_formats(wire) else []))


MEASURES = ("records", "record_bytes", "tokens")
_WITHOUT_WIRE = frozenset(("wire", "model", "day"))
"""Of BY those whose values are the same in all wires, so that their groups have no wire."""
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,256})"')
Key = tuple[str | None, str]
"""(wire, value); the wire is None for values that are the same in all wires."""


class Group(NamedTuple):
    """The records of one value: how many, their bytes and tokens, the first and the last time (microseconds, or None),
    and how long answers to them took (None: no answer was measured)."""

    records: int
    record_bytes: int
    tokens: int
    first: int | None
    last: int | None
    latencies: Latencies | None


class Groups:
    """The groups of records by (wire, value), in bounded memory.

    At more than 2 * ``room`` groups only the ``room`` with the most records are kept; the records of the others are
    added to ``folded``. While ``folded`` is 0, counts are exact. Later they are lower bounds, since a value that was
    folded starts again from 0 when it comes back. alone: values are the same in all wires, so keys have no wire.
    without: the records, bytes and tokens of records that have no value and are in no group (i64).
    """

    def __init__(self, room: int = ROOM, alone: bool = False) -> None:
        self._room = room
        self._alone = alone
        self._tally = core.Tally()
        self._latencies: dict[int, Latencies] = defaultdict(Latencies)
        self.folded = 0
        self.without: NDArray[np.int64] = np.zeros(len(MEASURES), np.int64)

    def __len__(self) -> int:
        return len(self._tally)

    def _rows(self, order: NDArray[np.intp]) -> Iterator[tuple[Key, Group]]:
        wires = registry.codes()
        for key, wire, name, *sums in self._tally.rows(np.ascontiguousarray(order, np.int64)):
            value = name.decode("utf-8", "surrogatepass")
            yield (None if self._alone else wires[wire], value), Group._make((*sums, self._latencies.get(key)))

    def by_key(self) -> dict[int, tuple[Key, Group]]:
        """Key as ``add`` returns it -> ((wire, value), group); those with the most bytes first."""
        order = np.argsort(-self._tally.sums()[1], kind="stable")
        keys = [row[0] for row in self._tally.rows(order)]
        return dict(zip(keys, self._rows(order), strict=True))

    @property
    def found(self) -> dict[Key, Group]:
        """The groups by (wire, value), as in ``Key``."""
        return dict(self._rows(np.arange(len(self))))

    @property
    def total(self) -> dict[str, int]:
        """The records, bytes and tokens of all groups together. Folded ones add only to the records."""
        records, size, tokens = self._tally.sums().sum(axis=1).tolist()
        return dict(zip(MEASURES, (records + self.folded, size, tokens), strict=True))

    def top(self, most: int | None = None, *measures: str) -> list[tuple[Key, Group]]:
        """The groups with the most records, or the most by these of ``MEASURES``; equal ones in the order in which they
        came. most: how many groups, None for all."""
        sums = self._tally.sums()
        order = np.lexsort([-sums[MEASURES.index(name)] for name in reversed(measures or ("records",))])
        return list(self._rows(order[:most]))

    def add(
        self,
        wires: NDArray[np.uint8],
        values: Texts | CodedColumn,
        lengths: NDArray[np.int64],
        moments: NDArray[np.int64],
        timed: NDArray[np.bool_],
        tokens: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint64]:
        """Adds the records of a batch that have a value. Returns the key of each record's group, 0 without a value."""
        keys, places = np.empty(len(wires), np.uint64), None
        if isinstance(values, CodedColumn):
            few = len(values.names) < 256  # whose codes are bytes, and 255 is none
            places = np.ascontiguousarray(values.codes, np.uint8) if few else None
            values = table_of(tuple(values.names)) if few else texts_of_codes(*values)
        wires = np.zeros_like(wires) if self._alone else np.ascontiguousarray(wires)
        measures = np.ascontiguousarray(lengths, np.int64), moments, timed.view(np.uint8)
        spent = _NO_TOKENS if tokens is None else tokens
        self._tally.add(values.numbers, places, values.spans, wires, *measures, spent, keys)
        if len(self._tally) > 2 * self._room:
            records = self._tally.sums()[0]
            order = np.sort(np.argsort(-records, kind="stable")[: self._room])
            self.folded += int(records.sum() - records[order].sum())
            self._tally.keep(order)
            if self._latencies:
                kept = {row[0] for row in self._tally.rows(np.arange(self._room))} & self._latencies.keys()
                self._latencies = defaultdict(Latencies, {key: self._latencies[key] for key in kept})
        return keys

    def answered(self, settled: NDArray[np.int64]) -> None:
        """Adds answers. settled: rows of (key of the request's group, microseconds that the answer took)."""
        for key, some in by_key(settled):
            self._latencies[key].add(some)


_NO_TOKENS: NDArray[np.int64] = np.empty(0, np.int64)


def group_keys(wires: NDArray[np.uint8], values: Texts) -> NDArray[np.uint64]:
    """The key of each record's group, 0 without a value. In one process, equal wires and values have equal keys."""
    keys = np.empty(len(wires), np.uint64)
    core.mixed(values.numbers, np.ascontiguousarray(wires), keys)
    return keys


class Aggregation:
    """Adds up batches of a scan with the columns ``COLUMNS``: ``take`` each of them.

    by: some of ``BY``; records are grouped by each of them separately. latencies: whether answers are measured, for the
    groups of the first one. tokenizer: counts tokens, or its name; None: they are not counted.
    """

    def __init__(
        self,
        by: Sequence[str],
        tokenizer: Any = None,
        room: int = ROOM,
        latencies: bool = False,
    ) -> None:
        for name in by:
            expect_one_of(name, "by", BY)
        expect_number(room, "room", 1)
        if isinstance(tokenizer, (str, PathLike)):
            import turnwire  # imported late: tokens is a layer above

            tokenizer = turnwire.tokens.load(tokenizer)
        self._tokenizer = tokenizer
        self._latencies = latencies
        self.groups = {name: Groups(room, name in _WITHOUT_WIRE) for name in by}
        self.pairs = Pairs()

    def take(self, batch: Batch) -> None:
        """Adds the records of a batch."""
        columns = TextColumns(batch)
        wires = batch.codes("wire")
        lengths, (moments, timed) = batch.own_bytes(), columns.times
        tokens = tokens_of(batch, self._tokenizer)
        keys = [
            groups.add(wires, _values_by(name, columns), lengths, moments, timed, tokens)
            for name, groups in self.groups.items()
        ]
        first = next(iter(self.groups.values())) if self._latencies else None
        tags = keys[0] if self._latencies else None
        tools, further = self.groups.get("tool"), self.pairs.calls.further
        further.clear()
        for _, settled in self.pairs.take(columns, tags, first is not None and first is tools):
            if first is not None and len(settled):
                first.answered(settled)
        for rows, names in further:
            if tools is not None:
                spent = None if tokens is None else tokens[rows]
                found = tools.add(wires[rows], coded(names), lengths[rows], moments[rows], timed[rows], spent)
                by_tool = keys[[*self.groups].index("tool")]
                by_tool[rows] |= found
        for groups, found in zip(self.groups.values(), keys, strict=True):
            if len(none := np.flatnonzero(found == 0)):
                groups.without += len(none), lengths[none].sum(), 0 if tokens is None else tokens[none].sum()

    def read(self, source: Any, wire: str | None, options: dict[str, Any]) -> Counts:
        """Adds the records of a scan with these options. Returns its counts. Raises what a scan raises."""
        found = scan(source, wire=wire, columns=columns_of(wire), **{"errors": "skip", **options})
        for batch in found:
            self.take(batch)
        return found.counts


def tokens_of(batch: Batch, tokenizer: Any) -> NDArray[np.int64] | None:
    """The tokens of each record of a batch, as written; None without a tokenizer."""
    if tokenizer is None:
        return None
    return np.array(tokenizer.count_many(raw.decode("utf-8", "replace") for raw in batch.raws()), np.int64)


def _values_by(by: str, columns: TextColumns) -> Texts | CodedColumn:
    """The value of each record of a batch by which it is grouped."""
    batch = columns.batch
    if by == "day":
        return days(*columns.times)
    if by == "model" and by not in batch.names:
        found = (_MODEL.search(raw) for raw in batch.raws())
        return coded(None if match is None else match[1].decode() for match in found)
    if by not in batch.names:  # the five wires name no tools
        return CodedColumn([], np.full(len(batch), ABSENT))
    if (column := batch.column(by)).kind == "enum":
        return CodedColumn(column.names, columns.kinds if by == "kind" else codes_of(batch, by))
    return columns[by]


class Grouped(NamedTuple):
    """The result of :func:`group_by`. by: the value that forms the groups. groups: by (wire, value); the wire is None
    for model and day. counts: those of the scan. tokens: whether tokens were counted."""

    by: str
    groups: Groups
    counts: Counts
    tokens: bool

    def rows(self, most: int | None = None, *measures: str) -> list[dict[str, Any]]:
        """Returns the ``most`` largest groups (None: all), by the given MEASURES (default: tokens if counted, otherwise
        record_bytes). Times are RFC 3339; p50 and p95 of the answer times are in seconds.

        Up to two rows without a value follow: one for the values left out, with their number as "others" (None if it is
        unknown), and one for the records that have no value, with "without" (True). They have no times and answers.
        """
        shown = self.groups.top(most, *(measures or ("tokens" if self.tokens else "record_bytes",)))
        rows = []
        for (wire, value), one in shown:
            told = dict(zip(("first", "last"), times([one.first, one.last]), strict=True))
            took = Latencies() if one.latencies is None else one.latencies
            p50, p95 = (None if quantile is None else quantile / 1e6 for quantile in map(took.quantile, (0.5, 0.95)))
            answers = {"answers": took.count, "p50": p50, "p95": p95}
            rows.append({**self._value(wire, value), **self._sums([one]), **told, **answers})
        others, known = len(self.groups) - len(shown), self._sums([one for _, one in shown])
        if others or self.groups.folded:
            total = self.groups.total
            rest = {name: total[name] - known[name] for name in known}
            rows.append({**self._value(None, None), **rest, "others": None if self.groups.folded else others})
        if self.groups.without[0]:
            sums = dict(zip(MEASURES, self.groups.without.tolist(), strict=True))
            rows.append({**self._value(None, None), **{name: sums[name] for name in known}, "without": True})
        return rows

    def _value(self, wire: str | None, value: str | None) -> dict[str, Any]:
        return {self.by: value} if self.by in _WITHOUT_WIRE else {"wire": wire, self.by: value}

    def _sums(self, several: list[Group]) -> dict[str, int]:
        names = MEASURES if self.tokens else MEASURES[:2]
        return {name: sum(getattr(one, name) for one in several) for name in names}


def group_by(
    source: Any,
    by: str,
    *,
    wire: str | None = None,
    tokenizer: Any = None,
    room: int = ROOM,
    **options: Any,
) -> Grouped:
    """Groups the records of logs by a value, for example to find the most expensive conversations or the slowest
    agents.

    source, wire, options: those of :func:`turnwire.scan`, such as ``where`` and ``threads``. by: "conversation" (or
    "session"), "sender", "receiver", "kind", "wire", "model" (the JSON value under that key), "day" (in UTC) or "tool"
    (a record that calls several is in the group of each). tokenizer: as
    :func:`turnwire.tokens.load` takes it; its tokens are also counted. room: the minimum number of values that are
    counted separately (see :class:`Groups`). Raises the errors of a scan, and UnknownName for another ``by``.
    """
    by = "conversation" if by == "session" else by
    gathered = Aggregation([by], tokenizer, room, latencies=True)
    return Grouped(by, gathered.groups[by], gathered.read(source, wire, options), tokenizer is not None)


# --- statistics ------------------------------------------------------------------------------------------------------


STATISTICS = ("wire", "kind", "sender", "receiver", "conversation")
"""The values by which statistics add up records."""
_SHOWN = {"wire": ("record_bytes",), "conversation": ("record_bytes", "first", "last")}
"""The figures shown of a value beside how many records it has."""


class Stats(NamedTuple):
    """The result of :func:`stats`.

    counts: like ``scan.counts``. Everything else covers the records that ``where`` selects (all by default). groups:
    one of ``STATISTICS`` -> its groups. pairings: (wire, rule) -> how requests were answered. calls: tool calls and
    trees of spans.
    """

    counts: Counts
    groups: dict[str, Groups]
    pairings: dict[tuple[str, str], Pairing]
    calls: Calls

    def rows(self, most: int = 20) -> Iterator[dict[str, Any]]:
        """Yields all statistics as dicts for JSON lines; "stat" names the list. Lists have ``most`` values, then up to
        two rows without one, as :meth:`Grouped.rows` has them. Times are RFC 3339."""
        counts, wires = self.counts, self.groups["wire"]
        moments = [time for one in wires.found.values() for time in (one.first, one.last) if time is not None]
        first, last = times([min(moments, default=None), max(moments, default=None)])
        yield {"stat": "total", **dict(zip(TALLIES, counts, strict=False)), "first": first, "last": last}
        for name in STATISTICS[:-1]:
            yield from self._list(name, most)
        for reason, times_met in sorted(counts.reasons.items(), key=lambda item: (-item[1], item[0])):
            yield {"stat": "reason", "reason": reason, "rejects": times_met}
        for (wire, rule), pairing in self.pairings.items():
            yield {"stat": "answers", "wire": wire, "rule": rule, **pairing.to_dict()}
        yield from self.calls.rows(most)
        yield from self._list("conversation", most)

    def _list(self, name: str, most: int) -> Iterator[dict[str, Any]]:
        """The values with the most records, and what all others have."""
        shown = ("wire", name, "records", "others", "without", *_SHOWN.get(name, ()))
        order = ("records", "record_bytes") if name in _SHOWN else ("records",)
        found = Grouped(name, self.groups[name], self.counts, False)
        for row in found.rows(None if name == "wire" else most, *order):
            yield {"stat": name, **{key: row[key] for key in shown if key in row}}


def statistics(gathered: Aggregation, counts: Counts) -> Stats:
    """The statistics of an aggregation by STATISTICS, with the counts of the scan that has ended."""
    seen = {key: pairing for key, pairing in gathered.pairs.found.items() if pairing.seen}
    return Stats(counts, gathered.groups, seen, gathered.pairs.calls)


def stats(source: Any, *, wire: str | None = None, room: int = ROOM, **options: Any) -> Stats:
    """Computes statistics of logs: see :class:`Stats`.

    source, wire, options: those of :func:`turnwire.scan`, such as ``where`` and ``threads``. room: the minimum number
    of values that each list counts separately (see :class:`Groups`), which bounds memory for logs of any length. Raises
    the errors of a scan.
    """
    gathered = Aggregation(STATISTICS, None, room)
    return statistics(gathered, gathered.read(source, wire, options))
