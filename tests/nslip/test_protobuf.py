"""The protobuf form: round trips, fixed bytes, versions to come, refusals of any bytes, and the .proto file itself."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.nslip import binary, twins
from turnwire import DecodeError, EncodeError, MissingDependency, Reason
from turnwire.nslip import decode, encode, from_cbor, from_protobuf, protobuf, to_cbor, to_protobuf

GOOD_WIRE = '@a3|f0|c3|S0|d1|T1|gH|t"ok"#'
PROTO = Path(protobuf.__file__).with_name("slip.proto")
VARINT, BYTES = 0, 2


def refusal(data: Any) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        from_protobuf(data)
    assert caught.value.wire == "nslip"
    assert caught.value.line is None
    assert str(caught.value).isprintable()
    return caught.value


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


@pytest.mark.parametrize("backend", BACKENDS)
@given(fields=twins.fields)
def test_messages_come_back(backend: str, fields: tuple[Any, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        core = binary.use(patch, backend)
        message = core.SlipMessage(*fields)
        back = from_protobuf(to_protobuf(message))
        assert type(back) is core.SlipMessage
        assert twins.plain(back) == twins.plain(message)


@pytest.mark.parametrize("backend", BACKENDS)
@given(wire=twins.kept_wires())
def test_three_encodings_agree(backend: str, wire: str) -> None:
    """nSLIP, CBOR and protobuf, one after the other and back again, unknown slots and frames included."""
    with pytest.MonkeyPatch.context() as patch:
        core = binary.use(patch, backend)
        message = core.decode(wire, unknown="keep")
        through = from_cbor(to_cbor(from_protobuf(to_protobuf(core.decode(core.encode(message), unknown="keep")))))
        assert twins.plain(through) == twins.plain(message)
        assert core.encode(through) == core.encode(message)
        assert to_protobuf(through) == to_protobuf(message)
        assert to_cbor(through) == to_cbor(message)


def test_the_bytes_are_fixed() -> None:
    """Golden bytes: they may not change while the schema version is 1."""
    assert to_protobuf(decode(GOOD_WIRE)) == built(slots=(GOAL, TAG))
    assert built(slots=(GOAL, TAG)).hex() == "080118032001280030013803400052040800181152060814" + "2202" + b"ok".hex()
    kept = decode('@a3|f07|c3|S0|d1|T1|x"q"#', unknown="keep")
    assert to_protobuf(kept) == built({8: None, 9: b"07"}, (field(2, b"x") + field(5, b'"q"'),))


def test_any_bytes_like() -> None:
    data = to_protobuf(decode(GOOD_WIRE))
    for form in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        assert from_protobuf(form) == decode(GOOD_WIRE)
    for wrong in (None, 7, data.hex(), [data], memoryview(data + data)[::2]):
        assert refusal(wrong).reason is Reason.WRONG_TYPE


# --- the .proto file --------------------------------------------------------------------------------------------------


def bare(file: Any) -> Any:
    """A descriptor without what only a compiler writes."""
    copy = descriptor_pb2.FileDescriptorProto.FromString(file.SerializeToString())
    copy.ClearField("source_code_info")
    for message in copy.message_type:
        for entry in message.field:
            entry.ClearField("json_name")
    return copy


def test_the_file_compiles_to_our_descriptor(tmp_path: Path) -> None:
    tools = pytest.importorskip("grpc_tools", reason="the compiler of .proto files")
    out = tmp_path / "slip.bin"
    include = Path(tools.__file__).parent / "_proto"
    arguments = [f"-I{PROTO.parent}", f"-I{include}", f"--descriptor_set_out={out}", PROTO.name]
    subprocess.run([sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", *arguments], check=True)
    compiled = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    compiled.name = protobuf.FILE
    assert bare(compiled) == bare(protobuf.file_descriptor())


def test_the_file_names_what_our_descriptor_has() -> None:
    """The same without a compiler: every `name = number;` of each block, and its type."""
    text = re.sub(r"//.*", "", PROTO.read_text("utf-8"))
    text = re.sub(r"oneof \w+ \{([^}]*)\}", r"\1", text)
    blocks = {
        name: re.findall(r"(?:(\w+) )?(\w+) = (\d+);", body)
        for name, body in re.findall(r"(?:enum|message) (\w+) \{([^}]*)\}", text)
    }
    file = protobuf.file_descriptor()
    ours: dict[str, list[tuple[str, str, str]]] = {
        enum.name: [("", value.name, str(value.number)) for value in enum.value] for enum in file.enum_type
    }
    for message in file.message_type:
        kinds = descriptor_pb2.FieldDescriptorProto.Type
        ours[message.name] = [
            (entry.type_name.split(".")[-1] or kinds.Name(entry.type)[5:].lower(), entry.name, str(entry.number))
            for entry in message.field
        ]
    assert blocks == ours
    assert f"package {file.package};" in text


def test_it_lives_beside_a_generated_module() -> None:
    """Somebody who compiled slip.proto has its names in the default pool; ours are in a pool of their own."""
    code = (
        "from google.protobuf import descriptor_pool\n"
        "from turnwire.nslip import protobuf, decode, to_protobuf, from_protobuf\n"
        "file = protobuf.file_descriptor(); file.message_type[0].name = 'Another'; del file.message_type[1:]\n"
        "descriptor_pool.Default().AddSerializedFile(file.SerializeToString())\n"
        "message = decode('@a3|f0|c3|S0|d1|T1#')\n"
        "assert from_protobuf(to_protobuf(message)) == message\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("runtime", ["python", "upb"])
def test_every_runtime_of_protobuf(runtime: str) -> None:
    code = (
        "from turnwire.nslip import decode, encode, to_protobuf, from_protobuf\n"
        "from turnwire import DecodeError\n"
        f"message = decode({GOOD_WIRE!r})\n"
        "assert from_protobuf(to_protobuf(message)) == message\n"
        "print(to_protobuf(message).hex())\n"
        "try: from_protobuf(to_protobuf(message) + b'\\x9b\\x06' * 100 + b'\\x9c\\x06' * 100)\n"
        "except DecodeError: pass\n"
    )
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": runtime}
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == to_protobuf(decode(GOOD_WIRE)).hex()


# --- versions to come -----------------------------------------------------------------------------------------------


def test_a_later_schema_is_survived() -> None:
    """A later writer with a new field, a new slot with its prefix, and a new field inside entries."""
    file = protobuf.file_descriptor()
    entry, message = file.message_type
    message.field.add(name="deadline", number=11, type=3, label=1)
    message.field.add(name="note", number=12, type=9, label=3)
    entry.field.add(name="unit", number=6, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    later = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{protobuf.PACKAGE}.SlipMessage"))
    written = later(schema_version=2, oldest_reader=1, conv_id=3, turn=1, src=0, dst=1, act=3, frame=0, deadline=-5)
    written.note.extend(["a", "b"])
    written.slots.add(slot=0, number=17, unit="s")
    written.slots.add(prefix="x", kept="5")
    written.slots.add(slot=20, text="ok")
    read = from_protobuf(written.SerializeToString())
    assert encode(read) == '@a3|f0|c3|S0|d1|T1|gH|x5|t"ok"#'


def test_unknown_fields_of_every_wire_type() -> None:
    unknown = field(99, 5) + field(98, b"x") + b"\x99\x06" + bytes(8) + b"\x9d\x06" + bytes(4)
    group = varint(100 << 3 | 3) + field(7, 9) + field(1, 99) + varint(100 << 3 | 4)
    assert from_protobuf(unknown + group + built(slots=(GOAL + unknown, TAG))) == decode(GOOD_WIRE)


def test_a_frame_to_come_is_kept() -> None:
    for data in (built({8: 7}), built({8: None, 9: b"7"})):
        message = from_protobuf(data)
        assert (message.frame, dict(message.extra)) == (7, {"f": "7"})
    assert from_protobuf(built({8: None, 9: b"00"})) == decode("@a3|f0|c3|S0|d1|T1#")


def test_a_breaking_version_is_refused() -> None:
    for version, oldest in ((2, 2), (3, 2), (0, None), (0, 1), (2, 3), (1, 0)):
        error = refusal(built({1: version, 2: oldest}))
        assert (error.reason, error.path, error.offset) == (Reason.UNSUPPORTED_VERSION, "/schema_version", 0)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_every_field_is_required() -> None:
    for number, name in {
        1: "schema_version",
        3: "conv_id",
        4: "turn",
        5: "src",
        6: "dst",
        7: "act",
        8: "frame",
    }.items():
        error = refusal(built({number: None}))
        assert (error.reason, error.path) == (Reason.MISSING_FIELD, f"/{name}")
    assert refusal(b"").reason is Reason.MISSING_FIELD


def test_no_appended_field_overrides_an_earlier_one() -> None:
    data = built()
    for number, value in HEAD.items():
        error = refusal(data + field(number, value))
        assert (error.reason, error.offset) == (Reason.DUPLICATE, len(data))
    assert refusal(data + field(9, b"7")).reason is Reason.DUPLICATE


@pytest.mark.parametrize(
    ("changes", "reason", "path"),
    [
        ({7: 11}, Reason.UNKNOWN_ACT, "/act"),
        ({7: 2**32 + 3}, Reason.TOO_LARGE, "/act"),
        ({7: 2**64 - 1}, Reason.NEGATIVE, "/act"),
        ({8: 2**32}, Reason.TOO_LARGE, "/frame"),
        ({1: 2**32 + 1}, Reason.TOO_LARGE, "/schema_version"),
        ({3: 2**64}, Reason.TOO_LARGE, None),
        ({3: 2**70}, Reason.BAD_ENCODING, None),
        ({3: b"3"}, Reason.WRONG_TYPE, "/conv_id"),
        ({7: b"3"}, Reason.WRONG_TYPE, "/act"),
        ({10: 5}, Reason.WRONG_TYPE, "/slots"),
        ({8: None, 9: 7}, Reason.WRONG_TYPE, "/kept_frame"),
        ({8: None, 9: b""}, Reason.EMPTY_VALUE, "/frame"),
        ({8: None, 9: b"7|S9"}, Reason.BAD_DIGIT, "/frame"),
        ({8: None, 9: b"\xff"}, Reason.BAD_UTF8, "/kept_frame"),
    ],
    ids=repr,
)
def test_refused_fields(changes: dict[int, Any], reason: Reason, path: str | None) -> None:
    error = refusal(built(changes))
    assert (error.reason, error.path) == (reason, path)
    assert error.offset is not None


@pytest.mark.parametrize(
    ("slots", "reason", "path"),
    [
        ((b"",), Reason.MISSING_FIELD, "/slots"),
        ((field(1, 0),), Reason.MISSING_FIELD, "/slots"),
        ((field(3, 5),), Reason.MISSING_FIELD, "/slots"),
        ((GOAL + field(3, 5),), Reason.DUPLICATE, "/value"),
        ((GOAL + field(2, b"x"),), Reason.DUPLICATE, "/key"),
        ((GOAL, GOAL), Reason.DUPLICATE, "/slots/GOAL_ID"),
        ((GOAL, field(2, b"g") + field(5, b"1")), Reason.DUPLICATE, "/slots/GOAL_ID"),
        ((field(1, 99) + field(3, 5),), Reason.UNKNOWN_SLOT, "/slots/99"),
        ((field(1, 0) + field(4, b"5"),), Reason.WRONG_TYPE, "/slots/GOAL_ID"),
        ((field(1, 20) + field(3, 5),), Reason.WRONG_TYPE, "/slots/TAG"),
        ((field(1, 0) + field(5, b"5"),), Reason.WRONG_TYPE, "/slots"),
        ((field(2, b"x") + field(4, b"5"),), Reason.WRONG_TYPE, "/slots"),
        ((field(2, b"S") + field(5, b"5"),), Reason.UNKNOWN_SLOT, "/slots"),
        ((field(2, b"x") + field(5, b"5|S9"),), Reason.WRONG_TYPE, "/slots/x"),
        ((field(1, 20) + field(4, b"\xed\xa0\x80"),), Reason.BAD_UTF8, "/text"),
        ((b"\x08",), Reason.BAD_ENCODING, None),
        ((GOAL,) * 300, Reason.TOO_MANY_FIELDS, None),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_refused_slots(slots: tuple[bytes, ...], reason: Reason, path: str | None) -> None:
    error = refusal(built(slots=slots))
    assert (error.reason, error.path) == (reason, path)
    assert error.offset is not None


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"\x08", Reason.BAD_ENCODING, 1),
        (b"\x00", Reason.BAD_ENCODING, 0),
        (b"\x0e", Reason.BAD_ENCODING, 0),
        (b"\x0f", Reason.BAD_ENCODING, 0),
        (b"\x80" * 11, Reason.BAD_ENCODING, 0),
        (b"\xff" * 9 + b"\x7f", Reason.TOO_LARGE, 0),
        (b"\xfa\x7f\xff\xff\xff\xff\x0f", Reason.BAD_ENCODING, 7),
        (b"\x99\x06" + bytes(7), Reason.BAD_ENCODING, 9),
        (b"\x9d\x06" + bytes(3), Reason.BAD_ENCODING, 5),
        (b"\x9b\x06", Reason.BAD_ENCODING, 2),
        (b"\x9c\x06", Reason.BAD_ENCODING, 0),
        (b"\x9b\x06\xa4\x06", Reason.BAD_ENCODING, 2),
        (b"\x9b\x06" * 1_000_000, Reason.TOO_DEEP, 256),
        (b"\x98\x06\x00" * 1_000_000, Reason.TOO_MANY_FIELDS, 768),
    ],
    ids=lambda value: value[:12].hex() if isinstance(value, bytes) else str(value),
)
def test_refused_bytes(data: bytes, reason: Reason, offset: int | None) -> None:
    error = refusal(data)
    assert (error.reason, error.offset) == (reason, offset)


def test_a_size_over_the_limit() -> None:
    assert refusal(bytes((16 << 20) + 1)).reason is Reason.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reason", binary.BAD_MESSAGES)
def test_what_encode_refuses_is_refused_here(backend: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    core = binary.use(monkeypatch, backend)
    with pytest.raises(EncodeError) as caught:
        to_protobuf(binary.bad_message(core, reason))
    assert caught.value.reason == reason


def test_cut_off_at_every_byte() -> None:
    """A cut between two fields can leave a shorter message, never a wrong header and never another error."""
    data = to_protobuf(decode(GOOD_WIRE))
    for length in range(len(data)):
        found = twins.outcome(from_protobuf, data[:length])
        if found[0] == "value":
            assert encode(found[1]) in ("@a3|f0|c3|S0|d1|T1#", "@a3|f0|c3|S0|d1|T1|gH#")


@given(st.binary() | st.binary().map(lambda tail: built() + tail))
def test_any_bytes_are_judged(data: bytes) -> None:
    twins.outcome(from_protobuf, data)


def test_damaged_bytes_are_judged() -> None:
    chance = random.Random(7049)
    start = to_protobuf(decode('@a3|f07|c3|S0|d1|T1|x5|gH|u"done"|t"ok"#', unknown="keep"))
    outcomes = set()
    for _ in range(twins.rounds(4000)):
        found = twins.outcome(from_protobuf, twins.damaged(start, chance))
        outcomes.add(found[0] if found[0] == "value" else found[1])
        if found[0] == "value":
            assert from_protobuf(to_protobuf(found[1])) == found[1]
    assert {"value", Reason.BAD_ENCODING, Reason.WRONG_TYPE, Reason.DUPLICATE} <= outcomes


def test_without_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    protobuf._message_class.cache_clear()
    for call in (lambda: to_protobuf(decode(GOOD_WIRE)), lambda: from_protobuf(b"")):
        with pytest.raises(MissingDependency, match=r"turnwire\[protobuf\]"):
            call()
