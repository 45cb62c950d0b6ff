"""The CBOR form: round trips, fixed bytes, versions to come, and refusals of any bytes whatsoever."""

from __future__ import annotations

import random
import sys
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.nslip import binary, twins
from turnwire import LIMITS, DecodeError, EncodeError, MissingDependency, Reason
from turnwire.nslip import decode, encode, from_cbor, from_protobuf, to_cbor, to_protobuf
from turnwire.nslip.cbor import KEYS

GOOD: dict[Any, Any] = {0: 1, 1: 3, 2: 1, 3: 0, 4: 1, 5: 3, 6: 0, 7: [[0, 17], [20, "ok"]]}
GOOD_WIRE = '@a3|f0|c3|S0|d1|T1|gH|t"ok"#'


def refusal(data: Any) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        from_cbor(data)
    assert caught.value.wire == "nslip"
    assert caught.value.line is None
    assert str(caught.value).isprintable()
    return caught.value


def changed(**values: Any) -> bytes:
    """The good map with some fields changed (by name) or, for None, left out."""
    fields = {KEYS[name]: value for name, value in values.items()}
    return cbor2.dumps({key: value for key, value in (GOOD | fields).items() if value is not None}, canonical=True)


@pytest.mark.parametrize("backend", BACKENDS)
@given(fields=twins.fields)
def test_messages_come_back(backend: str, fields: tuple[Any, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        core = binary.use(patch, backend)
        message = core.SlipMessage(*fields)
        back = from_cbor(to_cbor(message))
        assert type(back) is core.SlipMessage
        assert twins.plain(back) == twins.plain(message)


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_kept_fields_come_back(backend: str, wire: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        core = binary.use(patch, backend)
        message = core.decode(wire, unknown="keep")
        back = from_cbor(to_cbor(message))
        assert twins.plain(back) == twins.plain(message)
        assert core.encode(back) == core.encode(message)


def test_the_bytes_are_fixed() -> None:
    """Golden bytes: they may not change while the schema version is 1."""
    assert to_cbor(decode(GOOD_WIRE)).hex() == "a800010103020103000401050306000782820011821462" + b"ok".hex()
    assert to_cbor(decode('@a3|f07|c3|S0|d1|T1|x"q"#', unknown="keep")).hex() == (
        "a80001010302010300040105030662" + b"07".hex() + "0781826178" + "63" + b'"q"'.hex()
    )


def test_the_bytes_are_deterministic() -> None:
    data = to_cbor(decode(GOOD_WIRE))
    assert data == cbor2.dumps(cbor2.loads(data), canonical=True)
    assert cbor2.loads(data) == GOOD


def test_any_bytes_like() -> None:
    data = to_cbor(decode(GOOD_WIRE))
    for form in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        assert from_cbor(form) == decode(GOOD_WIRE)
    for wrong in (None, 7, data.hex(), [data], memoryview(data + data)[::2]):
        assert refusal(wrong).reason is Reason.WRONG_TYPE


def test_numbers_in_longer_forms_are_read() -> None:
    long = bytes.fromhex("bb0000000000000008" + "1b0000000000000000" + "1901") + b"\x00"
    assert refusal(long).reason is Reason.BAD_ENCODING  # an indefinite map
    data = b"\xb8\x08" + b"\x18\x00" + b"\x19\x00\x01" + cbor2.dumps(GOOD, canonical=True)[3:]
    assert from_cbor(data) == decode(GOOD_WIRE)


# --- versions to come -----------------------------------------------------------------------------------------------


def test_a_later_minor_version_is_survived() -> None:
    later = changed(schema_version=2)
    assert from_cbor(later) == decode(GOOD_WIRE)
    fields = cbor2.loads(later)
    fields |= {9: "deadline", 23: [1, {"x": None}], 4096: 1.5, -1: b"private", "vendor": cbor2.CBORTag(1, 0)}
    fields[7] = [[0, 17, {"unit": "s"}], ["x", "5"], [20, "ok", 1, 2]]
    message = from_cbor(cbor2.dumps(fields))
    assert encode(message) == '@a3|f0|c3|S0|d1|T1|gH|x5|t"ok"#'
    assert from_cbor(cbor2.dumps(fields | {8: 1})) == message


def test_a_frame_to_come_is_kept() -> None:
    for frame in (7, "7"):
        message = from_cbor(changed(frame=frame, schema_version=3))
        assert (message.frame, dict(message.extra)) == (7, {"f": "7"})
        assert encode(message) == '@a3|f7|c3|S0|d1|T1|gH|t"ok"#'
    assert from_cbor(changed(frame="00")) == decode(GOOD_WIRE)


def test_a_later_reader_knows_what_an_earlier_one_kept() -> None:
    """Once a slot is in the schema, its prefix is read as the slot."""
    assert from_cbor(changed(slots=[["g", "0H"], ["t", '"o\\"k"']])).slots == {0: 17, 20: 'o"k'}


def test_a_breaking_version_is_refused() -> None:
    for version, oldest in ((2, 2), (3, 2), (0, None), (0, 1), (2, 3), (1, 0)):
        error = refusal(changed(schema_version=version, oldest_reader=oldest))
        assert (error.reason, error.path, error.offset) == (Reason.UNSUPPORTED_VERSION, "/schema_version", 2)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["schema_version", "conv_id", "turn", "src", "dst", "act", "frame", "slots"])
def test_every_field_is_required(name: str) -> None:
    error = refusal(changed(**{name: None}))
    assert (error.reason, error.path) == (Reason.MISSING_FIELD, f"/{name}")


@pytest.mark.parametrize("name", ["schema_version", "oldest_reader", "conv_id", "turn", "src", "dst", "act"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1", Reason.WRONG_TYPE),
        (b"1", Reason.WRONG_TYPE),
        (1.0, Reason.WRONG_TYPE),
        (True, Reason.WRONG_TYPE),
        (cbor2.undefined, Reason.WRONG_TYPE),
        ([1], Reason.WRONG_TYPE),
        ({1: 1}, Reason.WRONG_TYPE),
        (cbor2.CBORTag(0, "2020"), Reason.WRONG_TYPE),
        (-1, Reason.NEGATIVE),
        (-(2**70), Reason.NEGATIVE),
        (2**64, Reason.TOO_LARGE),
    ],
    ids=repr,
)
def test_numbers_are_plain(name: str, value: Any, reason: Reason) -> None:
    data = changed(**{name: value})
    error = refusal(data)
    assert (error.reason, error.path) == (reason, f"/{name}")
    assert data[error.offset :].startswith(cbor2.dumps(value, canonical=True))


@pytest.mark.parametrize(
    ("values", "reason", "path"),
    [
        ({"act": 11}, Reason.UNKNOWN_ACT, "/act"),
        ({"frame": -1}, Reason.NEGATIVE, "/frame"),
        ({"frame": ""}, Reason.EMPTY_VALUE, "/frame"),
        ({"frame": "x|S9"}, Reason.BAD_DIGIT, "/frame"),
        ({"frame": "z" * 12}, Reason.TOO_LARGE, "/frame"),
        ({"frame": '"7"'}, Reason.BAD_DIGIT, "/frame"),
        ({"slots": 5}, Reason.WRONG_TYPE, "/slots"),
        ({"slots": {0: 17}}, Reason.WRONG_TYPE, "/slots"),
        ({"slots": [0, 17]}, Reason.WRONG_TYPE, "/slots"),
        ({"slots": [[0]]}, Reason.WRONG_TYPE, "/slots"),
        ({"slots": [[[0], 1]]}, Reason.WRONG_TYPE, "/slots/0"),
        ({"slots": [[0, 1], [0, 2]]}, Reason.DUPLICATE, "/slots/GOAL_ID"),
        ({"slots": [[0, 1], ["g", "2"]]}, Reason.DUPLICATE, "/slots/GOAL_ID"),
        ({"slots": [["x", "1"], ["x", "2"]]}, Reason.DUPLICATE, "/slots/x"),
        ({"slots": [[99, 1]]}, Reason.UNKNOWN_SLOT, "/slots/99"),
        ({"slots": [[-1, 1]]}, Reason.UNKNOWN_SLOT, "/slots/-1"),
        ({"slots": [[0, "1"]]}, Reason.WRONG_TYPE, "/slots/GOAL_ID"),
        ({"slots": [[20, 1]]}, Reason.WRONG_TYPE, "/slots/TAG"),
        ({"slots": [[0, -1]]}, Reason.NEGATIVE, "/slots/GOAL_ID"),
        ({"slots": [["S", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["f", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["xx", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["\u00e9", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["|", "9"]]}, Reason.UNKNOWN_SLOT, "/slots"),
        ({"slots": [["x", 9]]}, Reason.WRONG_TYPE, "/slots/x"),
        ({"slots": [["x", "9|S9"]]}, Reason.WRONG_TYPE, "/slots/x"),
        ({"slots": [["x", '"a"|S9|t"']]}, Reason.WRONG_TYPE, "/slots/x"),
        ({"slots": [["x", '"a\\n"']]}, Reason.WRONG_TYPE, "/slots/x"),
        ({"slots": [["x", "z" * 12]]}, Reason.TOO_LARGE, "/slots/x"),
        ({"slots": [["g", '"a"']]}, Reason.WRONG_TYPE, "/slots/GOAL_ID"),
        ({"slots": [[0, 1]] * 257}, Reason.TOO_MANY_FIELDS, "/slots"),
    ],
    ids=repr,
)
def test_refused_values(values: dict[str, Any], reason: Reason, path: str) -> None:
    error = refusal(changed(**values))
    assert (error.reason, error.path) == (reason, path)
    assert error.offset is not None


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"", Reason.BAD_ENCODING, 0),
        (b"\x01", Reason.WRONG_TYPE, 0),
        (b"\x80", Reason.WRONG_TYPE, 0),
        (b"\xa0", Reason.MISSING_FIELD, None),
        (b"\xa0\x00", Reason.TRAILING_JUNK, 1),
        (b"\xa1\x00", Reason.BAD_ENCODING, 2),
        (b"\xbf\x00\x01\xff", Reason.BAD_ENCODING, 0),
        (b"\xa1\x00\x7f\x61a\xff", Reason.BAD_ENCODING, 2),
        (b"\xa1\x00\x9f\xff", Reason.BAD_ENCODING, 2),
        (b"\xa1\x00\x1c", Reason.BAD_ENCODING, 2),
        (b"\xa1\x00\xff", Reason.BAD_ENCODING, 2),
        (b"\xa1\x00\xf8\x10", Reason.BAD_ENCODING, 2),
        (b"\xa2\x00\x01\x00\x01", Reason.DUPLICATE, 3),
        (b"\xa2\x00\x01\x18\x00\x01", Reason.DUPLICATE, 3),
        (b"\xa2\x61a\x01\x61a\x01", Reason.DUPLICATE, 4),
        (b"\xa1\x40\x01", Reason.WRONG_TYPE, 1),
        (b"\xa1\xf5\x01", Reason.WRONG_TYPE, 1),
        (b"\xa1\x80\x01", Reason.WRONG_TYPE, 1),
        (b"\xbb" + b"\xff" * 8, Reason.TOO_MANY_FIELDS, 0),
        (b"\xa1\x07\x9b" + b"\xff" * 8, Reason.BAD_ENCODING, 11),
        (b"\xa1\x18\x40\x7b" + b"\xff" * 8, Reason.BAD_ENCODING, 12),
        (b"\xa1\x18\x40" + b"\x81" * 200 + b"\x00", Reason.TOO_DEEP, 130),
        (b"\xa1\x18\x40" + b"\xc1" * 5_000_000, Reason.TOO_DEEP, 130),
        (b"\xa1\x18\x40\x99\x10\x00" + b"\x00" * 4096, Reason.TOO_MANY_FIELDS, 3),
    ],
    ids=lambda value: value[:12].hex() if isinstance(value, bytes) else str(value),
)
def test_refused_bytes(data: bytes, reason: Reason, offset: int | None) -> None:
    error = refusal(data)
    assert (error.reason, error.offset) == (reason, offset)


def test_bad_utf8_points_at_its_byte() -> None:
    data = changed().replace(b"\x62ok", b"\x62o\xff")
    error = refusal(data)
    assert (error.reason, error.offset) == (Reason.BAD_UTF8, data.index(b"\xff"))


def test_tags_that_cost_are_never_followed() -> None:
    """A decimal of 10**10**18, a regular expression, shared references: skipped where unknown, refused where known."""
    bomb = cbor2.CBORTag(4, [10**18, 1])
    for value in (bomb, cbor2.CBORTag(35, "(a+)+$"), cbor2.CBORTag(29, 0), cbor2.CBORTag(0, "no date")):
        assert from_cbor(cbor2.dumps(GOOD | {99: value})) == decode(GOOD_WIRE)
        assert refusal(changed(turn=value)).reason is Reason.WRONG_TYPE


def test_a_size_over_the_limit() -> None:
    assert refusal(b"\xa0" + bytes(16 << 20)).reason is Reason.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reason", binary.BAD_MESSAGES)
def test_what_encode_refuses_is_refused_here(backend: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    core = binary.use(monkeypatch, backend)
    message = binary.bad_message(core, reason)
    with pytest.raises(EncodeError) as text:
        core.encode(message)
    with pytest.raises(EncodeError) as form:
        to_cbor(message)
    assert (form.value.reason, form.value.path) == (text.value.reason, text.value.path)
    assert form.value.reason == reason


def test_cut_off_at_every_byte() -> None:
    data = to_cbor(decode(GOOD_WIRE))
    for length in range(len(data)):
        assert refusal(data[:length]).reason is Reason.BAD_ENCODING


@given(st.binary() | st.binary().map(lambda tail: b"\xa8\x00\x01\x01" + tail))
def test_any_bytes_are_judged(data: bytes) -> None:
    twins.outcome(from_cbor, data)


def test_damaged_bytes_are_judged() -> None:
    chance = random.Random(7049)
    start = to_cbor(decode('@a3|f07|c3|S0|d1|T1|x5|gH|u"done"|t"ok"#', unknown="keep"))
    outcomes = set()
    for _ in range(twins.rounds(4000)):
        found = twins.outcome(from_cbor, twins.damaged(start, chance))
        outcomes.add(found[0] if found[0] == "value" else found[1])
        if found[0] == "value":
            assert from_cbor(to_cbor(found[1])) == found[1]
    assert {"value", Reason.BAD_ENCODING, Reason.WRONG_TYPE, Reason.TRAILING_JUNK} <= outcomes


def test_without_cbor2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cbor2", None)
    for call in (lambda: to_cbor(decode(GOOD_WIRE)), lambda: from_cbor(b"\xa0")):
        with pytest.raises(MissingDependency, match=r"turnwire\[cbor\]"):
            call()


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_value_has_4096_items_at_most(more: int) -> None:
    """One for itself, and those in it, however they are nested."""
    items = 4095 + more
    for value in ([0] * items, [0] * (items - 1 - items // 2) + [[0] * (items // 2)]):
        data = cbor2.dumps({**GOOD, "more": value})
        if more > 0:
            assert refusal(data).reason is Reason.TOO_MANY_FIELDS
        else:
            assert encode(from_cbor(data)) == GOOD_WIRE


@pytest.mark.parametrize("tag", [2, 3])
@pytest.mark.parametrize("zeros", [0, 1, 3])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 20])
def test_whole_numbers_of_any_size_are_refused_by_what_they_are(tag: int, zeros: int, size: int) -> None:
    """What fits 64 bits is an item of the wrong type; what does not is out of range."""
    number = bytes(zeros) + b"\xab" * size
    data = changed(conv_id=0xCDEF).replace(b"\x19\xcd\xef", cbor2.dumps(cbor2.CBORTag(tag, number)))
    error = refusal(data)
    beyond = Reason.TOO_LARGE if tag == 2 else Reason.NEGATIVE
    assert error.reason is (beyond if size > 8 else Reason.WRONG_TYPE) and error.path == "/conv_id"


@pytest.mark.parametrize("nested", [2, 3])
def test_a_text_of_no_utf8_is_refused_where_it_is(nested: int) -> None:
    data = changed(slots=[[20, "a" * nested + "?"]]).replace(b"?", b"\xff")
    error = refusal(data)
    assert error.reason is Reason.BAD_UTF8 and error.offset == data.index(b"\xff")


@pytest.mark.parametrize("number", [LIMITS.fields - 1, LIMITS.fields, LIMITS.fields + 1])
def test_keys_and_slots_as_many_as_may_be(number: int) -> None:
    more = {f"k{key}": 0 for key in range(number - len(GOOD))}
    assert (cbor2.loads(cbor2.dumps({**GOOD, **more})) is not None) and len(GOOD) + len(more) == number
    data = cbor2.dumps({**GOOD, **more})
    if number <= LIMITS.fields:
        assert from_cbor(data).conv_id == 3
    else:
        assert refusal(data).reason is Reason.TOO_MANY_FIELDS
    reason = refusal(changed(slots=[[0, 1]] * number)).reason
    assert reason is (Reason.DUPLICATE if number <= LIMITS.fields else Reason.TOO_MANY_FIELDS)


@pytest.mark.parametrize("value", [0, 23, 24, 31, 32, 33, 255])
def test_simple_values_of_two_bytes(value: int) -> None:
    data = cbor2.dumps({**GOOD, "x": 0})[:-1] + bytes([0xF8, value])
    if value < 32:
        assert refusal(data).reason is Reason.BAD_ENCODING
    else:
        assert encode(from_cbor(data)) == GOOD_WIRE


def test_bytes_as_many_as_may_be() -> None:
    message = decode(GOOD_WIRE)
    for read, write in ((from_cbor, to_cbor), (from_protobuf, to_protobuf)):
        message.slots[20] = "x" * (1 << 22)  # its length is written in as many bytes as that of the longest
        message.slots[20] += "x" * (LIMITS.message - len(write(message)))
        most = len(write(message))
        message.slots[20] += "x"
        with pytest.raises(EncodeError) as refused:
            write(message)
        assert refused.value.reason is Reason.MESSAGE_TOO_LARGE
        assert most == LIMITS.message
        for size in (LIMITS.message, LIMITS.message + 1):
            with pytest.raises(DecodeError) as caught:
                read(bytes(size))
            assert (caught.value.reason is Reason.MESSAGE_TOO_LARGE) is (size > LIMITS.message)
