"""Envelopes: their class, encode, decode and check, all of the chosen core; detection; JSON Schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import record_bytes
from turnwire.kick.spec import FIELDS, REQUIRED_FIELDS, SIGIL, TYPES
from turnwire.message import DIALECT

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.kick import _envelope_py as _core
    from turnwire.kick._envelope_py import Envelope, check, decode, encode
else:
    _core = _backend.load("kick.envelope")
    Envelope = _core.Envelope  # the core's own class, so that decoding makes no second object
    decode = _core.decode  # the core's own functions: a wrapper would cost a tenth of their time
    check = _core.check
    encode = _core.encode

__all__ = ["Envelope", "_core", "check", "decode", "detect", "encode", "json_schema"]


_CHANNEL = re.compile(rb'"channel"\s*:\s*"(?:\xe2\xab\xbb|\\u2[aA][fF][bB])')


def detect(data: str | Buffer) -> bool:
    """True if one record looks like a KickLang envelope: a JSON object with a channel that starts with the sigil, or
    with a sender, a receiver and a channel. Never raises."""
    raw = record_bytes(data) or b""
    if raw.lstrip()[:1] != b"{":
        return False
    return _CHANNEL.search(raw) is not None or all(key in raw for key in (b'"sender"', b'"receiver"', b'"channel"'))


def json_schema() -> dict[str, Any]:
    """Returns a JSON Schema (2020-12) of the objects that ``decode`` accepts; the rules of ``check`` are described but
    not enforced."""
    words = {
        "id": "UUID v4",
        "timestamp": "ISO 8601 date and time, zone optional",
        "sender": "a role",
        "receiver": "a role, or Broadcast",
        "type": "Command on command/*, Info on report/*, Alert on alert/*, Query on query/*",
        "channel": f"{SIGIL}family/name",
        "content": "a Space Format document with at least one section",
        "correlation_id": "the id of the request that this answers (UUID v4)",
    }
    properties: dict[str, Any] = {name: {"type": "string", "description": words[name]} for name in FIELDS}
    properties["type"]["enum"] = list(TYPES)
    properties["channel"]["pattern"] = rf"^{SIGIL}[^\s{SIGIL}/]+/[^\s{SIGIL}]+$"
    return {
        "$schema": DIALECT,
        "$id": "urn:turnwire:kick:envelope",
        "title": "KickLang envelope",
        "type": "object",
        "properties": properties,
        "required": list(REQUIRED_FIELDS),
        "additionalProperties": True,
    }
