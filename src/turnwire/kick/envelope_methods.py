"""The rare methods of Envelope, once for both twins: the native and the pure class delegate to these functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, Reason
from turnwire.json import text as json_text
from turnwire.kick.spec import BAD_TYPE, FIELDS, MISSING, REQUIRED_FIELDS, SIGIL, TYPES, WIRE

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope
    from turnwire.kick.space import Space


def message_type(value: Any) -> Any:
    """The member of MessageType for its string; anything else stays what it is, for ``check`` to judge."""
    return TYPES.get(value, value) if isinstance(value, str) else value


def channel_parts(channel: str) -> tuple[str | None, str | None]:
    """(family, name) of ``⫻family/name``; the name may hold further slashes. (None, None) for anything else."""
    return _short_channel(channel) if len(channel) <= 128 else _split_channel(channel)


def _split_channel(channel: str) -> tuple[str | None, str | None]:
    if not channel.startswith(SIGIL):
        return None, None
    family, _, name = channel[1:].partition("/")
    if not family or not name or any(letter.isspace() or letter == SIGIL for letter in channel[1:]):
        return None, None
    return family, name


_short_channel = lru_cache(1024)(_split_channel)


def space(envelope: Envelope) -> Space:
    """The content, read leniently; kept until ``content`` is another string."""
    from turnwire.kick.space import parse_space

    parsed = envelope._parsed
    if parsed is None or parsed[0] is not envelope.content:
        parsed = (envelope.content, parse_space(envelope.content, mode="lenient"))
        envelope._parsed = parsed
    return parsed[1]


def state(envelope: Envelope) -> tuple[Any, ...]:
    """The fields and a copy of ``extra``, in the order of the constructor."""
    return (*(getattr(envelope, name) for name in FIELDS), dict(envelope.extra))


def replace(envelope: Envelope, changes: dict[str, Any]) -> Envelope:
    """A copy with some fields replaced."""
    values = dict(zip((*FIELDS, "extra"), state(envelope), strict=True))
    unknown = changes.keys() - values.keys()
    if unknown:
        raise TypeError(f"Envelope has no field {sorted(unknown)[0]!r}")
    return type(envelope)(**{**values, **changes})


def to_dict(envelope: Envelope) -> dict[str, Any]:
    """The JSON object of an envelope: the fields in the order of section 001, then the extra keys."""
    result = {name: getattr(envelope, name) for name in FIELDS}
    result["type"] = str(envelope.type) if isinstance(envelope.type, str) else envelope.type
    if envelope.correlation_id is None:
        del result["correlation_id"]
    for key, value in envelope.extra.items():
        result.setdefault(key, value)
    return result


def from_dict(cls: type[Envelope], fields: Mapping[str, Any]) -> Envelope:
    """The envelope of a JSON object; see :func:`field_fault` for what is refused."""
    if not isinstance(fields, Mapping):
        raise DecodeError(Reason.WRONG_TYPE, "a mapping is needed", wire=WIRE)
    fault = field_fault(fields)
    if fault is not None:
        raise DecodeError(fault[0], fault[2], wire=WIRE, path=f"/{fault[1]}")
    extra = {key: value for key, value in fields.items() if key not in FIELDS}
    values = {name: fields.get(name) for name in FIELDS}
    return cls(**values, extra=extra)  # type: ignore[arg-type]


def field_fault(fields: Mapping[str, Any]) -> tuple[Reason, str, str] | None:
    """(reason, field, words) of the first field in the order of section 001 that makes an object no envelope."""
    for name in FIELDS:
        if name not in fields:
            if name in REQUIRED_FIELDS:
                return MISSING[name], name, f"{name} is required"
            continue
        value = fields[name]
        if not isinstance(value, str):
            return BAD_TYPE[name], name, f"{name} is a string, not {_json_kind(value)}"
        if name == "type" and value not in TYPES:
            return Reason.BAD_ENUM_TYPE, name, f"type is one of {', '.join(TYPES)}"
        if name == "channel" and channel_parts(value)[0] is None:
            return Reason.BAD_CHANNEL, name, f"a channel is {SIGIL}family/name"
    return None


def field_error(data: Any, fields: Mapping[str, Any]) -> DecodeError:
    """The error for the first field that is missing or wrong, at its value, or at the object's brace."""
    fault = field_fault(fields)
    if fault is None:
        raise AssertionError("build refuses only what field_fault explains")
    reason, name, words = fault
    raw = json_text.input_bytes(data, WIRE)
    offset = json_text.locate(raw, f"/{name}")
    line = raw.count(b"\n", 0, offset) + 1
    return DecodeError(reason, words, offset=offset, line=line, wire=WIRE, path=f"/{name}")


def _json_kind(value: Any) -> str:
    for kind, name in ((bool, "a boolean"), ((int, float), "a number"), (list, "an array"), (dict, "an object")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__


def represent(envelope: Envelope) -> str:
    """Sender, receiver and channel; content may be long and hostile, so only its length is shown."""
    size = f"{len(envelope.content)} characters" if isinstance(envelope.content, str) else repr(envelope.content)
    answer = f" for {envelope.correlation_id!r}" if envelope.correlation_id is not None else ""
    return (
        f"<Envelope {envelope.id!r}{answer}: {envelope.sender!r} to {envelope.receiver!r} "
        f"on {envelope.channel!r}, {size}>"
    )


def html(envelope: Envelope) -> str:
    """The HTML that a notebook shows of an envelope."""
    from turnwire.showing import fields

    names = (*type(envelope).__match_args__, *(["extra"] if envelope.extra else []))
    return fields(type(envelope).__name__, [(name, getattr(envelope, name)) for name in names])


def equal(left: Envelope, right: object) -> Any:
    """True if all fields and extras are equal."""
    if type(left) is not type(right):
        return NotImplemented
    return state(left) == state(right)
