"""check, the announcement of a schema version, the ids that point into stores; near misses; ids that are shortened."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import BACKENDS, raised
from tests.nslip import twins
from tests.nslip.twins import anything
from turnwire import EncodeError, Issue, extract
from turnwire.nslip import SCHEMA_VERSION, Act, FrameType, SlipMessage, Slot, announce, announced, decode, encode, rules
from turnwire.nslip.spec import DOUBTFUL
from turnwire.read.located import conform


@pytest.fixture
def nslip(backend: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    core = twins.core_of(backend)
    monkeypatch.setattr(rules, "_core", core)
    return core


def check(message: Any) -> list[Issue]:
    """``check`` of the core that the rules have now: ``turnwire.nslip.check`` is that of the core in use."""
    issues: list[Issue] = rules._core.check(message)
    return issues


def found(message: Any) -> list[tuple[str, int | str, str]]:
    issues = check(message)
    assert all(isinstance(issue, Issue) and issue.text for issue in issues)
    return [(issue.reason.value, issue.where, issue.severity) for issue in issues]


def test_a_good_message_has_no_issue(nslip: Any) -> None:
    assert check(nslip.decode('@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#')) == []


@pytest.mark.parametrize(("length", "long"), [(0, False), (64, False), (65, True), (10_000, True)])
def test_long_strings(nslip: Any, length: int, long: bool) -> None:
    """64 characters are fine, whatever their bytes."""
    text = "\U0001f600" * length
    message = nslip.SlipMessage(3, 1, 0, 1, Act.ASK, FrameType.TASK, {Slot.STATUS: text, 20: text})
    expected = [("long_string", f"/slots/{name}", "info") for name in ("STATUS", "TAG")]
    assert found(message) == (expected if long else [])
    assert nslip.decode(nslip.encode(message)) == message


def test_kept_fields_are_info(nslip: Any) -> None:
    wire = f'@a3|f7|c3|S0|d1|T1|x5|y"{"long" * 20}"|z"{chr(92) * 128}"#'
    assert found(nslip.decode(wire, unknown="keep")) == [
        ("unknown_frame", "/frame", "info"),
        ("unknown_slot", "/extra/x", "info"),
        ("unknown_slot", "/extra/y", "info"),
        ("long_string", "/extra/y", "info"),
        ("unknown_slot", "/extra/z", "info"),
    ]


def test_a_kept_frame_is_no_fault_of_a_message_that_has_another(nslip: Any) -> None:
    message = nslip.decode("@a3|f7|c3|S0|d1|T1|x5#", unknown="keep")
    message.turn = -1
    assert found(message) == [
        ("negative", "/turn", "warning"),
        ("unknown_frame", "/frame", "info"),
        ("unknown_slot", "/extra/x", "info"),
    ]


@pytest.mark.parametrize("frame", [FrameType.TASK, None])
def test_a_frame_that_was_kept_and_is_another_now_is_not_kept(nslip: Any, frame: Any) -> None:
    message = nslip.decode("@a3|f7|c3|S0|d1|T1#", unknown="keep")
    message.frame = frame
    assert found(message) == ([] if frame is FrameType.TASK else [("wrong_type", "/frame", "warning")])


@pytest.mark.parametrize("reason", twins.BAD_MESSAGES)
def test_what_encode_refuses_is_a_warning(nslip: Any, reason: str) -> None:
    message = twins.bad_message(nslip, reason)
    assert found(message) == [(reason, raised(EncodeError, nslip.encode, message).path, "warning")]


def test_every_bad_field_is_named(nslip: Any) -> None:
    message = nslip.SlipMessage(-1, 2**64, 1.5, True, 11, 77, {0: "x", 99: 1, 20: 5}, extra={"S": "9", "x": "|"})
    assert found(message) == [
        ("unknown_act", "/act", "warning"),
        ("unknown_frame", "/frame", "warning"),
        ("negative", "/conv_id", "warning"),
        ("wrong_type", "/src", "warning"),
        ("wrong_type", "/dst", "warning"),
        ("too_large", "/turn", "warning"),
        ("wrong_type", "/slots/GOAL_ID", "warning"),
        ("unknown_slot", "/slots/99", "warning"),
        ("wrong_type", "/slots/TAG", "warning"),
        ("unknown_slot", "/extra/S", "warning"),
        ("wrong_type", "/extra/x", "warning"),
        ("unknown_slot", "/extra/S", "info"),
        ("unknown_slot", "/extra/x", "info"),
    ]


@pytest.mark.parametrize("slots", [[1], "slots", 5])
def test_slots_and_extra_of_a_wrong_kind(nslip: Any, slots: Any) -> None:
    message = nslip.SlipMessage(3, 1, 0, 1, Act.ASK, FrameType.TASK, slots, extra=slots)
    assert found(message) == [("wrong_type", "/slots", "warning"), ("wrong_type", "/extra", "warning")]


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_what_was_read_can_be_written(backend: str, wire: str) -> None:
    nslip = twins.core_of(backend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "_core", nslip)
        assert {issue.severity for issue in check(nslip.decode(wire, unknown="keep"))} <= {"info"}


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    st.lists(anything, min_size=6, max_size=6),
    anything | st.dictionaries(anything | st.sampled_from(list(Slot)), anything),
    anything | st.dictionaries(st.sampled_from("fxgS") | anything, anything | st.sampled_from(["7", '"ok"'])),
)
def test_anything_in_a_message_is_judged(backend: str, header: list[Any], slots: Any, extra: Any) -> None:
    nslip = twins.core_of(backend)
    message = nslip.SlipMessage(*header, slots, extra=extra)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "_core", nslip)
        warnings = [issue for issue in check(message) if issue.severity == "warning"]
    refused = twins.outcome(nslip.encode, message)
    assert bool(warnings) == (refused[0] != "value")
    if warnings:
        assert (refused[1], refused[5]) in [(issue.reason, issue.where) for issue in warnings]


# --- the announcement -------------------------------------------------------------------------------------------------


def test_announcing_a_version(nslip: Any) -> None:
    message = announce(3, 1, 0, 1)
    assert nslip.encode(message) == f'@aA|f4|c3|S0|d1|T1|t"schema={SCHEMA_VERSION}"#'
    assert announced(message) == SCHEMA_VERSION == 1
    for version in (12, 2**32, 2**64 - 2, 2**64 - 1):
        assert announced(nslip.decode(nslip.encode(announce(3, 1, 0, 1, version=version)))) == version
    for beyond in (2**64, 10**20 - 1):
        assert announced(nslip.decode(f'@aA|f4|c3|S0|d1|T1|t"schema={beyond}"#')) is None


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (0, "unsupported_version"),
        (-1, "negative"),
        (2**64, "too_large"),
        *((one, "wrong_type") for one in (1.0, True, "1")),
    ],
    ids=repr,
)
def test_versions_that_are_none(nslip: Any, version: Any, reason: str) -> None:
    caught = raised(EncodeError, announce, 3, 1, 0, 1, version=version)
    assert (caught.reason, caught.path) == (reason, "/version")


@vectors.cases("nslip_forms", kind="announces nothing")
def test_messages_that_announce_nothing(nslip: Any, case: dict[str, Any]) -> None:
    assert announced(nslip.decode(case["wire"])) is None


@vectors.cases("nslip_forms", kind="extract")
def test_what_is_found_behind_what_only_began_as_a_message(case: dict[str, Any]) -> None:
    assert [[one.start, one.end] for one in extract(case["text"])] == case["spans"]


@given(fields=twins.fields)
def test_what_was_read_is_doubted_for_its_long_strings_alone(fields: tuple[Any, ...]) -> None:
    message = decode(encode(SlipMessage(*fields)))
    long = [slot for slot, value in message.slots.items() if isinstance(value, str) and len(value) > 64]
    assert found(message) == [("long_string", f"/slots/{slot.name}", "info") for slot in long]
    if long:
        assert len(encode(message).encode()) >= DOUBTFUL[0]


ODD = [0, 1, 2**64 - 1, 2**64, -1, True, None, "x", 1.0, Act.ASK, FrameType.TASK]
SLOT_VALUES = [*ODD, "", "long" * 16, "long" * 17, "ö" * 64, "\ud800", "a\nb"]


def test_what_is_clean_is_what_the_long_way_says_nothing_of(nslip: Any) -> None:
    """Made, changed and read messages: the quick verdict against what judges field by field."""
    numbers = random.Random(11)
    clean = 0
    for _ in range(500):
        fields = [numbers.choice(ODD) if numbers.random() < 0.03 else 1 for _ in range(4)]
        slots: dict[Any, Any] = {}
        for slot in numbers.sample([*Slot, 99, "TAG"], numbers.randint(0, 3)):
            good = "x" if slot in (Slot.TAG, Slot.STATUS) else 5
            slots[slot] = good if numbers.random() < 0.7 else numbers.choice(SLOT_VALUES)
        message = nslip.SlipMessage(*fields, Act.ASK, numbers.choice([FrameType.TASK, 0, 7]), slots)
        if numbers.random() < 0.2:
            message.extra = numbers.choice([{}, {"x": "5"}])
        long = [*rules._refusals(message), *rules._remarks(message)]
        assert bool(nslip.check(message)) == bool(long), message
        clean += not long
        if not long:
            again = nslip.decode(nslip.encode(message))
            assert not nslip.check(again)
            again.slots[Slot.TAG] = "long" * 17
            assert nslip.check(again)
    assert clean > 50


def test_near_misses_are_told_at_their_lines():
    """Those beside messages and those in strings, whichever come first."""
    good, near, empty = "@a3|f0|c7|S0|d1|T1#", "@a3,f0,c7,S0", "@#"
    lines = ["{}", f'{{"a":"{near}"}}', good, near, "", empty, f'{{"a":"{near}"}}', good, f'{{"a":"{near}"}}', near]
    (framing,) = [line for line in conform("nslip", "\n".join(lines).encode()) if line.clause.id == "framing"]
    wanted = [number for number, line in enumerate(lines, 1) if near in line or line == empty]
    assert sorted(fault.line for fault in framing.faults) == wanted


def test_nearly_messages_behind_a_prefix_are_told_once():
    """Those that are seen beside messages, too."""
    good = "@a3|f0|c7|S0|d1|T1#"
    for one, empty in ((f'{{"m": "{good}"}}', '{"m": "@#"}'), (f'x "@#" {good}', 'x "@#" @#'), (f"@: {good}", "@: @#")):
        (framing,) = [line for line in conform("nslip", f"{one}\n{empty}\n".encode()) if line.clause.id == "framing"]
        assert [fault.line for fault in framing.faults].count(2) == 1, one
