"""Messages out of a stream that arrives in pieces: sans-IO, bounded, and usable after an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from turnwire import _backend
from turnwire._lazy import require_numpy
from turnwire.contract import LIMITS, Limits, checked_limits

if TYPE_CHECKING:
    from typing import Literal, overload

    from typing_extensions import TypeVar

    from turnwire import csp, kick, nslip, sap, sstp

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")


class Decoder(Generic[M]):
    """Reads messages from bytes that arrive in pieces of any size.

    Messages may be anywhere in other text, as in a log: the decoder returns the records that :func:`turnwire.scan`
    finds in all that is fed, and raises its rejects, however the input is cut. A message is complete with its last
    byte. :meth:`feed` raises DecodeError for a damaged one when its line ends, or the text that it is part of. Nothing
    is lost: the whole piece is consumed, and the next call, such as ``feed(b"")``, returns the messages before and
    after the damaged one. The error's ``pending`` counts the messages that wait before it; ``offset`` and ``line``
    count from the first byte ever fed. Concurrent calls wait for one another.

    Args:
        wire: the wire whose messages to return; None for all wires, "formats" for all formats. A CSP/1 message ends
            before a line that cannot belong to it, so it waits for that line. Messages wait for the end of their line
            if they follow damage, or if the line has a CRI prefix, strings and arrays, or an object that is not a
            message; if CRI split the line, they wait for its last part. If many lines of a waiting message could have
            ended it (fences in a heredoc), the decoder may find its end later, by at most a sixteenth of its size.
        limits: ``limits.message`` bounds one message, ``limits.feed_buffer`` the bytes kept between two calls.
    """

    __slots__ = ("__weakref__", "_lock", "_stream", "_whole", "wire")

    if TYPE_CHECKING:
        # fmt: off
        @overload
        def __init__(
            self: Decoder[nslip.SlipMessage], wire: Literal["nslip"], *, unknown: str = "error", limits: Limits = LIMITS
        ) -> None: ...
        @overload
        def __init__(
            self: Decoder[csp.CspMessage | csp.Template], wire: Literal["csp"], *, unknown: str = "error",
            limits: Limits = LIMITS,
        ) -> None: ...
        @overload
        def __init__(
            self: Decoder[sstp.Message], wire: Literal["sstp"], *, unknown: str = "error", limits: Limits = LIMITS
        ) -> None: ...
        @overload
        def __init__(
            self: Decoder[sap.Task | sap.Result | sap.Ack | sap.Nack], wire: Literal["sap"], *, unknown: str = "error",
            limits: Limits = LIMITS,
        ) -> None: ...
        @overload
        def __init__(
            self: Decoder[kick.Envelope | kick.Space], wire: Literal["kick"], *, unknown: str = "error",
            limits: Limits = LIMITS,
        ) -> None: ...
        @overload
        def __init__(
            self: Decoder[Any], wire: str | None = None, *, unknown: str = "error", limits: Limits = LIMITS
        ) -> None: ...
        # fmt: on

    def __init__(self, wire: str | None = None, *, unknown: str = "error", limits: Limits = LIMITS) -> None:
        require_numpy()
        from turnwire.read.streaming import BlockStream  # NumPy is imported where it is used

        checked_limits(limits)
        self._stream = BlockStream(wire, unknown, limits)
        self._whole, self._lock = self._stream.front.feed, self._stream.lock
        self.wire = wire

    def feed(self, data: bytes | bytearray | memoryview, /) -> list[M]:
        """Returns the messages that ``data`` completes, in order. Raises DecodeError for a damaged one (see the
        class), and buffer_full, which changes nothing, if more than ``limits.feed_buffer`` would be kept."""
        found: list[M] | bool = self._whole(data)
        if type(found) is list:
            return found
        with self._lock:
            return self._stream.feed(b"" if found else data)

    def close(self) -> list[M]:
        """Ends the input and returns the last messages. Raises DecodeError if one was cut off; call it again for
        the others. Later input starts a new text, but offsets and lines continue."""
        with self._lock:
            return self._stream.close()


if not TYPE_CHECKING and _backend.NAME == "native":
    Decoder.feed = _backend.load("common.door").feeder(Decoder, Decoder._whole)
