"""Changes the Python twins and the rules, one place after the other, and sees whether the tests find it: `make mutate`.

    python -m tests.mutating [--only nslip,csp] [--digit 7] [--processes 2]

mutmut makes the changes and runs the tests. It works in a tree of its own, ``build/mutated``, with the compiled core,
so that what compares the cores is asked; of what these tests leave in a twin the pure half is asked, too. ``--digit``
takes the changes whose number ends with it, a tenth of all; "" takes all. Prints for each target how many changes were
found, and each that was not; fails where fewer than 95 % are.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutating.judged import is_same
from tests.mutating.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "mutated"
LEAST = 0.95
SPINNER = re.compile("[\u2800-\u28ff] ")
"""What mutmut writes again and again while it works."""
BESIDE = ("docs", "benchmarks", "examples", "README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "Makefile")
"""What tests read beside src and tests."""
LEFT_OUT = (
    "tests/nslip/test_messages.py::test_a_call_that_lacks_fields_names_them",  # asks for the name of a function
    "tests/ledger/test_ledger.py::test_processes_write_one_chain",
    "tests/ledger/test_ledger.py::test_kill_9_loses_nothing_that_was_acknowledged",
    "tests/ledger/test_trust.py::test_a_backup_to_a_full_disk_leaves_nothing",
    "tests/ledger/test_trust.py::test_a_backup_that_was_killed_goes_with_the_next_one",
    "tests/ledger/test_trust.py::test_a_read_only_place_is_no_damage",
)
"""What fails by mutmut's own changes, or is about processes and disks and takes seconds."""
PATIENCE = 5
"""How many times as long as they took the tests may take: a change may go on and on."""
LEFT = ("survived", "no tests")
FOUND = ("killed", "timeout", "segfault")
PLUGIN = "tests.mutating.collecting"
MUTMUT = (sys.executable, "-m", "mutmut")


def settings(patterns: tuple[str, ...], tests: tuple[str, ...]) -> str:
    """The table of mutmut in pyproject.toml."""
    left_out = [f"--deselect={name}" for name in LEFT_OUT]
    arguments = ["-p", "no:cacheprovider", "-p", PLUGIN, "-m", "not packaging and not soak", *left_out]
    return (
        "\n[tool.mutmut]\n"
        'source_paths = ["src"]\n'
        f"only_mutate = {[f'src/turnwire/{pattern}' for pattern in patterns]}\n"
        f"also_copy = {list(BESIDE)}\n"
        f"pytest_add_cli_args = {arguments}\n"
        f"timeout_multiplier = {PATIENCE}\n"
        f"pytest_add_cli_args_test_selection = {list(tests)}\n"
    )


def laid_out(patterns: tuple[str, ...], tests: tuple[str, ...]) -> None:
    """Makes the tree anew: the files that git knows, the compiled core, and the settings."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, known.split("\0")):
        if (ROOT / name).exists():
            place = FOLDER / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place)
    for module in (ROOT / "src").rglob("*.so"):
        shutil.copy(module, FOLDER / module.relative_to(ROOT))
    (FOLDER / "mutants" / "src").mkdir(parents=True)  # Python remembers which folders of its path were not there
    with (FOLDER / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(settings(patterns, tests))


def asked(*arguments: str, pure: bool = False) -> str:
    """What mutmut writes; pure: of tests on the pure core. An exit code other than 0 is an error: it found the tests
    failing without a change."""
    environment = {
        **os.environ,
        "TURNWIRE_PURE": "1" if pure else "0",
        "PYTHONPATH": os.pathsep.join((str(FOLDER / "mutants" / "src"), str(FOLDER / "mutants"))),
        "HYPOTHESIS_PROFILE": "verdict",
    }
    done = subprocess.run(
        [*MUTMUT, *arguments], cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"mutmut {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def changed(name: str) -> tuple[str, str]:
    """The line that a change takes away and the one that it puts there instead."""
    lines = asked("show", name).splitlines()
    taken = [line[1:].strip() for line in lines if re.match(r"-(?!--)", line)]
    put = [line[1:].strip() for line in lines if re.match(r"\+(?!\+\+)", line)]
    return " ".join(taken), " ".join(put)


def states() -> dict[str, str]:
    """How each change ended: killed, timeout, segfault, survived, no tests, or otherwise where it was not tried."""
    found = re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", asked("results", "--all", "true"), re.MULTILINE)
    return {name: state.strip() for name, state in found}


def tried(target: str, digit: str, processes: int) -> tuple[int, list[str]]:
    """How many changes of a target were tried, and what was not found."""
    patterns, tests = TARGETS[target]
    laid_out(patterns, tests)
    asked("run", "--max-children", str(processes), f"turnwire.*__mutmut_*{digit}")
    left = [name for name, state in states().items() if state in LEFT and "._pure." in name]
    if left:
        (FOLDER / "mutants" / "mutmut-stats.json").unlink()  # other tests run a twin where it is the core
        asked("run", "--max-children", str(processes), *left, pure=True)
    ended = {name: state for name, state in states().items() if state != "not checked"}
    missed, same = [], 0
    odd = sorted({state for state in ended.values() if state not in (*LEFT, *FOUND)})
    if odd:
        raise RuntimeError(f"changes of {target} were neither found nor left, but: {', '.join(odd)}")
    for name, state in ended.items():
        if state in LEFT:
            before, after = changed(name)
            if is_same(name, before, after):
                same += 1
            else:
                missed.append(f"{state}: {name.partition('__mutmut_')[0]}: {before}  ->  {after}")
    return len(ended) - same, missed


def main() -> int:
    """Changes and counts; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default=",".join(TARGETS), help="targets, with commas between them")
    parser.add_argument("--digit", default="7", help="changes whose number ends with it; empty for all")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    total = lost = 0
    for target in options.only.split(","):
        count, missed = tried(target, options.digit, options.processes)
        print(f"{target}: {count - len(missed)} of {count} found", *missed, sep="\n    ", flush=True)
        total, lost = total + count, lost + len(missed)
    share = 1 - lost / max(1, total)
    print(f"{total - lost} of {total} found ({share:.0%})")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
