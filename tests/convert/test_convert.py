"""Conversions of single messages: dropped fields by hand, missing fields, contexts, what was carried and damaged."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import turnwire
from tests import vectors
from tests.conftest import raised
from tests.convert.messages import FULL, ID, explicit
from tests.convert.tables_text import everything
from tests.sap.documents import TASK
from tests.sstp.examples import example
from tests.test_documents import ROOT
from turnwire import Context, ConvertError, EncodeError, Reason, UnknownName, csp, kick, nslip, sstp
from turnwire.conversion.facts import FORMS
from turnwire.conversion.shapes import ABSENT, parsed, same, shown
from turnwire.conversion.tables import PLACES

NSLIP = nslip.decode('@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#')
CSP = csp.decode(
    "CSP/1\nFROM MAIN\nTO CODE_EXP\nCTX C0\nINTENT TASK\n\n"
    "TASK T001\nREQ find auth middleware\nIN SRC,LIB\nOUT FILE_REFS\nOWNER CODE_EXP\nPRIORITY P1\n"
)
KICK = kick.Envelope(
    "0b5a1f3e-7c2d-4e8f-9a6b-1c2d3e4f5a6b",
    "2026-01-15T08:00:00Z",
    "WePlan",
    "Orchestrator",
    "Info",
    "⫻report/status",
    "⫻report/status:T7/001\nCompleted\nall is well\n",
    ID,
    {"note": 1},
)
KEY = b"a key of thirty-two bytes or so."
UUIDS = {"3": ID, "42": f"{ID[:-1]}c"}


GIVEN, *CASES = vectors.load("convert")
"""Values that all conversions of the vectors are given where they have no others, and the conversions."""


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_conversions(case: dict[str, Any]) -> None:
    context = Context.from_dict({"defaults": GIVEN["defaults"], **case.get("context", {})})
    if "new_id" in case:
        context = context.replace(new_id=lambda: case["new_id"])
    message = turnwire.decode(case["text"], case["wire"])
    options = {"context": context, "nearest": "nearest" in case}
    if "error" in case:
        error = raised(ConvertError, turnwire.convert, message, case["to"], **options)
        assert (error.reason, [*error.missing], error.known) == (case["error"], case["missing"], case["known"])
        assert all(path in str(error) for path in error.missing)
        assert error.nearest == case.get("nearest_kind")
    else:
        made = turnwire.convert(message, case["to"], **options)
        assert turnwire.encode(made.message, strict=False) == case["made"]
        assert sorted(made.dropped) == case["dropped"] and made.nearest == case.get("nearest_kind")


def test_what_a_context_would_give_anew_is_lost_all_the_same() -> None:
    """Nobody who reads the result knows it, though time and id are by chance those of the message."""
    context = FULL.replace(now=KICK.timestamp, new_id=lambda: KICK.id)
    assert turnwire.convert(KICK, "csp", context=context).dropped == ("id", "timestamp", "note")


def test_time_and_ids_are_asked_for_once() -> None:
    """To see what survives, nothing is asked for."""
    asked: Any = []
    kept = {name: value for name, value in FULL.defaults["kick"].items() if name not in ("id", "timestamp")}
    context = FULL.replace(
        defaults={"kick": kept},
        roles={"0": "Orchestrator"},
        now=lambda: asked.append("now") or KICK.timestamp,
        new_id=lambda: asked.append("id") or KICK.id,
    )
    made = turnwire.convert(NSLIP, "kick", context=context).message
    assert (made.id, made.timestamp) == (KICK.id, KICK.timestamp)
    assert sorted(asked) == ["id", "now"]


def test_what_becomes_of_the_mappings_of_a_context_changes_nothing_in_it() -> None:
    """They were judged as they were."""
    numbers, path, word = {"A": 1}, {"turn": 7}, {"x": 1}
    context = Context(agents=numbers, defaults={"nslip": path}, values={"nslip": {"turn": word}})
    for mapping in (numbers, path, word):
        mapping |= {"B": 1}
    assert (context.agents, context.defaults) == ({"A": 1}, {"nslip": {"turn": 7}})
    assert context.values == {"nslip": {"turn": {"x": 1}}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"agents": {"A": 1, "B": 1}},
        {"agents": {"A": -1}},
        {"agents": {"A": 2**64}},
        {"agents": {"A": True}},
        {"ids": {"A": "1"}},
        {"conversations": [("A", 1)]},
        {"uuids": {"A": ID, "B": ID.upper()}},
        {"roles": {"A": "WePlan", "B": "WePlan"}},
        {"defaults": {"morse": {}}},
        {"defaults": {"sap": {"issuer.agentkind": "agent"}}},
        {"defaults": {"csp": {"TASK:block.CAUSE": "x"}}},
        {"defaults": {"csp": {"SONG:block.id": "x"}}},
        {"defaults": {"csp": []}},
        {"now": 5},
        {"now": "yesterday"},
        {"new_id": ID},
        {"uuids": {"3": "7fbb32b6"}},
        {"uuids": {"3": 3}},
        {"uuids": [ID]},
        {"nonsense": 1},
    ],
)
def test_a_context_that_is_none(wrong: dict[str, Any]) -> None:
    """It is refused when it is made, however that is."""
    make: Any
    for make in (Context.from_dict, lambda values: Context(**values), lambda values: FULL.replace(**values)):
        if make == Context.from_dict or "nonsense" not in wrong:
            assert raised(ConvertError, make, wrong).reason is Reason.BAD_CONTEXT
    assert Context(now=lambda: "2026-01-15T08:00:00Z", new_id=lambda: ID).now is not None
    message = turnwire.decode("@a3|f0|c3|S0|d1|T1#")
    with pytest.raises(ConvertError, match="bad_context: expected a Context, not dict"):
        turnwire.convert(message, "csp", context=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "context", "name", "value"),
    [
        ("agent_number", Context(agents={"7": 3}), "7", 3),
        ("uuid", Context(uuids={ID: UUIDS["42"]}), ID, UUIDS["42"]),
        ("uuid4", Context(uuids={ID: UUIDS["42"]}), ID, UUIDS["42"]),
        ("role", Context(roles={"WePlan": "Worker"}), "WePlan", "Worker"),
    ],
)
def test_what_a_name_looks_like_is_not_what_it_is_mapped_to(form: str, context: Context, name: str, value: Any) -> None:
    """A name that is mapped to another value is no longer itself on the other side, and that value no longer a name."""
    pair, names = FORMS[form], context.names
    assert (pair.write(name, names, ""), pair.read(value, names, "")) == (value, name)
    assert pair.write(str(value), names, "") is ABSENT
    assert pair.read(type(value)(name), names, "") is ABSENT


def test_carried_values_follow_the_message_that_carries_them() -> None:
    made = turnwire.convert(NSLIP, "sstp", context=FULL, carry=True)
    assert made.dropped == ()
    made.message.payload.task = "refactor_all"
    back = turnwire.convert(made.message, "nslip", restore=True)
    assert back.message == NSLIP.replace(slots={**NSLIP.slots, nslip.Slot.TAG: "refactor_all"})
    assert back.exact
    assert back.surplus  # what SSTP needed beyond nSLIP: evaluation_criteria and others


@pytest.mark.parametrize("target", ["sstp", "sap", "kick"])
def test_deep_values_are_carried(target: str) -> None:
    value: Any = 1
    for _ in range(120):
        value = [value]
    source = "sap" if target == "sstp" else "sstp"
    fields = copy.deepcopy(TASK) if source == "sap" else example(sstp.Kind.INTENT)
    fields["deep"] = value
    message = turnwire.decode(json.dumps(fields), source)
    context = explicit(message, target, FULL, nearest=True)
    made = turnwire.convert(message, target, context=context, carry=True, nearest=True, key=KEY)
    there = turnwire.decode(turnwire.encode(made.message), target)
    assert turnwire.convert(there, source, restore=True, key=KEY).message == message


@pytest.mark.parametrize(
    "damage",
    [
        {"wire": "csp"},
        '{"wire":"csp"}',
        {"wire": "csp", "fields": 1, "rest": {}},
        {"wire": "csp", "fields": [1], "rest": {}},
        {"wire": "csp", "fields": ["block.id"], "rest": {}},
        {"wire": "csp", "fields": ["sender"], "rest": []},
        {"wire": "csp", "fields": ["sender"], "rest": {"sender": 5}},
        {"wire": "csp", "fields": ["issues"], "rest": {"issues": [[]]}},
        {"wire": "csp", "fields": ["issues"], "rest": {"issues": [["junk"]]}},
        {"wire": "csp", "fields": ["intent", "block.id"], "rest": {"intent": "PATCH", "block.id": {}}},
        {"wire": "csp", "fields": ["x"], "texts": {"x": "["}},
    ],
)
def test_damaged_carries_are_refused(damage: Any) -> None:
    """Whatever stands in the extension place came from outside."""
    made = turnwire.convert(CSP, "sstp", context=FULL, carry=True).message
    made.header["turnwire"] = damage
    assert raised(ConvertError, turnwire.convert, made, "csp", context=FULL, restore=True).reason is Reason.BAD_CARRY


@pytest.mark.parametrize("value", [5, "{", "[]", {}, {"wire": "morse"}, {"wire": "sap"}, None])
def test_a_field_of_that_name_is_no_carry(value: Any) -> None:
    made = turnwire.convert(CSP, "sstp", context=FULL, carry=True).message
    made.header["turnwire"] = value
    back = turnwire.convert(made, "csp", context=FULL, restore=True)
    assert back.message.block.get("OWNER") is None
    assert "header.turnwire" in back.dropped


def test_what_is_no_message() -> None:
    for wrong in ("@a3|f0|c3|S0|d1|T1#", None, csp.Template(), csp.Junk(1, "x"), 5):
        assert raised(ConvertError, turnwire.convert, wrong, "sap").reason is Reason.WRONG_TYPE
    with pytest.raises(UnknownName, match="'morse' is not a wire") as unknown:
        turnwire.convert(NSLIP, "morse")
    assert unknown.value.reason is Reason.UNKNOWN_WIRE
    with pytest.raises(EncodeError):
        turnwire.convert(nslip.SlipMessage(-1, 0, 0, 0, nslip.Act.ASK, nslip.FrameType.TASK, {}), "csp")


def test_the_page_shows_the_tables() -> None:
    page = (ROOT / "docs" / "convert.md").read_text("utf-8")
    assert [table for table in everything() if table not in page] == []


def test_paths_are_read_as_they_are_shown() -> None:
    for path in [("a",), ("a", "b"), ("a.b", "c\\"), ("",), ("", ""), ("\\.", ".\\", "\n")]:
        assert parsed(shown(path)) == path
    assert not same(1, 1.0)
    assert not same(True, 1)
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same(0.0, -0.0)


@pytest.mark.parametrize("wire", turnwire.WIRES)
def test_defaults_are_judged_like_any_value(wire: str) -> None:
    """Whatever a context gives, the result can be written strictly or is refused, naming the field."""
    source: Any = sstp.decode(json.dumps(example(sstp.Kind.KNOWLEDGE)))
    if wire != "nslip":
        source = nslip.SlipMessage(1, 0, 1, 2, nslip.Act.INFORM, nslip.FrameType.TASK, {})
    wanted = {place.path for places in PLACES[wire].values() for place in places if place.need == "must"}
    refused: list[tuple[str, ...]] = []
    value: Any
    for path in sorted(wanted & FULL.defaults[wire].keys()):
        for value in (5, -1, "", "\n", "<your-agent-id>", None, [], {}, [5], 1e9, True):
            context = FULL.replace(defaults={**FULL.defaults, wire: {**FULL.defaults[wire], path: value}})
            try:
                made = turnwire.convert(source, wire, context=context, nearest=True)
            except ConvertError as error:
                refused.append(error.missing)
            else:
                assert turnwire.decode(turnwire.encode(made.message), wire) == made.message
    assert len(refused) > 5
    assert all(refused)
