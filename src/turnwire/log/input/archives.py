"""Zip archives, whose members are read as files, and other binary files, which are refused, by their first bytes."""

from __future__ import annotations

import errno
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack
from copy import copy
from lzma import LZMAError
from typing import Any

from turnwire.contract import Limits
from turnwire.errors import Reason
from turnwire.log.input.compression import StreamDamage

_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
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
_DOCUMENT = "[Content_Types].xml"
"""The member that makes an archive an Office document."""
HEAD = 16
"""Bytes that tell each of these."""
_PIECE = 1 << 20


class NotALog(OSError):
    """An input that is refused: a binary file, or an archive that cannot be read."""

    def __init__(self, what: str, name: str | None = None) -> None:
        super().__init__(errno.EINVAL, what, name)


Refuse = Callable[[NotALog], None]
"""Takes a refusal: raises it, or keeps it where the rest is read."""


def is_archive(head: bytes) -> bool:
    """True if an input that begins so is a zip archive."""
    return head.startswith(_ARCHIVE)


def is_archived(path: str) -> bool:
    """True if a path leads to a regular file that is an archive. Raises FileNotFoundError."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return is_archive(file.read(HEAD))


def is_undecided(head: bytes) -> bool:
    """True if more bytes could make an archive, or a binary file, of this head."""
    return any(len(head) < len(magic) and magic.startswith(head) for magic in (*_ARCHIVE, *_BINARY))


def refuse_binary(head: bytes, name: str | None = None, plain: bool = False) -> None:
    """Raises NotALog where an input that begins so is a binary file, or an archive where ``plain``."""
    if plain and is_archive(head):
        raise NotALog("is an archive (unpack it first)", name)
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise NotALog(f"is {what}, not a log", name)


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
            data = self._file.read1(min(len(view), _PIECE))
        except EOFError:
            return self._ended(Reason.CUT_OFF, "the archive ends in the middle of this file")
        except (zipfile.BadZipFile, zlib.error, LZMAError) as error:
            return self._ended(Reason.BAD_COMPRESSION, str(error))
        except OSError as error:
            if error.errno is not None:  # bzip2 has an error without a number
                raise
            return self._ended(Reason.BAD_COMPRESSION, str(error))
        self._running = zlib.crc32(data, self._running)
        if not data and self._running != self._checksum:
            return self._ended(Reason.BAD_COMPRESSION, "the checksum is wrong")
        if (over := self._archive.over(len(data))) > 0:
            data = data[: max(len(data) - over, 0)]
            self._ended(Reason.RATIO_TOO_HIGH, f"more than {self._archive.limits.ratio} to 1 come out of the archive")
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

    ``file``: the open archive, which is copied where it cannot seek; ``refuse`` is told of what in it cannot be read.
    Raises NotALog for what is no archive.
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
    piece = memoryview(bytearray(_PIECE))
    while (count := source.into(piece)) != 0:
        into.write(piece[: count or 0])
    into.seek(0)
    return into
