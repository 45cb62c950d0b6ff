"""encode and decode of nSLIP: the functions of the chosen core themselves, with nothing around them."""

from __future__ import annotations

from turnwire import _backend
from turnwire.contract import record_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.nslip._codec_py import decode, decode_many, encode, encode_many
else:
    _core = _backend.load("nslip.codec")
    decode = _core.decode
    encode = _core.encode
    decode_many = _core.decode_many
    encode_many = _core.encode_many

__all__ = ["decode", "decode_many", "detect", "encode", "encode_many"]


def detect(data: str | Buffer) -> bool:
    """Whether one record looks like nSLIP: ``@``, a field prefix, a value. Never raises."""
    head = (record_bytes(data) or b"").lstrip()[:3]
    return head[:1] == b"@" and head[1:2].isalpha() and (head[2:3].isalnum() or head[2:3] == b'"')
