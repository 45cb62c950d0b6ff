"""Zip archives, whose members are read as files."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Generator
from contextlib import ExitStack
from copy import copy
from typing import Any

from turnwire.contract import Limits
from turnwire.errors import Reason
from turnwire.log.input.compression import StreamDamage
from turnwire.log.input.signatures import HEAD, NotALog, Refuse, is_archive

try:
    from lzma import LZMAError
except ImportError:  # a Python built without lzma
    LZMAError = zlib.error  # type: ignore[assignment, misc]

_DOCUMENT = "[Content_Types].xml"
"""The member that makes an archive an Office document."""
_PIECE = 1 << 20


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
            data = self._file.read1(min(len(view), _PIECE))
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
    piece = memoryview(bytearray(_PIECE))
    while (count := source.into(piece)) != 0:
        into.write(piece[: count or 0])
    into.seek(0)
    return into
