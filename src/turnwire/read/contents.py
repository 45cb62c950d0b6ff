"""Reads the whole content of each input, for commands that judge or replay a file as one history."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from turnwire._lazy import require_numpy
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, FileRefused

MOST = (1 << 31) - 1
_PIECE = 1 << 20


def contents(source: Any, *, limits: Limits = LIMITS, most: int = MOST) -> Iterator[tuple[str | None, bytes]]:
    """(name, bytes) of each input that :func:`turnwire.scan` reads for ``source``; compressed ones are decompressed.

    Raises and warns like ``scan``; also raises DecodeError for a damaged compressed stream and ValueError for more than
    ``most`` bytes.
    """
    refused: list[OSError] = []
    given, whole = False, bytearray()
    for reading, block in _pieces(source, limits, refused):
        whole += memoryview(block.data)[: block.size]
        if len(whole) > most:
            raise ValueError(f"more than {most >> 20:,} MiB cannot be read at once")
        if block.last:
            _refuse_damage(reading)
            yield reading.name, bytes(whole)
            given, whole = True, bytearray()
    for error in refused:
        if not given:
            raise error
        warnings.warn(FileRefused(error), stacklevel=2)


def lines(source: Any, *, limits: Limits = LIMITS) -> Iterator[tuple[str | None, int, bytes]]:
    """(name, number, bytes without the newline) of each line of the inputs, in bounded memory. Raises as
    :func:`contents`, at the damage."""
    refused: list[OSError] = []
    rest, number = b"", 0
    for reading, block in _pieces(source, limits, refused):
        *whole, rest = (rest + memoryview(block.data)[: block.size]).split(b"\n")
        for number, line in enumerate(whole, number + 1):  # noqa: B020
            yield reading.name, number, line
        if block.last:
            _refuse_damage(reading)
            if rest:
                yield reading.name, number + 1, rest
            rest, number = b"", 0
    if refused:
        raise refused[0]


def _refuse_damage(reading: Any) -> None:
    if (fault := reading.fault) is not None:
        raise DecodeError(fault.reason, fault.text, offset=fault.place, wire=reading.kind)


def beginning(source: Any, most: int) -> bytes:
    """The first bytes of the inputs, decompressed, each with a newline behind it; as many as there are before any
    damage. Raises OSError."""
    whole = bytearray()
    for _, block in _pieces(source, LIMITS, []):
        whole += memoryview(block.data)[: block.size]
        whole += b"\n" * block.last
        if len(whole) >= most:
            break
    return bytes(whole[:most])


def _pieces(source: Any, limits: Limits, refused: list[OSError]) -> Iterator[tuple[Any, Any]]:
    """The blocks of all inputs, each with the reading that it is of; and the files that are no logs."""
    require_numpy()
    from turnwire.log.input.memory import Pool
    from turnwire.log.input.reading import Stop, stream_blocks
    from turnwire.log.input.rotation import Bookmarks, file_blocks
    from turnwire.log.input.sources import ReadOptions, sources

    job = ReadOptions(Pool(), _PIECE, False, limits, Stop(), Bookmarks(), lambda gap: None, refused.append)
    for found in sources(source):
        if found.data is not None:  # an archive that is cut off is refused, not read as text
            found = found._replace(data=None, open=partial(io.BytesIO, memoryview(found.data).tobytes()))
        for reading, block in (file_blocks if found.mappable else stream_blocks)(found, job):
            if reading.kind != "zip" or reading.identity is None:  # the end of an archive, whose files came before
                yield reading, block
