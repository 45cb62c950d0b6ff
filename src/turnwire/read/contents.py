"""Reads the whole content of each input, for commands that judge or replay a file as one history."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, FileRefused

MOST = (1 << 31) - 1
_PIECE = 1 << 20


def contents(source: Any, *, limits: Limits = LIMITS, most: int = MOST) -> Iterator[tuple[str | None, bytes]]:
    """(name, bytes) of each input that :func:`turnwire.scan` reads for ``source``; compressed ones are decompressed.

    Raises and warns of what ``scan`` does, DecodeError where a compressed stream is damaged, and ValueError for more
    than ``most`` bytes.
    """
    from turnwire.log.input.bookmarks import Bookmarks
    from turnwire.log.input.memory import Pool
    from turnwire.log.input.reading import Stop
    from turnwire.log.input.source_blocks import blocks
    from turnwire.log.input.sources import ReadOptions, sources

    refused: list[OSError] = []
    job = ReadOptions(Pool(), _PIECE, False, limits, Stop(), Bookmarks(), lambda gap: None, refused.append)
    given, whole = False, bytearray()
    for found in sources(source):
        if found.data is not None:  # an archive that is cut off is refused, not read as text
            found = found._replace(data=None, open=partial(io.BytesIO, memoryview(found.data).tobytes()))
        for reading, block in blocks(found, job):
            if reading.kind == "zip" and reading.identity is not None:
                continue  # the end of an archive, whose files came before
            whole += memoryview(block.data)[: block.size]
            if len(whole) > most:
                raise ValueError(f"more than {most >> 20:,} MiB cannot be read at once")
            if block.last:
                _refuse_damage(reading.fault, reading.kind)
                yield reading.name, bytes(whole)
                given, whole = True, bytearray()
    for error in refused:
        if not given:
            raise error
        warnings.warn(FileRefused(error), stacklevel=2)


@contextmanager
def unpacked(file: Any, limits: Limits = LIMITS) -> Iterator[BinaryIO]:
    """The decompressed bytes of an open binary file, to be read line by line.

    Reading raises OSError; the end of the block raises DecodeError where the compressed stream is damaged.
    """
    from turnwire.log.input.reading import Input, Stop, decompressed
    from turnwire.log.input.signatures import refuse_binary

    raw = Input(file, Stop())
    refuse_binary(raw.head(), getattr(file, "name", None), plain=True)
    stream = decompressed(raw, limits)
    with io.BufferedReader(_Unpacked(raw, stream), _PIECE) as reader:
        yield reader
        _refuse_damage(getattr(stream, "fault", None), getattr(stream, "kind", None))


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of an input."""

    def __init__(self, raw: Any, stream: Any) -> None:
        self._raw = raw
        self._stream = stream

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, view: Any, /) -> int:
        """The number of bytes read into ``view``; 0 at the end."""
        while (count := self._stream.into(memoryview(view))) is None:
            pass  # a pipe paused
        return int(count)


def _refuse_damage(fault: Any, kind: str | None) -> None:
    if fault is not None:
        raise DecodeError(fault.reason, fault.text, offset=fault.place, wire=kind)
