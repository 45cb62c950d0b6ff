"""Envelopes: their class, over the JSON object of one, and what makes an object an envelope."""

from __future__ import annotations

import re
from _thread import RLock
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwire import message as contract
from turnwire.contract import cached_if_short
from turnwire.errors import Reason
from turnwire.json.faults import kind_of
from turnwire.json.lazy_object import HeldText, forget_text, maker, member, of_text, set_fields, set_source, set_text
from turnwire.json.text import refusal
from turnwire.json.times import seconds
from turnwire.kick.spec import BAD_TYPE, FIELDS, MISSING, REQUIRED_FIELDS, SIGIL, TYPES, WIRE, MessageType

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self, TypedDict, Unpack

    from turnwire.contract import Refusal
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


def others(envelope: Envelope) -> dict[str, Any]:
    """The unknown keys of an envelope and their values, without the right to change them."""
    fields = fields_of(envelope)  # first: another thread may hand the keys out, and take them from the object then
    if envelope._extra is not None:
        return envelope._extra
    return {} if fields.keys() <= _ALL else {name: value for name, value in fields.items() if name not in _ALL}


def state(envelope: Envelope) -> tuple[Any, ...]:
    """The fields and a copy of ``extra``, in the order of the constructor."""
    return (*map(fields_of(envelope).get, FIELDS), dict(others(envelope)) or None)


def members(envelope: Envelope) -> dict[str, Any]:
    """The JSON object of an envelope, whose values are those of the envelope itself."""
    result = dict(fields_of(envelope))
    for name, value in others(envelope).items():
        result.setdefault(name, value)
    if isinstance(result["type"], str):
        result["type"] = str(result["type"])
    return result


def forget(envelope: Envelope) -> None:
    """Drops the text of an envelope that was changed, or of which something that can be changed was handed out."""
    set_source(envelope, None)
    set_text(envelope, None if envelope._extra is None else "")  # then the object alone is not all of it


def _handed_out(envelope: Envelope) -> Envelope:
    """An envelope the values of whose ``extra`` others get, who may change what is in them."""
    if others(envelope):
        forget(envelope)
    return envelope


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


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    fields["type"] = TYPES[fields["type"]]
    return fields


def built(cls: type[Envelope], fields: Mapping[str, Any], data: Any = None, text: str | bytes | None = None) -> Any:
    """The envelope of a JSON object that was read from ``data``. Raises DecodeError for the first field that is missing
    or wrong, at its value, or at the object's brace.

    text: of the object, which is kept where its keys are in the order of writing.
    """
    if (fault := field_fault(fields)) is not None:
        raise refusal(data, WIRE, *fault)
    whole = {name: fields[name] for name in FIELDS if name in fields}
    if len(whole) < len(fields):
        whole.update((name, fields[name]) for name in fields if name not in _ALL)
    envelope = cls.__new__(cls)
    set_fields(envelope, _typed(whole))
    forget_text(envelope)
    if text is not None and list(fields) == list(whole):
        set_text(envelope, text)
    return envelope


ANNOTATIONS: dict[str, Any] = {
    **dict.fromkeys(REQUIRED_FIELDS, str),
    "type": MessageType,
    "correlation_id": str | None,
    "extra": dict[str, Any],
}
"""The attributes of an envelope and their types."""

_splitting = RLock()


class Envelope(HeldText, contract.Message):
    """One message between agents (section 001).

    Args:
        id: UUID v4. timestamp: ISO 8601 date and time. sender, receiver: roles, the receiver also "Broadcast".
        type: a :class:`MessageType` or its string. channel: ``⫻family/name``. content: a Space document.
        correlation_id: the id of the request that this answers, or None.
        extra: unknown keys and their JSON values, kept and written back.

    Mutable. Values are validated by ``check`` and ``encode``, not when they are set.
    """

    __slots__ = ("__weakref__", "_extra", "_parsed", "_remarks")
    __wire__ = WIRE
    __match_args__ = ("id", "timestamp", "sender", "receiver", "type", "channel", "content", "correlation_id")
    __hash__ = None  # type: ignore[assignment]
    _extra: dict[str, Any] | None
    """The unknown keys, once they were handed out or given; until then they are in the object."""
    _parsed: tuple[Any, Space] | None
    _remarks: tuple[Any, ...]
    """The remarks of the specification's policy, for the codec."""
    if TYPE_CHECKING:
        id: str
        timestamp: str
        sender: str
        receiver: str
        type: MessageType
        channel: str
        content: str
        correlation_id: str | None
    else:
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
        values = (id, timestamp, sender, receiver, message_type(type), channel, content, correlation_id)
        fields = dict(zip(FIELDS, values, strict=True))
        if correlation_id is None:
            del fields["correlation_id"]
        set_fields(self, fields)
        self._extra, self._parsed = extra, None
        forget(self)

    def __getattr__(self, name: str) -> Any:
        if name in ("_extra", "_parsed"):  # as yet
            return None
        return HeldText.__getattr__(self, name)

    @property
    def extra(self) -> dict[str, Any]:
        """Unknown keys and their JSON values."""
        with _splitting:
            if self._extra is None:
                self._extra = others(self)
                forget(self)  # first, for other threads
                if self._extra:
                    fields = fields_of(self)
                    set_fields(self, {name: fields[name] for name in fields if name in _ALL})
            forget(self)
            return self._extra

    @extra.setter
    def extra(self, extra: dict[str, Any]) -> None:
        with _splitting:
            self.extra  # noqa: B018  (they are no longer in the object)
            self._extra = extra

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

        content = self.content
        if self._parsed is None or self._parsed[0] is not content:  # kept until that is another string
            self._parsed = content, parse_space(content, mode="lenient")
        return self._parsed[1]

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
        if (text := self._text) and others(self):
            return of_text, (type(self), text, True if self._source else None)
        return type(self), state(self)


fields_of = Envelope._made = maker(WIRE, FIELDS, _typed)
"""The object of an envelope: its fields in the order of writing, then unknown keys."""


def _field(name: str) -> Any:
    """A field of the object as an attribute; one that is deleted is None."""

    def put(envelope: Envelope, value: Any) -> None:
        fields = fields_of(envelope)
        if name not in fields:
            envelope.extra  # noqa: B018  (fields stand in front of the unknown keys)
            fields = fields_of(envelope)
        fields[name] = value
        if value is None and name == "correlation_id":
            del fields[name]
        forget(envelope)

    return member(fields_of, name, put)


for _name in FIELDS:
    setattr(Envelope, _name, _field(_name))
