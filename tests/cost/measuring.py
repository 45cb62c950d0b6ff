"""How cost is measured: CPU seconds of this thread, the best of several, more often where a bound is not met at once.

Seconds of a processor are noisy on a busy machine, but in one direction only: nothing makes code faster than it is. So
the best of a few runs is what counts, a bound that is met once holds, and one that is not is tried again, all sizes in
turn, before it fails. What is quadratic fails at any number of tries: the fourfold input costs 16 times as much, and
the bound stands at 5.76. Instructions would repeat exactly, but counting them takes a tool that a test cannot expect.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import sleep, thread_time
from typing import Any, NamedTuple

DOUBLING = 2.4
"""Twice the input may cost so many times as much."""
TIMES = 20
"""A byte of any input may cost so many times what one of good input costs."""
LEAST = 0.001
"""CPU seconds that the smallest input should take beyond a call: less would measure the call, and the clock."""
SOONER = 0.0004
"""The same where a few units are tried at each change. A clock of nanoseconds tells that, too; a table of thousands of
rows, as ``-m soak`` has, would meet a figure that is wrong by chance."""
LONG = 0.005
"""CPU seconds of a run that is measured well in two tries: a shorter one is tried six times."""
START, MOST = 128, 1 << 15
"""Bytes of the smallest input tried, and of the largest smallest one."""
PAUSES = (0, 0, 0, 0, 0, 0.1, 0.5, 2.0)
"""Seconds to wait before each further try of a bound, until it counts as broken: what slows a machine for a moment (a
neighbour that takes its caches) ends meanwhile."""
STEPS = 2
"""How often growth that is too steep is looked for again, at twice the size: where the caches of a processor end and
memory is asked for anew is a step, not growth, and what does grow too fast does so at any size."""

Run = Callable[[bytes], Any]
Make = Callable[[int], bytes]


class Cost(NamedTuple):
    """CPU seconds for inputs of n and 4n bytes, and how many bytes these really have."""

    seconds: list[float]
    sizes: list[int]

    @property
    def a_byte(self) -> float:
        """CPU seconds that each further byte takes: what a call costs is left out."""
        return (self.seconds[1] - self.seconds[0]) / (self.sizes[1] - self.sizes[0])

    @property
    def grows_straight(self) -> bool:
        """Whether two doublings cost no more than the bound allows. They are taken together: a step between two sizes,
        where memory is first asked for, is not growth."""
        return self.seconds[1] <= DOUBLING**2 * self.seconds[0]


def seconds(run: Run, data: bytes) -> float:
    """CPU seconds of one run in this thread."""
    before = thread_time()
    run(data)
    return thread_time() - before


def measured(
    run: Run, make: Make, good: Callable[[Cost], bool] | None = None, least: float = LEAST, most: int = MOST
) -> Cost:
    """What an entry costs; measured again until it is ``good``, or often enough, which None means. The garbage
    collector is off: what it costs depends on all the objects of all other tests."""
    on = gc.isenabled()
    gc.disable()
    try:
        size = START
        while len(make(2 * size)) == len(make(size)):  # one unit is longer
            size *= 2
        call = _best(run, make(size))  # nearly all of that is what a call costs
        size *= 2
        best = float("inf")
        while size < most and (best := _best(run, make(size), call + least)) < call + least:
            size, best = min(size * _times(best - call, least), most), float("inf")
        cost = _tried(run, make, good, size, best)
        for _ in range(STEPS):
            if cost.grows_straight:
                break
            size *= 2
            cost = _tried(run, make, good, size)
        return cost
    finally:
        if on:
            gc.enable()


def is_bounded(few: Callable[[], float], many: Callable[[], float], times: float, more: float) -> bool:
    """Whether the larger of two measurements, in seconds, is at most ``times`` the smaller one and ``more``. Both are
    taken in turn, so that a busy machine makes both slow, and the best of each counts, of as many as it takes. They are
    of ``thread_time``: the time of a process goes in steps of 4 ms where it is limited."""
    least = min(few(), few())  # the first does what is done once
    most = float("inf")
    for pause in PAUSES:
        sleep(pause)
        least, most = min(least, few()), min(most, many())
        if most < times * least + more:
            return True
    return False


def _times(taken: float, least: float) -> int:
    """By how much the next input is larger, so that it takes at most twice ``least`` where cost is linear."""
    return next(times for times in (8, 4, 2) if times == 2 or taken * times <= 2 * least)


def _best(run: Run, data: bytes, enough: float = 0.0) -> float:
    """The better of two runs. The first one alone where it is below what would be ``enough``: the second one could only
    make that less."""
    first = seconds(run, data)
    return first if first < enough else min(first, seconds(run, data))


def _tried(
    run: Run, make: Make, good: Callable[[Cost], bool] | None, size: int, smallest: float = float("inf")
) -> Cost:
    """The best of several runs of both inputs. smallest: what the first of them was seen to take."""
    inputs = [make(size * times) for times in (1, 4)]
    sizes = [len(data) for data in inputs]
    known = smallest < float("inf")
    best = [smallest if known and not place else seconds(run, data) for place, data in enumerate(inputs)]
    for pause in PAUSES if good else PAUSES[: 5 if best[0] < LONG else 1]:
        cost = Cost(best, sizes)
        if good and cost.grows_straight and good(cost):
            break
        sleep(pause)
        best = [min(before, seconds(run, data)) for before, data in zip(best, inputs, strict=True)]
    return Cost(best, sizes)
