"""Plants faults in the native code, one after the other, and sees whether the suite finds them: `make plant`.

    python -m tests.planting [--number 60] [--seed 1] [--only nslip]

Works in a tree of its own, ``build/planted``, with the code for AVX-512 emulated, so that a fault there counts as one.
Prints a line for each fault and lists the survivors; fails where fewer than 95 % are found. A survivor is to be judged:
a test is missing, or the change changes nothing that can be seen (a shortcut taken less often).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.emulated import build
from tests.planting.faults import NATIVE, ROOT, Fault, drawn

FOLDER = ROOT / "build" / "planted"
LEAST = 0.95
SECONDS = 900
"""After so many a test does not end: the fault is found."""
TESTS = {
    "nslip": ("tests/nslip", "tests/log/test_scan_differential.py", "tests/log/test_scan.py"),
    "json": ("tests/json_text", "tests/log/test_json_differential.py", "tests/log/test_json_steps.py", "tests/sstp"),
    "csp": (
        "tests/csp/test_scanner.py",
        "tests/csp/test_codec.py",
        "tests/csp/test_bulk.py",
        "tests/csp/test_marks.py",
    ),
    "space": ("tests/kick/test_space.py", "tests/kick/test_envelope.py"),
    "log": ("tests/log/test_line_heads.py", "tests/log/test_arrow.py", "tests/log/test_arrays.py"),
    "common": (
        "tests/ledger/test_hashing.py",
        "tests/log/test_values.py",
        "tests/json_text",
        "tests/kick/test_space.py",
    ),
}
"""The part of the suite that is asked first, by the folder of the header; then comes ``LAST``."""
LAST = ("tests/fuzz", "tests/log/test_mixed.py", "tests/log/test_metamorphic.py", "tests/log/test_json_templates.py")


@cache
def made_of() -> dict[str, set[Path]]:
    """The files of which each module is made."""
    return {
        str(source.relative_to(NATIVE).with_suffix("")): build.includes(source.resolve(), set())
        for source in sorted(NATIVE.glob("*/*.pyx"))
    }


def touched(header: str) -> list[str]:
    """The modules that a header is part of."""
    return [name for name, files in made_of().items() if (ROOT / header).resolve() in files]


def tried(fault: Fault) -> str:
    """What found the fault: a test, the compiler or the clock; "" where nothing did."""
    place = FOLDER / fault.header
    whole = place.read_text("utf-8")
    names = touched(fault.header)
    kept = FOLDER / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    native = FOLDER / "site" / "turnwire" / "_native"
    shutil.copytree(native, kept)
    try:
        place.write_text(build.emulated(fault.planted()), "utf-8")
        for name in names:
            build.compile_one(name, FOLDER)
        return asked(TESTS[Path(fault.header).parts[1]]) or asked(LAST)
    except subprocess.CalledProcessError:
        return "the compiler"
    finally:
        place.write_text(whole, "utf-8")
        shutil.rmtree(native)
        kept.rename(native)


def asked(tests: tuple[str, ...]) -> str:
    """The first test of these that fails, "" for none."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "site"), "TURNWIRE_PURE": "0"}
    marked = "not packaging and not soak"
    there = [name for name in tests if (ROOT / name).exists()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-m",
        marked,
        *there,
    ]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "a test does not end"
    if done.returncode == 0:
        return ""
    if done.returncode not in (1, 2) and done.returncode > 0 and done.returncode < 128:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"the process ended with {done.returncode}"


def main() -> int:
    """Plants and counts; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults in this folder of _native")
    options = parser.parse_args()
    build.build(FOLDER)
    faults = [fault for fault in drawn(options.number, options.seed) if options.only in fault.header]
    survivors = []
    for number, fault in enumerate(faults, 1):
        finder = tried(fault)
        print(f"{number:3} of {len(faults)}  {'found   ' if finder else 'SURVIVED'}  {fault}  {finder}", flush=True)
        if not finder:
            survivors.append(fault)
    share = 1 - len(survivors) / max(1, len(faults))
    print(f"{len(faults) - len(survivors)} of {len(faults)} found ({share:.0%})")
    for fault in survivors:
        print(f"survived: {fault}")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
