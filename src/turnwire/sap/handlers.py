"""Capabilities' handlers, and how they are run so that nothing they do reaches the agent around them.

A plain function runs in a thread, a coroutine function in an asyncio task of its own, and either in a process where
the capability is isolated. Whatever it raises, ``SystemExit`` and a cancellation of its own included, comes back as a
value. One that overruns its time is left behind and holds its place among those of its capability until it ends: a
coroutine may heed its cancellation, a process is killed, a thread cannot be ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from turnwire.sap.spec import ErrorCode

if TYPE_CHECKING:
    from turnwire.sap.messages import Task
    from turnwire.sap.processes import Process
    from turnwire.sap.vetting import Vetter

T = TypeVar("T")
Made = tuple[Any, BaseException | None]
"""The value of a call, or what it raised."""


class Context(NamedTuple):
    """The circumstances of a task, for its handler.

    trace: deep tracing was requested. seconds: time left, or None. budget: of telemetry. principal: the name of the
    caller, "" where nobody was authenticated. attempt: 1, or more for a task that was started before and not finished.
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

    handler; description: words for people; schema: JSON Schema of its payload or None; vet: its vetters; redeliver:
    "again" or "fail", what becomes of a task that was started and never finished; validate: payload -> its faults by
    the schema; isolated: the handler runs in a process; queue, workers, handlers: how many of its tasks may wait, how
    many are executed at a time, and how many calls may be left behind when their time was over.
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
    """Raised by a handler to fail a task with an error code of section 8."""

    def __init__(self, code: ErrorCode | str, message: str) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message)


class Overrun(Refusal):
    """The time of a task was over before its handler was done."""

    def __init__(self, text: str = "the time for this task is over") -> None:
        super().__init__(ErrorCode.TIMEOUT, text)


class Cancelled(Exception):
    """A task was cancelled before its handler was done."""


class Died(Exception):
    """A call ended with what no call may end with; ``cause`` is that."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}")
        self.cause = cause


def guarded(work: Callable[..., T], *values: Any) -> T:
    """Applies ``work`` to a handler's values, whose methods may raise anything: Died for what is no Exception."""
    try:
        return work(*values)
    except Exception:
        raise
    except BaseException as error:  # nobody cancels what does not wait: this, too, is the value's own
        raise Died(error) from error


class _Call:
    """One call that a pool runs; ``thread`` is done when the thread of a plain function has ended, ``task`` when
    nothing waits for the call any more."""

    __slots__ = ("process", "task", "thread")

    def __init__(self) -> None:
        self.thread: asyncio.Future[Made] | None = None
        self.task: asyncio.Task[Made] | None = None
        self.process: Process | None = None


class HandlerPool:
    """Runs the calls of one capability: of its handler, and of the vetters that look at what it made.

    Args:
        name: of the capability. size: how many calls may be left behind at a time.
    """

    def __init__(self, name: str, size: int) -> None:
        if size < 1:
            raise ValueError("a pool has at least one place")
        self.size = size
        self.left_behind: set[_Call] = set()
        self.words = (
            f"all {size} places for handlers of {name} are held by calls that overran their time; a thread cannot be "
            "ended, a process can (isolated=True)"
        )

    @property
    def stuck(self) -> bool:
        """True if no call can begin before one that was left behind ends."""
        return len(self.left_behind) >= self.size

    async def run(
        self,
        call: Callable[..., Any],
        *values: Any,
        seconds: float | None,
        stop: asyncio.Future[None] | None = None,
        isolated: bool = False,
    ) -> Any:
        """Runs the call and gives its value. Raises what it raises (Died for what is not an Exception), Overrun,
        Cancelled, and Refusal(RATE_LIMIT) where no place is free.

        seconds: how long it may take. stop: ends the wait when it is done. isolated: in a process, which is killed when
        the time is over.
        """
        if self.stuck:
            raise Refusal(ErrorCode.RATE_LIMIT, self.words)
        one = _Call()
        if isolated:
            from turnwire.sap.processes import Process

            one.process = Process(call, values)
        running = one.task = asyncio.create_task(self._called(one, call, values))
        try:
            await asyncio.sleep(0)  # a call that need not wait is done in this turn of the loop: no timer, no waking
            if not running.done():
                waiting: set[asyncio.Future[Any]] = {running} if stop is None else {running, stop}
                await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Cancelled if stop is not None and stop.done() else Overrun
        finally:
            running.add_done_callback(lambda _: self._ended(one))
            if not running.done():
                self.left_behind.add(one)
                if one.process is not None:
                    one.process.end()
                running.cancel()  # a coroutine may heed it; a thread cannot
        value, error = (None, asyncio.CancelledError()) if running.cancelled() else running.result()
        if error is None:
            return value
        if isinstance(error, Exception) and not isinstance(error, StopIteration):  # no coroutine may raise that
            raise error
        raise Died(error)

    def _ended(self, one: _Call) -> None:
        """What waited for a call has ended; a thread keeps the place until it ends, too."""
        if one.thread is not None and not one.thread.done():
            self.left_behind.add(one)
            one.thread.add_done_callback(lambda _: self.left_behind.discard(one))
        else:
            self.left_behind.discard(one)

    async def _called(self, one: _Call, call: Callable[..., Any], values: tuple[Any, ...]) -> Made:
        """The value, or what was raised as one: a task that ends with SystemExit would end the loop."""
        try:
            if one.process is not None:
                call, values = one.process, ()
            elif _is_coroutine_function(call):
                return await call(*values), None
            one.thread = _in_thread(call, values)
            made, error = await asyncio.shield(one.thread)
            if error is None and inspect.isawaitable(made):
                made = await made
            return made, error
        except BaseException as error:
            return None, error


def _in_thread(call: Callable[..., Any], values: tuple[Any, ...]) -> asyncio.Future[Made]:
    """What a call makes in a thread of its own, which nobody waits for when the program ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Made] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        made: Made
        try:
            made = context.run(call, *values), None
        except BaseException as error:
            made = None, error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set_result, made)

    threading.Thread(target=work, name=f"sap-{getattr(call, '__name__', 'handler')}", daemon=True).start()
    return done


def _is_coroutine_function(call: Callable[..., Any]) -> bool:
    if type(call) is FunctionType and call.__code__.co_flags & inspect.CO_COROUTINE:  # most, and told at once
        return True
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
