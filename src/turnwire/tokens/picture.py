"""Bars of a comparison as a picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from turnwire.errors import MissingDependency
from turnwire.tokens.tables import safe

if TYPE_CHECKING:
    from turnwire.tokens.comparison import Comparison

ALL, PART, LEGEND = "#2f6fb4", "#b9c0c9", "#8db6de"


def plot(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draws a group of bars for each tokenizer; the ending of the path says the format (.svg, .png, .pdf).

    Grey bars are formats that leave something out. Raises MissingDependency without the extra ``plot``, ValueError for
    an ending that cannot be drawn, OSError.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingDependency(
            "pictures need matplotlib: pip install 'turnwire[plot]'", name="matplotlib"
        ) from missing
    tokenizers = list(comparison.facts["tokenizers"])
    rows = max(len(comparison.sorted(name)) for name in tokenizers)
    figure = Figure(figsize=(9, len(tokenizers) * (0.9 + 0.32 * rows)), layout="constrained")
    for place, name in enumerate(tokenizers):
        axes = figure.add_subplot(len(tokenizers), 1, place + 1)
        shown = comparison.sorted(name)[::-1]
        names = [row.format if row.round_trip else f"{row.format} (not all)" for row in shown]
        tokens, labels = [row.tokens for row in shown], [f"{row.total:,}" for row in shown]
        axes.barh(names, tokens, color=[ALL if row.round_trip else PART for row in shown])
        legends = axes.barh(names, [row.legend for row in shown], left=tokens, color=LEGEND)
        axes.bar_label(legends, labels, padding=3, fontsize=8)
        # what is in a name is not a formula
        axes.set_title(f"{safe(name)}: tokens per {comparison.facts['per']}", fontsize=10, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.12)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
