"""``turnwire conform``: the conformance checklist of a wire over files of messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from turnwire import registry
from turnwire.checklists import CONFORMS, FAIL, FAILS, IS_OPEN, NOTHING, OPEN, PASS, Checklist
from turnwire.cli import inputs, options, outcome
from turnwire.cli.output import printable, table, write_json, write_lines, write_text
from turnwire.progress import Progress

_CODES = {FAILS: outcome.BAD_RECORDS, IS_OPEN: outcome.OPEN, CONFORMS: outcome.GOOD, NOTHING: outcome.NOTHING}
"""Verdict -> exit code; of several files the first of these that there is."""


@click.command("conform", short_help="Check files against every clause of a specification.")
@click.argument("wire", type=options.WireName())
@click.argument("files", nargs=-1, type=options.SOURCE, metavar="FILES...")
@options.fences_option
@options.policy_option
@click.option("--now", type=options.moment, metavar="TIME", help='Check unfinished work as of this time (or "now").')
@click.option(
    "--clauses", is_flag=True, help="List the clauses of WIRE and the requirements that a log cannot show, and exit."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each file.")
@options.exit_zero_option
def command(wire: str, files: tuple[str, ...], clauses: bool, as_json: bool, **settings: Any) -> int:
    """Checks FILES against every clause of WIRE's specification that can be checked in a log.

    The records that a scan finds in a file form one history; rejects are faults. Each clause passes, fails, is open
    (something is unfinished at the end of the file) or does not apply. Unfinished work is a fault once its deadline has
    passed, by the clock of the messages or as of --now. In a CSP/1 file that is not a log, other text is a fault. FILES
    may be directories, globs, URLs or - for standard input; a directory produces one table.

    Exits with 1 if a clause fails, else with 5 if one is open, and with 4 if no file has a message.
    """
    found = registry.wire(wire)
    if found.checklist is None:
        raise click.UsageError(f"{wire} has no checklist")
    if clauses:
        _show_clauses(found.checklist, as_json)
        return outcome.GOOD
    if not files:
        raise click.UsageError("Missing argument 'FILES...'.")
    if settings["fences"] and (found.scanner is None or found.scanner.documents is None):
        raise click.UsageError(f"--fences applies to documents, and {wire} has none")
    judged = []
    names = inputs.files(inputs.checked(files))
    as_table = len(names) > 1 and any(os.path.isdir(name) for name in files) and not as_json
    progress = Progress(inputs.size(names))
    for file, checklist in _checklists(wire, names, settings, progress):
        judged.append((file, checklist))
        progress.clear()
        if as_json:
            write_json([{"file": file, **checklist.to_dict()}])
        elif not as_table:
            verdict = checklist.verdict
            words = f"{verdict}: the file contains no {checklist.wire} message" if verdict == NOTHING else verdict
            write_lines(map(printable, (f"{file}: {words}", *(f"  {line}" for line in str(checklist).split("\n")))))
    progress.clear()
    if as_table:
        _show_table(judged)
    verdicts = {checklist.verdict for _, checklist in judged}
    return next((code for verdict, code in _CODES.items() if verdict in verdicts), outcome.NOTHING)


def _checklists(
    wire: str, names: list[str], settings: dict[str, Any], progress: Progress
) -> Iterator[tuple[str, Checklist]]:
    """(file as shown, its checklist) for each file."""
    from turnwire.read.located import conform

    choices: dict[str, Any] = {"fences": True} if settings["fences"] else {}
    if settings["policy"] is not None:
        choices["policy"] = options.policies(settings["policy"], (wire,))[wire]
    if settings["now"] is not None:
        choices["now"] = settings["now"]
    done = records = 0

    def tell(read: int, good: int) -> None:
        progress.update(done + read, records + good)

    for name in names:
        data, shown = inputs.whole(name), inputs.shown(name)
        checklist = conform(wire, data, file=shown, progress=tell, **choices)
        done, records = done + len(data), records + checklist.records
        yield shown, checklist


def _show_table(judged: list[tuple[str, Checklist]]) -> None:
    """Shows one table of all files, and below it what fails or is open."""
    rows = []
    for file, checklist in judged:
        statuses = [line.status for line in checklist]
        counts = (statuses.count(status) for status in (PASS, FAIL, OPEN))
        rows.append((file, checklist.verdict, checklist.records, checklist.rejects, *counts))
    write_text(table(("file", "verdict", "records", "rejects", PASS, FAIL, OPEN), rows))
    lines = (f"{file}: {found}" for file, one in judged for found in one if found.status in (FAIL, OPEN))
    write_lines(printable(part) for line in lines for part in line.split("\n"))


def _show_clauses(checklist: Any, as_json: bool) -> None:
    """Shows the clauses of a wire, then what cannot be judged, with the reason."""
    if as_json:
        clauses, untested = checklist.clauses, checklist.untested
        write_json({"id": one.id, "clause": one.section, "name": one.text, "judged": True} for one in clauses)
        write_json({"clause": one.section, "name": one.text, "judged": False, "reason": one.reason} for one in untested)
        return
    write_lines(f"[x] {clause.id}: {clause.text} ({clause.section})" for clause in checklist.clauses)
    write_lines(["Cannot be checked in a log:"])
    write_lines(f"[-] {one.text} ({one.section}): {one.reason}" for one in checklist.untested)
