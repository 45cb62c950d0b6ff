"""Lines of a block that belong together, searched as the text that they say: see ``finding/assembly.py``.

What such lines say is searched like an input of its own. Its records get rows among those of the block, placed where
they are written there; their texts are in the arena, behind what JSON strings said.

A search costs far more than a short text. So texts that begin like CSP/1 are read together first, one behind the other:
the next one ends a message as the end of the input does. What opens no heredoc then needs no search of its own, nor
does what is one whole record.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.log.engine.claims import BAD_TEXT, BETWEEN, CLAIMED, DOCUMENT, REFUSED, TEXT, Claims, empty_parts
from turnwire.log.input.reading import Block
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from turnwire.finding.assembly import Assembly
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]

_DOCKER = "docker"
_CSP = re.compile(rb"CSP/1(?:(?: MODE)?;[^\n]*)?\r?\n(?:(?s:.*)\n)?")
_HEREDOC = b"\n<<<"
_BLANKS = b" \t\r\n"
_RUN = 2
"""The place in the state of CSP/1 of the heredoc that is never closed."""
_FOR_THE_CORE = {DOCUMENT: CLAIMED, REFUSED: BETWEEN, TEXT: CLAIMED, BAD_TEXT: BETWEEN}


class Together:
    """The assemblies of a block around the claims of line wires: ``position`` is where the next block begins."""

    def __init__(self, search: Pass, position: int, found: list[Assembly]) -> None:
        self.search = search
        self.position = position
        self.found = found
        self.results: list[Result] = []

    def scan(self) -> None:
        """Searches what the assemblies say."""
        whole = _read_together(self.search, self.found)
        self.results = [
            whole[number] if number in whole else alone(self.search, one) for number, one in enumerate(self.found)
        ]

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
        texts = [arrays.get("arena", b"")]
        end = self.search.size + len(texts[0])
        copies: dict[int, _Copies] = {}
        for (_, number, row), into in zip(ordered, rows, strict=True):
            inner = self.results[number].inner
            if id(inner) not in copies:
                copies[id(inner)] = _Copies(inner, end, [], [], [])
                for text in (inner.data, inner.space.arrays.get("arena", b"")):
                    texts.append(text)
                    end += len(text)
            copies[id(inner)].add(self.results[number], row, into)
        for one in copies.values():
            one.fill(self.search)
        if ordered:
            arrays["arena"] = b"".join(texts)

    def rejects(self) -> list[Arrays]:
        """What was damaged in the assemblies, as tables with columns like those of the block."""
        return [table for result in self.results for table in result.rejects()]


class Result:
    """What one assembly holds: ``rows`` of the search ``inner``, in whose text its own begins at ``at``; tables: what
    is damaged, with how many rows of each are filled."""

    def __init__(
        self, search: Pass, assembly: Assembly, inner: Pass, rows: range, tables: list[tuple[Arrays, int]], at: int = 0
    ) -> None:
        self.search = search
        self.assembly = assembly
        self.inner = inner
        self.rows = rows
        self.tables = tables
        self.at = at

    def written(self, at: int) -> int:
        """Where a byte of the text is written in the block."""
        return self.assembly.written(at)

    @cached_property
    def _openings(self) -> list[tuple[int]]:
        starts = [first for first, _ in self.assembly.spans]
        offsets = self.inner.space.arrays["offset"][self.rows.start : self.rows.stop].tolist()
        return [(starts[bisect_right(starts, self.written(offset - self.at)) - 1],) for offset in offsets]

    def openings(self) -> list[tuple[int]]:
        """For each row, the line in the block before which it is left open."""
        return self._openings

    def segments(self) -> list[tuple[int, int, int, int]]:
        """The lines of the assembly, which nobody else reads, and an open row for each record in front of its line."""
        rows = [(start, start, CLAIMED, -1) for (start,) in self.openings()]
        return rows + [(first, last, BETWEEN, -1) for first, last in self.assembly.spans]

    def place(self, offset: int, length: int, within: bool, into: int, inner: int) -> tuple[int, int]:
        """Where a record of the text is written in the block, and how long it is there. within: whether it is in a
        string, ``inner`` bytes into that; into: its row in the block."""
        offset -= self.at
        first = self.written(offset)
        if not within:
            length = self.assembly.written_end(offset + length) - first
        if self.assembly.kind == _DOCKER:
            first = self._in_string(offset, inner, self.search.space.arrays, into)
        return first, length

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
        size = len(self.assembly.text)
        found = []
        for table, count in self.tables:
            moved = {name: array[:count].copy() for name, array in table.items()}
            for row in range(count):
                offset, length = int(moved["offset"][row]) - self.at, int(moved["length"][row])
                first = self.written(offset)
                fault = min(max(int(moved["fault"][row]) - self.at, 0), size)
                moved["offset"][row] = self.search.base + first
                moved["length"][row] = self.assembly.written_end(min(offset + length, size)) - first
                moved["fault"][row] = self.search.base + self.written(fault)
                moved["line"][row] = self.search.line_of(first)
                if self.assembly.kind == _DOCKER and moved["inner"][row] < 0:
                    moved["inner"][row] = offset - self.starts[bisect_right(self.starts, offset) - 1]
            found.append(moved)
        return found


class _Copies(NamedTuple):
    """Rows of a search that go among those of the block: ``into``, from ``rows``, each of one of ``results``; shift:
    how far places in the text move."""

    inner: Pass
    shift: int
    results: list[Result]
    rows: list[int]
    into: list[int]

    def add(self, result: Result, row: int, into: int) -> None:
        """Adds row number ``row`` of a result."""
        self.results.append(result)
        self.rows.append(result.rows[row])
        self.into.append(into)

    def fill(self, search: Pass) -> None:
        """Copies them."""
        mine, arrays, valid = self.inner.space.arrays, search.space.arrays, search.finder.valid
        for name, array in arrays.items():
            if name == "arena":
                continue
            value = mine[name][self.rows]
            array[self.into] = value + self.shift if name.endswith(".offset") or name == "place" else value
        present = mine["present"][self.rows].tolist()
        inners = mine["inner"][self.rows].tolist() if "inner" in mine else [0] * len(present)
        offsets, lengths = mine["offset"][self.rows].tolist(), mine["length"][self.rows].tolist()
        places, lines = [], []
        found = zip(self.results, self.into, offsets, lengths, present, inners, strict=True)
        for result, into, offset, length, bits, inner in found:
            within = bool(bits >> valid["inner"] & 1)
            place, size = result.place(offset, length, within, into, inner if within else 0)
            places.append((search.base + place, size))
            lines.append(search.line_of(place))
            time = result.assembly.time
            if "time" in arrays and not bits >> valid["time"] & 1 and time is not None:
                arrays["time"][into] = time
                arrays["present"][into] |= np.uint64(1 << valid["time"])
        arrays["offset"][self.into], arrays["length"][self.into] = np.array(places, np.int64).T
        if "line" in arrays:
            arrays["line"][self.into] = lines


def alone(search: Pass, assembly: Assembly) -> Result:
    """What an assembly holds, searched as an input of its own."""
    inner = search.nested(Block(assembly.text, len(assembly.text), 0, True, True))
    rows, tables, _, _ = inner.run()
    return Result(search, assembly, inner, range(rows), tables)


def _read_together(search: Pass, found: list[Assembly]) -> dict[int, Result]:
    """What need not be searched by itself, by the numbers of the assemblies."""
    begun = [number for number, one in enumerate(found) if _CSP.fullmatch(one.text)]
    # A record of a further wire of lines might go on in the next text.
    plain = [number for number in begun if _HEREDOC not in found[number].text] if not search.finder.lines else []
    others = sorted({*begun}.difference(plain))
    return {**_Together(search, found, plain).plain(), **_Together(search, found, others).whole()}


class _Together:
    """Texts that are searched one behind the other: those of the assemblies with these ``numbers``."""

    def __init__(self, search: Pass, found: list[Assembly], numbers: list[int]) -> None:
        self.search = search
        self.found = found
        self.numbers = numbers if len(numbers) > 1 else []
        texts = [found[number].text for number in self.numbers]
        self.starts = [0, *accumulate(map(len, texts))]
        self.text = b"".join(texts)
        if not texts:
            return
        self.inner = search.nested(Block(self.text, len(self.text), 0, True, True))
        count, tables, _, _ = self.inner.run()
        arrays = self.inner.space.arrays
        self.offsets, self.lengths = arrays["offset"][:count], arrays["length"][:count]
        names = tables[0][0] if tables else {}
        damaged = {name: np.concatenate([table[name][:bad] for table, bad in tables]) for name in names}
        order: Any = np.argsort(damaged["offset"], kind="stable") if damaged else []
        self.damaged = {name: array[order] for name, array in damaged.items()}

    def plain(self) -> dict[int, Result]:
        """What the texts hold of which none opens a heredoc: so nothing goes from one to the next."""
        if not self.numbers:
            return {}
        rows = np.searchsorted(self.offsets, self.starts).tolist()
        bad = np.searchsorted(self.damaged["offset"], self.starts).tolist() if self.damaged else [0] * len(self.starts)
        results = {}
        for place, number in enumerate(self.numbers):
            first, last = bad[place : place + 2]
            tables = [({name: one[first:last] for name, one in self.damaged.items()}, last - first)]
            held, at = range(rows[place], rows[place + 1]), self.starts[place]
            results[number] = Result(self.search, self.found[number], self.inner, held, tables * (last > first), at)
        return results

    def whole(self) -> dict[int, Result]:
        """What is one whole message of CSP/1."""
        if not self.numbers:
            return {}
        starts, stops = self.starts, (self.offsets + self.lengths).tolist()
        firsts = np.searchsorted(self.offsets, starts).tolist()
        damaged = self._damaged()
        # Behind a heredoc that nothing closes each text would be read as one that is in it.
        most = min(damaged, default=0) if self.inner.state.csp[_RUN] else len(self.numbers)
        results = {}
        for place, number in enumerate(self.numbers[:most]):
            row, behind = firsts[place], starts[place + 1]
            if firsts[place + 1] - row != 1 or self.offsets[row] != starts[place] or place in damaged:
                continue
            if stops[row] <= behind and not self.text[stops[row] : behind].strip(_BLANKS):
                held = range(row, row + 1)
                results[number] = Result(self.search, self.found[number], self.inner, held, [], starts[place])
        return results

    def _damaged(self) -> set[int]:
        """The places of the texts into which damage goes."""
        if not self.damaged:
            return set()
        spans = zip(self.damaged["offset"].tolist(), self.damaged["length"].tolist(), strict=True)
        return {
            place
            for offset, length in spans
            for place in range(
                bisect_right(self.starts, offset) - 1, bisect_right(self.starts, offset + max(length, 1) - 1)
            )
        }


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
