"""Text for terminals: characters that are escaped, also for readers that split lines at them; widths and columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Unicode categories Cc (without the C0 controls, which JSON escapes anyway), Cf, Zl, Zp and Cs: C1 controls,
# bidirectional and invisible characters, line and paragraph separators, lone surrogates.
UNSAFE = (
    "\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
"""Ranges for a character class of ``re``; the C0 controls are not among them."""

_UNSAFE_IN_JSON = re.compile(f"[{UNSAFE}]")
_UNSAFE_ANYWHERE = re.compile(f"[\x00-\x1f{UNSAFE}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}


def visible_escape(found: re.Match[str]) -> str:
    """Returns the escape of a matched character: ``\\n``, ``\\x1b``, ``\\u202e``."""
    character = found[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text on one line, controls and unsafe characters written as escapes."""
    return text if text.isascii() and text.isprintable() else _UNSAFE_ANYWHERE.sub(visible_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def escaped_json(lines: bytes) -> bytes:
    """JSON lines whose strings hold no unsafe character as such; their values are unchanged."""
    if lines.isascii() and b"\x7f" not in lines:
        return lines
    return _UNSAFE_IN_JSON.sub(_json_escape, lines.decode()).encode()


GAP = 2
"""Cells between two columns."""


def width(text: str) -> int:
    """Cells of a terminal that the (escaped) text takes: as rich has them, or where that is not installed, about."""
    if text.isascii():
        return len(text)
    try:
        from rich.cells import cell_len
    except ImportError:
        return sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in text if not unicodedata.combining(one))
    return cell_len(text)


def widest_of(names: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """The cells of a terminal that each column takes, with its name."""
    return [max(map(width, column)) for column in zip(names, *cells, strict=True)]


def aligned(names: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Rows of (escaped) text under their names, some columns to the right; a newline at the end."""
    widest = widest_of(names, cells)
    lines = []
    for row in (names, *cells):
        padded = []
        for text, wide, number in zip(row, widest, right, strict=True):
            gap = " " * (wide - width(text))
            padded.append(gap + text if number else text + gap)
        lines.append((" " * GAP).join(padded).rstrip() + "\n")
    return "".join(lines)
