"""nSLIP messages as CBOR (section 6, RFC 8949): deterministic bytes out, any bytes in.

    {0: schema_version, 1: conv_id, 2: turn, 3: src, 4: dst, 5: act, 6: frame, 7: [[slot, value], ...],
     8: oldest_reader}

Keys 0 to 23 belong to the schema, other integers to its future, text keys to whoever wants one; a reader skips the keys
it does not know. ``turnwire.nslip.schema`` has the rules about versions, unknown slots and frames. Reading is stricter
than libraries are: lengths are definite, nesting is bounded, keys occur once, tags are never followed, and known keys
hold plain items without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.nslip import schema
from turnwire.nslip.schema import Entry, fault

if TYPE_CHECKING:
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
_WIDTHS = (1, 2, 4, 8)
_SHORT = 24  # arguments below this, and the first code of a longer one
_MAX_ITEMS = 1 << 12  # in one value, whatever it nests: what is skipped must be cheap too
_BIGNUM, _NEGATIVE_BIGNUM = 2, 3


def to_cbor(message: SlipMessage) -> bytes:
    """The CBOR form of a message: the same bytes for the same message, always (RFC 8949, section 4.2).

    Raises EncodeError as ``encode`` does.
    """
    fields, slots = schema.content(message)
    values = {**fields, "slots": [[entry.key, entry.value] for entry in slots]}
    pairs = (_written(KEYS[name]) + _written(values[name]) for name in sorted(values, key=KEYS.__getitem__))
    return schema.output_bytes(_written_head(_MAP, len(values)) + b"".join(pairs))


def _written(value: Any) -> bytes:
    if isinstance(value, int):
        return _written_head(_UNSIGNED, value)
    if isinstance(value, str):
        text = value.encode()
        return _written_head(_TEXT, len(text)) + text
    return _written_head(_ARRAY, len(value)) + b"".join(map(_written, value))


def _written_head(major: int, argument: int) -> bytes:
    if argument < _SHORT:
        return bytes([major << 5 | argument])
    code = next(code for code, width in enumerate(_WIDTHS) if not argument >> 8 * width)
    return bytes([major << 5 | _SHORT + code]) + argument.to_bytes(_WIDTHS[code], "big")


def from_cbor(data: Buffer) -> SlipMessage:
    """The message of its CBOR form; unknown keys are skipped, unknown slots and frames are kept.

    Raises DecodeError(bad_encoding|trailing_junk|too_deep|unsupported_version|missing_field|duplicate|wrong_type|...)
    with the offset in ``data`` and the field in ``path``.
    """
    raw = schema.input_bytes(data)
    items = _known_items(raw)
    values = {name: (_plain(raw, item, f"/{name}"), item.start) for name, item in items.items() if name != "slots"}
    return schema.message(values, _entries(raw, items.get("slots")))


# --- items, judged before anything is built -------------------------------------------------------------------------


class Item(NamedTuple):
    """One item: its bytes, its major type and argument, where what follows them begins, and the items inside."""

    start: int
    end: int
    major: int
    argument: int
    after: int
    inside: list[Item]


def _head(data: bytes, place: int) -> tuple[int, int, int]:
    """(major type, argument, offset after them) of the first bytes of an item."""
    if place >= len(data):
        raise fault(Reason.BAD_ENCODING, "the data ends in the middle of an item", len(data))
    major, short = data[place] >> 5, data[place] & 31
    if short < _SHORT:
        return major, short, place + 1
    if short >= _SHORT + len(_WIDTHS):
        what = "an indefinite length" if short == 31 else "a reserved head"
        raise fault(Reason.BAD_ENCODING, f"{what} is not taken", place)
    width = _WIDTHS[short - _SHORT]
    after = place + 1 + width
    if after > len(data):
        raise fault(Reason.BAD_ENCODING, "the data ends in the middle of an item", len(data))
    argument = int.from_bytes(data[place + 1 : after], "big")
    if major == _SIMPLE and width == 1 and argument < 32:
        raise fault(Reason.BAD_ENCODING, "a simple value below 32 takes one byte", place)
    return major, argument, after


def _item(data: bytes, start: int) -> Item:
    """The well-formed item at ``start``; it may hold anything, nested as deep as the limit says."""
    announced = 1

    def read(start_here: int, depth: int) -> Item:
        nonlocal announced
        major, argument, after = _head(data, start_here)
        place = after
        if major in (_BYTES, _TEXT):
            if argument > len(data) - place:
                raise fault(Reason.BAD_ENCODING, "a string is longer than the data", len(data))
            place += argument
        count = {_ARRAY: argument, _MAP: 2 * argument, _TAG: 1}.get(major, 0)
        if count > len(data) - place:
            raise fault(Reason.BAD_ENCODING, "more items are announced than there are bytes", len(data))
        announced += count
        if announced > _MAX_ITEMS:
            raise fault(Reason.TOO_MANY_FIELDS, f"a value of more than {_MAX_ITEMS} items", start)
        if count and depth >= LIMITS.nesting:
            raise fault(Reason.TOO_DEEP, f"items nest deeper than {LIMITS.nesting}", start_here)
        inside = []
        for _ in range(count):
            inside.append(read(place, depth + 1))
            place = inside[-1].end
        return Item(start_here, place, major, argument, after, inside)

    return read(start, 1)  # the message itself is around it


def _known_items(data: bytes) -> dict[str, Item]:
    """The values of the known keys in the one map that ``data`` is."""
    major, count, place = _head(data, 0)
    if major != _MAP:
        raise fault(Reason.WRONG_TYPE, "a message is a map", 0)
    if count > LIMITS.fields:
        raise fault(Reason.TOO_MANY_FIELDS, f"a map of more than {LIMITS.fields} keys", 0)
    found: dict[str, Item] = {}
    seen = set()
    for _ in range(count):
        key = _item(data, place)
        if key.major not in (_UNSIGNED, _NEGATIVE, _TEXT):
            raise fault(Reason.WRONG_TYPE, "keys are integers or text", place)
        identity = key.major, data[key.after : key.end] or key.argument
        if identity in seen:
            raise fault(Reason.DUPLICATE, "a key appears twice", place)
        seen.add(identity)
        value = _item(data, key.end)
        if key.major == _UNSIGNED and key.argument in _NAMES:
            found[_NAMES[key.argument]] = value
        place = value.end
    if place < len(data):
        raise fault(Reason.TRAILING_JUNK, "nothing may follow the message", place)
    return found


# --- known items --------------------------------------------------------------------------------------------------


def _plain(data: bytes, item: Item, path: str) -> int | str:
    """An integer or a text; everything else is of the wrong type here."""
    if item.major == _UNSIGNED:
        return item.argument
    if item.major == _NEGATIVE:
        return -1 - item.argument
    if item.major == _TEXT:
        return schema.read_text(data, item.after, item.end, path)
    if item.major == _TAG and item.argument in (_BIGNUM, _NEGATIVE_BIGNUM):
        inner = item.inside[0]
        if inner.major == _BYTES and len(data[inner.after : inner.end].lstrip(b"\0")) > 8:
            reason = Reason.TOO_LARGE if item.argument == _BIGNUM else Reason.NEGATIVE
            raise fault(reason, "integers go from 0 to 2**64-1", item.start, path)
    raise fault(Reason.WRONG_TYPE, "an integer or a text is needed", item.start, path)


def _entries(data: bytes, slots: Item | None) -> list[Entry]:
    if slots is None:
        raise fault(Reason.MISSING_FIELD, "slots is required", None, "/slots")
    if slots.major != _ARRAY:
        raise fault(Reason.WRONG_TYPE, "slots is an array of entries", slots.start, "/slots")
    if slots.argument > LIMITS.fields:
        raise fault(Reason.TOO_MANY_FIELDS, f"more than {LIMITS.fields} slots", slots.start, "/slots")
    entries = []
    for index, entry in enumerate(slots.inside):
        if entry.major != _ARRAY or entry.argument < 2:
            raise fault(Reason.WRONG_TYPE, "an entry is [slot, value]", entry.start, "/slots")
        key, value = (_plain(data, item, f"/slots/{index}") for item in entry.inside[:2])
        entries.append(Entry(key, value, entry.start))
    return entries
