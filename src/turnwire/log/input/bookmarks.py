"""The history of files: how far each was read, kept in the position of a scan; and gaps, bytes that cannot be had."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.log.input.compression import format_of
from turnwire.log.input.file_identity import (
    MOST,
    Bookmark,
    Identity,
    StartPosition,
    beginning,
    bookmark,
    changed,
    checked,
    continued,
    digest,
    identity,
    place_of,
)


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


class FileComparison(NamedTuple):
    """A comparison of a file with what was read before. place: where to go on in it; latest: the bookmark of what was
    read last under its name, or of itself; why: what became of that, None where the file holds it: it may have been cut
    since then, and begin with the same bytes again; since: what was written before that time (ns) and is not known was
    read."""

    place: StartPosition = StartPosition()
    latest: Bookmark | None = None
    why: Reason | None = None
    since: int = 0


class Bookmarks:
    """The files that are known, in the order in which they were read: those of a token, and those of which this run has
    come to the end.

    waits: whether a last record without its end is left for the next time; files: the bookmarks of each device and
    inode, the newest last (one that is used again has several); read: files that this run has read to their ends, and
    done, those that it does not read again under another name; judged: when files were written, and their sizes, of
    which there is nothing to be read.
    """

    def __init__(self, token: Any = None) -> None:
        self.waits = token is not None
        self.record = 0
        self.files: dict[tuple[int, int], list[Bookmark]] = {}
        self.done: set[tuple[int, int]] = set()
        self.read: set[tuple[int, int]] = set()
        self.judged: dict[tuple[int, int], tuple[int, int]] = {}
        self._history: dict[int, Bookmark] = {}  # by their ids, as they came
        self._paths: dict[tuple[int, int], str] = {}
        self._named: dict[tuple[int, int], str] = {}  # those that the sources name
        self._listed: dict[str, tuple[int, int, int]] = {}  # device, inode and time of writing, as they were listed
        self._listed_at = 0
        self._heads: defaultdict[int, defaultdict[str, dict[int, Bookmark]]] = defaultdict(lambda: defaultdict(dict))
        if token is not None:
            self._read(token)
        self._names = {mark.name: mark for mark in self._history.values()}

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

    def token(self, record: int, marks: Mapping[tuple[int, int], Bookmark]) -> dict[str, Any]:
        """The token with these bookmarks in place of the old ones; files that were not looked at keep theirs, and so do
        some that are gone and whose inodes others have. Of several with a name or an inode, the last one has it."""
        old = [mark for mark in self._history.values() if mark.line]
        gone = [mark for mark in old if mark.file in marks and not _is_same(mark, marks[mark.file])]
        kept = [mark for mark in old if mark.file not in marks]
        files = [mark._asdict() for mark in [*gone[-GONE:], *kept, *marks.values()]]
        return {"turnwire": _VERSION, "record": record, "files": files}

    def add(self, mark: Bookmark) -> None:
        """Takes the bookmark of a file, in place of an older one of it."""
        older = [other for other in self.files.get(mark.file, ()) if _is_same(other, mark)]
        for other in older if mark.line else [other for other in older if not other.line]:
            self._remove(other)
        self._history[id(mark)] = mark
        self.files.setdefault(mark.file, []).append(mark)
        self._heads[mark.head_bytes][mark.head][id(mark)] = mark

    def forget(self, file: tuple[int, int]) -> None:
        """Forgets what was read of a file, by device and inode."""
        for mark in list(self.files.get(file, ())):
            self._remove(mark)
        self.judged.pop(file, None)

    def _remove(self, mark: Bookmark) -> None:
        del self._history[id(mark)]
        del self._heads[mark.head_bytes][mark.head][id(mark)]
        self.files[mark.file].remove(mark)
        if not self.files[mark.file]:
            del self.files[mark.file]

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
        """Remembers which files there are, so that a renamed file is told from one that is gone, and one that takes a
        name before its turn comes from the one that was listed."""
        self._listed_at = time.time_ns()
        for name in names:
            try:
                found = os.stat(name)
            except OSError:
                continue  # opening it will say why
            self._listed[name] = found.st_dev, found.st_ino, found.st_mtime_ns
            if self.files:
                self.found(name, (found.st_dev, found.st_ino))

    def found(self, name: str, file: tuple[int, int], named: bool = True) -> None:
        """Remembers the file that a name leads to now; ``named``: one that the sources name."""
        self._paths[file] = name
        if named:
            self._named[file] = name

    def end(self, name: str, file: tuple[int, int]) -> None:
        """Remembers that a file was read to its end under a name."""
        self.read.add(file)
        self._listed.pop(name, None)

    def _is_there(self, mark: Bookmark, paths: Mapping[tuple[int, int], str]) -> bool:
        """True if the file of a bookmark is at its path, and not another one that has its name, or its inode."""
        if (path := paths.get(mark.file)) is None:
            return False
        try:
            with open(path, "rb", buffering=0) as file:
                who = identity(file)
                return who is not None and who[:2] == mark.file and changed(mark, who, file) is None
        except FileNotFoundError:
            return False

    def of(self, who: Identity, file: Any) -> Bookmark | None:
        """The bookmark of an open file that still holds what was read of it."""
        marks = reversed(self.files.get(who[:2], ()))
        return next((mark for mark in marks if changed(mark, who, file) is None), None)

    def _beginning(self, head: bytes) -> Iterator[Bookmark]:
        """The bookmarks of files that are gone, or were cut, and began with such bytes."""
        for count, marks in self._heads.items():
            if count <= len(head) and (own := digest(head[:count])) in marks:
                yield from (mark for mark in marks[own].values() if not self._is_there(mark, self._paths))

    def copied_in(self, file: Any, *cut: Bookmark) -> list[Bookmark]:
        """The bookmarks of files that are gone, and those of such as were ``cut``, of which an open one, compressed or
        not, holds what was read, see :func:`file_identity.continued`."""
        others = [mark for mark in self._beginning(beginning(file)) if mark not in cut]
        return continued(file, [*others, *cut])

    def stands(self, name: str | None, who: Identity | None, file: Any) -> FileComparison:
        """Compares an open file with what was read. An unknown compressed one is compared with the files that
        are not there any more: it may be made from one of them."""
        if who is None:
            return FileComparison()
        mark = self.of(who, file)
        if mark is not None:
            return FileComparison(place_of(mark, file), mark)
        if self.files and format_of(who.head) is not None:  # nobody writes into one anew: another file has its inode
            for mark in self.copied_in(file):
                return FileComparison(place_of(mark))
        latest = self._names.get(name or "")
        if latest is not None and latest.file == who[:2]:
            return FileComparison(latest=latest, why=changed(latest, who, file))
        listed = self._listed.get(name or "")
        if latest is None and listed is not None and (listed[:2] != who[:2] or who.born > self._listed_at):
            unread = bookmark(name or "", Identity(*listed[:2], 0, b"", listed[2]), (0, 0), 0, None)
            return FileComparison(latest=unread, why=Reason.FILE_GONE)
        if latest is None or self._is_there(latest, self._named):
            return FileComparison()  # new; what had its name has another one, and is read under that
        return FileComparison(latest=latest, why=Reason.FILE_GONE)


def _is_same(mark: Bookmark, other: Bookmark) -> bool:
    """True if two bookmarks of an inode are of one file, as far as is known."""
    return mark.born == other.born or not (mark.born and other.born)
