"""The ways in which a command ends: exit codes, refusals, errors in words, signals.

Work without an end of its own is ended by a signal, between two pieces and never within one. All other work ends as if
it had never begun: SIGTERM and SIGHUP, which service managers, containers and terminals send, are as SIGINT is.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn, TypeVar

import click

from turnwire.cli.terminal import file_name
from turnwire.errors import UnknownName

GOOD, BAD_RECORDS, USAGE, INPUT_OUTPUT, NOTHING, OPEN, GAP, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
"""NOTHING: there was no record to judge. OPEN: nothing is wrong, but something is unfinished. GAP: a part of a log
could not be had, or may be missing; it counts before bad records."""
SIGNALLED = 128
"""And the number of the signal that ended the program; INTERRUPTED is that of SIGINT."""


class CommandRefused(Exception):
    """Inputs or outputs that cannot be used, one line each, found before anything was read (exit code 3)."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.lines = tuple(lines)


def explained(error: OSError) -> str:
    """An OSError in words: the file, then what is wrong with it."""
    what = error.strerror or str(error) or type(error).__name__
    name = error.filename
    return what if name is None else f"{'<stdin>' if name == '-' else file_name(name)}: {what}"


_ARGUMENT = re.compile(r"""'[^']*'|"[^"]*"|\b(?P<name>[a-z_]+)=(?P<value>\w*)""")
"""An argument of Python in a text; what stands in quotes is somebody's data."""


def in_options(text: str) -> str:
    """A text of the library with the options of the command that runs in place of Python's arguments: "nearest=True"
    is "--nearest", where the command has that option."""
    context = click.get_current_context(silent=True)
    there = {option for parameter in context.command.params for option in parameter.opts} if context else set()

    def said(found: re.Match[str]) -> str:
        option = f"--{(found['name'] or '').replace('_', '-')}"
        if option not in there:
            return found[0]
        return option if found["value"] in ("", "True") else f"{option} {found['value']}"

    return _ARGUMENT.sub(said, text)


def in_words(error: Exception) -> str:
    """The text of an error about an argument, with the options of the command line in place of Python's."""
    if isinstance(error, UnknownName) and error.wires:
        return f"{error.text}; with {' or '.join(f'--wire {wire}' for wire in error.wires)} there is one"
    return in_options(str(error))


@contextmanager
def usage_errors(kinds: tuple[type[Exception], ...] = (TypeError, ValueError)) -> Iterator[None]:
    """Raises errors about an argument, of these kinds, as ones about how the command is used."""
    try:
        yield
    except kinds as error:
        raise click.UsageError(in_words(error)) from None


Piece = TypeVar("Piece")

TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
STOPPING = (signal.SIGINT, *TERMINATING)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came; ``code`` is its exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


@contextmanager
def _handled(numbers: Iterable[signal.Signals], handler: Any) -> Iterator[None]:
    """Handles signals so in the block; one that is ignored (nohup) stays so. Only the main thread can do that."""
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


@contextmanager
def _heard() -> Iterator[None]:
    """Sends again what a signal raised in the block and Python dropped: it comes between any two steps, also
    within a destructor, or a function that Arrow calls, out of which no exception goes."""
    before, number = sys.unraisablehook, int(signal.SIGINT)

    def again(alarm: int, frame: object) -> None:
        if number != signal.SIGINT:
            for other in TERMINATING:  # which are ignored since it came
                signal.signal(other, _terminate)
        signal.raise_signal(number)

    def hook(dropped: Any) -> None:
        nonlocal number
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            before(dropped)
            return
        number = getattr(dropped.exc_value, "code", INTERRUPTED) - SIGNALLED
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)  # its signal interrupts what the main thread waits for, too

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    with _handled([signal.SIGALRM], again):
        sys.unraisablehook = hook
        try:
            yield
        finally:
            sys.unraisablehook = before
            signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignores the signals that end a program in the block, which must be short."""
    with _handled(STOPPING, signal.SIG_IGN):
        yield


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether SIGINT came since it was first called. Before that, and a second time, SIGINT
    interrupts as it does elsewhere."""
    asked = stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        if stopped or not asked:
            raise KeyboardInterrupt
        stopped = True

    def is_stopped() -> bool:
        nonlocal asked
        asked = True
        return stopped

    with _handled([signal.SIGINT], stop):
        yield is_stopped


@contextmanager
def until_interrupted(pieces: Iterable[Piece]) -> Iterator[Iterator[Piece]]:
    """The pieces, until there are no more or SIGINT, SIGTERM or SIGHUP comes; what is done with one is never
    interrupted. A piece that was on its way just then is not given."""
    stopped = waiting = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        if waiting:
            raise KeyboardInterrupt

    def each() -> Iterator[Piece]:
        nonlocal waiting
        coming = iter(pieces)
        while not stopped:
            try:
                waiting = True
                piece = next(coming)
                waiting = False
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                waiting = False
            yield piece

    with _handled(STOPPING, stop):
        yield each()
