"""One agent behind every transport: what becomes of a task is decided here, so that it is the same on all of them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import EncodeError, Issue
from turnwire.sap.access import Access
from turnwire.sap.cache import Cache, mode_of, policy_of
from turnwire.sap.codec import decode, encode
from turnwire.sap.contract import output_issues
from turnwire.sap.identity import content_of
from turnwire.sap.learning import LearningLoop
from turnwire.sap.messages import Ack, Message, Nack, Producer, Result, Task
from turnwire.sap.results import NOTHING, Outcome, producer_of, result_for
from turnwire.sap.spec import CacheMode, ErrorCode, Status
from turnwire.sap.times import moment_of

if TYPE_CHECKING:
    from typing import Self

    from turnwire.ledger import Ledger

TASK_KIND, RESULT_KIND = "sap.task", "sap.result"
_log = logging.getLogger("turnwire.sap")

Reply = Callable[[Result], Awaitable[None]]
Route = Callable[[str, Result], Awaitable[None]]
"""(endpoint, result): sends a Result to a replyTo."""


class Context(NamedTuple):
    """What a handler is told beside the task. trace: deep tracing was asked for. seconds: time left, or None."""

    trace: bool
    seconds: float | None
    budget: dict[str, Any]


Handler = Callable[[Task, Context], Any]
"""Gives an output, an Outcome, or an awaitable of one; a plain function runs in a thread."""


class Capability(NamedTuple):
    """A capability of an agent: handler, words for people, JSON Schema of its payload or None."""

    name: str
    handler: Handler
    description: str
    schema: dict[str, Any] | None


class Refusal(Exception):
    """Raised by a handler to fail a task with an error code of section 8."""

    def __init__(self, code: ErrorCode | str, message: str) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = message


class Refused(Exception):
    """A task was refused before any work; ``nack`` says why."""

    def __init__(self, nack: Nack) -> None:
        super().__init__(nack.reason)
        self.nack = nack


class _Job:
    __slots__ = ("content", "done", "replies", "task")

    def __init__(self, task: Task, content: bytes, reply: Reply | None) -> None:
        self.task = task
        self.content = content
        self.replies = [] if reply is None else [reply]
        self.done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()


class Agent:
    """Executes tasks for the transports: receipts, authorisation, cache, deadlines, evidence, transcript, learning.

    Args:
        producer: the agentId, or a Producer.
        cache, learning, transcript: a Cache, a LearningLoop, a Ledger; each may be None.
        access: who may ask for what; None lets everybody.
        queue: how many accepted tasks may wait; one more is refused with a Nack.
        workers: how many are executed at a time.
        remembered: how many finished tasks are remembered for redelivery, besides those in the transcript.

    Use it as an async context manager.
    """

    def __init__(
        self,
        producer: str | Producer,
        *,
        cache: Cache | None = None,
        learning: LearningLoop | None = None,
        transcript: Ledger | None = None,
        access: Access | None = None,
        queue: int = 64,
        workers: int = 4,
        remembered: int = 10_000,
    ) -> None:
        self.producer = producer_of(producer)
        self.cache = cache
        self.learning = learning
        self.transcript = transcript
        self.access = access
        self.capabilities: dict[str, Capability] = {}
        self.routes: dict[str, Route] = {}
        self._queue: asyncio.Queue[_Job] = asyncio.Queue()
        self._free = queue  # places in the queue; one is taken while a task is being admitted
        self._workers = workers
        self._remembered = remembered
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._running: list[asyncio.Task[None]] = []

    @property
    def agent_id(self) -> str:
        """The agentId of the producer."""
        return self.producer.agent_id

    def capability(
        self, name: str, *, description: str = "", schema: dict[str, Any] | None = None
    ) -> Callable[[Handler], Handler]:
        """A decorator that offers a capability."""

        def offer(handler: Handler) -> Handler:
            self.capabilities[name] = Capability(name, handler, description or inspect.getdoc(handler) or "", schema)
            return handler

        return offer

    async def __aenter__(self) -> Self:
        if not self._running:
            self._running = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in self._running:
            worker.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = []
        for job in self._jobs.values():  # whoever still waits is told, instead of waiting for ever
            job.done.cancel()

    # ---------------------------------------------------------------- receiving

    async def submit(self, task: Task, reply: Reply | None = None, *, identity: str | None = None) -> Ack | Nack:
        """Accepts or refuses a task at once; results go to ``reply`` and to the task's replyTo.

        The same task again is acknowledged, not executed again, and its result sent again. A Nack's reason starts with
        a code of section 8: INVALID_TASK, NOT_FOUND (unroutable), RATE_LIMIT (the queue is full).
        """
        if (refused := self._unroutable(task)) is not None:
            return refused
        content = content_of(task)
        known = self._jobs.get(task.task_id.lower())
        if known is not None:
            return await self._again(known, task, content, reply)
        if not self._free:
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        job = self._jobs[task.task_id.lower()] = _Job(task, content, reply)
        self._free -= 1
        queued = False
        try:
            receipt = await self._admit(job, identity)
            if isinstance(receipt, Nack):
                self._forget(job)
            elif not job.done.done():
                if _traced(task):
                    await self._report(job, Status.QUEUED)
                self._queue.put_nowait(job)
                queued = True
        except BaseException:  # a full disk, say: nothing was accepted
            self._forget(job)
            raise
        finally:
            self._free += not queued
        return receipt

    def _forget(self, job: _Job) -> None:
        self._jobs.pop(job.task.task_id.lower(), None)
        job.done.cancel()

    async def _admit(self, job: _Job, identity: str | None) -> Ack | Nack:
        """Whether a task may have its place in the queue; answers at once what is answered already or refused."""
        task = job.task
        if (old := await self._from_transcript(task)) is not None:
            if old[0] != job.content:
                return nack(task, ErrorCode.INVALID_TASK, "another task has this taskId already")
            if old[1] is not None:
                job.done.set_result(old[1])
                await self._deliver(job, old[1])
                return ack(task)
        else:
            await self._log_message(TASK_KIND, task)
        refusal = self.access.refusal(task, identity) if self.access is not None else None
        if refusal is not None:
            await self._finish(job, result_for(task, Outcome(error=refusal), self.producer), learn=False)
        return ack(task)

    def _unroutable(self, task: Task) -> Nack | None:
        if task.target.agent_id not in (None, self.agent_id):
            return nack(task, ErrorCode.NOT_FOUND, f"this is {self.agent_id}, not {task.target.agent_id}")
        if task.target.capability not in self.capabilities:
            return nack(task, ErrorCode.NOT_FOUND, f"{self.agent_id} has no capability {task.target.capability}")
        return None

    async def _again(self, known: _Job, task: Task, content: bytes, reply: Reply | None) -> Ack | Nack:
        if known.content != content:
            return nack(task, ErrorCode.INVALID_TASK, "another task has this taskId already")
        if known.done.done():
            if reply is not None:
                await reply(known.done.result())
        elif reply is not None:
            known.replies.append(reply)
        return ack(task)

    async def _from_transcript(self, task: Task) -> tuple[bytes, Result | None] | None:
        """The content of the task with this id in the transcript, and its final result."""
        if self.transcript is None:
            return None
        ledger, key = self.transcript, task.task_id.lower()
        logged = await asyncio.to_thread(lambda: next(ledger.find(TASK_KIND, key), None))
        if logged is None:
            return None
        entry = await asyncio.to_thread(lambda: next(ledger.find(RESULT_KIND, key), None))
        result = decode(entry.body) if entry is not None else None
        final = result if isinstance(result, Result) and result.status not in (Status.QUEUED, Status.RUNNING) else None
        return content_of(decode(logged.body)), final

    async def call(self, task: Task, *, identity: str | None = None) -> Result:
        """The final Result of a task. Raises Refused for a Nack, RuntimeError outside ``async with agent:``."""
        if not self._running:  # nobody would ever work on it
            raise RuntimeError("an agent works only while it is entered: async with agent: ...")
        receipt = await self.submit(task, identity=identity)
        if isinstance(receipt, Nack):
            raise Refused(receipt)
        return await self.result(task.task_id)

    async def result(self, task_id: str) -> Result:
        """The final Result of an accepted task. Raises KeyError for an unknown one."""
        return await asyncio.shield(self._jobs[task_id.lower()].done)

    def finished(self, task_id: str) -> Result | None:
        """The final Result, or None while there is none. Raises KeyError for an unknown task."""
        done = self._jobs[task_id.lower()].done
        return done.result() if done.done() else None

    def task(self, task_id: str) -> Task:
        """An accepted task by its id. Raises KeyError for an unknown one."""
        return self._jobs[task_id.lower()].task

    # ---------------------------------------------------------------- working

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            self._free += 1
            try:
                await self._finish(job, await self._execute(job))
            except Exception:  # a worker outlives a full disk; whoever waits for the task hears of it
                _log.exception("task %s could not be finished", job.task.task_id)
                if not job.done.done():
                    outcome = Outcome(error=(ErrorCode.INTERNAL, "the result could not be recorded"))
                    job.done.set_result(result_for(job.task, outcome, self.producer))

    async def _execute(self, job: _Job) -> Result:
        task = job.task
        if (left := seconds_left(task)) is not None and left <= 0:
            return self._failed(task, ErrorCode.TIMEOUT, "the deadline had passed before the work began")
        if _traced(task):
            await self._report(job, Status.RUNNING)
        mode = mode_of(policy_of(task))
        if self.cache is not None and mode is not CacheMode.BYPASS:
            found = await asyncio.to_thread(self.cache.get, task)
            if found or mode is CacheMode.ONLY:
                return found.result(task, self.producer)
        elif mode is CacheMode.ONLY:
            return self._failed(task, ErrorCode.CACHE_MISS, "this agent has no cache")
        result = await self._compute(task, left)
        issues = _contract_issues(task, result)
        if issues:
            result.meta = {**(result.meta or {}), "outputIssues": [f"{issue.where}: {issue.text}" for issue in issues]}
        elif self.cache is not None:
            await asyncio.to_thread(self.cache.put, task, result)
        return result

    async def _compute(self, task: Task, left: float | None) -> Result:
        handler = self.capabilities[task.target.capability].handler
        context = Context(_traced(task), left, _budget(task))
        try:
            async with asyncio.timeout(left):
                if inspect.iscoroutinefunction(handler):
                    made = await handler(task, context)
                else:
                    made = await asyncio.to_thread(handler, task, context)
                    made = await made if inspect.isawaitable(made) else made
            outcome = made if isinstance(made, Outcome) else Outcome(NOTHING if made is NOTHING else made)
            result = result_for(task, outcome, self.producer)
            encode(result)
            return result
        except TimeoutError:
            return self._failed(task, ErrorCode.TIMEOUT, "the time for this task is over")
        except Refusal as refusal:
            return self._failed(task, refusal.code, refusal.message)
        except EncodeError as error:
            return self._failed(task, ErrorCode.INTERNAL, f"the capability gave no right result: {error}")
        except Exception as error:  # whatever a capability does, its task gets a Result
            _log.exception("capability %s failed", task.target.capability)
            return self._failed(task, ErrorCode.INTERNAL, f"{type(error).__name__} in {task.target.capability}")

    def _failed(self, task: Task, code: ErrorCode | str, message: str) -> Result:
        return result_for(task, Outcome(error=(str(code), message)), self.producer)

    async def _report(self, job: _Job, status: Status) -> None:
        result = result_for(job.task, Outcome(status=status), self.producer)
        await self._log_message(RESULT_KIND, result)
        await self._deliver(job, result)

    async def _finish(self, job: _Job, result: Result, *, learn: bool = True) -> None:
        await self._log_message(RESULT_KIND, result)
        if learn and self.learning is not None:  # what strangers ask for in vain teaches nothing
            await asyncio.to_thread(self.learning.observe, job.task, result)
        job.done.set_result(result)
        await self._deliver(job, result)
        while len(self._jobs) > self._remembered:
            oldest = next(iter(self._jobs))
            if not self._jobs[oldest].done.done():
                break
            del self._jobs[oldest]

    async def _log_message(self, kind: str, message: Task | Result) -> None:
        if self.transcript is not None:
            text, key = encode(message, strict=False), message.task_id.lower()
            await asyncio.to_thread(lambda ledger: ledger.append(kind, text, key=key), self.transcript)

    async def _deliver(self, job: _Job, result: Result) -> None:
        sends = [(reply, (result,)) for reply in job.replies]
        endpoint = job.task.reply_to.endpoint if job.task.reply_to is not None else None
        route = self.routes.get(endpoint.partition(":")[0]) if endpoint else None
        for send, values in [*sends, *([(route, (endpoint, result))] if route else [])]:
            try:
                await send(*values)  # type: ignore[operator]
            except Exception:  # a receiver that is gone must not stop the others
                _log.exception("the result of task %s could not be sent", result.task_id)


def _contract_issues(task: Task, result: Result) -> list[Issue]:
    if result.status is not Status.SUCCEEDED or "output" not in result:
        return []
    return [issue for issue in output_issues(result.output, task) if issue.severity == "warning"]


def _traced(task: Task) -> bool:
    return bool(task.telemetry is not None and task.telemetry.trace)


def _budget(task: Task) -> dict[str, Any]:
    telemetry = task.fields.get("telemetry", {})
    return dict(telemetry.get("budget", {}))


def seconds_left(task: Task, now: datetime | None = None) -> float | None:
    """Seconds until telemetry.deadline or budget.seconds, whichever is sooner; None without either."""
    telemetry = task.fields.get("telemetry", {})
    limits = []
    seconds = _budget(task).get("seconds")
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        limits.append(float(seconds))
    if "deadline" in telemetry:
        limits.append((moment_of(telemetry["deadline"]) - (now or datetime.now(UTC))).total_seconds())
    return min(limits, default=None)


def ack(task: Task) -> Ack:
    """The Ack of a task."""
    return Ack(message_id=task.task_id, correlation_id=task.correlation_id)


def nack(task: Task, code: ErrorCode, text: str) -> Nack:
    """The Nack of a task; the reason starts with a code of section 8."""
    return Nack(message_id=task.task_id, correlation_id=task.correlation_id, reason=f"{code}: {text}")


def copy_of(message: Message) -> Any:
    """A message as its receiver gets it: written strictly and read again. Raises EncodeError."""
    return decode(encode(message))
