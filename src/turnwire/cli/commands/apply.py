"""``turnwire apply``: the file operations of a CSP/1 log, done inside one directory."""

from __future__ import annotations

from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING
from turnwire.cli.output import complain, printable, write_lines
from turnwire.errors import WireError


@click.command("apply", short_help="Apply the file operations of a CSP/1 log inside a directory.")
@click.argument("log", type=options.SOURCE, metavar="LOG")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False),
    required=True,
    help="The directory; files outside it are never changed.",
)
@click.option("--dry-run", is_flag=True, help="Report what each operation would change, without changing files.")
@click.option("--recount", is_flag=True, help="Accept hunks with wrong line counts, as models write them.")
@click.option("--trust-base", is_flag=True, help="Accept a BASE that is not a SHA-256 without checking it.")
def command(log: str, root: str, dry_run: bool, recount: bool, trust_base: bool) -> int:
    """Applies the FILEOPs of LOG ("-" for standard input) inside a directory, in order, and reports each.

    Stops at the first operation that is rejected, since later ones may depend on it. If any message is damaged, nothing
    is changed and the damage is reported on standard error. Exits with 1 in both cases, and with 4 if LOG has no
    FILEOP.
    """
    from turnwire.csp.fileop import apply
    from turnwire.csp.logs import read_log
    from turnwire.csp.messages import FileOp

    inputs.checked([log])
    shown = inputs.shown(log)
    document, damaged = read_log(inputs.whole(log))
    for error in damaged:
        complain(f"{shown}:{error.line or 0}: damaged: {error.reason}: {error.text}")
    if damaged:
        return BAD_RECORDS
    done = 0
    choices: dict[str, Any] = {
        "dry_run": dry_run,
        "recount": recount,
        "resolve": (lambda *_: True) if trust_base else None,
    }
    for message in document.messages:
        if not isinstance(message.block, FileOp):
            continue
        try:
            plan = apply(message.block, root, **choices)
        except WireError as error:
            complain(f"{shown}:{message.line}: refused: {message.block.id}: {error.reason}: {error.text}")
            return BAD_RECORDS
        done += 1
        write_lines([printable(f"{message.block.id}: {plan}")])
    if not done:
        inputs.tell_none([log], what="FILEOP")
    return GOOD if done else NOTHING
