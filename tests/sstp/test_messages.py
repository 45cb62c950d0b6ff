"""Messages: thin, mutable, lossless; and the agents that make them."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import needs_both, raised, refusal
from tests.json_text.test_read import JSON
from tests.sstp.examples import example
from turnwire import sstp as package
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.sstp import codec
from turnwire.sstp.codec import findings
from turnwire.sstp.spec import ARTIFACT_FIELDS, HEADER, PAYLOADS, Kind


def test_unknown_fields_null_and_order_survive(sstp):
    text = (
        '{"x":null,"payload":{"scope":"s","decision":"d","more":{"b":[null,1e2],"a":-0.0}},'
        '"header":{"trace":null,"schema_id":"ioc.commit.v0","kind":"commit","actor_id":"é","logical_clock":1},"y":[]}'
    )
    message = sstp.decode(text)
    assert sstp.encode(message, strict=False) == text
    assert message.extras == {"x": None, "y": []}
    assert "supersedes" not in message.payload and message.payload.supersedes is None
    with_null = sstp.decode(text.replace('"scope"', '"supersedes":null,"scope"'))
    assert "supersedes" in with_null.payload and '"supersedes":null' in sstp.encode(with_null, strict=False)


def test_fields_read_and_write_as_attributes(sstp):
    message = sstp.decode(json.dumps(example(Kind.KNOWLEDGE)))
    assert message.payload.confidence == 0.5 and message.header.actor_id == message.actor_id == "alex"
    assert message.header.risk_score is None
    message.payload.confidence = 0.75
    message.header.risk_score = 0.25
    assert json.loads(sstp.encode(message))["payload"]["confidence"] == 0.75
    with pytest.raises(AttributeError):
        _ = message.payload.nonsense
    assert isinstance(message.payload, dict) and message.payload == message.to_dict()["payload"]


def test_changes_are_judged(sstp):
    message = sstp.decode(json.dumps(example(Kind.KNOWLEDGE)))
    payload = message.payload
    assert sstp.check(message) == []
    payload["confidence"] = 7
    assert [issue.reason for issue in sstp.check(message)] == [Reason.OUT_OF_RANGE]
    raised(EncodeError, sstp.encode, message)
    payload["confidence"] = "high"
    assert [issue.severity for issue in sstp.check(message)] == ["error"]
    raised(EncodeError, sstp.encode, message, strict=False)
    del message.fields["payload"]
    raised(EncodeError, sstp.encode, message)


def test_equality_copies_and_pickles(sstp):
    for kind in Kind:
        message = sstp.decode(json.dumps({**example(kind), "more": [1]}))
        twins = [copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))]
        twins.append(sstp.decode(sstp.encode(message)))
        twins.append(eval(repr(message), {name: getattr(package, name) for name in package.__all__}))
        twins.append(sstp.from_fields(message.to_dict()))
        for twin in twins:
            assert twin == message and type(twin) is type(message) and twin is not message
        deep = twins[1]
        deep.payload["new"] = 1
        assert deep != message
        assert message != message.to_dict()
        raised(TypeError, hash, message)


@vectors.cases("sstp_forms", kind="detect")
def test_detect(sstp, case):
    text, found = case["text"], case["found"]
    for data in (text, text.encode(), f" \n{text}"):
        assert sstp.detect(data) is found
    assert sstp.detect(b"\xff\xfe") is False


@vectors.cases("sstp_forms", kind="retention")
def test_days_of_retention(case):
    header = {**example(Kind.KNOWLEDGE)["header"], "policy_labels": case["labels"]}
    assert package.Knowledge(header, {}).retention_days == case["days"]


# --- anything at all -------------------------------------------------------------------------------------------------

NAMES = sorted({field.name for table in (HEADER, *PAYLOADS.values()) for field in table} | {"protocol", "x"})
ANY = JSON | st.sampled_from(["<session>", "ioc.evidence.v0", "sstp", 0, 1, 0.5, ["a"], [1], None, True])


@st.composite
def damaged(draw):
    """An object that is close to a message: some fields gone, some changed, extras at every level."""
    kind = draw(st.sampled_from(Kind))
    value = example(kind)
    for _ in range(draw(st.integers(0, 3))):
        part = value[draw(st.sampled_from(["header", "payload"]))]
        name = draw(st.sampled_from(NAMES))
        if draw(st.booleans()):
            part.pop(name, None)
        else:
            part[name] = draw(ANY)
    if kind is Kind.EVIDENCE_BUNDLE and draw(st.booleans()):
        value["payload"]["artifacts"] = [draw(st.dictionaries(st.sampled_from([*ARTIFACT_FIELDS, "x"]), ANY))]
    for part in (value, value["header"], value["payload"]):
        part.update(draw(st.dictionaries(st.text(min_size=1, max_size=5), JSON, max_size=2)))
    if draw(st.booleans()):
        value = dict(reversed(value.items()))
    return value


@given(damaged(), st.booleans())
def test_whatever_is_accepted_is_written_back(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        message = package.decode(text)
    except DecodeError:
        return
    assert json.dumps(json.loads(package.encode(message, strict=False))) == json.dumps(value)
    assert json.dumps(message.to_dict()) == json.dumps(value)
    found = {issue[:2]: issue.severity for issue in package.check(message)}
    refused = refusal(EncodeError, package.encode, message)
    if refused:
        place = refused.reason, refused.path
        assert found.get(place) == "warning" or place == (Reason.MISSING_FIELD, "/header/session_id")
    else:
        assert json.dumps(json.loads(package.encode(message))) == json.dumps(value)
        assert set(found.values()) <= {"info"}


PLACED = ["", "x", "<", "<x>", "x<", 0, 1, -1, 2, 0.0, 1.0, 1.5, -0.5, 1e300, None, True, False, [], {}]
PLACED += [["a"], ["a", 1], ["a", None], [[]], ["<x>"], {"a": 1}]
ARTIFACT = {"type": "fact", "name": "n", "value": "v"}
PLACED += [[ARTIFACT], [ARTIFACT, 1], [{**ARTIFACT, "more": 1}]]
PLACED += [[ARTIFACT, {**ARTIFACT, name: value}] for name in ARTIFACT for value in ("", "<x>", "<", 1, None, [])]
PLACED += [[{key: value for key, value in ARTIFACT.items() if key != name}] for name in ARTIFACT]


@needs_both
@pytest.mark.parametrize("kind", Kind)
def test_no_value_in_a_field_is_sound_where_anything_is_found(kind):
    made, told = example(kind), set()
    for part, names in (("header", made["header"]), ("payload", made["payload"])):
        for name in [*names, "directed_to", "protocol", "more"]:
            for value in [*PLACED, ...]:
                one = {"header": dict(made["header"]), "payload": dict(made["payload"])}
                if name == "directed_to" and part == "header":
                    one["payload"].pop(name, None)
                one[part][name] = value
                if value is ...:
                    del one[part][name]
                sound = codec._codec.made(one, None) is not None
                assert not sound or not list(findings(one)), (part, name, value)
                told.add(sound)
    assert told == {True, False}
    shared = package.Message.of(codec._read(json.dumps(made))).fields  # with the strings that readers share as keys
    assert codec._codec.made(shared, None) is not None
    for one in ({}, {"header": made["header"]}, {"payload": made["payload"]}, {**made, "header": []}):
        assert codec._codec.made(one, None) is None


def test_values_that_no_json_has_are_named_by_their_type(sstp):
    made = example(Kind.KNOWLEDGE)
    made["payload"]["content"] = b"x"
    found = sstp.check(package.Message.of(made))
    assert [(one.reason, one.where) for one in found] == [(Reason.WRONG_TYPE, "/payload/content")]
    assert found[0].text.endswith(", not bytes")


# --- agents: the right message is the easy one


SAID = {
    Kind.INTENT: {"success_criteria": "c", "assumptions": ["a"]},
    Kind.QUERY: {"directed_to": "b", "uncertainty": 0.5},
    Kind.KNOWLEDGE: {"confidence": 1},
    Kind.DELEGATION: {"assigned_to": "b", "output_schema_id": "ioc.result.v0", "evaluation_criteria": "e"},
    Kind.COMMIT: {"scope": "s", "commit_mode": "unilateral"},
    Kind.EVIDENCE_BUNDLE: {
        "artifacts": [{"type": "fact", "name": "n", "value": 1}], "verdict": "pass", "checks_run": ["x"],
    },
    Kind.MEMORY_DELTA: {"memory_type": "episodic", "derived_rule": "r", "propagation": "domain-wide"},
}  # fmt: skip


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_complete(kind):
    agent = package.Agent("alex", "s")
    header = {"risk_score": 0.1, "policy_labels": ["retention:3d"], "provenance": "p"}
    message = agent.say(package.CLASSES[kind], "said", **SAID[kind], **header)
    assert message.subject == "said"
    assert package.decode(package.encode(message)) == message and package.check(message) == []
    assert list(message.header) == [field.name for field in HEADER]
    assert list(message.payload) == [field.name for field in PAYLOADS[kind]]
    assert (message.actor_id, message.session_id, message.logical_clock) == ("alex", "s", 1)
    assert agent.clock == 2


def test_clocks_and_turns_come_out_right():
    session = package.Session(["a", "b"], strict=True)
    first, second = package.Agent("a", "s"), package.Agent("b", "s")
    for _ in range(3):
        assert session.feed(first.say(package.Query, "q?", directed_to="b", uncertainty=0.2)) == []
        assert session.feed(second.say(package.Knowledge, "k!", confidence=0.9)) == []
    assert session.open_queries == []
    late = package.Agent("a", "s", clock=session.next_clock("a"))
    assert session.feed(late.say(package.Intent, "g", success_criteria="c")) == []


def test_a_refused_message_uses_up_no_clock():
    agent = package.Agent("a", "s")
    caught = raised(EncodeError, agent.say, package.Knowledge, "k", confidence=1.5)
    assert (caught.reason, caught.path) == (Reason.OUT_OF_RANGE, "/payload/confidence")
    with pytest.raises(TypeError, match="actor"):
        agent.say(package.Knowledge, "k", confidence=1, actor="x")
    assert agent.say(package.Knowledge, "k", confidence=1).logical_clock == 1
    with pytest.raises(EncodeError):
        package.Agent("<your-agent-id>", "s").say(package.Knowledge, "k", confidence=1)


def test_values_that_are_not_of_json_are_refused_and_never_made_fit():
    known = example(Kind.KNOWLEDGE)
    with pytest.raises(DecodeError) as told:
        package.Knowledge.from_dict({**known, "payload": {**known["payload"], "evidence_refs": ("a",)}})
    assert (told.value.reason, told.value.path) == (Reason.WRONG_TYPE, "/payload/evidence_refs")
    numbered = package.Knowledge.from_dict({**known, "payload": {**known["payload"], 1: "x"}})
    raised(EncodeError, package.encode, numbered, strict=False)
