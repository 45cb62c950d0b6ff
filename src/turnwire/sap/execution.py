"""What an agent makes of an accepted task: schema, cache, claim, handler, vetting, contract. Gives a Result, always."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, Any

from turnwire.errors import EncodeError
from turnwire.sap.batching import Batching
from turnwire.sap.cache import Cache, Hit, Miss, mode_of, policy_of
from turnwire.sap.contract import output_issues
from turnwire.sap.handlers import Cancelled, Capability, Context, Died, Overrun, Pool, Refusal, Stuck, guarded
from turnwire.sap.jobs import Job
from turnwire.sap.messages import AgentError, Producer, Result, Task
from turnwire.sap.payloads import Faults
from turnwire.sap.receipts import Frozen, copy_of, freeze, thaw
from turnwire.sap.results import NOT_VETTED, NOTHING, Outcome, result_for
from turnwire.sap.spec import TERMINAL, Alignment, CacheMode, ErrorCode, Status
from turnwire.sap.times import moment_of
from turnwire.sap.transcripts import Transcript
from turnwire.sap.vetting import Vetter, vetted

if TYPE_CHECKING:
    from turnwire.ledger import Ledger

_log = logging.getLogger("turnwire.sap")
_LONGEST = 1e9  # seconds, some thirty years; a budget may be a number that no clock and no float can hold
_POLLS = (0.02, 0.05, 0.1, 0.25, 0.5)  # seconds between looks at what another agent makes of a task
Started = Callable[[Job], Awaitable[None]]


class Execution:
    """Executes the jobs of one agent.

    Args:
        producer: of the Results. capabilities, validators: by name. vet: vetters of all capabilities. seconds: how long
            a task may take that brings no limit of its own. rows_of: through what a ledger is reached.
            started: is awaited before a handler begins.
    """

    def __init__(
        self,
        producer: Producer,
        capabilities: Mapping[str, Capability],
        validators: Mapping[str, Callable[[Any], Faults]],
        *,
        cache: Cache | None,
        transcript: Transcript | None,
        vet: tuple[Vetter, ...],
        pool: Pool,
        rows_of: Callable[[Ledger], Batching],
        seconds: float | None,
        started: Started,
    ) -> None:
        self.producer = producer
        self._capabilities = capabilities
        self._validators = validators
        self._cache = cache
        self._transcript = transcript
        self._vet = vet
        self._pool = pool
        self._rows_of = rows_of
        self._seconds = seconds
        self._started = started

    async def result(self, job: Job) -> Result | Frozen | str:
        """The Result of a job; as a text, the one that another agent has written down for it."""
        try:
            return await self._result(job)
        except Exception as error:  # a full disk, say
            _log.exception("task %s could not be executed", job.task_id)
            return self.failed(job.task, ErrorCode.INTERNAL, f"{type(error).__name__} in {self.producer.agent_id}")

    async def _result(self, job: Job) -> Result | Frozen | str:
        task = job.task
        left = seconds_left(task)
        if job.stop.done():
            return self.cancelled(task)
        if left is not None and left <= 0:
            return self.failed(task, ErrorCode.TIMEOUT, "the deadline had passed before the work began")
        name = task.target.capability
        if name in self._validators and (faults := self._validators[name](task.fields["payload"])):
            return self._unprocessable(task, faults)
        if (known := await self._from_cache(job)) is not None:
            return known
        try:
            other = None if self._transcript is None else await self._claimed(job, self._transcript)
        except Cancelled:
            return self.cancelled(task)
        if other is not None:
            return other
        if job.attempt > 1 and self._capabilities[name].redeliver == "fail":
            text = f"{name} was started before and never finished, and is not to be started again"
            return self.failed(task, ErrorCode.INTERNAL, text, attempts=job.attempt)
        await self._started(job)
        return await (self._computed(job) if self._transcript is None else self._held(job, self._transcript))

    # ---------------------------------------------------------------- cache

    async def _from_cache(self, job: Job) -> Result | None:
        task = job.task
        mode = mode_of(policy_of(task))
        if mode is CacheMode.BYPASS:
            return None
        if self._cache is None:
            missed = "this agent has no cache"
            return self.failed(task, ErrorCode.CACHE_MISS, missed) if mode is CacheMode.ONLY else None
        cache = self._cache
        found: Hit | Miss = await self._rows_of(cache.ledger).do(lambda: ([], cache.get(task)))
        job.cache_key = found.cache_key
        return found.result(task, self.producer) if found or mode is CacheMode.ONLY else None

    async def _kept(self, job: Job, result: Result) -> None:
        """Writes the outcome to the cache, which decides what it takes. A cache that is full costs no Result."""
        if self._cache is None:
            return
        try:
            if (row := self._cache.row(job.task, result, key=job.cache_key)) is not None:
                await self._rows_of(self._cache.ledger).do(lambda: ([row], None))
        except Exception:
            _log.exception("the outcome of task %s could not be cached", job.task_id)

    # ---------------------------------------------------------------- one agent of several

    async def _claimed(self, job: Job, transcript: Transcript) -> str | None:
        """None when the task is ours to execute; the Result that another agent has made of it, else.

        It is asked for again and again: the agent that has it may let it go, and not only when its time is over.
        """
        pauses = iter(_POLLS)
        pause = _POLLS[0]
        while True:
            job.claimed = True  # from now on it may be; if this is cancelled, it is let go
            claim = await transcript.claim(job.key)
            if claim.mine:
                job.attempt = claim.attempt
                return (await transcript.known(job.key)).result if claim.attempt > 1 else None
            if (text := (await transcript.known(job.key)).result) is not None:
                return text
            if job.stop.done():
                raise Cancelled
            pause = next(pauses, pause)
            await asyncio.wait({job.stop}, timeout=min(pause, max(0.0, claim.until - time())))

    async def _held(self, job: Job, transcript: Transcript) -> Result | Frozen:
        """Executes a task, and says again and again that it does."""
        loop, saying = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        every = transcript.lease / 3
        first = loop.call_later(every, lambda: saying.add(loop.create_task(self._say(job, transcript, every))))
        try:
            return await self._computed(job)
        finally:
            first.cancel()
            for task in saying:
                task.cancel()

    async def _say(self, job: Job, transcript: Transcript, every: float) -> None:
        while True:
            try:
                await transcript.go_on(job.key)
            except Exception:  # a full disk, say; it may be written the next time
                _log.exception("it could not be written down that task %s is being executed", job.task_id)
            await asyncio.sleep(every)

    # ---------------------------------------------------------------- the handler

    async def _computed(self, job: Job) -> Result | Frozen:
        task = job.task
        capability = self._capabilities[task.target.capability]
        limits = [limit for limit in (seconds_left(task), self._seconds) if limit is not None]
        left = min(limits, default=None)
        context = Context(job.traced, left, _budget(task), job.principal.name, job.attempt)
        try:
            made = await self._made(job, capability, context, left)
        except Overrun:
            return self.failed(task, ErrorCode.TIMEOUT, "the time for this task is over")
        except Cancelled:
            return self.cancelled(task)
        except Stuck as stuck:
            return self.failed(task, ErrorCode.RATE_LIMIT, str(stuck))
        except Refusal as refusal:
            return self.failed(task, refusal.code, refusal.message)
        except EncodeError as error:
            return self.failed(task, ErrorCode.INTERNAL, f"the capability gave no right result: {error}")
        except Exception as error:  # whatever a capability does, its task gets a Result
            _log.exception("capability %s failed", capability.name)
            shown = type(error.cause if isinstance(error, Died) else error).__name__
            return self.failed(task, ErrorCode.INTERNAL, f"{shown} in {capability.name}")
        result = made.result
        if issues := _contract_issues(task, result):
            result.meta = {**(result.meta or {}), "outputIssues": issues}
            return result
        await self._kept(job, result)
        return made

    async def _made(self, job: Job, capability: Capability, context: Context, seconds: float | None) -> Frozen:
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds

        def left() -> float | None:
            return None if end is None else end - loop.time()

        made = await self._pool.run(capability.handler, job.copy(), context, seconds=left(), stop=job.stop)
        outcome, draft = guarded(self._drafted, job.task, made)
        vetters = (*self._vet, *capability.vet)
        if not vetters:
            return draft
        copy = thaw(draft.text)

        async def ask(vetter: Vetter, _task: Task, result: Result) -> Any:
            return await self._pool.run(vetter, job.copy(), copy_of(result), seconds=left(), stop=job.stop)

        if outcome.output is not NOTHING:  # what the handler keeps of its output may change while vetters look at it
            outcome = replace(outcome, output=copy.fields["output"])
        outcome = await vetted(outcome, copy, vetters, ask, job.task)
        return guarded(self._drafted, job.task, outcome)[1]

    def _drafted(self, task: Task, made: Any) -> tuple[Outcome, Frozen]:
        """What a handler gave as an Outcome, and its Result, which can be written and is the handler's no more."""
        outcome = made if isinstance(made, Outcome) else Outcome(NOTHING if made is NOTHING else made)
        draft = _terminal(result_for(task, outcome, self.producer))
        return outcome, Frozen(draft, freeze(draft))

    # ---------------------------------------------------------------- Results of our own

    def failed(self, task: Task, code: ErrorCode | str, message: str, **details: Any) -> Result:
        """The Result of a task that failed."""
        error = AgentError(code=str(code), message=message, details=details or None)
        return result_for(task, Outcome(error=error), self.producer)

    def cancelled(self, task: Task, message: str = "the task was cancelled") -> Result:
        """The Result of a task that was cancelled."""
        return result_for(task, Outcome(status=Status.CANCELLED, error=AgentError(message=message)), self.producer)

    def _unprocessable(self, task: Task, faults: Faults) -> Result:
        text = "; ".join(f"{pointer}: {words}" for pointer, words in faults[:3])
        issues = [{"pointer": pointer, "message": words} for pointer, words in faults]
        return self.failed(task, ErrorCode.UNPROCESSABLE, text, issues=issues)


def too_large(result: Result, size: int, limit: int) -> Result:
    """The small FAILED Result instead of one that does not fit the transport."""
    text = f"the Result has {size} bytes, the transport takes {limit}"
    error = AgentError(code=ErrorCode.INTERNAL, message=text, details={"bytes": size, "limit": limit})
    made = result.replace(status=Status.FAILED, error=error, artifacts=None, metrics=None, next_actions=None, meta=None)
    del made.output
    evidence = {"alignment": Alignment.ESCALATE.value, "policyChecks": [dict(NOT_VETTED)]}
    made.fields["constitutionalEvidence"] = evidence
    return made


def _terminal(result: Result) -> Result:
    """A handler's Result is the end. Raises Refusal for a status that promises more."""
    if result.fields["status"] not in TERMINAL:
        raise Refusal(ErrorCode.INTERNAL, f"the capability answered {result.status}, which is not a terminal status")
    return result


def _contract_issues(task: Task, result: Result) -> list[str]:
    if "outputContract" not in task.fields or result.status is not Status.SUCCEEDED or "output" not in result:
        return []
    found = output_issues(result.output, task)
    return [f"{issue.where}: {issue.text}" for issue in found if issue.severity == "warning"]


def _budget(task: Task) -> dict[str, Any]:
    telemetry = task.fields.get("telemetry", {})
    return dict(telemetry.get("budget", {}))


def seconds_left(task: Task, now: datetime | None = None) -> float | None:
    """Seconds until telemetry.deadline or budget.seconds, whichever is sooner; None without either."""
    if "telemetry" not in task.fields:
        return None
    seconds = _budget(task).get("seconds")
    limits = []
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        limits.append(float(min(seconds, _LONGEST)))
    if (left := seconds_to_deadline(task, now)) is not None:
        limits.append(left)
    return min(limits, default=None)


def seconds_to_deadline(task: Task, now: datetime | None = None) -> float | None:
    """Seconds until telemetry.deadline, None without one."""
    telemetry = task.fields.get("telemetry")
    if telemetry is None or "deadline" not in telemetry:
        return None
    return (moment_of(telemetry["deadline"]) - (now or datetime.now(UTC))).total_seconds()
