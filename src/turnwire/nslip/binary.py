"""nSLIP messages as CBOR (RFC 8949) and as protobuf (``slip.proto`` beside this file, for any language): section 6.

A reader of version 1 survives a later writer by these rules:

* ``schema_version`` is the writer's version. A reader takes any version, as long as ``oldest_reader`` (1 where it is
  absent) is not above its own: a writer raises that one only for a change that older readers must not misread.
* What a reader does not know is skipped: a key of the map, a field, a third item of an entry.
* A slot is an entry (code, value), and entries keep the slots' order. A slot that is not in version 1 is written under
  its nSLIP prefix letter instead of its code, its value as nSLIP writes it: readers that do not know it keep it in
  ``message.extra``. The same holds for a frame, whose code they keep.
* The set of acts is closed (section 1).

The fields that were read are put together as nSLIP text, which the core judges and decodes: one place has the rules.

Both forms are read here field by field, more strictly than by libraries. CBOR is a map, whose keys 0 to 23 belong to
the schema, other integers to its future, text keys to whoever wants one; key 7 holds [[slot, value], ...]. Lengths are
definite, nesting is bounded, keys occur once, tags are never followed, and known keys hold plain items without them. In
protobuf each field occurs once and with its own wire type and range: the library lets a later field override an earlier
one, drops one of another wire type, and cuts enums to 32 bits, so that appended bytes could forge a header. Groups,
which newer protobuf does not write, are refused.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.nslip import base62
from turnwire.nslip._base62_py import checked_integer
from turnwire.nslip._codec_py import kept_part, slot_part
from turnwire.nslip.spec import HEADER, HEADER_PREFIXES, PREFIX_SLOT, SCHEMA_VERSION, WIRE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Buffer

    from turnwire.nslip.codec import SlipMessage

_core: Any = _backend.load("nslip.codec")
Values = dict[str, tuple[Any, int]]
"""Field -> its value, and the offset at which it was."""
_Part = tuple[str, str, int | None]
"""A field as nSLIP text, the path of that field in a message, and where it was."""


class Entry(NamedTuple):
    """One slot: its code, or its prefix letter with the value as nSLIP writes it; ``offset`` is where it was."""

    key: int | str
    value: int | str
    offset: int | None = None


def _content(message: SlipMessage) -> tuple[dict[str, int | str], list[Entry]]:
    """The header of a message and its slots; the frame is a code, or the digits of an unknown one as they were written.

    Raises EncodeError exactly as :func:`turnwire.nslip.encode` does.
    """
    settled = _core.decode(_core.encode(message), unknown="keep")
    extra = settled.extra
    entries = [Entry(int(slot), value) for slot, value in settled.slots.items()]
    kept = [(extra.before[prefix], Entry(prefix, value)) for prefix, value in extra.items() if prefix != "f"]
    for before, entry in reversed(kept):
        entries.insert(before, entry)
    header = {name: int(getattr(settled, name)) for _, name in HEADER}
    return {"schema_version": SCHEMA_VERSION, **header, "frame": extra.get("f", header["frame"])}, entries


def _message(values: Values, entries: Iterable[Entry]) -> SlipMessage:
    """The message of the fields that were read.

    Raises DecodeError(missing_field|unsupported_version|wrong_type|negative|too_large|unknown_act|unknown_slot|
    duplicate|...) with ``path`` and ``offset``.
    """
    for name in ("schema_version", *(name for _, name in HEADER)):
        if name not in values:
            raise _fault(Reason.MISSING_FIELD, f"{name} is required", None, f"/{name}")
    _check_version(values)
    parts = [_header_part(prefix, name, *values[name]) for prefix, name in HEADER]
    parts += [_slot_part(*one) for one in entries]
    try:
        found: SlipMessage = _core.decode(f"@{'|'.join(text for text, _, _ in parts)}#", unknown="keep")
    except DecodeError as error:
        ends = accumulate(len(text.encode()) + 1 for text, _, _ in parts)
        places = zip(parts, ends, strict=True)
        path, offset = next((path, offset) for (_, path, offset), end in places if end >= (error.offset or 0))
        raise _fault(error.reason, error.text, offset, path) from None
    return found


def _check_version(values: Values) -> None:
    version, offset = values["schema_version"]
    oldest, place = values.get("oldest_reader", (1, None))
    version = _refusable(offset, checked_integer, version, "/schema_version")
    oldest = _refusable(place, checked_integer, oldest, "/oldest_reader")
    if version < 1 or not 1 <= oldest <= version:
        text = f"schema version {version} cannot have oldest_reader {oldest}"
    elif oldest > SCHEMA_VERSION:
        text = f"the message is for readers of schema version {oldest}, this one reads {SCHEMA_VERSION}"
    else:
        return
    raise _fault(Reason.UNSUPPORTED_VERSION, text, offset, "/schema_version")


def _header_part(prefix: str, name: str, value: Any, offset: int) -> _Part:
    path = f"/{name}"
    if name == "frame" and isinstance(value, str):
        _refusable(offset, base62.decode, value, path=path)
        return prefix + value, path, offset
    return prefix + base62.encode(_refusable(offset, checked_integer, value, path)), path, offset


def _slot_part(key: Any, value: Any, offset: int | None) -> _Part:
    if not isinstance(key, str):
        text = _refusable(offset, slot_part, key, value)
        return text, f"/slots/{PREFIX_SLOT[text[0]].name}", offset
    if len(key) != 1 or not (key.isascii() and key.isalpha()) or key in HEADER_PREFIXES:
        raise _fault(Reason.UNKNOWN_SLOT, f"{key[:16]!a} is not a prefix of a slot", offset, "/slots")
    path = f"/slots/{PREFIX_SLOT[key].name if key in PREFIX_SLOT else key}"
    return _refusable(offset, kept_part, key, value, path), path, offset


def _refusable(offset: int | None, write: Callable[..., Any], *values: Any, path: str | None = None) -> Any:
    """The result of ``write``, whose EncodeError becomes a DecodeError at ``offset``."""
    try:
        return write(*values)
    except (DecodeError, EncodeError) as error:
        raise _fault(error.reason, error.text, offset, path or error.path) from None


def _input_bytes(data: object) -> bytes:
    """The bytes of any contiguous bytes-like. Raises DecodeError(wrong_type|message_too_large)."""
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        raise _fault(Reason.WRONG_TYPE, f"expected bytes, not {type(data).__name__}", 0) from None
    if not view.c_contiguous:
        raise _fault(Reason.WRONG_TYPE, "the buffer is not contiguous", 0)
    if view.nbytes > LIMITS.message:
        raise _fault(Reason.MESSAGE_TOO_LARGE, f"{view.nbytes} bytes are more than {LIMITS.message}", 0)
    return data if type(data) is bytes else view.tobytes()


def _output_bytes(data: bytes) -> bytes:
    """The same bytes. Raises EncodeError(message_too_large) if reading would refuse them."""
    if len(data) > LIMITS.message:
        raise EncodeError(Reason.MESSAGE_TOO_LARGE, f"{len(data)} bytes are more than {LIMITS.message}", wire=WIRE)
    return data


def _text(raw: bytes, first: int, path: str) -> str:
    """The text of the bytes at ``first``. Raises DecodeError(bad_utf8) at its bad byte."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise _fault(Reason.BAD_UTF8, "the text is not valid UTF-8", first + error.start, path) from None


class _Input:
    """The bytes of a message, or of a part of one, which are read from ``place`` to ``end``."""

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self.data, self.place, self.end = data, place, end

    def take(self, size: int) -> bytes:
        """The next so many bytes. Raises DecodeError(bad_encoding) if there are less."""
        first = self.place
        if size > self.end - first:
            raise _fault(Reason.BAD_ENCODING, "the data ends in the middle of a value", self.end)
        self.place = first + size
        return self.data[first : self.place]


def _fault(reason: Reason, text: str, offset: int | None = None, path: str | None = None) -> DecodeError:
    """A refusal of a binary form; ``offset`` counts its bytes, lines there are none."""
    return DecodeError(reason, text, offset=offset, wire=WIRE, path=path)


# --- CBOR ---

_KEY_NAMES = ("schema_version", "conv_id", "turn", "src", "dst", "act", "frame", "slots", "oldest_reader")
KEYS = {name: key for key, name in enumerate(_KEY_NAMES)}
_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_WIDTHS = (1, 2, 4, 8)
_SHORT = 24  # arguments below this, and the first code of a longer one
_MAX_ITEMS = 1 << 12  # in one value, whatever it nests: what is skipped must be cheap too


def to_cbor(message: SlipMessage) -> bytes:
    """Writes a message as CBOR; equal messages have equal bytes (RFC 8949, section 4.2).

    Raises EncodeError like ``encode``.
    """
    fields, slots = _content(message)
    values = {**fields, "slots": [[entry.key, entry.value] for entry in slots]}
    pairs = (_cbor(KEYS[name]) + _cbor(values[name]) for name in sorted(values, key=KEYS.__getitem__))
    return _output_bytes(_cbor_head(_MAP, len(values)) + b"".join(pairs))


def _cbor(value: Any) -> bytes:
    if isinstance(value, int):
        return _cbor_head(_UNSIGNED, value)
    if isinstance(value, str):
        text = value.encode()
        return _cbor_head(_TEXT, len(text)) + text
    return _cbor_head(_ARRAY, len(value)) + b"".join(map(_cbor, value))


def _cbor_head(major: int, argument: int) -> bytes:
    if argument < _SHORT:
        return bytes([major << 5 | argument])
    code = next(code for code, width in enumerate(_WIDTHS) if not argument >> 8 * width)
    return bytes([major << 5 | _SHORT + code]) + argument.to_bytes(_WIDTHS[code], "big")


def from_cbor(data: Buffer) -> SlipMessage:
    """Reads a message from its CBOR form; skips unknown keys, and keeps unknown slots and frames.

    Raises DecodeError(bad_encoding|trailing_junk|too_deep|unsupported_version|missing_field|duplicate|wrong_type|...)
    with the offset in ``data`` and the field in ``path``.
    """
    items = _known_items(_input_bytes(data))
    values = {name: (_plain(item, f"/{name}"), item.start) for name, item in items.items() if name != "slots"}
    return _message(values, _entries(items.get("slots")))


class Item(NamedTuple):
    """One item: its start, the start of its content, its major type and argument, the bytes or items that it holds."""

    start: int
    first: int
    major: int
    argument: int
    content: bytes
    inside: list[Item]


def _head(data: _Input) -> tuple[int, int]:
    """The major type and the argument of an item."""
    start = data.place
    byte = data.take(1)[0]
    major, argument = byte >> 5, byte & 31
    if argument >= _SHORT + len(_WIDTHS):
        what = "an indefinite length" if argument == 31 else "a reserved head"
        raise _fault(Reason.BAD_ENCODING, f"{what} is not supported", start)
    if argument >= _SHORT:
        width = _WIDTHS[argument - _SHORT]
        argument = int.from_bytes(data.take(width), "big")
        if major == _SIMPLE and width == 1 and argument < 32:
            raise _fault(Reason.BAD_ENCODING, "a simple value below 32 must be one byte", start)
    return major, argument


def _item(data: _Input) -> Item:
    """The next well-formed item; it may hold anything, nested as deep as the limit says."""
    announced, whole = 1, data.place

    def read(depth: int) -> Item:
        nonlocal announced
        start = data.place
        major, argument = _head(data)
        first = data.place
        content = data.take(argument) if major in (_BYTES, _TEXT) else b""
        count = {_ARRAY: argument, _MAP: 2 * argument, _TAG: 1}.get(major, 0)
        if count > data.end - data.place:
            raise _fault(Reason.BAD_ENCODING, "more items are announced than there are bytes", data.end)
        announced += count
        if announced > _MAX_ITEMS:
            raise _fault(Reason.TOO_MANY_FIELDS, f"a value of more than {_MAX_ITEMS} items", whole)
        if count and depth >= LIMITS.nesting:
            raise _fault(Reason.TOO_DEEP, f"items nest deeper than {LIMITS.nesting}", start)
        return Item(start, first, major, argument, content, [read(depth + 1) for _ in range(count)])

    return read(1)  # the message itself is around it


def _known_items(raw: bytes) -> dict[str, Item]:
    """The values of the known keys in the one map that the bytes are."""
    data = _Input(raw, 0, len(raw))
    major, count = _head(data)
    if major != _MAP:
        raise _fault(Reason.WRONG_TYPE, "a message must be a map", 0)
    if count > LIMITS.fields:
        raise _fault(Reason.TOO_MANY_FIELDS, f"a map of more than {LIMITS.fields} keys", 0)
    found: dict[str, Item] = {}
    seen = set()
    for _ in range(count):
        key = _item(data)
        if key.major not in (_UNSIGNED, _NEGATIVE, _TEXT):
            raise _fault(Reason.WRONG_TYPE, "keys must be integers or text", key.start)
        identity = key.major, key.content or key.argument
        if identity in seen:
            raise _fault(Reason.DUPLICATE, "a key appears twice", key.start)
        seen.add(identity)
        value = _item(data)
        if key.major == _UNSIGNED and key.argument < len(_KEY_NAMES):
            found[_KEY_NAMES[key.argument]] = value
    if data.place < data.end:
        raise _fault(Reason.TRAILING_JUNK, "nothing may follow the message", data.place)
    return found


def _plain(item: Item, path: str) -> int | str:
    """An integer or a text; everything else is of the wrong type here."""
    if item.major == _UNSIGNED:
        return item.argument
    if item.major == _NEGATIVE:
        return -1 - item.argument
    if item.major == _TEXT:
        return _text(item.content, item.first, path)
    raise _fault(Reason.WRONG_TYPE, "expected an integer or text", item.start, path)


def _entries(slots: Item | None) -> list[Entry]:
    if slots is None:
        raise _fault(Reason.MISSING_FIELD, "slots is required", None, "/slots")
    if slots.major != _ARRAY:
        raise _fault(Reason.WRONG_TYPE, "slots must be an array of entries", slots.start, "/slots")
    if slots.argument > LIMITS.fields:
        raise _fault(Reason.TOO_MANY_FIELDS, f"more than {LIMITS.fields} slots", slots.start, "/slots")
    entries = []
    for index, entry in enumerate(slots.inside):
        if entry.major != _ARRAY or entry.argument < 2:
            raise _fault(Reason.WRONG_TYPE, "an entry must be [slot, value]", entry.start, "/slots")
        key, value = (_plain(item, f"/slots/{index}") for item in entry.inside[:2])
        entries.append(Entry(key, value, entry.start))
    return entries


# --- protobuf ---


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
_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5


def to_protobuf(message: SlipMessage) -> bytes:
    """Writes a message as protobuf, with the fields in the order of their numbers; equal messages have equal bytes.

    Raises EncodeError like ``encode``.
    """
    fields, slots = _content(message)
    if isinstance(fields["frame"], str):
        fields["kept_frame"] = fields.pop("frame")
    written = [_record(number, fields[field.name]) for number, field in MESSAGE.items() if field.name in fields]
    for key, value, _ in slots:
        numbers = (2, 5) if isinstance(key, str) else (1, 3) if isinstance(value, int) else (1, 4)
        written.append(_record(10, b"".join(map(_record, numbers, (key, value)))))
    return _output_bytes(b"".join(written))


def _record(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint_of(number << 3 | _VARINT) + _varint_of(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint_of(number << 3 | _SIZED) + _varint_of(len(content)) + content


def _varint_of(number: int) -> bytes:
    groups = [number >> shift & 127 for shift in range(0, number.bit_length() or 1, 7)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def from_protobuf(data: Buffer) -> SlipMessage:
    """Reads a message from its protobuf form; skips unknown fields, and keeps unknown slots and frames.

    Raises DecodeError(bad_encoding|unsupported_version|missing_field|duplicate|wrong_type|too_large|...) with the
    offset in ``data`` and the field in ``path``.
    """
    raw = _input_bytes(data)
    values: Values = {}
    entries: list[Entry] = []
    for field, start, first, value in _known_fields(_Input(raw, 0, len(raw)), MESSAGE):
        if field.name == "slots" and isinstance(value, bytes):
            entries.append(_entry(_Input(raw, first, first + len(value)), start))
        else:
            _put(values, field, _value(field, first, value), start)
    return _message(values, entries)


def _entry(data: _Input, offset: int) -> Entry:
    parts: Values = {}
    for field, start, first, value in _known_fields(data, ENTRY):
        _put(parts, field, (field.name, _value(field, first, value)), start)
    if len(parts) < 2:
        raise _fault(Reason.MISSING_FIELD, "an entry must have a slot or prefix, and a value", offset, "/slots")
    (key, name), (content, kept) = parts["key"][0], parts["value"][0]
    if (key == "prefix") != (content == "kept"):
        raise _fault(Reason.WRONG_TYPE, "a prefix needs kept, a slot needs number or text", offset, "/slots")
    return Entry(name, kept, offset)


def _put(values: Values, field: Field, value: Any, start: int) -> None:
    if field.group in values:
        raise _fault(Reason.DUPLICATE, "the field appears twice", start, f"/{field.group}")
    values[field.group] = value, start


def _value(field: Field, first: int, value: int | bytes) -> int | str:
    path = f"/{field.name}"
    if isinstance(value, bytes):
        return _text(value, first, path)
    if field.bits == _ENUM and value >> 63:
        raise _fault(Reason.NEGATIVE, "codes must be non-negative", first, path)
    if value >> field.bits:
        raise _fault(Reason.TOO_LARGE, f"more than {field.bits} bits", first, path)
    return value


def _known_fields(data: _Input, known: dict[int, Field]) -> Iterator[tuple[Field, int, int, int | bytes]]:
    """(field, offset of its tag, offset of its value, that value) of each field that is known."""
    count = 0
    while data.place < data.end:
        start = data.place
        count += 1
        if count > LIMITS.fields:
            raise _fault(Reason.TOO_MANY_FIELDS, f"more than {LIMITS.fields} fields", start)
        tag = _varint(data)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29 or wire not in (_VARINT, _FIXED64, _SIZED, _FIXED32):
            raise _fault(Reason.BAD_ENCODING, "there is no field with this tag", start)
        first = data.place
        value: int | bytes = 0
        if wire == _VARINT:
            value = _varint(data)
        elif wire == _SIZED:
            size = _varint(data)
            first = data.place
            value = data.take(size)
        else:
            data.take(8 if wire == _FIXED64 else 4)
        field = known.get(number)
        if field is not None and wire != (_VARINT if field.bits else _SIZED):
            raise _fault(Reason.WRONG_TYPE, f"wire type {wire} is not that of {field.name}", start, f"/{field.name}")
        if field is not None:
            yield field, start, first, value


def _varint(data: _Input) -> int:
    """A number of at most ten bytes and 64 bits."""
    start = data.place
    value = shift = 0
    byte = 128
    while byte >= 128:
        if shift == 70:
            raise _fault(Reason.BAD_ENCODING, "a number of more than ten bytes", start)
        byte = data.take(1)[0]
        value |= (byte & 127) << shift
        shift += 7
    if value >> 64:
        raise _fault(Reason.TOO_LARGE, "a number of more than 64 bits", start)
    return value
