"""Payloads against the JSON Schema of their capability (section 4.1), with a JSON pointer for each fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.errors import MissingDependency
from turnwire.json._canonical_py import pointer_step

Faults = list[tuple[str, str]]
"""(JSON pointer into the task, words) of each fault; empty where a payload is right."""

_MOST = 20  # faults named for one payload
_LONGEST = 300  # characters of the words about one


def validator(schema: dict[str, Any]) -> Callable[[Any], Faults]:
    """What judges payloads by a schema (2020-12, or what its ``$schema`` names). References elsewhere are not fetched.

    Raises ValueError for what is not a JSON Schema, MissingDependency without the extra ``schema``.
    """
    try:
        import jsonschema
        import referencing
        import referencing.exceptions
    except ImportError as missing:
        raise MissingDependency(
            "the schema of a capability needs jsonschema: pip install 'turnwire[schema]', or '.[schema]' in a checkout"
        ) from missing
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"the schema of a capability is not a JSON Schema: {error.message[:_LONGEST]}") from error
    judge = kind(schema, registry=referencing.Registry())

    def faults(payload: Any) -> Faults:
        if judge.is_valid(payload):
            return []
        found = []
        for error, _ in zip(judge.iter_errors(payload), range(_MOST), strict=False):
            path = "".join(f"/{pointer_step(str(step))}" for step in error.absolute_path)
            found.append((f"/payload{path}", error.message[:_LONGEST]))
        return found

    return faults
