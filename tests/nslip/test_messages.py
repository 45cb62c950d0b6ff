"""What messages can do beyond slipcore's: get, replace, dicts, kept fields, pickles from one core to the other."""

from __future__ import annotations

import gc
import json
import pickle
import weakref
from typing import Any

import pytest
from hypothesis import given

from tests.conftest import BACKENDS, PURE_ONLY
from tests.nslip import twins
from turnwire import DecodeError, EncodeError, Reason
from turnwire.nslip import Act, Extra, FrameType, SlipMessage, Slot, base62, decode

WIRE = '@a3|f0|c3|S0|d1|T1|gH|t"ok"#'


@pytest.fixture
def nslip(core: Any) -> Any:
    return core("nslip.codec")


# --- making, deleting -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "6 required positional arguments: 'conv_id', 'turn', 'src', 'dst', 'act', and 'frame'"),
        ({"conv_id": 3, "act": Act.ASK, "turn": 1, "dst": 1}, "2 required positional arguments: 'src' and 'frame'"),
        ({"conv_id": 3, "turn": 1, "src": 0, "dst": 1, "act": 2}, "1 required positional argument: 'frame'"),
    ],
)
def test_a_call_that_lacks_fields_names_them(nslip: Any, given: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        nslip.SlipMessage(**given)
    assert str(caught.value) == f"SlipMessage.__init__() missing {text}"


@pytest.mark.parametrize("name", ["conv_id", "turn", "src", "dst", "act", "frame", "slots", "extra"])
def test_no_field_can_be_deleted(nslip: Any, name: str) -> None:
    message = nslip.decode(WIRE)
    with pytest.raises(AttributeError, match=name):
        delattr(message, name)
    assert nslip.encode(message) == WIRE


def test_slots_set_to_none_are_refused_when_written(nslip: Any) -> None:
    message = nslip.decode(WIRE)
    message.slots = None
    assert message.slots is None
    with pytest.raises(EncodeError) as caught:
        nslip.encode(message)
    assert (caught.value.reason, caught.value.path) == (Reason.WRONG_TYPE, "/slots")
    assert message != nslip.decode(WIRE)
    message.slots = {Slot.GOAL_ID: 17}
    assert nslip.encode(message) == "@a3|f0|c3|S0|d1|T1|gH#"


def test_no_extra_is_an_empty_one(nslip: Any) -> None:
    message = nslip.decode(WIRE)
    message.extra = None
    assert message == nslip.decode(WIRE)
    assert nslip.encode(message) == WIRE


def test_attributes_of_a_subclass_can_be_deleted(nslip: Any) -> None:
    class Noted(nslip.SlipMessage):  # type: ignore[misc]
        note: str

    message = Noted(3, 1, 0, 1, Act.REQUEST, FrameType.TASK)
    message.note = "mine"
    del message.note
    with pytest.raises(AttributeError):
        del message.note
    with pytest.raises(AttributeError, match="src"):
        del message.src


# --- get, replace -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("touched", [False, True])
def test_get(nslip: Any, touched: bool) -> None:
    message = nslip.decode(WIRE)
    if touched:
        assert len(message.slots) == 2
    assert (message.get(Slot.GOAL_ID), message.get(0), message.get(20)) == (17, 17, "ok")
    assert message.get(Slot.SCORE) is None
    assert message.get(Slot.SCORE, 5) == 5
    for key in (99, -1, 2**70, "TAG", None):
        assert message.get(key) is None
        assert message.get(key, "absent") == "absent"
    message.slots[Slot.GOAL_ID] = 18
    assert message.get(Slot.GOAL_ID) == 18


def test_replace(nslip: Any) -> None:
    message = twins.kept_message(nslip)
    changed = message.replace(turn=2, act=Act.ASK)
    assert (changed.turn, changed.act, message.turn, message.act) == (2, Act.ASK, 1, Act.REQUEST)
    assert nslip.encode(changed) == '@a2|f07|c3|S0|d1|T2|x05|gH|y"a\\"b"|t"ok"|z00#'
    changed.slots.clear()
    changed.extra.clear()
    assert message == twins.kept_message(nslip)
    assert message.replace(slots={Slot.SCORE: 1}).slots == {Slot.SCORE: 1}
    with pytest.raises(TypeError, match="no field 'other'"):
        message.replace(other=1)


# --- dicts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_dicts_come_back_through_json(backend: str, wire: str) -> None:
    nslip = twins.core_of(backend)
    message = nslip.decode(wire, unknown="keep")
    back = nslip.SlipMessage.from_dict(json.loads(json.dumps(message.to_dict())))
    assert twins.plain(back) == twins.plain(message)


def test_the_shape_of_a_dict(nslip: Any) -> None:
    assert nslip.decode(WIRE).to_dict() == {
        "conv_id": 3,
        "turn": 1,
        "src": 0,
        "dst": 1,
        "act": "REQUEST",
        "frame": "TASK",
        "slots": {"GOAL_ID": 17, "TAG": "ok"},
    }
    kept = twins.kept_message(nslip).to_dict()
    assert kept["frame"] == 7
    assert {field["prefix"]: field["value"] for field in kept["extra"]} == {
        "f": "07",
        "x": "05",
        "y": '"a\\"b"',
        "z": "00",
    }


def test_dicts_take_codes_too(nslip: Any) -> None:
    fields = {"conv_id": 3, "turn": 1, "src": 0, "dst": 1, "act": 3, "frame": 0, "slots": {0: 17, "TAG": "ok"}}
    assert nslip.SlipMessage.from_dict(fields) == nslip.decode(WIRE)
    del fields["slots"]
    assert nslip.SlipMessage.from_dict(fields).slots == {}


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        ({"act": "SHOUT"}, Reason.UNKNOWN_ACT, "/act"),
        ({"act": 11}, Reason.UNKNOWN_ACT, "/act"),
        ({"act": True}, Reason.UNKNOWN_ACT, "/act"),
        ({"act": None}, Reason.UNKNOWN_ACT, "/act"),
        ({"frame": 7}, Reason.UNKNOWN_FRAME, "/frame"),
        ({"slots": {"COLOUR": 1}}, Reason.UNKNOWN_SLOT, "/slots/COLOUR"),
        ({"slots": [1]}, Reason.WRONG_TYPE, "/slots"),
        ({"other": 1}, Reason.UNKNOWN_SLOT, "/other"),
        ({"extra": 5}, Reason.WRONG_TYPE, "/extra"),
        ({"extra": [5]}, Reason.WRONG_TYPE, "/extra/0"),
        ({"extra": [{}]}, Reason.MISSING_FIELD, "/extra/0"),
        ({"extra": [{"prefix": 5, "value": "5"}]}, Reason.WRONG_TYPE, "/extra/0"),
        ({"extra": [{"prefix": "x", "value": 5}]}, Reason.WRONG_TYPE, "/extra/0"),
        ({"extra": [{"prefix": "x", "value": "5", "before": "1"}]}, Reason.WRONG_TYPE, "/extra/0"),
        ({"extra": [{"prefix": "x", "value": "5"}] * 2}, Reason.DUPLICATE, "/extra/1"),
    ],
    ids=repr,
)
def test_refused_dicts(nslip: Any, change: dict[str, Any], reason: Reason, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        nslip.SlipMessage.from_dict(nslip.decode(WIRE).to_dict() | change)
    assert (caught.value.reason, caught.value.path) == (reason, path)


def test_dicts_lacking_a_field(nslip: Any) -> None:
    whole = nslip.decode(WIRE).to_dict()
    for name in ("conv_id", "turn", "src", "dst", "act", "frame"):
        with pytest.raises(DecodeError) as caught:
            nslip.SlipMessage.from_dict({key: value for key, value in whole.items() if key != name})
        assert (caught.value.reason, caught.value.path) == (Reason.MISSING_FIELD, f"/{name}")
    for wrong in (None, [], "x"):
        with pytest.raises(DecodeError):
            nslip.SlipMessage.from_dict(wrong)


# --- kept fields ------------------------------------------------------------------------------------------------------


def test_unknown_fields_are_errors_unless_kept(nslip: Any) -> None:
    for wire, reason in (("x5", Reason.UNKNOWN_PREFIX), ("f7", Reason.UNKNOWN_FRAME)):
        head = "@a3|c3|S0|d1|T1|" + ("f0|" if wire[0] == "x" else "")
        with pytest.raises(DecodeError) as caught:
            nslip.decode(f"{head}{wire}#")
        assert caught.value.reason is reason
        assert nslip.decode(f"{head}{wire}#", unknown="keep").extra == {wire[0]: wire[1:]}
    for wrong in ("drop", "", None, True):
        with pytest.raises(ValueError, match="unknown is"):
            nslip.decode(WIRE, unknown=wrong)


def test_kept_fields_are_written_where_they_stood(nslip: Any) -> None:
    for wire in (
        '@a3|f07|c3|S0|d1|T1|x05|gH|y"a\\"b"|t"ok"|z00#',
        "@a3|f0|c3|S0|d1|T1|x1|y2|z3#",
        '@a3|f0|c3|S0|d1|T1|gH|Z"|S9|a5|"|Y5#',
    ):
        message = nslip.decode(wire, unknown="keep")
        assert nslip.encode(message) == wire
        assert type(message.extra) is Extra


def test_keeping_is_as_strict_as_reading(nslip: Any) -> None:
    for field, reason in (
        ("x", Reason.EMPTY_VALUE),
        ("x-", Reason.BAD_DIGIT),
        ('x"', Reason.UNTERMINATED_STRING),
        ('x"\\n"', Reason.BAD_ESCAPE),
        ('x"a"b', Reason.JUNK_AFTER_STRING),
        ("x" + "z" * 12, Reason.TOO_LARGE),
        ("x1|x2", Reason.DUPLICATE),
        ("5x", Reason.UNKNOWN_PREFIX),
        ("\u00e91", Reason.UNKNOWN_PREFIX),
    ):
        with pytest.raises(DecodeError) as caught:
            nslip.decode(f"@a3|f0|c3|S0|d1|T1|{field}#", unknown="keep")
        assert caught.value.reason is reason


@pytest.mark.parametrize(
    "extra",
    [
        {"x": "5|S9"},
        {"x": '"a"|S9|t"'},
        {"x": ""},
        {"x": 5},
        {"g": "5"},
        {"S": "9"},
        {"xx": "5"},
        {"": "5"},
        {5: "5"},
        {"x": "z" * 12},
        {"x": '"\ud800"'},
        ["x"],
        "x",
    ],
    ids=repr,
)
def test_nothing_is_forged_through_extra(nslip: Any, extra: Any) -> None:
    with pytest.raises(EncodeError):
        nslip.encode(nslip.SlipMessage(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, {}, extra=extra))


def test_an_unknown_frame_needs_its_kept_digits(nslip: Any) -> None:
    message = twins.kept_message(nslip)
    message.frame = 8
    with pytest.raises(EncodeError) as caught:
        nslip.encode(message)
    assert caught.value.reason is Reason.UNKNOWN_FRAME
    message.frame = FrameType.PLAN
    assert nslip.encode(message).startswith("@a3|f1|")


def test_equality_counts_kept_fields(nslip: Any) -> None:
    plain = nslip.decode("@a3|f0|c3|S0|d1|T1#")
    assert plain == plain.replace(extra={})
    assert plain != nslip.decode("@a3|f0|c3|S0|d1|T1|x5#", unknown="keep")


# --- memory, pickles --------------------------------------------------------------------------------------------------


def test_weak_references_and_cycles(nslip: Any) -> None:
    message = nslip.decode(WIRE)
    message.slots[Slot.STATUS] = message
    watched = weakref.ref(message)
    del message
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("touched", [False, True])
def test_a_message_that_is_gone_is_gone_for_whoever_watched_it(nslip: Any, touched: bool) -> None:
    """Its memory may be that of the next one, which is another message."""
    for number in range(3):
        message = nslip.decode(f"@a3|f0|c{number}|S0|d1|T1#")
        if touched:
            assert not message.slots
        watched = weakref.ref(message)
        assert watched() is message
        del message
        following = nslip.decode("@a3|f0|c9|S0|d1|T1#")
        assert (watched(), following.conv_id) == (None, 9)


def test_many_messages_at_once(nslip: Any) -> None:
    messages = [nslip.decode(f'@a3|f0|c{number % 10}|S0|d1|T1|t"{number}"#') for number in range(3000)]
    assert [int(message.get(Slot.TAG)) for message in messages] == list(range(3000))
    del messages[::2]
    messages += [nslip.decode(WIRE) for _ in range(3000)]
    assert messages[0].get(Slot.TAG) == "1"
    assert messages[-1] == nslip.decode(WIRE)


@pytest.mark.skipif(PURE_ONLY, reason="needs two cores")
def test_pickles_go_from_one_core_to_the_other() -> None:
    """A pickle names no core: it gives the message class of the process that reads it."""
    for backend in ("native", "pure"):
        nslip = twins.core_of(backend)
        back = pickle.loads(pickle.dumps(twins.kept_message(nslip)))
        assert type(back) is SlipMessage
        assert twins.plain(back) == twins.plain(twins.kept_message(nslip))


def test_unlikely_values_are_kept_until_they_are_written(nslip: Any) -> None:
    message = nslip.SlipMessage(-1, 2**64, "src", None, "act", 77, None)
    assert (message.conv_id, message.turn, message.src, message.dst) == (-1, 2**64, "src", None)
    assert (message.act, message.frame, message.slots) == ("act", 77, {})
    assert "act=act frame=77" in repr(message)
    with pytest.raises(EncodeError):
        nslip.encode(message)


@pytest.mark.skipif(PURE_ONLY, reason="only the compiled core remembers texts")
@pytest.mark.parametrize("size", range(1, 17))
def test_a_short_text_that_comes_again_is_the_same_object(size: int) -> None:
    letters = "abcdefghijklmnop"[:size]
    for text in (letters, letters[:-1] + "Z", "Q" + letters[1:], letters[: size // 2] + "Y" + letters[size // 2 + 1 :]):
        first, again = (decode(f'@a3|f0|c1|S0|d1|T1|t"{text}"#').slots[Slot.TAG] for _ in range(2))
        assert first is again
        assert first == text


def test_texts_that_begin_and_end_alike(nslip: Any) -> None:
    """What is remembered of texts is looked for by how they begin and end: those of other lengths are others."""
    signs = [chr(code) for code in range(33, 127) if chr(code) not in '"\\']
    for pattern in (*signs, *(one + "|" for one in signs), *(one + "abc" for one in signs)):
        texts = [(pattern * 40)[:size] for size in range(1, 40)]
        found = [nslip.decode(f'@a3|f0|c1|S0|d1|T1|u"{text}"|t"{text}"#') for text in texts]
        assert [(one.slots[Slot.STATUS], one.slots[Slot.TAG]) for one in found] == [(text, text) for text in texts]


@pytest.mark.parametrize("key", [True, False, 1.0, "k", None, -1, 4, 9, 14, 19, 21, 2**40, 2**70])
def test_what_is_no_slot_is_not_written_as_one(nslip: Any, key: Any) -> None:
    """Though True is 1, which is a slot."""
    for slots in ({key: 5}, {Slot.TAG: "x", key: 5}, {key: 5, Slot.GOAL_ID: 1}):
        message = nslip.decode(WIRE)
        message.slots = slots
        for one in (message, message.replace(turn=2), nslip.SlipMessage(1, 1, 0, 1, 3, 0, slots)):
            with pytest.raises(EncodeError) as caught:
                nslip.encode(one)
            assert caught.value.reason == "unknown_slot"


@pytest.mark.parametrize("digits", range(1, 12))
def test_numbers_of_so_many_digits(nslip: Any, digits: int) -> None:
    """The least and the largest ones, in each place of a message."""
    for number in (62 ** (digits - 1) - 1, 62 ** (digits - 1), 62 ** (digits - 1) + 1, 62**digits - 2, 62**digits - 1):
        if not 0 < number < 2**64:
            continue
        message = nslip.SlipMessage(number, number, number, number, 3, 0, {Slot.GOAL_ID: number, Slot.SCORE: number})
        written = nslip.encode(message)
        assert written.count(f"{base62.encode(number)}|") + written.count(f"{base62.encode(number)}#") == 6
        assert nslip.decode(written) == message
