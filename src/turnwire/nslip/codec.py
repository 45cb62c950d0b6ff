"""encode and decode of nSLIP, straight from the chosen core; detection and display of single messages."""

from __future__ import annotations

from turnwire import _backend
from turnwire.contract import record_bytes
from turnwire.errors import EncodeError, Reason
from turnwire.nslip.faults import encode_fault

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from turnwire.nslip._codec_py import SlipMessage, decode, decode_many, encode, text
else:
    _core = _backend.load("nslip.codec")
    SlipMessage = _core.SlipMessage
    decode = _core.decode
    encode = _core.encode
    decode_many = _core.decode_many
    text = _core.text
    CORE = _core

__all__ = ["SlipMessage", "decode", "decode_many", "detect", "encode", "encode_many", "text"]


def detect(data: str | Buffer) -> bool:
    """True if one record looks like nSLIP: ``@``, a field prefix, a value. Never raises."""
    head = (record_bytes(data) or b"").lstrip()[:3]
    return head[:1] == b"@" and head[1:2].isalpha() and (head[2:3].isalnum() or head[2:3] == b'"')


def encode_many(messages: Iterable[SlipMessage]) -> bytes:
    """Writes one message per line, as UTF-8, each followed by a newline. Raises EncodeError like encode, and
    newline_in_string for text with a newline; ``path`` starts with the index of the message."""
    lines = []
    for index, message in enumerate(messages):
        try:
            line = encode(message)
            if "\n" in line:
                raise encode_fault(Reason.NEWLINE_IN_STRING, "a line cannot hold a newline")
        except EncodeError as error:
            error.path = f"/{index}{error.path or ''}"
            raise
        lines.append(line)
    lines.append("")
    return "\n".join(lines).encode()
