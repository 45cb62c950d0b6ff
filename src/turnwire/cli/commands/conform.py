"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import json

import click

from turnwire import registry
from turnwire.checklists import Checklist
from turnwire.cli import inputs
from turnwire.cli.options import fences_option
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING
from turnwire.cli.output import standard_output
from turnwire.cli.text import printable
from turnwire.cli.wires import WireName


@click.command("conform", short_help="The conformance checklist over messages and whole histories.")
@click.argument("wire", type=WireName())
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@fences_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(wire: str, files: tuple[str, ...], fences: bool, as_json: bool) -> int:
    """Checks FILES by the checklist of WIRE: every clause of its specification that can be judged.

    The messages of WIRE in a file are one history, wherever they stand in it: they are the records that a scan finds,
    and its rejects are faults. A file with nothing but CSP/1 is judged as a document, in which other text is a fault.
    Directories, globs and - for standard input will do, too.

    Exits with 1 when a line of a checklist fails, and with 4 when there is nothing to judge in any file.
    """
    conform = registry.wire(wire).conform
    if conform is None:
        raise click.UsageError(f"{wire} has no checklist")
    if fences and not registry.wire(wire).has("documents"):
        raise click.UsageError(f"--fences is about documents, and {wire} has none")
    choices = {"fences": True} if fences else {}
    outcome = NOTHING
    output = standard_output()
    for name in inputs.files(inputs.checked(files)):
        checklist = conform(inputs.content(name), **choices)
        if checklist.records or checklist.rejects:
            outcome = BAD_RECORDS if outcome == BAD_RECORDS or not checklist else GOOD
        file = inputs.shown(name)
        if as_json:
            lines = [json.dumps({"file": file, **checklist.to_dict()})]
        else:
            lines = [f"{file}: {_verdict(checklist)}"]
            lines += [f"  {line}" for line in str(checklist).split("\n")]
            lines = [printable(line) for line in lines]
        output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    output.flush()
    return outcome


def _verdict(checklist: Checklist) -> str:
    if not checklist.records and not checklist.rejects:
        return f"there is no message of {checklist.wire} to judge"
    return "conforms" if checklist else "does not conform"
