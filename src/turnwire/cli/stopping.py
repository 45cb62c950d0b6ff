"""Work without an end of its own: a signal ends it, between two pieces and never within one. All other work ends as if
it had never begun: SIGTERM and SIGHUP, which service managers, containers and terminals send, are as SIGINT is."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn, TypeVar

Piece = TypeVar("Piece")

TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
STOPPING = (signal.SIGINT, *TERMINATING)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came; ``code`` is the exit code that says so."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


@contextmanager
def _handled(numbers: Iterable[signal.Signals], handler: Any) -> Iterator[None]:
    """Signals are handled so in the block; one that is ignored (nohup) stays so. Only the main thread can do that."""
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):
                    stack.callback(signal.signal, number, before)
                    signal.signal(number, handler)
        yield


def _terminate(number: int, frame: object) -> NoReturn:
    for other in TERMINATING:  # what ends is not ended a second time
        signal.signal(other, signal.SIG_IGN)
    raise Terminated(number)


@contextmanager
def terminating() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Terminated in the block, so that it is left as after an interruption."""
    with _heard(), _handled(TERMINATING, _terminate):
        yield


_AGAIN = 0.02
"""Seconds after which a signal comes again that was not heard."""


def _again(number: int) -> None:
    """Sends a signal to the main thread, so that what it waits for in the system is interrupted, too."""
    if hasattr(signal, "pthread_kill") and (main := threading.main_thread().ident) is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


@contextmanager
def _heard() -> Iterator[None]:
    """What a signal raises in the block is raised again where Python drops it: it comes between any two steps, also
    within a destructor, or a function that Arrow calls, out of which no exception goes."""
    before, coming = sys.unraisablehook, list[threading.Timer]()

    def hook(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            before(dropped)
            return
        number: int = signal.SIGINT
        if isinstance(dropped.exc_value, Terminated):
            number = dropped.exc_value.code - 128
            for other in TERMINATING:  # which are ignored since it came
                signal.signal(other, _terminate)
        timer = threading.Timer(_AGAIN, _again, [number])
        timer.daemon = True
        timer.start()
        coming.append(timer)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in coming:
            timer.cancel()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """No signal that ends a program is heeded in the block, which must be short."""
    with _handled(STOPPING, signal.SIG_IGN):
        yield


class _Asked:
    """Whether somebody asked to stop, and whether the work is waiting for its next piece."""

    def __init__(self) -> None:
        self.stop = self.waiting = False

    def __call__(self, number: int, frame: object) -> None:
        self.stop = True
        if self.waiting:
            raise KeyboardInterrupt


@contextmanager
def until_interrupted(pieces: Iterable[Piece]) -> Iterator[Iterator[Piece]]:
    """The pieces, until there are no more or SIGINT, SIGTERM or SIGHUP comes; what is done with one is never
    interrupted. A piece that was on its way just then is not given."""
    asked = _Asked()
    with _handled(STOPPING, asked):
        yield _pieces(iter(pieces), asked)


def _pieces(pieces: Iterator[Piece], asked: _Asked) -> Iterator[Piece]:
    while not asked.stop:
        try:
            asked.waiting = True
            piece = next(pieces)
            asked.waiting = False
        except (StopIteration, KeyboardInterrupt):
            return
        finally:
            asked.waiting = False
        yield piece
