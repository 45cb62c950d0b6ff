"""``turnwire usage``: what the sessions of agents cost, in tokens and dollars."""

from __future__ import annotations

import json
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, misused
from turnwire.cli.output import complain, standard_output
from turnwire.cli.terminal import table
from turnwire.phrases import counted
from turnwire.progress import Progress

BY = ["session", "project", "model", "tool", "day", "wire"]
"""``turnwire.read.usage.BY``, which needs NumPy."""


@click.command("usage", short_help="Show what sessions of agents cost: tokens and dollars.")
@click.argument("sources", nargs=-1, type=options.SOURCE, metavar="[SOURCES]...")
@click.option("--by", type=click.Choice(BY), default="model", help="Add up by this.", show_default=True)
@click.option(
    "--wire", type=options.WireName(wires=False, formats=True), help="Only the records of this format; all by default."
)
@click.option(
    "--prices",
    type=options.FILE,
    metavar="FILE",
    help="Prices, TOML or JSON: a table a model with input, output, cache_read, cache_write in dollars for a million "
    "tokens, in place of the packaged ones.",
)
@click.option("--json", "form", flag_value="json", help="JSON lines instead of a table.")
@click.option("--csv", "form", flag_value="csv", help="CSV instead of a table.")
@options.scan_options
def command(
    sources: tuple[str, ...], by: str, wire: str | None, prices: str | None, form: str | None, **settings: Any
) -> int:
    """Adds up the tokens and the cost of the responses in SOURCES, each response once.

    SOURCES are files and folders of coding agents' sessions and other formats of real traffic, globs, URLs, or - for
    standard input; without any, the known folders of this machine. Nothing is changed and nothing is sent. Exits with 1
    when a record is damaged, and with 4 when there is no response.
    """
    from turnwire.contract import FORMATS
    from turnwire.formats import prices as packaged
    from turnwire.read import usage

    names = inputs.checked(sources or tuple(usage.known_folders()))
    if not names:
        raise click.UsageError("no known folder of sessions is here; name files or folders")
    given = None if prices is None else options.settings_of(prices, packaged.priced)
    gathered = usage.UsageSum()
    progress = Progress(inputs.size(names))
    found = options.scanned(
        names,
        wire or FORMATS,
        usage.COLUMNS,
        {**settings, "errors": "skip"},
        progress=progress.of_scan,
    )
    stopped = False
    with progress:
        try:
            for batch in found:
                gathered.take(batch)
        except KeyboardInterrupt:
            stopped = True
    try:
        made = gathered.finish(by, found.counts, given)
    except ValueError as error:
        raise misused(error) from None
    _write(made, form)
    for model, spent in made.unpriced.items():
        complain(f"no price is known of {model or 'responses without a model'}: {spent:,} tokens")
    if made.counts.rejects:
        complain(f"{counted(made.counts.rejects, 'damaged record')} left out (turnwire scan --wire formats shows them)")
    if not made.total["responses"]:
        inputs.tell_nothing(names, None, bool(made.counts.bytes))
        return NOTHING
    if form is None:
        when = f"prices of {packaged.DATE}" if given is None else f"prices of {prices}"
        complain(f"said again and not counted: {made.copies:,}; {when}")
    if stopped:
        raise KeyboardInterrupt
    return BAD_RECORDS if made.counts.rejects else GOOD


def _write(made: Any, form: str | None) -> None:
    rows = made.rows if form == "json" else [*made.rows, {made.by: "total", **made.total}]
    output = standard_output()
    if form == "json":
        output.write("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
    elif form == "csv":
        import csv
        import io

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[-1])
        writer.writerows([row[name] for name in rows[-1]] for row in rows)
        output.write(text.getvalue().encode())
    else:
        names = [name.removesuffix("_tokens") for name in rows[-1]]
        cells = [["(none)" if row[name] is None else row[name] for name in rows[-1]] for row in rows]
        output.write(table(names, cells, {"cost": 2}).encode())
    output.flush()
