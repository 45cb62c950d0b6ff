"""What a scan costs: where its time goes, what each fast path saves, what memory allows, for docs/theory.md.

    python benchmarks/cost.py --write      measures, keeps results/cost.json, draws docs/images/cost-*.svg
    python benchmarks/cost.py --write nslip     measures that log alone again
    python benchmarks/cost.py              draws the kept figures

Processor time of one thread, by turns in one process. A cycle is one of the time stamp counter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any
from unittest.mock import patch

import numpy as np
from logs import LOGS
from measure import Run, by_turns, machine, once
from plots import THEMES, TITLES, Theme

import turnwire

KEPT = Path(__file__).parent / "results" / "cost.json"
PICTURES = Path(__file__).parent.parent / "docs" / "images"
WIRES = ("nslip", "csp", "sstp", "sap", "kick")
SIZE = 16 << 20
PIECE = 2 << 20
ROUNDS = 9
PARTS = {"read": "reading the file", "core": "the compiled scan", "rest": "Python, NumPy, memory"}


class Timed:
    """A module whose functions add the time that they take to ``spent``."""

    def __init__(self, module: Any, spent: list[float]) -> None:
        self._module, self._spent = module, spent

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found) or isinstance(found, type):
            return found

        def timed(*args: Any, **options: Any) -> Any:
            start = thread_time()
            try:
                return found(*args, **options)
            finally:
                self._spent[0] += thread_time() - start

        return timed


@contextmanager
def timed_cores(spent: list[float]) -> Iterator[None]:
    """The scans of all cores are timed."""
    from turnwire.csp import bulk as csp
    from turnwire.log.engine import block_pass, claimed_rows, shortcut
    from turnwire.nslip import bulk as nslip

    with (
        patch.object(nslip, "_core", Timed(nslip._core, spent)),
        patch.object(csp, "_core", Timed(csp._core, spent)),
        patch.object(block_pass, "_core", Timed(block_pass._core, spent)),
        patch.object(block_pass, "_heads", Timed(block_pass._heads, spent)),
        patch.object(claimed_rows, "_heads", Timed(claimed_rows._heads, spent)),
        patch.object(shortcut, "_heads", Timed(shortcut._heads, spent)),
    ):
        yield


def scanned(path: Path, wire: str | None) -> int:
    return sum(map(len, turnwire.scan(path, wire=wire)))


def read(path: Path) -> int:
    """Reads the file in pieces, into the same memory."""
    piece, total = bytearray(PIECE), 0
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            total += count
    return total


def parts(cases: list[tuple[Path, str | None]]) -> list[dict[str, list[float]]]:
    """Seconds in each part of the scan of each case, a round each, by turns."""
    spent = [0.0]
    found: list[dict[str, list[float]]] = [{name: [] for name in PARTS} for _ in cases]
    with timed_cores(spent):
        for _ in range(ROUNDS):
            for (path, wire), samples in zip(cases, found, strict=True):
                first = once(partial(read, path))()
                spent[0] = 0.0
                rest = once(partial(scanned, path, wire))()
                samples["read"].append(first)
                samples["core"].append(spent[0])
                samples["rest"].append(rest - first - spent[0])
    return found


@contextmanager
def levels(most: str) -> Iterator[None]:
    """The native core runs no code beyond this level of SIMD (nSLIP and JSON)."""
    from turnwire._native.log import search
    from turnwire._native.nslip import scan

    for core in (search, scan):
        core.choose_simd(most if most in core.LEVELS else core.SIMD)
    try:
        yield
    finally:
        for core in (search, scan):
            core.choose_simd(core.SIMD)


def without() -> dict[str, Callable[[], Any]]:
    """What a scan does without: a name and how to leave it out."""
    from turnwire.log.input.memory import Pool

    return {
        "AVX-512": lambda: levels("avx2"),
        "any SIMD": lambda: levels("scalar"),
        "memory used again": lambda: patch.object(Pool, "take", lambda self, size: np.empty(size, np.uint8)),
    }


def paths(path: Path, wire: str | None) -> dict[str, list[float]]:
    """Seconds of a scan as it is and without each fast path, by turns."""

    def run(leave_out: Callable[[], Any]) -> Run:
        def one() -> float:
            with leave_out():
                return once(lambda: scanned(path, wire))()

        return one

    runs: dict[str, Run] = {"as it is": once(lambda: scanned(path, wire))}
    return by_turns(runs | {name: run(leave_out) for name, leave_out in without().items()}, ROUNDS)


def memory() -> dict[str, list[float]]:
    """Seconds a byte to copy memory that is in no cache, and to write memory that was never touched."""
    size = 128 << 20
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    runs = {"copy": once(lambda: np.copyto(target, source)), "fresh": once(lambda: np.full(size, 1, np.uint8))}
    return {name: [one / size for one in found] for name, found in by_turns(runs, ROUNDS).items()}


def measure(logs: tuple[str, ...] = WIRES) -> dict[str, Any]:
    """All figures of these logs."""
    cases = []
    with TemporaryDirectory() as name:
        paths_of = {log: Path(name) / log for log in logs}
        for log, path in paths_of.items():
            path.write_bytes(LOGS[log](SIZE))
        for path in paths_of.values():  # so that the first case does not pay for what the process learns about memory
            for wire in (None, path.name, None, path.name):
                scanned(path, wire)
        asked = [(path, wire) for path in paths_of.values() for wire in (path.name, None)]
        for (path, wire), found in zip(asked, parts(asked), strict=True):
            facts = {"log": path.name, "wire": wire, "bytes": path.stat().st_size, "records": scanned(path, wire)}
            cases.append(facts | {"parts": found, "paths": paths(path, wire)})
    return {"machine": machine(), "megahertz": counter(), "cases": cases, "memory": memory()}


def counter() -> float:
    """How many million cycles the time stamp counter has a second, as the kernel says."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("bogomips"):
            return float(line.split(":")[1]) / 2
    raise RuntimeError("the kernel does not say")


def cycles(kept: dict[str, Any]) -> dict[tuple[str, str | None], dict[str, float]]:
    """Cycles a byte of each part of each case."""
    return {
        (case["log"], case["wire"]): {
            name: median(case["parts"][name]) * kept["megahertz"] * 1e6 / case["bytes"] for name in PARTS
        }
        for case in kept["cases"]
    }


def table(kept: dict[str, Any]) -> str:
    """The figures as the tables of the page."""
    lines = [
        "| log | read as | " + " | ".join(PARTS.values()) + " | cycles a byte | cycles a record |",
        "|---|---|" + "---:|" * 5,
    ]
    found = cycles(kept)
    for case in kept["cases"]:
        one = found[case["log"], case["wire"]]
        whole, how = sum(one.values()), "its own wire" if case["wire"] else "all wires"
        record = whole * case["bytes"] / case["records"]
        lines.append(
            f"| {TITLES[case['log']]} | {how} | "
            + " | ".join(f"{one[name]:.2f}" for name in PARTS)
            + f" | {whole:.2f} | {record:.0f} |"
        )
    names = list(without())
    lines += [
        "",
        "| log | read as | " + " | ".join(f"without {name}" for name in names) + " |",
        "|---|---|" + "---:|" * len(names),
    ]
    for case in kept["cases"]:
        samples = case["paths"]
        ratios = [
            median(one / base for one, base in zip(samples[name], samples["as it is"], strict=True)) for name in names
        ]
        how = "its own wire" if case["wire"] else "all wires"
        lines.append(f"| {TITLES[case['log']]} | {how} | " + " | ".join(f"{one:.2f}" for one in ratios) + " |")
    copied = {name: 1e-9 / median(found) for name, found in kept["memory"].items()}
    return "\n".join([*lines, "", f"copied {copied['copy']:.1f} GB/s, fresh memory {copied['fresh']:.1f} GB/s"])


def picture(kept: dict[str, Any], theme: Theme, path: Path) -> None:
    """Cycles a byte of each wire by name and among all, part upon part."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = cycles(kept)
    names = [f"{TITLES[log]}\n{'by name' if wire else 'all wires'}" for log, wire in found]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "turnwire", "font.family": "sans-serif"}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.patch.set_alpha(0)
        below = [0.0] * len(names)
        for (name, label), colour in zip(PARTS.items(), theme.series, strict=False):
            values = [one[name] for one in found.values()]
            axes.bar(range(len(names)), values, 0.7, bottom=below, label=label, color=colour)
            below = [under + value for under, value in zip(below, values, strict=True)]
        axes.set_xticks(range(len(names)), names)
        axes.set_title("Cycles a byte of a scan, less is better", fontsize=10, color=theme.text, loc="left")
        axes.tick_params(colors=theme.text, labelsize=7, length=0)
        axes.grid(axis="y", color=theme.grid, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.legend(frameon=False, fontsize=8, labelcolor=theme.text)
        figure.savefig(path, transparent=True, metadata={"Date": None})


def main() -> None:
    """Measures where that is asked for, draws, and prints the tables."""
    if "--write" in sys.argv[1:]:
        again = tuple(wire for wire in WIRES if wire in sys.argv[1:])
        found = measure(again or WIRES)
        if again:
            cases = json.loads(KEPT.read_text())["cases"]
            found["cases"] = [
                next((new for new in found["cases"] if (new["log"], new["wire"]) == (one["log"], one["wire"])), one)
                for one in cases
            ]
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    for name, theme in THEMES.items():
        picture(kept, theme, PICTURES / f"cost-{name}.svg")
    print(table(kept))


if __name__ == "__main__":
    main()
