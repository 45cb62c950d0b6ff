"""encode and decode of nSLIP, straight from the chosen core; detection and display of single messages."""

from __future__ import annotations

from turnwire import _backend
from turnwire.contract import record_bytes

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.nslip._codec_py import SlipMessage, decode, decode_many, encode, encode_many
else:
    _core = _backend.load("nslip.codec")
    SlipMessage = _core.SlipMessage
    decode = _core.decode
    encode = _core.encode
    decode_many = _core.decode_many
    encode_many = _core.encode_many

__all__ = ["SlipMessage", "decode", "decode_many", "detect", "encode", "encode_any", "encode_many"]


def detect(data: str | Buffer) -> bool:
    """True if one record looks like nSLIP: ``@``, a field prefix, a value. Never raises."""
    head = (record_bytes(data) or b"").lstrip()[:3]
    return head[:1] == b"@" and head[1:2].isalpha() and (head[2:3].isalnum() or head[2:3] == b'"')


def encode_any(message: SlipMessage, strict: bool = True) -> str:
    """As ``encode``, for any ``strict``: there is one way to write. ``encode`` has one argument, which is faster."""
    return encode(message)
