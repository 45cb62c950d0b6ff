"""Asks one core that has all faults, each behind a switch, what tells them: `make plant-all`.

    python -m tests.planting.switched [--number 500] [--seed 1] [--only csp/] [--seconds 6] [--tests 60] [--processes 2]

Builds ``build/switched`` (a few faults that the compiler refuses are left out). Of each fault it asks first the inputs
of fuzzing that the suite tries (``tests/fuzz``), then what it has kept meanwhile, then mutants, for so
many CPU seconds; then the tests that are nearest to its header, the cheapest of them for so many CPU seconds. An input
that tells a fault of which nothing before it knew is made small and kept in ``tests/fuzz/corpus``, where the suite
tries it from then on. Prints what told each fault; one that nothing told is to be judged as for `make plant`, which
takes a few faults, and minutes for each, but asks all tests.
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
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.edits import MESSAGES, edits
from tests.fuzz.seeds import is_cheap, keep, kept, mutants, tried
from tests.fuzz.targets import TARGETS
from tests.planting.__main__ import FIRST, LAST, nearest
from tests.planting.core import FOLDER, faults, made, planted
from tests.planting.faults import ROOT, Fault
from tests.planting.hunting import DEAR, ordered, said
from tests.planting.judged import SAME

LONGEST = 1024
MEMORY = 8 << 30
ENDED = "ends"
"""What is said of an input with which the process ends, or goes on and on."""


class Asked(NamedTuple):
    """An input of a target, and what a sound core says of it."""

    target: str
    data: bytes
    said: bytes


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
    """All inputs, with what a sound core says; and what was kept meanwhile."""

    def __init__(self, seed: int, number: int, seconds: float) -> None:
        self.seconds = seconds
        self.suite = {name: self.asked(name, chain(tried(name), edited(name))) for name in TARGETS}
        self.more = {name: self.asked(name, _mutants(name, seed, number)) for name in TARGETS}
        self.new: list[Asked] = []

    @staticmethod
    def asked(name: str, inputs: Iterator[bytes]) -> list[Asked]:
        """The inputs of a target with what a sound core says."""
        data = list(dict.fromkeys(inputs))
        given = apart(lambda: b"".join(said(name, one) for one in data), 3600)
        if given is None:
            raise RuntimeError(f"{name} ends the process without a fault")
        size = len(given) // max(1, len(data))
        return [Asked(name, one, given[size * at : size * (at + 1)]) for at, one in enumerate(data)]

    def found(self, number: int, fault: Fault) -> Found:
        """What tells a fault, made small where it is new. Only targets that are near to its header are asked."""
        first = FIRST[Path(fault.header).parts[1]].split(",")
        near = [name for name in TARGETS if any(word in name for word in first)]
        chance = random.Random(number)  # for each fault other mutants come first
        ways = {
            "kept": iter(self.new),
            "suite": ordered({name: self.suite[name] for name in near}, ()),
            "new": ordered({name: chance.sample(self.more[name], len(self.more[name])) for name in near}, ()),
        }
        for how, inputs in ways.items():
            asked, ended = self.first(number, inputs, self.seconds if how == "new" else 60)
            if asked is not None:
                return Found(how, self.smaller(number, asked) if how == "new" else asked, ended)
        return Found("")

    def first(self, number: int, inputs: Iterable[Asked], seconds: float) -> tuple[Asked | None, bool]:
        """The first input that tells a fault, and whether the process ends with it."""
        inputs = list(inputs)
        with mmap.mmap(-1, 8) as memory:

            def work() -> bytes:
                planted(number)
                for place, asked in enumerate(inputs):
                    memory[:] = place.to_bytes(8, "little")
                    if said(asked.target, asked.data) != asked.said:
                        return b"other"
                    if time.process_time() > seconds:
                        break
                return b"same"

            given = apart(work, seconds + 10)
            if given == b"same":
                return None, False
            return inputs[int.from_bytes(memory[:], "little")], given is None

    def smaller(self, number: int, asked: Asked) -> Asked:
        """An input, without the pieces that the fault does not need."""
        size = len(asked.data) // 2
        while size >= 1:
            place = 0
            while place < len(asked.data):
                data = asked.data[:place] + asked.data[place + size :]
                (less,) = self.asked(asked.target, iter([data]))
                if self.first(number, [less], 5)[0] is not None:
                    asked = less
                else:
                    place += size
            size = size // 2 if size > len(asked.data) // 16 else 0
        return asked


def edited(name: str) -> Iterator[bytes]:
    """What ``tests/fuzz/test_edits.py`` tries of a target: single edits of messages, each alone."""
    for text in MESSAGES.get(name.partition("-")[2], ()) if name.startswith("decode") else ():
        yield from edits(text.encode(), 3)


def _mutants(name: str, seed: int, number: int) -> Iterator[bytes]:
    number = 8 * number if is_cheap(name) else number // 5 if name in DEAR else number
    return mutants(name, number, str(seed), LONGEST)


def drawn(built: set[int], number: int, seed: int, only: str) -> list[tuple[int, Fault]]:
    """So many of the faults that are in the core and were not judged."""
    every = [one for known in faults().values() for one in known if one[0] in built and only in str(one[1])]
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
                    file.write(pickle.dumps(asking.found(*one)))
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


def main() -> int:
    """Builds and asks; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose file, line and text have this in them")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--tests", type=float, default=60, help="CPU seconds of the nearest tests; 0: none are asked")
    parser.add_argument(
        "--inputs", type=int, default=300, help="mutants of each target, of cheap ones eight times as many"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--built", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.built is None:  # what asks imports the core that was built
        built = ",".join(map(str, sorted(made(FOLDER))))
        (FOLDER / "built").write_text(built, "ascii")
        path = os.pathsep.join([str(FOLDER / "site"), str(ROOT)])
        command = [sys.executable, "-m", "tests.planting.switched", *sys.argv[1:], "--built", str(FOLDER / "built")]
        environment = {**os.environ, "PYTHONPATH": path, "TURNWIRE_PURE": "0"}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    numbers = set(map(int, Path(options.built).read_text("ascii").split(",")))
    asked = drawn(numbers, options.number, options.seed, options.only)
    asking = Asking(options.seed, options.inputs, options.seconds)
    left = by_inputs(asked, asking, options.processes)
    print(f"{len(asked) - len(left)} of {len(asked)} told by inputs, of which {len(asking.new)} are new", flush=True)
    left = by_tests(left, options.tests, options.processes) if options.tests else left
    print(f"{len(asked) - len(left)} of {len(asked)} told ({1 - len(left) / max(1, len(asked)):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
