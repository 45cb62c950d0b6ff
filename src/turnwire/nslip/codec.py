"""encode and decode of nSLIP, straight from the chosen core; finding and showing single messages."""

from __future__ import annotations

from turnwire import _backend
from turnwire.contract import record_bytes
from turnwire.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Buffer

    from turnwire.nslip._codec_py import SlipMessage, decode, decode_many, encode, encode_many
else:
    _core = _backend.load("nslip.codec")
    SlipMessage = _core.SlipMessage
    decode = _core.decode
    encode = _core.encode
    decode_many = _core.decode_many
    encode_many = _core.encode_many

__all__ = ["SlipMessage", "decode", "decode_many", "detect", "encode", "encode_many", "plain", "search"]

_MESSAGE_IN_TEXT = r'@[afcSdT][0-9A-Za-z](?:[^"#\r\n@]|"[^"\\]*(?:\\.[^"\\]*)*")*+#'


def detect(data: str | Buffer) -> bool:
    """True if one record looks like nSLIP: ``@``, a field prefix, a value. Never raises."""
    head = (record_bytes(data) or b"").lstrip()[:3]
    return head[:1] == b"@" and head[1:2].isalpha() and (head[2:3].isalnum() or head[2:3] == b'"')


def search(text: str) -> Iterator[tuple[SlipMessage, int, int]]:
    """Finds each message in ``text``: it and its start and end, in order."""
    import re  # here, so that reading single messages never pays for it

    pattern = re.compile(_MESSAGE_IN_TEXT, re.DOTALL)
    place = 0
    while (match := pattern.search(text, place)) is not None:
        place = match.start() + 1
        try:
            message = decode(match.group())
        except DecodeError:
            continue
        place = match.end()
        yield message, match.start(), place


def plain(message: SlipMessage) -> dict[str, Any]:
    """A message as plain JSON values: act and frame by name, the header, each slot by name."""
    fields: dict[str, Any] = dict(message.to_dict())
    head = {name: fields.pop(name) for name in ("act", "frame", "conv_id", "src", "dst", "turn")}
    slots = {name.lower(): value for name, value in fields.pop("slots").items()}
    return {**head, **slots, **fields}
