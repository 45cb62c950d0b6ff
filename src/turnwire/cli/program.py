"""The program around the subcommands: finds them, runs one, and turns whatever goes wrong into a line and a code."""

from __future__ import annotations

import io
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import click

from turnwire.cli import commands
from turnwire.cli.options import EXIT_ZERO
from turnwire.cli.outcome import (
    BAD_RECORDS,
    GOOD,
    INPUT_OUTPUT,
    INTERRUPTED,
    SIGNALLED,
    USAGE,
    CommandRefused,
    Terminated,
    explained,
    in_words,
    terminating,
    uninterrupted,
)
from turnwire.cli.output import STANDARD_OUTPUT, Notes, abandon, complain
from turnwire.errors import FileRefused, MissingDependency, UnknownName, WireError
from turnwire.progress import restore_cursor


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
