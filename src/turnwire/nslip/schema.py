"""The rules that both binary forms of nSLIP share (section 6), so that a reader of version 1 survives a later writer.

* ``schema_version`` is the writer's version. A reader takes any version, as long as ``oldest_reader`` (1 where it is
  absent) is not above its own: a writer raises that one only for a change that older readers must not misread.
* What a reader does not know is skipped: a key of the map, a field, a third item of an entry.
* A slot is an entry (code, value), and entries keep the slots' order. A slot that is not in version 1 is written under
  its nSLIP prefix letter instead of its code, its value as nSLIP writes it: readers that do not know it keep it in
  ``message.extra``. The same holds for a frame, whose code they keep.
* The set of acts is closed (section 1).

The fields that were read are put together as nSLIP text, which the core judges and decodes: one place has the rules.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.nslip import base62
from turnwire.nslip._base62_py import checked_integer
from turnwire.nslip.encoding import kept_part, slot_part
from turnwire.nslip.spec import HEADER, HEADER_PREFIXES, PREFIX_SLOT, SCHEMA_VERSION, WIRE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turnwire.nslip.codec import SlipMessage

_core: Any = _backend.load("nslip.codec")
Values = dict[str, tuple[Any, int]]
"""Field -> its value, and the offset at which it was."""


class Entry(NamedTuple):
    """One slot: its code, or its prefix letter with the value as nSLIP writes it; ``offset`` is where it was."""

    key: int | str
    value: int | str
    offset: int | None = None


class _Part(NamedTuple):
    """A field as nSLIP text, the path of that field in a message, and where it was."""

    text: str
    path: str
    offset: int | None


def content(message: SlipMessage) -> tuple[dict[str, int | str], list[Entry]]:
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


def message(values: Values, entries: Iterable[Entry]) -> SlipMessage:
    """The message of the fields that were read.

    Raises DecodeError(missing_field|unsupported_version|wrong_type|negative|too_large|unknown_act|unknown_slot|
    duplicate|...) with ``path`` and ``offset``.
    """
    for name in ("schema_version", *(name for _, name in HEADER)):
        if name not in values:
            raise fault(Reason.MISSING_FIELD, f"{name} is required", None, f"/{name}")
    _check_version(values)
    parts = [_header_part(prefix, name, *values[name]) for prefix, name in HEADER] + [
        _slot_part(*one) for one in entries
    ]
    try:
        found: SlipMessage = _core.decode(f"@{'|'.join(part.text for part in parts)}#", unknown="keep")
    except DecodeError as error:
        ends = accumulate(len(part.text.encode()) + 1 for part in parts)
        part = next(part for part, end in zip(parts, ends, strict=True) if end >= (error.offset or 0))
        raise fault(error.reason, error.text, part.offset, part.path) from None
    return found


def _check_version(values: Values) -> None:
    version, offset = values["schema_version"]
    oldest, place = values.get("oldest_reader", (1, None))
    version = _written(offset, checked_integer, version, "/schema_version")
    oldest = _written(place, checked_integer, oldest, "/oldest_reader")
    if version < 1 or not 1 <= oldest <= version:
        text = f"no writer has schema version {version} and serves readers from {oldest} on"
    elif oldest > SCHEMA_VERSION:
        text = f"the message is for readers of schema version {oldest}, this one reads {SCHEMA_VERSION}"
    else:
        return
    raise fault(Reason.UNSUPPORTED_VERSION, text, offset, "/schema_version")


def _header_part(prefix: str, name: str, value: Any, offset: int) -> _Part:
    path = f"/{name}"
    if name == "frame" and isinstance(value, str):
        _written(offset, base62.decode, value, path=path)
        return _Part(prefix + value, path, offset)
    return _Part(prefix + base62.encode(_written(offset, checked_integer, value, path)), path, offset)


def _slot_part(key: Any, value: Any, offset: int | None) -> _Part:
    if not isinstance(key, str):
        text = _written(offset, slot_part, key, value)
        return _Part(text, f"/slots/{PREFIX_SLOT[text[0]].name}", offset)
    if len(key) != 1 or not (key.isascii() and key.isalpha()) or key in HEADER_PREFIXES:
        raise fault(Reason.UNKNOWN_SLOT, f"{key[:16]!a} is not a prefix of a slot", offset, "/slots")
    path = f"/slots/{PREFIX_SLOT[key].name if key in PREFIX_SLOT else key}"
    return _Part(_written(offset, kept_part, key, value, path), path, offset)


def _written(offset: int | None, write: Callable[..., Any], *values: Any, path: str | None = None) -> Any:
    """The result of ``write``, whose EncodeError becomes a DecodeError at ``offset``."""
    try:
        return write(*values)
    except (DecodeError, EncodeError) as error:
        raise fault(error.reason, error.text, offset, path or error.path) from None


def input_bytes(data: object) -> bytes:
    """The bytes of any contiguous bytes-like. Raises DecodeError(wrong_type|message_too_large)."""
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        raise fault(Reason.WRONG_TYPE, f"bytes are decoded, not {type(data).__name__}", 0) from None
    if not view.c_contiguous:
        raise fault(Reason.WRONG_TYPE, "the buffer is not contiguous", 0)
    if view.nbytes > LIMITS.message:
        raise fault(Reason.MESSAGE_TOO_LARGE, f"{view.nbytes} bytes are more than {LIMITS.message}", 0)
    return data if type(data) is bytes else view.tobytes()


def output_bytes(data: bytes) -> bytes:
    """The same bytes. Raises EncodeError(message_too_large) where reading would refuse them."""
    if len(data) > LIMITS.message:
        raise EncodeError(Reason.MESSAGE_TOO_LARGE, f"{len(data)} bytes are more than {LIMITS.message}", wire=WIRE)
    return data


def read_text(data: bytes, first: int, end: int, path: str) -> str:
    """The text in ``data[first:end]``. Raises DecodeError(bad_utf8) at its bad byte."""
    try:
        return data[first:end].decode()
    except UnicodeDecodeError as error:
        raise fault(Reason.BAD_UTF8, "the text is not valid UTF-8", first + error.start, path) from None


def fault(reason: Reason, text: str, offset: int | None = None, path: str | None = None) -> DecodeError:
    """A refusal of a binary form; ``offset`` counts its bytes, lines there are none."""
    return DecodeError(reason, text, offset=offset, wire=WIRE, path=path)
