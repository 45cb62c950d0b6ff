"""Transports of SAP (section 10), and what all share: who may call an agent, and how a caller is identified."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from turnwire.sap.access import ANONYMOUS, Named, Principal, authenticated

if TYPE_CHECKING:
    from turnwire.sap.deliveries import Route
    from turnwire.sap.handlers import Capability
    from turnwire.sap.jobs import Job, Reply
    from turnwire.sap.messages import Ack, Nack, Result, Task


class Serving(Protocol):
    """An :class:`~turnwire.sap.Agent` or a :class:`~turnwire.sap.Bus`, as transports use it."""

    @property
    def agent_id(self) -> str | None:
        """The agent that tasks are for which name none; None where one is chosen."""

    @property
    def running(self) -> bool:
        """True if somebody works on accepted tasks."""

    @property
    def queue(self) -> int:
        """The number of accepted tasks that may wait."""

    @property
    def capabilities(self) -> Mapping[str, Capability]:
        """The capabilities that are offered, by name."""

    def add_route(self, scheme: str, route: Route) -> None:
        """Sends Results whose replyTo has this scheme there, unless there is such a route already."""

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


async def identified(identify: Callable[[Any], Any] | None, request: Any) -> Principal | None:
    """The principal of a request by a transport's ``identify``; without one ANONYMOUS, None for whoever is denied."""
    if identify is None:
        return ANONYMOUS
    found = identify(request)
    return authenticated(await found if inspect.isawaitable(found) else found)
