"""encode and decode of envelopes, detection, JSON Schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend, json_text
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError
from turnwire.kick import envelope_methods as methods
from turnwire.kick.faults import encode_fault
from turnwire.kick.policy import DEFAULT_POLICY, Policy
from turnwire.kick.spec import FIELDS, REQUIRED_FIELDS, SIGIL, TYPES, WIRE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire._pure import envelope as _core
    from turnwire._pure.space import has_section
    from turnwire.kick.messages import Envelope
else:
    _core = _backend.load("envelope")
    has_section = _backend.load("space").has_section

__all__ = ["_core", "decode", "detect", "encode", "has_section", "json_schema"]

_read = json_text.reader(WIRE, FIELDS).read


def decode(
    data: str | Buffer, *, strict: bool = False, policy: Policy = DEFAULT_POLICY, limits: Limits = LIMITS
) -> Envelope:
    """One envelope from a JSON object in text or contiguous bytes; white space around it is dropped (section 001).

    Unknown keys are kept in ``extra``. Raises DecodeError with reason, byte offset and line: what strict JSON refuses,
    missing_*, bad_type_* and bad_enum_type for the field named in ``path``, bad_channel. What section 004 rules is left
    to ``check``, unless ``strict``: then the first warning is raised as RuleError.
    """
    fields = _read(data, limits)
    envelope = _core.build(fields)
    if envelope is None:
        raise _field_error(data, fields)
    if strict:
        from turnwire.kick.rules import check

        check(envelope, policy, strict=True)
    return envelope


def encode(envelope: Envelope, strict: bool = True, *, policy: Policy = DEFAULT_POLICY) -> str:
    """The JSON text of an envelope: the fields in the order of section 001, then unknown keys, no white space.

    Strict writing raises EncodeError for the first warning of ``check``, the field in ``path``; ``strict=False`` writes
    everything that ``decode`` reads. Both raise EncodeError for what has no JSON form.
    """
    if strict:
        from turnwire.kick.rules import check

        for reason, where, severity, text in check(envelope, policy):
            if severity == "warning":
                raise encode_fault(reason, text, str(where))
    fields = methods.to_dict(envelope)
    if not strict:
        fault = methods.field_fault(fields)
        if fault is not None:
            raise encode_fault(fault[0], fault[2], f"/{fault[1]}")
    return json_text.write(fields, WIRE)


def _field_error(data: str | Buffer, fields: dict[str, Any]) -> DecodeError:
    """The error for the first field that is missing or wrong, at its value, or at the object's brace."""
    fault = methods.field_fault(fields)
    if fault is None:
        raise AssertionError("build refuses only what field_fault explains")
    reason, name, words = fault
    raw = json_text.input_bytes(data, WIRE)
    offset = json_text.locate(raw, f"/{name}")
    line = raw.count(b"\n", 0, offset) + 1
    return DecodeError(reason, words, offset=offset, line=line, wire=WIRE, path=f"/{name}")


_CHANNEL = re.compile(rb'"channel"\s*:\s*"(?:\xe2\xab\xbb|\\u2[aA][fF][bB])')


def detect(data: bytes) -> bool:
    """Whether one record looks like a KickLang envelope: a JSON object with a channel that starts with the sigil, or
    with a sender, a receiver and a channel."""
    if data.lstrip()[:1] != b"{":
        return False
    return _CHANNEL.search(data) is not None or all(key in data for key in (b'"sender"', b'"receiver"', b'"channel"'))


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the objects that ``decode`` takes; what ``check`` judges is described, not enforced."""
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
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:turnwire:kick:envelope",
        "title": "KickLang envelope",
        "type": "object",
        "properties": properties,
        "required": list(REQUIRED_FIELDS),
        "additionalProperties": True,
    }
