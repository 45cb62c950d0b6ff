"""The names and streams of one prefix on a NATS server, and the principals of its messages. Extra: ``nats``.

<prefix>.tasks.<queue>                          Tasks of anybody; one stream, and one bound, for each queue
<prefix>.tasks.<queue>.<principal>              Tasks of those whom the server lets publish there (see ``by_subject``)
<prefix>.tasks.<queue>.<principal>.<priority>   Those that are urgent, high or low; the principal of anybody's is ~
<prefix>.receipts.<taskId>                      Ack or Nack
<prefix>.results.<taskId>                       Results, kept for a while
<prefix>.results.<principal>.<taskId>           Results of tasks whose principal is known
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from turnwire.errors import MissingDependency, Unreachable
from turnwire.sap.principals import Named, Principal
from turnwire.sap.spec import Priority
from turnwire.sap.waiting import until

try:
    from nats.aio.client import Client as Connection
    from nats.errors import Error as NatsError
    from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig
    from nats.js.errors import NotFoundError
except ImportError as missing:
    raise MissingDependency(
        "the queue needs nats-py: pip install 'turnwire[nats]', or '.[nats]' in a checkout"
    ) from missing

CORRELATION = "X-Correlation-Id"
TASK_ID = "Sap-Task-Id"
INBOX = "Sap-Inbox"
SIGNER, SIGNATURE = "Sap-Principal", "Sap-Signature"
CONNECT_SECONDS = 5.0
"""How long a server is looked for at the beginning; one that is lost later is looked for as long as it takes."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_DENIED = re.compile('publish to "([^"]*)"')
_INBOX = re.compile(r"_INBOX\.[A-Za-z0-9_.-]{1,100}", re.ASCII)

T = TypeVar("T")
_log = logging.getLogger("turnwire.sap")

Identify = Callable[[Any], Named | Awaitable[Named]]
"""Who sent a message (of nats-py): None for somebody unknown, who is refused."""


APART = tuple(str(priority) for priority in Priority if priority is not Priority.NORMAL)
"""Priorities whose tasks have subjects of their own."""

ANYBODY = "~"
"""Stands for the principal of anybody's tasks in such a subject; it is not a name."""


def is_name(text: str) -> bool:
    """Whether a text can be one step of a subject."""
    return _NAME.fullmatch(text) is not None


def is_inbox(text: str) -> bool:
    """Whether a subject is the inbox of a client, where receipts may be sent."""
    return _INBOX.fullmatch(text) is not None


def step_of(principal: Principal) -> str:
    """The step of a subject that stands for a principal: its name, or that in hexadecimal."""
    return principal.name if is_name(principal.name) else "x" + principal.name.encode().hex()


def by_subject(message: Any) -> Named:
    """The principal in ``<prefix>.tasks.<queue>.<principal>``, with a priority behind it or without; None elsewhere.

    The server's permissions say who may publish there: ``sap.tasks.b.A-prime`` and ``sap.tasks.b.A-prime.*``. Whoever
    has the first one only may send tasks of any priority, too, but they are in the queue among the normal ones.
    """
    steps = message.subject.split(".")
    if len(steps) == 5 and steps.pop() not in APART:
        return None
    return steps[3] if len(steps) == 4 and is_name(steps[3]) else None


def signed(keys: Mapping[str, bytes]) -> Identify:
    """The principal whose Ed25519 signature of the message is in its headers, None where it does not fit.

    keys: name of each principal -> its public key, 32 raw bytes. Extra ``sign``.
    """
    from turnwire.sap.signing import verify

    def identify(message: Any) -> Named:
        headers = message.headers or {}
        name, signature = headers.get(SIGNER, ""), headers.get(SIGNATURE, "")
        if name not in keys:
            return None
        return name if verify(message.data, _unbase64(signature), keys[name]) else None

    return identify


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


class Reconnected(Exception):
    """The server was lost, and is there again."""


class Link:
    """A connection and the names of one prefix.

    Attributes:
        reconnected: is called when a server that was lost is there again.
    """

    def __init__(self, url: str, prefix: str, options: Mapping[str, Any] | None = None) -> None:
        if not is_name(prefix):
            raise ValueError("a prefix is 1 to 64 letters, digits, _ and -")
        self.url = url
        self.prefix = prefix
        self.connection: Any = None
        self.stream: Any = None
        self._options = dict(options or {})
        self.reconnected: Callable[[], None] | None = None
        self._lost: asyncio.Future[None] | None = None  # done when a server that was lost is there again
        self._publishing: dict[str, set[asyncio.Future[None]]] = {}
        """Done where that is denied: by the subject, in lower case, as nats-py tells it."""

    async def open(self, queue: str, waiting: int, keep_seconds: float) -> None:
        """Connects, and makes the streams that are not there. Raises Unreachable."""
        seconds = max(CONNECT_SECONDS, self._options.get("connect_timeout", 0))
        connection = Connection()
        try:
            async with asyncio.timeout(seconds):
                mine = {"error_cb": self._noticed, "reconnected_cb": self._back}
                await connection.connect(self.url, **{"max_reconnect_attempts": -1, **self._options, **mine})
        except (OSError, NatsError, TimeoutError) as error:
            await connection.close()
            raise Unreachable(f"no NATS server at {self.url}: {connection.last_error or error}") from error
        self.connection = connection
        self.stream = self.connection.jetstream()
        tasks = StreamConfig(
            name=self.tasks_stream(queue),
            subjects=[filtered for _, filtered, _ in self.sources(queue)],
            retention=RetentionPolicy.WORK_QUEUE,
            max_msgs=waiting,
            discard=DiscardPolicy.NEW,
        )
        results = StreamConfig(name=self.results_stream, subjects=[f"{self.prefix}.results.>"], max_age=keep_seconds)
        for config in (tasks, results):
            try:
                known = (await self.stream.stream_info(config.name)).config
            except NotFoundError:
                await self.stream.add_stream(config)
                continue
            if not set(config.subjects or ()) <= set(known.subjects or ()):  # of a version that had fewer
                await self.stream.update_stream(known, subjects=config.subjects)

    async def close(self) -> None:
        """Ends the connection."""
        if self.connection is not None:
            connection, self.connection = self.connection, None
            self._wake()
            await connection.close()

    async def _noticed(self, error: Exception) -> None:
        """What nats-py tells of the connection: that the server lets nobody publish somewhere, among other things."""
        denied = _DENIED.search(str(error).lower())
        waiting = self._publishing.pop(denied[1], ()) if denied is not None else ()
        for denial in waiting:
            denial.set_result(None)
        if waiting:
            return
        if (told := self._options.get("error_cb")) is not None:
            await told(error)
        elif self.connection is not None:  # else whoever opens the link is told
            _log.error("the connection to %s: %s: %s", self.url, type(error).__name__, error)

    async def _back(self) -> None:
        self._wake()
        if self.reconnected is not None:
            self.reconnected()
        if (told := self._options.get("reconnected_cb")) is not None:
            await told()

    def _wake(self) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    async def unless_lost(self, work: Awaitable[T]) -> T:
        """What is waited for. Raises Reconnected when the server is lost meanwhile, and as soon as it is there again:
        what it was asked it may have forgotten, and what it said may not have been heard. Raises Unreachable when this
        end closes the connection."""
        if self._lost is None or self._lost.done():
            self._lost = asyncio.get_running_loop().create_future()
        lost, waiting = self._lost, asyncio.ensure_future(work)
        try:
            await until(waiting, lost)
            if not waiting.done():
                raise Reconnected if self.connection is not None else Unreachable("the connection was closed")
            return waiting.result()
        finally:
            waiting.cancel()

    async def publish(self, subject: str, text: bytes, headers: Mapping[str, str]) -> None:
        """Puts a message into a stream; once more when the server was lost before it confirmed that.

        Raises PermissionError where the server does not let this client do that, and what nats-py raises.
        """
        while True:
            with contextlib.suppress(Reconnected):
                return await self.unless_lost(self._published(subject, text, headers))

    async def _published(self, subject: str, text: bytes, headers: Mapping[str, str]) -> None:
        publishing = asyncio.ensure_future(self.stream.publish(subject, text, headers=dict(headers)))
        name, denial = subject.lower(), asyncio.get_running_loop().create_future()
        self._publishing.setdefault(name, set()).add(denial)
        try:
            await until(publishing, denial)
            if not publishing.done():
                raise PermissionError(f"the server does not let this client publish to {subject}")
            await publishing
        finally:
            publishing.cancel()
            others = self._publishing.get(name, set())  # none where it was denied
            others.discard(denial)
            if not others:
                self._publishing.pop(name, None)

    def sources(self, queue: str) -> list[tuple[str, str, str]]:
        """Each kind of subject that a queue has: the name of its consumer, the subject, the priority of its tasks."""
        subject, name = self.subject("tasks", queue), f"{queue}-workers"
        normal = Priority.NORMAL.value
        return [
            (name, subject, normal),
            (f"{name}-named", f"{subject}.*", normal),
            *((f"{name}-{priority}", f"{subject}.*.{priority}", priority) for priority in APART),
        ]

    def subject_of(self, queue: str, principal: Principal, priority: str) -> str:
        """The subject for tasks of that priority. Raises ValueError for a queue that cannot be part of one."""
        if priority not in APART:
            return self.subject("tasks", queue, principal)
        return f"{self.subject('tasks', queue)}.{step_of(principal) if principal.name else ANYBODY}.{priority}"

    def tasks_stream(self, queue: str) -> str:
        """The stream of a queue."""
        return f"{self.prefix}_tasks_{queue}"

    @property
    def results_stream(self) -> str:
        """The stream of all Results."""
        return f"{self.prefix}_results"

    @property
    def largest(self) -> int:
        """Bytes that one message may have, headers included."""
        size: int = self.connection.max_payload
        return size

    def subject(self, kind: str, name: str, principal: Principal | None = None) -> str:
        """A subject of this prefix. Raises ValueError for a name that cannot be part of one."""
        if not is_name(name):
            raise ValueError(f"{name!r} cannot be part of a subject")
        middle = f".{step_of(principal)}" if principal is not None and principal.name else ""
        if kind == "tasks":
            return f"{self.prefix}.tasks.{name}{middle}"
        return f"{self.prefix}.{kind}{middle}.{name}"
