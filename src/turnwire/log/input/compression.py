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
from contextlib import ExitStack, closing
from copy import copy
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
_XZ_MEMORY = 80 << 20
"""Memory with which all presets of xz are read (the largest, -9, takes 65 MiB)."""
_LONGEST_HEAD = 18
"""Bytes of the longest head of a stream: a frame of zstd."""


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


class _TooLarge(Exception):
    """A stream needs more memory than it may have."""


class _Kind(NamedTuple):
    """A kind of compression. part: the word for one of several streams; piece: bytes that are given at once; where they
    fail, what they say is lost, but of gzip; most: () or (bytes that come out at once), without which a piece is so
    small that what it says fits into memory; reader: (limits) -> a function that makes the decompressor of a stream
    that begins so, and its errors."""

    part: str
    piece: int
    most: tuple[int, ...]
    reader: Callable[[Limits], tuple[Callable[[bytes], Any], Any]]


def _gzip(limits: Limits) -> tuple[Callable[[bytes], Any], Any]:
    return lambda head: zlib.decompressobj(31), zlib.error


def _bzip2(limits: Limits) -> tuple[Callable[[bytes], Any], Any]:
    try:
        from bz2 import BZ2Decompressor
    except ImportError:
        raise MissingDependency("this Python was built without bz2, which is needed to read bzip2") from None
    return lambda head: BZ2Decompressor(), (OSError, ValueError)


def _xz(limits: Limits) -> tuple[Callable[[bytes], Any], Any]:
    try:
        from lzma import FORMAT_XZ, LZMADecompressor
    except ImportError:
        raise MissingDependency("this Python was built without lzma, which is needed to read xz") from None
    return lambda head: LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY), LZMAError


def _zstd(limits: Limits) -> tuple[Callable[[bytes], Any], Any]:
    with needs("zstd", "zstd needs the package zstandard"):
        import zstandard
    decompressor = zstandard.ZstdDecompressor(max_window_size=max(limits.zstd_window, 1 << 10))

    def made(head: bytes) -> Any:
        try:
            window = zstandard.get_frame_parameters(head).window_size
        except zstandard.ZstdError:  # it is cut off, or damaged: reading it says which
            window = 0
        if window > limits.zstd_window:
            raise _TooLarge(f"the window has {window} bytes; at most {limits.zstd_window} are allowed")
        return decompressor.decompressobj()

    return made, zstandard.ZstdError


_KINDS = {
    "gzip": _Kind("member", _CHUNK, (_OUT,), _gzip),
    "bzip2": _Kind("stream", 256, (_OUT,), _bzip2),
    "xz": _Kind("stream", 256, (_OUT,), _xz),
    "zstd": _Kind("frame", 1024, (), _zstd),
}


class Decompressed:
    """The decompressed bytes of an input, through ``into`` as of any input. ``fault``: why it ended, if not well.

    ``_data``: compressed bytes that are there and not read yet, of which the first is at ``_place``; ``_stream``: the
    decompressor of the member, frame or stream that is being read, None between two; ``_full``: it may have more to say
    of what it was given; ``_number``: how many began.
    """

    def __init__(self, kind: str, source: Bytes, limits: Limits) -> None:
        self.kind = kind
        self.fault: StreamDamage | None = None
        self._of = _KINDS[kind]
        self._made, self._errors = self._of.reader(limits)
        self._source, self._limits = source, limits
        self._scratch = memoryview(bytearray(_CHUNK))
        self._data, self._place, self._ended = b"", 0, False
        self._stream: Any = None
        self._full = False
        self._number = self._out = 0
        self._ready = memoryview(b"")

    def into(self, view: memoryview, /) -> int | None:
        """Fills a part of the view: how many bytes; 0 at the end, None if there are none for the moment."""
        while not self._ready and self.fault is None:
            if not (self._ended or self._full) and len(self._data) < (_LONGEST_HEAD if self._stream is None else 1):
                count = self._source.into(self._scratch)
                if count is None:
                    return None
                self._data += self._scratch[:count]
                self._ended = count == 0
            elif self._stream is None and self._data[:1] == b"\0":  # padding
                self._take(len(self._data) - len(self._data.lstrip(b"\0")))
            elif self._stream is None and not self._data:
                return 0
            else:
                self._ready = memoryview(self._within_ratio(self._next()))
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _take(self, count: int) -> bytes:
        taken, self._data = self._data[:count], self._data[count:]
        self._place += count
        return taken

    def _broken(self, reason: Reason, place: int, text: str) -> bytes:
        self.fault = StreamDamage(reason, place, text)
        return b""

    def _next(self) -> bytes:
        """The decompressed bytes of the next piece, of which the first may begin a stream."""
        data, place, end = self._data, self._place, self._place + len(self._data)
        if self._stream is None:
            if format_of(data) != self.kind:
                begun = any(magic.startswith(data) for magic, kind in _SIGNS.items() if kind == self.kind)
                if self._number and not begun:
                    text = f"the bytes after {self._of.part} {self._number} are not {self.kind}"
                    return self._broken(Reason.TRAILING_JUNK, place, text)
                return self._broken(Reason.CUT_OFF, end, f"the head of a {self._of.part} is cut off")
            try:
                self._stream = self._made(data)
            except _TooLarge as error:
                return self._broken(Reason.WINDOW_TOO_LARGE, place, str(error))
            self._number += 1
        if not data and not self._full:
            return self._broken(Reason.CUT_OFF, place, "the compressed data is cut off")
        stream, piece = self._stream, b"" if self._full else self._take(min(self._of.piece, len(data)))
        before = stream.copy() if self.kind == "gzip" else None
        try:
            out: bytes = stream.decompress(piece, *self._of.most)
        except self._errors as error:
            out, good = (b"", 0) if before is None else _before_fault(before, piece)
            large = "Memory usage limit" in str(error)
            self._broken(Reason.WINDOW_TOO_LARGE if large else Reason.BAD_COMPRESSION, place + good, str(error))
            return out
        left = stream.unused_data if stream.eof else getattr(stream, "unconsumed_tail", b"")
        self._data = left + self._data
        self._place -= len(left)
        self._full = len(out) in self._of.most and not stream.eof
        self._stream = None if stream.eof else stream
        return out

    def _within_ratio(self, chunk: bytes) -> bytes:
        self._out += len(chunk)
        most = max(self._limits.ratio_from, self._limits.ratio * (self._place + len(self._data)))
        if self._out <= most:
            return chunk
        text = f"{self._out} bytes out of {self._place}: more than {self._limits.ratio} to 1"
        self._broken(Reason.RATIO_TOO_HIGH, self._place, text)
        return chunk[: max(len(chunk) - (self._out - most), 0)]


def _before_fault(stream: Any, piece: bytes) -> tuple[bytes, int]:
    """The output of gzip before the byte at which it fails, and the number of that byte."""
    out = bytearray()
    for number in range(len(piece)):
        try:
            out += stream.decompress(piece[number : number + 1])
        except zlib.error:
            return bytes(out), number
    return bytes(out), len(piece)


# --- zip archives -----------------------------------------------------------------------------------------------------

_DOCUMENT = "[Content_Types].xml"
"""The member that makes an archive an Office document."""


def is_archived(path: str) -> bool:
    """True if a path leads to a regular file that is an archive. Raises FileNotFoundError."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return is_archive(file.read(HEAD))


class Member:
    """The decompressed bytes of one file in an archive. fault: why they end before their time; stored: how many bytes
    of the archive they are. allowed: (count) -> so many of these bytes may come out of the archive."""

    kind = "zip"

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, allowed: Callable[[int], int]) -> None:
        self.fault: StreamDamage | None = None
        self.stored, self.size = info.compress_size, info.file_size
        self._allowed = allowed
        self._place, self._checksum = info.header_offset, info.CRC
        unchecked = copy(info)
        unchecked.CRC = None  # type: ignore[assignment] # zipfile would keep the last bytes back where it is wrong
        self._file: Any = archive.open(unchecked)
        self.close = self._file.close
        self._running = 0

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
        if (count := self._allowed(len(data))) < len(data):
            data = data[:count]
            self._ended(Reason.RATIO_TOO_HIGH, "the archive expands by more than the limit allows")
        memoryview(view)[: len(data)] = data
        return len(data)

    def _ended(self, reason: Reason, text: str) -> int:
        self.fault = StreamDamage(reason, self._place, text)
        return 0


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
            archive = stack.enter_context(zipfile.ZipFile(file))
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise NotALog(f"cannot be read as a zip archive: {error}") from None
        left: int = max(limits.ratio_from, limits.ratio * file.seek(0, io.SEEK_END))

        def allowed(count: int) -> int:
            nonlocal left
            count, left = min(count, left), max(left - count, 0)
            return count

        found = [info for info in archive.infolist() if not info.is_dir()]
        if any(info.filename == _DOCUMENT for info in found):
            raise NotALog("is an Office document, not a log")
        for info in found:
            if info.flag_bits & 1:
                refuse(NotALog(f"{info.filename} in it is encrypted (unpack it first)"))
                continue
            try:
                member = Member(archive, info, allowed)
            except (zipfile.BadZipFile, NotImplementedError) as error:
                refuse(NotALog(f"{info.filename} in it cannot be read: {error}"))
                continue
            with closing(member):
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
