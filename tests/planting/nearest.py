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


def _sound(items: list[pytest.Item], seconds: float) -> list[pytest.Item]:
    """The tests that pass without a fault in this order: one may ask for others before it."""
    while True:
        given = apart(lambda items=items: _failed(items, 0), seconds)  # type: ignore[misc]
        if given is None:
            raise RuntimeError("without a fault the tests do not end in the order of cost")
        if not given:
            return items
        print(f"left out: {given.decode()} fails without a fault in the order of cost")
        items = [item for item in items if item.nodeid != given.decode()]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """In place of running the tests once."""
    items, total = _cheapest(session.items, float(os.environ["TURNWIRE_SECONDS"]))
    items = _sound(items, 3 * total + 20)
    with Path(os.environ["TURNWIRE_VERDICTS"]).open("w", encoding="utf-8") as file:
        for number in map(int, os.environ["TURNWIRE_FAULTS"].split(",")):
            given = apart(lambda number=number: _failed(items, number), 3 * total + 20)  # type: ignore[misc]
            print(number, ENDED if given is None else given.decode(), sep="\t", file=file)
    return True
