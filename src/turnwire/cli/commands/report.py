"""``turnwire report``: one self-contained page about a log."""

from __future__ import annotations

from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, misused
from turnwire.cli.output import complain, write_text
from turnwire.contract import FORMATS
from turnwire.errors import WireError
from turnwire.phrases import counted
from turnwire.progress import Progress

MAX_MESSAGES = 2000


@click.command("report", short_help="Make one self-contained HTML page about a log.")
@options.sources_argument
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    metavar="FILE|-",
    required=True,
    help="The page to write; - for standard output.",
)
@options.format_option
@click.option("--title", default="Agent traffic", help="The heading of the page.", show_default=True)
@click.option(
    "--tokenizer",
    default="default",
    type=options.SOURCE,
    metavar="NAME|none",
    help="What tokens are counted with; by default o200k_base, where the extra tokens is installed.",
)
@click.option(
    "--max-messages",
    type=click.IntRange(min=1),
    default=MAX_MESSAGES,
    help="Messages to show in full. The figures are those of all records.",
    show_default=True,
)
@click.option("-q", "--quiet", is_flag=True, help="No summary; only the exit code shows damage.")
@options.exit_zero_option
def command(sources: tuple[str, ...], output: str, tokenizer: str, quiet: bool, **settings: Any) -> int:
    """Reads SOURCES once and writes one HTML page about them.

    It shows volume over time, who talks to whom, kinds, latencies, conversations, rejects, and tokens. SOURCES are
    files, directories, globs, URLs, or - for standard input. The page needs nothing else, and loads nothing. It is
    written whole or not at all. Exits with 1 when a record is damaged.
    """
    from turnwire.report import report

    names = inputs.checked(sources)
    inputs.refuse_overwriting(output, names)
    inputs.expect_writable(output)
    chosen = None if tokenizer == "none" else tokenizer

    def read(**changes: Any) -> Any:
        with Progress(inputs.size(names), wanted=not quiet) as progress:
            try:
                return report(list(names), tokenizer=chosen, progress=progress.update, **{**settings, **changes})
            except WireError:
                raise
            except ValueError as error:
                raise misused(error) from None

    made = read()
    if settings["wire"] is None and not _found(made.data) and inputs.of_formats(names):
        made = read(wire=FORMATS)
    if output == "-":
        write_text(made.html())
    else:
        made.write(output)
    if not quiet:
        _summarize(made.data, output)
        if not _found(made.data):
            inputs.tell_nothing(names, settings["wire"], bool(made.data["totals"]["bytes"]["all"]))
    return BAD_RECORDS if made.data["reject_counts"] else GOOD


def _found(data: dict[str, Any]) -> bool:
    """True if there is a record or a reject in what was read."""
    return bool(data["totals"]["records"] or data["reject_counts"])


def _summarize(data: dict[str, Any], output: str) -> None:
    totals = data["totals"]
    rejects = sum(count for *_, count in data["reject_counts"])
    found = f"{counted(totals['records'], 'record')} and {counted(rejects, 'reject')}"
    held = f"{counted(len(data['messages']), 'message')} in full, {counted(len(data['rejects']), 'reject')}"
    shown = f"{held} with {'its' if len(data['rejects']) == 1 else 'their'} bytes"
    complain(f"{found} in {counted(totals['bytes']['all'], 'byte')}")
    complain(f"{'standard output' if output == '-' else output}: {shown}")
