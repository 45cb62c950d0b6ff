"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``.

``stream.py`` cuts text into records, ``message.py`` reads one message, ``bulk.py`` fills the columns of a
log. Tables of spans are filled (``turnwire.csp.spec`` gives their columns); nothing is copied.
"""

from __future__ import annotations

from typing import Any

from turnwire._pure.csp.bulk import scan_block, text_spans
from turnwire._pure.csp.message import Cursor, Table
from turnwire._pure.csp.stream import Stream
from turnwire.csp.spec import EXTRA_WIDTH, REJECT_WIDTH, ROW_WIDTH

__all__ = ["NO_LIMIT", "scan_block", "scan_into", "tables", "text_spans"]

NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)


def tables(data: bytes, limits: tuple[int, int, int] = NO_LIMIT, wanted: str = "all") -> tuple[Table, Table, Table]:
    """(rows, extras, rejects) of a whole buffer.

    ``limits``: bytes of a message, fields of a generic block, bytes of a key. wanted: "all" rejects, "first": up to the
    first one, what stands behind it is not read, "none" of them. Raises ValueError for 2 GiB or more, as spans are 32
    bits wide.
    """
    _check_size(len(data))
    stream = Stream(Cursor(data, len(data)), 0, limits, [0, 0, 0, 0])
    stream.run_to(1 << 62, 1 << 62, 1 if wanted == "first" else 1 << 62)
    if wanted == "none":
        return stream.rows, stream.extras, []
    if wanted == "first" and stream.rejects:
        del stream.rejects[1:]
        return [row for row in stream.rows if row[0] < stream.rejects[0][0]], stream.extras, stream.rejects
    return stream.rows, stream.extras, stream.rejects


def scan_into(
    data: Any,
    start: int,
    stop: int,
    final: bool,
    limits: tuple[int, int, int],
    state: Any,
    rows: Any,
    extras: Any,
    rejects: Any,
) -> tuple[int, int, int, int]:
    """Fills C-contiguous int32 tables from ``data[start:stop]``; returns (consumed, rows, extras, rejects used).

    ``data``: contiguous bytes-like, under 2 GiB. ``consumed`` is the offset of the first byte that was not: what
    stands there may go on after ``stop`` (never when ``final``) or found a table full. ``state``: int64[4], zero at
    the start of a stream and carried from call to call. Lines are counted from ``start``; state[0] is the number of
    lines before it and moves on. Offsets are offsets into ``data``.
    """
    for table, width in ((rows, ROW_WIDTH), (extras, EXTRA_WIDTH), (rejects, REJECT_WIDTH)):
        if table.ndim != 2 or table.shape[1] != width:
            raise ValueError(f"a table with {width} columns is needed")
    if not 0 <= start <= stop <= len(data):
        raise ValueError("start and stop lie outside the data")
    _check_size(len(data))
    raw = data if isinstance(data, bytes) else bytes(data)
    stream = Stream(Cursor(raw, stop, final), start, limits, [int(part) for part in state])
    consumed = stream.run_to(len(rows), len(extras), len(rejects))
    for table, found in ((rows, stream.rows), (extras, stream.extras), (rejects, stream.rejects)):
        for place, record in enumerate(found):
            table[place] = record
    state[0] += raw.count(b"\n", start, consumed)
    state[1] = int(stream.tail)
    state[2] = stream.run
    return consumed, len(stream.rows), len(stream.extras), len(stream.rejects)


def _check_size(size: int) -> None:
    if size >= 1 << 31:
        raise ValueError("a buffer of 2 GiB or more cannot be scanned at once: spans are 32 bits wide")
