"""Reads messages of any wire from bytes that arrive in pieces; what it finds is what a scan of all the bytes finds."""

from __future__ import annotations

import re
from collections import deque
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS, Limits
from turnwire.errors import DecodeError, Reason, expect_one_of
from turnwire.fences import BEGINNING
from turnwire.log._search_py import MOST_HELD
from turnwire.log.engine import all_wires
from turnwire.log.engine.all_wires import BlockResult, Engine, finder
from turnwire.log.engine.columns import bulk_scanner
from turnwire.log.engine.inheritance import FIRST, MOST_HEADS, Inheritance, head_of
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import InputBlock
from turnwire.log.output import rejects as quarantine
from turnwire.log.output.batch import Batch, Rows
from turnwire.log.search.carriers import CRI
from turnwire.log.search.texts import BOM, SearchState
from turnwire.nslip.codec import decode_many

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer

_OUTSIDE_STRING = re.compile(rb'["{}\n#]')
"""Bytes that matter outside of JSON strings."""
_INSIDE_STRING = re.compile(rb'["\\\n]')
"""Bytes that matter inside of them. A newline ends a string that was not closed."""
_BEFORE_HASH = re.compile(rb'[0-9A-Za-z"]')
"""The byte before a "#" that ends an nSLIP record: a digit of base62, or the end of a string."""
_ENDING_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?(?:CSP/1|" + BEGINNING.encode() + rb")", re.MULTILINE)
"""Lines that can end a message or a document over several lines: CSP/1, or a code fence."""
_MARKED_LINE = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|" + BEGINNING.encode())
"""The beginnings of lines that say CSP/1, or nearly, or are code fences."""
_UNDECIDED_LINE = re.compile(
    rb"\xef|\xef\xbb|(?:\xef\xbb\xbf)?[ \t]*(?:[Cc](?:[Ss](?:[Pp][ \t]*(?:/[ \t]*)?)?)?)?"
    rb"| {0,3}(?:`{1,2}|~{1,2})|<+-?\r?|>+\r?"
)
"""A line so far that may still become one of these, or the first or last line of a heredoc."""
_LINE_HEAD = 16
"""Bytes of a line in which ``_ENDING_LINE`` matches."""
_FREE_SIZE = 1 << 12
"""As long as no more bytes wait, they are read again with every line that comes."""
_REREADS = 16
"""How often a byte may be read again because a line came that can end what waits. Many such lines end nothing (fences
in a heredoc, say). Then the line that does end it may be seen late, by a sixteenth of the bytes that wait."""


def _as_bytes(data: Buffer) -> bytes:
    """The fed bytes. Raises TypeError for a str and for what is not bytes-like."""
    if isinstance(data, str):
        raise TypeError("feed expects bytes, not str: feed(text.encode())")
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"feed expects bytes, not {type(data).__name__}") from None


def _is_text(beginning: bytes) -> bool:
    """True if a line that begins so is only text to CSP/1, however it continues, where no message is open."""
    return _MARKED_LINE.match(beginning) is None and _UNDECIDED_LINE.fullmatch(beginning) is None


def _may_go_on(begun: bytes) -> bool:
    """True if what a line that begins so holds is not known before its end (it may be a list of texts), or may go on in
    another line (it is one of CRI)."""
    return begun.lstrip(b" \t").startswith((b"[", b'"')) or CRI.match(begun) is not None


def _refused(text: bytes) -> Any:
    raise DecodeError(Reason.UNKNOWN_KIND, "only a search can tell")


def _detected(decode: Any, detect: Any, text: bytes) -> Any:
    """The message in ``text``. Raises DecodeError, too, where escapes hide its keys, so that no scan finds it."""
    if b"\\u" in text and not detect(text):
        raise DecodeError(Reason.UNKNOWN_KIND, "no key of a wire is written without escapes")
    return decode(text)


class _Braces:
    """Counts braces to find where a message may be complete: after an outermost JSON object, or after a "#" that can
    end an nSLIP record and is in no object.

    lines: whether an object may go on in the next line; otherwise a newline closes all.
    """

    def __init__(self, lines: bool = False) -> None:
        self.lines = lines
        self.depth = 0
        self.inside = False  # a string
        self.escaped = False
        self.last = b""  # the byte in front of the next ones

    def closed(self, data: bytes) -> int:
        """Reads the next bytes of the stream: the offset in ``data`` after the last place where a message may end, or
        -1."""
        place, closed = int(self.escaped), -1
        self.escaped = False
        while match := (_INSIDE_STRING if self.inside else _OUTSIDE_STRING).search(data, place):
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
    its object closes, an nSLIP message at its "#", and a CSP/1 message when the next line begins something else. Damage
    is known when its line or message ends. Bytes that may belong to a CSP/1 message or to a larger object wait until
    that is known.

    The time is linear in the bytes fed, however small the pieces are. Each piece is looked at once when it comes. All
    that waits is read again only when this can decide something and ``_REREADS`` allows it, or when it has grown by
    half.
    """

    def __init__(self, wire: str | None, unknown: str, limits: Limits) -> None:
        expect_one_of(unknown, "unknown", ("error", "keep"))
        if limits.message < 1 or limits.feed_buffer < 1:
            raise ValueError("limits.message and limits.feed_buffer must be positive")
        formats, keep = all_wires.of_formats(wire), unknown == "keep"
        every = finder(wire if formats else None)
        self._wire = wire
        self._code = None if wire is None else finder(wire).code
        self._keep = keep
        self._scanner, self._line_wires, self._csp_code = every.scanner, every.lines, every.csp
        self._limits = limits
        pools = Pool(), Pool()
        given = Inheritance(every, set(), False) if formats else None
        options: Any = {"first_error": False, "keep": keep, "limit": limits.message, "pools": pools}
        self._engine = Engine(every, (), None, **options, inheritance=given)
        code = self._code
        decode: Any = registry.decode
        if wire == FORMATS:  # what a record is, others before it may tell
            code, decode = -1, _refused
        elif wire is not None and registry.own_decode(wire)[1] is None:
            code, decode = -1, partial(bulk_scanner(wire).decode, unknown=unknown)
        elif code is not None:
            _, decode = self._decoder(code)
        if wire not in (None, FORMATS):
            decode = partial(_detected, decode, registry.wire(wire).detect)
        if formats and wire != FORMATS:
            decode = partial(self._known, decode)
        limit = min(limits.message, limits.feed_buffer)
        self.lock = RLock()
        self.front = all_wires._core.Beginning(every, self._decoder, decode, code, limit, limits.feed_buffer, self.lock)
        self._found: deque[tuple[Batch, int] | DecodeError] = deque()
        self._data = b""
        self._new_parts: list[bytes] = []
        self._size = 0
        self._reread_credit = 0  # bytes that may still be read again, see _REREADS
        self._state = SearchState()
        self._final = False
        self._begin()

    def _known(self, decode: Any, text: bytes) -> Any:
        """The message that a line is. Raises DecodeError if it has a new head: a search notes where, since damage is
        known by it."""
        told = self._state.inherited.get(FORMATS, {})
        if self.front.offset < FIRST and len(told) < MOST_HEADS and (head := head_of(text)) and head not in told:
            return _refused(text)
        return decode(text)

    def _begin(self) -> None:
        """Forgets what was noted of the bytes that wait."""
        self._try_size = 0  # a closed object is tried only when this many bytes wait
        self._closed_at = 0  # place in what waits behind the last object that closed; 0: none
        self._reread_size = 0  # lines that may go on are read again when this many bytes wait; 0: none wait for that
        self._braces = _Braces()
        self._last_line_head = b""  # of the line that came last, up to _LINE_HEAD bytes
        self._line_ended = False  # a line ended since the last look
        self._ender_came = False  # a line began that can end what waits, see _ENDING_LINE

    def feed(self, data: Buffer) -> list[Any]:
        """The messages that these bytes complete. Raises DecodeError once for each damaged one; its ``pending`` is the
        number of messages before it, which the next call gives. Raises DecodeError(buffer_full), and takes nothing, if
        more bytes would wait than the limit allows, and TypeError for what is not bytes-like."""
        front = self.front
        new = data if type(data) is bytes else _as_bytes(data)
        found: list[Any] | bool = front.feed(new)
        if type(found) is list:
            return found
        self._take_over()
        before = front.offset
        self._append(b"" if found else new)
        messages = self._messages()
        state = self._state
        if not (state.fence or state.runs or state.streams or state.foreign):
            waiting = self._joined() if self._size <= MOST_HELD else b"\n"
            if not waiting or (b"\n" not in waiting and front.offset > before):
                self._data, self._size = b"", 0
                self._begin()
                front.held, front.mid, front.plain = waiting, state.mid, True
        return messages

    def _take_over(self) -> None:
        """Goes on after what ``front`` has read."""
        front, state = self.front, self._state
        held = front.leave()
        if front.passed:
            state.begun, state.touched = True, state.touched or front.touched
            state.tail, state.mid = state.tail or front.tail, front.mid
        front.passed = front.touched = front.tail = False
        self._append(held)

    def _decoder(self, code: int, lines: bool = False) -> tuple[Any, Any]:
        """``registry.own_decode`` of a built-in wire; lines: for many messages of nSLIP."""
        read, decode = (None, decode_many) if lines else registry.own_decode(registry.names()[code])
        return read, partial(decode, unknown="keep") if self._keep and code == finder(None).nslip else decode

    def close(self) -> list[Any]:
        """Ends the input: the last messages. Later input starts a new text, but offsets and lines continue. Raises
        DecodeError as :meth:`feed` does; then call it again for the rest."""
        self._take_over()
        self._final = True
        self._begin()
        messages = self._messages()
        self.front.plain, self.front.mid = True, False
        return messages

    def _messages(self) -> list[Any]:
        """All messages that are complete. Raises the DecodeError of the first damaged one."""
        try:
            while self._found or self._look():
                found = self._found.popleft()
                if isinstance(found, DecodeError):
                    raise found
                batch, row = found
                self.front.messages.append(batch.message(row))
        except DecodeError as error:
            error.pending = len(self.front.messages)
            raise
        ready: list[Any] = self.front.messages
        self.front.messages = []
        return ready

    def _append(self, new: bytes) -> None:
        """Adds bytes to those that wait, and notes what they may end."""
        if self._size + len(new) > self._limits.feed_buffer:
            waiting = self._size
            text = f"{waiting} bytes wait for the end of a message and {len(new)} come in, over the limit of "
            text += f"{self._limits.feed_buffer}; feed smaller pieces"
            line = self.front.line + self._joined().count(b"\n")
            place = self.front.offset + waiting
            error = DecodeError(Reason.BUFFER_FULL, text, offset=place, line=line, wire=self._wire)
            error.pending = len(self.front.messages)
            raise error
        if not new:
            return
        closed = self._braces.closed(new)
        if closed >= 0:
            self._closed_at = self._size + closed
        coming = self._last_line_head + new
        self._ender_came = self._ender_came or _ENDING_LINE.search(coming) is not None
        newline = coming.rfind(b"\n")
        self._line_ended = self._line_ended or newline >= 0
        self._last_line_head = coming[newline + 1 : newline + 1 + _LINE_HEAD]
        self._new_parts.append(new)
        self._size += len(new)
        self._final = False
        self._reread_credit = min(self._reread_credit + _REREADS * len(new), self._size + _REREADS * _FREE_SIZE)

    def _look(self) -> bool:
        """Reads what may be decided by now: all at the end of the input, else whole lines, and up to an object that
        closed. True if something was found."""
        if self._final:
            while self._size and not self._found:
                self._read(self._size, True)
            if not self._size:
                self._state = SearchState()
            return bool(self._found)
        closed = self._braces.lines and not self._braces.depth
        ending = self._ender_came and self._size <= self._reread_credit
        if self._line_ended and (self._size <= _FREE_SIZE or self._size >= self._reread_size or ending or closed):
            before = self.front.offset
            self._reread_credit = max(self._reread_credit - self._size, 0)
            decided = self._read(self._joined().rfind(b"\n") + 1, False)
            self._reread_size = 0 if decided else 2 * self._size
            self._follow_braces(self._braces.lines and not decided and self.front.offset == before)
            self._ender_came = False
        self._line_ended = False
        if self._closed_at and self._size >= self._try_size and (self._braces.lines or not self._reread_size):
            self._try_closed(self._closed_at)
        return bool(self._found)

    def _follow_braces(self, same: bool) -> None:
        """Counts the braces of what waits anew: of the object over several lines with which it begins, else of its last
        line. same: that object is the one being counted."""
        line = self._data.rfind(b"\n") + 1
        if not same and line and self._data.startswith((b"{", b"[")):
            self._braces = _Braces(lines=True)
            self._closed_at = max(self._braces.closed(self._data), 0)
            same = True
        if not same or (not self._braces.depth and self._closed_at <= line):
            self._braces = _Braces()
            closed = self._braces.closed(self._data[line:])
            self._closed_at = 0 if closed < 0 else line + closed

    def _joined(self) -> bytes:
        """The bytes that wait, in one piece."""
        if self._new_parts:
            self._data = b"".join([self._data, *self._new_parts])
            self._new_parts = []
        return self._data

    def _search(self, size: int, final: bool, state: SearchState) -> BlockResult:
        """Searches the first ``size`` bytes that wait; changes nothing but ``state``."""
        block, before = InputBlock(self._joined()[:size], size, self.front.offset, final), state.copy()
        before.inherited = {name: dict(of) for name, of in state.inherited.items()}
        found = self._engine.scan(block, final, self.front.line, state)
        return self._engine.inherited(found, before, self.front.line, final, None)

    def _read(self, size: int, final: bool) -> bool:
        """Reads the first ``size`` bytes and drops those that are decided. True if all of them are."""
        cut = True
        while cut:
            found = self._search(size, final, self._state)
            self._collect(found)
            self._drop(found.position, found.line)
            size, cut = size - found.position, found.block.cut
        return not size

    def _try_closed(self, size: int) -> None:
        """Reads the first ``size`` bytes, up to where an object closed, and keeps the result only if a message ends
        there. Otherwise they may be part of something larger, and wait for the end of the line or for half as many
        bytes again."""
        self._closed_at = 0
        self._try_size = 0 if self._size <= _FREE_SIZE else self._size + self._size // 2
        begun = self._joined()
        within = self._state.mid
        if not (within or self._braces.lines) and _may_go_on(begun.removeprefix(BOM)):
            return
        text = _is_text(begun) and not self._line_wires.goes_on(begun)
        if not (self._braces.lines or within or text):
            return
        for _ in range(2):
            state = self._state.copy()
            found = self._search(size, True, state)
            last = int(found.arrays["offset"][found.rows - 1]) - self.front.offset if found.rows else 0
            last += int(found.arrays["length"][found.rows - 1]) if found.rows else 0
            if found.rows and last == size == found.position and self._is_final(found):
                self._state = state
                self._collect(found)
                self._drop(size, found.line)
                return
            size = last  # a "#" behind it may have been text
            if not size:
                break

    def _is_final(self, found: BlockResult) -> bool:
        """True if later bytes cannot change what was found in a part of a line: it has no damage and no brace outside
        of its messages, and the last of these is not one of CSP/1, which could go on."""
        if found.arrays["wire"][found.rows - 1] == self._csp_code:
            return False
        data, end = bytes(found.buffer), 0
        places = (found.arrays[name][: found.rows].tolist() for name in ("offset", "length"))
        for offset, length in zip(*places, strict=True):
            start = offset - found.block.base
            if data.find(b"{", end, start) >= 0:
                return False
            end = start + length
        return not found.rejects

    def _drop(self, position: int, line: int) -> None:
        """Lets go of the first ``position`` bytes, which are decided; line: the number of the next line."""
        self._data = self._joined()[position:]
        self._size = len(self._data)
        self.front.offset += position
        self.front.line = line
        self._closed_at = max(self._closed_at - position, 0)
        self._try_size = 0

    def _collect(self, found: BlockResult) -> None:
        """Adds the messages and errors of a search, in the order of their places, to those that will be given."""
        rows = Rows(found.buffer, found.arrays, found.rows, None, found.block.base, 0, self._engine.keep)
        batch = Batch(self._scanner, (), rows)
        wanted = self._rows_of_wire(found.arrays["wire"][: found.rows])
        met: list[tuple[tuple[int, int], Any]] = [((row, 1), (batch, row)) for row in wanted]
        for table, count in found.rejects:
            for row in self._rows_of_wire(table["wire"][:count]):
                one = {name: array[row : row + 1] for name, array in table.items()}
                error = quarantine.first_error(one, None, found.buffer, found.block.base)
                met.append(((int(one["row"][0]), 0), error))
        self._found.extend(one for _, one in sorted(met, key=lambda pair: pair[0]))

    def _rows_of_wire(self, codes: NDArray[np.uint8]) -> list[int]:
        """The rows of the wire that is read, or all."""
        rows: list[int] = np.flatnonzero((codes == self._code) | (self._code is None)).tolist()
        return rows
