"""Cuts one scan into blocks that any engine can read, anywhere and in any order; their results add up to that scan.

Blocks of one file follow each other without a gap, and no record, reject or line reaches from one into the next: each
begins where a search may be cut, with the state that the search has there.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import RawIOBase
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from turnwire.contract import Limits
from turnwire.errors import DecodeError, FileRefused, Reason, expect, expect_number
from turnwire.log.file_state import (
    LINE_NUMBERS,
    FileState,
    changed,
    digest_of,
    inode_of,
    is_sampled,
    line_ends,
    settled,
)
from turnwire.log.input.copies import HEAD, digest
from turnwire.log.input.signatures import NotALog, format_of, is_archive, refuse_binary
from turnwire.log.input.sources import Source, sources
from turnwire.log.scanning import Scan, scan
from turnwire.log.search.state import SearchState
from turnwire.log.split_points import Cut, FileCuts, assumes_too_much

if TYPE_CHECKING:
    from collections.abc import Callable


_FORMS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "set": ((set, frozenset), lambda value: sorted(map(plain, value), key=repr), lambda said: set(map(restored, said))),
    "limits": (Limits, lambda value: dict(value._asdict()), lambda said: Limits(**said)),
    "tuple": (tuple, lambda value: list(map(plain, value)), lambda said: tuple(map(restored, said))),
    "bytes": ((bytes, bytearray, memoryview), lambda value: b64encode(value).decode(), b64decode),
    "time": (datetime, datetime.isoformat, datetime.fromisoformat),
    "dict": (
        dict,
        lambda value: {key: plain(one) for key, one in value.items()},
        lambda said: {key: restored(one) for key, one in said.items()},
    ),
    "name": ((), lambda value: b64encode(os.fsencode(value)).decode(), lambda said: os.fsdecode(b64decode(said))),
    "int": ((), str, int),
}
"""What JSON cannot hold as it is: the types, how they are written, and how what was written is read. Texts that are not
UTF-8 are names of files; JSON's numbers are exact up to 53 bits only."""


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, list):
        return list(map(plain, value))
    kind = next((kind for kind, (types, *_) in _FORMS.items() if isinstance(value, types)), None)
    if isinstance(value, str) and not _is_utf8(value):
        kind = "name"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        kind = "int"
    return value if kind is None else {kind: _FORMS[kind][1](value)}


def restored(value: Any) -> Any:
    """The value of :func:`plain`."""
    if isinstance(value, dict):
        ((kind, said),) = value.items()
        return _FORMS[kind][2](said)
    return list(map(restored, value)) if isinstance(value, list) else value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


__all__ = ["BLOCK_BYTES", "Block", "plan", "read_block"]
BLOCK_BYTES = 64 << 20
_OPENING = 4096
"""Bytes that a file adds to the size of a block beside its bytes: the work of opening it."""


class Block(NamedTuple):
    """A part of one file, or some small files, and all that is needed to scan it as the whole would be scanned.

    file: its name; start, stop: the bytes, ``stop`` None where only reading can tell (compressed files); line: 1-based
    number of the first line, None where not counted (:func:`read_block` does). size, mtime_ns, head: the file as it
    was when the plan was made (``head``: SHA-256 of its first KiB, in hex); a block refuses to read another one. wire
    and options: what :func:`turnwire.scan` is given. inode: its device, inode and time of change in ns; digest: SHA-256
    of the bytes of the block in hex, or of pieces of them where it is ``sampled``; proved: whether the plan read all of
    the file; carried: the state of the search where the block begins, left: where it stops, as bookmarks have it;
    ahead: how many bytes behind it tell that nothing in it goes on. Who reads the block sees that it is so.

    files: of a block of several small files, all of them; then file is the name of the first one, start 0, stop None,
    line 1, and size the sum.
    """

    file: str
    start: int
    stop: int | None
    line: int | None
    size: int
    mtime_ns: int
    head: str
    wire: str | None
    options: dict[str, Any]
    inode: tuple[int, int, int] | None = None
    digest: str = ""
    sampled: bool = True
    proved: bool = True
    files: tuple[FileState, ...] = ()
    carried: dict[str, Any] | None = None
    left: dict[str, Any] | None = None
    ahead: int = 0

    def to_dict(self) -> dict[str, Any]:
        """This block as JSON can hold it."""
        fields = {**self._asdict(), "file": plain(self.file), "options": plain(self.options)}
        fields["inode"] = None if self.inode is None else list(self.inode)
        fields["files"] = [[plain(one.name), *one[1:]] for one in self.files]
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The block of :meth:`to_dict`. Raises ValueError where a field is missing or one too many."""
        expect(fields, dict, "the fields of a block are a dict")
        missing = set(cls._fields) - fields.keys() - cls._field_defaults.keys()
        if missing or fields.keys() - set(cls._fields):
            raise ValueError(f"a block has the fields {', '.join(cls._fields)}")
        block = cls(**{**fields, "file": restored(fields["file"]), "options": restored(fields["options"])})
        for state in (block.carried, block.left):
            if state is not None:
                SearchState.restored(state)
        files = tuple(FileState(restored(one[0]), *one[1:]) for one in block.files)
        files = tuple(one._replace(inode=_inode(one.inode)) for one in files)
        return block._replace(files=files, inode=_inode(block.inode))

    @property
    def key(self) -> str:
        """32 hex digits that another file, part, state of the file, wire or option would not have."""
        fields = self.to_dict() | {"inode": None if self.inode is None else self.inode[1:]}  # devices get other numbers
        text = json.dumps(fields, sort_keys=True)
        from hashlib import sha256

        return sha256(text.encode()).hexdigest()[:32]

    @property
    def states(self) -> tuple[FileState, ...]:
        """The files of the block as they were when the plan was made."""
        facts = self.file, self.size, self.mtime_ns, self.head, self.inode, self.digest, self.sampled
        return self.files or (FileState(*facts),)


def plan(
    paths: Any, *, wire: str | None = None, block_bytes: int = BLOCK_BYTES, read: bool = False, **options: Any
) -> list[Block]:
    """Cuts files into blocks for :func:`read_block`.

    Args:
        paths: a path, directory or glob, or a list of these, as :func:`turnwire.scan` takes them.
        wire: the wire to look for.
        block_bytes: bytes of a block, about: one ends with the line in which it gets full, however long that line is,
            and not within a record of several lines. Small files are joined to blocks of that size. Compressed
            files are not cut.
        read: whether to search files that are larger than a block from their beginning to their end. Otherwise this is
            done where blocks are smaller than 8 MiB, and up to the first place where nothing goes on where a look does
            not show one: of other files a few KiB of each block are looked at, lines are not counted (``line`` is
            None), and whether a block ends well is seen when it is read.
        options: what else :func:`turnwire.scan` takes and does not depend on where a scan began: ``columns``,
            ``where``, ``errors``, ``unknown``, ``batch_bytes``, ``limits``.

    Returns the blocks in the order of the scan. Scanning them one after the other gives the same records, rejects and
    counts as one scan; only the column ``record`` counts from the start of its block. Raises OSError, ValueError and
    TypeError; of a file in a folder that is no log FileRefused warns, as in a scan.
    """
    block_bytes = expect_number(block_bytes, "block_bytes", 1)
    expect(read, bool, "read is True or False")
    if unfit := sorted(set(options) & {"resume", "follow", "progress", "borrow", "threads"}):
        raise ValueError(f"plan takes no {' and no '.join(unfit)}")
    scan(b"", wire=wire, **options)
    job = _Job(wire, block_bytes, read, options)
    refused: list[NotALog] = []
    found = list(_packed(job, (block for source in sources(paths) for block in _planned(job, source, refused))))
    for error in refused:
        if not found:
            raise error
        warnings.warn(FileRefused(error), stacklevel=2)
    return found


def _planned(job: _Job, source: Source, refused: list[NotALog]) -> Iterator[Block]:
    """The blocks of one file; one that a folder or a glob lists and that is no log is ``refused``."""
    try:
        yield from job.blocks(source)
    except NotALog as error:
        if not source.listed:
            raise
        refused.append(error)


def read_block(block: Block, *, count_lines: bool = True, **changes: Any) -> Scan:
    """The scan of one block: iterate it for batches; ``rejects`` and ``counts`` are those of the block.

    ``changes`` are options of :func:`turnwire.scan` that replace those of the plan. Where the plan counted no lines,
    those in front of the block are counted, once in a process; ``count_lines=False``: then lines count from the start
    of the block, too. Raises OSError, DecodeError(file_changed) when a file is not the one that was planned with, also
    when it changes while it is read, and DecodeError(block_open), behind its last batch at the latest, when one of its
    ends turns out to be no place to cut: plan that file with ``read=True``.
    """
    expect(block, Block, "a Block of turnwire.log.plan is read")
    options = {**block.options, **changes}
    parts = [_source(block, state, count_lines) for state in block.states]
    return scan(parts if block.files else parts[0], wire=block.wire, **options)


def lines_in(block: Block) -> int:
    """The number of line ends of a block whose lines the plan did not count."""
    (state,) = block.states
    with open(state.name, "rb", buffering=0) as file:
        return line_ends(file, block.start, block.size if block.stop is None else block.stop)


def _source(block: Block, state: FileState, count_lines: bool) -> Source:
    stop = state.size if block.stop is None or block.files else block.stop
    counted = not count_lines or block.line is not None
    line = (block.line or 1) if counted else None

    def cut(offset: int, left: dict[str, Any] | None) -> DecodeError | None:
        if offset == stop and _is_left(block.left, left):
            return None
        return _block_open(block, stop, "something goes on over it")

    return Source(
        state.name,
        open=lambda: _PlannedFile(block, state, stop, line),
        size=stop - block.start,
        start=block.start,
        line=line,
        carried=block.carried,
        cut=None if stop == state.size or block.stop is None else cut,
    )


def _is_left(planned: dict[str, Any] | None, left: dict[str, Any] | None) -> bool:
    """True if the state behind a block is that with which the next one is planned. What differs where nobody knows what
    was found in front of a place is looked for in the next block (``assumes_too_much``)."""
    expected, found = ({**(one or {}), "version": 0, "touched": True} for one in (planned, left))
    return expected == found or {**expected, "tail": True} == found


def _block_open(block: Block, place: int, why: str) -> DecodeError:
    text = f"the file cannot be cut at byte {place}, as it was planned: {why}"
    text += "; plan it with read=True, or read it without a plan"
    return DecodeError(Reason.BLOCK_OPEN, text, offset=place, wire=block.wire, path=block.file)


class _Job(NamedTuple):
    """The settings with which blocks are made."""

    wire: str | None
    every: int
    read: bool
    options: dict[str, Any]

    def blocks(self, source: Source) -> Iterator[Block]:
        """The blocks of one file."""
        name = source.name
        if name is None or not source.mappable:
            raise TypeError("only files can be cut into blocks, not bytes, pipes, URLs and open files")
        if not stat.S_ISREG(os.stat(name).st_mode):  # opening a named pipe would wait for its writer
            raise ValueError(f"only regular files can be cut into blocks, and {name!r} is not one")
        with open(name, "rb", buffering=0) as file:
            status = settled(file)
            size = status.st_size
            head = os.pread(file.fileno(), HEAD, 0)
            refuse_binary(head, name)
            packed = format_of(head) is not None or is_archive(head)
            facts = (size, status.st_mtime_ns, digest(head), self.wire, self.options, inode_of(status))
            if size <= min(HEAD, self.every):
                yield Block(name, 0, None if packed else size, 1, *facts, digest(head), False)
                return
            if packed:
                yield Block(name, 0, None, 1, *facts, *_digest(file, 0, size, self.read))
                return
            cuts, looked = FileCuts(self.wire, self.options, self.every).of(name, file, size, self.read)
            begin = Cut(0, 1, None, 0)
            for cut in cuts:
                yield Block(
                    *(name, begin.offset, cut.offset, begin.line, *facts),
                    *_digest(file, begin.offset, cut.offset, not looked),
                    proved=not looked,
                    carried=begin.carried,
                    left=cut.carried,
                    ahead=cut.ahead,
                )
                begin = cut
            start = begin.offset
            read = self.read or (start > 0 and not looked)
            last = Block(name, start, size, begin.line, *facts, *_digest(file, start, size, read))
            yield last._replace(proved=not (looked and start), carried=begin.carried)


def _digest(file: Any, start: int, stop: int, read: bool) -> tuple[str, bool]:
    sampled = is_sampled(start, stop, read)
    return digest_of(file, start, stop, sampled), sampled


def _packed(job: _Job, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks, with those that are whole small files joined as far as they fit into one."""
    waiting: list[Block] = []
    left = job.every
    for block in blocks:
        whole = block.start == 0 and block.stop in (None, block.size)
        weight = block.size + _OPENING
        if waiting and (not whole or weight > left):
            yield _pack(waiting)
            waiting, left = [], job.every
        if whole:
            waiting.append(block)
            left -= weight
        else:
            yield block
    if waiting:
        yield _pack(waiting)


def _pack(blocks: list[Block]) -> Block:
    first = blocks[0]
    if len(blocks) == 1:
        return first
    files = tuple(block.states[0] for block in blocks)
    return first._replace(stop=None, size=sum(block.size for block in blocks), files=files, digest="", inode=None)


def _inode(numbers: Iterable[int] | None) -> tuple[int, int, int] | None:
    return None if numbers is None else tuple(numbers)  # type: ignore[return-value] # JSON has lists only


class _PlannedFile(RawIOBase):
    """A file up to the end of a block and what tells that nothing goes on there. It sees that it is the one that was
    planned with."""

    def __init__(self, block: Block, state: FileState, stop: int, line: int | None) -> None:
        self._block = block
        self._state = state
        self.name = state.name
        self._planned, self._stop = stop, stop + block.ahead
        self._left = self._stop
        self._file = open(state.name, "rb", buffering=0)  # noqa: SIM115  (closed by close)
        try:
            self._check()
            if not block.proved and block.start:
                why = assumes_too_much(self._file, block.start, stop, block.carried)
                if why is not None:
                    raise _block_open(block, block.start, why)
            self._inode = inode_of(os.fstat(self._file.fileno()))
            self.line = line or 1 + LINE_NUMBERS.before(state, self._file, block.start)
            self._file.seek(0)
        except BaseException:
            self.close()
            raise

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Goes to an offset of the file; what is after the block is not there."""
        offset += (0, self._stop - self._left, self._stop)[whence]
        self._left = max(self._stop - offset, 0)
        return self._file.seek(offset)

    def tell(self) -> int:
        """The place from which is read next."""
        return self._stop - self._left

    def readinto(self, view: Any) -> int:
        """Fills a part of the view; 0 at the end of the block, once the file is seen to be what it was."""
        count = self._file.readinto(memoryview(view)[: self._left]) if self._left else 0
        self._left -= count
        if not count and len(view):
            status = os.fstat(self._file.fileno())
            if (status.st_size, status.st_mtime_ns) != self._state[1:3] or inode_of(status) != self._inode:
                self._check()
                raise self._changed("it was written to while it was read")
            if self._left:
                raise self._changed(f"{self._left} bytes of the block are missing")
        return count

    def _check(self) -> None:
        if (text := changed(self._state, self._file, self._block.start, self._planned)) is not None:
            raise self._changed(text)

    def _changed(self, text: str) -> DecodeError:
        text = f"the file changed after it was cut into blocks: {text}"
        return DecodeError(Reason.FILE_CHANGED, text, wire=self._block.wire, path=self._state.name)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()
