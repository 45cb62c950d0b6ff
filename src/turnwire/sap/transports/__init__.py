"""Transports of SAP (section 10): what the serving ends have in common. What the clients have is in ``sap.calls``."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from turnwire.errors import DecodeError, Reason
from turnwire.sap.access import ANONYMOUS, Action, Named, Principal, authorise, principal_of
from turnwire.sap.builders import Refused, said, unreadable
from turnwire.sap.codec import decode
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import WIRE, ErrorCode

if TYPE_CHECKING:
    from turnwire.sap.agent import Agent
    from turnwire.sap.transports.bus import Bus

M = TypeVar("M", Task, Result)
_log = logging.getLogger("turnwire.sap")
Serving: TypeAlias = "Agent | Bus"
"""The end of a transport where tasks are executed."""
Identify = Callable[[Any], Named | Awaitable[Named]]
"""The principal of a request, as its transport has it; None is somebody unknown, who is denied everything."""


async def identified(identify: Identify | None, request: Any) -> Principal | None:
    """The principal of a request by a transport's ``identify``; without one ANONYMOUS, None for whoever is denied.

    ANONYMOUS of an ``identify`` becomes the principal "anonymous", which has to be allowed by a rule like any other:
    where callers are identified, nobody is taken at the word of a task's issuer. Whoever has no name is denied.
    """
    if identify is None:
        return ANONYMOUS
    found = identify(request)
    principal = principal_of((await found if inspect.isawaitable(found) else found) or None)
    return Principal("anonymous") if principal is ANONYMOUS else principal


def read_message(kind: type[M], data: bytes | str, *, message_id: str = "", correlation: str | None = None) -> M:
    """The Task or the Result that came in. Raises Refused (INVALID_TASK) for all else, with the ids that the data still
    show, else those given; its cause is the DecodeError."""
    try:
        message = decode(data)
        if not isinstance(message, kind):
            text = f"a {type(message).__name__} is not a {kind.__name__}"
            raise DecodeError(Reason.UNKNOWN_KIND, text, offset=0, wire=WIRE)
    except DecodeError as error:
        raise Refused(unreadable(data, error, message_id=message_id, correlation=correlation)) from error
    return message


async def answered(serving: Serving, action: Action, task_id: str, caller: Principal | None) -> Result | Ack | Nack:
    """The answer to a question about the caller's own task: its present state (READ), or its end (CANCEL)."""
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
