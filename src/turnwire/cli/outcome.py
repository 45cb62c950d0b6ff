"""The program around the subcommands: finds them, runs one, and says how it ended in words and an exit code.

Work without an end of its own is ended by a signal, between two pieces and never within one. All other work ends as if
it had never begun: SIGTERM and SIGHUP, which service managers, containers and terminals send, are as SIGINT is.
"""

from __future__ import annotations

import io
import os
import pkgutil
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, TypeVar

import click

from turnwire.cli import commands
from turnwire.cli.output import STANDARD_OUTPUT, Notes, abandon, complain, file_name
from turnwire.errors import FileRefused, MissingDependency, UnknownName, WireError
from turnwire.progress import restore_cursor

GOOD, BAD_RECORDS, USAGE, INPUT_OUTPUT, NOTHING, OPEN, GAP, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
"""NOTHING: there was no record to judge. OPEN: nothing is wrong, but something is unfinished. GAP: a part of a log
could not be had, or may be missing; it counts before bad records."""
SIGNALLED = 128
"""And the number of the signal that ended the program; INTERRUPTED is that of SIGINT."""


EXIT_ZERO = "turnwire exit zero"
"""The key of the context under which bad records do not make the exit code 1."""


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
    except WireError:  # of what was read, or is to be written
        raise
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


@cache
def _names(folders: tuple[str, ...]) -> list[str]:
    """The names of the modules in some folders, which are looked through once."""
    return sorted(module.name for module in pkgutil.iter_modules(folders))


class Program(click.Group):
    """A group whose commands are the modules of ``turnwire.cli.commands``; a command returns its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the modules there are."""
        names = _names(tuple(commands.__path__))
        self.commands.update(dict.fromkeys(names, self))  # by these click guesses what was meant
        return names.copy()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The ``command`` of the module of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"{commands.__name__}.{cmd_name}").command
        return command

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **options: Any
    ) -> NoReturn:
        """Runs the program and exits, as click's own does."""
        sys.exit(run(sys.argv[1:] if args is None else list(args), prog_name or "turnwire"))


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        import turnwire

        click.echo(f"turnwire {turnwire.__version__} ({turnwire.backend})")
        context.exit()


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
def program() -> None:
    """Scans, validates, measures and converts agents' messages in logs.

    Exit codes: 0 success, 1 bad records found, 2 usage error, 3 input or output error, 4 nothing to check or convert, 5
    nothing is wrong but something is unfinished, 6 part of a log is missing, 130 interrupted (128 plus the number of
    another signal). The help of each command says when it exits with 1, 4, 5 or 6.
    """


def run(arguments: list[str], name: str = "turnwire") -> int:
    """Runs the program with these arguments: its exit code, once all output is out or given up."""
    # Whatever the locale says: messages are UTF-8. A lone surrogate (of a file name) comes out as an escape.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    _tell_slow()
    try:
        with terminating(), _refusals() as refused:
            code = _guarded(lambda: _invoke(arguments, name))
            if refused and code not in (USAGE, *range(SIGNALLED, 256)):
                code = INPUT_OUTPUT
            return _guarded(lambda: _finish(code))
    finally:
        with uninterrupted():
            restore_cursor()


@contextmanager
def _refusals() -> Iterator[list[FileRefused]]:
    """Tells of the first files that are refused in the block, in place of a warning of Python: gives all of them."""
    refused: list[FileRefused] = []
    notes = Notes(False, lambda line: _said(INPUT_OUTPUT, line), "more files skipped")
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, *more: Any, **named: Any) -> None:
            if not isinstance(message, FileRefused):
                shown(message, *more, **named)
            elif str(message) not in map(str, refused):  # a command may read its inputs twice
                refused.append(message)
                notes.add(explained(message.error))

        warnings.simplefilter("always", FileRefused)
        warnings.showwarning = show
        yield refused
    notes.close()


def _tell_slow() -> None:
    """Tells on a terminal that the native core is missing where nobody asked for that: pip shows nothing of it."""
    import turnwire
    from turnwire import _backend

    if turnwire.backend == "pure" and _backend.MISSING and sys.stderr is not None and sys.stderr.isatty():
        complain(f"turnwire: running in pure Python, many times slower; {_backend.WHY_PURE} (turnwire info)")


def _finish(code: int) -> int:
    """Hands on the last output, also when an input failed; what cannot be handed on is given up."""
    if code >= SIGNALLED:  # a signal ended it: 128 and its number
        return code
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        abandon()
        if code == INPUT_OUTPUT or isinstance(error, BrokenPipeError):
            return code
        raise
    return code


def _invoke(arguments: list[str], name: str) -> int:
    if instruction := os.environ.get("_TURNWIRE_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, name, "_TURNWIRE_COMPLETE", instruction)
    with program.make_context(name, arguments) as context:
        code = program.invoke(context) or GOOD
        return GOOD if code == BAD_RECORDS and context.meta.get(EXIT_ZERO) else code


def _guarded(action: Any) -> int:
    """The exit code of an action, with everything that it can raise said in a line."""
    try:
        return action() or GOOD
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        for line in text.getvalue().rstrip("\n").split("\n"):
            complain(line)
        return error.exit_code
    except CommandRefused as refused:
        return _said(INPUT_OUTPUT, *refused.lines)
    except (KeyboardInterrupt, click.Abort) as ended:
        abandon()
        return _said(
            *((ended.code, f"ended by {ended}") if isinstance(ended, Terminated) else (INTERRUPTED, "interrupted"))
        )
    except BrokenPipeError:
        abandon()
        return GOOD
    except OSError as error:
        if error.filename is None:
            error.filename = STANDARD_OUTPUT  # click writes help and versions; everything else says what it was about
        return _said(INPUT_OUTPUT, explained(error))
    except (MissingDependency, UnknownName) as error:
        return _said(USAGE, in_words(error))
    except WireError as error:
        return _said(BAD_RECORDS, str(error))
    except MemoryError:
        return _said(INPUT_OUTPUT, "out of memory")


def _said(code: int, *lines: str) -> int:
    for line in lines:
        complain(f"turnwire: {line}")
    return code
