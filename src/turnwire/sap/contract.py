"""Outputs against the JSON Schema of a task's output contract (section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from turnwire.errors import Issue, Reason
from turnwire.json._canonical_py import pointer_step

if TYPE_CHECKING:
    from turnwire.sap.messages import Task

_WORDS = frozenset(
    [
        "type",
        "properties",
        "items",
        "enum",
        "const",
        "required",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "$ref",
        "$defs",
        "definitions",
        "additionalProperties",
        "prefixItems",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "if",
        "then",
        "else",
        "$schema",
        "patternProperties",
        "contains",
        "dependentRequired",
        "uniqueItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "format",
    ]
)
_MOST = 100  # issues given for one output


def output_issues(output: Any, task: Task) -> Iterator[Issue]:
    """What an output breaks of the schema of ``task``; nothing for a descriptor that is not a JSON Schema.

    Without the package jsonschema (extra ``schema``) the only issue says that nothing was validated. References to
    other documents are never fetched.
    """
    contract = task.fields.get("outputContract")
    schema = contract.get("schema") if isinstance(contract, dict) else None
    if not isinstance(schema, dict) or not _WORDS & schema.keys():
        return
    where = "/output"
    try:
        import jsonschema
        import referencing
        import referencing.exceptions
    except ImportError:
        text = "the output was not validated: pip install 'turnwire[schema]', or '.[schema]' in a checkout"
        yield Issue(Reason.OUTPUT_MISMATCH, where, "info", text)
        return
    validator_class = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        validator_class.check_schema(schema)
        validator = validator_class(schema, registry=referencing.Registry())
        for count, error in enumerate(validator.iter_errors(output)):
            if count == _MOST:
                break
            path = "".join(f"/{pointer_step(str(step))}" for step in error.absolute_path)
            yield Issue(Reason.OUTPUT_MISMATCH, where + path, "warning", error.message[:300])
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, RecursionError) as error:
        text = f"the schema of the task cannot be used: {type(error).__name__}"
        yield Issue(Reason.BAD_SCHEMA, where, "info", text)
