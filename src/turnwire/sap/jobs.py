"""One task within an agent: its stages as a table, and all that the agent keeps of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum

from turnwire.errors import Unreachable
from turnwire.sap.access import Principal
from turnwire.sap.builders import thaw
from turnwire.sap.codec import encode
from turnwire.sap.lifecycle import Lifecycle, content_of
from turnwire.sap.messages import Nack, Result, Task
from turnwire.sap.spec import TERMINAL, Status
from turnwire.sap.times import uuid_key
from turnwire.sap.transcripts import key_of


class Stage(str, Enum):
    """A stage of a task within an agent."""

    RECEIVED = "received"  # it is being judged; nobody else has heard of it
    REFUSED = "refused"  # a Nack, or a Result that says why; it holds nothing
    ACCEPTED = "accepted"  # an Ack; it waits for its turn
    RUNNING = "running"  # its handler may be at work
    FINISHED = "finished"  # its terminal Result is fixed, and in the transcript where there is one
    DELIVERED = "delivered"  # whoever was to get the Result has got it, or could not be reached

    def __str__(self) -> str:
        return str(self.value)


STAGES: dict[Stage, frozenset[Stage]] = {
    Stage.RECEIVED: frozenset({Stage.REFUSED, Stage.ACCEPTED}),
    Stage.REFUSED: frozenset(),
    Stage.ACCEPTED: frozenset({Stage.RUNNING, Stage.FINISHED}),
    Stage.RUNNING: frozenset({Stage.FINISHED}),
    Stage.FINISHED: frozenset({Stage.DELIVERED}),
    Stage.DELIVERED: frozenset(),
}
"""The steps from stage to stage. What is finished without a handler (a hit, a miss, an old Result) goes past
RUNNING."""

SHOWN: dict[Stage, frozenset[Status]] = {
    Stage.RECEIVED: frozenset(),
    Stage.REFUSED: frozenset({Status.FAILED}),
    Stage.ACCEPTED: frozenset({Status.QUEUED}),
    Stage.RUNNING: frozenset({Status.RUNNING}),
    Stage.FINISHED: TERMINAL,
    Stage.DELIVERED: TERMINAL,
}
"""The statuses of section 5 that a Result may have which leaves in a stage."""

Reply = Callable[[Result], Awaitable[None]]
"""Takes each Result of a task, progress included, in order."""


class Job:
    """One task of one principal on its way through :data:`STAGES`.

    What decides about it is taken here, once: ``text`` (the Task as it came), ``content`` (to know it again) and
    ``key`` (principal and taskId). ``task`` is never handed out; handlers, vetters and callers get copies.

    Attributes:
        admission: done when it is judged, with the Nack of what is refused. begun: done when it is RUNNING.
        done: done with the frozen terminal Result, cancelled where there will be none. stop: done when the task is to
            be cancelled.
        cache_key: of the task in the agent's cache, where it was looked for there.
        kept: whether whoever sent it will send it again, if it is not finished here. limit: bytes that its Result may
            have, None for any number.
    """

    def __init__(
        self,
        text: str,
        principal: Principal,
        reply: Reply | None,
        *,
        task: Task | None = None,
        kept: bool = False,
        limit: int | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.text = text
        self._task: Task | None = thaw(text) if task is None else task
        self._content: bytes | None = None
        self.principal = principal
        self.key = key_of(principal, self.task.fields["taskId"])
        self.replies = [] if reply is None else [reply]
        self.kept = kept
        self.limit = limit
        self.stage = Stage.RECEIVED
        self.attempt = 1
        self.claimed = False
        self.cache_key: str | None = None
        self.admission: asyncio.Future[Nack | None] = loop.create_future()
        self.done: asyncio.Future[str] = loop.create_future()
        self.stop: asyncio.Future[None] = loop.create_future()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.sending: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.lifecycle = Lifecycle(frozen=True)
        self.lifecycle.feed(self.task)

    @property
    def task(self) -> Task:
        """The task, to be looked at only."""
        found: Task = thaw(self.text) if self._task is None else self._task
        return found

    @property
    def content(self) -> bytes:
        """The bytes that two copies of one task have in common."""
        if self._content is None:
            self._content = content_of(self.task)
        return self._content

    @property
    def task_id(self) -> str:
        """The id as the task has it."""
        return self.task.task_id

    @property
    def traced(self) -> bool:
        """True if every state is to be reported."""
        telemetry = self.task.fields.get("telemetry")
        return telemetry is not None and bool(telemetry.get("trace"))

    def copy(self) -> Task:
        """The task, for somebody who may do with it what he likes."""
        copy: Task = thaw(self.text)
        return copy

    def advance(self, stage: Stage) -> None:
        """Goes on to a stage. Raises RuntimeError for a step that is not in the table: a fault of ours."""
        if stage not in STAGES[self.stage]:
            raise RuntimeError(f"a task that is {self.stage} does not become {stage}")
        self.stage = stage
        if stage is Stage.RUNNING:
            self.begun.set_result(None)

    def freeze_result(self, result: Result, text: str | None = None) -> str:
        """The text of a Result that is to leave in this stage; text: it is frozen already.

        Raises RuleError, RuntimeError, EncodeError.
        """
        text = encode(result) if text is None else text
        if result.fields["status"] not in SHOWN[self.stage]:
            raise RuntimeError(f"a task that is {self.stage} gives no Result {result.status}")
        if uuid_key(result.fields["taskId"]) != uuid_key(self.task.fields["taskId"]):
            raise RuntimeError("the Result is of another task")
        self.lifecycle.feed(result)
        return text

    def result(self) -> Result | None:
        """A copy of the terminal Result, None while there is none."""
        if not self.done.done() or self.done.cancelled():
            return None
        result: Result = thaw(self.done.result())
        return result

    async def wait(self) -> Result:
        """A copy of the terminal Result; waits for it. Raises Unreachable when its agent was closed before."""
        result: Result = thaw(await self.text_of_result())
        return result

    async def text_of_result(self) -> str:
        """The terminal Result as it was frozen; as :meth:`wait`."""
        if not self.done.done():
            await asyncio.wait({self.done})
        if self.done.cancelled():
            raise Unreachable(f"the agent was closed before task {self.task_id} was finished; its queue sends it again")
        return self.done.result()

    def resolve(self, text: str | None) -> None:
        """Tells those who wait: with its terminal Result, or that there will be none here (None)."""
        if text is None:
            self.done.cancel()
        else:
            self.done.set_result(text)

    def set_deadline(self, timer: asyncio.TimerHandle | None) -> None:
        """The timer that ends the wait of the job for its turn; None: it waits no more."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = timer

    def cancel(self) -> None:
        """Asks for an end before the handler's."""
        if not self.done.done() and not self.stop.done():
            self.stop.set_result(None)

    def drop_task(self) -> None:
        """Lets go of all but the texts: it is delivered, and kept for whoever sends its task again."""
        self._task = None
        del self.lifecycle, self.stop
