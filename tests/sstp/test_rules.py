"""Accept, issue or reject: every field missing, mistyped or out of range, read and written; and the JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests import vectors
from tests.conftest import raised, refusal
from tests.sstp.examples import WRONG, example, fields
from tests.sstp.test_messages import damaged
from turnwire import sstp as package
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.sstp.spec import SESSION_OPTIONAL, Kind

jsonschema = pytest.importorskip("jsonschema")
CASES = [pytest.param(*case, id=f"{case[0]}-{case[1]}-{case[2].name}") for case in fields()]


def verdict(sstp, value):
    """("error", reason, path) or ("issue"|"ok", reasons), and likewise for strict writing."""
    text = json.dumps(value)
    error = refusal(DecodeError, sstp.decode, text)
    if error:
        assert 0 <= error.offset < len(text.encode()) and error.wire == "sstp" and error.line == 1
        return ("error", error.reason, error.path), None
    message = sstp.decode(text)
    issues = sstp.check(message)
    assert json.dumps(json.loads(sstp.encode(message, strict=False))) == text
    warned = [issue for issue in issues if issue.severity == "warning"]
    read = ("issue" if warned else "ok", *[(issue.reason, issue.where) for issue in warned])
    refused = refusal(EncodeError, sstp.encode, message)
    assert refused or json.dumps(json.loads(sstp.encode(message))) == text
    return read, (refused.reason, refused.path) if refused else "ok"


@pytest.mark.parametrize("kind", Kind)
def test_a_right_message(sstp, kind):
    assert verdict(sstp, example(kind)) == (("ok",), "ok")
    message = sstp.decode(json.dumps(example(kind)))
    assert type(message) is sstp.CLASSES[kind] and message.KIND is kind
    assert message.header == example(kind)["header"] and message.payload == example(kind)["payload"]


def test_missing(sstp):
    for kind, part, field in fields():
        value = example(kind)
        value[part].pop(field.name, None)
        path = f"/{part}/{field.name}"
        absent = (Reason.MISSING_FIELD, path)
        read, written = verdict(sstp, value)
        if field.need == "read":
            assert read == ("error", *absent)
        elif field.need == "never":
            assert (read, written) == (("ok",), "ok")
        elif field.need == "session" and kind in SESSION_OPTIONAL:
            assert (read, written) == (("ok",), absent)
        else:
            assert (read, written) == (("issue", absent), absent)


def test_mistyped(sstp):
    for kind, part, field in fields():
        for wrong in WRONG[field.kind.name]:
            value = example(kind)
            value[part][field.name] = wrong
            read, _ = verdict(sstp, value)
            assert read[:2] == ("error", Reason.WRONG_TYPE), wrong
            assert read[2].startswith(f"/{part}/{field.name}")


@pytest.mark.parametrize(("kind", "part", "field"), [case for case in CASES if case.values[2].kind.name == "fraction"])
def test_fractions(sstp, kind, part, field):
    path = f"/{part}/{field.name}"
    for number in (0, 1, 0.0, 1.0, 0.999, 5e-324):
        value = example(kind)
        value[part][field.name] = number
        assert verdict(sstp, value) == (("ok",), "ok"), number
    for number in (-1, 2, 1.0000001, -5e-324, 1e300, 10**400, -(10**30)):
        value = example(kind)
        value[part][field.name] = number
        outside = (Reason.OUT_OF_RANGE, path)
        assert verdict(sstp, value) == (("issue", outside), outside), number
    message = sstp.decode(json.dumps(example(kind)))
    for number in (float("nan"), float("inf"), float("-inf")):
        message.fields[part][field.name] = number
        for strict in (True, False):
            caught = raised(EncodeError, sstp.encode, message, strict=strict)
            assert (caught.reason, caught.path) == (Reason.NOT_FINITE, path)


@pytest.mark.parametrize("kind", Kind)
def test_a_schema_of_another_kind_in_any_order(sstp, kind):
    """The payload may stand in front of the header, and the schema in front of the kind or behind it."""
    for other in Kind:
        value = example(kind)
        value["header"]["schema_id"] = example(other)["header"]["schema_id"]
        turned = {name: dict(reversed(value[name].items())) for name in ("payload", "header")}
        wrong = (Reason.SCHEMA_MISMATCH, "/header/schema_id")
        expected = (("ok",), "ok") if other is kind else (("issue", wrong), wrong)
        for one in (value, dict(reversed(value.items())), turned, dict(reversed(turned.items()))):
            assert verdict(sstp, one) == expected
        # The payload is good for what the schema says, too; the message is judged while it is written.
        value["payload"] = {**example(other)["payload"], **value["payload"]}
        made = sstp.CLASSES[kind].of(value)
        if other is kind:
            assert json.loads(sstp.encode(made)) == value
        else:
            caught = raised(EncodeError, sstp.encode, made)
            assert (caught.reason, caught.path) == wrong


def test_directed_to_that_is_set_in_a_message_that_was_read(sstp):
    """In the header, in the payload, or in both, which are to say the same."""
    for front, inside in (("b", None), (None, "b"), ("b", "b"), ("b", "c"), ("c", "b")):
        for kind in (Kind.QUERY, Kind.DELEGATION):
            message = sstp.decode(json.dumps(example(kind)))
            for part, one in ((message.header, front), (message.payload, inside)):
                part.pop("directed_to", None)
                if one is not None:
                    part["directed_to"] = one
            if front and inside and front != inside:
                assert raised(EncodeError, sstp.encode, message).reason is Reason.ADDRESSEE_CONFLICT
            else:
                assert json.loads(sstp.encode(message))["payload"].get("directed_to") == inside


@vectors.cases("sstp_forms", kind="verdict")
def test_verdicts(sstp, case):
    read, written = verdict(sstp, json.loads(case["text"]))
    if "error" in case:
        assert read == ("error", case["error"], case["path"])
        assert case.get("says", "") in str(raised(DecodeError, sstp.decode, case["text"]))
        assert sstp.detect(case["text"].encode()) or case.get("says") != "SSTP/0"
        return
    issues = [tuple(issue) for issue in case["issues"]]
    assert read == ("issue" if issues else "ok", *issues)
    assert written == (tuple(case["refused"]) if "refused" in case else "ok")
    assert sstp.decode(case["text"]).addressee == case["addressee"]


def test_errors_point_at_the_value(sstp):
    text = (
        '{\n "header": {"kind": "knowledge",\n'
        ' "actor_id": "a", "schema_id": "x", "logical_clock": true},\n "payload": {}}'
    )
    caught = raised(DecodeError, sstp.decode, text)
    assert (caught.line, text[caught.offset :][:4]) == (3, "true")
    text = text.replace("true", "1")
    caught = raised(DecodeError, sstp.decode, text)
    assert (caught.path, text[caught.offset :]) == ("/payload/content", "{}}")


def test_a_class_writes_its_own_kind(sstp):
    value = example(Kind.QUERY)
    for strict in (True, False):
        caught = raised(EncodeError, sstp.encode, sstp.Intent(value["header"], value["payload"]), strict=strict)
        assert caught.reason is Reason.MISMATCH
    assert json.loads(sstp.encode(sstp.Query(value["header"], value["payload"], {"x": 1}))) == {**value, "x": 1}


# --- the conformance vectors


@vectors.cases("sstp")
def test_vectors(sstp, case):
    if case["read"] == "error":
        caught = raised(DecodeError, sstp.decode, case["text"])
        assert caught.wire == "sstp" and caught.offset is not None and caught.text
        return
    message = sstp.decode(case["text"])
    severities = {issue.severity for issue in sstp.check(message)}
    assert ("warning" in severities) == (case["read"] == "issue") and "error" not in severities
    if case["write"] is not None:
        for strict in (False, True) if case["write"] == "ok" else (False,):
            assert json.dumps(json.loads(sstp.encode(message, strict=strict))) == json.dumps(json.loads(case["text"]))
        if case["write"] != "ok":
            raised(EncodeError, sstp.encode, message)


# --- the JSON Schema agrees with the rules, as an independent validator sees it


UNSAYABLE = {Reason.PLACEHOLDER, Reason.ADDRESSEE_CONFLICT, Reason.LOOK_ALIKE}
"""Reasons that a schema cannot say."""


def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


SCHEMAS = [{kind: validator(package.json_schema(kind, strict=strict)) for kind in Kind} for strict in (True, False)]
WRITTEN, READ = SCHEMAS
"""Of one kind each: the schema of all takes what one of these takes, and takes long."""


@pytest.mark.once  # a schema knows no core
def test_the_schema_of_each_kind():
    whole = [validator(package.json_schema(strict=strict)) for strict in (True, False)]
    for kind in Kind:
        assert all(one.is_valid(example(kind)) for one in (*whole, WRITTEN[kind], READ[kind]))
        assert WRITTEN[kind].schema["$schema"].endswith("2020-12/schema")
        assert not any(table[other].is_valid(example(kind)) for table in SCHEMAS for other in set(Kind) - {kind})
        assert package.json_schema(kind.value) == package.json_schema(kind)


@pytest.mark.once
def test_the_schema_of_each_field():
    for kind, part, field in fields():
        for wrong in WRONG[field.kind.name]:
            value = example(kind)
            value[part][field.name] = wrong
            if type(wrong) is not float:  # 1.0 is an integer to JSON Schema
                assert not READ[kind].is_valid(value) and not WRITTEN[kind].is_valid(value)
        value = example(kind)
        value[part].pop(field.name, None)
        assert READ[kind].is_valid(value) == (field.need != "read")
        assert WRITTEN[kind].is_valid(value) == (field.need == "never")


@given(damaged())
def test_schema_and_rules_agree(value):
    clock, kind = value["header"].get("logical_clock"), value["header"].get("kind")
    if type(clock) is float or not isinstance(kind, str) or kind not in list(Kind):
        return
    try:
        message = package.decode(json.dumps(value))
        readable = True
    except DecodeError as error:
        if error.reason in UNSAYABLE:
            return
        readable = False
    assert READ[kind].is_valid(value) == readable
    try:
        writable = readable and bool(package.encode(message))
    except EncodeError as error:
        if error.reason in UNSAYABLE:
            return
        writable = False
    assert WRITTEN[kind].is_valid(value) == writable


def test_a_lenient_schema_asks_for_what_reading_asks_for():
    """Nothing of the parts of artifacts, which reading takes as they are."""
    strict, lenient = (json.dumps(package.json_schema(strict=strict)) for strict in (True, False))
    parts = '"required": ["type", "name", "value"]'
    assert parts in strict and parts not in lenient


def test_the_published_schema_is_the_generated_one():
    page = Path(__file__).parent.parent.parent / "docs" / "sstp.schema.json"
    assert json.loads(page.read_text("utf-8")) == package.json_schema()
