"""How a command can end: the exit codes, and what stands for "these inputs or outputs cannot be used"."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from turnwire.cli.text import file_name
from turnwire.errors import UnknownName

GOOD, BAD_RECORDS, USAGE, INPUT_OUTPUT, NOTHING, OPEN, GAP, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
"""NOTHING: there was no record to judge. OPEN: nothing is wrong, but something is unfinished. GAP: a part of a log
could not be had, or may be missing; it counts before bad records."""
SIGNALLED = 128
"""And the number of the signal that ended the program; INTERRUPTED is that of SIGINT."""


class Refused(Exception):
    """Inputs or outputs that cannot be used, one line each, found before anything was read (exit code 3)."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.lines = tuple(lines)


def explained(error: OSError) -> str:
    """An OSError in words: the file, then what is wrong with it."""
    what = error.strerror or str(error) or type(error).__name__
    name = error.filename
    if name is None:
        return what
    if name == "-":
        name = "<stdin>"
    return f"{file_name(name)}: {what}"


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
    """What an error about an argument says, with the options of the command line in place of Python's."""
    if isinstance(error, UnknownName) and error.wires:
        return f"{error.text}; with {' or '.join(f'--wire {wire}' for wire in error.wires)} there is one"
    return in_options(str(error))


def misused(error: Exception) -> click.UsageError:
    """The error about an argument as one about how the command is used."""
    return click.UsageError(in_words(error))
