"""Bookmarks of a scan's position, and gaps: bytes that were not read and are no longer there."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.log.input.compression import format_of
from turnwire.log.input.file_identity import (
    BANNER,
    MOST,
    OPENING,
    Bookmark,
    FileComparison,
    Identity,
    changed,
    checked,
    copied_in,
    digest,
    identity,
    place_of,
)
from turnwire.log.input.rotated_names import is_like


class Gap(NamedTuple):
    """Bytes of a log that cannot be had, or cannot be shown not to be missing.

    file: the name of the log; start: the byte (as decompressed) from which on; stop: the byte in front of which that
    ends, None where unknown; why:  ``file_shrunk`` (it was cut: what was written after the copy, or after the last
    look where there is no copy, is gone), ``file_replaced`` (it was cut and has grown again, or was written anew) or
    ``file_gone`` (the file that had the name is not there any more, and what came between may be gone with it).
    """

    file: str
    start: int
    stop: int | None
    why: Reason

    def to_dict(self) -> dict[str, Any]:
        """The gap as a line of JSON has it: from, and to, which is null where unknown."""
        return {"gap": True, "file": self.file, "from": self.start, "to": self.stop, "why": str(self.why)}

    @property
    def text(self) -> str:
        """The gap in words for people, without the name of the file."""
        end = "an unknown end" if self.stop is None else f"byte {self.stop}"
        return f"gap from byte {self.start} to {end}: {_WORDS[self.why]}"


_WORDS = {
    Reason.FILE_SHRUNK: "the file was cut, and what was written just before that may be gone",
    Reason.FILE_REPLACED: "the file was rewritten, and what was written just before that may be gone",
    Reason.FILE_GONE: "the file that had this name is gone, and what was written to it or after it may be gone, too",
}


GONE = 16
"""Bookmarks of files whose inodes others have, at most."""
_VERSION = 1


class ByContent:
    """Bookmarks by the first bytes of their files, so that a copy is compared with few of many."""

    def __init__(self) -> None:
        self._heads: defaultdict[int, defaultdict[str, dict[tuple[int, int], Bookmark]]] = defaultdict(
            lambda: defaultdict(dict)
        )

    def add(self, mark: Bookmark) -> None:
        """Takes one; another one of its file is no longer there."""
        self._heads[mark.head_bytes][mark.head][mark.file] = mark

    def remove(self, mark: Bookmark) -> None:
        """Forgets one."""
        self._heads[mark.head_bytes][mark.head].pop(mark.file, None)

    def beginning(self, head: bytes) -> Iterator[Bookmark]:
        """Those of files that begin with such bytes."""
        for count, marks in self._heads.items():
            if count <= len(head) and (own := digest(head[:count])) in marks:
                yield from marks[own].values()


class Bookmarks:
    """The bookmarks of a token, and of what is not read any more. ``waits``: whether a last record without its end is
    left for the next time; ``gone``: the bookmarks of files whose inodes others have by now, the last ``GONE``;
    ``present``: the files that are there, by device and inode; ``done``: those that this run has read already, under
    another name."""

    def __init__(self, token: Any = None) -> None:
        self.waits = token is not None
        self.record = 0
        self.files: dict[tuple[int, int], Bookmark] = {}
        self.gone: list[Bookmark] = []
        self.present: set[tuple[int, int]] = set()
        self.done: set[tuple[int, int]] = set()
        self._names: dict[str, Bookmark] = {}
        self._expected: dict[str, tuple[int, int]] = {}
        self._leading: defaultdict[tuple[int, int], dict[str, None]] = defaultdict(dict)  # the names of each file
        self._content = ByContent()
        if token is not None:
            self._read(token)

    def _read(self, token: Any) -> None:
        try:
            token = json.loads(token) if isinstance(token, str) else token
            if not isinstance(token, Mapping):
                raise TypeError(f"{type(token).__name__} is not a dict")
            if not token:
                return  # the first scan
            if token["turnwire"] != _VERSION:
                raise ValueError(f"version {token['turnwire']}")
            self.record = int(token["record"])
            if not 0 <= self.record < MOST:
                raise ValueError(f"record {self.record}")
            marks = [checked(Bookmark(**entry)) for entry in token["files"]]
        except KeyError as missing:
            raise DecodeError(Reason.BAD_POSITION, f"this is not a position of a scan: it has no {missing}") from None
        except (TypeError, ValueError, OverflowError, RecursionError) as problem:
            raise DecodeError(Reason.BAD_POSITION, f"this is not a position of a scan: {problem}") from None
        for mark in marks:
            self.add(mark)
        self._names = {mark.name: mark for mark in self.files.values()}

    def knows(self, name: str, named: bool) -> bool:
        """True if a file was read before, by its inode, or (``named``) if one of its name was."""
        if named and name in self._names:
            return True
        try:
            status = os.stat(name)
        except OSError:
            return False  # opening it will say why
        return (status.st_dev, status.st_ino) in self.files

    def expect(self, names: Iterable[str]) -> None:
        """Note which files there are, so that a renamed file is told from one that is gone."""
        for name in names:
            try:
                found = os.stat(name)
            except OSError:
                continue  # opening it will say why
            self.found(name, (found.st_dev, found.st_ino))

    def found(self, name: str, file: tuple[int, int]) -> None:
        """Note the file that a name leads to now; the file that it led to before is no longer read under it."""
        before = self._expected.get(name)
        self._expected[name] = file
        if before is not None and before != file:
            self._leading[before].pop(name, None)
            if not self._leading[before]:
                del self._leading[before]
                self.present.discard(before)
        self._leading[file][name] = None
        self.present.add(file)

    def _is_there(self, mark: Bookmark) -> bool:
        """True if the file of a bookmark is there, and not another one that has its inode."""
        if mark.file not in self.present:
            return False
        names = list(self._leading.get(mark.file, ()))
        for name in names:
            try:
                with open(name, "rb", buffering=0) as file:
                    who = identity(file)
                    if who is not None and who[:2] == mark.file:
                        return changed(mark, who, file) is None
            except FileNotFoundError:
                continue
        return not names  # renamed or gone just now

    def add(self, mark: Bookmark) -> None:
        """Remembers how far a file was read that is not read any more. Where another file had its inode, what is
        compressed of that is still known."""
        before = self.forget(mark.file)
        if before is not None and not (before.born == mark.born > 0):
            self.gone = [before, *self.gone[: GONE - 1]]
        self.files[mark.file] = mark
        self._content.add(mark)

    def forget(self, file: tuple[int, int]) -> Bookmark | None:
        """Forgets what was read of a file, by device and inode: its bookmark."""
        before = self.files.pop(file, None)
        if before is not None:
            self._content.remove(before)
        return before

    def copied_in(self, file: Any, exact: bool = False) -> list[Bookmark]:
        """The bookmarks of the files of which an open one, compressed or not, is a copy, see
        :func:`resuming.copied_in`: of several that begin alike, of which most was read."""
        found = copied_in(file, lambda head: [*self._content.beginning(head), *self.gone], exact)
        return sorted(found, key=_read, reverse=True)

    def stands(self, name: str | None, who: Identity | None, file: Any) -> FileComparison:
        """Compares an open file with what was read. An unknown compressed one is compared with the files that
        are not there any more: it may be made from one of them."""
        if who is None or not self.files:
            return FileComparison()
        latest, same = self._names.get(name or ""), self.files.get(who[:2])
        fault = None if same is None else changed(same, who, file)
        if same is not None and fault is None and not _is_used_again(same, latest, who):
            return FileComparison(place_of(same, file), own=same, over=_is_written_over(same, who))
        if format_of(who.head) is not None:  # nobody writes into one anew: another file has its inode
            for mark in self.copied_in(file):
                if mark.file == who[:2] or mark in self.gone or not self._is_there(mark):
                    return FileComparison(place_of(mark))
        if latest is not None and latest.file == who[:2]:
            return FileComparison(before=latest, why=fault)
        if latest is None or self._is_there(latest):
            return FileComparison()  # new; what had its name has another one, and is read under that
        return FileComparison(before=latest, why=Reason.FILE_GONE)

    def token(self, record: int, marks: Mapping[tuple[int, int], Bookmark]) -> dict[str, Any]:
        """The token with these bookmarks in place of the old ones; files that were not looked at keep theirs, and so do
        some that are gone and whose inodes others have. Of several with a name or an inode, the last one has it."""
        kept = [mark for file, mark in self.files.items() if file not in marks]
        gone = [
            mark for mark in self.files.values() if 0 < mark.born != getattr(marks.get(mark.file), "born", mark.born)
        ]
        gone = [*gone, *self.gone][:GONE]
        files = [mark._asdict() for mark in [*reversed(gone), *kept, *marks.values()]]
        return {"turnwire": _VERSION, "record": record, "files": files}


def _is_used_again(same: Bookmark, latest: Bookmark | None, who: Identity) -> bool:
    """True if a bookmark with the inode of a file says nothing of it, though it was made at the same time, as far as is
    known: another file had the name since, and no more was read under that name, or as a rotated file of that name,
    than what any file of it may begin with."""
    if latest is None or latest is same or same.reached > BANNER:
        return False
    if not same.reached:
        return latest.name == same.name
    (folder, base), (there, older) = os.path.split(latest.name), os.path.split(same.name)
    alike = folder == there and (base == older or is_like(older, base))
    return alike and (who.size, who.written) != (same.size, same.written)


def _is_written_over(mark: Bookmark, who: Identity) -> bool:
    """True if a file was written since it was read and has the size that it had: who appends makes it larger. Of a
    larger file than a beginning can be, the last bytes say it."""
    return 0 < mark.still < who.written and who.size == mark.size and mark.reached <= OPENING


def _read(mark: Bookmark) -> int:
    return mark.read
