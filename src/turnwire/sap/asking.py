"""What may be asked of an agent about tasks: call one, fetch or cancel one's own."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import MutableMapping

from turnwire.sap.access import Action, authorise
from turnwire.sap.jobs import Job, Reply
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.principals import ANONYMOUS, Named, Principal, principal_of
from turnwire.sap.receipts import Refused, ack, thaw
from turnwire.sap.transcripts import Transcript, key_of


class Asking:
    """The part of an agent that is asked; the agent gives it ``receive`` and its jobs."""

    def __init__(self) -> None:
        self._jobs: MutableMapping[str, Job] = {}  # those that are not delivered
        self._ended: OrderedDict[str, Job] = OrderedDict()  # the newest of those that are
        self._rows: Transcript | None = None

    @property
    def running(self) -> bool:
        """Whether somebody works on accepted tasks."""
        raise NotImplementedError

    async def receive(self, task: Task, reply: Reply | None = None, *, principal: Named = ANONYMOUS) -> Job | Nack:
        """The job of an accepted task."""
        raise NotImplementedError

    async def call(self, task: Task, *, principal: Named = ANONYMOUS) -> Result:
        """The final Result of a task. Raises Refused for a Nack, RuntimeError outside ``async with agent:``."""
        if not self.running:  # nobody would ever work on it
            raise RuntimeError("an agent works only while it is entered: async with agent: ...")
        job = await self.receive(task, principal=principal)
        if isinstance(job, Nack):
            raise Refused(job)
        return await job.wait()

    async def result(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """The final Result of an accepted task of this principal; waits for it. Raises KeyError for an unknown one."""
        caller = self._reader(task_id, principal)
        if (job := await self._accepted(caller, task_id)) is not None:
            return await job.wait()
        found = await self.look_up(task_id, principal=caller)
        if not isinstance(found, Result):
            raise KeyError(task_id)
        return found

    async def look_up(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result | Ack:
        """What there is of a task of this principal: its final Result, from the transcript if need be, or the Ack.

        Raises KeyError for an unknown task, and for those of others.
        """
        caller = self._reader(task_id, principal)
        if (job := await self._accepted(caller, task_id)) is not None:
            return job.result() or ack(job.task)
        known = await self._rows.known(key_of(caller, task_id)) if self._rows is not None else None
        if known is None or known.content is None:
            raise KeyError(task_id)
        if known.result is None:
            return Ack(message_id=task_id, correlation_id=known.correlation)
        result: Result = thaw(known.result)
        return result

    async def cancel(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """Cancels a task of this principal and answers with its Result, which may be another one if that came first.

        Raises KeyError for an unknown task, and for those of others.
        """
        job = await self._accepted(self._reader(task_id, principal, Action.CANCEL), task_id)
        if job is None:
            raise KeyError(task_id)
        job.cancel()
        return await job.wait()

    def holds(self, task_id: str, principal: Principal) -> bool:
        """Whether a task of this principal is here, or was a short while ago."""
        key = key_of(principal, task_id)
        return key in self._jobs or key in self._ended

    def _reader(self, task_id: str, principal: Named, action: Action = Action.READ) -> Principal:
        caller = principal_of(principal)
        if caller is None or authorise(caller, action) is not None:
            raise KeyError(task_id)
        return caller

    async def _accepted(self, principal: Principal, task_id: str) -> Job | None:
        """The job of a task, once it is accepted."""
        key = key_of(principal, task_id)
        job = self._jobs.get(key) or self._ended.get(key)
        if job is None or isinstance(await asyncio.shield(job.admission), Nack):
            return None
        return job
