"""A queue: NATS JetStream (section 10). Extra: ``nats``.

    <prefix>.tasks.<queue>                 Tasks of anybody; one stream, and one bound, for each queue
    <prefix>.tasks.<queue>.<principal>     Tasks of those whom the server lets publish there, see by_subject
    <prefix>.cancels.<queue>               {"taskId": ...}: whoever sent the task wants its end
    <prefix>.cancels.<queue>.<principal>   the same, of a principal that is known
    <prefix>.receipts.<taskId>             Ack or Nack
    <prefix>.results.<taskId>              Results, kept for a while
    <prefix>.results.<principal>.<taskId>  Results of tasks whose principal is known

Delivery is at least once: a task leaves the queue when its Result has been published and the server has confirmed that.
A task that comes again is known by its principal and taskId; with a transcript that the workers share it has one
Result whatever their number. One that was started but not finished is executed again or fails, as its capability
specifies. The stream is a line; priority orders the tasks that are with the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from turnwire.checklists import Recent
from turnwire.errors import BadAnswer, DecodeError, Unanswered, Unreachable, needs
from turnwire.json import text as json_text
from turnwire.sap import transports
from turnwire.sap.access import ANONYMOUS, Action, Named, Principal, sign, verify
from turnwire.sap.agent import cancel_and_wait, too_large
from turnwire.sap.builders import Refused, code_of, expects_ack, nack, thaw
from turnwire.sap.codec import encode
from turnwire.sap.handlers import Job, key_of
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import WIRE, ErrorCode, uuid_key

with needs("nats", "the queue needs nats-py"):
    from nats.aio.client import Client as Connection
    from nats.errors import (
        ConnectionClosedError,
        Error as NatsError,
        MaxPayloadError,
        NoRespondersError,
        TimeoutError as NatsTimeout,
    )
    from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig
    from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Unpack

CORRELATION = "X-Correlation-Id"
TASK_ID = "Sap-Task-Id"
INBOX = "Sap-Inbox"
SIGNER, SIGNATURE = "Sap-Principal", "Sap-Signature"
CONNECT_SECONDS = 5.0
"""Seconds for which a server is looked for at the beginning; one that is lost later is looked for as long as it
takes."""
PATIENCE = 1.0
"""Seconds for which an answer is waited for before what was asked is looked at again: it may have been lost."""
KEEP_SECONDS = 86_400.0
"""Seconds for which the server keeps Results."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_INBOX = re.compile(r"_INBOX\.[A-Za-z0-9_.-]{1,100}", re.ASCII)  # of a client, where receipts may be sent

_log = logging.getLogger("turnwire.sap")


def is_name(text: str) -> bool:
    """True if a text can be one step of a subject."""
    return _NAME.fullmatch(text) is not None


def by_subject(message: Any) -> Named:
    """The principal in ``<prefix>.tasks.<queue>.<principal>``, where the server's permissions say who may publish; None
    elsewhere."""
    steps = message.subject.split(".")
    return steps[3] if len(steps) == 4 and is_name(steps[3]) else None


def signed(keys: Mapping[str, bytes]) -> transports.Identify:
    """The principal whose Ed25519 signature of the message is in its headers, None if it does not fit.

    keys: name of each principal -> its public key, 32 raw bytes. Extra ``sign``.
    """
    from turnwire.ledger.checkpoint import require_cryptography

    require_cryptography()

    def identify(message: Any) -> Named:
        headers = message.headers or {}
        name, signature = headers.get(SIGNER, ""), headers.get(SIGNATURE, "")
        if name not in keys:
            return None
        return name if verify(message.data, signature, keys[name]) else None

    return identify


@dataclass(eq=False)
class Link:
    """A connection to a server, and the names of one queue there; the arguments are those of :class:`Worker`."""

    url: str
    queue: str
    prefix: str
    waiting: int
    options: Mapping[str, Any] | None = None
    connection: Any = None
    stream: Any = None

    def __post_init__(self) -> None:
        if not is_name(self.prefix):
            raise ValueError("a prefix must be 1 to 64 letters, digits, _ and -")
        self.tasks_stream, self.results_stream = f"{self.prefix}_tasks_{self.queue}", f"{self.prefix}_results"

    async def open(self) -> None:
        """Connects, and makes the streams that are not there. Raises Unreachable."""
        options = {"max_reconnect_attempts": -1, "error_cb": self._noticed, **(self.options or {})}
        connection = Connection()
        try:
            async with asyncio.timeout(max(CONNECT_SECONDS, options.get("connect_timeout", 0))):
                await connection.connect(self.url, **options)
        except (OSError, NatsError, TimeoutError) as error:
            await connection.close()
            raise Unreachable(f"no NATS server at {self.url}: {connection.last_error or error}") from error
        self.connection, self.stream = connection, connection.jetstream()
        subject = self.subject("tasks", self.queue)
        tasks = StreamConfig(
            name=self.tasks_stream,
            subjects=[subject, f"{subject}.*"],
            retention=RetentionPolicy.WORK_QUEUE,
            max_msgs=self.waiting,
            discard=DiscardPolicy.NEW,
        )
        kept = [f"{self.prefix}.results.>"]
        for config in (tasks, StreamConfig(name=self.results_stream, subjects=kept, max_age=KEEP_SECONDS)):
            try:
                await self.stream.stream_info(config.name)
            except NotFoundError:
                await self.stream.add_stream(config)

    async def close(self) -> None:
        """Ends the connection."""
        if self.connection is not None:
            connection, self.connection = self.connection, None
            await connection.close()

    async def _noticed(self, error: Exception) -> None:
        """Takes what nats-py tells of the connection."""
        if self.connection is not None:  # else whoever opens the link is told
            _log.error("the connection to %s: %s: %s", self.url, type(error).__name__, error)

    async def publish(self, subject: str, text: bytes, headers: Mapping[str, str]) -> None:
        """Adds a message to a stream, again if the server did not confirm it, since it may have been lost.

        Raises PermissionError if the server does not let this client do that, and what nats-py raises.
        """
        while True:
            with contextlib.suppress(NatsTimeout):
                await self.stream.publish(subject, text, timeout=PATIENCE, headers=dict(headers))
                return
            if f'publish to "{subject}"'.lower() in str(self.connection.last_error).lower():
                raise PermissionError("the server does not let this client publish there")

    @property
    def losses(self) -> int:
        """The number of times that the server was lost and is there again: what it was asked, or said, it may have
        forgotten."""
        return int(self.connection.stats["reconnects"]) if self.connection is not None else 0

    @property
    def largest(self) -> int:
        """Bytes that the text of one message may have."""
        return int(self.connection.max_payload) - HEADERS

    def subject(self, kind: str, name: str, principal: Principal | None = None) -> str:
        """A subject of this prefix. Raises ValueError for a name that cannot be part of one."""
        if not is_name(name):
            raise ValueError(f"{name!r} cannot be part of a subject")
        middle = ""
        if principal is not None and principal.name:  # its name, or that in hexadecimal
            middle = f".{principal.name if is_name(principal.name) else 'x' + principal.name.encode().hex()}"
        if kind in ("tasks", "cancels"):
            return f"{self.prefix}.{kind}.{name}{middle}"
        return f"{self.prefix}.{kind}{middle}.{name}"


HEADERS = 512  # bytes of a message that are kept for its headers
AT_ONCE = 16  # tasks of one capability that are with the agent at a time, at least
CANCELS = 10_000  # wishes that are kept for tasks that have not come yet
AGAIN_SECONDS = 0.5  # between failures to ask for a task
_LATER = frozenset({ErrorCode.RATE_LIMIT.value, ErrorCode.INTERNAL.value})


@dataclass(eq=False, repr=False)
class Worker:
    """Feeds an agent, or the agents of a bus, from a queue. Use it as an async context manager, inside theirs.

    Args:
        url: of the server, e.g. ``nats://127.0.0.1:4222``.
        queue: name of the queue; several workers may share it. prefix: of all subjects and streams.
        identify: who sent a message, e.g. :func:`by_subject` or ``signed(keys)``; None is refused. Without it all
            senders are ANONYMOUS.
        waiting: how many tasks this queue holds; publishing one more fails at the client, as a Nack.
        at_once: how many tasks are with the agent at a time; default: of each capability as many as may wait there,
            and no fewer than 16.
        ack_wait: seconds after which the server gives a task of a dead worker to another.
        options: for the connection, e.g. ``user`` and ``password``, as ``nats.connect`` takes them.
    """

    agent: transports.Serving
    url: str
    _: KW_ONLY
    queue: str
    prefix: str = "sap"
    identify: transports.Identify | None = None
    waiting: int = 1000
    at_once: int | None = None
    ack_wait: float = 30.0
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self._link = Link(self.url, self.queue, self.prefix, self.waiting, self.options)
        self._slots: asyncio.Semaphore
        self._with_agent: Counter[str] = Counter()  # tasks by capability
        self._cancels = Recent(CANCELS)  # keys of tasks that are to end when they come
        self._tasks: Any = None  # the pull subscription
        self._loop: asyncio.Task[None] | None = None
        self._at_work: set[asyncio.Task[None]] = set()  # handling a task, or ending one

    async def __aenter__(self) -> Self:
        if not self.agent.running:
            raise RuntimeError("enter the agent first: async with agent, worker: ...")
        await self._link.open()
        for agent in self.agent.agents:
            agent.add_route("nats", self._route)
        most = sum(self._most(name) for name in self.agent.capabilities)
        self._slots = asyncio.Semaphore(max(AT_ONCE, most) if self.at_once is None else self.at_once)
        config = ConsumerConfig(ack_wait=self.ack_wait, max_ack_pending=self._link.waiting)
        name = f"{self._link.queue}-workers"  # of the consumer, which all workers of the queue share
        self._tasks = await self._link.stream.pull_subscribe("", name, self._link.tasks_stream, config)
        self._begin()
        wishes = self._link.subject("cancels", self._link.queue)
        for subject in (wishes, f"{wishes}.*"):
            await self._link.connection.subscribe(subject, cb=self._cancel)
        return self

    def _most(self, capability: str) -> int:
        """Tasks of a capability that may be with the agent at a time."""
        return max(AT_ONCE, self.agent.capabilities[capability].queue)

    async def __aexit__(self, *_: object) -> None:
        loop, self._loop = self._loop, None
        await cancel_and_wait([*self._at_work, *([loop] if loop is not None else [])])
        await self._link.close()

    def _begin(self) -> None:
        """Takes tasks until the worker is closed, even if a handler of the agent cancels what it finds."""
        self._loop = asyncio.create_task(self._pull())
        self._loop.add_done_callback(lambda ended: self._begin() if ended is self._loop else None)

    async def _pull(self) -> None:
        while True:
            await self._slots.acquire()
            handling = None
            try:
                (message,) = await self._tasks.fetch(1, timeout=PATIENCE)
                handling = self._start(self._handle(message))
                handling.add_done_callback(self._handled)
            except NatsTimeout:  # there is none
                pass
            except Exception:
                _log.exception("the queue currently delivers no tasks")  # the client connects again by itself
                await asyncio.sleep(AGAIN_SECONDS)
            finally:
                if handling is None:
                    self._slots.release()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Work beside everything else, which ends with the worker."""
        started = asyncio.create_task(work)
        self._at_work.add(started)
        started.add_done_callback(self._at_work.discard)
        return started

    def _handled(self, handling: asyncio.Task[None]) -> None:
        self._slots.release()
        if not handling.cancelled() and (error := handling.exception()) is not None:
            _log.error("a task of the queue could not be handled; the queue will send it again", exc_info=error)

    async def _handle(self, message: Any) -> None:
        async def keep_alive() -> None:
            while True:
                await asyncio.sleep(self.ack_wait / 3)
                await message.in_progress()

        heart = asyncio.create_task(keep_alive())
        try:
            await self._answer(message)
        except asyncio.CancelledError:  # the worker ends: another one may have it at once
            with contextlib.suppress(NatsError):
                await message.nak()
            raise
        finally:
            heart.cancel()

    async def _answer(self, message: Any) -> None:
        size = len(message.data)
        if not self.agent.reserve(size):  # the queue keeps it
            await message.nak(delay=1)
            return
        headers = message.headers or {}
        task_id = headers.get(TASK_ID, "")
        try:
            task = transports.read_message(Task, message.data, message_id=task_id, correlation=headers.get(CORRELATION))
            caller = await transports.identified(self.identify, message)
        except Refused as refused:  # the sender is told where the header or the body says who waits
            await self._receipt(message, task_id or refused.nack.message_id, refused.nack)
            await message.term()
            return
        finally:
            self.agent.release(size)
        capability = task.target.capability
        known = self.agent.capabilities
        if len(known) > 1 and capability in known and self._with_agent[capability] >= self._most(capability):
            await message.nak(delay=1)  # it waits in the stream, where it takes no place of another capability's
            return
        message.data = b""  # the agent counts the task from here on

        task_id, expected, limit = task.task_id, expects_ack(task), self._link.largest
        wanted = caller is not None and key_of(caller, task_id) in self._cancels
        self._with_agent[capability] += 1
        try:
            job = await self.agent.receive(task, principal=caller, limit=limit, kept=True, given=True, cancelled=wanted)
            del task
            if isinstance(job, Nack):
                if code_of(job) in _LATER and message.metadata.num_delivered > 1:  # it may have been accepted before
                    await message.nak(delay=1)
                    return
                await self._receipt(message, task_id, job)
            else:
                if self._cancels.pop(job.key, "") is None:
                    job.cancel()
                if expected:
                    await self._receipt(message, task_id, job.ack())
                async for result in job.results():
                    await self._publish(job, result, caller)
            await message.ack_sync()
        finally:
            self._with_agent[capability] -= 1

    async def _cancel(self, message: Any) -> None:
        """Ends the task of whoever sent it. Nobody's wish waits until the task of another has ended."""
        self._start(self._end(message))

    async def _end(self, message: Any) -> None:
        """Ends a task here, or as soon as it comes. Its Result goes where its Results go."""
        caller = await transports.identified(self.identify, message)
        with contextlib.suppress(DecodeError):  # no wish
            task_id = json_text.read_object(message.data, WIRE).get("taskId")
            if caller is None or not isinstance(task_id, str) or not is_name(task_id):
                return
            found = await transports.asked(self.agent, Action.CANCEL, task_id, caller)
            if isinstance(found, Nack) and code_of(found) == ErrorCode.NOT_FOUND:
                self._cancels[key_of(caller, task_id)] = None

    async def _receipt(self, message: Any, task_id: str, said: Ack | Nack) -> None:
        """To the inbox that the message names. What everybody may hear, to the subject of the task as well."""
        headers = {CORRELATION: said.correlation_id} if said.correlation_id is not None else None
        subject = (message.headers or {}).get(INBOX, "")
        if _INBOX.fullmatch(subject) is None:
            subject = self._link.subject("receipts", task_id.lower()) if is_name(task_id) else None
        if subject is not None:
            await self._link.connection.publish(subject, encode(said, strict=False).encode(), headers=headers)

    async def _publish(self, job: Job, result: str, caller: Principal | None) -> None:
        """Publishes a Result; it is the server's when this returns. Raises when it could not be."""
        text, limit = result.encode(), self._link.largest
        if len(text) > limit:  # made for another transport, and asked for again here
            text = encode(too_large(thaw(text), len(text), limit)).encode()
        subject = self._link.subject("results", job.task_id.lower(), caller)
        await self._link.publish(subject, text, {CORRELATION: job.correlation_id})

    async def _route(self, endpoint: str, result: Result) -> None:
        """replyTo ``nats:<prefix>.replies.<name>``; no other subject can be reached from a task."""
        subject = endpoint.partition(":")[2]
        start = f"{self._link.prefix}.replies."
        if not subject.startswith(start) or not is_name(subject[len(start) :]):
            raise PermissionError(f"{endpoint} is not an allowed replyTo; use nats:{start}<name>")
        headers = {CORRELATION: result.correlation_id}
        await self._link.connection.publish(subject, encode(result, strict=False).encode(), headers=headers)


def _clock() -> float:
    return asyncio.get_running_loop().time()


_FULL = 10077  # JetStream: maximum messages exceeded


class Client(transports.Caller):
    """Puts tasks into a queue and waits for their results. Use it as an async context manager.

    Args:
        url, queue, prefix, waiting, options: as of :class:`turnwire.sap.nats.Worker`.
        timeout: seconds for a Result. ack_seconds: for an Ack, where a task does not say ``expectAck`` false; default:
            the timeout.
        principal: as whom the worker knows this client, with ``identify=by_subject``; tasks go to a subject of its own.
        signer: an Ed25519 private key, or its 32 raw bytes, for ``identify=signed(keys)`` (extra ``sign``).
        issuer, producer, keys: as in :class:`turnwire.sap.Caller`; default issuer: the principal.
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
        options: Mapping[str, Any] | None = None,
        **caller: Unpack[transports.CallerOptions],
    ) -> None:
        caller.setdefault("issuer", principal)
        super().__init__(**caller)
        self._link = Link(url, queue, prefix, waiting, options)
        self._timeout = timeout
        self._ack_seconds = timeout if ack_seconds is None else ack_seconds
        self._principal = ANONYMOUS if principal is None else Principal(principal)
        self._signer = signer

    async def __aenter__(self) -> Self:
        await self._link.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._link.close()

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """Yields the Results of a task as they arrive. Raises the errors of :meth:`call`."""
        async with self._listening(self._link.subject("results", uuid_key(task.task_id), self._principal)) as results:
            while True:  # it is sent again where the server was lost, which does not execute it again
                losses = self._link.losses
                receipt = await self._sent(task)
                if isinstance(receipt, Nack):
                    raise Refused(receipt)
                take = partial(self.answered, task)
                while (result := await self._next(task.task_id, results, take, self._timeout, losses)) is not None:
                    yield result
                    if transports.is_final(result):
                        return

    async def _asked(self, task: Task, *, receipt: bool = False) -> Any:
        return await self._sent(task) if receipt else [result async for result in self.statuses(task)][-1]

    async def _told(self, action: Action, task_id: str) -> Any:
        """The newest kept Result. A task that is still in the queue is ended when its turn comes: Unanswered where no
        Result comes within the timeout, as no worker is there, or nobody knows the task."""
        subject = self._link.subject("results", uuid_key(task_id), self._principal)
        if action is Action.READ:
            try:
                message = await self._link.stream.get_last_msg(self._link.results_stream, subject)
            except NotFoundError:
                return None
            return transports.read_answer(message.data)

        async with self._listening(subject) as results:
            if (known := await self.result(task_id)) is not None:
                return known
            text = json_text.write({"taskId": task_id}, WIRE).encode()
            wish = self._link.subject("cancels", self._link.queue, self._principal)
            end, take = _clock() + self._timeout, partial(self._vouched, task_id=task_id)
            while True:  # a wish that no worker hears yet is lost: it is said again
                await self._link.connection.publish(wish, text, headers=self._signature(text) or None)
                left = end - _clock()
                try:
                    found = await self._next(task_id, results, take, min(left, PATIENCE), self._link.losses)
                except (Unanswered, BadAnswer):
                    if left <= PATIENCE:
                        raise
                else:
                    if found is not None and transports.is_final(found):
                        return found

    def _signature(self, text: bytes) -> dict[str, str]:
        """The headers by which a worker knows who sent a message, where this client has a key."""
        if self._signer is None:
            return {}
        return {SIGNER: self._principal.name, SIGNATURE: sign(text, self._signer)}

    @contextlib.asynccontextmanager
    async def _listening(self, subject: str) -> AsyncIterator[Any]:
        """A subscription, for as long as it is used."""
        subscription = await self._link.connection.subscribe(subject)
        try:
            yield subscription
        finally:
            await subscription.unsubscribe()

    async def _heard(self, subscription: Any, losses: int, end: float = float("inf")) -> Any:
        """The next message; None if the server was lost since ``losses``: it may have come meanwhile. Raises
        TimeoutError at the ``end`` by the clock, Unreachable."""
        while (left := end - _clock()) > 0:
            try:
                return await subscription.next_msg(timeout=min(left, PATIENCE))
            except NatsTimeout:
                if losses != self._link.losses:
                    return None
            except ConnectionClosedError as error:
                raise Unreachable(f"the connection was lost: {error}") from error
        raise TimeoutError

    async def _next(
        self, task_id: str, results: Any, check: Callable[[Any], Result], seconds: float, losses: int
    ) -> Result | None:
        """The next Result of the task; what others publish there is not taken, and named where nothing else comes. None
        if the server was lost."""
        strange: list[str] = []
        end = _clock() + seconds
        try:
            while (message := await self._heard(results, losses, end)) is not None:
                try:
                    return check(transports.read_answer(message.data))
                except (BadAnswer, Refused) as error:
                    _log.warning("a Result for task %s was not accepted: %s", task_id, error)
                    strange.append(str(error))
        except TimeoutError:
            if strange:
                raise BadAnswer(f"received no Result of task {task_id}, but: {'; '.join(strange[:3])}") from None
            raise Unanswered(f"no result of task {task_id}") from None
        return None

    async def _sent(self, task: Task) -> Ack | Nack | None:
        inbox = self._link.connection.new_inbox()
        waits, message = expects_ack(task), None
        try:
            async with self._listening(inbox) as receipts, asyncio.timeout(self._ack_seconds if waits else None):
                while message is None:
                    losses = self._link.losses
                    if (refused := await self._put(task, inbox)) is not None or not waits:
                        return refused
                    message = await self._heard(receipts, losses)
        except (TimeoutError, NoRespondersError) as error:
            raise Unanswered(f"no worker accepted task {task.task_id}") from error
        receipt = transports.read_answer(message.data)
        if not isinstance(receipt, (Ack, Nack)):
            raise BadAnswer(f"the worker answered with a {type(receipt).__name__}")
        return receipt

    async def _put(self, task: Task, inbox: str) -> Nack | None:
        # Not Nats-Msg-Id: the server would swallow a task that is sent again, and the worker can answer it again.
        text = encode(task).encode()
        headers = {CORRELATION: task.correlation_id, TASK_ID: uuid_key(task.task_id), INBOX: inbox}
        headers.update(self._signature(text))
        try:
            await self._link.publish(self._link.subject("tasks", self._link.queue, self._principal), text, headers)
        except APIError as error:
            if error.err_code != _FULL:
                raise Unreachable(f"the queue does not accept the task: {error}") from error
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        except MaxPayloadError:
            return nack(task, ErrorCode.INVALID_TASK, f"the task has {len(text)} bytes, more than the server accepts")
        except NoStreamResponseError as error:
            raise Unreachable(f"there is no queue {self._link.queue}") from error
        except PermissionError as error:
            raise Unreachable(str(error)) from error
        return None
