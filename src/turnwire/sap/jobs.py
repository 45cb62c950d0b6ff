"""A task within an agent, frozen when it was admitted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from turnwire.errors import Unreachable
from turnwire.sap.identity import content_of, uuid_key
from turnwire.sap.lifecycle import Watching
from turnwire.sap.messages import Nack, Result, Task
from turnwire.sap.principals import Principal
from turnwire.sap.receipts import freeze, thaw
from turnwire.sap.stages import SHOWN, Stage, follows
from turnwire.sap.transcripts import key_of

TURNS = 2
"""Turns of the event loop in which a task ends whose handler need not wait, and nothing is written down: one in which a
worker takes it, one in which its handler runs. Whoever waits looks on in them, and is spared one more to be woken."""

Reply = Callable[[Result], Awaitable[None]]
"""Takes each Result of a task, progress included, in order."""


class Job:
    """One task of one principal on its way through :data:`turnwire.sap.stages.STAGES`.

    What decides about it is taken here, once: ``text`` (the Task as it came), ``content`` (to know it again) and
    ``key`` (principal and taskId). ``task`` is never handed out; handlers, vetters and callers get copies.

    Attributes:
        admission: done when it is judged, with the Nack of what is refused. begun: done when it is RUNNING.
        done: done with the frozen terminal Result. stop: done when the task is to be cancelled.
        cache_key: of the task in the agent's cache, where it was looked for there.
        turns: of the event loop in which to look for its Result before it is waited for.
        kept: whether whoever sent it will send it again, if it is not finished here. limit: bytes that its Result may
            have, None for any number.
    """

    __slots__ = (
        "admission",
        "attempt",
        "begun",
        "cache_key",
        "claimed",
        "_content",
        "_lapse",
        "_waiting",
        "done",
        "kept",
        "key",
        "lifecycle",
        "limit",
        "principal",
        "replies",
        "sending",
        "stage",
        "stop",
        "_task",
        "turns",
        "text",
    )

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
        self._lapse: asyncio.TimerHandle | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self.stop: asyncio.Future[None] = loop.create_future()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.sending: asyncio.Task[None] | None = None
        self.turns = TURNS
        self.lifecycle = Watching(strict=True)  # its Results are frozen
        self.lifecycle.feed(self.task)

    @property
    def task(self) -> Task:
        """The task, to be looked at only."""
        found: Task = thaw(self.text) if self._task is None else self._task
        return found

    @property
    def content(self) -> bytes:
        """What two copies of one task have in common."""
        if self._content is None:
            self._content = content_of(self.task)
        return self._content

    @property
    def task_id(self) -> str:
        """The id as the task has it."""
        return self.task.task_id

    @property
    def traced(self) -> bool:
        """Whether every state is to be reported."""
        telemetry = self.task.fields.get("telemetry")
        return telemetry is not None and bool(telemetry.get("trace"))

    def copy(self) -> Task:
        """The task, for somebody who may do with it what he likes."""
        copy: Task = thaw(self.text)
        return copy

    def advance(self, stage: Stage) -> None:
        """Goes on to a stage. Raises RuntimeError for a step that is not in the table: a fault of ours."""
        if not follows(self.stage, stage):
            raise RuntimeError(f"a task that is {self.stage} does not become {stage}")
        self.stage = stage
        if stage is Stage.RUNNING:
            self.begun.set_result(None)

    def leaves(self, result: Result, text: str | None = None) -> str:
        """Freezes a Result that is to leave in this stage; text: it is frozen already.

        Raises RuleError, RuntimeError, EncodeError.
        """
        text = freeze(result) if text is None else text
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
        for _ in range(self.turns):
            if self.done.done():
                break
            await asyncio.sleep(0)
        else:
            if not self.done.done():
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter
        if self.done.cancelled():
            raise Unreachable(f"the agent was closed before task {self.task_id} was finished; its queue sends it again")
        return self.done.result()

    def ends(self, text: str | None) -> None:
        """Tells those who wait: with its terminal Result, or that there will be none here (None)."""
        if text is None:
            self.done.cancel()
        else:
            self.done.set_result(text)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def lapses(self, timer: asyncio.TimerHandle | None) -> None:
        """Which timer ends the wait of the job for its turn; None: it waits no more."""
        if self._lapse is not None:
            self._lapse.cancel()
        self._lapse = timer

    def cancel(self) -> None:
        """Asks for an end before the handler's."""
        if not self.done.done() and not self.stop.done():
            self.stop.set_result(None)

    def rests(self) -> None:
        """Lets go of all but the texts: it is delivered, and kept for whoever sends its task again."""
        self._task = None
        del self.lifecycle, self.stop
