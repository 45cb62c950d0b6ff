"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import json
import sys

import click

from turnwire.contract import WIRES


@click.command("conform")
@click.argument("wire", type=click.Choice(WIRES))
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(wire: str, files: tuple[str, ...], as_json: bool) -> None:
    """Check FILES (one message, or one on each line) by the checklist of WIRE."""
    if wire != "sap":
        raise click.UsageError(f"{wire} has no checklist of its own; use turnwire validate")
    from turnwire.sap.checklist import conform_files

    worst = 0
    try:
        for file, checklist in conform_files(files):
            worst = max(worst, 0 if checklist else 1)
            if as_json:
                click.echo(json.dumps({"file": file, **checklist.to_dict()}))
            else:
                click.echo(f"{file}: {'conforms' if checklist else 'does not conform'}")
                click.echo("\n".join("  " + ascii(line)[1:-1] for line in str(checklist).splitlines()))
    except OSError as error:
        click.echo(f"turnwire conform: {error}", err=True)
        worst = 3
    sys.exit(worst)
