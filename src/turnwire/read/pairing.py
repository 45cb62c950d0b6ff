"""Pairs messages and tool calls with their answers, and measures how long these took.

The rules (which kinds ask, which answer) are data of each wire: ``PAIRS`` of ``<package>/bulk.py``, in the terms of
``turnwire.pairs``. Whole columns of records are paired at once; the core does it (``log.aggregate``).

An answer settles the request of its task; where it names none, the one that has waited longest, or every one where its
rule says so. A progress report settles nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from turnwire import registry
from turnwire.contract import WORK, FormatWire
from turnwire.formats.parts import MessageRule, PartRule, Reader, id_of, steps_of
from turnwire.formats.table import KINDS, sources_of
from turnwire.log.engine.all_wires import finder, of_formats
from turnwire.pairs import ASKS, FIELDS, FINAL, TOLD, Key, PairRule, Work, folded
from turnwire.read.coding import (
    ABSENT,
    CodedColumn,
    TextColumns,
    Texts,
    core,
    ids_of,
    mixed,
    named,
    number_of,
    numbers_of,
    texts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.contract import Wire
    from turnwire.log import Batch

_CALLS = ("id", "parent", "tool", "call_id", "calls", "tools", "error", "failed", "origin")
"""The columns of calls, which all formats have."""
_WORK = tuple(column.name for column in WORK)


def columns_of(wire: str | None) -> tuple[str, ...]:
    """The columns that are read in a scan of a wire (None: of all wires), beside those of ``turnwire.read.grouping``.
    Raises UnknownName."""
    if of_formats(wire):
        return _CALLS
    return _WORK if WORK[0] in finder(wire).scanner.columns else ()


MOST = 1 << 18
"""Calls, and spans of a wire, that are remembered: results of further calls, and further spans, are not counted."""
_SPANS = [KINDS.index(kind) for kind in ("span", "tool_call", "turn")]
"""The kinds of records that are spans, where a wire has "span"."""
_MULTIPLIER = 0x9E3779B97F4A7C15
_BACK, _EITHER = 1, 2
"""Sides of a connection: a request of the other side and the answer to it, and an answer to either."""


class CallIds:
    """Tells copies of the calls and answers of a format from new ones, by the ids of calls.

    An id names one call, which is asked and answered once: what comes again is a copy. Where ids start over with each
    connection (``Format.ids_restart``), an id that was answered, or that another file has, names a new call when it is
    asked again; only the same request of a call that still waits is a copy. Each side of a connection has ids of its
    own there. What ``MOST`` has no room for is new.
    """

    def __init__(self, restart: bool) -> None:
        self.restart = restart
        self._once: set[int] = set()  # calls and answers
        self._last: dict[int, tuple[int, ...]] = {}  # id -> calls before, when asked (0: answered), its file and words
        self._asked = 0

    def take(self, ids: Any, asks: Any, words: Any, sides: Any, file: int) -> tuple[NDArray[np.bool_], Any]:
        """Returns which of these calls and answers are new, and the numbers of their calls, 0 for no id. words: the
        numbers of what is asked; sides: 0, _BACK or _EITHER."""
        if not self.restart:
            once = self._once
            add: Any = once.add if len(once) < MOST else once.discard
            keys = np.where(asks, ids, ids ^ np.uint64(_MULTIPLIER)).tolist()
            return np.array([key not in once and add(key) is None for key in keys], bool) | (ids == 0), ids
        new, numbers, known = np.ones(len(ids), bool), ids.copy(), self._last
        rows = zip(ids.tolist(), asks.tolist(), words.tolist(), sides.tolist(), strict=True)
        for row, (call, asked, said, side) in enumerate(rows):
            if not call:
                continue
            other, none = call ^ _MULTIPLIER, (0, -1, file, said)
            if side == _BACK or (side == _EITHER and known.get(other, none)[1] > max(0, known.get(call, none)[1])):
                call = other
            times, since, place, before = known.get(call, none)
            if asked:
                new[row] = since <= 0 or (place, before) != (file, said)
                times += since == 0 or place != file
                self._asked += 1
                since, place, before = self._asked, file, said
            numbers[row] = (call + times * _MULTIPLIER) % (1 << 64)
            if call in known or len(known) < MOST:
                known[call] = times, since if asked else min(since, 0), place, before
        return new, numbers


class CallsWithoutIds:
    """Calls without an id that wait for their results, in their order, at most ``MOST``: a result with the name of a
    tool answers the first one of it, one without a name the first of all."""

    def __init__(self) -> None:
        self._order: deque[list[Any]] = deque()  # cells that are emptied when the call is answered
        self._of: dict[Any, deque[list[Any]]] = defaultdict(deque)

    def ask(self, tool: Any, call: Any) -> None:
        """A call of a tool."""
        cell = [call]
        for queue in (self._order, self._of[tool]):
            while queue and not queue[0]:
                queue.popleft()
            if len(queue) < MOST:
                queue.append(cell)

    def answered(self, tool: Any) -> Any:
        """The call that a result answers, and None for none. tool: that of the result, or None."""
        queue = self._order if tool is None else self._of[tool]
        while queue:
            if cell := queue.popleft():
                return cell.pop()
        return None


class CallRows(NamedTuple):
    """New calls with an id, and answers to them: the rows of their records, the numbers of calls and of the names of
    tools (0 for none), which are answers, which stand in one record with what they answer, or with their answer, and
    the rows of the counts of tools."""

    rows: NDArray[np.int64]
    calls: NDArray[np.uint64]
    tools: NDArray[np.uint64]
    results: NDArray[np.bool_]
    together: NDArray[np.bool_]
    counted: NDArray[np.int64]


class Calls:
    """Takes the records of formats in batches with the columns of calls. A call that is written again counts once, and
    so does its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], int] = {}  # wire and tool -> the row of its counts
        self._counts: list[list[int]] = []  # calls, answered, failed
        self._names: list[int] = []  # the numbers of the names of tools
        self.latencies: dict[int, Any] = {}  # row of counts -> how long answers took, where that is measured
        self._ids: dict[str, CallIds] = {}
        self._open: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> a call that waits -> its tool
        self._unnamed: dict[str, CallsWithoutIds] = defaultdict(CallsWithoutIds)
        self._made: dict[str, set[int]] = defaultdict(set)  # wire -> calls of which only their results tell
        self._parents: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> span -> its parent, 0 for none
        self.further: list[tuple[NDArray[np.int64], list[str]]] = []  # rows taken last, and tools behind a first

    def take(self, wire: FormatWire, columns: TextColumns, mine: NDArray[np.bool_]) -> CallRows:
        """Adds the records of a format in a batch."""
        batch, table = columns.batch, wire.table
        if any(layout.kind == "span" for layout in table.layouts):
            known = self._parents[wire.name]
            spans = np.flatnonzero(mine & np.isin(batch.codes("kind"), _SPANS) & batch.valid("id"))[: MOST - len(known)]
            span, parent = columns["id"].numbers[spans], ids_of(columns["parent"])[spans]
            known |= zip(span.tolist(), parent.tolist(), strict=True)
        counts = np.isin(batch.codes("kind"), [KINDS.index(one) for one in ("usage", "total")])
        rows = np.flatnonzero(mine & (batch.valid("tool") | batch.valid("call_id")) & ~counts)
        kinds, (names, codes) = batch.codes("kind")[rows], columns["tool"].coded()
        asks, answers, of_tools, back, errors = (
            np.isin(kinds, [KINDS.index(one) for one in several])
            for several in (table.asks, table.answers, _OF_TOOLS, table.back[1], ("error",))
        )
        rules, in_messages, plain = _rules(wire.name)
        bare, ids = codes[rows] < 0, ids_of(columns["call_id"])[rows]
        results = answers | (bare & ~asks)
        single = (batch["calls"][rows] == 1) & (batch["tools"][rows] < 2) & (ids != 0) & (of_tools | (not in_messages))
        tools = np.array([self._number(wire.name, name) for name in (*names, None)])[codes[rows]]
        failed = (batch.valid("error") | (batch.valid("failed") & batch["failed"].astype(bool)))[rows]
        of_tools |= in_messages | ~(bare & (asks | answers))  # the calls in messages are of tools
        found = np.stack([np.arange(len(rows)), ids.view(np.int64), tools, failed, results, of_tools], 1)
        if len(several := np.flatnonzero(~(plain & single)) if rules else rows[:0]):
            parts = self._parts(wire.name, rules, found[several], batch.raws(rows[several]))
            said = np.unique(parts[:, [0, 2]], axis=0)
            said = said[(said[:, 1] != tools[said[:, 0]]) & (said[:, 1] != self._number(wire.name, None))]
            names_of = [tool for _, tool in self._tools]
            self.further.append((rows[said[:, 0]], [names_of[number] for number in said[:, 1].tolist()]))
            found = np.concatenate([np.delete(found, several, 0), parts])
            found = found[np.argsort(found[:, 0], kind="stable")]
        # A result with an id and a tool says that this call was made; where its call is there, this is a copy.
        made = np.flatnonzero(found[:, [1, 4]].all(1) & (found[:, 2] != self._number(wire.name, None)))
        found, made = np.insert(found, made, found[made] * (1, 1, 1, 0, 0, 1), 0), made + np.arange(len(made))
        places, tools, results = found[:, 0], found[:, 2], found[:, 4] != 0
        words, sides = tools, np.zeros(len(found), np.int64)
        if table.ids_restart:
            subjects, said = columns["subject"].coded()
            asked = np.isin(said[rows], [subjects.index(one) for one in table.back[0] if one in subjects])
            sides = np.where(asks, asked, back) + np.where(asks, 0, _EITHER * errors)
            words, sides = mixed(columns["subject"].numbers[rows[places]], tools), sides[places]
        ids, origins = found[:, 1].view(np.uint64), columns["origin"].numbers[rows[places]]
        ids = np.where((ids != 0) & (origins != 0), mixed(ids, origins), ids)  # counted anew in each session, perhaps
        calls = self._ids.setdefault(wire.name, CallIds(table.ids_restart))
        new, numbers = calls.take(ids, ~results, words, sides, number_of(batch.file))
        self._count(wire.name, *(column[(new | results) & (found[:, 5] != 0)] for column in (numbers, *found.T[2:5])))
        only = self._made[wire.name]  # their calls are no copies of them
        for row in np.flatnonzero(~(new | results)).tolist() if only else ():
            new[row] = int(numbers[row]) in only
            only.discard(int(numbers[row]))
        only.update(numbers[made[new[made]]].tolist() if len(only) < MOST else ())
        new[made] = False
        new &= ids != 0
        places, numbers, results = places[new], numbers[new], results[new]
        together = np.zeros(len(places), bool)
        if len(several):
            _, which, times = np.unique(mixed(places, numbers), return_inverse=True, return_counts=True)
            together = times[which] > 1
        counted = tools[new]
        return CallRows(rows[places], numbers, np.array(self._names, np.uint64)[counted], results, together, counted)

    def _number(self, wire: str, tool: str | None) -> int:
        """The row of a tool in the counts."""
        number = self._tools.setdefault((wire, tool or ""), len(self._tools))
        if number == len(self._counts):
            self._counts.append([0, 0, 0])
            self._names.append(number_of(tool))
        return number

    def _parts(self, wire: str, rules: Any, found: Any, raws: Any) -> NDArray[np.int64]:
        """The calls and results in records, each with the place of its record; where a record does not say which, it is
        one itself, and a span of a tool is its own result."""
        told: list[tuple[int, bool, Any, Any, Any]] = []
        for row, raw in enumerate(raws):
            _add_calls(told, row, msgspec.json.decode(raw), rules)
        rows, results, *texts, failed = zip(*told, strict=True) if told else ((),) * 5
        calls, tools = ([one if type(one) is str else id_of(one) or "" for one in column] for column in texts)
        known = {tool: self._number(wire, tool) for tool in {*tools}}
        numbers, places = numbers_of(calls).view(np.int64), np.array(rows, np.int64)
        alone = np.bincount(places, minlength=len(found)) == 1
        numbers = np.where((numbers == 0) & alone[places], found[places, 1], numbers)
        columns = ([*map(known.__getitem__, tools)], [one not in _GOOD for one in failed], results)
        parts = np.column_stack([found[places, 0], numbers, *columns, np.ones(len(places), np.int64)])
        return np.concatenate([parts.astype(np.int64), np.delete(found, places, 0)])

    def _count(self, wire: str, calls: Any, tools: Any, failed: Any, results: Any) -> None:
        """Counts calls of tools and their results, in their order."""
        known, unnamed, nameless = self._open[wire], self._unnamed[wire], self._number(wire, None)
        columns = (column.tolist() for column in (calls, tools, failed, results))
        for call, tool, bad, result in zip(*columns, strict=True):
            if not result:
                self._counts[tool][0] += 1
                self._counts[tool][2] += bad
                if not call:
                    unnamed.ask(tool, tool)
                elif len(known) < MOST:
                    known[call] = tool
                continue
            of = known.pop(call, None) if call else unnamed.answered(None if tool == nameless else tool)
            if of is not None:
                self._counts[of][1] += 1
                self._counts[of][2] += bad

    def rows(self, most: int) -> Iterator[dict[str, Any]]:
        """A row for each tool, those with the most failed calls first, and one for the trees of each wire."""
        counts = {tool: self._counts[row] for tool, row in self._tools.items() if self._counts[row][0]}
        order = sorted(counts.items(), key=lambda one: (-one[1][2], -one[1][0], one[0]))
        for (wire, tool), (calls, answered, failed) in order[:most]:
            sums = {"calls": calls, "answered": answered, "failed": failed}
            took, shares = self.latencies.get(self._tools[wire, tool]), (("p50", 0.5), ("p95", 0.95))
            seconds = {name: None if took is None else took.quantile(share) / 1e6 for name, share in shares}
            yield {"stat": "tool", "wire": wire, "tool": tool or None, **sums, **seconds}
        for wire, parents in sorted(self._parents.items()):
            if parents:
                yield {"stat": "tree", "wire": wire, **_tree(parents)}


_PARTS = ("call", "result")
_OF_TOOLS = ("tool_call", "tool_result", "error")
"""The kinds of records that make or answer a call of a tool, and no other request."""
_GOOD = (None, False, "ok", "success")
"""The values that say that a call did not fail."""
_Message = tuple[MessageRule, list[tuple[str, list[tuple[PartRule, tuple[str, str, str], bool]]]]]
"""A rule with its parts by place: each with its paths, and whether these are names of members."""


@lru_cache(64)
def _rules(wire: str) -> tuple[list[tuple[str, list[_Message]]], bool, bool]:
    """The rules for the calls and results in a record and in its messages, by where these are; whether there are some
    for messages; and whether the columns say all of a record without messages and with one id."""
    table = registry.formats()[wire].table
    ids = {source.path for layout in table.layouts for source in sources_of(layout.columns.get("call_id", ()))}
    rules = [MessageRule("", table.parts), *table.messages] if table.asks else []  # a span of a call has its result
    told: dict[str, list[_Message]] = {}
    for rule in rules:
        places = dict.fromkeys(part.at for part in rule.parts if part.kind in _PARTS)
        if parts := [(at, [_paths(part) for part in rule.parts if part.at == at]) for at in places]:
            told.setdefault(rule.at, []).append((rule, parts))
    paths = ["/".join(filter(None, (part.at, part.id))) for part in table.parts if part.kind in _PARTS and part.id]
    return list(told.items()), any(told), not rules or ids.issuperset(paths)


def _paths(part: PartRule) -> tuple[PartRule, tuple[str, str, str], bool]:
    paths = part.id, part.name, part.failed
    return part, paths, not any(mark in path for path in paths for mark in "/[{")


def _add_calls(found: list[Any], row: int, fields: Any, rules: list[tuple[str, list[_Message]]]) -> None:
    """Appends (row, is a result, call id, tool, failure value) for each call and result in an object."""
    for at, several in rules:
        several = [one for one in several if not one[0].unless or _fits(fields, one[0].unless, None)]
        for message in _values_at(fields, at) if several else ():
            told = next((places for rule, places in several if _fits(message, "", rule.when)), ())
            for where, parts in told:
                here = [one for one in parts if _fits(message, one[0].unless, one[0].when)]
                for value in _values_at(message, where) if here else ():
                    if type(value) is not dict:
                        continue
                    word = value.get("type")
                    word = word if type(word) is str else value.get("kind")
                    for part, paths, flat in here:
                        if not part.types or word in part.types:
                            if part.kind in _PARTS:
                                said = map(value.get, paths) if flat else (_last(value, path) for path in paths)
                                found.append((row, part.kind == "result", *said))
                            break


def _values_at(fields: Any, path: str) -> list[Any]:
    """The values at a path of an object: of all items, where "*" stands in it."""
    if "[" in path or "{" in path:
        return [value for _, value in Reader().values(fields, path)]
    found = [fields]
    for step in steps_of(path):
        if step == "*":
            found = [item for value in found if type(value) is list for item in value]
        else:
            found = [value[step] for value in found if type(value) is dict and step in value]
    return found


def _last(value: dict[str, Any], path: str) -> Any:
    return [None, *_values_at(value, path)][-1] if path else None


def _fits(fields: Any, unless: str, when: tuple[str, str] | None) -> bool:
    if unless and any(value not in (None, [], "") for value in _values_at(fields, unless)):
        return False
    return when is None or when[1] in _values_at(fields, when[0])


def _tree(parents: dict[int, int]) -> dict[str, int]:
    """Of spans and their parents: how many, which have none, whose parents are not there, and how deep they go."""
    depths: dict[int, int] = {}
    for span in parents:
        path = []
        while span in parents and span not in depths:
            path.append(span)
            depths[span] = 0  # of a circle, which has no root
            span = parents[span]
        depth = depths.get(span, 0)
        for number, one in enumerate(reversed(path), depth + 1):
            depths[one] = number
    roots = sum(not parent for parent in parents.values())
    orphans = sum(1 for parent in parents.values() if parent and parent not in parents)
    return {"spans": len(parents), "roots": roots, "orphans": orphans, "deepest": max(depths.values(), default=0)}


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
        self._core = core.Pairing(_compiled(rule), rule.all_at_once, rule.any_ends, room)

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


@lru_cache(64)
def _compiled(rule: PairRule) -> tuple[Any, ...]:
    """The ways of a rule as the core takes them."""
    return tuple(
        (tuple(map(_numbered, way.ask)), _numbered(way.reply), way.others, way.names, way.unasking) for way in rule.ways
    )


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
            found = self.found | {(wire.name, rule.name): Pairing(rule, self._room) for rule in wire.pairs.rules}
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
            tables = [_table(rule, kind.names) for rule in self._wires[name].pairs.rules]
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
        bits, only = np.full(size, FINAL | ASKS, np.uint8), np.full(size, 255, np.uint8)
        of_parts = bits, kinds, _OF_PARTS, only, times, timed.view(np.uint8), keys.view(np.int64)
        pairing = self.found[wire.name, wire.pairs.rules[0].name]
        asked, settled = pairing.take(np.arange(size), (nothing,) * (len(FIELDS) - 2), told.calls, nothing, *of_parts)
        for tool, took in by_key(settled) if tags is None else ():
            self.calls.latencies.setdefault(tool, Latencies()).add(took)
        yield asked, settled

    def _take(
        self, name: str, tables: list[NDArray[np.uint8]], columns: TextColumns, rows: Any, tags: Any
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        wire, batch, kinds = self._wires[name], columns.batch, columns.kinds
        rules = wire.pairs.rules
        by_subject = any(way.subject for rule in rules for way in rule.ways)
        used = {field for rule in rules for way in rule.ways for key in (*way.ask, way.reply) for field in key.fields}
        asking = np.logical_or.reduce([table[1] != 0 for table in tables])[kinds[rows]] if "id" in used else None
        tasks, own, bits = _work(wire.pairs.work, batch, rows, asking)
        fields = [columns[field].numbers for field in FIELDS[:3]]
        fields += [  # any other stands in for one that no key has
            _folded(columns[field.removeprefix("folded ")]) if field in used else fields[0] for field in FIELDS[5:]
        ]
        times, timed = columns.times
        tags = np.zeros(len(batch), np.uint64) if tags is None else tags
        subjects = _subjects(batch, rows) if by_subject else CodedColumn([], np.full(len(batch), ABSENT))
        for rule, table in zip(rules, tables, strict=True):
            told = bits, kinds, table, _ways(rule, subjects), times, timed.view(np.uint8), tags.view(np.int64)
            yield self.found[name, rule.name].take(rows, tuple(fields), tasks, own, *told)


def _work(
    read: Callable[[bytes], Work | None] | None, batch: Batch, rows: Any, asking: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint8]]:
    """The numbers of the tasks that records name and of their own ids (of those alone that ask), and the bits of what
    they say of the task. What the columns do not tell, the wire itself reads."""
    tasks = np.zeros(len(rows), np.uint64)
    if read is None:
        return tasks, tasks, np.full(len(rows), FINAL | ASKS, np.uint8)
    ids, bits = tasks.copy(), np.zeros(len(rows), np.uint8)
    if _WORK[2] in batch.names:
        bits = batch[_WORK[2]][rows]
        bits[batch[_WORK[0]].escaped[rows]] = 0
        tasks = _filled(batch, _WORK[0], rows, rows)
        ids = ids if asking is None else _filled(batch, _WORK[1], rows, rows[asking])
    untold = np.flatnonzero(bits & TOLD == 0)
    for row, raw in zip(untold.tolist(), batch.raws(rows[untold]), strict=True):
        found = read(raw) or Work()
        tasks[row], ids[row] = (number_of(None if one is None else named(one)) for one in (found.task, found.id))
        bits[row] = FINAL * found.final | ASKS * found.asks
    return tasks, ids, bits


def _filled(batch: Batch, name: str, rows: Any, asked: Any) -> NDArray[np.uint64]:
    """The numbers of the texts of a column in these records; 0 for an empty one, and one that is not asked for."""
    wanted = np.zeros(len(batch), np.bool_)
    wanted[asked] = batch[name].lengths[asked] > 0
    numbers: NDArray[np.uint64] = texts(batch, name, wanted).numbers[rows]
    return numbers


def _folded(column: Texts) -> NDArray[np.uint64]:
    """The numbers of names as they are compared without case."""
    names, codes = column.coded()
    numbers = np.array([*(number_of(folded(name)) for name in names), 0], np.uint64)
    found: NDArray[np.uint64] = numbers[codes]  # code -1 picks the last
    return found


def _subjects(batch: Any, rows: Any) -> CodedColumn:
    """The subjects of these records."""
    wanted = np.zeros(len(batch), np.bool_)
    wanted[rows] = True
    return texts(batch, "subject", wanted).coded()


def _ways(rule: PairRule, subjects: CodedColumn) -> NDArray[np.uint8]:
    """The ways of a rule in which each record may answer by its subject, as bits."""
    names = *subjects.names, ""
    found = [sum(1 << n for n, way in enumerate(rule.ways) if name.startswith(way.subject)) for name in names]
    ways: NDArray[np.uint8] = np.array(found, np.uint8)[subjects.codes]  # code -1 picks the last
    return ways
