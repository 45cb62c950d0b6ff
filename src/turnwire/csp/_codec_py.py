"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``, most parts of which are modules."""

from __future__ import annotations

import struct
from typing import Any

from turnwire.csp._scanner_py import NO_LIMIT, tables
from turnwire.csp.codec import check_closely as check, decode_closely as decode, encode_closely as encode
from turnwire.csp.spec import BULK_KINDS, BULK_SPANS, BULK_TEXTS, ROW_WIDTH

__all__ = ["NO_LIMIT", "check", "decode", "encode", "tables", "text_spans"]

_ROW = struct.Struct(f"={ROW_WIDTH}i")


def text_spans(rows: Any, count: int, text: int, offsets: Any, lengths: Any) -> None:
    """The place of a text of each record: see the native twin."""
    if not 0 <= text < len(BULK_TEXTS):
        raise ValueError(f"there are {len(BULK_TEXTS)} texts")
    data = memoryview(rows).tobytes()
    if min(len(data) // _ROW.size, len(offsets), len(lengths)) < count:
        raise ValueError("there are fewer rows than that")
    for place in range(count):
        row = _ROW.unpack_from(data, place * _ROW.size)
        offset, length = 0, -1
        names = BULK_SPANS[BULK_KINDS[row[3] & 0xFF]]
        if BULK_TEXTS[text] in names:
            span = 4 + 2 * names.index(BULK_TEXTS[text])
            offset, length = row[span], row[span + 1]
        offsets[place], lengths[place] = (offset, length) if length >= 0 else (0, 0)
