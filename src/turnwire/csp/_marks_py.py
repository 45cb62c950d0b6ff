"""Decides whether a line that says ``CSP/1`` (or nearly) begins a message: readable twin of ``_native/csp/marks.h``.

In a log such a line counts only where the lines that follow say so, too. What counts is the first four lines after it
that are not blank (among the first eight), up to the next line that may begin a record and to the opening of a heredoc:

* one of them is a line of the header, ``FROM``, ``TO``, ``CTX`` or ``INTENT`` at its start or after white space, with
  anything or nothing after it, or in lower case (the first letter may be a capital) with one word; or it is the head
  of a block with its id: a message, whatever is wrong with it;
* none of the next 64 lines (and 4096 bytes) is a line of the header, which ends the look after a template, and one
  of these four begins with a key of the Compact Symbol Protocol or holds its title, or two different ones do among
  the 64: a look-alike. ``STATUS`` alone counts in the first line only. A line that only nearly says ``CSP/1`` needs
  two, as does a template, but for the lines of its own;
* anything else is text.
"""

from __future__ import annotations

import re

from turnwire.csp.spec import HEADERS, ID_LETTER, LOOK_ALIKE_KEYS, LOOK_ALIKE_TITLE
from turnwire.fences import BEGINNING

TEXT, DAMAGED, LOOK_ALIKE = range(3)
EXACT, NEAR, TEMPLATE = range(3)
"""Kinds of such a line: ``CSP/1``, nearly that, or the first of a template."""

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


def is_header_like(line: bytes) -> bool:
    """True if a line looks like one of the header."""
    return _HEADER_LIKE.fullmatch(line) is not None


def are_flags(flags: bytes) -> bool:
    """True if what is after the head of a template can be its flags: none, or parts that are not sentences."""
    return len(flags) <= MOST_FLAGS and all(_FLAGS.fullmatch(flag) for flag in flags.split(b";"))


class NeedMore(Exception):
    """Raised where what was begun may go on after the bytes at hand."""


def classify_magic_line(data: bytes, first: int, end: int, final: bool, kind: int) -> int:
    """Tells what begins with the line at ``first`` of ``data[:end]``, which is ``kind``: TEXT, DAMAGED or LOOK_ALIKE.

    Raises NeedMore where that depends on bytes that have not come.
    """
    stop = data.find(b"\n", first, end)
    place = end if stop < 0 else stop + 1
    keys: set[bytes] = {_TITLE} if has_title(data[first:place]) else set()
    # A message with lone CRs is one line.
    damaged = _LONE_RETURN.search(data[first:place].removesuffix(b"\n").removesuffix(b"\r")) is not None
    near, other, blank, count = bool(keys), False, False, 0
    for number in range(1, LOOK_LINES + 1):
        line, place = _line(data, place, end, final, first + LOOK_BYTES)
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
        damaged |= close and ((block is not None and block["head"] is not None) or is_header_like(line))
        key = _KEY.match(line)
        found = ({key[1]} if key else set()) | ({_TITLE} if has_title(line) else set())
        near |= bool(found) and count <= (1 if found == _COMMON else CLOSE) and not (kind == TEMPLATE and blank)
        keys |= found
    if not other and (len(keys) >= 2 or (near and kind != NEAR)):
        return LOOK_ALIKE
    return DAMAGED if damaged and kind != TEMPLATE else TEXT


def _line(data: bytes, place: int, end: int, final: bool, bound: int) -> tuple[bytes | None, int]:
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
