"""HTML for notebooks (``_repr_html_``): small HTML tables, safe whatever is in a log.

Every text is escaped for HTML, controls and characters that turn the writing around or cannot be seen are written as
escapes, and long ones are cut. There is no style and no script, so that any notebook shows it in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from html import escape
from reprlib import Repr
from typing import Any

from turnwire.characters import visible

MOST_TEXT = 120
"""Characters of one cell."""
MOST_ROWS = 60
"""Rows of one table of fields."""

_repr = Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = MOST_TEXT
_repr.maxlist = _repr.maxtuple = _repr.maxdict = 12


def cell(value: object) -> str:
    """A value as the content of a cell; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str) else value.name
    text = str(value) if isinstance(value, str) else _repr.repr(value)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}…"
    return escape(visible(text))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: a caption, the names of its columns (none if ``head`` is empty), rows of values."""
    parts = ["<table>", f"<caption>{cell(caption)}</caption>"]
    if head:
        parts.append(f"<thead><tr>{''.join(f'<th>{cell(name)}</th>' for name in head)}</tr></thead>")
    parts.append("<tbody>")
    parts += [f"<tr>{''.join(f'<td>{cell(value)}</td>' for value in row)}</tr>" for row in rows]
    return "".join([*parts, "</tbody></table>"])


def fields(caption: str, pairs: Iterable[tuple[object, object]]) -> str:
    """A table of names and values. Objects in objects are taken apart, their names joined by dots; fields beyond
    ``MOST_ROWS`` are counted only."""
    rows = list(_flat("", pairs))
    left = len(rows) - MOST_ROWS
    parts = ["<table>", f"<caption>{cell(caption)}</caption>", "<tbody>"]
    parts += [f"<tr><th>{cell(name)}</th><td>{cell(value)}</td></tr>" for name, value in rows[:MOST_ROWS]]
    if left > 0:
        parts.append(f"<tr><th>…</th><td>{left} more fields</td></tr>")
    return "".join([*parts, "</tbody></table>"])


_MOST_DEPTH = 3


def _flat(prefix: str, pairs: Iterable[tuple[object, object]], depth: int = 1) -> Iterable[tuple[str, Any]]:
    for key, value in pairs:
        name = f"{prefix}{key.name.lower() if isinstance(key, Enum) else key}"
        if isinstance(value, Mapping) and value and depth < _MOST_DEPTH:
            yield from _flat(f"{name}.", value.items(), depth + 1)
        else:
            yield name, value
