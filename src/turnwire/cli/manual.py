"""The manual pages of ``turnwire`` and its commands, made of what ``--help`` says: ``-m turnwire.cli.manual DIR``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

import turnwire
from turnwire.cli.program import program


def pages(
    command: click.Command = program, name: str = "turnwire", parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """(name of the file, text in roff) of the program, of each command, and of what is below it."""
    with click.Context(command, info_name=name.rpartition(" ")[2], parent=parent, max_content_width=78) as context:
        title = name.replace(" ", "-")
        head = f'.TH "{title.upper()}" 1 "" "turnwire {turnwire.__version__}" "turnwire"\n.SH NAME\n'
        short = _text(f"{title} - {command.get_short_help_str(limit=200)}")
        help = "\n".join(map(_text, command.get_help(context).split("\n")))
        yield f"{title}.1", f"{head}{short}\n.SH DESCRIPTION\n.nf\n{help}\n.fi\n"
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                if (below := command.get_command(context, each)) is not None:
                    yield from pages(below, f"{name} {each}", context)


def _text(line: str) -> str:
    """A line of text in roff: nothing in it is a request or an escape."""
    safe = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def main(folder: str) -> None:
    """Writes the pages into a folder, which is made where it is not there. Raises OSError."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (place / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
