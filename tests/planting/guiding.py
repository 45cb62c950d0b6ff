"""Collects inputs of fuzzing that reach the places of planted faults with values of which these would make something
else, guided by the core that notes it (``watched.py``). `make plant-all` asks each fault those that reach it.

    python -m tests.planting.guiding FILE [--seconds 300] [--seed 1]
"""

from __future__ import annotations

import argparse
import ctypes
import pickle
import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

import turnwire
from tests.fuzz.edits import MESSAGES, edits
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import pool, tried, words
from tests.fuzz.targets import TARGETS
from tests.planting.core import LIBRARY, WATCHED_FOLDER, built
from tests.planting.switches import NOTES, TOLD

ENOUGH = 8
"""So many inputs that reach a fault are collected, those of the suite before others."""
LONGEST, SELDOM = 4096, 20_000
"""Bytes of most mutants, and of one in twenty."""
MORE = {"scan": 3}
"""How many times as much is tried of targets with this in their name: what they reach is the most."""


class Reaching(NamedTuple):
    """An input of a target, whether the suite tries it, and the numbers of the faults that it reaches."""

    target: str
    data: bytes
    of_suite: bool
    faults: list[int]


class Guide:
    """Runs inputs and keeps those that reach what few have reached."""

    def __init__(self, size: int) -> None:
        library = ctypes.CDLL(str(WATCHED_FOLDER / LIBRARY))
        place = ctypes.c_void_p.in_dll(library, NOTES).value
        self.notes = np.frombuffer((ctypes.c_ubyte * size).from_address(place or 0), np.uint8)
        self.reached = np.zeros(size, np.int64)
        self.found: list[Reaching] = []

    def run(self, target: str, data: bytes, of_suite: bool) -> tuple[bool, bool]:
        """Whether an input is kept, and whether it reaches what none did before."""
        self.notes[:] = 0
        with suppress(turnwire.WireError):
            TARGETS[target](turnwire, data)
        here = np.flatnonzero(self.notes & TOLD)
        before = self.reached[here]
        if not (before < ENOUGH).any():
            return False, False
        self.reached[here] += 1
        self.found.append(Reaching(target, data, of_suite, here.tolist()))
        return True, bool((before == 0).any())


def edited(name: str) -> Iterator[bytes]:
    """What ``tests/fuzz/test_edits.py`` tries of a target: single edits of messages, each alone."""
    for text in MESSAGES.get(name.partition("-")[2], ()) if name.startswith("decode") else ():
        yield from edits(text.encode(), 3)


def collected(seconds: float, seed: int, size: int) -> list[Reaching]:
    """What the suite tries, as far as it reaches something, and then mutants for so many CPU seconds."""
    guide, chance, known = Guide(size), random.Random(seed), words()
    for name in TARGETS:
        for data in chain(tried(name), edited(name)):
            guide.run(name, data, of_suite=True)
    print(f"{np.count_nonzero(guide.reached)} faults are reached by what the suite tries", flush=True)
    pools = {name: pool(name) for name in TARGETS}
    spent = dict.fromkeys(TARGETS, 0.0)
    until = time.process_time() + seconds
    while time.process_time() < until:
        name = min(spent, key=spent.__getitem__)
        before = time.process_time()
        for _ in range(20):
            longest = LONGEST if chance.random() < 0.95 else SELDOM
            data = mutated(pools[name], known, chance)[:longest]
            kept, first = guide.run(name, data, of_suite=False)
            pools[name] += [data] * (5 if first else kept)
        share = next((times for word, times in MORE.items() if word in name), 1)
        spent[name] += (time.process_time() - before) / share
    print(f"{np.count_nonzero(guide.reached)} with mutants", flush=True)
    return guide.found


def main() -> int:
    """Collects, and writes what was collected; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.file.write_bytes(pickle.dumps(collected(options.seconds, options.seed, 1 + max(built(WATCHED_FOLDER)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
