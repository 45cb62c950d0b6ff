# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM SAP, made from the tables that its reader and writer use."""

from __future__ import annotations

from typing import Any

from turnwire.phrases import as_json, listed
from turnwire.sap import spec

_SAP_VALUES = {
    "protocolVersion": "2.0",
    "issuedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "reportedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "payload": {},
    "output": {},
}


def prompt() -> str:
    """The text that teaches SAP, made from the tables of ``spec``."""

    def example(table: Any) -> dict[str, Any]:
        return {field.name: value(field) for field in table.fields if field.need == spec.MUST}

    def value(field: Any) -> Any:
        if field.table is not None:
            return example(field.table)
        if field.values:
            return "|".join(field.values)
        return _SAP_VALUES.get(field.name, f"<{field.kind.name.lower()}>")

    def more(table: Any) -> str:
        return listed(field.name for field in table.fields if field.need != spec.MUST)

    tables = "\n".join(
        f"- {table.name}: {as_json(example(table))}\n  and where it helps: {more(table)}."
        for table in (spec.TASK, spec.RESULT)
    )
    return f"""\
You exchange UBOS SAP V{spec.VERSION} objects. Every message is a single JSON object, a Task or a Result: raw JSON only, no \
prose, no code fence. Where a value shows alternatives, choose one; fill in what stands in angle brackets.
{tables}
Rules:
- taskId and correlationId are UUIDs in the form of 36 characters; a Result repeats those of its Task.
- Times are UTC, written YYYY-MM-DDTHH:MM:SSZ.
- pressureLevel is {listed(level.value for level in spec.PressureLevel)}; pressure maps principles to integers from 0 to 100.
- Report QUEUED and RUNNING as often as you like, then one of {listed(sorted(word.value for word in spec.TERMINAL))}, and \
nothing after that.
- A FAILED Result has error.message and error.code, for example {listed(sorted(spec.ERROR_CODES))}. A SUCCEEDED Result is \
never NON_CONSTITUTIONAL.
- Never put secrets into a payload.
"""
