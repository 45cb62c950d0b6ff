"""CSP/1 bulk scan against memchr and str.splitlines, in one process; minimum of short slices, as machines are noisy.

Run: python benchmarks/bench_csp.py [megabytes]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import numpy as np

from turnwire import _backend
from turnwire.csp import spec

WORDS = ["find", "auth", "middleware", "refactor", "session", "token", "store", "cache", "lib", "tests", "jwt"]


def generate(size: int, seed: int = 1) -> bytes:
    """A log of all common blocks, a tenth of it file operations with heredocs."""
    rng = random.Random(seed)
    parts: list[str] = []
    total = number = 0
    while total < size:
        number += 1
        words = " ".join(rng.choices(WORDS, k=6))
        diff = "".join(f"+{words}\n" for _ in range(rng.randrange(2, 15)))
        intent, block = rng.choices(
            [
                ("TASK", f"TASK T{number}\nREQ {words}\nIN SRC,LIB\nOUT FILE_REFS\nOWNER CODE_EXP\nPRIORITY P1\n"),
                (
                    "RESULT",
                    f"RESULT T{number}\nSTATUS OK\nPRODUCED R_{number}\nDATA src/auth.ts:24-67;lib/jwt.ts:12-45\n",
                ),
                ("ERROR", f"ERROR E{number}\nAT T{number}\nCAUSE {words}\nNEXT {words}\n"),
                ("PATCH", f"PATCH P{number}\nBASE C{number}\n+ DEF NEW = {words}\n- DEF OLD\nAPPLY -> C{number + 1}\n"),
                ("FILE", f"FILEOP F{number} PATCH\nPATH src/f.ts\nBASE abc\nCONTENT\n<<<\n@@ -1 +1 @@\n{diff}>>>\n"),
            ],
            [35, 35, 10, 10, 10],
        )[0]
        parts.append(f"CSP/1\nFROM MAIN\nTO CODE_EXP\nCTX C{number // 10}\nINTENT {intent}\n\n{block}\n")
        total += len(parts[-1])
    return "".join(parts).encode()


def least(action: Callable[[int, int], object], cuts: list[tuple[int, int]], rounds: int) -> float:
    """Seconds for all slices, each at its fastest."""
    best = [float("inf")] * len(cuts)
    for _ in range(rounds):
        for place, (start, stop) in enumerate(cuts):
            began = time.perf_counter()
            action(start, stop)
            best[place] = min(best[place], time.perf_counter() - began)
    return sum(best)


def main(megabytes: int) -> None:
    data = generate(min(megabytes, 8) << 20)
    data *= max(1, (megabytes << 20) // len(data))
    core = _backend.load("csp")
    widths = ((1 << 16, spec.ROW_WIDTH), (1 << 17, spec.EXTRA_WIDTH), (1 << 12, spec.REJECT_WIDTH))
    tables = [np.zeros(shape, np.int32) for shape in widths]
    cuts = []
    place = 0
    while place < len(data):
        stop = data.rfind(b"\nCSP/1\n", place, place + (1 << 18)) + 1 if place + (1 << 18) < len(data) else len(data)
        cuts.append((place, stop))
        place = stop
    records = data.count(b"\nCSP/1\n") + 1

    def scan(start: int, stop: int) -> None:
        core.scan_into(data, start, stop, True, core.NO_LIMIT, np.zeros(spec.STATE_WIDTH, np.int64), *tables)

    def lines(start: int, stop: int) -> None:
        for line in data[start:stop].decode().splitlines():
            line.partition(" ")

    ours = least(scan, cuts, 7)
    memchr = least(lambda start, stop: data.find(b"\xff", start, stop), cuts, 7)
    python = least(lines, cuts[:8], 2) * len(cuts) / len(cuts[:8])
    print(f"{_backend.NAME}: {len(data) >> 20} MB, {records} messages, {data.count(10)} lines")
    print(f"scan      {len(data) / ours / 1e9:6.2f} GB/s  {ours / records * 1e9:6.0f} ns a message")
    print(f"memchr    {len(data) / memchr / 1e9:6.2f} GB/s  the scan runs at {100 * memchr / ours:.1f} % of it")
    print(f"splitlines + partition: {python / ours:.0f} times slower than the scan")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
