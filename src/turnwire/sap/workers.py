"""Those who work on the accepted tasks of an agent, and the line in which the tasks wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from turnwire.sap.execution import Execution, seconds_to_deadline
from turnwire.sap.jobs import Job
from turnwire.sap.messages import Result
from turnwire.sap.receipts import Frozen
from turnwire.sap.waiting import WaitingLine, cancel_and_wait, priority_of

Finish = Callable[[Job, "Result | Frozen | str"], Coroutine[Any, Any, None]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Workers:
    """A number of workers on one line of bounded length.

    Args:
        number: how many jobs are worked on at a time. places: how many may wait.
        finish: fixes the Result of a job and sends it. spawn: does something that no caller's cancellation reaches.

    Attributes:
        free: places in the line; one is taken while a task is being admitted.
    """

    def __init__(self, number: int, places: int, finish: Finish, spawn: Spawn) -> None:
        self.free = places
        self._number = number
        self._finish = finish
        self._spawn = spawn
        self._line: WaitingLine[Job] = WaitingLine()
        self._open = False
        self._workers: set[asyncio.Task[None]] = set()
        self._execution: Execution

    def __len__(self) -> int:
        return len(self._line)

    @property
    def running(self) -> bool:
        """Whether somebody works."""
        return self._open

    def start(self, execution: Execution) -> None:
        """Begins the work."""
        self._execution = execution
        self._open = True
        self._hire()

    async def stop(self) -> None:
        """Ends the work; whoever waits in the line leaves it unfinished."""
        self._open = False
        await cancel_and_wait(self._workers)
        self.free += len(self._line.take_all())

    def put(self, job: Job) -> bool:
        """Puts a job into the line; it leaves when a worker takes it, or it is cancelled, or its deadline passes.

        False when the work has ended meanwhile: then it is in no line.
        """
        if not self._open:
            return False
        if len(self._workers) < self._number:
            self._hire()
        self._line.put(job, priority_of(job.task))
        job.stop.add_done_callback(lambda _: self._leave(job))
        if (left := seconds_to_deadline(job.task)) is not None:
            job.lapses(asyncio.get_running_loop().call_later(max(0.0, left), self._leave, job))
        return True

    def _leave(self, job: Job) -> None:
        """Ends a job that waits, so that no handler before it decides when its sender hears of the end."""
        if self._line.take(job):
            self.free += 1
            self._spawn(self._end(job))

    async def _end(self, job: Job) -> None:
        await self._finish(job, await self._execution.result(job))

    def _hire(self) -> None:
        """Workers for the places of those that handlers have cancelled, and at the beginning."""
        while len(self._workers) < self._number:
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._gone)

    def _gone(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if self._open and self._line:
            self._hire()

    async def _work(self) -> None:
        while True:
            job = await self._line.get()
            self.free += 1
            job.lapses(None)
            try:
                await self._end(job)
            except asyncio.CancelledError:
                if self._open and not job.done.done():
                    text = "the work on this task was cancelled by a capability"
                    self._spawn(self._finish(job, self._execution.cancelled(job.task, text)))
                raise
