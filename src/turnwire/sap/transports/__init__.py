"""Transports of SAP (section 10): what each has in common with the others, at both of its ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from turnwire.sap.access import ANONYMOUS, Named

if TYPE_CHECKING:
    from turnwire.sap.agent import Route
    from turnwire.sap.handlers import Capability
    from turnwire.sap.jobs import Job, Reply
    from turnwire.sap.messages import Ack, Nack, Result, Task


class Transport(Protocol):
    """The end of a transport where tasks go in: the bus, and the clients of HTTP, MCP and NATS. All else that clients
    can do, :class:`~turnwire.sap.Caller` makes of these."""

    async def send(self, task: Task) -> Ack | Nack:
        """Dispatches a task and answers with its receipt. Raises CallError where none comes."""
        raise NotImplementedError

    def statuses(self, task: Task) -> AsyncIterator[Result]:
        """The Results of a task, progress (of one with ``trace``) before the terminal one, as they come. Raises
        Refused for a Nack, CallError."""
        raise NotImplementedError

    async def result(self, task_id: str) -> Result | None:
        """The final Result of a task sent before, None while there is none. Raises KeyError for an unknown task, and
        BadAnswer for a Result of another one, or not of whom ``producer`` and ``keys`` of the client say."""
        raise NotImplementedError

    async def cancel(self, task_id: str) -> Result:
        """Ends a task of one's own, and answers with its Result, which may be another one if that came first. Raises
        KeyError for an unknown task, and for those of others; CallError."""
        raise NotImplementedError


class Serving(Protocol):
    """The end of a transport where tasks are executed: an :class:`~turnwire.sap.Agent` or a
    :class:`~turnwire.sap.Bus`."""

    @property
    def agent_id(self) -> str | None:
        """The agent that tasks are for which name none; None where one is chosen."""

    @property
    def running(self) -> bool:
        """True if somebody works on accepted tasks."""

    @property
    def capabilities(self) -> Mapping[str, Capability]:
        """The capabilities that are offered, by name."""

    def add_route(self, scheme: str, route: Route) -> None:
        """Sends Results whose replyTo has this scheme there, unless there is such a route already."""

    def reserve(self, size: int) -> bool:
        """Takes bytes for what is read of a task; False where so many are not left."""

    def release(self, size: int) -> None:
        """Gives back bytes that were reserved."""

    async def receive(
        self,
        task: Task,
        reply: Reply | None = None,
        *,
        principal: Named = ANONYMOUS,
        kept: bool = False,
        limit: int | None = None,
        given: bool = False,
    ) -> Job | Nack:
        """As :meth:`turnwire.sap.Agent.receive`."""

    async def look_up(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result | Ack:
        """As :meth:`turnwire.sap.Agent.look_up`."""

    async def cancel(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """As :meth:`turnwire.sap.Agent.cancel`."""
