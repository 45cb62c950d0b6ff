"""nSLIP messages out of a byte stream, by the rules of a log: among other text, one line each (readings 8)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, Reason
from turnwire.nslip.spec import CANDIDATE, CANDIDATE_CUT, WIRE

if TYPE_CHECKING:
    from typing_extensions import Buffer

_core = _backend.load("nslip.codec")
_CANDIDATE = re.compile(rb"(%b)|%b\Z" % (CANDIDATE, CANDIDATE_CUT))


_INSIDE = re.compile(rb'["\\\n]')
_OUTSIDE = re.compile(rb'["#\n]')
_SHORT = 512
"""Bytes up to which an incomplete message is simply read again with every piece that comes."""


class _Long:
    """The wait for the end of a long message: that reading it is worth another try shows in the new bytes alone, so
    that small pieces of a large message do not cost a look at all of it each."""

    def __init__(self, data: bytes, limit: int) -> None:
        self._limit = limit
        self._inside = self._escaped = False
        self._size = 0
        self._retry = len(data) + 1
        self.ended = False
        self.take(data)
        self.wait()

    @property
    def due(self) -> bool:
        """Whether the message may be complete, or has doubled, or is over the limit."""
        return self.ended or self._size >= self._retry

    def take(self, data: bytes) -> None:
        """The next bytes, as long as no end was among them."""
        self._size += len(data)
        self.ended = self.ended or self._ends(data)

    def wait(self) -> None:
        """It was read in vain."""
        self._retry = min(2 * self._size, max(self._limit, self._size) + 1)

    def _ends(self, data: bytes) -> bool:
        """Whether a "#" outside strings or a newline is in there."""
        place = 0
        if self._escaped and data:
            self._escaped = False
            place = data[:1] != b"\n"
        while match := (_INSIDE if self._inside else _OUTSIDE).search(data, place):
            place = match.end()
            if match[0] == b'"':
                self._inside = not self._inside
            elif match[0] != b"\\":
                return True
            elif place == len(data):
                self._escaped = True
            else:
                place += data[place : place + 1] != b"\n"
        return False


def _taken(data: Buffer) -> bytes:
    if isinstance(data, str):
        raise TypeError("a stream is fed bytes, not str: feed(text.encode())")
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"a stream is fed bytes, not {type(data).__name__}") from None


class Stream:
    """What arrived and is not read yet, and where in the whole stream it stands."""

    def __init__(self, unknown: str, limits: Limits) -> None:
        self._unknown = unknown
        self._limits = limits
        self._data = b""
        self._position = 0
        self._final = False  # nothing follows _data that belongs to its last message
        self._coming: list[bytes] = []  # what arrived behind _data
        self._coming_size = 0
        self._long: _Long | None = None
        self._offset = 0
        self._line = 1

    def write(self, data: Buffer) -> None:
        """Takes bytes. Raises DecodeError(buffer_full) and takes nothing when more would be held than the limit, and
        TypeError for what is not bytes-like."""
        new = data if type(data) is bytes else _taken(data)
        held = len(self._data) - self._position + self._coming_size
        if held + len(new) > self._limits.feed_buffer:
            lines = self._data.count(b"\n", self._position) + sum(part.count(b"\n") for part in self._coming)
            raise DecodeError(
                Reason.BUFFER_FULL,
                f"{held} bytes wait for the end of a message and {len(new)} come in, over the limit of "
                f"{self._limits.feed_buffer}; feed smaller pieces",
                offset=self._offset + held,
                line=self._line + lines,
                wire=WIRE,
            )
        if not new:
            return
        self._coming.append(new)
        self._coming_size += len(new)
        if self._long is not None:
            self._long.take(new)

    def end(self) -> None:
        """Nothing follows. What is written later starts afresh, its places count on."""
        if not self._final:
            self._join()
            self._long = None
        self._final = True

    def read(self) -> Any | None:
        """The next message, or None when there is no complete one. Raises DecodeError at a damaged one, once."""
        while self._long is None or self._long.due:
            message = self._next()
            if message is not None:
                return message
            if not self._coming:
                return None
            self._final = False
            self._join()
        return None

    def read_bytes(self) -> bytes:
        """What is joined up to where reading stands: after :meth:`read` gave a message, it ends with its bytes."""
        return self._data[: self._position]

    def _join(self) -> None:
        self._data = b"".join([self._data[self._position :], *self._coming])
        self._position = self._coming_size = 0
        self._coming = []

    def _next(self) -> Any | None:
        """The next message in what is joined."""
        while True:
            match = _CANDIDATE.search(self._data, self._position)
            if match is None:
                self._go_to(len(self._data))
                return None
            start = match.start()
            self._go_to(start)
            if match.end() - start <= self._limits.message:
                if match[1]:
                    return self._message(start)
                if not self._final:
                    return None
            self._go_to(start + 1)

    def _message(self, start: int) -> Any | None:
        try:
            found = _core.decode_record(
                self._data, start, self._final, unknown=self._unknown, limit=self._limits.message
            )
        except DecodeError as error:
            error.line = self._line  # a record is one line
            error.offset = (error.offset or 0) + self._offset
            # The rest of the damaged record holds what it holds: reading goes on behind its '@'.
            self._long = None
            self._go_to(start + 1)
            raise error.relocated() from None
        if found is None:
            self._wait(start)
            return None
        self._long = None
        message, stop = found
        self._go_to(stop)
        return message

    def _wait(self, start: int) -> None:
        if self._long is not None and not self._long.ended:
            self._long.wait()
        elif len(self._data) - start >= _SHORT:
            self._long = _Long(self._data[start:], self._limits.message)
            for part in self._coming:
                self._long.take(part)

    def _go_to(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._offset += position - self._position
        self._position = position


def stream(*, unknown: str = "error", limits: Limits = LIMITS) -> Stream:
    """What :class:`turnwire.Decoder` reads nSLIP with."""
    if unknown not in ("error", "keep"):
        raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
    if limits.message < 1 or limits.feed_buffer < 1:
        raise ValueError("limits.message and limits.feed_buffer must be positive")
    return Stream(unknown, limits)
