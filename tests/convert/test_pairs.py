"""All twenty pairs: what is claimed to survive does, what is carried comes back exactly, all can be written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, note, strategies as st

import turnwire
from tests.conftest import SHARED, raised
from tests.convert.messages import ANY, DEFAULTS, FULL, explicit, right
from turnwire import WIRES, Context, Converted, ConvertError, Reason, kick
from turnwire.conversion.shapes import Fields, same, shape_of, shown
from turnwire.registry import wire_of

pytestmark = pytest.mark.once
KEY = b"\x01" * 32
CARRIERS = ("sstp", "sap", "kick")


def fields_of(message: Any) -> Fields:
    wire = wire_of(message)
    return shape_of(wire).split(message)


def through_text(converted: Converted, target: str) -> Any:
    """The message as its reader will see it; it must be one that strict writing takes (which gives a value of several
    lines a last newline in CSP/1)."""
    written = turnwire.encode(converted.message)
    if target == "csp":
        written = turnwire.encode(converted.message, strict=False)
    message = turnwire.decode(written, target)
    assert message == converted.message
    assert not [issue for issue in turnwire.wires()[target].check(message) if issue.severity != "info"]
    return message


def assert_survives(message: Any, target: str, context: Context) -> None:
    context = explicit(message, target, context, nearest=True)
    converted = whole(message, target, context)
    if converted is None:
        return
    there = through_text(converted, target)
    source = wire_of(message)
    shape = shape_of(source)
    before = shape.split(message)
    names = [shown(path) for path in before if path not in shape.unseen]
    assert [name for name in names if name in converted.dropped] == list(converted.dropped), "in order, and none else"
    returned = whole(there, source, explicit(there, source, context, nearest=True))
    back = shape.split(returned.message)
    for path, value in before.items():
        if path not in shape.unseen and shown(path) not in converted.dropped:
            assert same(back.get(path), value), (shown(path), value, back.get(path))


def whole(message: Any, target: str, context: Context, **options: Any) -> Converted | None:
    """The result of a conversion to the nearest, or None where nothing comes near, which only a few acts are."""
    try:
        return turnwire.convert(message, target, context=context, nearest=True, **options)
    except ConvertError as error:
        if error.reason is not Reason.NO_COUNTERPART or error.nearest is not None or wire_of(message) != "kick":
            raise
    return None


def assert_comes_back(message: Any, target: str, context: Context) -> None:
    context = explicit(message, target, context, nearest=True)
    signed = whole(message, target, context, carry=True, key=KEY)
    if signed is None:
        return
    source = wire_of(message)
    there = through_text(signed, target)
    for given_context in (None, context):
        back = turnwire.convert(there, source, context=given_context, restore=True, key=KEY)
        assert back.message == message
        assert turnwire.encode(back.message, strict=False) == turnwire.encode(message, strict=False)
        assert list(fields_of(back.message)) == list(fields_of(message))
        assert same(list(fields_of(back.message).values()), list(fields_of(message).values()))
        if source == "csp":
            assert (back.message.line, back.message.issues) == (message.line, message.issues)
    there = through_text(turnwire.convert(message, target, context=context, carry=True, nearest=True), target)
    assert turnwire.convert(there, source, context=context, restore=True, nearest=True).message == message


@pytest.mark.once
@pytest.mark.parametrize("source", WIRES)
@SHARED
@given(data=st.data())
def test_what_is_not_dropped_survives_and_what_is_carried_comes_back(source: str, data: st.DataObject) -> None:
    """To each target in turn: to make a message costs more than to convert it."""
    message, context = data.draw(ANY[source]), data.draw(contexts())
    for target in WIRES:
        if target != source:
            note(f"to {target}")
            assert_survives(message, target, context)
            if target in CARRIERS:
                assert_comes_back(message, target, context)


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("message", right(), ids=lambda message: f"{wire_of(message)}-{type(message).__name__}")
def test_right_messages(message: Any, target: str) -> None:
    if target == wire_of(message):
        assert turnwire.convert(message, target) == Converted(message, ())
        return
    assert_survives(message, target, FULL)
    if target in CARRIERS:
        assert_comes_back(message, target, FULL)
        return
    context = explicit(message, target, FULL, nearest=True)
    made = whole(message, target, context)
    caught = raised(ConvertError, turnwire.convert, message, target, context=context, carry=True, nearest=True)
    assert caught.reason is (Reason.NO_COUNTERPART if made is None else Reason.NO_EXTENSION)
    assert made is None or set(made.dropped) <= set(caught.missing)


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    """The full context with mappings for some of the names and numbers that the messages have."""
    names = ["A", "MAIN", "CODE_EXP", "C0", "s-1", "T001", "T1", "E001", "3", "alex", "A-prime", "T-7", "x"]
    numbers = [0, 1, 3, 7, 42, 61, 2**64 - 1]
    uuids = [f"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0{digit}" for digit in "abc"]
    roles = ["Orchestrator", "WePlan", "Broadcast", "Dima"]

    def mapping(values: list[Any]) -> dict[str, Any]:
        """Some of the names, by the bits of a number, from any of them on; and the values, from any of them on."""
        chosen, first, turn = draw(
            st.tuples(
                st.integers(0, 2 ** len(names) - 1), st.integers(0, len(names) - 1), st.integers(0, len(values) - 1)
            )
        )
        some = [name for place, name in enumerate(names) if chosen >> place & 1]
        first = first % (len(some) or 1)
        return dict(zip(some[first:] + some[:first], values[turn:] + values[:turn], strict=False))

    return Context(
        agents=mapping(numbers),
        conversations=mapping(numbers),
        ids=mapping(numbers),
        uuids=mapping(uuids),
        roles=mapping(roles),
        defaults=DEFAULTS,
    )


# --- carries: out of an extension place comes a message that its wire can write, or a refusal -------------------------


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
