"""``turnwire apply``: the file operations of a CSP/1 log, done inside one directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, Refused
from turnwire.cli.output import complain, standard_output
from turnwire.cli.text import printable
from turnwire.errors import WireError

if TYPE_CHECKING:
    from turnwire.csp.messages import CspMessage


@click.command("apply", short_help="Do the file operations of a CSP/1 log inside a directory.")
@click.argument("log", type=inputs.SOURCE, metavar="LOG")
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False), required=True, help="The directory; nothing leaves it."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, each on the files as they are now.")
@click.option("--recount", is_flag=True, help="Take hunks whose counts are wrong, as models write them.")
@click.option("--trust-base", is_flag=True, help="Take a BASE that is not a SHA-256 without judging it.")
def command(log: str, root: str, dry_run: bool, recount: bool, trust_base: bool) -> int:
    """Does the FILEOPs of LOG ("-" for standard input) inside a directory, in order, and says of each what it did.

    The first that is refused ends it: later ones may need it. Damaged messages are named on standard error and end it
    before anything is done. Exits with 1 then, and with 4 where LOG has no FILEOP.
    """
    from turnwire.csp.fileop import apply
    from turnwire.csp.messages import FileOp

    inputs.checked([log])
    shown = inputs.shown(log)
    messages, damaged = _read(log)
    for error in damaged:
        complain(printable(f"{shown}:{error.line or 0}: damaged: {error.reason}: {error.text}"))
    if damaged:
        return BAD_RECORDS
    output = standard_output()
    done = 0
    options: dict[str, Any] = {"dry_run": dry_run, "recount": recount, "resolve": _trusted if trust_base else None}
    for message in messages:
        if not isinstance(message.block, FileOp):
            continue
        try:
            plan = apply(message.block, root, **options)
        except WireError as error:
            output.flush()
            complain(printable(f"{shown}:{message.line}: refused: {message.block.id}: {error.reason}: {error.text}"))
            return BAD_RECORDS
        done += 1
        output.write(f"{printable(f'{message.block.id}: {plan}')}\n".encode("utf-8", "backslashreplace"))
    output.flush()
    if not done:
        inputs.tell_none([log], what="FILEOP")
        inputs.tell_nothing([log], None, inputs.size([log]) != 0)
    return GOOD if done else NOTHING


def _trusted(file: Path, base: str) -> bool:
    return True


def _read(log: str) -> tuple[Iterator[CspMessage], list[WireError]]:
    """The messages of a log in order, and what is damaged in it."""
    from turnwire.csp.log_reading import read_log
    from turnwire.read.contents import contents

    try:
        ((_, data),) = contents(inputs.content(log))
    except ValueError as error:  # a damaged compressed stream
        raise Refused([f"{inputs.shown(log)}: {error}"]) from None
    document, damaged = read_log(data)
    return iter(document.messages), list(damaged)
