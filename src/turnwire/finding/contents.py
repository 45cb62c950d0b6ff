"""The whole content of each input, for what judges or replays a file as one history."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError

MOST = (1 << 31) - 1
_PIECE = 1 << 20


def contents(source: Any, *, limits: Limits = LIMITS, most: int = MOST) -> Iterator[tuple[str | None, bytes]]:
    """(name, bytes) of each input that :func:`turnwire.scan` reads for ``source``; compressed ones are decompressed.

    Raises what ``scan`` raises, DecodeError where a compressed stream is damaged, and ValueError for more than ``most``
    bytes.
    """
    from turnwire.log.input.compression import LONGEST_MAGIC, format_of
    from turnwire.log.input.reading import Stop, opened
    from turnwire.log.input.sources import sources

    for found in sources(source):
        data = found.data
        if data is not None and not isinstance(data, bytes):
            data = memoryview(data).tobytes()
        if data is not None and format_of(data[:LONGEST_MAGIC]) is None:
            yield found.name, data
            continue
        with io.BytesIO(data) if data is not None else found.open() as file:
            _, stream = opened(file, Stop(), limits)
            yield found.name, _all(stream, found.name, most)


def _all(stream: Any, name: str | None, most: int) -> bytes:
    """All bytes of an open input."""
    whole = bytearray()
    piece = memoryview(bytearray(_PIECE))
    while (count := stream.into(piece)) != 0:
        whole += piece[: count or 0]
        if len(whole) > most:
            raise ValueError(f"more than {most >> 20:,} MiB cannot be read at once")
    fault = getattr(stream, "fault", None)
    if fault is not None:
        raise DecodeError(fault.reason, fault.text, offset=fault.place, wire=stream.kind)
    return bytes(whole)
