"""Timing: rounds in which everything that is compared runs by turns, so that a slow moment hits all of it alike."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

Run = Callable[[], float]
"""Does one unit of work (a message, a pass over the bytes, a file) and returns the seconds it took."""

PEERS = ("msgspec", "polars", "duckdb", "pyarrow", "numpy")
FEATURES = ("avx2", "bmi2", "pclmulqdq", "asimd", "pmull")


class Ratio(NamedTuple):
    """Median, least and greatest of the ratios of the rounds."""

    median: float
    least: float
    most: float


def by_turns(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Runs everything once a round, in an order that moves on by one each round; a first round only warms up."""
    names = list(runs)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            seconds = runs[name]()
            if number:
                samples[name].append(seconds)
    return samples


def once(work: Callable[[], object], expected: object = None, clock: Callable[[], float] = process_time) -> Run:
    """A run of something that takes long enough to be timed by itself; what it returns must be ``expected``.

    The clock is the CPU time of this process: what one thread does costs the same on it whether or not the machine has
    other things to do. Where readers have threads of their own, ``perf_counter`` is the fair one.
    """

    def run() -> float:
        start = clock()
        result = work()
        taken = clock() - start
        if expected is not None and result != expected:
            raise AssertionError(f"{work} gave {result!r} instead of {expected!r}")
        return taken

    return run


def ratio(samples: dict[str, list[float]], name: str, base: str) -> Ratio:
    """How long ``name`` takes in units of ``base``: a ratio for each round, then their median."""
    ratios = [one / other for one, other in zip(samples[name], samples[base], strict=True)]
    return Ratio(median(ratios), min(ratios), max(ratios))


def machine() -> str:
    """The machine that took the figures, in two lines."""
    import turnwire
    from turnwire.log.engine import all_wires

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    values = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = set((values.get("flags") or values.get("Features") or "").split())
    cpu = values.get("model name") or platform.processor() or platform.machine()
    simd = getattr(all_wires._core, "SIMD", "none")
    return (
        f"{cpu}, {os.cpu_count()} cores ({' '.join(one for one in FEATURES if one in flags)}), "
        f"{platform.system()} {platform.machine()}, CPython {platform.python_version()};\n"
        f"turnwire {turnwire.__version__}, {turnwire.backend} core, {simd}; "
        f"{', '.join(f'{name} {version(name)}' for name in PEERS)}"
    )
