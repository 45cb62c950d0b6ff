"""One task within an agent, with everything that the agent stores about it."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from turnwire.errors import Unreachable
from turnwire.sap.access import Principal
from turnwire.sap.builders import thaw
from turnwire.sap.handlers import ALLOWANCE
from turnwire.sap.messages import Ack, CacheEvidence, Nack, Result, Task
from turnwire.sap.spec import Priority

Reply = Callable[[Result], Awaitable[None]]
"""Takes each Result of a task, progress included, in order."""


class Job:
    """One task of one principal from its admission to its receivers.

    What decides about it is taken here, once: ``text`` (the Task as it came), its ids, and ``key`` (principal and
    taskId). ``task`` is never handed out; handlers, vetters and callers get copies.

    Attributes:
        living: its execution, from its admission to its Result.
        admission: done when it is judged, with the Nack of what is refused. begun: done when its handler is called.
        done: done with the frozen terminal Result, cancelled where there will be none. stop: done when the task is to
            be cancelled.
        receivers: how many are still to get its Result.
        cache_key: of the task in the agent's cache, where it was looked for there; cache: the evidence of that.
        kept: whether whoever sent it will send it again, if it is not finished here. limit: bytes that its Result may
            have, None for any number. held: bytes of the agent's memory that are counted for it.
    """

    living: asyncio.Task[None]

    def __init__(
        self, task: Task, text: str, principal: Principal, *, kept: bool = False, limit: int | None = None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.text = text
        self._task: Task | None = task
        fields = task.fields
        self.task_id: str = fields["taskId"]
        self.correlation_id: str = fields["correlationId"]
        self.capability: str = fields["target"]["capability"]
        self.traced = bool(fields.get("telemetry", {}).get("trace"))
        # telemetry.priority, else routingHints.priority, else normal
        hint = fields["target"].get("routingHints", {}).get("priority")
        self.priority: str = fields.get("telemetry", {}).get("priority", hint)
        if not isinstance(self.priority, str) or self.priority not in ALLOWANCE:
            self.priority = Priority.NORMAL
        reply_to = fields.get("replyTo", {})
        self.endpoint: str = reply_to.get("endpoint", "")
        self.expects_ack = reply_to.get("expectAck") is not False
        self.principal = principal
        self.key = key_of(principal, self.task_id)
        self.kept = kept
        self.limit = limit
        self.held = 0
        self.attempt = 1
        self.claimed = False
        self.cache_key: str | None = None
        self.cache: CacheEvidence | None = None
        self.admission: asyncio.Future[Nack | None] = loop.create_future()
        self.done: asyncio.Future[str] = loop.create_future()
        self.stop: asyncio.Future[None] = loop.create_future()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.receivers = 0
        self._progress: list[str] = []
        self._reported: asyncio.Future[None] = loop.create_future()

    @property
    def task(self) -> Task:
        """The task, to be looked at only; read again where only its text was kept."""
        if self._task is None:
            self._task = thaw(self.text)
        return self._task

    def ack(self) -> Ack:
        """The Ack of the task."""
        return Ack(message_id=self.task_id, correlation_id=self.correlation_id)

    def copy(self) -> Task:
        """A copy of the task, for a caller that may change it."""
        return Task.from_dict(pickle.loads(pickle.dumps(self.task._fields, pickle.HIGHEST_PROTOCOL)))

    def drop_task(self) -> None:
        """Keeps the text alone, which is much smaller than the objects that are made of it."""
        self._task = None
        if self.done.done():
            self._progress = []

    def result(self) -> Result | None:
        """A copy of the terminal Result, None while there is none."""
        return thaw(self.done.result()) if self.done.done() and not self.done.cancelled() else None

    async def wait(self) -> Result:
        """A copy of the terminal Result; waits for it. Raises Unreachable when its agent was closed before."""
        return thaw(await self.text_of_result())  # type: ignore[no-any-return]

    async def text_of_result(self) -> str:
        """The terminal Result as it was frozen; as :meth:`wait`."""
        if not self.done.done():
            await asyncio.wait({self.done})
        if self.done.cancelled():
            raise Unreachable(f"the agent was closed before task {self.task_id} was finished; its queue sends it again")
        return self.done.result()

    def report(self, text: str) -> None:
        """Adds a Result that is not the last one."""
        self._progress.append(text)
        reported, self._reported = self._reported, asyncio.get_running_loop().create_future()
        reported.set_result(None)

    async def results(self) -> AsyncIterator[str]:
        """All Results from the first one on, each as soon as it is there; of a job that is done the terminal one alone.
        Raises as :meth:`wait`."""
        progress, told = self._progress, 0
        while True:
            while told < len(progress):
                yield progress[told]
                told += 1
            if self.done.done():
                break
            waiting: set[asyncio.Future[Any]] = {self.done, self._reported}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        yield await self.text_of_result()

    def cancel(self) -> None:
        """Asks for an end before the handler's."""
        if not self.done.done() and not self.stop.done():
            self.stop.set_result(None)


def key_of(principal: Principal, task_id: str) -> str:
    """The key of a task: its taskId in lower case, and after it the name of the principal, where there is one."""
    return f"{task_id.lower()} {principal.name}" if principal.name else task_id.lower()


SMALL = 2048
"""Bytes of a Result for which each job has memory from its admission on, so that there is always room for words."""


def size_of_job(text: str) -> int:
    """Bytes that are counted for a job at its admission: its text, the objects around it, and a small Result."""
    return sys.getsizeof(text) + 2048 + SMALL


def size_of_result(text: str) -> int:
    """Bytes that are counted for the Result of a job, beyond those from its admission."""
    return max(0, sys.getsizeof(text) - SMALL)
