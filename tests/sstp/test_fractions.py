"""The ends of a fraction belong to it, and what is beyond them does not: in the rules and in reading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sstp.examples import example, fields
from turnwire import sstp
from turnwire.sstp.rules import findings
from turnwire.sstp.spec import Kind

FRACTIONS = [(kind, part, field.name) for kind, part, field in fields() if field.type == "fraction"]


def _found(kind: Kind, part: str, name: str, value: Any) -> list[str]:
    document = example(kind)
    document[part][name] = value
    found = [str(one.where) for one in findings(document)]
    if not any(one.severity == "error" for one in findings(document)):
        assert sstp.decode(json.dumps(document)).to_dict() == document
    return [where for where in found if where == f"/{part}/{name}"]


def test_there_are_fractions() -> None:
    assert FRACTIONS


@pytest.mark.parametrize(("kind", "part", "name"), FRACTIONS)
def test_ends(kind: Kind, part: str, name: str) -> None:
    for value in (0, 1, 0.0, 1.0, 0.5):
        assert _found(kind, part, name, value) == [], value
    for value in (-1, 2, -0.001, 1.001, True, "1"):
        assert _found(kind, part, name, value), value
