"""Signatures: the first bytes that tell compressed streams, zip archives and other binary files, which are no logs."""

from __future__ import annotations

import errno
from collections.abc import Callable

_GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
"""The first bytes of a frame of zstd that holds no data (RFC 8878, 3.1.2)."""
# A digit for the size of blocks, then the mark of the first block, or that of the end where there is none.
_BZIP2 = tuple(b"BZh%d%b" % (size, mark) for size in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90"))
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_SIGNS = {
    _GZIP: "gzip",
    **dict.fromkeys(_BZIP2, "bzip2"),
    b"\xfd7zXZ\0": "xz",
    **dict.fromkeys((ZSTD, *_SKIPPABLE), "zstd"),
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
