"""Plants faults in the native code, one after the other, and sees whether the suite finds them: `make plant`.

    python -m tests.planting [--number 60] [--seed 1] [--only nslip] [--whole]

Works in a tree of its own, ``build/planted``, with the code for AVX-512 emulated, so that a fault there counts as one.
The tests that will be asked run first without a fault: one that fails then would find every fault.
Only the modules that a header is part of are compiled anew, and the tests nearest to it are asked first; a run of tests
ends with the first that fails, and a test that does not end by the CPU time it took, whatever else the machine does.
Prints a line for each fault with its CPU time, and lists the survivors; fails where fewer than 95 % are found. A fault
with which the compiler makes the same code as without (it is in what this processor does not compile) does not count. A
survivor is hunted with inputs of `make fuzz` (``hunting.py``): where one tells it from the code without a fault, a test
is missing. The others are to be judged: a test is missing, or nothing that can be seen has changed (a shortcut taken
less often), and then it is kept with the reason in ``judged.txt``, is not planted again and does not count.
``--number 9999 --only log_time.h:61`` plants all that can be changed in a line; ``--whole`` asks what else of the suite
runs the code, too.
"""

from __future__ import annotations

import argparse
import base64
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
from tests.planting import hunting
from tests.planting.faults import NATIVE, ROOT, Fault, drawn
from tests.planting.judged import SAME

FOLDER = ROOT / "build" / "planted"
LEAST = 0.95
MOST = 180
"""CPU seconds of one run of tests: after so many a test does not end, and the fault is found."""
BAD_USAGE = 4
"""How pytest ends where a conftest cannot be imported, too."""
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
        "tests/log/test_json_depth.py",
        "tests/log/test_json_edges.py",
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
        "tests/test_plans_of_more_wires.py",
        "tests/ledger/test_canonical.py",
    ),
    "csp": (
        "tests/csp/test_vectors.py",
        "tests/csp/test_marks.py",
        "tests/csp/test_scanner.py",
        "tests/csp/test_bulk.py",
        "tests/csp/test_cuts.py",
        "tests/csp/test_objects.py",
        "tests/csp",
    ),
    "space": (
        "tests/kick/test_space.py",
        "tests/kick/test_reading.py",
        "tests/kick/test_envelope.py",
        "tests/kick/test_documents.py",
        "tests/kick",
    ),
    "log": (
        "tests/log/test_line_heads.py",
        "tests/finding/test_prefixed.py",
        "tests/log/test_arrays.py",
        "tests/log/test_line_signs.py",
        "tests/log/test_arrow.py",
    ),
    "session": ("tests/session/test_cores.py", "tests/session/test_vectors.py", "tests/session"),
    "common": (
        "tests/ledger/test_hashing.py",
        "tests/kick/test_space.py",
        "tests/log/test_times.py",
        "tests/json_text",
    ),
}
"""The part of the suite that is asked first, by the folder of the header, what compares the cores in front."""
LAST = (
    "tests/log/test_end_of_memory.py",
    "tests/fuzz",
    "tests/test_utf8.py",
    "tests/log/test_every_wire.py",
    "tests/log/test_json_scan.py",
    "tests/log/test_mixed.py",
    "tests/log/test_metamorphic.py",
    "tests/log/test_edges_of_limits.py",
    "tests/test_exact_limits.py",
    "tests/finding/test_settled_on_both_cores.py",
    "tests/entries",
)
"""What is asked where none of these has failed."""
WHOLE = {
    "nslip": ("tests/nslip", "tests/log"),
    "json": ("tests/json_text", "tests/sstp", "tests/sap", "tests/kick", "tests/log"),
    "csp": ("tests/csp", "tests/log"),
    "space": ("tests/kick", "tests/log"),
    "log": ("tests/log", "tests/finding"),
    "session": ("tests/session",),
    "common": ("tests/ledger", "tests/json_text", "tests/kick", "tests/log"),
}
"""What is asked with --whole where that has not failed, either: the folders of the suite that run the code of one of
ours. They take minutes of CPU time."""
ENOUGH = 1800
"""CPU seconds of one run of those."""
FIRST = {
    "nslip": "nslip,scan-all",
    "json": "sstp,sap,kick,write,scan-all",
    "csp": "csp,cuts",
    "space": "space,sections,kick",
    "log": "heads,lines,views,arrow",
    "session": "session",
    "common": "ledger,decode",
}
"""The targets of fuzzing that are hunted in first."""


@cache
def made_of() -> dict[str, set[Path]]:
    """The files of which each module is made."""
    return {
        str(source.relative_to(NATIVE).with_suffix("")): build.includes(source.resolve(), set())
        for source in sorted(NATIVE.glob("*/*.pyx"))
    }


def touched(header: str) -> list[str]:
    """The modules that a header is part of."""
    place = (ROOT / header).resolve()
    return [name for name, files in made_of().items() if place in files]


SAME_CODE = "the same code"


HUNTED = "by fuzzing alone: "
"""What begins the finder of a fault that no test found: an input tells it from the code without, so it changes what is
seen, and that input belongs into tests/fuzz/corpus."""


def hunted(first: str) -> str:
    """The first input that tells the core with the fault from the one without, with HUNTED in front; "" for none."""
    command = [sys.executable, "-m", "tests.planting.hunting", "--ask", str(FOLDER / "inputs"), "--first", first]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, preexec_fn=_bounded
    )
    if done.returncode == 0:
        return ""
    if done.stdout:
        return HUNTED + done.stdout.strip()[:2000]
    if done.returncode > 0:
        raise RuntimeError(f"the hunt itself failed:\n{done.stderr[-2000:]}")
    name, data = hunting.crashed(FOLDER / "inputs.now")
    return f"{HUNTED}{name} {base64.b64encode(data).decode()[:2000]} ends the process with {done.returncode}"


def tried(fault: Fault, whole_suite: bool) -> str:
    """What found the fault: a test, the compiler, the clock or an input; "" for nothing, SAME_CODE where it changes no
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
        folder = Path(fault.header).parts[1]
        return (
            asked(nearest(fault.header))
            or asked(LAST)
            or (asked(WHOLE[folder], ENOUGH) if whole_suite else "")
            or hunted(FIRST[folder])
        )
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


def environment(site: Path = FOLDER / "site", pure: bool = False) -> dict[str, str]:
    """That of a process which runs the package of a tree of ours. pure: on the core in Python."""
    path = os.pathsep.join([str(site), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "TURNWIRE_PURE": str(int(pure)), "HYPOTHESIS_PROFILE": "ci"}


def _bounded(most: int = MOST) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))


def asked(tests: tuple[str, ...], most: int = MOST, site: Path = FOLDER / "site", pure: bool = False) -> str:
    """The first test of these that fails within so many CPU seconds, of the package in ``site``, on one of its cores;
    "" for none."""
    options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-m", "not packaging and not soak"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=environment(site, pure),
            capture_output=True,
            text=True,
            check=False,
            timeout=WAITING * most // MOST,
            preexec_fn=lambda: _bounded(most),
        )
    except subprocess.TimeoutExpired:
        return "a test does not end"
    if done.returncode == 0:
        return ""
    if done.returncode == -signal.SIGXCPU:
        return "a test does not end"
    if done.returncode == BAD_USAGE and "ImportError while loading conftest" in done.stderr:
        return "the package cannot be imported"
    if done.returncode not in (1, 2) and done.returncode > 0 and done.returncode < 128:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"the process ended with {done.returncode}"


def failing(faults: list[Fault], whole_suite: bool) -> list[str]:
    """What fails, of all that will be asked, before anything is planted."""
    folders = {name for fault in faults for name in nearest(fault.header)}
    groups = [*(tuple(name for name in tests if name in folders) for tests in TESTS.values()), LAST]
    found = [finder for tests in dict.fromkeys(groups) if tests and (finder := asked(tests))]
    more = {WHOLE[Path(fault.header).parts[1]] for fault in faults} if whole_suite else set()
    return found + [finder for tests in sorted(more) if (finder := asked(tests, ENOUGH))]


def spent() -> float:
    """CPU seconds of compilers and tests so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Plants and counts; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--whole", action="store_true", help="ask all folders of tests about what the nearest do not find"
    )
    parser.add_argument("--only", default="", help="faults whose file, line and text have this in them")
    options = parser.parse_args()
    build.build(FOLDER)
    faults = [fault for fault in drawn(options.number, options.seed) if options.only in str(fault)]
    judged = [fault for fault in faults if (fault.header, fault.row) in SAME]
    for fault in judged:
        print(f"changes nothing: {fault}: {SAME[fault.header, fault.row]}")
    faults = [fault for fault in faults if fault not in judged]
    if found := failing(faults, options.whole):
        print("without a fault this fails:", *found, sep="\n", file=sys.stderr)
        return 2
    command = [
        sys.executable,
        "-m",
        "tests.planting.hunting",
        "--make",
        str(FOLDER / "inputs"),
        "--seed",
        str(options.seed),
    ]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)
    survivors, same = [], 0
    for number, fault in enumerate(faults, 1):
        before, finder = spent(), tried(fault, options.whole)
        same += finder == SAME_CODE
        alive = not finder or finder.startswith(HUNTED)
        state = "        " if finder == SAME_CODE else "SURVIVED" if alive else "found   "
        print(f"{number:3} of {len(faults)}  {state} {spent() - before:4.0f} s  {fault}  {finder}", flush=True)
        if alive:
            survivors.append(fault)
    count = len(faults) - same
    share = 1 - len(survivors) / max(1, count)
    print(f"{count - len(survivors)} of {count} found ({share:.0%}), {spent():.0f} CPU seconds")
    for fault in survivors:
        print(f"survived: {fault}")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
