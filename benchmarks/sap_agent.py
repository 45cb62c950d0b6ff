"""Tasks a second through one agent on the bus, with transcript and cache, in one process on SQLite.

python benchmarks/sap_agent.py [tasks] [at a time]

The durability is named with each figure: FULL is an fsync for each group commit, NORMAL leaves that to the system.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from turnwire import sap
from turnwire.ledger import Ledger

CHECKS = [{"principle": "speed", "status": "PASS"}]


async def measure(folder: Path, durability: str, tasks: int, together: int, **context: Any) -> tuple[float, float]:
    """(tasks a second, median latency in milliseconds) of a handler that does nothing."""
    transcript = Ledger(folder / "transcript", synchronous=durability)
    cache = sap.Cache(Ledger(folder / "cache", synchronous=durability))
    agent = sap.Agent("B", transcript=transcript, cache=cache, workers=together, queue=together)

    @agent.capability("work.nothing")
    async def nothing(task: sap.Task, _context: sap.Context) -> sap.Outcome:
        return sap.Outcome(task.payload, alignment=sap.Alignment.VALID, policy_checks=CHECKS)

    bus = sap.Bus(transcript)
    bus.register(agent)
    made = [
        bus.task("work.nothing", {"n": n}, issuer="A", context={"pressureLevel": "instant"}, **context)
        for n in range(tasks)
    ]
    coming = iter(made)
    latencies: list[float] = []

    async def client() -> None:
        for task in coming:
            start = perf_counter()
            result = await bus.call(task)
            latencies.append(perf_counter() - start)
            assert result.status == "SUCCEEDED"

    async with bus:
        start = perf_counter()
        await asyncio.gather(*(client() for _ in range(together)))
        seconds = perf_counter() - start
    return tasks / seconds, median(latencies) * 1000


def main() -> None:
    """Prints a table."""
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    together = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    print(f"{tasks} tasks, {together} at a time")
    print("| durability | cache | tasks/s | median ms |\n|---|---|---|---|")
    for durability in ("NORMAL", "FULL"):
        for mode in ("bypass", "prefer"):
            with tempfile.TemporaryDirectory() as name:
                rate, latency = asyncio.run(measure(Path(name), durability, tasks, together, cache=mode))
            print(f"| {durability} | {mode} | {rate:,.0f} | {latency:.1f} |")


if __name__ == "__main__":
    main()
