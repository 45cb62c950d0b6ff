"""How a command can end: the exit codes, and what stands for "these inputs or outputs cannot be used"."""

from __future__ import annotations

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


def in_words(error: Exception) -> str:
    """What an error about an argument says, with the options of the command line in place of Python's."""
    if isinstance(error, UnknownName) and error.wires:
        return f"{error.text}; with {' or '.join(f'--wire {wire}' for wire in error.wires)} there is one"
    return str(error)


def misused(error: Exception) -> click.UsageError:
    """The error about an argument as one about how the command is used."""
    return click.UsageError(in_words(error))
