"""The queue of an agent: by priority (telemetry.priority, section 4.1), and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from turnwire.sap.messages import Task
from turnwire.sap.spec import Priority

T = TypeVar("T")

ALLOWANCE: dict[str, int] = {
    Priority.URGENT.value: 0,
    Priority.HIGH.value: 16,
    Priority.NORMAL.value: 64,
    Priority.LOW.value: 256,
}
"""How many later tasks may go before one of this priority, at most: ageing, counted in tasks instead of seconds."""


def priority_of(task: Task) -> str:
    """telemetry.priority, else routingHints.priority, else normal."""
    telemetry = task.fields.get("telemetry", {})
    hints = task.fields["target"].get("routingHints", {})
    for said in (telemetry.get("priority"), hints.get("priority")):
        if isinstance(said, str) and said in ALLOWANCE:
            return said
    return Priority.NORMAL.value


class WaitingLine(Generic[T]):
    """What waits, the next one first. One that came n tasks later goes first only if its allowance is n smaller."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._numbers = count()
        self._takers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, item: T, priority: str) -> None:
        """Adds one."""
        number = next(self._numbers)
        heappush(self._heap, (number + ALLOWANCE[priority], number, item))
        self._wake()

    async def get(self) -> T:
        """Takes the next one; waits for it."""
        while not self._heap:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.cancelled():
                    self._takers.remove(taker)
                elif self._heap:  # it was woken for what somebody else has to take now
                    self._wake()
                raise
        return heappop(self._heap)[2]

    def _wake(self) -> None:
        """Wakes one of those who wait: one thing came."""
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def take(self, item: T) -> bool:
        """Takes one out of its turn; whether it was there."""
        for place, (_, _, waiting) in enumerate(self._heap):
            if waiting is item:
                self._heap[place] = self._heap[-1]
                self._heap.pop()
                heapify(self._heap)
                return True
        return False

    def take_all(self) -> list[T]:
        """Takes all that wait, in no order."""
        items = [item for _, _, item in self._heap]
        self._heap.clear()
        return items


async def one_of(first: asyncio.Future[Any], *others: asyncio.Future[Any] | None, seconds: float | None = None) -> Any:
    """What ``first`` gets; None, which it then has, when one of the others is done before, or the time is over."""

    def wake(_: Any = None) -> None:
        if not first.done():
            first.set_result(None)

    timer = None if seconds is None else asyncio.get_running_loop().call_later(max(0.0, seconds), wake)
    for other in others:
        if other is not None:
            other.add_done_callback(wake)
    try:
        return await first
    finally:
        if timer is not None:
            timer.cancel()
        for other in others:
            if other is not None:
                other.remove_done_callback(wake)


async def until(*futures: asyncio.Future[Any], seconds: float | None = None) -> None:
    """Waits until one of the futures is done, or the time is over; cancels none of them, raises nothing of theirs."""
    await one_of(asyncio.get_running_loop().create_future(), *futures, seconds=seconds)


CANCEL_AGAIN = 1.0
"""Seconds after which a task that goes on is cancelled once more."""


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


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine gives. Raises TimeoutError when it takes longer; where it need not wait no timer is set."""
    try:
        waited_for = work.send(None)
    except StopIteration as end:
        made: T = end.value
        return made
    async with asyncio.timeout(seconds):
        return await _Begun(work, waited_for)


class _Begun(Generic[T]):
    """A coroutine that has come to its first wait; to await it is to go on with it."""

    def __init__(self, work: Coroutine[Any, Any, T], waited_for: Any) -> None:
        self._work = work
        self._waited_for = waited_for

    def __await__(self) -> Generator[Any, Any, T]:
        waited_for = self._waited_for
        while True:
            error: BaseException | None = None
            try:
                yield waited_for
            except BaseException as raised:
                error = raised
            try:
                waited_for = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                made: T = end.value
                return made
