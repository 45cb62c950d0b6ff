"""One agent behind every transport: the path of a task from its admission to the receivers of its Result.

The steps are authorisation, schema, cache, claim, handler, vetting, contract, size and record, so that all transports
behave alike.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, cast

from turnwire.contract import LIMITS
from turnwire.errors import EncodeError, Unreachable, expect, expect_one_of
from turnwire.sap.access import (
    ANONYMOUS,
    Action,
    Authoriser,
    Named,
    Principal,
    authorise,
    principal_of,
    signed_message,
)
from turnwire.sap.builders import NOT_VETTED, NOTHING, Outcome, Refused, copy_of, mode_of, nack, result_for, said, thaw
from turnwire.sap.codec import encode, text_as_read
from turnwire.sap.handlers import (
    Cancelled,
    Capability,
    Context,
    DeadlineExceeded,
    Handler,
    HandlerDied,
    Job,
    Line,
    Refusal,
    Reply,
    Vetter,
    guarded,
    key_of,
    size_of_job,
    size_of_result,
    vetted,
    vetters_of,
)
from turnwire.sap.judgement import content_of
from turnwire.sap.learning import from_result
from turnwire.sap.messages import Ack, AgentError, CacheEvidence, Message, Nack, Producer, Result, Task
from turnwire.sap.schema import output_issues, validator
from turnwire.sap.spec import TERMINAL, Alignment, CacheMode, ErrorCode, Status, moment_of
from turnwire.sap.transcripts import RESULT_KIND, Batching, KnownTask, Transcript

if TYPE_CHECKING:
    from typing import Self

    from turnwire.ledger import Ledger
    from turnwire.sap.cache import Cache
    from turnwire.sap.learning import LearningLoop

CLOSING_SECONDS = 5.0
"""Seconds for which an agent that is closed waits for receivers of Results."""

REPLY_SECONDS = 30.0
"""Seconds that a receiver of Results may take for one before it is given up."""

CANCEL_SECONDS = 1.0
"""Seconds that a receiver may take to end when it was cancelled, and after which executions are cancelled again."""

MEMORY = 256 << 20
"""Bytes of tasks, Results and bodies that an agent has in its hands, at most."""

MAX_RESULT = LIMITS.message
"""Bytes of a Result that every reader takes by default."""

SHORT, FOR_SHORT = 0.25, 2.0
"""Seconds. A task whose time is shorter, or over, is recorded all the same, so that it has a Result that says so: the
transcript may take so long for it."""

_LONGEST = 1e9  # seconds, some thirty years; a budget may be a number that no clock and no float can hold
_POLLS = (0.02, 0.05, 0.1, 0.25, 0.5)  # seconds between looks at what another agent makes of a task

Route = Callable[[str, Result], Awaitable[None]]
"""(endpoint, result): sends a Result to a replyTo."""

_log = logging.getLogger("turnwire.sap")


@dataclass(eq=False, repr=False)
class Agent:
    """Executes tasks for the transports: receipts, authorisation, cache, deadlines, evidence, transcript, learning.

    Args:
        producer: the agentId, or a Producer.
        cache, learning, transcript: a Cache, a LearningLoop, a Ledger; each may be None.
        access: the rules for callers (an :class:`~turnwire.sap.access.Access`, or your own); None allows everyone.
        vet: one or more vetters of outcomes, asked in order, before those of a capability.
        queue: how many accepted tasks of one capability may wait; further tasks are rejected with a Nack.
        workers: how many tasks of one capability are executed at a time.
        handlers: how many timed-out calls of one capability may still run; beyond that, its tasks are rejected with a
            Nack.
        signer: an Ed25519 private key, or its 32 raw bytes, that signs the terminal Results (extra ``sign``).
        seconds: time limit for tasks without deadline and budget; None for no limit.
        lease: seconds after which another agent may take a task of a silent agent from a shared transcript.
        remembered: how many finished tasks are remembered for redelivery, besides those in the transcript.
        memory: maximum bytes of tasks, Results and bodies. If they do not suffice, the oldest finished tasks are
            discarded, then tasks are rejected (RATE_LIMIT), and a Result that does not fit becomes a small FAILED one.
        max_result: maximum bytes of a Result; a larger one becomes a small FAILED one.

    Attributes:
        running: whether it is started and works on accepted tasks.

    Use it as an async context manager.
    """

    producer: str | Producer
    _: KW_ONLY
    cache: Cache | None = None
    learning: LearningLoop | None = None
    transcript: Ledger | None = None
    access: Authoriser | None = None
    vet: Vetter | Iterable[Vetter] | None = None
    queue: int = 64
    workers: int = 4
    handlers: int = 32
    signer: Any = None
    seconds: float | None = 3600.0
    lease: float = 10.0
    remembered: int = 10_000
    memory: int = MEMORY
    max_result: int = MAX_RESULT

    def __post_init__(self) -> None:
        self.vet = vetters_of(self.vet)
        self.running = False
        self.capabilities: dict[str, Capability] = {}
        self.routes: dict[str, Route] = {}
        self._group: asyncio.TaskGroup
        self._used = 0  # bytes of its memory
        self._jobs: dict[str, Job] = {}  # those that are not delivered
        self._ended: OrderedDict[str, Job] = OrderedDict()  # the newest of those that are
        self._ended_bytes = 0
        self._lines: dict[str, Line] = {}  # by capability
        self._ledgers: dict[int, Batching] = {}  # by the identity of the ledger: one thread for each
        self._sending: set[asyncio.Task[None]] = set()  # Results, to receivers
        self._transcript: Transcript | None = None

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Itself alone; a bus has several."""
        return (self,)

    @property
    def agent_id(self) -> str:
        """The agentId of the producer."""
        return self.producer if isinstance(self.producer, str) else self.producer.agent_id

    @property
    def waiting(self) -> int:
        """The number of accepted tasks in the queue."""
        return sum(line.waiting for line in self._lines.values()) if self.running else 0

    @property
    def unfinished(self) -> int:
        """The number of unfinished tasks, including those being accepted or delivered."""
        return len(self._jobs)

    def add_route(self, scheme: str, route: Route) -> None:
        """Sends Results whose replyTo has this scheme to a route, unless the scheme already has one."""
        self.routes.setdefault(scheme, route)

    def capability(
        self,
        name: str,
        *,
        description: str = "",
        schema: dict[str, Any] | None = None,
        vet: Vetter | Iterable[Vetter] | None = None,
        redeliver: str = "again",
        isolated: bool = False,
        queue: int | None = None,
        workers: int | None = None,
        handlers: int | None = None,
    ) -> Callable[[Handler], Handler]:
        """Decorator: offers a capability.

        Args:
            description: text for people and models; by default the handler's docstring.
            schema: JSON Schema of the payload; a task that violates it is FAILED, UNPROCESSABLE (extra ``schema``).
            vet: further vetters, for this capability.
            redeliver: what to do with a task that was started but not finished: "again" executes it again, "fail" sends
                a FAILED Result.
            isolated: run the handler in a forked process, which is killed on timeout or cancellation (POSIX only;
                changes in its memory are lost).
            queue, workers, handlers: like those of the agent, for this capability.
        """
        expect(name, str, 'a capability needs a name: @agent.capability("text.count")')
        expect_one_of(redeliver, "redeliver", ("again", "fail"))
        if isolated:
            import multiprocessing

            if "fork" not in multiprocessing.get_all_start_methods():
                raise ValueError("an isolated handler needs a system with fork()")
        validate = None if schema is None else validator(schema)
        given = (queue, self.queue), (workers, self.workers), (handlers, self.handlers)
        limits = [default if own is None else own for own, default in given]
        if limits[2] < 1:
            raise ValueError("handlers must be at least 1")

        def offer(handler: Handler) -> Handler:
            text, judges = description or inspect.getdoc(handler) or "", vetters_of(vet)
            offered = Capability(name, handler, text, schema, judges, redeliver, validate, isolated, *limits)
            self.capabilities[name] = offered
            return handler

        return offer

    async def __aenter__(self) -> Self:
        if not self.running:
            self._lines, self._ledgers, self._transcript = {}, {}, None
            if self.transcript is not None:
                self._transcript = Transcript(self.transcript, lease=self.lease)
                self._ledgers[id(self.transcript)] = self._transcript
            self._group = await asyncio.TaskGroup().__aenter__()
            self.running = True
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the work. What is not finished gets a CANCELLED Result, except for tasks that a queue sends again."""
        if not self.running:
            return
        self.running = False
        await cancel_and_wait(job.living for job in self._jobs.values() if job.admission.done())
        if admitting := {job.living for job in self._jobs.values() if not job.admission.done()}:
            await asyncio.wait(admitting, timeout=CLOSING_SECONDS)
            await cancel_and_wait(admitting)
        await self._group.__aexit__(None, None, None)
        for job in list(self._jobs.values()):
            if job.done.done():
                continue
            if job.kept:
                self._drop(job)
                if job.claimed and self._transcript is not None:
                    await self._transcript.let_go(job.key)
            else:
                await self._finish(job, Cancelled("the agent was closed before the task was finished"))
        await self._settle_receivers()
        for ledger in self._ledgers.values():
            ledger.close()

    def _drop(self, job: Job) -> None:
        """Forgets a job that gets no Result here."""
        self._jobs.pop(job.key, None)
        self.release(job.held)
        job.held = 0
        job.done.cancel()  # there will be no Result here

    # ---------------------------------------------------------------- receiving

    async def submit(
        self, task: Task, reply: Reply | None = None, *, principal: Named = ANONYMOUS, kept: bool = False
    ) -> Ack | Nack:
        """Accepts or rejects a task immediately; results go to ``reply`` and to the task's replyTo.

        principal: the sender that the transport authenticated; None (unknown) is rejected. kept: whether the sender
        will send the task again if this agent ends before its Result. A repeated task of the same principal is
        acknowledged but not executed again, and its Result is sent again. A Nack's reason starts with a code of section
        8: INVALID_TASK (with a JSON pointer), UNAUTHORIZED, FORBIDDEN, NOT_FOUND (unroutable), RATE_LIMIT (the
        queue is full, all handlers are stuck, or there is no memory for it), INTERNAL (the agent is not running, or the
        task could not be recorded in time).
        """
        job = await self.receive(task, principal=principal, kept=kept)
        if isinstance(job, Nack):
            return job
        self._tell(job, reply)
        return job.ack()

    async def receive(
        self,
        task: Task,
        *,
        principal: Named = ANONYMOUS,
        kept: bool = False,
        limit: int | None = None,
        given: bool = False,
        cancelled: bool = False,
    ) -> Job | Nack:
        """Like :meth:`submit`, but returns the job of an accepted task. For transports.

        limit: maximum bytes of a message of the transport; a larger Result becomes a small FAILED one before it is
        recorded. given: the caller will not change the task, so it is not copied. cancelled: the sender has already
        cancelled it.
        """
        if type(task) is not Task:
            expect(task, Task, "submit expects a Task")
        if not self.running:
            return nack(task, ErrorCode.INTERNAL, f"{self.agent_id} is not running: async with agent: ...")
        try:
            text = text_as_read(task) or encode(task)
        except EncodeError as error:
            return nack(task, ErrorCode.INVALID_TASK, said(error))
        caller: Principal | None = ANONYMOUS
        denial = None
        if principal is not ANONYMOUS or self.access is not None:  # else there is nothing to ask
            caller = principal_of(principal)
            denial = authorise(caller, Action.SUBMIT, task, self.access)
        if denial is None or denial[0] is ErrorCode.FORBIDDEN:  # whoever is known may know what there is
            asked, capability = task._fields["target"].get("agentId"), task._fields["target"]["capability"]
            if asked is not None and asked != self.agent_id:
                return nack(task, ErrorCode.NOT_FOUND, f"the task is for {asked}, and this agent is {self.agent_id}")
            if capability not in self.capabilities:
                return nack(task, ErrorCode.NOT_FOUND, f"{self.agent_id} has no capability {capability}")
        if denial is not None:
            return nack(task, *denial)
        job = Job(task if given else thaw(text), text, caller or ANONYMOUS, kept=kept, limit=limit)
        known = self._jobs.get(job.key) or self._ended.get(job.key)
        if known is not None:
            return await self._again(known, job)
        line = self._lines.get(job.capability)
        if line is None:
            line = self._lines[job.capability] = Line(self.capabilities[job.capability])
        full = line.why_stuck or ("" if line.places else "the queue is full")
        size = size_of_job(text)
        if not full and not self.reserve(size):
            full = f"the agent uses all {self.memory} bytes of its memory limit"
        if full:
            return nack(task, ErrorCode.RATE_LIMIT, full)
        job.held = size
        line.places -= 1
        if cancelled:
            job.cancel()
        self._jobs[job.key] = job
        del task
        self._begin(job, line, self._live(job, line))  # whoever asked may be cancelled meanwhile
        return await asyncio.shield(job.admission) or job

    def _begin(self, job: Job, line: Line, life: Coroutine[Any, Any, None]) -> None:
        job.living = self._group.create_task(life)
        job.living.add_done_callback(lambda _: self._lived(job, line))

    async def _live(self, job: Job, line: Line) -> None:
        """The life of a job: its admission, its turn, its work, its Result. Never raises but for a cancellation."""
        refused = await self._admit(job)
        waits = refused is None and self.running and not job.done.done()
        line.places += not waits
        if refused is not None:
            self._drop(job)
        else:
            self._tell(job, self._route(job))
        job.admission.set_result(refused)
        if waits:
            async with line.turn(job, seconds_left(job.task, budget=False)) as came:
                await self._finish(job, self._result(job, line, came))

    def _lived(self, job: Job, line: Line) -> None:
        """Ends a job whose life was cancelled, by a capability or as the agent is being closed."""
        if not job.admission.done():
            line.places += 1
            self._drop(job)
            job.admission.set_result(nack(job.task, ErrorCode.INTERNAL, "the admission was cancelled"))
        elif self.running and not job.done.done():
            self._begin(job, line, self._finish(job, Cancelled("a capability cancelled the work on this task")))

    async def _admit(self, job: Job) -> Nack | None:
        """The Nack of a job that may have no place in the queue. Never raises but for a cancellation."""
        try:
            async with asyncio.timeout(None if self._transcript is None else seconds_to_record(job.task, self.seconds)):
                known = await self._known(job.key, job.text)
                if known.content is not None and known.content != _content(job):
                    return nack(job.task, ErrorCode.INVALID_TASK, "another task already has this taskId")
                if known.result is not None:  # answered already: it gets its old Result
                    self._end(job, known.result)
                elif job.traced and known.content is None:
                    await self._report(job, Status.QUEUED)
                return None
        except TimeoutError:
            text = "the transcript is locked, or too slow for the time limit of the task"
            return nack(job.task, ErrorCode.INTERNAL, text)
        except Exception as error:  # a full disk, say: nothing was accepted
            _log.exception("task %s could not be admitted", job.task_id)
            return nack(job.task, ErrorCode.INTERNAL, f"the task could not be recorded: {said(error)}")

    async def _known(self, key: str, text: str | None = None) -> KnownTask:
        """The rows of a task in the transcript, where there is one."""
        return KnownTask() if self._transcript is None else await self._transcript.known(key, text)

    async def _again(self, known: Job, job: Job) -> Job | Nack:
        if known.text != job.text and _content(known) != _content(job):
            return nack(job.task, ErrorCode.INVALID_TASK, "another task already has this taskId")
        known.kept = known.kept or job.kept
        if known.done.done():
            self._tell(known, self._route(known))
        return await asyncio.shield(known.admission) or known

    # ---------------------------------------------------------------- memory

    def reserve(self, size: int) -> bool:
        """Reserves bytes of the agent's memory for a transport, discarding the oldest finished tasks if necessary;
        returns False if that does not suffice."""
        if size > self.room():
            return False
        while self._used + size > self.memory:
            self._forget_oldest()
        self._used += size
        return True

    def release(self, size: int) -> None:
        """Releases reserved bytes."""
        self._used -= size

    def room(self) -> int:
        """The number of bytes that can be reserved."""
        return self.memory - self._used + self._ended_bytes

    def _forget_oldest(self) -> None:
        _, job = self._ended.popitem(last=False)
        self._ended_bytes -= job.held
        self._used -= job.held

    # ---------------------------------------------------------------- working

    async def _started(self, job: Job) -> None:
        job.begun.set_result(None)
        if job.traced:
            await self._report(job, Status.RUNNING)

    async def _report(self, job: Job, status: Status) -> None:
        text = self._text_of(job, Outcome(status=status))
        if self._transcript is not None:
            await self._transcript.append((RESULT_KIND, text, job.key))
        job.report(text)

    async def _result(self, job: Job, line: Line, came: bool) -> str:
        """The Result of a job, which another agent may have made."""
        task = job.task
        left = seconds_left(task)
        if job.stop.done():
            raise Cancelled
        if not came or (left is not None and left <= 0):
            raise DeadlineExceeded("the deadline passed before the work began")
        capability = line.capability
        if capability.validate is not None and (faults := capability.validate(task._fields["payload"])):
            issues = [{"pointer": pointer, "message": words} for pointer, words in faults]
            text = "; ".join(f"{pointer}: {words}" for pointer, words in faults[:3])
            raise Refusal(ErrorCode.UNPROCESSABLE, text, issues=issues)
        if (known := await self._from_cache(job)) is not None:
            return known
        if self._transcript is None:
            await self._started(job)
            return await self._computed(job, line)
        try:
            async with asyncio.timeout(seconds_to_record(task, None)):
                other = await self._claimed(job, self._transcript)
        except TimeoutError:
            raise DeadlineExceeded("the time ran out before the task could be claimed") from None
        if other is not None:
            return other
        if job.attempt > 1 and capability.redeliver == "fail":
            text = f"{capability.name} was started before but not finished, and must not be started again"
            raise Refusal(ErrorCode.INTERNAL, text, attempts=job.attempt)
        await self._started(job)
        renewing = asyncio.create_task(self._renew_claim(job, self._transcript))
        try:
            return await self._computed(job, line)
        finally:
            renewing.cancel()

    # ---------------------------------------------------------------- cache

    def _rows_of(self, ledger: Ledger) -> Batching:
        if id(ledger) not in self._ledgers:
            self._ledgers[id(ledger)] = Batching(ledger)
        return self._ledgers[id(ledger)]

    async def _from_cache(self, job: Job) -> str | None:
        """The Result of a hit, or of a miss where the mode is "only". Records the evidence of another miss."""
        task, cache = job.task, self.cache
        mode = mode_of(task)
        if cache is None and mode is CacheMode.ONLY:
            raise Refusal(ErrorCode.CACHE_MISS, "this agent has no cache")
        if cache is None or mode is CacheMode.BYPASS:
            return None
        found = await self._rows_of(cache.ledger).do(lambda: ([], cache.get(task)))
        job.cache_key = found.cache_key
        if not found and mode is not CacheMode.ONLY:
            job.cache = CacheEvidence(hit=False, cache_key=found.cache_key)
            return None
        return encode(found.result(task, self.producer))

    async def _store(self, job: Job, line: Line, text: str, issues: list[str]) -> None:
        """Writes the outcome to the cache, which decides what it takes. A cache that is full costs no Result. Why
        successes are not stored is logged once for each capability: else nobody sees that no task is ever a hit."""
        cache = self.cache
        if cache is None or job.cache is None:
            return
        try:
            result = thaw(text)
            row = None if issues else cache.row(job.task, result, key=job.cache_key)
            if row is not None:
                await self._rows_of(cache.ledger).append(row)
            elif result.status is Status.SUCCEEDED:
                why = "they violate the task's outputContract" if issues else _why_not_stored(job, result)
                if why not in line.told:
                    line.told.add(why)
                    _log.warning("outcomes of %s are not cached: %s", job.capability, why)
        except Exception:
            _log.exception("the outcome of task %s could not be cached", job.task_id)

    # ---------------------------------------------------------------- one agent of several

    async def _claimed(self, job: Job, transcript: Transcript) -> str | None:
        """None when this agent has to execute the task; else the Result that another agent has made of it.

        It is asked for again and again: the agent that has it may let it go, and not only when its time is over.
        """
        pauses = iter(_POLLS)
        while True:
            job.claimed = True  # from now on it may be; if this is cancelled, it is let go
            claim = await transcript.claim(job.key)
            if claim.mine:
                job.attempt = claim.attempt
                return None
            if claim.result is not None:
                return claim.result
            if job.stop.done():
                raise Cancelled
            pause = min(next(pauses, _POLLS[-1]), max(0.0, claim.until - time()))
            await asyncio.wait({job.stop}, timeout=pause)

    async def _renew_claim(self, job: Job, transcript: Transcript) -> None:
        """Renew at intervals the record that a task is being executed here."""
        while True:
            await asyncio.sleep(transcript.lease / 3)
            try:
                await transcript.go_on(job.key)
            except Exception:  # a full disk, say; it may be written the next time
                _log.exception("could not record that task %s is being executed", job.task_id)

    # ---------------------------------------------------------------- the handler

    async def _computed(self, job: Job, line: Line) -> str:
        task, name = job.task, job.capability
        try:
            text = await self._made(job, line)
        except Refusal:
            raise
        except EncodeError as error:
            raise Refusal(ErrorCode.INTERNAL, f"the capability returned an invalid result: {error}") from error
        except Exception as error:  # whatever a capability does, its task gets a Result
            _log.exception("capability %s failed", name)
            shown = type(error.cause if isinstance(error, HandlerDied) else error).__name__
            raise Refusal(ErrorCode.INTERNAL, f"{shown} in {name}") from error
        issues: list[str] = []
        if "outputContract" in task._fields:
            result = thaw(text)
            bound = result.status is Status.SUCCEEDED and "output" in result
            found = output_issues(result.output, task) if bound else ()
            issues = [f"{issue.where}: {issue.text}" for issue in found if issue.severity == "warning"]
            if issues:
                result.meta = {**(result.meta or {}), "outputIssues": issues}
                text = encode(result)
        await self._store(job, line, text, issues)
        return text

    async def _made(self, job: Job, line: Line) -> str:
        loop, capability = asyncio.get_running_loop(), line.capability
        seconds = seconds_left(job.task, most=self.seconds)
        end = None if seconds is None else loop.time() + seconds

        async def run(call: Callable[..., Any], *values: Any, isolated: bool = False) -> Any:
            left = None if end is None else end - loop.time()
            return await line.run(call, job.copy(), *values, seconds=left, stop=job.stop, isolated=isolated)

        budget = dict(job.task._fields.get("telemetry", {}).get("budget", {}))
        context = Context(job.traced, seconds, budget, job.principal.name, job.attempt)
        made = await run(capability.handler, context, isolated=capability.isolated)
        outcome, draft = guarded(self._drafted, job, made)
        vetters = (*cast("tuple[Vetter, ...]", self.vet), *capability.vet)
        if not vetters:
            return draft
        copy = thaw(draft)

        async def ask(vetter: Vetter) -> Any:
            return await run(vetter, copy_of(copy))

        if outcome.output is not NOTHING:  # what the handler keeps of its output may change while vetters look at it
            outcome = replace(outcome, output=copy.fields["output"])
        outcome = await vetted(outcome, copy, vetters, ask, job.task)
        return guarded(self._text_of, job, outcome)

    def _drafted(self, job: Job, made: Any) -> tuple[Outcome, str]:
        """A handler's value as an Outcome, and its Result, which can be written and is the handler's no more."""
        if isinstance(made, Message):
            text = f"the capability returned a {type(made).__name__}; return an output or a sap.Outcome: the agent "
            raise Refusal(ErrorCode.INTERNAL, f"{text}creates the Result")
        outcome = made if isinstance(made, Outcome) else Outcome(made)
        if outcome.status is not None and outcome.status not in TERMINAL:
            raise Refusal(ErrorCode.INTERNAL, f"the capability answered {outcome.status}, not a terminal status")
        return outcome, self._text_of(job, outcome)

    def _text_of(self, job: Job, outcome: Outcome) -> str:
        """The Result of an outcome, with the evidence of the cache where the task was looked up there and missed."""
        if job.cache is not None and outcome.cache is None:
            outcome = replace(outcome, cache=job.cache)
        return encode(result_for(job.task, outcome, self.producer))

    # ---------------------------------------------------------------- how a Result becomes final

    async def _finish(self, job: Job, made: Awaitable[str] | Refusal) -> None:
        """Makes the one terminal Result of a job, or that of a refusal, fixes it and sends it. Never raises but for a
        cancellation."""
        done: str | Outcome
        try:
            done = made.outcome if isinstance(made, Refusal) else await made
        except Refusal as refusal:
            done = refusal.outcome
        except Exception as error:  # a full disk, say
            _log.exception("task %s could not be executed", job.task_id)
            done = Refusal(ErrorCode.INTERNAL, f"{self.agent_id}: {said(error)}").outcome
        try:
            text = self._frozen(job, done if isinstance(done, str) else self._text_of(job, done))
            if self._transcript is not None:
                text = await self._transcript.settle(job.key, text)
        except Exception as error:  # whoever waits for the task hears of a full disk, too
            _log.exception("the result of task %s could not be recorded", job.task_id)
            failed = Refusal(ErrorCode.INTERNAL, f"the result could not be recorded: {said(error)}")
            text = self._text_of(job, failed.outcome)
        await self._learn(job.task, text)
        self._end(job, text)

    def _frozen(self, job: Job, text: str) -> str:
        """The Result as it leaves: signed; it fails where it is larger than the limit, or than the agent's memory."""
        limit = self.max_result if job.limit is None else min(job.limit, self.max_result)
        signed = self._signed(text)
        size = len(signed.encode())
        if size <= limit and size_of_result(signed) <= self.room():
            return signed
        return self._signed(encode(too_large(thaw(text), size, min(limit, max(0, self.room())))))

    def _signed(self, text: str) -> str:
        if self.signer is None:
            return text
        result: Result = thaw(text)
        return encode(signed_message(result, result.producer.agent_id, self.signer))

    async def _learn(self, task: Task, text: str) -> None:
        learning = self.learning
        if learning is None:
            return
        try:
            row = learning.row(from_result(task, thaw(text), essence=learning.essence))
            await self._rows_of(learning.ledger).append(row)
        except Exception:  # what is not learned does not change what was done
            _log.exception("nothing was learned from task %s", task.task_id)

    def _end(self, job: Job, text: str) -> None:
        size = size_of_result(text)
        if not self.reserve(size):
            self._used += size  # another agent made it, and it is in the transcript
        job.held += size
        job.done.set_result(text)
        job.drop_task()
        self._told(job)

    # ---------------------------------------------------------------- delivering

    def _route(self, job: Job) -> Reply | None:
        """The receiver of the replyTo of a job, if there is a route to it."""
        route = self.routes.get(job.endpoint.partition(":")[0])
        return None if route is None else partial(route, job.endpoint)

    def _tell(self, job: Job, receiver: Reply | None) -> None:
        """Sends the Results of a job to a receiver, if there is one, one after the other."""
        if receiver is None:
            return
        job.receivers += 1
        sending = asyncio.create_task(self._send(job, receiver))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _send(self, job: Job, receiver: Reply) -> None:
        """A slow or lost receiver stops nobody else."""
        try:
            async for text in job.results():
                try:
                    async with asyncio.timeout(REPLY_SECONDS):
                        await receiver(thaw(text))
                except Exception:  # a receiver that is gone must not stop the others
                    _log.exception("a result of task %s could not be sent", job.task_id)
        except Unreachable:  # the job was dropped
            pass
        finally:
            job.receivers -= 1
            self._told(job)

    def _told(self, job: Job) -> None:
        """Puts a job whose Result all receivers have among those that are forgotten, if there is no more room."""
        if job.receivers or not job.done.done() or self._jobs.get(job.key) is not job:
            return
        del self._jobs[job.key]
        self._ended[job.key] = job
        self._ended_bytes += job.held
        while len(self._ended) > self.remembered:
            self._forget_oldest()

    async def _settle_receivers(self) -> None:
        """Waits for all receivers; then cancels them. Those that ignore that are left behind."""
        for seconds in (CLOSING_SECONDS, min(CLOSING_SECONDS, CANCEL_SECONDS)):
            if self._sending:
                await asyncio.wait(self._sending, timeout=seconds)
            for task in self._sending:
                task.cancel()
        if self._sending:
            _log.error("the receivers of %d results did not stop when they were cancelled", len(self._sending))
            self._sending.clear()

    # ---------------------------------------------------------------- what may be asked about tasks

    async def call(self, task: Task, *, principal: Named = ANONYMOUS) -> Result:
        """Executes a task and returns its final Result. Raises Refused for a Nack, RuntimeError outside ``async
        with agent:``."""
        if not self.running:  # nobody would ever work on it
            raise RuntimeError("an agent works only while it is entered: async with agent: ...")
        job = await self.receive(task, principal=principal)
        if isinstance(job, Nack):
            raise Refused(job)
        return await job.wait()

    async def look_up(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result | Ack:
        """Returns the final Result of a principal's task, from the transcript if necessary, or the Ack while there is
        none.

        Raises KeyError for an unknown task or another principal's task.
        """
        key, job = await self._accepted(principal, task_id)
        if job is not None:
            return job.result() or job.ack()
        known = await self._known(key)
        if known.content is None:
            raise KeyError(task_id)
        if known.result is None:
            return Ack(message_id=task_id, correlation_id=known.correlation)
        return thaw(known.result)  # type: ignore[no-any-return]

    async def cancel(self, task_id: str, *, principal: Named = ANONYMOUS) -> Result:
        """Cancels a principal's task and returns its Result, which differs from CANCELLED if the task ended first.

        Raises KeyError for an unknown task or another principal's task.
        """
        _, job = await self._accepted(principal, task_id)
        if job is None:
            raise KeyError(task_id)
        job.cancel()
        return await job.wait()

    def holds(self, task_id: str, principal: Principal) -> bool:
        """True if the agent has, or recently had, this task of this principal."""
        key = key_of(principal, task_id)
        return key in self._jobs or key in self._ended

    async def _accepted(self, principal: Named, task_id: str) -> tuple[str, Job | None]:
        """The key of a task, and its job once it is accepted. Raises KeyError for somebody unknown."""
        if (caller := principal_of(principal)) is None:
            raise KeyError(task_id)
        key = key_of(caller, task_id)
        job = self._jobs.get(key) or self._ended.get(key)
        if job is not None and isinstance(await asyncio.shield(job.admission), Nack):
            job = None
        return key, job


def _content(job: Job) -> bytes:
    """The bytes that two copies of one task have in common."""
    return content_of(thaw(job.text))


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits for their end; raises nothing of theirs.

    What a task waits for may swallow a cancellation: ``asyncio.wait_for`` of Python 3.11 does, when its result comes at
    the same moment.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)


def _why_not_stored(job: Job, result: Result) -> str:
    """Words for a success that the cache did not take."""
    evidence = result.constitutional_evidence
    if job.cache_key is None:
        return "their payloads have no canonical form, so no key"
    if NOT_VETTED in result._fields["constitutionalEvidence"].get("policyChecks", ()):
        way = "pass vet= to the agent or the capability, return an Outcome with alignment and policy_checks"
        return f"nobody vetted them; {way}, or create the cache with unvetted=True"
    if evidence.alignment is not Alignment.VALID:
        return f"their alignment is {evidence.alignment}, not VALID"
    return "they have violations or failed checks, or exceed the message size limit"


def too_large(result: Result, size: int, limit: int) -> Result:
    """The small FAILED Result instead of one that does not fit the transport."""
    text = f"the Result has {size} bytes, more than the limit of {limit}"
    error = AgentError(code=ErrorCode.INTERNAL, message=text, details={"bytes": size, "limit": limit})
    made = result.replace(status=Status.FAILED, error=error, artifacts=None, metrics=None, next_actions=None, meta=None)
    del made.output
    evidence = {"alignment": Alignment.ESCALATE.value, "policyChecks": [dict(NOT_VETTED)]}
    made.fields["constitutionalEvidence"] = evidence
    return made


def seconds_left(
    task: Task, now: datetime | None = None, *, budget: bool = True, most: float | None = None
) -> float | None:
    """Seconds until telemetry.deadline or, with ``budget``, budget.seconds, or at ``most``, the soonest; None without
    any."""
    telemetry = task._fields.get("telemetry", {})
    seconds = telemetry.get("budget", {}).get("seconds") if budget else None
    limits = [] if most is None else [most]
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        limits.append(float(min(seconds, _LONGEST)))
    if "deadline" in telemetry:
        limits.append((moment_of(telemetry["deadline"]) - (now or datetime.now(UTC))).total_seconds())
    return min(limits, default=None)


def seconds_to_record(task: Task, most: float | None) -> float | None:
    """Seconds that the transcript may take for a task, None for any number; most: where it brings no limit."""
    left = seconds_left(task, most=most)
    return left if left is None or left >= SHORT else FOR_SHORT
