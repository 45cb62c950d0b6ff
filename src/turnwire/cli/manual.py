"""The manual pages of ``turnwire`` and its commands, made of what ``--help`` says: ``-m turnwire.cli.manual DIR``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import turnwire
from turnwire.cli.program import program


def pages() -> Iterator[tuple[str, str]]:
    """(name of the file, text in roff) of the program, of each command, and of what is below it."""
    yield from _pages(program, "turnwire", None)


def _pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    with click.Context(command, info_name=name.rpartition(" ")[2], parent=parent) as context:
        yield f"{name.replace(' ', '-')}.1", _page(command, name, context)
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                below = command.get_command(context, each)
                if below is not None:
                    yield from _pages(below, f"{name} {each}", context)


def _page(command: click.Command, name: str, context: click.Context) -> str:
    title = name.replace(" ", "-")
    lines = [
        f'.TH "{_quoted(title.upper())}" 1 "" "turnwire {_quoted(turnwire.__version__)}" "turnwire"',
        ".SH NAME",
        _text(f"{title} - {command.get_short_help_str(limit=200)}"),
        ".SH SYNOPSIS",
        f".B {_text(name)}",
        _text(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        lines += [".PP", _text(" ".join(paragraph.split()))]
    options = [found for each in command.get_params(context) if (found := each.get_help_record(context)) is not None]
    if options:
        lines.append(".SH OPTIONS")
    for names, text in options:
        lines += [".TP", f"\\fB{_text(names)}\\fR", _text(" ".join(text.split()))]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None:
                lines += [".TP", f"\\fB{_text(name)} {_text(each)}\\fR", _text(below.get_short_help_str(limit=200))]
    return "\n".join(line for line in lines if line) + "\n"


def _text(text: str) -> str:
    """A line of text in roff: nothing in it is a request or an escape."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def _quoted(text: str) -> str:
    return _text(text).replace('"', "")


def main(folder: str) -> None:
    """Writes the pages into a folder, which is made where it is not there. Raises OSError."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (place / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
