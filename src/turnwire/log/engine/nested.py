"""Lines of a block that belong together, among the rows and rejects of the block: see ``framing/assembly.py``.

What such lines say is searched like an input of its own (``assembly_texts.py``). Its records get rows among those of
the block, placed where they are written there; their texts are in the arena, behind what JSON strings said.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.engine.assembly_texts import Searched, alone, read_apart, read_together
from turnwire.log.engine.claims import BAD_TEXT, BETWEEN, CLAIMED, DOCUMENT, REFUSED, TEXT, Claims, empty_parts
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.framing.assembly import Assembly
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]

_FOR_THE_CORE = np.arange(BAD_TEXT + 1, dtype=np.int64)
_FOR_THE_CORE[[DOCUMENT, REFUSED, TEXT, BAD_TEXT]] = CLAIMED, BETWEEN, CLAIMED, BETWEEN


class Together:
    """The assemblies of a block around the claims of line wires.

    position: where the next block begins; found: the assemblies. numbers, once ``parts`` was called: for each part the
    number of its claim, or -1.
    """

    def __init__(self, search: Pass, position: int, found: list[Assembly]) -> None:
        self.search = search
        self.position = position
        self.found = found
        self.searched: list[Searched] = []
        self.newlines = np.flatnonzero(np.frombuffer(search.view, np.uint8) == ord("\n"))

    def scan(self) -> None:
        """Searches what the assemblies say."""
        self.searched = read_together(self.search, self.found)
        self.searched += read_apart(self.search, self.found, self._left())
        self.searched += [alone(self.search, self.found, number) for number in self._left()]

    def _left(self) -> list[int]:
        """The numbers of the assemblies that were not searched yet."""
        searched = {*chain.from_iterable(one.numbers.tolist() for one in self.searched)}
        return [number for number in range(len(self.found)) if number not in searched]

    def parts(self, found: Claims) -> Arrays:
        """The parts of the block for the core: rows are left open for the claims, and for what the assemblies hold."""
        starts, stops, what, numbers = self._segments(found)
        parts = empty_parts(len(starts), self.search.finder.csp.code)
        parts["start"][:], parts["stop"][:], parts["what"][:], self.numbers = starts, stops, what, numbers
        parts["line"][:-1] = self.search.line + self.newlines.searchsorted(starts)
        between = np.flatnonzero((what == BETWEEN) & (starts < stops))
        parts["line"][between + 1] = self.search.line + self.newlines.searchsorted(stops[between])
        claims = numbers >= 0
        parts["fault"][claims] = found.faults[numbers[claims]]
        parts["reason"][claims] = found.reasons[numbers[claims]]
        return parts

    def _segments(self, found: Claims) -> NDArray[np.int64]:
        """An array of four rows, with a column for each part: where it starts and stops, what it is, and the number of
        its claim or -1. The lines of an assembly are in no part: nobody else reads them."""
        openings = [place for one in self.searched for place in one.openings]
        lines = [span for one in self.found for span in one.spans]
        table = np.full((4, len(found.starts) + len(openings) + len(lines)), -1, np.int64)
        claims, rows, rest = np.split(table, (len(found.starts), len(found.starts) + len(openings)), axis=1)
        claims[:] = found.starts, found.stops, _FOR_THE_CORE[found.what], np.arange(len(found.starts))
        rows[0], rows[1], rows[2] = openings, openings, CLAIMED
        rest[:2], rest[2] = np.array(lines, np.int64).reshape(-1, 2).T, BETWEEN
        table = table[:, np.lexsort(table[1::-1])]
        starts, stops, what = table[:3]
        behind = np.maximum.accumulate(np.append(0, stops))  # in front of the first start nobody claims anything
        gap, kept = behind[:-1] < starts, what != BETWEEN
        last = behind[-1] < self.position  # of all, in which an object may be open
        at = np.cumsum(2 * gap + kept) - kept
        parts = np.full((4, int(np.sum(2 * gap + kept)) + last), -1, np.int64)
        parts[2] = BETWEEN
        # The core has the line behind a part where the next one has its own: an empty part keeps them apart.
        parts[0, at[gap] - 2], parts[1, at[gap] - 2] = behind[:-1][gap], starts[gap]
        parts[0, at[gap] - 1] = parts[1, at[gap] - 1] = starts[gap]
        parts[:, at[kept]] = table[:, kept]
        if last:
            parts[:2, -1] = behind[-1], self.position
        return parts

    def fill(self, rows: list[int]) -> None:
        """Fills the rows that were left open, in the order of the segments."""
        searched = [one for one in self.searched if len(one.rows)]
        if not searched:
            return
        opened = [(one.rows, one.numbers[one.of], np.array(one.openings, np.int64)) for one in searched]
        into = np.empty(len(rows), np.int64)
        into[np.lexsort([np.concatenate(keys) for keys in zip(*opened, strict=True)])] = rows
        arrays = self.search.space.arrays
        texts = [arrays.get("arena", b"")]
        end, first = self.search.size + len(texts[0]), 0
        for one in searched:
            one.copy(self.search, into[first : first + len(one.rows)], end, self.newlines)
            texts += one.inner.data, one.inner.space.arrays.get("arena", b"")
            end += len(texts[-2]) + len(texts[-1])
            first += len(one.rows)
        arrays["arena"] = b"".join(texts)

    def rejects(self) -> list[Arrays]:
        """What was damaged in the assemblies, as tables with columns like those of the block."""
        return [one.rejects(self.search, self.newlines) for one in self.searched if one.damaged]


def merged(tables: list[tuple[Arrays, int]], more: list[Arrays], offsets: Any) -> list[tuple[Arrays, int]]:
    """All rejects of a block in the order of their places; ``offsets``: those of its records."""
    whole = [{name: array[:count] for name, array in table.items()} for table, count in tables] + more
    if not more:
        return tables
    names = quarantine.table(0, mixed=True)
    table = {name: np.concatenate([one[name] for one in whole]) for name in names}
    order = np.argsort(table["offset"], kind="stable")
    table = {name: array[order] for name, array in table.items()}
    table["row"] = np.searchsorted(offsets, table["offset"])
    return [(table, len(order))]
