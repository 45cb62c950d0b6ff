"""Lines of CSP/1 and where heredocs end, in plain Python. A line ends with LF or CRLF and nothing else."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from turnwire.csp._marks_py import EXACT, LOOK_ALIKE, NeedMore, classify_magic_line
from turnwire.errors import Reason
from turnwire.fences import is_fence

Table = list[tuple[int, ...]]
Span = tuple[int, int]
ABSENT: Span = (-1, -1)

BLANK = re.compile(rb"[ \t]*")
MAGIC = b"CSP/1"
LOOKS_LIKE_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
OPENING = re.compile(rb"(<{3,})(-?)")
TOKEN = re.compile(rb"[^\x00-\x20\x7f]+")
KEY = re.compile(rb"[A-Z][A-Z0-9_]*(?= |\Z)")
CHECKPOINT = re.compile(rb"C[0-9]+")
DEF_LINE = re.compile(rb"DEF ([A-Z_][A-Z0-9_]*) =(?: (.*))?", re.DOTALL)
LAW_LINE = re.compile(rb"- (L[0-9]+):(?: (.*))?", re.DOTALL)
_CLOSING_RUN = re.compile(rb"(?m)^(>{3,})\r?$")
_LOOSE_CLOSING_RUN = re.compile(rb"(?m)^[ \t]*(>{3,})[ \t]*\r?$")


class Line(NamedTuple):
    """One line: ``data[start:stop]`` is its text, ``next`` the offset after its LF."""

    start: int
    stop: int
    next: int
    text: bytes


class ScanFault(Exception):
    """A fault, and the offset at which the rest of the message goes on (behind_opening: the heredoc never closes)."""

    def __init__(self, reason: Reason, offset: int, resume: int, run: int = 0) -> None:
        self.reason = reason
        self.offset = offset
        self.resume = resume
        self.run = run


class Cursor:
    """Lines and heredocs of ``data[start:end]``; ``final`` says that nothing follows."""

    def __init__(self, data: bytes, end: int, final: bool = True) -> None:
        self.data = data
        self.end = end
        self.final = final
        self.closings: dict[int, list[int]] | None = None
        self._loose: dict[int, list[int]] | None = None

    def ends(self, line: Line) -> bool:
        """True if a line (outside a heredoc) ends the record before it."""
        return is_delimiter(line.text)

    def line(self, place: int) -> Line | None:
        """The line at ``place``, or None at the end."""
        data = self.data
        newline = data.find(b"\n", place, self.end)
        if newline < 0:
            if not self.final:
                raise NeedMore
            if place >= self.end:
                return None
            return Line(place, self.end, self.end, data[place : self.end])
        stop = newline - 1 if newline > place and data[newline - 1] == 13 else newline
        return Line(place, stop, newline + 1, data[place:stop])

    def closing(self, place: int, run: int, bound: int) -> Line | None:
        """The first line from ``place`` on that is exactly ``run`` times ``>`` and ends by ``bound``."""
        if self.closings is None:
            found = self.closing_before(place, run, bound)
            if found is None:
                self.closings = self._index(_CLOSING_RUN, place)  # a failed search costs the rest: never pay it twice
            return found
        starts = self.closings.get(run, [])
        at = bisect_left(starts, place)
        if at == len(starts):
            return None
        return self._closing_at(starts[at], run, bound)

    def closing_before(self, place: int, run: int, bound: int) -> Line | None:
        """The same without the index."""
        data, needle = self.data, b">" * run
        bound = min(bound, self.end)
        from_here = place
        while True:
            hit = data.find(needle, from_here, bound)
            if hit < 0:
                return None
            if hit == place or data[hit - 1] == 10:
                found = self._closing_at(hit, run, bound)
                if found is not None:
                    return found
            newline = data.find(b"\n", hit, bound)
            if newline < 0:
                return None
            from_here = newline + 1

    def loose_closing(self, place: int, run: int) -> Line | None:
        """The first line from ``place`` on that is ``run`` times ``>`` with white space around."""
        if self._loose is None:
            self._loose = self._index(_LOOSE_CLOSING_RUN, 0)
        starts = self._loose.get(run, [])
        at = bisect_left(starts, place)
        return None if at == len(starts) else self.line(starts[at])

    def _closing_at(self, start: int, run: int, bound: int) -> Line | None:
        data, stop = self.data, start + run
        if stop == self.end and self.final:
            behind = stop
        elif data[stop : stop + 1] == b"\n":
            behind = stop + 1
        elif data[stop : stop + 2] == b"\r\n":
            behind = stop + 2
        else:
            return None
        if behind > min(bound, self.end):
            return None
        return Line(start, stop, behind, data[start:stop])

    def _index(self, pattern: re.Pattern[bytes], place: int) -> dict[int, list[int]]:
        """Run -> the starts of the lines from ``place`` on that may close it."""
        found: dict[int, list[int]] = {}
        for match in pattern.finditer(self.data, place):
            found.setdefault(len(match[1]), []).append(match.start())
        return found


def is_delimiter(text: bytes) -> bool:
    """True if a line (outside a heredoc) ends the record before it: CSP/1, a template, a fence, a would-be CSP/1."""
    first = text[:1]
    if first not in b"Cc \t\xef`~" or not first:
        return False
    return LOOKS_LIKE_MAGIC.match(text) is not None or is_fence(text)


def is_blank(text: bytes) -> bool:
    """True if a line holds nothing but spaces and tabs."""
    return not text or BLANK.fullmatch(text) is not None


def is_look_alike(cursor: Cursor, first: Line, kind: int = EXACT) -> bool:
    """True if the record whose first line this is, is the Compact Symbol Protocol (reading 9)."""
    return classify_magic_line(cursor.data, first.start, cursor.end, cursor.final, kind) == LOOK_ALIKE


def heredoc_closing(cursor: Cursor, opening: Line, run: int, bound: int, start: int) -> Line | Reason:
    """The closing line of a heredoc in the message that began at ``start``, or why there is none."""
    closing = cursor.closing(opening.next, run, bound)
    if closing is not None:
        return closing
    if bound < cursor.end:
        return Reason.MESSAGE_TOO_LARGE
    if not cursor.final:
        raise NeedMore
    return Reason.UNCLOSED_HEREDOC


def is_preamble_line(text: bytes, laws: bool) -> bool:
    """True if a line is ``DEF N = v``, ``LAWS`` or (below it, ``laws``) ``- Ln: text``."""
    if text == b"LAWS":
        return True
    return (DEF_LINE if text.startswith(b"DEF ") else LAW_LINE).fullmatch(text) is not None and (
        laws or text.startswith(b"DEF ")
    )
