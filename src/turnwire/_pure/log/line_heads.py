"""Heads of lines that matter for what goes over several lines: the twin of ``_native/log/line_heads.pyx``."""

from __future__ import annotations

import re
from typing import Any

_MAGIC = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]", re.MULTILINE)
_HINT = re.compile(rb" std(?:out|err) P[ :]|(?<=[^\n])CSP/1\r?\n")
_HEADER = re.compile(rb"(?<!.)\xe2\xab\xbb")  # (?<!.): at the start of a line, or of all
_FENCE = re.compile(rb"(?<!.) {0,3}(?:```|~~~)")
_PIECE = 4096


def first_magic(data: Any, start: int, stop: int) -> int:
    """Where the first line of ``data[start:stop]`` begins that looks like the first of a CSP/1 message, or -1; a line
    begins at ``start``."""
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    found = _MAGIC.search(bytes(view[start:stop]))
    return -1 if found is None else start + found.start()


def first_hint(data: Any, start: int, stop: int) -> int:
    """Where the first line of ``data[start:stop]`` begins that may begin lines that belong together (a part in a log of
    CRI, "CSP/1" behind a prefix), or -1; a line begins at ``start``."""
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    found = _HINT.search(view, start, stop)
    while found is not None and found.start() == start and found[0].startswith(b"C"):
        found = _HINT.search(view, start + 1, stop)  # what stands in front of the first line is not looked at
    return -1 if found is None else _line_of(view, found.start(), start)


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


def _lines(form: re.Pattern[bytes], data: Any, start: int, stop: int) -> list[int]:
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    return [start + match.start() for match in form.finditer(view[start:stop])]


def _line_of(view: memoryview, place: int, start: int) -> int:
    """Where the line begins in which ``place`` stands, at ``start`` or behind it."""
    while place > start:
        first = max(place - _PIECE, start)
        newline = view[first:place].tobytes().rfind(b"\n")
        if newline >= 0:
            return first + newline + 1
        place = first
    return start
