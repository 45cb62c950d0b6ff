"""The binary forms, CBOR and protobuf: round trips, fixed bytes, later versions, refused bytes; slip.proto."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cbor2
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given

from tests import vectors
from tests.conftest import BACKENDS, raised, rounds
from tests.nslip import twins
from tests.nslip.twins import BAD_MESSAGES, bad_message
from turnwire import LIMITS, DecodeError, EncodeError, Reason
from turnwire.nslip import Act, FrameType, Slot, binary, decode, encode, from_cbor, from_protobuf, to_cbor, to_protobuf
from turnwire.nslip.binary import KEYS


class Form(NamedTuple):
    """One of the two forms; built: the good message of it with some fields changed by name, None for one left out."""

    write: Callable[[Any], bytes]
    read: Callable[[Any], Any]
    built: Callable[..., bytes]


GOOD_WIRE = '@a3|f0|c3|S0|d1|T1|gH|t"ok"#'
GOOD: dict[Any, Any] = {0: 1, 1: 3, 2: 1, 3: 0, 4: 1, 5: 3, 6: 0, 7: [[0, 17], [20, "ok"]]}
PROTO = Path(binary.__file__).with_name("slip.proto")
VARINT, BYTES = 0, 2


def use(monkeypatch: pytest.MonkeyPatch, backend: str) -> Any:
    """Puts one core under the binary forms; gives that core."""
    core = twins.core_of(backend)
    monkeypatch.setattr(binary, "_core", core)
    monkeypatch.setattr(binary, "base62", twins.core_of(backend, "nslip.base62"))
    return core


def refusal(read: Callable[[Any], Any], data: Any) -> DecodeError:
    caught = raised(DecodeError, read, data)
    assert caught.wire == "nslip"
    assert caught.line is None
    assert str(caught).isprintable()
    return caught


def changed(**values: Any) -> bytes:
    fields = {KEYS[name]: value for name, value in values.items()}
    return cbor2.dumps({key: value for key, value in (GOOD | fields).items() if value is not None}, canonical=True)


def varint(number: int) -> bytes:
    groups = [number >> shift & 127 for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    return varint(number << 3 | BYTES) + varint(len(value)) + value


HEAD = {1: 1, 3: 3, 4: 1, 5: 0, 6: 1, 7: 3, 8: 0}


def built(changes: dict[int, Any] | None = None, slots: tuple[bytes, ...] = ()) -> bytes:
    """A message by field numbers; None leaves a field out."""
    fields = HEAD | (changes or {})
    head = b"".join(field(number, value) for number, value in fields.items() if value is not None)
    return head + b"".join(field(10, slot) for slot in slots)


GOAL = field(1, 0) + field(3, 17)
TAG = field(1, 20) + field(4, b"ok")


NUMBERS = {entry.name: number for number, entry in binary.MESSAGE.items()}
FORMS = {
    "cbor": Form(to_cbor, from_cbor, changed),
    "protobuf": Form(
        to_protobuf,
        from_protobuf,
        lambda **values: built({NUMBERS[name]: value for name, value in values.items()}, (GOAL, TAG)),
    ),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


# --- both ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_three_encodings_agree(backend: str, wire: str) -> None:
    """nSLIP, CBOR and protobuf, one after the other and back again, unknown slots and frames included."""
    with pytest.MonkeyPatch.context() as patch:
        core = use(patch, backend)
        message = core.decode(wire, unknown="keep")
        through = from_cbor(to_cbor(from_protobuf(to_protobuf(core.decode(core.encode(message), unknown="keep")))))
        assert type(through) is core.SlipMessage and twins.plain(through) == twins.plain(message)
        assert core.encode(through) == core.encode(message)
        assert to_protobuf(through) == to_protobuf(message)
        assert to_cbor(through) == to_cbor(message)


def test_any_bytes_like(form: Form) -> None:
    data = form.write(decode(GOOD_WIRE))
    for given_form in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        assert form.read(given_form) == decode(GOOD_WIRE)
    for wrong in (None, 7, data.hex(), [data], memoryview(data + data)[::2]):
        assert refusal(form.read, wrong).reason is Reason.WRONG_TYPE


@pytest.mark.parametrize("name", ["schema_version", "conv_id", "turn", "src", "dst", "act", "frame"])
def test_every_field_is_required(form: Form, name: str) -> None:
    error = refusal(form.read, form.built(**{name: None}))
    assert (error.reason, error.path) == (Reason.MISSING_FIELD, f"/{name}")


@pytest.mark.parametrize(("version", "oldest"), [(2, 2), (3, 2), (0, None), (0, 1), (2, 3), (1, 0)])
def test_a_breaking_version_is_refused(form: Form, version: int, oldest: int | None) -> None:
    error = refusal(form.read, form.built(schema_version=version, oldest_reader=oldest))
    assert (error.reason, error.path) == (Reason.UNSUPPORTED_VERSION, "/schema_version")
    assert error.offset == (2 if form.read is from_cbor else 0)
    assert form.read(form.built(schema_version=9, oldest_reader=1)) == decode(GOOD_WIRE)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reason", BAD_MESSAGES)
def test_what_encode_refuses_is_refused_here(
    backend: str, form: Form, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = use(monkeypatch, backend)
    message = bad_message(core, reason)
    text = raised(EncodeError, core.encode, message)
    caught = raised(EncodeError, form.write, message)
    assert (caught.reason, caught.path) == (text.reason, text.path)
    assert caught.reason == reason


def test_cut_off_at_every_byte(form: Form) -> None:
    """A cut between two fields of protobuf can leave a shorter message; never a wrong header, never another error."""
    data = form.write(decode(GOOD_WIRE))
    for length in range(len(data)):
        found = twins.outcome(form.read, data[:length])
        if form.read is from_cbor:
            assert found[1] is Reason.BAD_ENCODING
        elif found[0] == "value":
            assert encode(found[1]) in ("@a3|f0|c3|S0|d1|T1#", "@a3|f0|c3|S0|d1|T1|gH#")


def test_damaged_bytes_are_judged(form: Form) -> None:
    chance = random.Random(7049)
    start = form.write(decode('@a3|f07|c3|S0|d1|T1|x5|gH|u"done"|t"ok"#', unknown="keep"))
    outcomes = set()
    for _ in range(rounds(1500)):
        found = twins.outcome(form.read, twins.damaged(start, chance))
        outcomes.add(found[0] if found[0] == "value" else found[1])
        if found[0] == "value":
            assert form.read(form.write(found[1])) == found[1]
    assert {"value", Reason.BAD_ENCODING, Reason.WRONG_TYPE} <= outcomes


# --- CBOR ---------------------------------------------------------------------------------------------------------


def test_the_bytes_of_cbor_are_fixed() -> None:
    """Golden bytes: they may not change while the schema version is 1."""
    assert to_cbor(decode(GOOD_WIRE)).hex() == "a800010103020103000401050306000782820011821462" + b"ok".hex()
    assert to_cbor(decode('@a3|f07|c3|S0|d1|T1|x"q"#', unknown="keep")).hex() == (
        "a80001010302010300040105030662" + b"07".hex() + "0781826178" + "63" + b'"q"'.hex()
    )


def test_numbers_in_longer_forms_are_read() -> None:
    long = bytes.fromhex("bb0000000000000008" + "1b0000000000000000" + "1901") + b"\x00"
    assert refusal(from_cbor, long).reason is Reason.BAD_ENCODING  # an indefinite map
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


def test_a_frame_to_come_is_kept_in_cbor() -> None:
    for frame in (7, "7"):
        message = from_cbor(changed(frame=frame, schema_version=3))
        assert (message.frame, dict(message.extra)) == (7, {"f": "7"})
        assert encode(message) == '@a3|f7|c3|S0|d1|T1|gH|t"ok"#'
    assert from_cbor(changed(frame="00")) == decode(GOOD_WIRE)


def test_a_later_reader_knows_what_an_earlier_one_kept() -> None:
    """Once a slot is in the schema, its prefix is read as the slot."""
    assert from_cbor(changed(slots=[["g", "0H"], ["t", '"o\\"k"']])).slots == {0: 17, 20: 'o"k'}


# --- refusals -------------------------------------------------------------------------------------------------------


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
        (-(2**70), Reason.WRONG_TYPE),
        (2**64, Reason.WRONG_TYPE),
    ],
    ids=repr,
)
def test_numbers_are_plain(name: str, value: Any, reason: Reason) -> None:
    data = changed(**{name: value})
    error = refusal(from_cbor, data)
    assert (error.reason, error.path) == (reason, f"/{name}")
    assert data[error.offset :].startswith(cbor2.dumps(value, canonical=True))


def test_bad_utf8_points_at_its_byte() -> None:
    data = changed().replace(b"\x62ok", b"\x62o\xff")
    error = refusal(from_cbor, data)
    assert (error.reason, error.offset) == (Reason.BAD_UTF8, data.index(b"\xff"))


def test_tags_that_cost_are_never_followed() -> None:
    """A decimal of 10**10**18, a regular expression, shared references: skipped where unknown, refused where known."""
    bomb = cbor2.CBORTag(4, [10**18, 1])
    for value in (bomb, cbor2.CBORTag(35, "(a+)+$"), cbor2.CBORTag(29, 0), cbor2.CBORTag(0, "no date")):
        assert from_cbor(cbor2.dumps(GOOD | {99: value})) == decode(GOOD_WIRE)
        assert refusal(from_cbor, changed(turn=value)).reason is Reason.WRONG_TYPE


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_value_has_4096_items_at_most(more: int) -> None:
    """One for itself, and those in it, however they are nested."""
    items = 4095 + more
    for value in ([0] * items, [0] * (items - 1 - items // 2) + [[0] * (items // 2)]):
        data = cbor2.dumps({**GOOD, "more": value})
        if more > 0:
            assert refusal(from_cbor, data).reason is Reason.TOO_MANY_FIELDS
        else:
            assert encode(from_cbor(data)) == GOOD_WIRE


@pytest.mark.parametrize("number", [LIMITS.fields - 1, LIMITS.fields, LIMITS.fields + 1])
def test_keys_and_slots_as_many_as_may_be(number: int) -> None:
    more = {f"k{key}": 0 for key in range(number - len(GOOD))}
    assert (cbor2.loads(cbor2.dumps({**GOOD, **more})) is not None) and len(GOOD) + len(more) == number
    data = cbor2.dumps({**GOOD, **more})
    if number <= LIMITS.fields:
        assert from_cbor(data).conv_id == 3
    else:
        assert refusal(from_cbor, data).reason is Reason.TOO_MANY_FIELDS
    reason = refusal(from_cbor, changed(slots=[[0, 1]] * number)).reason
    assert reason is (Reason.DUPLICATE if number <= LIMITS.fields else Reason.TOO_MANY_FIELDS)


@pytest.mark.once
def test_bytes_as_many_as_may_be() -> None:
    message = decode(GOOD_WIRE)
    for read, write in ((from_cbor, to_cbor), (from_protobuf, to_protobuf)):
        message.slots[20] = "x" * (1 << 22)  # its length is written in as many bytes as that of the longest
        message.slots[20] += "x" * (LIMITS.message - len(write(message)))
        most = len(write(message))
        message.slots[20] += "x"
        assert raised(EncodeError, write, message).reason is Reason.MESSAGE_TOO_LARGE
        assert most == LIMITS.message
        for size in (LIMITS.message, LIMITS.message + 1):
            caught = raised(DecodeError, read, bytes(size))
            assert (caught.reason is Reason.MESSAGE_TOO_LARGE) is (size > LIMITS.message)


# --- protobuf -----------------------------------------------------------------------------------------------------


def test_the_bytes_of_protobuf_are_fixed() -> None:
    """Golden bytes: they may not change while the schema version is 1."""
    assert to_protobuf(decode(GOOD_WIRE)) == built(slots=(GOAL, TAG))
    assert built(slots=(GOAL, TAG)).hex() == "080118032001280030013803400052040800181152060814" + "2202" + b"ok".hex()
    kept = decode('@a3|f07|c3|S0|d1|T1|x"q"#', unknown="keep")
    assert to_protobuf(kept) == built({8: None, 9: b"07"}, (field(2, b"x") + field(5, b'"q"'),))


# --- the .proto file --------------------------------------------------------------------------------------------------


def test_others_read_and_write_what_the_file_says(tmp_path: Path) -> None:
    """The classes that the compiler makes of slip.proto, beside our own tables."""
    tools = pytest.importorskip("grpc_tools.protoc", reason="the compiler of .proto files")
    out = tmp_path / "slip.bin"
    assert tools.main(["protoc", f"-I{PROTO.parent}", f"--descriptor_set_out={out}", PROTO.name]) == 0
    file = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    assert [value.number for enum in file.enum_type for value in enum.value] == [*Act, *FrameType, *Slot]
    names = [{entry.number: entry.name for entry in message.field} for message in file.message_type]
    tables = binary.ENTRY, binary.MESSAGE
    assert names == [{number: entry.name for number, entry in table.items()} for table in tables]
    for wire in (GOOD_WIRE, '@aA|f07|czz|S0|d1|TLygHa16AHYF|x"q"|gz|u"a"#'):
        data = to_protobuf(decode(wire, unknown="keep"))
        theirs = compiled(file).FromString(data)
        assert theirs.SerializeToString(deterministic=True) == data
    later = copy_of(file)
    entry, message = later.message_type
    message.field.add(name="deadline", number=11, type=3, label=1)
    message.field.add(name="note", number=12, type=9, label=3)
    entry.field.add(name="unit", number=6, type=9, label=1)
    written = compiled(later)(schema_version=2, oldest_reader=1, conv_id=3, turn=1, src=0, dst=1, act=3, frame=0)
    written.deadline = -5
    written.note.extend(["a", "b"])
    written.slots.add(slot=0, number=17, unit="s")
    written.slots.add(prefix="x", kept="5")
    written.slots.add(slot=20, text="ok")
    assert encode(from_protobuf(written.SerializeToString())) == '@a3|f0|c3|S0|d1|T1|gH|x5|t"ok"#'


def copy_of(file: Any) -> Any:
    return descriptor_pb2.FileDescriptorProto.FromString(file.SerializeToString())


def compiled(file: Any) -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.SlipMessage"))


# --- versions to come -----------------------------------------------------------------------------------------------


def test_unknown_fields_of_every_wire_type() -> None:
    unknown = field(99, 5) + field(98, b"x") + b"\x99\x06" + bytes(8) + b"\x9d\x06" + bytes(4)
    assert from_protobuf(unknown + built(slots=(GOAL + unknown, TAG))) == decode(GOOD_WIRE)


def test_a_frame_to_come_is_kept_in_protobuf() -> None:
    for data in (built({8: 7}), built({8: None, 9: b"7"})):
        message = from_protobuf(data)
        assert (message.frame, dict(message.extra)) == (7, {"f": "7"})
    assert from_protobuf(built({8: None, 9: b"00"})) == decode("@a3|f0|c3|S0|d1|T1#")


# --- refusals -------------------------------------------------------------------------------------------------------


def test_no_appended_field_overrides_an_earlier_one() -> None:
    data = built()
    for number, value in HEAD.items():
        error = refusal(from_protobuf, data + field(number, value))
        assert (error.reason, error.offset) == (Reason.DUPLICATE, len(data))
    assert refusal(from_protobuf, data + field(9, b"7")).reason is Reason.DUPLICATE


@vectors.cases("nslip_binary")
def test_refused_bytes(case: dict[str, Any]) -> None:
    error = refusal(FORMS[case["form"]].read, bytes.fromhex(case["hex"]))
    assert (error.reason, error.path, error.offset) == (case["error"], case["path"], case["at"])


def test_millions_of_parts_are_refused_at_the_first_too_many() -> None:
    error = refusal(from_cbor, b"\xa1\x18\x40" + b"\xc1" * 5_000_000)
    assert (error.reason, error.offset) == (Reason.TOO_DEEP, 130)
    error = refusal(from_protobuf, b"\x98\x06\x00" * 1_000_000)
    assert (error.reason, error.offset) == (Reason.TOO_MANY_FIELDS, 768)
