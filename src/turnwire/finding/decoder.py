"""Messages out of a stream that arrives in pieces: sans-IO, bounded, and usable after an error."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS, Limits, checked_limits, wire_package

if TYPE_CHECKING:
    from turnwire.contract import MessageStream


class Decoder:
    """Takes bytes in pieces of any size and gives messages.

    Messages may stand anywhere among other text, as in a log; one is complete as soon as its last byte is there.
    :meth:`feed` raises DecodeError when a message is known to be damaged: at once, or for one that is already long at
    the latest when its line ends or it has doubled. Nothing else is lost by that: what was complete before it, and
    everything behind it, comes with the next call (``feed(b"")`` will do). ``offset`` and ``line`` of the error count
    from the first byte ever fed. Calls from several threads wait for one another; whose piece comes first is theirs.

    Args:
        wire: the wire to read; None reads all of them. Then what may belong to a CSP/1 message, whose lines go on until
            one begins something else, waits for that line; in a line in which an object began that is no message,
            messages come when their line ends.
        limits: ``limits.message`` bounds one message, ``limits.feed_buffer`` what is held between two calls.
    """

    def __init__(self, wire: str | None = None, *, unknown: str = "error", limits: Limits = LIMITS) -> None:
        checked_limits(limits)
        package = None if wire is None else wire_package(wire)
        self._stream: MessageStream
        if package is not None and hasattr(package, "stream"):
            self._stream = package.stream(unknown=unknown, limits=limits)
        else:
            from turnwire.log.engine.streaming import BlockStream  # NumPy, which nSLIP does without

            self._stream = BlockStream(wire, unknown, limits)
        self._ready: list[Any] = []
        self._lock = RLock()
        self.wire = wire

    def feed(self, data: bytes | bytearray | memoryview) -> list[Any]:
        """The messages that ``data`` completes, in order. Raises DecodeError at a damaged one (see the class), and
        buffer_full, which changes nothing, when more is held back than ``limits.feed_buffer``."""
        with self._lock:
            self._stream.write(data)
            return self._read()

    def close(self) -> list[Any]:
        """Says that nothing follows: the last messages. Raises DecodeError where one was cut off; call it again for
        what is left. What is fed later starts afresh, while places count on."""
        with self._lock:
            self._stream.end()
            return self._read()

    def _read(self) -> list[Any]:
        while (message := self._stream.read()) is not None:
            self._ready.append(message)
        ready, self._ready = self._ready, []
        return ready
