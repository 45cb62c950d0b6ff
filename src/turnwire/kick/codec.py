"""decode, encode and check of envelopes, their detection, and JSON Schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, record_bytes
from turnwire.errors import Reason
from turnwire.json._codec_py import FieldPolicy, Kind, Row
from turnwire.json.text import compacted, input_bytes, reader, write
from turnwire.kick.faults import encode_fault
from turnwire.kick.messages import Envelope, built, field_fault, members
from turnwire.kick.rules import DEFAULT_POLICY, Policy, envelope_issues, other_issues
from turnwire.kick.space import Space
from turnwire.kick.spec import FIELDS, REQUIRED_FIELDS, SIGIL, TYPES, WIRE
from turnwire.message import DIALECT

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.errors import Issue
    from turnwire.json import _codec_py as _core
else:
    _core = _backend.load("json.codec")

__all__ = ["Envelope", "check", "decode", "detect", "encode", "json_schema"]

_RULED = ("sender", "receiver", "type", "channel")
_ROWS = (
    Row("id", "uuid4", True),
    Row("timestamp", "moment", True),
    Row("sender", "text", True, mark="ruled"),
    Row("receiver", "text", True, mark="ruled"),
    Row("type", "enum", True, mark="ruled", words=tuple(TYPES)),
    Row("channel", "channel", True, mark="ruled"),
    Row("content", "space", True),
    Row("correlation_id", "uuid4"),
)


def _learn(envelope: Envelope) -> tuple[bool, tuple[Issue, ...]] | None:
    """The decision of the specification's policy on an envelope, as the codec keeps it; None for a refusal."""
    DEFAULT_POLICY.issues(envelope)
    return DEFAULT_POLICY.known.get((envelope.sender, envelope.receiver, envelope.type, envelope.channel))


def codec_of(core: Any, read_source: Any) -> Any:
    """The codec of envelopes, of one core."""
    policy = FieldPolicy(_RULED, DEFAULT_POLICY.known, "correlation_id", _learn, Envelope.__dict__["_remarks"])
    return core.Codec([Kind(Envelope)], core.Rules(_ROWS), read_source, policy=policy)


def decode(
    data: str | Buffer, *, strict: bool = False, policy: Policy = DEFAULT_POLICY, limits: Limits = LIMITS
) -> Envelope:
    """Reads one envelope from a JSON object in text or contiguous bytes; surrounding white space is ignored (section
    001).

    Unknown keys are kept in ``extra``. Raises DecodeError with reason, byte offset and line: for invalid JSON,
    missing_*, bad_type_* and bad_enum_type for the field named in ``path``, bad_channel. ``check`` applies the rules of
    section 004; with ``strict``, its first warning is raised as RuleError.
    """
    found = _codec.read(data) if limits is LIMITS else None
    if found is None:
        fields = _read(data, limits)
        text = data if type(data) is str or type(data) is bytes else input_bytes(data, WIRE)
        found = built(Envelope, fields, data, text if limits is LIMITS else None)
    if strict:
        check(found, policy, strict=True)
    return found  # type: ignore[no-any-return]


def encode(envelope: Envelope | Space, strict: bool = True, *, policy: Policy = DEFAULT_POLICY) -> str:
    """Writes an envelope as JSON text without white space: the fields in the order of section 001, then unknown keys.

    Strict writing raises EncodeError for the first warning of ``check``, with the field in ``path``; ``strict=False``
    writes any envelope that ``decode`` reads. For a Space document, returns its text. Both raise EncodeError for values
    without a JSON form, and for other objects (wrong_type).
    """
    if policy is DEFAULT_POLICY or not strict:
        text: str | None = _codec.text(envelope, strict)
        if text is not None:
            return text
    if not isinstance(envelope, Envelope):
        if isinstance(envelope, Space):
            return envelope.text(strict=strict)
        raise encode_fault(Reason.WRONG_TYPE, f"encode expects an Envelope, not {type(envelope).__name__}")
    if strict:
        for reason, where, severity, words in check(envelope, policy):
            if severity == "warning":
                raise encode_fault(reason, words, str(where))
    if source := envelope._text:
        return compacted(source)
    fields = members(envelope)
    if not strict and (fault := field_fault(fields)) is not None:
        raise encode_fault(*fault)
    return write(fields, WIRE)


def check(envelope: Envelope | Space, policy: Policy = DEFAULT_POLICY, *, strict: bool = False) -> list[Issue]:
    """Lists the issues of an envelope, by the rules of section 004 and the table of ``policy``. For a Space document,
    lists the faults that lenient reading accepted, and those of ``lint``; ``where`` is then a line.

    Strict ``encode`` rejects a "warning"; an "info" may be fine (an unknown key, an unknown role). ``where`` is a JSON
    pointer; the text names the row of the policy. With ``strict``, the first warning is raised as RuleError, with the
    section of the specification as its ``rule``.
    """
    found: list[Issue] | bool = _codec.is_clean(envelope) if policy is DEFAULT_POLICY else False
    if found is not False:
        return found  # type: ignore[return-value]
    if not isinstance(envelope, Envelope):
        return other_issues(envelope, Envelope, strict)
    return envelope_issues(envelope, policy, strict)


_read = reader(WIRE, FIELDS).read
CORE = _codec = codec_of(_core, None)
"""The functions that those of all wires use directly: ``read``, ``text`` and ``is_clean``."""
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
