"""A judge admits what it finds no fault in: message by message, on every message of the vectors, and on what
checking has something to say of."""

from __future__ import annotations

import copy
import json
import random
from itertools import product
from typing import Any

import pytest

from tests.sstp.examples import example
from tests.vectors import load
from turnwire import registry, sstp
from turnwire.errors import WireError
from turnwire.read.located import specification

pytestmark = pytest.mark.once

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


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_that_is_refused_changes_nothing(wire):
    judge, several = specification(wire).judge, messages(wire)
    if wire == "sstp":  # of two actors in two sessions, or in one without a name
        several = []
        for place, (actor, session, clock) in enumerate(product("ab", ("s", "t", None), (1, 2, 3))):
            value = example(sstp.Kind.KNOWLEDGE)
            value["payload"]["content"] = f"the finding of number {place}"
            value["header"] |= {"actor_id": actor, "session_id": session, "logical_clock": clock}
            if session is None:
                del value["header"]["session_id"]
            several.append(sstp.decode(json.dumps(value)))
    for seed in range(20):
        random.Random(seed).shuffle(several)
        tried, spared = judge(), judge()
        for line, message in enumerate(several[:80]):
            if tried.admits(copy.deepcopy(message), line) is None:
                assert spared.admits(copy.deepcopy(message), line) is None
        for one in (tried, spared):
            one.end()
        assert (tried.faults, tried.open, tried.applied) == (spared.faults, spared.open, spared.applied)
