"""Pictures of the kept figures, light and dark: benchmarks/plots/*.svg.

`python benchmarks/tables.py --write` draws them anew.

python benchmarks/plots.py           draws from benchmarks/results
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from goals import Results, groups
from measure import Group, ratio

from turnwire import registry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOTS = Path(__file__).parent / "plots"


class Theme(NamedTuple):
    """Colours of a picture: the text, lines behind bars, and one colour for each series, told apart by all eyes."""

    text: str
    grid: str
    series: tuple[str, ...]


THEMES = {
    "light": Theme("#24292f", "#d0d7de", ("#0b5cad", "#5aa0dc", "#c2601c", "#e8a368")),
    "dark": Theme("#e6edf3", "#3d444d", ("#4f9fe8", "#a5cff5", "#e0813d", "#f2bd91")),
}
TITLES = {name: wire.title for name, wire in registry.wires().items()}
OBJECTS = {
    "decode": ("decode", "msgspec decode"),
    "decode + check": ("decode + check", "msgspec decode"),
    "encode, untouched": ("encode untouched", "msgspec encode"),
    "encode, made by hand": ("encode made", "msgspec encode"),
}
READERS = {"DuckDB": ("DuckDB", "Arrow"), "Polars": ("Polars", "Arrow")}


def bars(
    axes: Axes, theme: Theme, wires: list[str], series: dict[str, list[float]], title: str, *, line: bool = True
) -> None:
    """Groups of bars, one group a wire; ``line``: one at 1, where both take the same time."""
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        left = [wire + (place - (len(series) - 1) / 2) * width for wire in range(len(wires))]
        drawn = axes.bar(left, values, width, label=name, color=theme.series[place])
        axes.bar_label(drawn, [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in values], fontsize=7)
        for label in axes.texts:
            label.set_color(theme.text)
    if line:
        axes.axhline(1, color=theme.text, linewidth=0.8)
    axes.set_xticks(range(len(wires)), wires)
    axes.set_title(title, fontsize=10, color=theme.text, loc="left")
    axes.tick_params(colors=theme.text, labelsize=9, length=0)
    axes.grid(axis="y", color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.legend(frameon=False, fontsize=8, labelcolor=theme.text, ncols=len(series), loc="upper left")


def ratios(found: list[Group], asked: dict[str, tuple[str, str]]) -> dict[str, list[float]]:
    """For each name the median ratio of two measured things, wire by wire."""
    return {
        name: [ratio(group["samples"], one, other).median for group in found] for name, (one, other) in asked.items()
    }


def wires(results: Results, theme: Theme, path: Path) -> None:
    """Objects beside msgspec, files beside DuckDB and Polars, and the speed of scans, for the five wires."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = groups(results, "wires", "wires")
    names = [TITLES[str(group["case"])] for group in found]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "turnwire", "font.family": "sans-serif"}):
        figure = Figure(figsize=(9, 8.4), layout="constrained")
        first, second, third = figure.subplots(3, 1)
        for axes in (first, second, third):
            axes.patch.set_alpha(0)
        bars(first, theme, names, ratios(found, OBJECTS), "One message: time ÷ msgspec's, less is better (1: as long)")
        times = ratios(found, READERS)
        bars(second, theme, names, times, "File to Arrow columns: time of the other ÷ turnwire's, more is better")
        speed = {
            name: [float(group["facts"]["log bytes"]) / median(group["samples"][key]) / 1e9 for group in found]
            for name, key in (("a scan of the wire, its own columns", "scan"), ("of all wires", "scan of all wires"))
        }
        bars(third, theme, names, speed, "Scan, GB/s on one thread, more is better", line=False)
        for axes in (first, second, third):
            axes.margins(y=0.22)
        figure.savefig(path, transparent=True, metadata={"Date": None})


def draw(results: Results) -> list[Path]:
    """Draws what there are figures of, in each theme; the files."""
    PLOTS.mkdir(exist_ok=True)
    drawn = []
    for name, theme in THEMES.items():
        if "wires" in results:
            drawn.append(PLOTS / f"wires-{name}.svg")
            wires(results, theme, drawn[-1])
    return drawn


def main() -> None:
    from tables import SECTIONS, kept

    results: dict[str, Any] = {name: found for name in SECTIONS if (found := kept(name)) is not None}
    print(*draw(results), sep="\n")


if __name__ == "__main__":
    main()
