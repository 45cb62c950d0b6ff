"""Methods of Envelope, once for both twins: the class that both take their methods from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwire import message as contract
from turnwire.contract import cached_if_short
from turnwire.errors import Reason
from turnwire.json import text as json_text
from turnwire.json.faults import kind_of
from turnwire.json.times import seconds
from turnwire.kick.faults import encode_fault
from turnwire.kick.spec import BAD_TYPE, FIELDS, MISSING, REQUIRED_FIELDS, SIGIL, TYPES, WIRE, MessageType

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Self, TypedDict, Unpack

    from turnwire.contract import Refusal
    from turnwire.errors import Issue
    from turnwire.kick.rules import Policy
    from turnwire.kick.space import Space

    class Changes(TypedDict, total=False):
        """The arguments of ``replace``."""

        id: str
        timestamp: str
        sender: str
        receiver: str
        type: MessageType | str
        channel: str
        content: str
        correlation_id: str | None
        extra: dict[str, Any]


def message_type(value: Any) -> Any:
    """The member of MessageType for its string; anything else stays what it is, for ``check`` to judge."""
    return TYPES.get(value, value) if isinstance(value, str) else value


@cached_if_short(1024)
def channel_parts(channel: str) -> tuple[str | None, str | None]:
    """(family, name) of ``⫻family/name``; the name may hold further slashes. (None, None) for anything else."""
    found = _CHANNEL.fullmatch(channel)
    return (None, None) if found is None else (found[1], found[2])


_CHANNEL = re.compile(rf"{SIGIL}([^\s{SIGIL}/]+)/([^\s{SIGIL}]+)")


def state(envelope: Any) -> tuple[Any, ...]:
    """The fields and a copy of ``extra``, in the order of the constructor."""
    return (*(getattr(envelope, name) for name in FIELDS), dict(envelope._extra or ()))


def members(envelope: Any) -> dict[str, Any]:
    """The JSON object of an envelope, whose values are those of the envelope itself."""
    result = {name: getattr(envelope, name) for name in FIELDS}
    result["type"] = str(envelope.type) if isinstance(envelope.type, str) else envelope.type
    if envelope.correlation_id is None:
        del result["correlation_id"]
    for key, value in (envelope._extra or {}).items():
        result.setdefault(key, value)
    return result


def _handed_out(envelope: Any) -> Any:
    """An envelope the values of whose ``extra`` others get, who may change what is in them."""
    if envelope._extra:
        envelope.extra  # noqa: B018  (asking for it is what counts)
    return envelope


def _of_text(cls: Any, values: tuple[Any, ...], text: str) -> Any:
    """A copy of an envelope that was read and has not changed."""
    made = cls(*values)
    made._keep(text)
    return made


def field_fault(fields: Mapping[str, Any]) -> Refusal | None:
    """The refusal of the first field, in the order of section 001, that makes an object no envelope."""
    texts = {*map(type, map(fields.get, REQUIRED_FIELDS)), type(fields.get("correlation_id", ""))} == {str}
    if texts and fields["type"] in TYPES and channel_parts(fields["channel"])[0] is not None:
        return None  # as most
    for name in FIELDS:
        if name not in fields:
            if name in REQUIRED_FIELDS:
                return MISSING[name], f"{name} is required", f"/{name}"
            continue
        value = fields[name]
        if not isinstance(value, str):
            return BAD_TYPE[name], f"{name} must be a string, not {kind_of(value)}", f"/{name}"
        if name == "type" and value not in TYPES:
            return Reason.BAD_ENUM_TYPE, f"type is one of {', '.join(TYPES)}", "/type"
        if name == "channel" and channel_parts(value)[0] is None:
            return Reason.BAD_CHANNEL, f"a channel is {SIGIL}family/name", "/channel"
    return None


_ALL = frozenset(FIELDS)


def built(
    cls: Any, fields: Mapping[str, Any], data: Any = None, text: str | bytes | None = None, own: bool = False
) -> Any:
    """The envelope of a JSON object that was read from ``data``. Raises DecodeError for the first field that is missing
    or wrong, at its value, or at the object's brace.

    text: of the object, which is kept where its keys are in the order of writing; own: which writing gives as it is.
    """
    if (fault := field_fault(fields)) is not None:
        raise json_text.refusal(data, WIRE, *fault)
    extra = {} if fields.keys() <= _ALL else {key: value for key, value in fields.items() if key not in _ALL}
    envelope = cls(*map(fields.get, FIELDS), extra)
    if text is not None and list(fields) == [*filter(fields.__contains__, FIELDS), *extra]:
        envelope._keep(text, own)
    return envelope


def envelope_text(envelope: Any, cls: type, check: Callable[..., list[Issue]], strict: bool, policy: Policy) -> str:
    """The text of an envelope that a core does not write at once, or why there is none; ``cls`` and ``check`` are the
    core's. See :func:`turnwire.kick.codec.encode`."""
    from turnwire.kick.space import Space

    if not isinstance(envelope, cls):
        if isinstance(envelope, Space):
            return envelope.text(strict=strict)
        raise encode_fault(Reason.WRONG_TYPE, f"encode expects an Envelope, not {type(envelope).__name__}")
    if strict:
        for reason, where, severity, text in check(envelope, policy):
            if severity == "warning":
                raise encode_fault(reason, text, str(where))
    unchanged: str | None = envelope._unchanged()  # type: ignore[attr-defined]
    fields = members(envelope)
    if not strict:
        fault = field_fault(fields)
        if fault is not None:
            raise encode_fault(*fault)
    return json_text.write(fields, WIRE) if unchanged is None else unchanged


ANNOTATIONS: dict[str, Any] = {
    **dict.fromkeys(REQUIRED_FIELDS, str),
    "type": MessageType,
    "correlation_id": str | None,
    "extra": dict[str, Any],
}
"""The attributes of an envelope and their types."""


class EnvelopeMethods(contract.Message):
    """The contract of messages for Envelope; its sender and receiver are fields of its own."""

    __hash__ = None  # type: ignore[assignment]
    if TYPE_CHECKING:
        id: str
        timestamp: str
        sender: str
        receiver: str
        type: MessageType
        channel: str
        content: str
        correlation_id: str | None
        extra: dict[str, Any]
        _extra: Any  # the same or None, without the right to change it
        _unchanged: Callable[[], str | None]
        _parsed: Any
    else:
        __slots__ = ()
        __annotations__ = ANNOTATIONS

    def __init__(
        self,
        id: str,
        timestamp: str,
        sender: str,
        receiver: str,
        type: MessageType | str,
        channel: str,
        content: str,
        correlation_id: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.timestamp = timestamp
        self.sender = sender
        self.receiver = receiver
        self.type = message_type(type)
        self.channel = channel
        self.content = content
        self.correlation_id = correlation_id
        self.extra = {} if extra is None else extra
        self._parsed = None

    __init__.__qualname__ = "Envelope.__init__"

    wire = contract.constant(WIRE)
    kind = contract.column("type", contract.name_of, "``type``.")
    conversation = contract.column("correlation_id", contract.text_or_none, "``correlation_id``.")
    subject = contract.column("channel", contract.text_or_none, "``channel``.")
    sequence = contract.constant(None)  # envelopes have no numbers

    @contract.common
    def time(self) -> datetime | None:
        """The time of ``timestamp``, UTC by default; None if it is invalid or before the year 1."""
        found = seconds(self.timestamp) if isinstance(self.timestamp, str) else None
        return None if found is None else contract.moment(seconds=found)

    @property
    def space(self) -> Space:
        """The content as a Space document, read leniently on first access."""
        from turnwire.kick.space import parse_space

        if self._parsed is None or self._parsed[0] is not self.content:  # kept until that is another string
            self._parsed = self.content, parse_space(self.content, mode="lenient")
        found: Space = self._parsed[1]
        return found

    @property
    def family(self) -> str | None:
        """The family of the channel ("command" in ``⫻command/dispatch``), or None if the channel has none."""
        return channel_parts(self.channel)[0]

    def replace(self, **changes: Unpack[Changes]) -> Self:  # type: ignore[override]
        """A copy with some fields replaced; ``extra`` is copied."""
        values = dict(zip((*FIELDS, "extra"), state(_handed_out(self)), strict=True))
        contract.refuse_unknown(type(self), changes, values)
        return type(self)(**{**values, **changes})

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of an envelope: the fields in the order of section 001, then the extra keys."""
        return members(_handed_out(self))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The envelope of a JSON object. Raises DecodeError with the field in ``path``; see :func:`field_fault`."""
        contract.expect_mapping(fields, WIRE)
        return built(cls, fields)  # type: ignore[no-any-return]

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        from turnwire.kick.codec import json_schema

        return contract.without_dialect(json_schema())

    def __repr__(self) -> str:
        """Sender, receiver and channel; content may be long and hostile, so only its length is shown."""
        size = f"{len(self.content)} characters" if isinstance(self.content, str) else repr(self.content)
        answer = f" for {self.correlation_id!r}" if self.correlation_id is not None else ""
        way = f"{self.sender!r} to {self.receiver!r} on {self.channel!r}"
        return f"<Envelope {self.id!r}{answer}: {way}, {size}>"

    def __eq__(self, other: object) -> bool:
        """True if all fields and extras are equal."""
        return state(self) == state(other) if type(self) is type(other) else NotImplemented

    def __copy__(self) -> Self:
        return type(self)(*state(_handed_out(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        text = self._unchanged() if self._extra else None
        return (type(self), state(self)) if text is None else (_of_text, (type(self), state(self), text))
