"""Transports of SAP (section 10): what each has in common with the others, at both of its ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from turnwire.sap.access import Action, Principal, authorise
from turnwire.sap.builders import said
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import ErrorCode

if TYPE_CHECKING:
    from turnwire.sap.agent import Agent
    from turnwire.sap.transports.bus import Bus

_log = logging.getLogger("turnwire.sap")


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


async def answered(serving: Serving, action: Action, task_id: str, caller: Principal | None) -> Result | Ack | Nack:
    """The answer to a question about a task of the caller's own: what there is of it (READ), or its end (CANCEL)."""
    ask = serving.look_up if action is Action.READ else serving.cancel
    denial = authorise(caller, action)
    if denial is None:
        try:
            return await ask(task_id, principal=caller)
        except KeyError:
            denial = ErrorCode.NOT_FOUND, "no such task"
        except Exception as error:  # a transcript that somebody rewrote, say
            _log.exception("task %s could not be looked up", task_id)
            denial = ErrorCode.INTERNAL, f"the task could not be looked up: {said(error)}"
    return Nack(message_id=task_id, correlation_id=None, reason=f"{denial[0]}: {denial[1]}")
