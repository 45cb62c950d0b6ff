"""Tool calls and span trees in the formats of real traffic: the failed calls of each tool, and the spans with known
parents."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FormatWire
from turnwire.formats.parts import MessageRule, PartRule, Reader, messages_of, parts_of
from turnwire.formats.table import KINDS, sources_of
from turnwire.json.text import read_object
from turnwire.read.coding import TextColumns, ids_of, named, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


COLUMNS = ("id", "parent", "tool", "call_id", "calls", "tools", "error", "failed", "origin")
"""The columns that are read, beside those of ``turnwire.read.grouping``."""
MOST = 1 << 18
"""Calls, and spans of a wire, that are remembered: results of further calls, and further spans, are not counted."""
_SPANS = [KINDS.index(kind) for kind in ("span", "tool_call")]
"""The kinds of records that are spans, where a wire has "span"."""


class CallIds:
    """Tells copies of the calls and answers of a format from new ones, by the ids of calls.

    An id names one call, which is asked and answered once: what comes again is a copy. Where ids start over with each
    connection (``Format.ids_restart``), an id that was answered, or that another file has, names a new call when it is
    asked again; only the same request of a call that still waits is a copy. What ``MOST`` has no room for is new.
    """

    def __init__(self, restart: bool) -> None:
        self.restart = restart
        self._once: set[int] = set()  # calls and answers
        self._last: dict[int, tuple[int, ...]] = {}  # id -> calls before, 1 asked or 2 answered, its file and words

    def take(self, ids: Any, asks: Any, words: Any, file: int) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Returns which of these calls and answers are new, and the numbers of their calls, 0 for no id. words: the
        numbers of what is asked."""
        if not self.restart:
            once = self._once
            add: Any = once.add if len(once) < MOST else once.discard
            keys = np.where(asks, ids, ids ^ np.uint64(_ODD)).tolist()
            return np.array([key not in once and add(key) is None for key in keys], bool) | (ids == 0), ids
        new, numbers, known = np.ones(len(ids), bool), ids.copy(), self._last
        for row, (call, asked, said) in enumerate(zip(ids.tolist(), asks.tolist(), words.tolist(), strict=True)):
            times, state, place, before = known.get(call, (0, 0, file, said))
            if asked:
                new[row] = not call or (state, place, before) != (1, file, said)
                times += state > 1 or place != file
                state, place, before = 1, file, said
            elif state:
                state = 2
            numbers[row] = call and (call + times * _ODD) % (1 << 64)
            if call and (call in known or len(known) < MOST):
                known[call] = times, state, place, before
        return new, numbers


_ODD = 0x9E3779B97F4A7C15


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


class Calls:
    """Takes batches of a scan with ``COLUMNS``. A call that is written again counts once, and so does its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], int] = {}  # wire and tool -> the row of its counts
        self._counts: list[list[int]] = []  # calls, answered, failed
        self._ids: dict[str, CallIds] = {}
        self._open: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> a call that waits -> its tool
        self._unnamed: dict[str, Unnamed] = defaultdict(Unnamed)
        self._parents: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> span -> its parent, 0 for none

    def take(self, columns: TextColumns) -> None:
        """Adds the records of a batch."""
        names, wires = registry.codes(), columns.batch.codes("wire")
        for code in np.flatnonzero(np.bincount(wires)).tolist():
            wire = registry.wire(names[code])
            if isinstance(wire, FormatWire):
                self._of_wire(wire, columns, wires == code)

    def _of_wire(self, wire: FormatWire, columns: TextColumns, mine: NDArray[np.bool_]) -> None:
        batch = columns.batch
        if any(layout.kind == "span" for layout in wire.table.layouts):
            known = self._parents[wire.name]
            spans = np.flatnonzero(mine & np.isin(batch.codes("kind"), _SPANS) & batch.valid("id"))[: MOST - len(known)]
            span, parent = columns["id"].numbers[spans], ids_of(columns["parent"])[spans]
            known |= zip(span.tolist(), parent.tolist(), strict=True)
        kinds, (names, codes), table = batch.codes("kind"), columns["tool"].coded(), wire.table
        asks, answers, of_tools, counts = (
            np.isin(kinds, [KINDS.index(one) for one in several])
            for several in (table.asks, table.answers, _OF_TOOLS, ("usage",))
        )
        rules, told, plain = _rules(wire.name)
        apart, called = (asks | answers) & ~of_tools & (codes < 0), batch.valid("tool") | batch.valid("call_id")
        apart &= not told  # the calls in messages are of tools
        rows = np.flatnonzero(mine & called & ~apart & ~counts)
        ids, results = ids_of(columns["call_id"])[rows], (answers | ((codes < 0) & ~asks))[rows]
        tools = np.array([self._number(wire.name, name) for name in (*names, None)])[codes[rows]]
        failed = (batch.valid("error") | (batch.valid("failed") & batch["failed"].astype(bool)))[rows]
        single = (batch["calls"][rows] == 1) & (batch["tools"][rows] < 2) & (ids != 0) & (of_tools[rows] | (not told))
        one = np.full(len(rows), not (rules or told)) | (plain & single)
        found = np.stack([ids.view(np.int64), tools, failed, results], 1)
        several = np.flatnonzero(~one)
        if len(several):
            parts = [*self._parts(wire.name, several, batch.raws(rows[several]), found[several].tolist())]
            every = np.concatenate([np.column_stack([np.flatnonzero(one), found[one]]), np.array(parts, np.int64)])
            found = every[np.argsort(every[:, 0], kind="stable"), 1:]
        # A result with an id and a tool says that this call was made; where its call is there, this is a copy.
        made = np.flatnonzero(found[:, [0, 3]].all(1) & (found[:, 1] != self._number(wire.name, None)))
        found = np.insert(found, made, found[made] * (1, 1, 0, 0), 0)
        self._add(wire, number_of(batch.file), *found.T)

    def _number(self, wire: str, tool: str | None) -> int:
        """The row of a tool in the counts."""
        number = self._tools.setdefault((wire, tool or ""), len(self._tools))
        self._counts += [[0, 0, 0]] * (number == len(self._counts))
        return number

    def _parts(self, wire: str, places: Any, raws: Any, found: Any) -> Iterator[tuple[int, ...]]:
        """The calls and results in records, several in some, each with the place of its record; where a record does
        not say which, it is one itself, and a span of a tool is its own result."""
        rules, told, _ = _rules(wire)
        for place, raw, row in zip(places.tolist(), raws, found, strict=True):
            fields = read_object(raw, wire) or {}
            several = chain(parts_of(fields, rules), *(said.parts for said in messages_of(fields, told, Reader())))
            parts = [part for part in several if part.kind in _PARTS]
            for part in parts:
                number = number_of(part.id and named(part.id))
                number -= number >> 63 << 64  # as the column of ids has it
                number = number or (row[0] if len(parts) == 1 else 0)
                yield place, number, self._number(wire, part.name), part.failed, part.kind == "result"
            if not parts:
                yield place, *row

    def _add(self, wire: FormatWire, file: int, ids: Any, tools: Any, failed: Any, results: Any) -> None:
        """Counts calls and results, in their order."""
        known, unnamed = self._open[wire.name], self._unnamed[wire.name]
        calls = self._ids.setdefault(wire.name, CallIds(wire.table.ids_restart))
        new, numbers = calls.take(ids.view(np.uint64), results == 0, tools, file)
        new |= results != 0  # each call takes only one of them, below
        nameless = self._number(wire.name, None)
        columns = (column[new].tolist() for column in (numbers, tools, failed, results))
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
            yield {"stat": "tool", "wire": wire, "tool": tool or None, **sums}
        for wire, parents in self._parents.items():
            if parents:
                yield {"stat": "tree", "wire": wire, **_tree(parents)}


_PARTS = ("call", "result")
_OF_TOOLS = ("tool_call", "tool_result", "error")
"""The kinds of records that make or answer a call of a tool, and no other request."""


@lru_cache(64)
def _rules(wire: str) -> tuple[tuple[PartRule, ...], tuple[MessageRule, ...], bool]:
    """The rules for calls and results, those for messages with such, and whether the columns say all of a record
    without messages and with one id."""
    table = registry.formats()[wire].table
    ids = {source.path for layout in table.layouts for source in sources_of(layout.columns.get("call_id", ()))}
    told = [
        rule._replace(parts=tuple(_brief(part) for part in rule.parts if part.kind in _PARTS))
        for rule in table.messages
        if any(_path(rule.at, part.at, part.id) in ids for part in rule.parts if part.kind in _PARTS)
    ]
    asked = table.parts if table.asks else ()  # a span of a call has its result
    places = {rule.at for rule in asked if rule.kind in _PARTS}
    rules = tuple(_brief(rule) for rule in asked if rule.at in places)
    paths = [_path(rule.at, rule.id) for rule in rules if rule.id]
    return rules, tuple(told) if table.asks else (), ids.issuperset(paths)


def _brief(rule: PartRule) -> PartRule:
    """The rule without what is costly to write; a result without a path of its text is written as JSON."""
    return rule._replace(text=rule.id if rule.kind == "result" else "", arguments=())


def _path(*parts: str) -> str:
    return "/".join(filter(None, parts))


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
