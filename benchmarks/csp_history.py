"""A long history of patches: linear apply, any point as near as any other, a flipped byte located.

Run: python benchmarks/csp_history.py [patches]      (100,000 by default)
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from turnwire import csp


def patch(number: int, rng: random.Random) -> csp.CspMessage:
    """Patch ``number``: a new name, a changed one, and now and then one that goes."""
    ops: list[tuple[str, str, str | None]] = [("+", f"N{number}", f"value {rng.randrange(1000)}")]
    if number > 100:
        ops.append(("~", f"N{rng.randrange(number // 2, number)}", "changed"))
    if number % 3 == 0:
        ops.append(("-", f"N{number // 3}", None))
    return csp.message("MAIN", "ALL", f"C{number - 1}", csp.Patch(f"P{number}", f"C{number - 1}", ops, f"C{number}"))


def seconds(work: Callable[[], object], rounds: int = 7) -> float:
    """The fastest of some runs."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def apply_all(patches: int) -> tuple[csp.Store, list[float]]:
    """The store after all patches, and the seconds that each tenth of them took."""
    rng = random.Random(1)
    store = csp.Store()
    messages = [patch(number, rng) for number in range(1, patches + 1)]
    tenths = []
    step = patches // 10
    for start in range(0, patches, step):
        began = time.perf_counter()
        for message in messages[start : start + step]:
            store.apply(message)
        tenths.append(time.perf_counter() - began)
    return store, tenths


def read_at(store: csp.Store, near: int) -> Callable[[], Any]:
    """Reads a state of the history: the checkpoint and one of its names."""
    name, key = f"C{near}", f"N{near}"

    def read() -> None:
        for _ in range(1000):
            store.at(name).defs[key]

    return read


def main(patches: int) -> None:
    """Prints the figures."""
    store, tenths = apply_all(patches)
    print(f"apply: {patches:,} patches in {sum(tenths):.1f} s")
    print(f"  first tenth {tenths[0]:.2f} s, last tenth {tenths[-1]:.2f} s: {tenths[-1] / tenths[0]:.2f} times as long")
    early, late = min(1000, patches // 10), patches
    first, last = seconds(read_at(store, early)), seconds(read_at(store, late))
    print(f"at(C{early}) and a name: {first * 1e6:.0f} ns")
    print(f"at(C{late}) and a name: {last * 1e6:.0f} ns, {last / first:.2f} times as long")
    print(f"verify: {seconds(lambda: store.verify().ok or sys.exit('not proved'), 1):.1f} s, all of it proved")
    dump = store.dump()
    rng = random.Random(2)
    for place in (rng.randrange(len(dump)) for _ in range(3)):
        damaged = dump[:place] + bytes([dump[place] ^ 1 << rng.randrange(8)]) + dump[place + 1 :]
        began = time.perf_counter()
        verdict = csp.verify_dump(damaged)
        line = f"line {1 + dump.count(10, 0, place)}"
        found = "found and located" if not verdict and verdict.place == line else f"MISSED ({verdict.place})"
        print(f"a bit flipped at byte {place:,} ({line}): {found} in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
