"""The execution of tasks: their jobs, the line before each capability, calls of its handler, of which nothing reaches
the agent around it, and vetters, which judge whether an outcome is constitutional (sections 4.2 and 6).

A plain function runs in a thread, a coroutine function in an asyncio task of its own, and either in a process where
the capability is isolated. Whatever it raises, ``SystemExit`` and a cancellation of its own included, comes back as a
value. One that exceeds its time is abandoned, but counts among those of its capability until it ends: a
coroutine may heed its cancellation, a process is killed, a thread cannot be ended. A vetter's verdict is an
``Alignment``; if several judge, the gravest counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import copyreg
import inspect
import logging
import os
import pickle
import signal
import stat
import sys
import threading
import traceback
import warnings
from bisect import insort
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

from turnwire.errors import Unreachable
from turnwire.sap.access import Principal
from turnwire.sap.builders import Outcome, alignment_of, thaw
from turnwire.sap.judgement import judge
from turnwire.sap.messages import Ack, AgentError, CacheEvidence, JsonObject, Nack, Result, Task, plain
from turnwire.sap.spec import SUCCESSES, Alignment, ErrorCode, Priority, Status

T = TypeVar("T")
_log = logging.getLogger("turnwire.sap")
Made = tuple[Any, BaseException | None]
"""The value of a call, or what it raised."""


class Context(NamedTuple):
    """The context of a task, for its handler.

    trace: whether deep tracing was requested. seconds: time left, or None. budget: the telemetry budget. principal: the
    name of the caller, "" if not authenticated. attempt: 1, or more for a task that was started before but not
    finished.
    """

    trace: bool
    seconds: float | None
    budget: dict[str, Any]
    principal: str = ""
    attempt: int = 1


Handler = Callable[["Task", Context], Any]
"""Gives an output, an Outcome, or an awaitable of one; a plain function runs in a thread."""


class Capability(NamedTuple):
    """A capability of an agent.

    handler; description: text for people; schema: JSON Schema of its payload or None; vet: its vetters; redeliver:
    "again" or "fail", for tasks that were started but not finished; validate: payload -> its schema violations;
    isolated: the handler runs in a process; queue, workers, handlers: how many of its tasks may wait, how many are
    executed at a time, and how many timed-out calls may still run.
    """

    name: str
    handler: Handler
    description: str
    schema: dict[str, Any] | None
    vet: tuple[Vetter, ...] = ()
    redeliver: str = "again"
    validate: Callable[[Any], list[tuple[str, str]]] | None = None
    isolated: bool = False
    queue: int = 64
    workers: int = 4
    handlers: int = 32


class Refusal(Exception):
    """Raised by a handler to fail a task with an error code of section 8; details: error details."""

    def __init__(self, code: ErrorCode | str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = message
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), self.message), vars(self)  # type: ignore[attr-defined]

    @property
    def outcome(self) -> Outcome:
        """The outcome of a task that raises this."""
        return Outcome(error=AgentError(code=self.code, message=self.message, details=self.details or None))


class DeadlineExceeded(Refusal):
    """The time of a task was over before its handler was done."""

    def __init__(self, text: str = "the time limit of this task has expired") -> None:
        super().__init__(ErrorCode.TIMEOUT, text)


class Cancelled(Refusal):
    """A task was cancelled before its handler was done."""

    def __init__(self, text: str = "the task was cancelled") -> None:
        super().__init__("", text)

    @property
    def outcome(self) -> Outcome:
        """The outcome of a task that raises this."""
        return Outcome(status=Status.CANCELLED, error=AgentError(message=self.message))


class HandlerDied(Exception):
    """A call ended with what no call may end with; ``cause`` is that."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}")
        self.cause = cause


def guarded(work: Callable[..., T], *values: Any) -> T:
    """Applies ``work`` to a handler's values, whose methods may raise anything. Raises HandlerDied for what is no
    Exception."""
    try:
        return work(*values)
    except Exception:
        raise
    except BaseException as error:  # nobody cancels what does not wait: this, too, is the value's own
        raise HandlerDied(error) from error


ALLOWANCE: dict[str, int] = {Priority.URGENT: 0, Priority.HIGH: 16, Priority.NORMAL: 64, Priority.LOW: 256}
"""The number of later tasks that may go before one of this priority, at most: ageing, counted in tasks instead of
seconds."""


# --- the job of a task ---

Reply = Callable[[Result], Awaitable[None]]
"""Takes each Result of a task, progress included, in order."""


class Job:
    """One task of one principal from its admission to its receivers.

    What decides about it is taken here, once: ``text`` (the Task as it came), its ids, and ``key`` (principal and
    taskId). ``task`` is never handed out; handlers, vetters and callers get copies.

    Attributes:
        living: its execution, from its admission to its Result.
        admission: done when it is judged, with the Nack of what is refused. begun: done when its handler is called.
        done: done with the frozen terminal Result, cancelled where there will be none. stop: done when the task is to
            be cancelled.
        receivers: how many are still to get its Result.
        cache_key: of the task in the agent's cache, where it was looked for there; cache: the evidence of that.
        kept: whether whoever sent it will send it again, if it is not finished here. limit: bytes that its Result may
            have, None for any number. held: bytes of the agent's memory that are counted for it.
    """

    living: asyncio.Task[None]

    def __init__(
        self, task: Task, text: str, principal: Principal, *, kept: bool = False, limit: int | None = None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.text = text
        self._task: Task | None = task
        fields = task.fields
        self.task_id: str = fields["taskId"]
        self.correlation_id: str = fields["correlationId"]
        self.capability: str = fields["target"]["capability"]
        self.traced = bool(fields.get("telemetry", {}).get("trace"))
        # telemetry.priority, else routingHints.priority, else normal
        hint = fields["target"].get("routingHints", {}).get("priority")
        self.priority: str = fields.get("telemetry", {}).get("priority", hint)
        if not isinstance(self.priority, str) or self.priority not in ALLOWANCE:
            self.priority = Priority.NORMAL
        reply_to = fields.get("replyTo", {})
        self.endpoint: str = reply_to.get("endpoint", "")
        self.expects_ack = reply_to.get("expectAck") is not False
        self.principal = principal
        self.key = key_of(principal, self.task_id)
        self.kept = kept
        self.limit = limit
        self.held = 0
        self.attempt = 1
        self.claimed = False
        self.cache_key: str | None = None
        self.cache: CacheEvidence | None = None
        self.admission: asyncio.Future[Nack | None] = loop.create_future()
        self.done: asyncio.Future[str] = loop.create_future()
        self.stop: asyncio.Future[None] = loop.create_future()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.receivers = 0
        self._progress: list[str] = []
        self._reported: asyncio.Future[None] = loop.create_future()

    @property
    def task(self) -> Task:
        """The task, to be looked at only; read again where only its text was kept."""
        if self._task is None:
            self._task = thaw(self.text)
        return self._task

    def ack(self) -> Ack:
        """The Ack of the task."""
        return Ack(message_id=self.task_id, correlation_id=self.correlation_id)

    def copy(self) -> Task:
        """A copy of the task, for a caller that may change it."""
        return Task.of(pickle.loads(pickle.dumps(self.task._fields, pickle.HIGHEST_PROTOCOL)))

    def drop_task(self) -> None:
        """Keeps the text alone, which is much smaller than the objects that are made of it."""
        self._task = None
        if self.done.done():
            self._progress = []

    def result(self) -> Result | None:
        """A copy of the terminal Result, None while there is none."""
        return thaw(self.done.result()) if self.done.done() and not self.done.cancelled() else None

    async def wait(self) -> Result:
        """A copy of the terminal Result; waits for it. Raises Unreachable when its agent was closed before."""
        return thaw(await self.text_of_result())  # type: ignore[no-any-return]

    async def text_of_result(self) -> str:
        """The terminal Result as it was frozen; as :meth:`wait`."""
        if not self.done.done():
            await asyncio.wait({self.done})
        if self.done.cancelled():
            raise Unreachable(f"the agent was closed before task {self.task_id} was finished; its queue sends it again")
        return self.done.result()

    def report(self, text: str) -> None:
        """Adds a Result that is not the last one."""
        self._progress.append(text)
        reported, self._reported = self._reported, asyncio.get_running_loop().create_future()
        reported.set_result(None)

    async def results(self) -> AsyncIterator[str]:
        """All Results from the first one on, each as soon as it is there; of a job that is done the terminal one alone.
        Raises as :meth:`wait`."""
        progress, told = self._progress, 0
        while True:
            while told < len(progress):
                yield progress[told]
                told += 1
            if self.done.done():
                break
            waiting: set[asyncio.Future[Any]] = {self.done, self._reported}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        yield await self.text_of_result()

    def cancel(self) -> None:
        """Asks for an end before the handler's."""
        if not self.done.done() and not self.stop.done():
            self.stop.set_result(None)


def key_of(principal: Principal, task_id: str) -> str:
    """The key of a task: its taskId in lower case, and after it the name of the principal, where there is one."""
    return f"{task_id.lower()} {principal.name}" if principal.name else task_id.lower()


SMALL = 2048
"""Bytes of a Result for which each job has memory from its admission on, so that there is always room for words."""


def size_of_job(text: str) -> int:
    """Bytes that are counted for a job at its admission: its text, the objects around it, and a small Result."""
    return sys.getsizeof(text) + 2048 + SMALL


def size_of_result(text: str) -> int:
    """Bytes that are counted for the Result of a job, beyond those from its admission."""
    return max(0, sys.getsizeof(text) - SMALL)


# --- the line before a capability ---


class Line:
    """One capability at work: the jobs that wait for their turn, and the calls of its handler and its vetters.

    A job that came n later goes first only if its allowance is n smaller.

    Attributes:
        capability: it. told: why its outcomes are not cached.
        places: free ones in the queue; one is taken while a task is being admitted.
        working: how many jobs have their turn.
        left_behind: the calls that overran their time and have not ended.
    """

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.told: set[str] = set()
        self.places = capability.queue
        self.working = 0
        self.left_behind: set[asyncio.Future[Made]] = set()
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []  # in the order of their turns
        self._numbers = count()

    @property
    def waiting(self) -> int:
        """How many jobs wait for their turn."""
        return len(self._queue)

    @asynccontextmanager
    async def turn(self, job: Job, seconds: float | None) -> AsyncIterator[bool]:
        """Waits for the turn of a job that has a place; False if the job was cancelled first or the seconds ran out.
        The place is free then."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        entry = (number + ALLOWANCE[job.priority], number, turn)
        insort(self._queue, entry)
        self._go_on()
        try:
            if not turn.done():
                job.drop_task()  # its text is enough until its turn comes
                left = None if seconds is None else max(0.0, seconds)
                await asyncio.wait({turn, job.stop}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                self._leave(entry)
            yield turn.done()
        finally:
            if turn.done():
                self.working -= 1
                self._go_on()
            elif entry in self._queue:  # its life was cancelled
                self._leave(entry)

    def _go_on(self) -> None:
        """Gives their turn to those who are next."""
        while self._queue and self.working < self.capability.workers:
            self._queue.pop(0)[2].set_result(None)
            self.places += 1
            self.working += 1

    def _leave(self, entry: tuple[int, int, asyncio.Future[None]]) -> None:
        self._queue.remove(entry)
        self.places += 1

    # ---------------------------------------------------------------- calls

    @property
    def why_stuck(self) -> str:
        """Words where no call can begin before one that was left behind ends; else ""."""
        if len(self.left_behind) < self.capability.handlers:
            return ""
        return (
            f"all {self.capability.handlers} places for handlers of {self.capability.name} are occupied by calls that "
            "exceeded their time; a thread cannot be killed, but a process can (isolated=True)"
        )

    async def run(
        self,
        call: Callable[..., Any],
        *values: Any,
        seconds: float | None,
        stop: asyncio.Future[None],
        isolated: bool = False,
    ) -> Any:
        """Runs the call and returns its value. Raises what it raises (HandlerDied for what is not an Exception),
        DeadlineExceeded, Cancelled, and Refusal(RATE_LIMIT) where no place is free.

        seconds: how long it may take. stop: ends the wait when it is done. isolated: in a process, which is killed when
        the time is over.
        """
        if self.why_stuck:
            raise Refusal(ErrorCode.RATE_LIMIT, self.why_stuck)
        work = Process(call, values) if isolated else partial(call, *values)
        thread = _in_thread(work) if isolated or not _is_coroutine_function(call) else None
        running = asyncio.create_task(_made(work, thread))
        try:
            await asyncio.sleep(0)  # a call that need not wait is done in this turn of the loop: no timer, no waking
            if not running.done():
                waiting: set[asyncio.Future[Any]] = {running, stop}
                await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Cancelled if stop.done() else DeadlineExceeded
        finally:
            holder = running if thread is None or thread.done() else thread
            if not holder.done():
                self.left_behind.add(holder)
                holder.add_done_callback(self.left_behind.discard)
            if not running.done():
                if isinstance(work, Process):
                    work.end()
                running.cancel()  # a coroutine may heed it; a thread cannot
        value, error = (None, asyncio.CancelledError()) if running.cancelled() else running.result()
        if error is None:
            return value
        dies = not isinstance(error, Exception) or isinstance(error, StopIteration)  # no coroutine may raise that
        raise HandlerDied(error) if dies else error


async def _made(work: Callable[[], Any], thread: asyncio.Future[Made] | None) -> Made:
    """The value, or what was raised as one: a task that ends with SystemExit would end the loop."""
    try:
        if thread is None:
            return await work(), None
        made, error = await asyncio.shield(thread)
        if error is None and inspect.isawaitable(made):
            made = await made
        return made, error
    except BaseException as error:
        return None, error


def _in_thread(work: Callable[[], Any]) -> asyncio.Future[Made]:
    """Runs something in a thread of its own; the program can end without it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Made] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        made: Made
        try:
            made = context.run(work), None
        except BaseException as error:
            made = None, error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set_result, made)

    threading.Thread(target=run, name="sap-handler", daemon=True).start()
    return done


def _is_coroutine_function(call: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004


LEAVING = 5.0
"""Seconds that a process may take to end when it has given its value."""
_forking = threading.Lock()
"""Held while a pipe is open for writing here: a process forked then would keep it open, and hide the other's end."""


class Process:
    """One call in a forked process, which can be ended whatever it does. Called itself, in a thread, it gives the value
    of the call.

    The process begins with a copy of the program's memory, except for its sockets, and passes on what the handler
    returns; its changes in memory are lost.
    """

    def __init__(self, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
        self._call, self._values = call, values
        self._process: Any = None
        self._ended = False

    def __call__(self) -> Any:
        """The value. Raises Refusal as the call raised it, and INTERNAL in words for all else."""
        import multiprocessing

        context: Any = multiprocessing.get_context("fork")
        with _forking, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork warns of threads; the child uses none of them
            coming, going = context.Pipe(duplex=False)
            process = context.Process(target=_serve, args=(self._call, self._values, going), daemon=True)
            process.start()
            going.close()
        self._process = process
        if self._ended:
            process.kill()
        try:
            value, refused, told = coming.recv()
        except EOFError:
            process.join()  # it is dead, or on its way
            raise Refusal(ErrorCode.INTERNAL, f"its process ended with exit code {process.exitcode}") from None
        finally:
            coming.close()
            process.join(LEAVING)
            process.kill()  # a process that gave its value and does not end
            process.join()
        if told:  # here, since its process has no other thread and no socket that a handler of logging may need
            _log.error("an isolated handler failed: %s", told)
        if refused is not None:
            raise refused
        return value

    def end(self) -> None:
        """Kills the process, or has it killed as soon as it begins."""
        self._ended = True
        if self._process is not None:
            self._process.kill()


def _serve(call: Callable[..., Any], values: tuple[Any, ...], going: Any) -> None:
    """Runs in the process, and sends the value, or the Refusal of what was raised, or of what does not pickle, and what
    its log is to say."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _close_sockets()

    async def awaited(made: Any) -> Any:
        return await made

    try:
        made = call(*values)
        going.send((asyncio.run(awaited(made)) if inspect.isawaitable(made) else made, None, ""))
    except BaseException as error:
        refused, told = error, ""
        if not isinstance(refused, Refusal):
            refused = Refusal(ErrorCode.INTERNAL, f"{type(error).__name__} in an isolated handler")
            told = traceback.format_exc()
        try:
            going.send((None, refused, told))
        except Exception:  # its details stay there
            going.send((None, Refusal(refused.code, refused.message), traceback.format_exc()))


def _close_sockets() -> None:
    """Closes the program's connections and listening sockets: they would stay open as long as the process lives."""
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # the descriptor of the listing itself is gone
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.dup2(nothing, int(name))  # not closed: objects that know the number may close it again


# --- vetting ---


@dataclass(frozen=True)
class Vetting:
    """The verdict of a vetter. policy_checks and violations are those of section 4.2; by default, one check follows
    from the alignment."""

    alignment: Alignment | str
    policy_checks: Sequence[JsonObject | Mapping[str, Any]] = ()
    violations: Sequence[JsonObject | Mapping[str, Any]] = ()


Opinion = Vetting | Alignment | str | None
Vetter = Callable[[Task, Result], "Opinion | Awaitable[Opinion]"]
"""(task, Result before vetting), both copies -> a verdict, alone or with its evidence; None: no opinion."""

Run = Callable[[Vetter], Awaitable[Any]]
"""Calls a vetter with copies of the task and its Result, within the task's time; raises what the vetter raises."""

_CHECK_STATUS = {Alignment.VALID: "PASS", Alignment.ESCALATE: "ESCALATE", Alignment.NON_CONSTITUTIONAL: "FAIL"}
"""The status of the policy check that is made for a verdict without one; the gravest verdict last."""


def vetters_of(vet: Vetter | Iterable[Vetter] | None) -> tuple[Vetter, ...]:
    """The tuple of one vetter, of several, or of none."""
    if vet is None:
        return ()
    return (vet,) if callable(vet) else tuple(vet)


async def vetted(outcome: Outcome, draft: Result, vetters: Sequence[Vetter], run: Run, task: Task) -> Outcome:
    """The outcome with the verdict and the evidence of the vetters. It stays as it is if there are none or it failed.

    draft: the Result before vetting. run: calls a vetter, see ``Run``. The capability's own verdict holds where it is
    graver. A vetter that raises counts as ESCALATE.
    """
    if not vetters or draft.status not in SUCCESSES:
        return outcome
    found = [one for vetter in vetters if (one := await _ask(vetter, run, task)) is not None]
    own = alignment_of(outcome)
    words = [Alignment(one.alignment) for one in found]
    if not words:
        return outcome if own is not Alignment.VALID else replace(outcome, alignment=None)
    if own is not None:
        words.append(own)
    gravest = max(words, key=list(_CHECK_STATUS).index)
    return replace(
        outcome,
        status=Status.ESCALATED if gravest is Alignment.ESCALATE else outcome.status,
        alignment=gravest,
        policy_checks=[*(outcome.policy_checks or ()), *(check for one in found for check in one.policy_checks)],
        violations=[*(outcome.violations or ()), *(item for one in found for item in one.violations)] or None,
    )


async def _ask(vetter: Vetter, run: Run, task: Task) -> Vetting | None:
    """The verdict of one vetter, ESCALATE if it raises. Raises DeadlineExceeded or Cancelled when the time is over."""
    name = getattr(vetter, "__name__", type(vetter).__name__)
    try:
        return guarded(_as_vetting, await run(vetter), name)
    except (DeadlineExceeded, Cancelled):  # the task's affair, not the vetter's
        raise
    except Exception as error:
        _log.exception("the vetter %s failed on task %s", name, task.task_id)
        check = {"principle": name, "status": "ERROR", "notes": f"the vetter failed: {type(error).__name__}"}
        return Vetting(Alignment.ESCALATE, [check])


def _as_vetting(found: Opinion, name: str) -> Vetting | None:
    """The verdict that a vetter returned, with a policy check under its name if it gave none; VALID with contrary
    evidence becomes ESCALATE. Raises ValueError for what is no alignment."""
    if found is None:
        return None
    made = found if isinstance(found, Vetting) else Vetting(Alignment(found))
    word = Alignment(made.alignment)
    checks = plain(made.policy_checks) or [{"principle": name, "status": _CHECK_STATUS[word]}]
    violations = plain(made.violations)
    if word is Alignment.VALID and not judge(Status.SUCCEEDED, word, checks, violations).valid:
        word = Alignment.ESCALATE  # its own evidence contradicts VALID
    return Vetting(word, checks, violations)
