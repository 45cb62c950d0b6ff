"""``turnwire show``: the conversation of a session, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING
from turnwire.cli.output import tell_left_out, write_json, write_lines
from turnwire.cli.terminal import milliseconds, printable

FOLDED = 200
"""Characters that are shown of calls and results."""


@click.command("show", short_help="Show the conversation of a session.")
@click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SESSION...")
@click.option("--wire", type=options.WireName(wires=False, formats=True), help="Only the records of this format.")
@click.option("--conversation", metavar="ID", help="Only the records of this conversation.")
@click.option("--full", is_flag=True, help="Show tool calls and results in full, not folded.")
@click.option("--json", "as_json", is_flag=True, help="Print each record as a JSON line, with all its parts.")
def command(sources: tuple[str, ...], wire: str | None, conversation: str | None, full: bool, as_json: bool) -> int:
    """Prints what was said in SESSION, by whom and when, with each tool call and its result folded to a line.

    SESSION is a session of a coding agent or a file of another format of real traffic, a folder, a glob, a URL, or -
    for standard input. Repeated records are shown once. Exits with 1 if a record is damaged, and with 4 without
    records.
    """
    from turnwire.read.conversation import turns

    names = inputs.checked(sources)
    found = turns(list(names), wire=wire, conversation=conversation)
    for turn in found:
        if as_json:
            write_json([turn])
        else:
            write_lines(_lines(turn, full))
    counts = found.counts
    tell_left_out(counts.rejects, "scan --wire formats")
    if not counts.records:
        inputs.tell_nothing(names, None, bool(counts.bytes))
    return BAD_RECORDS if counts.rejects else GOOD if counts.records else NOTHING


def _lines(turn: dict[str, Any], full: bool) -> Iterator[str]:
    said = turn["text"] or turn["arguments"] or turn["subject"] or turn["error"]
    if said is None and turn["tool"] is None:
        return
    when = milliseconds(turn["time"]) if turn["time"] else ""
    failed = " failed" if turn["failed"] else ""
    aside = " (aside)" if turn["sidechain"] else ""
    who = " ".join(part for part in (turn["kind"], turn["tool"], turn["model"]) if part)
    yield printable(f"[{when}] {who}{failed}{aside}")
    if turn["arguments"] is not None and turn["text"] is not None:
        said = f"{turn['text']}\n{turn['arguments']}"
    said = said or ""
    if turn["kind"] in ("tool_call", "tool_result", "reasoning", "response", "request") and not full:
        one_line = " ".join(said.split())
        more = len(one_line) - FOLDED
        said = f"{one_line[:FOLDED]}… ({more:,} more)" if more > 0 else one_line
    for line in said.splitlines():
        yield f"  {printable(line)}"
