"""Untrusted text for a terminal: what could move the cursor or reverse the direction of writing is escaped."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator

from turnwire.characters import UNSAFE, visible, visible_escape

# Unicode categories Cc (ESC among them) and what else is unsafe.
_UNSAFE_OR_BACKSLASH = re.compile(rf"[\\\x00-\x1f{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{UNSAFE}]")
ELLIPSIS = "…"
EMOJI_STYLE = "\ufe0f"
"""Behind a sign: as a picture, not as text."""
SKIN_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


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
    return len(text) if text.isascii() else sum(_cells(text))


def shortened(text: str, cells: int, from_start: bool = False) -> str:
    """The text cut to that many cells at its end (or its start), marked where something is missing."""
    if width(text) <= cells:
        return text
    widths = list(_cells(text))
    used = 0
    if not from_start:
        end = 0
        while (used := used + widths[end]) < cells:
            end += 1
        return text[:end] + ELLIPSIS
    start = len(text)
    while (used := used + widths[start - 1]) < cells:
        start -= 1
    while start < len(text) and _joins(text[start]):  # what it is drawn upon is cut
        start += 1
    return ELLIPSIS + text[start:]


def _cells(text: str) -> Iterator[int]:
    """The cells that each character adds to those in front of it."""
    before = 0
    for character in text:
        if character == EMOJI_STYLE:
            cells = int(before == 1)  # a sign of one cell is drawn on two
        elif _joins(character) and (before == 2 or character not in SKIN_TONES):
            cells = 0
        else:
            cells = 1 + (unicodedata.east_asian_width(character) in "WF")
        before = cells or before
        yield cells


def _joins(character: str) -> bool:
    """Whether it is drawn upon the character in front of it: accents and vowel signs, the second and third letter of a
    Korean syllable, skin tones."""
    return (
        unicodedata.category(character) in ("Mn", "Me") or "\u1160" <= character <= "\u11ff" or character in SKIN_TONES
    )
