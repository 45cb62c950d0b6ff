"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import json

import click

from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.text import printable
from turnwire.contract import WIRES


@click.command("conform", short_help="The conformance checklist over messages and whole histories.")
@click.argument("wire", type=click.Choice(WIRES))
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(wire: str, files: tuple[str, ...], as_json: bool) -> int:
    """Checks FILES (one message, or one on each line) by the checklist of WIRE.

    Exits with 1 when a line of a checklist fails.
    """
    if wire != "sap":
        raise click.UsageError(f"{wire} has no checklist yet; turnwire validate checks its messages")
    from turnwire.sap.checklist import conform_files

    outcome = GOOD
    for file, checklist in conform_files(files):
        outcome = outcome if checklist else BAD_RECORDS
        if as_json:
            click.echo(json.dumps({"file": file, **checklist.to_dict()}))
        else:
            click.echo(printable(f"{file}: {'conforms' if checklist else 'does not conform'}"))
            click.echo("\n".join("  " + printable(line) for line in str(checklist).splitlines()))
    return outcome
