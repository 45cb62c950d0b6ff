"""Lines of a block that belong together, searched as the text that they say: see ``finding/assembly.py``.

What such lines say is searched like an input of its own. Its records get rows among those of the block, and stand where
they are written there; their texts stand in the arena, behind what JSON strings said.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.engine.claims import BAD_TEXT, BETWEEN, CLAIMED, DOCUMENT, REFUSED, TEXT, Claims, empty_parts
from turnwire.log.input.reading import Block
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from turnwire.finding.assembly import Assembly
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]

_DOCKER = "docker"
_FOR_THE_CORE = {DOCUMENT: CLAIMED, REFUSED: BETWEEN, TEXT: CLAIMED, BAD_TEXT: BETWEEN}


class Together:
    """The assemblies of a block around the claims of line wires: ``position`` is where the next block begins."""

    def __init__(self, search: Pass, position: int, found: list[Assembly]) -> None:
        self.search = search
        self.position = position
        self.found = found
        self.results: list[Result] = []
        self._texts: list[bytes] = []  # what is added to the arena of the block
        self._end = 0  # where they end, counted from the start of the block

    def scan(self) -> None:
        """Searches what the assemblies say."""
        self.results = [Result(self.search, one) for one in self.found]

    def parts(self, found: Claims) -> Arrays:
        """The parts of the block for the core: rows are left open for the claims, and for what the assemblies hold."""
        segments = [
            (first, last, _FOR_THE_CORE.get(what, what), number)
            for number, (first, last, what, _, _) in enumerate(found.spans())
        ]
        for result in self.results:
            segments += result.segments()
        segments.sort(key=lambda segment: segment[:2])
        places: list[tuple[int, int, int, int]] = []  # start, stop, what, number of the claim or -1
        at = 0  # in front of ``start`` nobody claims anything
        for first, last, what, number in segments:
            if at < first:
                # The core has the line behind a part where the next one has its own: an empty part keeps them apart.
                places += [(at, first, BETWEEN, -1), (first, first, BETWEEN, -1)]
            if what != BETWEEN:
                places.append((first, last, what, number))
            at = max(at, last)
        if at < self.position:  # the last of all, in which an object may be open
            places.append((at, self.position, BETWEEN, -1))
        return self._table(places, found)

    def _table(self, places: list[tuple[int, int, int, int]], found: Claims) -> Arrays:
        parts = empty_parts(len(places), self.search.finder.csp.code)
        self.numbers = np.array([number for *_, number in places], np.int64)
        newlines = np.flatnonzero(np.frombuffer(self.search.view, np.uint8) == ord("\n"))
        for part, (first, last, what, number) in enumerate(places):
            parts["start"][part], parts["stop"][part], parts["what"][part] = first, last, what
            parts["line"][part] = self.search.line + int(newlines.searchsorted(first))
            if number >= 0:
                parts["fault"][part], parts["reason"][part] = found.faults[number], found.reasons[number]
        return parts

    def lines(self, parts: Arrays) -> None:
        """Says where the lines behind parts between claims are, as the core wants it."""
        view = self.search.view
        for part in np.flatnonzero((parts["what"] == BETWEEN) & (parts["start"] < parts["stop"])).tolist():
            first, last = int(parts["start"][part]), int(parts["stop"][part])
            parts["line"][part + 1] = parts["line"][part] + view[first:last].tobytes().count(b"\n")

    def fill(self, rows: list[int]) -> None:
        """Fills the rows that were left open, in the order of the segments."""
        ordered = sorted(
            (segment[0], number, row)
            for number, result in enumerate(self.results)
            for row, segment in enumerate(result.openings())
        )
        arrays = self.search.space.arrays
        self._texts = [arrays.get("arena", b"")]
        self._end = self.search.size + len(self._texts[0])
        moved: dict[int, int] = {}
        for (_, number, row), into in zip(ordered, rows, strict=True):
            if number not in moved:
                moved[number] = self._add(self.results[number])
            self.results[number].into(row, into, moved[number])
        if ordered:
            arrays["arena"] = b"".join(self._texts)

    def _add(self, result: Result) -> int:
        """Adds a text and its arena to those of the block; how far its places move."""
        shift = self._end
        texts = (result.assembly.text, result.inner.space.arrays.get("arena", b""))
        self._texts += texts
        self._end += sum(map(len, texts))
        return shift

    def rejects(self) -> list[Arrays]:
        """What was damaged in the assemblies, as tables with columns like those of the block."""
        return [table for result in self.results for table in result.rejects()]


class Result:
    """What one assembly holds."""

    def __init__(self, search: Pass, assembly: Assembly) -> None:
        self.search = search
        self.assembly = assembly
        block = Block(assembly.text, len(assembly.text), 0, True, True)
        self.inner = search.nested(block)
        self.rows, self.tables, _, _ = self.inner.run()

    def written(self, at: int) -> int:
        """Where a byte of the text is written in the block."""
        return self.assembly.written(at)

    def openings(self) -> list[tuple[int]]:
        """For each row, the line in the block before which it is left open."""
        starts = [first for first, _ in self.assembly.spans]
        offsets = self.inner.space.arrays["offset"][: self.rows].tolist()
        return [(starts[bisect_right(starts, self.written(at)) - 1],) for at in offsets]

    def segments(self) -> list[tuple[int, int, int, int]]:
        """The lines of the assembly, which nobody else reads, and an open row for each record in front of its line."""
        rows = [(start, start, CLAIMED, -1) for (start,) in self.openings()]
        return rows + [(first, last, BETWEEN, -1) for first, last in self.assembly.spans]

    def into(self, row: int, into: int, shift: int) -> None:
        """Copies a row to its place among those of the block; shift: how far places in the text move."""
        mine, arrays = self.inner.space.arrays, self.search.space.arrays
        for name, array in arrays.items():
            if name == "arena":
                continue
            value = mine[name][row]
            array[into] = value + shift if name.endswith(".offset") or name == "place" else value
        offset, length = int(mine["offset"][row]), int(mine["length"][row])
        first = self.written(offset)
        valid = self.search.finder.valid
        within = bool(int(mine["present"][row]) >> valid["inner"] & 1)
        if not within:
            arrays["length"][into] = self.assembly.written_end(offset + length) - first
        if self.assembly.kind == _DOCKER:
            first = self._in_string(offset, int(mine["inner"][row]) if within and "inner" in mine else 0, arrays, into)
        arrays["offset"][into] = self.search.base + first
        if "line" in arrays:
            arrays["line"][into] = self.search.line_of(first)
        timed = int(mine["present"][row]) >> valid["time"] & 1
        if "time" in arrays and not timed and self.assembly.time is not None:
            arrays["time"][into] = self.assembly.time
            arrays["present"][into] |= np.uint64(1 << valid["time"])

    def _in_string(self, offset: int, inner: int, arrays: Arrays, into: int) -> int:
        """The quote of the string of a line of Docker in which a record begins; its place there becomes ``inner``."""
        number = bisect_right(self.starts, offset) - 1
        if "inner" in arrays:
            arrays["inner"][into] = offset - self.starts[number] + inner
            arrays["present"][into] |= np.uint64(1 << self.search.finder.valid["inner"])
        return self.assembly.pieces[number].place - 1

    @cached_property
    def starts(self) -> list[int]:
        """Where the pieces begin in the text."""
        starts, size = [], 0
        for piece in self.assembly.pieces:
            starts.append(size)
            size += len(piece.text)
        return starts

    def rejects(self) -> list[Arrays]:
        """The damage in the assembly, in places of the block."""
        found = []
        for table, count in self.tables:
            moved = {name: array[:count].copy() for name, array in table.items()}
            for row in range(count):
                offset, length = int(moved["offset"][row]), int(moved["length"][row])
                first = self.written(offset)
                fault = min(max(int(moved["fault"][row]), 0), len(self.assembly.text))
                moved["offset"][row] = self.search.base + first
                moved["length"][row] = self.assembly.written_end(min(offset + length, len(self.assembly.text))) - first
                moved["fault"][row] = self.search.base + self.written(fault)
                moved["line"][row] = self.search.line_of(first)
                if self.assembly.kind == _DOCKER and moved["inner"][row] < 0:
                    moved["inner"][row] = offset - self.starts[bisect_right(self.starts, offset) - 1]
            found.append(moved)
        return found


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
