"""A client of agents behind a NATS queue (section 10). Extra: ``nats``."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from turnwire.errors import BadAnswer, DecodeError, MissingDependency, Unanswered, Unreachable
from turnwire.sap.calls import Caller, is_final
from turnwire.sap.codec import decode, encode
from turnwire.sap.identity import same_id, uuid_key
from turnwire.sap.messages import Ack, Issuer, Nack, Result, Task
from turnwire.sap.objects import Objects
from turnwire.sap.principals import ANONYMOUS, Principal
from turnwire.sap.receipts import Refused, ack, expects_ack, nack
from turnwire.sap.spec import ErrorCode, Priority
from turnwire.sap.transports.nats_link import CORRELATION, INBOX, SIGNATURE, SIGNER, TASK_ID, Link, Reconnected
from turnwire.sap.waiting import priority_of

try:
    from nats.errors import ConnectionClosedError, MaxPayloadError, NoRespondersError
    from nats.errors import TimeoutError as NatsTimeout
    from nats.js.errors import APIError, NoStreamResponseError, NotFoundError
except ImportError as missing:
    raise MissingDependency(
        "the queue needs nats-py: pip install 'turnwire[nats]', or '.[nats]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self

_FULL = 10077  # JetStream: maximum messages exceeded
_log = logging.getLogger("turnwire.sap")


class Client(Caller):
    """Puts tasks into a queue and waits for their results. Use it as an async context manager.

    Args:
        url, queue, prefix, waiting, keep_seconds, options: as of :class:`turnwire.sap.nats.Worker`.
        timeout: seconds for a Result. ack_seconds: for an Ack, where a task does not say ``expectAck`` false; default:
            the timeout.
        principal: as whom the worker knows this client, with ``identify=by_subject``; tasks go to a subject of its own.
        signer: an Ed25519 private key, or its 32 raw bytes, for ``identify=signed(keys)`` (extra ``sign``).
        issuer, producer, keys, objects: as in :class:`turnwire.sap.Caller`; default issuer: the principal.
    """

    def __init__(
        self,
        url: str,
        *,
        queue: str,
        prefix: str = "sap",
        timeout: float = 60.0,
        ack_seconds: float | None = None,
        principal: str | None = None,
        signer: Any = None,
        waiting: int = 1000,
        keep_seconds: float = 86_400.0,
        options: Mapping[str, Any] | None = None,
        issuer: str | Issuer | None = None,
        producer: str | None = None,
        keys: Mapping[str, bytes] | None = None,
        objects: Objects | None = None,
    ) -> None:
        super().__init__(issuer or principal, producer, keys, objects)
        self._link = Link(url, prefix, options)
        self._queue = queue
        self._timeout = timeout
        self._ack_seconds = timeout if ack_seconds is None else ack_seconds
        self._principal = ANONYMOUS if principal is None else Principal(principal)
        self._signer = signer
        self._waiting = waiting
        self._keep_seconds = keep_seconds
        self._not_apart: set[str] = set()  # priorities for which the server has no subject, or none for this client

    async def __aenter__(self) -> Self:
        await self._link.open(self._queue, self._waiting, self._keep_seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._link.close()

    async def send(self, task: Task) -> Ack | Nack:
        """Dispatches a task and answers with its receipt.

        With ``replyTo.expectAck`` false that is the queue's. Raises Unanswered when no worker answers in time,
        Unreachable, EncodeError.
        """
        receipt = await self._sent(task)
        if isinstance(receipt, Result):  # of somebody who may not have it executed
            error = receipt.error
            return nack(task, error.code or "" if error else "", error.message or "" if error else "")
        return receipt

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """The Results of a task as they come. Raises as :meth:`call`."""
        subject = self._link.subject("results", uuid_key(task.task_id), self._principal)
        results = await self._link.connection.subscribe(subject)
        try:
            while True:
                receipt = await self._sent(task)
                if isinstance(receipt, Nack):
                    raise Refused(receipt)
                if isinstance(receipt, Result):
                    yield receipt
                    return
                with contextlib.suppress(Reconnected):  # then it is sent again, which does not execute it again
                    while True:
                        result = await self._next(task, results)
                        yield result
                        if is_final(result):
                            return
        finally:
            await results.unsubscribe()

    async def result(self, task_id: str) -> Result | None:
        """The newest kept Result of a task sent before, final or not; None while there is none. Raises BadAnswer for
        what is none of that task, or not of whom ``producer`` and ``keys`` of the client say."""
        subject = self._link.subject("results", uuid_key(task_id), self._principal)
        try:
            message = await self._link.stream.get_last_msg(self._link.results_stream, subject)
        except NotFoundError:
            return None
        result = _read(message.data)
        if not isinstance(result, Result) or not same_id(result.task_id, task_id):
            raise BadAnswer(f"what is kept for task {task_id} is not a Result of it")
        return self.vouched(result)

    async def _result_of(self, task: Task) -> Result:
        async for result in self.statuses(task):
            if is_final(result):
                return result
        raise Unanswered(f"no result of task {task.task_id}")

    async def _next(self, task: Task, results: Any) -> Result:
        """The next Result of the task; what others publish there is not taken, and named where nothing else comes."""
        strange: list[str] = []
        end = asyncio.get_running_loop().time() + self._timeout
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                message = await self._link.unless_lost(results.next_msg(timeout=left))
                return self.checked(task, _read(message.data))
            except BadAnswer as error:
                _log.warning("a Result for task %s was not taken: %s", task.task_id, error)
                strange.append(str(error))
            except NatsTimeout:
                break
            except ConnectionClosedError as error:
                raise Unreachable(f"the connection was lost: {error}") from error
        if strange:
            raise BadAnswer(f"no Result of task {task.task_id} came, but: {'; '.join(strange[:3])}")
        raise Unanswered(f"no result of task {task.task_id}")

    async def _sent(self, task: Task) -> Ack | Nack | Result:
        inbox = self._link.connection.new_inbox()
        receipts = await self._link.connection.subscribe(inbox)
        try:
            waits = expects_ack(task)
            async with asyncio.timeout(self._ack_seconds if waits else None):
                message = None
                while message is None:
                    if (refused := await self._put(task, inbox)) is not None:
                        return refused
                    if not waits:
                        return ack(task)
                    with contextlib.suppress(Reconnected):
                        message = await self._link.unless_lost(receipts.next_msg(timeout=None))
        except (TimeoutError, NoRespondersError) as error:
            raise Unanswered(f"no worker took task {task.task_id}") from error
        except ConnectionClosedError as error:
            raise Unreachable(f"the connection was lost: {error}") from error
        finally:
            await receipts.unsubscribe()
        receipt = _read(message.data)
        if isinstance(receipt, Result):
            return self.checked(task, receipt)
        if not isinstance(receipt, (Ack, Nack)):
            raise BadAnswer(f"the worker answered with a {type(receipt).__name__}")
        return receipt

    async def _put(self, task: Task, inbox: str) -> Nack | None:
        # Not Nats-Msg-Id: the server would swallow a task that is sent again, and the worker can answer it again.
        text = encode(task).encode()
        headers = {CORRELATION: task.correlation_id, TASK_ID: uuid_key(task.task_id), INBOX: inbox}
        if self._signer is not None:
            from turnwire.sap.signing import sign

            headers[SIGNER] = self._principal.name
            headers[SIGNATURE] = base64.b64encode(sign(text, self._signer)).decode()
        try:
            await self._publish(text, headers, priority_of(task))
        except APIError as error:
            if error.err_code != _FULL:
                raise Unreachable(f"the queue does not take the task: {error}") from error
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        except MaxPayloadError:
            return nack(task, ErrorCode.INVALID_TASK, f"the task has {len(text)} bytes, more than the server takes")
        except NoStreamResponseError as error:
            raise Unreachable(f"there is no queue {self._queue}") from error
        except PermissionError as error:
            raise Unreachable(str(error)) from error
        return None

    async def _publish(self, text: bytes, headers: Mapping[str, str], priority: str) -> None:
        """Puts a task where those of its priority are; where that cannot be, among the normal ones."""
        plain = self._link.subject_of(self._queue, self._principal, Priority.NORMAL.value)
        subject = self._link.subject_of(self._queue, self._principal, priority)
        if subject != plain and priority not in self._not_apart:
            try:
                return await self._link.publish(subject, text, headers)
            except (PermissionError, NoStreamResponseError) as error:
                self._not_apart.add(priority)
                _log.warning("tasks that are %s go among the normal ones: %s", priority, error)
        await self._link.publish(plain, text, headers)


def _read(data: bytes) -> Any:
    try:
        return decode(data)
    except DecodeError as error:
        raise BadAnswer(f"the answer cannot be read: {error}") from error
