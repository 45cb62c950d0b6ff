"""Timing: rounds in which everything that is compared runs by turns, so that a slow moment hits all of it alike."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any, NamedTuple, TypedDict

Run = Callable[[], float]
"""Does one unit of work (a message, a pass over the bytes, a file) and returns the seconds it took."""

PEERS = ("msgspec", "orjson", "msgpack", "polars", "duckdb", "pyarrow", "numpy")
FEATURES = ("sse4_2", "ssse3", "avx2", "bmi2", "pclmulqdq", "avx512bw", "avx512vbmi", "asimd", "pmull")


class Group(TypedDict):
    """What was compared in the same rounds. ``samples``: name -> seconds a unit, one entry a round."""

    table: str
    case: str
    facts: dict[str, Any]
    samples: dict[str, list[float]]


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


def statement(code: str, seconds: float, units: int = 1, **names: Any) -> Run:
    """A run of a short statement, repeated for about ``seconds``; ``names`` are local variables in it.

    The loop around the statement (some 5 ns) is part of what is measured. The garbage collector is on, as it is where
    the code is used. ``units``: messages in one statement. The time is that of the CPU, see :func:`once`.
    """
    setup = "; ".join(["import gc", "gc.enable()", *(f"{name} = _{name}" for name in names)])
    timer = Timer(code, setup, process_time, globals={f"_{name}": value for name, value in names.items()})
    loops = 1
    while (taken := min(timer.repeat(3, loops))) < seconds / 4:  # the least: a slow moment must not make short runs
        loops *= 2
    loops = max(1, round(loops * seconds / taken))
    return lambda: timer.timeit(loops) / loops / units


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


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    import turnwire
    from turnwire.log.engine import all_wires

    cpu: dict[str, str] = {}
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            name, _, value = line.partition(":")
            cpu.setdefault(name.strip(), value.strip())
    present = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return {
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "cpu numbers": "/".join(cpu.get(name, "?") for name in ("cpu family", "model", "stepping")),
        "cores": os.cpu_count(),
        "features": [name for name in FEATURES if name in present],
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "turnwire": f"{turnwire.__version__}, {turnwire.backend} core",
        "simd": getattr(all_wires._core, "SIMD", "none"),
        "versions": {name: version(name) for name in PEERS},
    }
