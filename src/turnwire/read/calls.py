"""Tool calls and span trees in the formats of real traffic: the failed calls of each tool, and the spans with known
parents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FormatWire
from turnwire.formats.parts import Part, PartRule, decoder, parts_of
from turnwire.formats.table import KINDS

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

COLUMNS = ("id", "parent", "tool", "call_id", "error", "failed")
"""The columns that are read, beside those of ``turnwire.read.grouping``."""
MOST = 1 << 18
"""Calls, and spans of a wire, that are remembered: results of further calls, and further spans, are not counted."""
_SPANS = [KINDS.index(kind) for kind in ("span", "tool_call")]
"""The kinds of records that are spans, where a wire has "span"."""


class Calls:
    """Takes batches of a scan with ``COLUMNS``. A call that is written again counts once, and so does its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._open: dict[int, tuple[str, str] | None] = {}  # call -> its tool; None: it has its result
        self._parents: dict[str, dict[int, int]] = defaultdict(dict)  # wire -> span -> its parent, 0 for none

    def take(self, batch: Batch) -> None:
        """Adds the records of a batch."""
        names = registry.codes()
        for code in np.unique(batch.codes("wire")).tolist():
            wire = registry.wire(names[code])
            if isinstance(wire, FormatWire):
                self._of_wire(wire, batch, batch.codes("wire") == code)

    def _of_wire(self, wire: Any, batch: Batch, mine: Any) -> None:
        if any(layout.kind == "span" for layout in wire.table.layouts):
            known = self._parents[wire.name]
            traces, ids, parents = (batch[name] for name in ("conversation", "id", "parent"))
            spans = np.flatnonzero(mine & np.isin(batch.codes("kind"), _SPANS) & batch.valid("id"))
            for row in spans[: MOST - len(known)].tolist():
                trace, parent = traces[row], parents[row]
                known[hash((trace, ids[row]))] = hash((trace, parent)) if parent else 0
        rows = np.flatnonzero(mine & (batch.valid("tool") | batch.valid("call_id")))
        tools, calls = batch["tool"], batch["call_id"]
        failed = batch.valid("error") | (batch.valid("failed") & batch["failed"].astype(bool))
        read, rules = _reader(wire.name)
        for row, raw in zip(rows.tolist(), batch.raws(rows), strict=True):
            parts = [one for one in parts_of(read(raw), rules) if one.kind in _PARTS]
            if not parts:  # the record is one call, or one result; a span of a tool is its own result
                tool = tools[row]
                kind = "result" if tool is None else "call"
                parts = [Part(kind, id=calls[row], name=tool, failed=bool(failed[row]))]
            for part in parts:
                self._add(wire.name, part if part.id is not None else part._replace(id=calls[row]))

    def _add(self, wire: str, part: Part) -> None:
        call = hash((wire, part.id))
        if part.kind == "result":
            tool = self._open.get(call)
            if tool is not None:
                self._open[call] = None
                self._tools[tool]["answered"] += 1
                self._tools[tool]["failed"] += part.failed
        elif part.id is None or call not in self._open:
            tool = wire, part.name or ""
            self._tools[tool]["calls"] += 1
            self._tools[tool]["failed"] += part.failed
            if part.id is not None and len(self._open) < MOST:
                self._open[call] = tool

    def rows(self, most: int) -> Iterator[dict[str, Any]]:
        """A row for each tool, those with the most failed calls first, and one for the trees of each wire."""
        order = sorted(self._tools.items(), key=lambda one: (-one[1]["failed"], -one[1]["calls"], one[0]))
        for (wire, tool), counts in order[:most]:
            sums = {name: counts[name] for name in ("calls", "answered", "failed")}
            yield {"stat": "tool", "wire": wire, "tool": tool or None, **sums}
        for wire, parents in self._parents.items():
            if parents:
                yield {"stat": "tree", "wire": wire, **_tree(parents)}


_PARTS = ("call", "result")


@lru_cache(64)
def _reader(wire: str) -> tuple[Callable[[bytes], Any], tuple[PartRule, ...]]:
    """A reader of a record's calls and results, and the rules for these."""
    table = registry.formats()[wire].table
    places = {rule.at for rule in table.parts if rule.kind in _PARTS}
    rules = tuple(rule._replace(text="", arguments=()) for rule in table.parts if rule.at in places)
    several = [(rule.at, name) for rule in rules for name in ("type", rule.id, rule.name, rule.failed) if name]
    several += [("", rule.when[0]) for rule in rules if rule.when is not None]
    return decoder({"/".join(filter(None, path)): Any for path in several}), rules


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
