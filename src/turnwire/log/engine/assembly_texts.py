"""What lines that belong together say, searched like an input of its own.

A search costs far more than a short text. So texts that begin like CSP/1 are read together first, one behind the other:
the next one ends a message as the end of the input does. What opens no heredoc then needs no search of its own, nor
does what is one whole record. Texts in which no line says CSP/1 are parts of one search, which keeps them apart.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.log.engine.claims import empty_parts
from turnwire.log.input.reading import InputBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turnwire.framing.assembly import Assembly
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]
    Table = list[tuple[Arrays, int]]

_heads = _backend.load("framing.line_heads")
_times = _backend.load("framing.times")
_DOCKER = "docker"
_CSP = re.compile(rb"CSP/1(?:(?: MODE)?;[^\n]*)?\r?\n(?:(?s:.*)\n)?")
_HEREDOC = b"\n<<<"
_BLANKS = b" \t\r\n"
_RUN = 2
"""The place in the state of CSP/1 of the heredoc that is never closed."""


class Searched:
    """Texts of assemblies that one search, ``inner``, has read.

    numbers: those of the assemblies among all of ``found``, in order; starts: where each begins in the text of the
    search, in bytes. rows: which rows of the search count, in order; damaged: its rejects that count, in order, as
    columns. of: for each row the place of its assembly in ``assemblies``.
    """

    def __init__(
        self,
        inner: Pass,
        found: list[Assembly],
        numbers: list[int],
        starts: Sequence[int],
        rows: Any,
        damaged: Arrays,
    ) -> None:
        self.inner = inner
        self.numbers = np.array(numbers, np.int64)
        self.assemblies = [found[number] for number in numbers]
        self.starts = np.array(starts[: len(numbers)], np.int64)
        self.rows = np.array(rows, np.int64)
        self.damaged = damaged if damaged and len(damaged["offset"]) else {}
        self.of = self._of(self._offsets)

    @property
    def _offsets(self) -> NDArray[np.int64]:
        offsets: NDArray[np.int64] = self.inner.space.arrays["offset"][self.rows]
        return offsets

    def _of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.starts.searchsorted(offsets, "right") - 1

    def _written(self, of: NDArray[np.int64], places: NDArray[np.int64]) -> list[int]:
        """Where these bytes of the texts are written in the block. of: the place in ``assemblies`` of the text of each;
        places: the offset in that text."""
        some = self.assemblies
        return [some[number].written(place) for number, place in zip(of.tolist(), places.tolist(), strict=True)]

    def _ends(self, of: NDArray[np.int64], places: NDArray[np.int64]) -> list[int]:
        """Behind what is written in the block for the texts up to these places."""
        some = self.assemblies
        return [some[number].written_end(place) for number, place in zip(of.tolist(), places.tolist(), strict=True)]

    @cached_property
    def _firsts(self) -> list[int]:
        """Where the rows begin in the block."""
        return self._written(self.of, self._offsets - self.starts[self.of])

    @cached_property
    def openings(self) -> list[int]:
        """For each row, the line in the block before which it is left open."""
        lines = []
        for number, first in zip(self.of.tolist(), self._firsts, strict=True):
            spans = self.assemblies[number].spans
            at = bisect_right(spans, first, key=itemgetter(0)) - 1 if len(spans) > 1 else 0
            lines.append(spans[at][0])
        return lines

    def copy(self, search: Pass, into: NDArray[np.int64], shift: int, newlines: NDArray[np.int64]) -> None:
        """Copies the rows ``into`` those of the block.

        into: for each row, its number there; shift: how far places in the text move; newlines: where those of the block
        are, ascending.
        """
        mine, arrays, valid = self.inner.space.arrays, search.space.arrays, search.finder.valid
        for name, array in arrays.items():
            if name == "arena":
                continue
            value = mine[name][self.rows]
            array[into] = value + shift if name.endswith(".offset") or name == "place" else value
        present = mine["present"][self.rows]
        firsts, lengths = np.array(self._firsts, np.int64), mine["length"][self.rows]
        places = self._offsets - self.starts[self.of]
        within = (present >> np.uint64(valid["inner"]) & np.uint64(1)) == 1
        outside = np.flatnonzero(~within)
        ends = self._ends(self.of[outside], places[outside] + lengths[outside])
        lengths[outside] = np.array(ends, np.int64) - firsts[outside]
        for row, number in enumerate(self.of.tolist()):
            if self.assemblies[number].kind == _DOCKER:
                inner = int(mine["inner"][self.rows[row]]) if "inner" in mine and within[row] else 0
                firsts[row] = self._in_string(search, number, int(places[row]), inner, into[row])
        arrays["offset"][into], arrays["length"][into] = search.base + firsts, lengths
        if "line" in arrays:
            arrays["line"][into] = search.line + newlines.searchsorted(firsts)
        if "time" in arrays:
            self._time(search, np.flatnonzero((present >> np.uint64(valid["time"]) & np.uint64(1)) == 0), into)

    def _time(self, search: Pass, rows: NDArray[np.int64], into: NDArray[np.int64]) -> None:
        """Gives these rows the time that the first line of their assembly shows."""
        arrays, bit = search.space.arrays, np.uint64(1 << search.finder.valid["time"])
        some = [self.assemblies[number] for number in self.of[rows].tolist()]
        times, there = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.uint8)
        _times.head_times(search.view, np.array([one.start for one in some], np.int64), times, there)
        for row, one in enumerate(some):
            if one.kind == _DOCKER:  # a member of the object, not the head of the line
                times[row], there[row] = (0, 0) if one.time is None else (one.time, 1)
        shown = np.flatnonzero(there)
        arrays["time"][into[rows[shown]]] = times[shown]
        arrays["present"][into[rows[shown]]] |= bit

    def _in_string(self, search: Pass, number: int, place: int, inner: int, into: int) -> int:
        """The quote of the string of a line of Docker in which a record begins; its place there goes into its row."""
        arrays, assembly = search.space.arrays, self.assemblies[number]
        piece, start = assembly.piece(place)
        if "inner" in arrays:
            arrays["inner"][into] = place - start + inner
            arrays["present"][into] |= np.uint64(1 << search.finder.valid["inner"])
        return piece.place - 1

    def rejects(self, search: Pass, newlines: NDArray[np.int64]) -> Arrays:
        """The damage in the assemblies, in places of the block; ``newlines`` as of :meth:`copy`."""
        moved = {name: array.copy() for name, array in self.damaged.items()}
        of = self._of(moved["offset"])
        sizes = np.array([len(one.text) for one in self.assemblies], np.int64)[of]
        starts = self.starts[of]
        places = moved["offset"] - starts
        firsts = np.array(self._written(of, places), np.int64)
        ends = np.array(self._ends(of, np.minimum(places + moved["length"], sizes)), np.int64)
        faults = np.array(self._written(of, np.clip(moved["fault"] - starts, 0, sizes)), np.int64)
        moved["offset"], moved["length"], moved["fault"] = search.base + firsts, ends - firsts, search.base + faults
        moved["line"] = search.line + newlines.searchsorted(firsts)
        for row in np.flatnonzero(moved["inner"] < 0).tolist():
            if self.assemblies[of[row]].kind == _DOCKER:
                moved["inner"][row] = places[row] - self.assemblies[of[row]].piece(int(places[row]))[1]
        return moved


def alone(search: Pass, found: list[Assembly], number: int) -> Searched:
    """What an assembly holds, searched as an input of its own."""
    text = found[number].text
    inner = search.nested(InputBlock(text, len(text), 0, True, True))
    rows, tables, _, _ = inner.run()
    return Searched(inner, found, [number], [0], range(rows), _in_order(tables))


def read_apart(search: Pass, found: list[Assembly], numbers: list[int]) -> list[Searched]:
    """What assemblies say in which no line may begin a record of CSP/1 or a further wire: all in one search, each as an
    input of its own. numbers: those that are asked about. Nothing where fewer than two of them are such."""
    lines = search.finder.lines
    numbers = [
        number
        for number in numbers
        # Of a string of nSLIP that is open at its end it shows whether a byte follows.
        if ((text := found[number].text).endswith(b"\n") or b'"' not in text.partition(b"@")[2])
        and _heads.signs(text, 0, len(text))[0] < 0
        and not lines.opens(memoryview(text), 0)
    ]
    if len(numbers) < 2:
        return []
    texts = [found[number].text for number in numbers]
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    parts = empty_parts(len(texts), search.finder.csp.code)
    parts["start"][:], parts["stop"][:] = starts[:-1], [start - 1 for start in starts[1:]]
    whole = b"\n".join(texts)  # a line of its own each, whatever its end
    inner = search.nested(InputBlock(whole, len(whole), 0, True, True))
    rows, tables = inner.run_apart(parts)
    return [Searched(inner, found, numbers, starts, range(rows), _in_order(tables))]


def read_together(search: Pass, found: list[Assembly]) -> list[Searched]:
    """What begins like CSP/1 and need not be searched by itself."""
    begun = [number for number, one in enumerate(found) if _CSP.fullmatch(one.text)]
    # A record of a further wire of lines might go on in the next text.
    plain = [number for number in begun if _HEREDOC not in found[number].text] if not search.finder.lines else []
    others = sorted({*begun}.difference(plain))
    read = [_Together(search, found, some) for some in (plain, others) if len(some) > 1]
    return [one.plain() if one.numbers == plain else one.whole() for one in read]


class _Together:
    """Texts that are searched one behind the other: those of the assemblies with these ``numbers``."""

    def __init__(self, search: Pass, found: list[Assembly], numbers: list[int]) -> None:
        self.found = found
        self.numbers = numbers
        texts = [found[number].text for number in numbers]
        self.starts = [0, *accumulate(map(len, texts))]
        self.text = b"".join(texts)
        self.inner = search.nested(InputBlock(self.text, len(self.text), 0, True, True))
        self.count, tables, _, _ = self.inner.run()
        self.damaged = _in_order(tables)

    def plain(self) -> Searched:
        """What the texts hold of which none opens a heredoc: so nothing goes from one to the next."""
        return Searched(self.inner, self.found, self.numbers, self.starts, range(self.count), self.damaged)

    def whole(self) -> Searched:
        """What is one whole message of CSP/1."""
        arrays = self.inner.space.arrays
        offsets = arrays["offset"][: self.count]
        starts, stops = self.starts, (offsets + arrays["length"][: self.count]).tolist()
        firsts = np.searchsorted(offsets, starts).tolist()
        damaged = self._damaged()
        # Behind a heredoc that nothing closes each text would be read as one that is in it.
        most = min(damaged, default=0) if self.inner.state.csp[_RUN] else len(self.numbers)
        kept = []
        for place in range(most):
            row, behind = firsts[place], starts[place + 1]
            if firsts[place + 1] - row != 1 or offsets[row] != starts[place] or place in damaged:
                continue
            if stops[row] <= behind and not self.text[stops[row] : behind].strip(_BLANKS):
                kept.append(place)
        numbers = [self.numbers[place] for place in kept]
        rows = [firsts[place] for place in kept]
        return Searched(self.inner, self.found, numbers, [starts[place] for place in kept], rows, {})

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


def _in_order(tables: Table) -> Arrays:
    """The rejects of a search as one table, in the order of their places."""
    names = tables[0][0] if tables else {}
    damaged = {name: np.concatenate([table[name][:bad] for table, bad in tables]) for name in names}
    order: Any = np.argsort(damaged["offset"], kind="stable") if damaged else []
    return {name: array[order] for name, array in damaged.items()}
