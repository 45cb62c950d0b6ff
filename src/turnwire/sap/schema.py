"""JSON Schemas (2020-12): SAP's own (section 9), and those that tasks and capabilities bring (section 4.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from turnwire.errors import Issue, MissingDependency, Reason, needs
from turnwire.json.faults import pointer_step
from turnwire.json.fields import Field, Table
from turnwire.json.text import write
from turnwire.message import DIALECT, without_dialect
from turnwire.sap.messages import MESSAGES, Result, Task
from turnwire.sap.spec import Kind

_CONDITIONS: dict[str, list[dict[str, Any]]] = {
    Result.TABLE.name: [
        {
            "$comment": "section 8: FAILED must say why",
            "if": {"properties": {"status": {"const": "FAILED"}}, "required": ["status"]},
            "then": {
                "required": ["error"],
                "properties": {"error": {"required": ["message"], "properties": {"message": {"pattern": r"\S"}}}},
            },
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
    """Returns a JSON Schema (2020-12) of Task, Result, Ack and Nack, with all objects under ``$defs``.

    It describes the messages that strict writing accepts; unknown fields are allowed (section 2).
    """
    return {
        "$schema": DIALECT,
        "$id": "urn:turnwire:sap:2.0",
        "title": "UBOS SAP V2.0",
        "oneOf": [{"$ref": f"#/$defs/{table.name}"} for table in MESSAGES],
        "$defs": _objects(*MESSAGES),
    }


def schema_of(table: Table) -> dict[str, Any]:
    """The schema of one object, with those inside it, as a part of a larger one."""
    objects = _objects(table)
    return without_dialect({**objects[table.name], "$defs": objects})


def _objects(*tables: Table) -> dict[str, Any]:
    """The schemas of objects, each before those inside it, by their names."""
    found: dict[str, Any] = {}
    for table in tables:
        found[table.name] = {
            "type": "object",
            "description": f"{table.name}, section {table.section}",
            "required": [field.name for field in table.fields if field.need == "MUST"],
            "properties": {field.name: _shape(field) for field in table.fields},
            **({"allOf": _CONDITIONS[table.name]} if table.name in _CONDITIONS else {}),
        }
        found |= _objects(*(field.table for field in table.fields if field.table is not None))
    return found


def _shape(field: Field) -> dict[str, Any]:
    reference = {"$ref": f"#/$defs/{field.table.name}"} if field.table is not None else {}
    if field.kind is Kind.RECORD:
        shape: dict[str, Any] = reference
    elif field.kind is Kind.RECORDS:
        shape = {"type": "array", "items": reference}
    elif field.kind is Kind.ENUM:
        shape = {"enum": list(field.values)}
    else:
        shape = dict(field.kind.schema)
    if field.nullable and shape:
        shape = {"anyOf": [shape, {"type": "null"}]}
    return {**shape, "description": field.text} if field.text else shape


Faults = list[tuple[str, str]]
"""(JSON pointer into the task, words) of each fault; empty where a payload is right."""

_WORDS = """type properties items enum const required anyOf oneOf allOf not $ref $defs definitions additionalProperties
    prefixItems pattern minimum maximum minLength maxLength minItems maxItems if then else $schema patternProperties
    contains dependentRequired uniqueItems exclusiveMinimum exclusiveMaximum multipleOf minProperties maxProperties
    propertyNames format"""
_KEYWORDS = frozenset(_WORDS.split())
"""Words by which a descriptor is known as a JSON Schema."""
_MOST_OF_OUTPUTS, _MOST_OF_PAYLOADS = 100, 20  # faults named for one value
_LONGEST = 300  # characters of the words about one


def _library(what: str) -> Any:
    """The package jsonschema. Raises MissingDependency."""
    with needs("schema", f"{what} needs jsonschema"):
        import jsonschema
    return jsonschema


def validator(schema: dict[str, Any]) -> Callable[[Any], Faults]:
    """A check of payloads by the schema of a capability.

    Raises ValueError for what is not a JSON Schema, MissingDependency without the extra ``schema``.
    """
    jsonschema = _library("the schema of a capability")
    try:
        compiled = _compiled(write(schema))
    except jsonschema.SchemaError as error:
        raise ValueError(f"the schema of a capability is not a JSON Schema: {error.message[:_LONGEST]}") from error

    def faults(payload: Any) -> Faults:
        if compiled.is_valid(payload):
            return []
        return list(islice(_faults(compiled, payload, "/payload"), _MOST_OF_PAYLOADS))

    return faults


def output_issues(output: Any, task: Task) -> Iterator[Issue]:
    """The faults of an output by the schema of ``task``; nothing for a descriptor that is not a JSON Schema.

    Without the package jsonschema (extra ``schema``) the only issue says that nothing was validated.
    """
    contract = task.fields.get("outputContract")
    schema = contract.get("schema") if isinstance(contract, dict) else None
    if not isinstance(schema, dict) or not _KEYWORDS & schema.keys():
        return
    try:
        jsonschema = _library("the schema of a task")
    except MissingDependency as missing:
        yield Issue(Reason.OUTPUT_MISMATCH, "/output", "info", f"the output was not validated: {missing}")
        return
    from referencing.exceptions import Unresolvable

    try:
        for where, text in islice(_faults(_compiled(write(schema)), output, "/output"), _MOST_OF_OUTPUTS):
            yield Issue(Reason.OUTPUT_MISMATCH, where, "warning", text)
    except (jsonschema.SchemaError, Unresolvable, RecursionError) as error:
        text = f"the schema of the task cannot be used: {type(error).__name__}"
        yield Issue(Reason.BAD_SCHEMA, "/output", "info", text)


@lru_cache(256)
def _compiled(text: str) -> Any:
    """The validator of a schema, by its text: many tasks bring the same one. It is of 2020-12, or what its ``$schema``
    names. References elsewhere are never fetched."""
    import jsonschema
    import referencing

    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema, registry=referencing.Registry())


def _faults(compiled: Any, value: Any, where: str) -> Iterator[tuple[str, str]]:
    for error in compiled.iter_errors(value):
        path = "".join(f"/{pointer_step(str(step))}" for step in error.absolute_path)
        yield where + path, error.message[:_LONGEST]
