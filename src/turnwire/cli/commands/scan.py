"""``turnwire scan``: the records of logs as a table, as JSON lines or in files, and what was damaged."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GAP, GOOD, INPUT_OUTPUT, until_interrupted, usage_errors
from turnwire.cli.output import (
    STANDARD_OUTPUT,
    Output,
    complain,
    complain_counts,
    conclude,
    milliseconds,
    opened,
    standard_output,
    table,
)
from turnwire.contract import FORMATS
from turnwire.progress import Progress
from turnwire.showing import counted

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
@options.sources_argument
@options.format_option
@click.option("--columns", metavar="A,B,...", help="The columns to read; all by default.")
@click.option(
    "--explain", is_flag=True, help="Add the column carrier: what each record was embedded in, such as a Docker log."
)
@click.option(
    "--errors",
    type=click.Choice(["collect", "skip", "raise"]),
    default="collect",
    help="Keep damaged records, only count them, or stop at the first.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Rows to show (a table: {SHOWN_ROWS}, JSON: all by default). All records are still read and counted.",
)
@options.output_option("Write all records to a file: .parquet, .arrow, .csv, .ndjson.")
@click.option(
    "--format",
    type=click.Choice(["parquet", "arrow", "csv", "ndjson"]),
    help="The format of --output, if its extension does not determine it.",
)
@click.option(
    "--partition-by", type=click.Choice(["wire", "day"]), help="Make --output a directory with a folder for each value."
)
@click.option(
    "--formulas",
    type=click.Choice(["guard", "keep"]),
    help="CSV: add an apostrophe to text that a spreadsheet would run as a formula (guard; the default), or keep it.",
)
@click.option(
    "--rejects",
    type=options.FILE,
    metavar="FILE|-",
    help="Write damaged records as JSON lines to a file, or to standard output (-).",
)
@options.scan_options
@click.option("--follow", is_flag=True, help="Wait for more at the end of each file, until interrupted.")
@click.option("--resume", type=options.FILE, help="Continue at the position in FILE, and save the new one there.")
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Scan in blocks on a Dask cluster, or on processes of this machine; --output is a directory.",
)
@click.option(
    "--block-bytes", type=click.IntRange(min=1), help="With --dask: approximate bytes of a block; 64 MiB by default."
)
@click.option("-q", "--quiet", is_flag=True, help="No summary; only the exit code shows damage.")
@options.exit_zero_option
def command(sources: tuple[str, ...], wire: str | None, columns: str | None, **settings: Any) -> int:
    """Finds the records of all wires, or of one, in SOURCES and shows them, or writes them to files.

    SOURCES are files, directories, globs, URLs, or - for standard input. Records may be anywhere in other text. The
    table or JSON lines go to standard output, a summary to standard error. Exits with 1 if a record is damaged, and
    with 6 if part of a rotated, truncated or removed log is missing.
    """
    _check(settings)
    names = inputs.checked(sources)
    if settings["resume"] is not None and inputs.STANDARD_INPUT in names:
        raise click.UsageError("standard input has no position, so --resume needs files")
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    if settings.pop("explain") and "carrier" not in (chosen or ()):
        from turnwire.log.engine import columns as of_scans

        known = of_scans.chosen(options.scanner(wire), None) if chosen is None else ()
        chosen = [*(chosen or [column.name for column in known]), "carrier"]
    if settings["dask"] is not None:
        return _scan_on_cluster(names, wire, chosen, settings)
    for option in ("rejects", "output", "resume"):
        inputs.check_output(settings[option], names, written=option == "resume")
    crowded = settings["as_json"] and sys.stdout is not None and sys.stdout.isatty()
    progress = Progress(inputs.size(names), wanted=not (crowded or settings["quiet"]))
    with ExitStack() as stack:
        parts = _parts(settings, stack)
        begins = _begins(settings, parts)
        more: dict[str, Any] = {"follow": settings["follow"], "resume": begins, "progress": progress.of_scan}
        found = options.scanned(names, wire, chosen, settings, **more)
        started = time.monotonic()
        quarantine = _Quarantine(found, _quarantine_output(settings, stack))
        if parts is not None:
            with usage_errors():
                parts.begin(found.columns)
            sink: NullSink = FileSink(parts)
        elif settings["output"] is not None:
            sink = _file_sink(found, settings, stack)
        else:
            sink = _shown_sink(found, wire, columns is None, len(inputs.files(names)), settings)
        stands = _run(found, sink, parts, quarantine, progress, settings)
    options.keep_position(settings["resume"], stands)
    if not settings["quiet"]:
        _summarize(found, sink, time.monotonic() - started, settings["rejects"])
        if found.counts.records + found.counts.rejects:
            reasons = found.counts.reasons
            conclude(found.counts, reasons, "validate" if reasons else "stats", names, wire=wire)
        elif begins and found.counts.bytes:
            complain("what is new has no record")
        elif settings["resume"] is not None and not found.counts.bytes and inputs.size(names) != 0:
            complain("there is no new complete line or object")
        else:
            complain(f"there is no {'' if wire in (None, FORMATS) else f'{wire} '}record here")
            inputs.tell_nothing(names, wire, bool(found.counts.bytes))
    if found.gaps:
        return GAP
    return BAD_RECORDS if found.rejects.counts else GOOD


# --- before it begins -----------------------------------------------------------------------------------------------


def _check(settings: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go together."""
    written, piped = settings["output"] is not None, settings["output"] == "-"
    if settings["rejects"] is not None and settings["errors"] == "skip":
        raise click.UsageError("--rejects needs the damaged records, which --errors skip does not keep")
    if written and (settings["as_json"] or settings["limit"] is not None):
        raise click.UsageError("--output writes all records and cannot be combined with --json or --limit")
    if settings["format"] is not None and not written:
        raise click.UsageError("--format needs --output FILE (or --output -)")
    if settings["partition_by"] is not None and (piped or not written):
        raise click.UsageError("--partition-by needs a directory: --output DIRECTORY")
    if piped and settings["rejects"] == "-":
        raise click.UsageError("records and rejects cannot both go to standard output in a file format")
    _check_dask(settings)
    is_csv = written and (settings["format"] or settings["output"].lower()).endswith("csv")
    if settings["formulas"] is not None and not is_csv:
        raise click.UsageError("--formulas is for CSV: --output FILE.csv, or --format csv")
    settings["formulas"] = settings["formulas"] or "guard"


def _parts(settings: dict[str, Any], stack: ExitStack) -> Any:
    """The directory of a scan that continues, where it writes one; None elsewhere."""
    path, partition_by = settings["output"], settings["partition_by"]
    goes_on = settings["resume"] is not None or (settings["follow"] and partition_by is None)
    if path in (None, "-") or not goes_on:
        return None
    from turnwire.log.output.outputs import DirectoryOutput

    with usage_errors():
        parts = DirectoryOutput(path, settings["format"], partition_by, settings["formulas"])
    return stack.enter_context(parts)


def _begins(settings: dict[str, Any], parts: Any) -> Any:
    """The position at which a scan continues: after what was written, if that is further than what --resume says."""
    kept = options.position(settings["resume"])
    if parts is None:
        return kept
    from turnwire.log.output.outputs import later

    return later(parts.position, kept) or {}


def _quarantine_output(settings: dict[str, Any], stack: ExitStack) -> Any:
    """The output of rejects, if any: a file that is there when all is well, or grows while it follows."""
    from turnwire.atomic import AtomicFile

    path = settings["rejects"]
    if path is None:
        return None
    plain = path == "-" or settings["follow"] or settings["resume"] is not None  # goes on behind what is there
    return stack.enter_context(opened(path) if plain else AtomicFile(path))


def _shown_sink(found: Scan, wire: str | None, choose: bool, files: int, settings: dict[str, Any]) -> NullSink:
    """The sink of rows that are shown; none if the output is taken by the rejects alone."""
    limit: int | None = settings["limit"]
    if settings["as_json"]:
        return JsonSink(found, standard_output(), limit)
    if settings["rejects"] == "-":
        return NullSink()
    # A scan of one wire has the common columns twice: its own names say more.
    repeated = {name for name, (_, own) in options.scanner(wire).common.items() if name != own}
    repeated |= set() if wire is None else {"wire"}
    hidden = PLACES | repeated | ({"file"} if files == 1 else set()) if choose else None
    return TableSink(found, standard_output(), SHOWN_ROWS if limit is None else limit, hidden)


def _file_sink(found: Scan, settings: dict[str, Any], stack: ExitStack) -> NullSink:
    """The sink of a file or a directory that is there when the ``stack`` ends well, or of a pipe."""
    from turnwire.log.output.outputs import DirectoryOutput, FileOutput, format_of_file

    path, named, formulas = settings["output"], settings["format"], settings["formulas"]
    if path == "-" and named is None:
        raise click.UsageError("--output - needs a --format")
    if path == "-" and named in ("parquet", "arrow") and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"a terminal cannot show {named}; send it to a file or a pipe")
    with usage_errors():
        if settings["partition_by"] is not None:
            output: Any = DirectoryOutput(path, named, settings["partition_by"], formulas)
            output.begin(found.columns)
        else:
            place = standard_output(shown=True) if path == "-" else path
            output = FileOutput(place, found.columns, named if path == "-" else format_of_file(path, named), formulas)
    return FileSink(stack.enter_context(output), path == "-")


# --- the rows --------------------------------------------------------------------------------------------------------


class NullSink:
    """Drops all batches; the base of the other sinks. ``take`` each batch, then ``finish``."""

    prints = False
    """True if rows go to standard output, which may be the terminal that shows progress."""
    shown = 0
    """How many rows a table or JSON lines have shown."""
    full = True
    """True if no further batch is wanted."""
    output: Any = None
    """The file, directory or pipe of ``turnwire.log.output`` that the rows go to, if any."""

    def take(self, batch: Batch) -> None:
        """Writes the requested rows of a batch."""

    def flush(self) -> None:
        """Passes on at once what was written."""

    def finish(self) -> None:
        """Writes what was held back; no batch follows."""


class JsonSink(NullSink):
    """Writes the first ``limit`` rows (None: all) as JSON lines."""

    prints = True

    def __init__(self, found: Scan, output: Output, limit: int | None) -> None:
        self._columns = found.columns
        self._output = output
        self._limit = limit
        self.full = limit == 0

    def take(self, batch: Batch) -> None:
        """Shows the rows of a batch, up to ``limit`` rows in all."""
        from turnwire.log.output.json_lines import slices

        left = None if self._limit is None else self._limit - self.shown
        for values in slices(batch, left):
            self.shown += len(values[0])
            self.full = self.shown == self._limit
            self.show(values)

    def show(self, values: list[list[Any]]) -> None:
        """Shows some rows: a list for each column."""
        self._output.write(self._writer.lines(values))

    @cached_property
    def _writer(self) -> Any:
        from turnwire.log.output.json_lines import JsonLines  # msgspec, which a table does without

        return JsonLines(self._columns)

    def flush(self) -> None:
        """Passes on the lines at once."""
        self._output.flush()

    finish = flush


class TableSink(JsonSink):
    """Shows the first ``limit`` rows as a table, without empty columns and those ``hidden``; hidden=None shows all."""

    def __init__(self, found: Scan, output: Output, limit: int, hidden: frozenset[str] | None) -> None:
        super().__init__(found, output, limit)
        self._hidden = hidden
        self._rows: list[tuple[Any, ...]] = []

    def show(self, values: list[list[Any]]) -> None:
        """Collects the rows, and prints the table once there are enough."""
        columns = zip(self._columns, values, strict=True)
        shown = [map(milliseconds, each) if column.kind == "timestamp" else each for column, each in columns]
        self._rows.extend(zip(*shown, strict=True))
        if self.full:
            self.finish()

    def finish(self) -> None:
        """Prints the table of the rows collected."""
        if self._rows:
            names = [column.name for column in self._columns]
            kept = [place for place, name in enumerate(names) if name not in (self._hidden or ())]
            rows = [[row[place] for place in kept] for row in self._rows]
            named = [names[place] for place in kept]
            text = table(named, rows, amounts=False, empty=self._hidden is None, option="--columns")
            self._output.write(text.encode())
            self._rows = []
        self._output.flush()


class FileSink(NullSink):
    """Writes all rows to an output, within its ``with`` block."""

    full = False

    def __init__(self, output: Any, prints: bool = False) -> None:
        self.output, self.prints = output, prints
        self.take = output.take  # type: ignore[method-assign]


# --- while it runs --------------------------------------------------------------------------------------------------


class _Quarantine:
    """Writes rejects and gaps of a scan as JSON lines, where there is an output for them, and tells the gaps."""

    def __init__(self, found: Scan, output: Any) -> None:
        self._found = found
        self._output = output
        self._rejects = self._gaps = 0

    def news(self) -> bool:
        """True if there are gaps that were not told yet."""
        return len(self._found.gaps) > self._gaps

    def take(self) -> None:
        """Writes and tells what came since the last time; gaps whatever else is quiet."""
        gaps = self._found.gaps[self._gaps :]
        self._gaps += len(gaps)
        for gap in gaps:
            complain(f"{inputs.shown(gap.file)}: {gap.why}: {gap.text}")
        if self._output is None:
            return
        from turnwire.log.output.json_lines import json_line

        for reject in self._found.rejects.since(self._rejects):
            if reject["inner"] is None:
                del reject["inner"]  # only ranges in JSON strings have it
            self._output.write(json_line({"reject": True, **reject}))
        self._rejects = len(self._found.rejects)
        for gap in gaps:
            self._output.write(json_line(gap.to_dict()))
        self._output.flush()


def _run(
    found: Scan, sink: NullSink, parts: Any, quarantine: _Quarantine, progress: Progress, settings: dict[str, Any]
) -> dict[str, Any]:
    """Shows or writes everything: the position after what was. parts: the directory of a scan that continues, in which
    each part appears together with the position after its records."""
    from turnwire.log.scanning import steps

    kept = time.monotonic()
    follows, prints = settings["follow"], settings["rejects"] == "-"
    stands = found.position
    with progress, until_interrupted(steps(found)) if follows else nullcontext(found) as batches:
        for batch in batches:
            if batch is None:
                if parts is not None and parts.due:  # the log went quiet: what is written waits for nothing more
                    stands = found.position
                    parts.commit(stands)
                    options.keep_position(settings["resume"], stands)
                continue
            if prints or (sink.prints and not sink.full) or quarantine.news():
                progress.clear()
            if not sink.full:
                sink.take(batch)
            quarantine.take()
            if follows:
                sink.flush()
                stands = found.position
                if parts is not None:
                    if not parts.due:
                        continue
                    parts.commit(stands)
                if time.monotonic() - kept > KEPT_EVERY:  # all rows up to there are on disk
                    options.keep_position(settings["resume"], stands)
                    kept = time.monotonic()
    quarantine.take()
    sink.finish()
    stands = stands if follows else found.position
    if parts is not None:
        parts.commit(stands)
    return stands


# --- when it has ended ----------------------------------------------------------------------------------------------


def _summarize(found: Scan, sink: NullSink, seconds: float, rejects: str | None) -> None:
    counts = found.counts
    records = counts.records
    seconds = max(seconds, 1e-9)
    rate = f"{seconds:.2f} s"
    if counts.bytes >= LEAST_MEASURED:
        rate += f", {counts.bytes / seconds / 1e6:,.1f} MB/s, {records / seconds:,.0f} records/s"
    if 0 < sink.shown < counts.selected and isinstance(sink, TableSink):
        complain(f"the first {sink.shown:,} of {counted(counts.selected, 'record')} are shown")
    _show_rejects(found, rejects)
    if counts.selected != records:
        complain(f"{'selected':<8}{counts.selected:>12,}")
    complain_counts(counts, rate)
    if found.gaps:
        complain(f"{'gaps':<8}{len(found.gaps):>12,}")
    for path in () if sink.output is None else sink.output.paths:
        complain(f"written {inputs.shown(path)}")


def _show_rejects(found: Scan, output: str | None) -> None:
    """The first rejects, where they were kept; all of them may be in the ``output`` of rejects."""
    from turnwire.log.output.rejects import fault_line

    first = list(islice(found.rejects.since(0), SHOWN_REJECTS))
    for reject in first:
        raw = reject["raw"]
        text = raw[:SHOWN_BYTES].decode("utf-8", "backslashreplace") + ("…" if len(raw) > SHOWN_BYTES else "")
        place = f"{inputs.shown(reject['file'])}:{fault_line(reject)}: byte {reject['fault']}"
        wire = f"{reject['wire']}: " if len(found.counts.wires) > 1 else ""
        complain(f"{place}: {wire}{reject['reason']}: {text}")
    if first and len(found.rejects) > len(first):
        where = STANDARD_OUTPUT if output == "-" else output
        told = "--rejects FILE keeps them all" if output is None else f"all are in {where}"
        complain(f"... and {len(found.rejects) - len(first):,} more ({told})")


# --- with --dask -----------------------------------------------------------------------------------------------------


LOCAL = "local"
CONNECTING = 10.0
REFUSED = ("as_json", "follow", "borrow", "partition_by", "rejects", "limit", "format")
"""Options without a meaning for blocks, which write Parquet files of their own."""


def _check_dask(settings: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go with --dask."""
    if settings["dask"] is None:
        if settings["block_bytes"] is not None:
            raise click.UsageError("--block-bytes is for the blocks of --dask")
        return
    for name in REFUSED:
        if settings[name]:
            raise click.UsageError(f"--dask cannot be combined with --{name.removeprefix('as_').replace('_', '-')}")
    if settings["errors"] == "raise":
        raise click.UsageError("--dask cannot be combined with --errors raise: blocks have no first fault")
    if settings["output"] in (None, "-") and settings["resume"] is None:
        raise click.UsageError("--dask writes files: --output DIRECTORY")
    if None not in (settings["output"], settings["resume"]):
        parent, output = map(os.path.realpath, (os.path.dirname(settings["resume"]), settings["output"]))
        if parent != output:
            raise click.UsageError("with --dask, --resume needs the manifest in the --output directory")


def _scan_on_cluster(
    names: tuple[str, ...], wire: str | None, columns: list[str] | None, settings: dict[str, Any]
) -> int:
    """Runs the scan and says what became of its blocks: the exit code, 3 where not all of them are done."""
    from turnwire.distributed import Manifest, dask_scan

    output = settings["output"] or os.path.dirname(settings["resume"]) or "."
    chosen = {name: settings[name] for name in ("errors", "unknown", "fences", "batch_bytes")}
    if settings["block_bytes"] is not None:
        chosen["block_bytes"] = settings["block_bytes"]
    chosen["where"] = options.conditions(settings["conditions"], options.scanner(wire).columns)
    chosen |= {"columns": columns, "wire": wire, "resume": settings["resume"] is not None}
    progress = Progress(inputs.size(names), wanted=not settings["quiet"])

    def tell(manifest: Manifest) -> None:
        counts = manifest.counts
        progress.update(counts.bytes, counts.records, counts.rejects)

    with _client(settings["dask"], settings["threads"]) as client, progress, usage_errors():
        manifest = dask_scan(list(names), client, out=output, progress=tell, **chosen)
    if not settings["quiet"]:
        _summarize_blocks(manifest)
    if not manifest.complete:
        return INPUT_OUTPUT
    return BAD_RECORDS if manifest.counts.reasons else GOOD


@contextmanager
def _client(address: str, threads: int) -> Iterator[Any]:
    from turnwire.distributed import distributed, local_cluster

    package = distributed()
    if address == LOCAL:
        with local_cluster(threads if threads > 1 else None) as cluster, package.Client(cluster) as client:
            yield client
        return
    try:
        client = package.Client(address, timeout=CONNECTING)
    except (OSError, ValueError) as error:
        raise OSError(None, f"cannot reach the Dask scheduler: {error}", address) from None
    with client:
        yield client


def _summarize_blocks(manifest: Any) -> None:
    complain_counts(manifest.counts, counted(len(manifest.rows), "block"))
    missing = [row for row in manifest.rows if row["state"] != "done"]
    for row in missing[:SHOWN_REJECTS]:
        block = row["block"]
        place = f"{block['files'][0]}: bytes {block['start']} to {block['stop']}"
        complain(f"{row['state']}: {place}: {row['error']}")
    if missing:
        complain(f"{counted(len(missing), 'block')} missing; --resume {manifest.path} tries again")
    complain(f"written {manifest.path}")
