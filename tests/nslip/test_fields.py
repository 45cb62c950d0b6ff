"""Fields of a message: in which order, how often, with which digits, and never without a value; on both cores."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tests.nslip import binary, twins
from turnwire import scan
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.nslip import _codec_py as pure
from turnwire.nslip import base62, from_cbor, from_protobuf, to_cbor, to_protobuf

HEADER = ["a3", "f0", "c3", "S0", "d1", "T1"]
SLOTS = ["gH", "kg", "p1", "r2", "q2", "s9", 'u"ok"', "e4", 't"x"']
WHOLE = "@" + "|".join(HEADER) + "#"


def refused(nslip: Any, wire: str) -> tuple[Reason, int | None]:
    with pytest.raises(DecodeError) as caught:
        nslip.decode(wire)
    return caught.value.reason, caught.value.offset


def test_header_fields_come_in_any_order_and_each_once(core: Any) -> None:
    """All 720 orders; and in each some field once more, wherever it stands, with the same value or another."""
    nslip, chance = core("nslip.codec"), random.Random(1)
    for order in itertools.permutations(HEADER):
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
def test_leading_zeros_are_read_and_not_written(core: Any, zeros: int) -> None:
    nslip = core("nslip.codec")
    slots = [slot for slot in SLOTS if slot[0] not in "ut"]
    good = "@" + "|".join([*HEADER, *slots]) + "#"
    padded = "@" + "|".join(field[0] + "0" * zeros + field[1:] for field in [*HEADER, *slots]) + "#"
    message = nslip.decode(padded)
    assert message == nslip.decode(good)
    assert nslip.encode(message) == good and nslip.encode(message.replace(turn=0)) == good.replace("T1", "T0")
    assert nslip.encode_many([message]) == good.encode() + b"\n"
    kept = nslip.decode(padded[:-1] + "|x" + "0" * zeros + "5#", unknown="keep")
    assert nslip.encode(kept) == good[:-1] + "|x" + "0" * zeros + "5#", "what nobody knows is written as it was"
    if zeros < 11:  # a candidate in a log has at most eleven digits in its first field
        assert [found.message.turn for found in scan(padded.encode(), wire="nslip").messages()] == [1]


def test_no_field_gets_a_value_that_nobody_gave(core: Any) -> None:
    """Each field without one, wherever it stands; and each field of the header left out."""
    nslip = core("nslip.codec")
    every = [*HEADER, *SLOTS]
    for place, field in enumerate(every):
        fields = [*every[:place], field[0], *every[place + 1 :]]
        offset = 2 + sum(len(one) + 1 for one in fields[:place])
        assert refused(nslip, "@" + "|".join(fields) + "#") == (Reason.EMPTY_VALUE, offset), field
    for field in HEADER:
        fields = [one for one in every if one != field]
        assert refused(nslip, "@" + "|".join(fields) + "#")[0] is Reason.MISSING_FIELD
    with pytest.raises(DecodeError) as caught:
        base62.decode("")
    assert caught.value.reason is Reason.EMPTY_VALUE


def _cbor_again(data: bytes) -> list[bytes]:
    """A CBOR form with one of the keys of its map a second time, in front and behind; then in longer heads."""
    count, rest = data[0] & 31, data[1:]
    again = [bytes([0xA0 | count + 1]) + bytes([key, 0]) + rest for key in range(9)]
    again += [bytes([0xA0 | count + 1]) + rest + bytes([0x18, key, 0]) for key in range(9)]
    return again


def test_no_binary_form_has_a_field_twice_or_a_length_that_is_open(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = binary.use(monkeypatch, backend)
    message = core.decode(WHOLE[:-1] + "|" + "|".join(SLOTS) + "#")
    data = to_cbor(message)
    assert twins.plain(from_cbor(data)) == twins.plain(message)
    known = [key for key in range(9) if key != 8]  # without the oldest reader, which is absent
    for key in known:
        for again in (_cbor_again(data)[key], _cbor_again(data)[9 + key]):
            with pytest.raises(DecodeError) as caught:
                from_cbor(again)
            assert caught.value.reason is Reason.DUPLICATE, key
    slots = data.index(b"\x07\x89")
    opened = data[: slots + 1] + b"\x9f" + data[slots + 2 :] + b"\xff"
    text = data.replace(b"\x62ok", b"\x7f\x62ok\xff")
    for indefinite in (b"\xbf" + data[1:] + b"\xff", opened, text):
        assert indefinite != data
        with pytest.raises(DecodeError):
            from_cbor(indefinite)
    data = to_protobuf(message)
    fields = list(_fields(data))
    assert b"".join(raw for _, raw in fields) == data
    for number, raw in fields:
        if number == 10:  # an entry: each of its own fields again
            inner = raw[2:]
            for _, part in _fields(inner):
                grown = inner + part
                with pytest.raises(DecodeError) as caught:
                    from_protobuf(data.replace(raw, raw[:1] + bytes([len(grown)]) + grown, 1))
                assert caught.value.reason is Reason.DUPLICATE
        else:
            with pytest.raises(DecodeError) as caught:
                from_protobuf(data + raw)
            assert caught.value.reason is Reason.DUPLICATE


def _fields(data: bytes) -> Any:
    """(number, bytes) of each field of a protobuf message: short numbers and short lengths only."""
    place = 0
    while place < len(data):
        start, key = place, data[place]
        place += 1
        if key & 7 == 2:
            place += 1 + data[place]
        else:
            while data[place] & 128:
                place += 1
            place += 1
        yield key >> 3, data[start:place]


MESSAGE = {"conv_id": 3, "turn": 1, "src": 0, "dst": 1, "act": 3, "frame": 0, "slots": {}}


@pytest.mark.parametrize(
    ("fields", "reason", "path", "text"),
    [
        ({"turn": 1.5}, "wrong_type", "/turn", "an integer is needed, not float"),
        ({"conv_id": True}, "wrong_type", "/conv_id", "an integer is needed, not bool"),
        ({"src": -1}, "negative", "/src", "integers are non-negative"),
        ({"dst": 2**64}, "too_large", "/dst", "the integer is over 2**64-1"),
        ({"act": 11}, "unknown_act", "/act", "11 is not an act"),
        ({"frame": 5}, "unknown_frame", "/frame", "5 is not a frame"),
        ({"slots": [1]}, "wrong_type", "/slots", "slots is a dict"),
        ({"slots": {99: 1}}, "unknown_slot", "/slots/99", "99 is not a slot"),
        ({"slots": {"g": 1}}, "unknown_slot", "/slots/g", "'g' is not a slot"),
        ({"slots": {0: "1"}}, "wrong_type", "/slots/GOAL_ID", "an integer is needed, not str"),
        ({"slots": {20: 5}}, "wrong_type", "/slots/TAG", "TAG takes a string, not int"),
        ({"slots": {20: "\ud800"}}, "lone_surrogate", "/slots/TAG", "a lone surrogate has no UTF-8 form"),
        ({"extra": [1]}, "wrong_type", "/extra", "extra is a dict"),
        ({"extra": {"S": "9"}}, "unknown_slot", "/extra/S", "'S' is not a free prefix"),
        ({"extra": {"x": "|"}}, "wrong_type", "/extra/x", "a kept value is base62 digits or a quoted string"),
        ({"extra": {"x": 9}}, "wrong_type", "/extra/x", "a kept value is base62 digits or a quoted string"),
        ({"extra": {"x": '"\ud800"'}}, "lone_surrogate", "/extra/x", "a lone surrogate has no UTF-8 form"),
        ({"extra": {"x": "z" * 11}}, "too_large", "/extra/x", "the integer is over 2**64-1"),
    ],
)
def test_what_is_not_written_is_said_in_words(
    core: Any, fields: dict[str, Any], reason: str, path: str, text: str
) -> None:
    nslip = core("nslip.codec")
    with pytest.raises(EncodeError) as caught:
        nslip.encode(nslip.SlipMessage(**MESSAGE | fields))
    assert (caught.value.reason, caught.value.path, caught.value.text) == (reason, path, text)


def test_only_a_message_is_written(core: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        core("nslip.codec").encode(5)
    assert (caught.value.reason, caught.value.text) == ("wrong_type", "a SlipMessage is encoded, not int")


def test_the_first_message_is_read_as_any_other(core: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pure core makes its tables when the first message comes: each number of two digits is right in them."""
    nslip, encode_number = core("nslip.codec"), core("nslip.base62").encode
    if nslip is pure:
        monkeypatch.setattr(pure, "_SMALL", {})
        monkeypatch.setattr(pure, "_common", pure._prepared)
        monkeypatch.delattr(pure, "_slots_of")
    for number in range(62**2 + 2):
        message = nslip.decode(f"@a3|f0|c3|S0|d1|T{encode_number(number)}|g{encode_number(number)}#")
        assert (message.turn, message.slots[0]) == (number, number)
