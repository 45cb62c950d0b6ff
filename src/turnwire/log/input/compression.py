"""Decompresses gzip, bzip2, xz and zstd in bounded memory; locates damage.

A damaged stream gives what can be decompressed of it and then a :class:`StreamDamage`; it never raises. Several
members, frames or streams that follow each other are one, NUL bytes after the last are padding.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple, Protocol

from turnwire.contract import Limits
from turnwire.errors import MissingDependency, Reason, needs
from turnwire.log.input.signatures import LONGEST_MAGIC, ZSTD, format_of, may_become

_CHUNK = 32 << 10
_OUT = 1 << 20
_PIECE = 256
"""Bytes that bzip2 and xz are given at once: where they fail, what these alone would give is lost."""
_XZ_MEMORY = 80 << 20
"""Memory with which all presets of xz are read (the largest, -9, takes 65 MiB)."""

# A generator here yields decompressed bytes, or None where the input has nothing for the moment.
_Chunks = Generator["bytes | None", None, None]


class StreamDamage(NamedTuple):
    """The fault that ends a compressed stream: the reason, the byte of the compressed input, and words."""

    reason: Reason
    place: int
    text: str


WORDS = {
    "cut_off": "the compressed stream is incomplete",
    "trailing_junk": "the bytes after the last member or frame are neither another member or frame nor padding",
    "bad_compression": "the stream cannot be decompressed from here on, or a checksum is wrong",
    "ratio_too_high": "it expands by more than the limit allows",
    "window_too_large": "the stream needs a larger window than the limit",
}
"""The reasons in words, for people who have only a reject of it."""


class Bytes(Protocol):
    """A source of compressed bytes: ``into`` fills a part of a view. 0: the end; None: nothing for the moment."""

    def into(self, view: memoryview, /) -> int | None:
        """The number of bytes of the view that were filled."""


class _Broken(Exception):
    def __init__(self, reason: Reason, place: int, text: str) -> None:
        super().__init__(text)
        self.fault = StreamDamage(reason, place, text)


class _Feed:
    """Compressed bytes, as many as are wanted at once. ``place``: offset of ``data[0]`` in the compressed input."""

    def __init__(self, source: Bytes) -> None:
        self._source = source
        self._scratch = memoryview(bytearray(_CHUNK))
        self.data = b""
        self.place = 0
        self.ended = False

    def more(self) -> bool | None:
        """Adds bytes to ``data``: whether there were any, or None if there are none for the moment."""
        count = self._source.into(self._scratch)
        if count is None:
            return None
        self.data += self._scratch[:count]
        self.ended = count == 0
        return count > 0

    def need(self, count: int) -> Generator[None, None, bool]:
        """Waits for ``count`` bytes; whether they are there."""
        while len(self.data) < count and not self.ended:
            if self.more() is None:
                yield None
        return len(self.data) >= count

    def take(self, count: int) -> bytes:
        """Takes ``count`` bytes, all of which are there."""
        taken, self.data = self.data[:count], self.data[count:]
        self.place += count
        return taken

    def give_back(self, data: bytes) -> None:
        """Undoes taking these bytes, which were the last that were taken."""
        self.data = data + self.data
        self.place -= len(data)

    def end_of_padding(self) -> Generator[None, None, bool]:
        """Skips NUL bytes; whether the input ends after them."""
        while True:
            self.take(len(self.data) - len(self.data.lstrip(b"\0")))
            if self.data or not (yield from self.need(1)):
                return not self.data


class Decompressed:
    """The decompressed bytes of a stream, through ``into`` as of any input. ``fault``: why it ended, if not well."""

    def __init__(self, kind: str, source: Bytes, limits: Limits) -> None:
        self.kind = kind
        self.fault: StreamDamage | None = None
        self._feed = _Feed(source)
        self._limits = limits
        self._chunks = _READERS[kind](self._feed, limits)
        self._ready = memoryview(b"")
        self._out = 0

    def into(self, view: memoryview, /) -> int | None:
        """Fills a part of the view: how many bytes; 0 at the end, None if there are none for the moment."""
        while not self._ready:
            if self.fault is not None:
                return 0
            try:
                chunk = next(self._chunks, b"")
            except _Broken as broken:
                self.fault = broken.fault
                continue
            if not chunk:
                return None if chunk is None else 0
            self._ready = memoryview(self._within_ratio(chunk))
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _within_ratio(self, chunk: bytes) -> bytes:
        self._out += len(chunk)
        most = max(self._limits.ratio_from, self._limits.ratio * (self._feed.place + len(self._feed.data)))
        if self._out <= most:
            return chunk
        text = f"{self._out} bytes out of {self._feed.place}: more than {self._limits.ratio} to 1"
        self.fault = StreamDamage(Reason.RATIO_TOO_HIGH, self._feed.place, text)
        return chunk[: max(len(chunk) - (self._out - most), 0)]


def _parts(feed: _Feed, kind: str, part: str, read: Callable[[_Feed], _Chunks]) -> _Chunks:
    """The members, frames or streams of a kind, each of which ``read`` decompresses."""
    number = 0
    while not (yield from feed.end_of_padding()):
        yield from feed.need(LONGEST_MAGIC)
        if format_of(feed.data) != kind:
            if number and not may_become(feed.data, kind):
                raise _Broken(Reason.TRAILING_JUNK, feed.place, f"the bytes after {part} {number} are not {kind}")
            raise _Broken(Reason.CUT_OFF, feed.place + len(feed.data), f"the head of a {part} is cut off")
        number += 1
        yield from read(feed)


# --- gzip (RFC 1952) -------------------------------------------------------------------------------------------------


def _member(feed: _Feed) -> _Chunks:
    inflate = zlib.decompressobj(31)
    while not inflate.eof:
        if not feed.data and not feed.ended and feed.more() is None:
            yield None
            continue
        before = inflate.copy()
        try:
            out = inflate.decompress(feed.data, _OUT)
        except zlib.error as error:
            yield from _until_broken(before, feed, str(error))
            return
        left = len(inflate.unused_data if inflate.eof else inflate.unconsumed_tail)
        feed.take(len(feed.data) - left)
        if out:
            yield out
        elif feed.ended and not inflate.eof:
            raise _Broken(Reason.CUT_OFF, feed.place, "the compressed data is cut off")


def _until_broken(inflate: Any, feed: _Feed, text: str) -> _Chunks:
    """The output of the bytes before the one at which inflating fails."""
    out = bytearray()
    while feed.data:
        try:
            out += inflate.decompress(feed.data[:1])
        except zlib.error:
            break
        feed.take(1)
    if out:
        yield bytes(out)
    raise _Broken(Reason.BAD_COMPRESSION, feed.place, text)


# --- zstd (RFC 8878) -------------------------------------------------------------------------------------------------


def _zstd(feed: _Feed, limits: Limits) -> _Chunks:
    with needs("zstd", "zstd needs the package zstandard"):
        import zstandard
    decompressor = zstandard.ZstdDecompressor(max_window_size=max(limits.zstd_window, 1 << 10))

    def read(feed: _Feed) -> _Chunks:
        if feed.data.startswith(ZSTD):
            return _frame(feed, decompressor.decompressobj(), zstandard.ZstdError, limits.zstd_window)
        return _skip_frame(feed)

    return _parts(feed, "zstd", "frame", read)


def _skip_frame(feed: _Feed) -> _Chunks:
    yield from _must(feed, 8)
    left = int.from_bytes(feed.take(8)[4:], "little")
    while left:
        yield from _must(feed, 1)
        left -= len(feed.take(min(left, len(feed.data))))


def _must(feed: _Feed, count: int) -> Generator[None, None, None]:
    if not (yield from feed.need(count)):
        raise _Broken(Reason.CUT_OFF, feed.place + len(feed.data), "the compressed data is cut off")


def _frame(feed: _Feed, inflate: Any, error: type[Exception], most: int) -> _Chunks:
    """One frame, block by block (3.1.1): a block is 128 KiB decompressed at most."""
    yield from _must(feed, 6)
    descriptor = feed.data[4]
    single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    sizes = (single, 2, 4, 8)[descriptor >> 6]
    head = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + sizes
    yield from _must(feed, head)
    if single:
        window = int.from_bytes(feed.data[head - sizes : head], "little") + (256 if sizes == 2 else 0)
    else:
        base = 1 << (10 + (feed.data[5] >> 3))
        window = base + base // 8 * (feed.data[5] & 7)
    if window > most:
        raise _Broken(Reason.WINDOW_TOO_LARGE, feed.place, f"the window has {window} bytes; at most {most} are allowed")
    size, last = head, 0
    while True:
        yield from _must(feed, size)
        place = feed.place
        try:
            out = inflate.decompress(feed.take(size))
        except error as problem:
            raise _Broken(Reason.BAD_COMPRESSION, place, str(problem)) from None
        if out:
            yield out
        if last:
            return
        yield from _must(feed, 3)
        block = int.from_bytes(feed.data[:3], "little")
        last = block & 1
        size = 3 + (1 if block >> 1 & 3 == 1 else block >> 3) + (4 * checksum if last else 0)


# --- bzip2 and xz, by the standard library ---------------------------------------------------------------------------


def _bzip2(feed: _Feed, limits: Limits) -> _Chunks:
    try:
        from bz2 import BZ2Decompressor
    except ImportError:
        raise MissingDependency("this Python was built without bz2, which is needed to read bzip2") from None
    return _parts(feed, "bzip2", "stream", lambda feed: _stream(feed, BZ2Decompressor(), (OSError, ValueError)))


def _xz(feed: _Feed, limits: Limits) -> _Chunks:
    try:
        from lzma import FORMAT_XZ, LZMADecompressor, LZMAError
    except ImportError:
        raise MissingDependency("this Python was built without lzma, which is needed to read xz") from None

    made = partial(LZMADecompressor, FORMAT_XZ, memlimit=_XZ_MEMORY)
    return _parts(feed, "xz", "stream", lambda feed: _stream(feed, made(), (LZMAError,)))


def _stream(feed: _Feed, inflate: Any, errors: tuple[type[Exception], ...]) -> _Chunks:
    while not inflate.eof:
        if inflate.needs_input and not feed.data and not feed.ended and feed.more() is None:
            yield None
            continue
        place = feed.place
        piece = feed.take(min(_PIECE, len(feed.data))) if inflate.needs_input else b""
        try:
            out = inflate.decompress(piece, _OUT)
        except errors as error:
            large = "Memory usage limit" in str(error)
            raise _Broken(Reason.WINDOW_TOO_LARGE if large else Reason.BAD_COMPRESSION, place, str(error)) from None
        if out:
            yield out
        elif inflate.needs_input and not inflate.eof and feed.ended and not feed.data:
            raise _Broken(Reason.CUT_OFF, feed.place, "the compressed data is cut off")
    feed.give_back(inflate.unused_data)


_READERS: dict[str, Callable[[_Feed, Limits], _Chunks]] = {
    "gzip": lambda feed, _: _parts(feed, "gzip", "member", _member),
    **{"bzip2": _bzip2, "xz": _xz, "zstd": _zstd},
}
