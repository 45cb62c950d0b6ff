"""Follows logs that grow: looks what changed, scans from where it was read, waits, until it is stopped."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Any

from turnwire.log.input import rotation
from turnwire.log.input.compression import is_archived
from turnwire.log.input.reading import Blocks, stream_blocks
from turnwire.log.input.rotated_names import TICK, is_rotated
from turnwire.log.input.rotation import file_blocks
from turnwire.log.input.sources import ReadOptions, Source, names_files, sources

INTERVAL, LONGEST = 0.2, 2.0
"""Seconds between two looks at files: as many as a look took, but within these."""
LISTED = 5
"""At every so many looks directories and globs are listed again."""
TRIES = 10
"""So many looks a log is waited for that is named itself, and is just being renamed."""


class Follower:
    """The files that sources name, and how each was at the last look."""

    def __init__(self, source: Any, job: ReadOptions) -> None:
        self._source, self._job, self._marks = source, job, job.bookmarks
        self._states: dict[str, Any] = {}

    def looks(self, first: list[Source]) -> Iterator[Blocks | None]:
        """The blocks of these files, then at each look those of the files that changed, or None, until ``job.stop``
        is set. What was read before a look must be in the bookmarks by then."""
        try:
            files = {one.name: one for one in first if one.mappable and one.name is not None}
            for name in files:
                self._is_changed(name)
            yield self._first(first)
            looks = 0
            while names_files(self._source):
                begun = time.monotonic()
                self._marks.done.clear()
                if looks % LISTED == 0:
                    held = [one for one in self._marks.held.values() if one.path in self._states]
                    removed = {one.path: one.source for one in held if not os.fstat(one.file.fileno()).st_nlink}
                    files = removed | named(self._source)
                    for name in self._marks.passed_over:
                        self._states.pop(name, None)
                    self._marks.passed_over.clear()
                # A known log finds the files that had its name. All others may be made from those: they come when what
                # was read by then is in the bookmarks.
                known = {name: name in self._states and not is_rotated(name) for name in files}
                for names in ([name for name in files if known[name]], [name for name in files if not known[name]]):
                    changed = [files[name] for name in names if self._is_changed(name)]
                    yield self._again(changed) if changed else None
                looks += 1
                self._job.stop.sleep(max(INTERVAL, min(time.monotonic() - begun, LONGEST)))
        finally:
            for held in self._marks.held.values():
                held.file.close()

    def _first(self, found: list[Source]) -> Blocks:
        """The blocks of files that are there at the beginning, which are waited for where they are named themselves."""
        for one in found:
            if not one.mappable:
                yield from stream_blocks(one, self._job)
                continue
            for left in reversed(range(TRIES)):
                try:
                    yield from file_blocks(one, self._job)
                    break
                except FileNotFoundError:
                    if one.listed:
                        break  # it was renamed since, and is found under its new name
                    if not left:
                        raise
                self._job.stop.sleep(INTERVAL)

    def _again(self, changed: Iterable[Source]) -> Blocks:
        self._marks.expect([one.name for one in changed if one.name is not None])
        for one in changed:
            try:
                if not is_archived(one.name or ""):  # which does not grow
                    yield from file_blocks(one, self._job)
            except FileNotFoundError:
                continue  # it is gone again, or just being renamed

    def _is_changed(self, name: str) -> bool:
        """True if a file, or one that had its name, may have changed since the last look at it."""
        now, before = time.time_ns(), self._states.get(name)
        try:
            status = os.stat(name)
            if not stat.S_ISREG(status.st_mode):
                return False
        except FileNotFoundError:
            found = []
        else:
            found = [(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, False)]
        for one in self._marks.beside(name)[0]:
            settled = now - one.written > rotation.SETTLED * 1e9
            found.append((*one.file, one.written, one.size, settled))
        # Within a tick of the clock of files they can change again without a trace.
        fresh = any(abs(now - written) <= TICK for _, _, written, _, _ in found)
        self._states[name] = None if fresh else found
        return found != before


def named(source: Any) -> dict[str, Source]:
    """The files that the sources name just now."""
    files: dict[str, Source] = {}
    for part in source if isinstance(source, (list, tuple)) else [source]:
        try:
            found = list(sources(part)) if names_files(part) else []
        except FileNotFoundError:
            continue  # nothing matches for the moment
        files |= {one.name: one for one in found if one.name is not None and one.mappable}
    return files
