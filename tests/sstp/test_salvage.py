"""Messages out of prose, fences, larger JSON, strings and logs; what is nearly one; turnwire.extract over all wires."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests import vectors
from tests.sstp.examples import DATA, example, real
from turnwire import sstp
from turnwire.errors import Reason
from turnwire.read.extraction import extract
from turnwire.sstp.bulk import PLAN
from turnwire.sstp.checklist import near
from turnwire.sstp.spec import HEADER, Kind

ONE = json.dumps(example(Kind.INTENT))
TWO = json.dumps(example(Kind.COMMIT), indent=2)


def test_the_real_conversations_as_one_file(sstp):
    whole = (DATA / "openclaw_transcripts.json").read_text("utf-8")
    found = sstp.salvage(whole)
    seen: dict[str, str] = {}
    for message, start, end, how in found:
        assert json.loads(json.loads(f'"{whole[start:end]}"')) == message.to_dict()
        seen.setdefault(json.dumps(message.to_dict()), how.removeprefix("json_string/"))
    assert (len(seen), len(found)) == (23, 185)
    assert [(each.start, each.end) for each in extract(whole)] == [(each.start, each.end) for each in found]
    genuine = {text for text in seen if "<your-agent-id>" not in text}
    assert genuine == {json.dumps(value) for value in real()}
    assert Counter(seen[text] for text in genuine) == {"fence": 12, "prose": 4}
    for text in seen:
        reasons = {issue.reason for issue in sstp.check(sstp.decode(text))}
        assert reasons == (set() if text in genuine else {Reason.PLACEHOLDER})
    assert {sstp.decode(text).KIND for text in set(seen) - genuine} == set(Kind)


@vectors.cases("sstp_forms", kind="wrapping")
def test_wrappings(sstp, case):
    text = case["text"]
    found = sstp.salvage(text)
    assert [each.how for each in found] == case["how"]
    for message, start, end, how in found:
        inner = text[start:end]
        for _ in range(how.count("json_string")):
            inner = json.loads(f'"{inner}"')
        assert json.loads(inner) == message.to_dict()


def test_a_message_inside_a_message_is_content(sstp):
    value = example(Kind.KNOWLEDGE)
    value["payload"]["content"] = ONE
    value["payload"]["inner"] = example(Kind.QUERY)
    found = sstp.salvage(f"so: {json.dumps(value)}")
    assert len(found) == 1 and found[0].message.to_dict() == value


def test_hostile_text_takes_no_time(sstp):
    for piece in ("{", '{"', '{"a":', '{"a":[', "[", '"', "\\", '{\\"', '@a1"', "@a1", "```"):
        for text in (piece * 2_000, '{"a":"' + piece * 2_001):
            assert sstp.salvage(text) == [] and extract(text) == []


@given(st.lists(st.sampled_from([ONE, TWO, *'{}"\\é \n[],:a', "```"]), max_size=8))
def test_spans_always_hold_what_was_found(parts):
    from turnwire import sstp as package

    text = "".join(parts)
    for wrapped in (text, json.dumps({"k": text}), json.dumps([json.dumps({"k": [text]})])):
        last = 0
        for message, start, end, how in package.salvage(wrapped):
            assert start >= last
            last = end
            inner = wrapped[start:end]
            for _ in range(how.count("json_string")):
                inner = json.loads(f'"{inner}"')
            assert json.loads(inner) == message.to_dict()


SLIP = '@a1|f0|c1|S2|d3|T4|t"a \\"quoted\\" # tag"#'


def test_extract_finds_several_wires():
    text = f"First {SLIP} then\n```json\n{ONE}\n```\nand {json.dumps({'log': f'got {SLIP}'})} bob@a1.example @a1|x#"
    found = extract(text)
    assert [(each.wire, each.wrapped) for each in found] == [
        ("nslip", "prose"),
        ("sstp", "fence"),
        ("nslip", "json_string/prose"),
    ]
    assert text[found[0].start : found[0].end] == SLIP
    assert json.loads(f'"{text[found[2].start : found[2].end]}"') == SLIP
    assert found[0].message == found[2].message
    assert [each.wire for each in extract(text, ("nslip",))] == ["nslip", "nslip"]
    value = example(Kind.KNOWLEDGE)
    value["payload"]["content"] = SLIP
    assert [each.wire for each in extract(json.dumps(value))] == ["sstp"], "a message is not searched"


# --- what is nearly a message, or claims to be one


@pytest.mark.parametrize("name", ["kind", "type"])
@pytest.mark.parametrize("kind", Kind)
def test_what_is_near_to_a_message(name, kind):
    assert near({name: kind.value}) is (name == "kind")
    assert near({name: kind.value, "actor_id": "a"})
    assert near({name: kind.value, "header": {}, "payload": 1})
    assert near({name: kind.value, **example(kind)["payload"]})
    assert not near({name: kind.value, "actor_id": "a", "other": 1})
    assert not near({name: kind.value.upper(), "actor_id": "a"})


def test_parts_of_a_message_are_near_to_one_by_their_names():
    whole = {field.name: 1 for field in HEADER} | {"directed_to": 1}
    assert near({"header": whole}) and near({"header": whole, "payload": {}}) and near({"header": {}, "payload": {}})
    assert not near({"header": whole | {"other": 1}}) and not near({"header": {}, "payload": {}, "other": {}})
    assert near({"header": {"actor_id": "a"}}) and near({"payload": {"goal": "x"}}) and near({"header": 1})
    assert not near({}) and not near({"header": {"actor": "a"}}) and not near({"payload": {"goals": "x"}})
    assert not near({"header": {"actor_id": "a"}, "body": {}})


MARKS = {"actor_id": "a", "schema_id": "x", "logical_clock": 1}


@vectors.cases("sstp_forms", kind="claim")
def test_what_claims_to_be_a_message(case):
    assert PLAN.is_claimed(case["fields"]) is case["claimed"]
    found = sstp.salvage(json.dumps(case["fields"]))
    assert [one.message for one in found] == []


@pytest.mark.parametrize(
    "marks", [(), ("actor_id",), ("actor_id", "schema_id"), ("schema_id", "logical_clock"), tuple(MARKS)]
)
def test_two_marks_in_damaged_bytes_make_them_a_message(marks):
    damaged = ('{"x": {' + ", ".join(f'"{mark}": 1' for mark in marks)).encode()
    assert PLAN.is_marked(damaged) is (len(marks) >= 2)
    scan = turnwire.scan(damaged + b"\n")
    assert sum(map(len, scan)) == 0 and len(scan.rejects.rows()) == (len(marks) >= 2)


@pytest.mark.parametrize("kind", Kind)
def test_every_column_of_a_scan_has_its_field(kind):
    """By the name of the field; what a kind lacks is null."""
    value = example(kind)
    value["header"] |= {"provenance": "grep", "risk_score": 0.25}
    for name, number in (("confidence", 0.5), ("uncertainty", 0.75)):
        if name in value["payload"]:
            value["payload"][name] = number
    (batch,) = turnwire.scan(json.dumps(value).encode(), wire="sstp")
    fields = value["header"] | value["payload"]
    for name in ("actor_id", "session_id", "logical_clock", "provenance", "risk_score", "confidence", "uncertainty",
                 "directed_to", "assigned_to", "commit_mode", "verdict", "memory_type"):  # fmt: skip
        found = batch[name][0] if batch.valid(name)[0] else None
        assert found == fields.get(name), name
