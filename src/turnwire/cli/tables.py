"""Tables to look at: with rich on a terminal where it is installed, otherwise aligned text."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from turnwire.cli.text import ELLIPSIS, escaped, file_name, shortened, width

WIDEST = 48
"""Cells of a terminal beyond which a value is cut."""


def cell(value: Any, path: bool = False) -> str:
    """A value as a table shows it: escaped, cut (a path at its start), nothing where it is absent."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    if path:
        return shortened(escaped(file_name(value)), WIDEST, from_start=True)
    longest = 4 * WIDEST  # what is cut anyway need not be escaped first, however long it is
    return shortened(escaped(value[:longest]) + ELLIPSIS * (len(value) > longest), WIDEST)


def table(names: Sequence[str], rows: Sequence[Sequence[Any]], decimals: Mapping[str, int] | None = None) -> str:
    """The rows under their names, numbers to the right; ends with a newline. decimals: column -> how many its numbers
    have after the point."""
    numbers = [
        any(isinstance(row[place], (int, float)) for row in rows)
        and not any(isinstance(row[place], str) for row in rows)
        for place in range(len(names))
    ]
    fixed = decimals or {}
    cells = [
        [
            f"{value:.{fixed[name]}f}" if name in fixed and value is not None else cell(value, name == "file")
            for name, value in zip(names, row, strict=True)
        ]
        for row in rows
    ]
    if sys.stdout is not None and sys.stdout.isatty():
        rendered = _with_rich(names, cells, numbers)
        if rendered is not None:
            return rendered
    return aligned(names, cells, numbers)


def aligned(names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool]) -> str:
    """Columns of text with two spaces between them."""
    widths = [max([width(name), *(width(row[place]) for row in cells)]) for place, name in enumerate(names)]
    lines = []
    for row in (names, *cells):
        padded = []
        for text, wide, number in zip(row, widths, numbers, strict=True):
            gap = " " * (wide - width(text))
            padded.append(gap + text if number else text + gap)
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)


def _with_rich(names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool]) -> str | None:
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return None
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, number in zip(names, numbers, strict=True):
        shown.add_column(Text(name), justify="right" if number else "left", no_wrap=True, overflow="ellipsis")
    for row in cells:
        shown.add_row(*map(Text, row))  # as Text: markup in a field stays what it is
    console = Console()
    with console.capture() as captured:
        console.print(shown)
    return captured.get().strip("\n") + "\n"
