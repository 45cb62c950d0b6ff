"""Transports of SAP (section 10): what each has in common with the others, at both of its ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from turnwire.sap.agent import Agent
    from turnwire.sap.messages import Ack, Nack, Result, Task
    from turnwire.sap.transports.bus import Bus


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


Serving: TypeAlias = "Agent | Bus"
"""The end of a transport where tasks are executed."""
