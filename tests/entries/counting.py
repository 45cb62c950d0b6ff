"""What stays behind after many rounds of a call: objects and references that nobody gives back."""

from __future__ import annotations

import gc
import sys
from array import array

from tests.entries.found import Call

SHARED = (None, True, False, 0, 1, "", b"", (), int, str, bytes, dict, list, tuple)
"""What everybody has references to: a lost one makes no new object."""
ALLOWED = 0.5
"""A round: a leak is one or more, what fills a cache ends."""
TOTAL = getattr(sys, "gettotalrefcount", None)
"""A debug interpreter counts every reference there is."""


def counts() -> list[int]:
    """The numbers that must not grow."""
    if TOTAL is not None:
        return [TOTAL(), sys.getallocatedblocks()]
    return [sys.getallocatedblocks(), *map(sys.getrefcount, SHARED)]


def quietly(call: Call) -> None:
    """A call whose result and refusal are thrown away."""
    try:
        call()
    except Exception:
        return


def growth(call: Call, rounds: int) -> float:
    """The most that any of the numbers grew (or fell) in a round. Whole numbers are leaks, fractions are caches."""
    for _ in range(20):
        quietly(call)
    seen = array("q", [0] * (1 + len(SHARED)))
    gc.collect()
    gc.freeze()  # what is there by now need not be looked through again: the next collection is about the rounds
    for place, number in enumerate(counts()):
        seen[place] = number
    for _ in range(rounds):
        quietly(call)
    gc.collect()
    most = 0
    for place, number in enumerate(counts()):
        grown = number - seen[place]
        most = max(most, grown if TOTAL is not None else abs(grown))  # NumPy's own are taken uncounted: a fall is its
    return most / rounds


def main(rounds: int) -> int:
    """Goes so many rounds of each entry, its calls in turn; prints what grew. The exit code."""
    from tests.entries.work import calls

    bad, seen = 0, dict[int, float]()
    for name, made in calls().items():
        each = max(50, rounds // len(made))
        for number, call in enumerate(made):
            if id(call) not in seen:  # what runs several entries runs once
                seen[id(call)] = growth(call, each)
            if seen[id(call)] > ALLOWED:
                bad += 1
                print(f"{name}, call {number}: {seen[id(call)]:.3f} in each of {each} rounds", flush=True)
    how = "all references" if TOTAL is not None else "blocks and shared references"
    print(f"{len(calls())} entries, {len(seen)} calls, {rounds} rounds each ({how}): {bad} grow")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
