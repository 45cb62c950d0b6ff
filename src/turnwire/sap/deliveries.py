"""Delivers results to those who wait for them, in order for each task; a slow or lost receiver stops nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from turnwire.sap.builders import thaw
from turnwire.sap.jobs import Job, Stage
from turnwire.sap.messages import Result

REPLY_SECONDS = 30.0
"""Seconds that a receiver of Results may take for one before it is given up."""

CANCEL_SECONDS = 1.0
"""Seconds that one may take to end when it was cancelled."""

_log = logging.getLogger("turnwire.sap")

Route = Callable[[str, Result], Awaitable[None]]
"""(endpoint, result): sends a Result to a replyTo."""


class Deliveries:
    """The sending of one agent's Results, and its other work in the background.

    Args:
        routes: by the scheme of an endpoint. delivered: is told when the terminal Result of a job has been sent.
    """

    def __init__(self, routes: Mapping[str, Route], delivered: Callable[[Job], None]) -> None:
        self._routes = routes
        self._delivered = delivered
        self._tasks: set[asyncio.Task[None]] = set()
        self._deaf: set[asyncio.Task[None]] = set()  # those that a cancellation did not end

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Does something that no caller's cancellation reaches."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def ended(self, seconds: float) -> None:
        """Waits for all that is under way, so long; then cancels it. What ignores that is left behind."""
        pending = self._tasks - self._deaf
        for timeout in (seconds, min(seconds, CANCEL_SECONDS)):
            if pending:
                _, pending = await asyncio.wait(pending, timeout=timeout)
            for task in pending:
                task.cancel()
        if pending:
            _log.error("receivers of %d results did not end when they were cancelled", len(pending))
            self._deaf |= pending

    def deliver(self, to: Job, text: str, of: Job) -> None:
        """Sends a Result of the job ``of`` to those who wait with ``to``, behind what is on its way to them already."""
        if to.sending is None and not to.replies and self._route(of) is None:
            self._sent(of, text)
            return
        to.sending = self.spawn(self._send(to, text, of, to.sending))

    async def _send(self, to: Job, text: str, of: Job, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            for reply in list(to.replies):
                await _received(reply(thaw(text)), of.task_id)
            if (found := self._route(of)) is not None:
                route, endpoint = found
                await _received(route(endpoint, thaw(text)), of.task_id)
        finally:
            self._sent(of, text)

    def _route(self, job: Job) -> tuple[Route, str] | None:
        """The route of a job's replyTo and its endpoint, if there is one."""
        reply_to = job.task.fields.get("replyTo")
        endpoint = reply_to.get("endpoint") if reply_to is not None else None
        route = self._routes.get(endpoint.partition(":")[0]) if endpoint else None
        return None if route is None or endpoint is None else (route, endpoint)

    def _sent(self, of: Job, text: str) -> None:
        if of.stage is Stage.FINISHED and of.done.result() == text:
            of.advance(Stage.DELIVERED)
            self._delivered(of)


async def _received(sending: Awaitable[None], task_id: str) -> None:
    try:
        async with asyncio.timeout(REPLY_SECONDS):
            await sending
    except Exception:  # a receiver that is gone must not stop the others
        _log.exception("a result of task %s could not be sent", task_id)
