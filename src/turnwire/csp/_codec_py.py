"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``.

``stream.py`` cuts text into records, ``message.py`` reads one message, ``objects.py`` makes and writes the usual one,
``bulk.py`` fills the columns of a log. Tables of spans are filled (``turnwire.csp.spec`` gives their columns).
"""

from __future__ import annotations

from typing import Any

from turnwire.csp._bulk_py import scan_block, short_texts, text_spans
from turnwire.csp._message_py import Cursor
from turnwire.csp._objects_py import check, decode, encode, is_clean, usual_message, usual_text
from turnwire.csp._stream_py import Stream
from turnwire.csp._tables_py import NO_LIMIT, check_size, tables
from turnwire.csp.spec import EXTRA_WIDTH, REJECT_WIDTH, ROW_WIDTH

__all__ = [
    "NO_LIMIT",
    "check",
    "decode",
    "encode",
    "is_clean",
    "scan_block",
    "scan_into",
    "tables",
    "short_texts",
    "text_spans",
    "usual_message",
    "usual_text",
]


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
    comes there may go on after ``stop`` (never when ``final``) or found a table full. ``state``: int64[4], zero at
    the start of a stream and carried from call to call. Lines are counted from ``start``; state[0] is the number of
    lines before it and moves on. Offsets are offsets into ``data``.
    """
    for table, width in ((rows, ROW_WIDTH), (extras, EXTRA_WIDTH), (rejects, REJECT_WIDTH)):
        if table.ndim != 2 or table.shape[1] != width or table.dtype.kind != "i" or table.itemsize != 4:
            raise ValueError(f"a table of int32 with {width} columns is needed")
    if not 0 <= start <= stop <= len(data):
        raise ValueError("start and stop lie outside the data")
    check_size(len(data))
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
