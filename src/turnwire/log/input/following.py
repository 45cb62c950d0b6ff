"""Logs that grow: new lines as they come, through rotation, truncation and new files, until somebody says stop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from turnwire.log.input.compression import Decompressed, format_of, undecided
from turnwire.log.input.reading import Block, Cutter, Growing, Input
from turnwire.log.input.resuming import Identity, holds, identity
from turnwire.log.input.rotation import rotated
from turnwire.log.input.sources import Job, Reading, Source, blocks, sources

INTERVAL = 0.2
"""Seconds between two looks at files that had nothing new."""
LISTED = 5
"""At every so many looks directories and globs are listed again."""


class _Tail:
    """One file that is followed. Of a compressed one, what can be decompressed by now is read; a member or frame that
    is half-written waits. Its end is where nobody writes to it any more."""

    def __init__(self, source: Source, job: Job, known: bool) -> None:
        self.source = source
        self.file = file = open(source.name or "", "rb", buffering=0)  # noqa: SIM115 (closed when it is ended)
        self.reading = Reading(source)
        who = identity(file)
        assert who is not None
        self.reading.identity = self.who = who
        if known:
            found = job.bookmarks.find(source.name, who, file)
            self.reading.offset, self.reading.line, self.reading.carried, self.reading.behind = found
        self._job = job
        self._raw = Input(file, job.stop)
        self._growing = Growing(self._raw)
        self._cutter: Cutter | None = None
        self._ended = False  # nothing more comes of this file
        self._lost = False  # it was written anew while it was read

    def _cut(self, certain: bool) -> Cutter | None:
        """What cuts the file into blocks; None as long as its first bytes do not say whether it is compressed.
        ``certain``: nothing follows them."""
        if self._cutter is not None:
            return self._cutter
        head = self._raw.head()
        if undecided(head) and not certain:
            return None
        kind, start = format_of(head), self.reading.offset
        source = self._growing if kind is None else Decompressed(kind, self._growing, self._job.limits)
        job = self._job
        self._cutter = cutter = Cutter(self._raw, source, job.pool, job.batch_bytes, grows=True, opens=job.opens)
        self.reading.kind = kind
        if start and kind is None:
            self._raw.seek(start)
            cutter.base = start
        elif start:
            self._job.bookmarks.reached(self.source.name, start, cutter.skip(start))
        return cutter

    def news(self, certain: bool = False) -> Iterator[tuple[Reading, Block]]:
        """The lines that are there by now; where nothing can come any more, the end and why."""
        cutter = None if self._ended else self._cut(certain)
        if cutter is None:
            return
        while not self._lost:
            kept = cutter.kept
            block = cutter.read()
            if (
                not self._growing.gone and self.rewritten()
            ):  # since the last look: what was read belongs to the old text
                cutter.take_back(block, kept)
                self._lost = True
            elif block is None:
                break
            else:
                yield self.reading, block
        if cutter.fault is not None and not self._lost:
            yield self._finished(cutter)

    def renamed(self) -> bool:
        """Whether the name leads to another file by now."""
        try:
            there = os.stat(self.source.name or "")
        except FileNotFoundError:
            return False  # rotation is under way, or the file is gone: it may still be written to
        return (there.st_dev, there.st_ino) != self.who[:2]

    def rewritten(self) -> bool:
        """Whether the file was cut, or holds other bytes than were read: what stands in it was not read yet."""
        cutter = self._cutter
        read = self._raw.taken if cutter is None or cutter.kind is not None else cutter.end
        if os.fstat(self.file.fileno()).st_size < read:
            return True
        if self.reading.kind is None and not holds(self.file, *self.reading.behind):
            return True
        now: Identity | None = identity(self.file)
        if now is not None and len(now.head) > len(self.who.head) and now.head.startswith(self.who.head):
            self.reading.identity = self.who = now  # it was shorter when it was opened
        return now is not None and not now.head.startswith(self.who.head)

    def end(self, gone: bool) -> Iterator[tuple[Reading, Block]]:
        """What is left of a file that is not followed any more, of what was read of it where the rest is ``gone``; what
        is half-written has no end to wait for."""
        self._growing.open, self._growing.gone = False, gone
        yield from self.news(certain=True)
        if not self._ended and self._cutter is not None:
            yield self._finished(self._cutter)

    def _finished(self, cutter: Cutter) -> tuple[Reading, Block]:
        self.reading.fault = None if self._lost else cutter.fault
        self.reading.closed = self._ended = True
        return self.reading, cutter.finish()


def follow(source: Any, job: Job) -> Iterator[tuple[Reading, Block]]:
    """The blocks of sources that grow, file by file as they have something new; ends only when ``job.stop`` is set."""
    tails: dict[str, _Tail] = {}
    ended: dict[tuple[int, int], Identity] = {}
    since: dict[str, int] = {}  # a name -> when the file that lost it was written last, ns
    try:
        for first in sources(source):
            if first.mappable and os.path.isfile(first.name or ""):
                tails[first.name or ""] = tail = _Tail(first, job, known=True)
                yield from tail.news()
            else:
                yield from blocks(first, job)
        looks = 0
        while tails or _names_files(source):
            news = rotated = False
            for name, tail in list(tails.items()):
                renamed, rewritten = tail.renamed(), tail.rewritten()
                for item in () if rewritten else tail.news():
                    news = True
                    yield item
                if renamed or rewritten:
                    yield from tail.end(gone=rewritten)
                    if rewritten:
                        ended.pop(tail.who[:2], None)  # what stands in it now was not read, whatever it begins with
                    else:
                        ended[tail.who[:2]] = tail.who
                        since[name] = os.fstat(tail.file.fileno()).st_mtime_ns
                    tail.file.close()
                    del tails[name]
                    rotated = True
            looks += 1
            if rotated or looks % LISTED == 0:
                for tail in _new(source, tails, ended, job):
                    name = tail.source.name or ""
                    tails[name] = tail
                    if name in since:  # only now: whatever had the name before this file has another one by now
                        yield from _missed(name, since.pop(name), source, tails, ended, job)
            elif not news:
                job.stop.sleep(INTERVAL)
            job.stop.check()
    finally:
        for tail in tails.values():
            tail.file.close()


def _names_files(source: Any) -> bool:
    """Whether files may appear under what ``source`` names."""
    if isinstance(source, (list, tuple)):
        return any(_names_files(part) for part in source)
    return isinstance(source, (str, os.PathLike)) and source != "-"


def _new(source: Any, tails: dict[str, _Tail], ended: dict[tuple[int, int], Identity], job: Job) -> Iterator[_Tail]:
    """Files that were not there at the last look, to be read from their start; not those that were only renamed."""
    parts = source if isinstance(source, (list, tuple)) else [source]
    for part in parts:
        try:
            listed = list(sources(part)) if _names_files(part) else []
        except FileNotFoundError:
            continue  # nothing matches for the moment
        for found in listed:
            if not found.mappable or found.name in tails or not os.path.isfile(found.name or ""):
                continue
            try:
                tail = _Tail(found, job, known=False)
            except FileNotFoundError:
                continue  # it is gone again
            if _was_read(tail.who, ended) or tail.who[:2] in {other.who[:2] for other in tails.values()}:
                tail.file.close()
                continue
            yield tail


def _was_read(who: Identity, ended: dict[tuple[int, int], Identity]) -> bool:
    """Whether a file is one that is not followed any more: inodes of deleted files are used again."""
    before = ended.get(who[:2])
    return before is not None and who.size >= before.size and who.head.startswith(before.head)


def _missed(
    name: str,
    since: int,
    source: Any,
    tails: dict[str, _Tail],
    ended: dict[tuple[int, int], Identity],
    job: Job,
) -> Iterator[tuple[Reading, Block]]:
    """What stands in files that had a name between two looks and were renamed in between, oldest first.

    They have names like it in its directory and were written after the file that had it before (``since``). Those
    that the sources name are followed anyway.
    """
    met: set[tuple[int, int]] = set()
    until = os.fstat(tails[name].file.fileno()).st_mtime_ns  # what is newer comes after the file that has the name
    while True:
        listed = {*_names(source), *tails}
        known = met | {tail.who[:2] for tail in tails.values()}
        found = [one for one in rotated(name, since, until) if one.path not in listed and one.file not in known]
        if not found:
            return
        try:
            other = _Tail(Source(found[0].path, mappable=True), job, known=False)
        except FileNotFoundError:
            continue  # it was renamed once more
        if other.who[:2] == found[0].file:
            met.add(found[0].file)
            if not _was_read(other.who, ended):
                yield from other.news()
                yield from other.end(gone=False)
                ended[other.who[:2]] = other.who
        other.file.close()


def _names(source: Any) -> Iterator[str]:
    """The names of the files that the sources name just now."""
    for part in source if isinstance(source, (list, tuple)) else [source]:
        try:
            yield from (found.name for found in sources(part) if found.name is not None) if _names_files(part) else ()
        except FileNotFoundError:
            continue  # nothing matches for the moment
