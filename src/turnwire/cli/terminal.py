"""Text for terminals: unsafe characters escaped, widths measured, tables laid out (by rich where it is installed)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shutil import get_terminal_size
from typing import Any

from turnwire.characters import GAP, UNSAFE, aligned, visible, visible_escape, widest_of, width
from turnwire.phrases import counted

printable = visible
"""The text on one line, unsafe characters written as escapes; for messages, file names included."""

WIDEST = 48
"""Cells of a terminal beyond which a value is cut."""
NARROW = 12
"""Cells below which no text is cut to make room: then columns go."""
ELLIPSIS = "…"
_PATHS = frozenset({"file", "where"})
"""Columns that are cut at their start: the end of a path says more."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UNSAFE_OR_BACKSLASH = re.compile(rf"[\\\x00-\x1f{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{UNSAFE}]")


def shown_as_lines(text: str) -> str:
    """As ``printable``, for text of several lines: line feeds and tabs stay."""
    return _UNSAFE_IN_LINES.sub(visible_escape, text)


def escaped(text: str) -> str:
    """As ``printable``, and a backslash is doubled: nothing that is in a field can look like an escape."""
    return _UNSAFE_OR_BACKSLASH.sub(visible_escape, text)


def file_name(name: str | bytes) -> str:
    """The name of a file as text: its bytes read as UTF-8, whatever the locale; others become surrogates."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def milliseconds(time: str | None) -> str | None:
    """A time as tables show it: to the millisecond, where JSON lines and files have microseconds."""
    return None if time is None else f"{time[:-4]}Z"


def shortened(text: str, cells: int, from_start: bool = False) -> str:
    """The text cut to that many cells at its end (or its start), marked where something is missing."""
    if width(text) <= cells:
        return text
    while width(text) >= cells:
        text = text[1:] if from_start else text[:-1]
    return ELLIPSIS + text if from_start else text + ELLIPSIS


def cell(value: Any, path: bool = False) -> str:
    """A value as a table shows it: escaped, cut (a path at its start), nothing if it is absent."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    if path:
        return shortened(escaped(file_name(value)), WIDEST, from_start=True)
    longest = 4 * WIDEST  # what is cut anyway need not be escaped first, however long it is
    return shortened(escaped(value[:longest]) + ELLIPSIS * (len(value) > longest), WIDEST)


def table(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    decimals: Mapping[str, int] | None = None,
    *,
    amounts: bool = True,
    empty: bool = False,
    option: str = "--json",
) -> str:
    """The rows under their names, numbers to the right; ends with a newline.

    On a terminal, where rich is installed, it is no wider than that: texts are cut down to NARROW cells, then whole
    columns are left out from the right, and a line below names them.

    Args:
        decimals: column -> how many its numbers have after the point.
        amounts: whether numbers count something, and so have separators between thousands; those of records are names.
        empty: whether columns that say nothing in any row are there, too.
        option: which option of the command shows the columns that are left out.
    """
    columns = [[row[place] for row in rows] for place in range(len(names))]
    numbers = frozenset(
        name
        for name, column in zip(names, columns, strict=True)
        if any(isinstance(value, int | float) for value in column) and not any(isinstance(one, str) for one in column)
    )
    fixed = decimals or {}
    cells = [
        [
            _number(value, amounts, fixed.get(name)) if isinstance(value, int | float) else cell(value, name in _PATHS)
            for name, value in zip(names, row, strict=True)
        ]
        for row in rows
    ]
    return _laid_out(names, cells, numbers, empty, option)


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[str]) -> str:
    """As :func:`table`, of cells that are text already, the columns ``numbers`` to the right."""
    return _laid_out(names, [list(map(cell, row)) for row in rows], numbers, False, "--json")


def _laid_out(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: frozenset[str], empty: bool, option: str
) -> str:
    kept = [place for place in range(len(names)) if empty or not cells or any(row[place] for row in cells)]
    names, cells = [names[place] for place in kept], [[row[place] for place in kept] for row in cells]
    right = [name in numbers for name in names]
    if sys.stdout is not None and sys.stdout.isatty():
        with suppress(ImportError):  # without rich as in a pipe
            return _on_terminal(names, cells, right, option, get_terminal_size().columns)
    return aligned(names, cells, right)


def _number(value: float, amounts: bool, decimals: int | None = None) -> str:
    separator = "," if amounts and not isinstance(value, bool) else ""
    if decimals is not None:
        return f"{value:{separator}.{decimals}f}"
    return f"{value:{separator}}" if separator else str(value)


def fitted(names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool], room: int) -> list[int]:
    """The widths of as many columns, from the left, as fit into ``room`` cells; of one at least.

    A number is never cut, a text not below NARROW cells; the remaining cells go to the columns that need them.
    """
    widest = widest_of(names, cells)
    widths = [wide if number else min(wide, NARROW) for wide, number in zip(widest, numbers, strict=True)]
    while len(widths) > 1 and sum(widths) + GAP * (len(widths) - 1) > room:
        widths.pop()
    left = room - sum(widths) - GAP * (len(widths) - 1)
    if left < 0:
        return [room]
    wanting = sorted(range(len(widths)), key=lambda place: widest[place] - widths[place])
    for done, place in enumerate(wanting):
        more = min(widest[place] - widths[place], left // (len(wanting) - done))
        widths[place] += more
        left -= more
    return widths


def _on_terminal(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool], option: str, room: int
) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    widths = fitted(names, cells, numbers, room)
    if widths != widest_of(names, cells):
        cells = list(zip(*(_without_day([row[place] for row in cells]) for place in range(len(names))), strict=True))
        widths = fitted(names, cells, numbers, room)
    # The widths are set here, since rich would cut all columns alike. Its line between columns is one cell of the gap.
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, GAP - 1, 0, 0), header_style="bold")
    for name, number, wide in zip(names, numbers, widths, strict=False):
        justify: Any = "right" if number else "left"
        shown.add_column(Text(shortened(name, wide)), width=wide, justify=justify, no_wrap=True, overflow="crop")
    for row in cells:  # as Text, so that rich does not read markup in a field
        cut = (shortened(text, wide, name in _PATHS) for text, wide, name in zip(row, widths, names, strict=False))
        shown.add_row(*map(Text, cut))
    console = Console(width=sum(widths) + GAP * len(widths))
    with console.capture() as captured:
        console.print(shown)
    text = "".join(f"{line.rstrip()}\n" for line in captured.get().strip("\n").split("\n"))
    hidden = names[len(widths) :]
    if not hidden:
        return text
    said = f"--columns {','.join(hidden)}" if option == "--columns" else f"{', '.join(hidden)} ({option})"
    return f"{text}+{counted(len(hidden), 'column')}: {said}\n"  # whole, to be copied, however narrow the terminal is


def _without_day(texts: Sequence[str]) -> Sequence[str]:
    """The texts of a column; times without their day where all are of one, else without their year: what tells rows
    apart is shown."""
    times = [text for text in texts if text]
    if not times or not all(map(_TIME.fullmatch, times)):
        return texts
    start = len("2026-01-05T" if len({time[:10] for time in times}) == 1 else "2026-")
    return [text[start:-1] for text in texts]
