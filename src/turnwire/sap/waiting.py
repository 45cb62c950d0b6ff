"""The queue of an agent, by priority (telemetry.priority, section 4.1) with ageing, so that nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from heapq import heapify
from itertools import count
from typing import Any, TypeVar

from turnwire.sap.messages import Task
from turnwire.sap.spec import Priority

T = TypeVar("T")

ALLOWANCE: dict[str, int] = {
    Priority.URGENT.value: 0,
    Priority.HIGH.value: 16,
    Priority.NORMAL.value: 64,
    Priority.LOW.value: 256,
}
"""The number of later tasks that may go before one of this priority, at most: ageing, counted in tasks instead of
seconds."""

CANCEL_AGAIN = 1.0
"""Seconds after which a task that goes on is cancelled once more."""


def priority_of(task: Task) -> str:
    """telemetry.priority, else routingHints.priority, else normal."""
    telemetry = task.fields.get("telemetry", {})
    hints = task.fields["target"].get("routingHints", {})
    for said in (telemetry.get("priority"), hints.get("priority")):
        if isinstance(said, str) and said in ALLOWANCE:
            return said
    return Priority.NORMAL.value


class PriorityQueue(asyncio.PriorityQueue[tuple[int, int, T]]):
    """A queue, the next one first. One that came n tasks later goes first only if its allowance is n smaller."""

    _queue: list[tuple[int, int, T]]

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    def add(self, item: T, priority: str) -> None:
        """Adds one."""
        number = next(self._numbers)
        self.put_nowait((number + ALLOWANCE[priority], number, item))

    async def next(self) -> T:
        """Takes the next one; waits for it."""
        return (await self.get())[2]

    def remove(self, item: T) -> bool:
        """Takes one out of its turn; false where it was not there."""
        left = [entry for entry in self._queue if entry[2] is not item]
        found = len(left) < len(self._queue)
        self._queue[:] = left
        heapify(self._queue)
        return found


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits for their end; raises nothing of theirs.

    What a task waits for may swallow a cancellation: ``asyncio.wait_for`` of Python 3.11 does, when its result comes at
    the same moment.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN)
