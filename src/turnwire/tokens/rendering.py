"""Tables as text and as one self-contained page of HTML, safe whatever is in them; bars as a picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from turnwire.atomic import AtomicFile
from turnwire.characters import aligned, visible
from turnwire.errors import needs

if TYPE_CHECKING:
    from turnwire.tokens.comparison import Comparison

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }}
table {{ border-collapse: collapse; margin-top: 2rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; }}
th, td {{ text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #8886; vertical-align: top; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{intro}</p>
{tables}
</body>
</html>
"""
ALL, PART, LEGEND = "#2f6fb4", "#b9c0c9", "#8db6de"


def _said(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns that say something in any row."""
    return [place for place in range(len(names)) if not rows or any(row[place] for row in rows)]


def plain_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[str]) -> str:
    """The rows under their names, ``numbers`` to the right; columns that say nothing in any row are left out."""
    kept = _said(names, rows)
    cells = [[visible(row[place]) for place in kept] for row in rows]
    return aligned([names[place] for place in kept], cells, [names[place] in numbers for place in kept])


def shown(text: str) -> str:
    """Text from strangers as HTML: markup escaped, invisible and control characters written out."""
    return escape(visible(text), quote=True)


class Section(NamedTuple):
    """A table of a report under a title. lines: what is said below the table."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str]
    lines: Sequence[str] = ()


Layout = Callable[[Sequence[str], Sequence[Sequence[str]], frozenset[str]], str]
"""(names, rows, names of columns with numbers) -> the table as text."""


class Report:
    """A report of sections, as text, as a page, and as a notebook shows it."""

    def _sections(self) -> list[Section]:
        raise NotImplementedError

    def _title(self) -> tuple[str, str]:
        """The title of the page, and the line below it."""
        raise NotImplementedError

    def _lines(self) -> list[str]:
        """The last lines of the report."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from turnwire.showing import table

        parts = []
        for one in self._sections():
            kept = _said(one.names, one.rows)
            rows = ([row[place] for place in kept] for row in one.rows)
            parts += [table(one.title, [one.names[place] for place in kept], rows)]
            parts += [f"<p>{shown(line)}</p>" for line in one.lines if line]
        return "".join(parts)

    def table(self, layout: Layout = plain_table) -> str:
        """Returns text for people: a table for each tokenizer, its conclusions, and alternatives that could not be
        tried.

        ``layout`` formats a table from names, rows and the names of number columns.
        """
        parts = []
        for one in self._sections():
            parts += [f"{visible(one.title)}\n", layout(one.names, one.rows, one.numbers)]
            parts += [f"{visible(line)}\n" for line in one.lines]
        parts += [f"{visible(line)}\n" for line in self._lines()]
        return "".join(parts).rstrip("\n") + "\n"

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained page without scripts, completely or not at all. Raises OSError."""
        title, intro = map(shown, self._title())
        tables = "\n".join([self._repr_html_(), *(f"<p>{shown(line)}</p>" for line in self._lines())])
        with AtomicFile(path) as file:
            file.write(_PAGE.format(title=title, intro=intro, tables=tables).encode())


def plot(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draws a group of bars for each tokenizer; the ending of the path says the format (.svg, .png, .pdf).

    Grey bars are formats that leave something out. Raises MissingDependency without the extra ``plot``, ValueError for
    an ending that cannot be drawn, OSError.
    """
    with needs("plot", "pictures need matplotlib"):
        from matplotlib.figure import Figure
    tokenizers = list(comparison.facts["tokenizers"])
    rows = max(len(comparison.sorted(name)) for name in tokenizers)
    figure = Figure(figsize=(9, len(tokenizers) * (0.9 + 0.32 * rows)), layout="constrained")
    for place, name in enumerate(tokenizers):
        axes = figure.add_subplot(len(tokenizers), 1, place + 1)
        ranked = comparison.sorted(name)[::-1]
        names = [row.format if row.round_trip else f"{row.format} (not all)" for row in ranked]
        tokens, labels = [row.tokens for row in ranked], [f"{row.total:,}" for row in ranked]
        axes.barh(names, tokens, color=[ALL if row.round_trip else PART for row in ranked])
        legends = axes.barh(names, [row.legend for row in ranked], left=tokens, color=LEGEND)
        axes.bar_label(legends, labels, padding=3, fontsize=8)
        # what is in a name is not a formula
        axes.set_title(f"{visible(name)}: tokens per {comparison.facts['per']}", fontsize=10, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.12)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
