"""The texts that teach an LLM a wire are in step with the tables of the code, short, and can be filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from typing import Any

import pytest

from tests import vectors
from turnwire import WIRES, registry, sap, tokens
from turnwire.checklists import FAIL
from turnwire.kick.spec import DEFAULT_ROWS
from turnwire.read.extraction import extract
from turnwire.read.located import conformance
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


# --- forms of the prompts, filled in as a reader of the text alone would fill them in ---------------------------------


ONE, TWO = "0b5a1f3e-7c2d-4e8f-9a6b-1c2d3e4f5a6b", "7FBB32B6-0D2C-4C1A-9B75-2A4B3B0B6C0A"


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    whole = json.loads(json.dumps(base))
    *above, last = path.split(".")
    inner = whole
    for name in above:
        inner = inner[name]
    inner[last] = value
    return whole


def forms(wire: str) -> list[dict[str, Any]]:
    """The JSON objects that the short prompt shows in lines of their own, or behind "- X: "."""
    found = re.findall(r"(?m)^(?:- [\w, ]+: )?(\{.*\})(?:, where .*)?$", prompt(wire, "short"))
    return [json.loads(one) for one in found]


def filled(value: Any, words: dict[str, Any]) -> Any:
    """A form with what stands in angle brackets filled in, and the first of several words taken."""
    if isinstance(value, dict):
        return {name: filled(inner, words) for name, inner in value.items()}
    return words.get(value, value.split("|")[0]) if isinstance(value, str) else value


def in_sap() -> Iterator[Any]:
    words = {"<UUID>": ONE, "<YYYY-MM-DDTHH:MM:SSZ>": "2026-01-15T08:00:00Z", "<string>": "coder-1"}
    shown = forms("sap")
    task, result, ack = (filled(one, words) for one in shown)
    for base, form in ((task, shown[0]), (result, shown[1]), (ack, shown[2])):
        yield base
        for path, value in leaves(form):
            if isinstance(value, str) and "|" in value:
                yield from (changed(base, path, word) for word in value.split("|") if word != "FAILED")
            elif value == "<UUID>":
                yield changed(base, path, TWO)
    yield {name: value for name, value in ack.items() if name != "reason"}
    yield {**result, "status": "FAILED", "error": {"code": "NOT_FOUND", "message": "there is none"}}
    yield {
        **result,
        "status": "FAILED",
        "error": {"code": "NO_PARSER", "message": "there is none", "details": {"n": 1}},
    }
    for status in ("ESCALATED", "PARTIAL"):
        yield {**result, "status": status, "nextActions": [{"action": "ask a person", "afterSec": 5}]}
    for payload in ({"text": "fix it"}, {"steps": ["a", "b"], "limit": 2.5, "dry": False, "note": None}):
        yield {**task, "payload": payload}
    for output in ("done", None, ["a"], {"a": 1}, 3, 2.5, True):
        yield {**result, "status": "SUCCEEDED", "output": output}
    for part in ({"mode": "prefer"}, {"mode": "only", "maxAgeSec": 60}, {"maxAgeSec": 0, "mustAlign": False}):
        yield changed(task, "constitutionalContext.cachePolicy", part)
    for part in ({"schema": {"type": "object"}}, {"format": "text"}):
        yield {**task, "outputContract": part}
    for part in ({"deadline": "2026-01-15T09:00:00Z"}, {"budget": {"tokens": 5000}}, {"budget": {"seconds": 2.5}}):
        yield {**task, "telemetry": part}
    yield {**task, "replyTo": {"endpoint": "https://a.example/inbox"}}
    yield {**task, "attachments": [{"uri": "https://a.example/log.txt", "kind": "log"}]}
    yield changed(result, "constitutionalEvidence.policyChecks", [{"principle": "care", "status": "passed"}])
    yield changed(result, "constitutionalEvidence.violations", [{"principle": "care", "severity": "high"}])
    yield changed(result, "constitutionalEvidence.cache", {"hit": True, "cacheKey": "k", "ageSec": 3})
    yield {**result, "metrics": {"durationMs": 12, "tokens": 3.5, "model": "small", "by": {"step": 1}}}


def leaves(form: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in form.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def in_sstp() -> Iterator[Any]:
    (header,) = (form["header"] for form in forms("sstp") if "header" in form)
    shown = re.findall(r"(?m)^- (\w+), schema_id ([\w.]+): .*? (\{.*\})$", prompt("sstp", "short"))
    assert len(shown) == 7
    for kind, schema, text in shown:
        head = {**header, "kind": kind, "schema_id": schema, "actor_id": "ada", "session_id": "s-42"}
        payload = {name: re.sub("^<.*>$", "some words", value) if isinstance(value, str) else value
                   for name, value in json.loads(text).items()}  # fmt: skip
        if payload.get("artifacts"):
            payload["artifacts"] = [{"type": "file", "name": "a.log", "value": "12 passed"}]
        yield {"header": head, "payload": payload}
        for more in (
            {"provenance": "git log"},
            {"policy_labels": ["retention:90d"]},
            {"risk_score": 1},
            {"logical_clock": 12},
        ):
            yield {"header": {**head, **more}, "payload": payload}
        for name, value in payload.items():
            tries = {
                list: [[]] if name == "artifacts" else [[], ["a", "b c"]],
                str: ["other", "Ünder 3 words: a, b; c"],
                float: [0, 1, 0.25],
                type(None): ["c-7"],
            }[type(value)]
            yield from ({"header": head, "payload": {**payload, name: one}} for one in tries)


def in_kick() -> Iterator[Any]:
    (form,) = forms("kick")
    words = {"<id>": ONE, "<timestamp>": "2026-01-15T08:00:00Z", "<correlation_id>": TWO, "<sender>": "Orchestrator"}
    base = filled(form, {**words, "<receiver>": "WePlan", "⫻<family>/<name>": "⫻command/dispatch"})
    base["content"] = "⫻task/dispatch:T-7/001\nfix the parser\n"
    yield base
    yield {name: value for name, value in base.items() if name != "correlation_id"}
    times = ("08:00:00+01:00", "08:00:00.25Z", "08:00:00.123456-05:30", "08:00:00", "08:00Z")
    yield from ({**base, "timestamp": f"2026-01-15T{time}"} for time in times)
    for head in ("task/dispatch:T-7/1", "task/dispatch:src/parser.py/001", "task/dispatch:T7/01", "task/dispatch"):
        for body in ("fix it", "- a\n- b\n", "\nfix it\n", "one\n\n⫻task/notes:T-7/002\ntwo\n"):
            yield {**base, "content": f"⫻{head}\n{body}"}
    said = re.findall(r"(?m)^  ⫻(\w+)/\*: type (\w+),", prompt("kick", "short"))
    assert [family for family, _ in said] == ["command", "report", "alert", "query"]
    ends = {"command": ("Orchestrator", "Dima"), "report": ("QllickBuzz & QllickFizz", "Orchestrator"),
            "alert": ("SystemMonitor", "Broadcast"), "query": ("Human", "AR-00L")}  # fmt: skip
    for family, kind in said:
        sender, receiver = ends[family]
        for name in ("status", "progress", "run", "escalate"):
            one = {"type": kind, "channel": f"⫻{family}/{name}", "sender": sender, "receiver": receiver}
            yield {**base, **one, "content": f"⫻{family}/{name}:T-7/001\nIn Progress\n"}


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_filled_in_naturally_is_taken(wire: str) -> None:
    """The forms of three prompts, and what a reader of the others would write."""
    made = {"sstp": in_sstp, "sap": in_sap, "kick": in_kick}.get(wire)
    written = [case["text"] for case in vectors.load("natural") if case["wire"] == wire]
    tried = 0
    for one in made() if made else written:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        message = registry.decode(text, wire)
        assert [issue for issue in registry.check(message) if issue.severity != "info"] == [], text
        assert registry.decode(registry.encode(message), wire) == message
        tried += 1
    assert tried >= 30


@pytest.mark.parametrize("wire", ["nslip", "sstp", "sap", "kick"])
def test_the_examples_are_a_conversation_that_breaks_no_clause(wire: str) -> None:
    """Of SAP in three histories, since a task ends once."""
    texts = [registry.encode(each.message) for each in extract(prompt(wire), (wire,))]
    for picked in ([0, 1, 3, 4], [0, 1, 3, 5], [0, 2]) if wire == "sap" else (range(len(texts)),):
        found = conformance(wire, enumerate((texts[place] for place in picked), 1))
        assert [line for line in found if line.status == FAIL] == [], str(found)


def test_a_channel_says_whether_what_it_answers_is_to_be_named() -> None:
    channels = [line for line in prompt("kick", "short").splitlines() if line.startswith("  \u2afb")]
    assert [", with the correlation_id of what it answers" in line for line in channels] == [
        row[4] for row in DEFAULT_ROWS
    ]
