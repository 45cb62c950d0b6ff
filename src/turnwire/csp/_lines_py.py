"""Lines of CSP/1 in plain Python: where they and heredocs end, and whether one that says ``CSP/1`` begins a message.

The readable twin of ``_native/csp/lines.h`` and ``_native/csp/marks.h``. A line ends with LF or CRLF and nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from turnwire.csp.spec import HEADERS, ID_LETTER, LOOK_ALIKE_KEYS, LOOK_ALIKE_TITLE
from turnwire.errors import Reason
from turnwire.fences import BEGINNING, FENCE, fence_after, is_fence
from turnwire.json.times import head_time

Table = list[tuple[int, ...]]
Span = tuple[int, int]
ABSENT: Span = (-1, -1)

TEXT, DAMAGED, LOOK_ALIKE = range(3)
EXACT, NEAR, TEMPLATE = range(3)
"""Kinds of a line that says CSP/1: just that, nearly that, or the first of a template."""

BLANK = re.compile(rb"[ \t]*")
MAGIC = b"CSP/1"
LOOKS_LIKE_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
OPENING = re.compile(rb"(<{3,})(-?)")
TOKEN = re.compile(rb"[^\x00-\x20\x7f]+")
KEY = re.compile(rb"[A-Z][A-Z0-9_]*(?= |\Z)")
CHECKPOINT = re.compile(rb"C[0-9]+")
DEF_LINE = re.compile(rb"DEF ([A-Z_][A-Z0-9_]*) =(?: (.*))?", re.DOTALL)
LAW_LINE = re.compile(rb"- (L[0-9]+):(?: (.*))?", re.DOTALL)
_NEAR_STATE = re.compile(r"[ \t]*(?:DEF[ \t]+[A-Z{]|(?:-[ \t]*)?L[0-9]+[: \t])")
_UPPER_CASE = frozenset(bytes([letter]) for letter in range(65, 91))
_CLOSING_RUN = re.compile(rb"(?m)^(>{3,})\r?$")
_LOOSE_CLOSING_RUN = re.compile(rb"(?m)^[ \t]*(>{3,})[ \t]*\r?$")


class NeedMore(Exception):
    """Raised where what was begun may go on after the bytes at hand."""


class Line(NamedTuple):
    """One line: ``data[start:stop]`` is its text, ``next`` the offset after its LF."""

    start: int
    stop: int
    next: int
    text: bytes


class ScanFault(Exception):
    """A fault, and the offset at which the rest of the message continues (behind_opening: the heredoc never closes)."""

    def __init__(self, reason: Reason, offset: int, resume: int, run: int = 0) -> None:
        self.reason = reason
        self.offset = offset
        self.resume = resume
        self.run = run


class Cursor:
    """Lines and heredocs of ``data[start:end]``; ``final`` says that nothing follows, ``fence`` is the run of the open
    one."""

    def __init__(self, data: bytes, end: int, final: bool = True, fence: bytes = b"") -> None:
        self.data = data
        self.end = end
        self.final = final
        self.fence = fence
        self.closings: dict[int, list[int]] | None = None
        self._loose: dict[int, list[int]] | None = None

    def ends(self, line: Line) -> bool:
        """True if a line (outside a heredoc) ends the message before it: the first line of another one, or what is
        nearly one, a fence that closes the one around, the time of a log."""
        text = line.text
        if text[:1] in _UPPER_CASE and text[:1] != b"C":
            return False  # most lines: nothing that ends a message begins so
        if is_fence(text):
            return self.closes(text)
        return LOOKS_LIKE_MAGIC.match(text) is not None or head_time(text[:256]) is not None

    def closes(self, text: bytes) -> bool:
        """True if a line of a fence closes the open one."""
        return bool(self.fence) and not self.behind_fence(text)

    def behind_fence(self, text: bytes) -> bytes:
        """The run of the fence that is open after a line of a fence."""
        line = FENCE.match(text)
        assert line is not None, "it is one"
        return fence_after(self.fence, line[1], line[2])

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
            self.closings = self._index(_CLOSING_RUN)  # of all runs: a search that finds none costs the rest
        starts = self.closings.get(run, [])
        at = bisect_left(starts, place)
        if at == len(starts) or starts[at] + run > min(bound, self.end):
            return None
        line = self.line(starts[at])
        return line if line is not None and line.stop - line.start == run and line.next <= bound else None

    def loose_closing(self, place: int, run: int) -> Line | None:
        """The first line from ``place`` on that is ``run`` times ``>`` with white space around."""
        if self._loose is None:
            self._loose = self._index(_LOOSE_CLOSING_RUN)
        starts = self._loose.get(run, [])
        at = bisect_left(starts, place)
        return None if at == len(starts) else self.line(starts[at])

    def _index(self, pattern: re.Pattern[bytes]) -> dict[int, list[int]]:
        """Run -> the starts of the lines that may close it."""
        found: dict[int, list[int]] = {}
        for match in pattern.finditer(self.data):
            found.setdefault(len(match[1]), []).append(match.start())
        return found


def is_delimiter(text: bytes) -> bool:
    """True if a line says CSP/1 or nearly that, or is a code fence."""
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
    is_def = text.startswith(b"DEF ")
    return (DEF_LINE if is_def else LAW_LINE).fullmatch(text) is not None and (laws or is_def)


def is_near_state(text: str) -> bool:
    """True if junk was meant as a name or a law of C0, which would get lost without a word."""
    return _NEAR_STATE.match(text) is not None


# --- marks: a line that says CSP/1, or nearly -------------------------------------------------------------------------


LOOK_LINES, LOOK_BYTES = 64, 4096
CLOSE, CLOSE_LINES = 4, 8
MOST_FLAGS = 256

_NAMES = "|".join(HEADERS)
_LOOSE = "|".join(f"[{name[0]}{name[0].lower()}]{name[1:].lower()}" for name in HEADERS)
_KNOWN = "|".join(f"{word} {letter}[0-9]+" for word, letter in ID_LETTER.items() if word != "FILEOP")
_HEADER = re.compile(rf"(?:{_NAMES})(?=[ \r]|\Z)".encode())
_LONE_RETURN = re.compile(rf"\r(?:{_NAMES})(?=[ \r]|\Z)".encode())
_HEADER_LIKE = re.compile(
    rf"[ \t]*(?:(?:{_NAMES})(?:[ \t:=].*)?|(?:{_LOOSE})[ \t:=]+[^ \t]*[^ \t:=.,;!?][ \t]*)".encode(), re.DOTALL
)
_MARKED = re.compile(
    rb"[ \t]*((?:[-*]|\xe2\x80\xa2|[0-9]{1,2}[.)])[ \t]+[*_`]{0,3}|[*_`]{1,3})?"
    + rf"(?:{_NAMES}|(?:{_LOOSE})(?(1)(?=[ \t]*[:=*_`])))(?(1)|(?=[:=]?[*_`]))".encode()
    + rb"[ \t:=*_`]++[^ \t]*[^ \t:=.,;!?][ \t]*"
)
"""Such a line with one word, as an entry of a list or with emphasis, as Markdown has them."""
LETTERS = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_BLOCK = re.compile(
    rf"[ \t]*(?:(?P<head>{_KNOWN}|FILEOP F[0-9]+(?: [A-Z]*)?|(?:PLAN|QUERY|MEM) [^ ]*[0-9][^ ]*)"
    rf"|{'|'.join(ID_LETTER)}|PLAN|QUERY|MEM)[ \t]*".encode()
)
_KEY = re.compile(rf"({'|'.join(LOOK_ALIKE_KEYS)})(?![A-Za-z0-9_])".encode())
_COMMON = {b"STATUS"}
_TITLE = LOOK_ALIKE_TITLE.encode()
LOOK_ALIKE_LINE = re.compile(_KEY.pattern + b"|.*" + re.escape(_TITLE))
"""A line that may betray the Compact Symbol Protocol."""
_ENDS = re.compile(BEGINNING.encode() + rb"|(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|<{3,}-?\Z")
_FLAGS = re.compile(rb"(?:(?: ?![^;]*|[^ \t;][^;]*| [^ \ta-z;][^a-z;]*)(?<![ \t])|)", re.DOTALL)


def has_title(line: bytes) -> bool:
    """True if a line has the title of the Compact Symbol Protocol."""
    return _TITLE in line


def is_header_like(line: bytes, marked: bool) -> bool:
    """True if a line looks like one of the header; ``marked``: also with signs of Markdown around its key."""
    return _HEADER_LIKE.fullmatch(line) is not None or (marked and _MARKED.fullmatch(line) is not None)


def are_flags(flags: bytes) -> bool:
    """True if what is after the head of a template can be its flags: none, or parts that are not sentences."""
    return len(flags) <= MOST_FLAGS and all(_FLAGS.fullmatch(flag) for flag in flags.split(b";"))


def classify_magic_line(data: bytes, first: int, end: int, final: bool, kind: int) -> int:
    """Tells what begins with the line at ``first`` of ``data[:end]``, which is ``kind``: TEXT, DAMAGED or LOOK_ALIKE.

    In a log such a line counts only where the lines that follow say so, too. What counts is the first four lines after
    it that are not blank (among the first eight), up to the next line that may begin a record and to the opening of a
    heredoc:

    * one of them is a line of the header, ``FROM``, ``TO``, ``CTX`` or ``INTENT`` at its start or after white space,
      with anything or nothing after it, or in lower case (the first letter may be a capital) with one word; or with
      one word as an entry of a list or with emphasis, where the first line says nothing else; or it is the head of a
      block with its id: a message, whatever is wrong with it;
    * none of the next 64 lines (and 4096 bytes) is a line of the header, which ends the look after a template, and one
      of these four begins with a key of the Compact Symbol Protocol or holds its title, or two different ones do among
      the 64: a look-alike. ``STATUS`` alone counts in the first line only. A line that only nearly says ``CSP/1`` needs
      two, as does a template, except for the lines of its own;
    * anything else is text.

    Raises NeedMore if that depends on bytes that have not come.
    """
    stop = data.find(b"\n", first, end)
    place = end if stop < 0 else stop + 1
    keys: set[bytes] = {_TITLE} if has_title(data[first:place]) else set()
    # A message with lone CRs is one line.
    damaged = _LONE_RETURN.search(data[first:place].removesuffix(b"\n").removesuffix(b"\r")) is not None
    near, other, blank, count = bool(keys), False, False, 0
    alone = len(LETTERS.findall(data[first:place])) == 4
    for number in range(1, LOOK_LINES + 1):
        line, place = _near_line(data, place, end, final, first + LOOK_BYTES)
        if line is None or _ENDS.match(line):
            break
        if not line.strip(b" \t"):
            blank = True
            continue
        count += 1
        close = count <= CLOSE and number <= CLOSE_LINES
        if _HEADER.match(line):
            if kind == TEMPLATE:
                break  # what follows says nothing of it: a template that is a record is one by itself
            return DAMAGED if close or damaged else TEXT
        block = _BLOCK.fullmatch(line)
        other |= block is not None and not keys - {_TITLE}
        damaged |= close and ((block is not None and block["head"] is not None) or is_header_like(line, alone))
        key = _KEY.match(line)
        found = ({key[1]} if key else set()) | ({_TITLE} if has_title(line) else set())
        near |= bool(found) and count <= (1 if found == _COMMON else CLOSE) and not (kind == TEMPLATE and blank)
        keys |= found
    if not other and (len(keys) >= 2 or (near and kind != NEAR)):
        return LOOK_ALIKE
    return DAMAGED if damaged and kind != TEMPLATE else TEXT


def _near_line(data: bytes, place: int, end: int, final: bool, bound: int) -> tuple[bytes | None, int]:
    """The line at ``place`` and where the next one begins; None at the end and at ``bound``."""
    most = min(end, bound)
    if place >= most:
        if end < bound and not final:
            raise NeedMore
        return None, place
    newline = data.find(b"\n", place, most)
    if newline < 0:
        if end >= bound:
            return None, place
        if not final:
            raise NeedMore
        return data[place:end], end
    return data[place:newline].removesuffix(b"\r"), newline + 1
