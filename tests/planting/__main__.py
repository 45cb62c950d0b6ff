"""Plants faults in the native code, one after the other, and sees whether the suite finds them: `make plant`.

    python -m tests.planting [--number 60] [--seed 1] [--only nslip]

Works in a tree of its own, ``build/planted``, with the code for AVX-512 emulated, so that a fault there counts as one.
The tests that will be asked run first without a fault: one that fails then would find every fault.
Only the modules that a header is part of are compiled anew, and the tests nearest to it are asked first; a run of tests
ends with the first that fails, and a test that does not end by the CPU time it took, whatever else the machine does.
Prints a line for each fault with its CPU time, and lists the survivors; fails where fewer than 95 % are found. A fault
with which the compiler makes the same code as without (it is in what this processor does not compile) does not count. A
survivor is to be judged: a test is missing, or nothing that can be seen has changed (a shortcut taken less often), and
then it is kept with the reason in ``judged.py``, is not planted again and does not count. ``--number 9999 --only
log_time.h:61`` plants all that can be changed in a line.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import resource
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.emulated import build
from tests.planting.faults import NATIVE, ROOT, Fault, drawn
from tests.planting.judged import SAME

FOLDER = ROOT / "build" / "planted"
LEAST = 0.95
MOST = 90
"""CPU seconds of one run of tests: after so many a test does not end, and the fault is found."""
WAITING = 900
"""Seconds that a run may take by the clock, for tests that wait and do nothing."""
TESTS = {
    "nslip": (
        "tests/nslip/test_vectors.py",
        "tests/test_levels.py",
        "tests/log/test_record_shapes.py",
        "tests/log/test_scan_differential.py",
        "tests/nslip",
    ),
    "json": (
        "tests/log/test_json_steps.py",
        "tests/log/test_json_differential.py",
        "tests/log/test_json_templates.py",
        "tests/log/test_line_wires.py",
        "tests/log/test_wrappers.py",
        "tests/log/test_values.py",
        "tests/log/test_inside_strings.py",
        "tests/log/test_over_lines.py",
        "tests/log/test_refusals.py",
        "tests/log/test_mixed_cuts.py",
        "tests/json_text",
        "tests/sstp",
        "tests/sap/test_codec.py",
        "tests/sap/test_twins.py",
    ),
    "csp": (
        "tests/csp/test_vectors.py",
        "tests/csp/test_marks.py",
        "tests/csp/test_scanner.py",
        "tests/csp/test_bulk.py",
        "tests/csp/test_cuts.py",
        "tests/csp/test_objects.py",
    ),
    "space": (
        "tests/kick/test_space.py",
        "tests/kick/test_reading.py",
        "tests/kick/test_envelope.py",
        "tests/kick/test_documents.py",
    ),
    "log": (
        "tests/log/test_line_heads.py",
        "tests/log/test_arrays.py",
        "tests/log/test_line_signs.py",
        "tests/log/test_arrow.py",
    ),
    "session": ("tests/session/test_cores.py", "tests/session/test_vectors.py"),
    "common": (
        "tests/ledger/test_hashing.py",
        "tests/kick/test_space.py",
        "tests/log/test_times.py",
        "tests/json_text",
    ),
}
"""The part of the suite that is asked first, by the folder of the header, what compares the cores in front."""
LAST = ("tests/fuzz", "tests/log/test_json_scan.py", "tests/log/test_mixed.py", "tests/log/test_metamorphic.py")
"""What is asked where none of these has failed."""


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


SAME_CODE = "the same code"


def tried(fault: Fault) -> str:
    """What found the fault: a test, the compiler or the clock; "" where nothing did, SAME_CODE where it changes no
    code."""
    place = FOLDER / fault.header
    whole = place.read_text("utf-8")
    names = touched(fault.header)
    for name in names:
        _without(name)
    kept = FOLDER / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    native = FOLDER / "site" / "turnwire" / "_native"
    shutil.copytree(native, kept)
    try:
        place.write_text(build.emulated(fault.planted()), "utf-8")
        for name in names:
            build.compile_one(name, FOLDER)
        if _same_files(native, kept):
            return SAME_CODE
        return asked(nearest(fault.header)) or asked(LAST)
    except subprocess.CalledProcessError:
        return "the compiler"
    finally:
        place.write_text(whole, "utf-8")
        shutil.rmtree(native)
        kept.rename(native)


@cache
def _without(name: str) -> None:
    """Compiles a module without a fault, as it is compiled with one, so that the two compare."""
    build.compile_one(name, FOLDER)


def _same_files(one: Path, other: Path) -> bool:
    """Whether all compiled modules of a folder are, byte for byte, those of another."""
    modules = [path.relative_to(one) for path in one.rglob("*.so")]
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in modules)


def nearest(header: str) -> tuple[str, ...]:
    """The tests that are asked first: those of its folder, and of the folders of other modules that it is part of."""
    folders = [Path(header).parts[1], *(name.partition("/")[0] for name in touched(header))]
    return tuple(dict.fromkeys(name for folder in dict.fromkeys(folders) for name in TESTS.get(folder, ())))


def asked(tests: tuple[str, ...]) -> str:
    """The first test of these that fails, "" for none."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "site"), "TURNWIRE_PURE": "0", "HYPOTHESIS_PROFILE": "ci"}
    options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-m", "not packaging and not soak"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAITING,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST + 5)),
        )
    except subprocess.TimeoutExpired:
        return "a test does not end"
    if done.returncode == 0:
        return ""
    if done.returncode == -signal.SIGXCPU:
        return "a test does not end"
    if done.returncode not in (1, 2) and done.returncode > 0 and done.returncode < 128:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"the process ended with {done.returncode}"


def failing(faults: list[Fault]) -> list[str]:
    """What fails, of all that will be asked, before anything is planted."""
    folders = {name for fault in faults for name in nearest(fault.header)}
    groups = [*(tuple(name for name in tests if name in folders) for tests in TESTS.values()), LAST]
    return [finder for tests in dict.fromkeys(groups) if tests and (finder := asked(tests))]


def spent() -> float:
    """CPU seconds of compilers and tests so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Plants and counts; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose file, line and text have this in them")
    options = parser.parse_args()
    build.build(FOLDER)
    faults = [fault for fault in drawn(options.number, options.seed) if options.only in str(fault)]
    judged = [fault for fault in faults if (fault.header, fault.row) in SAME]
    for fault in judged:
        print(f"changes nothing: {fault}: {SAME[fault.header, fault.row]}")
    faults = [fault for fault in faults if fault not in judged]
    if found := failing(faults):
        print("without a fault this fails:", *found, sep="\n", file=sys.stderr)
        return 2
    survivors, same = [], 0
    for number, fault in enumerate(faults, 1):
        before, finder = spent(), tried(fault)
        same += finder == SAME_CODE
        state = "        " if finder == SAME_CODE else "found   " if finder else "SURVIVED"
        print(f"{number:3} of {len(faults)}  {state} {spent() - before:4.0f} s  {fault}  {finder}", flush=True)
        if not finder:
            survivors.append(fault)
    count = len(faults) - same
    share = 1 - len(survivors) / max(1, count)
    print(f"{count - len(survivors)} of {count} found ({share:.0%}), {spent():.0f} CPU seconds")
    for fault in survivors:
        print(f"survived: {fault}")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
