"""Untrusted text for a terminal: what could move the cursor or reverse the direction of writing is escaped."""

from __future__ import annotations

import os
import re
import unicodedata

from turnwire.characters import UNSAFE, visible, visible_escape

# Unicode categories Cc (ESC among them) and what else is unsafe.
_UNSAFE_OR_BACKSLASH = re.compile(rf"[\\\x00-\x1f{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{UNSAFE}]")
ELLIPSIS = "…"


def printable(text: str) -> str:
    """The text on one line, unsafe characters written as escapes; for messages, file names included."""
    return visible(text)


def shown_as_lines(text: str) -> str:
    """As :func:`printable`, for text of several lines: line feeds and tabs stay."""
    return _UNSAFE_IN_LINES.sub(visible_escape, text)


def escaped(text: str) -> str:
    """As :func:`printable`, and a backslash is doubled: nothing that is in a field can look like an escape."""
    return _UNSAFE_OR_BACKSLASH.sub(visible_escape, text)


def file_name(name: str | bytes) -> str:
    """The name of a file as text: its bytes read as UTF-8, whatever the locale; others become surrogates."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def width(text: str) -> int:
    """How many cells of a terminal the (escaped) text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def shortened(text: str, cells: int, from_start: bool = False) -> str:
    """The text cut to that many cells at its end (or its start), marked where something is missing."""
    if width(text) <= cells:
        return text
    if from_start:
        return shortened(text[::-1], cells)[::-1]
    used = 0
    for place, character in enumerate(text):
        used += width(character)
        if used >= cells:
            return text[:place] + ELLIPSIS
    raise AssertionError("no character of the text goes over the width, though all together do")
