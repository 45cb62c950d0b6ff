"""nSLIP messages as protobuf (section 6): ``slip.proto`` beside this file, which any language can compile.

``turnwire.nslip.schema`` has the rules about versions, unknown slots and frames. Messages are written and read here
field by field. The library of protobuf lets a later field override an earlier one, drops a known field of another wire
type, and cuts enums to 32 bits; appended bytes could forge a header that way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.nslip import schema
from turnwire.nslip.schema import Entry, Values, fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from turnwire.nslip.codec import SlipMessage

__all__ = ["from_protobuf", "to_protobuf"]


class Field(NamedTuple):
    """One field of ``slip.proto``; bits: of a number, 31 of an enum, 0 of a text or a message. Of the fields of one
    ``group`` (a oneof) a message has one."""

    name: str
    bits: int
    group: str


_ENUM, _U32, _U64, _STRING = 31, 32, 64, 0
ENTRY = {
    1: Field("slot", _ENUM, "key"),
    2: Field("prefix", _STRING, "key"),
    3: Field("number", _U64, "value"),
    4: Field("text", _STRING, "value"),
    5: Field("kept", _STRING, "value"),
}
MESSAGE = {
    1: Field("schema_version", _U32, "schema_version"),
    2: Field("oldest_reader", _U32, "oldest_reader"),
    3: Field("conv_id", _U64, "conv_id"),
    4: Field("turn", _U64, "turn"),
    5: Field("src", _U64, "src"),
    6: Field("dst", _U64, "dst"),
    7: Field("act", _ENUM, "act"),
    8: Field("frame", _ENUM, "frame"),
    9: Field("kept_frame", _STRING, "frame"),
    10: Field("slots", _STRING, "slots"),
}
_SLOTS = 10
_VARINT, _FIXED64, _BYTES, _START, _END, _FIXED32 = range(6)


def to_protobuf(message: SlipMessage) -> bytes:
    """The protobuf form of a message: the same bytes for the same message, fields in the order of their numbers.

    Raises EncodeError as ``encode`` does.
    """
    fields, slots = schema.content(message)
    if isinstance(fields["frame"], str):
        fields["kept_frame"] = fields.pop("frame")
    written = [_written(number, fields[field.name]) for number, field in MESSAGE.items() if field.name in fields]
    for key, value, _ in slots:
        kept = isinstance(key, str)
        content = 5 if kept else 3 if isinstance(value, int) else 4
        written.append(_written(_SLOTS, _written(2 if kept else 1, key) + _written(content, value)))
    return schema.output_bytes(b"".join(written))


def _written(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _written_varint(number << 3 | _VARINT) + _written_varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _written_varint(number << 3 | _BYTES) + _written_varint(len(content)) + content


def _written_varint(number: int) -> bytes:
    groups = [number >> shift & 127 for shift in range(0, number.bit_length() or 1, 7)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def from_protobuf(data: Buffer) -> SlipMessage:
    """The message of its protobuf form; unknown fields are skipped, unknown slots and frames are kept.

    Raises DecodeError(bad_encoding|unsupported_version|missing_field|duplicate|wrong_type|too_large|...) with the
    offset in ``data`` and the field in ``path``.
    """
    raw = schema.input_bytes(data)
    values: Values = {}
    entries: list[Entry] = []
    for field, start, first, end in _known_fields(raw, 0, len(raw), MESSAGE):
        if field.name == "slots":
            entries.append(_entry(raw, start, first, end))
        else:
            _put(values, field, _value(raw, field, first, end), start)
    return schema.message(values, entries)


def _entry(data: bytes, offset: int, first: int, end: int) -> Entry:
    parts: Values = {}
    for field, start, begin, stop in _known_fields(data, first, end, ENTRY):
        _put(parts, field, (field.name, _value(data, field, begin, stop)), start)
    if len(parts) < 2:
        raise fault(Reason.MISSING_FIELD, "an entry has a slot or prefix, and a value", offset, "/slots")
    (key, name), (value, kept) = parts["key"][0], parts["value"][0]
    if (key == "prefix") != (value == "kept"):
        raise fault(Reason.WRONG_TYPE, "a prefix goes with kept, a slot with number or text", offset, "/slots")
    return Entry(name, kept, offset)


def _put(values: Values, field: Field, value: Any, start: int) -> None:
    if field.group in values:
        raise fault(Reason.DUPLICATE, "the field appears twice", start, f"/{field.group}")
    values[field.group] = value, start


# --- the bytes ----------------------------------------------------------------------------------------------------


def _known_fields(data: bytes, first: int, end: int, known: dict[int, Field]) -> Iterator[tuple[Field, int, int, int]]:
    """(field, offset of its tag, offset of its value, end of that) of what is known in ``data[first:end]``."""
    for number, wire, start, begin, stop in _records(data, first, end):
        field = known.get(number)
        if field is None:
            continue
        if wire != (_VARINT if field.bits else _BYTES):
            raise fault(Reason.WRONG_TYPE, f"wire type {wire} is not that of {field.name}", start, f"/{field.name}")
        yield field, start, begin, stop


def _value(data: bytes, field: Field, first: int, end: int) -> int | str:
    path = f"/{field.name}"
    if not field.bits:
        return schema.read_text(data, first, end, path)
    value = _varint(data, first, end)[0]
    if field.bits == _ENUM and value >> 63:
        raise fault(Reason.NEGATIVE, "codes are non-negative", first, path)
    if value >> field.bits:
        raise fault(Reason.TOO_LARGE, f"more than {field.bits} bits", first, path)
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
