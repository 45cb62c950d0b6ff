"""Follows logs that grow: new lines as they come, through rotation, truncation and new files, until it is stopped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.archives import is_archived
from turnwire.log.input.bookmarks import reaches
from turnwire.log.input.reading import Blocks, InputBlock, Reading
from turnwire.log.input.rotated_names import COMPRESSED, added
from turnwire.log.input.rotation import FileComparison, Missed, begin, is_being_made, leads_to
from turnwire.log.input.signatures import NotALog
from turnwire.log.input.source_blocks import blocks
from turnwire.log.input.sources import Idle, ReadOptions, Source, file_source, names_files, sources

INTERVAL = 0.2
"""Seconds between two looks at files that had nothing new."""
LISTED = 5
"""At every so many looks directories and globs are listed again."""
PATIENCE = 25
"""So many looks without anything new are waited for writers of a file that was renamed."""
MOST_RENAMED = 64
"""Files that were renamed and are still read, for each name; the oldest are ended where there are more."""
TRIES = 10
"""So many looks a log is waited for that is named itself, and is just being renamed."""


class Follower:
    """Files by their names, and those that were renamed, or had a name before, and may still be written to. What else
    is known of files, that they were there at the beginning or were read, is in the bookmarks."""

    def __init__(self, source: Any, job: ReadOptions) -> None:
        self._source, self._job, self._marks = source, job, job.bookmarks
        self._tails = self._marks.followed

    def blocks(self, first: Iterable[Source]) -> Iterator[tuple[Reading, InputBlock] | Idle]:
        """The blocks of these files, then of what comes, file by file as they have something new, with an
        :class:`Idle` after each look at all of them, until ``job.stop`` is set."""
        try:
            for source in first:
                if source.mappable and not _is_other(source.name or ""):
                    yield from self._first(source)
                else:
                    yield from blocks(source, self._job._replace(grows=False))
            looks = 0
            while self._tails or names_files(self._source):
                news = False
                for item in self._once(looks):
                    news = True
                    yield item
                looks += 1
                yield Idle()
                if not news:
                    self._job.stop.sleep(INTERVAL)
                self._job.stop.check()
        finally:
            for tail in self._tails:
                tail.file.close()

    def _once(self, looks: int) -> Blocks:
        """The news of one look at everything."""
        for tail in [tail for tail in self._tails if tail.has_name]:
            yield from self._look(tail)
        renamed = [tail for tail in self._tails if not tail.has_name]
        most = MOST_RENAMED * max(len(self._tails) - len(renamed), 1)
        for left, tail in zip(range(len(renamed), 0, -1), renamed, strict=True):
            if not tail.rewritten():
                yield from self._news(tail)
            if tail in self._tails and (tail.lost is not None or tail.idle > PATIENCE or left > most):
                yield from self._ended(tail)
        if looks % LISTED != LISTED - 1:
            return
        known = {tail.path for tail in self._tails if tail.has_name}
        if names := [name for name in _names(self._source) if name not in known]:
            self._remember()
            self._marks.expect(names)
        for name in names:
            with suppress(FileNotFoundError):  # it is gone again
                if not _is_other(name):
                    yield from self._open(file_source(name, listed=True), new=True)

    def _remember(self) -> None:
        """Bookmarks of what was read of the files that are being read: what is made from one of them is not read."""
        for tail in self._tails:
            if tail.lost is None:
                self._marks.add(tail.mark())

    def _news(self, tail: Reading) -> Blocks:
        """The new lines of a file; one that turns out to be no log is refused."""
        try:
            yield from tail.news()
        except NotALog as refusal:
            self._tails.remove(tail)
            tail.file.close()
            if not tail.source.listed:
                raise
            assert tail.identity is not None
            self._marks.dismissed[tail.file_id] = tail.identity.written, tail.identity.size
            self._job.refuse(refusal)

    def _ended(self, tail: Reading) -> Blocks:
        """The end of a file. What was read of it is known from now on."""
        yield from tail.end(gone=tail.lost is not None)
        self._marks.add(tail.mark(tail.read_at))
        self._tails.remove(tail)
        tail.file.close()

    # --- a name -----------------------------------------------------------------------------------------------------

    def _first(self, source: Source) -> Blocks:
        """A file that is there at the beginning, waited for where it is named itself."""
        for left in reversed(range(TRIES)):
            try:
                yield from self._open(source)
                return
            except FileNotFoundError:
                if source.listed:
                    return  # it was renamed since, and is found under its new name
                if not left:
                    raise
            self._job.stop.sleep(INTERVAL)

    def _open(self, source: Source, read: FileComparison | None = None, new: bool = False) -> Blocks:
        """The blocks of the unread files that had a name before, then of the file that has it now. new: that was not
        there at the last look; read: the name's own comparison. Raises FileNotFoundError."""
        tail, before = begin(source, self._job, read)
        follows = self._follow(tail, new)
        yield from self._missed(before)
        if follows:
            yield from self._news(tail)

    def _follow(self, tail: Reading, new: bool = False) -> bool:
        """Follows a file under its name. False if it is followed already, was read, or is ``new`` and has nothing to
        be read: then it is closed."""
        known = tail.identity is None or tail.file_id in self._marks.done or tail.file_id in self._marks.being_read()
        if known or (new and not self._is_new(tail)):
            tail.file.close()
            return False
        self._marks.found(tail.path, tail.file_id)
        self._tails.append(tail)
        return True

    def _is_new(self, tail: Reading) -> bool:
        """True if something of a file was not read yet, under whatever name, and it is none that is just being made of
        another one."""
        who = tail.identity
        assert who is not None
        dismissed, state = self._marks.dismissed, (who.written, who.size)
        if dismissed.get(tail.file_id) == state:
            return False
        if read := tail.read:
            more = reaches(tail.file, read) if tail.path.endswith(COMPRESSED) else who.size > read
            if not more:
                dismissed[tail.file_id] = state
            return more
        if is_being_made(tail.file, tail.path, copied=True):
            return False
        # A copy of a log that was cut since it was looked at counts when that is seen.
        return not any(other.rewritten() for other in self._tails if added(tail.path, other.path) is not None)

    # --- a look -----------------------------------------------------------------------------------------------------

    def _look(self, tail: Reading) -> Blocks:
        """The new bytes of a file; and those of what has its name, where that is not the file any more."""
        renamed, settled = tail.renamed(), True
        if not tail.rewritten():
            if not renamed and tail.is_touched():
                # The files beside it may show that it was cut, and begins again with all that was read of it.
                again, found = self._begun_again(tail)
                again.file.close()
                if found is not None and not leads_to(tail.path, tail.file):
                    found.close()
                    settled = False  # it is renamed just now: the next look has to tell
                elif found is not None and found.anew and found.gap is not None:
                    found.close()
                    tail.lost = found.gap.why
                else:
                    yield from self._missed(found)
            yield from self._news(tail)
        if tail not in self._tails:
            return
        if tail.lost is not None:
            yield from self._blocks_of_cut_file(tail)
        elif renamed:
            # It is read as long as somebody may write to it.
            tail.has_name = False
            try:
                yield from self._open(tail.source, FileComparison(latest=tail.mark(), why=Reason.FILE_GONE))
            except FileNotFoundError:  # it is renamed once more: the next look finds out
                tail.has_name = True
        elif settled:
            tail.looked()

    def _begun_again(self, tail: Reading) -> tuple[Reading, Missed | None]:
        """A file once more, from its start, and what had its name since it was read."""
        read = FileComparison(latest=tail.mark(), why=tail.lost, since=0 if tail.lost is None else tail.read_at)
        return begin(tail.source, self._job, read, again=tail)

    def _blocks_of_cut_file(self, tail: Reading) -> Blocks:
        """The blocks of a file that was cut: first the unread bytes from before the cut, if a copy has them, then the
        file from its start, even if it begins with the bytes that were read."""
        file = tail.file_id
        self._marks.forget(file)
        new, before = self._begun_again(tail)
        if before is not None and before.kept is not None:
            before.tails.remove(before.kept)
            tail.go_on_in(before.kept)
        yield from self._ended(tail)
        if tail.file_id == file:
            self._marks.forget(file)
        new.file.seek(0)
        follows = self._follow(new)
        if before is not None:
            before.kept = tail  # behind which the gap begins
        yield from self._missed(before)
        if follows:
            yield from self._news(new)

    def _missed(self, found: Missed | None) -> Blocks:
        """The files that had a name before, which are followed from now on, and the gap after them."""
        if found is not None:
            for tail in found.tails:
                tail.has_name = False
            self._tails += found.tails
            yield from found.blocks(self._news)


def _is_other(name: str) -> bool:
    """True if a name leads to something that does not grow: no regular file, or an archive."""
    try:
        return not stat.S_ISREG(os.stat(name).st_mode) or is_archived(name)
    except FileNotFoundError:
        return False


def _names(source: Any) -> Iterator[str]:
    """The names of the files that the sources name just now."""
    for part in source if isinstance(source, (list, tuple)) else [source]:
        try:
            found = list(sources(part)) if names_files(part) else []
        except FileNotFoundError:
            continue  # nothing matches for the moment
        yield from (one.name for one in found if one.name is not None and one.mappable)
