"""``turnwire show``: the conversation of a session, for people."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, CommandRefused
from turnwire.cli.output import complain, milliseconds, printable, tell_left_out, write_json, write_lines
from turnwire.contract import FORMATS

if TYPE_CHECKING:
    from turnwire.read.turns import Turn

FOLDED = 200
"""Characters that are shown of calls and results."""
_ID = re.compile(r"[\w-]+")
_ENOUGH = 8
"""Characters of the id of a session that stand for it."""


@click.command("show", short_help="Show the conversation of a session.")
@click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SESSION...")
@click.option("--wire", type=options.WireName(wires=False, formats=True), help="Only the records of this format.")
@click.option("--conversation", "--session", metavar="ID", help="Only the records of this conversation.")
@click.option("--full", is_flag=True, help="Show tool calls and results in full, not folded.")
@click.option("--json", "as_json", is_flag=True, help="Print each record as a JSON line, with all its parts.")
def command(sources: tuple[str, ...], wire: str | None, conversation: str | None, full: bool, as_json: bool) -> int:
    """Prints what was said in SESSION, by whom and when, with each tool call and its result folded to a line.

    SESSION is a session file of a coding agent or another supported format, a folder, a glob, a URL, or - for standard
    input; or the id of a session in the folders of this machine, of which 8 characters are enough. Repeated records are
    shown once. Exits with 1 if a record is damaged, and with 4 if there are no records.
    """
    from turnwire.read.turns import Turns

    by_id = None
    if len(sources) == 1 and conversation is None and _ID.fullmatch(sources[0]) and not os.path.lexists(sources[0]):
        by_id = _session(sources[0])
        if by_id is None:
            where = "the folders of Claude Code, Codex and the like"
            raise CommandRefused([f"{sources[0]}: is no file, and the id of no session in {where}"])
    names, conversation = by_id or (list(inputs.checked(sources)), conversation)
    found = Turns(names, wire=wire, conversation=conversation)
    shown = False
    for turn in found:
        shown = True
        if as_json:
            write_json([turn.to_dict()])
        else:
            write_lines(_lines(turn, full))
    counts = found.counts
    tell_left_out(counts.rejects, "scan --wire formats")
    if not counts.records:
        inputs.tell_none(sources, None, "record")
    elif not shown:
        complain(f"--conversation {conversation} selects no record")
    return BAD_RECORDS if counts.rejects else GOOD if shown else NOTHING


def _session(text: str) -> tuple[list[Any], str] | None:
    """The files in the folders of this machine that have the session with this id, or with the only one that begins
    so, and its id; None without one. Files that are named by it are looked at first. Raises UsageError for several."""
    import turnwire
    from turnwire.log.input.sources import sources
    from turnwire.read.usage import known_folders

    every = list(sources(list(known_folders())))
    found: dict[str, set[str]] = {}
    for some in ([one for one in every if text in (one.name or "")], every):
        for batch in turnwire.scan(some, wire=FORMATS, columns=["conversation"], errors="skip", progress=True):
            for name in {*batch["conversation"]} - {None}:
                if name == text or (len(text) >= _ENOUGH and name.startswith(text)):
                    found.setdefault(name, set()).add(batch.file or "")
        if found:
            break
    names = [text] if text in found else sorted(found)
    if len(names) > 1:
        raise click.UsageError(f"{text} begins the ids of {len(names):,} sessions: {', '.join(names[: inputs.SHOWN])}")
    return ([one for one in every if one.name in found[names[0]]], names[0]) if names else None


def _lines(turn: Turn, full: bool) -> Iterator[str]:
    """The text of a record, then each call that it makes, under who said it."""
    from turnwire.read.turns import ROLE_OF_KIND, arguments_of

    columns, calls = turn.columns, [part for part in turn.parts if part.kind == "call"]
    said = [(part.text, full or part.kind == "text") for part in turn.parts if part.kind != "call" and part.text]
    said += [(f"[{part.name}] {arguments_of(part)}", full) for part in turn.parts if part.kind == "data"]
    if not turn.parts and (other := columns["text"] or columns["subject"] or columns["error"]):
        said = [(other, full or columns["kind"] not in ("response", "request"))]
    if said or (columns["tool"] is not None and not calls and columns["kind"] not in ("usage", "total")):
        is_told = turn.role is None or columns["kind"] in ROLE_OF_KIND
        kind = columns["kind"] if is_told else f"{turn.role} ({columns['kind']})"
        yield _head(turn, turn.role if calls else kind, None if calls else columns["tool"])
        for text, whole in said:
            yield from _body(text, whole)
    for call in calls:
        yield _head(turn, columns["kind"], call.name)
        yield from _body(arguments_of(call), full)


def _head(turn: Turn, kind: str | None, tool: str | None) -> str:
    columns = turn.columns
    from turnwire.log.output.json_lines import times

    when = milliseconds(times([columns["time"]])[0])
    ends = (columns["sender"], columns["receiver"] and f"→ {columns['receiver']}") if turn.role is None else ()
    who = " ".join(part for part in (kind, *ends, tool, columns["model"]) if part)
    marks = " failed" * bool(columns["failed"]) + " (aside)" * bool(columns["sidechain"])
    return printable(f"[{when}] {who}{marks}" if when else f"{who}{marks}")


def _body(text: str, whole: bool) -> Iterator[str]:
    if not whole:
        text = " ".join(text.split())
        more = len(text) - FOLDED
        text = f"{text[:FOLDED]}… ({more:,} more)" if more > 0 else text
    yield from (f"  {printable(line)}" for line in text.splitlines())
