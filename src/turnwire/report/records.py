"""The parts of a log that the page holds, in bounded memory: sums, messages in full, damaged ranges with their bytes.

Sums are counts of records, bytes and tokens per time, wire, kind, sender and receiver. The width of a time bucket and
the agents that are kept apart give way to the amount: what a log of a million records leaves behind is a table of some
ten thousand cells, whose sums are those of all records.

The log is read twice. At first every conversation is only measured. Then the messages of the largest ones and of those
with a fault are taken, each conversation from its first message on, within a budget of messages and bytes.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from math import prod
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.errors import WireError
from turnwire.log.input.sources import Source, read_once, sources
from turnwire.read.coding import ABSENT, MOST_NAME, CodedColumn, TextColumns, named
from turnwire.read.grouping import Group, Groups, group_keys
from turnwire.read.usage import usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch

COLUMNS = (
    *("file", "offset", "length", "line"),
    *("wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"),
)
"""Columns that are read of each record, beside its bytes."""
OTHERS = -2
"""The code of "one of the names that are not kept apart"."""
MOST_RAW = 2048
"""Bytes of a record as written that are shown."""
MOST_FIELDS = 64
MOST_VALUE = 1024
"""Characters of one decoded field that are shown."""
OVERHEAD = 200  # characters that a message takes in the page beside its texts, about


class Chunk:
    """Some records of one ``file``, the ``number``-th. times: i64 microseconds, UTC, where ``timed``; lengths: i64
    bytes that are their own."""

    def __init__(self, batch: Batch, number: int = 0) -> None:
        self.batch = batch
        self.file = batch.file
        self._number = number
        self.texts = TextColumns(batch)
        self.lengths: NDArray[np.int64] = batch.own_bytes()
        self.times, self.timed = self.texts.times

    def __len__(self) -> int:
        return len(self.batch)

    def coded(self, name: str) -> CodedColumn:
        """The column "wire", "kind", "sender", "receiver", "conversation" or "subject"; long names are cut."""
        return self.texts[name].coded()

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each record's conversation, as ``Groups`` has it; for those of a wire that name none, its code
        and 1."""
        wires = self.batch.codes("wire")
        keys = group_keys(wires, self.texts["conversation"])
        return np.where(keys == 0, wires.astype(np.uint64) + np.uint64(1), keys)

    def place(self, row: int) -> tuple[int, str | None, int, int]:
        """A number that grows with the place of a record in the log, its file, line and offset."""
        offset = int(self.batch["offset"][row])
        return (self._number << 48) + offset, self.file, int(self.batch["line"][row]), offset

    def sequence(self, row: int) -> str | None:
        """Its number in the conversation, as decimal text: it may be more than a page can hold as a number."""
        return str(int(self.batch["sequence"][row])) if self.batch.valid("sequence")[row] else None


# --- sums per time, wire, kind, sender and receiver -----------------------------------------------------------------


_SECOND = 1_000_000
WIDTHS = (
    *(1_000, 5_000, 10_000, 50_000, 100_000, 500_000),
    *(_SECOND, 5 * _SECOND, 10 * _SECOND, 30 * _SECOND, 60 * _SECOND, 300 * _SECOND, 600 * _SECOND, 1800 * _SECOND),
    *(3600 * _SECOND * hours for hours in (1, 3, 6, 12, 24, 168, 672, 8736, 87_360, 873_600)),
)
"""Widths of a time bucket in microseconds; each is a multiple of the one before."""
NO_TIME, EARLIER, LATER = -1, -2, -3
"""Codes of a shown bucket for records without a time, and for those so far off that the chart would lose its scale."""
_UNTIMED = -(1 << 62)

MOST_NAMES = 1 << 17
MOST_KINDS = 1 << 10
MOST_FILLED = 360  # time buckets while the log is read
MOST_SHOWN = 120  # time buckets in the page
MOST_CELLS = 200_000  # while the log is read
MOST_CELLS_SHOWN = 40_000  # in the page
MOST_AGENTS = 40  # kept apart in the page
MOST_KINDS_SHOWN = 60
STRAY = 0.005
"""Share of the records at either end of time that may be folded when they stretch the axis fourfold or more."""
BUCKET, WIRE, KIND, SENDER, RECEIVER = range(5)
RECORDS, BYTES, TOKENS = range(5, 8)
"""Columns of the cells: five keys, three sums."""
_AT_ONCE = 1 << 16  # numbers that are sorted in at once, at least


class Cube:
    """Takes chunks of records, remembers only sums: ``_cells`` has a row for each of the keys that were met."""

    def __init__(self) -> None:
        self.wires, self.kinds, self.agents = NameCodes(MOST_KINDS), NameCodes(MOST_KINDS), NameCodes(MOST_NAMES)
        self.records = 0
        self._width = 0
        self._cells: NDArray[np.int64] = np.empty((0, 8), np.int64)
        self._new: list[NDArray[np.int64]] = []  # to sort all cells for each chunk would be quadratic
        self._kept: list[int] | None = None  # agents that are kept apart; None while all are
        self._first: int | None = None
        self._last: int | None = None

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Counts the records of a chunk."""
        if not len(chunk):
            return
        self.records += len(chunk)
        rows = np.zeros((len(chunk), 8), np.int64)
        rows[:, WIRE] = self.wires.translate(chunk.coded("wire"))
        rows[:, KIND] = self.kinds.translate(chunk.coded("kind"))
        rows[:, SENDER] = self.agents.translate(chunk.coded("sender"))
        rows[:, RECEIVER] = self.agents.translate(chunk.coded("receiver"))
        rows[:, RECORDS], rows[:, BYTES] = 1, chunk.lengths
        if tokens is not None:
            rows[:, TOKENS] = tokens
        rows[:, BUCKET] = np.where(chunk.timed, chunk.times // WIDTHS[self._width], _UNTIMED)
        if len(times := chunk.times[chunk.timed]):
            known = [one for one in (self._first, self._last) if one is not None]
            self._first, self._last = min([*known, int(times.min())]), max([*known, int(times.max())])
        self._take(_summed(rows))

    def _take(self, rows: NDArray[np.int64]) -> None:
        if self._kept is not None:
            _fold(rows, self._kept)
        self._new.append(rows)
        if sum(map(len, self._new)) > max(len(self._cells), _AT_ONCE):
            self._merge()

    def _merge(self) -> None:
        """Sums up the cells; makes them fewer where they are too many."""
        self._cells, self._new = _summed(np.concatenate((self._cells, *self._new))), []
        while self._width + 1 < len(WIDTHS) and (
            self._filled() > MOST_FILLED or (len(self._cells) > MOST_CELLS and self._filled() > MOST_SHOWN)
        ):
            timed = self._cells[:, BUCKET] != _UNTIMED
            self._cells[timed, BUCKET] //= WIDTHS[self._width + 1] // WIDTHS[self._width]
            self._width += 1
            self._cells = _summed(self._cells)
        while len(self._cells) > MOST_CELLS and self._kept != []:
            self._kept = self._busiest(MOST_AGENTS * 4 if self._kept is None else len(self._kept) // 2)
            _fold(self._cells, self._kept)
            self._cells = _summed(self._cells)

    def _filled(self) -> int:
        return len(np.unique(self._cells[:, BUCKET]))

    def _busiest(self, count: int) -> list[int]:
        order: list[int] = np.argsort(-self.agents.records, kind="stable")[:count].tolist()
        return [code for code in order if self._kept is None or code in self._kept]

    def shown(self) -> dict[str, Any]:
        """Returns the sums in the page's data."""
        self._merge()
        names, kind_names, wire_names = list(self.agents), list(self.kinds), list(self.wires)
        kept, kinds = self._busiest(MOST_AGENTS), self.kinds.met(MOST_KINDS_SHOWN)
        met = {wire_names[code] for code in self.wires.met(len(wire_names))}
        wires = [name for name in registry.codes() if name in met]
        most = MOST_SHOWN
        while True:
            width, low, high = self._axis(most)
            cells = self._cells.copy()
            cells[:, BUCKET] = _placed(cells[:, BUCKET], WIDTHS[width] // WIDTHS[self._width], low, high)
            cells[:, KIND] = _places(kinds, len(kind_names))[cells[:, KIND]]
            for column in (SENDER, RECEIVER):
                cells[:, column] = _places(kept, len(names))[cells[:, column]]
            cells[:, WIRE] = _places([wire_names.index(name) for name in wires], len(wire_names))[cells[:, WIRE]]
            cells = _summed(cells)
            if len(cells) <= MOST_CELLS_SHOWN or (high - low <= 24 and len(kept) <= 8):
                break
            if high - low > 24 and width + 1 < len(WIDTHS):
                most = (high - low) // 2
            else:
                kept = kept[: len(kept) // 2]
        return {
            "wires": wires,
            "kinds": [kind_names[code] for code in kinds],
            "agents": [names[code] for code in kept],
            "folded_agents": len(names) - len(kept),
            "more_agents": self.agents.unnamed > 0,
            "time": {
                "first": self._first,
                "last": self._last,
                "start": low * WIDTHS[width],
                "width": WIDTHS[width],
                "buckets": high - low + 1 if self._first is not None else 0,
            },
            "cells": cells.T.tolist(),
        }

    def _axis(self, most: int) -> tuple[int, int, int]:
        """The width (its place in WIDTHS) and the first and last bucket of the chart."""
        timed = self._cells[self._cells[:, BUCKET] != _UNTIMED]
        if not len(timed):
            return self._width, 0, 0
        buckets, place = np.unique(timed[:, BUCKET], return_inverse=True)
        low, high = _core(buckets, np.bincount(place, weights=timed[:, RECORDS]))
        width, factor = self._width, 1
        while high // factor - low // factor >= most and width + 1 < len(WIDTHS):
            factor *= WIDTHS[width + 1] // WIDTHS[width]
            width += 1
        return width, low // factor, high // factor


def _summed(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different keys, in their order, with the sums of each."""
    if not len(cells):
        return cells
    low = cells[:, : RECEIVER + 1].min(0)
    spans = (cells[:, : RECEIVER + 1].max(0) - low + 1).tolist()
    if prod(spans) < 1 << 63:  # one number a key sorts faster than five
        cells = cells[np.argsort(np.ravel_multi_index(tuple((cells[:, : RECEIVER + 1] - low).T), spans), kind="stable")]
    else:
        cells = cells[np.lexsort(cells[:, RECEIVER::-1].T)]
    new = np.any(cells[1:, : RECEIVER + 1] != cells[:-1, : RECEIVER + 1], axis=1)
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    return np.hstack((cells[starts, : RECEIVER + 1], np.add.reduceat(cells[:, RECORDS:], starts)))


def _fold(cells: NDArray[np.int64], kept: Sequence[int]) -> None:
    """Agents that are not kept become OTHERS."""
    for column in (SENDER, RECEIVER):
        codes = cells[:, column]
        codes[(codes >= 0) & ~np.isin(codes, kept)] = OTHERS


def _placed(buckets: NDArray[np.int64], factor: int, low: int, high: int) -> NDArray[np.int64]:
    """Buckets, so many times as wide, as the chart has them."""
    places = buckets // factor
    found = np.where(places < low, EARLIER, np.where(places > high, LATER, places - low))
    return np.where(buckets == _UNTIMED, NO_TIME, found)


def _core(buckets: NDArray[np.int64], records: NDArray[Any]) -> tuple[int, int]:
    """The first and last bucket without a few stray records at the ends, where those would squeeze all the others."""
    allowed = records.sum() * STRAY
    first = int(np.searchsorted(np.cumsum(records), allowed, "right"))
    last = len(buckets) - 1 - int(np.searchsorted(np.cumsum(records[:first:-1]), allowed, "right"))
    low, high = int(buckets[first]), int(buckets[last])
    if buckets[-1] - buckets[0] + 1 >= 4 * (high - low + 1):
        return low, high
    return int(buckets[0]), int(buckets[-1])


def _places(codes: Sequence[int], count: int) -> NDArray[np.int64]:
    """Code -> its place in the list; ABSENT (the last) stays, everything else is OTHERS."""
    places = np.full(count + 2, OTHERS, np.int64)
    places[codes] = np.arange(len(codes))
    places[ABSENT] = ABSENT
    return places


# --- names in bounded memory ----------------------------------------------------------------------------


class NameCodes(dict[str, int]):
    """Names in order of appearance, each with a code; those after the first ``most`` are OTHERS.

    ``records`` counts how often each was translated, ``unnamed`` how often one had to be OTHERS.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._counts = np.zeros(most, np.int64)
        self.unnamed = 0

    def __missing__(self, name: str) -> int:
        """The code of a new name, which is taken in where there is room."""
        if len(self) >= self._most:
            return OTHERS
        return self.setdefault(name, len(self))

    @property
    def records(self) -> NDArray[np.int64]:
        """The number of records of each name, in the order of the codes."""
        return self._counts[: len(self)]

    def met(self, most: int) -> list[int]:
        """The codes of the most frequent names, without those of which there is no record: an enum names them, too."""
        count = min(int((self.records > 0).sum()), most)
        codes: list[int] = np.argsort(-self.records, kind="stable")[:count].tolist()
        return codes

    def translate(self, column: CodedColumn) -> NDArray[np.int64]:
        """The column with the codes of these names."""
        table = np.array([*map(self.__getitem__, column.names), ABSENT], np.int64)  # code -1 picks the last
        result: NDArray[np.int64] = table[column.codes]
        counts = np.bincount(result[result >= 0])
        self._counts[: len(counts)] += counts
        self.unnamed += int((result == OTHERS).sum())
        return result


# --- one record in full ---------------------------------------------------------------------------------------------


class Details(NamedTuple):
    """A record that the page shows, each text cut to a bound.

    number: grows with its place in the log. time: microseconds, UTC. length: bytes in the log.
    fields: (name, value) pairs.
    """

    number: int
    conversation: str | None
    kind: str | None
    sender: str | None
    receiver: str | None
    sequence: str | None
    time: int | None
    subject: str | None
    file: str | None
    line: int
    offset: int
    length: int
    tokens: int | None
    raw: str
    fields: list[tuple[str, str]]

    @property
    def size(self) -> int:
        """Characters that the record takes in the page, about."""
        texts = sum(len(name) + len(value) for name, value in self.fields)
        return OVERHEAD + len(self.raw) + texts + len(self.subject or "")


def details(chunk: Chunk, row: int, tokenizer: Any = None) -> Details:
    """One record of a chunk, with its tokens where there is a tokenizer."""
    number, file, line, offset = chunk.place(row)
    try:
        found = [*fields(chunk.batch.message(row))]
    except WireError as error:  # what scanning took and decoding refuses
        found = [("not decoded", str(error))]
    if len(found) > MOST_FIELDS:
        found[MOST_FIELDS:] = [("…", f"{len(found) - MOST_FIELDS:,} more fields")]
    named_by = map(chunk.texts.__getitem__, ("conversation", "kind", "sender", "receiver", "subject"))
    conversation, kind, sender, receiver, subject = (one.text(row) if one.numbers[row] else None for one in named_by)
    if subject is None and "tool" in chunk.batch.names and chunk.batch.valid("tool")[row]:
        subject = named(chunk.batch["tool"][row])
    raw = bytes(chunk.batch.raw(row))
    tokens = None if tokenizer is None else tokenizer.count(raw.decode("utf-8", "replace"))
    values: tuple[Any, ...] = (
        *(number, conversation, kind, sender, receiver, chunk.sequence(row)),
        *(int(chunk.times[row]) if chunk.timed[row] else None, subject),
        *(file, line, offset, int(chunk.lengths[row]), tokens),
        shortened(raw.decode("utf-8", "backslashreplace"), MOST_RAW),
        [(shortened(name, MOST_NAME), shortened(value, MOST_VALUE)) for name, value in found],
    )
    return Details(*values)


def shortened(text: str, most: int) -> str:
    """The text, cut at its end where it is long, saying how much is missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def fields(message: Any) -> Iterator[tuple[str, str]]:
    """The decoded fields of a message of any wire as (name, value) pairs; parts of objects and lists by their path."""
    if not hasattr(message, "to_dict"):  # of a registered wire
        return _flat("", {name: getattr(message, name) for name in type(message).__match_args__})
    return _flat("", message.to_dict())


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list | tuple) and value:
        for place, part in enumerate(value):
            texts = isinstance(part, list | tuple) and all(isinstance(one, str) for one in part)
            yield from _flat(f"{path}[{place}]", " ".join(part) if texts else part)  # a field of CSP/1: name and value
    else:
        yield path, json.dumps(value) if value is None or isinstance(value, bool) else str(value)


MOST_BYTES = 8 << 20
"""Characters of all messages that are kept."""
ROOM = 1 << 16
"""Conversations that are told apart at least."""
MOST_WAITING = 100_000
"""Conversations of which it is known that a request waits, and as many with damage."""

MOST_REJECTS = 600
MOST_OF_A_KIND = 100
"""Damaged ranges of one wire and reason that are shown."""
MOST_REJECT_BYTES = 256
"""Bytes of one damaged range that are shown."""
REJECT_COLUMNS = ("file", "offset", "length", "line", "fault", "wire", "reason", "raw", "text")
"""Columns of damaged ranges. fault: the byte of the file where reading failed; raw, text: its first bytes, as hex
digits and as text in which what is not UTF-8 is an escape."""

Key = tuple[str | None, str | None]
"""wire and conversation; None for the records of a wire that name no conversation"""


class Conversation:
    """One conversation that is shown: ``count`` messages in the log, of which ``messages`` are kept, the first
    ``wanted`` ones."""

    def __init__(self, key: Key, count: int, wanted: int) -> None:
        self.key = key
        self.count = count
        self.wanted = wanted
        self.messages: list[Details] = []


class Conversations:
    """Measures conversations, chunk by chunk, and chooses some. Numbers stand for them: see ``Chunk.keys``.

    groups: their sums. One has a fault where a request has no answer, or damage stands after one of its records.
    """

    def __init__(self) -> None:
        self.groups = Groups(ROOM)
        self._unnamed = np.zeros((2, 256), np.int64)  # records and bytes by wire, of those that name no conversation
        self._waiting: dict[int, int] = {}
        self._damaged: set[int] = set()
        self._last: tuple[str | None, int] = None, 0

    def add(
        self, chunk: Chunk, tokens: NDArray[np.int64] | None = None, rejects: Iterable[dict[str, Any]] = ()
    ) -> None:
        """Measures the records of a chunk. rejects: those that came with it."""
        wires = chunk.batch.codes("wire")
        found = self.groups.add(wires, chunk.texts["conversation"], chunk.lengths, chunk.times, chunk.timed, tokens)
        none = found == 0
        if none.any():
            for sums, weights in zip(self._unnamed, (None, chunk.lengths[none]), strict=True):
                sums += np.bincount(wires[none], weights, 256).astype(np.int64)
        self._note_damage(chunk, rejects)

    def _note_damage(self, chunk: Chunk, rejects: Iterable[dict[str, Any]]) -> None:
        offsets = chunk.batch["offset"]
        for reject in rejects:
            if reject["file"] == chunk.file and len(self._damaged) < MOST_WAITING:
                place = int(np.searchsorted(offsets, reject["offset"]))
                before = int(chunk.keys[place - 1]) if place else self._last[1] * (self._last[0] == chunk.file)
                self._damaged.add(before)
        self._last = chunk.file, int(chunk.keys[-1])

    def settle(self, asked: NDArray[np.int64], answered: NDArray[np.int64]) -> None:
        """Takes the conversations of requests, and those of requests that were answered (as i64)."""
        change = np.concatenate([np.ones(len(asked), np.int64), np.full(len(answered), -1, np.int64)])
        keys, places = np.unique(np.concatenate([asked, answered]).view(np.uint64), return_inverse=True)
        sums = np.bincount(places, change, len(keys))
        for key, more in zip(keys[sums != 0].tolist(), sums[sums != 0].astype(np.int64).tolist(), strict=True):
            left = self._waiting.pop(key, 0) + more
            if left and len(self._waiting) < MOST_WAITING:
                self._waiting[key] = left

    @cached_property
    def found(self) -> dict[int, tuple[Key, Group]]:
        """All of them with their sums, the largest first, once the log has ended."""
        names, sums = registry.codes(), self._unnamed.T.tolist()
        unnamed = [
            (code + 1, ((names[code], None), Group(records, size, 0, None, None, None)))
            for code, (records, size) in enumerate(sums)
            if records
        ]
        return dict(sorted([*unnamed, *self.groups.by_key().items()], key=lambda one: -one[1][1].record_bytes))

    def most(self, measure: str) -> int | None:
        """The number of the conversation with the most "record_bytes" or "tokens"."""
        named = (key for key, ((_, name), _) in self.found.items() if name is not None)
        return max(named, key=lambda key: getattr(self.found[key][1], measure), default=None)

    def costliest(self, source: Any, wires: Iterable[str]) -> int | None:
        """The number of the conversation of formats whose responses cost most; its tokens become theirs."""
        spent = {
            (wire, row["session"]): (row["cost"] or 0, row["tokens"])
            for wire in wires
            for row in usage(source, "session", wire=wire).rows
        }
        keys = {name: key for key, (name, _) in self.found.items() if name in spent}
        if not keys:
            return None
        name = max(keys, key=lambda name: (spent[name], name))
        self.found[keys[name]] = name, self.found[keys[name]][1]._replace(tokens=spent[name][1])
        return keys[name]

    def chosen(self, most: int, first: Iterable[int | None] = ()) -> dict[int, Conversation]:
        """The conversations that are to be shown, with ``most`` messages together: ``first``, then those with a fault,
        up to half of the room, then the largest."""
        longest = most if sum(one.records for _, one in self.found.values()) <= most else max(most // 4, 1)
        faulty = [key for key in self.found if key in self._damaged or key in self._waiting]
        chosen: dict[int, Conversation] = {}
        left, size = most, MOST_BYTES
        for keys, kept in ((first, 0), (faulty, most // 2), (self.found, 0)):
            for key in keys:
                if key is None or key in chosen or key not in self.found:
                    continue
                name, one = self.found[key]
                mean = one.record_bytes // one.records
                each = OVERHEAD + min(mean, MOST_RAW) + min(mean, MOST_FIELDS * MOST_VALUE)
                count = min(one.records, longest, left - kept, size // each or not chosen)
                if count > 0:
                    chosen[key] = Conversation(name, one.records, count)
                    left, size = left - count, size - count * each
        return chosen


class MessageSample:
    """The messages of chosen conversations, out of the records of a log."""

    def __init__(self, chosen: dict[int, Conversation], tokenizer: Any = None) -> None:
        self._open = dict(chosen)
        self._tokenizer = tokenizer
        self._size = 0
        self.kept: list[Conversation] = []
        """In the order of their first message."""

    def read(self, chunks: Iterable[Chunk]) -> None:
        """Takes the messages out of chunks in order, and no more chunks than it needs."""
        for chunk in chunks if self._open else ():
            self._add(chunk)
            if not self._open:
                break

    def _add(self, chunk: Chunk) -> None:
        for row in np.flatnonzero(np.isin(chunk.keys, np.array(list(self._open), np.uint64))).tolist():
            one = self._open.get(key := int(chunk.keys[row]))
            if one is None:
                continue
            message = details(chunk, row, self._tokenizer)
            self._size += message.size
            if self._size > MOST_BYTES and self.kept:
                self._open.clear()
                return
            if not one.messages:
                self.kept.append(one)
            one.messages.append(message)
            if len(one.messages) == one.wanted:
                del self._open[key]


@contextmanager
def twice(source: Any) -> Iterator[Any]:
    """A source that can be read twice, in place of one: what is a stream is copied to a file without a name."""
    if read_once(source) is None:
        yield source
        return
    with ExitStack() as stack:
        yield [_copied(one, stack) if one.data is None and not one.mappable else one for one in sources(source)]


def _copied(one: Source, stack: ExitStack) -> Source:
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    with one.open() as stream:
        copyfileobj(stream, copy)

    def again() -> Any:
        copy.seek(0, io.SEEK_SET)
        return nullcontext(copy)

    return one._replace(open=again)


# --- damage ---------------------------------------------------------------------------------------------------------


class Quarantine:
    """Takes rejects, counts all, keeps the first of each wire and reason as rows of REJECT_COLUMNS."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: list[list[Any]] = []

    def add(self, rejects: Sequence[dict[str, Any]]) -> None:
        """Counts them and keeps those that are shown."""
        for reject in rejects:
            kind = reject["wire"], reject["reason"]
            self.counts[kind] += 1
            if self.counts[kind] <= MOST_OF_A_KIND and len(self.kept) < MOST_REJECTS:
                raw = bytes(reject["raw"][:MOST_REJECT_BYTES])
                row = {**reject, "raw": raw.hex(), "text": raw.decode("utf-8", "backslashreplace")}
                self.kept.append([row[name] for name in REJECT_COLUMNS])
