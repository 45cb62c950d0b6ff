"""The texts that teach an LLM a wire are in step with the tables of the code, and short."""

from __future__ import annotations

import json
import re
from importlib import import_module

import pytest

from turnwire.contract import WIRES, wire_package
from turnwire.errors import DecodeError
from turnwire.finding.extraction import extract
from turnwire.prompts import prompt


def spec_of(wire):
    try:
        return import_module(f"{wire_package(wire).__name__}.spec")
    except DecodeError:
        pytest.skip(f"this version does not read {wire}")


@pytest.mark.parametrize("wire", WIRES)
def test_short_plain_and_complete(wire):
    spec_of(wire)
    text = prompt(wire)
    assert 500 < len(text) < 4600
    assert "```" not in text and "None" not in text and "<enum" not in text.lower()
    assert all(line == line.rstrip() for line in text.splitlines())


def test_unknown_wire():
    with pytest.raises(DecodeError):
        prompt("nonsense")


def test_nslip():
    spec = spec_of("nslip")
    text = prompt("nslip")
    assert [each.wire for each in extract(text)] == ["nslip"]
    for enum in (spec.Act, spec.FrameType):
        for member in enum:
            assert f"{spec.BASE62_ALPHABET[member]} {member.name}" in text
    for slot, prefix in spec.SLOT_PREFIX.items():
        assert f"{prefix} {slot.name.lower()}" in text


def test_sstp():
    spec = spec_of("sstp")
    from turnwire import sstp

    text = prompt("sstp")
    found = extract(text, ("sstp",))
    assert [each.message.KIND for each in found] == list(spec.Kind)
    for each in found:
        assert {issue.reason.value for issue in sstp.check(each.message)} == {"placeholder"}
        filled = json.loads(re.sub(r'"<[^"]*>"', '"alex"', text[each.start : each.end]))
        assert sstp.encode(sstp.from_fields(filled))
        needed = {field.name for field in spec.HEADER if field.need != "never"}
        assert set(filled["header"]) == needed
        assert list(filled["payload"]) == [field.name for field in spec.PAYLOADS[each.message.KIND]]
    for field in spec.HEADER:
        assert field.name in text


def test_csp():
    spec = spec_of("csp")
    text = prompt("csp")
    for words in (spec.HEADERS, spec.INTENTS, spec.BLOCK_WORD.values(), *spec.FIELDS.values(), *spec.ENUMS.values()):
        for word in words:
            assert re.search(rf"\b{word}\b", text), word


def test_sap():
    spec = spec_of("sap")
    text = prompt("sap")
    for table in (spec.TASK, spec.RESULT):
        for field in table.fields:
            assert re.search(rf"\b{field.name}\b", text), field.name
    for word in (*spec.Status, *spec.Alignment, *spec.PressureLevel, *spec.ErrorCode):
        assert word.value in text


def test_kick():
    spec = spec_of("kick")
    text = prompt("kick")
    for word in (*spec.FIELDS, *spec.TYPES, *spec.ROLES, *spec.STATUS_WORDS, *[row[0] for row in spec.DEFAULT_ROWS]):
        assert word in text, word
