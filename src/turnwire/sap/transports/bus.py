"""The in-process bus: agents in one event loop, and a transcript of every Task and Result (section 10)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Unanswered
from turnwire.json.text import write
from turnwire.ledger import Ledger
from turnwire.sap.access import ANONYMOUS, Action, Named, Principal, principal_of
from turnwire.sap.agent import Agent
from turnwire.sap.builders import Refused, copy_of, expects_ack, nack, thaw
from turnwire.sap.handlers import Job
from turnwire.sap.messages import Issuer, Nack, Result, Task
from turnwire.sap.spec import ErrorCode
from turnwire.sap.transports import Caller, asked

if TYPE_CHECKING:
    from typing import Self

    from turnwire.sap.handlers import Capability

SCHEME = "bus"


@dataclass(frozen=True)
class ResultEnvelope:
    """A Result on its way to an endpoint."""

    result: Result
    message_id: str
    correlation_id: str
    endpoint: str


class Mailbox(asyncio.Queue[ResultEnvelope]):
    """Results sent to one endpoint. Bounded: while it is full, further results are dropped and counted.

    Attributes:
        dropped: how many did not fit.
    """

    dropped = 0


class BusClient(Caller):
    """Calls the agents of a bus as one principal; made by :meth:`Bus.acting`. A task may be sent, and called for, only
    within ``async with bus:``; else that is a RuntimeError."""

    def __init__(self, bus: Bus, principal: Named, issuer: str | Issuer | None) -> None:
        super().__init__(issuer=issuer)
        self._bus = bus
        self._principal = principal

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """Yields the Results of a task as they arrive. Raises the errors of :meth:`call`."""
        job = await self._received(task, expects_ack(task))
        if isinstance(job, Nack):
            raise Refused(job)
        assert job is not None  # a receipt is expected
        async for text in job.results():
            yield self.answered(task, thaw(text))

    async def _received(self, task: Task, bounded: bool) -> Job | Nack | None:
        """The job of a copy of the task. Where it is ``bounded`` and takes more than ``ack_seconds``: None for a task
        that expects no receipt, else Unanswered."""
        if not self._bus.running:  # nobody would ever work on it, and whoever waits would wait for ever
            raise RuntimeError("agents work only while the bus is entered: async with bus: ...")
        copy: Task = copy_of(task)
        try:
            async with asyncio.timeout(self._bus.ack_seconds if bounded else None):
                return await self._bus.receive(copy, principal=self._principal, given=True)
        except TimeoutError as error:
            if expects_ack(task):
                text = f"no receipt of task {task.task_id} within {self._bus.ack_seconds:g} seconds"
                raise Unanswered(text) from error
        return None

    async def _asked(self, task: Task, *, receipt: bool = False) -> Any:
        job = await self._received(task, receipt)
        return job if job is None or isinstance(job, Nack) else job.ack() if receipt else await job.wait()

    async def _told(self, action: Action, task_id: str) -> Any:
        return await asked(self._bus, action, task_id, principal_of(self._principal))


class Bus(BusClient):
    """Routes tasks to agents by target.agentId, or else by capability and target.routingHints.

    Args:
        transcript: ledger file (or Ledger) for the transcript; by default a new file in the system's temporary folder
            (``transcript.path``).
        issuer: the issuer of tasks that :meth:`call` creates from a capability and a payload.
        ack_seconds: how long :meth:`send` waits for a receipt, and :meth:`statuses` until the task is accepted. For a
            task with replyTo.expectAck false, :meth:`send` returns an Ack from the bus itself.

    Use it as an async context manager, which also starts the agents.
    """

    def __init__(
        self,
        transcript: str | os.PathLike[str] | Ledger | None = None,
        *,
        issuer: str | Issuer | None = None,
        ack_seconds: float = 10.0,
    ) -> None:
        super().__init__(self, ANONYMOUS, issuer)
        self.ack_seconds = ack_seconds
        if transcript is None:
            transcript = os.path.join(tempfile.mkdtemp(prefix="turnwire-bus-"), "transcript.ledger")
        self._owned = not isinstance(transcript, Ledger)
        self.transcript = transcript if isinstance(transcript, Ledger) else Ledger(transcript)
        self._providers: dict[str, Provider] = {}
        self._mailboxes: dict[str, list[Mailbox]] = {}
        self._stack: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        for agent in self.agents:
            await self._stack.enter_async_context(agent)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stack is not None:
            await self._stack.aclose()
        self._stack = None
        if self._owned:
            self.transcript.close()

    def register(self, agent: Agent, *, labels: Mapping[str, Any] | None = None) -> Agent:
        """Adds an agent (before the bus is entered); an agent without a transcript uses that of the bus.

        labels: values for target.routingHints, which select among several agents with a capability, e.g. ``shard``.
        """
        if self._stack is not None:
            raise RuntimeError("agents must be registered before the bus is entered")
        if agent.agent_id in self._providers:
            raise ValueError(f"the bus already has an agent {agent.agent_id}")
        if agent.transcript is None:
            agent.transcript = self.transcript
        agent.add_route(SCHEME, self._route)
        self._providers[agent.agent_id] = Provider(agent, dict(labels or {}))
        return agent

    # ---------------------------------------------------------------- for other transports, as an agent

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Those that were registered."""
        return tuple(provider.agent for provider in self._providers.values())

    @property
    def agent_id(self) -> None:
        """None, since tasks need not name an agent."""

    @property
    def running(self) -> bool:
        """True if the bus is entered."""
        return self._stack is not None

    @property
    def capabilities(self) -> dict[str, Capability]:
        """The capabilities of all agents; the description of a shared one is that of the first registered agent."""
        found: dict[str, Capability] = {}
        for agent in self.agents:
            found = {**agent.capabilities, **found}
        return found

    async def receive(self, task: Task, *, principal: Named = ANONYMOUS, **how: Any) -> Job | Nack:
        """Calls :meth:`turnwire.sap.Agent.receive` of the agent to which the task is routed."""
        if not self.running:
            return nack(task, ErrorCode.INTERNAL, "the bus is not running: async with bus: ...")
        caller = principal_of(principal)
        agent = provider_for(task, self._providers, caller or ANONYMOUS)
        if agent is not None:
            return await agent.receive(task, principal=principal, **how)
        if caller is None:  # who is not told what there is
            return nack(task, ErrorCode.UNAUTHORIZED, "the credentials are unknown")
        return nack(task, ErrorCode.NOT_FOUND, "no agent on this bus accepts the task")

    def reserve(self, size: int) -> bool:
        """Like :meth:`turnwire.sap.Agent.reserve`, of the agent that was registered first."""
        return all(agent.reserve(size) for agent in self.agents[:1])

    def release(self, size: int) -> None:
        """Like :meth:`turnwire.sap.Agent.release`."""
        for agent in self.agents[:1]:
            agent.release(size)

    # ---------------------------------------------------------------- in this process

    def subscribe(self, endpoint: str, size: int = 64) -> Mailbox:
        """Returns a mailbox for the results whose replyTo is ``endpoint``, e.g. ``bus:inproc:prime``."""
        if endpoint.partition(":")[0] != SCHEME:
            raise ValueError(f"endpoints of the bus must start with {SCHEME}:")
        mailbox = Mailbox(size)
        self._mailboxes.setdefault(endpoint, []).append(mailbox)
        return mailbox

    def acting(self, principal: Named) -> BusClient:
        """Returns a client for one caller, authenticated as ``principal``."""
        name = principal.name if isinstance(principal, Principal) else principal
        return BusClient(self, principal, name or None)

    async def _route(self, endpoint: str, result: Result) -> None:
        for mailbox in self._mailboxes.get(endpoint, ()):
            envelope = ResultEnvelope(copy_of(result), result.task_id, result.correlation_id, endpoint)
            try:
                mailbox.put_nowait(envelope)
            except asyncio.QueueFull:
                mailbox.dropped += 1


STICKY = ("shard", "affinity")
"""Hints whose value always leads to the same provider, while the providers are the same."""


class Provider(NamedTuple):
    """An agent, and the labels that hints are compared with."""

    agent: Agent
    labels: Mapping[str, Any]


def provider_for(task: Task, providers: Mapping[str, Provider], principal: Principal = ANONYMOUS) -> Agent | None:
    """The agent that is addressed; else one that has the capability, chosen by the hints; None if no agent has it.

    A hint prefers providers with that label and value to those without the label; those with another value are
    excluded, unless no provider would remain. ``affinity`` may name an agentId. Of those that remain, shard and
    affinity choose one by rendezvous hashing; without them it is the one with the fewest unfinished tasks, the first
    registered of these. A repeated task of a principal goes to the agent that has it.
    """
    target = task.target
    if target.agent_id is not None:
        found = providers.get(target.agent_id)
        return None if found is None else found.agent
    able = [one for one in providers.values() if target.capability in one.agent.capabilities]
    hints = {name: value for name, value in (target.routing_hints or {}).items() if name != "priority"}
    if len(able) > 1:
        holders = [one for one in able if one.agent.holds(task.task_id, principal)]
        able = holders[:1] or [one for one in able if one.agent.agent_id == hints.get("affinity")] or able
    if len(able) <= 1:
        return able[0].agent if able else None
    sticky = {name: hints[name] for name in STICKY if name in hints}

    def rank(one: Provider) -> tuple[Any, ...]:
        fits = [one.labels[name] == value for name, value in hints.items() if name in one.labels]
        if not sticky:
            return all(fits), sum(fits), -one.agent.unfinished
        score = sha256(f"{one.agent.agent_id}\0{write(dict(sorted(sticky.items())))}".encode())
        return all(fits), sum(fits), score.digest()

    return max(able, key=rank).agent
