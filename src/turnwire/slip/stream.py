"""nSLIP messages out of a byte stream, by the rules of a log: among other text, one line each (readings 8)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, Reason
from turnwire.slip.spec import HEADER_PREFIXES, WIRE

if TYPE_CHECKING:
    from typing_extensions import Buffer

_core = _backend.load("nslip")
_CANDIDATE = re.compile(rb"@(?:[%b](?:[0-9A-Za-z]|\Z)|\Z)" % HEADER_PREFIXES.encode())


class Stream:
    """What arrived and is not read yet, and where in the whole stream it stands."""

    def __init__(self, unknown: str, limits: Limits) -> None:
        self._unknown = unknown
        self._limits = limits
        self._data = b""
        self._position = 0
        self._offset = 0
        self._line = 1
        self._ended = False

    def write(self, data: Buffer) -> None:
        """Takes bytes. Raises DecodeError(buffer_full) and takes nothing when more would be held than the limit."""
        new = bytes(data)
        held = len(self._data) - self._position
        if held + len(new) > self._limits.feed_buffer:
            raise DecodeError(
                Reason.BUFFER_FULL,
                f"{held} bytes wait for the end of a message and {len(new)} come in, over the limit of "
                f"{self._limits.feed_buffer}; feed smaller pieces",
                offset=self._offset + held,
                line=self._line,
                wire=WIRE,
            )
        self._data = self._data[self._position :] + new
        self._position = 0

    def end(self) -> None:
        """Nothing follows."""
        self._ended = True

    def read(self) -> Any | None:
        """The next message, or None when there is no complete one. Raises DecodeError at a damaged one, once."""
        while True:
            match = _CANDIDATE.search(self._data, self._position)
            if match is None:
                self._go_to(len(self._data))
                return None
            start = match.start()
            self._go_to(start)
            if start + 2 >= len(self._data):
                if not self._ended:
                    return None
                self._go_to(start + 1)
                continue
            return self._message(start)

    def _message(self, start: int) -> Any | None:
        try:
            found = _core.decode_record(
                self._data, start, self._ended, unknown=self._unknown, limit=self._limits.message
            )
        except DecodeError as error:
            lines = self._data.count(b"\n", 0, start)
            error.line = (error.line or 1) - lines + self._line - 1
            error.offset = (error.offset or 0) - start + self._offset
            # The rest of the damaged record holds what it holds: reading goes on behind its '@'.
            self._go_to(start + 1)
            raise error.relocated() from None
        if found is None:
            return None
        message, stop = found
        self._go_to(stop)
        return message

    def _go_to(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._offset += position - self._position
        self._position = position


def stream(*, unknown: str = "error", limits: Limits = LIMITS) -> Stream:
    """What :class:`turnwire.Decoder` reads nSLIP with."""
    if unknown not in ("error", "keep"):
        raise ValueError(f'unknown is "error" or "keep", not {unknown!r}')
    return Stream(unknown, limits)
