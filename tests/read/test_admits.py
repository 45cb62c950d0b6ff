"""What a judge admits is what it finds no fault in: message by message, on every message of the vectors, and on what
checking has something to say of."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.vectors import load
from turnwire import registry
from turnwire.errors import WireError
from turnwire.read.judging import specification

WIRES = ("nslip", "csp", "sstp", "kick")


def messages(wire: str) -> list[Any]:
    """The messages of the vectors that are read, and the same without a name or with an empty one."""
    found = []
    for case in load(wire):
        text = case.get("text", case.get("wire"))
        if not isinstance(text, str):
            continue
        for changed in (text, *_emptied(text)):
            try:
                read = registry.wire(wire).decode(changed)
                if wire == "csp":  # of which it is asked what strict writing writes
                    registry.wire(wire).encode(read)
            except (WireError, ValueError):
                continue
            found.append(read)
    return [one for one in found if isinstance(one, registry.wire(wire).message)]


def _emptied(text: str) -> list[str]:
    """A JSON object with one of its texts empty, each in turn."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    found = []
    for part in [value, *value.values()] if isinstance(value, dict) else []:
        for name in [name for name, one in part.items() if isinstance(one, str)] if isinstance(part, dict) else []:
            kept, part[name] = part[name], ""
            found.append(json.dumps(value))
            part[name] = kept
    return found


@pytest.mark.parametrize("wire", WIRES)
def test_a_judge_admits_what_it_finds_no_fault_in(wire):
    judge = specification(wire).judge
    seen = set()
    for message in messages(wire):
        admits, judges = judge(), judge()
        refused = admits.admits(copy.deepcopy(message), 1)
        judges.message(copy.deepcopy(message), 1)
        clause = judges.faults[0].clause if judges.faults else None
        assert (refused.clause if refused else None) == clause, message
        assert admits.faults == []
        seen.add(clause)
    assert None in seen and (len(seen) > 1 or wire == "nslip")  # of which nothing that is read breaks a clause
