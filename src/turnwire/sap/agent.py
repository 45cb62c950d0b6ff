"""One agent behind every transport: decides what becomes of a task, so that all transports behave alike."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from turnwire.errors import EncodeError, expect, expect_one_of
from turnwire.sap.access import ANONYMOUS, Action, Authoriser, Named, Principal, authorise, principal_of
from turnwire.sap.builders import Frozen, Outcome, Refused, ack, denied, invalid, nack, producer_of, result_for, thaw
from turnwire.sap.cache import Cache
from turnwire.sap.codec import encode
from turnwire.sap.deliveries import Deliveries, Route
from turnwire.sap.execution import MAX_RESULT, Execution, seconds_to_deadline
from turnwire.sap.handlers import Capability, Handler
from turnwire.sap.jobs import Job, Reply, Stage
from turnwire.sap.learning import LearningLoop
from turnwire.sap.messages import Ack, Nack, Producer, Result, Task
from turnwire.sap.objects import Objects
from turnwire.sap.schema import validator
from turnwire.sap.spec import ErrorCode, Status
from turnwire.sap.transcripts import RESULT_KIND, Transcript, key_of, refused_row
from turnwire.sap.vetting import Vetter, vetters_of
from turnwire.sap.waiting import PriorityQueue, cancel_and_wait, priority_of

if TYPE_CHECKING:
    from typing import Self

    from turnwire.ledger import Ledger

CLOSING_SECONDS = 5.0
"""Seconds for which an agent that is closed waits for receivers of Results."""

_log = logging.getLogger("turnwire.sap")


class Agent:
    """Executes tasks for the transports: receipts, authorisation, cache, deadlines, evidence, transcript, learning.

    Args:
        producer: the agentId, or a Producer.
        cache, learning, transcript: a Cache, a LearningLoop, a Ledger; each may be None.
        access: who may ask for what (an :class:`~turnwire.sap.access.Access`, or your own); None lets everybody.
        vet: who judges outcomes before they leave: one vetter or several, asked in order, before those of a capability.
        queue: how many accepted tasks may wait; one more is refused with a Nack.
        workers: how many are executed at a time.
        handlers: how many handlers may be at work, those left behind when their time was over included; when all places
            are held by such, tasks are refused with a Nack.
        signer: an Ed25519 private key, or its 32 raw bytes, that signs the terminal Results (extra ``sign``).
        seconds: how long a task may take that brings neither deadline nor budget; None for no limit.
        lease: seconds after which a task in a shared transcript is free when its agent is not heard of.
        remembered: how many finished tasks are remembered for redelivery, besides those in the transcript.
        max_result: bytes that a Result may have; a larger one becomes a small FAILED one.
        objects: where the outputs of Results go that are too large, instead (see :mod:`turnwire.sap.objects`).

    Use it as an async context manager.
    """

    _execution: Execution
    _queue: PriorityQueue[Job]

    def __init__(
        self,
        producer: str | Producer,
        *,
        cache: Cache | None = None,
        learning: LearningLoop | None = None,
        transcript: Ledger | None = None,
        access: Authoriser | None = None,
        vet: Vetter | Iterable[Vetter] | None = None,
        queue: int = 64,
        workers: int = 4,
        handlers: int = 32,
        signer: Any = None,
        seconds: float | None = 3600.0,
        lease: float = 10.0,
        remembered: int = 10_000,
        max_result: int = MAX_RESULT,
        objects: Objects | None = None,
    ) -> None:
        self.producer = producer_of(producer)
        self.cache = cache
        self.learning = learning
        self.transcript = transcript
        self.access = access
        self.vet = vetters_of(vet)
        self.signer = signer
        self.max_result = max_result
        self.objects = objects
        self.capabilities: dict[str, Capability] = {}
        self.routes: dict[str, Route] = {}
        self.queue = queue
        self.handlers = max(handlers, workers)
        self.seconds = seconds
        self.lease = lease
        self._remembered = remembered
        self._deliveries = Deliveries(self.routes, self._delivered)
        self._jobs: dict[str, Job] = {}  # those that are not delivered
        self._ended: OrderedDict[str, Job] = OrderedDict()  # the newest of those that are
        self._places = queue  # free ones in the queue; one is taken while a task is being admitted
        self._workers: set[asyncio.Task[None]] = set()
        self._most_workers = workers
        self._running = False
        self._transcript: Transcript | None = None
        if self.handlers < 1:
            raise ValueError("a pool has at least one place")

    @property
    def agent_id(self) -> str:
        """The agentId of the producer."""
        return self.producer.agent_id

    @property
    def running(self) -> bool:
        """True if somebody works on accepted tasks."""
        return self._running

    @property
    def waiting(self) -> int:
        """The number of accepted tasks that wait for their turn."""
        return self._queue.qsize() if self._running else 0

    @property
    def unfinished(self) -> int:
        """The number of its tasks that are not done, those being admitted and those being delivered included."""
        return len(self._jobs)

    def add_route(self, scheme: str, route: Route) -> None:
        """Sends Results whose replyTo has this scheme there, unless there is such a route already."""
        self.routes.setdefault(scheme, route)

    def capability(
        self,
        name: str,
        *,
        description: str = "",
        schema: dict[str, Any] | None = None,
        vet: Vetter | Iterable[Vetter] | None = None,
        redeliver: str = "again",
    ) -> Callable[[Handler], Handler]:
        """A decorator that offers a capability.

        Args:
            description: words for people and models; default: the handler's docstring.
            schema: JSON Schema of the payload; a task that breaks it FAILS, UNPROCESSABLE (extra ``schema``).
            vet: further vetters, for this capability.
            redeliver: of a task that was started before and never finished, "again" executes it once more, "fail" gives
                it a FAILED Result.
        """
        expect_one_of(redeliver, "redeliver", ("again", "fail"))
        validate = None if schema is None else validator(schema)

        def offer(handler: Handler) -> Handler:
            text = description or inspect.getdoc(handler) or ""
            self.capabilities[name] = Capability(name, handler, text, schema, vetters_of(vet), redeliver, validate)
            return handler

        return offer

    async def __aenter__(self) -> Self:
        if not self._running:
            self._execution = Execution(self, self._started)
            self._transcript = self._execution.transcript
            self._queue = PriorityQueue()
            self._running = True
            self._hire()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the work. What is not finished gets a CANCELLED Result, but for tasks that a queue sends again."""
        self._running = False
        await cancel_and_wait(self._workers)
        self._places += self._queue.qsize()
        await self._deliveries.ended(CLOSING_SECONDS)
        for job in list(self._jobs.values()):
            if job.done.done():
                continue
            if job.kept:
                await self._let_go(job)
            else:
                text = "the agent was closed before the task was finished"
                await self._finish(job, self._execution.cancelled(job.task, text))
        await self._deliveries.ended(CLOSING_SECONDS)
        self._execution.close()

    async def _let_go(self, job: Job) -> None:
        self._jobs.pop(job.key, None)
        job.resolve(None)
        if job.claimed and self._transcript is not None:
            await self._transcript.let_go(job.key)

    # ---------------------------------------------------------------- receiving

    async def submit(
        self, task: Task, reply: Reply | None = None, *, principal: Named = ANONYMOUS, kept: bool = False
    ) -> Ack | Nack:
        """Accepts or refuses a task at once; results go to ``reply`` and to the task's replyTo.

        principal: who the transport knows the sender to be; None is somebody unknown, who is refused. kept: whether the
        sender will send the task again if this agent ends before its Result. The same task of the same principal again
        is acknowledged, not executed again, and its Result sent again. A Nack's reason starts with a code of section 8:
        INVALID_TASK (with a JSON pointer), UNAUTHORIZED, FORBIDDEN, NOT_FOUND (unroutable), RATE_LIMIT (the queue is
        full, or all handlers are stuck), INTERNAL (the agent is not running).
        """
        job = await self.receive(task, reply, principal=principal, kept=kept)
        if isinstance(job, Nack):
            return job
        return denied(job) if job.stage is Stage.REFUSED else ack(task)

    async def receive(
        self,
        task: Task,
        reply: Reply | None = None,
        *,
        principal: Named = ANONYMOUS,
        kept: bool = False,
        limit: int | None = None,
        given: bool = False,
    ) -> Job | Nack:
        """As :meth:`submit`, and answers with the job of an accepted task. For transports.

        limit: bytes that the transport takes; a larger Result becomes a small FAILED one before it is recorded.
        given: the task is the agent's now, whoever read it changes it no more; of others it makes a copy.

        The job of a principal that may not do this is REFUSED: it has a Result that says so, and holds nothing.
        """
        expect(task, Task, "a Task is submitted")
        if not self._running:
            return nack(task, ErrorCode.INTERNAL, f"{self.agent_id} is not running: async with agent: ...")
        try:
            text = encode(task)
        except EncodeError as error:
            return invalid(task, error)
        caller = principal_of(principal)
        denial = authorise(caller, Action.SUBMIT, task, self.access)
        unroutable = self._unroutable(task)
        if unroutable is not None and (denial is None or denial[0] is ErrorCode.FORBIDDEN):
            return unroutable  # whoever is known may know what there is
        if denial is not None:
            return await self._refuse(text, caller, *denial)
        task = task if given else thaw(text)
        job = Job(text, caller or ANONYMOUS, reply, task=task, kept=kept, limit=limit)
        known = self._jobs.get(job.key) or self._ended.get(job.key)
        if known is not None:
            return await self._again(known, job)
        if self._execution.pool.stuck:
            text = f"all {self.handlers} places for handlers are held by tasks that overran their time"
            return nack(task, ErrorCode.RATE_LIMIT, text)
        if not self._places:
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        self._places -= 1
        self._jobs[job.key] = job
        if self._transcript is None:
            await self._admit(job)  # nothing in it waits
        else:  # whoever asked may be cancelled meanwhile; the admission is not
            self._deliveries.spawn(self._admit(job))
        receipt = await asyncio.shield(job.admission)
        return receipt if isinstance(receipt, Nack) else job

    def _unroutable(self, task: Task) -> Nack | None:
        target = task.fields["target"]
        asked, capability = target.get("agentId"), target["capability"]
        if asked is not None and asked != self.agent_id:
            return nack(task, ErrorCode.NOT_FOUND, f"this is {self.agent_id}, not {asked}")
        if capability not in self.capabilities:
            return nack(task, ErrorCode.NOT_FOUND, f"{self.agent_id} has no capability {capability}")
        return None

    async def _refuse(self, text: str, caller: Principal | None, code: ErrorCode, why: str) -> Job:
        """A job that ends here: no queue, no name in any table, one small row."""
        job = Job(text, caller or ANONYMOUS, None)
        job.advance(Stage.REFUSED)
        result = result_for(job.task, Outcome(error=(str(code), why)), self.producer)
        if self._transcript is not None:
            row = refused_row(job.principal.name, job.task_id, job.task.correlation_id, str(code), why)
            try:
                await self._transcript.append(row)
            except Exception:  # a full disk, say; it is refused all the same
                _log.exception("the refusal of task %s could not be recorded", job.task_id)
        job.resolve(job.freeze_result(result))
        return job

    async def _admit(self, job: Job) -> None:
        queued = False
        try:
            receipt = await self._receipt(job)
            if isinstance(receipt, Nack):
                self._jobs.pop(job.key, None)
                job.resolve(None)
            elif not job.done.done():
                queued = self._enqueue(job)
            job.admission.set_result(receipt)
        except Exception as error:  # a full disk, say: nothing was accepted
            _log.exception("task %s could not be admitted", job.task_id)
            self._not_admitted(job, f"the task could not be recorded: {type(error).__name__}")
        except asyncio.CancelledError:
            self._not_admitted(job, "the admission was cancelled")
            raise
        finally:
            self._places += not queued

    def _not_admitted(self, job: Job, why: str) -> None:
        self._jobs.pop(job.key, None)
        if not job.admission.done():
            job.admission.set_result(nack(job.task, ErrorCode.INTERNAL, why))
        job.resolve(None)

    async def _receipt(self, job: Job) -> Nack | None:
        """The Nack of a task that may have no place in the queue; one that is answered already gets its old Result."""
        known = await self._transcript.admit(job.key, job.text) if self._transcript is not None else None
        if known is not None and known.content not in (None, job.content):
            job.advance(Stage.REFUSED)
            return nack(job.task, ErrorCode.INVALID_TASK, "another task has this taskId already")
        job.advance(Stage.ACCEPTED)
        if known is not None and known.result is not None:
            self._end(job, known.result, thaw(known.result))
        if job.traced and not job.done.done() and (known is None or known.content is None):
            await self._report(job, Status.QUEUED)
        return None

    async def _again(self, known: Job, job: Job) -> Job | Nack:
        if known.content != job.content:
            return nack(job.task, ErrorCode.INVALID_TASK, "another task has this taskId already")
        if known.done.done() and not known.done.cancelled():
            if job.replies:
                self._deliveries.deliver(job, known.done.result(), known)
            return known
        known.replies += job.replies
        known.kept = known.kept or job.kept
        receipt = await asyncio.shield(known.admission)
        return receipt if isinstance(receipt, Nack) else known

    # ---------------------------------------------------------------- working

    def _enqueue(self, job: Job) -> bool:
        """Puts a job into the queue; it leaves when a worker takes it, or it is cancelled, or its deadline passes.

        False when the work has ended meanwhile: then it is in no queue.
        """
        if not self._running:
            return False
        self._hire()
        self._queue.add(job, priority_of(job.task))
        job.stop.add_done_callback(lambda _: self._leave(job))
        if (left := seconds_to_deadline(job.task)) is not None:
            job.set_deadline(asyncio.get_running_loop().call_later(max(0.0, left), self._leave, job))
        return True

    def _leave(self, job: Job) -> None:
        """Ends a job that waits, so that no handler before it decides when its sender hears of the end."""
        if self._queue.remove(job):
            self._places += 1
            self._deliveries.spawn(self._execute(job))

    def _hire(self) -> None:
        """Workers for the places of those that handlers have cancelled, and at the beginning."""
        while len(self._workers) < self._most_workers:
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._gone)

    def _gone(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if self._running and self._queue.qsize():
            self._hire()

    async def _work(self) -> None:
        while True:
            job = await self._queue.next()
            self._places += 1
            job.set_deadline(None)
            try:
                await self._execute(job)
            except asyncio.CancelledError:
                if self._running and not job.done.done():
                    text = "the work on this task was cancelled by a capability"
                    self._deliveries.spawn(self._finish(job, self._execution.cancelled(job.task, text)))
                raise

    async def _execute(self, job: Job) -> None:
        await self._finish(job, await self._execution.result(job))

    async def _started(self, job: Job) -> None:
        job.advance(Stage.RUNNING)
        if job.traced:
            await self._report(job, Status.RUNNING)

    async def _report(self, job: Job, status: Status) -> None:
        text = job.freeze_result(result_for(job.task, Outcome(status=status), self.producer))
        if self._transcript is not None:
            await self._transcript.append((RESULT_KIND, text, job.key))
        self._deliveries.deliver(job, text, job)

    async def _finish(self, job: Job, result: Result | Frozen | str) -> None:
        """Fixes the Result of a job and sends it. Never raises but for a cancellation."""
        self._end(job, *await self._execution.finalize(job, result))

    def _end(self, job: Job, text: str, result: Result) -> None:
        job.advance(Stage.FINISHED)
        job.freeze_result(result, text)
        job.resolve(text)
        self._deliveries.deliver(job, text, job)

    def _delivered(self, job: Job) -> None:
        self._jobs.pop(job.key, None)
        job.drop_task()
        self._ended[job.key] = job
        while len(self._ended) > self._remembered:
            self._ended.popitem(last=False)

    # ---------------------------------------------------------------- what may be asked about tasks

    async def call(self, task: Task, *, principal: Named = ANONYMOUS) -> Result:
        """The final Result of a task. Raises Refused for a Nack, RuntimeError outside ``async with agent:``."""
        if not self._running:  # nobody would ever work on it
            raise RuntimeError("an agent works only while it is entered: async with agent: ...")
        job = await self.receive(task, principal=principal)
        if isinstance(job, Nack):
            raise Refused(job)
        return await job.wait()

    async def result(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """The final Result of an accepted task of this principal; waits for it. Raises KeyError for an unknown one."""
        caller = self._reader(task_id, principal)
        if (job := await self._accepted(caller, task_id)) is not None:
            return await job.wait()
        found = await self.look_up(task_id, principal=caller)
        if not isinstance(found, Result):
            raise KeyError(task_id)
        return found

    async def look_up(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result | Ack:
        """The final Result of a task of this principal, from the transcript if need be, or the Ack while there is none.

        Raises KeyError for an unknown task, and for those of others.
        """
        caller = self._reader(task_id, principal)
        if (job := await self._accepted(caller, task_id)) is not None:
            return job.result() or ack(job.task)
        known = await self._transcript.known(key_of(caller, task_id)) if self._transcript is not None else None
        if known is None or known.content is None:
            raise KeyError(task_id)
        if known.result is None:
            return Ack(message_id=task_id, correlation_id=known.correlation)
        result: Result = thaw(known.result)
        return result

    async def cancel(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """Cancels a task of this principal and answers with its Result, which may be another one if that came first.

        Raises KeyError for an unknown task, and for those of others.
        """
        job = await self._accepted(self._reader(task_id, principal, Action.CANCEL), task_id)
        if job is None:
            raise KeyError(task_id)
        job.cancel()
        return await job.wait()

    def holds(self, task_id: str, principal: Principal) -> bool:
        """True if a task of this principal is here, or was a short while ago."""
        key = key_of(principal, task_id)
        return key in self._jobs or key in self._ended

    def _reader(self, task_id: str, principal: Named, action: Action = Action.READ) -> Principal:
        caller = principal_of(principal)
        if caller is None or authorise(caller, action) is not None:
            raise KeyError(task_id)
        return caller

    async def _accepted(self, principal: Principal, task_id: str) -> Job | None:
        """The job of a task, once it is accepted."""
        key = key_of(principal, task_id)
        job = self._jobs.get(key) or self._ended.get(key)
        if job is None or isinstance(await asyncio.shield(job.admission), Nack):
            return None
        return job
