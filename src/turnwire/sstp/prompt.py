# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM SSTP, made from the tables that its reader and writer use."""

from __future__ import annotations

from typing import Any

from turnwire.phrases import as_json, listed
from turnwire.sstp import spec


def prompt() -> str:
    """The text that teaches SSTP, made from the tables of ``spec``."""
    kinds = "\n".join(f"- {kind}: {spec.MEANING[kind]}.\n  {as_json(_sstp_example(kind))}" for kind in spec.Kind)
    optional = listed(f"{field.name} (like {as_json(field.example)})" for field in spec.HEADER if field.need == "never")
    return f"""\
You speak SSTP. Every message is a single JSON object of one of the kinds below: raw JSON only, no prose, no Markdown, no \
code fence. Fill in everything that stands in angle brackets.
{kinds}
Rules:
- actor_id is your own name, always. session_id is the same in all messages of a task.
- logical_clock is 1 in your first message of the session and 1 more in each further one.
- All fields shown are required. The header may also hold {optional}.
- uncertainty, confidence and risk_score are numbers from 0 to 1.
- One agent speaks at a time: after a message, wait for a response. If a message is directed_to or assigned_to somebody, \
only that agent answers.
- Send only what contributes something: no acknowledgement, no echo.
"""


def _sstp_example(kind: Any) -> dict[str, Any]:
    known = {"kind": kind.value, "schema_id": spec.SCHEMA_IDS[kind]}
    return {
        "header": {field.name: known.get(field.name, field.example) for field in spec.HEADER if field.need != "never"},
        "payload": {field.name: field.example for field in spec.PAYLOADS[kind]},
    }
