"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import click

from turnwire import registry
from turnwire.checklists import CONFORMS, FAIL, FAILS, IS_OPEN, NOTHING, OPEN, PASS, Checklist
from turnwire.cli import inputs, outcome
from turnwire.cli.options import fences_option
from turnwire.cli.output import standard_output
from turnwire.cli.policies import Moment, loaded, policy_option
from turnwire.cli.tables import table
from turnwire.cli.text import printable
from turnwire.cli.wires import WireName

_CODES = {FAILS: outcome.BAD_RECORDS, IS_OPEN: outcome.OPEN, CONFORMS: outcome.GOOD, NOTHING: outcome.NOTHING}
"""Verdict -> exit code; of several files the first of these that there is."""


@click.command("conform", short_help="The conformance checklist over messages and whole histories.")
@click.argument("wire", type=WireName())
@click.argument("files", nargs=-1, type=inputs.SOURCE, metavar="FILES...")
@fences_option
@policy_option
@click.option("--now", type=Moment(), metavar="TIME", help='Judge what is unfinished as of then ("now" will do).')
@click.option("--clauses", is_flag=True, help="Print the clauses of WIRE and what no log can show, and end.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(wire: str, files: tuple[str, ...], clauses: bool, as_json: bool, **options: Any) -> int:
    """Checks FILES by the checklist of WIRE: every clause of its specification that can be judged.

    The messages of WIRE in a file are one history, wherever they are in it: they are the records that a scan finds,
    and its rejects are faults. Each clause passes, fails, is open (something is unfinished where the file ends) or does
    not apply. Unfinished is a fault once its time is over: on the clock of the messages, or as of --now.
    A file with nothing but CSP/1 is judged as a document, in which other text is a fault.
    Directories, globs, URLs and - for standard input will do, too; a directory gives one table.

    Exits with 1 when a clause fails, else with 5 when one is open, and with 4 when there is nothing to judge in any
    file.
    """
    found = registry.wire(wire)
    if found.conform is None and found.checklist is None:
        raise click.UsageError(f"{wire} has no checklist")
    output = standard_output()
    if clauses:
        output.write("".join(f"{line}\n" for line in _clauses(wire, as_json)).encode("utf-8", "backslashreplace"))
        output.flush()
        return outcome.GOOD
    if not files:
        raise click.UsageError("Missing argument 'FILES...'.")
    if options["fences"] and not found.has("documents"):
        raise click.UsageError(f"--fences is about documents, and {wire} has none")
    choices = _choices(wire, **options)
    verdicts = set()
    judged = []
    names = inputs.files(inputs.checked(files))
    several = len(names) > 1 and any(os.path.isdir(name) for name in files) and not as_json
    for file, checklist in _judged(wire, names, choices):
        verdicts.add(checklist.verdict)
        if several:
            judged.append((file, checklist))
            continue
        lines = [json.dumps({"file": file, **checklist.to_dict()})] if as_json else _shown(file, checklist)
        output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    if several:
        output.write(_table(judged).encode("utf-8", "backslashreplace"))
    output.flush()
    return next((code for verdict, code in _CODES.items() if verdict in verdicts), outcome.NOTHING)


def _choices(wire: str, fences: bool, policy: str | None, now: float | None) -> dict[str, Any]:
    """What the wire's own ``conform`` is given beside the file."""
    chosen: dict[str, Any] = {"fences": True} if fences else {}
    if policy is not None:
        chosen["policy"] = loaded(policy, (wire,))[wire]
    if now is not None and registry.wire(wire).checklist is not None:
        chosen["now"] = now
    return chosen


def _judged(wire: str, names: list[str], choices: dict[str, Any]) -> Iterator[tuple[str, Checklist]]:
    """(file as shown, its checklist) for each file."""
    from turnwire.read.contents import contents
    from turnwire.read.judging import conform

    judges = registry.wire(wire).checklist is not None
    own: Any = registry.wire(wire).conform
    for name in names:
        shown = inputs.shown(name)
        try:
            ((_, data),) = contents(inputs.content(name), most=inputs.MOST_AT_ONCE)
        except ValueError as error:  # too large, or a damaged compressed stream
            raise outcome.Refused([f"{shown}: {error}"]) from None
        yield shown, conform(wire, data, file=shown, **choices) if judges else own(data, **choices)


def _shown(file: str, checklist: Checklist) -> list[str]:
    verdict = checklist.verdict
    words = f"{verdict}: there is no message of {checklist.wire} to judge" if verdict == NOTHING else verdict
    return [printable(line) for line in (f"{file}: {words}", *(f"  {line}" for line in str(checklist).split("\n")))]


def _table(judged: list[tuple[str, Checklist]]) -> str:
    """One table of all files, and below it what fails or is open."""
    rows = []
    for file, checklist in judged:
        statuses = [line.status for line in checklist]
        counts = (statuses.count(status) for status in (PASS, FAIL, OPEN))
        rows.append((file, checklist.verdict, checklist.records, checklist.rejects, *counts))
    lines = [
        printable(line)
        for file, checklist in judged
        for found in checklist
        if found.status in (FAIL, OPEN)
        for line in f"{file}: {found}".split("\n")
    ]
    names = ("file", "verdict", "records", "rejects", PASS, FAIL, OPEN)
    return table(names, rows) + "".join(f"{line}\n" for line in lines)


def _clauses(wire: str, as_json: bool) -> Iterator[str]:
    """The clauses of a wire, then what cannot be judged, with the reason."""
    checklist = registry.wire(wire).checklist
    if checklist is None:
        raise click.UsageError(f"{wire} does not say what its clauses are")
    for clause in checklist.clauses:
        values = {"id": clause.id, "clause": clause.section, "name": clause.text, "judged": True}
        yield json.dumps(values) if as_json else f"[x] {clause.id}: {clause.text} ({clause.section})"
    if not as_json:
        yield "Not to be judged from a log:"
    for one in checklist.unjudged:
        values = {"clause": one.section, "name": one.text, "judged": False, "reason": one.reason}
        yield json.dumps(values) if as_json else f"[-] {one.text} ({one.section}): {one.reason}"
