"""One block of the search of all wires: CSP/1 claims its ranges, the rest is searched for the other wires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.log.engine.claims import CLAIMED, TEXTS, Claims, nothing
from turnwire.log.engine.columns import text_spans
from turnwire.log.input.reading import line_end
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from turnwire.log.engine.all_wires import Finder, State

    Arrays = dict[str, Any]

_core = _backend.load("json.lines")
_heads = _backend.load("log.line_heads")
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|```")
_BEGINNING = re.compile(
    rb"\xef|\xef\xbb|(?:\xef\xbb\xbf)?[ \t]*(?:[Cc](?:[Ss](?:[Pp][ \t]*(?:/[ \t]*)?)?)?)?|`{1,2}|<+-?\r?|>+\r?"
)
_HELD = 4096
"""Bytes of a line without an end that are held back at least, as long as it may become the first of a CSP/1 message."""


def is_text(beginning: bytes) -> bool:
    """Whether a line that begins so is text for CSP/1 where no message is open, however it goes on."""
    return _MAGIC.match(beginning) is None and _BEGINNING.fullmatch(beginning) is None


class Space:
    """The arrays that a pass fills: ``grow`` (rows there are -> larger arrays) makes room for more."""

    def __init__(self, arrays: Arrays, room: int, grow: Callable[[Arrays, int], tuple[Arrays, int]]) -> None:
        self.arrays = arrays
        self.room = room
        self._grow = grow

    def more(self, rows: int) -> None:
        """Makes room for more than the ``rows`` that are filled."""
        self.arrays, self.room = self._grow(self.arrays, rows)


class Pass:
    """One block of the search."""

    def __init__(
        self,
        finder: Finder,
        block: Any,
        final: bool,
        space: Space,
        line: int,
        state: State,
        keep: bool,
        limit: int,
    ) -> None:
        self.finder = finder
        self.data = block.data
        self.size: int = block.size
        self.ahead: int = block.ahead
        self.base: int = block.base
        self.final = final
        self.ends = final or block.line_end
        self.space = space
        self.line = line
        self.state = state
        self.keep = keep
        self.limit = limit
        self.view = memoryview(block.data)[: self.size].cast("B")
        self.rows = 0
        self.rejects: list[tuple[Arrays, int]] = []
        self.table = quarantine.table(quarantine.ROOM, mixed=True)

    def run(self) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """(rows, tables of rejects with how many there are in each, position, line)."""
        start = self._first_line()
        magic = -1 if start < 0 else _heads.signs(self.view, start, self.size)[0]
        if start >= 0 and (not self.state.idle() or magic >= 0):
            position, line = self._with_csp(start)
        else:
            stop = self.size if start < 0 else self._decided(start)
            position, line = self._lines(self.line) if stop == self.size else self._whole_lines(stop)
        if position:
            self.state.within_line = self.view[position - 1] != ord("\n")
        return self.rows, self.rejects, position, line

    # --- where CSP/1 may be ---

    def _first_line(self) -> int:
        """Where the first line begins, or -1 where none does."""
        start = 0
        while self.state.within_line and start < self.size:
            newline = self.view[start : start + (1 << 16)].tobytes().find(b"\n")
            if newline >= 0:
                return start + newline + 1
            start += 1 << 16
        return -1 if self.state.within_line else 0

    def _decided(self, start: int) -> int:
        """Up to where the lines from ``start`` on are surely none of CSP/1: in front of the last one, if that has no
        end and may become the first of a message. What is read of it in pieces cannot be one any more."""
        if self.ends:
            return self.size
        last = max(line_end(self.view, start, self.size), start)
        held = self.size - last <= max(self.limit + 1, _HELD)
        return last if held and not is_text(self.view[last:].tobytes()) else self.size

    # --- lines ---

    def _lines(self, line: int, start: int = 0) -> tuple[int, int]:
        """Finds JSON and nSLIP from ``start`` on, where CSP/1 claims nothing: (position, line)."""
        while start < self.size:
            position, line, on = self._read(start, self.ends, line, None)
            if not on and (not self.ends or not self._more_room()):
                return position, line
            start = position
        return start, line

    def _whole_lines(self, stop: int) -> tuple[int, int]:
        """The same up to ``stop``, where a line begins."""
        line = self.line + self._newlines(stop)
        self._parts(nothing(stop, line, self.finder.csp.code))
        return stop, line

    def _newlines(self, stop: int) -> int:
        return int(np.count_nonzero(np.frombuffer(self.view[:stop], np.uint8) == ord("\n")))

    def _parts(self, parts: Arrays) -> None:
        """Finds JSON and nSLIP around the claims of CSP/1, and leaves rows open for these."""
        part, count = 0, len(parts["what"])
        while part < count:
            before = part, int(parts["start"][part])
            part, _, on = self._read(part, True, 1, parts)
            stuck = not on and part < count and (part, int(parts["start"][part])) == before
            if stuck and not self._more_room():
                raise AssertionError("the scanner made no progress")

    def _read(self, start: int, final: bool, line: int, parts: Arrays | None) -> tuple[int, int, bool]:
        """One call of the core: (position, line, whether it got on)."""
        first, room = self.rows, len(self.table["offset"])
        self.rows, bad, position, line = _core.scan_block(
            self.finder.plan(_core),
            self.data,
            start,
            self.size,
            final,
            self.space.arrays,
            self.rows,
            self.space.room,
            self.table,
            0,
            room,
            base=self.base,
            line=line,
            keep=self.keep,
            limit=self.limit,
            state=self.state.lines,
            parts=parts,
        )
        if bad:
            self.rejects.append((self.table, bad))
            # A table that is full ends a look at the whole line: on a line of nothing but damage they must grow.
            more = min(4 * room, quarantine.MOST_ROOM) if 2 * bad > room else quarantine.ROOM
            self.table = quarantine.table(more, mixed=True)
        on = bool(bad or self.rows > first or position != start)
        if self.rows == self.space.room:
            self.space.more(self.rows)
            on = True
        return position, line, on

    def _more_room(self) -> bool:
        """Makes room for a string or a line that has more records, or rejects, than there is room for: of such the core
        takes all or nothing. False where that does not help."""
        room, rows = len(self.table["offset"]), self.space.room
        if room < quarantine.MOST_ROOM:
            self.table = quarantine.table(16 * room, mixed=True)
        self.space.more(rows)
        return room < quarantine.MOST_ROOM or self.space.room > rows

    # --- CSP/1 ---

    def _with_csp(self, start: int) -> tuple[int, int]:
        found = Claims(
            self.finder.csp,
            self.data,
            start,
            self.size,
            self.final,
            ahead=self.ahead,
            base=self.base,
            line=self.line + self._newlines(start),
            keep=self.keep,
            limit=self.limit,
            state=self.state.csp,
            columns=self.space.arrays,
        )
        position, line = found.position, found.line
        parts = found.parts(self.finder.csp.code)
        self._parts(parts)
        self._records(found.records, parts["row"][1::2][found.what == CLAIMED])
        rest = self.view[position:].tobytes() if not self.ends and position < self.size else b"\n"
        if b"\n" not in rest and is_text(rest):
            return self._lines(line, position)
        return position, line

    def _records(self, values: Arrays, rows: NDArray[np.int64]) -> None:
        """Fills the rows that were left open for the records of CSP/1, in the order of ``values``."""
        count = len(rows)
        if not count:
            return
        wire, arrays, valid = self.finder.csp, self.space.arrays, self.finder.valid
        into: Any = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] + 1 == count else rows
        known = sum(1 << valid[name] for name in ("wire", "kind") if name in valid and self.finder.code is None)
        present = np.full(count, known, np.uint64)
        for name in TEXTS:
            for source in wire.sources(name) if f"{name}.offset" in arrays and self.finder.code is None else ():
                offsets, lengths = text_spans(wire.scanner, values, count, source.name)
                arrays[f"{name}.offset"][into] = offsets
                arrays[f"{name}.length"][into] = lengths
                there = values["present"] >> np.uint32(wire.scanner.bits[source.name]) & np.uint32(1)
                present |= there.astype(np.uint64) << np.uint64(valid[name])
        plain = {
            "offset": values["offset"],
            "length": values["length"],
            "place": values["offset"] - self.base,
            "size": values["length"],
            "line": values["line"],
            "present": present,
            "wire": wire.code,
            **dict.fromkeys(("inner", "sequence", "time", "depth"), 0),
        }
        if self.finder.code is None:
            plain["kind"] = wire.kinds[values[wire.kind]]
        plain |= {name: values[name] for name in self.finder.flags if name in values}
        for name, value in plain.items():
            if name in arrays:
                arrays[name][into] = value
