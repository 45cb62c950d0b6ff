"""What lines, and the gaps between records, show at a glance: the readable twin of ``_native/framing/line_signs.h``."""

from __future__ import annotations

import re
from typing import Any

from turnwire.fences import BEGINNING, fence_after
from turnwire.fences import FENCE as FENCE_PATTERN

CRI, DOCKER, MAGIC_BEHIND, SIGIL, FENCE = 1, 2, 4, 8, 16
"""The signs of lines: a part of a line that CRI cut; a long line that may be a part of one that Docker cut; a line that
ends with the magic of CSP/1, or has a template of it, behind something else that is not a record; one that begins with
the sigil of the Space Format; one that begins as the fences of Markdown do."""

_MAGIC = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]", re.MULTILINE)
_SIGNS = (
    (
        CRI,
        b" std",
        re.compile(rb"^(?:\xef\xbb\xbf)?[0-9].{3}-.{5}T.{8}[^ \n]{0,23} std(?:out|err) P[ :]", re.MULTILINE),
    ),
    (DOCKER, b'"log"', re.compile(rb'^(?=[^\n]{16384}).*"log"', re.MULTILINE)),
    (
        MAGIC_BEHIND,
        b"CSP/1",
        re.compile(
            rb'.CSP/1\r?$|^(?!\{[ \t]*["}]|@[A-Za-z][0-9A-Za-z]*\|).+CSP/1(?: MODE)?;',
            re.MULTILINE,
        ),
    ),
    (SIGIL, b"\xe2\xab\xbb", re.compile(rb"^(?:\xef\xbb\xbf)?\xe2\xab\xbb", re.MULTILINE)),
    (FENCE, b"```", re.compile(b"^" + BEGINNING.encode(), re.MULTILINE)),
    (FENCE, b"~~~", re.compile(b"^" + BEGINNING.encode(), re.MULTILINE)),
)
"""Each sign, what a text must have to show it, which is looked for first since that takes a fraction of the time, and
its pattern."""
_HINT = re.compile(rb" std(?:out|err) P[ :]|(?<=[^\n])CSP/1(?:\r?\n|(?: MODE)?;)")
_MORE = (b"+", b"~", b"-")
_DIGIT = b"0123456789"
_RUN = re.compile(rb"[0-9]+|[^0-9]+")
_DIGITS = re.compile(rb"[0-9]+")
_MAGIC_END = re.compile(rb"CSP/1\r?\n")
_NONE_OF_IT = re.compile(
    rb"(?!(?:FROM|TO|CTX|INTENT) |STATUS|SCOPE|READ_RECS|POSITION|RESOLUTION|DEBATE)(?![^\n]*Compact Symbol Protocol)"
    rb"[^ \t\r\n][^\n]{0,511}\n"
)
"""A short line that is none of a message, nor of a look-alike, whose first line has a prefix and this one none."""
_HEADER = re.compile(rb"(?<!.)\xe2\xab\xbb")  # (?<!.): at the start of a line, or of all
_FENCE = re.compile(rb"(?<!.)" + BEGINNING.encode())
_FENCE_LINE = re.compile(rb"(?<!.)" + FENCE_PATTERN.pattern)
_PIECE = 4096
_RECORD = re.compile(rb'[{"@\\]')
_MAYBE = rb"\xe2\xab\xbb|```|~~~| P[ :]|[Cc][Ss][Pp][ \t\\]*/"
_SCALARS = b" \t[],+-.0123456789Eaeflnrstu"
"""What numbers, true, false and null are written with in an array, and what is between them."""
_IN_TOKENS = re.compile(rb'\{[ \t\r\n]*(?:["}\\]|\Z)|"|' + _MAYBE)
_IN_LINES = re.compile(_MAYBE + rb'|MESSAGE\\*"[ \t\r\n]*:[ \t\r\n]*\[|\\u00(?:[4-7].|2[fF]|31)', re.DOTALL)


def _checked(data: Any, start: int, stop: int) -> bytes:
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    return bytes(view[:stop])


def signs(data: Any, start: int, stop: int) -> tuple[int, int]:
    """Where the first magic is, and the signs of the lines in front of it: see the native twin."""
    text = _checked(data, start, stop)[start:]
    magic = _MAGIC.search(text) if b"/" in text else None
    if magic is None:
        return -1, _signs(text)
    return start + magic.start(), _signs(text[: magic.start()])


def signs_between(data: Any, starts: Any, stops: Any, start: int, stop: int) -> int:
    """The signs of lines outside of claims: see the native twin."""
    text = _checked(data, start, stop)
    if len(starts) != len(stops):
        raise ValueError("start and stop must lie in the data, and each claim have both")
    found = 0
    for first, behind in zip(starts.tolist(), stops.tolist(), strict=True):
        if first > start:
            found |= _signs(text[start:first])
        start = max(start, behind)
    return found | _signs(text[start:])


def only_records(data: Any, offsets: Any, lengths: Any, rows: int, base: int, stop: int) -> bool:
    """Whether nothing but the records is in a block: see the native twin."""
    text = _checked(data, 0, len(memoryview(data).cast("B")))
    if not 0 <= stop <= len(text) or min(len(offsets), len(lengths)) < rows:
        raise ValueError("stop and rows must lie in the data")
    place = 0
    for row in range(rows + 1):
        first = int(offsets[row]) - base if row < rows else len(text)
        if _RECORD.search(text, place, min(first, stop)) is not None or _signs(text[place:first]):
            return False
        if row < rows:
            place = max(place, first + int(lengths[row]))
    return True


def _signs(text: bytes) -> int:
    found = 0
    for sign, needed, pattern in _SIGNS:
        if needed in text and pattern.search(text) is not None:
            found |= sign
    return found


def plain_gaps(
    data: Any, offsets: Any, lengths: Any, rows: int, base: int, start: int, stop: int, lines: bool, escapes: bool
) -> bool:
    """Whether nothing outside of the records can be something else: see the native twin."""
    text = _checked(data, start, stop)
    if min(len(offsets), len(lengths)) < rows:
        raise ValueError("start, stop and rows must lie in the data")
    place = start
    pattern = _IN_LINES if lines else _IN_TOKENS
    found = pattern.search(text, place)
    for row in range(rows + 1):
        end = int(offsets[row]) - base if row < rows else stop
        if lines and end - place >= 16384:
            return False
        while found is not None and found.start() < end:
            if found.start() < place:  # within a record; another one may begin in what was found
                found = pattern.search(text, place)
            elif found[0] == b'"' and not _begins_line(text, place, found.start()):
                found = pattern.search(text, found.start() + 1)
            elif (found.end() - 1 if found[0].endswith(b"/") else found.start()) < end:
                return False
            else:
                found = pattern.search(text, found.start() + 1)
        if escapes and text.find(b"\\", place, end) >= 0:
            return False
        if row < rows:
            place = end + int(lengths[row])
    return True


def _begins_line(text: bytes, gap: int, place: int) -> bool:
    """Whether a quote may be the first of a line of JSON: nothing but blanks, brackets, and numbers and other words of
    JSON behind a bracket, is in front of it, as far as the gap says."""
    quote = text.rfind(b'"', gap, place)
    line = text.rfind(b"\n", max(gap, quote), place)
    if line < 0 <= quote:
        return False
    before = text[max(gap, line + 1) : place].strip(b" \t")
    return not before or (before.startswith(b"[") and not before.strip(_SCALARS))


def first_hint(data: Any, start: int, stop: int) -> int:
    """Where the first line of ``data[start:stop]`` begins that may begin lines that belong together (a part in a log of
    CRI, "CSP/1" or a template of it behind a prefix), or -1; a line begins at ``start``."""
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    found = _HINT.search(view, start, stop)
    while found is not None:
        line = _line_of(view, found.start(), start)
        # What is in front of the first line is not looked at.
        if not found[0].startswith(b"C"):
            return line
        if found.start() > start and not (_again(view, line, found, stop) or _refused(view, line, found, stop)):
            return line
        found = _HINT.search(view, found.start() + 1, stop)
    return -1


def _again(view: memoryview, line: int, found: re.Match[bytes], stop: int) -> bool:
    """Whether "CSP/1" ends a line that begins no message, since the next line is one like it, alike but for the digits.
    Where it might be one of CRI, or an operation of CSP/1, that is not said."""
    size = found.start() - line
    if (
        not found[0].endswith(b"\n")
        or bytes(view[line : line + 1]) in _MORE
        or (size > 10 and view[line + 10] == ord("T"))
    ):
        return False
    place = found.end()
    for byte in _RUN.finditer(view[line : found.start()]):
        there = _DIGITS.match(view, place, stop) if byte[0].isdigit() else None
        if there is not None:
            place = there.end()
        elif byte[0] == view[place : min(place + len(byte[0]), stop)] and not byte[0].isdigit():
            place += len(byte[0])
        else:
            return False
    return _MAGIC_END.match(view, place, stop) is not None


def _refused(view: memoryview, line: int, found: re.Match[bytes], stop: int) -> bool:
    """Whether "CSP/1" ends a line that begins no message, since the next line, a short one, can be none of it: it
    begins neither as that one does, nor as any line of a message may that has no prefix. Where it might be one of CRI,
    that is not said."""
    if not found[0].endswith(b"\n") or (found.start() - line > 10 and view[line + 10] == ord("T")):
        return False
    if _NONE_OF_IT.match(view, found.end(), stop) is None:
        return False
    one, other = bytes(view[line : line + 1]), bytes(view[found.end() : found.end() + 1])
    return one != other and not (one in _DIGIT and other in _DIGIT)


def first_long(data: Any, start: int, stop: int, least: int) -> int:
    """Where the first line of ``data[start:stop]`` begins that has ``least`` bytes or more, its end not counted, or -1;
    a line begins at ``start``."""
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view) or least < 1:
        raise ValueError("start and stop must lie in the data, and a long line has a byte at least")
    line = start
    while stop - line >= least:
        following = _line_of(view, line + least, line)
        if following == line:
            return line
        line = following
    return -1


def header_lines(data: Any, start: int, stop: int) -> list[int]:
    """Where the lines of ``data[start:stop]`` begin that begin with the sigil of Space (U+2AFB), as a list; a line
    begins at ``start``."""
    return _lines(_HEADER, data, start, stop)


def fence_lines(data: Any, start: int, stop: int) -> list[int]:
    """Where the lines of ``data[start:stop]`` begin that begin like code fences of Markdown (up to three spaces, then
    three backticks or tildes), as a list in order; a line begins at ``start``."""
    return _lines(_FENCE, data, start, stop)


def fence_behind(data: Any, start: int, stop: int, fence: bytes, spans: list[tuple[int, int]]) -> tuple[bytes, int]:
    """The run of the code fence that is open behind ``data[start:stop]``, and since where: see the native twin."""
    text = _checked(data, start, stop)[start:]
    since = number = 0
    for match in _FENCE_LINE.finditer(text):
        line = start + match.start()
        while number < len(spans) and spans[number][0] <= line:
            number += 1
        if number and line < spans[number - 1][1]:
            continue
        run, rest = match.groups()
        after = fence_after(fence, run, rest)
        if after != fence:
            fence, since = after, start + match.end()
    return fence, since


def _lines(form: re.Pattern[bytes], data: Any, start: int, stop: int) -> list[int]:
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    return [start + match.start() for match in form.finditer(view[start:stop])]


def _line_of(view: memoryview, place: int, start: int) -> int:
    """Where the line begins in which ``place`` is, at ``start`` or behind it."""
    while place > start:
        first = max(place - _PIECE, start)
        newline = view[first:place].tobytes().rfind(b"\n")
        if newline >= 0:
            return first + newline + 1
        place = first
    return start
