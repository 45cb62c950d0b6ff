"""Space documents as records of KickLang: detection, reading, columns and faults.

A record of kind "document" is read leniently, like the author's own parsers (section 004, rule 1): it has a header line
and is UTF-8. ``faults`` lists the faults that strict reading would reject; ``check`` lists those that lenient reading
accepted, and lints.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire._lazy import Deferred
from turnwire.contract import DocumentPlan, record_bytes
from turnwire.errors import DecodeError, Reason
from turnwire.kick.faults import SPACE_WORDS, input_source, space_fault
from turnwire.kick.sections import header_line, judge
from turnwire.kick.space import Space, parse_space
from turnwire.kick.spec import DOCUMENT, SIGIL_BYTES, TYPES, WIRE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.kick.codec import Envelope

_DETECT = Deferred("turnwire.kick.codec", "detect")
_DECODE = Deferred("turnwire.kick.codec", "decode")
_BOM = b"\xef\xbb\xbf"
HEADER = re.compile(rb"^(?:\A\xef\xbb\xbf)?\xe2\xab\xbb[ \t]*[^ \t\r\n\v\f/:]", re.MULTILINE)
"""The first header of a document: lenient reading takes it, and it has a name."""
_OTHER = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[\"@]")


def is_document(data: str | Buffer) -> bool:
    """True if text or bytes look like a Space document: a line begins with the sigil and a name, and the text does not
    begin with JSON or an nSLIP message. Never raises."""
    raw = record_bytes(data) or b""
    return SIGIL_BYTES in raw and _OTHER.match(raw) is None and HEADER.search(raw) is not None


def detect(data: str | Buffer) -> bool:
    """True if one record looks like KickLang: an envelope (:func:`turnwire.kick.codec.detect`), or a Space document.
    Never raises."""
    found: bool = _DETECT(data) or is_document(data)
    return found


def read(data: str | Buffer, *, mode: str = "strict", **options: Any) -> Envelope | Space:
    """Reads one envelope or one Space document, whichever it looks like.

    mode: how a document is read (:func:`parse_space`); an envelope is always read strictly. options: those of
    ``decode`` for envelopes. Raises DecodeError like ``decode`` and ``parse_space``.
    """
    opens = isinstance(data, (str, bytes)) and data.startswith("{" if isinstance(data, str) else b"{")  # type: ignore[arg-type]
    if not opens and is_document(data):
        return parse_space(data, mode=mode)
    envelope: Envelope = _DECODE(data, **options)
    return envelope


def read_record(data: Any) -> Envelope | Space:
    """Reads one record of a scan: a document leniently, or an envelope if it begins with an object."""
    found: Envelope | Space = _DECODE.function(data) if data[:1] == b"{" else read(data, mode="lenient")
    return found


def faults(data: str | Buffer, *, fences: bool = False) -> list[DecodeError]:
    """Lists all faults for which strict reading rejects a document, not only the first: bad_utf8 (then nothing else),
    bom, empty_header, bad_header, no_sections; each with its byte offset and line. fences: as for ``parse_space``."""
    try:
        space = parse_space(data, mode="lenient", fences=fences)
    except DecodeError as error:
        return [error]
    found = [space_fault("", Reason.BOM, 0)] if space.bom else []
    if not space.sections and space.preamble.strip():
        found.append(space_fault("", Reason.NO_SECTIONS, 0))
    offset = len(_BOM) * space.bom + len(space.preamble.encode())
    line = 1 + space.preamble.count("\n")
    for section in space.sections:
        raw = section.raw or ""
        header = header_line(raw, 0, raw.find("\n") + 1 or len(raw))
        place = judge(header)
        if place >= 0:
            empty = not header.strip()
            reason = Reason.EMPTY_HEADER if empty else Reason.BAD_HEADER
            at = offset if empty else offset + len(SIGIL_BYTES) + len(header[:place].encode())
            found.append(DecodeError(reason, SPACE_WORDS[reason], offset=at, line=line, wire=WIRE))
        offset += len(raw.encode())
        line += raw.count("\n")
    return found


def columns(data: Buffer, *, fences: bool = False) -> dict[str, int | tuple[int, int]]:
    """Returns the columns that a document has in a scan: ``type`` (its code among the kinds), ``sections`` (their
    number), and, as (offset, length) in its bytes, ``content`` (the whole document) and ``subject`` (its first header
    line). Raises DecodeError(bad_utf8)."""
    raw = input_source(data)
    space = parse_space(raw, mode="lenient", fences=fences)
    start = len(_BOM) * space.bom + len(space.preamble.encode())
    stop = raw.find(b"\n", start)
    header = raw[start : len(raw) if stop < 0 else stop].decode().rstrip()
    return {
        "type": len(TYPES),
        "sections": len(space.sections),
        "content": (0, len(raw)),
        "subject": (start, len(header.encode())),
    }


_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\xe2\xab\xbb[ \t]*[^ \t\r\n\v\f/:]")
DOCUMENTS = DocumentPlan(DOCUMENT, Space, SIGIL_BYTES, _HEADER, columns, faults)
