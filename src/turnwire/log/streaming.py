"""Messages of any wire out of a byte stream that arrives in pieces, by the rules of a log."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

from turnwire.contract import BulkScanner, Limits
from turnwire.errors import DecodeError, Reason
from turnwire.log import rejects as quarantine
from turnwire.log.batch import Batch, Rows
from turnwire.log.engine import Engine, Found
from turnwire.log.memory import Pool
from turnwire.log.reading import Block

if TYPE_CHECKING:
    from typing_extensions import Buffer

_OUTSIDE = re.compile(rb'["{}\n]')
_INSIDE = re.compile(rb'["\\\n]')
_ENDING = re.compile(rb"^(?:\xef\xbb\xbf)?(?:CSP/1|```)", re.MULTILINE)
"""How the lines begin that can end what spans several lines."""
_SHORT = 1 << 12
"""Bytes up to which what is held is simply read again with every line that comes."""


class _Braces:
    """Where, in a line that has no end yet, the last JSON object closed: then a message may be complete."""

    def __init__(self) -> None:
        self.depth = 0
        self.inside = False  # a string
        self.escaped = False

    def closed(self, data: bytes) -> int:
        """Behind the last brace in ``data``, the next bytes of the stream, that closed an outermost object, or -1."""
        place, closed = int(self.escaped), -1
        self.escaped = False
        while match := (_INSIDE if self.inside else _OUTSIDE).search(data, place):
            place = match.end()
            found = match[0]
            if found == b"\n":
                self.depth, self.inside = 0, False
            elif found == b'"':
                self.inside = not self.inside and self.depth > 0
            elif found == b"\\":
                self.escaped = place == len(data)
                place += 1
            elif found == b"{":
                self.depth += 1
            elif self.depth:
                self.depth -= 1
                closed = closed if self.depth else place
        return closed


class BlockStream:
    """What :class:`turnwire.Decoder` reads a wire with that is scanned in bulk.

    A JSON message is complete when its object closes, a CSP/1 message when the line is there that begins something
    else; damage is known when its line (its message) ends.
    """

    def __init__(self, scanner: BulkScanner, unknown: str, limits: Limits) -> None:
        if unknown not in ("error", "keep"):
            raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
        if limits.message < 1 or limits.feed_buffer < 1:
            raise ValueError("limits.message and limits.feed_buffer must be positive")
        self._scanner = scanner
        self._limits = limits
        self._engine = Engine(
            scanner, (), None, first_error=False, keep=unknown == "keep", limit=limits.message, pool=Pool()
        )
        self._ready: deque[tuple[Batch, int] | DecodeError] = deque()
        self._data = b""
        self._coming: list[bytes] = []
        self._size = 0
        self._offset, self._line = 0, 1
        self._final = False
        self._retry = 0  # bytes that must be there before an object that closed is worth a look
        self._looked = 0  # bytes of what is held that were seen to end nothing
        self._due = 0  # behind the last object that closed, counted from the start of what is held
        self._braces = _Braces()
        self._new_state()

    def _new_state(self) -> None:
        self._state = {} if self._scanner.state is None else {"state": self._scanner.state()}

    def write(self, data: Buffer) -> None:
        """Takes bytes. Raises DecodeError(buffer_full) and takes nothing when more would be held than the limit."""
        new = data if type(data) is bytes else memoryview(data).tobytes()
        if self._size + len(new) > self._limits.feed_buffer:
            held = self._size
            text = f"{held} bytes wait for the end of a message and {len(new)} come in, over the limit of "
            text += f"{self._limits.feed_buffer}; feed smaller pieces"
            lines = self._data.count(b"\n") + sum(part.count(b"\n") for part in self._coming)
            raise DecodeError(
                Reason.BUFFER_FULL,
                text,
                offset=self._offset + held,
                line=self._line + lines,
                wire=self._scanner.wire,
            )
        if not new:
            return
        closed = self._braces.closed(new)
        if closed >= 0:
            self._due = self._size + closed
        self._coming.append(new)
        self._size += len(new)
        self._final = False

    def end(self) -> None:
        """Nothing follows. What is written later starts afresh, its places count on."""
        self._final = True
        self._braces = _Braces()

    def read(self) -> Any | None:
        """The next message, or None when there is no complete one. Raises DecodeError at a damaged one, once."""
        if not self._ready:
            self._scan()
        if not self._ready:
            return None
        found = self._ready.popleft()
        if isinstance(found, DecodeError):
            raise found
        batch, row = found
        return batch.message(row)

    def _scan(self) -> None:
        """Looks at what is worth a look: all at the end, else whole lines, and a line whose object closed."""
        if self._final:
            while self._size and not self._ready:
                self._take(self._size, True)
            if not self._size:
                self._new_state()
            return
        if any(b"\n" in part for part in self._coming):
            whole = self._joined().rfind(b"\n") + 1
            if not self._scanner.spans_lines:
                self._take(whole, True)
            elif whole <= _SHORT or whole >= self._retry or _ENDING.search(self._data, self._looked, whole):
                self._take(whole, False)
                self._retry = 2 * self._size
            self._looked = self._data.rfind(b"\n") + 1
        if self._due and self._size >= self._retry and not self._scanner.spans_lines:
            self._try(self._due)

    def _joined(self) -> bytes:
        if self._coming:
            self._data = b"".join([self._data, *self._coming])
            self._coming = []
        return self._data

    def _found(self, size: int, final: bool) -> Found:
        block = Block(self._joined()[:size], size, self._offset, final, final)
        return self._engine.scan(block, final, self._line, self._state)

    def _take(self, size: int, final: bool) -> None:
        """Reads the first ``size`` bytes and lets go of what is decided."""
        found = self._found(size, final)
        self._keep(found)
        self._forget(found.position, found.line)

    def _try(self, size: int) -> None:
        """Reads up to where an object closed, and keeps to it only if that ends a message: otherwise what stands in
        front of it may be part of something larger, and waits for the end of the line or for half as much again."""
        self._due = 0
        found = self._found(size, True)
        stop = found.arrays["offset"][: found.rows] + found.arrays["length"][: found.rows] - self._offset
        if found.rows and int(stop[-1]) == size and found.position == size:
            self._keep(found)
            self._forget(size, found.line)
        else:
            self._retry = self._size + self._size // 2

    def _forget(self, position: int, line: int) -> None:
        self._data = self._joined()[position:]
        self._size = len(self._data)
        self._offset += position
        self._line = line
        self._due = max(self._due - position, 0)
        self._retry = 0

    def _keep(self, found: Found) -> None:
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self._engine.keep)
        batch = Batch(self._scanner, (), rows)
        met: list[tuple[int, tuple[Batch, int] | DecodeError]] = [
            (offset, (batch, row)) for row, offset in enumerate(found.arrays["offset"][: found.rows].tolist())
        ]
        for table, count in found.rejects:
            for row in range(count):
                one = {name: array[row : row + 1] for name, array in table.items()}
                offset, length = int(one["offset"][0]), int(one["length"][0])
                start = offset - found.block.base
                raw = bytes(found.buffer[start : start + length])
                met.append((offset, quarantine.first_error(one, self._scanner, None, raw)))
        self._ready.extend(one for _, one in sorted(met, key=lambda pair: pair[0]))
