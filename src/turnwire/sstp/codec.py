"""decode, encode, check, detect, JSON Schema and salvage of SSTP, and the rules by which objects are judged. Reading is
strict, writing stricter; what is unknown is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, Refusal, record_bytes
from turnwire.errors import DecodeError, EncodeError, Issue, Reason, UnknownName, expect
from turnwire.json._codec_py import Kind as PlainKind, Row
from turnwire.json.faults import kind_of
from turnwire.json.fields import Field, Table, findings as table_findings, row_of
from turnwire.json.text import compacted, input_bytes, reader, refusal, write
from turnwire.message import DIALECT
from turnwire.registry import reading
from turnwire.sstp.messages import CLASSES, KEYS, Message
from turnwire.sstp.spec import HEADER, MEANING, PAYLOADS, SCHEMA_IDS, SESSION_OPTIONAL, WIRE, Kind

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.json import _codec_py as _core
else:
    _core = _backend.load("json.codec")


def _rows(fields: tuple[Field, ...], core: Any) -> list[Row]:
    marks = {"session_id": "writing", "directed_to": "lent"}

    def rules(table: Table) -> Any:
        return core.Rules(_rows(table.fields, core))

    return [row_of(field, field.need in ("read", "write"), rules, marks.get(field.name, "")) for field in fields]


def codec_of(core: Any, read_source: Callable[..., Any]) -> Any:
    """The codec of messages of which no rule has a finding, of one core."""
    header = [
        Row("kind", "choice", True, words=tuple(kind.value for kind in Kind)),
        Row("schema_id", "agrees", True, words=tuple(SCHEMA_IDS[kind] for kind in Kind)),
        *(row for row in _rows(HEADER, core) if row.name not in ("kind", "schema_id")),
        Row("directed_to", "lent"),
        Row("protocol", "doubt"),  # what it means, the rules know
    ]
    kinds, lent = [], Row("directed_to", "any", mark="lent")
    for kind in Kind:
        rows = {row.name: row for row in (lent, *_rows(PAYLOADS[kind], core))}
        kinds.append(PlainKind(CLASSES[kind], chosen=core.Rules(rows.values()), lax=kind in SESSION_OPTIONAL))
    rules = core.Rules([Row("header", "record", True, inner=core.Rules(header)), Row("payload", "chosen", True)])
    return core.Codec(kinds, rules, read_source, wanted=("header", "session_id"))


def decode(data: str | Buffer, *, limits: Limits = LIMITS) -> Message:
    """Reads the message in ``data`` (text or contiguous bytes): one JSON object with only white space around it.

    Unknown fields, nulls and missing fields stay as they are. Raises DecodeError with reason, byte offset, line and
    ``path`` (a JSON pointer) if a required field is missing, a type is wrong, the kind is unknown, the clock is
    negative, or the text is not strict JSON; ``check`` lists minor issues.
    """
    if limits is LIMITS and (read := _codec.read(data)) is not None:
        return read  # type: ignore[no-any-return]
    fields, source = _read_source(data, limits)
    message = _message(fields, data, source)
    if limits is LIMITS:
        message._text = data if type(data) is bytes or type(data) is str else input_bytes(data, WIRE)
    return message


def from_fields(fields: dict[str, Any]) -> Message:
    """Creates a message from an already parsed JSON object, which is not copied. Raises DecodeError."""
    if not isinstance(fields, dict):
        raise DecodeError(
            Reason.WRONG_TYPE, f"the fields of a message must be a dict, not {type(fields).__name__}", wire=WIRE
        )
    return _message(fields, None, None)


def _message(fields: dict[str, Any], data: Any, source: str | bytes | None) -> Message:
    """The message over an object that was read from ``data``. Raises the DecodeError for its first fault."""
    message: Message | None = _codec.made(fields, source)
    if message is None:
        if (found := fault(fields)) is not None:
            raise refusal(data, WIRE, *found)
        message = CLASSES[fields["header"]["kind"]].of(fields)
        if next(findings(fields), None) is None:
            message._source = True
    return message


def fault(fields: dict[str, Any]) -> Refusal | None:
    """Returns the error of ``decode`` for an object: reason, text, JSON pointer; None if it accepts the object."""
    for issue in findings(fields):
        if issue.severity == "error":
            return issue.reason, issue.text, str(issue.where)
    return None


def check(message: Message) -> list[Issue]:
    """Lists the issues of a message, with JSON pointers: strict writing rejects a "warning", an "info" may be fine, and
    reading would reject an "error" (in messages built by hand)."""
    if _codec.is_clean(message) or (isinstance(message, Message) and message._source is not None):
        return []
    expect(message, Message, "expected an SSTP message", WIRE)
    return list(findings(message._fields))


def encode(message: Message, strict: bool = True) -> str:
    """Writes a message as JSON text: keys in their own order, no white space. An unchanged message keeps the spelling
    of its numbers.

    Strict writing rejects every issue above "info" and requires session_id in every kind; ``strict=False`` writes any
    message that reading accepts. Raises EncodeError with reason and ``path``.
    """
    text = _codec.text(message, strict)
    if text is not None:
        return text  # type: ignore[no-any-return]
    expect(message, Message, "expected an SSTP message", WIRE)
    fields = message._fields
    if message._source is None or (strict and "session_id" not in fields["header"]):
        refused = ("error", "warning") if strict else ("error",)
        for issue in findings(fields, writing=strict):
            if issue.severity in refused:
                raise EncodeError(issue.reason, issue.text, wire=WIRE, path=str(issue.where))
    if fields["header"]["kind"] != message.KIND:
        words = f"{type(message).__name__} writes {message.KIND}, not {fields['header']['kind']}"
        raise EncodeError(Reason.MISMATCH, words, wire=WIRE, path="/header/kind")
    return write(fields, WIRE) if message._text is None else compacted(message._text)


_read, _read_source = reader(WIRE, KEYS).read, reader(WIRE, KEYS).read_source
CORE = _codec = codec_of(_core, _read_source)
"""The functions that those of all wires use directly: ``read``, ``text`` and ``is_clean``."""
_FIRST_KEY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"([^"\\]*+(?:\\.[^"\\]*+)*+)"')


def detect(data: str | Buffer) -> bool:
    """True if one record looks like SSTP (or like a dialect that ``decode`` rejects by name): an object with a header.

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


# --- the faults and doubts of one object, judged by the tables of ``spec`` ---

_KINDS = {kind.value: kind for kind in Kind}
_NEED = {"read": "error", "write": "warning"}
_NEED_WITH_SESSION = {**_NEED, "session": "warning"}


def findings(fields: dict[str, Any], *, writing: bool = False) -> Iterator[Issue]:
    """Every finding about one object, in the order of the tables; ``writing`` also asks for session_id in all kinds.

    Severities are "error" (reading refuses), "warning" (an issue on reading, refused when written strictly) and "info".
    """
    header = fields.get("header")
    if "header" not in fields and isinstance(fields.get("origin"), dict):
        text = 'this is the flat dialect "SSTP/0" (top-level kind and origin); SSTP has a header and a payload'
        yield _error(Reason.LOOK_ALIKE, "/origin", text)
        return
    protocol = header.get("protocol") if isinstance(header, dict) else None
    if isinstance(protocol, str) and (protocol.casefold() in ("sstp", "l9") or "actor_id" not in fields["header"]):
        text = 'this is the dialect "L9" (header.protocol, participants); SSTP has header.actor_id and header.schema_id'
        yield _error(Reason.LOOK_ALIKE, "/header/protocol", text)
        return
    broken = [name for name in ("header", "payload") if not isinstance(fields.get(name), dict)]
    for name in broken:
        if name in fields:
            yield _error(Reason.WRONG_TYPE, f"/{name}", f"{name} is an object, not {kind_of(fields[name])}")
        else:
            yield _error(Reason.MISSING_FIELD, f"/{name}", f"a message must have a {name}")
    if broken:
        return
    header, payload = fields["header"], fields["payload"]
    name = header.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None and isinstance(name, str):
        yield _error(Reason.UNKNOWN_KIND, "/header/kind", f"{name!r} is not one of {', '.join(_KINDS)}")
    if writing or (kind is not None and kind not in SESSION_OPTIONAL):
        needs = _NEED_WITH_SESSION
    else:
        needs = _NEED
    yield from table_findings(header, HEADER, "/header", needs)
    if kind is None:
        return
    schema_id = header.get("schema_id")
    if isinstance(schema_id, str) and schema_id != SCHEMA_IDS[kind]:
        text = f"the schema of {kind} is {SCHEMA_IDS[kind]}, not {schema_id[:80]!r}"
        yield Issue(Reason.SCHEMA_MISMATCH, "/header/schema_id", "warning", text)
    for field in PAYLOADS[kind]:
        # directed_to of a query is in the payload or in the header; in both only when they agree.
        lent = field.name == "directed_to" and field.name in header
        if not lent or field.name in payload:
            yield from table_findings(payload, (field,), "/payload", _NEED)
        if lent:
            yield from table_findings(header, (field,), "/header", _NEED)
    first, second = header.get("directed_to"), payload.get("directed_to")
    if isinstance(first, str) and isinstance(second, str) and first != second:
        text = f"directed_to says {first[:40]!r} in the header and {second[:40]!r} in the payload"
        yield _error(Reason.ADDRESSEE_CONFLICT, "/payload/directed_to", text)


def _error(reason: Reason, where: str, text: str) -> Issue:
    return Issue(reason, where, "error", text)


# --- JSON Schema (draft 2020-12), made from the tables that judge ---


def json_schema(kind: Kind | str | None = None, *, strict: bool = True) -> dict[str, Any]:
    """The JSON Schema of one kind, or of any message.

    With ``strict``, the schema describes the messages that strict writing accepts, otherwise those that reading
    accepts. Only ``check`` finds placeholders and two different values of directed_to. Unknown fields are allowed.
    Raises UnknownName for an unknown kind.
    """
    if kind is not None:
        if kind not in list(Kind):
            raise UnknownName("kind", kind, [each.value for each in Kind])
        chosen = Kind(kind)
        return {"$schema": DIALECT, "title": f"SSTP {chosen}", **_schema(chosen, strict)}
    return {
        "$schema": DIALECT,
        "title": "SSTP message",
        "oneOf": [{"$ref": f"#/$defs/{each}"} for each in Kind],
        "$defs": {each.value: _schema(each, strict) for each in Kind},
    }


def _schema(kind: Kind, strict: bool) -> dict[str, Any]:
    header = _object(HEADER, strict)
    header["properties"]["kind"] = {"const": kind.value}
    if strict:
        header["properties"]["schema_id"] = {"const": SCHEMA_IDS[kind]}
        header["properties"]["session_id"]["pattern"] = r"[^ \t\n\r\v\f]"  # it is not blank
    payload = _object(PAYLOADS[kind], strict)
    result: dict[str, Any] = {
        "description": f"{kind}: {MEANING[kind]}",
        "type": "object",
        "required": ["header", "payload"],
        "properties": {"header": header, "payload": payload},
    }
    if kind is Kind.QUERY:
        header["properties"]["directed_to"] = {"type": "string"}
        if strict:
            payload["required"].remove("directed_to")
            places = ("payload", "header")
            result["anyOf"] = [{"properties": {place: {"required": ["directed_to"]}}} for place in places]
    return result


def _object(fields: tuple[Field, ...], strict: bool) -> dict[str, Any]:
    needed = {"read", "write", "session"} if strict else {"read"}
    return {
        "type": "object",
        "required": [field.name for field in fields if field.need in needed],
        "properties": {field.name: _type(field, strict) for field in fields},
    }


def _type(field: Field, strict: bool) -> dict[str, Any]:
    items = {} if field.table is None else {"items": _object(field.table.fields, strict)}
    return {**field.kind.schema, **(field.kind.strict if strict else {}), **items}


# --- messages in other text ---


class Salvaged(NamedTuple):
    """A message found in a text.

    start, end: its span in the text, in characters. how: "bare" (it is the whole text), "prose", "fence" or "json"
    (inside a larger JSON value); inside a JSON string, this has the prefix "json_string/", once for each level.
    """

    message: Message
    start: int
    end: int
    how: str


def salvage(text: str) -> list[Salvaged]:
    """Finds every SSTP message in ``text`` that ``decode`` accepts, in order, and how each was wrapped. Nothing is
    repaired."""
    found = reading("extraction").extract(text, (WIRE,))
    return [Salvaged(one.message, one.start, one.end, one.wrapped) for one in found]
