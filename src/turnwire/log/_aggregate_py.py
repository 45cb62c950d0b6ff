"""Sums of records by their values, and requests with their answers, in Python: the twin of
``_native/log/aggregate.pyx``.

Texts are numbers here, equal for equal texts in this process; 0 stands for none. Columns are arrays with one entry a
row: texts are spans of three buffers, each of which continues where the one before ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.pairs import ASKS, FINAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

_U64 = (1 << 64) - 1
_SENDER = 1
"""The place of the sender among the fields of a message."""


def hash_of(text: bytes) -> int:
    """The number of a text, the same for equal texts in this process; never 0."""
    return hash(bytes(text)) & _U64 or 1


def _picked(spans: Any, places: Any) -> tuple[Any, ...]:
    """The spans at these places."""
    *data, offsets, lengths = spans
    return *data, offsets[places], lengths[places]


def _texts(buffer: Any, arena: Any, side: Any, offsets: Any, lengths: Any) -> Iterator[bytes]:
    whole = b"".join((buffer, arena, side))
    for start, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
        if not 0 <= start <= start + length <= len(whole):
            raise ValueError("a text lies outside of its buffer")
        yield whole[start : start + length]


def hashes(
    buffer: Any, arena: Any, masks: Any, columns: tuple[Any, ...], wanted: Any, most: int, out: Any
) -> list[tuple[int, int]]:
    """Fills a row of ``out`` for each column with the numbers of its texts, as ``hash_of`` has them; 0 if a record has
    none or is not wanted (a byte a record, None for all). columns: of each its offsets and lengths, and the bits of
    ``masks``, one mask a record, of records with a text, and with escapes in it; -1 for all, and for none. Returns
    (column, record) of the texts that have escapes or more than ``most`` bytes, to be filled by the caller."""
    every = np.ones(out.shape[1], bool) if wanted is None else wanted != 0
    found: list[tuple[int, int]] = []
    for place, (offsets, lengths, valid, escaped) in enumerate(columns):
        there = every if valid < 0 else every & (masks >> masks.dtype.type(valid) & 1 != 0)
        odd = there & (lengths > most)
        odd = odd if escaped < 0 else odd | (there & (masks >> masks.dtype.type(escaped) & 1 != 0))
        rows = np.flatnonzero(there & ~odd)
        texts = _texts(buffer, arena, b"", offsets[rows], lengths[rows])
        out[place] = 0
        out[place, rows] = np.fromiter(map(hash_of, texts), np.uint64, len(rows))
        found += ((place, row) for row in np.flatnonzero(odd).tolist())
    return sorted(found, key=lambda one: one[::-1])


def mixed(numbers: Any, codes: Any, out: Any) -> None:
    """Fills ``out`` with a number for each pair of a number and a code; 0 if the number is 0."""
    pairs = zip(numbers.tolist(), codes.tolist(), strict=True)
    out[:] = [(hash(pair) & _U64 or 1) if pair[0] else 0 for pair in pairs]


def picked(columns: tuple[Any, ...], rows: Any, at: int) -> None:
    """Copies rows of columns, each (values of 1 or 8 bytes, out), to ``out`` from a place on."""
    for values, out in columns:
        out[at : at + len(rows)] = values[rows]


def codes(numbers: Any, out: Any) -> list[int]:
    """Fills ``out`` with the place of each number among the different ones, in the order in which they come first, -1
    for 0; returns the rows in which they do."""
    first: dict[int, int] = {}
    places: dict[int, int] = {0: -1}
    for row, number in enumerate(numbers.tolist()):
        if number not in places:
            places[number] = len(first)
            first[number] = row
    out[:] = [places[number] for number in numbers.tolist()]
    return list(first.values())


class Tally:
    """Sums of records by keys: how many, their bytes and tokens, the first and the last time."""

    def __init__(self) -> None:
        self._groups: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(
        self,
        numbers: Any,
        places: Any,
        texts: Any,
        wires: Any,
        sizes: Any,
        times: Any,
        timed: Any,
        tokens: Any,
        keys: Any,
    ) -> None:
        """Adds records: the numbers of their values, or of those at ``places`` among the different ones (0, and a place
        that is none: no value); the codes of their wires, sizes in bytes, times, which of these are there, and tokens
        (empty: not counted). texts: gives the spans of the values, which name a group. Fills ``keys`` with the keys of
        groups, 0 for none."""
        at = np.arange(len(keys)) if places is None else places
        keys[:] = 0
        rows = np.flatnonzero((at >= 0) & (at < len(numbers)))
        rows = rows[numbers[at[rows]] != 0]
        keys[rows] = numbers[at[rows]]
        mixed(keys.copy(), wires, keys)
        new = {key: row for key, row in zip(keys[rows].tolist(), rows.tolist(), strict=True) if key not in self._groups}
        first = dict(zip(new, _texts(*_picked(texts(), at[list(new.values())])), strict=True)) if new else {}
        spent = tokens[rows].tolist() if len(tokens) else [0] * len(rows)
        columns = [column[rows].tolist() for column in (keys, wires, sizes, times, timed)]
        for token, key, wire, size, time, there in zip(spent, *columns, strict=True):
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = [wire, first[key], 0, 0, 0, None, None]
            group[2] += 1
            group[3] += size
            group[4] += token
            if there:
                group[5] = time if group[5] is None else min(group[5], time)
                group[6] = time if group[6] is None else max(group[6], time)

    def rows(self, order: Any) -> list[tuple[Any, ...]]:
        """(key, wire, name, records, bytes, tokens, first, last) of groups, by their places in the order in which
        they came."""
        groups = list(self._groups.items())
        return [(key, *group) for key, group in (groups[place] for place in order.tolist())]

    def sums(self) -> NDArray[np.int64]:
        """The records, bytes and tokens of each group, one row for each of the three."""
        return np.array([group[2:5] for group in self._groups.values()], np.int64).reshape(-1, 3).T

    def keep(self, places: Any) -> None:
        """Forgets all groups but those at these places, which ascend."""
        groups = list(self._groups.items())
        self._groups = dict(groups[place] for place in places.tolist())


# --- requests and their answers -------------------------------------------------------------------------------------


class _Key(NamedTuple):
    """The number of each field, -1 where nothing stands; the fields that must and must not be there."""

    fields: tuple[int, ...]
    needs: tuple[int, ...]
    without: tuple[int, ...]

    def of(self, way: int, fields: tuple[int, ...]) -> tuple[int, ...] | None:
        if not all(fields[place] for place in self.needs) or any(fields[place] for place in self.without):
            return None
        return way, *(0 if place < 0 else fields[place] for place in self.fields)


class _CompiledPattern(NamedTuple):
    asks: tuple[_Key, ...]
    reply: _Key
    others: bool
    names: bool
    unasking: bool


class _Request:
    __slots__ = ("places", "sender", "tag", "time")

    def __init__(self, sender: int, time: int | None, tag: int) -> None:
        self.sender, self.time, self.tag = sender, time, tag
        self.places: list[tuple[tuple[int, ...], bool]] = []


class _EarlyAnswers:
    """Answers that named a request which had not been seen: how many, and the time of the first that is final."""

    def __init__(self) -> None:
        self.count = 0
        self.final = False
        self.time: int | None = None


class Pairing:
    """The open requests of one rule, and what became of the others: see :class:`turnwire.read.pairing.Pairing`.

    ways: of each the keys of a request and of an answer, (fields, needs, without), and three marks: the answer is from
    another sender, it names its request, and what asks is no answer. any_ends: an answer ends its request even if its
    work goes on. most: requests that wait at once.
    """

    def __init__(self, ways: tuple[Any, ...], all_at_once: bool, any_ends: bool, most: int) -> None:
        self._ways = [
            _CompiledPattern(tuple(_Key(*ask) for ask in asks), _Key(*reply), *marks) for asks, reply, *marks in ways
        ]
        self._all_at_once, self._any_ends = all_at_once, any_ends
        self._most = most
        self._waiting: dict[tuple[int, ...], OrderedDict[int, _Request]] = {}
        self._open: OrderedDict[int, _Request] = OrderedDict()
        self._ended: OrderedDict[tuple[int, ...], None] = OrderedDict()
        self._early: OrderedDict[tuple[int, ...], _EarlyAnswers] = OrderedDict()
        self._settled: list[tuple[int, int]] = []
        names = ("requests", "answered", "waiting", "given_up", "backwards", "progress", "orphans", "ahead", "further")
        self._counts = dict.fromkeys(names, 0)

    def take(
        self,
        rows: Any,
        columns: tuple[Any, ...],
        tasks: Any,
        ids: Any,
        bits: Any,
        kinds: Any,
        table: Any,
        only: Any,
        times: Any,
        timed: Any,
        tags: Any,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The next messages: some rows, in order, perhaps several times; with the task, the id and the bits of each
        (those of ``turnwire.contract.WORK``). Whole columns: the fields but for task and id; the codes of kinds; the
        ways in which each may answer (bits); times, and which are there; tags. table: by the code of a kind the ways in
        which it may answer, whether it asks, and whether it may end what it answers. Returns the tags of requests with
        a time, and the tag of each request that was answered and after how many microseconds, where both have a
        time."""
        self._settled = []
        ways, asks, final = (one[kinds[rows]] for one in table)
        ways &= only[rows]
        asks = (asks != 0) & (bits & ASKS != 0)
        final = (final != 0) & (self._any_ends | (bits & FINAL != 0))
        several = [column[rows] for column in columns]
        fields = zip(*(column.tolist() for column in (*several[:3], tasks, ids, *several[3:])), strict=True)
        found = (column.tolist() for column in (ways, asks, final, times[rows], timed[rows], tags[rows]))
        for message, some, asking, ends, time, there, tag in zip(fields, *found, strict=True):
            if some or asking:
                self._take(message, some, asking, ends, time if there else None, tag)
        return tags[rows[asks & (timed[rows] != 0)]], np.array(self._settled, np.int64).reshape(-1, 2)

    def _take(self, fields: tuple[int, ...], ways: int, asking: bool, final: bool, time: int | None, tag: int) -> None:
        """First as an answer, then as a request of its own."""
        named = None
        for number, way in enumerate(self._ways):
            key = way.reply.of(number, fields)
            if not ways >> number & 1 or (way.unasking and asking) or key is None:
                continue
            if self._answer(key, way, fields[_SENDER], final, time):
                named = None
                break
            named = key if way.names and named is None else named
        if named is not None:
            self._unasked(named, final, time)
        if asking:
            self._ask(fields, time, tag)

    def _answer(self, key: tuple[int, ...], way: _CompiledPattern, sender: int, final: bool, time: int | None) -> bool:
        """True if a request waits for this answer."""
        found = False
        while key in self._waiting:
            waiting = self._waiting[key].values()
            request = next((one for one in waiting if not way.others or one.sender != sender), None)
            if request is None:
                break
            found = True
            if not final:
                self._counts["progress"] += 1
                break
            self._forget(request)
            self._settle(request, time)
            if not self._all_at_once:
                break
        return found

    def _unasked(self, key: tuple[int, ...], final: bool, time: int | None) -> None:
        """An answer that names a request which does not wait for it."""
        if key in self._ended:
            self._counts["further"] += 1
            return
        self._counts["orphans"] += 1
        early = self._early.pop(key, None) or _EarlyAnswers()
        early.count += 1
        if final and not early.final:
            early.final, early.time = True, time
        self._early[key] = early
        while len(self._early) > self._most:
            self._early.popitem(last=False)

    def _ask(self, fields: tuple[int, ...], time: int | None, tag: int) -> None:
        self._counts["requests"] += 1
        request = _Request(fields[_SENDER], time, tag)
        for number, way in enumerate(self._ways):
            for ask in way.asks:
                key = ask.of(number, fields)
                if key is not None and (key, way.names) not in request.places:
                    request.places.append((key, way.names))
        early = next((found for key, _ in request.places if (found := self._early.pop(key, None))), None)
        if early is not None:
            self._counts["orphans"] -= early.count
            self._counts["ahead"] += early.count
            if early.final:
                self._settle(request, early.time, ahead=True)
                self._end(request)
                return
        if not request.places:
            return
        for key, _ in request.places:
            self._waiting.setdefault(key, OrderedDict())[id(request)] = request
            self._ended.pop(key, None)
        self._open[id(request)] = request
        while len(self._open) > self._most:
            self._forget(next(iter(self._open.values())))
            self._counts["given_up"] += 1

    def _settle(self, request: _Request, time: int | None, ahead: bool = False) -> None:
        self._counts["answered"] += 1
        if request.time is None or time is None:
            return
        if time >= request.time:
            self._settled.append((request.tag, time - request.time))
        elif not ahead:
            self._counts["backwards"] += 1

    def _forget(self, request: _Request) -> None:
        for key, _ in request.places:
            del self._waiting[key][id(request)]
            if not self._waiting[key]:
                del self._waiting[key]
        del self._open[id(request)]
        self._end(request)

    def _end(self, request: _Request) -> None:
        """A further answer that names the request is not an orphan."""
        for key, names in request.places:
            if names:
                self._ended.pop(key, None)
                self._ended[key] = None
        while len(self._ended) > self._most:
            self._ended.popitem(last=False)

    def counts(self) -> list[int]:
        """The numbers of ``turnwire.read.pairing.COUNTS``."""
        self._counts["waiting"] = self._counts["requests"] - self._counts["answered"] - self._counts["given_up"]
        return list(self._counts.values())
