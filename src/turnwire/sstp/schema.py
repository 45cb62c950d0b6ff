"""JSON Schema (draft 2020-12) of SSTP, made from the tables that validate."""

from __future__ import annotations

from typing import Any

from turnwire.errors import UnknownName
from turnwire.sstp.spec import ARTIFACT, HEADER, MEANING, PAYLOADS, SCHEMA_IDS, TYPES, Field, Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
        return {"$schema": DIALECT, "title": f"SSTP {chosen}", **_message(chosen, strict)}
    return {
        "$schema": DIALECT,
        "title": "SSTP message",
        "oneOf": [{"$ref": f"#/$defs/{each}"} for each in Kind],
        "$defs": {each.value: _message(each, strict) for each in Kind},
    }


def _message(kind: Kind, strict: bool) -> dict[str, Any]:
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
        "properties": {field.name: _type(field.type, strict) for field in fields},
    }


def _type(name: str, strict: bool) -> dict[str, Any]:
    form = TYPES[name]
    items = {"items": _object(ARTIFACT, strict)} if name == "artifacts" else {}
    return {**form.schema, **(form.strict if strict else {}), **items}
