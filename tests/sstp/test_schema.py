"""JSON Schema agrees with the rules, as an independent validator sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests.sstp.examples import WRONG, example, fields, real
from tests.sstp.test_messages import damaged
from turnwire import sstp
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.sstp.spec import Kind

jsonschema = pytest.importorskip("jsonschema")
UNSAYABLE = {Reason.PLACEHOLDER, Reason.ADDRESSEE_CONFLICT, Reason.LOOK_ALIKE}
"""What a schema cannot say."""


def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


without_core = pytest.mark.parametrize("backend", ["pure"])
"""For a test of the schemas alone, in which no core has a part: the pure half runs it."""
WRITTEN, READ = (validator(sstp.json_schema(strict=strict)) for strict in (True, False))


@without_core
@pytest.mark.parametrize("kind", Kind)
def test_each_kind(kind, backend):
    one = validator(sstp.json_schema(kind))
    assert one.is_valid(example(kind)) and WRITTEN.is_valid(example(kind)) and READ.is_valid(example(kind))
    assert one.schema["$schema"].endswith("2020-12/schema")
    for other in set(Kind) - {kind}:
        assert not one.is_valid(example(other))
    assert sstp.json_schema(kind.value) == sstp.json_schema(kind)


@without_core
def test_real_messages(backend):
    for value in real():
        assert WRITTEN.is_valid(value) and READ.is_valid(value)


@without_core
@pytest.mark.parametrize(("kind", "part", "field"), fields())
def test_each_field(kind, part, field, backend):
    for wrong in WRONG[field.type]:
        value = example(kind)
        value[part][field.name] = wrong
        if type(wrong) is not float:  # 1.0 is an integer to JSON Schema
            assert not READ.is_valid(value) and not WRITTEN.is_valid(value)
    value = example(kind)
    value[part].pop(field.name, None)
    assert READ.is_valid(value) == (field.need != "read")
    assert WRITTEN.is_valid(value) == (field.need == "never")


@given(damaged())
def test_schema_and_rules_agree(value):
    clock = value["header"].get("logical_clock")
    if type(clock) is float:
        return
    try:
        message = sstp.decode(json.dumps(value))
        readable = True
    except DecodeError as error:
        if error.reason in UNSAYABLE:
            return
        readable = False
    assert READ.is_valid(value) == readable
    try:
        writable = readable and bool(sstp.encode(message))
    except EncodeError as error:
        if error.reason in UNSAYABLE:
            return
        writable = False
    assert WRITTEN.is_valid(value) == writable


def test_the_published_schema_is_the_generated_one():
    page = Path(__file__).parent.parent.parent / "docs" / "sstp.schema.json"
    assert json.loads(page.read_text("utf-8")) == sstp.json_schema()
