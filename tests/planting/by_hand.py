"""Plants the faults of ``by_hand.txt`` in the native code and those of ``by_hand_python.txt`` in what is written in
Python, one after the other: `make plant-by-hand`.

    python -m tests.planting.by_hand [--only csp/] [--drawn 40 --seed 1]

The native ones may stand in what Cython reads, so that each is compiled as `make build` does it, quickly, in a copy of
the sources in ``build/by-hand``. Code for AVX-512 is asked only where the processor has it. The nearest tests are asked
first, as `make plant` asks them. Prints a line for each fault; fails where one is not found. ``--drawn`` plants so many
slips of the pen in what Cython reads instead, as `make plant` does in the headers, but for those of ``judged.txt``. One
that changes no compiled module does not count: of ``a == 1 and a == 2`` Cython makes the same switch as of "or".
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.planting.__main__ import LAST, SAME_CODE, TESTS, asked, nearest, spent
from tests.planting.faults import ROOT, Fault, by_hand, drawn, modules
from tests.planting.judged import SAME

FOLDER = ROOT / "build" / "by-hand"
COPIED = ("_native", "_build", "src", "build/_native")
"""Folders that building needs; with them only what was changed is compiled anew."""
FOLDERS = {
    "_lazy.py": ("tests/test_imports.py",),
    "atomic.py": ("tests/test_atomic.py",),
    "duckdb.py": ("tests/log/test_lazy.py",),
    "places.py": ("tests/test_atomic.py",),
    "characters.py": ("tests/test_showing.py",),
    "progress.py": ("tests/cli",),
    "errors.py": ("tests/test_errors.py", "tests/test_names.py"),
    "contract.py": ("tests/test_wires.py", "tests/test_limits.py", "tests/test_more_wires.py"),
    "csp": (
        "tests/csp",
        "tests/convert/test_judges.py",
        "tests/finding/test_one_value.py",
        "tests/log/test_tasks.py",
        "tests/log/test_csp_threads.py",
        "tests/prompts/test_prompts.py",
    ),
    "fences.py": ("tests/kick/test_fences.py",),
    "kick": ("tests/kick", "tests/log/test_tasks.py", "tests/test_checklists.py", "tests/prompts/test_filled.py"),
    "nslip": ("tests/nslip", "tests/log/test_tasks.py"),
    "sstp": ("tests/sstp", "tests/log/test_tasks.py", "tests/finding/test_admits.py"),
    "checklists.py": ("tests/test_judgements.py", "tests/test_checklists.py"),
    "conversion": ("tests/convert",),
    "json": (
        "tests/test_plan_tables.py",
        "tests/test_plans_of_more_wires.py",
        "tests/json_text",
        "tests/tokens/test_rows.py",
        "tests/log/test_edges_of_limits.py",
        "tests/test_more_wires.py",
    ),
    "log": ("tests/test_stream_seams.py", "tests/test_stream_wires.py", "tests/log"),
    "pairs.py": ("tests/log/test_pairing_terms.py",),
    "registry.py": ("tests/test_registry.py", "tests/test_wires.py"),
}
"""Packages in Python whose tests are not in a folder of the same name, or not all of them."""


def copied() -> None:
    """The sources, and what was made of them, in a tree of their own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in COPIED:
        shutil.copytree(ROOT / name, FOLDER / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "build/cython_shared.c"):
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, FOLDER / name)


def built() -> None:
    """Compiles what was changed. Raises CalledProcessError where that does not compile."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = {**os.environ, "TURNWIRE_QUICK": "1", "TURNWIRE_REQUIRE_NATIVE": "1"}
    subprocess.run(command, cwd=FOLDER, env=environment, check=True, capture_output=True)


def compiled() -> dict[Path, bytes]:
    """The compiled modules."""
    return {path: path.read_bytes() for path in (FOLDER / "src").rglob("*.so")}


def asked_first(fault: Fault) -> tuple[str, ...]:
    """Those that are asked first."""
    _, _, package, *below = Path(fault.header).parts
    if not fault.header.endswith(".py"):
        return nearest(fault.header)
    return TESTS[below[0]] if package == "_pure" else FOLDERS.get(package, (f"tests/{package}",))


def tried(fault: Fault, sound: dict[Path, bytes]) -> str:
    """What found the fault; "" for nothing, SAME_CODE where the modules are the sound ones, byte for byte."""
    place, site, tests = FOLDER / fault.header, FOLDER / "src", asked_first(fault)
    whole, python = place.read_text("utf-8"), fault.header.endswith(".py")
    try:
        place.write_text(fault.planted(), "utf-8")
        if not python:
            built()
            if compiled() == sound:
                return SAME_CODE
        found = asked(tests, site=site)
        if not found and "/_pure/" in fault.header:
            found = asked(tests, site=site, pure=True)
        return found or asked(LAST, site=site) or (python and asked(LAST, site=site, pure=True)) or ""
    except subprocess.CalledProcessError:
        return "the compiler"
    finally:
        place.write_text(whole, "utf-8")


def main() -> int:
    """Plants and counts; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default="", help="faults whose file, line and text have this in them")
    parser.add_argument("--drawn", type=int, default=0, help="so many slips in what Cython reads, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    every = drawn(options.drawn, options.seed, modules()) if options.drawn else by_hand()
    faults = [fault for fault in every if options.only in str(fault) and (fault.header, fault.row) not in SAME]
    copied()
    built()
    groups = dict.fromkeys([*(asked_first(fault) for fault in faults), LAST])
    if found := [finder for tests in groups if (finder := asked(tests, site=FOLDER / "src"))]:
        print("without a fault this fails:", *found, sep="\n", file=sys.stderr)
        return 2
    survivors, same, sound = [], 0, compiled()
    for number, fault in enumerate(faults, 1):
        before, finder = spent(), tried(fault, sound)
        same += finder == SAME_CODE
        state = "        " if finder == SAME_CODE else "found   " if finder else "SURVIVED"
        print(f"{number:3} of {len(faults)}  {state} {spent() - before:4.0f} s  {fault}  {finder}", flush=True)
        survivors += [fault] * (not finder)
    counted = len(faults) - same
    print(f"{counted - len(survivors)} of {counted} found, {spent():.0f} CPU seconds")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
