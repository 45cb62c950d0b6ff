"""nSLIP: the wire form of SLIP v0.1, complete, and a drop-in for slipcore 0.1.0."""

from turnwire.slip.spec import WIRE, Act, Extra, FrameType, Slot  # first: the core modules import it
from turnwire.slip.codec import decode, decode_many, detect, encode, encode_many
from turnwire.slip.messages import SlipMessage
from turnwire.slip.stream import stream

__all__ = [
    "WIRE",
    "Act",
    "Extra",
    "FrameType",
    "SlipMessage",
    "Slot",
    "decode",
    "decode_many",
    "detect",
    "encode",
    "encode_many",
    "stream",
]
