"""One agent behind every transport: what becomes of a task is decided here, so that it is the same on all of them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from turnwire.errors import EncodeError, expect
from turnwire.sap.access import Action, Authoriser, authorise
from turnwire.sap.batching import Batching
from turnwire.sap.cache import Cache
from turnwire.sap.deliveries import Deliveries, Route
from turnwire.sap.execution import Execution, too_large
from turnwire.sap.handlers import Capability as Capability
from turnwire.sap.handlers import Context as Context
from turnwire.sap.handlers import Handler, Pool
from turnwire.sap.handlers import Refusal as Refusal
from turnwire.sap.jobs import Job, Reply, failed_admission
from turnwire.sap.learning import LearningLoop
from turnwire.sap.messages import Ack, Nack, Producer, Result, Task
from turnwire.sap.payloads import validator
from turnwire.sap.principals import ANONYMOUS, Named, Principal, principal_of
from turnwire.sap.receipts import Refused as Refused
from turnwire.sap.receipts import ack, freeze, invalid, nack, thaw
from turnwire.sap.results import Outcome, producer_of, result_for
from turnwire.sap.signals import from_result
from turnwire.sap.spec import ErrorCode, Status
from turnwire.sap.stages import Stage
from turnwire.sap.transcripts import RESULT_KIND, Transcript, key_of, refused_row
from turnwire.sap.vetting import Vetter, vetters_of
from turnwire.sap.waiting import WaitingLine, priority_of

if TYPE_CHECKING:
    from typing import Self

    from turnwire.ledger import Ledger

CLOSING_SECONDS = 5.0
"""How long an agent that is closed waits for receivers of Results."""

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
    ) -> None:
        self.producer = producer_of(producer)
        self.cache = cache
        self.learning = learning
        self.transcript = transcript
        self.access = access
        self.vet = vetters_of(vet)
        self.signer = signer
        self.capabilities: dict[str, Capability] = {}
        self.routes: dict[str, Route] = {}
        self._validators: dict[str, Any] = {}
        self._free = queue  # places in the queue; one is taken while a task is being admitted
        self._workers = workers
        self._handlers = max(handlers, workers)
        self._seconds = seconds
        self._lease = lease
        self._remembered = remembered
        self._jobs: dict[str, Job] = {}  # those that are not delivered
        self._ended: OrderedDict[str, Job] = OrderedDict()
        self._deliveries = Deliveries(self.routes, self._delivered)
        self._running: list[asyncio.Task[None]] = []
        self._line: WaitingLine[Job] = WaitingLine()
        self._pool = Pool(self._handlers)
        self._rows: Transcript | None = None
        self._ledgers: dict[int, Batching] = {}  # by the identity of the ledger: one thread for each

    @property
    def agent_id(self) -> str:
        """The agentId of the producer."""
        return self.producer.agent_id

    @property
    def running(self) -> bool:
        """Whether somebody works on accepted tasks."""
        return bool(self._running)

    @property
    def waiting(self) -> int:
        """How many accepted tasks wait for their turn."""
        return len(self._line)

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
        if redeliver not in ("again", "fail"):
            raise ValueError(f'redeliver is "again" or "fail", not {redeliver!r}')
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
        if self._running:
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
        self._running = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the work. What is not finished gets a CANCELLED Result, but for tasks that a queue sends again."""
        workers, self._running = self._running, []
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        self._free += len(self._line.take_all())
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
        job.done.cancel()
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
        if job.stage is Stage.REFUSED:
            error = thaw(job.done.result()).error
            return nack(task, error.code, error.message)
        return ack(task)

    async def receive(
        self,
        task: Task,
        reply: Reply | None = None,
        *,
        principal: Named = ANONYMOUS,
        kept: bool = False,
        limit: int | None = None,
    ) -> Job | Nack:
        """As :meth:`submit`, and answers with the job of an accepted task. For transports.

        limit: bytes that the transport takes; a larger Result becomes a small FAILED one before it is recorded.

        The job of a principal that may not do this is REFUSED: it has a Result that says so, and holds nothing.
        """
        expect(task, Task, "a Task is submitted")
        if not self._running:
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
        job = Job(text, caller or ANONYMOUS, reply, kept=kept, limit=limit)
        known = self._jobs.get(job.key) or self._ended.get(job.key)
        if known is not None:
            return await self._again(known, job)
        if self._pool.stuck:
            text = f"all {self._handlers} places for handlers are held by tasks that overran their time"
            return nack(task, ErrorCode.RATE_LIMIT, text)
        if not self._free:
            return nack(task, ErrorCode.RATE_LIMIT, "the queue is full")
        self._free -= 1
        self._jobs[job.key] = job
        self._deliveries.spawn(self._admit(job))  # whoever asked may be cancelled meanwhile; the admission is not
        receipt = await asyncio.shield(job.admission)
        return receipt if isinstance(receipt, Nack) else job

    def _unroutable(self, task: Task) -> Nack | None:
        if task.target.agent_id not in (None, self.agent_id):
            return nack(task, ErrorCode.NOT_FOUND, f"this is {self.agent_id}, not {task.target.agent_id}")
        if task.target.capability not in self.capabilities:
            return nack(task, ErrorCode.NOT_FOUND, f"{self.agent_id} has no capability {task.target.capability}")
        return None

    async def _refuse(self, text: str, caller: Principal | None, code: ErrorCode, why: str) -> Job:
        """A job that ends here: no queue, no name in any table, one small row."""
        job = Job(text, caller or ANONYMOUS, None)
        job.advance(Stage.REFUSED)
        result = result_for(job.task, Outcome(error=(str(code), why)), self.producer)
        if self._rows is not None:
            name = "" if caller is None else caller.name
            await self._rows.append(refused_row(name, job.task_id, job.task.correlation_id, str(code), why))
        job.done.set_result(job.leaves(result))
        return job

    async def _admit(self, job: Job) -> None:
        queued = False
        try:
            receipt = await self._judge(job)
            if isinstance(receipt, Nack):
                self._jobs.pop(job.key, None)
                job.done.cancel()
            elif not job.done.done():
                self._line.put(job, priority_of(job.task))
                queued = True
            job.admission.set_result(receipt)
        except Exception as error:  # a full disk, say: nothing was accepted
            self._jobs.pop(job.key, None)
            failed_admission(job, error)
        finally:
            self._free += not queued

    async def _judge(self, job: Job) -> Ack | Nack:
        """Whether a task may have its place in the queue; one that is answered already gets its old Result."""
        known = await self._rows.admit(job.key, job.text) if self._rows is not None else None
        if known is not None and known.content not in (None, job.content):
            job.advance(Stage.REFUSED)
            return nack(job.task, ErrorCode.INVALID_TASK, "another task has this taskId already")
        job.advance(Stage.ACCEPTED)
        if known is not None and known.result is not None:
            self._end(job, known.result)
        if job.traced and not job.done.done() and (known is None or known.content is None):
            await self._report(job, Status.QUEUED)
        return ack(job.task)

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

    # ---------------------------------------------------------------- asking

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
        """What there is of a task of this principal: its final Result, from the transcript if need be, or the Ack.

        Raises KeyError for an unknown task, and for those of others.
        """
        caller = self._reader(task_id, principal)
        if (job := await self._accepted(caller, task_id)) is not None:
            return job.result() or ack(job.task)
        known = await self._rows.known(key_of(caller, task_id)) if self._rows is not None else None
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

    # ---------------------------------------------------------------- working

    async def _work(self) -> None:
        while True:
            job = await self._line.get()
            self._free += 1
            await self._finish(job, await self._execution.result(job))

    async def _started(self, job: Job) -> None:
        job.advance(Stage.RUNNING)
        if job.traced:
            await self._report(job, Status.RUNNING)

    async def _report(self, job: Job, status: Status) -> None:
        text = job.leaves(result_for(job.task, Outcome(status=status), self.producer))
        if self._rows is not None:
            await self._rows.append((RESULT_KIND, text, job.key))
        self._deliveries.deliver(job, text, job)

    async def _finish(self, job: Job, result: Result | str) -> None:
        """Fixes the Result of a job and sends it. Never raises but for a cancellation."""
        try:
            text = result if isinstance(result, str) else self._frozen(job, result)
            if self._rows is not None and text is not result:
                text = await self._rows.settle(job.key, text)
        except Exception:  # whoever waits for the task hears of a full disk, too
            _log.exception("the result of task %s could not be recorded", job.task_id)
            text = freeze(self._execution.failed(job.task, ErrorCode.INTERNAL, "the result could not be recorded"))
        if self.learning is not None:
            await self._learn(self.learning, job.task, thaw(text))
        self._end(job, text)

    def _frozen(self, job: Job, result: Result) -> str:
        """The Result as it leaves: signed where the agent signs, and of a size that the transport takes."""
        text = freeze(self._signed(result))
        size = len(text.encode())
        return (
            text if job.limit is None or size <= job.limit else freeze(self._signed(too_large(result, size, job.limit)))
        )

    def _signed(self, result: Result) -> Result:
        if self.signer is None:
            return result
        from turnwire.sap.signing import signed_message

        return signed_message(result, self.agent_id, self.signer)

    async def _learn(self, learning: LearningLoop, task: Task, result: Result) -> None:
        try:
            row = learning.row(from_result(task, result, essence=learning.essence))
            await self._batched(learning.ledger).do(lambda: ([row], None))
        except Exception:  # what is not learned does not change what was done
            _log.exception("nothing was learned from task %s", task.task_id)

    def _end(self, job: Job, text: str) -> None:
        job.advance(Stage.FINISHED)
        job.leaves(thaw(text))
        job.done.set_result(text)
        self._deliveries.deliver(job, text, job)

    def _delivered(self, job: Job) -> None:
        self._jobs.pop(job.key, None)
        self._ended[job.key] = job
        while len(self._ended) > self._remembered:
            self._ended.popitem(last=False)
