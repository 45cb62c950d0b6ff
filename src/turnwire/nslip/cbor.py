"""nSLIP messages as CBOR (section 6, RFC 8949): deterministic bytes out, any bytes in.

    {0: schema_version, 1: conv_id, 2: turn, 3: src, 4: dst, 5: act, 6: frame, 7: [[slot, value], ...],
     8: oldest_reader}

Keys 0 to 23 belong to the schema, other integers to its future, text keys to whoever wants one; a reader skips the keys
it does not know. ``turnwire.nslip.schema`` has the rules about versions, unknown slots and frames. The bytes are judged
without building anything: lengths are definite, nesting is bounded, keys occur once, and known keys hold plain items
without tags, which are then all there is to read; cbor2 writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import MissingDependency, Reason
from turnwire.nslip import schema
from turnwire.nslip.schema import Entry, fault
from turnwire.nslip.spec import SCHEMA_VERSION

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer

    from turnwire.nslip.codec import SlipMessage

__all__ = ["from_cbor", "to_cbor"]

KEYS = {
    "schema_version": 0,
    "conv_id": 1,
    "turn": 2,
    "src": 3,
    "dst": 4,
    "act": 5,
    "frame": 6,
    "slots": 7,
    "oldest_reader": 8,
}
_NAMES = {key: name for name, key in KEYS.items()}
_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_WIDTHS = {24: 1, 25: 2, 26: 4, 27: 8}
_MAX_ITEMS = 1 << 12  # in one value, whatever it nests: what is skipped must be cheap too
_BIGNUM, _NEGATIVE_BIGNUM = 2, 3


def to_cbor(message: SlipMessage) -> bytes:
    """The CBOR form of a message: the same bytes for the same message, always (RFC 8949, section 4.2).

    Raises EncodeError as ``encode`` does, and MissingDependency without the extra ``cbor``.
    """
    cbor2 = _cbor2()
    content = schema.content(message)
    fields: dict[int, Any] = {KEYS["schema_version"]: SCHEMA_VERSION}
    for name in (*schema.NUMBERS, "act", "frame"):
        fields[KEYS[name]] = getattr(content, name)
    fields[KEYS["slots"]] = [[entry.key, entry.value] for entry in content.slots]
    data: bytes = cbor2.dumps(fields, canonical=True)
    if len(data) > LIMITS.message:
        raise schema.too_large_to_write(len(data))
    return data


def from_cbor(data: Buffer) -> SlipMessage:
    """The message of its CBOR form; unknown keys are skipped, unknown slots and frames are kept.

    Raises DecodeError(bad_encoding|trailing_junk|too_deep|unsupported_version|missing_field|duplicate|wrong_type|...)
    with the offset in ``data`` and the field in ``path``, and MissingDependency without the extra ``cbor``.
    """
    _cbor2()  # for its refusal: reading needs none
    raw = schema.input_bytes(data)
    spans = _spans(raw)
    offsets = {name: span.start for name, span in spans.items()}
    values = {name: _plain(raw, span, f"/{name}") for name, span in spans.items() if name != "slots"}
    schema.check_version(values, offsets)
    if "slots" not in spans:
        raise fault(Reason.MISSING_FIELD, "slots is required", None, "/slots")
    return schema.message(values, _entries(raw, spans["slots"]), offsets)


def _cbor2() -> ModuleType:
    try:
        import cbor2
    except ImportError:
        raise MissingDependency(
            'cbor2 is not installed: pip install "turnwire[cbor]", or ".[cbor]" in a checkout', name="cbor2"
        ) from None
    return cbor2


# --- structure, judged before anything is built -------------------------------------------------------------------


class Span(NamedTuple):
    """One item: its bytes, its major type and argument, and where what follows them begins."""

    start: int
    end: int
    major: int
    argument: int
    after: int


def _head(data: bytes, place: int) -> tuple[int, int, int]:
    """(major type, argument, offset after them) of the first bytes of an item."""
    if place >= len(data):
        raise fault(Reason.BAD_ENCODING, "the data ends in the middle of an item", len(data))
    major, short = data[place] >> 5, data[place] & 31
    if short < 24:
        return major, short, place + 1
    width = _WIDTHS.get(short)
    if width is None:
        what = "an indefinite length" if short == 31 else "a reserved head"
        raise fault(Reason.BAD_ENCODING, f"{what} is not taken", place)
    after = place + 1 + width
    if after > len(data):
        raise fault(Reason.BAD_ENCODING, "the data ends in the middle of an item", len(data))
    argument = int.from_bytes(data[place + 1 : after], "big")
    if major == _SIMPLE and width == 1 and argument < 32:
        raise fault(Reason.BAD_ENCODING, "a simple value below 32 takes one byte", place)
    return major, argument, after


def _span(data: bytes, start: int) -> Span:
    """The well-formed item at ``start``; it may hold anything, nested as deep as the limit says."""
    major, argument, after = head = _head(data, start)
    place, item, announced = after, start, 1
    open_items: list[int] = []  # how many items each open array, map or tag still waits for
    while True:
        inside = 0
        if major in (_BYTES, _TEXT):
            if argument > len(data) - place:
                raise fault(Reason.BAD_ENCODING, "a string is longer than the data", len(data))
            place += argument
        elif major in (_ARRAY, _MAP):
            inside = argument * (1 if major == _ARRAY else 2)
        elif major == _TAG:
            inside = 1
        if inside:
            if inside > len(data) - place:
                raise fault(Reason.BAD_ENCODING, "more items are announced than there are bytes", len(data))
            announced += inside
            if announced > _MAX_ITEMS:
                raise fault(Reason.TOO_MANY_FIELDS, f"a value of more than {_MAX_ITEMS} items", start)
            if len(open_items) >= LIMITS.nesting - 1:  # the message itself is the first
                raise fault(Reason.TOO_DEEP, f"items nest deeper than {LIMITS.nesting}", item)
            open_items.append(inside)
        while open_items and not open_items[-1]:
            open_items.pop()
        if not open_items:
            return Span(start, place, *head)
        open_items[-1] -= 1
        item = place
        major, argument, place = _head(data, item)


def _spans(data: bytes) -> dict[str, Span]:
    """The spans of the known keys' values in the one map that ``data`` is."""
    major, count, place = _head(data, 0)
    if major != _MAP:
        raise fault(Reason.WRONG_TYPE, "a message is a map", 0)
    if count > LIMITS.fields:
        raise fault(Reason.TOO_MANY_FIELDS, f"a map of more than {LIMITS.fields} keys", 0)
    found: dict[str, Span] = {}
    seen = set()
    for _ in range(count):
        key = _span(data, place)
        identity: Any = (key.major, key.argument)
        if key.major == _TEXT:
            identity = data[key.after : key.end]
        elif key.major not in (_UNSIGNED, _NEGATIVE):
            raise fault(Reason.WRONG_TYPE, "keys are integers or text", place)
        if identity in seen:
            raise fault(Reason.DUPLICATE, "a key appears twice", place)
        seen.add(identity)
        value = _span(data, key.end)
        if key.major == _UNSIGNED and key.argument in _NAMES:
            found[_NAMES[key.argument]] = value
        place = value.end
    if place < len(data):
        raise fault(Reason.TRAILING_JUNK, "nothing may follow the message", place)
    return found


# --- known items --------------------------------------------------------------------------------------------------


def _plain(data: bytes, span: Span, path: str) -> int | str:
    """An integer or a text; everything else is of the wrong type here."""
    _, end, major, argument, after = span
    if major == _UNSIGNED:
        return argument
    if major == _NEGATIVE:
        return -1 - argument
    if major == _TEXT:
        try:
            return data[after:end].decode()
        except UnicodeDecodeError as error:
            raise fault(Reason.BAD_UTF8, "the text is not valid UTF-8", after + error.start, path) from None
    if major == _TAG and argument in (_BIGNUM, _NEGATIVE_BIGNUM):
        inner = _head(data, after)
        if inner[0] == _BYTES and len(data[inner[2] : end].lstrip(b"\0")) > 8:
            reason = Reason.TOO_LARGE if argument == _BIGNUM else Reason.NEGATIVE
            raise fault(reason, "integers go from 0 to 2**64-1", span.start, path)
    raise fault(Reason.WRONG_TYPE, "an integer or a text is needed", span.start, path)


def _entries(data: bytes, slots: Span) -> list[Entry]:
    count = _array(slots, "slots is an array of entries")
    if count > LIMITS.fields:
        raise fault(Reason.TOO_MANY_FIELDS, f"more than {LIMITS.fields} slots", slots.start, "/slots")
    entries = []
    place = slots.after
    for index in range(count):
        entry = _span(data, place)
        if _array(entry, "an entry is an array") < 2:
            raise fault(Reason.WRONG_TYPE, "an entry is [slot, value]", entry.start, "/slots")
        key = _span(data, entry.after)
        value = _span(data, key.end)
        path = f"/slots/{index}"
        entries.append(Entry(_plain(data, key, path), _plain(data, value, path), entry.start))
        place = entry.end
    return entries


def _array(span: Span, text: str) -> int:
    if span.major != _ARRAY:
        raise fault(Reason.WRONG_TYPE, text, span.start, "/slots")
    return span.argument
