"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import json

import click

from turnwire import registry
from turnwire.cli import inputs
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import standard_output
from turnwire.cli.text import printable
from turnwire.cli.wires import WireName


@click.command("conform", short_help="The conformance checklist over messages and whole histories.")
@click.argument("wire", type=WireName())
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(wire: str, files: tuple[str, ...], as_json: bool) -> int:
    """Checks FILES by the checklist of WIRE: every clause of its specification that can be judged.

    FILES hold one message, or one on each line (nslip: a log; csp: a document; sstp: also a transcript); the messages
    of a file are one history. Directories, globs and - for standard input will do, too.

    Exits with 1 when a line of a checklist fails.
    """
    conform = registry.wire(wire).conform
    if conform is None:
        raise click.UsageError(f"{wire} has no checklist")
    outcome = GOOD
    output = standard_output()
    for name in inputs.files(inputs.checked(files)):
        checklist = conform(inputs.content(name))
        outcome = outcome if checklist else BAD_RECORDS
        file = inputs.shown(name)
        if as_json:
            lines = [json.dumps({"file": file, **checklist.to_dict()})]
        else:
            lines = [f"{file}: {'conforms' if checklist else 'does not conform'}"]
            lines += [f"  {line}" for line in str(checklist).split("\n")]
            lines = [printable(line) for line in lines]
        output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    output.flush()
    return outcome
