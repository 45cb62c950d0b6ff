"""A queue: NATS JetStream (section 10). Extra: ``nats``.

    <prefix>.tasks.<queue>       a work queue of Tasks, bounded; a task leaves it when its Result is published
    <prefix>.receipts.<taskId>   Ack or Nack
    <prefix>.results.<taskId>    Results, kept for a while

Delivery is at least once on the wire and exactly once in effect: redelivered tasks are known by their taskId.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, MissingDependency
from turnwire.sap.agent import Agent, Refused, nack
from turnwire.sap.codec import decode, encode
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import ErrorCode, Status

try:
    import nats as nats_py
    from nats.errors import TimeoutError as NatsTimeout
    from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig
    from nats.js.errors import APIError, NotFoundError
except ImportError as missing:
    raise MissingDependency(
        "the queue needs nats-py: pip install 'turnwire[nats]', or '.[nats]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self

CORRELATION = "X-Correlation-Id"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_log = logging.getLogger("turnwire.sap")


class _Link:
    """A connection and the names of one prefix."""

    def __init__(self, url: str, prefix: str) -> None:
        if not _NAME.fullmatch(prefix):
            raise ValueError("a prefix is 1 to 64 letters, digits, _ and -")
        self.url = url
        self.prefix = prefix
        self.connection: Any = None
        self.stream: Any = None

    async def open(self, waiting: int, keep_seconds: float) -> None:
        self.connection = await nats_py.connect(self.url)
        self.stream = self.connection.jetstream()
        tasks = StreamConfig(
            name=f"{self.prefix}_tasks",
            subjects=[f"{self.prefix}.tasks.*"],
            retention=RetentionPolicy.WORK_QUEUE,
            max_msgs=waiting,
            discard=DiscardPolicy.NEW,
        )
        results = StreamConfig(
            name=f"{self.prefix}_results", subjects=[f"{self.prefix}.results.*"], max_age=keep_seconds
        )
        for config in (tasks, results):
            try:
                await self.stream.stream_info(config.name)
            except NotFoundError:
                await self.stream.add_stream(config)

    async def close(self) -> None:
        if self.connection is not None:
            await self.connection.close()
            self.connection = None

    def subject(self, kind: str, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be part of a subject")
        return f"{self.prefix}.{kind}.{name}"


class Worker:
    """Feeds an agent from a queue. Use it as an async context manager, inside the agent's.

    Args:
        url: of the server, e.g. ``nats://127.0.0.1:4222``.
        queue: name of the queue; several workers may share it.
        waiting: how many tasks the queue holds; publishing one more fails at the client, as a Nack.
        at_once: how many tasks are fetched ahead.
        ack_wait: seconds after which the server gives a task of a dead worker to another.
    """

    def __init__(
        self,
        agent: Agent,
        url: str,
        *,
        queue: str,
        prefix: str = "sap",
        waiting: int = 1000,
        at_once: int = 16,
        ack_wait: float = 30.0,
        keep_seconds: float = 86_400.0,
    ) -> None:
        self._agent = agent
        self._link = _Link(url, prefix)
        self._queue = queue
        self._waiting = waiting
        self._slots = asyncio.Semaphore(at_once)
        self._ack_wait = ack_wait
        self._keep_seconds = keep_seconds
        self._loop: asyncio.Task[None] | None = None
        self._handling: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._link.open(self._waiting, self._keep_seconds)
        subject = self._link.subject("tasks", self._queue)
        config = nats_py.js.api.ConsumerConfig(ack_wait=self._ack_wait, max_ack_pending=self._waiting)
        pulled = await self._link.stream.pull_subscribe(subject, durable=f"{self._queue}-workers", config=config)
        self._agent.routes.setdefault("nats", self._route)
        self._loop = asyncio.create_task(self._pull(pulled))
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [*self._handling, *([self._loop] if self._loop is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._link.close()

    async def _pull(self, pulled: Any) -> None:
        while True:
            await self._slots.acquire()
            try:
                (message,) = await pulled.fetch(1, timeout=5)
            except NatsTimeout:
                self._slots.release()
                continue
            handling = asyncio.create_task(self._handle(message))
            self._handling.add(handling)
            handling.add_done_callback(self._handled)

    def _handled(self, handling: asyncio.Task[None]) -> None:
        self._handling.discard(handling)
        self._slots.release()
        if not handling.cancelled() and (error := handling.exception()) is not None:
            _log.error("a task of the queue could not be handled; it will come again", exc_info=error)

    async def _handle(self, message: Any) -> None:
        try:
            task = decode(message.data)
        except DecodeError as error:
            await self._refuse_unread(message, str(error))
            return
        if not isinstance(task, Task):
            await self._refuse_unread(message, f"a {type(task).__name__} is no Task")
            return
        receipt = await self._agent.submit(task, self._publish)
        await self._send("receipts", task.task_id, task.correlation_id, encode(receipt))
        if isinstance(receipt, Ack):
            heart = asyncio.create_task(self._keep_alive(message))
            try:
                await self._agent.result(task.task_id)
            finally:
                heart.cancel()
        await message.ack()

    async def _refuse_unread(self, message: Any, text: str) -> None:
        """Nobody can be told by taskId; the sender is told where the header says so, and the message is ended."""
        headers = message.headers or {}
        task_id = headers.get("Sap-Task-Id", "")
        if _NAME.fullmatch(task_id):
            refused = Nack(message_id=task_id, correlation_id=None, reason=f"{ErrorCode.INVALID_TASK}: {text}")
            await self._send("receipts", task_id, None, encode(refused))
        await message.term()

    async def _keep_alive(self, message: Any) -> None:
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            await message.in_progress()

    async def _publish(self, result: Result) -> None:
        await self._send("results", result.task_id, result.correlation_id, encode(result, strict=False))

    async def _send(self, kind: str, task_id: str, correlation: str | None, text: str) -> None:
        headers = {CORRELATION: correlation} if correlation is not None else None
        subject = self._link.subject(kind, task_id.lower())
        if kind == "results":
            await self._link.stream.publish(subject, text.encode(), headers=headers)
        else:
            await self._link.connection.publish(subject, text.encode(), headers=headers)

    async def _route(self, endpoint: str, result: Result) -> None:
        """replyTo ``nats:<prefix>.replies.<name>``; no other subject can be reached from a task."""
        subject = endpoint.partition(":")[2]
        start = f"{self._link.prefix}.replies."
        if not subject.startswith(start) or not _NAME.fullmatch(subject[len(start) :]):
            raise PermissionError(f"{endpoint} is no allowed replyTo; use nats:{start}<name>")
        headers = {CORRELATION: result.correlation_id}
        await self._link.connection.publish(subject, encode(result, strict=False).encode(), headers=headers)


class Client:
    """Puts tasks into a queue and waits for their results. Use it as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        queue: str,
        prefix: str = "sap",
        timeout: float = 60.0,
        waiting: int = 1000,
        keep_seconds: float = 86_400.0,
    ) -> None:
        self._link = _Link(url, prefix)
        self._queue = queue
        self._timeout = timeout
        self._waiting = waiting
        self._keep_seconds = keep_seconds

    async def __aenter__(self) -> Self:
        await self._link.open(self._waiting, self._keep_seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._link.close()

    async def send(self, task: Task) -> Ack | Nack:
        """Dispatches a task and answers with its receipt. Raises TimeoutError when no worker answers in time."""
        receipts = await self._link.connection.subscribe(self._link.subject("receipts", task.task_id.lower()))
        try:
            if (refused := await self._put(task)) is not None:
                return refused
            message = await receipts.next_msg(timeout=self._timeout)
        except NatsTimeout as error:
            raise TimeoutError(f"no worker took task {task.task_id}") from error
        finally:
            await receipts.unsubscribe()
        receipt = decode(message.data)
        if not isinstance(receipt, (Ack, Nack)):
            raise TypeError(f"the worker answered with a {type(receipt).__name__}")
        return receipt

    async def call(self, task: Task) -> Result:
        """The final Result. Raises Refused for a Nack, EncodeError, TimeoutError."""
        results = await self._link.connection.subscribe(self._link.subject("results", task.task_id.lower()))
        try:
            receipt = await self.send(task)
            if isinstance(receipt, Nack):
                raise Refused(receipt)
            while True:
                message = await results.next_msg(timeout=self._timeout)
                result = decode(message.data)
                if isinstance(result, Result) and result.status not in (Status.QUEUED, Status.RUNNING):
                    return result
        except NatsTimeout as error:
            raise TimeoutError(f"no result of task {task.task_id}") from error
        finally:
            await results.unsubscribe()

    async def result(self, task_id: str) -> Result | None:
        """The newest kept Result of a task sent before, final or not; None while there is none."""
        subject = self._link.subject("results", task_id.lower())
        try:
            message = await self._link.stream.get_last_msg(f"{self._link.prefix}_results", subject)
        except NotFoundError:
            return None
        result = decode(message.data)
        return result if isinstance(result, Result) else None

    async def _put(self, task: Task) -> Nack | None:
        # Not Nats-Msg-Id: the server would swallow a task that is sent again, and the worker can answer it again.
        headers = {CORRELATION: task.correlation_id, "Sap-Task-Id": task.task_id.lower()}
        text = encode(task).encode()
        try:
            await self._link.stream.publish(self._link.subject("tasks", self._queue), text, headers=headers)
        except APIError as error:
            if error.err_code != _FULL:
                raise
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        return None


_FULL = 10077  # JetStream: maximum messages exceeded
