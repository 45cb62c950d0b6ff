"""Asks one core that has all faults, each behind a switch, what tells them: `make plant-all`.

    python -m tests.planting.switched [--number 500] [--seed 1] [--only csp/] [--seconds 120] [--tests 60]

Builds ``build/switched``, and ``build/watched``, which guides fuzzing for so many seconds to inputs that reach the
places of faults with values that tell them (``guiding.py``). Each fault is asked the inputs that reach it, those that
the suite tries in front; then the tests that are nearest to its header, the cheapest of them for so many CPU seconds.
An input that tells a fault of which nothing before it knew is made small and kept in ``tests/fuzz/corpus``, where the
suite tries it from then on. Prints what told each fault; one that nothing told is to be judged as for `make plant`,
which takes a few faults, and minutes for each, but asks all tests.
"""

from __future__ import annotations

import argparse
import mmap
import os
import pickle
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.seeds import keep, kept
from tests.planting.__main__ import LAST, nearest
from tests.planting.core import FOLDER, WATCHED_FOLDER, built, faults, made, planted
from tests.planting.faults import ROOT, Fault
from tests.planting.guiding import Reaching
from tests.planting.hunting import said
from tests.planting.judged import SAME
from tests.planting.switches import WATCHED

FEW, MANY = 12, 30
"""So many inputs that reach a fault are asked: the smallest of the suite, and any."""
MEMORY = 8 << 30
ENDED = "ends"
"""What is said of an input with which the process ends, or goes on and on."""


class Asked(NamedTuple):
    """An input of a target."""

    target: str
    data: bytes


class Found(NamedTuple):
    """What told a fault: ``how`` is "suite", "kept", "new", or "" where nothing did."""

    how: str
    asked: Asked | None = None
    ended: bool = False


def apart(work: Callable[[], bytes], seconds: float) -> bytes | None:
    """What work gives in a process of its own; None where that ends otherwise, or takes more CPU seconds."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(reading)
            limit = int(seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open(writing, "wb") as file, open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), 1)
                os.dup2(nothing.fileno(), 2)
                file.write(work())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as file:
        given = file.read()
    return given if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0 else None


class Asking:
    """The inputs that reach each fault; and what was kept meanwhile."""

    def __init__(self, collected: Iterable[Reaching]) -> None:
        self.suite: dict[int, list[Asked]] = {}
        self.more: dict[int, list[Asked]] = {}
        for one in sorted(collected, key=lambda one: len(one.data)):
            inputs = self.suite if one.of_suite else self.more
            for number in one.faults:
                inputs.setdefault(number, []).append(Asked(one.target, one.data))
        self.new: list[Asked] = []

    def found(self, number: int) -> Found:
        """What tells a fault, made small where it is new."""
        near = {asked.target for asked in self.more.get(number, ())}
        ways = {
            "suite": some(self.suite.get(number, []), number),
            "kept": [asked for asked in self.new if asked.target in near],
            "new": some(self.more.get(number, []), number),
        }
        for how, inputs in ways.items():
            asked, ended = first(number, inputs)
            if asked is not None and first(number, [asked])[0] is not None:  # and not by what was asked before it
                return Found(how, smaller(number, asked, ended) if how == "new" else asked, ended)
        return Found("")


def some(inputs: list[Asked], number: int) -> list[Asked]:
    """A few of the inputs: the smallest and, for each fault others, any."""
    inputs, chance = list(dict.fromkeys(inputs)), random.Random(number)
    return inputs[:FEW] + chance.sample(inputs[FEW:], min(MANY, max(0, len(inputs) - FEW)))


def tells(number: int, asked: Asked) -> bool:
    """Whether the core says something else of an input with a fault."""
    planted(0)
    sound = said(*asked)
    planted(number)
    return said(*asked) != sound


def first(number: int, inputs: Sequence[Asked], seconds: float = 3) -> tuple[Asked | None, bool]:
    """The first input that tells a fault, and whether the process ends with it."""
    if not inputs:
        return None, False
    with mmap.mmap(-1, 8) as memory:

        def work() -> bytes:
            for place, asked in enumerate(inputs):
                memory[:] = place.to_bytes(8, "little")
                if tells(number, asked):
                    return b"other"
                if time.process_time() > seconds:
                    break
            return b"same"

        given = apart(work, seconds)
        if given == b"same":
            return None, False
        return inputs[int.from_bytes(memory[:], "little")], given is None


def smaller(number: int, asked: Asked, ended: bool) -> Asked:
    """An input, without the pieces that the fault does not need: large ones where each try takes a process."""
    least = len(asked.data) // (8 if ended else 64)

    def less() -> bytes:
        data, size = asked.data, len(asked.data) // 2
        while size > least:
            place = 0
            while place < len(data):
                shorter = Asked(asked.target, data[:place] + data[place + size :])
                if first(number, [shorter], 1)[0] if ended else tells(number, shorter):
                    data = shorter.data
                else:
                    place += size
            size //= 2
        return data

    data = less() if ended else apart(less, 20)
    return asked if data is None else Asked(asked.target, data)


def drawn(numbers: set[int], number: int, seed: int, only: str) -> list[tuple[int, Fault]]:
    """So many of the faults that are in the core and were not judged."""
    every = [one for known in faults().values() for one in known if one[0] in numbers and only in str(one[1])]
    every = [one for one in every if (one[1].header, one[1].row) not in SAME]
    return random.Random(seed).sample(every, min(number, len(every)))


def by_inputs(asked: list[tuple[int, Fault]], asking: Asking, processes: int) -> list[tuple[int, Fault]]:
    """Asks inputs about each fault, several at a time; those that none told."""
    left, waiting = [], iter(asked)
    running: dict[int, tuple[tuple[int, Fault], int]] = {}
    while True:
        while len(running) < processes and (one := next(waiting, None)) is not None:
            reading, writing = os.pipe()
            process = os.fork()
            if process == 0:
                os.close(reading)
                with open(writing, "wb") as file:
                    file.write(pickle.dumps(asking.found(one[0])))
                os._exit(0)
            os.close(writing)
            running[process] = one, reading
        if not running:
            return left
        process, _ = os.wait()
        one, reading = running.pop(process)
        with open(reading, "rb") as file:
            found: Found = pickle.loads(file.read())
        if found.asked is None:
            left.append(one)
            continue
        if found.how == "new":
            asking.new.append(found.asked)
            keep(found.asked.target, [*kept(found.asked.target), found.asked.data])
        size = f"{found.asked.target}, {len(found.asked.data)} bytes{', ' + ENDED if found.ended else ''}"
        print(f"{found.how:8} {one[1]}  {size}", flush=True)


def by_tests(asked: list[tuple[int, Fault]], seconds: float, processes: int) -> list[tuple[int, Fault]]:
    """Asks the nearest tests about each fault, see ``nearest.py``; those that none told."""
    groups: dict[tuple[str, ...], list[tuple[int, Fault]]] = {}
    for one in asked:
        groups.setdefault((*nearest(one[1].header), *LAST), []).append(one)
    parts = [(tests, group[at::processes]) for tests, group in groups.items() for at in range(processes)]
    left, running = [], list[Running]()
    for place, (tests, part) in enumerate(sorted((one for one in parts if one[1]), key=lambda one: -len(one[1]))):
        if len(running) == processes:
            left += _told(running.pop(0))
        options = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "tests.planting.nearest"]
        command = [sys.executable, "-m", "pytest", *options, "-m", "not packaging and not soak", *tests]
        verdicts = FOLDER / f"verdicts-{place}"
        more = {
            "TURNWIRE_FAULTS": ",".join(str(number) for number, _ in part),
            "TURNWIRE_VERDICTS": str(verdicts),
            "TURNWIRE_SECONDS": str(seconds),
            "HYPOTHESIS_PROFILE": "ci",
        }
        process = subprocess.Popen(command, env={**os.environ, **more}, stdout=subprocess.PIPE, text=True)
        running.append(Running(process, verdicts, part))
    for one in running:
        left += _told(one)
    return left


class Running(NamedTuple):
    """Tests that run in a process of their own, once for each fault."""

    process: subprocess.Popen[str]
    verdicts: Path
    faults: list[tuple[int, Fault]]


def _told(running: Running) -> list[tuple[int, Fault]]:
    """Prints what the tests of a process told; the faults that they did not tell."""
    output, left = running.process.communicate()[0], []
    lines = running.verdicts.read_text("utf-8").splitlines() if running.verdicts.exists() else []
    verdicts = dict(line.split("\t") for line in lines)
    for number, fault in running.faults:
        if str(number) not in verdicts:
            raise RuntimeError(f"the tests of {fault.header} did not run: {output[-2000:]}")
        test = verdicts[str(number)]
        print(f"{'test' if test else 'SURVIVED':8} {fault}  {test}", flush=True)
        left += [] if test else [(number, fault)]
    return left


def collected(folder: Path, processes: int, seconds: float, seed: int) -> list[Reaching]:
    """What guided fuzzing finds in so many processes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(WATCHED_FOLDER / "site"), str(ROOT)])}
    files = [folder / f"collected-{number}" for number in range(processes)]
    running = []
    for number, file in enumerate(files):
        options = ["--seconds", str(seconds), "--seed", str(seed * processes + number)]
        command = [sys.executable, "-m", "tests.planting.guiding", str(file), *options]
        running.append(subprocess.Popen(command, cwd=ROOT, env={**environment, "TURNWIRE_PURE": "0"}))
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError("guided fuzzing failed")
    return [one for file in files for one in pickle.loads(file.read_bytes())]


def main() -> int:
    """Builds and asks; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose file, line and text have this in them")
    parser.add_argument("--seconds", type=float, default=120, help="CPU seconds of guided fuzzing, in each process")
    parser.add_argument("--tests", type=float, default=60, help="CPU seconds of the nearest tests; 0: none are asked")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--built", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.built:  # what asks imports the core that was built
        made(FOLDER)
        made(WATCHED_FOLDER, WATCHED)
        path = os.pathsep.join([str(FOLDER / "site"), str(ROOT)])
        command = [sys.executable, "-m", "tests.planting.switched", *sys.argv[1:], "--built"]
        environment = {**os.environ, "PYTHONPATH": path, "TURNWIRE_PURE": "0"}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    asked = drawn(built(FOLDER), options.number, options.seed, options.only)
    asking = Asking(collected(FOLDER, options.processes, options.seconds, options.seed))
    left = by_inputs(asked, asking, options.processes)
    print(f"{len(asked) - len(left)} of {len(asked)} told by inputs, of which {len(asking.new)} are new", flush=True)
    left = by_tests(left, options.tests, options.processes) if options.tests else left
    print(f"{len(asked) - len(left)} of {len(asked)} told ({1 - len(left) / max(1, len(asked)):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
