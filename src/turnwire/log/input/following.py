"""Follows logs that grow: new lines as they come, through rotation, truncation and new files, until it is stopped."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from turnwire.errors import Reason
from turnwire.log.input.archives import is_archived
from turnwire.log.input.bookmarks import BANNER, Bookmark, FileComparison, Gap, StartPosition, identity, looked_at
from turnwire.log.input.copies import continued, is_prefix, reaches
from turnwire.log.input.reading import InputBlock, blocks
from turnwire.log.input.rotated_names import Rotated, added, has_rotated, rotated_files
from turnwire.log.input.rotation import (
    MOVES,
    PAUSE,
    Begun,
    Missed,
    begin,
    is_being_made,
    leads_to,
    missed,
    open_as,
)
from turnwire.log.input.signatures import NotALog
from turnwire.log.input.sources import (
    Idle,
    Reading,
    ReadOptions,
    Source,
    file_source,
    is_within,
    names_files,
    sources,
)
from turnwire.log.input.tailing import Tail

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

_Blocks = Iterator[tuple[Reading, InputBlock]]


class Follower:
    """Files by their names, and those that were renamed, or had a name before, and may still be written to. What else
    is known of files, that they were there at the beginning or were read, is in the bookmarks."""

    def __init__(self, source: Any, job: ReadOptions) -> None:
        self._source, self._job, self._marks = source, job, job.bookmarks
        self._tails: dict[str, Tail] = {}
        self._renamed: list[Tail] = []

    def blocks(self, first: Iterable[Source]) -> Iterator[tuple[Reading, InputBlock] | Idle]:
        """The blocks of these files, then of what comes, file by file as they have something new, with an
        :class:`Idle` before each time that more is waited for, until ``job.stop`` is set."""
        try:
            for source in first:
                if source.mappable and not _is_other(source.name or ""):
                    yield from self._first(source)
                else:
                    yield from blocks(source, self._job)
            looks = 0
            while self._tails or self._renamed or names_files(self._source):
                news = False
                for item in self._once(looks):
                    news = True
                    yield item
                looks += 1
                if not news:
                    yield Idle()
                    self._job.stop.sleep(INTERVAL)
                self._job.stop.check()
        finally:
            for tail in self._live:
                tail.file.close()

    def _once(self, looks: int) -> _Blocks:
        """The news of one look at everything."""
        for name in list(self._tails):
            yield from self._look(name)
        for tail in list(self._renamed):
            yield from self._look_behind(tail)
        if looks % LISTED == LISTED - 1:
            for tail in self._new():
                yield from self._news(tail)

    @property
    def _live(self) -> list[Tail]:
        return [*self._tails.values(), *self._renamed]

    def _news(self, tail: Tail) -> _Blocks:
        """The new lines of a file; one that turns out to be no log is refused."""
        try:
            yield from tail.news()
        except NotALog as refusal:
            tail.file.close()
            self._tails = {name: other for name, other in self._tails.items() if other is not tail}
            self._renamed = [other for other in self._renamed if other is not tail]
            if not tail.source.listed:
                raise
            self._marks.dismissed[tail.who[:2]] = tail.who.written, tail.who.size
            self._job.refuse(refusal)

    # --- the beginning ----------------------------------------------------------------------------------------------

    def _first(self, source: Source) -> _Blocks:
        """A file that is there at the beginning: what came before it since the last scan, and what it has."""
        there = self._there(source.name or "")  # first: what had the name after the file that is opened is not in it
        begun = self._begun(source)
        if begun is None:
            return  # it was renamed since, and is found under its new name
        if (tail := self._tail(source, begun)) is None:
            return
        yield from self._missed(begun.missed)
        for mark in there:
            if mark.file not in self._followed():
                self._marks.add(mark)
        yield from self._news(tail)

    def _begun(self, source: Source) -> Begun | None:
        """A file as :func:`rotation.begin` has it, waited for where it is named itself; else None if it is gone."""
        for _ in range(TRIES - 1):
            try:
                return begin(source, self._job, self._followed(source.name or ""))
            except FileNotFoundError:
                if source.listed:
                    return None
            self._job.stop.sleep(INTERVAL)
        return begin(source, self._job, self._followed(source.name or ""))

    def _tail(self, source: Source, begun: Begun) -> Tail | None:
        """Follows a file under its name, unless it is followed already."""
        who, before = begun.who, begun.missed
        if who is None or who[:2] in self._marks.done or who[:2] in self._followed():
            begun.file.close()
            return None
        self._marks.found(source.name or "", who[:2])
        anew = before is not None and before.anew
        place = StartPosition() if anew else begun.comparison.place
        tail = self._tails[source.name or ""] = Tail(source, begun.file, who, place, self._job)
        return tail

    def _there(self, name: str) -> list[Bookmark]:
        """The files beside a log that are not known, and that are not read but where they change."""
        found: list[Bookmark] = []
        for one in rotated_files(name)[0]:
            if is_within(self._source, one.path) or one.file in self._marks.files or one.file in self._followed():
                continue
            if one.packed:
                self._marks.dismissed[one.file] = one.written, one.size
            elif (file := open_as(one)) is not None:
                with file:  # one that is just being copied of the log is told by that, when it is cut
                    found += [] if is_being_made(file, one.path, copied=True) else [looked_at(file, one.path)]
        return found

    def _followed(self, log: str = "", *but: Tail) -> dict[tuple[int, int], Any]:
        """The files that are being read, or those of one log, under whatever name."""
        stem, _ = os.path.splitext(log)
        return {tail.who[:2]: tail.file for tail in self._live if tail.name.startswith(stem) and tail not in but}

    # --- a look -----------------------------------------------------------------------------------------------------

    def _look(self, name: str) -> _Blocks:
        """The new bytes of a file; and those of what has its name, where that is not the file any more."""
        tail = self._tails[name]
        renamed, settled = tail.renamed(), True
        if not tail.rewritten():
            if not renamed and tail.is_touched():
                settled = yield from self._cut_unseen(tail)
            yield from self._news(tail)
        if name not in self._tails:
            return
        if tail.lost is not None or renamed:
            yield from self._replaced(tail)
        elif settled:
            tail.looked()

    def _cut_unseen(self, tail: Tail) -> Generator[tuple[Reading, InputBlock], None, bool]:
        """Evidence that a file was cut that begins again with all that was read of it: files beside it, or its size
        and times. False where it is renamed just now, so that the next look has to tell."""
        gap = False
        if has_rotated(tail.name):
            read = FileComparison(latest=tail.mark(tail.written)._replace(still=0))
            for left in reversed(range(MOVES)):
                found = missed(tail.name, tail.file, read, self._job, self._followed(tail.name))
                if found is None or not (found.again and left):
                    break
                found.close()
                self._job.stop.sleep(PAUSE)
            if found is not None and not leads_to(tail.name, tail.file):
                found.close()
                return False
            if found is not None and found.anew and found.gap is not None:
                found.close()
                tail.lost = found.gap.why
                return True
            gap = found is not None and found.gap is not None
            yield from self._missed(found)
        if not gap and tail.is_written_over():
            self._job.tell(Gap(tail.name, tail.read, None, Reason.FILE_REPLACED))
        return True

    def _look_behind(self, tail: Tail) -> _Blocks:
        """The bytes written to a file after it was renamed, until nobody has done so for a while."""
        if not tail.rewritten():
            yield from self._news(tail)
        if tail not in self._renamed:
            return
        if tail.lost is not None or tail.idle > PATIENCE or len(self._renamed) > MOST_RENAMED * len(self._tails or "1"):
            yield from self._ended(tail)
            self._renamed.remove(tail)

    def _ended(self, tail: Tail) -> _Blocks:
        """The end of a file. What was read of it is known from now on."""
        yield from tail.end(gone=tail.lost is not None)
        self._marks.add(tail.mark(tail.read_at))
        tail.file.close()

    def _replaced(self, tail: Tail) -> _Blocks:
        """The rest of a file that was renamed or cut, what had the name in between, then what has it now. One that was
        renamed is read as long as somebody may write to it."""
        name, cut = tail.name, tail.lost
        mark = tail.mark(tail.written)
        read = FileComparison(latest=mark, why=cut or Reason.FILE_GONE, since=0 if cut is None else tail.read_at)
        if cut is not None:
            self._marks.forget(mark.file)
        try:
            begun = begin(tail.source, self._job, self._followed(name, *([tail] if cut else [])), read)
        except FileNotFoundError:
            if cut is None:
                return  # it is renamed once more: the next look finds out
            begun = Begun(None, None, read, missed(name, None, read, self._job, self._followed(name, tail)))
        del self._tails[name]
        before = begun.missed
        if cut is None:
            self._renamed.append(tail)
        else:
            goes_on = before is not None and before.kept is not None and tail.go_on_in(before.kept.file)
            if before is not None and before.kept is not None and goes_on:
                before.pieces.remove(before.kept)
                yield from tail.news()
            yield from self._ended(tail)
            if not goes_on or tail.who[:2] != mark.file:
                self._marks.forget(mark.file)  # what is in it now was not read, whatever it begins with
        if before is not None and before.gap is not None:
            is_there = before.gap.why is Reason.FILE_GONE and os.fstat(tail.file.fileno()).st_nlink > 0
            told = None if is_there and not before.again else before.gap._replace(start=tail.read)
            before = before._replace(gap=told)
        new = None if begun.file is None else self._tail(tail.source, begun)
        yield from self._missed(before)
        if new is not None:
            yield from self._news(new)

    def _missed(self, found: Missed | None) -> _Blocks:
        """The file that had a name before, which is followed from now on, and the gap behind it."""
        if found is None:
            return
        tails: list[Tail] = []
        for piece in found.pieces:
            who = identity(piece.file)
            assert who is not None
            tails.append(Tail(file_source(piece.path, listed=True), piece.file, who, piece.place, self._job))
        self._renamed += tails
        for tail in tails:
            yield from self._news(tail)
        if found.gap is not None:
            kept = [tail.read for tail, piece in zip(tails, found.pieces, strict=True) if piece is found.kept]
            self._job.tell(found.gap._replace(start=kept[0]) if kept else found.gap)

    def _remember(self) -> None:
        """Bookmarks of all that is in the files that are being read: what is made from one of them is not read."""
        for tail in self._live:
            if tail.lost is None:
                self._marks.add(looked_at(tail.file, tail.name))

    # --- new files --------------------------------------------------------------------------------------------------

    def _new(self) -> Iterator[Tail]:
        """Files that were not there at the last look; not those that were only renamed, copied or compressed."""
        listed = [name for name in _names(self._source) if name not in self._tails]
        if listed:
            self._remember()
            self._marks.expect(listed)
        for name in listed:
            source = file_source(name, listed=True)
            try:
                if not os.path.isfile(name) or is_archived(name):
                    continue
                begun = begin(source, self._job, self._followed(source.name or ""))
            except FileNotFoundError:
                continue  # it is gone again
            if self._is_new(name, begun):
                tail = self._tail(source, begun)
                if tail is not None:
                    yield tail
            else:
                begun.file.close()

    def _is_new(self, name: str, begun: Begun) -> bool:
        """True if something of a file was not read yet, under whatever name, and it is none that is just being made of
        another one."""
        who, file, place = begun.who, begun.file, begun.comparison.place
        if who is None or who[:2] in self._followed():
            return False
        if self._marks.dismissed.get(who[:2]) == (who.written, who.size):
            return False
        one = Rotated(name, who[:2], who.written, who.size)
        if place.offset:
            if reaches(file, place.offset) if one.packed else who.size > place.offset:
                return True
            self._marks.dismissed[who[:2]] = who.written, who.size
            return False
        if one.packed and is_being_made(file, name, copied=False):
            return False
        for other in self._live:  # a copy that is made before the log is cut: it counts when that is seen
            if added(name, other.name) is None:
                continue
            mark = other.mark(other.written)
            if continued(file, [mark]) and (mark.recorded or other.read > BANNER or is_prefix(file, other.file)):
                return False
        return True


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
