"""Stands in for slipcore 0.1.0: its names, its objects, its bytes, on both cores (see docs/slipcore.md)."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import turnwire.slip
import turnwire.slip.protocol as protocol
from tests import vectors
from tests.nslip import twins
from turnwire.slip import Act, FrameType, Slot

NAMES = (
    "SlipMessage",
    "Act",
    "FrameType",
    "Slot",
    "encode_message",
    "decode_message",
    "encode_int_base62",
    "decode_int_base62",
    "START_MARKER",
    "END_MARKER",
    "SEPARATOR",
)
FIELDS = ("conv_id", "turn", "src", "dst", "act", "frame", "slots")
SLOTS = {Slot.GOAL_ID: 17, Slot.TASK_ID: 42, Slot.PRIORITY: 2, Slot.TAG: "refactor_auth"}
WIRE = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'


@pytest.fixture
def nslip(core: Any) -> Any:
    return core("nslip.codec")


def made(nslip: Any) -> Any:
    """The example of section 4, its arguments in the original's order."""
    return nslip.SlipMessage(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, dict(SLOTS))


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert getattr(turnwire.slip, name) == getattr(protocol, name)
    assert name in turnwire.slip.__all__
    assert name in protocol.__all__


def test_the_markers() -> None:
    assert (protocol.START_MARKER, protocol.END_MARKER, protocol.SEPARATOR) == ("@", "#", "|")


def test_the_codes_of_the_enums() -> None:
    acts = "OBSERVE INFORM ASK REQUEST PROPOSE COMMIT ACCEPT REJECT EVAL ERROR META"
    assert [(act.name, int(act)) for act in Act] == [(name, code) for code, name in enumerate(acts.split())]
    frames = "TASK PLAN OBSERVATION EVALUATION CONTROL"
    assert [(frame.name, int(frame)) for frame in FrameType] == list(zip(frames.split(), range(5), strict=True))
    assert {slot.name: int(slot) for slot in Slot} == {
        "GOAL_ID": 0,
        "TASK_ID": 1,
        "PARENT_TASK_ID": 2,
        "RESULT_ID": 3,
        "PRIORITY": 10,
        "SCORE": 11,
        "STATUS": 12,
        "ERROR_CODE": 13,
        "TAG": 20,
    }
    assert repr(Act(3)) == "<Act.REQUEST: 3>"
    assert Slot.TAG == 20


def test_parameters_by_name() -> None:
    message = protocol.decode_message(s=WIRE)
    assert protocol.encode_message(msg=message) == WIRE
    assert (protocol.encode_int_base62(n=3843), protocol.decode_int_base62(s="zz")) == ("zz", 3843)


# --- the message object -----------------------------------------------------------------------------------------------


def test_repr(nslip: Any) -> None:
    assert repr(made(nslip)) == (
        "<SlipMessage conv=3 turn=1 src=0 dst=1 act=REQUEST frame=TASK slots={<Slot.GOAL_ID: 0>: 17, "
        "<Slot.TASK_ID: 1>: 42, <Slot.PRIORITY: 10>: 2, <Slot.TAG: 20>: 'refactor_auth'}>"
    )
    assert repr(nslip.decode(WIRE)) == str(made(nslip)) == f"{made(nslip)}"


def test_the_slots_dict_is_the_callers_own(nslip: Any) -> None:
    slots = dict(SLOTS)
    message = nslip.SlipMessage(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, slots)
    assert message.slots is slots
    del slots[Slot.TAG]
    assert nslip.encode(message) == "@a3|f0|c3|S0|d1|T1|gH|kg|q2#"


def test_messages_are_mutable(nslip: Any) -> None:
    for message in (made(nslip), nslip.decode(WIRE)):
        for value, name in enumerate(("conv_id", "turn", "src", "dst"), start=60):
            setattr(message, name, value)
            assert getattr(message, name) == value
        message.act, message.frame = Act.META, FrameType.CONTROL
        message.slots[Slot.SCORE] = 5
        message.slots[Slot.TAG] = '"'
        del message.slots[Slot.TASK_ID]
        assert nslip.encode(message) == '@aA|f4|cy|S10|d11|Tz|gH|q2|t"\\""|s5#'
        message.slots = {Slot.STATUS: "done"}
        assert nslip.encode(message) == '@aA|f4|cy|S10|d11|Tz|u"done"#'
        message.slots.clear()
        assert nslip.encode(message) == "@aA|f4|cy|S10|d11|Tz#"


def test_decoding_gives_members_and_plain_values(nslip: Any) -> None:
    message = nslip.decode(WIRE)
    assert (type(message.act), type(message.frame)) == (Act, FrameType)
    assert type(message.slots) is dict
    assert [type(slot) for slot in message.slots] == [Slot] * 4
    assert [type(value) for value in message.slots.values()] == [int, int, int, str]
    assert message.slots is message.slots
    assert message.slots[Slot.TAG] == message.slots[20] == message.get(Slot.TAG) == "refactor_auth"


def test_equality(nslip: Any) -> None:
    message = made(nslip)
    assert message == made(nslip) == nslip.decode(WIRE)
    reordered = nslip.SlipMessage(3, 1, 0, 1, 3, 0, dict(reversed(SLOTS.items())))
    assert message == reordered
    for name in FIELDS:
        other = made(nslip)
        setattr(other, name, {} if name == "slots" else 4)
        assert message != other
    assert message != (3, 1, 0, 1, Act.REQUEST, FrameType.TASK, SLOTS)
    assert message.__eq__(7) is NotImplemented
    assert message not in (None, 0, "", WIRE)


def test_a_subclass_is_another_class(nslip: Any) -> None:
    class Named(nslip.SlipMessage):  # type: ignore[misc]
        note = "a subclass may have attributes"

    message = Named(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, dict(SLOTS))
    message.colour = "red"
    assert nslip.encode(message) == WIRE
    assert message != made(nslip)
    assert type(copy.copy(message)) is type(copy.deepcopy(message)) is Named


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda message: pickle.loads(pickle.dumps(message))])
def test_a_copy_of_a_subclass_has_what_it_adds(
    nslip: Any, copied: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Named(nslip.SlipMessage):  # type: ignore[misc]
        __slots__ = ("name",)

        def __init__(self, name: str) -> None:
            super().__init__(3, 1, 0, 1, Act.REQUEST, FrameType.TASK, dict(SLOTS))
            self.name = name

    where = {"__module__": __name__, "__qualname__": "Noted"}
    noted = dataclasses.make_dataclass("Noted", [("note", str, "")], bases=(nslip.SlipMessage,), namespace=where)
    free = type("Free", (nslip.SlipMessage,), {"__module__": __name__, "__qualname__": "Free"})
    Named.__qualname__ = "Named"
    fields = (3, 1, 0, 1, Act.ASK, FrameType.TASK, {})
    messages: list[Any] = [Named("n"), noted(*fields, "n"), free(*fields)]
    messages[2].more = ["n"]
    for message in messages:
        cls = type(message)
        monkeypatch.setitem(globals(), cls.__name__, cls)
        again = copied(message)
        assert type(again) is cls
        assert again == message
        assert [getattr(again, name, None) for name in ("name", "note", "more")] == [
            getattr(message, name, None) for name in ("name", "note", "more")
        ]


def test_messages_are_unhashable_and_unordered(nslip: Any) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(made(nslip))
    with pytest.raises(TypeError):
        assert made(nslip) < made(nslip)


@pytest.mark.parametrize("library", [dataclasses.asdict, dataclasses.astuple, dataclasses.replace, msgspec.to_builtins])
def test_what_writes_dataclasses_refuses_kept_fields(nslip: Any, library: Callable[[Any], Any]) -> None:
    message = twins.kept_message(nslip)
    with pytest.raises((TypeError, AttributeError)):
        library(message)
    assert nslip.encode(message.replace(turn=2)) == nslip.encode(message).replace("|T1|", "|T2|")


def test_a_frozen_set_of_attributes(nslip: Any) -> None:
    """The one thing that old code could do with a message and new code cannot."""
    with pytest.raises(AttributeError):
        made(nslip).note = 1


# --- the wire ---------------------------------------------------------------------------------------------------------


def test_subclasses_of_int_str_and_dict_are_written(nslip: Any) -> None:
    class Text(str):
        __slots__ = ()

    slots = OrderedDict([(Slot.TAG, Text("x")), (Slot.GOAL_ID, Act.COMMIT)])
    assert nslip.encode(nslip.SlipMessage(Act.ASK, 1, 2, 3, 3, 0, slots)) == '@a3|f0|c2|S2|d3|T1|t"x"|g5#'


@pytest.mark.parametrize("white", [" ", "\n", "\r\n", "\t", "\x1f", "\u2028", "\u3000", "\x85"])
def test_white_space_around_is_dropped(nslip: Any, white: str) -> None:
    assert nslip.decode(white + WIRE + white * 2) == nslip.decode((white + WIRE).encode()) == made(nslip)


READ_BY_BOTH = [
    case
    for case in vectors.load("nslip")
    if "expect" in case and "expect" in case["slipcore_0_1"] and not case["id"].startswith("pipe-")
]


@pytest.mark.parametrize("case", READ_BY_BOTH, ids=[case["id"] for case in READ_BY_BOTH])
def test_what_the_original_read_and_we_still_read(nslip: Any, case: dict[str, Any]) -> None:
    """If both accept, the content is the same, but for the header forgeries of the original."""
    original = case["slipcore_0_1"]["expect"]
    message = nslip.decode(case["wire"])
    slots = {slot.name: value for slot, value in message.slots.items()}
    assert (message.src, message.act.name, slots) == (original["src"], original["act"], original["slots"])


def test_random_plain_messages_have_the_bytes_of_the_original(nslip: Any) -> None:
    """The original's way of writing, told once more in the words of section 3."""

    def digits(number: int) -> str:
        alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        return (digits(number // 62) if number >= 62 else "") + alphabet[number % 62]

    def written(value: Any) -> str:
        if isinstance(value, int):
            return digits(value)
        return '"' + "".join("\\" + letter if letter in '\\"' else letter for letter in value) + '"'

    prefixes = dict(zip(Slot, "gkprqsuet", strict=True))
    chance = random.Random(1)
    for _ in range(300):
        conv_id, turn, src, dst, act, frame, slots = twins.random_fields(chance)
        head = zip("afcSdT", (act, frame, conv_id, src, dst, turn), strict=True)
        parts = [prefix + digits(int(value)) for prefix, value in head]
        parts += [prefixes[slot] + written(value) for slot, value in slots.items()]
        message = nslip.SlipMessage(conv_id, turn, src, dst, act, frame, slots)
        assert nslip.encode(message) == "@" + "|".join(parts) + "#"


def test_a_misspelt_module_is_named_as_it_was_written() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"'turnwire\.slip\.protcol'") as caught:
        importlib.import_module("turnwire.slip.protcol")
    assert caught.value.name == "turnwire.slip.protcol"
