"""Messages of any wire out of a byte stream that arrives in pieces, by the rules of a log."""

from __future__ import annotations

import re
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import Limits
from turnwire.errors import DecodeError, Reason, expect_one_of
from turnwire.fences import BEGINNING
from turnwire.log.engine.all_wires import BlockResult, Engine, finder
from turnwire.log.engine.columns import bulk_scanner
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import InputBlock
from turnwire.log.output import rejects as quarantine
from turnwire.log.output.batch import Batch, Rows
from turnwire.log.search.carriers import CRI
from turnwire.log.search.state import SearchState
from turnwire.log.search.texts import BOM

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from typing_extensions import Buffer

_QUICK = (b"@a", b"{")
"""The beginnings of lines that mostly are one message each. A search may not find all that decode takes."""
_CARRIER = re.compile(rb'"(?:stream"|__REALTIME_TIMESTAMP"|\\u)')
"""Members of the objects of Docker and journald, as they may be written: their lines are pieces of other texts."""
_OUTSIDE = re.compile(rb'["{}\n#]')
_INSIDE = re.compile(rb'["\\\n]')
_BEFORE_HASH = re.compile(rb'[0-9A-Za-z"]')
"""The byte in front of the "#" that ends a record: a digit of base62, or the end of a string."""
_ENDING = re.compile(rb"^(?:\xef\xbb\xbf)?(?:CSP/1|" + BEGINNING.encode() + rb")", re.MULTILINE)
"""The beginnings of lines that can end what spans several lines."""
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|" + BEGINNING.encode())
_BEGINNING = re.compile(
    rb"\xef|\xef\xbb|(?:\xef\xbb\xbf)?[ \t]*(?:[Cc](?:[Ss](?:[Pp][ \t]*(?:/[ \t]*)?)?)?)?"
    rb"| {0,3}(?:`{1,2}|~{1,2})|<+-?\r?|>+\r?"
)
_LINE_HEAD = 16
"""Bytes of a line in which that is seen."""
_SHORT = 1 << 12
"""Bytes up to which what waits is simply read again with every line that comes."""
_TIMES = 16
"""So often a byte may be read again because lines came that can end what waits. Where many do not, as fences in a
heredoc or a document, what does end it may be found a sixteenth of what waits later."""


def _taken(data: Buffer) -> bytes:
    if isinstance(data, str):
        raise TypeError("a stream is fed bytes, not str: feed(text.encode())")
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"a stream is fed bytes, not {type(data).__name__}") from None


def _is_text(beginning: bytes) -> bool:
    """True if a line that begins so is text for CSP/1 where no message is open, however it goes on."""
    return _MAGIC.match(beginning) is None and _BEGINNING.fullmatch(beginning) is None


def _waits(begun: bytes) -> bool:
    """True if a line that begins so may be one of strings and arrays, which is known at its end, or is one of CRI: what
    begins behind a message in it may go on in another one."""
    return begun.lstrip(b" \t").startswith((b"[", b'"')) or CRI.match(begun) is not None


class _Braces:
    """The place where the last outermost JSON object closed, or where a "#" that can end a record of
    nSLIP was outside of any; then a message may be complete.

    lines: whether an object may go on in the next line, as the one does with which the text begins.
    """

    def __init__(self, lines: bool = False) -> None:
        self.lines = lines
        self.depth = 0
        self.inside = False  # a string
        self.escaped = False
        self.last = b""  # the byte in front of the next ones

    def closed(self, data: bytes) -> int:
        """Behind the last place in ``data``, the next bytes of the stream, where a message may end, or -1."""
        place, closed = int(self.escaped), -1
        self.escaped = False
        while match := (_INSIDE if self.inside else _OUTSIDE).search(data, place):
            place = match.end()
            found = match[0]
            if found == b"\n":
                self.depth = self.depth if self.lines and not self.inside else 0
                self.inside = False
            elif found == b'"':
                self.inside = not self.inside and self.depth > 0
            elif found == b"\\":
                self.escaped = place == len(data)
                place += 1
            elif found == b"{":
                self.depth += 1
            elif found == b"#":
                before = data[place - 2 : place - 1] if place > 1 else self.last
                closed = closed if self.depth or not _BEFORE_HASH.match(before) else place
            elif self.depth:
                self.depth -= 1
                closed = closed if self.depth else place
        self.last = data[-1:]
        return closed


class BlockStream:
    """The reader of :class:`turnwire.Decoder` for a wire, or for all of them at once (None).

    It always searches for all wires and keeps what belongs to ``wire``, as a scan does. A JSON message is complete when
    its object closes, an nSLIP one at its "#", a CSP/1 message when the line is there that begins something else;
    damage is known when its line (its message) ends. What may belong to a CSP/1 message or to a larger object waits
    until that is known.

    The time is linear in what is fed, however small the pieces are: a piece is looked at by itself when it comes, all
    that waits only when that can decide something and as often as ``_TIMES`` allows, or when it has grown by half.
    """

    def __init__(self, wire: str | None, unknown: str, limits: Limits) -> None:
        expect_one_of(unknown, "unknown", ("error", "keep"))
        if limits.message < 1 or limits.feed_buffer < 1:
            raise ValueError("limits.message and limits.feed_buffer must be positive")
        every, keep = finder(None), unknown == "keep"
        self._wire = wire
        self._code = None if wire is None else finder(wire).code
        self._scanner, self._further, self._lines_code = every.scanner, every.lines, every.csp
        self._limits = limits
        pools = Pool(), Pool()
        self._engine = Engine(every, (), None, first_error=False, keep=keep, limit=limits.message, pools=pools)
        decode = registry.decode if wire is None else bulk_scanner(wire).decode
        self._decode: Callable[[bytes], Any] = partial(decode, unknown="keep") if keep and wire else decode
        self._quick = not keep or wire is not None
        self._ready: list[Any] = []  # messages that an error came behind
        self._found: deque[tuple[Batch, int] | DecodeError] = deque()
        self._data = b""
        self._coming: list[bytes] = []
        self._size = 0
        self._offset, self._line = 0, 1
        self._retry = 0  # bytes that must be there before an object that closed is worth a look
        self._allowed = 0  # bytes that may be read again, see _TIMES
        self._due = 0  # behind the last object that closed, counted from the start of what waits
        self._state = SearchState()
        self._final = False
        self._plain = self._quick  # nothing that was read goes on in a line of its own
        self._begin()

    def _begin(self) -> None:
        """Nothing that waits is known to go on."""
        self._again = 0  # bytes at which lines that wait since what they belong to may go on are read; 0 for none
        self._braces = _Braces()
        self._head = b""  # of the line that came last
        self._ended = False  # a line ended since what waits was looked at
        self._ending = False  # one began that can end what spans several lines

    def feed(self, data: Buffer) -> list[Any]:
        """The messages that are complete with these bytes. Raises DecodeError at a damaged one, once, with what it
        keeps back in ``pending``; DecodeError(buffer_full), and takes nothing, when more would wait than the limit; and
        TypeError for what is not bytes-like."""
        if self._plain and type(data) is bytes and data.startswith(_QUICK) and not (self._size or self._ready):
            messages, data = self._lines(data)
            if messages and not data:
                return messages
            self._ready = messages
        self._write(data if type(data) is bytes else _taken(data))
        return self._messages()

    def close(self) -> list[Any]:
        """The last messages. Nothing follows: what is fed later starts afresh, its places count on. Raises DecodeError
        as :meth:`feed` does; then there may be more."""
        self._final = True
        self._begin()
        return self._messages()

    def _messages(self) -> list[Any]:
        try:
            while self._found or self._scan():
                found = self._found.popleft()
                if isinstance(found, DecodeError):
                    raise found
                batch, row = found
                self._ready.append(batch.message(row))
        except DecodeError as error:
            error.pending = len(self._ready)
            raise
        ready, self._ready = self._ready, []
        return ready

    def _lines(self, data: bytes) -> tuple[list[Any], bytes]:
        """The messages of the lines that ``data`` begins with, each of which is one, and the rest of it: by the wire's
        decode alone, which takes a hundredth of a search."""
        size = data.rfind(b"\n") + 1
        if not size or self._found or len(data) > self._limits.feed_buffer:
            return [], data
        decode, limit = self._decode, self._limits.message
        lines = data[: size - 1].split(b"\n")
        messages: list[Any] = []
        try:
            if data.startswith(b"@a") and data.count(b"\n@a", 0, size) == len(lines) - 1 and size <= limit:
                messages += map(decode, lines)
            else:
                quick = _QUICK[:1] if _CARRIER.search(data) else _QUICK
                for line in lines:
                    if not line.startswith(quick) or len(line) > limit:
                        break
                    messages.append(decode(line))
        except DecodeError:
            pass  # the search says what it is
        count = len(messages)
        if not count:
            return [], data
        if count < len(lines):
            size = sum(map(len, lines[:count])) + count
        self._state.begun = self._state.touched = True
        self._final = False
        self._offset += size
        self._line += count
        return messages, data[size:]

    def _write(self, new: bytes) -> None:
        """Takes bytes, and sees what may end in them."""
        if self._size + len(new) > self._limits.feed_buffer:
            waiting = self._size
            text = f"{waiting} bytes wait for the end of a message and {len(new)} come in, over the limit of "
            text += f"{self._limits.feed_buffer}; feed smaller pieces"
            line = self._line + self._data.count(b"\n") + sum(part.count(b"\n") for part in self._coming)
            error = DecodeError(Reason.BUFFER_FULL, text, offset=self._offset + waiting, line=line, wire=self._wire)
            error.pending = len(self._ready)
            raise error
        if not new:
            return
        closed = self._braces.closed(new)
        if closed >= 0:
            self._due = self._size + closed
        coming = self._head + new
        self._ending = self._ending or _ENDING.search(coming) is not None
        newline = coming.rfind(b"\n")
        self._ended = self._ended or newline >= 0
        self._head = coming[newline + 1 : newline + 1 + _LINE_HEAD]
        self._coming.append(new)
        self._size += len(new)
        self._final = False
        self._allowed = min(self._allowed + _TIMES * len(new), self._size + _TIMES * _SHORT)

    def _scan(self) -> bool:
        """Looks at what is worth a look: all at the end, else whole lines, and a line whose object closed. True if
        something was found."""
        if self._final:
            while self._size and not self._found:
                self._take(self._size, True)
            if not self._size:
                self._state, self._plain = SearchState(), self._quick
            return bool(self._found)
        closed = self._braces.lines and not self._braces.depth
        if self._ended and self._skip_blank():
            self._ended = self._ending = False
            return False
        ending = self._ending and self._size <= self._allowed
        if self._ended and (self._size <= _SHORT or self._size >= self._again or ending or closed):
            before = self._offset
            self._allowed = max(self._allowed - self._size, 0)
            decided = self._take(self._joined().rfind(b"\n") + 1, False)
            self._again = 0 if decided else 2 * self._size
            self._follow(self._braces.lines and not decided and self._offset == before)
            self._ending = False
        self._ended = False
        if self._due and self._size >= self._retry and (self._braces.lines or not self._again):
            self._try(self._due)
        return bool(self._found)

    def _skip_blank(self) -> bool:
        """Lets go of blank lines where nothing waits that they could belong to; to what was read already they change
        nothing. Most of what a scan of them costs is the scan, not the lines."""
        if self._size > _SHORT or self._state.mid:
            return False
        data = self._joined()
        if not data.endswith(b"\n") or data.strip(b" \t\r\n"):
            return False
        self._state.begun = True
        self._forget(self._size, self._line + data.count(b"\n"))
        return True

    def _follow(self, same: bool) -> None:
        """Follows the braces of what waits: those of the object over several lines with which it begins, else those of
        its last line. same: it is the same object as before, all of which was seen."""
        line = self._data.rfind(b"\n") + 1
        if not same and line and self._data.startswith((b"{", b"[")):
            self._braces = _Braces(lines=True)
            self._due = max(self._braces.closed(self._data), 0)
            same = True
        if not same or (not self._braces.depth and self._due <= line):
            self._braces = _Braces()
            closed = self._braces.closed(self._data[line:])
            self._due = 0 if closed < 0 else line + closed

    def _joined(self) -> bytes:
        if self._coming:
            self._data = b"".join([self._data, *self._coming])
            self._coming = []
        return self._data

    def _searched(self, size: int, final: bool, state: SearchState) -> BlockResult:
        data = self._joined()[:size]
        block = InputBlock(data, size, self._offset, final or data.endswith(b"\n"), final)
        return self._engine.scan(block, final, self._line, state)

    def _take(self, size: int, final: bool) -> bool:
        """Reads the first ``size`` bytes and lets go of what is decided: whether all of it is."""
        found = self._searched(size, final, self._state)
        self._keep(found)
        self._forget(found.position, found.line)
        return found.position == size

    def _try(self, size: int) -> None:
        """Reads up to where an object closed, and keeps to it only if that ends a message: otherwise what is in
        front of it may be part of something larger, and waits for the end of the line or for half as much again."""
        self._due = 0
        self._retry = 0 if self._size <= _SHORT else self._size + self._size // 2
        begun = self._joined()
        within = self._state.mid
        if not (within or self._braces.lines) and _waits(begun.removeprefix(BOM)):
            return
        text = _is_text(begun) and not self._further.goes_on(begun)
        if not (self._braces.lines or within or text):
            return
        for _ in range(2):
            state = self._state.copy()
            found = self._searched(size, True, state)
            last = int(found.arrays["offset"][found.rows - 1]) - self._offset if found.rows else 0
            last += int(found.arrays["length"][found.rows - 1]) if found.rows else 0
            if found.rows and last == size == found.position and self._certain(found):
                self._state = state
                self._keep(found)
                self._forget(size, found.line)
                return
            size = last  # a "#" behind it may have been text
            if not size:
                break

    def _certain(self, found: BlockResult) -> bool:
        """True if nothing that follows can change what a part of a line was found to contain: there is no damage in it,
        no object may have begun outside of its messages, and the last of them is no line that goes on."""
        if found.arrays["wire"][found.rows - 1] == self._lines_code:
            return False
        data, end = bytes(found.buffer), 0
        for offset, length in zip(
            *(found.arrays[name][: found.rows].tolist() for name in ("offset", "length")), strict=True
        ):
            start = offset - found.block.base
            if data.find(b"{", end, start) >= 0:
                return False
            end = start + length
        return not found.rejects

    def _forget(self, position: int, line: int) -> None:
        state = self._state
        self._plain = self._quick and not (state.fence or state.runs or state.streams or state.mid)
        self._data = self._joined()[position:]
        self._size = len(self._data)
        self._offset += position
        self._line = line
        self._due = max(self._due - position, 0)
        self._retry = 0

    def _keep(self, found: BlockResult) -> None:
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self._engine.keep)
        batch = Batch(self._scanner, (), rows)
        wanted = range(found.rows) if self._code is None else self._wanted(found.arrays["wire"][: found.rows])
        met: list[tuple[tuple[int, int], tuple[Batch, int] | DecodeError]] = [
            ((row, 1), (batch, row)) for row in wanted
        ]
        for table, count in found.rejects:
            for row in range(count) if self._code is None else self._wanted(table["wire"][:count]):
                one = {name: array[row : row + 1] for name, array in table.items()}
                error = quarantine.first_error(one, None, found.buffer, found.block.base)
                met.append(((int(one["row"][0]), 0), error))
        self._found.extend(one for _, one in sorted(met, key=lambda pair: pair[0]))

    def _wanted(self, codes: NDArray[np.uint8]) -> list[int]:
        """The rows of the wire that is read."""
        rows: list[int] = np.flatnonzero(codes == self._code).tolist()
        return rows
