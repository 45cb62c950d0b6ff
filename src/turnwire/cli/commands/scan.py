"""``turnwire scan``: the records of logs as a table, as JSON lines or in files, and what was damaged."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, options, spreading, wires
from turnwire.cli.choices import Choice
from turnwire.cli.outcome import BAD_RECORDS, GAP, GOOD, misused
from turnwire.cli.output import (
    STANDARD_OUTPUT,
    Output,
    complain,
    complain_sum,
    opened,
    shown_output,
    standard_output,
)
from turnwire.cli.sinks import FileSink, JsonSink, PartsSink, PipeSink, Sink, TableSink
from turnwire.cli.stopping import until_interrupted
from turnwire.cli.text import printable
from turnwire.phrases import counted
from turnwire.progress import Progress

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan

SHOWN_ROWS = 20
SHOWN_REJECTS = 5
SHOWN_BYTES = 60
LEAST_MEASURED = 1_000_000
"""Bytes of a log below which how fast it was read says nothing."""
KEPT_EVERY = 1.0
"""Seconds between two writes of the position while a scan follows."""

PLACES = frozenset({"record", "offset", "length", "inner"})
"""Columns that the table leaves out unless they are asked for."""


@click.command("scan", short_help="Show the records of logs, or write them to files.")
@inputs.sources_argument
@wires.wire_option
@click.option("--columns", metavar="A,B,...", help="The columns to read; all by default.")
@click.option(
    "--errors",
    type=Choice(["collect", "skip", "raise"]),
    default="collect",
    help="Keep damaged records, only count them, or stop at the first.",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Rows to show (a table: {SHOWN_ROWS}, JSON: all by default). All records are still read and counted.",
)
@click.option(
    "-o",
    "--output",
    type=inputs.FILE,
    metavar="FILE|-",
    help="Write all records to a file: .parquet, .arrow, .csv, .ndjson.",
)
@click.option(
    "--format",
    type=Choice(["parquet", "arrow", "csv", "ndjson"]),
    help="The format of --output, where its name does not say.",
)
@click.option("--partition-by", type=Choice(["wire", "day"]), help="--output is a directory with a folder each.")
@click.option(
    "--formulas",
    type=Choice(["guard", "keep"]),
    default="guard",
    help="CSV: put an apostrophe before what a spreadsheet would take for a formula, or leave it.",
    show_default=True,
)
@click.option(
    "--rejects",
    type=inputs.FILE,
    metavar="FILE|-",
    help="Write damaged records as JSON lines to a file, or to the output.",
)
@options.scan_options
@click.option("--follow", is_flag=True, help="Wait for more at the end of files, until interrupted.")
@click.option(
    "--resume", type=inputs.FILE, metavar="FILE", help="Continue at the position that an earlier scan kept in FILE."
)
@spreading.dask_options
@click.option("-q", "--quiet", is_flag=True, help="No summary; only the exit code shows damage.")
def command(sources: tuple[str, ...], wire: str | None, columns: str | None, **settings: Any) -> int:
    """Finds the records of all wires, or of one, in SOURCES and shows them, or writes them to files.

    SOURCES are files, directories, globs, URLs, or - for standard input. Records may be anywhere among other text. The
    table or the JSON lines go to standard output, a summary to standard error. Exits with 1 when a record is damaged,
    with 6 when a part of a log that was rotated, cut or removed cannot be had.
    """
    _check(settings)
    names = inputs.checked(sources)
    if settings["dask"] is not None:
        return spreading.spread(names, wire, _listed(columns), settings)
    for path in (settings["rejects"], settings["output"], settings["resume"]):
        if path is not None:
            inputs.refuse_overwriting(path, names)
    inputs.expect_writable(settings["resume"])
    progress = Progress(inputs.size(names), wanted=_progress_wanted(settings))
    with ExitStack() as stack:
        parts = _parts(settings, stack)
        found = options.scanned(
            names,
            wire,
            _listed(columns),
            settings,
            follow=settings["follow"],
            resume=_begins(settings, parts),
            progress=lambda done, _, records, rejects: progress.update(done, records, rejects),
        )
        started = time.monotonic()
        quarantine = _quarantine_output(settings, stack)
        taken = quarantine if settings["rejects"] == "-" else None
        if parts is not None:
            sink: Sink = PartsSink(parts, found)
        else:
            sink = stack.enter_context(_sink(found, wire, taken, columns is None, len(inputs.files(names)), settings))
        stands = _run(found, sink, quarantine, progress, settings)
    options.keep_position(settings["resume"], stands)
    if not settings["quiet"]:
        _summarize(found, sink, time.monotonic() - started, settings["rejects"])
        if not sum(found.counts.wires.values()) + len(found.rejects):
            inputs.tell_nothing(names, wire, bool(found.counts.bytes or settings["resume"]))
    if found.gaps:
        return GAP
    return BAD_RECORDS if found.rejects.counts else GOOD


def _parts(settings: dict[str, Any], stack: ExitStack) -> Any:
    """The folder of parts of a scan that goes on, where it writes one; None elsewhere."""
    path = settings["output"]
    goes_on = settings["follow"] or settings["resume"] is not None
    if path in (None, "-") or settings["partition_by"] is not None or not goes_on:
        return None
    from turnwire.log.output.parts import Parts

    try:
        parts = Parts(path, settings["format"], settings["formulas"])
    except ValueError as error:
        raise misused(error) from None
    return stack.enter_context(parts)


def _begins(settings: dict[str, Any], parts: Any) -> Any:
    """Where a scan goes on: behind what was written, if that is further than what --resume says."""
    kept = options.position(settings["resume"])
    if parts is None:
        return kept
    from turnwire.log.output.parts import later

    return later(parts.position, kept) or {}


def _check(settings: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go together."""
    if settings["rejects"] is not None and settings["errors"] == "skip":
        raise click.UsageError("--errors skip keeps no damaged records that --rejects could write")
    written = settings["output"] is not None
    if written and (settings["as_json"] or settings["limit"] is not None):
        raise click.UsageError("--output writes all records; --json and --limit are for what is shown")
    for name in ("format", "partition_by"):
        if settings[name] is not None and not written:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --output FILE (or --output -)")
    if settings["output"] == "-":
        if settings["partition_by"] is not None:
            raise click.UsageError("--partition-by needs a directory: --output DIRECTORY")
        if settings["rejects"] == "-":
            raise click.UsageError("records and rejects cannot both go to standard output in a format of files")
    spreading.check(settings)


def _listed(columns: str | None) -> list[str] | None:
    if columns is None:
        return None
    chosen = [name.strip() for name in columns.split(",")]
    if len(set(chosen)) < len(chosen):
        raise click.UsageError("--columns names a column twice")
    return chosen


def _progress_wanted(settings: dict[str, Any]) -> bool:
    crowded = settings["as_json"] and sys.stdout is not None and sys.stdout.isatty()
    wanted = settings["progress"]
    return not (crowded or settings["quiet"]) if wanted is None else bool(wanted)


def _quarantine_output(settings: dict[str, Any], stack: ExitStack) -> Any:
    """Where rejects are written, if anywhere: a file that is there when all is well, or grows while it follows."""
    from turnwire.atomic import AtomicFile

    path = settings["rejects"]
    if path is None:
        return None
    plain = path == "-" or settings["follow"] or settings["resume"] is not None  # goes on behind what is there
    return stack.enter_context(opened(path) if plain else AtomicFile(path))


def _sink(
    found: Scan, wire: str | None, taken: Output | None, choose: bool, files: int, settings: dict[str, Any]
) -> Sink:
    """Where the rows go; nowhere when the output is ``taken`` by the rejects alone."""
    limit: int | None = settings["limit"]
    if settings["output"] is not None:
        return _file_sink(found, settings)
    if settings["as_json"]:
        return JsonSink(found, taken or standard_output(), limit)
    if taken is not None:
        return Sink()
    # A scan of one wire has the common columns twice: its own names say more.
    repeated = {name for name, (_, own) in wires.scanner(wire).common.items() if name != own}
    repeated |= set() if wire is None else {"wire"}
    hidden = PLACES | repeated | ({"file"} if files == 1 else set()) if choose else None
    return TableSink(found, standard_output(), SHOWN_ROWS if limit is None else limit, hidden)


def _file_sink(found: Scan, settings: dict[str, Any]) -> Sink:
    from turnwire.log.output.outputs import FileOutput, format_of_file
    from turnwire.log.output.partitions import PartitionedOutput

    path, named, formulas = settings["output"], settings["format"], settings["formulas"]
    try:
        if settings["partition_by"] is not None:
            how = named or "parquet", settings["partition_by"], formulas
            return FileSink(PartitionedOutput(path, found.columns, *how))
        if path != "-":
            return FileSink(FileOutput(path, found.columns, format_of_file(path, named), formulas))
    except ValueError as error:
        raise misused(error) from None
    if named is None:
        raise click.UsageError("--output - needs a --format")
    if named in ("parquet", "arrow") and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"a terminal cannot show {named}; send it to a file or a pipe")
    return PipeSink(found, shown_output(), named, formulas)


def _run(found: Scan, sink: Sink, quarantine: Any, progress: Progress, settings: dict[str, Any]) -> dict[str, Any]:
    """Shows or writes everything: the position after what was."""
    written, told, kept = 0, 0, time.monotonic()
    follows = settings["follow"]
    prints = settings["rejects"] == "-"
    stands = found.position
    with progress, until_interrupted(_steps(found)) if follows else nullcontext(found) as batches:
        for batch in batches:
            if batch is None:
                if sink.due:  # the log went quiet: what is written waits for nothing more
                    stands = found.position
                    sink.commit(stands)
                    options.keep_position(settings["resume"], stands)
                continue
            if prints or (sink.prints and not sink.full) or len(found.gaps) > told:
                progress.clear()
            if not sink.full:
                sink.take(batch)
            written = _quarantine(found, quarantine, written)
            told = _tell_gaps(found, quarantine, told)
            if follows:
                sink.flush()
                stands = found.position
                if sink.commit(stands) and time.monotonic() - kept > KEPT_EVERY:
                    options.keep_position(settings["resume"], stands)
                    kept = time.monotonic()
    _quarantine(found, quarantine, written)
    _tell_gaps(found, quarantine, told)
    sink.finish()
    stands = stands if follows else found.position
    sink.commit(stands, last=True)
    return stands


def _steps(found: Scan) -> Iterator[Batch | None]:
    from turnwire.log.scanning import steps

    return steps(found)


def _quarantine(found: Scan, output: Any, written: int) -> int:
    """Writes the rejects from number ``written`` on; gives how many are written now."""
    from turnwire.log.output.json_lines import json_line

    if output is None:
        return written
    for reject in found.rejects.since(written):
        if reject["inner"] is None:
            del reject["inner"]  # only ranges in JSON strings have it
        output.write(json_line({"reject": True, **reject}))
    output.flush()
    return len(found.rejects)


def _tell_gaps(found: Scan, output: Any, told: int) -> int:
    """Tells the gaps from number ``told`` on, whatever else is quiet; gives how many are told now."""
    from turnwire.log.output.json_lines import json_line

    gaps = found.gaps[told:]
    for gap in gaps:
        complain(printable(f"{inputs.shown(gap.file)}: {gap.why}: {gap.text}"))
        if output is not None:
            output.write(json_line(gap.to_dict()))
    if gaps and output is not None:
        output.flush()
    return told + len(gaps)


def _summarize(found: Scan, sink: Sink, seconds: float, rejects: str | None) -> None:
    counts = found.counts
    records = sum(counts.wires.values())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.reasons.items()))
    seconds = max(seconds, 1e-9)
    rate = f"{seconds:.2f} s"
    if counts.bytes >= LEAST_MEASURED:
        rate += f", {counts.bytes / seconds / 1e6:,.1f} MB/s, {records / seconds:,.0f} records/s"
    if 0 < sink.shown < counts.selected and sink.shortens:
        complain(f"the first {sink.shown:,} of {counted(counts.selected, 'record')} are shown")
    _show_rejects(found, rejects)
    if counts.selected != records:
        complain(f"{'wanted':<8}{counts.selected:>12,}")
    for name, number, size, note in (
        ("records", f"{records:,}", counts.records, wires.told(counts.wires)),
        ("rejects", f"{len(found.rejects):,}", counts.rejects, reasons),
        ("text", "", counts.text, ""),
        ("total", "", counts.bytes, rate),
    ):
        complain_sum(name, number, size, note)
    if found.gaps:
        complain(f"{'gaps':<8}{len(found.gaps):>12,}")
    for path in sink.paths:
        complain(printable(f"written {inputs.shown(path)}"))
    if records + len(found.rejects) == 0:
        complain(f"there is no {'' if len(counts.wires) > 1 else next(iter(counts.wires)) + ' '}record here")


def _show_rejects(found: Scan, output: str | None) -> None:
    """The first rejects, where they were kept; all of them may be in the ``output`` of rejects."""
    from turnwire.log.output.rejects import fault_line

    first = list(islice(found.rejects.since(0), SHOWN_REJECTS))
    binary = {name for name in dict.fromkeys(reject["file"] for reject in first) if inputs.looks_binary(name)}
    for name in binary:
        complain(printable(f"{inputs.shown(name)}: looks binary: what is damaged there is not shown"))
    for reject in first:
        if reject["file"] in binary:
            continue
        raw = reject["raw"]
        text = raw[:SHOWN_BYTES].decode("utf-8", "backslashreplace") + ("…" if len(raw) > SHOWN_BYTES else "")
        place = f"{inputs.shown(reject['file'])}:{fault_line(reject)}: byte {reject['fault']}"
        wire = f"{reject['wire']}: " if len(found.counts.wires) > 1 else ""
        complain(printable(f"{place}: {wire}{reject['reason']}: {text}"))
    if first and len(found.rejects) > len(first):
        where = (
            "--rejects FILE keeps them all"
            if output is None
            else f"all are in {STANDARD_OUTPUT if output == inputs.STANDARD_INPUT else output}"
        )
        complain(printable(f"... and {len(found.rejects) - len(first):,} more ({where})"))
