"""The names of slipcore 0.1.0: ``from slipcore.protocol import …`` becomes ``from turnwire.nslip.protocol import …``.

docs/slipcore.md lists each difference from the original with its reason; every error is a ValueError. The functions
keep the original's parameter names, which costs them a call; ``turnwire.nslip.encode`` and ``decode`` are the core's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.nslip import base62, codec
from turnwire.nslip.codec import SlipMessage
from turnwire.nslip.spec import END_MARKER, SEPARATOR, START_MARKER, Act, FrameType, Slot

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "END_MARKER",
    "SEPARATOR",
    "START_MARKER",
    "Act",
    "FrameType",
    "SlipMessage",
    "Slot",
    "decode_int_base62",
    "decode_message",
    "encode_int_base62",
    "encode_message",
]


def encode_message(msg: SlipMessage) -> str:
    """Writes a message as text, with the same bytes as slipcore. Raises EncodeError, a ValueError."""
    return codec.encode(msg)


def decode_message(s: str | Buffer) -> SlipMessage:
    """Reads one message from text (or bytes), ignoring surrounding white space. Raises DecodeError, a ValueError."""
    return codec.decode(s)


def encode_int_base62(n: int) -> str:
    """Converts an integer 0 .. 2**64-1 to base62 digits. Raises EncodeError, a ValueError."""
    return base62.encode(n)


def decode_int_base62(s: str) -> int:
    """Converts base62 digits to an integer. Raises DecodeError, a ValueError."""
    return base62.decode(s)
