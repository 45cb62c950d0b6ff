"""The texts that teach an LLM a wire are in step with the tables of the code, and short."""

from __future__ import annotations

import json
import re
from importlib import import_module
from itertools import chain

import pytest

from turnwire import WIRES, registry, sap, tokens
from turnwire.read.extraction import extract
from turnwire.registry import prompt

pytestmark = pytest.mark.once


def spec_of(wire):
    return import_module(f"{registry.wire(wire).package}.spec")


@pytest.mark.parametrize("wire", WIRES)
def test_short_plain_and_complete(wire):
    text = prompt(wire)
    assert 500 < len(prompt(wire, "short")) < 4600 and 1000 < len(text) < 5800
    assert tokens.count(prompt(wire, "short")) < 0.8 * tokens.count(prompt(wire)), "two sizes, and not one"
    assert "```" not in text and "None" not in text and "<enum" not in text.lower()
    assert all(line == line.rstrip() for line in text.splitlines())


KINDS = {
    "nslip": lambda message: message.act.name,
    "csp": lambda message: str(message.intent),
    "sstp": lambda message: message.KIND.value,
    "sap": lambda message: f"{type(message).__name__} {message.to_dict()['status']}" if "status" in message else "Task",
    "kick": lambda message: message.channel.removeprefix("⫻"),
}
TOLD = {
    "sap": {"Task", "Ack ACK", "Nack NACK", "Result RUNNING", "Result SUCCEEDED", "Result FAILED"},
    "kick": {"command/dispatch", "command/stop", "report/status", "report/artifact", "alert/error", "alert/violation",
             "query/context"},
}  # fmt: skip


@pytest.mark.parametrize("wire", WIRES)
def test_an_example_of_everything_is_read_and_checked(wire):
    """Of each act, intent, kind and channel, strictly and without a doubt."""
    spec = spec_of(wire)
    found = extract(prompt(wire), (wire,))
    told = (
        TOLD.get(wire)
        or {
            "nslip": {act.name for act in spec.Act} if wire == "nslip" else set(),
            "csp": set(spec.INTENTS) if wire == "csp" else set(),
            "sstp": {kind.value for kind in spec.Kind} if wire == "sstp" else set(),
        }[wire]
    )
    assert sorted(KINDS[wire](each.message) for each in found) == sorted(told), "one of each"
    for each in found:
        text = registry.encode(each.message)
        assert registry.decode(text, wire) == each.message
        assert registry.check(each.message) == []


def test_examples_of_csp_are_said_at_the_state_of_then():
    found = extract(prompt("csp"), ("csp",))
    place = [str(each.message.intent) for each in found].index("PATCH")
    assert [each.message.ctx for each in found] == ["C0"] * (place + 1) + ["C1"] * (len(found) - place - 1)
    assert 0 < place < len(found) - 1


NATURAL = {
    "string": "words", "UUID": "0b5a1f3e-7c2d-4e8f-9a6b-1c2d3e4f5a6b", "time": "2026-01-15T08:00:00Z",
    "true or false": True, "integer from 0": 5, "object": {"a": 1}, "array of objects": [{"a": 1}],
    "array of strings": ["a", "b"], "object of numbers": {"care": 1.5}, "any value": [1, "a", None],
    "object of integers from 0 to 100": {"care": 40}, "number from 0": 2.5,
    "sha256: and 64 hex digits": "sha256:" + "0a" * 32,
}  # fmt: skip


def natural(told):
    """The values that a reader of a type would write."""
    if told.endswith(" or null"):
        return [None, *natural(told.removesuffix(" or null"))]
    if told.startswith("array of {"):
        return [[value] for value in natural(told.removeprefix("array of "))]
    if told.startswith("{"):
        parts, depth, start = [], 0, 1
        for place, letter in enumerate(told):
            depth += (letter in "{(") - (letter in "})")
            if (letter == "," and depth == 1) or (letter == "}" and depth == 0):
                parts.append(told[start:place].strip())
                start = place + 1
        values = {name: natural(kind) for name, _, kind in (part.partition(": ") for part in parts)}
        whole = {name: found[0] for name, found in values.items()}
        return [whole, *({**whole, name: value} for name, found in values.items() for value in found)]
    return told.split("|") if told not in NATURAL else [NATURAL[told]]


def test_each_optional_field_of_sap_in_its_natural_form():
    """The prompt names the type of a field that the wire takes there."""
    text = prompt("sap")
    tried = 0
    for line, (_, example) in zip(
        (line for line in text.splitlines() if "where it helps: " in line), (("Task", 0), ("Result", 4)), strict=True
    ):
        base = [each.message for each in extract(text, ("sap",))][example].to_dict()
        listed = line.partition("where it helps: ")[2].removesuffix(".")
        for name, told in re.findall(r"([\w.]+) \(((?:[^()])*)\)", listed):
            for value in natural(told):
                whole = json.loads(json.dumps(base))
                *above, last = name.split(".")
                inner = whole
                for part in above:
                    inner = inner[part]
                inner[last] = value
                message = registry.decode(json.dumps(whole), "sap")
                doubts = [issue for issue in registry.check(message) if issue.severity != "info"]
                assert doubts == [], (name, told, value)
                assert registry.decode(registry.encode(message), "sap") == message
                tried += 1
    assert tried > 60


def test_nslip():
    spec = spec_of("nslip")
    text = prompt("nslip")
    assert [each.message.act for each in extract(text)] == list(spec.Act)
    assert [each.wire for each in extract(prompt("nslip", "short"))] == ["nslip"]
    for enum in (spec.Act, spec.FrameType):
        for member in enum:
            assert f"{spec.BASE62_ALPHABET[member]} {member.name}" in text
    for slot, prefix in spec.SLOT_PREFIX.items():
        assert f"{prefix} {slot.name.lower()}" in text


def test_sstp():
    spec = spec_of("sstp")
    from turnwire import sstp

    text = prompt("sstp", "short")
    form = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    forms = re.findall(r"^- (\w+), schema_id ([\w.]+): [^{]*(\{.*\})$", text, re.MULTILINE)
    assert [kind for kind, _, _ in forms] == [kind.value for kind in spec.Kind]
    for kind, schema, payload in forms:
        made = {"header": {**form["header"], "kind": kind, "schema_id": schema}, "payload": json.loads(payload)}
        filled = json.loads(re.sub(r'"<[^"]*>"', '"alex"', json.dumps(made)))
        assert sstp.encode(sstp.from_fields(filled))
        assert set(filled["header"]) == {field.name for field in spec.HEADER if field.need != "never"}
        assert list(filled["payload"]) == [field.name for field in spec.PAYLOADS[spec.Kind(kind)]]
    for field in spec.HEADER:
        assert field.name in text


CSP, SAP, KICK = map(spec_of, ("csp", "sap", "kick"))
WORDS = {
    "csp": (*CSP.HEADERS, *CSP.INTENTS, *CSP.BLOCK_WORD.values(), *chain(*CSP.FIELDS.values(), *CSP.ENUMS.values())),
    "sap": (
        *(field.name for kind in (sap.Task, sap.Result) for field in kind.TABLE.fields),
        *(word.value for word in chain(SAP.Status, SAP.Alignment, SAP.PressureLevel, SAP.ErrorCode)),
    ),
    "kick": (*KICK.FIELDS, *KICK.TYPES, *KICK.ROLES, *KICK.STATUS_WORDS, *(row[0] for row in KICK.DEFAULT_ROWS)),
}


@pytest.mark.parametrize("wire", WORDS)
def test_every_word_is_said(wire):
    text = prompt(wire)
    assert [word for word in WORDS[wire] if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)] == []
