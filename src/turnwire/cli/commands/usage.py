"""``turnwire usage``: what the sessions of agents cost, in tokens and dollars."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, usage_errors
from turnwire.cli.output import Notes, complain, conclude, table, tell_left_out, write_json, write_text
from turnwire.showing import counted

BY = ["session", "project", "model", "tool", "day", "wire"]
MODES = ["auto", "calculate", "display"]
"""``turnwire.read.usage.BY`` and ``MODES``: that module needs NumPy."""
_LAST = ("cache_write_tokens", "cache_read_tokens", "reasoning_tokens")
"""Columns that go first where a terminal has no room for all."""


@click.command("usage", short_help="Add up the tokens and cost of agent sessions.")
@click.argument("sources", nargs=-1, type=options.SOURCE, metavar="[SOURCES]...")
@click.option("--by", type=options.By(BY), default="model", help="Group the responses by this value.")
@click.option(
    "--wire", type=options.WireName(wires=False, formats=True), help="Only the records of this format; all by default."
)
@click.option(
    "--prices",
    type=options.FILE,
    help="TOML or JSON that replaces the packaged prices: a table for each model with input, output, cache_read and "
    "cache_write, in dollars per million tokens.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="auto",
    help="Costs from the files or, without one, from prices; always prices; or only files.",
)
@click.option("--timezone", metavar="ZONE", default="UTC", help="Time zone of the days: an IANA name, or local.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
@partial(options.scan_options, wires=False)
def command(
    sources: tuple[str, ...],
    by: str,
    wire: str | None,
    prices: str | None,
    as_json: bool,
    **settings: Any,
) -> int:
    """Adds up the tokens and cost of the responses in SOURCES, each response once.

    SOURCES are session files of coding agents or other supported formats, folders, globs, URLs, or - for standard
    input; by default the session folders of this machine. turnwire changes no files and sends no data. Exits with 1 if
    a record is damaged, and with 4 if there are no responses.
    """
    from turnwire.contract import FORMATS
    from turnwire.formats import prices as packaged
    from turnwire.read import usage

    names = inputs.checked(sources) if sources else tuple(usage.known_folders())
    if not names:
        raise click.UsageError("found no session folders on this machine; specify files or folders")
    given = None if prices is None else options.settings_of(prices, packaged.priced)
    with usage_errors():
        where = options.conditions(settings["conditions"], options.scanner(wire or FORMATS).columns)
        gathered = usage.UsageSum(settings["timezone"], where, wire or FORMATS)
    settings["conditions"] = ()  # they hold for responses, of which records alone do not tell all
    asked = names, wire or FORMATS, gathered.columns, settings
    counts, stopped = options.read_all(*asked, gathered.take, gathered.batches)
    with usage_errors():
        made = gathered.finish(by, counts, given, settings["mode"])
    if as_json:
        write_json(made.rows)
    else:
        write_text(_table(made))
    lacks = "no cost in the files" if settings["mode"] == "display" else "no price"
    for model, spent in made.unpriced.items():
        complain(f"{lacks} for {model or 'responses without a model'}: {spent:,} tokens, so costs are lower bounds")
    damaged = Notes(False, more="more such responses")
    for response in made.incomplete:
        damaged.add(f"a record of the response {response} is damaged: it may have more tokens")
    damaged.close()
    for session, many in made.lost.items():
        place = "outside sessions" if session is None else f"in session {session}"
        complain(f"{counted(many, 'damaged record')} {place} may be counts of tokens, so there may be more")
    if made.unusable:
        complain(f"{counted(made.unusable, 'record')} with an invalid count (taken as 0) or an invalid cost (left out)")
    tell_left_out(counts.rejects, "scan --wire formats")
    if stopped is not None:
        raise stopped
    if not (made.total["responses"] or made.total["cost"]):
        if not counts.records:
            inputs.tell_nothing(names, None, bool(counts.bytes))
        if where:
            complain("--where selects no response")
        elif counts.bytes:
            reads = "show" if counts.records else "tokens"
            conclude(
                None, "there are no responses with token counts", reads, names, wire=wire if counts.records else None
            )
        return NOTHING
    if not as_json:
        when = f"prices of {packaged.DATE}" if given is None else f"prices of {prices}"
        complain(f"repeated and not counted: {made.copies:,}; {when}")
    return BAD_RECORDS if counts.rejects else GOOD


def _table(made: Any) -> str:
    rows = [*made.rows, {made.by: "total", **made.total}]
    names = [name for name in rows[-1] if name not in ("unpriced", "incomplete") or rows[-1][name]]
    names.sort(key=lambda name: name in _LAST)
    for row in rows:
        row |= {made.by: "(none)" if row[made.by] is None else row[made.by], "unpriced": sum(row["unpriced"].values())}
    cells = [[row[name] for name in names] for row in rows]
    return table([name.removesuffix("_tokens") for name in names], cells, {"cost": 2})
