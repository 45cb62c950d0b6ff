"""The names of slipcore 0.1.0: ``from slipcore.protocol import …`` becomes ``from turnwire.slip.protocol import …``.

docs/slipcore.md lists each difference from the original with its reason; every error is a ValueError.
"""

from __future__ import annotations

from turnwire.slip.base62 import decode as decode_int_base62
from turnwire.slip.base62 import encode as encode_int_base62
from turnwire.slip.codec import decode as decode_message
from turnwire.slip.codec import encode as encode_message
from turnwire.slip.messages import SlipMessage
from turnwire.slip.spec import END_MARKER, SEPARATOR, START_MARKER, Act, FrameType, Slot

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
