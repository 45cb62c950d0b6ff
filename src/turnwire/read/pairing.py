"""Pairs messages with their answers, and measures how long these took.

The rules (which kinds ask, which answer) are data of each wire: ``<package>/pairs.py``, in the terms of
``turnwire.pairs``. Whole columns of records are paired at once; the core does it (``log.aggregate``).

An answer settles the request of its task; where it names none, the one that has waited longest, or every one where its
rule says so. A progress report settles nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FormatWire
from turnwire.pairs import FIELDS, Key, MemberWork, PairRule, folded
from turnwire.read.calls import MOST, Calls
from turnwire.read.coding import TextColumns, Texts, core, ids_of, number_of, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.contract import Wire

OPEN = 100_000
"""Requests that are waited for at once; beyond that the oldest are given up, and counted."""

STEPS = 8
"""Steps of the histogram of latencies for each doubling: what it tells is at most 2**(1/8), 9 %, above the truth."""
_BOUNDS = np.array([ceil(2 ** (step / STEPS)) for step in range(63 * STEPS)], np.int64)
"""The least microseconds of each step but the first, which is that of 0."""


class Latencies:
    """Latencies of answers, in bounded memory: a histogram whose steps grow by 9 %, exact at both ends."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.least: int | None = None
        self.most: int | None = None
        self._steps: Counter[int] = Counter()

    def add(self, microseconds: NDArray[np.int64]) -> None:
        """Some answers, none earlier than its request."""
        if not len(microseconds):
            return
        least, most = int(microseconds.min()), int(microseconds.max())
        self.count += len(microseconds)
        self.total += sum(microseconds.tolist())  # which may be more than 64 bits hold
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)
        steps, counts = np.unique(np.searchsorted(_BOUNDS, microseconds, "right"), return_counts=True)
        self._steps.update(dict(zip(steps.tolist(), counts.tolist(), strict=True)))

    def quantile(self, share: float) -> int | None:
        """Microseconds within which this share of the answers came, at most 9 % too many; None without answers."""
        wanted, seen = share * self.count, 0
        for step in sorted(self._steps):
            seen += self._steps[step]
            if seen >= wanted:
                assert self.least is not None and self.most is not None
                return max(self.least, min(self.most, int(2 ** (step / STEPS)) if step else 0))
        return None

    def to_dict(self) -> dict[str, Any]:
        """Count, and seconds: min, mean, p50, p90, p99, max (None without answers)."""
        shares = {f"p{share}": self.quantile(share / 100) for share in (50, 90, 99)}
        mean = self.total / self.count if self.count else None
        values = {"min": self.least, "mean": mean, **shares, "max": self.most}
        return {"count": self.count, **{name: None if one is None else one / 1e6 for name, one in values.items()}}


def by_key(settled: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each key in rows of (key, microseconds), and the microseconds with it."""
    settled = settled[np.argsort(settled[:, 0], kind="stable")]
    keys, starts = np.unique(settled[:, 0], return_index=True)
    return zip(keys.view(np.uint64).tolist(), np.split(settled[:, 1], starts[1:]), strict=False)


COUNTS = ("requests", "answered", "waiting", "given_up", "backwards", "progress", "orphans", "ahead", "further")


class Pairing:
    """The open requests of one rule, and what became of the others.

    Its ``counts``, which are attributes, too: requests: how many were seen; answered: how many of them were answered
    for good; waiting: those without an answer so far; given_up: how many were too old to be remembered; progress:
    answers that only tell how the work goes; orphans: answers that name a request which is not there; ahead: answers
    that came before their request; further: answers to what had been answered; backwards: answers after their request
    with a time before it, which tell no latency (nor does one that came ahead with such a time: no clock went back).
    """

    def __init__(self, rule: PairRule, room: int = OPEN) -> None:
        self.rule = rule
        self.latencies = Latencies()
        ways = tuple(
            (tuple(map(_numbered, way.ask)), _numbered(way.reply), way.others, way.names, way.unasking)
            for way in rule.ways
        )
        self._core = core.Pairing(ways, rule.all_at_once, rule.any_ends, room)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of requests and answers: see above."""
        return dict(zip(COUNTS, self._core.counts(), strict=True))

    def __getattr__(self, name: str) -> int:
        if name not in COUNTS:
            raise AttributeError(f"a Pairing has no attribute {name!r}")
        return self.counts[name]

    @property
    def seen(self) -> bool:
        """True if there was a request, or an answer that names one."""
        return bool(self.requests or self.orphans)

    def take(self, *messages: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Adds the next messages of the wire: see the twin. Returns the tags of requests with a time, and (tag,
        microseconds) of each answered request."""
        asked, settled = self._core.take(*messages)
        self.latencies.add(settled[:, 1])
        return asked, settled

    def to_dict(self) -> dict[str, Any]:
        """The outcome of the requests, and the latencies."""
        counts = self.counts
        return {**{name: counts[name] for name in COUNTS}, "seconds": self.latencies.to_dict()}


def _numbered(key: Key) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A key with the places of its fields among FIELDS; -1 for what is absent."""
    fields = tuple(-1 if field is None else FIELDS.index(field) for field in key.fields)
    return fields, tuple(map(FIELDS.index, key.needs)), tuple(map(FIELDS.index, key.without))


@lru_cache(64)
def _table(rule: PairRule, kinds: tuple[str, ...]) -> NDArray[np.uint8]:
    """A rule by the codes of kinds, any other of which is none: in which ways each may answer (bits), whether it asks,
    whether it ends the work."""
    every = (*kinds, *[None] * (256 - len(kinds)))
    answers = [[way.answers is None or kind in way.answers for way in rule.ways] for kind in every]
    ways = [sum(1 << number for number, may in enumerate(one) if may) for one in answers]
    asks, final = [kind in rule.requests for kind in every], [kind not in rule.progress for kind in every]
    return np.array([ways, asks, final], np.uint8)


_OF_PARTS = np.zeros((3, 256), np.uint8)
_OF_PARTS[:, :2] = (0, 1), (1, 0), (1, 1)
"""As :func:`_table`, of calls and results."""


class Pairs:
    """All rules of all wires over the records of a log, in their order. ``found``: (wire, rule) -> its pairing, in the
    order of the registry; calls: those of formats, whose pairings they are, too."""

    def __init__(self, room: int = OPEN) -> None:
        self._room = room
        self._wires: dict[str, Wire] = {}
        self.calls = Calls()
        self.found: dict[tuple[str, str], Pairing] = {}
        self._asked: dict[int, list[int]] = {}  # id -> formats with a call of it: those answered, then those that wait
        for wire in registry.wires().values():
            self._know(wire)

    def _know(self, wire: Wire) -> None:
        """Pairs the records of a wire, if it has rules: formats from their first records on."""
        if wire.pairs:
            self._wires[wire.name] = wire
            found = self.found | {(wire.name, rule.name): Pairing(rule, self._room) for rule in wire.pairs}
            self.found = dict(sorted(found.items(), key=lambda one: registry.codes().index(one[0][0])))

    def take(
        self, columns: TextColumns, tags: NDArray[np.uint64] | None = None, of_tools: bool = False
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The records of a batch; of those that no rule asks about nothing is looked at. Gives for each rule the tags
        of requests that have a time, and (tag of a request, microseconds) of what was answered. tags: one for each
        record; of_tools: a call of a format has the number of its tool and wire."""
        batch = columns.batch
        kind, wire = batch.column("kind"), batch.column("wire")
        kinds, wires = columns.kinds, self._of_calls(columns)
        met = wires.tobytes()
        for code, name in enumerate(wire.names):
            if code not in met or name not in self._wires:
                continue
            if isinstance(found := self._wires[name], FormatWire):
                yield from self._of_format(found, code, columns, wires == code, tags, of_tools)
                continue
            tables = [_table(rule, kind.names) for rule in self._wires[name].pairs]
            concerned = np.logical_or.reduce([(table[0] | table[1]) != 0 for table in tables])
            mine = wires == code
            rows = np.flatnonzero(mine if concerned.all() else mine & concerned[kinds])
            if len(rows):
                yield from self._take(name, tables, columns, rows, tags)

    def _of_calls(self, columns: TextColumns) -> NDArray[np.uint8]:
        """The wires of records. Of errors that are records of one format, whatever the format of their calls
        (``Format.errors``), those of the calls."""
        batch = columns.batch
        wires, names, kinds = batch.codes("wire"), batch.column("wire").names, batch.column("kind").names
        for name in (names[code] for code in np.flatnonzero(np.bincount(wires)).tolist()):
            if name not in self._wires and isinstance(found := registry.wire(name), FormatWire):
                self._know(found)
        tables = {one.name: one.table for one in self._wires.values() if isinstance(one, FormatWire)}
        pairs = [(name, table.errors) for name, table in tables.items() if table.errors in names]
        if not pairs:
            return wires
        concerned = {names.index(name): tables[name] for name in chain(*pairs) if name in tables}
        is_ask = {
            (code, kinds.index(kind)): kind in table.asks
            for code, table in concerned.items()
            for kind in (*table.asks, *table.answers)
        }
        rows = np.flatnonzero(np.isin(wires, [*concerned]) & batch.valid("call_id"))
        told = (column[rows].tolist() for column in (wires, columns.kinds, ids_of(columns["call_id"])))
        wires, error = wires.copy(), kinds.index("error")
        for row, code, kind, call in zip(rows.tolist(), *told, strict=True):
            if (code, kind) not in is_ask:
                continue
            several = self._asked.get(call, []) if len(self._asked) >= MOST else self._asked.setdefault(call, [])
            if kind == error and several:
                wires[row] = code = several[-1]
            if code in several:
                several.remove(code)
            several.insert(len(several) if is_ask[code, kind] else 0, code)
        return wires

    def _of_format(
        self, wire: FormatWire, code: int, columns: TextColumns, mine: Any, tags: Any, of_tools: bool
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        told = self.calls.take(wire, columns, mine)
        if not wire.table.asks or not len(told.rows):
            return
        size = len(told.rows)
        nothing, kinds = np.zeros(size, np.uint64), told.results.view(np.uint8)
        keys: Any = told.counted.astype(np.uint64) if tags is None else tags[told.rows]
        if of_tools:
            core.mixed(told.tools, np.full(size, code, np.uint8), keys)
        times, timed = (column[told.rows] for column in columns.times)
        timed &= ~told.together
        bits, only = np.full(size, core.FINAL | core.ASKS, np.uint8), np.full(size, 255, np.uint8)
        of_parts = bits, kinds, _OF_PARTS, only, times, timed.view(np.uint8), keys.view(np.int64)
        pairing = self.found[wire.name, wire.pairs[0].name]
        asked, settled = pairing.take(np.arange(size), (nothing,) * (len(FIELDS) - 2), told.calls, nothing, *of_parts)
        for tool, took in by_key(settled) if tags is None else ():
            self.calls.latencies.setdefault(tool, Latencies()).add(took)
        yield asked, settled

    def _take(
        self, name: str, tables: list[NDArray[np.uint8]], columns: TextColumns, rows: Any, tags: Any
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        wire, batch, kinds = self._wires[name], columns.batch, columns.kinds
        bits = np.full(len(rows), core.FINAL | core.ASKS, np.uint8)
        tasks = own = np.zeros(len(rows), np.uint64)
        if wire.has("work"):
            own = tasks.copy()
            needs = np.bitwise_or.reduce([(table[0] != 0) | table[1] << 1 for table in tables])
            asks_subject = any(way.subject for rule in wire.pairs for way in rule.ways)
            subjects = np.ascontiguousarray(batch["subject"].offsets, np.int64) if asks_subject else None
            _read_work(wire, batch, subjects, rows, needs, kinds, tasks, own, bits)
        used = {
            field for rule in wire.pairs for way in rule.ways for key in (*way.ask, way.reply) for field in key.fields
        }
        fields = [columns[field].numbers for field in FIELDS[:3]]
        fields += [  # any other stands in for one that no key has
            _folded(columns[field.removeprefix("folded ")]) if field in used else fields[0] for field in FIELDS[5:]
        ]
        times, timed = columns.times
        tags = np.zeros(len(batch), np.uint64) if tags is None else tags
        for rule, table in zip(wire.pairs, tables, strict=True):
            told = bits, kinds, table, _ways(rule, batch, rows), times, timed.view(np.uint8), tags.view(np.int64)
            yield self.found[name, rule.name].take(rows, tuple(fields), tasks, own, *told)


def _read_work(
    wire: Any, batch: Any, subjects: Any, rows: Any, needs: Any, kinds: Any, tasks: Any, ids: Any, bits: Any
) -> None:
    """Fills in what records say of a piece of work; what the core cannot read of them, the wire itself does."""
    records = batch.spans()
    buffer, arena = (np.frombuffer(part, np.uint8) for part in (records.buffer, records.arena))
    offsets, lengths = (np.ascontiguousarray(part, np.int64) for part in (records.offsets, records.lengths))
    known = wire.work if isinstance(wire.work, MemberWork) else wire.name
    read = core.works(known, buffer, arena, offsets, lengths, subjects, rows, needs, kinds, tasks, ids, bits)
    odd = np.flatnonzero(bits & core.ODD) if read else np.arange(len(rows))
    for row, raw in zip(odd.tolist(), batch.raws(rows[odd]), strict=True):
        work = wire.work(raw)
        tasks[row], ids[row] = (0, 0) if work is None else (number_of(work.task), number_of(work.id))
        bits[row] = core.FINAL | core.ASKS if work is None else core.FINAL * work.final | core.ASKS * work.asks


def _folded(column: Texts) -> NDArray[np.uint64]:
    """The numbers of names as they are compared without case."""
    names, codes = column.coded()
    numbers = np.array([*(number_of(folded(name)) for name in names), 0], np.uint64)
    found: NDArray[np.uint64] = numbers[codes]  # code -1 picks the last
    return found


def _ways(rule: PairRule, batch: Any, rows: Any) -> NDArray[np.uint8]:
    """The ways of a rule in which each of these records may answer by its subject, as bits."""
    if not any(way.subject for way in rule.ways):
        return np.full(len(batch), 255, np.uint8)
    wanted = np.zeros(len(batch), np.bool_)
    wanted[rows] = True
    names, codes = texts(batch, "subject", wanted).coded()
    found = [sum(1 << n for n, way in enumerate(rule.ways) if name.startswith(way.subject)) for name in (*names, "")]
    ways: NDArray[np.uint8] = np.array(found, np.uint8)[codes]  # code -1 picks the last
    return ways
