"""From an accepted task to its final Result: schema, cache, claim, handler, vetting, contract, size, record.

Vetting judges whether an outcome is constitutional (sections 4.2 and 6); of several verdicts the gravest counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS
from turnwire.errors import EncodeError
from turnwire.sap.builders import NOT_VETTED, NOTHING, Frozen, Outcome, alignment_of, copy_of, result_for, said, thaw
from turnwire.sap.cache import mode_of, policy_of
from turnwire.sap.codec import encode
from turnwire.sap.handlers import Cancelled, Capability, Context, Died, HandlerPool, Overrun, Refusal, guarded
from turnwire.sap.jobs import Job, size_of_result
from turnwire.sap.judgement import judge
from turnwire.sap.learning import from_result
from turnwire.sap.messages import AgentError, CacheEvidence, JsonObject, Message, Result, Task, plain
from turnwire.sap.objects import by_reference
from turnwire.sap.schema import Faults, output_issues
from turnwire.sap.spec import SUCCESSES, TERMINAL, Alignment, CacheMode, ErrorCode, Status
from turnwire.sap.times import moment_of
from turnwire.sap.transcripts import Batching, Transcript

if TYPE_CHECKING:
    from turnwire.ledger import Ledger
    from turnwire.sap.agent import Agent

MAX_RESULT = LIMITS.message
"""Bytes of a Result that every reader takes by default."""

_log = logging.getLogger("turnwire.sap")
_LONGEST = 1e9  # seconds, some thirty years; a budget may be a number that no clock and no float can hold
_POLLS = (0.02, 0.05, 0.1, 0.25, 0.5)  # seconds between looks at what another agent makes of a task


@dataclass(frozen=True)
class Vetting:
    """The finding of a vetter. policy_checks and violations as in section 4.2; without a check one is made of the
    word."""

    alignment: Alignment | str
    policy_checks: Sequence[JsonObject | Mapping[str, Any]] = ()
    violations: Sequence[JsonObject | Mapping[str, Any]] = ()


Opinion = Vetting | Alignment | str | None
Vetter = Callable[[Task, Result], "Opinion | Awaitable[Opinion]"]
"""(task, its result as the capability made it), both copies -> what was found; None: no opinion."""

Run = Callable[[Vetter, Task, Result], Awaitable[Any]]
"""Runs one vetter on copies of its own, within the time left; raises what it raises."""

GRAVITY = (Alignment.VALID, Alignment.ESCALATE, Alignment.NON_CONSTITUTIONAL)
_STATUS = {Alignment.VALID: "PASS", Alignment.ESCALATE: "ESCALATE", Alignment.NON_CONSTITUTIONAL: "FAIL"}


def vetters_of(vet: Vetter | Iterable[Vetter] | None) -> tuple[Vetter, ...]:
    """One vetter, several or none as a tuple."""
    if vet is None:
        return ()
    return (vet,) if callable(vet) else tuple(vet)


async def vetted(outcome: Outcome, draft: Result, vetters: Sequence[Vetter], run: Run, task: Task) -> Outcome:
    """The outcome with what the vetters found; as it is where there are none, or where it failed already.

    The capability's own word holds where it is graver. A vetter that raises has not said that all is well: ESCALATE.
    """
    if not vetters or draft.status not in SUCCESSES:
        return outcome
    found = [one for vetter in vetters if (one := await _ask(vetter, run, task, draft)) is not None]
    own = alignment_of(outcome)
    words = [Alignment(one.alignment) for one in found]
    if not words:
        return outcome if own is not Alignment.VALID else replace(outcome, alignment=None)
    if own is not None:
        words.append(own)
    gravest = max(words, key=GRAVITY.index)
    escalated = gravest is Alignment.ESCALATE
    return replace(
        outcome,
        status=Status.ESCALATED if escalated else outcome.status,
        alignment=gravest,
        policy_checks=[*(outcome.policy_checks or ()), *(check for one in found for check in one.policy_checks)],
        violations=[*(outcome.violations or ()), *(item for one in found for item in one.violations)] or None,
        next_actions=outcome.next_actions or ([_review(task)] if escalated else None),
    )


async def _ask(vetter: Vetter, run: Run, task: Task, draft: Result) -> Vetting | None:
    name = getattr(vetter, "__name__", type(vetter).__name__)
    try:
        return guarded(_vetting, await run(vetter, task, draft), name)
    except (Overrun, Cancelled):  # the task's affair, not the vetter's
        raise
    except Exception as error:
        _log.exception("the vetter %s failed on task %s", name, task.task_id)
        check = {"principle": name, "status": "ERROR", "notes": f"the vetter failed: {type(error).__name__}"}
        return Vetting(Alignment.ESCALATE, [check])


def _vetting(found: Opinion, name: str) -> Vetting | None:
    """The finding that a vetter gave, with a check of its name where it gave none. Raises ValueError for what is not a
    word."""
    if found is None:
        return None
    made = found if isinstance(found, Vetting) else Vetting(Alignment(found))
    word = Alignment(made.alignment)
    checks = plain(made.policy_checks) or [{"principle": name, "status": _STATUS[word]}]
    violations = plain(made.violations)
    if word is Alignment.VALID and not judge(Status.SUCCEEDED, word, checks, violations).valid:
        word = Alignment.ESCALATE  # it found something, whatever it says
    return Vetting(word, checks, violations)


def _review(task: Task) -> dict[str, Any]:
    """The escalation path of section 8: somebody looks at it."""
    return {"action": "review", "taskId": task.task_id, "capability": task.target.capability}


class Execution:
    """Executes the jobs of an agent while it is entered, with a pool for its handlers and a thread for each ledger.

    Args:
        started: is awaited before a handler begins.
    """

    def __init__(self, agent: Agent, started: Callable[[Job], Awaitable[None]]) -> None:
        self._agent = agent
        self._started = started
        self._ledgers: dict[int, Batching] = {}  # by the identity of the ledger: one thread for each
        self._pools: dict[str, HandlerPool] = {}  # by capability
        self._told: set[tuple[str, str]] = set()  # capabilities, and why their outcomes are not cached
        self.transcript: Transcript | None = None
        if agent.transcript is not None:
            self.transcript = Transcript(agent.transcript, lease=agent.lease)
            self._ledgers[id(agent.transcript)] = self.transcript

    def close(self) -> None:
        """Ends the threads of the ledgers."""
        for ledger in self._ledgers.values():
            ledger.close()

    def pool(self, capability: Capability) -> HandlerPool:
        """The places for calls of a capability: each has its own, so that none takes those of another."""
        if (found := self._pools.get(capability.name)) is None:
            found = self._pools[capability.name] = HandlerPool(capability.name, capability.handlers)
        return found

    def _rows_of(self, ledger: Ledger) -> Batching:
        if (found := self._ledgers.get(id(ledger))) is None:
            found = self._ledgers[id(ledger)] = Batching(ledger)
        return found

    async def result(self, job: Job) -> Result | Frozen | str:
        """The Result of a job; as a text, the one that another agent has written down for it."""
        try:
            return await self._result(job)
        except Cancelled:
            return self.cancelled(job)
        except Refusal as refusal:
            return self.failed(job, refusal.code, refusal.message)
        except Exception as error:  # a full disk, say
            _log.exception("task %s could not be executed", job.task_id)
            return self.failed(job, ErrorCode.INTERNAL, f"{self._agent.agent_id}: {said(error)}")

    async def _result(self, job: Job) -> Result | Frozen | str:
        task = job.task
        left = seconds_left(task)
        if job.stop.done():
            raise Cancelled
        if left is not None and left <= 0:
            raise Overrun("the deadline had passed before the work began")
        capability = self._agent.capabilities[job.capability]
        if capability.validate is not None and (faults := capability.validate(task._fields["payload"])):
            return self._unprocessable(job, faults)
        if "cachePolicy" in task._fields["constitutionalContext"] and (known := await self._from_cache(job)):
            return known
        if self.transcript is None:
            await self._started(job)
            return await self._computed(job, capability)
        try:
            async with asyncio.timeout(seconds_to_record(task, None)):
                other = await self._claimed(job, self.transcript)
        except TimeoutError:
            raise Overrun("the time was over before the task could be claimed") from None
        if other is not None:
            return other
        if job.attempt > 1 and capability.redeliver == "fail":
            text = f"{capability.name} was started before and never finished, and is not to be started again"
            return self.failed(job, ErrorCode.INTERNAL, text, attempts=job.attempt)
        await self._started(job)
        renewing = asyncio.create_task(self._renew_claim(job, self.transcript))
        try:
            return await self._computed(job, capability)
        finally:
            renewing.cancel()

    # ---------------------------------------------------------------- cache

    async def _from_cache(self, job: Job) -> Result | None:
        """The Result of a hit, or of a miss where the mode is "only". Records the evidence of another miss."""
        task, cache = job.task, self._agent.cache
        mode = mode_of(policy_of(task))
        if mode is CacheMode.BYPASS:
            return None
        if cache is None:
            missed = "this agent has no cache"
            return self.failed(job, ErrorCode.CACHE_MISS, missed) if mode is CacheMode.ONLY else None
        found = await self._rows_of(cache.ledger).do(lambda: ([], cache.get(task)))
        job.cache_key = found.cache_key
        if not found and mode is not CacheMode.ONLY:
            job.cache = CacheEvidence(hit=False, cache_key=found.cache_key)
            return None
        known: Result = found.result(task, self._agent.producer)
        return known

    async def _store(self, job: Job, result: Result) -> None:
        """Writes the outcome to the cache, which decides what it takes. A cache that is full costs no Result."""
        cache = self._agent.cache
        if cache is None or job.cache is None:
            return
        try:
            if (row := cache.row(job.task, result, key=job.cache_key)) is not None:
                await self._rows_of(cache.ledger).do(lambda: ([row], None))
            elif result.status is Status.SUCCEEDED:
                self._tell_not_stored(job, _why_not_stored(job, result))
        except Exception:
            _log.exception("the outcome of task %s could not be cached", job.task_id)

    def _tell_not_stored(self, job: Job, why: str) -> None:
        """Logs why successes are not stored, once for each capability: else nobody sees that no task is ever a hit."""
        if self._agent.cache is not None and job.cache is not None and (job.capability, why) not in self._told:
            self._told.add((job.capability, why))
            _log.warning("outcomes of %s are not cached: %s", job.capability, why)

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
                return (await transcript.known(job.key)).result if claim.attempt > 1 else None
            if (text := (await transcript.known(job.key)).result) is not None:
                return text
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
                _log.exception("it could not be written down that task %s is being executed", job.task_id)

    # ---------------------------------------------------------------- the handler

    async def _computed(self, job: Job, capability: Capability) -> Result | Frozen:
        task = job.task
        limits = [limit for limit in (seconds_left(task), self._agent.seconds) if limit is not None]
        left = min(limits, default=None)
        context = Context(job.traced, left, _budget(task), job.principal.name, job.attempt)
        try:
            made = await self._made(job, capability, context, left)
        except (Cancelled, Refusal):
            raise
        except EncodeError as error:
            raise Refusal(ErrorCode.INTERNAL, f"the capability gave no right result: {error}") from error
        except Exception as error:  # whatever a capability does, its task gets a Result
            _log.exception("capability %s failed", capability.name)
            shown = type(error.cause if isinstance(error, Died) else error).__name__
            raise Refusal(ErrorCode.INTERNAL, f"{shown} in {capability.name}") from error
        result = made.result
        if issues := _contract_issues(task, result):
            self._tell_not_stored(job, "they break the task's outputContract")
            result.meta = {**(result.meta or {}), "outputIssues": issues}
            return result
        await self._store(job, result)
        return made

    async def _made(self, job: Job, capability: Capability, context: Context, seconds: float | None) -> Frozen:
        loop, pool = asyncio.get_running_loop(), self.pool(capability)
        end = None if seconds is None else loop.time() + seconds

        def left() -> float | None:
            return None if end is None else end - loop.time()

        made = await pool.run(
            capability.handler, job.copy(), context, seconds=left(), stop=job.stop, isolated=capability.isolated
        )
        outcome, draft = guarded(self._drafted, job, made)
        vetters = (*self._agent.vet, *capability.vet)
        if not vetters:
            return draft
        copy = thaw(draft.text)

        async def ask(vetter: Vetter, _task: Task, result: Result) -> Any:
            return await pool.run(vetter, job.copy(), copy_of(result), seconds=left(), stop=job.stop)

        if outcome.output is not NOTHING:  # what the handler keeps of its output may change while vetters look at it
            outcome = replace(outcome, output=copy.fields["output"])
        outcome = await vetted(outcome, copy, vetters, ask, job.task)
        return guarded(self._drafted, job, outcome)[1]

    def _drafted(self, job: Job, made: Any) -> tuple[Outcome, Frozen]:
        """A handler's value as an Outcome, and its Result, which can be written and is the handler's no more."""
        if isinstance(made, Message):
            text = f"the capability returned a {type(made).__name__}; return an output, or a sap.Outcome: the agent "
            raise Refusal(ErrorCode.INTERNAL, f"{text}makes the Result of it")
        outcome = made if isinstance(made, Outcome) else Outcome(made)
        draft = self._result_of(job, outcome)
        if draft.fields["status"] not in TERMINAL:
            raise Refusal(ErrorCode.INTERNAL, f"the capability answered {draft.status}, which is not a terminal status")
        return outcome, Frozen(draft, encode(draft))

    # ---------------------------------------------------------------- Results of our own

    def _result_of(self, job: Job, outcome: Outcome) -> Result:
        """The Result of an outcome, with the evidence of the cache where the task was looked up there and missed."""
        if job.cache is not None and outcome.cache is None:
            outcome = replace(outcome, cache=job.cache)
        return result_for(job.task, outcome, self._agent.producer)

    def failed(self, job: Job, code: ErrorCode | str, message: str, **details: Any) -> Result:
        """The Result of a task that failed."""
        error = AgentError(code=str(code), message=message, details=details or None)
        return self._result_of(job, Outcome(error=error))

    def cancelled(self, job: Job, message: str = "the task was cancelled") -> Result:
        """The Result of a task that was cancelled."""
        return self._result_of(job, Outcome(status=Status.CANCELLED, error=AgentError(message=message)))

    def _unprocessable(self, job: Job, faults: Faults) -> Result:
        text = "; ".join(f"{pointer}: {words}" for pointer, words in faults[:3])
        issues = [{"pointer": pointer, "message": words} for pointer, words in faults]
        return self.failed(job, ErrorCode.UNPROCESSABLE, text, issues=issues)

    # ---------------------------------------------------------------- how a Result becomes final

    async def finalize(self, job: Job, result: Result | Frozen | str) -> str:
        """The one terminal Result of a job, frozen. Never raises but for a cancellation."""
        try:
            text, made = (result, thaw(result)) if isinstance(result, str) else await self._frozen(job, result)
            if self.transcript is not None and text is not result:
                first = await self.transcript.settle(job.key, text)
                text, made = (text, made) if first == text else (first, thaw(first))
        except Exception as error:  # whoever waits for the task hears of a full disk, too
            _log.exception("the result of task %s could not be recorded", job.task_id)
            made = self.failed(job, ErrorCode.INTERNAL, f"the result could not be recorded: {said(error)}")
            text = encode(made)
        await self._learn(job.task, made)
        return text

    async def _frozen(self, job: Job, given: Result | Frozen) -> tuple[str, Result]:
        """The Result as it leaves; where it is too large its output goes by reference, or it fails."""
        result = given.result if isinstance(given, Frozen) else given
        made = self._signed(result)
        text = given.text if isinstance(given, Frozen) and made is result else encode(made)
        limit = self._agent.max_result if job.limit is None else min(job.limit, self._agent.max_result)
        if self._fits(text, limit):
            return text, made
        if self._agent.objects is not None:
            made = self._signed(await by_reference(result, self._agent.objects))
            text = encode(made)
            if self._fits(text, limit):
                return text, made
        made = self._signed(too_large(result, len(text.encode()), min(limit, max(0, self._agent.room()))))
        return encode(made), made

    def _fits(self, text: str, limit: int) -> bool:
        """True if a Result has no more bytes than the limit, and the agent has memory for it."""
        return size_of(text, limit) <= limit and size_of_result(text) <= self._agent.room()

    def _signed(self, result: Result) -> Result:
        if self._agent.signer is None:
            return result
        from turnwire.sap.signing import signed_message

        return signed_message(result, result.producer.agent_id, self._agent.signer)

    async def _learn(self, task: Task, result: Result) -> None:
        learning = self._agent.learning
        if learning is None:
            return
        try:
            row = learning.row(from_result(task, result, essence=learning.essence))
            await self._rows_of(learning.ledger).do(lambda: ([row], None))
        except Exception:  # what is not learned does not change what was done
            _log.exception("nothing was learned from task %s", task.task_id)


def _why_not_stored(job: Job, result: Result) -> str:
    """Words for a success that the cache did not take."""
    evidence = result.constitutional_evidence
    if job.cache_key is None:
        return "their payloads have no canonical form, so no key"
    if NOT_VETTED in result._fields["constitutionalEvidence"].get("policyChecks", ()):
        way = "give vet= to the agent or the capability, return an Outcome with alignment and policy_checks"
        return f"nobody vetted them; {way}, or make the cache with unvetted=True"
    if evidence.alignment is not Alignment.VALID:
        return f"their alignment is {evidence.alignment}, not VALID"
    return "they show violations or failed checks, or are larger than a message may be"


def size_of(text: str, limit: int) -> int:
    """Bytes of a text in UTF-8; some number up to the limit where it surely has no more."""
    return len(text) if len(text) * 4 <= limit else len(text.encode())


def too_large(result: Result, size: int, limit: int) -> Result:
    """The small FAILED Result instead of one that does not fit the transport."""
    text = f"the Result has {size} bytes, of which {limit} can be taken"
    error = AgentError(code=ErrorCode.INTERNAL, message=text, details={"bytes": size, "limit": limit})
    made = result.replace(status=Status.FAILED, error=error, artifacts=None, metrics=None, next_actions=None, meta=None)
    del made.output
    evidence = {"alignment": Alignment.ESCALATE.value, "policyChecks": [dict(NOT_VETTED)]}
    made.fields["constitutionalEvidence"] = evidence
    return made


def _contract_issues(task: Task, result: Result) -> list[str]:
    if "outputContract" not in task._fields or result.status is not Status.SUCCEEDED or "output" not in result:
        return []
    found = output_issues(result.output, task)
    return [f"{issue.where}: {issue.text}" for issue in found if issue.severity == "warning"]


def _budget(task: Task) -> dict[str, Any]:
    telemetry = task._fields.get("telemetry", {})
    return dict(telemetry.get("budget", {}))


def seconds_left(task: Task, now: datetime | None = None) -> float | None:
    """Seconds until telemetry.deadline or budget.seconds, whichever is sooner; None without either."""
    if "telemetry" not in task._fields:
        return None
    seconds = _budget(task).get("seconds")
    limits = []
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        limits.append(float(min(seconds, _LONGEST)))
    if (left := seconds_to_deadline(task, now)) is not None:
        limits.append(left)
    return min(limits, default=None)


SHORT, FOR_SHORT = 0.25, 2.0
"""Seconds. A task whose time is shorter, or over, is recorded all the same, so that it has a Result that says so: the
transcript may take so long for it."""


def seconds_to_record(task: Task, most: float | None) -> float | None:
    """Seconds that the transcript may take for a task, None for any number; most: where it brings no limit."""
    limits = [limit for limit in (seconds_left(task), most) if limit is not None]
    if not limits:
        return None
    return least if (least := min(limits)) >= SHORT else FOR_SHORT


def seconds_to_deadline(task: Task, now: datetime | None = None) -> float | None:
    """Seconds until telemetry.deadline, None without one."""
    telemetry = task._fields.get("telemetry")
    if telemetry is None or "deadline" not in telemetry:
        return None
    return (moment_of(telemetry["deadline"]) - (now or datetime.now(UTC))).total_seconds()
