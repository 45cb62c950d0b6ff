"""The columns of CSP/1 for the search of logs in plain Python: the readable twin of ``_native/csp/columns.pxi``."""

from __future__ import annotations

import struct
from typing import Any

from turnwire.csp.spec import BULK_ENUMS, BULK_KINDS, BULK_LINES, BULK_SLOTS, BULK_SPANS, BULK_TEXTS

Span = tuple[int, int]
_BIT = {name: 1 << place for place, name in enumerate((*BULK_TEXTS, *BULK_ENUMS))}
_HEADERS = ("from", "to", "ctx", "id")
_ABSENT = 255
_ROW = struct.Struct("=24i")


def _lines(data: bytes, start: int, stop: int) -> Span:
    """The lines after the rest of the line at ``start``, without their last line end."""
    start += data.startswith(b"\r", start)
    start += data.startswith(b"\n", start)
    if stop > start and data[stop - 1] == 10:
        stop -= 1
        if data[stop - 1] == 13:
            stop -= 1
    return start, stop - start


def texts_of(data: bytes, row: tuple[int, ...]) -> dict[str, Span]:
    """Column -> (offset, length) of what a row has, enums among them."""
    kind = BULK_KINDS[row[3] & 0xFF]
    names = (*_HEADERS, *BULK_SLOTS[kind])
    found = {name: (row[4 + 2 * slot], row[5 + 2 * slot]) for slot, name in enumerate(names)}
    found = {name: span for name, span in found.items() if span[1] >= 0}
    if kind == "PATCH":
        base, apply = found["base"], found["apply"]
        found["ops"] = _lines(data, sum(base), apply[0] - len("APPLY -> "))
    elif kind in BULK_LINES:
        found[BULK_LINES[kind]] = _lines(data, sum(found["id" if "id" in found else "flags"]), row[0] + row[1])
    return found


def _values(data: bytes, row: tuple[int, ...], found: dict[str, Span]) -> dict[str, int]:
    values = {"present": sum(_BIT[name] for name in found), "intent": row[3] & 0xFF}
    for name, words in BULK_ENUMS.items():
        start, length = found.get(name, (0, 0))
        values[name] = words.index(data[start : start + length].decode()) if name in found else _ABSENT
    return values


def values(data: bytes, start: int, stop: int, row: Any, shift: int) -> dict[str, Any]:
    """The own columns of a record that the search found in ``data``, by the row of the scanner; see ``BulkScanner``."""
    found = texts_of(data, row)
    whole = [*row[:22], *found.get(BULK_LINES.get(BULK_KINDS[row[3] & 0xFF], ""), (-1, -1))]
    for place in (0, *(at for at in range(4, len(whole), 2) if whole[at + 1] >= 0)):
        whole[place] += shift
    return {**_values(data, row, found), "spans": _ROW.pack(*whole)}


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
