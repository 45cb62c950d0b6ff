"""Lines of a block that belong together, found before anything else is searched there.

Container engines cut long lines into parts (CRI's ``P``, Docker's 16 KiB), and CSP/1, whose messages have many lines,
may be behind the prefix of a log, indented or quoted. An :class:`Assembly` says what such lines say together, and of
each byte of that where it is written. All of it is the same for both backends; where nothing belongs together it costs
a search for a capital P and a look at every 16 KiB.
"""

from __future__ import annotations

from typing import Any, Protocol

from turnwire import _backend
from turnwire.framing.lines import MOST_PREFIX, Assembly, Block, Unbroken
from turnwire.framing.parts import CRI, LEAST_DOCKER, Read, assembled, cri_part, docker_part, joined
from turnwire.framing.prefixes import Prefixed
from turnwire.framing.templates import MOST_LINE, template_at

__all__ = ["Assembly", "Claimed", "find", "undecided"]

_heads = _backend.load("framing.line_heads")
_quick = _backend.load("framing.prefixed")


class Claimed(Protocol):
    """What is claimed of the lines already. What begins first wins: a line that is claimed begins no assembly, and one
    that reaches over claims takes their lines. It is asked in the order of the lines."""

    def behind(self, line: int) -> int:
        """Behind what is claimed of the line that begins there; its start where nothing is."""

    def take(self, found: Assembly) -> None:
        """The lines of this assembly are its own."""


class _Nothing:
    def behind(self, line: int) -> int:
        return line

    def take(self, found: Assembly) -> None:
        """Nothing is claimed."""


def find(
    data: Any,
    start: int,
    stop: int,
    final: bool,
    limit: int,
    reach: int | None = None,
    claimed: Claimed | None = None,
) -> tuple[list[Assembly], int]:
    """The lines of ``data[start:stop]`` (contiguous bytes) that belong together, in the order of their first lines, and
    the position where the next block has to begin.

    A line begins at ``start``. final: the input ends at ``stop``; then the position is ``stop``. Otherwise it is where
    the first line of something begins that may go on behind ``stop``, and what is found lies in front of it. The last
    line, where it has no end yet and begins nothing, is not looked at (:func:`undecided`). limit: most bytes of the
    text of one assembly (``limits.message``); what goes on behind that begins anew. reach: up to there the bytes behind
    ``stop`` are known, though nothing is looked for in them: they tell how what comes before them ends. claimed:
    what the lines are already. Linear in the bytes that are looked at.
    """
    block = Block(data, start, max(stop, reach or 0), final, limit)
    return _Search(block, stop, claimed or _Nothing()).run()


def undecided(line: bytes) -> bool:
    """Whether a line that begins so, and has no end yet, may still be the first of an assembly: one that is short
    enough to become a prefix with ``CSP/1`` or a template, or begins as parts of CRI and Docker do."""
    if len(line) <= MOST_PREFIX + len(b"CSP/1\r"):
        return True
    if len(line) <= MOST_LINE and 0 <= template_at(line) <= MOST_PREFIX:
        return True
    return CRI.match(line) is not None or line.lstrip(b" \t").startswith(b"{")


class _Search:
    def __init__(self, block: Block, stop: int, others: Claimed) -> None:
        self.block = block
        self.stop = stop
        self.others = others
        self.limit = min(block.limit, block.stop)  # no more can be there
        self.claimed: set[int] = set()
        self.last = -1  # of these
        self.prefixed = Prefixed(block, self.claimed)
        self.found: list[Assembly] = []
        self.open = stop

    def run(self) -> tuple[list[Assembly], int]:
        place = self.block.start
        hint = self.hint(place)
        long = self.long(place)
        while hint >= 0 or long >= 0:
            line = max(hint, long) if min(hint, long) < 0 else min(hint, long)
            place = self.others.behind(line)
            if place == line:
                place = self.look(line)
            if 0 <= hint < place:
                hint = self.hint(place)
            if 0 <= long < place:
                long = self.long(place)
        return self._settled()

    def hint(self, place: int) -> int:
        """The first line from ``place`` on that may be one of CRI, or the first of a message; -1 for none."""
        found: int = _heads.first_hint(self.block.view, place, self.stop) if place < self.stop else -1
        return found

    def long(self, place: int) -> int:
        """The same for a long line, which may be one of Docker."""
        found: int = _heads.first_long(self.block.view, place, self.stop, LEAST_DOCKER) if place < self.stop else -1
        return found

    def look(self, line: int) -> int:
        """Looks at the line that begins there; where to go on."""
        block = self.block
        if line in self.claimed:
            return block.line_end(line)
        # Parts in front of a claimed line are read closely: the core does not know which lines are claimed. So is a
        # line of Docker, which is longer than what the core looks through.
        for read in (_quick.message, _quick.parts) if line > self.last else (_quick.message,):
            quick = read(block.view, line, block.stop, block.final, self.limit)
            if quick is not None:
                kind, place, time, text, table = quick
                return self.take(Unbroken(kind, (line, place), time, text, table), place) if kind else place
        return self.look_closely(line)

    def look_closely(self, line: int) -> int:
        """The same, without the core's quick way."""
        behind = self.block.line_end(line)
        for kind, read in (("cri", cri_part), ("docker", docker_part)):
            part = self.part(line, behind, read)
            if part is not None and part.goes_on:
                return self.join(kind, line, behind, read, part.stream)
        if self.block.ended(behind):
            found = self.prefixed.at(line, behind)
            if found is not None:
                return self.take(found, behind)
            if not self.prefixed.done:
                return self.wait(line)
        return behind

    def wait(self, line: int) -> int:
        """What begins there may go on: nothing behind it is looked for now."""
        self.open = line
        return self.block.stop

    def part(self, line: int, behind: int, read: Read) -> Any:
        """The part that a line is; a line without end is one if its head says so, which only CRI's does."""
        if read is docker_part and behind - line < LEAST_DOCKER:
            return None
        return read(self.block, line, behind) if read is cri_part or self.block.ended(behind) else None

    def join(self, kind: str, line: int, behind: int, read: Read, stream: bytes | None) -> int:
        found = joined(self.block, line, read, stream, self.claimed)
        if not found.done:
            return self.wait(line)
        if kind == "cri" and found.pieces:
            begun = self.prefixed.behind_parts(found, stream)
            if begun is not None:
                return self.take(begun, behind)
            if not self.prefixed.done:
                return self.wait(line)
        if found.pieces:
            return self.take(assembled(self.block, kind, found), behind)
        return behind

    def take(self, found: Assembly, behind: int) -> int:
        """Keeps what was found. Where other lines are among its own, the search goes on at the next one."""
        self.found.append(found)
        self.others.take(found)
        if len(found.spans) == 1:
            return found.stop
        for piece in found.pieces:
            self.claimed.add(piece.line)
            self.last = max(self.last, piece.line)
        return behind

    def _settled(self) -> tuple[list[Assembly], int]:
        """What was found, and the position: in front of what is open, and of what reaches behind that."""
        position = self.open
        if all(found.spans[-1][1] <= position for found in self.found):
            return self.found, position
        kept: list[Assembly] = []
        for found in reversed(self.found):
            if found.start < position < found.stop:
                position = found.start
        for found in self.found:
            if found.stop <= position:
                kept.append(found)
        return kept, position
