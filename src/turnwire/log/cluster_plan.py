"""Cuts one scan into blocks that any engine can read, anywhere and in any order; their results add up to that scan.

Blocks of one file follow each other without a gap, and no record, reject or line reaches from one into the next. A
block is what a search that begins at its start, in the state that the one before left, decides of the bytes up to some
line: the plan finds its end by that search, and who reads the block searches the same bytes again.
"""

from __future__ import annotations

import os
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, FileRefused, Reason, expect, expect_number
from turnwire.log.input.bookmarks import HEAD, digest
from turnwire.log.input.compression import format_of, is_archive, refuse_binary
from turnwire.log.input.rotated_names import TICK
from turnwire.log.input.sources import Source, sources
from turnwire.log.scanning import Scan, scan, steps

__all__ = ["BLOCK_BYTES", "Block", "plan", "read_block"]
BLOCK_BYTES = 64 << 20
_OPENING = 4096
"""Bytes that a file adds to the size of a block beside its bytes: the work of opening it."""
_READ = 1 << 20


class FileState(NamedTuple):
    """A file as it was when the plan was made; a block refuses to read another one.

    name, size, mtime_ns; head: SHA-256 of its first KiB, in hex, as a bookmark has it; inode: its device, inode and
    time of change in ns.
    """

    name: str
    size: int
    mtime_ns: int
    head: str
    inode: tuple[int, int, int]


class Block(NamedTuple):
    """A part of one file, or several small files, with the state that makes its scan agree with a scan of the whole.

    files: the file or files. start, stop: the range of bytes; ``stop`` is None for compressed files and several files;
    line: 1-based number of the first line. wire and options: those of :func:`turnwire.scan`. carried: the state of the
    search at the start of the block, left: at its end, as in bookmarks; ahead: how many bytes after it show that no
    record continues, which reading checks.
    """

    files: tuple[FileState, ...]
    start: int
    stop: int | None
    line: int
    wire: str | None
    options: dict[str, Any]
    carried: dict[str, Any] | None = None
    left: dict[str, Any] | None = None
    ahead: int = 0

    @property
    def file(self) -> str:
        """The name of the file, or of the first file."""
        return self.files[0].name

    @property
    def size(self) -> int:
        """The total size of its files."""
        return sum(one.size for one in self.files)

    @property
    def key(self) -> str:
        """32 hex digits that identify file, part, state of the file, wire and options."""
        from hashlib import sha256

        files = tuple(one._replace(inode=(0, *one.inode[1:])) for one in self.files)  # devices get other numbers
        return sha256(_said(self._replace(files=files)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _said(value: Any) -> str:
    """A value as text, the same in every process."""
    if isinstance(value, dict):
        several = sorted(f"{key!r}: {_said(one)}" for key, one in value.items())
    elif isinstance(value, (set, frozenset, list, tuple)):
        several = list(map(_said, value))
        several = sorted(several) if isinstance(value, (set, frozenset)) else several
    else:
        return repr(bytes(value) if isinstance(value, memoryview) else value)
    return f"{type(value).__name__}({', '.join(several)})"


def plan(paths: Any, *, wire: str | None = None, block_bytes: int = BLOCK_BYTES, **options: Any) -> list[Block]:
    """Cuts files into blocks for :func:`read_block`.

    Args:
        paths: a path, directory or glob, or a list of these, as for :func:`turnwire.scan`.
        wire: the wire to scan for.
        block_bytes: approximate bytes of a block. Larger files are searched and cut where no record is open; small
            files share blocks of that size. Compressed files are not cut.
        options: other options of :func:`turnwire.scan`: ``columns``, ``where``, ``errors``, ``unknown``,
            ``batch_bytes``, ``limits``.

    Returns the blocks in scan order. Scanning them in sequence returns the same records, rejects and counts as one
    scan, except that the column ``record`` counts from the start of its block. Raises OSError, ValueError and
    TypeError; issues a FileRefused warning for a file in a folder that cannot be read, like a scan.
    """
    return list(planned(paths, wire=wire, block_bytes=block_bytes, **options))


def planned(paths: Any, *, wire: str | None = None, block_bytes: int = BLOCK_BYTES, **options: Any) -> Iterator[Block]:
    """The blocks of :func:`plan`, each as soon as it is cut; wrong arguments raise at once."""
    block_bytes = expect_number(block_bytes, "block_bytes", 1)
    if unfit := sorted(set(options) & {"resume", "follow", "progress", "borrow", "threads"}):
        raise ValueError(f"plan does not support {' or '.join(unfit)}")
    scan(b"", wire=wire, **options)
    return _Job(wire, block_bytes, options).all(sources(paths))


def read_block(block: Block, **changes: Any) -> Scan:
    """Scans one block: iterate the result for batches; ``rejects`` and ``counts`` are those of the block.

    ``changes`` are options of :func:`turnwire.scan` that replace those of the plan. Raises OSError,
    DecodeError(file_changed) if a file has changed since it was planned or changes while it is read, and
    DecodeError(block_open), after the last batch, if with ``changes`` a record continues past the end.
    """
    expect(block, Block, "expected a Block of turnwire.log.plan")
    parts = [_source(block, state) for state in block.files]
    return scan(parts if parts[1:] else parts[0], wire=block.wire, **{**block.options, **changes})


def _source(block: Block, state: FileState) -> Source:
    stop = state.size if block.stop is None else block.stop

    def cut(offset: int, left: dict[str, Any] | None) -> DecodeError | None:
        if offset == stop and left == block.left:
            return None
        text = f"the file cannot be cut at byte {stop} as planned, since a record continues there; plan it again"
        return DecodeError(Reason.BLOCK_OPEN, text, offset=stop, wire=block.wire, path=block.file)

    return Source(
        state.name,
        open=lambda: _unchanged(state.name, block.wire, lambda file: _difference(state, file)),
        size=stop - block.start,
        start=block.start,
        stop=None if block.stop is None else stop + block.ahead,
        line=block.line,
        carried=block.carried,
        cut=None if stop == state.size else cut,
    )


# --- the cuts of a file ----------------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """A place where a block may begin: its offset, the number of its line, the state of the search there, and how many
    bytes after it are searched to see that nothing before it continues."""

    offset: int
    line: int
    carried: dict[str, Any] | None
    ahead: int


class _Job(NamedTuple):
    """The settings with which blocks are made."""

    wire: str | None
    every: int
    options: dict[str, Any]

    def all(self, files: Iterable[Source]) -> Iterator[Block]:
        """The blocks of all files. One that a folder or a glob lists and that cannot be read is refused: warned of
        after the others, or raised if there are none."""
        refused: list[OSError] = []
        block: Block | None = None
        for block in _packed(self.every, (block for file in files for block in self._planned(file, refused))):
            yield block
        for error in refused:
            if block is None:
                raise error
            warnings.warn(FileRefused(error), stacklevel=2)

    def _planned(self, source: Source, refused: list[OSError]) -> Iterator[Block]:
        try:
            yield from self.blocks(source)
        except OSError as error:
            if not source.listed:
                raise
            refused.append(error)

    def blocks(self, source: Source) -> Iterator[Block]:
        """The blocks of one file."""
        name = source.name
        if name is None or not source.mappable:
            raise TypeError("only files can be cut into blocks, not bytes, pipes, URLs and open files")
        if not source.listed and not stat.S_ISREG(os.stat(name).st_mode):  # to open a named pipe would wait
            raise ValueError(f"only regular files can be cut into blocks, and {name!r} is not one")
        with open(name, "rb", buffering=0) as file:
            head = os.pread(file.fileno(), HEAD, 0)
            refuse_binary(head, name)
            packed = format_of(head) is not None or is_archive(head)
            status = _settled(file)
            size = status.st_size
            state = FileState(name, size, status.st_mtime_ns, digest(head), _inode_of(status))
            cuts = () if packed or size <= self.every else self._cuts(name, file, size)
            begin = _Cut(0, 1, None, 0)
            for cut in chain(cuts, [_Cut(size, 0, None, 0)]):
                place = begin.offset, None if packed else cut.offset, begin.line
                yield Block((state,), *place, self.wire, self.options, begin.carried, cut.carried, cut.ahead)
                begin = cut

    def _cuts(self, name: str, file: Any, size: int) -> Iterator[_Cut]:
        """The cuts of a file, which is searched block by block, as it is when they are read. What is open over a whole
        block is searched again with twice as many bytes."""
        at, room = _Cut(0, 1, None, 0), self.every
        while (stop := _next_line(file, at.offset + room - 1, size)) < size:
            cut = self._decided(name, at, stop)
            room = self.every if cut.offset > at.offset else 2 * room
            if cut.offset > at.offset:
                yield cut
                at = cut

    def _decided(self, name: str, at: _Cut, stop: int) -> _Cut:
        """The place up to which a search from a cut on decides what is before ``stop``."""
        opened = partial(_unchanged, name, self.wire, lambda file: None)
        source = Source(name, open=opened, start=at.offset, stop=stop, line=at.line, carried=at.carried)
        options = {**self.options, "where": None, "columns": [], "errors": "skip"}
        found = scan(source._replace(cut=lambda *_: None), wire=self.wire, **options)
        for _ in steps(found):
            pass
        reading = found._run.latest
        assert reading is not None
        return _Cut(reading.offset, reading.line, reading.kept(), stop - reading.offset)


def _next_line(file: Any, place: int, size: int) -> int:
    """The place where the next line begins after ``place``; ``size`` where none does."""
    while place < size and (chunk := os.pread(file.fileno(), _READ, place)):
        newline = chunk.find(b"\n")
        if newline >= 0:
            return min(place + newline + 1, size)
        place += len(chunk)
    return size


def _packed(every: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks, with those that are whole small files joined as far as they fit into one."""
    joined: Block | None = None
    left = every
    for block in blocks:
        whole = block.start == 0 and block.stop in (None, block.size)
        weight = block.size + _OPENING
        if joined is not None and (not whole or weight > left):
            yield joined
            joined, left = None, every
        if not whole:
            yield block
            continue
        joined = block if joined is None else joined._replace(files=(*joined.files, *block.files), stop=None)
        left -= weight
    if joined is not None:
        yield joined


# --- a file and its planned state -------------------------------------------------------------------------------------


def _inode_of(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _settled(file: Any) -> os.stat_result:
    """The status of an open file, from now on of another time when somebody writes to it: right after a write, the
    clock of many file systems has not moved on, and the next one would leave no trace."""
    status = os.fstat(file.fileno())
    if 0 <= time.time_ns() - status.st_ctime_ns < TICK:
        time.sleep(TICK / 1e9)
        status = os.fstat(file.fileno())
    return status


def _difference(state: FileState, file: Any) -> str | None:
    """The difference, in words, between an open file and the planned one; None if there is none."""
    status = os.fstat(file.fileno())
    if (status.st_size, status.st_mtime_ns) != (state.size, state.mtime_ns):
        return f"it had {state.size} bytes, now {status.st_size}, or it was written to"
    if digest(os.pread(file.fileno(), HEAD, 0)) != state.head:
        return "its first bytes have changed"
    now = _inode_of(status)
    if now[0] == state.inode[0] and now[1:] != state.inode[1:]:
        return "its inode changed, or it is another file; its size and time are unchanged"
    return None  # elsewhere a file of this name has another inode


@contextmanager
def _unchanged(name: str, wire: str | None, difference: Callable[[Any], str | None]) -> Iterator[Any]:
    """A file, open, without a ``difference``, whose inode is behind the ``with`` block what it was before."""
    with open(name, "rb", buffering=0) as file:
        text, before = difference(file), _inode_of(os.fstat(file.fileno()))
        if text is None:
            yield file
            if _inode_of(os.fstat(file.fileno())) != before:
                text = difference(file) or "it was written to while it was read"
        if text is not None:
            text = f"the file changed after it was cut into blocks: {text}"
            raise DecodeError(Reason.FILE_CHANGED, text, wire=wire, path=name)
