"""What messages of SAP are made of, row by row: fields that may be null, words, marks, times, ids, keys and digests."""

from __future__ import annotations

import copy
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.sap.documents import RESULT, TASK, changed
from turnwire import sap
from turnwire.errors import DecodeError
from turnwire.sap import messages, spec
from turnwire.sap.builders import NOBODY, make_task, unreadable
from turnwire.sap.cache import aligned
from turnwire.sap.codec import detect, kind_of
from turnwire.sap.json_object import JsonObject
from turnwire.sap.learning import Artifact, Folder, from_result
from turnwire.sap.lifecycle import content_of
from turnwire.sap.pairs import work
from turnwire.sap.prompt import EXAMPLES, short
from turnwire.sap.schema import output_issues, validator
from turnwire.sap.secrets import is_certain
from turnwire.sap.spec import RESULT_MARKS, TASK_MARKS
from turnwire.sap.times import read_time

pytestmark = pytest.mark.once
ONE, OTHER = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
CLASSES = [
    cls for cls in vars(messages).values() if isinstance(cls, type) and issubclass(cls, JsonObject) and cls.MEMBERS
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_none_is_null_where_null_means_something_and_takes_any_other_field_away(cls: Any) -> None:
    nullable = {field.name for field in cls.TABLE.fields if field.nullable}
    assert {member.name for member in cls.MEMBERS.values()} == {field.name for field in cls.TABLE.fields}
    for attribute, member in cls.MEMBERS.items():
        record = cls.from_dict({member.name: "x"})
        setattr(record, attribute, None)
        assert record.fields == ({member.name: None} if member.name in nullable else {}), attribute
        delattr(record, attribute)
        assert record.fields == {}
    assert {"Task": {"parentTaskId"}, "Result": {"output"}}.get(cls.__name__, nullable) == nullable


@pytest.mark.parametrize("document", [TASK, RESULT], ids=["task", "result"])
def test_what_is_changed_in_what_was_handed_out_is_written(document: dict[str, Any]) -> None:
    """Whichever way it was reached, of each field that can be changed in place."""
    text = json.dumps(document, separators=(",", ":"))
    kind = type(sap.decode(text))
    attributes = {member.name: name for name, member in kind.MEMBERS.items()}
    for name, value in document.items():
        if not isinstance(value, (dict, list)):
            continue
        wanted = copy.deepcopy(document)
        inner = wanted[name]
        inner.append(inner[0]) if isinstance(inner, list) else inner.update(more="x")
        for way in ("item", "get", "fields", "attribute"):
            message: Any = sap.decode(text)
            got = {
                "item": lambda m=message, n=name: m[n],
                "get": lambda m=message, n=name: m.get(n),
                "fields": lambda m=message, n=name: m.fields[n],
                "attribute": lambda m=message, n=name: getattr(m, attributes[n]),
            }[way]()
            got = got.fields if isinstance(got, JsonObject) else got
            if isinstance(got, tuple):  # of records: the array itself is not shown
                continue
            got.append(got[0]) if isinstance(got, list) else got.update(more="x")
            assert json.loads(sap.encode(message, strict=False)) == wanted, (name, way)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_message_of_each_kind_is_detected_whatever_its_white_space(name: str) -> None:
    text = json.dumps(EXAMPLES[name])
    for one in (text, f" \n{text}", json.dumps(EXAMPLES[name], indent=1)):
        assert detect(one) and detect(one.encode())
    assert not detect(f"x{text}") and not detect(text.replace("Id", "id"))


def test_the_marks_of_a_task_win_where_there_are_as_many_of_a_result() -> None:
    for tasks in range(len(TASK_MARKS) + 1):
        for results in range(len(RESULT_MARKS) + 1):
            for some in combinations(TASK_MARKS, tasks):
                for others in combinations(RESULT_MARKS, results):
                    found = kind_of(dict.fromkeys([*some, *others], 1))
                    wanted = None if not tasks and not results else sap.Task if tasks >= results else sap.Result
                    assert found is wanted or (
                        {"issuer", "target"} <= {*some} and not {"status", "producer"} & {*others}
                    )


@pytest.mark.parametrize(
    ("value", "certain"),
    [
        *((word, False) for word in ("redacted", "removed", "hidden", "none", "null", "REDACTED", "***", "xxxx", "0")),
        *((word, False) for word in ("$PASSWORD", "<password>", "{{ password }}", "[password]", "%PASSWORD%")),
        *((word, False) for word in ("vault:db/password", "env:PASSWORD", "https://vault/password")),
        *((word, True) for word in ("hunter2", "redacted2", "nullify", "hidden-one", "xxxy", "pass word", "12")),
    ],
)
def test_what_stands_for_a_password_is_none(value: str, certain: bool) -> None:
    names = ("password", "passwd", "passphrase", "pwd", "client_secret", "api_key", "accessKey", "private-key")
    for name in (*names, "db_password", "clientSecret"):
        assert is_certain({"payload": {"a": [{name: value}]}}, f"/payload/a/0/{name}") is certain, name
    for name in ("token", "credentials", "authorization", "secret", "password_hint"):
        assert not is_certain({name: value}, f"/{name}")


BROKEN: dict[str, tuple[Any, Any]] = {
    "type": ("object", 1),
    "properties": ({"a": {"type": "string"}}, {"a": 1}),
    "items": ({"type": "string"}, [1]),
    "enum": ([1], 2),
    "const": (1, 2),
    "required": (["a"], {}),
    "anyOf": ([{"type": "string"}], 1),
    "oneOf": ([{"type": "string"}], 1),
    "allOf": ([{"type": "string"}], 1),
    "not": ({}, 1),
    "$ref": ("#/x", 1),
    "additionalProperties": (False, {"a": 1}),
    "prefixItems": ([{"type": "string"}], [1]),
    "pattern": ("^a", "b"),
    "minimum": (2, 1),
    "maximum": (1, 2),
    "minLength": (2, "a"),
    "maxLength": (1, "ab"),
    "minItems": (1, []),
    "maxItems": (1, [1, 2]),
    "patternProperties": ({"^a": {"type": "string"}}, {"a": 1}),
    "contains": ({"type": "string"}, [1]),
    "dependentRequired": ({"a": ["b"]}, {"a": 1}),
    "uniqueItems": (True, [1, 1]),
    "exclusiveMinimum": (1, 1),
    "exclusiveMaximum": (1, 1),
    "multipleOf": (2, 3),
    "minProperties": (1, {}),
    "maxProperties": (0, {"a": 1}),
    "propertyNames": ({"maxLength": 1}, {"ab": 1}),
}
"""A word of JSON Schema 2020-12 that asserts something by itself -> its value, and what breaks it."""


@pytest.mark.parametrize("word", BROKEN)
def test_a_descriptor_with_any_word_of_json_schema_is_one(word: str) -> None:
    value, output = BROKEN[word]
    schema = {word: value, "x": {"type": "string"}}
    asked = sap.Task.from_dict(changed(TASK, "/outputContract", {"schema": schema}))
    assert [str(issue.reason) for issue in output_issues(output, asked)] == ["output_mismatch"]
    described = sap.Task.from_dict(changed(TASK, "/outputContract", {"schema": {"x": {"type": "string"}}}))
    assert list(output_issues(output, described)) == []


@pytest.mark.parametrize("faults", [0, 1, 99, 100, 101, 300])
def test_so_many_faults_of_an_output_are_told(faults: int) -> None:
    asked = sap.Task.from_dict(changed(TASK, "/outputContract", {"schema": {"items": {"type": "string"}}}))
    found = [str(issue.where) for issue in output_issues([1] * faults, asked)]
    assert found == [f"/output/{place}" for place in range(min(faults, 100))]


@pytest.mark.parametrize("faults", [0, 1, 19, 20, 21, 100])
def test_so_many_faults_of_a_payload_are_told(faults: int) -> None:
    found = validator({"items": {"type": "string"}})([1] * faults)
    assert [pointer for pointer, _ in found] == [f"/payload/{place}" for place in range(min(faults, 20))]


@pytest.mark.parametrize(
    ("zone", "is_one"),
    [("Z", True), ("z", True), ("+00:00", True), ("-00:00", True), ("+23:59", True), ("-23:59", True)]
    + [(zone, False) for zone in ("+24:00", "-24:00", "+00:60", "+23:60", "+99:00", "+1:00", "+01", "")],
)
def test_zones_at_their_edges(zone: str, is_one: bool) -> None:
    assert (read_time(f"2025-09-28T10:15:23{zone}") is not None) is is_one


@pytest.mark.parametrize(
    ("stamp", "is_one"),
    [
        *((f"2025-{month:02}-01T00:00:00Z", 1 <= month <= 12) for month in (0, 1, 9, 10, 12, 13, 20)),
        *((f"2025-01-{day:02}T00:00:00Z", 1 <= day <= 31) for day in (0, 1, 9, 10, 29, 30, 31, 32, 40)),
        *((f"2025-01-01T{hour:02}:00:00Z", hour <= 23) for hour in (0, 9, 10, 19, 20, 23, 24, 25, 30)),
        *((f"2025-01-01T00:{minute:02}:00Z", minute <= 59) for minute in (0, 9, 10, 59, 60, 99)),
        *((f"2025-01-01T00:00:{second:02}Z", second <= 59) for second in (0, 9, 10, 59, 60, 99)),
        *((stamp, False) for stamp in ("2025-01-01T00:00:00z", "2025-01-01 00:00:00Z", "2025-01-01T00:00:00.5Z")),
    ],
)
def test_the_schema_has_times_as_section_3_has_them(stamp: str, is_one: bool) -> None:
    found = jsonschema.Draft202012Validator(sap.json_schema()).is_valid(changed(TASK, "/issuedAt", stamp))
    moment = read_time(stamp)
    assert found is is_one is (moment is not None and moment[1])


@pytest.mark.parametrize("body", [None, ONE, "x"])
@pytest.mark.parametrize("header", [None, OTHER, "x"])
def test_the_ids_of_what_cannot_be_read_are_those_of_the_body_then_those_of_the_header(
    body: str | None, header: str | None
) -> None:
    data = json.dumps({"taskId": body, "correlationId": body})
    found = unreadable(data, DecodeError("bad_json", "x"), message_id=header or "", correlation=header)  # type: ignore[arg-type]
    assert found.message_id == (ONE if body == ONE else header or "")
    assert found.correlation_id == (ONE if body == ONE else OTHER if header == OTHER else None)


def test_ids_are_compared_by_value_in_every_place() -> None:
    """UUIDs in capitals are the same (RFC 4122), and nothing else of a message is."""
    for document in (TASK, RESULT):
        message = type(sap.decode(json.dumps(document)))
        for name in ("taskId", "correlationId", "parentTaskId"):
            one, other = (message.from_dict({**document, name: each}) for each in (ONE, ONE.upper()))
            assert content_of(one) == content_of(other), name
            assert content_of(one) != content_of(message.from_dict({**document, name: OTHER}))
        assert content_of(message.from_dict({**document, "x": "a"})) != content_of(
            message.from_dict({**document, "x": "A"})
        )
    for receipt in ("Task", "Ack", "Nack", "RUNNING", "SUCCEEDED", "FAILED"):
        text = json.dumps(EXAMPLES[receipt])
        task = EXAMPLES["Task"]["taskId"]
        found = work(text.replace(task, task.upper()).encode())
        assert found == work(text.encode()) and found is not None and found[0] == task
        assert found[1] is (receipt in ("Nack", "SUCCEEDED", "FAILED"))


@pytest.mark.parametrize("scheme", ["https", "file", "ubos", "http", "ftp", "data", ""])
@pytest.mark.parametrize("written", [str.lower, str.upper, str.title])
def test_schemes_of_attachments(scheme: str, written: Any) -> None:
    asked = sap.Task.from_dict({**TASK, "attachments": [{"uri": f"{written(scheme)}:a"}, {"kind": "x"}]})
    found = [str(issue.where) for issue in sap.check(asked)]
    assert found == ["/attachments/0/uri"] * (scheme not in ("https", "file", "ubos"))


def test_a_signature_does_not_sign_the_one_before_it() -> None:
    from turnwire.sap.signing import signed_message, verify_message

    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    keys = {name: Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number, name in enumerate("ab", 1)}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    for document in (TASK, {**TASK, "meta": {}}, {name: value for name, value in TASK.items() if name != "meta"}):
        message = sap.Task.from_dict(copy.deepcopy(document))
        once = signed_message(message, "a", keys["a"])
        twice = signed_message(once, "b", keys["b"])
        assert [verify_message(each, public) for each in (once, twice)] == ["a", "b"]
        assert signed_message(twice, "a", keys["a"]) == once


def test_an_artifact_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for version, content in ((1, "first"), (1, "other"), (2, "second")):
        folder.emit(Artifact("playbook", "work.do", None, version, content, (), ""))
    assert sorted(place.read_text() for place in tmp_path.iterdir()) == ["first", "second"]


def test_the_pressure_of_a_signal_is_that_of_the_result_else_that_of_the_task() -> None:
    asked = sap.Task.from_dict(TASK)
    told = from_result(
        asked, sap.Result.from_dict(changed(RESULT, "/constitutionalEvidence/pressureReadings", {"p": 1}))
    )
    assert told.pressure == {"p": 1}
    for nothing in (..., {}):
        answer = changed(RESULT, "/constitutionalEvidence/pressureReadings", nothing)
        assert from_result(asked, sap.Result.from_dict(answer)).pressure == TASK["constitutionalContext"]["pressure"]


@pytest.mark.parametrize("risk", [None, "low", "medium", "high"])
def test_a_risk_that_nobody_named_is_the_highest(risk: str | None) -> None:
    """Asked for, it is met by any; stored, it meets the highest alone."""
    some = {} if risk is None else {"riskTolerance": risk}
    assert aligned({**some, "objectives": []}, {}) is None or risk in ("low", "medium")
    assert (aligned({**some, "objectives": []}, {}) is None) is (risk in (None, "high"))
    assert aligned({"objectives": []}, some) is None


@pytest.mark.parametrize("pressure", [0, 1, 100])
def test_a_pressure_that_nobody_knew_then_is_lower_than_any(pressure: int) -> None:
    asked = {"pressure": {"p": pressure}}
    assert aligned(asked, {"pressure": {"q": 100}}) is not None and aligned(asked, {}) is not None
    assert aligned(asked, {"pressure": {"p": pressure, "q": 1}}) is None


def test_a_task_that_was_made_shares_nothing_with_what_it_was_made_of() -> None:
    issuer = sap.Issuer(agent_id="a", agent_kind="agent")
    context = {"pressureLevel": "instant", "principles": ["p"], "x": {"y": [1]}}
    policy = sap.CachePolicy(mode="prefer")
    given = {"hints": {"shard": [1]}, "meta": {"x": [1]}, "schema": {"required": ["a"]}, "payload": {"x": [1]}}
    before = copy.deepcopy([issuer.fields, context, policy.fields, given, NOBODY.fields])
    for more in (
        {"issuer": issuer, "context": context, "cache": policy},
        {"context": sap.ConstitutionalContext.from_dict(context)},
    ):
        made = make_task(
            "c",
            given["payload"],
            routing_hints=given["hints"],
            meta=given["meta"],
            output_schema=given["schema"],
            **more,  # type: ignore[arg-type]
        )
        spoiled(made.fields)
    assert [issuer.fields, context, policy.fields, given, NOBODY.fields] == before


def spoiled(value: Any) -> None:
    """Changes all that can be changed."""
    for inner in [*(value.values() if isinstance(value, dict) else value)]:
        if isinstance(inner, (dict, list)):
            spoiled(inner)
    value.append("spoiled") if isinstance(value, list) else value.update(spoiled=True)


def test_the_prompt_says_what_may_be_null() -> None:
    text = short()
    for table in (spec.TASK, spec.RESULT):
        for field in table.fields:
            if field.nullable and field.need != spec.MUST:
                assert f"{field.name} (" in text
                assert text.partition(f"{field.name} (")[2].partition(")")[0].endswith(" or null"), field.name
    assert text.count(" or null") == 2
