"""JSON Schema 2020-12 of SAP (section 9), made from the tables that also check messages."""

from __future__ import annotations

from typing import Any

from turnwire.sap.spec import ACK, MESSAGES, NACK, RESULT, TASK, VERSION, Field, Kind, Table

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_TIME = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"

_SHAPES: dict[Kind, dict[str, Any]] = {
    Kind.ANY: {},
    Kind.TEXT: {"type": "string"},
    Kind.UUID: {"type": "string", "format": "uuid", "pattern": _UUID},
    Kind.TIME: {"type": "string", "format": "date-time", "pattern": _TIME},
    Kind.VERSION: {"const": VERSION},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.COUNT: {"type": "integer", "minimum": 0},
    Kind.OBJECT: {"type": "object"},
    Kind.OBJECTS: {"type": "array", "items": {"type": "object"}},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.NUMBERS: {"type": "object", "additionalProperties": {"type": "number"}},
    Kind.PRESSURE: {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 100},
    },
    Kind.DIGEST: {"type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$"},
    Kind.QUANTITY: {"type": "number", "minimum": 0},
}

_CONDITIONS: dict[str, list[dict[str, Any]]] = {
    RESULT.name: [
        {
            "$comment": "section 8: FAILED must say why",
            "if": {"properties": {"status": {"const": "FAILED"}}, "required": ["status"]},
            "then": {"required": ["error"], "properties": {"error": {"required": ["message"]}}},
        },
        {
            "$comment": "section 5: what is NON_CONSTITUTIONAL has not SUCCEEDED",
            "if": {"properties": {"status": {"const": "SUCCEEDED"}}, "required": ["status"]},
            "then": {
                "properties": {
                    "constitutionalEvidence": {"properties": {"alignment": {"not": {"const": "NON_CONSTITUTIONAL"}}}}
                }
            },
        },
    ],
}


def json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of what is written: one of Task, Result, Ack and Nack, all objects under ``$defs``.

    It says what strict writing takes; unknown fields are allowed (section 2).
    """
    objects: dict[str, Any] = {}
    for table in MESSAGES:
        _collect(table, objects)
    return {
        "$schema": DIALECT,
        "$id": "urn:turnwire:sap:2.0",
        "title": "UBOS SAP V2.0",
        "oneOf": [{"$ref": f"#/$defs/{table.name}"} for table in (TASK, RESULT, ACK, NACK)],
        "$defs": objects,
    }


def _collect(table: Table, objects: dict[str, Any]) -> None:
    if table.name in objects:
        return
    made: dict[str, Any] = {
        "type": "object",
        "description": f"{table.name}, section {table.section}",
        "required": [field.name for field in table.fields if field.need == "MUST"],
        "properties": {field.name: _shape(field) for field in table.fields},
    }
    if table.name in _CONDITIONS:
        made["allOf"] = _CONDITIONS[table.name]
    objects[table.name] = made
    for field in table.fields:
        if field.table is not None:
            _collect(field.table, objects)


def _shape(field: Field) -> dict[str, Any]:
    reference = {"$ref": f"#/$defs/{field.table.name}"} if field.table is not None else {}
    if field.kind is Kind.RECORD:
        shape: dict[str, Any] = reference
    elif field.kind is Kind.RECORDS:
        shape = {"type": "array", "items": reference}
    elif field.kind is Kind.ENUM:
        shape = {"enum": list(field.values)}
    else:
        shape = dict(_SHAPES[field.kind])
    if field.nullable and shape:
        shape = {"anyOf": [shape, {"type": "null"}]}
    return {**shape, "description": field.text} if field.text else shape
