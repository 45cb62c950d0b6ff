"""The gate of cost: instructions of decode, encode and check of each wire, of the public entries that find the wire
themselves, and of each scan, against a kept baseline.

    python benchmarks/gate.py [--keep]

Counted by valgrind, so that the figures repeat on a busy machine, and as slopes: what 2N takes less what N takes, so
that imports and what happens once fall out. A figure that is more than ``BAND`` above the baseline fails, if it is so
again with modules compiled anew. Such figures depend on what compiled the core and on what runs it: where any of that
differs from what the baseline was made with, or the processor has no baseline, the table is printed and says so, and
nothing fails. ``--keep`` writes the baseline for this machine: do so, and say why, with a change that is meant to cost
more, and after one that costs less.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import callgrind
import instructions

BASELINE = Path(__file__).parent / "results" / "gate.json"
BAND = 0.03
"""By how much of the baseline a figure may be above it."""
SIZE = 1 << 19
"""Bytes of a log that make N: both logs are one block, whose cost has no steps."""
MESSAGES, FEW = 100, 10
"""Messages that make N; few of what takes a thousand times as many instructions."""
SEARCHES = frozenset(("turnwire.Decoder.feed", "turnwire.extract"))
WHAT = (
    *("decode", "encode", "check"),
    *("turnwire.decode", "turnwire.encode", "turnwire.check", "turnwire.Decoder.feed", "turnwire.extract"),
)
"""The counts of each wire: its own codec, then the entries of the package; a Decoder is told the wire and fed one
message a call, the others are told none."""

Figures = Mapping[str, float]


def messages(wire: str) -> list[bytes]:
    """The first messages of the log of a wire, one by one."""
    from logs import LOGS

    data = LOGS[wire](1 << 17)
    if wire == "csp":
        return [b"CSP/1\n" + one for one in data.split(b"CSP/1\n")[1:]][:MESSAGES]
    return data.splitlines()[:MESSAGES]


def _each(wires: Iterable[str]) -> None:
    """The process whose instructions are counted: each thing with N messages, to warm up, with N, and with 2N."""
    import gc

    import turnwire

    if turnwire.backend != "native":
        raise RuntimeError("the native modules are not built")
    inputs = {wire: messages(wire) for wire in wires}
    for wire, (first, *_) in inputs.items():  # imports all that is imported, which is not to be counted
        turnwire.check(turnwire.decode(turnwire.encode(turnwire.decode(first))))
        turnwire.Decoder(wire).feed(first + b"\n")
        turnwire.extract(first.decode())
    gc.collect()
    gc.freeze()  # each collection would look at all modules: twenty times the instructions of what is measured
    callgrind.begin()
    for wire, texts in inputs.items():
        if len(texts) < MESSAGES:
            raise RuntimeError(f"the log of {wire} has {len(texts)} messages, not {MESSAGES}")
        known = turnwire.wires()[wire]
        decode: Callable[[Any], Any] = known.decode
        works: dict[str, Callable[[Any], Any]] = {
            "decode": decode,
            "encode": known.encode,
            "check": known.check,
            "turnwire.decode": turnwire.decode,
            "turnwire.encode": turnwire.encode,
            "turnwire.check": turnwire.check,
            "turnwire.extract": turnwire.extract,
        }
        for what in WHAT:
            for times in (1, 1, 2):
                work = works.get(what) or turnwire.Decoder(wire).feed
                given: list[Any] = texts[: number_of(what)] * times
                if what == "turnwire.Decoder.feed":
                    given = [text + b"\n" for text in given]
                elif what == "turnwire.extract":
                    given = [text.decode() for text in given]
                elif what not in ("decode", "turnwire.decode"):
                    given = [decode(text) for text in given]
                gc.collect()
                gc.disable()  # when it runs depends on all that went before
                callgrind.mark()
                for one in given:
                    work(one)
                callgrind.mark()
                gc.enable()


def of_messages() -> dict[str, float]:
    """Instructions a message of decode, encode and check of each wire."""
    wires = instructions.WIRES
    parts = callgrind.counted(instructions.SOURCE, __file__, "--messages")
    cases = [(what, wire) for wire in wires for what in WHAT]
    if len(parts) != 6 * len(cases) + 1:
        raise RuntimeError(f"callgrind gave {len(parts)} figures, not {6 * len(cases) + 1}")
    work = parts[1::2]  # what stands between is preparation
    return {
        f"{what} {wire}": (work[3 * n + 2] - work[3 * n + 1]) / number_of(what) for n, (what, wire) in enumerate(cases)
    }


def counted() -> dict[str, float]:
    """All figures, from two processes, side by side where there are two cores."""
    with ThreadPoolExecutor() as pool:
        scans, single = pool.submit(of_scans), pool.submit(of_messages)
        return {**single.result(), **scans.result()}


def number_of(what: str) -> int:
    """N of one thing."""
    return FEW if what in SEARCHES else MESSAGES


def of_scans() -> dict[str, float]:
    """Instructions a byte of the scans of ``instructions.py``."""
    found = instructions.counted(instructions.SOURCE, instructions.CASES.values(), SIZE)
    return {f"scan {name}": figure for name, figure in found.items()}


def made_with() -> dict[str, str]:
    """The facts that figures depend on beside the code: what compiled the core (as it says itself) and what runs it."""
    folder = instructions.SOURCE / "turnwire" / "_native"
    built = next(folder.glob("cython_shared.*"), None)
    if built is None:
        raise RuntimeError("the native modules are not built")
    data = built.read_bytes()
    compiler = re.search(rb"GCC: \(.*?\) [\d.]+|clang version [\d.]+", data)
    cython = re.search(rb"_cython_(\d+(?:_\w+?)+)\b", data)
    return {
        "compiler": compiler[0].decode() if compiler else "unknown",
        "Cython": cython[1].decode().replace("_", ".") if cython else "unknown",
        "Python": f"{platform.python_version()}, {platform.python_compiler()}",
        "C library": " ".join(platform.libc_ver()),
        **{name: version(name) for name in ("numpy", "msgspec")},
    }


def level() -> str:
    """The processor, and the SIMD code that valgrind lets run on it: what ``--level`` prints in there."""
    import subprocess

    command = ["valgrind", "--tool=none", "-q", sys.executable, __file__, "--level"]
    path = {"PYTHONPATH": str(instructions.SOURCE), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=path, capture_output=True, text=True, check=True).stdout.strip()


def _level() -> str:
    from turnwire._native.log.search import SIMD

    return f"{platform.machine()}, {SIMD}"


def table(figures: Figures, base: Figures) -> str:
    """The figures as text beside those of the baseline: a line each, with what is to be said of it."""
    lines = [f"{'instructions a message, or a byte':34}{'here':>10}{'baseline':>10}{'ratio':>8}"]
    for name, figure in figures.items():
        line = f"{name:34}{figure:10.2f}"
        if name in base:
            ratio = figure / base[name]
            word = "  SLOWER" if ratio > 1 + BAND else "  faster" if ratio < 1 - BAND else ""
            line += f"{base[name]:10.2f}{ratio:8.3f}{word}"
        lines.append(line if name in base else line + "  not in the baseline")
    lines += [f"{name:34}  only in the baseline" for name in base if name not in figures]
    return "\n".join(lines)


def faults(figures: Figures, base: Figures) -> list[str]:
    """Why the gate stays shut: what costs more than the band allows, and what is in one table only."""
    found = [
        f"{name} takes {figures[name] / base[name] - 1:+.1%}, more than {BAND:.0%} above the baseline"
        for name in figures
        if name in base and figures[name] > (1 + BAND) * base[name]
    ]
    return found + [f"{name} is not in both tables" for name in sorted(set(figures) ^ set(base))]


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """The facts of the baseline that are others here, in words."""
    names = sorted(set(here) | set(there))
    return [
        f"{name}: {here.get(name, 'none')} here, {there.get(name, 'none')} for the baseline"
        for name in names
        if here.get(name) != there.get(name)
    ]


def main() -> int:
    """Counts, prints and judges, or keeps; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="write the baseline of this machine")
    parser.add_argument("--messages", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--level", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.messages:
        _each(instructions.WIRES)
        return 0
    if options.level:
        print(_level())
        return 0
    if shutil.which("valgrind") is None:
        print("NOT JUDGED: there is no valgrind, which counts the instructions", file=sys.stderr)
        return 1
    figures = counted()
    kept = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {}
    processor, means = level(), made_with()
    if options.keep:
        kept[processor] = {"made with": means, "figures": {name: round(one, 3) for name, one in figures.items()}}
        BASELINE.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    base = kept.get(processor, {"made with": {}, "figures": {}})
    if faults(figures, base["figures"]):  # with modules compiled anew: a .pyc may make two objects of one string
        with TemporaryDirectory() as folder:
            os.environ["PYTHONPYCACHEPREFIX"] = folder
            figures = {name: min(figures[name], figure) for name, figure in counted().items()}
    print(f"{processor}; {', '.join(f'{name} {value}' for name, value in means.items())}")
    print(table(figures, base["figures"]))
    return verdict(faults(figures, base["figures"]), differences(means, base["made with"]), processor in kept)


def verdict(found: list[str], other: list[str], known: bool) -> int:
    """Says how it went; the exit code."""
    if not known:
        print("NOT JUDGED: no baseline was kept on such a processor")
        return 0
    if other:
        print("NOT JUDGED: the baseline was made with something else.", *other, sep="\n  ")
        return 0
    for fault in found:
        print(f"FAILED: {fault}")
    if not found:
        print(f"no figure is more than {BAND:.0%} above its baseline")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
