"""What stays behind after many rounds of a call: objects, references and memory of C that nobody gives back."""

from __future__ import annotations

import ctypes
import gc
import sys
from array import array
from collections.abc import Callable

from tests.entries.found import Call

SHARED = (None, True, False, 0, 1, "", b"", (), int, str, bytes, dict, list, tuple)
"""What everybody has references to: a lost one makes no new object."""
ALLOWED = 0.5
"""A round: a leak is one or more, what fills a cache ends."""
TOTAL = getattr(sys, "gettotalrefcount", None)
"""A debug interpreter counts every reference there is."""
LEAST = 32
"""Bytes that malloc takes at least for what nobody gives back."""


class _Heap(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")),
        *((name, ctypes.c_size_t) for name in ("uordblks", "fordblks", "keepcost")),
    ]


def _heap() -> Callable[[], _Heap] | None:
    """What says how much malloc has given out; None where the C library has no such function."""
    try:
        asked = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return None
    asked.restype = _Heap
    found: Callable[[], _Heap] = asked
    return found


HEAP = _heap()


def counts() -> list[int]:
    """The numbers that must not grow."""
    if TOTAL is not None:
        return [TOTAL(), sys.getallocatedblocks()]
    return [sys.getallocatedblocks(), *map(sys.getrefcount, SHARED), heap() // LEAST]


def heap() -> int:
    """Bytes that malloc has given out, in all its arenas and as mappings, 0 where nothing says so: the memory of C, and
    of objects of more than 512 bytes."""
    if HEAP is None:
        return 0
    found = HEAP()
    return int(found.uordblks + found.hblkhd)


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
    seen = array("q", [0] * len(counts()))
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


def kept_blocks(call: Call, rounds: int) -> bool:
    """Whether memory stays behind."""
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(rounds):
        quietly(call)
    gc.collect()
    return (sys.getallocatedblocks() - before) / rounds > ALLOWED


def rose(call: Call, rounds: int = 50) -> list[str]:
    """Objects to which more and more references are, of all that the collector knows and what those refer to.

    Asked where a debug interpreter's total grows: NumPy is compiled for the usual interpreter, gives references back
    that the total counted as taken, and takes some that it did not count. So a total alone is no leak."""
    quietly(call)
    gc.collect()
    known = {id(one): one for one in gc.get_objects()}
    known |= {id(one): one for one in gc.get_referents(*known.values())} | {id(one): one for one in SHARED}
    objects = [one for one in known.values() if type(one) is not dict]
    del known
    before = array("q", map(sys.getrefcount, objects))
    for _ in range(rounds):
        quietly(call)
    gc.collect()
    after = array("q", map(sys.getrefcount, objects))
    return [
        f"{type(one).__name__} {ascii(one)[:60]}"
        for one, first, last in zip(objects, before, after, strict=True)
        if last - first > ALLOWED * rounds and one is not before
    ]


def main(rounds: int, names: tuple[str, ...] = ()) -> int:
    """Goes so many rounds of each entry (or of these alone), its calls in turn; prints what grew. The exit code."""
    from tests.entries.work import calls

    bad, seen = 0, dict[int, float]()
    for name, made in calls().items():
        if names and not name.startswith(names):
            continue
        each = max(50, rounds // len(made))
        for number, call in enumerate(made):
            if id(call) not in seen:  # what runs several entries runs once
                seen[id(call)] = growth(call, each)
            if seen[id(call)] > ALLOWED:
                if TOTAL is not None and not kept_blocks(call, each) and not rose(call):
                    print(
                        f"{name}, call {number}: the total grows by {seen[id(call)]:.1f} a round, but no object's count"
                    )
                    continue
                bad += 1
                print(f"{name}, call {number}: {seen[id(call)]:.3f} in each of {each} rounds", flush=True)
    how = "all references" if TOTAL is not None else "blocks and shared references"
    print(
        f"{len(calls()) if not names else 'some'} entries, {len(seen)} calls, {rounds} rounds each ({how}): {bad} grow"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), tuple(sys.argv[2:])))
