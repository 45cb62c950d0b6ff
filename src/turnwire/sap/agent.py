"""One agent behind every transport: what becomes of a task is decided here, so that it is the same on all of them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from turnwire.errors import EncodeError, expect, expect_one_of
from turnwire.sap.access import Action, Authoriser, authorise
from turnwire.sap.asking import Asking
from turnwire.sap.batching import Batching
from turnwire.sap.cache import Cache
from turnwire.sap.deliveries import Deliveries, Route
from turnwire.sap.execution import Execution
from turnwire.sap.handlers import Capability as Capability
from turnwire.sap.handlers import Context as Context
from turnwire.sap.handlers import Handler, Pool
from turnwire.sap.handlers import Refusal as Refusal
from turnwire.sap.jobs import Job, Reply
from turnwire.sap.learning import LearningLoop
from turnwire.sap.messages import Ack, Nack, Producer, Result, Task
from turnwire.sap.objects import Objects
from turnwire.sap.payloads import validator
from turnwire.sap.principals import ANONYMOUS, Named, Principal, principal_of
from turnwire.sap.receipts import Frozen, ack, denied, freeze, invalid, nack, thaw
from turnwire.sap.receipts import Refused as Refused
from turnwire.sap.results import Outcome, producer_of, result_for
from turnwire.sap.settling import MAX_RESULT, Settlement
from turnwire.sap.spec import ErrorCode, Status
from turnwire.sap.stages import Stage
from turnwire.sap.transcripts import RESULT_KIND, Transcript, refused_row
from turnwire.sap.vetting import Vetter, vetters_of
from turnwire.sap.workers import Workers

if TYPE_CHECKING:
    from typing import Self

    from turnwire.ledger import Ledger

CLOSING_SECONDS = 5.0
"""How long an agent that is closed waits for receivers of Results."""

_log = logging.getLogger("turnwire.sap")


class Agent(Asking):
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
        super().__init__()
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
        self._validators: dict[str, Any] = {}
        self.queue = queue
        self._handlers = max(handlers, workers)
        self._seconds = seconds
        self._lease = lease
        self._remembered = remembered
        self._deliveries = Deliveries(self.routes, self._delivered)
        self._workers = Workers(workers, queue, self._finish, self._deliveries.spawn)
        self._pool = Pool(self._handlers)
        self._ledgers: dict[int, Batching] = {}  # by the identity of the ledger: one thread for each

    @property
    def agent_id(self) -> str:
        """The agentId of the producer."""
        return self.producer.agent_id

    @property
    def running(self) -> bool:
        """Whether somebody works on accepted tasks."""
        return self._workers.running

    @property
    def waiting(self) -> int:
        """How many accepted tasks wait for their turn."""
        return len(self._workers)

    @property
    def unfinished(self) -> int:
        """How many tasks it has that are not done, those being admitted and those being delivered included."""
        return len(self._jobs)

    def add_route(self, scheme: str, route: Route) -> None:
        """Where Results go whose replyTo has this scheme, unless there is such a route already."""
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
        judge = None if schema is None else validator(schema)

        def offer(handler: Handler) -> Handler:
            text = description or inspect.getdoc(handler) or ""
            self.capabilities[name] = Capability(name, handler, text, schema, vetters_of(vet), redeliver)
            self._validators.pop(name, None)
            if judge is not None:
                self._validators[name] = judge
            return handler

        return offer

    async def __aenter__(self) -> Self:
        if self.running:
            return self
        self._pool = Pool(self._handlers)
        self._ledgers = {}
        self._rows = None
        if self.transcript is not None:
            self._rows = self._ledgers[id(self.transcript)] = Transcript(self.transcript, lease=self._lease)
        self._execution = Execution(
            self.producer,
            self.capabilities,
            self._validators,
            cache=self.cache,
            transcript=self._rows,
            vet=self.vet,
            pool=self._pool,
            rows_of=self._batched,
            seconds=self._seconds,
            started=self._started,
        )
        self._settlement = Settlement(
            self._execution,
            transcript=self._rows,
            learning=self.learning,
            rows=None if self.learning is None else self._batched(self.learning.ledger),
            signer=self.signer,
            largest=self.max_result,
            objects=self.objects,
        )
        self._workers.start(self._execution)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the work. What is not finished gets a CANCELLED Result, but for tasks that a queue sends again."""
        await self._workers.stop()
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
        self._pool.close()
        for ledger in self._ledgers.values():
            ledger.close()

    def _batched(self, ledger: Ledger) -> Batching:
        if (found := self._ledgers.get(id(ledger))) is None:
            found = self._ledgers[id(ledger)] = Batching(ledger)
        return found

    async def _let_go(self, job: Job) -> None:
        self._jobs.pop(job.key, None)
        job.ends(None)
        if job.claimed and self._rows is not None:
            await self._rows.let_go(job.key)

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
        if not self.running:
            return nack(task, ErrorCode.INTERNAL, f"{self.agent_id} is not running: async with agent: ...")
        try:
            text = freeze(task)
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
        if self._pool.stuck:
            text = f"all {self._handlers} places for handlers are held by tasks that overran their time"
            return nack(task, ErrorCode.RATE_LIMIT, text)
        if not self._workers.free:
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        self._workers.free -= 1
        self._jobs[job.key] = job
        if self._rows is None:
            await self._admit(job)  # nothing in it waits
        else:  # whoever asked may be cancelled meanwhile; the admission is not
            job.turns = 0  # what is written down takes longer
            self._deliveries.spawn(self._admit(job))
        receipt = await asyncio.shield(job.admission) if self._rows is not None else job.admission.result()
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
        if self._rows is not None:
            name = "" if caller is None else caller.name
            try:
                await self._rows.append(refused_row(name, job.task_id, job.task.correlation_id, str(code), why))
            except Exception:  # a full disk, say; it is refused all the same
                _log.exception("the refusal of task %s could not be recorded", job.task_id)
        job.ends(job.leaves(result))
        return job

    async def _admit(self, job: Job) -> None:
        queued = False
        try:
            receipt = await self._judge(job)
            if isinstance(receipt, Nack):
                self._jobs.pop(job.key, None)
                job.ends(None)
            elif not job.done.done():
                queued = self._workers.put(job)
            job.admission.set_result(receipt)
        except Exception as error:  # a full disk, say: nothing was accepted
            _log.exception("task %s could not be admitted", job.task_id)
            self._not_admitted(job, f"the task could not be recorded: {type(error).__name__}")
        except asyncio.CancelledError:
            self._not_admitted(job, "the admission was cancelled")
            raise
        finally:
            self._workers.free += not queued

    def _not_admitted(self, job: Job, why: str) -> None:
        self._jobs.pop(job.key, None)
        if not job.admission.done():
            job.admission.set_result(nack(job.task, ErrorCode.INTERNAL, why))
        job.ends(None)

    async def _judge(self, job: Job) -> Nack | None:
        """Whether a task may have its place in the queue; one that is answered already gets its old Result."""
        known = await self._rows.admit(job.key, job.text) if self._rows is not None else None
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

    async def _started(self, job: Job) -> None:
        job.advance(Stage.RUNNING)
        if job.traced:
            await self._report(job, Status.RUNNING)

    async def _report(self, job: Job, status: Status) -> None:
        text = job.leaves(result_for(job.task, Outcome(status=status), self.producer))
        if self._rows is not None:
            await self._rows.append((RESULT_KIND, text, job.key))
        self._deliveries.deliver(job, text, job)

    async def _finish(self, job: Job, result: Result | Frozen | str) -> None:
        """Fixes the Result of a job and sends it. Never raises but for a cancellation."""
        self._end(job, *await self._settlement.settled(job, result))

    def _end(self, job: Job, text: str, result: Result) -> None:
        job.advance(Stage.FINISHED)
        job.leaves(result, text)
        job.ends(text)
        self._deliveries.deliver(job, text, job)

    def _delivered(self, job: Job) -> None:
        self._jobs.pop(job.key, None)
        job.rests()
        self._ended[job.key] = job
        while len(self._ended) > self._remembered:
            self._ended.popitem(last=False)
