"""Envelopes of KickLang in plain Python: the readable twin of ``_native/kick/envelope.pyx``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS, Limits
from turnwire.json import text as json_text
from turnwire.json._write_py import compacted
from turnwire.kick import envelope_methods as methods
from turnwire.kick.rules import DEFAULT_POLICY, Policy, envelope_issues, other_issues
from turnwire.kick.spec import FIELDS, WIRE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.errors import Issue
    from turnwire.kick.space import Space


class Envelope(methods.EnvelopeMethods):
    """One message between agents (section 001).

    Args:
        id: UUID v4. timestamp: ISO 8601 date and time. sender, receiver: roles, the receiver also "Broadcast".
        type: a :class:`MessageType` or its string. channel: ``⫻family/name``. content: a Space document.
        correlation_id: the id of the request that this answers, or None.
        extra: unknown keys and their JSON values, kept and written back.

    Mutable. Values are validated by ``check`` and ``encode``, not when they are set.
    """

    __slots__ = ("__weakref__", "_extra", "_parsed", "_read", *FIELDS)
    __wire__ = WIRE
    __annotations__ = methods.ANNOTATIONS
    __match_args__ = ("id", "timestamp", "sender", "receiver", "type", "channel", "content", "correlation_id")

    if TYPE_CHECKING:
        _extra: dict[str, Any]
        _read: tuple[str | bytes, tuple[Any, ...]] | None  # the text that was read, and the fields that it says

    @property
    def extra(self) -> dict[str, Any]:
        """Unknown keys and their JSON values."""
        self._read = None  # they may be changed
        return self._extra

    @extra.setter
    def extra(self, extra: dict[str, Any]) -> None:
        self._read = None
        self._extra = extra

    def _unchanged(self) -> str | None:
        """The text of an unchanged envelope that was read in writing order; else None."""
        if self._read is None or self._read[1] != tuple(getattr(self, name) for name in FIELDS):
            return None
        return compacted(self._read[0])

    def _keep(self, text: str | bytes, own: bool = True) -> None:
        """Keeps the text that says just this, in the order of writing; own: which the compiled twin gives as it is."""
        self._read = text, tuple(getattr(self, name) for name in FIELDS)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name in FIELDS:  # there is no field without a value
            object.__setattr__(self, name, None)


_read_object = json_text.reader(WIRE, FIELDS).read


def encode(envelope: Envelope | Space, strict: bool = True, *, policy: Policy = DEFAULT_POLICY) -> str:
    """Writes an envelope as JSON text without white space: the fields in the order of section 001, then unknown keys.

    Strict writing raises EncodeError for the first warning of ``check``, with the field in ``path``; ``strict=False``
    writes any envelope that ``decode`` reads. For a Space document, returns its text. Both raise EncodeError for values
    without a JSON form, and for other objects (wrong_type).
    """
    return methods.envelope_text(envelope, Envelope, check, strict, policy)


def decode(
    data: str | Buffer, *, strict: bool = False, policy: Policy = DEFAULT_POLICY, limits: Limits = LIMITS
) -> Envelope:
    """Reads one envelope from a JSON object in text or contiguous bytes; surrounding white space is ignored (section
    001).

    Unknown keys are kept in ``extra``. Raises DecodeError with reason, byte offset and line: for invalid JSON,
    missing_*, bad_type_* and bad_enum_type for the field named in ``path``, bad_channel. ``check`` applies the rules of
    section 004; with ``strict``, its first warning is raised as RuleError.
    """
    fields = _read_object(data, limits)
    source = data if type(data) is str or type(data) is bytes else json_text.input_bytes(data, WIRE)
    envelope: Envelope = methods.built(Envelope, fields, data, source if limits is LIMITS else None)
    if strict:
        check(envelope, policy, strict=True)
    return envelope


def check(envelope: Envelope | Space, policy: Policy = DEFAULT_POLICY, *, strict: bool = False) -> list[Issue]:
    """Lists the issues of an envelope, by the rules of section 004 and the table of ``policy``. For a Space document,
    lists the faults that lenient reading accepted, and those of ``lint``; ``where`` is then a line.

    Strict ``encode`` rejects a "warning"; an "info" may be fine (an unknown key, an unknown role). ``where`` is a JSON
    pointer; the text names the row of the policy. With ``strict``, the first warning is raised as RuleError, with the
    section of the specification as its ``rule``.
    """
    if not isinstance(envelope, Envelope):
        return other_issues(envelope, Envelope, strict)
    return envelope_issues(envelope, policy, strict)
