"""The in-process bus: agents in one event loop, and a transcript of every Task and Result (section 10)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnwire.ledger import Ledger
from turnwire.sap.agent import Agent, Refused, copy_of, nack
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import ErrorCode

if TYPE_CHECKING:
    from typing import Self

SCHEME = "bus"


@dataclass(frozen=True)
class TaskEnvelope:
    """A Task on its way."""

    task: Task
    message_id: str
    correlation_id: str


@dataclass(frozen=True)
class ResultEnvelope:
    """A Result on its way to an endpoint."""

    result: Result
    message_id: str
    correlation_id: str
    endpoint: str


class Mailbox:
    """Results sent to one endpoint. Bounded: while it is full, further results are dropped and counted.

    Attributes:
        dropped: how many did not fit.
    """

    def __init__(self, size: int) -> None:
        self._envelopes: asyncio.Queue[ResultEnvelope] = asyncio.Queue(size)
        self.dropped = 0

    def put(self, envelope: ResultEnvelope) -> None:
        """Adds an envelope, or counts it as dropped."""
        try:
            self._envelopes.put_nowait(envelope)
        except asyncio.QueueFull:
            self.dropped += 1

    async def get(self) -> ResultEnvelope:
        """The next envelope; waits for it."""
        return await self._envelopes.get()


class Bus:
    """Routes tasks to agents by target.agentId, or else by capability.

    Args:
        transcript: ledger file (or Ledger) for the transcript; without one, a new file in the system's folder for
            temporary files, see ``transcript.path``.

    Use it as an async context manager; agents are started with it.
    """

    def __init__(self, transcript: str | os.PathLike[str] | Ledger | None = None) -> None:
        if transcript is None:
            transcript = os.path.join(tempfile.mkdtemp(prefix="turnwire-bus-"), "transcript.ledger")
        self._owned = not isinstance(transcript, Ledger)
        self.transcript = transcript if isinstance(transcript, Ledger) else Ledger(transcript)
        self._agents: dict[str, Agent] = {}
        self._mailboxes: dict[str, list[Mailbox]] = {}
        self._stack: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        for agent in self._agents.values():
            await self._stack.enter_async_context(agent)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stack is not None:
            await self._stack.aclose()
        self._stack = None
        if self._owned:
            self.transcript.close()

    def register(self, agent: Agent) -> Agent:
        """Adds an agent (before the bus is entered); the bus's transcript becomes its own if it has none."""
        if self._stack is not None:
            raise RuntimeError("agents are registered before the bus is entered")
        if agent.agent_id in self._agents:
            raise ValueError(f"the bus has an agent {agent.agent_id} already")
        if agent.transcript is None:
            agent.transcript = self.transcript
        agent.routes.setdefault(SCHEME, self._route)
        self._agents[agent.agent_id] = agent
        return agent

    def subscribe(self, endpoint: str, size: int = 64) -> Mailbox:
        """A mailbox for the results whose replyTo is ``endpoint``, e.g. ``bus:inproc:prime``."""
        if endpoint.partition(":")[0] != SCHEME:
            raise ValueError(f"endpoints of the bus start with {SCHEME}:")
        mailbox = Mailbox(size)
        self._mailboxes.setdefault(endpoint, []).append(mailbox)
        return mailbox

    async def send(self, task: Task, *, identity: str | None = None) -> Ack | Nack:
        """Dispatches a task and answers with its receipt. Raises EncodeError for one that may not be written, and
        RuntimeError outside ``async with bus:``."""
        if self._stack is None:  # nobody would ever work on it, and whoever waits would wait for ever
            raise RuntimeError("agents work only while the bus is entered: async with bus: ...")
        envelope = TaskEnvelope(copy_of(task), task.task_id, task.correlation_id)
        agent = self._agent_for(envelope.task)
        if agent is None:
            return nack(task, ErrorCode.NOT_FOUND, "no agent on this bus takes the task")
        return await agent.submit(envelope.task, identity=identity)

    async def call(self, task: Task, *, identity: str | None = None) -> Result:
        """The final Result of a task. Raises Refused for a Nack, EncodeError for a task that may not be written."""
        receipt = await self.send(task, identity=identity)
        agent = self._agent_for(task)
        if isinstance(receipt, Nack) or agent is None:
            raise Refused(receipt if isinstance(receipt, Nack) else nack(task, ErrorCode.NOT_FOUND, "no agent"))
        result: Result = copy_of(await agent.result(task.task_id))
        return result

    def _agent_for(self, task: Task) -> Agent | None:
        if task.target.agent_id is not None:
            return self._agents.get(task.target.agent_id)
        capability = task.target.capability
        return next((agent for agent in self._agents.values() if capability in agent.capabilities), None)

    async def _route(self, endpoint: str, result: Result) -> None:
        for mailbox in self._mailboxes.get(endpoint, ()):
            mailbox.put(ResultEnvelope(copy_of(result), result.task_id, result.correlation_id, endpoint))
