"""Text for people: words, characters that are escaped, columns of a terminal, and tables of HTML for notebooks."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprlib import Repr


def as_json(value: Any) -> str:
    """Returns a value as JSON text, without escapes of non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False)


def listed(words: Iterable[Any]) -> str:
    """Words with commas between them."""
    return ", ".join(str(word) for word in words)


def counted(number: int, noun: str) -> str:
    """A number of things, with separators: "1 record", "2,000 records"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- characters that are escaped, also for readers that split lines at them -------------------------------------------

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


# --- columns of a terminal ------------------------------------------------------------------------------------------

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


# --- notebooks (``_repr_html_``): small tables, safe whatever is in a log ---------------------------------------------
#
# Every text is escaped for HTML, controls and characters that turn the writing around or cannot be seen are written as
# escapes, and long ones are cut. There is no style and no script, so that any notebook shows it in its own way.

MOST_TEXT = 120
"""Characters of one cell."""
MOST_ROWS = 60
"""Rows of one table of fields."""


@cache
def _short() -> Repr:
    """Shows values of any kind, cut. Made late, as most who import this show no tables."""
    from reprlib import Repr

    made = Repr()
    made.maxstring = made.maxother = made.maxlong = MOST_TEXT
    made.maxlist = made.maxtuple = made.maxdict = 12
    return made


def cell(value: object) -> str:
    """A value as the content of a cell; nothing for None."""
    from html import escape

    if value is None:
        return ""
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str) else value.name
    text = str(value) if isinstance(value, str) else _short().repr(value)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}…"
    return escape(visible(text))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: a caption, the names of its columns (none if ``head`` is empty), rows of values."""
    names = f"<thead><tr>{''.join(f'<th>{cell(name)}</th>' for name in head)}</tr></thead>" if head else ""
    return _table(caption, names, ("".join(f"<td>{cell(value)}</td>" for value in row) for row in rows))


def fields(caption: str, pairs: Iterable[tuple[object, object]]) -> str:
    """A table of names and values. Objects in objects are taken apart, their names joined by dots; fields beyond
    ``MOST_ROWS`` are counted only."""
    rows = list(_flat("", pairs))
    if left := len(rows[MOST_ROWS:]):
        rows[MOST_ROWS:] = [("…", f"{left} more fields")]
    return _table(caption, "", (f"<th>{cell(name)}</th><td>{cell(value)}</td>" for name, value in rows))


def _table(caption: str, head: str, rows: Iterable[str]) -> str:
    lines = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{cell(caption)}</caption>{head}<tbody>{lines}</tbody></table>"


_MOST_DEPTH = 3


def _flat(prefix: str, pairs: Iterable[tuple[object, object]], depth: int = 1) -> Iterable[tuple[str, Any]]:
    for key, value in pairs:
        name = f"{prefix}{key.name.lower() if isinstance(key, Enum) else key}"
        if isinstance(value, Mapping) and value and depth < _MOST_DEPTH:
            yield from _flat(f"{name}.", value.items(), depth + 1)
        else:
            yield name, value
