# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM SSTP, made from the tables that its reader and writer use."""

from __future__ import annotations

from typing import Any

from turnwire.showing import as_json, listed
from turnwire.sstp import spec

_FILLED: dict[str, Any] = {
    "session_id": "s1",
    "goal": "fix the parser",
    "assumptions": ["the tests are right"],
    "success_criteria": "all tests pass",
    "constraints": ["no new dependency"],
    "question": "which branch is it on?",
    "required_fields": ["branch"],
    "content": "it is on the branch main",
    "evidence_refs": ["git:main"],
    "task": "fix the parser",
    "required_capabilities": ["python"],
    "evaluation_criteria": "all tests pass",
    "decision": "the parser is rewritten",
    "scope": "src/parser.py",
    "claim": "all tests pass",
    "artifacts": [{"type": "log", "name": "pytest", "value": "12 passed"}],
    "checks_run": ["pytest"],
    "summary": "a second parser had been forgotten",
    "derived_rule": "look for copies first",
}


_SPOKEN = dict(
    zip(spec.Kind, (("ada", 1), ("bob", 1), ("ada", 2), ("bob", 2), ("ada", 3), ("bob", 3), ("ada", 4)), strict=True)
)
"""Speaker of the example of a kind, and with which clock: together they are one conversation."""


def _filled(kind: spec.Kind) -> dict[str, Any]:
    actor, clock = _SPOKEN[kind]
    other = "bob" if actor == "ada" else "ada"
    return {**_FILLED, "actor_id": actor, "logical_clock": clock, "directed_to": other, "assigned_to": other}


def prompt(short: bool = False) -> str:
    """The text that teaches SSTP, with a message of each kind, which are one conversation; if ``short`` with forms to
    be filled in, of the header once, of the payload for each kind."""
    if short:
        form = {"header": _sstp_example(spec.Kind.INTENT, {})["header"], "payload": {}}
        form["header"] |= {"kind": "<kind>", "schema_id": "<schema_id>"}
        kinds = "\n".join(
            f"- {kind}, schema_id {spec.SCHEMA_IDS[kind]}: {spec.MEANING[kind]}. {as_json(_sstp_example(kind, {})['payload'])}"
            for kind in spec.Kind
        )
        forms = f"{as_json(form)}\nKinds, each with its payload:\n{kinds}"
        return _text(forms, "of this form, with everything in angle brackets filled in")
    kinds = "\n".join(
        f"- {kind}: {spec.MEANING[kind]}.\n  {as_json(_sstp_example(kind, _filled(kind)))}" for kind in spec.Kind
    )
    return _text(kinds, "one of the kinds below")


def _text(forms: str, told: str) -> str:
    optional = listed(f"{field.name} (like {as_json(field.example)})" for field in spec.HEADER if field.need == "never")
    return f"""\
You speak SSTP. Every message is a single JSON object {told}: raw JSON only, no prose, no Markdown, no code fence.
{forms}
Rules:
- actor_id is your own name, always. session_id is the same in all messages of a task.
- logical_clock is 1 in your first message of the session and 1 more in each further one.
- All fields shown are required. The header may also hold {optional}.
- uncertainty, confidence and risk_score are numbers from 0 to 1, logical_clock is an integer. assumptions, constraints, \
required_fields, evidence_refs, required_capabilities, checks_run and policy_labels are arrays of strings, artifacts one of \
objects with type, name and value, which are strings; supersedes is a string or null; all other fields are strings.
- One agent speaks at a time: after a message, wait for a response. If a message is directed_to or assigned_to somebody, \
only that agent answers.
- Send only what contributes something: no acknowledgement, no echo.
"""


def _sstp_example(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    known = {**values, "kind": kind.value, "schema_id": spec.SCHEMA_IDS[kind]}
    return {
        "header": {field.name: known.get(field.name, field.example) for field in spec.HEADER if field.need != "never"},
        "payload": {field.name: values.get(field.name, field.example) for field in spec.PAYLOADS[kind]},
    }
