"""A queue: NATS JetStream (section 10). Extra: ``nats``. The subjects are in :mod:`turnwire.sap.transports.nats_link`.

Delivery is at least once: a task leaves the queue when its Result has been published and the server has confirmed that.
A task that comes again is known by its principal and taskId; with a transcript that the workers share it has one
Result whatever their number. One that was started and never finished is executed again, or fails, as its capability
says.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, MissingDependency, Reason
from turnwire.sap.codec import decode, encode
from turnwire.sap.execution import too_large
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.principals import ANONYMOUS, Principal, authenticated
from turnwire.sap.receipts import ack, code_of, expects_ack, unreadable
from turnwire.sap.serving import Serving
from turnwire.sap.spec import TERMINAL, WIRE, ErrorCode
from turnwire.sap.stages import Stage
from turnwire.sap.transports.nats_client import Client as Client
from turnwire.sap.transports.nats_link import CORRELATION as CORRELATION
from turnwire.sap.transports.nats_link import INBOX, TASK_ID, Identify, Link, is_inbox, is_name
from turnwire.sap.transports.nats_link import by_subject as by_subject
from turnwire.sap.transports.nats_link import signed as signed
from turnwire.sap.transports.nats_order import InOrder, Source
from turnwire.sap.waiting import cancel_and_wait

try:
    from nats.errors import Error as NatsError
    from nats.js.api import ConsumerConfig
    from nats.js.errors import NotFoundError
except ImportError as missing:
    raise MissingDependency(
        "the queue needs nats-py: pip install 'turnwire[nats]', or '.[nats]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self


_log = logging.getLogger("turnwire.sap")
HEADERS = 512  # bytes of a message that are kept for its headers
_LATER = frozenset({ErrorCode.RATE_LIMIT.value, ErrorCode.INTERNAL.value})


class Worker:
    """Feeds an agent, or the agents of a bus, from a queue. Use it as an async context manager, inside theirs.

    Args:
        url: of the server, e.g. ``nats://127.0.0.1:4222``.
        queue: name of the queue; several workers may share it. prefix: of all subjects and streams.
        identify: who sent a message, e.g. :func:`by_subject` or ``signed(keys)``; None is refused. Without it all
            senders are ANONYMOUS.
        waiting: how many tasks this queue holds; publishing one more fails at the client, as a Nack.
        at_once: how many tasks are with the agent at a time; default: as many as may wait there, and no fewer than
            16. Beyond those, the first one of each priority is held.
        ack_wait: seconds after which the server gives a task of a dead worker to another.
        keep_seconds: how long the server keeps Results.
        options: for the connection, e.g. ``user`` and ``password``, as ``nats.connect`` takes them.
    """

    def __init__(
        self,
        agent: Serving,
        url: str,
        *,
        queue: str,
        prefix: str = "sap",
        identify: Identify | None = None,
        waiting: int = 1000,
        at_once: int | None = None,
        ack_wait: float = 30.0,
        keep_seconds: float = 86_400.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._agent = agent
        self._link = Link(url, prefix, options)
        self._queue = queue
        self._identify = identify
        self._waiting = waiting
        self._slots = asyncio.Semaphore(max(16, agent.queue) if at_once is None else at_once)
        self._tasks: InOrder
        self._ack_wait = ack_wait
        self._keep_seconds = keep_seconds
        self._loop: asyncio.Task[None] | None = None
        self._handling: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        if not self._agent.running:
            raise RuntimeError("a worker feeds an agent that is entered: async with agent, worker: ...")
        await self._link.open(self._queue, self._waiting, self._keep_seconds)
        self._agent.add_route("nats", self._route)
        sources = [await self._source(*each) for each in self._link.sources(self._queue)]
        self._tasks = InOrder(sources, self._ack_wait)
        self._link.reconnected = self._tasks.ask_again
        self._begin()
        return self

    async def _source(self, name: str, subject: str, priority: str) -> Source:
        """What workers share of one of the queue's subjects; made where it is not there."""
        stream, jetstream = self._link.tasks_stream(self._queue), self._link.stream
        try:
            known = (await jetstream.consumer_info(stream, name)).config.filter_subject
        except NotFoundError:
            known = None
        if known != subject:  # one without it is of a version that had one subject for all
            config = ConsumerConfig(name=name, durable_name=name, filter_subject=subject)
            await jetstream.add_consumer(stream, config, ack_wait=self._ack_wait, max_ack_pending=self._waiting)
        return Source(await jetstream.pull_subscribe_bind(durable=name, stream=stream), priority)

    async def __aexit__(self, *_: object) -> None:
        loop, self._loop = self._loop, None
        await cancel_and_wait([*self._handling, *([loop] if loop is not None else [])])
        await self._tasks.close()
        await self._link.close()

    def _begin(self) -> None:
        """Takes tasks until the worker is closed, even if a handler of the agent cancels what it finds."""
        self._loop = asyncio.create_task(self._pull())
        self._loop.add_done_callback(lambda ended: self._begin() if ended is self._loop else None)

    async def _pull(self) -> None:
        while True:
            await self._slots.acquire()
            try:
                message = await self._tasks.next()
            except BaseException:
                self._slots.release()
                raise
            handling = asyncio.create_task(self._handle(message))
            self._handling.add(handling)
            handling.add_done_callback(self._handled)

    def _handled(self, handling: asyncio.Task[None]) -> None:
        self._handling.discard(handling)
        self._slots.release()
        if not handling.cancelled() and (error := handling.exception()) is not None:
            _log.error("a task of the queue could not be handled; the queue will send it again", exc_info=error)

    async def _handle(self, message: Any) -> None:
        heart = asyncio.create_task(self._keep_alive(message))
        try:
            await self._judge(message)
        except asyncio.CancelledError:  # the worker ends: another one may have it at once
            with contextlib.suppress(NatsError):
                await message.nak()
            raise
        finally:
            heart.cancel()

    async def _judge(self, message: Any) -> None:
        try:
            task = decode(message.data)
            if not isinstance(task, Task):
                raise DecodeError(Reason.UNKNOWN_KIND, f"a {type(task).__name__} is not a Task", offset=0, wire=WIRE)
        except DecodeError as error:
            await self._refuse_unread(message, error)
            return
        caller = await self._principal(message)

        async def progress(result: Result) -> None:
            if result.status not in TERMINAL:
                await self._publish(result, caller)

        limit = self._link.largest - HEADERS
        job = await self._agent.receive(task, progress, principal=caller, kept=True, limit=limit)
        if isinstance(job, Nack):
            if code_of(job) in _LATER and message.metadata.num_delivered > 1:  # it may have been accepted before
                await message.nak(delay=1)
                return
            await self._receipt(message, task.task_id, job)
        elif job.stage is Stage.REFUSED:
            await self._receipt(message, task.task_id, await job.wait())
        else:
            if expects_ack(task):
                await self._receipt(message, task.task_id, ack(task))
            await self._publish(await job.wait(), caller)
        await message.ack_sync()

    async def _principal(self, message: Any) -> Principal | None:
        if self._identify is None:
            return ANONYMOUS
        found = self._identify(message)
        return authenticated(await found if inspect.isawaitable(found) else found)

    async def _refuse_unread(self, message: Any, error: DecodeError) -> None:
        """The sender is told where the header or the body says who waits, and the message is ended."""
        headers = message.headers or {}
        refused = unreadable(
            message.data, error, message_id=headers.get(TASK_ID, ""), correlation=headers.get(CORRELATION)
        )
        await self._receipt(message, headers.get(TASK_ID) or refused.message_id, refused)
        await message.term()

    async def _receipt(self, message: Any, task_id: str, said: Ack | Nack | Result) -> None:
        """To the inbox that the message names. What everybody may hear, to the subject of the task as well."""
        headers = {CORRELATION: said.correlation_id} if said.correlation_id is not None else None
        text = encode(said, strict=False).encode()
        inbox = (message.headers or {}).get(INBOX, "")
        if is_inbox(inbox):
            await self._link.connection.publish(inbox, text, headers=headers)
        elif is_name(task_id):
            subject = self._link.subject("receipts", task_id.lower())
            await self._link.connection.publish(subject, text, headers=headers)

    async def _keep_alive(self, message: Any) -> None:
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            await message.in_progress()

    async def _publish(self, result: Result, caller: Principal | None) -> None:
        """Publishes a Result; it is the server's when this returns. Raises when it could not be."""
        text = encode(result, strict=False).encode()
        if len(text) > self._link.largest - HEADERS:  # made for another transport, and asked for again here
            text = encode(too_large(result, len(text), self._link.largest - HEADERS)).encode()
        subject = self._link.subject("results", result.task_id.lower(), caller)
        await self._link.publish(subject, text, {CORRELATION: result.correlation_id})

    async def _route(self, endpoint: str, result: Result) -> None:
        """replyTo ``nats:<prefix>.replies.<name>``; no other subject can be reached from a task."""
        subject = endpoint.partition(":")[2]
        start = f"{self._link.prefix}.replies."
        if not subject.startswith(start) or not is_name(subject[len(start) :]):
            raise PermissionError(f"{endpoint} is not an allowed replyTo; use nats:{start}<name>")
        headers = {CORRELATION: result.correlation_id}
        await self._link.connection.publish(subject, encode(result, strict=False).encode(), headers=headers)
