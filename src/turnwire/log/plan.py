"""One scan cut into blocks that any engine can run, anywhere and in any order: together they are that scan.

Blocks of one file follow each other without a gap, and no record, reject or line reaches from one into the next.
"""

from __future__ import annotations

import json
import os
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from io import RawIOBase
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from turnwire import registry
from turnwire.contract import LIMITS, LINES, Limits
from turnwire.errors import DecodeError, Reason, expect, expect_number
from turnwire.finding.assembly import find
from turnwire.finding.documents import BOM, SIGIL
from turnwire.log.engine.all_wires import finder
from turnwire.log.input.compression import LONGEST_MAGIC, format_of
from turnwire.log.input.sources import Source, sources
from turnwire.log.scan import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_BYTES = 64 << 20
_READ = 1 << 20
_HEAD = 4096
_CHOICE = 256
"""Places to choose from for each cut: not every line may be one."""
_AROUND = 1 << 12
_VALUE = rb'"{\[\-0-9tfn'
_OPEN = re.compile(rb'\{["}]|\[[\]%b]|[,:][%b]|"[:,\]}]|[}\]0-9el][,\]}]' % (_VALUE, _VALUE))
"""What can follow each other in JSON, white space apart, at the end of a line and at the start of the next."""


class Block(NamedTuple):
    """A part of one file, and all that is needed to scan it as the whole would be scanned.

    file: its name; start, stop: the bytes, ``stop`` None where only reading can tell (compressed files); line: 1-based
    number of the first line. size, mtime_ns, head: the file as it was when the plan was made (``head``: SHA-256 of its
    first bytes, in hex); a block refuses to read another one. wire and options: what :func:`turnwire.scan` is given.
    """

    file: str
    start: int
    stop: int | None
    line: int
    size: int
    mtime_ns: int
    head: str
    wire: str | None
    options: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """This block as JSON can hold it."""
        return {**self._asdict(), "file": _plain(self.file), "options": _plain(self.options)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The block of :meth:`to_dict`. Raises ValueError where a field is missing or one too many."""
        expect(fields, dict, "the fields of a block are a dict")
        if fields.keys() != set(cls._fields):
            raise ValueError(f"a block has the fields {', '.join(cls._fields)}")
        return cls(**{**fields, "file": _restored(fields["file"]), "options": _restored(fields["options"])})

    @property
    def key(self) -> str:
        """32 hex digits that another file, part, state of the file, wire or option would not have."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return sha256(text.encode()).hexdigest()[:32]


def plan(paths: Any, *, wire: str | None = None, block_bytes: int = BLOCK_BYTES, **options: Any) -> list[Block]:
    """Cuts files into blocks for :func:`read_block`.

    Args:
        paths: a path, directory or glob, or a list of these, as :func:`turnwire.scan` takes them.
        wire: the wire to look for.
        block_bytes: bytes of a block, about: one ends with the line in which it gets full, however long that line is,
            and not within a record of several lines. Compressed files are one block each.
        options: what else :func:`turnwire.scan` takes and does not depend on where a scan began: ``columns``,
            ``where``, ``errors``, ``unknown``, ``batch_bytes``, ``limits``.

    Returns the blocks in the order of the scan. Scanning them one after the other gives the same records, rejects and
    counts as one scan; only the column ``record`` counts from the start of its block. Reads files that are larger than
    a block once, to count lines. Raises OSError, ValueError and TypeError.
    """
    block_bytes = expect_number(block_bytes, "block_bytes", 1)
    if unfit := sorted(set(options) & {"resume", "follow", "progress", "borrow", "threads"}):
        raise ValueError(f"plan takes no {' and no '.join(unfit)}")
    scan(b"", wire=wire, **options)
    blocks: list[Block] = []
    for source in sources(paths):
        blocks.extend(_blocks(source, wire, block_bytes, options))
    return blocks


def read_block(block: Block, **changes: Any) -> Scan:
    """The scan of one block: iterate it for batches; ``rejects`` and ``counts`` are those of the block.

    ``changes`` are options of :func:`turnwire.scan` that replace those of the plan. Raises OSError, and
    DecodeError(file_changed) when the file is not the one that was planned with, also when it changes while it is read.
    """
    expect(block, Block, "a Block of turnwire.log.plan is read")
    size = (block.size if block.stop is None else block.stop) - block.start
    source = Source(block.file, open=lambda: _Part(block), size=size, start=block.start, line=block.line)
    return scan(source, wire=block.wire, **{**block.options, **changes})


def _blocks(source: Source, wire: str | None, every: int, options: dict[str, Any]) -> Iterator[Block]:
    name = source.name
    if name is None or not source.mappable:
        raise TypeError("only files can be cut into blocks, not bytes, pipes and open files")
    if not stat.S_ISREG(os.stat(name).st_mode):  # opening a named pipe would wait for its writer
        raise ValueError(f"only regular files can be cut into blocks, and {name!r} is not one")
    with open(name, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        facts = (status.st_size, status.st_mtime_ns, _head(file), wire, options)
        if _compressed(file):
            yield Block(name, 0, None, 1, *facts)
            return
        start, line = 0, 1
        if status.st_size > every and not has_header(file):
            limit = options.get("limits", LIMITS).message
            often = max(every // _CHOICE, 1)
            mark = first_line(file)
            for cut, next_line in scan_cuts(_chunks(file, mark, status.st_size), often, limit=limit):
                stop = mark + cut
                fits = start + every <= stop < status.st_size and between_objects(file, stop)
                if fits and between_records(file, start, stop, limit) and between_parts(file, stop, limit):
                    yield Block(name, start, stop, line, *facts)
                    start, line = stop, next_line
        yield Block(name, start, status.st_size, line, *facts)


def first_line(file: Any) -> int:
    """Where the first line of a file begins: behind a byte order mark."""
    return len(BOM) if os.pread(file.fileno(), len(BOM), 0) == BOM else 0


def _chunks(file: Any, start: int, size: int) -> Iterator[bytes]:
    """The file from ``start`` on, no further than it reached (``size``) when the plan was begun."""
    file.seek(start)
    size -= start
    while size > 0:
        chunk = file.read(min(_READ, size))
        if not chunk:
            return  # it shrank: reading the block says so
        size -= len(chunk)
        yield chunk


def scan_cuts(chunks: Iterator[bytes], every: int, *, limit: int) -> Iterator[tuple[int, int]]:
    """(offset, number) of lines at least ``every`` bytes apart in front of which no record of several lines is open.

    They are the same for each wire, as a scan searches for all of them. limit: bytes of a message. There are none where
    a wire of lines does not say where its records may be cut, or where more than one says it.
    """
    lines = [wire for wire in map(registry.wire, registry.scanned()) if wire.style == LINES and not wire.has("plan")]
    if len(lines) != 1 or lines[0].cuts is None:
        return iter(())
    found: Iterator[tuple[int, int]] = lines[0].cuts(chunks, every, limit=limit)
    return found


def has_header(file: Any) -> bool:
    """Whether a line of a file begins as the headers of Space documents do: what stands after it may be one document,
    if nothing is found in front of it."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data[: len(BOM) + len(SIGIL)].removeprefix(BOM).startswith(SIGIL) or data.find(b"\n" + SIGIL) >= 0


def between_parts(file: Any, offset: int, limit: int) -> bool:
    """Whether no lines that belong together (``finding/assembly.py``) go on from the lines in front of ``offset``, of
    which the last MiB is looked at."""
    first = max(offset - _READ, 0)
    data = os.pread(file.fileno(), offset - first, first)
    start = data.find(b"\n") + 1 if first else first_line(file)
    return find(data, start, len(data), False, limit)[1] == len(data)


def between_objects(file: Any, offset: int) -> bool:
    """Whether no JSON object can go on from the lines in front of ``offset`` to the line there: the two
    characters around the line end never meet in JSON, white space apart."""
    file_number = file.fileno()
    before = os.pread(file_number, min(_AROUND, offset), max(offset - _AROUND, 0)).rstrip()
    behind = os.pread(file_number, _AROUND, offset).lstrip()
    return bool(before and behind) and _OPEN.fullmatch(before[-1:] + behind[:1]) is None


def between_records(file: Any, start: int, offset: int, limit: int) -> bool:
    """Whether no record of a wire of lines that has a plan goes from what stands after ``start``, where none is open,
    over ``offset``. limit: bytes of a message."""
    lines = finder().lines
    if not lines:
        return True
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return not lines.reaches_over(data, start or first_line(file), offset, limit)


def _compressed(file: Any) -> bool:
    """Whether an open file begins as compressed ones do."""
    file.seek(0)
    return format_of(file.read(LONGEST_MAGIC)) is not None


def _head(file: Any) -> str:
    file.seek(0)
    return sha256(file.read(_HEAD)).hexdigest()


class _Part(RawIOBase):
    """A file up to the end of a block, which makes sure that it is the one that was planned with."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self.name = block.file
        self._file = open(block.file, "rb", buffering=0)  # noqa: SIM115  (closed by close)
        try:
            self._check()
            if _head(self._file) != block.head:
                raise self._changed("it begins with other bytes")
            self._file.seek(0)
        except BaseException:
            self.close()
            raise
        self._left = self._stop = block.size if block.stop is None else block.stop

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Goes to an offset of the file; what is after the block is not there."""
        if whence != 0:
            raise ValueError("a part of a file is sought from its start only")
        self._left = max(self._stop - offset, 0)
        return self._file.seek(offset)

    def readinto(self, view: Any) -> int:
        """Fills a part of the view; 0 at the end of the block, once the file is seen to be what it was."""
        count = self._file.readinto(memoryview(view)[: self._left]) if self._left else 0
        self._left -= count
        if not count and len(view):
            self._check()
            if self._left:
                raise self._changed(f"{self._left} bytes of the block are missing")
        return count

    def _check(self) -> None:
        now = os.fstat(self._file.fileno())
        if (now.st_size, now.st_mtime_ns) != (self._block.size, self._block.mtime_ns):
            before = f"it had {self._block.size} bytes"
            raise self._changed(f"{before}, now {now.st_size}, or it was written to")

    def _changed(self, text: str) -> DecodeError:
        text = f"the file changed after it was cut into blocks: {text}"
        return DecodeError(Reason.FILE_CHANGED, text, wire=self._block.wire, path=self._block.file)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


# --- options that JSON has no words for -----------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((_plain(one) for one in value), key=repr)}
    if isinstance(value, Limits):
        return {"limits": dict(value._asdict())}
    if isinstance(value, tuple):
        return {"tuple": [_plain(one) for one in value]}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, str) and not _is_utf8(value):
        return {"name": b64encode(os.fsencode(value)).decode()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return {"int": str(value)}  # JSON's numbers are exact up to there only
    if isinstance(value, dict):
        return {"dict": {key: _plain(one) for key, one in value.items()}}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "set": lambda values: {_restored(one) for one in values},
    "tuple": lambda values: tuple(_restored(one) for one in values),
    "limits": lambda fields: Limits(**fields),
    "bytes": b64decode,
    "time": datetime.fromisoformat,
    "name": lambda text: os.fsdecode(b64decode(text)),
    "int": int,
    "dict": lambda fields: {key: _restored(one) for key, one in fields.items()},
}


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, inside),) = value.items()
        return _READERS[kind](inside)
    return [_restored(one) for one in value] if isinstance(value, list) else value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
