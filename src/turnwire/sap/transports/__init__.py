"""Transports of SAP (section 10): what their serving ends have in common, and what their clients have: tasks in one
line, answers that are checked, retries."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, overload

from turnwire.errors import BadAnswer, DecodeError, Reason, RuleError, Unanswered, Unreachable
from turnwire.sap.access import ANONYMOUS, Action, Named, Principal, authorise, principal_of, verify_message
from turnwire.sap.builders import NOBODY, Failed, Refused, TaskFields, code_of, make_task, said, unreadable
from turnwire.sap.codec import decode
from turnwire.sap.messages import Ack, Issuer, Nack, Result, Task
from turnwire.sap.spec import TERMINAL, WIRE, ErrorCode, Status, same_id

if TYPE_CHECKING:
    from typing_extensions import Unpack

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


async def asked(serving: Serving, action: Action, task_id: str, caller: Principal | None) -> Result | Ack | Nack:
    """The answer to a question about the caller's own task: its present state (READ), or its end (CANCEL). Of several
    agents that know it, one has its Result."""
    found: Result | Ack | None = None
    if (denial := authorise(caller, action)) is None:
        try:
            for agent in serving.agents:
                ask = agent.look_up if action is Action.READ else agent.cancel
                with suppress(KeyError):
                    found = await ask(task_id, principal=caller)
                if isinstance(found, Result):
                    break
            if found is not None:
                return found
            denial = ErrorCode.NOT_FOUND, "no such task"
        except Exception as error:  # a transcript that somebody rewrote, say
            _log.exception("task %s could not be looked up", task_id)
            denial = ErrorCode.INTERNAL, f"the task could not be looked up: {said(error)}"
    return Nack(message_id=task_id, correlation_id=None, reason=f"{denial[0]}: {denial[1]}")


# ---------------------------------------------------------------- clients

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between tries; doubled each time, and up to half of it by chance
USABLE = frozenset({Status.SUCCEEDED, Status.PARTIAL})


class CallerOptions(TypedDict, total=False):
    """The arguments of :class:`Caller`, which each client takes by their names."""

    issuer: str | Issuer | None
    producer: str | None
    keys: Mapping[str, bytes] | None


class Caller:
    """The base of the clients of all transports (the bus, HTTP, MCP, NATS), which add ``_asked`` and ``_told``.

    Args:
        issuer: the issuer of tasks that :meth:`task` and :meth:`call` create: an agentId, or an Issuer.
        producer: the agentId that Results must come from if the task names no agent; None accepts any.
        keys: agentId -> Ed25519 public key (32 raw bytes): Results must be signed by their producer (extra ``sign``).
    """

    def __init__(self, **options: Unpack[CallerOptions]) -> None:
        self._issuer = options.get("issuer") or NOBODY
        self._producer = options.get("producer")
        self._keys = options.get("keys")

    def task(self, capability: str, payload: Mapping[str, Any], /, **fields: Unpack[TaskFields]) -> Task:
        """Creates a Task of the client's issuer; ``fields`` are those of :func:`turnwire.sap.make_task`."""
        return make_task(capability, payload, **{"issuer": self._issuer, **fields})  # type: ignore[arg-type]

    async def send(self, task: Task) -> Ack | Nack:
        """Sends a task and returns its receipt, after waiting up to ``ack_seconds`` for it.

        If replyTo.expectAck is false, the Ack only means that the transport accepted the task. Raises EncodeError for a
        task that cannot be written, CallError if no receipt arrives.
        """
        answer = await self._asked(task, receipt=True)
        if answer is None:  # the transport took the task without one
            return Ack(message_id=task.task_id, correlation_id=task.correlation_id)
        if not isinstance(answer, (Ack, Nack)):
            raise BadAnswer(f"a {type(answer).__name__} arrived instead of a receipt")
        return answer

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """Yields the Results of a task as they arrive, with ``trace`` also its progress before the terminal one. Over
        MCP, progress arrives as notifications. Raises the errors of :meth:`call`."""
        yield self.answered(task, await self._asked(task))

    async def result(self, task_id: str) -> Result | None:
        """Returns the final Result of a task sent before, or None while there is none. Raises KeyError for an unknown
        task, and BadAnswer for a Result of another task or one that contradicts the client's ``producer`` or
        ``keys``."""
        found = self.answer_to(task_id, await self._told(Action.READ, task_id))
        return found if found is not None and is_final(found) else None

    async def cancel(self, task_id: str) -> Result:
        """Cancels one of the caller's tasks and returns its Result, which differs from CANCELLED if the task ended
        first. Raises KeyError for an unknown task or another caller's task, and CallError."""
        found = self.answer_to(task_id, await self._told(Action.CANCEL, task_id))
        if found is None or not is_final(found):
            raise BadAnswer(f"no final Result arrived for task {task_id}")
        return found

    async def _asked(self, task: Task, *, receipt: bool = False) -> Any:
        """Sends a task: the message that answers it, its final Result (not yet checked) or a Nack; for ``receipt`` its
        receipt, None if the transport took the task without one."""
        raise NotImplementedError

    async def _told(self, action: Action, task_id: str) -> Any:
        """The message that answers a question about a task sent before, or ends that task."""
        raise NotImplementedError

    @overload
    async def call(self, what: Task, /, *, retries: int = 0) -> Result: ...
    @overload
    async def call(
        self, what: str, payload: Mapping[str, Any], /, *, retries: int = 2, **fields: Unpack[TaskFields]
    ) -> Any: ...
    async def call(
        self,
        what: Task | str,
        payload: Mapping[str, Any] | None = None,
        /,
        *,
        retries: int | None = None,
        **fields: Any,
    ) -> Any:
        """Sends a Task and returns its final Result, or calls a capability with a payload and returns the output.

        Args:
            retries: how often to send the same task again after RATE_LIMIT or a lost connection; its taskId prevents
                a second execution (default: 0 for a Task, 2 for a capability).
            fields: those of :func:`turnwire.sap.make_task`.

        Raises subclasses of :class:`~turnwire.errors.CallError`: Refused for a Nack, Unreachable, Unanswered, BadAnswer
        for a Result of another task, correlation or producer, and Failed (if called with a capability) if the task did
        not succeed. Raises EncodeError for a task that cannot be written.
        """
        if isinstance(what, Task):
            if payload is not None or fields:
                raise TypeError("a Task already has its payload and fields")
            return await self._tried(what, retries or 0)
        result = await self._tried(self.task(what, payload or {}, **fields), 2 if retries is None else retries)
        if result.status not in USABLE:
            raise Failed(result)
        return result.output

    async def _tried(self, task: Task, retries: int) -> Result:
        pause = FIRST_PAUSE
        for left in range(retries, -1, -1):
            try:
                return self.answered(task, await self._asked(task))
            except Refused as refused:
                if not left or refused.code != ErrorCode.RATE_LIMIT:  # nothing was accepted, and later it may be
                    raise
            except (Unreachable, Unanswered):
                if not left:
                    raise
            await asyncio.sleep(pause * (1 + random.random() / 2))
            pause = min(LONGEST_PAUSE, pause * 2)
        raise AssertionError("unreachable")

    def answered(self, task: Task, answer: Any) -> Result:
        """Returns the Result of a task, if it answers the task and comes from the right agent. Raises Refused for a
        Nack, BadAnswer."""
        sent = task._fields  # looked at only: what is known of its text stays known
        result = self._vouched(answer, sent["taskId"], sent["target"].get("agentId"))
        if not same_id(result._fields["correlationId"], sent["correlationId"]):
            raise BadAnswer(f"the Result of task {task.task_id} has another correlationId: {result.correlation_id}")
        return result

    def answer_to(self, task_id: str, answer: Any) -> Result | None:
        """Returns the Result in the answer to a question about a task, None for an Ack. Raises KeyError, Refused,
        BadAnswer."""
        if isinstance(answer, Nack) and code_of(answer) == ErrorCode.NOT_FOUND:
            raise KeyError(task_id)
        return self._vouched(answer, task_id) if isinstance(answer, (Nack, Result)) else None

    def _vouched(self, answer: Any, task_id: str, asked: str | None = None) -> Result:
        """The Result of a task, if it comes from who was asked, or else from the client's ``producer``, and, if it is
        final, has the signature of who made it where the client has ``keys``. Raises Refused, BadAnswer."""
        if isinstance(answer, Nack):
            raise Refused(answer)
        if not isinstance(answer, Result):
            raise BadAnswer(f"a {type(answer).__name__} arrived instead of a Result")
        if not same_id(answer._fields["taskId"], task_id):
            raise BadAnswer(f"a Result of task {answer.task_id} arrived for task {task_id}")
        producer = answer._fields["producer"]["agentId"]
        asked = asked or self._producer
        if asked is not None and producer != asked:
            raise BadAnswer(f"{producer} answered task {task_id}, but {asked} was asked")
        if self._keys is not None and is_final(answer):
            try:
                signer = verify_message(answer, self._keys)
            except RuleError as error:
                raise BadAnswer(f"the Result of task {task_id}: {error}") from error
            if signer != producer:
                raise BadAnswer(f"{signer} signed a Result of {producer}")
        return answer


def is_final(result: Result) -> bool:
    """True if nothing comes after it."""
    return result.status in TERMINAL


def read_answer(data: bytes | str) -> Any:
    """The message of an answer. Raises BadAnswer."""
    try:
        return decode(data)
    except DecodeError as error:
        raise BadAnswer(f"the answer cannot be read: {error}") from error
