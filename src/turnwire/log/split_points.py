"""Finds where a file can be cut into blocks: where a search that has read up to there has nothing open.

Such a place is one where a scan could also go on behind a bookmark, so a block begins with the state that a bookmark
keeps (``SearchState.kept``). A search of the whole file gives them. Of large files a few places are looked at instead:
what such a look cannot see is found by who reads the block, who ends it with another state than the plan says.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator, Iterator
from mmap import ACCESS_READ, mmap
from typing import Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.fences import BEGINNING
from turnwire.log.engine.all_wires import Engine, finder
from turnwire.log.engine.run import Run
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import InputBlock
from turnwire.log.input.sources import file_source

_READ = 1 << 20
LEAST_LOOKED_AT = 8 << 20
"""Files that are cut into smaller blocks are read as a whole: what is looked at would be much of them."""
_NEAR = 64 << 10
_PIECES = 32
"""A file that is read is searched in so many pieces for each block: it ends with one of them."""
_AROUND = 1 << 12
_VALUE = rb'"{\[\-0-9tfn'
_OPEN = re.compile(rb'\{["}]|\[[\]%b]|[,:][%b]|"[:,\]}]|[}\]0-9el][,\]}]' % (_VALUE, _VALUE))
"""What can follow each other in JSON, white space apart, at the end of a line and at the start of the next."""


class Cut(NamedTuple):
    """A place where a block may begin.

    offset; line: its number, None where not counted; carried: the state of the search; ahead: how many bytes behind it
    are looked at to see that nothing in front of it goes on.
    """

    offset: int
    line: int | None
    carried: dict[str, Any] | None
    ahead: int


class FileCuts(NamedTuple):
    """Cuts files into blocks of ``every`` bytes, about, for scans of ``wire`` with ``options``."""

    wire: str | None
    options: dict[str, Any]
    every: int

    def of(self, name: str, file: Any, size: int, read: bool) -> tuple[Iterator[Cut], bool]:
        """The cuts of an open file of ``size`` bytes, and whether only some of it is looked at for that."""
        if size <= self.every:
            return iter(()), False
        large = self.every >= LEAST_LOOKED_AT and not finder().lines and not finder().documents[1:]
        if not read and large and _SIGN_OF_DOCUMENT.search(os.pread(file.fileno(), _NEAR, 0)) is None:
            return self._looked(name, file, size), True
        return self._read(name, Cut(0, 1, None, 0), size), False

    def _read(self, name: str, at: Cut, size: int) -> Generator[Cut]:
        """The cuts behind one, by searching all that is behind it."""
        options: dict[str, Any] = {
            **{"where": None, "resume": None, "follow": False, "progress": None, "borrow": False},
            **{"fences": False, "limits": LIMITS, "keep": self.options.get("unknown") == "keep"},
            **{name: self.options[name] for name in ("fences", "limits") if name in self.options},
            **{"errors": "skip", "threads": 1, "batch_bytes": max(self.every // _PIECES, 1)},
        }
        source = file_source(name)._replace(mappable=False, start=at.offset, line=at.line or 1, carried=at.carried)
        run = Run(source, finder(self.wire), (), options)
        start = at.offset
        for _ in run.steps():
            reading, end = run.latest, run.looked_at
            if reading is not None and start + self.every <= reading.offset < size:
                start = reading.offset
                line = None if at.line is None else reading.line
                yield Cut(start, line, reading.kept(), end - start)

    def _looked(self, name: str, file: Any, size: int) -> Iterator[Cut]:
        """The cuts of a file of which some places are looked at; where these show no place, it is read up to one."""
        at = Cut(0, None, None, 0)
        while at.offset + self.every < size:
            line = _next_line(file, at.offset + self.every, size)
            if line == size:
                return
            cut = self._near(file, line, size)
            if cut is None:
                reading = self._read(name, at, size)
                cut = next(reading, None)
                reading.close()
            if cut is None:
                return
            yield cut
            at = cut

    def _near(self, file: Any, line: int, size: int) -> Cut | None:
        """The cut at a line, or not far behind it, where nothing near it looks like a part of something larger."""
        first = max(line - _NEAR, 0)
        around = os.pread(file.fileno(), line - first + _NEAR, first)
        skipped = around.find(b"\n") + 1 if first else 0
        if _SIGN.search(around, skipped) is not None:
            return None
        engine = Engine(
            finder(self.wire),
            (),
            None,
            first_error=False,
            keep=self.options.get("unknown") == "keep",
            limit=self.options.get("limits", LIMITS).message,
            pools=(Pool(), Pool()),
        )
        for end in (line - first, around.rfind(b"\n") + 1):
            state = engine.behind_a_cut()
            block = InputBlock(around[skipped:end], end - skipped, first + skipped, True, False)
            place = engine.scan(block, False, 1, state).position if block.size else 0
            offset, carried = block.base + place, state.kept()
            plain = carried is None or not carried.keys() - {"version", "touched", "tail"}
            if line <= offset < size and plain and between_objects(file, offset):
                return Cut(offset, None, carried, first + end - offset)
        return None


_SIGN = re.compile(rb"^(?:%b|<{3,}|>{3,}|\xe2\xab\xbb)" % BEGINNING.encode(), re.MULTILINE)
"""What begins lines that may be in something of many lines that a look does not see: fences, heredocs, documents."""
_SIGN_OF_DOCUMENT = re.compile(rb"^(?:\xef\xbb\xbf)?\xe2\xab\xbb", re.MULTILINE)
_SETTLES = re.compile(
    rb"^(?:(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|%b)" % BEGINNING.encode(), re.MULTILINE
)
"""What begins lines behind which a heredoc is in trailing text, or is not, whatever was in front."""


def between_objects(file: Any, offset: int) -> bool:
    """True if no JSON object can go on from the lines in front of ``offset`` to the line there: the two
    characters around the line end never meet in JSON, white space apart."""
    file_number = file.fileno()
    before = os.pread(file_number, min(_AROUND, offset), max(offset - _AROUND, 0)).rstrip()
    behind = os.pread(file_number, _AROUND, offset).lstrip()
    return bool(before and behind) and _OPEN.fullmatch(before[-1:] + behind[:1]) is None


def assumes_too_much(file: Any, start: int, stop: int, carried: dict[str, Any] | None) -> str | None:
    """Why a block may not be what a search that comes from its start finds in it, in words: it begins behind a place
    that was looked at, and what was found in front of that is not known."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        if data.find(b"\n\xe2\xab\xbb", start - 1, stop) >= 0:
            return "a line begins like the header of a Space document"
        heredoc = data.find(b"\n<<<", start - 1, stop)
        if heredoc >= 0 and not (carried or {}).get("tail") and _SETTLES.search(data[start:heredoc]) is None:
            return "a heredoc may stand in what follows a message in front of it"
    return None


def _next_line(file: Any, place: int, size: int) -> int:
    """The place where the next line begins behind ``place``; ``size`` where none does. Holes of a file are not read."""
    at = place
    while at < size:
        try:
            at = max(at, os.lseek(file.fileno(), at, os.SEEK_DATA)) if hasattr(os, "SEEK_DATA") else at
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole
                return size
        piece = os.pread(file.fileno(), min(_READ, size - at), at)
        if not piece:
            return size
        newline = piece.find(b"\n")
        if newline >= 0:
            return at + newline + 1
        at += len(piece)
    return size
