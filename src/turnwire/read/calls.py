"""Tool calls and span trees in the formats of real traffic: the calls and results in records, the failed calls of each
tool, and the spans with known parents."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from turnwire import registry
from turnwire.formats.parts import MessageRule, PartRule, Reader, id_of, steps_of
from turnwire.formats.table import KINDS, sources_of
from turnwire.read.coding import TextColumns, ids_of, mixed, number_of, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.contract import FormatWire


COLUMNS = ("id", "parent", "tool", "call_id", "calls", "tools", "error", "failed", "origin")
"""The columns that are read, beside those of ``turnwire.read.grouping``."""
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


class Unnamed:
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


class Told(NamedTuple):
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
    """Takes the records of formats in batches with ``COLUMNS``. A call that is written again counts once, and so does
    its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], int] = {}  # wire and tool -> the row of its counts
        self._counts: list[list[int]] = []  # calls, answered, failed
        self._names: list[int] = []  # the numbers of the names of tools
        self.latencies: dict[int, Any] = {}  # row of counts -> how long answers took, where that is measured
        self._ids: dict[str, CallIds] = {}
        self._open: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> a call that waits -> its tool
        self._unnamed: dict[str, Unnamed] = defaultdict(Unnamed)
        self._made: dict[str, set[int]] = defaultdict(set)  # wire -> calls of which only their results tell
        self._parents: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> span -> its parent, 0 for none
        self.further: list[tuple[NDArray[np.int64], list[str]]] = []  # rows taken last, and tools behind a first

    def take(self, wire: FormatWire, columns: TextColumns, mine: NDArray[np.bool_]) -> Told:
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
        return Told(rows[places], numbers, np.array(self._names, np.uint64)[counted], results, together, counted)

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
