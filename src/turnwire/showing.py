"""HTML for notebooks (``_repr_html_``): small HTML tables, safe whatever is in a log.

Every text is escaped for HTML, controls and characters that turn the writing around or cannot be seen are written as
escapes, and long ones are cut. There is no style and no script, so that any notebook shows it in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from reprlib import Repr

from turnwire.characters import visible

MOST_TEXT = 120
"""Characters of one cell."""

_repr = Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = MOST_TEXT
_repr.maxlist = _repr.maxtuple = _repr.maxdict = 12


def cell(value: object) -> str:
    """A value as the content of a cell; nothing for None."""
    if value is None:
        return ""
    text = str(value) if isinstance(value, str) else _repr.repr(value)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}…"
    return escape(visible(text))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: a caption, the names of its columns (none where ``head`` is empty), rows of values."""
    parts = ["<table>", f"<caption>{cell(caption)}</caption>"]
    if head:
        parts.append(f"<thead><tr>{''.join(f'<th>{cell(name)}</th>' for name in head)}</tr></thead>")
    parts.append("<tbody>")
    parts += [f"<tr>{''.join(f'<td>{cell(value)}</td>' for value in row)}</tr>" for row in rows]
    return "".join([*parts, "</tbody></table>"])
