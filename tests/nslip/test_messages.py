"""Messages beyond slipcore's: get, replace, dicts, kept fields, pickles from one core to the other."""

from __future__ import annotations

import copy
import pickle
import random
import weakref
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import BACKENDS, PURE_ONLY, needs_both, raised, rounds
from tests.nslip import twins
from turnwire import DecodeError, EncodeError, Reason, scan
from turnwire.nslip import Act, Extra, FrameType, SlipMessage, Slot, base62, codec

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
    assert str(raised(TypeError, nslip.SlipMessage, **given)) == f"SlipMessage.__init__() missing {text}"


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
    caught = raised(EncodeError, nslip.encode, message)
    assert (caught.reason, caught.path) == (Reason.WRONG_TYPE, "/slots")
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


def test_dicts_lacking_a_field(nslip: Any) -> None:
    whole = nslip.decode(WIRE).to_dict()
    for name in ("conv_id", "turn", "src", "dst", "act", "frame"):
        with pytest.raises(DecodeError) as caught:
            nslip.SlipMessage.from_dict({key: value for key, value in whole.items() if key != name})
        assert (caught.value.reason, caught.value.path) == (Reason.MISSING_FIELD, f"/{name}")
    for wrong in (None, [], "x"):
        raised(DecodeError, nslip.SlipMessage.from_dict, wrong)


# --- kept fields ------------------------------------------------------------------------------------------------------


def test_unknown_fields_are_errors_unless_kept(nslip: Any) -> None:
    for wire, reason in (("x5", Reason.UNKNOWN_PREFIX), ("f7", Reason.UNKNOWN_FRAME)):
        head = "@a3|c3|S0|d1|T1|" + ("f0|" if wire[0] == "x" else "")
        assert raised(DecodeError, nslip.decode, f"{head}{wire}#").reason is reason
        assert nslip.decode(f"{head}{wire}#", unknown="keep").extra == {wire[0]: wire[1:]}
    for wrong in ("drop", "", None, True):
        with pytest.raises(ValueError, match="unknown must be"):
            nslip.decode(WIRE, unknown=wrong)


def test_an_unknown_frame_needs_its_kept_digits(nslip: Any) -> None:
    message = twins.kept_message(nslip)
    message.frame = 8
    assert raised(EncodeError, nslip.encode, message).reason is Reason.UNKNOWN_FRAME
    message.frame = FrameType.PLAN
    assert nslip.encode(message).startswith("@a3|f1|")


def test_equality_counts_kept_fields(nslip: Any) -> None:
    plain = nslip.decode("@a3|f0|c3|S0|d1|T1#")
    assert plain == plain.replace(extra={})
    assert plain != nslip.decode("@a3|f0|c3|S0|d1|T1|x5#", unknown="keep")


# --- memory, pickles --------------------------------------------------------------------------------------------------


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


@pytest.mark.skipif(PURE_ONLY, reason="needs two cores")
def test_pickles_go_from_one_core_to_the_other() -> None:
    """A pickle names no core: it gives the message class of the process that reads it."""
    for backend in ("native", "pure"):
        nslip = twins.core_of(backend)
        back = pickle.loads(pickle.dumps(twins.kept_message(nslip)))
        assert type(back) is SlipMessage
        assert twins.plain(back) == twins.plain(twins.kept_message(nslip))


@pytest.mark.parametrize("key", [True, False, 1.0, "k", None, -1, 4, 9, 14, 19, 21, 2**40, 2**70])
def test_what_is_no_slot_is_not_written_as_one(nslip: Any, key: Any) -> None:
    """Though True is 1, which is a slot."""
    for slots in ({key: 5}, {Slot.TAG: "x", key: 5}, {key: 5, Slot.GOAL_ID: 1}):
        message = nslip.decode(WIRE)
        message.slots = slots
        for one in (message, message.replace(turn=2), nslip.SlipMessage(1, 1, 0, 1, 3, 0, slots)):
            assert raised(EncodeError, nslip.encode, one).reason == "unknown_slot"


def test_kept_fields_without_a_place_come_last(core):
    codec = core("nslip.codec")
    slots = {Slot.GOAL_ID: 1, Slot.TASK_ID: 2}
    message = codec.SlipMessage(1, 2, 3, 4, Act.ASK, FrameType.TASK, slots, extra={"z": "5", "y": '"x"'})
    assert codec.encode(message) == '@a2|f0|c1|S3|d4|T2|g1|k2|z5|y"x"#'
    known = Extra({"z": "5", "y": '"x"', "x": "1"})
    known.before = {"z": 0, "y": 1}
    message.extra = known
    assert codec.encode(message) == '@a2|f0|c1|S3|d4|T2|z5|g1|y"x"|k2|x1#'


def test_a_copy_of_kept_fields_has_their_places(core):
    codec = core("nslip.codec")
    text = '@a2|f0|c1|S3|d4|T2|z5|g1|y"x"|k2|x1#'
    message = codec.decode(text, unknown="keep")
    copies = [message.replace(), message.replace(turn=2), copy.deepcopy(message)]
    copies += [copy.copy(message), codec.SlipMessage.from_dict(message.to_dict())]
    for other in copies:
        assert codec.encode(other) == text
    for other in copies[:3]:
        other.extra.before["z"] = 2
        assert codec.encode(message) == text
    assert pickle.loads(pickle.dumps(message.extra)).before == message.extra.before


@pytest.mark.parametrize(("frame", "read"), [("CONTROL", FrameType.CONTROL), (0, 0), (9, 9), ("SIGNAL", None)])
def test_a_frame_that_was_kept_is_a_number_or_a_name(core, frame, read):
    cls = core("nslip.codec").SlipMessage
    fields = cls(1, 2, 3, 4, Act.ASK, FrameType.TASK, {}).to_dict()
    fields |= {"frame": frame, "extra": [{"prefix": "f", "value": "9"}]}
    if read is None:
        with pytest.raises(DecodeError, match="unknown_frame"):
            cls.from_dict(fields)
    else:
        assert cls.from_dict(fields).frame == read


@pytest.mark.parametrize("behind", ["x", "#", "xy", "|", "@"])
def test_a_line_is_one_message_to_its_last_byte(core, behind):
    one = "@a3|f0|c7|S0|d1|T1#"
    decode_many = core("nslip.codec").decode_many
    for end in ("", "\n", " \r\n"):
        found = raised(DecodeError, decode_many, f"{one}\n{one}{behind}{end}".encode())
        assert (str(found.reason), found.offset, found.line) == ("trailing_junk", 2 * len(one) + 1, 2)
    assert len(decode_many(f"{one}\n\n {one} \n".encode())) == 2


# --- fields of a text: in which order, how often, with which digits, and never without a value


HEADER = ["a3", "f0", "c3", "S0", "d1", "T1"]
SLOTS = ["gH", "kg", "p1", "r2", "q2", "s9", 'u"ok"', "e4", 't"x"']
WHOLE = "@" + "|".join(HEADER) + "#"


def refused(nslip: Any, wire: str) -> tuple[Reason, int | None]:
    caught = raised(DecodeError, nslip.decode, wire)
    return caught.reason, caught.offset


def test_header_fields_come_in_any_order_and_each_once(nslip: Any) -> None:
    """All 720 orders; and in each some field once more, wherever it stands, with the same value or another."""
    chance = random.Random(1)
    for order in permutations(HEADER):
        assert (
            nslip.encode(nslip.decode("@" + "|".join([*order, *SLOTS]) + "#"))
            == WHOLE[:-1] + "|" + "|".join(SLOTS) + "#"
        )
        fields = list(order) + chance.sample(SLOTS, 3)
        again = chance.choice(fields)
        place = chance.randrange(fields.index(again) + 1, len(fields) + 1)
        value = again[1:] if again[0] in "ut" or chance.random() < 0.5 else "2"
        fields.insert(place, again[0] + value)
        offset = 1 + sum(len(field) + 1 for field in fields[:place])
        assert refused(nslip, "@" + "|".join(fields) + "#") == (Reason.DUPLICATE, offset), fields


@pytest.mark.parametrize("zeros", [1, 2, 11, 40, 500])
def test_leading_zeros_are_read_and_not_written(nslip: Any, zeros: int) -> None:
    slots = [slot for slot in SLOTS if slot[0] not in "ut"]
    good = "@" + "|".join([*HEADER, *slots]) + "#"
    padded = "@" + "|".join(field[0] + "0" * zeros + field[1:] for field in [*HEADER, *slots]) + "#"
    message = nslip.decode(padded)
    assert message == nslip.decode(good)
    assert nslip.encode(message) == good and nslip.encode(message.replace(turn=0)) == good.replace("T1", "T0")
    kept = nslip.decode(padded[:-1] + "|x" + "0" * zeros + "5#", unknown="keep")
    assert nslip.encode(kept) == good[:-1] + "|x" + "0" * zeros + "5#", "what nobody knows is written as it was"
    if zeros < 11:  # a candidate in a log has at most eleven digits in its first field
        assert [found.message.turn for found in scan(padded.encode(), wire="nslip").messages()] == [1]


def test_no_field_gets_a_value_that_nobody_gave(nslip: Any) -> None:
    """Each field without one, wherever it stands; and each field of the header left out."""
    every = [*HEADER, *SLOTS]
    for place, field in enumerate(every):
        fields = [*every[:place], field[0], *every[place + 1 :]]
        offset = 2 + sum(len(one) + 1 for one in fields[:place])
        assert refused(nslip, "@" + "|".join(fields) + "#") == (Reason.EMPTY_VALUE, offset), field
    for field in HEADER:
        fields = [one for one in every if one != field]
        assert refused(nslip, "@" + "|".join(fields) + "#")[0] is Reason.MISSING_FIELD
    assert raised(DecodeError, base62.decode, "").reason is Reason.EMPTY_VALUE


# --- random messages come back whole; damaged wires have the same outcome on both cores -------------------------------


UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@pytest.mark.parametrize("backend", BACKENDS)
@given(fields=twins.fields)
def test_messages_come_back(backend: str, fields: tuple[Any, ...]) -> None:
    nslip = twins.core_of(backend)
    message = nslip.SlipMessage(*fields)
    wire = nslip.encode(message)
    back = nslip.decode(wire)
    assert back == message
    assert list(back.slots.items()) == list(fields[6].items())
    assert nslip.encode(back) == wire
    assert nslip.decode(b"  " + wire.encode() + b"\r\n") == message


@pytest.mark.parametrize("backend", BACKENDS)
def test_short_texts_are_never_taken_for_one_another(backend: str) -> None:
    """Short strings are remembered by their bytes: each comes back as itself, whichever came before."""
    nslip = twins.core_of(backend)
    chance = random.Random(62)
    texts = ["".join(letters) for size in range(9) for letters in product("ab", repeat=size)]
    texts += ["".join(chance.choices("abc", k=size)) for size in range(9, 20) for _ in range(40)]
    for _ in range(3):
        chance.shuffle(texts)
        for status, tag in zip(texts, reversed(texts), strict=True):
            message = nslip.decode(f'@a1|f2|c1|S2|d0|T3|u"{status}"|t"{tag}"#')
            assert list(message.slots.values()) == [status, tag]


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_kept_fields_come_back(backend: str, wire: str) -> None:
    nslip = twins.core_of(backend)
    message = nslip.decode(wire, unknown="keep")
    again = nslip.encode(message)
    assert twins.plain(nslip.decode(again, unknown="keep")) == twins.plain(message)
    if not message.extra:
        assert nslip.encode(nslip.decode(wire)) == again


@needs_both
def test_damaged_wires_have_one_outcome() -> None:
    native, pure = (twins.core_of(backend) for backend in ("native", "pure"))
    chance = random.Random(4356)
    good = bad = 0
    for number in range(rounds(2000)):
        unknown = "keep" if number % 2 else "error"
        wire = twins.damaged(pure.encode(pure.SlipMessage(*twins.random_fields(chance))).encode(), chance)
        ours = twins.plain_outcome(native.decode, wire, unknown=unknown)
        assert ours == twins.plain_outcome(pure.decode, wire, unknown=unknown), (wire, unknown)
        good, bad = good + (ours[0] == "value"), bad + (ours[0] != "value")
    assert good > 20
    assert bad > 200


@needs_both
@given(
    twins.fields,
    st.integers(0, 6),
    twins.anything | st.dictionaries(st.sampled_from([0, 1, 12, 20, 99, -1, True, "TAG", None, 2**70]), twins.anything),
)
def test_wrong_values_are_refused_alike(fields: tuple[Any, ...], place: int, value: Any) -> None:
    values = [*fields]
    values[place] = value
    outcomes = []
    for backend in ("native", "pure"):
        nslip = twins.core_of(backend)
        outcomes.append(twins.outcome(lambda core=nslip: core.encode(core.SlipMessage(*values))))
    assert outcomes[0] == outcomes[1]


def test_every_cut_and_every_bit_flipped_has_one_outcome(core: Any) -> None:
    """A message has no check sum: a flipped bit may give another good one, but never a crash or the same message. What
    is cut off is never one."""
    nslip = core("nslip.codec")
    wire = '@a3|f0|c3|S0|d1|T1|gH|u"d\u00e9\\"j\\\\"|t"\U0001f600"#'.encode()
    original = twins.plain(nslip.decode(wire))
    for place in range(len(wire)):
        raised(DecodeError, nslip.decode, wire[:place])
        for bit in range(8):
            data = bytearray(wire)
            data[place] ^= 1 << bit
            assert twins.plain_outcome(nslip.decode, data) != ("value", original)


def test_no_string_forges_a_field(core: Any) -> None:
    nslip = core("nslip.codec")
    fields = (3, 1, 0, 1, nslip.SlipMessage(0, 0, 0, 0, 0, 0).act, 0)
    for tag in ("|S9|a5|u", 'done"|S9|q0|u', '"|S9|t"', '\\"|S9', "#@a5|f0|c9|S9|d9|T9#", "\\", '"', '\\"', '"#'):
        message = nslip.SlipMessage(*fields, {20: tag})
        back = nslip.decode(nslip.encode(message))
        assert (back.src, dict(back.slots)) == (0, {20: tag})


def test_the_upstream_lines(core: Any) -> None:
    """Real traffic: each line decodes, and encodes to the same bytes, one by one and all at once."""
    nslip = core("nslip.codec")
    data = UPSTREAM.read_bytes()
    lines = data.splitlines()
    assert len(lines) == 4356
    messages = [nslip.decode(line) for line in lines]
    assert [nslip.encode(message).encode() for message in messages] == lines
    assert nslip.decode_many(data) == nslip.decode_many(lines) == messages


def test_many_are_written_as_each_is() -> None:
    """On lines of their own, so none with a newline in a text."""
    data = UPSTREAM.read_bytes()
    messages = codec.decode_many(data)
    assert codec.encode_many(messages) == b"".join(line + b"\n" for line in data.splitlines())
    messages[1] = codec.decode('@a1|f0|c1|S0|d1|T1|t"a\nb"#')
    caught = raised(EncodeError, codec.encode_many, messages)
    assert (caught.reason, caught.path) == (Reason.NEWLINE_IN_STRING, "/1")


@needs_both
def test_many_damaged_lines_have_one_outcome() -> None:
    """decode_many of lines, of one buffer and of a list; what was read is written again."""
    native, pure = (twins.core_of(backend) for backend in ("native", "pure"))
    chance = random.Random(77)
    for number in range(rounds(300)):
        lines = [pure.encode(pure.SlipMessage(*twins.random_fields(chance))).encode() for _ in range(3)]
        lines += [b"", b" \t", b"\r"][: chance.randrange(4)]
        chance.shuffle(lines)
        if number % 3:
            lines[0] = twins.damaged(lines[0], chance)
        lines += [b"@a3|f0|c1|S0|d1|T1|gH|x5#"] * (number % 7 == 0)
        unknown = "keep" if number % 2 else "error"

        def read(core: Any, many: Any, unknown: str = unknown) -> tuple[Any, Any]:
            messages = core.decode_many(many, unknown=unknown)
            return [*map(twins.plain, messages)], [core.encode(message) for message in messages]

        for data in (b"\n".join(lines), b"\r\n".join(lines) + b"\n", lines):
            assert twins.outcome(read, native, data) == twins.outcome(read, pure, data), data
