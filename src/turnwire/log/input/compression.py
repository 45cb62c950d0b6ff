"""Inputs that are stored in another form: the signatures of these and of binary files that are no logs; gzip, bzip2, xz
and zstd decompressed in bounded memory, with the place of damage; the members of zip archives.

A damaged stream gives what can be decompressed of it and then a :class:`StreamDamage`; it never raises. Several
members, frames or streams that follow each other are one, NUL bytes after the last are padding.
"""

from __future__ import annotations

import errno
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol

from turnwire.contract import Limits
from turnwire.errors import MissingDependency, Reason, needs

try:
    from lzma import LZMAError
except ImportError:  # a Python built without lzma
    LZMAError = zlib.error  # type: ignore[assignment, misc]

_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
"""The first bytes of a frame of zstd that holds no data (RFC 8878, 3.1.2)."""
# A digit for the size of blocks, then the mark of the first block, or that of the end where there is none.
_BZIP2 = tuple(b"BZh%d%b" % (size, mark) for size in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90"))
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_SIGNS = {
    _GZIP: "gzip",
    **dict.fromkeys(_BZIP2, "bzip2"),
    b"\xfd7zXZ\0": "xz",
    **dict.fromkeys((_ZSTD, *_SKIPPABLE), "zstd"),
}
LONGEST_MAGIC = 10
"""Bytes that tell a compressed stream."""
_BINARY = {
    b"SQLite format 3\0": "a SQLite database",
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\0\0": "an Arrow file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"Obj\x01": "an Avro file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office document",
    b"\x7fELF": "a program (ELF)",
    b"MZ\x90\0": "a program (PE)",
    b"\xcf\xfa\xed\xfe": "a program (Mach-O)",
    b"\0asm\x01\0\0\0": "a program (WebAssembly)",
    b"LPKSHHRH": "a journal of systemd (journalctl -o json writes it as text)",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive (unpack it first)",
    b"Rar!\x1a\x07": "a RAR archive (unpack it first)",
    b"\x04\x22\x4d\x18": "compressed with lz4 (unpack it first)",
}
"""The first bytes of binary files that are no logs. None of them begins a text."""
HEAD = 16
"""Bytes that tell each of these formats."""
_MAGICS = (*_SIGNS, *_ZIP, *_BINARY)
FIRST_BYTES = frozenset(magic[:1] for magic in _MAGICS)
"""Anything that begins with none of these bytes is text."""
UNDECIDED = frozenset(magic[:size] for magic in _MAGICS for size in range(len(magic)))
"""The heads of which more bytes could make one of the formats."""


class NotALog(OSError):
    """An input that is refused: a binary file, or an archive that cannot be read."""

    def __init__(self, what: str, name: str | None = None) -> None:
        super().__init__(errno.EINVAL, what, name)


Refuse = Callable[[OSError], None]
"""Takes a refusal: raises it, or keeps it where the rest is read."""


def format_of(head: bytes) -> str | None:
    """ "gzip", "bzip2", "xz", "zstd" or None, from the first bytes of an input."""
    return next((kind for magic, kind in _SIGNS.items() if head.startswith(magic)), None)


def may_become(head: bytes, kind: str | None = None) -> bool:
    """True if more bytes could make a compressed stream (of a kind) of this head."""
    magics = (magic for magic, name in _SIGNS.items() if name == kind or kind is None)
    return any(len(head) < len(magic) and magic.startswith(head) for magic in magics)


def is_archive(head: bytes) -> bool:
    """True if an input that begins so is a zip archive."""
    return head.startswith(_ZIP)


def refuse_binary(head: bytes, name: str | None = None, plain: bool = False) -> None:
    """Raises NotALog if an input that begins so is a binary file, or an archive where ``plain``."""
    if plain and is_archive(head):
        raise NotALog("is an archive (unpack it first)", name)
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise NotALog(f"is {what}, not a log", name)


# --- compressed streams -----------------------------------------------------------------------------------------------

_CHUNK = 32 << 10
_OUT = 1 << 20
_PIECE = 256
"""Bytes that bzip2 and xz are given at once: where they fail, what these alone would give is lost."""
_ZSTD_PIECE = 2048
"""The same of zstd: few enough that the largest blocks in them fit into memory (64 MiB)."""
_ZSTD_HEAD = 18
"""Bytes of the longest head of a frame of zstd."""
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


# --- zstd (RFC 8878), bzip2 and xz -----------------------------------------------------------------------------------


def _zstd(feed: _Feed, limits: Limits) -> _Chunks:
    with needs("zstd", "zstd needs the package zstandard"):
        import zstandard
    most = max(limits.zstd_window, 1 << 10)
    decompressor = zstandard.ZstdDecompressor(max_window_size=most)

    def read(feed: _Feed) -> _Chunks:
        yield from feed.need(_ZSTD_HEAD)
        try:
            window = zstandard.get_frame_parameters(feed.data).window_size
        except zstandard.ZstdError:  # it is cut off, or damaged: reading it says which
            window = 0
        if window > limits.zstd_window:
            text = f"the window has {window} bytes; at most {limits.zstd_window} are allowed"
            raise _Broken(Reason.WINDOW_TOO_LARGE, feed.place, text)
        yield from _stream(feed, decompressor.decompressobj(), zstandard.ZstdError, _ZSTD_PIECE)

    return _parts(feed, "zstd", "frame", read)


def _bzip2(feed: _Feed, limits: Limits) -> _Chunks:
    try:
        from bz2 import BZ2Decompressor
    except ImportError:
        raise MissingDependency("this Python was built without bz2, which is needed to read bzip2") from None
    return _parts(feed, "bzip2", "stream", lambda feed: _stream(feed, BZ2Decompressor(), (OSError, ValueError)))


def _xz(feed: _Feed, limits: Limits) -> _Chunks:
    try:
        from lzma import FORMAT_XZ, LZMADecompressor
    except ImportError:
        raise MissingDependency("this Python was built without lzma, which is needed to read xz") from None
    made = partial(LZMADecompressor, FORMAT_XZ, memlimit=_XZ_MEMORY)
    return _parts(feed, "xz", "stream", lambda feed: _stream(feed, made(), LZMAError))


def _stream(feed: _Feed, inflate: Any, errors: Any, most: int = _PIECE) -> _Chunks:
    """One stream or frame, in pieces of at most so many bytes."""
    while not inflate.eof:
        if not feed.data and not feed.ended and feed.more() is None:
            yield None
            continue
        place = feed.place
        try:
            out = inflate.decompress(feed.take(min(most, len(feed.data))))
        except errors as error:
            large = "Memory usage limit" in str(error)
            raise _Broken(Reason.WINDOW_TOO_LARGE if large else Reason.BAD_COMPRESSION, place, str(error)) from None
        if out:
            yield out
        elif feed.ended and not feed.data and not inflate.eof:
            raise _Broken(Reason.CUT_OFF, feed.place, "the compressed data is cut off")
    feed.give_back(inflate.unused_data)


_READERS: dict[str, Callable[[_Feed, Limits], _Chunks]] = {
    "gzip": lambda feed, _: _parts(feed, "gzip", "member", _member),
    **{"bzip2": _bzip2, "xz": _xz, "zstd": _zstd},
}


# --- zip archives -----------------------------------------------------------------------------------------------------

_DOCUMENT = "[Content_Types].xml"
"""The member that makes an archive an Office document."""


def is_archived(path: str) -> bool:
    """True if a path leads to a regular file that is an archive. Raises FileNotFoundError."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return is_archive(file.read(HEAD))


class Member(io.RawIOBase):
    """The decompressed bytes of one file in an archive. fault: why they end before their time; stored: how many bytes
    of the archive they are."""

    kind = "zip"

    def __init__(self, archive: _Archive, info: zipfile.ZipInfo) -> None:
        self.fault: StreamDamage | None = None
        self.stored, self.size = info.compress_size, info.file_size
        self._archive = archive
        self._place, self._checksum = info.header_offset, info.CRC
        unchecked = copy(info)
        unchecked.CRC = None  # type: ignore[assignment] # zipfile would keep the last bytes back where it is wrong
        self._file: Any = archive.zip.open(unchecked)
        self._running = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, view: Any, /) -> int:
        """The number of bytes read into ``view``; 0 at the end, or where there is a ``fault``."""
        if self.fault is not None or not len(view):
            return 0
        try:
            data = self._file.read1(min(len(view), _OUT))
        except EOFError:
            return self._ended(Reason.CUT_OFF, "the archive ends within this file")
        except (zipfile.BadZipFile, zlib.error, LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # bzip2 has an error without a number
                raise
            return self._ended(Reason.BAD_COMPRESSION, str(error))
        self._running = zlib.crc32(data, self._running)
        if not data and self._running != self._checksum:
            return self._ended(Reason.BAD_COMPRESSION, "the checksum is wrong")
        if (over := self._archive.over(len(data))) > 0:
            data = data[: max(len(data) - over, 0)]
            self._ended(Reason.RATIO_TOO_HIGH, f"the archive expands by more than {self._archive.limits.ratio} to 1")
        memoryview(view)[: len(data)] = data
        return len(data)

    def _ended(self, reason: Reason, text: str) -> int:
        self.fault = StreamDamage(reason, self._place, text)
        return 0

    def close(self) -> None:
        """Closes it."""
        self._file.close()
        super().close()


class _Archive:
    """An open archive, and how many bytes came out of it."""

    def __init__(self, file: Any, limits: Limits) -> None:
        self.zip = zipfile.ZipFile(file)
        self.limits = limits
        self._most: int = max(limits.ratio_from, limits.ratio * file.seek(0, io.SEEK_END))
        self._out = 0

    def over(self, count: int) -> int:
        """Counts bytes that come out: how many more than may there are by now."""
        self._out += count
        return self._out - self._most


def members(file: Any, limits: Limits, refuse: Refuse) -> Generator[tuple[str, Member]]:
    """The files in an archive, with their names, in its order; each is closed when the next one is asked for.

    ``file``: the open archive, which is copied where it cannot seek; ``refuse`` receives the members that cannot be
    read. Raises NotALog for what is no archive.
    """
    with ExitStack() as stack:
        if not can_seek(file):
            from tempfile import TemporaryFile  # which few scans need, and which imports much

            file = _copied(file, stack.enter_context(TemporaryFile()))
        try:
            archive = _Archive(file, limits)
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise NotALog(f"cannot be read as a zip archive: {error}") from None
        stack.callback(archive.zip.close)
        found = [info for info in archive.zip.infolist() if not info.is_dir()]
        if any(info.filename == _DOCUMENT for info in found):
            raise NotALog("is an Office document, not a log")
        for info in found:
            if info.flag_bits & 1:
                refuse(NotALog(f"{info.filename} in it is encrypted (unpack it first)"))
                continue
            try:
                member = Member(archive, info)
            except (zipfile.BadZipFile, NotImplementedError) as error:
                refuse(NotALog(f"{info.filename} in it cannot be read: {error}"))
                continue
            with member:
                yield info.filename, member
                if member.fault is not None and member.fault.reason is Reason.RATIO_TOO_HIGH:
                    return


def can_seek(file: Any) -> bool:
    """True if an open file can be read from any place."""
    return hasattr(file, "seekable") and bool(file.seekable())


def _copied(source: Any, into: Any) -> Any:
    """A file that can seek, with all that is in ``source`` (``into`` of it fills a view)."""
    piece = memoryview(bytearray(_OUT))
    while (count := source.into(piece)) != 0:
        into.write(piece[: count or 0])
    into.seek(0)
    return into
