"""nSLIP messages as protobuf (section 6): ``slip.proto`` beside this file, its descriptor built from our own tables.

No generated module is needed, so any recent protobuf runtime does, and the descriptor lives in a pool of its own: it
clashes with nobody who compiled ``slip.proto`` himself. ``turnwire.nslip.schema`` has the rules about versions, unknown
slots and frames.

protobuf itself lets a later field override an earlier one, drops a known field of another wire type, and cuts enums
to 32 bits; appended bytes could forge a header that way. So what is read here is read field by field, without it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import MissingDependency, Reason
from turnwire.nslip import schema
from turnwire.nslip.schema import Entry, fault
from turnwire.nslip.spec import SCHEMA_VERSION, Act, FrameType, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import IntEnum

    from typing_extensions import Buffer

    from turnwire.nslip.codec import SlipMessage

__all__ = ["file_descriptor", "from_protobuf", "to_protobuf"]

PACKAGE = "turnwire.slip.v1"
FILE = "turnwire/slip/slip.proto"
_ENUMS: tuple[tuple[str, str, type[IntEnum]], ...] = (
    ("Act", "ACT_", Act),
    ("FrameType", "FRAME_TYPE_", FrameType),
    ("Slot", "SLOT_", Slot),
)


class _Field(NamedTuple):
    """One field of the schema. ``oneof`` is its group; "optional" makes a group of its own, which gives it presence."""

    number: int
    name: str
    kind: str
    oneof: str = "optional"


_ENTRY = (
    _Field(1, "slot", "Slot", "key"),
    _Field(2, "prefix", "string", "key"),
    _Field(3, "number", "uint64", "value"),
    _Field(4, "text", "string", "value"),
    _Field(5, "kept", "string", "value"),
)
_MESSAGE = (
    _Field(1, "schema_version", "uint32"),
    _Field(2, "oldest_reader", "uint32"),
    _Field(3, "conv_id", "uint64"),
    _Field(4, "turn", "uint64"),
    _Field(5, "src", "uint64"),
    _Field(6, "dst", "uint64"),
    _Field(7, "act", "Act"),
    _Field(8, "frame", "FrameType", "frame_kind"),
    _Field(9, "kept_frame", "string", "frame_kind"),
    _Field(10, "slots", "Entry", "repeated"),
)


def to_protobuf(message: SlipMessage) -> bytes:
    """The protobuf form of a message: the same bytes for the same message, fields in the order of their numbers.

    Raises EncodeError as ``encode`` does, and MissingDependency without the extra ``protobuf``.
    """
    content = schema.content(message)
    built = _message_class()(schema_version=SCHEMA_VERSION, act=content.act)
    for name in schema.NUMBERS:
        setattr(built, name, getattr(content, name))
    setattr(built, "frame" if isinstance(content.frame, int) else "kept_frame", content.frame)
    for entry in content.slots:
        added = built.slots.add()
        if isinstance(entry.key, str):
            added.prefix, added.kept = entry.key, entry.value
        else:
            added.slot = entry.key
            setattr(added, "number" if isinstance(entry.value, int) else "text", entry.value)
    data: bytes = built.SerializeToString(deterministic=True)
    if len(data) > LIMITS.message:
        raise schema.too_large_to_write(len(data))
    return data


def from_protobuf(data: Buffer) -> SlipMessage:
    """The message of its protobuf form; unknown fields are skipped, unknown slots and frames are kept.

    Raises DecodeError(bad_encoding|unsupported_version|missing_field|duplicate|wrong_type|too_large|...) with the
    offset in ``data`` and the field in ``path``, and MissingDependency without the extra ``protobuf``.
    """
    _message_class()  # for its refusal: reading needs none
    raw = schema.input_bytes(data)
    values: dict[str, Any] = {}
    offsets: dict[str, int] = {}
    entries: list[tuple[dict[str, Any], int]] = []
    for field, start, first, end in _known_fields(raw, 0, len(raw), _MESSAGE):
        if field.oneof != "repeated":
            _put(values, offsets, field, _value(raw, field, first, end), start)
            continue
        entry: dict[str, Any] = {}
        for inner, place, begin, stop in _known_fields(raw, first, end, _ENTRY):
            value = inner.name, _value(raw, inner, begin, stop)
            _put(entry, {}, inner._replace(name=inner.oneof), value, place)
        entries.append((entry, start))
    if "kept_frame" in values:
        if "frame" in values:
            raise fault(
                Reason.DUPLICATE, "frame and kept_frame", max(offsets["frame"], offsets["kept_frame"]), "/frame"
            )
        values["frame"], offsets["frame"] = values["kept_frame"], offsets["kept_frame"]
    schema.check_version(values, offsets)
    return schema.message(values, [_entry(*entry) for entry in entries], offsets)


def _put(values: dict[str, Any], offsets: dict[str, int], field: _Field, value: Any, start: int) -> None:
    if field.name in values:
        raise fault(Reason.DUPLICATE, "the field appears twice", start, f"/{field.name}")
    values[field.name], offsets[field.name] = value, start


def _entry(parts: dict[str, Any], offset: int) -> Entry:
    if len(parts) < 2:
        raise fault(Reason.MISSING_FIELD, "an entry has a slot or prefix, and a value", offset, "/slots")
    (key, name), (value, kept) = parts["key"], parts["value"]
    if (key == "prefix") != (value == "kept"):
        raise fault(Reason.WRONG_TYPE, "a prefix goes with kept, a slot with number or text", offset, "/slots")
    return Entry(name, kept, offset)


# --- the descriptor -----------------------------------------------------------------------------------------------


def file_descriptor() -> Any:
    """The FileDescriptorProto of ``slip.proto``, built from the tables of the specification."""
    try:
        from google.protobuf import descriptor_pb2
    except ImportError:
        raise MissingDependency(
            'protobuf is not installed: pip install "turnwire[protobuf]", or ".[protobuf]" in a checkout',
            name="google.protobuf",
        ) from None
    file = descriptor_pb2.FileDescriptorProto(name=FILE, package=PACKAGE, syntax="proto3")
    for name, prefix, members in _ENUMS:
        enum = file.enum_type.add(name=name)
        for member in members:
            enum.value.add(name=prefix + member.name, number=member.value)
    _add_message(file, "Entry", _ENTRY)
    _add_message(file, "SlipMessage", _MESSAGE)
    return file


def _add_message(file: Any, name: str, fields: tuple[_Field, ...]) -> None:
    message = file.message_type.add(name=name)
    groups = list(dict.fromkeys(field.oneof for field in fields if field.oneof not in ("optional", "repeated")))
    groups += [f"_{field.name}" for field in fields if field.oneof == "optional"]  # what protoc calls them
    for group in groups:
        message.oneof_decl.add(name=group)
    for field in fields:
        added = message.field.add(name=field.name, number=field.number)
        added.label = added.LABEL_REPEATED if field.oneof == "repeated" else added.LABEL_OPTIONAL
        if field.kind in ("uint32", "uint64", "string"):
            added.type = getattr(added, f"TYPE_{field.kind.upper()}")
        else:
            added.type = added.TYPE_MESSAGE if field.kind == "Entry" else added.TYPE_ENUM
            added.type_name = f".{PACKAGE}.{field.kind}"
        if field.oneof == "optional":
            added.proto3_optional = True
        if field.oneof != "repeated":
            added.oneof_index = groups.index(f"_{field.name}" if field.oneof == "optional" else field.oneof)


@cache
def _message_class() -> Any:
    file = file_descriptor()
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.SlipMessage"))


# --- the bytes ----------------------------------------------------------------------------------------------------

_VARINT, _FIXED64, _BYTES, _START, _END, _FIXED32 = range(6)
_BITS = {"uint32": 32, "uint64": 64, "Act": 31, "FrameType": 31, "Slot": 31}


def _known_fields(
    data: bytes, first: int, end: int, known: tuple[_Field, ...]
) -> Iterator[tuple[_Field, int, int, int]]:
    """(field, offset of its tag, offset of its value, end of that) of what is known in ``data[first:end]``."""
    fields = {field.number: field for field in known}
    for number, wire, start, begin, stop in _records(data, first, end):
        field = fields.get(number)
        if field is None:
            continue
        if wire != (_VARINT if field.kind in _BITS else _BYTES):
            text = f"wire type {wire} is not that of a {field.kind}"
            raise fault(Reason.WRONG_TYPE, text, start, f"/{field.name}")
        yield field, start, begin, stop


def _value(data: bytes, field: _Field, first: int, end: int) -> int | str:
    path = f"/{field.name}"
    bits = _BITS.get(field.kind)
    if bits is None:
        try:
            return data[first:end].decode()
        except UnicodeDecodeError as error:
            raise fault(Reason.BAD_UTF8, "the text is not valid UTF-8", first + error.start, path) from None
    value = _varint(data, first, end)[0]
    if bits == 31 and value >> 63:
        raise fault(Reason.NEGATIVE, "codes are non-negative", first, path)
    if value >> bits:
        raise fault(Reason.TOO_LARGE, f"more than {bits} bits", first, path)
    return value


def _records(data: bytes, place: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(field number, wire type, offset of the tag, offset of the value, its end) of each record; groups are skipped."""
    groups: list[int] = []
    count = 0
    while place < end:
        start = place
        count += 1
        if count > LIMITS.fields:
            raise fault(Reason.TOO_MANY_FIELDS, f"more than {LIMITS.fields} fields", start)
        tag, place = _varint(data, place, end)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29 or wire > _FIXED32:
            raise fault(Reason.BAD_ENCODING, "no field has such a tag", start)
        first = place
        if wire == _VARINT:
            place = _varint(data, place, end)[1]
        elif wire == _BYTES:
            length, first = _varint(data, place, end)
            place = first + length
        elif wire in (_FIXED64, _FIXED32):
            place += 8 if wire == _FIXED64 else 4
        elif wire == _START:
            groups.append(number)
            if len(groups) > LIMITS.nesting:
                raise fault(Reason.TOO_DEEP, f"groups nest deeper than {LIMITS.nesting}", start)
        elif not groups or groups.pop() != number:
            raise fault(Reason.BAD_ENCODING, "a group ends that was not begun", start)
        if place > end:
            raise fault(Reason.BAD_ENCODING, "a value is longer than what holds it", end)
        if wire != _END and len(groups) == (wire == _START):
            yield number, wire, start, first, place
    if groups:
        raise fault(Reason.BAD_ENCODING, "a group is never ended", end)


def _varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    """(value, offset after it) of at most ten bytes and 64 bits."""
    value = shift = 0
    start = place
    while True:
        if place >= end:
            raise fault(Reason.BAD_ENCODING, "the data ends in the middle of a number", end)
        byte = data[place]
        value |= (byte & 127) << shift
        place += 1
        shift += 7
        if byte < 128:
            break
        if shift == 70:
            raise fault(Reason.BAD_ENCODING, "a number of more than ten bytes", start)
    if value >> 64:
        raise fault(Reason.TOO_LARGE, "a number of more than 64 bits", start)
    return value, place
