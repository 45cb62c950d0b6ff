"""A plugin of pytest: runs what was collected once for each planted fault, in a process of its own, up to the first
test that fails. Used by ``switched.py``, with the core that has all faults behind switches.

TURNWIRE_FAULTS has the numbers of faults, with commas between them; to the file TURNWIRE_VERDICTS goes each with the
test that found it, a line for each. The tests run in the order of what they cost without a fault, as far as the
cheapest of them go in TURNWIRE_SECONDS.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.planting.core import planted
from tests.planting.switched import ENDED, apart


def _failed(items: list[pytest.Item], number: int) -> bytes:
    """The first test that fails with a fault."""
    planted(number)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return item.nodeid.encode()
    return b""


def _costs(items: list[pytest.Item]) -> list[float]:
    """CPU seconds of each test without a fault."""
    costs = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        before = time.process_time()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        costs.append(time.process_time() - before)
        if item.session.testsfailed:
            raise RuntimeError(f"without a fault {item.nodeid} fails")
    return costs


def _cheapest(items: list[pytest.Item], seconds: float) -> tuple[list[pytest.Item], float]:
    """The cheapest tests in the order of their cost, as far as the seconds go, and how many those are."""
    given = apart(lambda: ",".join(map(str, _costs(items))).encode(), 3600)
    if given is None:
        raise RuntimeError("without a fault a test fails")
    order = sorted(zip(map(float, given.decode().split(",")), range(len(items)), strict=True))
    chosen, total = [], 0.0
    for cost, place in order:
        if (total := total + cost) > seconds:
            break
        chosen.append(items[place])
    return chosen, total


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """In place of running the tests once."""
    items, total = _cheapest(session.items, float(os.environ["TURNWIRE_SECONDS"]))
    found = apart(lambda: _failed(items, 0), 3 * total + 20)
    if found != b"":
        raise RuntimeError(f"without a fault {(found or b'a test').decode()} fails in the order of cost")
    with Path(os.environ["TURNWIRE_VERDICTS"]).open("w", encoding="utf-8") as file:
        for number in map(int, os.environ["TURNWIRE_FAULTS"].split(",")):
            given = apart(lambda number=number: _failed(items, number), 3 * total + 20)  # type: ignore[misc]
            print(number, ENDED if given is None else given.decode(), sep="\t", file=file)
    return True
