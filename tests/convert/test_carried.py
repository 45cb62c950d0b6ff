"""Carries: out of an extension place comes a message that its wire can write, or a refusal, whatever stands there."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnwire
from tests.conftest import raised
from tests.convert.messages import FULL, explicit, right
from turnwire import WIRES, ConvertError, Reason, kick
from turnwire.conversion.context import Context
from turnwire.conversion.shapes import shape_of, shown
from turnwire.registry import wire_of

pytestmark = pytest.mark.once
MESSAGES = {wire: [one for one in right() if wire_of(one) == wire] for wire in WIRES}
PLACES = {"sstp": "header", "sap": "meta"}
WRONG: list[Any] = [None, 5, "x", [5], {}]


def carrying(message: Any, target: str) -> dict[str, Any] | None:
    """The message of the target as a JSON value, with what it carries; None where nothing comes near."""
    context = explicit(message, target, FULL, carry=True, nearest=True)
    try:
        made = turnwire.convert(message, target, context=context, carry=True, nearest=True).message
    except ConvertError:
        return None
    value: dict[str, Any] = {"meta": {}, **json.loads(turnwire.encode(made))}
    return value


def damaged(value: dict[str, Any], target: str, path: str, wrong: Any, first: bool) -> Any:
    """The message with another carried value at a path, which comes first or last where it is new."""
    value = json.loads(json.dumps(value))
    carried = value[PLACES[target]]["turnwire"]
    if path not in carried["fields"]:
        carried["fields"].insert(0 if first else len(carried["fields"]), path)
    carried["rest"][path] = wrong
    return turnwire.decode(json.dumps(value), target)


def restored(message: Any, source: str) -> Any:
    """The message that is restored, or why nothing is."""
    try:
        return turnwire.convert(message, source, context=FULL, restore=True, nearest=True).message
    except ConvertError as error:
        return error.reason


@pytest.mark.parametrize(("source", "target"), [(s, t) for t in ("sstp", "sap") for s in WIRES if s != t])
def test_what_is_restored_can_be_written(source: str, target: str) -> None:
    """Also where it holds values of other types, names inside what is none, or names that nobody knows."""
    good = bad = 0
    for message in MESSAGES[source][1::8][:2]:
        value = carrying(message, target)
        if value is None or "turnwire" not in value[PLACES[target]]:
            continue
        paths = set(map(shown, shape_of(source).split(message)))
        inner = {f"{path}{more}" for path in paths for more in (".x", ".x.y")} | {
            path.rpartition(".")[0] for path in paths
        } - {""}
        for path in sorted(paths | inner):
            for number, wrong in enumerate(WRONG):
                other = damaged(value, target, path, wrong, number % 2 == 0)
                back = restored(other, source)
                if isinstance(back, Reason):
                    assert back is Reason.BAD_CARRY, (path, wrong)
                    bad += 1
                else:
                    assert wire_of(back) == source
                    turnwire.encode(back, strict=False)
                    good += 1
    assert good and bad


@pytest.mark.parametrize(
    ("path", "wrong"), [("line", "x"), ("line", True), ("line", None), ("block.kind", []), ("block.kind", 5)]
)
def test_a_carried_line_is_a_number_and_a_kind_a_text(path: str, wrong: Any) -> None:
    values = (carrying(message, "sstp") for message in MESSAGES["csp"])
    value = next(one for one in values if one is not None and "turnwire" in one["header"])
    assert not isinstance(restored(turnwire.decode(json.dumps(value), "sstp"), "csp"), Reason)
    assert restored(damaged(value, "sstp", path, wrong, False), "csp") is Reason.BAD_CARRY


@pytest.mark.parametrize("behind", ["", "\n", "\nmore", "\nmore\n", "\n\n"])
def test_what_only_looks_like_something_carried_is_text(behind: str) -> None:
    """A carry is one line, and the last."""
    content = 'a\n\u2afbturnwire/carry\n{"x":1}' + behind
    made = turnwire.convert(envelope(content), "sstp", context=FULL, nearest=True)
    cut = behind == "\n"
    assert made.message.to_dict()["payload"]["content"] == ("a" if cut else content)


def envelope(content: str) -> kick.Envelope:
    name = "00000000-0000-4000-8000-000000000001"
    return kick.Envelope(name, "2026-01-01T00:00:00Z", "WePlan", "Orchestrator", "Info", "\u2afbreport/status", content)


PATCH = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF A = 1\nAPPLY -> C1\n"


@pytest.mark.parametrize("target", ["sap", "sstp", "kick"])
def test_a_kind_that_comes_near_at_most_is_refused_before_its_fields_are_asked_for(target: str) -> None:
    with pytest.raises(ConvertError, match="no_counterpart"):
        turnwire.convert(turnwire.decode(PATCH), target, context=Context())


@pytest.mark.parametrize("target", ["sstp", "kick"])
def test_what_a_near_kind_carries_comes_back_where_near_kinds_are_taken(target: str) -> None:
    message = turnwire.decode(PATCH)
    made = turnwire.convert(message, target, context=FULL, nearest=True, carry=True).message
    assert turnwire.convert(made, "csp", context=FULL, restore=True, nearest=True).message == message
    assert raised(ConvertError, turnwire.convert, made, "csp", context=FULL, restore=True).reason is Reason.BAD_CARRY
