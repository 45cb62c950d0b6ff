"""decode, encode, check, detect and salvage of SSTP. Reading is strict, writing stricter; nothing unknown is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, Refusal, record_bytes
from turnwire.errors import DecodeError, EncodeError, Issue, Reason, expect
from turnwire.json.text import compacted, reader, refusal, write
from turnwire.registry import reading
from turnwire.sstp.messages import CLASSES, KEYS, Message
from turnwire.sstp.rules import findings
from turnwire.sstp.spec import HEADER, PAYLOADS, SCHEMA_IDS, SESSION_OPTIONAL, WIRE, Kind

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.sstp import _codec_py as _core
else:
    _core = _backend.load("sstp.codec")

__all__ = ["Salvaged", "check", "decode", "detect", "encode", "from_fields", "salvage"]


def kinds() -> list[tuple[str, type, str, tuple[Any, ...], tuple[Any, ...]]]:
    """The tables in the form that the quick judgement takes: what is judged quickly never has a finding."""
    result = []
    for kind in Kind:
        header = tuple(
            (field.name, field.type, field.need == "read" or (field.need == "session" and kind not in SESSION_OPTIONAL))
            for field in HEADER
            if field.name not in ("kind", "schema_id")
        )
        payload = tuple((field.name, field.type, field.need != "never") for field in PAYLOADS[kind])
        result.append((kind.value, CLASSES[kind.value], SCHEMA_IDS[kind], header, payload))
    return result


def decode(data: str | Buffer, *, limits: Limits = LIMITS) -> Message:
    """Reads the message in ``data`` (text or contiguous bytes): one JSON object with only white space around it.

    Unknown fields, nulls and absent fields stay as they are. Raises DecodeError with reason, byte
    offset, line and ``path`` (a JSON pointer) where a required field is missing, a type is wrong, a kind unknown, the
    clock negative, or the text no strict JSON; ``check`` tells what is only doubtful.
    """
    message: Message = _plain_codec.decode(data, limits)
    return message


def from_fields(fields: dict[str, Any]) -> Message:
    """Makes a message of a JSON object that was read elsewhere; the object is not copied. Raises DecodeError."""
    if not isinstance(fields, dict):
        raise DecodeError(
            Reason.WRONG_TYPE, f"the fields of a message are a dict, not {type(fields).__name__}", wire=WIRE
        )
    message: Message = _plain_codec.message(fields, None)
    return message


def judged(fields: dict[str, Any], data: Any) -> Message:
    """The message over an object that is not plain. Raises the DecodeError for its first fault."""
    if (found := fault(fields)) is not None:
        raise refusal(data, WIRE, *found)
    return CLASSES[fields["header"]["kind"]].of(fields)


def fault(fields: dict[str, Any]) -> Refusal | None:
    """The refusal of an object by ``decode``: reason, words, JSON pointer; None where it does not."""
    for issue in findings(fields):
        if issue.severity == "error":
            return issue.reason, issue.text, str(issue.where)
    return None


def check(message: Message) -> list[Issue]:
    """Lists what is doubtful about a message, with JSON pointers: strict writing refuses a "warning", an "info" may
    be fine, and reading would refuse an "error" (in messages made by hand)."""
    if _plain_codec.is_known(message):
        return []
    if isinstance(message, Message) and (message._plain or _plain_codec.is_plain(message._fields)):
        return []
    expect(message, Message, "an SSTP message is checked")
    return list(findings(message._fields))


def encode(message: Message, strict: bool = True) -> str:
    """Writes a message as JSON text: keys in their own order, no white space. An unchanged message keeps the spelling
    of its numbers.

    Strict writing refuses every issue above "info" and needs session_id in every kind; ``strict=False`` writes back
    whatever reading accepts. Raises EncodeError with reason and ``path``.
    """
    text = _plain_codec.text(message, strict)
    if text is not None:
        return text  # type: ignore[no-any-return]
    if not isinstance(message, Message):
        raise EncodeError(Reason.WRONG_TYPE, f"an SSTP message is needed, not {type(message).__name__}", wire=WIRE)
    fields = message._fields
    plain = message._plain or _plain_codec.is_plain(fields)
    if not plain or (strict and "session_id" not in fields["header"]):
        refused = ("error", "warning") if strict else ("error",)
        for issue in findings(fields, writing=strict):
            if issue.severity in refused:
                raise EncodeError(issue.reason, issue.text, wire=WIRE, path=str(issue.where))
    if fields["header"]["kind"] != message.KIND:
        words = f"{type(message).__name__} writes {message.KIND}, not {fields['header']['kind']}"
        raise EncodeError(Reason.MISMATCH, words, wire=WIRE, path="/header/kind")
    return write(fields, WIRE) if message._text is None else compacted(message._text)


def plain_text() -> Any:
    """The core's writer of messages without doubts: (message, strict) -> text, or None where ``encode`` must write."""
    return _plain_codec.text


_read = reader(WIRE, KEYS).read
_plain_codec = _core.PlainCodec(kinds(), reader(WIRE, KEYS).read_source, judged)
_FIRST_KEY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"([^"\\]*+(?:\\.[^"\\]*+)*+)"')


def detect(data: str | Buffer) -> bool:
    """True if one record looks like SSTP (or like a dialect that ``decode`` then names): an object with a header.

    Never raises.
    """
    raw = record_bytes(data) or b""
    first = _FIRST_KEY.match(raw)
    if first is None:
        return False
    if first.group(1) == b"header":
        return True
    if b'"header"' not in raw and b'"origin"' not in raw:
        return False
    try:
        fields = _read(raw, LIMITS)
    except DecodeError:
        return b'"header"' in raw and b'"actor_id"' in raw
    if "header" in fields:
        return isinstance(fields["header"], dict) and "payload" in fields
    return "kind" in fields and isinstance(fields.get("origin"), dict)


class Salvaged(NamedTuple):
    """A message found in a text.

    start, end: its span in the text, in characters. how: "bare" (it is the whole text), "prose", "fence" or "json"
    (inside a larger JSON value); inside a JSON string, "json_string/" is before that, once for each level.
    """

    message: Message
    start: int
    end: int
    how: str

    @property
    def error(self) -> None:
        """None for a message; the error of a near miss."""
        return None


@overload
def salvage(text: str, *, rejects: Literal[False] = False) -> list[Salvaged]: ...


@overload
def salvage(text: str, *, rejects: bool) -> list[Any]: ...


def salvage(text: str, *, rejects: bool = False) -> list[Any]:
    """Finds every SSTP message in ``text``, in order, and how each was wrapped.

    Each message is one that ``decode`` accepts; with ``rejects``, near misses are returned, too, as
    ``turnwire.read.extraction.NearMiss``. Nothing is repaired.
    """
    found = reading("extraction").extract(text, (WIRE,), rejects=rejects)
    return [one if one.error else Salvaged(one.message, one.start, one.end, one.wrapped) for one in found]
