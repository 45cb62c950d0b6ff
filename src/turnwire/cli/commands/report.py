"""``turnwire report``: one self-contained page about a log."""

from __future__ import annotations

import os
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.commands.stats import show_groups
from turnwire.cli.outcome import BAD_RECORDS, GOOD, stopping, usage_errors
from turnwire.cli.output import complain, write_text
from turnwire.showing import counted

MAX_MESSAGES = 2000
USUAL = "report.html"
"""The page that is written by default, without ``--by``."""


@click.command("report", short_help="Write one self-contained HTML page about a log.")
@options.sources_argument
@options.output_option("The page to write; - for standard output. Default: report.html; with --by, none.")
@options.by_options
@click.option("--json", "as_json", is_flag=True, help="With --by: JSON lines instead of a table.")
@options.format_option
@click.option("--title", help="The heading of the page; by default the name of the log.")
@click.option(
    "--tokenizer",
    default="default",
    show_default=False,
    type=options.SOURCE,
    metavar="NAME|none",
    help="Tokenizer that counts tokens; by default o200k_base if the extra tokens is installed.",
)
@click.option(
    "--max-messages",
    type=click.IntRange(min=1),
    default=MAX_MESSAGES,
    help="Messages to show in full, from the largest and the faulty conversations. Figures count all records.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary; only the exit code shows damage.")
@options.exit_zero_option
def command(sources: tuple[str, ...], output: str | None, tokenizer: str, quiet: bool, **settings: Any) -> int:
    """Reads SOURCES twice and writes one HTML page about them.

    The page shows volume over time, who talks to whom, kinds, latencies, conversations, rejects, and tokens. It is
    self-contained, loads nothing, and is written whole or not at all; after Ctrl-C it covers what was read. SOURCES
    are files, directories, globs, URLs, or - for standard input. --by prints the records, bytes, tokens and answers of
    each value, with or without a page. Exits with 1 if a record is damaged.
    """
    grouping = {name: settings.pop(name) for name in ("by", "top", "as_json")}
    by = grouping["by"]
    if grouping["as_json"] and by is None:
        raise click.UsageError("--json needs --by")
    if output is None and by is None:
        output = _usual()
    if by is not None and output == "-":
        raise click.UsageError("the table of --by and the page cannot both go to standard output")
    names = inputs.checked(sources, output)
    settings["wire"] = inputs.wire_of(names, settings["wire"])
    settings["tokenizer"] = None if tokenizer == "none" else tokenizer
    damaged = 0
    if by is not None:
        from turnwire.report.build import meter

        with usage_errors():
            counter, _ = meter(settings["tokenizer"])
        found, _, stopped = show_groups(names, counter, {**settings, **grouping, "quiet": quiet})
        if stopped is not None:
            raise stopped
        counts = found.counts
        damaged = counts.rejects
        if not counts.records + damaged and not quiet:
            inputs.tell_nothing(names, settings["wire"], bool(counts.bytes))
    if output is None:
        return BAD_RECORDS if damaged else GOOD
    from turnwire.report import report

    with stopping() as is_stopped, usage_errors((ValueError,)):
        made = report(list(names), progress=not quiet, enough=is_stopped, **settings)
    totals, rejects = made.data["totals"], made.data["reject_counts"]
    if output == "-":
        write_text(made.html())
    else:
        made.write(output)
    if not quiet:
        _summarize(made.data, output)
        if by is None and not totals["records"] and not rejects:
            inputs.tell_nothing(names, settings["wire"], bool(totals["bytes"]))
    if totals["stopped"]:
        raise KeyboardInterrupt
    return BAD_RECORDS if rejects else GOOD


def _usual() -> str:
    """The name of the default page. Raises UsageError if another program wrote that file, and OSError."""
    if os.path.lexists(USUAL):
        with open(USUAL, "rb") as file:
            if b'name="generator" content="turnwire"' not in file.read(1 << 12):
                raise click.UsageError(f"{USUAL} is not a page of turnwire; name another one with '-o' / '--output'")
    return USUAL


def _summarize(data: dict[str, Any], output: str) -> None:
    totals = data["totals"]
    rejects = sum(count for *_, count in data["reject_counts"])
    found = f"{counted(totals['records'], 'record')} and {counted(rejects, 'reject')}"
    held = f"{counted(len(data['messages']), 'message')} in full, {counted(len(data['rejects']), 'reject')}"
    shown = f"{held} with {'its' if len(data['rejects']) == 1 else 'their'} bytes"
    complain(f"{found} in {counted(totals['bytes'], 'byte')}")
    complain(f"{'standard output' if output == '-' else output}: {shown}")
