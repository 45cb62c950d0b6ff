"""Lines of a block that belong together, searched as the text that they say: see ``finding/assembly.py``.

What such lines say is searched like an input of its own. Its records get rows among those of the block, and stand where
they are written there; their texts stand in the arena, behind what JSON strings said.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.finding.assembly import Assembly, find
from turnwire.finding.parts import LEAST_DOCKER
from turnwire.log.engine.claims import BAD_TEXT, BETWEEN, CLAIMED, DAMAGED, DOCUMENT, REFUSED, TEXT, Claims, empty_parts
from turnwire.log.input.reading import Block
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]

_heads = _backend.load("log.line_heads")
_DOCKER = "docker"
_FOR_THE_CORE = {DOCUMENT: CLAIMED, REFUSED: BETWEEN, TEXT: CLAIMED, BAD_TEXT: BETWEEN}
_LONGEST_INDENT = 4096
_INDENTED = re.compile(rb"[ \t]+CSP/1\r?\n")


def _first_long(view: memoryview, start: int, stop: int, least: int) -> int:
    """Where the first long line begins, or -1."""
    place: int = _heads.first_long(view, start, stop, least)
    return place


class Together:
    """The assemblies of a block around the claims of line wires: ``position`` is where the next block begins."""

    def __init__(self, search: Pass, found: Claims, start: int, wanted: bool, reach: int) -> None:
        """reach: up to where the claims of the whole block went, which may end now where something was open."""
        self.search = search
        self.reach = reach
        self.found: list[Assembly] = []
        self.position = found.position
        self.results: list[Result] = []
        if wanted:
            self._find(found, start)

    def _find(self, found: Claims, start: int) -> None:
        # A line that is only indented looks like a damaged message to CSP/1 itself.
        kept = self._sure(found)
        firsts = [start, *found.stops[kept].tolist()]
        lasts = [*found.starts[kept].tolist(), found.position]
        for number in self._hinted(firsts, lasts):
            first, last = firsts[number], lasts[number]
            ends = last != found.position or (self.search.final and last == self.search.size)
            reach = self.reach if last == found.position and not ends else last
            assemblies, position = find(self.search.data, first, last, ends, self.search.limit, reach)
            self.found += assemblies
            if last == found.position:
                self.position = position

    def _hinted(self, firsts: list[int], lasts: list[int]) -> list[int]:
        """The numbers of the gaps between claims in which lines may belong together."""
        view, stop = self.search.view, lasts[-1]
        numbers = set()
        for first_sign in (_heads.first_hint, partial(_first_long, least=LEAST_DOCKER)):
            place = first_sign(view, firsts[0], stop)
            while place >= 0:
                number = bisect_right(firsts, place) - 1
                if place < lasts[number]:
                    numbers.add(number)
                if number + 1 == len(firsts):
                    break
                place = first_sign(view, firsts[number + 1], stop)
        return sorted(numbers)

    def _sure(self, found: Claims) -> NDArray[np.bool_]:
        """Which claims are more than a ``CSP/1`` line that is only indented."""
        return ~np.array([self._indented(found, number) for number in range(len(found.starts))], bool)

    def _indented(self, found: Claims, number: int) -> bool:
        """Whether a damaged claim begins with a line that is the magic but for its indentation."""
        if found.what[number] != DAMAGED:
            return False
        first = int(found.starts[number])
        return _INDENTED.match(self.search.view[first : first + _LONGEST_INDENT].tobytes()) is not None

    def drop(self, found: Claims) -> None:
        """Takes back the claims of damage that are lines of an assembly."""
        taken = [span for one in self.found for span in one.spans]
        within = [any(first <= place < last for first, last in taken) for place in found.starts.tolist()]
        found.keep(self._sure(found) | ~np.array(within, bool))

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
        for (_, number, row), into in zip(ordered, rows, strict=True):
            self.results[number].into(row, into)

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
        self._shift: int | None = None

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

    def into(self, row: int, into: int) -> None:
        """Copies a row to its place among those of the block."""
        mine, arrays = self.inner.space.arrays, self.search.space.arrays
        shift = self._moved()
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

    @property
    def starts(self) -> list[int]:
        """Where the pieces begin in the text."""
        starts, size = [], 0
        for piece in self.assembly.pieces:
            starts.append(size)
            size += len(piece.text)
        return starts

    def _moved(self) -> int:
        """How far places move: the text and its arena stand at the end of the block's arena."""
        if self._shift is None:
            arrays = self.search.space.arrays
            before = arrays.get("arena", b"")
            self._shift = self.search.size + len(before)
            arrays["arena"] = b"".join([before, self.assembly.text, self.inner.space.arrays.get("arena", b"")])
        return self._shift

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
