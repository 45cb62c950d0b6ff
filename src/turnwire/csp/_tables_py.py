"""The tables of spans of a whole buffer."""

from __future__ import annotations

from turnwire.csp._message_py import Cursor, Table
from turnwire.csp._stream_py import Stream

NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)


def tables(data: bytes, limits: tuple[int, int, int] = NO_LIMIT, wanted: str = "all") -> tuple[Table, Table, Table]:
    """(rows, extras, rejects) of a whole buffer.

    ``limits``: bytes of a message, fields of a generic block, bytes of a key. wanted: "all" rejects, "first": up to the
    first one, what is behind it is not read, "none" of them. Raises ValueError for 2 GiB or more, as spans are 32
    bits wide.
    """
    check_size(len(data))
    stream = Stream(Cursor(data, len(data)), 0, limits, [0, 0, 0, 0])
    stream.run_to(1 << 62, 1 << 62, 1 if wanted == "first" else 1 << 62)
    if wanted == "none":
        return stream.rows, stream.extras, []
    if wanted == "first" and stream.rejects:
        del stream.rejects[1:]
        return [row for row in stream.rows if row[0] < stream.rejects[0][0]], stream.extras, stream.rejects
    return stream.rows, stream.extras, stream.rejects


def check_size(size: int) -> None:
    """Raises ValueError for a buffer whose spans would not fit."""
    if size >= 1 << 31:
        raise ValueError("a buffer of 2 GiB or more cannot be scanned at once: spans are 32 bits wide")
