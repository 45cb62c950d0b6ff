"""Tool calls and span trees in the formats of real traffic: the failed calls of each tool, and the spans with known
parents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FormatWire
from turnwire.formats.parts import PartRule, parts_of
from turnwire.formats.table import KINDS, sources_of
from turnwire.json.text import read_object
from turnwire.read.coding import TextColumns, mixed, named, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


COLUMNS = ("id", "parent", "tool", "call_id", "calls", "error", "failed")
"""The columns that are read, beside those of ``turnwire.read.grouping``."""
MOST = 1 << 18
"""Calls, and spans of a wire, that are remembered: results of further calls, and further spans, are not counted."""
_SPANS = [KINDS.index(kind) for kind in ("span", "tool_call")]
"""The kinds of records that are spans, where a wire has "span"."""


class Calls:
    """Takes batches of a scan with ``COLUMNS``. A call that is written again counts once, and so does its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], int] = {}  # wire and tool -> the row of its counts
        self._counts = np.zeros((0, 3), np.int64)  # calls, answered, failed
        self._open: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> call -> its tool, -1 when it has its result
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
            trace, span, parent = (columns[name].numbers[spans] for name in ("conversation", "id", "parent"))
            parents = np.where(columns["parent"].lengths[spans] > 0, mixed(trace, parent), np.uint64(0))
            known |= zip(mixed(trace, span).tolist(), parents.tolist(), strict=True)
        rows = np.flatnonzero(mine & (batch.valid("tool") | batch.valid("call_id")))
        ids, (names, codes) = columns["call_id"].numbers[rows], columns["tool"].coded()
        tools = np.array([self._number(wire.name, name) for name in (*names, None)])[codes[rows]]
        failed = (batch.valid("error") | (batch.valid("failed") & batch["failed"].astype(bool)))[rows]
        answers = [KINDS.index(kind) for kind in wire.table.answers]
        results = (codes[rows] < 0) | np.isin(batch.codes("kind")[rows], answers)
        rules, plain = _rules(wire.name)
        one = np.full(len(rows), not rules) | (plain & (batch["calls"][rows] == 1) & (ids != 0))
        found = np.stack([ids.view(np.int64), tools, failed, results], 1)
        several = np.flatnonzero(~one)
        if len(several):
            parts = [*self._parts(wire.name, several, batch.raws(rows[several]), found[several].tolist(), rules)]
            every = np.concatenate([np.column_stack([np.flatnonzero(one), found[one]]), np.array(parts, np.int64)])
            found = every[np.argsort(every[:, 0], kind="stable"), 1:]
        self._counts = np.pad(self._counts, ((0, len(self._tools) - len(self._counts)), (0, 0)))
        self._add(wire.name, *found.T)

    def _number(self, wire: str, tool: str | None) -> int:
        """The row of a tool in the counts."""
        return self._tools.setdefault((wire, tool or ""), len(self._tools))

    def _parts(self, wire: str, places: Any, raws: Any, found: Any, rules: Any) -> Iterator[tuple[int, ...]]:
        """The calls and results in records, several in some, each with the place of its record; where a record does
        not say which, it is one itself, and a span of a tool is its own result."""
        for place, raw, row in zip(places.tolist(), raws, found, strict=True):
            fields = read_object(raw, wire)
            parts = [part for part in parts_of(fields, rules) if part.kind in _PARTS] if fields else []
            for part in parts:
                number = number_of(part.id and named(part.id))
                signed = number - (number >> 63 << 64)  # as the column of ids has it
                yield place, signed or row[0], self._number(wire, part.name), part.failed, part.kind == "result"
            if not parts:
                yield place, *row

    def _add(self, wire: str, ids: Any, tools: Any, failed: Any, results: Any) -> None:
        """Counts calls and results, in their order."""
        known = self._open[wire]
        rows = np.flatnonzero((results == 0) & (ids != 0))
        new, first = np.unique(ids[rows], return_index=True)
        fresh = np.array([call not in known for call in new.tolist()], bool)
        new, first = new[fresh], rows[first[fresh]]
        known |= zip(new[: MOST - len(known)].tolist(), tools[first].tolist(), strict=False)
        for counted in (first, np.flatnonzero((results == 0) & (ids == 0))):
            np.add.at(self._counts[:, 0], tools[counted], 1)
            np.add.at(self._counts[:, 2], tools[counted], failed[counted])
        rows = np.flatnonzero((results != 0) & (ids != 0))
        begun = dict(zip(new.tolist(), first.tolist(), strict=True))
        rows = rows[np.array([begun.get(call, -1) for call in ids[rows].tolist()], np.int64) < rows]
        calls, first = np.unique(ids[rows], return_index=True)
        tool = np.array([known.get(call, -1) for call in calls.tolist()], np.int64)
        np.add.at(self._counts[:, 1], tool[tool >= 0], 1)
        np.add.at(self._counts[:, 2], tool[tool >= 0], failed[rows[first]][tool >= 0])
        known |= dict.fromkeys(calls[tool >= 0].tolist(), -1)

    def rows(self, most: int) -> Iterator[dict[str, Any]]:
        """A row for each tool, those with the most failed calls first, and one for the trees of each wire."""
        counts = {tool: self._counts[row].tolist() for tool, row in self._tools.items() if self._counts[row, 0]}
        order = sorted(counts.items(), key=lambda one: (-one[1][2], -one[1][0], one[0]))
        for (wire, tool), (calls, answered, failed) in order[:most]:
            sums = {"calls": calls, "answered": answered, "failed": failed}
            yield {"stat": "tool", "wire": wire, "tool": tool or None, **sums}
        for wire, parents in self._parents.items():
            if parents:
                yield {"stat": "tree", "wire": wire, **_tree(parents)}


_PARTS = ("call", "result")


@lru_cache(64)
def _rules(wire: str) -> tuple[tuple[PartRule, ...], bool]:
    """The rules for calls and results, and whether the columns say all of a record with one id."""
    table = registry.formats()[wire].table
    places = {rule.at for rule in table.parts if rule.kind in _PARTS}
    rules = tuple(rule._replace(text="", arguments=()) for rule in table.parts if rule.at in places)
    ids = {source.path for layout in table.layouts for source in sources_of(layout.columns.get("call_id", ()))}
    plain = all("/".join(filter(None, (rule.at, rule.id))) in ids for rule in rules if rule.id)
    return rules, plain


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
