"""Messages: thin, mutable, lossless."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.json_text.test_read import JSON
from tests.sstp.examples import example, real
from turnwire import sstp as package
from turnwire._backend import core_module
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.sstp import codec
from turnwire.sstp.rules import findings
from turnwire.sstp.spec import ARTIFACT_FIELDS, HEADER, PAYLOADS, Kind


def test_real_messages(sstp):
    for value in real():
        text = json.dumps(value)
        message = sstp.decode(text)
        assert sstp.check(message) == []
        assert json.dumps(json.loads(sstp.encode(message))) == text
    kinds = [value["header"]["kind"] for value in real()]
    assert len(kinds) == 16 and kinds.count("query") == 6


def test_unknown_fields_null_and_order_survive(sstp):
    text = (
        '{"x":null,"payload":{"scope":"s","decision":"d","more":{"b":[null,1e2],"a":-0.0}},'
        '"header":{"trace":null,"schema_id":"ioc.commit.v0","kind":"commit","actor_id":"é","logical_clock":1},"y":[]}'
    )
    message = sstp.decode(text)
    assert sstp.encode(message, strict=False) == text.replace("1e2", "100.0")
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
    with pytest.raises(EncodeError):
        sstp.encode(message)
    payload["confidence"] = "high"
    assert [issue.severity for issue in sstp.check(message)] == ["error"]
    with pytest.raises(EncodeError):
        sstp.encode(message, strict=False)
    del message.fields["payload"]
    with pytest.raises(EncodeError):
        sstp.encode(message)


def test_a_copy_shares_its_lists_and_is_judged_with_them(sstp):
    message = sstp.decode(json.dumps(example(Kind.INTENT)))
    copy.copy(message).payload["assumptions"].append(7)
    with pytest.raises(EncodeError):
        sstp.encode(message)


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
        with pytest.raises(TypeError):
            hash(message)


def test_patterns(sstp):
    match sstp.decode(json.dumps(example(Kind.QUERY))):
        case package.Query(header={"actor_id": "alex"}, payload={"uncertainty": number}):
            assert number == 0.5
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    ("labels", "days"),
    [
        (None, None),
        ([], None),
        (["retention:90d"], 90),
        (["a", "retention:90d", "retention:7d"], 7),
        (["retention:0d"], 0),
        (["retention:d", "retention:-1d", "retention:1.5d", "retention:٣d", "Retention:1d", "retention:1"], None),
    ],
)
def test_retention(sstp, labels, days):
    value = example(Kind.MEMORY_DELTA)
    if labels is not None:
        value["header"]["policy_labels"] = labels
    assert sstp.decode(json.dumps(value)).retention_days == days


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b' {"header": {"kind"', True),
        (b'{"x":1,"header":{"kind":"intent"},"payload":{}}', True),
        (b'{"payload":{},"header":{}}', True),
        (b'{"payload":{"header":{}},"protocolVersion":"2.0"}', False),
        (b'{"protocolVersion":"2.0","payload":{"header":{}}}', False),
        (b'{"payload":1,"header":{"actor_id":', True),
        (b'{"id":"x","sender":"a"}', False),
        (b"[]", False),
        (b"", False),
        (b"\xff\xfe", False),
        (b"header", False),
    ],
)
def test_detect(sstp, data, found):
    assert sstp.detect(data) is found


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


def judges():
    modules = [core_module(name, "sstp.codec") for name in BACKENDS]
    return [module.Judge(codec.kinds(), None, None) for module in modules]


@given(damaged())
def test_what_is_plain_has_no_finding_and_twins_agree(value):
    verdicts = {judge.is_plain(value) for judge in judges()}
    assert len(verdicts) == 1
    if verdicts == {True}:
        assert list(findings(value)) == []
    shared = package.Message.of(codec._read(json.dumps(value))).fields  # with the strings that readers share as keys
    assert {judge.is_plain(shared) for judge in judges()} == verdicts


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
    try:
        written = package.encode(message)
    except EncodeError as caught:
        refused = (caught.reason, caught.path)
    else:
        refused = None
        assert json.dumps(json.loads(written)) == json.dumps(value)
    if refused is None:
        assert set(found.values()) <= {"info"}
    else:
        assert found.get(refused) == "warning" or refused == (Reason.MISSING_FIELD, "/header/session_id")


PLACED = ["", "x", "<", "<x>", "x<", 0, 1, -1, 2, 0.0, 1.0, 1.5, -0.5, 1e300, None, True, False, [], {}]
PLACED += [["a"], ["a", 1], ["a", None], [[]], ["<x>"], {"a": 1}]
ARTIFACT = {"type": "fact", "name": "n", "value": "v"}
PLACED += [[ARTIFACT], [ARTIFACT, 1], [{**ARTIFACT, "more": 1}]]
PLACED += [[ARTIFACT, {**ARTIFACT, name: value}] for name in ARTIFACT for value in ("", "<x>", "<", 1, None, [])]
PLACED += [[{key: value for key, value in ARTIFACT.items() if key != name}] for name in ARTIFACT]


@pytest.mark.parametrize("kind", Kind)
def test_no_value_in_a_field_is_plain_where_anything_is_found(kind):
    """Both cores say the same of each; what begins like a placeholder is looked at closely."""
    made = example(kind)
    both, told = judges(), set()
    for part, names in (("header", made["header"]), ("payload", made["payload"])):
        for name in [*names, "directed_to", "protocol", "more"]:
            for value in [*PLACED, ...]:
                one = {"header": dict(made["header"]), "payload": dict(made["payload"])}
                if name == "directed_to" and part == "header":
                    one["payload"].pop(name, None)
                one[part][name] = value
                if value is ...:
                    del one[part][name]
                plain, *others = (judge.is_plain(one) for judge in both)
                assert others in ([], [plain])
                assert not plain or not list(findings(one)), (part, name, value)
                told.add(plain)
    assert told == {True, False}
    for one in ({}, {"header": made["header"]}, {"payload": made["payload"]}, {**made, "header": []}):
        assert {judge.is_plain(one) for judge in both} == {False}


def test_values_that_no_json_has_are_named_by_their_type(sstp):
    made = example(Kind.KNOWLEDGE)
    made["payload"]["content"] = b"x"
    found = sstp.check(package.Message.of(made))
    assert [(one.reason, one.where) for one in found] == [(Reason.WRONG_TYPE, "/payload/content")]
    assert found[0].text.endswith(", not bytes")


@pytest.mark.parametrize("source", ["as it was read", b"as it was read", None])
def test_a_judge_gives_the_text_that_was_read(core, source):
    made = example(Kind.KNOWLEDGE)

    def closer(fields, data):
        return "looked at closely", fields, data

    judge = core("sstp.codec").Judge(codec.kinds(), lambda data, limits: (copy.deepcopy(made), source), closer)
    message = judge.decode("text", LIMITS)
    written = json.dumps(made, separators=(",", ":"))
    for one in (message, judge.message(copy.deepcopy(made), "text")):
        assert type(one) is package.Knowledge and judge.is_known(one)
    assert judge.text(message, True) == (written if source is None else "as it was read")
    assert judge.text(judge.message(copy.deepcopy(made), "text"), True) == written
    assert judge.text(object(), True) is None
    odd = {**made, "payload": {}}
    assert judge.message(odd, "data") == ("looked at closely", odd, "data")
    lacks = copy.deepcopy(made)
    del lacks["header"]["session_id"]
    assert judge.text(judge.message(lacks, ""), True) is None
    assert judge.text(judge.message(lacks, ""), False) == json.dumps(lacks, separators=(",", ":"))
