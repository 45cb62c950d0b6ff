"""Reads the whole content of each input, for commands that judge or replay a file as one history."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
    from turnwire.log.input.formats import NotALog
    from turnwire.log.input.sources import sources

    refused: list[NotALog] = []
    given = False
    for found in sources(source):
        for item in _contents(found, limits, most, refused.append):
            given = True
            yield item
    for error in refused:
        if not given:
            raise error
        warnings.warn(FileRefused(error), stacklevel=2)


def _contents(source: Any, limits: Limits, most: int, refuse: Any) -> Iterator[tuple[str | None, bytes]]:
    """The same of one source; ``refuse`` is told of a file that was listed and is no log."""
    from turnwire.log.input.archives import can_seek, members
    from turnwire.log.input.formats import HEAD, LONGEST_MAGIC, NotALog, format_of, is_archive, refuse_binary
    from turnwire.log.input.reading import Input, Stop, opened

    def refused(error: NotALog) -> None:
        error.filename = error.filename or source.name
        if not source.listed:
            raise error
        refuse(error)

    data = source.data
    if data is not None and not isinstance(data, bytes):
        data = memoryview(data).tobytes()
    if data is not None and format_of(data[:LONGEST_MAGIC]) is None and not is_archive(data[:HEAD]):
        yield source.name, data
        return
    with io.BytesIO(data) if data is not None else source.open() as file:
        stop = Stop()
        raw = Input(file, stop)
        head = raw.head()[:HEAD]
        try:
            refuse_binary(head)
            if not is_archive(head):
                _, stream = opened(file, stop, limits, raw)
                yield source.name, _all(stream, source.name, most)
                return
            for inside, member in members(file if can_seek(file) else raw, limits, refused):
                name, raw = inside if source.name is None else f"{source.name}/{inside}", Input(member, stop)
                try:
                    refuse_binary(raw.head()[:HEAD], name, plain=True)
                except NotALog as error:
                    refused(error)
                    continue
                _, stream = opened(member, stop, limits, raw)
                yield name, _all(stream, name, most)
        except NotALog as error:
            refused(error)


@contextmanager
def unpacked(file: Any, limits: Limits = LIMITS) -> Iterator[BinaryIO]:
    """The decompressed bytes of an open binary file, to be read line by line.

    Reading raises OSError; the end of the block raises DecodeError where the compressed stream is damaged.
    """
    from turnwire.log.input.formats import HEAD, refuse_binary
    from turnwire.log.input.reading import Input, Stop, opened

    stop = Stop()
    raw = Input(file, stop)
    refuse_binary(raw.head()[:HEAD], getattr(file, "name", None), plain=True)
    _, stream = opened(file, stop, limits, raw)
    with io.BufferedReader(_Unpacked(raw, stream), _PIECE) as reader:
        yield reader
        _refuse_damage(stream)


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


def _refuse_damage(stream: Any) -> None:
    fault = getattr(stream, "fault", None)
    if fault is not None:
        raise DecodeError(fault.reason, fault.text, offset=fault.place, wire=stream.kind)


def _all(stream: Any, name: str | None, most: int) -> bytes:
    """All bytes of an open input."""
    whole = bytearray()
    piece = memoryview(bytearray(_PIECE))
    while (count := stream.into(piece)) != 0:
        whole += piece[: count or 0]
        if len(whole) > most:
            raise ValueError(f"more than {most >> 20:,} MiB cannot be read at once")
    _refuse_damage(stream)
    return bytes(whole)
